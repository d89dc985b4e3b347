/* wire.c - see wire.h. */
#include "tests/model/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUN_MAX_S = 280, CLOCK_SLACK_S = 5 }; /* the run is shorter than half of the shortest tick */

/* Codes that differ in little: by case, and one that looks like a number. */
static const char *const skus[MODEL_SKUS] = {"A", "a", "B.1", "mug-red", "MUG-RED", "~", "0", "big"};
static const char *const places[MODEL_PLACES] = {"main", "paris", "Paris"};
static const char *const customers[1 + MODEL_CUSTOMERS] = {"", "c.1", "C.1", "0"};

const char *wire_sku(int sku)
{
	return skus[sku];
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

static void line_write(struct text *to, int s, int p, const char *name, int64_t qty, const int64_t *expected,
                       uint64_t *chance)
{
	text_format(to, "%s{\"sku\":\"%s\",\"%s\":%lld", to->data[to->len - 1] == '[' ? "" : ",", skus[s], name,
	            (long long)qty);
	if (p > 0 || chance_of(chance, 3) == 0)
		text_format(to, ",\"location\":\"%s\"", places[p]);
	if (expected)
		text_format(to, ",\"expected\":%lld", (long long)*expected);
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
		else if (!count && qty > 1 && chance_of(chance, 4) == 0)
			part = 1 + chance_of(chance, qty > 100 ? 100 : (unsigned)qty - 1);
		if (part)
			line_write(to, s, p, "qty", part, NULL, chance);
		line_write(to, s, p, count ? "counted" : "qty", qty - part,
		           ask->expected.named[s][p] ? &ask->expected.qty[s][p] : NULL, chance);
	}
	if (ask->wish.places && first % 2 == 0)
		wish_write(to, &ask->wish);
	if (ask->wrong == 1)
		line_write(to, 0, 1, count ? "counted" : "qty", count ? -1 : 0, NULL, chance);
	if (ask->wrong == 2)
		line_write(to, 0, 1, count ? "counted" : "qty", INT64_C(9000000000000001), NULL, chance);
	text_add(to, "]");
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
	if (ask->customer)
		text_format(to, ",\"customer\":\"%s\"", customers[ask->customer]);
	if (ask->best_effort || chance_of(chance, 4) == 0)
		text_format(to, ",\"mode\":\"%s\"", ask->best_effort ? "best_effort" : "all_or_nothing");
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

static void movement_write(struct text *to, const struct ask *ask, uint64_t *chance)
{
	static const char *const kinds[] = {"receipt", "adjustment", "return", "count"};

	text_format(to, "{\"kind\":\"%s\",", ask->wrong == 3 ? "gift" : kinds[ask->what]);
	text_format(to, "\"movement_id\":\"M%d\",", ask->id);
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
		[ASK_SETTLE] = "/settle",
	};

	snprintf(to->method, sizeof(to->method), "%s", ask->what == ASK_GET ? "GET" : "POST");
	if (ask->what <= ASK_COUNT) {
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
		if (ask->what == ASK_EXTEND)
			text_format(&to->body, "{\"ttl_s\":%d}", ask->wrong ? 2678401 : ask->ttl_s);
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

/* ---- answers */

static const cJSON *member(const cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *string_of(const cJSON *object, const char *name)
{
	return cJSON_IsString(member(object, name)) ? member(object, name)->valuestring : "";
}

static bool number_is(const cJSON *object, const char *name, int64_t from, int64_t to)
{
	const cJSON *n = member(object, name);

	return cJSON_IsNumber(n) && n->valuedouble >= (double)from && n->valuedouble <= (double)to;
}

static bool differs(struct text *why, const char *what, const cJSON *seen)
{
	char *text = seen ? cJSON_PrintUnformatted(seen) : NULL;

	text_format(why, "%s: %.900s", what, text ? text : "is not there");
	free(text);
	return false;
}

static int place_of(const cJSON *row)
{
	for (int p = 0; p < MODEL_PLACES; p++)
		if (strcmp(string_of(row, "location"), places[p]) == 0)
			return p;
	return -1;
}

static int sku_of(const cJSON *row)
{
	for (int s = 0; s < MODEL_SKUS; s++)
		if (strcmp(string_of(row, "sku"), skus[s]) == 0)
			return s;
	return -1;
}

static bool is_limited(const cJSON *row)
{
	return cJSON_IsTrue(member(row, "limit"));
}

/* Each named cell has exactly one row with these numbers, and there are no others. */
static bool rows_meet(const cJSON *rows, const char *first_name, const struct cells *first, const char *second_name,
                      const struct cells *second, const struct cells *slack, struct text *why)
{
	bool         seen[MODEL_SKUS][MODEL_PLACES] = {0};
	const cJSON *row;

	cJSON_ArrayForEach(row, rows)
	{
		int s = sku_of(row), p = place_of(row);

		if (member(row, "locations"))
			continue; /* see wish_meets */
		if (s < 0 || p < 0 || !first->named[s][p] || seen[s][p])
			return differs(why, "this row does not belong there", row);
		seen[s][p] = true;
		if (first_name && !number_is(row, first_name, first->qty[s][p], first->qty[s][p]))
			return differs(why, first_name, row);
		if (second_name &&
		    !number_is(row, second_name, second->qty[s][p], second->qty[s][p] + slack->qty[s][p]))
			return differs(why, second_name, row);
	}
	EACH_CELL(s, p)
	if (first->named[s][p] && !seen[s][p]) {
		text_format(why, "no row for %s@%s", skus[s], places[p]);
		return false;
	}
	return true;
}

static bool expires_as(const cJSON *root, int64_t left_s)
{
	struct tm tm = {0};
	double    off;

	if (!strptime(string_of(root, "expires_at"), "%Y-%m-%dT%H:%M:%S", &tm))
		return false;
	off = difftime(timegm(&tm), time(NULL)) - (double)left_s;
	return off > -RUN_MAX_S && off < CLOCK_SLACK_S;
}

/* Each sku of which units came back has one row, and there are no others. */
static bool returned_meets(const cJSON *rows, const struct order *o, struct text *why)
{
	const cJSON *row = rows ? rows->child : NULL;
	int          came = 0;

	for (; row; row = row->next) {
		int s = sku_of(row);

		if (s < 0 || o->returned[s] == 0 || !number_is(row, "qty", o->returned[s], o->returned[s]))
			return differs(why, "returned", rows);
	}
	for (int s = 0; s < MODEL_SKUS; s++)
		came += o->returned[s] > 0;
	return (rows ? cJSON_GetArraySize(rows) : 0) == came || differs(why, "returned", rows);
}

static bool order_meets(const cJSON *root, const struct order *o, const struct model *m, struct text *why)
{
	char by[20] = "";

	if (strcmp(string_of(root, "state"), order_state_name(o->state)) != 0)
		return differs(why, order_state_name(o->state), member(root, "state"));
	if (o->replaced_by)
		snprintf(by, sizeof(by), "O%d", o->replaced_by - 1);
	if (strcmp(string_of(root, "replaced_by"), by) != 0)
		return differs(why, "replaced_by", root);
	if (strcmp(string_of(root, "customer"), customers[o->customer]) != 0)
		return differs(why, "customer", root);
	if (!expires_as(root, o->expires_s - m->now_s))
		return differs(why, "expires_at", member(root, "expires_at"));
	/* A job that expires a hold claims it first, and that is an attempt. */
	if (!number_is(root, "attempts", 0, o->state == ORDER_EXPIRED) || !member(root, "created_at") ||
	    (member(root, "settled_at") != NULL) != (o->state == ORDER_SETTLED) ||
	    (member(root, "confirmed_at") != NULL) != o->confirmed ||
	    (member(root, "released_at") != NULL) != (o->state == ORDER_RELEASED))
		return differs(why, "attempts or a time", root);
	return returned_meets(member(root, "returned"), o, why) &&
	       rows_meet(member(root, "lines"), "qty", &o->held, NULL, NULL, NULL, why);
}

static bool moved_meets(const cJSON *root, const struct moved *v, int id, struct text *why)
{
	char want[40];

	snprintf(want, sizeof(want), "M%d", id);
	if (strcmp(string_of(root, "movement_id"), want) != 0)
		return differs(why, "movement_id", root);
	snprintf(want, sizeof(want), "because %d", v->ask.reason);
	if (strcmp(string_of(root, "reason"), v->ask.reason ? want : "") != 0)
		return differs(why, "reason", root);
	snprintf(want, sizeof(want), "O%d", v->ask.other - 1);
	if (strcmp(string_of(root, "order_id"), v->ask.other ? want : "") != 0)
		return differs(why, "order_id", root);
	return rows_meet(member(root, "lines"), "qty", &v->lines, NULL, NULL, NULL, why);
}

/* The one row with `locations`, or none. */
static bool wish_meets(const cJSON *rows, const struct verdict *v, struct text *why)
{
	const cJSON *row, *found = NULL, *place;
	int          i = 0;

	cJSON_ArrayForEach(row, rows) if (member(row, "locations"))
	{
		if (found)
			return differs(why, "a second row with locations", row);
		found = row;
	}
	if (!found || !v->wish)
		return !found == !v->wish || differs(why, "the row with locations", found);
	cJSON_ArrayForEach(place, member(found, "locations"))
	{
		if (i == v->wish->places || strcmp(place->valuestring, places[v->wish->place[i]]) != 0)
			return differs(why, "locations", found);
		i++;
	}
	if (i != v->wish->places || sku_of(found) != v->wish->sku || is_limited(found) != v->wish_limited ||
	    (v->first_name && (!number_is(found, v->first_name, v->wish->qty, v->wish->qty) ||
	                       !number_is(found, v->second_name, v->wish_available, v->wish_available))))
		return differs(why, "the row with locations", found);
	return true;
}

/* The settled orders that were split off from what the return names. */
static bool parts_meet(const cJSON *parts, const struct ask *ask, const struct verdict *v, const struct model *m,
                       struct text *why)
{
	const cJSON *part;
	int          count = 0, id;

	for (int i = 0; i < MODEL_IDS; i++)
		count += model_parted(m, ask->other - 1, i, &v->fault);
	cJSON_ArrayForEach(part, parts)
	{
		if (sscanf(part->valuestring, "O%d", &id) != 1 || !model_parted(m, ask->other - 1, id, &v->fault))
			return differs(why, "no such part", part);
		count--;
	}
	return count == 0 || differs(why, "parts", parts);
}

/* A row for each sku of which too much would come back, or go to one customer. */
static bool rows_by_sku_meet(const cJSON *root, const struct verdict *v, struct text *why)
{
	const cJSON *row;
	int          rows = 0;

	cJSON_ArrayForEach(row, member(root, "lines"))
	{
		int s = sku_of(row);

		if (s < 0 || !v->fault.named[s][0] || member(row, "location") ||
		    !number_is(row, v->first_name, v->fault.qty[s][0], v->fault.qty[s][0]) ||
		    !number_is(row, v->second_name, v->second.qty[s][0], v->second.qty[s][0]) ||
		    !number_is(row, v->third_name, v->third.qty[s][0], v->third.qty[s][0]))
			return differs(why, "this row does not belong there", row);
		rows++;
	}
	for (int s = 0; s < MODEL_SKUS; s++)
		rows -= v->fault.named[s][0];
	return rows == 0 || differs(why, "lines", root);
}

static bool limits_meet(const cJSON *rows, const struct verdict *v, struct text *why)
{
	const cJSON *row;

	cJSON_ArrayForEach(
		row, rows) if (!member(row, "locations") &&
	                       is_limited(row) !=
	                               v->limited.named[sku_of(row)][place_of(row)]) return differs(why, "limit", row);
	return true;
}

static bool body_meets(const cJSON *root, const struct ask *ask, const struct verdict *v, const struct model *m,
                       struct text *why)
{
	const char *rows = v->code ? "lines" : "short";
	bool        faults = v->wish;

	EACH_CELL(s, p)
	faults |= v->fault.named[s][p];
	if (strcmp(string_of(root, "code"), v->code ? v->code : "") != 0)
		return differs(why, v->code ? v->code : "a code", root);
	if ((member(root, "reacquired") != NULL) != v->reacquired)
		return differs(why, "reacquired", root);
	if (!v->code && v->order && !order_meets(root, v->order, m, why))
		return false;
	if (!v->code && v->moved && !moved_meets(root, v->moved, ask->id, why))
		return false;
	if (v->third_name)
		return rows_by_sku_meet(root, v, why) &&
		       (!v->over || parts_meet(member(root, "parts"), ask, v, m, why));
	if (!faults)
		return !member(root, "short") || differs(why, "nothing is short", member(root, "short"));
	return rows_meet(member(root, rows), v->first_name, &v->fault, v->second_name, &v->second, &v->slack, why) &&
	       limits_meet(member(root, rows), v, why) && wish_meets(member(root, rows), v, why);
}

void wire_shown(const cJSON *root, struct cells *to)
{
	const cJSON *row;

	*to = (struct cells){0};
	cJSON_ArrayForEach(row, member(root, "lines"))
	{
		int s = sku_of(row), p = place_of(row);

		if (s >= 0 && p >= 0 && cJSON_IsNumber(member(row, "qty")))
			to->qty[s][p] = (int64_t)member(row, "qty")->valuedouble;
	}
}

bool wire_meets(const struct answer *a, const struct ask *ask, const struct verdict *v, const struct model *m,
                struct text *why)
{
	char value[20];
	bool replayed = answer_header(a, "Idempotent-Replayed", value, sizeof(value)) && strcmp(value, "true") == 0;

	if (a->status != v->status || replayed != v->replayed) {
		text_format(why, "the model says %d %s%s", v->status, v->code ? v->code : "",
		            v->replayed ? " replayed" : "");
		return false;
	}
	return body_meets(a->json, ask, v, m, why);
}

bool wire_result_meets(const cJSON *result, const struct ask *ask, const struct verdict *v, const struct model *m,
                       struct text *why)
{
	char id[20] = "";

	if (!ask->wrong || ask->what == ASK_RESERVE)
		snprintf(id, sizeof(id), "O%d", ask->id);
	if (!number_is(result, "status", v->status, v->status) || strcmp(string_of(result, "order_id"), id) != 0 ||
	    (member(result, "replayed") != NULL) != v->replayed) {
		text_format(why, "%s: the model says %d %s%s, not", id, v->status, v->code ? v->code : "",
		            v->replayed ? " replayed" : "");
		return differs(why, "", result);
	}
	return body_meets(result, ask, v, m, why);
}

bool wire_item_meets(const cJSON *item, const struct model *m, int *id, struct text *why)
{
	if (sscanf(string_of(item, "order_id"), "O%d", id) != 1 || *id < 0 || *id >= MODEL_IDS)
		return differs(why, "whose is this", item);
	return order_meets(item, &m->order[*id], m, why);
}

/* ---- totals */

bool wire_sku_meets(const struct answer *a, struct model *m, int sku, bool exactly, struct text *why)
{
	const cJSON *row;
	bool         seen[MODEL_PLACES] = {0};

	if (!m->known[sku] || a->status != 200)
		return (!m->known[sku] && a->status == 404 && strcmp(string_of(a->json, "code"), "unknown_sku") == 0) ||
		       differs(why, "not known, or known", a->json);
	cJSON_ArrayForEach(row, member(a->json, "locations"))
	{
		int     p = place_of(row);
		int64_t on_hand = p < 0 ? 0 : m->available[sku][p] + m->reserved[sku][p];

		if (p < 0 || seen[p] || !number_is(row, "on_hand", on_hand, on_hand) ||
		    !model_sees(m, sku, p, (int64_t)member(row, "available")->valuedouble) ||
		    (exactly && !number_is(row, "available", m->available[sku][p], m->available[sku][p]))) {
			text_format(why, "the model has available=%lld of %lld, of these unswept=%lld; ",
			            p < 0 ? 0 : (long long)m->available[sku][p], (long long)on_hand,
			            p < 0 ? 0 : (long long)m->unswept[sku][p]);
			return differs(why, "the location", row);
		}
		seen[p] = true;
	}
	for (int p = 0; p < MODEL_PLACES; p++)
		if (!seen[p] && m->available[sku][p] + m->reserved[sku][p] != 0)
			return differs(why, places[p], a->json);
	return true;
}

static bool limit_meets(const cJSON *root, const struct model *m, int sku)
{
	return m->limit[sku] ? number_is(root, "per_customer", m->limit[sku], m->limit[sku])
	                     : !member(root, "per_customer");
}

bool wire_limit_meets(const struct answer *a, const struct model *m, int sku, int status, struct text *why)
{
	if (a->status != status || sku_of(a->json) != sku || !limit_meets(a->json, m, sku))
		return differs(why, "the limit that was put", a->json);
	return true;
}

bool wire_has_meets(const struct answer *a, const struct model *m, int sku, int customer, struct text *why)
{
	int64_t has = m->has[customer][sku];

	if (!m->known[sku])
		return (a->status == 404 && strcmp(string_of(a->json, "code"), "unknown_sku") == 0) ||
		       differs(why, "known", a->json);
	if (a->status != 200 || sku_of(a->json) != sku ||
	    strcmp(string_of(a->json, "customer"), customers[customer]) != 0 || !limit_meets(a->json, m, sku) ||
	    !number_is(a->json, "has", has, has + m->has_unswept[customer][sku]))
		return differs(why, "what the customer has", a->json);
	return true;
}

bool wire_availability_meets(const cJSON *item, const struct model *m, int sku, struct text *why)
{
	int64_t available = 0, reserved = 0, unswept = 0;

	if (strcmp(string_of(item, "sku"), skus[sku]) != 0)
		return differs(why, "the item's sku", item);
	if (!m->known[sku])
		return strcmp(string_of(item, "code"), "unknown_sku") == 0 || differs(why, "known", item);
	for (int p = 0; p < MODEL_PLACES; p++) {
		available += m->available[sku][p];
		reserved += m->reserved[sku][p];
		unswept += m->unswept[sku][p];
	}
	return (number_is(item, "available", available - unswept, available) &&
	        number_is(item, "on_hand", available + reserved, available + reserved)) ||
	       differs(why, "the totals", item);
}
