/* meets.c - see meets.h. */
#include "tests/model/meets.h"

#include "tests/model/positions.h"
#include "tests/model/movement.h"
#include "tests/model/order.h"
#include "tests/model/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUN_MAX_S = 280, CLOCK_SLACK_S = 5 }; /* the run is shorter than half of the shortest tick */

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
		if (strcmp(string_of(row, "location"), wire_place(p)) == 0)
			return p;
	return -1;
}

static int sku_of(const cJSON *row)
{
	for (int s = 0; s < MODEL_SKUS; s++)
		if (strcmp(string_of(row, "sku"), wire_sku(s)) == 0)
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
		text_format(why, "no row for %s@%s", wire_sku(s), wire_place(p));
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

/* Each sku with units that came back has one row, and there are no others. */
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

/* Lines of a live order say `waiting` if their units have not come yet. */
static bool waiting_meets(const cJSON *rows, const struct order *o, const struct model *m, struct text *why)
{
	const cJSON *row;

	cJSON_ArrayForEach(row, rows)
	{
		bool waits = order_lives(o) && m->kind[place_of(row)] == INCOMING;

		if (cJSON_IsTrue(member(row, "waiting")) != waits || (member(row, "waiting") != NULL) != waits)
			return differs(why, "waiting", row);
	}
	return true;
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
	if (strcmp(string_of(root, "customer"), wire_customer(o->customer)) != 0)
		return differs(why, "customer", root);
	if (!expires_as(root, o->expires_s - m->now_s))
		return differs(why, "expires_at", member(root, "expires_at"));
	if ((member(root, "on_hold") != NULL) != (o->on_hold && order_lives(o)))
		return differs(why, "on_hold", root);
	/* A job that expires a hold claims it first, and that counts as an attempt. */
	if (!number_is(root, "attempts", 0, o->tried ? MODEL_IDS : o->state == ORDER_EXPIRED) ||
	    !member(root, "created_at") || (member(root, "settled_at") != NULL) != (o->state == ORDER_SETTLED) ||
	    (member(root, "confirmed_at") != NULL) != (o->confirmed > 0) ||
	    (member(root, "released_at") != NULL) != (o->state == ORDER_RELEASED))
		return differs(why, "attempts or a time", root);
	return returned_meets(member(root, "returned"), o, why) &&
	       rows_meet(member(root, "lines"), "qty", &o->held, NULL, NULL, NULL, why) &&
	       waiting_meets(member(root, "lines"), o, m, why);
}

/* Each line of a transfer or an arrival, whole, and no others. */
static bool ends_meet(const cJSON *rows, const struct moved *v, struct text *why)
{
	bool         arrival = v->ask.what == ASK_ARRIVAL;
	const cJSON *row;

	if (cJSON_GetArraySize(rows) != v->ask.ends)
		return differs(why, "lines", rows);
	for (int i = 0; i < v->ask.ends; i++) {
		const struct end *e = &v->ask.end[i];
		int64_t           left = e->qty - v->filled[i];

		for (row = rows->child; row && sku_of(row) != e->sku;) /* each sku stands once */
			row = row->next;
		if (!row || strcmp(string_of(row, "from"), wire_place(e->from)) != 0 ||
		    strcmp(string_of(row, "to"), wire_place(e->to)) != 0 || !number_is(row, "qty", e->qty, e->qty) ||
		    (arrival && (!number_is(row, "filled", v->filled[i], v->filled[i]) ||
		                 !number_is(row, "for_sale", left, left) || !number_is(row, "waiting", 0, 0))))
			return differs(why, "a line with two ends", rows);
	}
	return true;
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
	if (cJSON_GetArraySize(member(root, "backordered")) != v->backordered ||
	    (member(root, "backordered") != NULL) != (v->backordered > 0))
		return differs(why, "backordered", member(root, "backordered"));
	if (v->ask.ends)
		return ends_meet(member(root, "lines"), v, why);
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
		if (i == v->wish->places || strcmp(place->valuestring, wire_place(v->wish->place[i])) != 0)
			return differs(why, "locations", found);
		i++;
	}
	if (i != v->wish->places || sku_of(found) != v->wish->sku || is_limited(found) != v->wish_limited ||
	    (v->first_name && (!number_is(found, v->first_name, v->wish->qty, v->wish->qty) ||
	                       !number_is(found, v->second_name, v->wish_available, v->wish_available))))
		return differs(why, "the row with locations", found);
	return true;
}

/* The settled orders that were split off from the order of the return. */
static bool parts_meet(const cJSON *parts, const struct ask *ask, const struct verdict *v, const struct model *m,
                       struct text *why)
{
	const cJSON *part;
	int          count = 0, id;

