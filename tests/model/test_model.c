/* test_model.c - thousands of requests made up by chance, each answer held against the model (model.h).
 *
 * One client, so that there is one order of things and the model is exact. In a walk about queues orders that wait are
 * served in the background: behind each call there is shown what there is, the units of every sku, every queue, every
 * live order, and the service has 10 s to come to agree. TEST_MODEL_SEED repeats a run, TEST_MODEL_STEPS makes
 * it longer or shorter. The first answer that differs ends the run, which is then printed as a flow. */
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "tests/kit/drill.h"
#include "tests/kit/patience.h"
#include "tests/lang/expect.h"
#include "tests/lang/trap.h"
#include "tests/model/bulk.h"
#include "tests/model/losses_told.h"
#include "tests/model/makes.h"
#include "tests/model/meets.h"
#include "tests/model/order.h"
#include "tests/model/together.h"
#include "tests/model/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	STEPS = 3600,
	STEPS_OF_QUEUES = 480,
	LIVE_MAX = 12,
	TASK_STEPS = 4,
	LIMITED = 3,
	WAIT_MS = 10000,
	APART_US = 2000,  /* so that no two orders have come in the same millisecond */
	TOLD_MAX = 300000 /* of a long run only the last part is printed */
};

static struct {
	struct model *model;
	struct maker  maker;
	uint64_t      seed;
	int           step;
	struct client client[2];
	int           clients;
	struct call   call;
	struct answer answer;
	struct ask    ask[MAKE_MAX];
	int           task;        /* steps that tasks are still open .. */
	int64_t       first, last; /* .. these */
	struct text   told;        /* all steps so far */
} run;

static unsigned any(unsigned n)
{
	return chance(&run.maker, n);
}

/* ---- steps */

static void step(const char *format, ...) PRINTF(1, 2);
static void step(const char *format, ...)
{
	char    text[1000];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	text_format(&run.told, "\t     \"%s\",\n", text);
	flow_step("%s", text);
}

/* Notes the call as a step. A call that only reads is left out. */
static void call_tell(int client)
{
	size_t from;

	if (strcmp(run.call.method, "GET") == 0)
		return;
	text_format(&run.told, "\t     \"%sraw %s %s ", client ? "@2 " : "", run.call.method, run.call.path.data);
	from = run.told.len;
	text_add(&run.told, run.call.body.data ? run.call.body.data : "");
	for (size_t i = from; i < run.told.len; i++)
		if (run.told.data[i] == '"')
			run.told.data[i] = '\'';
	text_format(&run.told, " -> %d\",\n", run.answer.status);
}

/* ---- sent and judged */

static void differs(const struct text *why)
{
	flow_fail("TEST_MODEL_SEED=%" PRIu64 " step %d\n%.1200s\nsent    %s %s %.1500s\nanswer  %d %.1500s", run.seed,
	          run.step, why->data ? why->data : "", run.call.method, run.call.path.data,
	          run.call.body.data ? run.call.body.data : "", run.answer.status,
	          run.answer.body.data ? run.answer.body.data : "");
}

static void send_to(int client)
{
	struct text why = {0};

	client_call(&run.client[client], &run.call, &run.answer);
	call_tell(client);
	if (!expect_form(&run.call, &run.answer, &why))
		differs(&why);
	text_fini(&why);
}

static void send(void)
{
	send_to((int)any((unsigned)run.clients));
}

/* Repeats the call until the answer meets, for wait_ms at most. */
static void send_until(int wait_ms, bool (*meets)(int a, int b, struct text *why), int a, int b)
{
	struct text why = {0};
	int64_t     from = clock_ms();
	bool        good;

	do {
		text_reset(&why);
		send();
		good = flow_failed() || meets(a, b, &why);
		if (!good && wait_ms)
			usleep(APART_US);
	} while (!good && wait_ms && !patience_is_over(from, wait_ms));
	if (!good)
		differs(&why);
	text_fini(&why);
	call_fini(&run.call);
}

/* ---- what there is */

static bool sku_meets(int sku, int exactly, struct text *why)
{
	return meets_sku(&run.answer, run.model, sku, exactly, why);
}

static void sku_run(int sku, bool exactly)
{
	snprintf(run.call.method, sizeof(run.call.method), "GET");
	text_format(&run.call.path, "/v1/skus/%s", wire_sku(sku));
	send_until(exactly ? WAIT_MS : 0, sku_meets, sku, exactly);
}

