/* wire.c - see wire.h. */
#include "tests/model/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Codes that differ in little: by case, and one that looks like a number. */
static const char *const skus[MODEL_SKUS] = {"A", "a", "B.1", "mug-red", "MUG-RED", "~", "0", "big"};
static const char *const places[MODEL_PLACES] = {"main", "paris", "Paris", "po", "bo", "qc"};
static const char *const customers[1 + MODEL_CUSTOMERS] = {"", "c.1", "C.1", "0"};

const char *wire_sku(int sku)
{
	return skus[sku];
}

const char *wire_place(int place)
{
	return places[place];
}

const char *wire_customer(int customer)
{
	return customers[customer];
}

/* splitmix64 (Steele, Lea, Flood 2014). */
unsigned chance_of(uint64_t *chance, unsigned n)
{
	uint64_t z = *chance += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (unsigned)((z ^ z >> 31) % n);
}

uint64_t number_from(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

/* ---- requests */

static void line_write(struct text *to, int s, int p, const char *name, int64_t qty, const struct ask *ask,
                       uint64_t *chance)
{
	text_format(to, "%s{\"sku\":\"%s\",\"%s\":%lld", to->data[to->len - 1] == '[' ? "" : ",", skus[s], name,
	            (long long)qty);
	if (p > 0 || chance_of(chance, 3) == 0)
		text_format(to, ",\"location\":\"%s\"", places[p]);
	if (ask->expected.named[s][p])
		text_format(to, ",\"expected\":%lld", (long long)ask->expected.qty[s][p]);
	if (ask->loses.named[s][p])
		text_add(to, ",\"short\":\"backorder\"");
	if (ask->loses.qty[s][p])
		text_format(to, ",\"to\":\"%s\"", places[ask->loses.qty[s][p] - 1]);
	text_add(to, "}");
}

static void wish_write(struct text *to, const struct wish *w)
{
	text_format(to, "%s{\"sku\":\"%s\",\"qty\":%lld,\"locations\":[", to->data[to->len - 1] == '[' ? "" : ",",
	            skus[w->sku], (long long)w->qty);
	for (int i = 0; i < w->places; i++)
		text_format(to, "%s\"%s\"", i ? "," : "", places[w->place[i]]);
	text_add(to, w->may_split ? "],\"may_split\":true}" : "]}");
}

static void lines_write(struct text *to, const struct ask *ask, uint64_t *chance)
{
	static const struct ask plain = {0};

	bool count = ask->what == ASK_COUNT;
	int  first = (int)chance_of(chance, MODEL_SKUS);

	text_add(to, "\"lines\":[");
	if (ask->wish.places && first % 2)
		wish_write(to, &ask->wish);
	EACH_CELL(i, p)
	{
		int     s = (first + i) % MODEL_SKUS;
		int64_t qty = ask->lines.qty[s][p], part = 0;

		if (!ask->lines.named[s][p])
			continue;
		if (!count && qty == 0) /* of an adjustment: there and back */
			part = 3;
		else if (!count && qty > 1 && !ask->loses.named[s][p] && chance_of(chance, 4) == 0)
			part = 1 + chance_of(chance, qty > 100 ? 100 : (unsigned)qty - 1);
		if (part)
			line_write(to, s, p, "qty", part, ask, chance);
		line_write(to, s, p, count ? "counted" : "qty", qty - part, ask, chance);
	}
	if (ask->wish.places && first % 2 == 0)
		wish_write(to, &ask->wish);
	if (ask->wrong == 1)
		line_write(to, 0, 1, count ? "counted" : "qty", count ? -1 : 0, &plain, chance);
	if (ask->wrong == 2)
		line_write(to, 0, 1, count ? "counted" : "qty", INT64_C(9000000000000001), &plain, chance);
	text_add(to, "]");
}

/* So many seconds ago. */
static void moment_write(struct text *to, int ago_s)
{
	struct timespec now;
	struct tm       tm;
	char            text[40];

	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_sec -= ago_s;
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &tm));
	text_format(to, ",\"waits_since\":\"%s.%03ldZ\"", text, now.tv_nsec / 1000000);
}

