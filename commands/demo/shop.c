/* shop.c - see shop.h. */
#include "commands/demo/shop.h"
#include "commands/demo/goods.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"

#include <stdio.h>
#include <stdlib.h>

enum { OF_LORRY = 6, LEASE_S = 60 };

void shop_fini(struct shop *s)
{
	text_fini(&s->body);
}

/* ---- calls */

struct json_writer *shop_body(struct shop *s)
{
	text_reset(&s->body);
	s->w = (struct json_writer){.to = &s->body};
	json_open_object(&s->w, NULL);
	return &s->w;
}

static int64_t number_of(const void *object, const char *name)
{
	struct text digits = {0};
	int64_t     number;

	caller_text(&digits, object, name);
	number = digits.len > 0 ? strtoll(digits.data, NULL, 10) : 0;
	text_fini(&digits);
	return number;
}

/* The first result of a call for many that was refused; NULL: there is none. */
static const void *result_refused(const void *answer)
{
	const void *results = answer ? json_member(answer, "results") : NULL;

	for (const void *n = results ? json_first(results) : NULL; n; n = json_next(n))
		if (number_of(n, "status") / 100 != 2)
			return n;
	return NULL;
}

static void fail(struct shop *s, const char *method, const char *path, const char *why)
{
	s->failed = true;
	say("%s %s: %s", method, path, why);
}

static void answer_judge(struct shop *s, const char *method, const char *path, int status)
{
	const void *refused = status / 100 == 2 ? result_refused(caller_answer(s->caller)) : NULL;
	struct text why = {0};

	s->away = !s->strict && (status == 0 || status >= 500);
	if (s->strict && refused) {
		caller_text(&why, refused, "order_id");
		text_add(&why, ": ");
		caller_text(&why, refused, "detail");
		fail(s, method, path, why.data);
	} else if (status == 401 || status == 403 || (s->strict && status / 100 != 2))
		fail(s, method, path, caller_why(s->caller));
	text_fini(&why);
}

int shop_call(struct shop *s, const char *method, const char *format, ...)
{
	char    path[200];
	va_list args;
	int     status;

	if (s->body.len > 0)
		json_close_object(&s->w);
	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	status = s->failed ? 0 : caller_call(s->caller, method, path, s->body.len > 0 ? &s->body : NULL);
	text_reset(&s->body);
	if (!s->failed)
		answer_judge(s, method, path, status);
	return status;
}

/* ---- movements */

void shop_movement(struct shop *s, const char *kind, const char *name, int64_t number, const char *reason)
{
	struct json_writer *w = shop_body(s);
	struct text         id = {0};

	text_format(&id, "%s-%lld", name, (long long)number);
	json_put_string(w, "movement_id", id.data);
	json_put_string(w, "kind", kind);
	if (reason)
		json_put_string(w, "reason", reason);
	json_open_array(w, "lines");
	text_fini(&id);
}

void shop_line(struct shop *s, int good, const char *location, int qty)
{
	json_open_object(&s->w, NULL);
	json_put_string(&s->w, "sku", good_make(good).sku);
	json_put_string(&s->w, "location", location);
	json_put_int(&s->w, "qty", qty);
	json_close_object(&s->w);
}

void shop_line_between(struct shop *s, int good, const char *from, const char *to, int qty)
{
	json_open_object(&s->w, NULL);
	json_put_string(&s->w, "sku", good_make(good).sku);
	json_put_string(&s->w, "from", from);
	json_put_string(&s->w, "to", to);
	json_put_int(&s->w, "qty", qty);
	json_close_object(&s->w);
}

void shop_move(struct shop *s)
{
	assert(s->body.len > 0);
	json_close_array(&s->w);
	shop_call(s, "POST", "/v1/movements");
}

bool shop_comes_back(struct shop *s, int64_t number)
{
	struct basket b = basket_fill(number, FROM_MAIN);

	shop_movement(s, "return", "parcel", number, "does not fit");
	shop_line(s, b.line[0].good, RETURNS, 1);
	json_close_array(&s->w);
	json_put_string(&s->w, "order_id", b.id);
	return shop_call(s, "POST", "/v1/movements") / 100 == 2;
}

/* ---- orders */

void shop_orders(struct shop *s)
{
	json_open_array(shop_body(s), "reservations");
}

void shop_order(struct shop *s, const struct terms *t)
{
	struct basket basket = basket_fill(s->orders++, t->way);

	if (t->qty)
		basket.line[0].qty = t->qty;
	json_open_object(&s->w, NULL);
	basket_write(&s->w, &basket, t->way);
	if (t->ttl_s)
		json_put_int(&s->w, "ttl_s", t->ttl_s);
	if (t->confirm)
		json_put_bool(&s->w, "confirm", true);
	if (t->ship_after_s)
		json_put_time(&s->w, "ship_after", clock_wall_ms() + (int64_t)t->ship_after_s * 1000);
	json_close_object(&s->w);
}

void shop_sell(struct shop *s)
{
	json_close_array(&s->w);
	shop_call(s, "POST", "/v1/reservations/batch");
}

int64_t shop_claim(struct shop *s, const char *worker, int orders)
{
	struct json_writer *w = shop_body(s);
	int                 status;

	json_put_string(w, "kind", "settle");
	json_put_string(w, "worker", worker);
	json_put_int(w, "limit", orders);
	json_put_int(w, "lease_s", LEASE_S);
	status = shop_call(s, "POST", "/v1/tasks");
	if (s->strict && status == 204)
		fail(s, "POST", "/v1/tasks", "no order is left; does the service settle by itself (--jobs=settle)?");
	return status == 201 ? number_of(caller_answer(s->caller), "task_id") : 0;
}

/* ---- the lorry */

void shop_lorry_loads(struct shop *s, int64_t number)
{
	json_put_time(shop_body(s), "expected_at", clock_wall_ms() + LORRY_S * 1000);
	shop_call(s, "PUT", "/v1/locations/" LORRY);
	shop_movement(s, "receipt", "lorry", number, "loaded");
	for (int i = 0; i < SCARCE; i++)
		shop_line(s, good_scarce(i), LORRY, OF_LORRY);
	shop_move(s);
}

void shop_lorry_comes(struct shop *s, int64_t number)
{
	shop_movement(s, "arrival", "unloaded", number, NULL);
	for (int i = 0; i < SCARCE; i++)
		shop_line_between(s, good_scarce(i), LORRY, MAIN, OF_LORRY);
	shop_move(s);
}
