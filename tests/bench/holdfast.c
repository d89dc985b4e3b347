/* holdfast.c - see holdfast.h: what each load sends, and what its answers must be. */
#include "engine/base/clock.h"
#include "holdfast.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { STEP_RESERVE, STEP_CONFIRM };
enum { STEP_CLAIM, STEP_COMPLETE };
enum { BATCH = 500, MIX_RESERVES = 5 /* every fifth call of the mix */ };

/* ---- one order: written and judged */

static void order_json(struct visit *v, uint64_t number)
{
	struct line lines[LINES_MAX];
	int         count = v->load->lines(v->load->ledger, number, lines);
	char        code[CODE_SIZE];

	text_add(&v->body, "{\"order_id\":\"");
	order_write(&v->body, number);
	text_add(&v->body, "\",\"lines\":[");
	for (int i = 0; i < count; i++) {
		ledger_code(v->load->ledger, lines[i].sku, code);
		text_add(&v->body, i ? ",{\"sku\":\"" : "{\"sku\":\"");
		text_add(&v->body, code);
		text_add(&v->body, "\",\"qty\":");
		text_int(&v->body, lines[i].qty);
		text_add(&v->body, v->load->places ? ",\"locations\":[\"annex\",\"barn\",\"main\"]}" : "}");
		v->load->ledger->asked[lines[i].sku] += lines[i].qty;
	}
	text_char(&v->body, ']');
	if (v->load->customers > 0) {
		text_add(&v->body, ",\"customer\":\"c");
		text_int(&v->body, (int64_t)(number_spread(number) % (uint64_t)v->load->customers));
		text_char(&v->body, '"');
	}
	text_add(&v->body, v->load->confirmed ? ",\"confirm\":true}" : "}");
}

static bool order_named(struct span order_id, uint64_t number)
{
	char        room[2 * ORDER_LEN]; /* more than enough: it must not grow */
	struct text id = {.data = room, .cap = sizeof(room)};

	order_write(&id, number);
	return answer_is(order_id, id.data, id.len);
}

/* The answer has exactly the lines wanted, in any order; each is of another sku. Looked for first where it would stand
 * in the order of what was wanted. */
static bool lines_right(const struct visit *v, struct span array, const struct line *lines, int count)
{
	static const char *const names[] = {"sku", "qty"};
	struct span              item, values[2];
	size_t                   at = 0;
	int                      found = 0;
	bool                     seen[LINES_MAX];
	char                     code[CODE_SIZE];

	memset(seen, 0, (size_t)count * sizeof(seen[0]));
	while (answer_item(array, &at, &item)) {
		int tried = 0, i = found;

		if (found == count || !answer_members(item, names, values, 2))
			return false;
		for (; tried < count; tried++, i = (i + 1) % count) {
			ledger_code(v->load->ledger, lines[i].sku, code);
			if (!seen[i] && answer_is(values[0], code, strlen(code)))
				break;
		}
		if (tried == count || answer_int(values[1]) != lines[i].qty)
			return false;
		seen[i] = true;
		found++;
	}
	return found == count;
}

/* The answer names the order and its state and has its lines. What is acknowledged for the first time is noted. */
static bool order_right(struct visit *v, uint64_t number, struct span body, const char *state, bool first)
{
	static const char *const names[] = {"order_id", "state", "lines"};
	struct span              values[3];
	struct line              lines[LINES_MAX];
	int                      count = v->load->lines(v->load->ledger, number, lines);

	if (!answer_members(body, names, values, 3) || !order_named(values[0], number) ||
	    !answer_is(values[1], state, strlen(state)) || !lines_right(v, values[2], lines, count))
		return false;
	for (int i = 0; first && i < count; i++) {
		v->load->ledger->sold[lines[i].sku] += lines[i].qty;
		v->units += lines[i].qty;
	}
	return true;
}

