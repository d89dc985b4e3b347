/* opening.c - see opening.h. Tables say what there is; each has a function that makes its rows. */
#include "commands/demo/opening.h"
#include "commands/demo/goods.h"
#include "engine/base/clock.h"

enum { DAY_S = 86400, HOUR_S = 3600 };

/* ---- locations */

static const struct {
	const char *location, *kind, *waits_at;
	int         expected_s; /* from now on; 0: nothing is expected there */
} places[] = {
	{LORRY, "incoming", NULL, LORRY_S},       /* a delivery on its way */
	{SUPPLIER, "incoming", NULL, 30 * DAY_S}, /* promised for next month */
	{MAIN, "stock", LORRY, 0},                /* what becomes free here goes to the queue first */
	{ANNEX, "stock", NULL, 0},                /* the second house */
	{HARBOUR, "stock", NULL, 0},              /* a store */
	{STATION, "stock", NULL, 0},              /* another store */
	{RETURNS, "aside", NULL, 0},              /* looked at before it is sold again */
	{DAMAGED, "aside", NULL, 0},              /* never sold again */
};

static_assert(LENGTH(places) == PLACES, "eight locations");

static void places_make(struct shop *s)
{
	for (size_t i = 0; i < LENGTH(places); i++) {
		struct json_writer *w = shop_body(s);

		json_put_string(w, "kind", places[i].kind);
		if (places[i].waits_at)
			json_put_string(w, "waits_at", places[i].waits_at);
		if (places[i].expected_s)
			json_put_time(w, "expected_at", clock_wall_ms() + (int64_t)places[i].expected_s * 1000);
		shop_call(s, "PUT", "/v1/locations/%s", places[i].location);
	}
}

/* ---- goods */

static void goods_make(struct shop *s)
{
	for (int n = 0; n < GOODS; n++) {
		struct good         good = good_make(n);
		struct json_writer *w = shop_body(s);

		json_put_string(w, "name", good.name);
		json_open_array(w, "barcodes");
		json_put_string(w, NULL, good.barcode);
		json_close_array(w);
		shop_call(s, "PUT", "/v1/skus/%s", good.sku);
	}
}

/* Of every so many goods the location gets `least` units, or up to `more` above that. */
static const struct {
	const char *location;
	int         every, least, more;
} stocks[] = {
	{MAIN, 1, 60, 240}, {ANNEX, 1, 60, 120}, {HARBOUR, 3, 4, 20}, {STATION, 5, 3, 12}, {DAMAGED, 40, 1, 3},
};

static void goods_receive(struct shop *s)
{
	for (size_t i = 0; i < LENGTH(stocks); i++) {
		struct chance c = chance_for(stocks[i].location, 0);

		shop_movement(s, "receipt", "delivery", (int64_t)i + 1, "the shop opens");
		for (int n = 0; n < GOODS; n += stocks[i].every)
			if (!good_is_scarce(n))
				shop_line(s, n, stocks[i].location, stocks[i].least + chance_below(&c, stocks[i].more));
		shop_move(s);
	}
	shop_movement(s, "receipt", "delivery", LENGTH(stocks) + 1, "the last ones");
	for (int i = 0; i < SCARCE; i++)
		shop_line(s, good_scarce(i), MAIN, 1);
	shop_move(s);
	shop_movement(s, "receipt", "promised", 1, "next month");
	for (int i = 0; i < SCARCE; i++)
		shop_line(s, good_scarce(i), SUPPLIER, 50);
	shop_move(s);
	shop_lorry_loads(s, 0);
}

/* Some goods are special: they are low, limited, or not sold for now. */
static const struct {
	int         good;
	const char *call, *member;
	int         n; /* the member's value, or false */
	const char *reason;
} specials[] = {
	{12, "/threshold", "low", 10, NULL}, {37, "/threshold", "low", 10, NULL},
	{50, "/threshold", "low", 20, NULL}, {51, "/threshold", "low", 20, NULL},
	{4, "", "per_customer", 3, NULL},    {30, "", "for_sale", false, "recall of lot 17"},
};

static void specials_make(struct shop *s)
{
	for (size_t i = 0; i < LENGTH(specials); i++) {
		struct json_writer *w = shop_body(s);

		if (specials[i].reason) {
			json_put_bool(w, specials[i].member, false);
			json_put_string(w, "reason", specials[i].reason);
		} else
			json_put_int(w, specials[i].member, specials[i].n);
		shop_call(s, "PUT", "/v1/skus/%s%s", good_make(specials[i].good).sku, specials[i].call);
	}
}

/* ---- orders */

/* Sends the ids of `count` orders, from number `first` on. */
static void ids_send(struct shop *s, const char *path, int64_t first, int count)
{
	struct json_writer *w = shop_body(s);
	char                id[24];

	json_open_array(w, "order_ids");
	for (int64_t n = first; n < first + count; n++) {
		order_id_write(id, sizeof(id), n);
		json_put_string(w, NULL, id);
	}
	json_close_array(w);
	shop_call(s, "POST", "%s", path);
}

static void release(struct shop *s, int64_t first, int count)
{
	ids_send(s, "/v1/releases", first, count);
}

