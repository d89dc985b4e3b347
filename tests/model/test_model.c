/* test_model.c - thousands of requests made up by chance, each answer held against the model (model.h).
 *
 * One client, so that there is one order of things and the model is exact. HOLDFAST_MODEL_SEED repeats a run,
 * HOLDFAST_MODEL_STEPS makes it longer or shorter. The first answer that differs ends the run. */
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "tests/lang/expect.h"
#include "tests/lang/flow.h"
#include "tests/model/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 3000, BATCH_MAX = 60, TICK_S = 600, WAIT_MS = 8000, BIG = MODEL_SKUS - 1, LIMITED = 3 };

static struct {
	struct model *model;
	uint64_t      seed, chance;
	int           step, orders, moves; /* numbers given so far */
	struct client client[2];
	int           clients;
	struct call   call;
	struct answer answer;
	struct ask    ask[BATCH_MAX];
	bool          failed;
} run;

static unsigned chance(unsigned n)
{
	return chance_of(&run.chance, n);
}

/* ---- made up by chance */

static void cells_make(struct cells *to, int64_t most, bool negative)
{
	int n = 1 + (int)chance(chance(20) ? 3 : 12);

	for (int i = 0; i < n; i++) {
		int     s = (int)chance(MODEL_SKUS), p = chance(3) ? 0 : (int)chance(MODEL_PLACES);
		int64_t qty = 1 + chance((unsigned)(s != BIG ? most : chance(3) ? 1000000000 : 4));

		to->named[s][p] = true;
		to->qty[s][p] = negative && chance(3) ? -qty : qty;
	}
}

/* Mostly of a sku that plain lines ask for, too. */
static void wish_make(struct ask *a, int64_t most)
{
	int first = (int)chance(MODEL_PLACES), step = 1 + (int)chance(MODEL_PLACES - 1);

	a->wish = (struct wish){.sku = (int)chance(MODEL_SKUS), .places = 2 + (int)chance(MODEL_PLACES - 1)};
	for (int i = 0; i < a->wish.places; i++)
		a->wish.place[i] = (first + i * step) % MODEL_PLACES;
	a->wish.may_split = chance(2);
	a->wish.qty = 1 + chance((unsigned)most);
	if (chance(3) == 0)
		a->lines = (struct cells){0};
}

/* One that no order has, or one that was refused: those are not remembered. */
static int order_id_make(void)
{
	int old = run.orders ? (int)chance((unsigned)run.orders) : 0;

	return run.orders && chance(5) == 0 && run.model->order[old].state == ORDER_NONE ? old : run.orders++;
}

static int move_id_make(void)
{
	int old = run.moves ? (int)chance((unsigned)run.moves) : 0;

	return run.moves && chance(5) == 0 && !run.model->moved[old].made ? old : run.moves++;
}

/* Mostly one of late. */
static int id_find(int ids)
{
	if (ids == 0)
		return 0;
	return chance(5) ? ids - 1 - (int)chance(ids < 40 ? (unsigned)ids : 40) : (int)chance((unsigned)ids);
}

static int wrong_make(void)
{
	return chance(40) ? 0 : 1 + (int)chance(WIRE_WRONGS);
}

/* Far from any tick, so that it does not matter how long the run takes. */
static int ttl_make(void)
{
	return TICK_S / 2 + TICK_S * (int)chance(5);
}

/* Mostly one in one of these states. */
static int order_find(enum order_state first, enum order_state second)
{
	int id = id_find(run.orders);

	for (int i = 0; i < 8 && run.model->order[id].state != first && run.model->order[id].state != second; i++)
		id = id_find(run.orders);
	return id;
}

static void reserve_make(struct ask *a)
{
	*a = (struct ask){.what = ASK_RESERVE, .ttl_s = ttl_make(), .best_effort = chance(3) == 0};
	a->wrong = wrong_make();
	a->id = order_id_make();
	a->customer = chance(4) ? 1 + (int)chance(MODEL_CUSTOMERS) : 0;
	cells_make(&a->lines, chance(8) ? 12 : 80, false);
	if (chance(3) == 0)
		wish_make(a, chance(8) ? 20 : 200);
	a->confirm = chance(5) == 0;
	if (chance(5) == 0)
		a->other = 1 + order_find(ORDER_HELD, a->confirm || chance(5) == 0 ? ORDER_CONFIRMED : ORDER_HELD);
	if (a->other && chance(3) == 0)
		a->confirm = true;
	if (a->other && chance(4))
		a->customer = run.model->order[a->other - 1].customer;
}