/* Takes numbers for `count` orders, or as many as are left. */
static bool numbers_take(struct visit *v, struct load_call *call, int count)
{
	if (v->left <= 0)
		return false;
	call->count = count < v->left ? count : (int)v->left;
	call->number = v->bench->order_next;
	v->bench->order_next += (uint64_t)call->count;
	v->left -= call->count;
	text_reset(&v->body);
	return true;
}

/* ---- reserve */

static bool reserve_next(void *arg, struct load_call *call, struct text *request)
{
	struct visit *v = arg;

	if (!numbers_take(v, call, 1))
		return false;
	order_json(v, call->number);
	load_request(request, "POST", "/v1/reservations", v->body.data, v->body.len);
	return true;
}

static const char *made_state(const struct visit *v)
{
	return v->load->confirmed ? "confirmed" : "held";
}

static enum load_verdict reserve_check(void *arg, struct load_call *call, const struct load_answer *answer)
{
	return answer->status == 201 && order_right(arg, call->number, answer->body, made_state(arg), true)
	               ? LOAD_DONE
	               : LOAD_WRONG;
}

/* ---- reserve, then confirm on the same connection */

static bool pair_next(void *arg, struct load_call *call, struct text *request)
{
	struct visit *v = arg;

	if (call->step == STEP_RESERVE)
		return reserve_next(arg, call, request);
	text_reset(&v->body);
	text_add(&v->body, "/v1/reservations/");
	order_write(&v->body, call->number);
	text_add(&v->body, "/confirm");
	load_request(request, "POST", v->body.data, "{}", 2);
	return true;
}

static enum load_verdict pair_check(void *arg, struct load_call *call, const struct load_answer *answer)
{
	if (call->step == STEP_RESERVE) {
		if (reserve_check(arg, call, answer) != LOAD_DONE)
			return LOAD_WRONG;
		call->step = STEP_CONFIRM;
		return LOAD_MORE;
	}
	return answer->status == 200 && order_right(arg, call->number, answer->body, "confirmed", false) ? LOAD_DONE
	                                                                                                 : LOAD_WRONG;
}

/* ---- a batch call */

static bool batch_next(void *arg, struct load_call *call, struct text *request)
{
	struct visit *v = arg;

	if (!numbers_take(v, call, v->load->per_call))
		return false;
	text_add(&v->body, "{\"reservations\":[");
	for (int i = 0; i < call->count; i++) {
		if (i)
			text_char(&v->body, ',');
		order_json(v, call->number + (uint64_t)i);
	}
	text_add(&v->body, "]}");
	load_request(request, "POST", "/v1/reservations/batch", v->body.data, v->body.len);
	return true;
}

/* Each order has its result, with this status and state. */
static bool results_right(struct visit *v, const struct load_call *call, const struct load_answer *answer, int status,
                          const char *state)
{
	static const char *const names[] = {"results"}, *const item_names[] = {"status"};
	struct span results, item, value;
	size_t      at = 0;
	int         right = 0;

	if (answer->status != 200 || !answer_members(answer->body, names, &results, 1))
		return false;
	while (right < call->count && answer_item(results, &at, &item)) {
		if (!answer_members(item, item_names, &value, 1) || answer_int(value) != status ||
		    !order_right(v, call->number + (uint64_t)right, item, state, status == 201))
			return false;
		right++;
	}
	return right == call->count && !answer_item(results, &at, &item);
}

static enum load_verdict batch_check(void *arg, struct load_call *call, const struct load_answer *answer)
{
	return results_right(arg, call, answer, 201, made_state(arg)) ? LOAD_DONE : LOAD_WRONG;
}

/* ---- a batch call, then one that confirms its orders */

/* A call that names the orders of `call`. */
static void ids_request(struct visit *v, const struct load_call *call, const char *path, struct text *request)
{
	text_reset(&v->body);
	for (int i = 0; i < call->count; i++) {
		text_add(&v->body, i ? "\",\"" : "{\"order_ids\":[\"");
		order_write(&v->body, call->number + (uint64_t)i);
	}
	text_add(&v->body, "\"]}");
	load_request(request, "POST", path, v->body.data, v->body.len);
}

