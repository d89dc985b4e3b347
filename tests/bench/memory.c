/* memory.c - how much memory the service takes: for skus that it knows, and after many reservations (it should keep
 * nothing of them but a bounded window of recent ids). Each part meets a service that has just been started, warmed up
 * so far that its threads and buffers are there. */
#include "load.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PER_CALL = 500, PER_RECEIPT = 1000, CONNECTIONS = 8, WARM_SKUS = 8000, WARM_CALLS = 64, SKU_QTY = 100000000 };

static const char stock_sku[] = "MEMORY";

/* One load: numbers from `next` to `end`, several to a call. */
struct bulk {
	uint64_t    next, end;
	uint64_t    per_call;
	struct text body;
	int64_t     done; /* items answered right */
	int64_t     units;
};

/* Takes the numbers of the next call. */
static bool bulk_take(struct bulk *k, struct load_call *call)
{
	uint64_t left = k->end - k->next;

	if (left == 0)
		return false;
	call->number = k->next;
	call->count = (int)(left < k->per_call ? left : k->per_call);
	k->next += (uint64_t)call->count;
	text_reset(&k->body);
	return true;
}

static void bulk_run(struct bench *b, const struct load_plan *plan, struct bulk *k)
{
	struct load l = {
		.port = b->port, .connections = CONNECTIONS, .plan = plan, .arg = k, .until_us = b->deadline_us};

	load_run(&l);
	free(l.samples.us);
	text_fini(&k->body);
}

/* ---- skus */

static void sku_write(struct text *to, uint64_t number)
{
	text_format(to, "SKU-%08" PRIu64, number);
}

static bool receipt_next(void *arg, struct load_call *call, struct text *request)
{
	struct bulk *k = arg;

	if (!bulk_take(k, call))
		return false;
	text_format(&k->body, "{\"movement_id\":\"bench-%" PRIu64 "\",\"kind\":\"receipt\",\"lines\":[", call->number);
	for (int i = 0; i < call->count; i++) {
		text_add(&k->body, i ? ",{\"sku\":\"" : "{\"sku\":\"");
		sku_write(&k->body, call->number + (uint64_t)i);
		text_format(&k->body, "\",\"qty\":%d}", SKU_QTY);
	}
	text_add(&k->body, "]}");
	load_request(request, "POST", "/v1/movements", k->body.data, k->body.len);
	return true;
}

static enum load_verdict receipt_check(void *arg, struct load_call *call, int status, struct span body)
{
	struct bulk *k = arg;

	(void)body;
	if (status != 201)
		return LOAD_WRONG;
	k->done += call->count;
	return LOAD_DONE;
}

static bool availability_next(void *arg, struct load_call *call, struct text *request)
{
	struct bulk *k = arg;

	if (!bulk_take(k, call))
		return false;
	text_add(&k->body, "{\"skus\":[");
	for (int i = 0; i < call->count; i++) {
		text_add(&k->body, i ? ",\"" : "\"");
		sku_write(&k->body, call->number + (uint64_t)i);
		text_char(&k->body, '"');
	}
	text_add(&k->body, "]}");
	load_request(request, "POST", "/v1/availability", k->body.data, k->body.len);
	return true;
}

static enum load_verdict availability_check(void *arg, struct load_call *call, int status, struct span body)
{
	static const char *const names[] = {"items"}, *const item_names[] = {"sku", "available", "reserved"};
	struct bulk *k = arg;
	struct span  items, item, values[3];
	struct text  sku = {0};
	size_t       at = 0;
	int          right = 0;

	if (status != 200 || !answer_members(body, names, &items, 1))
		return LOAD_WRONG;
	while (right < call->count && answer_item(items, &at, &item)) {
		text_reset(&sku);
		sku_write(&sku, call->number + (uint64_t)right);
		if (!answer_members(item, item_names, values, 3) || !answer_is(values[0], sku.data, sku.len) ||
		    answer_int(values[1]) != SKU_QTY || answer_int(values[2]) != 0)
			break;
		right++;
	}
	text_fini(&sku);
	k->done += right;
	return right == call->count && !answer_item(items, &at, &item) ? LOAD_DONE : LOAD_WRONG;
}

static int64_t skus_take_in(struct bench *b, uint64_t from, uint64_t count)
{
	static const struct load_plan receive = {receipt_next, receipt_check};
	static const struct load_plan read = {availability_next, availability_check};
	struct bulk                   in = {.next = from, .end = from + count, .per_call = PER_RECEIPT}, out = in;

	bulk_run(b, &receive, &in);
	if (in.done == (int64_t)count)
		bulk_run(b, &read, &out);
	return out.done;
}

/* ---- reservations */