/* The same id again, mostly with the same lines. */
static void reserve_again(struct ask *a)
{
	const struct ask *made;

	reserve_make(a);
	a->id = id_find(run.orders);
	made = &run.model->order[a->id].ask;
	if (run.model->order[a->id].state == ORDER_NONE || chance(4) == 0)
		return;
	a->lines = made->lines;
	a->wish = made->wish;
	if (chance(8))
		a->other = made->other;
	if (chance(12))
		a->customer = made->customer;
	if (chance(5) == 0)
		EACH_CELL(s, p)
	a->lines.qty[s][p] += a->lines.named[s][p];
	if (a->wish.places && chance(10) == 0)
		a->wish.may_split = !a->wish.may_split;
}

/* Some units of an order, at times more than it has, or what others have. */
static void split_make(struct ask *a)
{
	const struct order *first;
	bool                any = false;

	*a = (struct ask){.what = ASK_SPLIT, .other = 1 + order_find(ORDER_HELD, ORDER_CONFIRMED)};
	a->wrong = wrong_make();
	a->then = (enum then)chance(4);
	a->force = a->then == THEN_SETTLED && chance(3) == 0;
	a->id = order_id_make();
	first = &run.model->order[a->other - 1];
	EACH_CELL(s, p)
	{
		int64_t had = first->held.qty[s][p];

		if (had == 0 || chance(3) == 0)
			continue;
		any = a->lines.named[s][p] = true;
		a->lines.qty[s][p] = chance(10) ? 1 + chance((unsigned)had) : had + (had < 1000000);
	}
	if (!any || chance(20) == 0)
		cells_make(&a->lines, 12, false);
}

static void split_again(struct ask *a)
{
	int id = id_find(run.orders);

	split_make(a);
	for (int i = 0; i < 8 && run.model->order[id].ask.what != ASK_SPLIT; i++)
		id = id_find(run.orders);
	if (run.model->order[id].state == ORDER_NONE || run.model->order[id].ask.what != ASK_SPLIT)
		return;
	*a = run.model->order[id].ask;
	if (chance(5) == 0)
		a->then = (enum then)chance(4);
	a->force = false;
	if (chance(5) == 0)
		a->other = 1 + id_find(run.orders);
}

static void move_make(struct ask *a, enum asked what)
{
	*a = (struct ask){.what = what, .id = move_id_make(), .reason = chance(3) ? 0 : (int)chance(100)};
	a->wrong = wrong_make();
	cells_make(&a->lines, what == ASK_RECEIPT ? 40 : 15, what == ASK_ADJUSTMENT);
	EACH_CELL(s, p)
	if (what == ASK_ADJUSTMENT && a->lines.named[s][p] && chance(30) == 0)
		a->lines.qty[s][p] = 0; /* wire_ask makes two lines of it */
}

static void receipt_make(struct ask *a)
{
	move_make(a, ASK_RECEIPT);
}

static void adjustment_make(struct ask *a)
{
	move_make(a, ASK_ADJUSTMENT);
}

static void return_make(struct ask *a)
{
	move_make(a, ASK_RETURN);
}

/* Some units of an order that was settled, mostly, wherever; at times more than it had or what is left, or those of a
 * part, from the first. */
static void return_of_order_make(struct ask *a)
{
	const struct order *of;
	struct cells        some = {0};
	bool                any = false;
	int                 id = id_find(run.orders);

	for (int i = chance(6) ? 0 : 90; i < 100 && run.orders && run.model->order[id].state != ORDER_SETTLED; i++)
		id = (int)chance((unsigned)run.orders);
	move_make(a, ASK_RETURN);
	of = &run.model->order[id];
	a->other = of->ask.what == ASK_SPLIT && chance(3) == 0 ? of->ask.other : id + 1;
	EACH_CELL(s, p)
	{
		int64_t had = of->held.qty[s][p];
		int     at = chance(3) ? p : (int)chance(MODEL_PLACES);

		if (had == 0 || chance(3) == 0)
			continue;
		any = some.named[s][at] = true;
		some.qty[s][at] = chance(8) ? 1 + chance((unsigned)had) : had + (had < 1000000);
	}
	if (any && chance(10))
		a->lines = some;
}