static bool pairs_next(void *arg, struct load_call *call, struct text *request)
{
	if (call->step == STEP_RESERVE)
		return batch_next(arg, call, request);
	ids_request(arg, call, "/v1/confirmations", request);
	return true;
}

static enum load_verdict pairs_check(void *arg, struct load_call *call, const struct load_answer *answer)
{
	if (call->step == STEP_CONFIRM)
		return results_right(arg, call, answer, 200, "confirmed") ? LOAD_DONE : LOAD_WRONG;
	if (batch_check(arg, call, answer) != LOAD_DONE)
		return LOAD_WRONG;
	call->step = STEP_CONFIRM;
	return LOAD_MORE;
}

/* ---- confirmed orders are settled by their ids, the oldest first */

static bool settle_next(void *arg, struct load_call *call, struct text *request)
{
	struct visit *v = arg;

	if (!numbers_take(v, call, v->load->per_call))
		return false;
	ids_request(v, call, "/v1/settlements", request);
	return true;
}

static enum load_verdict settle_check(void *arg, struct load_call *call, const struct load_answer *answer)
{
	return results_right(arg, call, answer, 200, "settled") ? LOAD_DONE : LOAD_WRONG;
}

/* ---- or by tasks: a claim of as many, then its completion; call->number is the task's */

static bool task_next(void *arg, struct load_call *call, struct text *request)
{
	struct visit *v = arg;

	if (call->step == STEP_CLAIM && !numbers_take(v, call, v->load->per_call))
		return false;
	text_reset(&v->body);
	if (call->step == STEP_CLAIM) {
		text_format(&v->body, "{\"kind\":\"settle\",\"worker\":\"bench\",\"limit\":%d}", call->count);
		load_request(request, "POST", "/v1/tasks", v->body.data, v->body.len);
	} else {
		text_format(&v->body, "/v1/tasks/%" PRIu64 "/complete", call->number);
		load_request(request, "POST", v->body.data, "{}", 2);
	}
	return true;
}

/* A claim may get fewer than it asked for while others have theirs. What it did not get is left. */
static enum load_verdict claim_check(struct visit *v, struct load_call *call, const struct load_answer *answer)
{
	static const char *const names[] = {"task_id", "orders"};
	struct span              values[2], item;
	size_t                   at = 0;
	int                      asked = call->count;

	call->count = 0;
	if (answer->status == 201 && answer_members(answer->body, names, values, 2))
		while (answer_item(values[1], &at, &item))
			call->count++;
	v->left += asked - call->count;
	if (call->count == 0 || call->count > asked)
		return answer->status == 204 ? LOAD_DONE : LOAD_WRONG;
	call->number = (uint64_t)answer_int(values[0]);
	call->step = STEP_COMPLETE;
	return LOAD_MORE;
}

static enum load_verdict task_check(void *arg, struct load_call *call, const struct load_answer *answer)
{
	static const char *const names[] = {"completed"};
	struct span              completed;

	if (call->step == STEP_CLAIM)
		return claim_check(arg, call, answer);
	return answer->status == 200 && answer_members(answer->body, names, &completed, 1) &&
	                       answer_int(completed) == call->count
	               ? LOAD_DONE
	               : LOAD_WRONG;
}

/* ---- selling out: either the reservation, or the truth about what is left */

static enum load_verdict sellout_check(void *arg, struct load_call *call, const struct load_answer *answer)
{
	static const char *const names[] = {"code", "lines"}, *const line_names[] = {"requested", "available"};
	struct visit *v = arg;
	struct span   values[2], line[2], item;
	size_t        at = 0;