static bool batch_next(void *arg, struct load_call *call, struct text *request)
{
	struct bulk *k = arg;

	if (!bulk_take(k, call))
		return false;
	text_add(&k->body, "{\"reservations\":[");
	for (int i = 0; i < call->count; i++) {
		text_add(&k->body, i ? ",{\"order_id\":\"" : "{\"order_id\":\"");
		order_write(&k->body, call->number + (uint64_t)i);
		text_add(&k->body, "\",\"lines\":[{\"sku\":\"");
		text_add(&k->body, stock_sku);
		text_add(&k->body, "\",\"qty\":");
		text_int(&k->body, order_qty(call->number + (uint64_t)i));
		text_add(&k->body, "}]}");
	}
	text_add(&k->body, "]}");
	load_request(request, "POST", "/v1/reservations/batch", k->body.data, k->body.len);
	return true;
}

static enum load_verdict batch_check(void *arg, struct load_call *call, int status, struct span body)
{
	static const char *const names[] = {"results"}, *const item_names[] = {"order_id", "status", "state"};
	struct bulk *k = arg;
	struct span  results, item, values[3];
	char         room[2 * ORDER_LEN];
	size_t       at = 0;
	int          right = 0;

	if (status != 200 || !answer_members(body, names, &results, 1))
		return LOAD_WRONG;
	while (right < call->count && answer_item(results, &at, &item)) {
		struct text id = {.data = room, .cap = sizeof(room)};

		order_write(&id, call->number + (uint64_t)right);
		if (!answer_members(item, item_names, values, 3) || !answer_is(values[0], id.data, id.len) ||
		    answer_int(values[1]) != 201 || !answer_is(values[2], "held", 4))
			break;
		k->units += order_qty(call->number + (uint64_t)right);
		right++;
	}
	k->done += right;
	return right == call->count && !answer_item(results, &at, &item) ? LOAD_DONE : LOAD_WRONG;
}

static void batches_run(struct bench *b, int64_t count, struct bulk *k)
{
	static const struct load_plan plan = {batch_next, batch_check};

	k->next = b->order_next;
	k->end = k->next + (uint64_t)count;
	k->per_call = PER_CALL;
	bulk_run(b, &plan, k);
	b->order_next = k->end;
}

static void stock_check(struct bench *b, int64_t units)
{
	static const char *const names[] = {"reserved", "available"};
	struct text              path = {0}, answer = {0};
	struct span              values[2];

	text_format(&path, "/v1/skus/%s", stock_sku);
	if (load_once(b->port, "GET", path.data, NULL, &answer) != 200 ||
	    !answer_members((struct span){answer.data, answer.len}, names, values, 2) ||
	    answer_int(values[0]) != units || answer_int(values[1]) != SKU_QTY - units)
		bench_wrong("memory: %" PRId64 " units acknowledged, the stock reads %.300s", units,
		            answer.data ? answer.data : "nothing");
	text_fini(&path);
	text_fini(&answer);
}

/* ---- the section */

static void skus_measure(struct bench *b, struct memory *out)
{
	if (!service_start(b)) {
		bench_wrong("memory: no service");
		return;
	}
	if (skus_take_in(b, 0, WARM_SKUS) == WARM_SKUS) {
		out->sku_rss_before = process_kb(b->service, "VmRSS");
		out->skus = skus_take_in(b, WARM_SKUS, (uint64_t)b->skus);
		out->sku_rss_after = process_kb(b->service, "VmRSS");
	}
	service_stop(b);
}

static void reservations_measure(struct bench *b, struct memory *out)
{
	struct bulk k = {0};
	int64_t     warm = PER_CALL * WARM_CALLS, begun_us;

	if (!service_start(b)) {
		bench_wrong("memory: no service");
		return;
	}
	if (warm > b->reservations / 2)
		warm = b->reservations / 2;
	if (sku_receive(b, "bench-memory", stock_sku, SKU_QTY)) {
		batches_run(b, warm, &k);
		out->rss_before = process_kb(b->service, "VmRSS");
		out->hwm_before = process_kb(b->service, "VmHWM");
		begun_us = clock_us();
		batches_run(b, b->reservations - warm, &k);
		out->seconds = (double)(clock_us() - begun_us) / 1e6;
		out->reservations = k.done;
		out->rss_after = process_kb(b->service, "VmRSS");
		out->hwm_after = process_kb(b->service, "VmHWM");
		stock_check(b, k.units);
	}
	service_stop(b);
}

void memory_run(struct bench *b, struct memory *out)
{
	service_stop(b);
	if (b->skus > 0 && clock_us() < b->deadline_us)
		skus_measure(b, out);
	if (b->reservations > 0 && clock_us() < b->deadline_us)
		reservations_measure(b, out);
	if (out->skus < b->skus || out->reservations < b->reservations)
		say("bench: the memory section got as far as %" PRId64 " skus and %" PRId64 " reservations", out->skus,
		    out->reservations);
}
