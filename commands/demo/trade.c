/* trade.c - see trade.h. */
#include "commands/demo/trade.h"

#include <stdio.h>
#include <string.h>

/* ---- customers */

/* Orders in a moment. A day of the shop lasts four minutes, and a number stands for 20 s of it. */
static const int day[] = {3, 3, 4, 5, 7, 8, 7, 6, 8, 9, 7, 4};
enum { PART_MS = 20000 };

enum wish { PAYS_AT_ONCE, PAYS, CANCELS, FORGETS };

/* Of 100 customers 25 pay at once, 55 pay later, 12 cancel, and 8 forget their order until its hold expires. */
static enum wish wish_of(int64_t number)
{
	struct chance c = chance_for("wish", number);
	int           n = chance_below(&c, 100);

	return n < 25 ? PAYS_AT_ONCE : n < 80 ? PAYS : n < 92 ? CANCELS : FORGETS;
}

/* Of 100 orders 4 wait for scarce goods, 20 leave from a store, and 76 from the main house. One of the 76 asks for more
 * units than the shop has. */
static struct terms terms_of(int64_t number)
{
	struct chance c = chance_for("terms", number);
	int           n = chance_below(&c, 100);

	return (struct terms){.way = n < 4    ? BACKORDER
	                             : n < 24 ? FROM_STORE
	                                      : FROM_MAIN,
	                      .ttl_s = 45,
	                      .confirm = wish_of(number) == PAYS_AT_ONCE,
	                      .qty = n == 99 ? 5000 : 0};
}

/* Notes the held orders of the last call: their customers decide later. */
static void carts_fill(struct trade *t)
{
	struct carts *carts = &t->carts[t->moment % MOMENTS];
	const void *answer = caller_answer(t->shop->caller), *results = answer ? json_member(answer, "results") : NULL;
	struct text state = {0}, id = {0};

	carts->count = 0;
	for (const void *n = results ? json_first(results) : NULL; n && carts->count < CARTS; n = json_next(n)) {
		text_reset(&state);
		text_reset(&id);
		caller_text(&state, n, "state");
		caller_text(&id, n, "order_id");
		if (state.len > 0 && strcmp(state.data, "held") == 0)
			carts->orders[carts->count++] = order_number(id.data);
	}
	text_fini(&state);
	text_fini(&id);
}

static void wanted_add(struct trade *t, int64_t number, const struct terms *terms)
{
	struct basket b = basket_fill(number, terms->way);

	for (int i = 0; i < b.lines && !terms->qty && terms->way != BACKORDER; i++)
		t->wanted[b.line[i].good] += b.line[i].qty;
}

static void customers_order(struct trade *t)
{
	struct shop *s = t->shop;
	int          orders = day[t->moment * MOMENT_MS / PART_MS % LENGTH(day)];

	shop_orders(s);
	for (int i = 0; i < orders; i++) {
		struct terms terms = terms_of(s->orders);

		wanted_add(t, s->orders, &terms);
		shop_order(s, &terms);
	}
	shop_sell(s);
	carts_fill(t);
}

/* Calls `path` with the ids of the orders in the oldest carts that have this wish. */
static void carts_send(struct trade *t, enum wish wish, const char *path)
{
	const struct carts *carts = &t->carts[(t->moment + 1) % MOMENTS];
	struct json_writer *w = shop_body(t->shop);
	char                id[24];
	bool                any = false;

	json_open_array(w, "order_ids");
	for (int i = 0; i < carts->count; i++)
		if (wish_of(carts->orders[i]) == wish) {
			order_id_write(id, sizeof(id), carts->orders[i]);
			json_put_string(w, NULL, id);
			any = true;
		}
	json_close_array(w);
	if (any)
		shop_call(t->shop, "POST", "%s", path);
}

static void customers_decide(struct trade *t)
{
	carts_send(t, PAYS, "/v1/confirmations");
	carts_send(t, CANCELS, "/v1/releases");
}

/* ---- workers */

enum { PARCELS = 60 };

/* The first order of the task cannot be shipped. */
static void first_fails(struct trade *t, bool retry)
{
	struct json_writer *w = shop_body(t->shop);

	json_open_array(w, "orders");
	json_open_object(w, NULL);
	json_put_string(w, "order_id", t->first);
	json_put_string(w, "error", retry ? "the carrier does not answer" : "no such address");
	json_put_bool(w, "retry", retry);
	json_close_object(w);
	json_close_array(w);
	shop_call(t->shop, "POST", "/v1/tasks/%lld/fail", (long long)t->task);
}

