/* test_places_model.c - hundreds of calls about places, made up by chance, each answer held against the model
 * (places_model.h), and behind each call what there is: the units of every sku, every line, every live order.
 *
 * Who waits is served in the background, so the service has 5 s to come to agree. HOLDFAST_MODEL_SEED repeats a run,
 * HOLDFAST_MODEL_STEPS makes it longer or shorter. The first step that differs ends the run, which is then printed as a
 * flow. */
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "tests/model/places_words.h"
#include "tests/lang/trap.h"
#include "tests/model/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	STEPS = 220,
	LIVE_MAX = 12,
	TICK_S = 600,
	LONG_TTL_S = 2600000,
	TASK_STEPS = 4,
	APART_US = 2000,   /* so that no two orders have come in the same millisecond */
	FOR_SALE_MS = 1200 /* what nobody waits for any more */
};

static struct {
	struct pm  *model;
	uint64_t    seed, chance;
	int         step, orders, moves; /* numbers given so far */
	int         task;                /* steps that tasks are still open .. */
	int64_t     first, last;         /* .. these */
	char       *made[PM_ORDERS];     /* the calls that made what is there */
	char       *moved[PM_ORDERS];
	struct text told;               /* all steps so far */
	int64_t     waited_ms[PM_SKUS]; /* when somebody last waited for it */
} run;

