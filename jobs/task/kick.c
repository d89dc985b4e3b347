/* kick.c - see kick.h. */
#include "jobs/task/kick.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/db/db.h"
#include "engine/db/retry.h"
#include "engine/db/txn.h"
#include "engine/log/event.h"
#include "engine/catalogue/past.h"
#include "engine/promise/noted.h"
#include "engine/promise/waiting.h"

/* ---- by error */

void buried_page_fini(struct buried_page *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->groups[i].error);
	free(p->groups);
	p->groups = NULL;
	p->count = p->max = 0;
}

enum { DUE_LEN = 23 };

/* A place is written as `DUE ID`, both of a fixed length, so the greatest text is the last place. */
static void place_read(const char *text, struct buried_place *place)
{
	char due[DUE_LEN + 1];

	memcpy(due, text, DUE_LEN);
	due[DUE_LEN] = '\0';
	place->due_at = time_parse(due);
	place->id = strtoll(text + sizeof(due), NULL, 10);
}

static void group_read(void *arg, const struct db_row *row)
{
	struct buried_page *p = arg;
	struct buried_place last;

	if (row->len[3] <= DUE_LEN || db_int(row, 1) < 0 || db_int(row, 1) > BURIED_WALK - p->orders) {
		db_other(row);
		return;
	}
	p->groups = mem_reach(p->groups, p->count, &p->max, sizeof(*p->groups));
	p->groups[p->count++] = (struct buried_group){mem_copy(row->col[0]), db_int(row, 1), time_parse(row->col[2])};
	p->orders += db_int(row, 1);
	place_read(row->col[3], &last);
	if (last.due_at > p->after.due_at || (last.due_at == p->after.due_at && last.id > p->after.id))
		p->after = last;
}

static int by_orders(const void *a, const void *b)
{
	const struct buried_group *one = a, *other = b;

	if (one->orders != other->orders)
		return one->orders > other->orders ? -1 : 1;
	return one->oldest_at < other->oldest_at ? -1 : one->oldest_at > other->oldest_at;
}

enum db_result buried_read(struct db *db, struct buried_page *p)
{
	enum db_result result;

	result = db_ask(db, BURIED_GROUPS,
	                &(struct fill){.after_at = p->after.due_at, .after_id = p->after.id, .limit = BURIED_WALK},
	                group_read, p);
	if (result == DB_OK && p->count > 0)
		qsort(p->groups, p->count, sizeof(*p->groups), by_orders);
	return result;
}

/* ---- kick */

/* Kicks the buried ones of the reservations. DB_RETRY: another transaction changed one of them, or the list is too
 * large for one transaction (*large). */
static enum db_result kick(struct db *db, const struct reservation_reader *in, uint32_t by, int64_t *kicked,
                           bool *large)
{
	const struct event_head head = {.type = EVENT_KICKED, .by = by};
	struct reservation    **buried = mem_alloc((in->count + 1) * sizeof(*buried));
	struct values           rows = {0};
	struct text             changes = {0};
	struct txn              t = {0};
	size_t                  count = 0;
	enum txn_verdict        verdict = TXN_DONE;
	enum db_result          result = DB_OK;

	for (size_t i = 0; i < in->count; i++)
		if (in->list[i]->state == BURIED) {
			event_entered(&changes, &head, in->list[i], CONFIRMED);
			buried[count++] = in->list[i];
		}
	assert(count <= in->count);
	if (count > 0) {
		txn_begin(&t, db);
		txn_enter(&t, reservations_as_read(&rows, buried, count), true);
		txn_run(&t, RESERVATION_KICK, &(struct fill){.rows = &rows});
		txn_expect(&t, count, TXN_MOVED);
		noted_follow(&t, buried, count);
		waiting_put_aside(&t, buried, count);
		txn_log(&t, &changes);
		result = txn_commit(&t, &verdict);
	}
	*large = verdict == TXN_TOO_LARGE;
	if (result == DB_OK && verdict != TXN_DONE)
		result = DB_RETRY;
	*kicked = result == DB_OK ? (int64_t)count : 0;
	free(buried);
	values_fini(&rows);
	text_fini(&changes);
	return result;
}

/* Reads the reservations and kicks them; again after a conflict. */
static enum db_result kick_tries(struct db *db, enum statement find, const struct values *list, uint32_t by,
                                 struct reservation_reader *in, int64_t *kicked, bool *large)
{
	struct catalogue *c = past_catalogue(db);
	struct retry      retry = {.results = RETRY_CONFLICTS, .tries_max = RETRY_TRIES};
	enum db_result    result;

	*large = false;
	do {
		reservations_free(in->list, in->count);
		*in = (struct reservation_reader){.catalogue = c};
		result = reservations_ask(db, find, &(struct fill){.rows = list, .limit = INT64_MAX}, in);
		if (result == DB_OK)
			result = kick(db, in, by, kicked, large);
	} while (!*large && retry_again(&retry, result));
	return result;
}

enum db_result kick_list(struct db *db, enum statement find, const struct values *list, uint32_t by,
                         struct reservation_reader *in, int64_t *kicked)
{
	bool large;

	return kick_tries(db, find, list, by, in, kicked, &large);
}

/* A walk: the ids of the orders with the error, and the last place of all. */
struct walked {
	struct values        ids;
	struct buried_place *places; /* places of the orders with the error */
	size_t               max;
	struct buried_place  last;
	int64_t              orders;
};

static void walk_read(void *arg, const struct db_row *row)
{
	struct walked *w = arg;

	w->last = (struct buried_place){time_parse(row->col[1]), db_int(row, 0)};
	w->orders++;
	if (!db_int(row, 2))
		return;
	w->places = mem_reach(w->places, w->ids.rows, &w->max, sizeof(*w->places));
	w->places[w->ids.rows] = w->last;
	values_row(&w->ids, V_INT(w->last.id));
}

/* Orders of many lines may be too large for one transaction: then half of them are left to the next call. */
static enum db_result walked_kick(struct db *db, struct kick_walk *k, struct walked *w)
{
	struct reservation_reader in = {0};
	enum db_result            result = DB_OK;
	bool                      large = false;

	while (w->ids.rows > 0) {
		result = kick_tries(db, RESERVATION_BY_ID, &w->ids, k->by, &in, &k->kicked, &large);
		if (!large || w->ids.rows == 1)
			break;
		w->ids.rows = w->ids.count = w->ids.rows / 2;
		w->last = w->places[w->ids.rows - 1];
		k->more = true;
	}
	reservations_free(in.list, in.count);
	return result;
}

enum db_result kick_walk(struct db *db, struct kick_walk *k)
{
	struct walked  w = {.last = k->after};
	enum db_result result;

	k->kicked = 0;
	result = db_ask(db, BURIED_WALKED,
	                &(struct fill){.after_at = k->after.due_at,
	                               .after_id = k->after.id,
	                               .error = k->error,
	                               .unnamed = k->unnamed,
	                               .limit = BURIED_WALK},
	                walk_read, &w);
	k->more = w.orders == BURIED_WALK;
	if (result == DB_OK)
		result = walked_kick(db, k, &w);
	if (result == DB_OK)
		k->after = w.last;
	values_fini(&w.ids);
	free(w.places);
	return result;
}
