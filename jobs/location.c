/* location.c - see location.h. */
#include "jobs/location.h"
#include "engine/base/clock.h"
#include "engine/catalogue/past.h"
#include "jobs/task/claim.h"
#include "jobs/task/complete.h"

#include <stdio.h>

struct locations_found {
	struct location_row *list;
	size_t               count, max;
};

static void location_read(void *arg, const struct db_row *row)
{
	struct locations_found *in = arg;
	struct location_row    *to;

	if (in->count == in->max) {
		db_other(row);
		return;
	}
	if (row->len[1] > LOCATION_MAX || row->len[5] > LOCATION_MAX)
		return; /* damaged: no code is longer */
	to = &in->list[in->count++];
	*to = (struct location_row){.is = {.location_id = (uint32_t)db_int(row, 0),
	                                   .kind = (uint8_t)db_int(row, 2),
	                                   .expected_at = time_parse(row->col[3]),
	                                   .waits_at = (uint32_t)db_int(row, 4),
	                                   .stopped = db_int(row, 6) == 0}};
	memcpy(to->is.code, db_word(row, 1), row->len[1]);
	if (row->col[5])
		memcpy(to->waits_at, row->col[5], row->len[5]);
	if (row->col[7])
		db_copy(row, 7, to->reason, sizeof(to->reason));
}

enum db_result location_find(struct db *db, const char *code, struct location_row *out, enum outcome *outcome)
{
	struct locations_found in = {out, 0, 1};
	enum db_result         result = db_ask(db, LOCATION_FIND, &(struct fill){.code = code}, location_read, &in);

	*outcome = in.count > 0 ? OUTCOME_OK : NO_LOCATION;
	return result;
}

enum db_result location_list(struct db *db, const char *after, struct location_row *list, size_t max, size_t *count)
{
	struct locations_found in = {list, 0, max};
	enum db_result result = db_ask(db, LOCATION_LIST, &(struct fill){.after_code = after, .limit = (int64_t)max},
	                               location_read, &in);

	assert(in.count <= max);
	*count = in.count;
	return result;
}

/* ---- making */

static enum db_result location_make(struct db *db, const char *code, enum location_kind kind, bool *made,
                                    enum outcome *outcome)
{
	int64_t        count = 0;
	enum db_result result = db_ask(db, LOCATION_COUNT, NULL, db_ints, &count);

	*outcome = OUTCOME_OK;
	if (result == DB_OK && count >= LOCATIONS_MAX) {
		*outcome = LIMIT;
		return DB_OK;
	}
	if (result == DB_OK)
		result = db_ask(db, LOCATION_PUT, &(struct fill){.code = code, .kind = kind ? kind : LOCATION_STOCK},
		                NULL, NULL);
	*made = result == DB_OK && db_changed(db) > 0;
	return result;
}

/* ---- changing the kind */

/* Expires the holds that are past their time, as a worker does, so that none of them keeps a location in use. */
static enum db_result holds_expire(struct db *db)
{
	struct claimer claimer = {0};
	enum db_result result;
	size_t         count;

	do {
		struct task          task = {.kind = TASK_EXPIRE};
		struct task_answer   answer = {0};
		struct reservation **orders = NULL;

		count = 0;
		snprintf(task.worker, sizeof(task.worker), "location");
		result = task_claim(db, &claimer, &task, CLAIM_MAX, LEASE_S, &orders, &count);
		if (result == DB_OK && count > 0)
			result = task_complete_claimed(db, &task, orders, count, &answer);
		reservations_free(orders, count);
		task_answer_fini(&answer);
	} while (result == DB_OK && count == CLAIM_MAX);
	return result;
}

static enum db_result location_turn(struct db *db, const struct location *l, enum location_kind kind, uint32_t waits_at,
                                    enum outcome *outcome)
{
	static const enum outcome outcomes[] = {OUTCOME_OK, IN_USE, WRONG_KIND};
	const struct fill         fill = {.location = l->location_id, .kind = kind, .waits_at = waits_at};
	int64_t                   lies = 0;
	enum db_result            result = DB_OK;

