/* orders.c - see orders.h. */
#include "commands/import/orders.h"
#include "api/order/reservations.h"
#include "commands/terminal/bar.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/engine.h"
#include "engine/loop.h"

#include <poll.h>

/* TRIES_MAX: of an order while the database is busy or away; each waits for seconds, in the engine. */
enum { ORDERS_FLYING = 2000, TTL_S = 900, TRIES_MAX = 12 };

struct order_row {
	char    sku[SKU_MAX + 1], location[LOCATION_MAX + 1]; /* location: empty: main */
	int64_t qty;
};

/* An order that was sent. */
struct sent {
	struct orders *orders;
	int64_t        line, rows;
	unsigned       tries;
};

static void order_refuse(const struct sent *s, struct op *op)
{
	struct text        why = {0};
	struct json_writer w = {.to = &why};

	json_open_object(&w, NULL);
	reservation_refusal_write(&w, op);
	json_close_object(&w);
	say("%s, line %lld: order %s: %s %s", s->orders->file, (long long)s->line, op->id, outcome_code(op->outcome),
	    why.data);
	text_fini(&why);
}

static void order_done(void *arg, struct op *op)
{
	struct sent   *s = arg;
	struct orders *o = s->orders;

	if (op->outcome == OUTCOME_OK) {
		o->made++;
	} else if (op->outcome == OUTCOME_REPLAYED) {
		o->replayed++;
	} else if (outcome_class(op->outcome) == UNAVAILABLE && ++s->tries < TRIES_MAX && !o->failed) {
		op_renew(op);
		if (engine_start(o->engine, op, o->loop, order_done, s))
			return;
		o->failed = true;
	} else if (outcome_class(op->outcome) == UNAVAILABLE) {
		if (!o->failed)
			say("%s, line %lld: order %s: %s", o->file, (long long)s->line, op->id,
			    outcome_detail(op->outcome));
		o->failed = true;
	} else {
		o->refused++;
		order_refuse(s, op);
	}
	o->flying--;
	o->rows += s->rows;
	bar_set(o->rows);
	free(s);
	op_free(op);
}

static void orders_wait(struct orders *o, int most)
{
	struct pollfd ready = {loop_fd(o->loop), POLLIN, 0};

	if (o->flying > most)
		engine_wake(o->engine);
	while (o->flying > most) {
		poll(&ready, 1, 1000);
		loop_run(o->loop);
	}
}

static struct op *order_op(const struct orders *o)
{
	struct op *op = op_new(OP_RESERVE, o->count, o->count * (SKU_MAX + LOCATION_MAX + 2) + ID_MAX + 1);

	for (size_t i = 0; i < o->count; i++) {
		const struct order_row *row = &o->list[i];

		(void)op_line(op, row->sku, strlen(row->sku), *row->location ? row->location : NULL,
		              strlen(row->location), row->qty);
	}
	strcpy(op->id, o->order_id);
	if (*o->customer)
		op->customer = op_text(op, o->customer, strlen(o->customer));
	op->reserve.ttl_s = TTL_S;
	op->reserve.mode = ALL_OR_NOTHING;
	op->reserve.waits_since = o->waits_since;
	op->reserve.ship_after = o->ship_after;
	op->becomes = o->held ? HELD : CONFIRMED;
	op_seal(op, NULL);
	return op;
}

static void order_send(struct orders *o)
{
	struct sent *s;
	struct op   *op;

	if (o->count == 0 || o->failed)
		return;
	s = mem_alloc(sizeof(*s));
	*s = (struct sent){.orders = o, .line = o->line, .rows = (int64_t)o->count};
	op = order_op(o);
	orders_wait(o, ORDERS_FLYING - 1);
	o->flying++;
	while (!engine_start(o->engine, op, o->loop, order_done, s))
		orders_wait(o, o->flying / 2);
	engine_wake(o->engine);
	o->count = 0;
}

void orders_row(struct orders *o, const struct delivery_row *row)
{
	struct order_row *to;

	if (strcmp(o->order_id, row->order_id) != 0) {
		order_send(o);
		o->count = 0;
		strcpy(o->order_id, row->order_id);
		strcpy(o->customer, row->customer ? row->customer : "");
		o->line = row->line;
		o->waits_since = row->waits_since;
		o->ship_after = row->ship_after;
		o->held = row->held;
	}
	o->list = mem_reach(o->list, o->count, &o->max, sizeof(*o->list));
	to = &o->list[o->count++];
	strcpy(to->sku, row->sku);
	strcpy(to->location, row->location ? row->location : "");
	to->qty = row->qty;
}

void orders_end(struct orders *o)
{
	order_send(o);
	orders_wait(o, 0);
	free(o->list);
	o->list = NULL;
}
