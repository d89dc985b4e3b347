/* memory.c - how much memory the service takes: for skus that it knows, and after many reservations (it should keep
 * nothing of them but a bounded window of recent ids). Each part meets a service that has just been started on an empty
 * database, warmed up so far that its threads and buffers are there. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "holdfast.h"

#include <inttypes.h>
#include <stdlib.h>

enum { CONNECTIONS = 8, WARM_SKUS = 8000, WARM_ORDERS = 32000 };

static bool fresh(struct bench *b)
{
	b->turn++;
	return stage_fresh(b) && service_start(b);
}

/* Receives skus and reads every one of them. */
static bool skus_take_in(struct bench *b, const char *prefix, int64_t count)
{
	struct ledger l = {.prefix = prefix, .count = (int)count, .received = 100};
	int64_t       units;
	bool          right = ledger_receive(b, &l) && ledger_check(b, &l, &units);

	ledger_fini(&l);
	return right;
}

static void skus_measure(struct bench *b, struct memory *out)
{
	if (!skus_take_in(b, "WARM", WARM_SKUS))
		return;
	out->sku_rss_before = process_kb(b->service.pid, "VmRSS");
	if (skus_take_in(b, "SKU", b->skus))
		out->skus = b->skus;
	out->sku_rss_after = process_kb(b->service.pid, "VmRSS");
}

static void reservations_measure(struct bench *b, struct memory *out)
{
	struct round warm, r;
	int64_t      units, warm_orders = b->reservations / 2 < WARM_ORDERS ? b->reservations / 2 : WARM_ORDERS;

	if (!ledger_receive(b, &ledger_hot))
		return;
	visit_run(b, &load_batch, CONNECTIONS, warm_orders, &warm);
	out->rss_before = process_kb(b->service.pid, "VmRSS");
	out->hwm_before = process_kb(b->service.pid, "VmHWM");
	visit_run(b, &load_batch, CONNECTIONS, b->reservations - warm_orders, &r);
	out->seconds = r.seconds;
	out->rss_after = process_kb(b->service.pid, "VmRSS");
	out->hwm_after = process_kb(b->service.pid, "VmHWM");
	if (ledger_check(b, &ledger_hot, &units))
		out->reservations = warm.orders + r.orders;
	free(warm.samples.us);
	free(r.samples.us);
}

void memory_run(struct bench *b, struct memory *out)
{
	int64_t until_us = bench_until_us(b, 0.88);

	if (b->skus > 0 && clock_us() < until_us && fresh(b))
		skus_measure(b, out);
	if (b->reservations > 0 && clock_us() < until_us && fresh(b))
		reservations_measure(b, out);
	service_stop(b);
	if (out->skus < b->skus || out->reservations < b->reservations)
		say("bench: the memory section got as far as %" PRId64 " skus and %" PRId64 " reservations", out->skus,
		    out->reservations);
}