	if (kind != location_kind(l))
		result = db_ask(db, LOCATION_IN_USE, &fill, db_ints, &lies);
	if (result == DB_OK && lies)
		result = holds_expire(db);
	if (result == DB_OK && lies)
		result = db_ask(db, LOCATION_IN_USE, &fill, db_ints, &lies);
	if (result == DB_OK && !lies)
		result = db_ask(db, LOCATION_TURN, &fill, db_ints, &lies);
	if (lies < 0 || lies >= (int64_t)LENGTH(outcomes))
		return db_answered_other(db, false);
	*outcome = outcomes[lies];
	return result;
}

/* WRONG_KIND: a location of this kind cannot have what the wish asks for; otherwise OUTCOME_OK. */
static enum outcome wish_judge(struct location_wish *wish, enum location_kind kind)
{
	if (wish->expected_at > 0 && kind != LOCATION_INCOMING)
		wish->fault = "expected_at";
	else if (wish->waits_at[0] && kind != LOCATION_STOCK)
		wish->fault = "waits_at";
	return wish->fault ? WRONG_KIND : OUTCOME_OK;
}

/* Changes kind, queue and time of a location that exists. A location that becomes incoming does not wait anywhere any
 * more. */
static enum db_result location_change(struct db *db, struct location_wish *wish, const struct location *l,
                                      uint32_t queue_id, enum outcome *outcome)
{
	enum location_kind kind = wish->kind ? wish->kind : location_kind(l);
	uint32_t           waits_at = wish->waits ? queue_id : kind == LOCATION_INCOMING ? 0 : l->waits_at;
	enum db_result     result = DB_OK;

	*outcome = wish_judge(wish, kind);
	if (*outcome != OUTCOME_OK)
		return DB_OK;
	if (kind != location_kind(l) || waits_at != l->waits_at)
		result = location_turn(db, l, kind, waits_at, outcome);
	if (*outcome == WRONG_KIND) /* the kind of the queue's location has changed just now */
		wish->fault = "waits_at";
	if (result == DB_OK && *outcome == OUTCOME_OK && wish->expected_at >= 0)
		result = db_ask(db, LOCATION_EXPECT,
		                &(struct fill){.location = l->location_id, .until_at = wish->expected_at}, NULL, NULL);
	return result;
}

/* Finds the location at which the wished one is to wait; 0: none. */
static enum db_result queue_find(struct db *db, struct location_wish *wish, uint32_t *queue_id, enum outcome *outcome)
{
	struct location_row at = {0};
	enum db_result      result = DB_OK;

	*outcome = OUTCOME_OK;
	if (wish->waits_at[0])
		result = location_find(db, wish->waits_at, &at, outcome);
	if (*outcome == NO_LOCATION)
		*outcome = UNKNOWN_LOCATION;
	else if (wish->waits_at[0] && location_kind(&at.is) != LOCATION_INCOMING)
		*outcome = WRONG_KIND;
	wish->fault = *outcome != OUTCOME_OK ? "waits_at" : NULL;
	*queue_id = at.is.location_id;
	return result;
}

enum db_result location_put(struct db *db, const char *code, struct location_wish *wish, struct location_row *out,
                            bool *made, enum outcome *outcome)
{
	uint32_t       queue_id = 0;
	enum db_result result = queue_find(db, wish, &queue_id, outcome);

	if (result != DB_OK || *outcome != OUTCOME_OK)
		return result;
	result = location_find(db, code, out, outcome);
	if (result == DB_OK && *outcome == NO_LOCATION) {
		*outcome = wish_judge(wish, wish->kind ? wish->kind : LOCATION_STOCK);
		if (*outcome != OUTCOME_OK)
			return DB_OK;
		result = location_make(db, code, wish->kind, made, outcome);
		if (result != DB_OK || *outcome != OUTCOME_OK)
			return result;
		result = location_find(db, code, out, outcome); /* another process may have made it just now */
	}
	if (result == DB_OK && *outcome == OUTCOME_OK)
		result = location_change(db, wish, &out->is, queue_id, outcome);
	if (result == DB_OK && *outcome == OUTCOME_OK && wish->sells)
		result = sales_at(db, &wish->sales, out->is.location_id);
	if (result == DB_OK && *outcome == OUTCOME_OK)
		result = location_find(db, code, out, outcome);
	return result == DB_OK ? past_locations(db) : result;
}