/* Never a number for which it matters whether an expired hold was swept already: that is left open. */
static void count_make(struct ask *a)
{
	const struct model *m = run.model;

	move_make(a, ASK_COUNT);
	EACH_CELL(s, p)
	{
		int64_t on_hand = m->available[s][p] + m->reserved[s][p], *counted = &a->lines.qty[s][p];

		if (!a->lines.named[s][p])
			continue;
		*counted = chance(6) ? m->reserved[s][p] + m->unswept[s][p] + chance(25) : (int64_t)chance(40);
		if (s == BIG && chance(2))
			*counted = MODEL_TOTAL_MAX - chance(4);
		if (*counted >= m->reserved[s][p] && *counted < m->reserved[s][p] + m->unswept[s][p])
			*counted = m->reserved[s][p] + m->unswept[s][p];
		a->expected.named[s][p] = chance(3) == 0;
		a->expected.qty[s][p] = chance(4) ? on_hand : on_hand == MODEL_TOTAL_MAX ? on_hand - 1 : on_hand + 1;
	}
}

static void move_again(struct ask *a)
{
	const struct moved *v = &run.model->moved[id_find(run.moves)];

	receipt_make(a);
	if (!v->made)
		return;
	*a = v->ask;
	if (chance(5) == 0)
		a->reason++;
	if (a->other && chance(5) == 0)
		a->other = (int)chance(2) * (1 + id_find(run.orders));
}

static void change_make(struct ask *a, enum asked what)
{
	*a = (struct ask){.what = what, .id = id_find(run.orders), .ttl_s = ttl_make()};
	a->wrong = what == ASK_EXTEND && chance(20) == 0;
}

static void confirm_make(struct ask *a)
{
	change_make(a, ASK_CONFIRM);
}

static void reacquire_make(struct ask *a)
{
	change_make(a, ASK_REACQUIRE);
	for (int i = 0; i < 30 && run.model->order[a->id].state != ORDER_EXPIRED; i++)
		a->id = id_find(run.orders);
}

static void release_make(struct ask *a)
{
	change_make(a, ASK_RELEASE);
}

static void extend_make(struct ask *a)
{
	change_make(a, ASK_EXTEND);
}

static void kick_make(struct ask *a)
{
	change_make(a, ASK_KICK);
}

static void settle_make(struct ask *a)
{
	change_make(a, ASK_SETTLE);
	a->force = chance(3) == 0;
}

static void get_make(struct ask *a)
{
	change_make(a, ASK_GET);
}

/* ---- sent and judged */

static void differs(const struct text *why)
{
	run.failed = true;
	flow_fail("HOLDFAST_MODEL_SEED=%" PRIu64 " step %d\n%.1200s\nsent    %s %s %.1500s\nanswer  %d %.1500s",
	          run.seed, run.step, why->data ? why->data : "", run.call.method, run.call.path.data,
	          run.call.body.data ? run.call.body.data : "", run.answer.status,
	          run.answer.body.data ? run.answer.body.data : "");
}

static void send_to(int client)
{
	struct text why = {0};

	client_call(&run.client[client], &run.call, &run.answer);
	if (!expect_form(&run.call, &run.answer, &why))
		differs(&why);
	text_fini(&why);
}

static void send(void)
{
	send_to((int)chance((unsigned)run.clients));
}

static void ask_run(void (*make)(struct ask *a))
{
	struct verdict v;
	struct text    why = {0};

	make(&run.ask[0]);
	wire_ask(&run.call, &run.ask[0], &run.chance);
	send();
	wire_shown(run.answer.json, &run.ask[0].shown);
	model_do(run.model, &run.ask[0], &v);
	if (!run.failed && !wire_meets(&run.answer, &run.ask[0], &v, run.model, &why))
		differs(&why);
	text_fini(&why);
}

/* The last order of the call takes the place of another, and so on with it. Orders in between would be judged with or
 * without what a replacement leaves over. */
static int chain_make(int n)
{
	for (int links = (int)chance(4); links > 0 && n < BATCH_MAX; links--, n++) {
		reserve_make(&run.ask[n]);
		run.ask[n].other = 1 + run.ask[n - 1].id;
	}
	return n;
}