	if (answer->status == 201)
		return reserve_check(arg, call, answer);
	/* One unit is asked for, so short means that none is left; and then all have been sold, or soon will be. */
	return answer->status == 409 && answer_members(answer->body, names, values, 2) &&
	                       answer_is(values[0], "short", 5) && answer_item(values[1], &at, &item) &&
	                       answer_members(item, line_names, line, 2) && answer_int(line[0]) == 1 &&
	                       answer_int(line[1]) == 0 && v->load->ledger->asked[0] >= v->load->ledger->received
	               ? LOAD_DONE
	               : LOAD_WRONG;
}

/* ---- availability from memory, alone and among orders */

static bool read_next(void *arg, struct load_call *call, struct text *request)
{
	struct visit *v = arg;
	char          code[CODE_SIZE];

	if (!numbers_take(v, call, 1))
		return false;
	ledger_code(v->load->ledger, zipf_sku(number_spread(call->number)), code);
	text_add(&v->body, "/v1/skus/");
	text_add(&v->body, code);
	text_add(&v->body, "?max_age_ms=");
	text_int(&v->body, AGE_MAX_MS);
	load_request(request, "GET", v->body.data, "", 0);
	return true;
}

/* The header Age-Ms; -1: none. */
static int64_t answer_age_ms(const struct load_answer *answer)
{
	static const char name[] = "\nage-ms:";
	const char       *end = answer->head.at + answer->head.len;

	for (const char *at = answer->head.at; at + strlen(name) < end; at++)
		if (*at == '\n' && strncasecmp(at, name, strlen(name)) == 0)
			return strtoll(at + strlen(name), NULL, 10);
	return -1;
}

static enum load_verdict read_check(void *arg, struct load_call *call, const struct load_answer *answer)
{
	static const char *const names[] = {"sku", "available", "reserved", "on_hand"};
	struct visit            *v = arg;
	struct ledger           *l = v->load->ledger;
	int                      sku = zipf_sku(number_spread(call->number));
	int64_t                  age_ms = answer_age_ms(answer), reserved;
	struct span              values[4];
	char                     code[CODE_SIZE];

	ledger_code(l, sku, code);
	if (answer->status != 200 || age_ms < 0 || age_ms > AGE_MAX_MS ||
	    !answer_members(answer->body, names, values, 4) || !answer_is(values[0], code, strlen(code)))
		return LOAD_WRONG;
	reserved = answer_int(values[2]);
	return answer_int(values[1]) + reserved == l->received && answer_int(values[3]) == l->received &&
	                       ledger_reading_right(l, sku, reserved, answer->now_us)
	               ? LOAD_DONE
	               : LOAD_WRONG;
}

static bool mix_next(void *arg, struct load_call *call, struct text *request)
{
	struct visit *v = arg;

	return v->bench->order_next % MIX_RESERVES == 0 ? reserve_next(arg, call, request)
	                                                : read_next(arg, call, request);
}

static enum load_verdict mix_check(void *arg, struct load_call *call, const struct load_answer *answer)
{
	return call->number % MIX_RESERVES == 0 ? reserve_check(arg, call, answer) : read_check(arg, call, answer);
}

/* ---- the loads */

struct ledger        ledger_sales = {.prefix = "SALES", .received = HOT_QTY};
static struct ledger ledger_sellout = {.prefix = "SELLOUT", .count = 1};
static struct ledger ledger_limited = {.prefix = "LIMITED", .count = 1, .received = HOT_QTY};

static const struct load_plan reserve = {reserve_next, reserve_check, NULL};
static const struct load_plan pair = {pair_next, pair_check, NULL};
static const struct load_plan batch = {batch_next, batch_check, NULL};
static const struct load_plan pairs = {pairs_next, pairs_check, NULL};
static const struct load_plan settle = {settle_next, settle_check, NULL};
static const struct load_plan task = {task_next, task_check, NULL};
static const struct load_plan sellout = {reserve_next, sellout_check, NULL};
static const struct load_plan read_only = {read_next, read_check, NULL};
static const struct load_plan mix = {mix_next, mix_check, NULL};

