/* keeping.c - see keeping.h. Events go by primary key, from the floor of each writer on, in pieces: a piece is one trip
 * and one transaction, and nothing walks behind rows that are gone. */
#include "engine/log/keeping.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/db/db.h"
#include "engine/db/retry.h"

/* PIECE: rows of a piece. */
enum { PIECE = 1000 };

/* Removes a piece of each writer of the list; keeps those in the list that may have more. */
static enum db_result pieces_remove(struct db *db, struct values *writers, int64_t until_ms, int64_t *removed)
{
	size_t         count = writers->rows, kept = 0;
	enum db_result result = DB_OK;

	for (size_t i = 0; i < count && (i == 0 || clock_ms() < until_ms); i++) {
		int64_t gone = 0, writer = writers->list[i].number;

		result = db_ask(db, KEEP_PIECE, &(struct fill){.writer = writer, .limit = PIECE}, db_ints, &gone);
		if (result == DB_LOCKED || result == DB_RETRY)
			continue;
		if (result == DB_OK && (gone < 0 || gone > PIECE))
			result = db_answered_other(db, false);
		if (result != DB_OK)
			return result;
		*removed += gone;
		if (gone == PIECE)
			writers->list[kept++] = V_INT(writer);
	}
	writers->rows = writers->count = kept;
	return DB_OK;
}

enum db_result keeping_pass(struct db *db, int64_t budget_ms, int64_t *removed)
{
	struct values  writers = {0};
	int64_t        until_ms = clock_ms() + budget_ms;
	enum db_result result = db_ask(db, KEEP_PAGE, NULL, db_numbers, &writers);

	while (result == DB_OK && writers.rows > 0) {
		result = pieces_remove(db, &writers, until_ms, removed);
		if (clock_ms() >= until_ms)
			break;
	}
	values_fini(&writers);
	return result;
}

enum db_result keeping_writers(struct db *db)
{
	struct values  silent = {0};
	enum db_result result = db_ask(db, WRITERS_SILENT, NULL, db_numbers, &silent);

	if (result == DB_OK && silent.rows > 0)
		result = db_ask(db, WRITERS_END, &(struct fill){.rows = &silent}, NULL, NULL);
	values_fini(&silent);
	return result == DB_LOCKED || result == DB_RETRY ? DB_OK : result;
}

/* ---- the setting */

struct setting {
	int64_t days; /* of before */
	int64_t kept; /* 1: events of before are left, and nothing was done */
};

enum db_result keeping_set(struct db *db, int64_t days)
{
	enum { REMOVE_MS = 1000 };
	struct retry   retry = {.results = RETRY_LOCKS, .tries_max = RETRY_TRIES};
	struct setting before = {0};
	int64_t        removed = 0;
	enum db_result result;

	assert(days >= 0 && days <= KEEP_DAYS_MAX);
	do {
		result = db_ask(db, KEEP_SET, &(struct fill){.keep_days = days}, db_ints, &before);
		removed = 0;
		if (result == DB_OK && (before.kept || days == 0))
			result = keeping_pass(db, REMOVE_MS, &removed);
		if (result == DB_OK && before.kept && removed == 0)
			result = DB_LOCKED; /* another transaction has the rows that are left */
	} while ((result == DB_OK && before.kept) || retry_again(&retry, result));
	if (result == DB_OK && before.days != days)
		log_event(LOG_INFO, "events_kept", "days=%lld before=%lld", (long long)days, (long long)before.days);
	return result;
}