static void reservation_write(struct text *to, const struct ask *ask, uint64_t *chance)
{
	text_format(to, "{\"order_id\":\"O%d\",", ask->id);
	lines_write(to, ask, chance);
	text_format(to, ",\"ttl_s\":%d", ask->wrong == 3 ? 0 : ask->ttl_s);
	if (ask->confirm || chance_of(chance, 8) == 0)
		text_format(to, ",\"confirm\":%s", ask->confirm ? "true" : "false");
	if (ask->other)
		text_format(to, ",\"replaces\":\"O%d\"", ask->other - 1);
	if (ask->told_s)
		moment_write(to, ask->told_s);
	if (ask->customer)
		text_format(to, ",\"customer\":\"%s\"", customers[ask->customer]);
	if (ask->best_effort || chance_of(chance, 4) == 0)
		text_format(to, ",\"mode\":\"%s\"", ask->best_effort ? "best_effort" : "all_or_nothing");
	text_add(to, ask->wrong == 4 ? ",\"colour\":1}" : "}");
}

static void amend_write(struct text *to, const struct ask *ask, uint64_t *chance)
{
	text_add(to, "{");
	lines_write(to, ask, chance);
	if (ask->ttl_s || ask->wrong == 3)
		text_format(to, ",\"ttl_s\":%d", ask->wrong == 3 ? 0 : ask->ttl_s);
	if (ask->best_effort)
		text_add(to, ",\"mode\":\"best_effort\"");
	if (ask->force)
		text_add(to, ",\"force\":true");
	text_add(to, ask->wrong == 4 ? ",\"colour\":1}" : "}");
}

static void split_write(struct text *to, const struct ask *ask, uint64_t *chance)
{
	static const char *const thens[] = {NULL, "confirm", "release", "settle"};
	const char              *then = ask->wrong == 3 ? "ship" : thens[ask->then];

	text_format(to, "{\"order_id\":\"O%d\",", ask->id);
	lines_write(to, ask, chance);
	if (then)
		text_format(to, ",\"then\":\"%s\"", then);
	if (ask->force)
		text_add(to, ",\"force\":true");
	text_add(to, ask->wrong == 4 ? ",\"colour\":1}" : "}");
}

static void ends_write(struct text *to, const struct ask *ask)
{
	text_add(to, "\"lines\":[");
	for (int i = 0; i < ask->ends; i++)
		text_format(to, "%s{\"sku\":\"%s\",\"from\":\"%s\",\"to\":\"%s\",\"qty\":%lld}", i ? "," : "",
		            skus[ask->end[i].sku], places[ask->end[i].from], places[ask->end[i].to],
		            (long long)ask->end[i].qty);
	text_add(to, "]");
}

static void movement_write(struct text *to, const struct ask *ask, uint64_t *chance)
{
	static const char *const kinds[] = {"receipt", "adjustment", "return", "count", "transfer", "arrival"};

	text_format(to, "{\"kind\":\"%s\",", ask->wrong == 3 ? "gift" : kinds[ask->what]);
	text_format(to, "\"movement_id\":\"M%d\",", ask->id);
	if (ask->ends)
		ends_write(to, ask);
	else
		lines_write(to, ask, chance);
	if (ask->reason)
		text_format(to, ",\"reason\":\"because %d\"", ask->reason);
	if (ask->other)
		text_format(to, ",\"order_id\":\"O%d\"", ask->other - 1);
	text_add(to, ask->wrong == 4 ? ",\"colour\":1}" : "}");
}