static bool queue_meets(int sku, int place, struct text *why)
{
	return meets_queue(&run.answer, run.model, sku, place, why);
}

static bool order_meets(int id, int unused, struct text *why)
{
	int shown = unused;

	return meets_item(run.answer.json, run.model, &shown, why) && shown == id;
}

static bool stock_meets(int unused, int as_little, struct text *why)
{
	(void)unused, (void)as_little;
	return bulk_stock_meets(&run.answer, run.model, why);
}

static bool find_meets(int first, int unused, struct text *why)
{
	(void)unused;
	return bulk_find_meets(&run.answer, run.model, first, why);
}

static void bulk_compare(void)
{
	if (!flow_failed()) {
		bulk_stock(&run.call);
		send_until(WAIT_MS, stock_meets, 0, 0);
	}
	for (int first = 0; first < run.model->ids && !flow_failed(); first += BULK_MAX) {
		bulk_find(&run.call, run.model, first);
		send_until(WAIT_MS, find_meets, first, 0);
	}
}

static void compare(void)
{
	for (int s = 0; s < MODEL_SKUS && !flow_failed(); s++)
		if (run.model->known[s])
			sku_run(s, true);
	EACH_CELL(s, p)
	if (run.model->kind[p] == INCOMING && run.model->known[s] && !flow_failed()) {
		wire_queue(&run.call, s, p);
		send_until(WAIT_MS, queue_meets, s, p);
	}
	for (int id = 0; id < run.model->ids && !flow_failed(); id++)
		if (order_lives(&run.model->order[id])) {
			wire_ask(&run.call, &(struct ask){.what = ASK_GET, .id = id}, &run.maker.chance);
			send_until(WAIT_MS, order_meets, id, 0);
		}
	bulk_compare();
}

/* ---- calls */

static void ask_run(const struct ask *a)
{
	struct verdict v;
	struct text    why = {0};

	wire_ask(&run.call, a, &run.maker.chance);
	send();
	meets_shown(run.answer.json, &run.ask[0].shown);
	model_do(run.model, a, &v);
	if (!flow_failed() && !meets_answer(&run.answer, a, &v, run.model, &why))
		differs(&why);
	text_fini(&why);
	call_fini(&run.call);
}

static void one_run(void)
{
	int live = 0;

	for (int id = 0; run.maker.waits && id < run.model->ids; id++)
		live += order_lives(&run.model->order[id]);
	if (live > LIVE_MAX)
		make_end(&run.maker, &run.ask[0]);
	else
		make_one(&run.maker, &run.ask[0]);
	if (!model_stays_open(run.model, &run.ask[0]))
		ask_run(&run.ask[0]);
}

/* One result for each. */
static void results_judge(int n)
{
	struct verdict v;
	struct text    why = {0};
	const cJSON   *results, *result;

	send();
	results = cJSON_GetObjectItemCaseSensitive(run.answer.json, "results");
	result = results ? results->child : NULL;
	if (run.answer.status != 200 || cJSON_GetArraySize(results) != n)
		text_add(&why, "a result for each");
	for (int i = 0; !flow_failed() && !why.len && i < n; i++, result = result->next) {
		meets_shown(result, &run.ask[i].shown);
		model_do(run.model, &run.ask[i], &v);
		if (!meets_result(result, &run.ask[i], &v, run.model, &why))
			break;
	}
	if (why.len)
		differs(&why);
	text_fini(&why);
	call_fini(&run.call);
}

static void together_judge(int n)
{
	struct text why = {0};

	together_wire(&run.call);
	send();
	if (!flow_failed() && !together_meets(&run.answer, run.model, run.ask, n, &why))
		differs(&why);
	text_fini(&why);
	call_fini(&run.call);
}

static void several_run(bool changes)
{
	bool atomic = any(2);
	int  n = changes ? make_changes(&run.maker, run.ask) : make_batch(&run.maker, run.ask);

	n = atomic ? together_make(&run.maker, run.ask, n) : n;
	if (n == 0)
		return;
	if (changes)
		wire_changes(&run.call, run.ask, n);
	else
		wire_batch(&run.call, run.ask, n, &run.maker.chance);
	(atomic ? together_judge : results_judge)(n);
}

