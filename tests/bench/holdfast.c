/* holdfast.c - Holdfast over HTTP: reservations of one hot sku, alone or each with its confirmation. */
#include "load.h"

#include <inttypes.h>
#include <string.h>

#define HOT     "HOT"
#define HOT_QTY INT64_C(1000000000)

enum { STEP_RESERVE, STEP_CONFIRM };

/* One round: what the plans need. */
struct hot_round {
	struct bench *bench;
	struct text   body;  /* of the request being written */
	int64_t       units; /* acknowledged */
};

static bool reserve_next(void *arg, struct load_call *call, struct text *request)
{
	struct hot_round *r = arg;

	call->number = r->bench->order_next++;
	text_reset(&r->body);
	text_add(&r->body, "{\"order_id\":\"");
	order_write(&r->body, call->number);
	text_add(&r->body, "\",\"lines\":[{\"sku\":\"" HOT "\",\"qty\":");
	text_int(&r->body, order_qty(call->number));
	text_add(&r->body, "}]}");
	load_request(request, "POST", "/v1/reservations", r->body.data, r->body.len);
	return true;
}

/* The answer names our order and its state, and has exactly our line. */
static bool reservation_right(const struct load_call *call, struct span body, const char *state)
{
	static const char *const names[] = {"order_id", "state", "lines"}, *const line_names[] = {"sku", "qty"};
	struct span values[3], line[2], item, more;
	size_t      at = 0;
	char        room[2 * ORDER_LEN]; /* more than enough: it must not grow */
	struct text id = {.data = room, .cap = sizeof(room)};

	order_write(&id, call->number);
	return answer_members(body, names, values, 3) && answer_is(values[0], id.data, id.len) &&
	       answer_is(values[1], state, strlen(state)) && answer_item(values[2], &at, &item) &&
	       answer_members(item, line_names, line, 2) && answer_is(line[0], HOT, strlen(HOT)) &&
	       answer_int(line[1]) == order_qty(call->number) && !answer_item(values[2], &at, &more);
}

static enum load_verdict reserve_check(void *arg, struct load_call *call, int status, struct span body)
{
	struct hot_round *r = arg;

	if (status != 201 || !reservation_right(call, body, "held"))
		return LOAD_WRONG;
	r->units += order_qty(call->number);
	return LOAD_DONE;
}

static bool pair_next(void *arg, struct load_call *call, struct text *request)
{
	struct hot_round *r = arg;

	if (call->step == STEP_RESERVE)
		return reserve_next(arg, call, request);
	text_reset(&r->body);
	text_add(&r->body, "/v1/reservations/");
	order_write(&r->body, call->number);
	text_add(&r->body, "/confirm");
	load_request(request, "POST", r->body.data, "{}", 2);
	return true;
}

static enum load_verdict pair_check(void *arg, struct load_call *call, int status, struct span body)
{
	if (call->step == STEP_RESERVE) {
		if (reserve_check(arg, call, status, body) != LOAD_DONE)
			return LOAD_WRONG;
		call->step = STEP_CONFIRM;
		return LOAD_MORE;
	}
	return status == 200 && reservation_right(call, body, "confirmed") ? LOAD_DONE : LOAD_WRONG;
}

const struct load_plan plan_reserve = {reserve_next, reserve_check};
const struct load_plan plan_pair = {pair_next, pair_check};

bool sku_receive(struct bench *b, const char *movement_id, const char *sku, int64_t qty)
{
	struct text body = {0}, answer = {0};
	int         status;

	text_format(&body,
	            "{\"movement_id\":\"%s\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"%s\",\"qty\":%" PRId64 "}]}",
	            movement_id, sku, qty);
	status = load_once(b->port, "POST", "/v1/movements", &body, &answer);
	if (status != 201 && status != 200)
		bench_wrong("the receipt of %s was answered %d %.300s", sku, status, answer.data ? answer.data : "");
	text_fini(&body);
	text_fini(&answer);
	return status == 201 || status == 200;
}

/* Every contender of this file receives the hot sku under one id: the repetition is a replay. */
bool holdfast_open(struct bench *b, const struct contender *c)
{
	(void)c;
	return sku_receive(b, "bench-hot", HOT, HOT_QTY);
}

void holdfast_run(struct bench *b, const struct contender *c, struct round *out)
{
	struct hot_round r = {.bench = b};
	struct load      l = {.port = b->port, .connections = c->connections, .plan = c->plan, .arg = &r};

	l.until_us = clock_us() + (int64_t)b->seconds * 1000000;
	load_run(&l);
	*out = (struct round){.seconds = l.seconds,
	                      .timed = l.timed,
	                      .orders = l.orders,
	                      .units = r.units,
	                      .wrong = l.wrong,
	                      .samples = l.samples};
	text_fini(&r.body);
}

/* The units promised of the hot sku; false unless what is promised and what is left make up what was received. */
bool holdfast_taken(struct bench *b, const struct contender *c, int64_t *units)
{
	static const char *const names[] = {"available", "reserved", "on_hand"};
	struct text              answer = {0};
	struct span              values[3];
	bool                     right = false;

	(void)c;
	if (load_once(b->port, "GET", "/v1/skus/" HOT, NULL, &answer) == 200 &&
	    answer_members((struct span){answer.data, answer.len}, names, values, 3)) {
		*units = answer_int(values[1]);
		right = answer_int(values[0]) + *units == HOT_QTY && answer_int(values[2]) == HOT_QTY;
	}
	if (!right)
		bench_wrong("the stock of the hot sku reads %.300s", answer.data ? answer.data : "nothing");
	text_fini(&answer);
	return right;
}