void wire_ask(struct call *to, const struct ask *ask, uint64_t *chance)
{
	static const char *const verbs[ASKED] = {
		[ASK_CONFIRM] = "/confirm", [ASK_REACQUIRE] = "/confirm", [ASK_RELEASE] = "/release",
		[ASK_EXTEND] = "/extend",   [ASK_KICK] = "/kick",         [ASK_GET] = "",
		[ASK_SETTLE] = "/settle",   [ASK_HOLD] = "/hold",         [ASK_LET_GO] = "/hold",
		[ASK_AMEND] = "",
	};
	static const char *const methods[ASKED] = {
		[ASK_AMEND] = "PUT", [ASK_HOLD] = "PUT", [ASK_LET_GO] = "DELETE", [ASK_GET] = "GET"};

	snprintf(to->method, sizeof(to->method), "%s", methods[ask->what] ? methods[ask->what] : "POST");
	if (ask->what < ASK_RESERVE) {
		text_add(&to->path, "/v1/movements");
		movement_write(&to->body, ask, chance);
	} else if (ask->what == ASK_RESERVE) {
		text_add(&to->path, "/v1/reservations");
		reservation_write(&to->body, ask, chance);
	} else if (ask->what == ASK_SPLIT) {
		text_format(&to->path, "/v1/reservations/O%d/split", ask->other - 1);
		split_write(&to->body, ask, chance);
	} else {
		text_format(&to->path, "/v1/reservations/O%d%s", ask->id, verbs[ask->what]);
		if (ask->what == ASK_REACQUIRE)
			text_add(&to->body, "{\"if_expired\":\"reacquire\"}");
		if (ask->what == ASK_AMEND)
			amend_write(&to->body, ask, chance);
		if (ask->what == ASK_EXTEND)
			text_format(&to->body, "{\"ttl_s\":%d}", ask->wrong ? 2678401 : ask->ttl_s);
		if (ask->what == ASK_HOLD)
			text_add(&to->body, "{\"until\":null}");
		if (ask->what == ASK_SETTLE && ask->force)
			text_add(&to->body, "{\"force\":true}");
	}
}

void wire_batch(struct call *to, const struct ask *asks, int count, uint64_t *chance)
{
	snprintf(to->method, sizeof(to->method), "POST");
	text_add(&to->path, "/v1/reservations/batch");
	for (int i = 0; i < count; i++) {
		text_add(&to->body, i ? "," : "{\"reservations\":[");
		reservation_write(&to->body, &asks[i], chance);
	}
	text_add(&to->body, "]}");
}

void wire_limit(struct call *to, int sku, int64_t limit, bool left_out)
{
	snprintf(to->method, sizeof(to->method), "PUT");
	text_format(&to->path, "/v1/skus/%s", skus[sku]);
	if (left_out)
		text_add(&to->body, "{}");
	else if (limit)
		text_format(&to->body, "{\"per_customer\":%lld}", (long long)limit);
	else
		text_add(&to->body, "{\"per_customer\":null}");
}

void wire_has(struct call *to, int sku, int customer)
{
	snprintf(to->method, sizeof(to->method), "GET");
	text_format(&to->path, "/v1/skus/%s/customers/%s", skus[sku], customers[customer]);
}

void wire_queue(struct call *to, int sku, int place)
{
	snprintf(to->method, sizeof(to->method), "GET");
	text_format(&to->path, "/v1/skus/%s/waiting?location=%s", skus[sku], places[place]);
}

void wire_changes(struct call *to, const struct ask *asks, int count)
{
	static const char *const wrongs[WIRE_WRONGS + 1] = {NULL, "\"\"", "7", "\" O1\"", "[\"O1\"]"};

	const char *path = asks->what == ASK_SETTLE    ? "/v1/settlements"
	                   : asks->what == ASK_RELEASE ? "/v1/releases"
	                                               : "/v1/confirmations";

	snprintf(to->method, sizeof(to->method), "POST");
	text_add(&to->path, path);
	text_add(&to->body, "{\"order_ids\":[");
	for (int i = 0; i < count; i++)
		if (asks[i].wrong)
			text_format(&to->body, "%s%s", i ? "," : "", wrongs[asks[i].wrong]);
		else
			text_format(&to->body, "%s\"O%d\"", i ? "," : "", asks[i].id);
	text_add(&to->body, asks->what == ASK_REACQUIRE ? "],\"if_expired\":\"reacquire\"}" : "]}");
}