/* Calls each process, so that none has an old limit. */
static void limit_run(void)
{
	int         sku = (int)any(any(8) ? LIMITED : MODEL_SKUS);
	int64_t     limit = any(2) ? 1 + any(any(2) ? 20 : 200) : 0;
	bool        left_out = any(8) == 0;
	int         status;
	struct text why = {0};

	if (run.maker.waits && any(4))
		limit = 0;
	limit = left_out ? run.model->limit[sku] : limit;
	status = model_limit(run.model, sku, limit) ? 201 : 200;
	for (int i = 0; i < run.clients && !flow_failed(); i++, status = 200) {
		call_fini(&run.call);
		wire_limit(&run.call, sku, limit, left_out);
		send_to(i);
		if (!flow_failed() && !meets_limit(&run.answer, run.model, sku, status, &why))
			differs(&why);
	}
	text_fini(&why);
	call_fini(&run.call);
}

static void has_run(int sku, int customer, bool exactly)
{
	struct text why = {0};

	wire_has(&run.call, sku, customer);
	send();
	if (exactly)
		run.model->has_unswept[customer][sku] = 0;
	if (!flow_failed() && !meets_has(&run.answer, run.model, sku, customer, &why))
		differs(&why);
	text_fini(&why);
	call_fini(&run.call);
}

static void availability_run(void)
{
	struct text  why = {0};
	const cJSON *item;
	int          s = 0;

	snprintf(run.call.method, sizeof(run.call.method), "POST");
	text_add(&run.call.path, "/v1/availability");
	for (; s < MODEL_SKUS; s++)
		text_format(&run.call.body, "%s\"%s\"", s ? "," : "{\"skus\":[", wire_sku(s));
	text_add(&run.call.body, "]}");
	send();
	s = 0;
	cJSON_ArrayForEach(item,
	                   cJSON_GetObjectItemCaseSensitive(run.answer.json, "items")) if (s < MODEL_SKUS && !why.len)
		s += meets_availability(item, run.model, s, &why);
	if (s != MODEL_SKUS && !flow_failed())
		differs(&why);
	text_fini(&why);
	call_fini(&run.call);
}

static void stop_switch(void)
{
	bool  of_sku = any(2);
	int   n = (int)any(of_sku ? MODEL_SKUS : MODEL_PLACES);
	bool *stopped = of_sku ? &run.model->stopped_sku[n] : &run.model->stopped_place[n];

	if ((of_sku && !run.model->known[n]) || (!*stopped && any(2)))
		return;
	*stopped = !*stopped;
	step("%sraw PUT /v1/%s/%s {'for_sale':%s", run.clients == 2 && any(2) ? "@2 " : "",
	     of_sku ? "skus" : "locations", of_sku ? wire_sku(n) : wire_place(n),
	     *stopped ? "false} -> for_sale=false" : "true} -> !for_sale");
}

static void queue_switch(void)
{
	int place = any(3) ? MAIN : PARIS, at = place == MAIN ? PO : BO;

	if (run.model->kind[place] != STOCK)
		return;
	if (!run.model->waits_at[place]) {
		step("raw PUT /v1/locations/%s {'waits_at':'%s'} -> 200 waits_at=%s", wire_place(place), wire_place(at),
		     wire_place(at));
		run.model->waits_at[place] = at + 1;
	} else {
		step("raw PUT /v1/locations/%s {'waits_at':null} -> 200 !waits_at", wire_place(place));
		run.model->waits_at[place] = 0;
	}
}

/* Other places are only tried while they are in use, or no place of the kind would be left. */
static void kind_switch(void)
{
	int       place = (int)any(MODEL_PLACES);
	enum kind kind = (enum kind)any(3);
	bool      used = model_in_use(run.model, place, kind);

	if ((place == QC || place == PARIS) && any(4))
		kind = run.model->kind[place] == STOCK ? ASIDE : STOCK;
	used = model_in_use(run.model, place, kind);
	if (!used && ((place != QC && place != PARIS) || kind == INCOMING))
		return;
	step("raw PUT /v1/locations/%s {'kind':'%s'} -> %s", wire_place(place), meets_kind(kind),
	     used ? "409 in_use" : "200");
	if (!used)
		run.model->kind[place] = kind;
}

static int64_t last_task(void)
{
	return trap_number("SELECT MAX(task_id) FROM job_task");
}

static void bury(int64_t task)
{
	struct text orders = {0};

	for (int id = 0; id < run.model->ids; id++)
		if (run.model->order[id].claimed)
			text_format(&orders, " O%d=bury", id);
	if (orders.len)
		step("fail %" PRId64 "%s -> 200", task, orders.data);
	text_fini(&orders);
	model_task_end(run.model, ORDER_BURIED);
}