const struct http_load load_reserve = {.plan = &reserve, .ledger = &ledger_hot, .lines = lines_one};
const struct http_load load_paced = {.plan = &reserve, .ledger = &ledger_hot, .lines = lines_one, .paced = PACE_TOP};
const struct http_load load_paced_own = {
	.plan = &reserve, .ledger = &ledger_hot, .lines = lines_one, .paced = PACE_OWN};
const struct http_load load_pair = {.plan = &pair, .ledger = &ledger_hot, .lines = lines_one};
const struct http_load load_confirmed = {
	.plan = &reserve, .ledger = &ledger_hot, .lines = lines_one, .confirmed = true};
const struct http_load load_pairs = {.plan = &pairs, .ledger = &ledger_hot, .lines = lines_one, .per_call = BATCH};
const struct http_load load_ready = {.plan = &pair, .ledger = &ledger_shop, .lines = lines_any};
const struct http_load load_batch = {.plan = &batch, .ledger = &ledger_hot, .lines = lines_one, .per_call = BATCH};
const struct http_load load_waiting = {
	.plan = &batch, .ledger = &ledger_shop, .lines = lines_any, .per_call = BATCH, .confirmed = true};
const struct http_load load_settle = {.plan = &settle, .ledger = &ledger_shop, .lines = lines_any, .per_call = BATCH};
const struct http_load load_task = {.plan = &task, .ledger = &ledger_shop, .lines = lines_any, .per_call = BATCH};
const struct http_load load_basket = {.plan = &reserve, .ledger = &ledger_shop, .lines = lines_basket};
const struct http_load load_any = {.plan = &reserve, .ledger = &ledger_shop, .lines = lines_any};
const struct http_load load_three = {.plan = &batch, .ledger = &ledger_shop, .lines = lines_three, .per_call = BATCH};
const struct http_load load_sales = {.plan = &reserve, .ledger = &ledger_sales, .lines = lines_sold};
const struct http_load load_sellout = {
	.plan = &sellout, .ledger = &ledger_sellout, .lines = lines_single, .sells_out = true};
const struct http_load load_customers = {
	.plan = &reserve, .ledger = &ledger_limited, .lines = lines_one, .customers = 100000};
const struct http_load load_customer = {
	.plan = &reserve, .ledger = &ledger_limited, .lines = lines_one, .customers = 1};
const struct http_load load_places = {.plan = &reserve, .ledger = &ledger_hot, .lines = lines_one, .places = true};
const struct http_load load_no_line = {.plan = &reserve, .ledger = &ledger_hot, .lines = lines_one, .waits_at = "null"};
const struct http_load load_line = {.plan = &reserve, .ledger = &ledger_hot, .lines = lines_one, .waits_at = "\"po\""};
const struct http_load load_read = {.plan = &read_only, .ledger = &ledger_shop, .lines = lines_basket};
const struct http_load load_mix = {.plan = &mix, .ledger = &ledger_shop, .lines = lines_basket};

static bool put(struct bench *b, const char *path, struct text *body)
{
	struct text answer = {0};
	int         status = load_once(b->port, "PUT", path, body, &answer);

	if (status != 200 && status != 201)
		bench_wrong("PUT %s was answered %d %.300s", path, status, answer.data ? answer.data : "");
	text_fini(body);
	text_fini(&answer);
	return status == 200 || status == 201;
}

/* The sku gets a limit that no customer reaches: all that there is of it. */
static bool limit_set(struct bench *b, const struct ledger *l)
{
	struct text body = {0};
	char        code[CODE_SIZE], path[CODE_SIZE + 16];

	ledger_code(l, 0, code);
	snprintf(path, sizeof(path), "/v1/skus/%s", code);
	text_format(&body, "{\"per_customer\":%d}", HOT_QTY);
	return put(b, path, &body);
}