/* Some orders of the call repeat one before them, which was taken or refused just now. */
static int batch_make(void)
{
	int n = 1 + (int)chance(chance(10) ? 8 : BATCH_MAX);

	for (int i = 0; i < n; i++) {
		if (chance(8) == 0)
			reserve_again(&run.ask[i]);
		else
			reserve_make(&run.ask[i]);
		if (i > 0 && chance(10) == 0)
			run.ask[i] = run.ask[chance((unsigned)i)];
		if (i > 0 && chance(20) == 0)
			run.ask[i].id = run.ask[i - 1].id;
		if (run.model->order[run.ask[i].id].state == ORDER_NONE)
			run.ask[i].other = 0;
	}
	return chain_make(n);
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
	for (int i = 0; !run.failed && !why.len && i < n; i++, result = result->next) {
		wire_shown(result, &run.ask[i].shown);
		model_do(run.model, &run.ask[i], &v);
		if (!wire_result_meets(result, &run.ask[i], &v, run.model, &why))
			break;
	}
	if (why.len)
		differs(&why);
	text_fini(&why);
}

static void batch_run(void)
{
	int n = batch_make();

	wire_batch(&run.call, run.ask, n, &run.chance);
	results_judge(n);
}

/* Confirmations, releases or settlements. Lanes work side by side, so at most one order of the call looks for units. */
static void changes_run(void)
{
	static void (*const makes[])(struct ask *) = {confirm_make, reacquire_make, release_make, settle_make};
	void (*make)(struct ask *) = makes[chance(LENGTH(makes))];
	int n = 1 + (int)chance(chance(10) ? 8 : BATCH_MAX), expired = -1;

	for (int i = 0; i < n; i++) {
		struct ask *a = &run.ask[i];

		make(a);
		a->wrong = wrong_make();
		if (i > 0 && chance(10) == 0)
			*a = run.ask[chance((unsigned)i)];
		if (a->what == ASK_REACQUIRE && run.model->order[a->id].state == ORDER_EXPIRED)
			a->id = expired = expired < 0 ? a->id : expired;
	}
	wire_changes(&run.call, run.ask, n);
	results_judge(n);
}

static void sku_run(int sku, bool exactly)
{
	struct text why = {0};
	int64_t     until = clock_ms() + (exactly ? WAIT_MS : 0);
	bool        good;

	snprintf(run.call.method, sizeof(run.call.method), "GET");
	text_format(&run.call.path, "/v1/skus/%s", wire_sku(sku));
	do {
		text_reset(&why);
		send();
		good = run.failed || wire_sku_meets(&run.answer, run.model, sku, exactly, &why);
	} while (!good && clock_ms() < until);
	if (!good)
		differs(&why);
	text_fini(&why);
}

/* Put to each process, so that none has yet to hear of it. */
static void limit_run(void)
{
	int         sku = (int)chance(chance(8) ? LIMITED : MODEL_SKUS);
	int64_t     limit = chance(2) ? 1 + chance(chance(2) ? 20 : 200) : 0;
	bool        left_out = chance(8) == 0;
	int         status;
	struct text why = {0};

	limit = left_out ? run.model->limit[sku] : limit;
	status = model_limit(run.model, sku, limit) ? 201 : 200;
	for (int i = 0; i < run.clients && !run.failed; i++, status = 200) {
		call_fini(&run.call);
		wire_limit(&run.call, sku, limit, left_out);
		send_to(i);
		if (!run.failed && !wire_limit_meets(&run.answer, run.model, sku, status, &why))
			differs(&why);
	}
	text_fini(&why);
}

static void has_run(int sku, int customer, bool exactly)
{
	struct text why = {0};

	wire_has(&run.call, sku, customer);
	send();
	if (exactly)
		run.model->has_unswept[customer][sku] = 0;
	if (!run.failed && !wire_has_meets(&run.answer, run.model, sku, customer, &why))
		differs(&why);
	text_fini(&why);
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
		s += wire_availability_meets(item, run.model, s, &why);
	if (s != MODEL_SKUS && !run.failed)
		differs(&why);
	text_fini(&why);
}

/* ---- what happens around the service */

/* A program that was started anew has another port. */
static void clients_again(void)
{
	for (int i = 0; i < run.clients; i++) {
		client_close(&run.client[i]);
		client_open(&run.client[i], flow_port(i));
	}
}