static void tasks_end(void)
{
	bool back = any(3) == 0;

	if (run.last == run.first && any(2)) {
		bury(run.last);
	} else {
		for (int64_t task = run.first; task <= run.last; task++)
			step(back ? "give-back %" PRId64 " -> 200" : "complete %" PRId64 " -> 200", task);
		model_task_end(run.model, back ? ORDER_CONFIRMED : ORDER_SETTLED);
	}
	run.task = 0;
}

/* For a few steps tasks have all that is ready. A claim may leave something to the next one. */
static void tasks_begin(void)
{
	int n = model_claim(run.model), claimed;

	run.first = last_task() + 1;
	for (claimed = 0; claimed < n && !flow_failed();
	     claimed += (int)trap_number("SELECT claimed FROM job_task WHERE task_id = %" PRId64, last_task()))
		step("claim settle w limit=1000 lease=3600 -> 201");
	if (claimed != n)
		flow_fail("%d orders are ready, %d were claimed", n, claimed);
	step("claim settle w limit=1000 lease=3600 -> 204");
	run.last = last_task();
	run.task = n ? 1 + (int)any(TASK_STEPS) : 0;
}

static void tick_run(void)
{
	if (run.task)
		tasks_end();
	step("tick %d", MODEL_TICK_S);
	step("work expire");
	model_tick(run.model, MODEL_TICK_S);
	model_sweep(run.model);
}

/* ---- what happens around the service */

/* A program that was restarted has another port. */
static void clients_again(void)
{
	for (int i = 0; i < run.clients; i++) {
		client_close(&run.client[i]);
		client_open(&run.client[i], flow_port(i));
	}
}

static void around_run(void)
{
	switch (any(12)) {
	case 0:
		step("%srestart", run.clients == 2 && any(2) ? "@2 " : "");
		clients_again();
		break;
	case 1:
		step("cut");
		break;
	default:
		/* A lane that looked for expired holds of a sku in vain does not look again for 0.1 s. */
		usleep(110000);
		model_tick(run.model, MODEL_TICK_S);
		step("tick %d", MODEL_TICK_S);
	}
}

static void calls_run(void)
{
	if (!run.maker.waits && any(100) == 0)
		around_run();
	if (any(12) == 0)
		several_run(false);
	else if (any(20) == 0)
		several_run(true);
	else if (any(10) == 0)
		sku_run((int)any(MODEL_SKUS), false);
	else if (any(50) == 0)
		availability_run();
	else if (any(25) == 0)
		limit_run();
	else if (any(15) == 0)
		stop_switch();
	else if (any(20) == 0)
		has_run((int)any(MODEL_SKUS), 1 + (int)any(MODEL_CUSTOMERS), false);
	else
		one_run();
}

static void step_run(void)
{
	if (run.task && --run.task == 0)
		tasks_end();
	switch (run.maker.waits ? any(40) : 40) {
	case 0:
		tick_run();
		break;
	case 1:
		queue_switch();
		break;
	case 2:
	case 3:
		kind_switch();
		break;
	case 4:
	case 5:
	case 6:
		if (!run.task) {
			tasks_begin();
			break;
		}
		/* fall through */
	default:
		calls_run();
	}
	model_settle(run.model);
	if (!run.maker.waits)
		return;
	usleep(APART_US);
	compare();
}

/* ---- at the end */

/* Every reservation, page by page. */
static void orders_compare(void)
{
	struct text  why = {0}, cursor = {0};
	const cJSON *item, *next;
	int          shown = 0, made = 0, id;

	do {
		snprintf(run.call.method, sizeof(run.call.method), "GET");
		text_format(&run.call.path, "/v1/reservations?limit=1000%s%s", cursor.len ? "&cursor=" : "",
		            cursor.len ? cursor.data : "");
		send();
		cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(
						 run.answer.json, "items")) if (!why.len &&
		                                                                meets_item(item, run.model, &id, &why))
			shown++;
		next = cJSON_GetObjectItemCaseSensitive(run.answer.json, "next_cursor");
		text_reset(&cursor);
		text_add(&cursor, cJSON_IsString(next) ? next->valuestring : "");
		call_fini(&run.call);
	} while (cursor.len && !flow_failed() && !why.len);
	for (int i = 0; i < MODEL_IDS; i++)
		made += run.model->order[i].state != ORDER_NONE;
	if (shown != made)
		text_format(&why, "; %d reservations of %d are listed", shown, made);
	if (why.len)
		differs(&why);
	text_fini(&why);
	text_fini(&cursor);
}