/* Places that a line names before the one that has its units. */
static bool places_make(struct bench *b)
{
	struct text annex = {0}, barn = {0};

	text_add(&annex, "{}");
	text_add(&barn, "{}");
	return put(b, "/v1/locations/annex", &annex) & put(b, "/v1/locations/barn", &barn);
}

/* Units of `main` go first to the queue at `po`, which is empty. */
static bool line_set(struct bench *b, const char *waits_at)
{
	struct text po = {0}, main_place = {0};

	text_add(&po, "{\"kind\":\"incoming\"}");
	text_format(&main_place, "{\"waits_at\":%s}", waits_at);
	return put(b, "/v1/locations/po", &po) & put(b, "/v1/locations/main", &main_place);
}

static bool http_open(struct bench *b, const struct contender *c)
{
	const struct http_load *load = c->what;

	if (load->sells_out)
		load->ledger->received = b->buyers / 10;
	return service_start(b) && ledger_receive(b, load->ledger) &&
	       (load->customers == 0 || limit_set(b, load->ledger)) && (!load->places || places_make(b));
}

void visit_run(struct bench *b, const struct http_load *load, int connections, int64_t orders, struct round *out)
{
	struct visit v = {.bench = b, .load = load, .left = orders};
	struct load  l = {.port = b->port,
	                  .more = {b->second_port, b->third_port},
	                  .connections = connections,
	                  .plan = load->plan,
	                  .arg = &v};

	l.rate = load->paced == PACE_TOP ? b->top_rate / 2 : load->paced == PACE_OWN ? b->own_rate / 2 : 0;
	l.until_us = orders < INT64_MAX ? bench_until_us(b, 0.92) : clock_us() + (int64_t)b->seconds * 1000000;
	load_run(&l);
	*out = (struct round){.seconds = l.seconds,
	                      .timed = l.timed,
	                      .orders = l.orders,
	                      .units = v.units,
	                      .wrong = l.wrong,
	                      .samples = l.samples};
	text_fini(&v.body);
}

static void rate_note(struct bench *b, int connections, const struct round *r)
{
	double rate = r->seconds > 0 ? (double)r->timed / r->seconds : 0;

	if (rate > b->top_rate)
		b->top_rate = rate;
	if (connections == PACED && rate > b->own_rate)
		b->own_rate = rate;
}

/* Half of a top rate that is not measured yet: a short round finds it. */
static void rates_find(struct bench *b)
{
	struct round r;

	visit_run(b, &load_reserve, PACED, INT64_MAX, &r);
	rate_note(b, PACED, &r);
	free(r.samples.us);
}

/* Before the figures of a round are read, since this sells as well. */
static bool http_ready(struct bench *b, const struct contender *c)
{
	const struct http_load *load = c->what;

	if (load->paced && b->own_rate == 0)
		rates_find(b);
	return !load->waits_at || line_set(b, load->waits_at);
}

static void http_run(struct bench *b, const struct contender *c, struct round *out)
{
	const struct http_load *load = c->what;

	visit_run(b, load, c->connections, load->sells_out ? b->buyers : INT64_MAX, out);
	if (load->sells_out && out->orders == b->buyers && out->units != load->ledger->received) {
		bench_wrong("%" PRId64 " units for %" PRId64 " buyers, and %" PRId64 " were sold",
		            load->ledger->received, b->buyers, out->units);
		out->wrong++;
	}
	if (load == &load_reserve)
		rate_note(b, c->connections, out);
}

static bool http_taken(struct bench *b, const struct contender *c, int64_t *units)
{
	const struct http_load *load = c->what;

	return ledger_check(b, load->ledger, units);
}

const struct way way_http = {.open = http_open,
                             .ready = http_ready,
                             .run = http_run,
                             .taken = http_taken,
                             .child = offsetof(struct bench, service)};