static unsigned chance(unsigned n)
{
	return chance_of(&run.chance, n);
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

/* Not told: it changes nothing. */
static void look(const char *call, const struct text *expectation)
{
	flow_step("wait %s -> %s", call, expectation->data);
}

static void compare(void)
{
	struct text words = {0};
	char        call[100];

	for (int s = 0; s < PM_SKUS; s++) {
		text_reset(&words);
		pm_sku_words(run.model, s, &words);
		snprintf(call, sizeof(call), "sku %c", 'A' + s);
		look(call, &words);
	}
	EACH_SPOT(s, p)
	if (run.model->kind[p] == PM_INCOMING) {
		text_reset(&words);
		pm_line_words(run.model, s, p, &words);
		snprintf(call, sizeof(call), "raw GET /v1/skus/%c/waiting?location=%s", 'A' + s, pm_places[p]);
		look(call, &words);
	}
	for (int id = 0; id < run.orders; id++)
		if (pm_lives(&run.model->order[id])) {
			text_reset(&words);
			pm_order_words(run.model, id, &words);
			snprintf(call, sizeof(call), "get R%d", id);
			look(call, &words);
		}
	text_fini(&words);
}

/* A lane may go on refusing what nobody waits for any more, for a while. */
static bool may_lag(const struct pm_ask *a)
{
	bool lag = false;

	for (int s = 0; s < PM_SKUS; s++)
		lag |= clock_ms() < run.waited_ms[s] + FOR_SALE_MS;
	return lag && (a->call == PM_RESERVE || a->call == PM_REACQUIRE);
}

static void waited_note(void)
{
	int ids[PM_ORDERS];

	EACH_SPOT(s, p)
	if (run.model->kind[p] == PM_INCOMING && pm_line(run.model, s, p, ids) > 0)
		run.waited_ms[s] = clock_ms();
}

static bool keeps(const char *expectation)
{
	return strncmp(expectation, "201", 3) == 0;
}

static void ask_run(const struct pm_ask *a)
{
	struct text words = {0}, expectation = {0};
	bool        lags = may_lag(a);

	waited_note();
	pm_words(a, &words);
	pm_do(run.model, a, &expectation);
	waited_note();
	if (lags && a->best_effort)
		usleep(FOR_SALE_MS * 1000);
	usleep(APART_US);
	if (keeps(expectation.data) && a->call <= PM_SPLIT)
		run.made[a->id] = strdup(words.data);
	if (keeps(expectation.data) && a->call >= PM_RECEIPT)
		run.moved[a->id] = strdup(words.data);
	step("%s%s%s -> %s", lags && *expectation.data == '2' ? "wait " : "", chance(2) ? "@2 " : "", words.data,
	     expectation.data);
	text_fini(&words);
	text_fini(&expectation);
}

/* ---- made up by chance */

static int order_find(enum pm_state one, enum pm_state other)
{
	int id = (int)chance((unsigned)run.orders);

	for (int i = 0; i < 40 && run.model->order[id].state != one && run.model->order[id].state != other; i++)
		id = (int)chance((unsigned)run.orders);
	return id;
}

static int live(void)
{
	int n = 0;

	for (int id = 0; id < run.orders; id++)
		n += pm_lives(&run.model->order[id]);
	return n;
}

/* Far from any tick, so that it does not matter how long the run takes. */
static int ttl_make(void)
{
	return TICK_S / 2 + TICK_S * (int)chance(4);
}

static int sale_place(void)
{
	static const int places[] = {MAIN, MAIN, MAIN, PO, PO, PO, WEST, BO};

	return chance(25) ? places[chance(LENGTH(places))] : QC;
}

static void order_make(struct pm_ask *a)
{
	int lines = 1 + (int)chance(2);

	*a = (struct pm_ask){.call = PM_RESERVE, .id = run.orders++, .other = -1, .ttl_s = ttl_make()};
	for (int i = 0; i < lines; i++) {
		int s = (int)chance(PM_SKUS), p = sale_place();

		a->named[s][p] = true;
		a->qty[s][p] = 1 + chance(3);
	}
	a->confirm = chance(3) == 0;
	a->best_effort = chance(8) == 0;
}

/* Where it is sure how it ends: the first place waits at the second. */
static void choice_make(struct pm_ask *a)
{
	struct pm_choice *c = &a->choice;

	order_make(a);
	memset(a->named, 0, sizeof(a->named));
	a->best_effort = false;
	c->sku = (int)chance(PM_SKUS);
	c->first = chance(2) ? MAIN : WEST;
	c->second = c->first == MAIN ? PO : BO;
	c->may_split = chance(2);
	c->qty = 1 + chance(5);
	if (run.model->waits_at[c->first] != c->second || run.model->kind[c->first] != PM_STOCK) {
		c->qty = 0;
		a->named[c->sku][c->second] = true;
		a->qty[c->sku][c->second] = 1;
	}
}

/* One that waits. It never expires and is not replaced: where it stands after that nobody says. */
static void told_make(struct pm_ask *a)
{
	int s = (int)chance(PM_SKUS), p = chance(3) ? PO : BO;

	order_make(a);
	a->named[s][p] = true;
	a->qty[s][p] = 1;
	a->told_s = TICK_S * (int)(1 + chance(4)) + TICK_S / 2;
	a->ttl_s = LONG_TTL_S;
	a->best_effort = false;
}

static void change_make(struct pm_ask *a)
{
	static const enum pm_call calls[] = {PM_CONFIRM, PM_CONFIRM, PM_CONFIRM,   PM_RELEASE, PM_RELEASE,
	                                     PM_SETTLE,  PM_EXTEND,  PM_REACQUIRE, PM_KICK};

	*a = (struct pm_ask){.call = calls[chance(LENGTH(calls))], .ttl_s = ttl_make(), .force = chance(3) == 0};
	a->id = a->call == PM_REACQUIRE ? order_find(PM_EXPIRED, PM_HELD)
	        : a->call == PM_KICK    ? order_find(PM_BURIED, PM_BURIED)
	        : chance(6)             ? order_find(PM_HELD, PM_CONFIRMED)
	                                : (int)chance((unsigned)run.orders);
	if (a->call == PM_KICK && run.model->order[a->id].state == PM_CONFIRMED) /* perhaps it was kicked before */
		a->call = PM_CONFIRM;
	EACH_SPOT(s, p) /* nobody says what becomes of units at a place that is not for sale any more */
	if (run.model->order[a->id].units[s][p] > 0 && run.model->kind[p] == PM_ASIDE)
		a->call = PM_RELEASE;
}

static bool any_line(const struct pm_ask *a)
{
	EACH_SPOT(s, p)
	if (a->named[s][p])
		return true;
	return false;
}

/* Where a line stands that a confirmed order gets beside those that it had nobody says, so it gets none. */
static void replace_make(struct pm_ask *a)
{
	int                    other = order_find(PM_HELD, PM_CONFIRMED);
	const struct pm_order *old = &run.model->order[other];

	order_make(a);
	a->best_effort = false;
	a->confirm = chance(2);
	EACH_SPOT(s, p)
	{
		if (old->state == PM_CONFIRMED && run.model->kind[p] == PM_INCOMING && old->units[s][p] == 0)
			a->named[s][p] = false;
		if (old->units[s][p] > 0 && chance(4)) {
			a->named[s][p] = true;
			a->qty[s][p] = 1 + chance((unsigned)old->units[s][p] + 1);
		}
	}
	a->other = old->told ? -1 : other;
	if (!any_line(a))
		change_make(a);
}

static void split_make(struct pm_ask *a)
{
	static const int       thens[] = {0, 0, PM_CONFIRMED, PM_RELEASED, PM_SETTLED};
	const struct pm_order *first;
	bool                   any = false;

	*a = (struct pm_ask){.call = PM_SPLIT, .other = order_find(PM_HELD, PM_CONFIRMED)};
	first = &run.model->order[a->other];
	EACH_SPOT(s, p)
	if (first->units[s][p] > 0 && chance(2)) {
		any = a->named[s][p] = true;
		a->qty[s][p] = 1 + chance((unsigned)first->units[s][p]);
	}
	if (!any) {
		a->named[0][MAIN] = true;
		a->qty[0][MAIN] = 1;
	}
	a->then = thens[chance(LENGTH(thens))];
	a->force = a->then == PM_SETTLED && chance(2);
	a->id = run.orders++;
}

static void end_make(struct pm_ask *a)
{
	*a = (struct pm_ask){.call = chance(2) ? PM_RELEASE : PM_SETTLE, .id = order_find(PM_CONFIRMED, PM_HELD)};
}

static void move_make(struct pm_ask *a, enum pm_call call)
{
	int lines = 1 + (int)chance(2);

	*a = (struct pm_ask){.call = call, .id = run.moves++};
	for (int i = 0; i < lines; i++) {
		int s = (int)chance(PM_SKUS), p = chance(3) ? sale_place() : (int)chance(PM_PLACES);

		a->named[s][p] = true;
		a->qty[s][p] = call == PM_COUNT ? chance(6) : 1 + chance(call == PM_RECEIPT ? 4 : 2);
		if (call == PM_ADJUST && chance(3))
			a->qty[s][p] = -a->qty[s][p];
	}
}

static void receipt_make(struct pm_ask *a)
{
	move_make(a, PM_RECEIPT);
}

static void adjustment_make(struct pm_ask *a)
{
	move_make(a, PM_ADJUST);
}

static void return_make(struct pm_ask *a)
{
	move_make(a, PM_RETURN);
}

static void count_make(struct pm_ask *a)
{
	move_make(a, PM_COUNT);
}

/* Promised units are lost, mostly; at times it is said wrongly where others are waited for. */
static void loss_make(struct pm_ask *a)
{
	int lines = 1 + (int)chance(2);

	*a = (struct pm_ask){.call = chance(2) ? PM_COUNT : PM_ADJUST, .id = run.moves++};
	for (int i = 0; i < lines; i++) {
		int     s = (int)chance(PM_SKUS), p = chance(3) ? MAIN : WEST;
		int64_t there = run.model->available[s][p] + run.model->reserved[s][p];
		int     lost = 1 + (int)chance(3);

		a->named[s][p] = a->may_lose[s][p] = true;
		a->qty[s][p] = a->call == PM_ADJUST ? -lost : there > lost ? there - lost : 0;
		a->lost_to[s][p] = run.model->kind[p] == PM_STOCK && chance(3) == 0 ? -1 : chance(2) ? PO : BO;
		if (chance(25) == 0)
			a->lost_to[s][p] = chance(2) ? QC : MAIN;
	}
}

static void transfer_make(struct pm_ask *a)
{
	static const int ends[][2] = {{MAIN, QC},   {QC, MAIN}, {QC, MAIN}, {QC, WEST}, {MAIN, WEST},
	                              {WEST, MAIN}, {PO, BO},   {BO, PO},   {PO, MAIN}, {QC, BO}};

	*a = (struct pm_ask){.call = PM_TRANSFER, .id = run.moves++, .ends = 1 + (int)chance(2)};
	for (int i = 0; i < a->ends; i++) {
		const int *way = ends[chance(chance(4) ? 8 : LENGTH(ends))];

		a->end[i] = (struct pm_end){i, way[0], way[1], 1 + chance(2)};
	}
}

/* One line of each sku: in what order the lines of a call are handed out nobody says. */
static void arrival_make(struct pm_ask *a)
{
	*a = (struct pm_ask){.call = PM_ARRIVAL, .id = run.moves++, .ends = 1 + (int)chance(2)};
	for (int i = 0; i < a->ends; i++)
		a->end[i] = (struct pm_end){i + (int)chance(2), chance(3) ? PO : BO, chance(3) ? MAIN : WEST,
		                            1 + chance(4)};
	if (a->ends == 2 && a->end[0].sku == a->end[1].sku)
		a->ends = 1;
	if (chance(20) == 0) /* not in the house is none of these */
		a->end[0].from = a->end[0].to == MAIN ? WEST : MAIN;
}

/* ---- other steps */

static void again_run(void)
{
	int order = (int)chance((unsigned)run.orders), move = (int)chance((unsigned)run.moves);

	if (run.made[order] && chance(2)) {
		struct text words = {0};

		pm_order_words(run.model, order, &words);
		step("%s -> 200 replayed%s", run.made[order], words.data + 3);
		text_fini(&words);
	} else if (run.moved[move]) {
		step("%s -> 200 replayed", run.moved[move]);
	}
}

static void line_switch(void)
{
	int place = chance(3) ? MAIN : WEST, at = place == MAIN ? PO : BO;

	if (run.model->kind[place] != PM_STOCK)
		return;
	if (run.model->waits_at[place] < 0) {
		step("raw PUT /v1/locations/%s {'waits_at':'%s'} -> 200 waits_at=%s", pm_places[place], pm_places[at],
		     pm_places[at]);
		pm_waits_at(run.model, place, at);
	} else {
		step("raw PUT /v1/locations/%s {'waits_at':null} -> 200 !waits_at", pm_places[place]);
		pm_waits_at(run.model, place, -1);
	}
}

/* Of others it is only tried while they are in use, or no place of the kind would be left. */
static void kind_switch(void)
{
	static const char *const kinds[] = {"stock", "aside", "incoming"};
	int                      place = (int)chance(PM_PLACES);
	enum pm_kind             kind = (enum pm_kind)chance(3);
	bool                     used = pm_in_use(run.model, place, kind);

	if ((place == QC || place == WEST) && chance(4))
		kind = run.model->kind[place] == PM_STOCK ? PM_ASIDE : PM_STOCK;
	used = pm_in_use(run.model, place, kind);
	if (!used && ((place != QC && place != WEST) || kind == PM_INCOMING))
		return;
	step("raw PUT /v1/locations/%s {'kind':'%s'} -> %s", pm_places[place], kinds[kind],
	     used ? "409 in_use" : "200");
	if (!used)
		pm_kind_set(run.model, place, kind);
}

static int64_t last_task(void)
{
	return trap_number("SELECT MAX(task_id) FROM job_task");
}

static void bury(int64_t task)
{
	struct text orders = {0};

	for (int id = 0; id < run.orders; id++)
		if (run.model->order[id].claimed)
			text_format(&orders, " R%d=bury", id);
	if (orders.len)
		step("fail %" PRId64 "%s -> 200", task, orders.data);
	text_fini(&orders);
	pm_task_end(run.model, PM_BURIED);
}

static void tasks_end(void)
{
	bool back = chance(3) == 0;

	if (run.last == run.first && chance(2)) {
		bury(run.last);
	} else {
		for (int64_t task = run.first; task <= run.last; task++)
			step(back ? "give-back %" PRId64 " -> 200" : "complete %" PRId64 " -> 200", task);
		pm_task_end(run.model, back ? PM_CONFIRMED : PM_SETTLED);
	}
	run.task = 0;
}

/* For a few steps tasks have all that is ready. A claim may leave something to the next one. */
static void tasks_begin(void)
{
	int n = pm_claim(run.model), claimed;

	run.first = last_task() + 1;
	for (claimed = 0; claimed < n && !flow_failed();
	     claimed += (int)trap_number("SELECT claimed FROM job_task WHERE task_id = %" PRId64, last_task()))
		step("claim settle w limit=1000 lease=3600 -> 201");
	if (claimed != n)
		flow_fail("%d orders are ready, %d were claimed", n, claimed);
	step("claim settle w limit=1000 lease=3600 -> 204");
	run.last = last_task();
	run.task = n ? 1 + (int)chance(TASK_STEPS) : 0;
}

static void tick_run(void)
{
	if (run.task)
		tasks_end();
	step("tick %d", TICK_S);
	step("work expire");
	pm_tick(run.model, TICK_S);
}

static void step_run(void)
{
	static void (*const makes[])(struct pm_ask *) = {
		order_make,   order_make,   order_make,      order_make,    order_make,   choice_make,  choice_make,
		told_make,    change_make,  change_make,     change_make,   change_make,  change_make,  split_make,
		split_make,   split_make,   replace_make,    replace_make,  replace_make, receipt_make, receipt_make,
		return_make,  count_make,   adjustment_make, loss_make,     loss_make,    loss_make,    transfer_make,
		arrival_make, arrival_make, arrival_make,    transfer_make,
	};
	struct pm_ask a;

	if (run.task && --run.task == 0)
		tasks_end();
	switch (chance(40)) {
	case 0:
		tick_run();
		break;
	case 1:
	case 2:
		again_run();
		break;
	case 3:
		line_switch();
		break;
	case 4:
		kind_switch();
		break;
	case 5:
	case 6:
		if (!run.task) {
			tasks_begin();
			break;
		}
		/* fall through */
	default:
		if (live() > LIVE_MAX)
			end_make(&a);
		else
			makes[chance(LENGTH(makes))](&a);
		ask_run(&a);
	}
	waited_note();
	compare();
}

/* ---- at the end */

/* Every order that lost units was told so, once for each movement; every one that was served, at least once. */
static void events_compare(void)
{
	static int    arrived[PM_ORDERS], backordered[PM_ORDERS];
	struct client client;
	struct answer answer = {0};
	const cJSON  *event;

	client_open(&client, flow_port(0));
	client_ask(&client, "GET", "/v1/events?types=reservation.arrived,reservation.backordered&limit=1000", "",
	           &answer);
	cJSON_ArrayForEach(event, cJSON_GetObjectItemCaseSensitive(answer.json, "items"))
	{
		const cJSON *data = cJSON_GetObjectItemCaseSensitive(event, "data");
		const char  *type = cJSON_GetObjectItemCaseSensitive(event, "type")->valuestring;
		int          id = atoi(cJSON_GetObjectItemCaseSensitive(data, "order_id")->valuestring + 1);

		if (strcmp(type, "reservation.arrived") == 0)
			arrived[id]++;
		else
			backordered[id]++;
	}
	for (int id = 0; id < run.orders; id++) {
		const struct pm_order *o = &run.model->order[id];

		if (backordered[id] != o->losses)
			flow_fail("R%d has lost units %d times, events tell of %d", id, o->losses, backordered[id]);
		if (!o->chose && (arrived[id] > 0) != o->served)
			flow_fail("R%d was served: %d, %d events tell", id, o->served, arrived[id]);
	}
	answer_fini(&answer);
	client_close(&client);
}

static void places_begin(void)
{
	static const char *const begin[] = {"serve --lanes 2",
	                                    "second --lanes 2 --slot 4",
	                                    "raw PUT /v1/locations/bo {'kind':'incoming'} -> 201",
	                                    "raw PUT /v1/locations/po {'kind':'incoming'} -> 201",
	                                    "raw PUT /v1/locations/qc {'kind':'aside'} -> 201",
	                                    "raw PUT /v1/locations/main {'waits_at':'po'} -> 201",
	                                    "raw PUT /v1/locations/west {'waits_at':'bo'} -> 201"};
	struct pm_ask            a = {.call = PM_RECEIPT, .id = run.moves++};

	flow_begin();
	pm_open(run.model);
	for (size_t i = 0; i < LENGTH(begin); i++)
		step("%s", begin[i]);
	pm_waits_at(run.model, MAIN, PO);
	pm_waits_at(run.model, WEST, BO);
	EACH_SPOT(s, p)
	{
		a.named[s][p] = true;
		a.qty[s][p] = p == PO ? 8 : p == MAIN ? 4 : 2;
	}
	ask_run(&a);
	order_make(&a);
	ask_run(&a);
}

static void places_run(uint64_t seed)
{
	int steps;

	run.seed = run.chance = number_from("HOLDFAST_MODEL_SEED", seed);
	steps = (int)number_from("HOLDFAST_MODEL_STEPS", STEPS);
	run.model = mem_alloc(sizeof(*run.model));
	places_begin();
	for (; run.step < steps && !flow_failed() && run.orders < PM_ORDERS - 2; run.step++)
		step_run();
	if (flow_failed())
		fprintf(stderr, "HOLDFAST_MODEL_SEED=%" PRIu64 " step %d\n%s", run.seed, run.step, run.told.data);
	else
		events_compare();
	flow_step("run audit -> 0");
	flow_end();
	for (int i = 0; i < PM_ORDERS; i++) {
		free(run.made[i]);
		free(run.moved[i]);
	}
	text_fini(&run.told);
	free(run.model);
}

Test(places_model, one)
{
	places_run(1);
}

Test(places_model, two)
{
	places_run(2);
}