/* With everything swept that has expired, nothing is uncertain any more. */
static void end_compare(void)
{
	flow_step("expire");
	clients_again();
	for (int s = 0; s < MODEL_SKUS && !flow_failed(); s++) {
		sku_run(s, true);
		for (int c = 1; c <= MODEL_CUSTOMERS && !flow_failed(); c++)
			has_run(s, c, true);
	}
	bulk_compare();
	if (!flow_failed())
		orders_compare();
	if (!flow_failed())
		losses_compare(run.model);
	flow_step("run audit -> 0");
}

/* Kinds of places; in a walk about queues there are units of all skus everywhere, and places wait. */
static void places_begin(void)
{
	struct ask a = {.what = ASK_RECEIPT, .id = run.maker.moves++};

	run.model->kind[PO] = run.model->kind[BO] = INCOMING;
	run.model->kind[QC] = ASIDE;
	for (int p = PO; p <= QC; p++)
		step("raw PUT /v1/locations/%s {'kind':'%s'} -> 201", wire_place(p), meets_kind(run.model->kind[p]));
	for (int p = MAIN; !run.maker.waits && p <= PARIS_TOO; p++) /* the model knows no location that is not there */
		step("raw PUT /v1/locations/%s {'kind':'stock'} -> 201", wire_place(p));
	if (!run.maker.waits)
		return;
	for (int p = MAIN; p <= PARIS; p++) {
		int at = p == MAIN ? PO : BO;

		step("raw PUT /v1/locations/%s {'waits_at':'%s'} -> 201", wire_place(p), wire_place(at));
		run.model->waits_at[p] = at + 1;
	}
	for (int s = 0; s < LIMITED; s++)
		for (int p = 0; p < MODEL_PLACES; p++) {
			a.lines.named[s][p] = true;
			a.lines.qty[s][p] = p == PO ? 8 : p == MAIN ? 4 : 2;
		}
	ask_run(&a);
	model_settle(run.model);
}

static void told_print(void)
{
	size_t from = run.told.len > TOLD_MAX ? run.told.len - TOLD_MAX : 0;

	fprintf(stderr, "TEST_MODEL_SEED=%" PRIu64 " step %d\n%s", run.seed, run.step, run.told.data + from);
}

static void model_run(const char *first, const char *second, int steps, uint64_t queues)
{
	run.seed = run.maker.chance = number_from("TEST_MODEL_SEED", queues ? queues : 203777);
	steps = (int)number_from("TEST_MODEL_STEPS", (uint64_t)steps);
	printf("model: TEST_MODEL_SEED=%" PRIu64 " TEST_MODEL_STEPS=%d\n", run.seed, steps);
	fflush(stdout);
	run.maker.model = run.model = mem_alloc(sizeof(*run.model));
	run.maker.waits = queues;
	flow_begin();
	step("serve %s", first);
	if (second)
		step("second %s", second);
	run.clients = second ? 2 : 1;
	for (int i = 0; i < run.clients; i++)
		client_open(&run.client[i], flow_port(i));
	cr_assert(!second || flow_port(0) != flow_port(1), "both programs say the same port");
	places_begin();
	for (; run.step < steps && !flow_failed() && run.maker.orders < MODEL_IDS - MAKE_MAX; run.step++)
		step_run();
	if (flow_failed())
		told_print();
	end_compare();
	answer_fini(&run.answer);
	flow_end();
	text_fini(&run.told);
	free(run.model);
}

Test(model, one_process, DRILL)
{
	model_run("--lanes 2", NULL, STEPS, 0);
}

/* Equal slot numbers cost speed only; and neither process knows what the other one does. */
Test(model, two_processes_of_one_slot)
{
	model_run("--lanes 2", "--lanes 2", STEPS / 3, 0);
}

/* While a job sweeps: no answer is another one for it. */
Test(model, swept_meanwhile)
{
	model_run("--lanes 2 --jobs=expire", "--lanes 1 --slot 7", STEPS / 3, 0);
}

Test(model, queues, DRILL)
{
	model_run("--lanes 2", "--lanes 2 --slot 4", STEPS_OF_QUEUES, 1);
}

Test(model, queues_again, DRILL)
{
	model_run("--lanes 2", "--lanes 2 --slot 4", STEPS_OF_QUEUES, 2);
}