static void around_run(void)
{
	switch (chance(12)) {
	case 0:
		flow_step(run.clients == 2 && chance(2) ? "@2 restart" : "restart");
		clients_again();
		break;
	case 1:
		flow_step("cut");
		break;
	default:
		/* A lane that looked for expired holds of a sku in vain does not look again for 0.1 s. */
		usleep(110000);
		model_tick(run.model, TICK_S);
		flow_step("tick %d", TICK_S);
	}
}

static void step_run(void)
{
	static void (*const makes[])(struct ask *) = {
		receipt_make,         receipt_make,         adjustment_make, adjustment_make,
		return_make,          count_make,           count_make,      reserve_make,
		reserve_make,         reserve_make,         reserve_make,    reserve_make,
		reserve_make,         reserve_again,        reserve_again,   move_again,
		confirm_make,         confirm_make,         confirm_make,    release_make,
		release_make,         release_make,         reacquire_make,  reacquire_make,
		extend_make,          extend_make,          kick_make,       get_make,
		split_make,           split_make,           split_make,      split_again,
		settle_make,          settle_make,          settle_make,     return_of_order_make,
		return_of_order_make, return_of_order_make, move_again,
	};

	if (chance(100) == 0)
		around_run();
	if (chance(12) == 0)
		batch_run();
	else if (chance(20) == 0)
		changes_run();
	else if (chance(10) == 0)
		sku_run((int)chance(MODEL_SKUS), false);
	else if (chance(50) == 0)
		availability_run();
	else if (chance(25) == 0)
		limit_run();
	else if (chance(20) == 0)
		has_run((int)chance(MODEL_SKUS), 1 + (int)chance(MODEL_CUSTOMERS), false);
	else
		ask_run(makes[chance(LENGTH(makes))]);
	call_fini(&run.call);
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
						 run.answer.json,
						 "items")) if (!why.len && wire_item_meets(item, run.model, &id, &why))
			shown++;
		next = cJSON_GetObjectItemCaseSensitive(run.answer.json, "next_cursor");
		text_reset(&cursor);
		text_add(&cursor, cJSON_IsString(next) ? next->valuestring : "");
		call_fini(&run.call);
	} while (cursor.len && !run.failed && !why.len);
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
	for (int s = 0; s < MODEL_SKUS && !run.failed; s++) {
		sku_run(s, true);
		call_fini(&run.call);
		for (int c = 1; c <= MODEL_CUSTOMERS && !run.failed; c++) {
			has_run(s, c, true);
			call_fini(&run.call);
		}
	}
	if (!run.failed)
		orders_compare();
	flow_step("run audit -> 0");
}

static void model_run(const char *first, const char *second, int steps)
{
	run.seed = run.chance = number_from("HOLDFAST_MODEL_SEED", 203777);
	steps = (int)number_from("HOLDFAST_MODEL_STEPS", (uint64_t)steps);
	printf("model: HOLDFAST_MODEL_SEED=%" PRIu64 " HOLDFAST_MODEL_STEPS=%d\n", run.seed, steps);
	fflush(stdout);
	run.model = mem_alloc(sizeof(*run.model));
	flow_begin();
	flow_step("serve %s", first);
	if (second)
		flow_step("second %s", second);
	run.clients = second ? 2 : 1;
	for (int i = 0; i < run.clients; i++)
		client_open(&run.client[i], flow_port(i));
	cr_assert(!second || flow_port(0) != flow_port(1), "both programs say the same port");
	for (; run.step < steps && !run.failed && run.orders < MODEL_IDS - BATCH_MAX; run.step++)
		step_run();
	end_compare();
	answer_fini(&run.answer);
	flow_end();
	free(run.model);
}

Test(model, one_process)
{
	model_run("--lanes 2", NULL, STEPS);
}

/* Equal slot numbers cost speed only; and neither process knows what the other one does. */
Test(model, two_processes_of_one_slot)
{
	model_run("--lanes 2", "--lanes 2", STEPS / 3);
}

/* While a job sweeps: no answer is another one for it. */
Test(model, swept_meanwhile)
{
	model_run("--lanes 2 --jobs=expire", "--lanes 1 --slot 7", STEPS / 3);
}