static void settle(struct shop *s, int64_t first, int count)
{
	ids_send(s, "/v1/settlements", first, count);
}

/* A worker claims the orders, and ships them. */
static void ship(struct shop *s, int64_t first, int count)
{
	int64_t task = shop_claim(s, "packing-1", count);

	(void)first;
	shop_body(s);
	shop_call(s, "POST", "/v1/tasks/%lld/complete", (long long)task);
}

/* A worker claims the orders, and cannot ship them. */
static void bury(struct shop *s, int64_t first, int count)
{
	static const char *const errors[] = {"no such address", "the parcel is too heavy",
	                                     "customs papers are missing"};

	int64_t             task = shop_claim(s, "packing-2", count);
	struct json_writer *w = shop_body(s);
	char                id[24];

	json_open_array(w, "orders");
	for (int i = 0; i < count; i++) {
		order_id_write(id, sizeof(id), first + i);
		json_open_object(w, NULL);
		json_put_string(w, "order_id", id);
		json_put_string(w, "error", errors[i % LENGTH(errors)]);
		json_put_bool(w, "retry", false);
		json_close_object(w);
	}
	json_close_array(w);
	shop_call(s, "POST", "/v1/tasks/%lld/fail", (long long)task);
}

static void hold_back(struct shop *s, int64_t first, int count)
{
	static const char *const reasons[] = {"address to be checked", "payment to be checked", "the gift has no card"};

	char id[24];

	for (int i = 0; i < count; i++) {
		struct json_writer *w = shop_body(s);

		json_put_null(w, "until");
		json_put_string(w, "reason", reasons[i % LENGTH(reasons)]);
		order_id_write(id, sizeof(id), first + i);
		shop_call(s, "PUT", "/v1/reservations/%s/hold", id);
	}
}

/* One unit of each order becomes an order of its own. */
static void split(struct shop *s, int64_t first, int count)
{
	for (int64_t n = first; n < first + count; n++) {
		struct basket       b = basket_fill(n, FROM_MAIN);
		struct json_writer *w = shop_body(s);
		struct text         part = {0};

		text_format(&part, "%s-b", b.id);
		json_put_string(w, "order_id", part.data);
		json_open_array(w, "lines");
		shop_line(s, b.line[0].good, MAIN, 1);
		json_close_array(w);
		shop_call(s, "POST", "/v1/reservations/%s/split", b.id);
		text_fini(&part);
	}
}

/* The orders are shipped, and a unit of each comes back. */
static void come_back(struct shop *s, int64_t first, int count)
{
	settle(s, first, count);
	for (int64_t n = first; n < first + count; n++)
		shop_comes_back(s, n);
}

static const struct {
	int          orders;
	struct terms terms;
	void (*follows)(struct shop *s, int64_t first, int count); /* NULL: they stay as they are made */
} fates[] = {
	/* Workers get the oldest orders first, so the orders that they take are made first. */
	{8, {.confirm = true}, bury},                             /* cannot be shipped */
	{60, {.confirm = true}, ship},                            /* shipped by a worker */
	{20, {.confirm = true}, settle},                          /* shipped by hand */
	{10, {.confirm = true}, come_back},                       /* shipped, and back in part */
	{40, {.ttl_s = 4 * HOUR_S}, NULL},                        /* carts */
	{12, {.ttl_s = 1}, NULL},                                 /* carts that expire in a second */
	{20, {.confirm = true}, release},                         /* cancelled */
	{24, {.way = BACKORDER, .confirm = true}, NULL},          /* wait for the lorry */
	{12, {.way = PREORDER, .confirm = true}, NULL},           /* wait for next month */
	{9, {.confirm = true}, hold_back},                        /* held back from shipping */
	{6, {.confirm = true, .ship_after_s = 2 * DAY_S}, split}, /* in two parcels */
	{30, {.confirm = true, .ship_after_s = DAY_S}, NULL},     /* shipped tomorrow */
	{30, {.way = FROM_STORE, .confirm = true}, NULL},         /* shipped as soon as a worker comes */
};

static void orders_make(struct shop *s)
{
	for (size_t i = 0; i < LENGTH(fates); i++) {
		int64_t first = s->orders;

		shop_orders(s);
		for (int n = 0; n < fates[i].orders; n++)
			shop_order(s, &fates[i].terms);
		shop_sell(s);
		if (fates[i].follows)
			fates[i].follows(s, first, fates[i].orders);
	}
}

/* ---- the webhook: no name below .invalid exists (RFC 2606), so each delivery fails */

static void webhook_make(struct shop *s)
{
	struct json_writer *w = shop_body(s);

	json_put_string(w, "webhook_id", "bookkeeping");
	json_put_string(w, "url", "https://bookkeeping.invalid/holdfast");
	shop_call(s, "POST", "/v1/webhooks");
}

bool shop_opens(struct shop *s)
{
	assert(s->orders == 0);
	s->strict = true;
	places_make(s);
	webhook_make(s);
	goods_make(s);
	goods_receive(s);
	orders_make(s);
	specials_make(s);
	s->strict = false;
	return !s->failed;
}