	for (int i = 0; i < m->ids; i++)
		count += model_parted(m, ask->other - 1, i, &v->fault);
	cJSON_ArrayForEach(part, parts)
	{
		if (sscanf(part->valuestring, "O%d", &id) != 1 || !model_parted(m, ask->other - 1, id, &v->fault))
			return differs(why, "no such part", part);
		count--;
	}
	return count == 0 || differs(why, "parts", parts);
}

/* A row for each sku of which too many units would come back, or go to one customer. */
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
                       struct text *why);

static bool ended_meets(const cJSON *root, const struct ask *ask, const struct verdict *v, const struct model *m,
                        struct text *why)
{
	const cJSON   *order = member(root, "reservation");
	struct verdict shown = *v;

	shown.code = NULL;
	shown.ended = false;
	if (strcmp(string_of(root, "code"), v->code) != 0 ||
	    strcmp(string_of(root, "replaced_by"), string_of(order, "replaced_by")) != 0)
		return differs(why, v->code, root);
	return body_meets(order, ask, &shown, m, why);
}

static bool body_meets(const cJSON *root, const struct ask *ask, const struct verdict *v, const struct model *m,
                       struct text *why)
{
	const char *rows = v->code ? "lines" : "short";
	bool        faults = v->wish;

	if (v->ended)
		return ended_meets(root, ask, v, m, why);
	EACH_CELL(s, p)
	faults |= v->fault.named[s][p];
	if (member(root, "reservation"))
		return differs(why, "no other order", root);
	if (strcmp(string_of(root, "code"), v->code ? v->code : "") != 0)
		return differs(why, v->code ? v->code : "a code", root);
	if (v->field && strcmp(string_of(root, "field"), v->field) != 0)
		return differs(why, v->field, root);
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

void meets_shown(const cJSON *root, struct cells *to)
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

bool meets_answer(const struct answer *a, const struct ask *ask, const struct verdict *v, const struct model *m,
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

bool meets_result(const cJSON *result, const struct ask *ask, const struct verdict *v, const struct model *m,
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

bool meets_item(const cJSON *item, const struct model *m, int *id, struct text *why)
{
	if (sscanf(string_of(item, "order_id"), "O%d", id) != 1 || *id < 0 || *id >= MODEL_IDS)
		return differs(why, "whose is this", item);
	return order_meets(item, &m->order[*id], m, why);
}

/* ---- totals */

const char *meets_kind(enum kind kind)
{
	static const char *const names[KINDS] = {"stock", "aside", "incoming"};

	return names[kind];
}

/* Units that a stop holds back: named where there are any. */
static bool stopped_meet(const cJSON *root, int64_t units, int64_t unswept)
{
	const cJSON *stopped = member(root, "stopped");

	return stopped ? number_is(root, "stopped", units - unswept > 0 ? units - unswept : 1, units)
	               : units - unswept <= 0;
}

/* Of each kind of places. Aside and on their way: named where there are any. */
static bool totals_meet(const cJSON *root, const struct model *m, int sku, struct text *why)
{
	int64_t      available[KINDS] = {0}, reserved[KINDS] = {0}, unswept[KINDS] = {0}, on_hand;
	int64_t      stopped[KINDS] = {0}, behind[KINDS] = {0}, all[KINDS]; /* behind: `unswept` of what is stopped */
	const cJSON *incoming = member(root, "incoming");
	bool         good;

	for (int p = 0; p < MODEL_PLACES; p++) {
		bool stops = m->kind[p] != ASIDE && model_stopped(m, sku, p);

		(stops ? stopped : available)[m->kind[p]] += m->available[sku][p];
		reserved[m->kind[p]] += m->reserved[sku][p];
		(stops ? behind : unswept)[m->kind[p]] += m->unswept[sku][p];
	}
	for (int k = 0; k < KINDS; k++)
		all[k] = unswept[k] + behind[k];
	on_hand = available[STOCK] + stopped[STOCK] + reserved[STOCK] + available[ASIDE];
	good = number_is(root, "available", available[STOCK] - unswept[STOCK], available[STOCK]) &&
	       number_is(root, "reserved", reserved[STOCK], reserved[STOCK] + all[STOCK]) &&
	       stopped_meet(root, stopped[STOCK], behind[STOCK]) &&
	       cJSON_IsFalse(member(root, "for_sale")) == m->stopped_sku[sku] &&
	       number_is(root, "on_hand", on_hand, on_hand) &&
	       (available[ASIDE] ? number_is(root, "aside", available[ASIDE], available[ASIDE])
	                         : !member(root, "aside"));
	if (available[INCOMING] + stopped[INCOMING] + reserved[INCOMING])
		good = good &&
		       number_is(incoming, "available", available[INCOMING] - unswept[INCOMING], available[INCOMING]) &&
		       stopped_meet(incoming, stopped[INCOMING], behind[INCOMING]) &&
		       number_is(incoming, "reserved", reserved[INCOMING], reserved[INCOMING] + all[INCOMING]);
	else
		good = good && !incoming;
	return good || differs(why, "the totals", root);
}

bool meets_sku(const struct answer *a, struct model *m, int sku, bool exactly, struct text *why)
{
	const cJSON *row;
	bool         seen[MODEL_PLACES] = {0};

	if (!m->known[sku] || a->status != 200)
		return (!m->known[sku] && a->status == 404 && strcmp(string_of(a->json, "code"), "unknown_sku") == 0) ||
		       differs(why, "not known, or known", a->json);
	cJSON_ArrayForEach(row, member(a->json, "locations"))
	{
		int     p = place_of(row);
		int64_t units = p < 0 ? 0 : m->available[sku][p] + m->reserved[sku][p];
		int64_t on_hand = p < 0 || m->kind[p] == INCOMING ? 0 : units;
		bool    stops = p >= 0 && m->kind[p] != ASIDE && model_stopped(m, sku, p);
		/* units that no order has, for sale or not */
		int64_t left = stops && member(row, "stopped") ? (int64_t)member(row, "stopped")->valuedouble
		                                               : (int64_t)member(row, "available")->valuedouble;

		if (p < 0 || seen[p] || strcmp(string_of(row, "kind"), meets_kind(m->kind[p])) != 0 ||
		    !number_is(row, "on_hand", on_hand, on_hand) ||
		    !number_is(row, "reserved", units - left, units - left) || !model_sees(m, sku, p, left) ||
		    (stops && !number_is(row, "available", 0, 0)) || (!stops && member(row, "stopped")) ||
		    cJSON_IsFalse(member(row, "for_sale")) != m->stopped_place[p] ||
		    (exactly && left != m->available[sku][p])) {
			text_format(why, "the model has available=%lld of %lld, of these unswept=%lld; ",
			            p < 0 ? 0 : (long long)m->available[sku][p], (long long)on_hand,
			            p < 0 ? 0 : (long long)m->unswept[sku][p]);
			return differs(why, "the location", row);
		}
		seen[p] = true;
	}
	if (!totals_meet(a->json, m, sku, why))
		return false;
	for (int p = 0; p < MODEL_PLACES; p++)
		if (!seen[p] && m->available[sku][p] + m->reserved[sku][p] != 0)
			return differs(why, wire_place(p), a->json);
	return true;
}

static bool limit_meets(const cJSON *root, const struct model *m, int sku)
{
	return m->limit[sku] ? number_is(root, "per_customer", m->limit[sku], m->limit[sku])
	                     : !member(root, "per_customer");
}

bool meets_limit(const struct answer *a, const struct model *m, int sku, int status, struct text *why)
{
	if (a->status != status || sku_of(a->json) != sku || !limit_meets(a->json, m, sku))
		return differs(why, "the limit that was put", a->json);
	return true;
}

bool meets_has(const struct answer *a, const struct model *m, int sku, int customer, struct text *why)
{
	int64_t has = m->has[customer][sku];

	if (!m->known[sku])
		return (a->status == 404 && strcmp(string_of(a->json, "code"), "unknown_sku") == 0) ||
		       differs(why, "known", a->json);
	if (a->status != 200 || sku_of(a->json) != sku ||
	    strcmp(string_of(a->json, "customer"), wire_customer(customer)) != 0 || !limit_meets(a->json, m, sku) ||
	    !number_is(a->json, "has", has, has + m->has_unswept[customer][sku]))
		return differs(why, "what the customer has", a->json);
	return true;
}

bool meets_availability(const cJSON *item, const struct model *m, int sku, struct text *why)
{
	if (strcmp(string_of(item, "sku"), wire_sku(sku)) != 0)
		return differs(why, "the item's sku", item);
	if (!m->known[sku])
		return strcmp(string_of(item, "code"), "unknown_sku") == 0 || differs(why, "known", item);
	return totals_meet(item, m, sku, why);
}

bool meets_queue(const struct answer *a, const struct model *m, int sku, int place, struct text *why)
{
	const cJSON           *items = member(a->json, "items"), *item;
	const struct position *at = NULL;

	if (a->status != 200 || !items || !cJSON_IsNull(member(a->json, "next_cursor")))
		return differs(why, "all of the queue", a->json);
	cJSON_ArrayForEach(item, items)
	{
		char name[20] = "no order";

		at = queue_next(m, sku, place, at);
		if (at)
			snprintf(name, sizeof(name), "O%d", at->order);
		if (!at || strcmp(string_of(item, "order_id"), name) != 0 ||
		    strcmp(string_of(item, "state"), order_state_name(m->order[at->order].state)) != 0 ||
		    !number_is(item, "qty", at->units, at->units)) {
			text_format(why, "%s is next with %" PRId64 "; ", name, at ? at->units : 0);
			return differs(why, "the queue", items);
		}
	}
	return !queue_next(m, sku, place, at) || differs(why, "more orders wait", items);
}