/* false: the service did not answer, or not yet. The task is still ours, and ends another time. */
static bool task_ends(struct trade *t)
{
	struct chance c = chance_for("task", t->moment);
	int           status;

	if (chance_below(&c, 10) == 0)
		first_fails(t, chance_below(&c, 5) > 0);
	else
		t->shipped = order_number(t->first);
	shop_body(t->shop);
	status = shop_call(t->shop, "POST", "/v1/tasks/%lld/complete", (long long)t->task);
	return status > 0 && status < 500;
}

static void task_begins(struct trade *t)
{
	static const char *const workers[] = {"packing-1", "packing-2", "packing-3"};

	struct chance c = chance_for("worker", t->moment);
	const void   *orders;
	struct text   first = {0};

	t->task = shop_claim(t->shop, workers[chance_below(&c, LENGTH(workers))], PARCELS);
	if (!t->task)
		return;
	orders = json_member(caller_answer(t->shop->caller), "orders");
	caller_text(&first, orders ? json_first(orders) : NULL, "order_id");
	snprintf(t->first, sizeof(t->first), "%s", first.len > 0 ? first.data : "");
	text_fini(&first);
}

static void packers_pack(struct trade *t)
{
	if (!t->task || task_ends(t))
		task_begins(t);
}

/* Checks the unit that came back last: three of four go on sale again, one is damaged. Then a parcel returns. */
static void parcels_return(struct trade *t)
{
	struct shop  *s = t->shop;
	struct chance c = chance_for("return", t->moment);

	if (t->back > 0) {
		shop_movement(s, "transfer", "looked-at", t->moment, "looked at");
		shop_line_between(s, basket_fill(t->back, FROM_MAIN).line[0].good, RETURNS,
		                  chance_below(&c, 4) ? MAIN : DAMAGED, 1);
		shop_move(s);
	}
	t->back = t->shipped > 0 && shop_comes_back(s, t->shipped) ? t->shipped : 0;
}

/* ---- goods */

enum { CRATE = 12 };

/* Customers cancel or forget one unit of five. The other four are delivered to the shop, in crates. */
static void deliveries_come(struct trade *t)
{
	bool any = false;

	shop_movement(t->shop, "receipt", "restocked", t->moment, "restocked");
	for (int n = 0; n < GOODS; n++)
		if (t->wanted[n] >= CRATE) {
			shop_line(t->shop, n, MAIN, t->wanted[n] * 4 / 5);
			t->wanted[n] = 0;
			any = true;
		}
	if (any)
		shop_move(t->shop);
}

static void stores_are_filled(struct trade *t)
{
	struct chance c = chance_for("store", t->moment);

	shop_movement(t->shop, "transfer", "to-store", t->moment, "to the store");
	for (int i = 0; i < 5; i++)
		shop_line_between(t->shop, good_any(&c), ANNEX, chance_below(&c, 3) ? HARBOUR : STATION, 4);
	shop_move(t->shop);
}

static void goods_break(struct trade *t)
{
	struct chance c = chance_for("broken", t->moment);

	shop_movement(t->shop, "adjustment", "broken", t->moment, "broken in the aisle");
	shop_line(t->shop, good_any(&c), MAIN, -1);
	shop_move(t->shop);
}

static void lorry_comes(struct trade *t)
{
	shop_lorry_comes(t->shop, t->moment);
	shop_lorry_loads(t->shop, t->moment);
}

/* ---- the whole */

#define SECONDS(n) ((n)*1000 / MOMENT_MS)

static const struct {
	int every; /* moments */
	void (*happens)(struct trade *t);
} habits[] = {
	{1, customers_order},           {1, customers_decide},           {SECONDS(2), packers_pack},
	{SECONDS(10), deliveries_come}, {SECONDS(13), parcels_return},   {SECONDS(19), stores_are_filled},
	{SECONDS(31), goods_break},     {SECONDS(LORRY_S), lorry_comes},
};

void trade_moment(struct trade *t)
{
	assert(t->shop->orders > 0);
	t->moment++;
	for (size_t i = 0; i < LENGTH(habits); i++)
		if (t->moment % habits[i].every == 0)
			habits[i].happens(t);
}

void trade_end(struct trade *t)
{
	if (t->task)
		shop_call(t->shop, "POST", "/v1/tasks/%lld/return", (long long)t->task);
	t->task = 0;
}
