/* migrate.c - see migrate.h. A step is one file NNN_name.sql. A semicolon before an empty line ends a statement, which
 * may be run again. */
#include "schema/migrate.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000, PAUSE_US = 500000, LOOKS = 10 };

static const struct {
	const char *name, *text;
} steps[] = {
#include "schema.h"
};

static void (*progress)(int64_t done); /* NULL: nobody is told */
static int64_t turn = TIME_NONE;       /* the row of whose turn it is, as we left it; TIME_NONE: there is none */
static bool    others;                 /* somebody else is at it */

void schema_watch(void (*told)(int64_t done))
{
	progress = told;
}

int schema_latest(void)
{
	return atoi(steps[LENGTH(steps) - 1].name);
}

bool schema_version(struct db *db, int64_t *version)
{
	int64_t tables = 0;

	*version = 0;
	if (db_text(db,
	            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"
	            " AND table_name = 'schema_version'",
	            db_ints, &tables) != DB_OK)
		return false;
	return tables == 0 || db_text(db, "SELECT GREATEST(COALESCE(MAX(version), 0), 0) FROM schema_version", db_ints,
	                              version) == DB_OK;
}

/* ---- whose turn it is
 *
 * GET_LOCK is of one node. On a cluster whoever migrates has row 0 of schema_version instead, and changes it before
 * each statement. One that did not change over LOOKS looks is of a migration that died. A statement that changes the
 * schema stops all nodes while it lasts, and these looks with them. */

static bool turn_read(struct db *db, int64_t *sign)
{
	*sign = TIME_NONE;
	return db_text(db, "SELECT applied_at FROM schema_version WHERE version = 0", db_time, sign) == DB_OK;
}

/* Changes the row, or removes it, if it is still as it was seen. */
static enum db_result turn_change(struct db *db, const char *change, int64_t seen)
{
	struct text    sql = {0};
	enum db_result result;

	text_format(&sql, "%s WHERE version = 0 AND applied_at = TIMESTAMP'", change);
	time_write(&sql, seen);
	sql.data[sql.len - 1] = '\''; /* instead of the Z */
	result = db_text(db, sql.data, NULL, NULL);
	text_fini(&sql);
	return result;
}

/* False: somebody else is at it, or the database is away. */
static bool turn_take(struct db *db)
{
	int64_t        until_ms = clock_ms() + PATIENCE_MS, seen = TIME_NONE, sign;
	int            looks = 0;
	enum db_result result = DB_OK;

	while (turn_read(db, &sign) && clock_ms() < until_ms) {
		looks = sign == seen ? looks + 1 : 0;
		seen = sign;
		if (sign == TIME_NONE)
			result = db_text(db, "INSERT INTO schema_version VALUES (0, UTC_TIMESTAMP(3))", NULL, NULL);
		else if (looks == LOOKS)
			result = turn_change(db, "DELETE FROM schema_version", seen);
		if (sign == TIME_NONE && result == DB_OK)
			return turn_read(db, &turn);
		if (result != DB_OK && result != DB_RETRY && result != DB_DUPLICATE)
			return false;
		usleep(PAUSE_US);
	}
	others = clock_ms() >= until_ms;
	return false;
}

/* False: likewise. */
static bool turn_keep(struct db *db)
{
	enum db_result result;

	if (turn == TIME_NONE)
		return true;
	while ((result = turn_change(db,
	                             "UPDATE schema_version SET applied_at ="
	                             " GREATEST(applied_at + INTERVAL 1000 MICROSECOND, UTC_TIMESTAMP(3))",
	                             turn)) == DB_RETRY)
		;
	others = result == DB_OK && db_changed(db) != 1;
	return result == DB_OK && !others && turn_read(db, &turn);
}

static void turn_leave(struct db *db)
{
	if (turn != TIME_NONE && turn_change(db, "DELETE FROM schema_version", turn) != DB_OK)
		log_event(LOG_WARN, "migration_stays", "why=\"%s\"", db_error(db)); /* the next one waits for it */
	turn = TIME_NONE;
}

/* ---- steps */

/* Waits for the transactions of others, which may last longer than the lock wait of a session. The pause lets those
 * pass that stand behind this statement. */
static bool statement_run(struct db *db, const struct text *sql)
{
	int64_t        until_ms = clock_ms() + PATIENCE_MS;
	enum db_result result;

	if (!turn_keep(db))
		return false;
	while ((result = db_text(db, sql->data, NULL, NULL)) == DB_LOCKED || result == DB_RETRY) {
		if (clock_ms() > until_ms)
			return false;
		log_event(LOG_INFO, "migrate_waits", "why=\"%s\"", db_error(db));
		usleep(PAUSE_US);
	}
	return result == DB_OK;
}

static bool step_run(struct db *db, const char *text)
{
	struct text statement = {0};
	bool        ok = true;

	while (ok && *text) {
		const char *end = strstr(text, ";\n\n");
		size_t      len = end ? (size_t)(end - text) : strlen(text);

		text_reset(&statement);
		text_bytes(&statement, text, len);
		if (strspn(statement.data, " \t\r\n") < statement.len)
			ok = statement_run(db, &statement);
		text += end ? len + 2 : len;
	}
	text_fini(&statement);
	return ok;
}

/* A step stands below zero from before its first statement until it is complete: programs that know the step before
 * find out (db_connect). */
static bool step_note(struct db *db, int step, bool complete)
{
	struct text sql = {0};
	bool        ok;

	if (complete)
		text_format(&sql,
		            "UPDATE schema_version SET version = %d, applied_at = UTC_TIMESTAMP(3) WHERE version = -%d",
		            step, step);
	else
		text_format(&sql,
		            "INSERT IGNORE INTO schema_version (version, applied_at) VALUES (-%d, UTC_TIMESTAMP(3))",
		            step);
	ok = statement_run(db, &sql);
	text_fini(&sql);
	return ok;
}

static bool steps_run(struct db *db)
{
	int64_t version;

	if (!schema_version(db, &version))
		return false;
	if (version >= schema_latest())
		return true; /* a database that is up to date needs no right to change it */
	if (db_text(db,
	            "CREATE TABLE IF NOT EXISTS schema_version (version INT NOT NULL PRIMARY KEY,"
	            " applied_at DATETIME(3) NOT NULL) ENGINE=InnoDB",
	            NULL, NULL) != DB_OK ||
	    (source_is_cluster(db_source(db)) && (!turn_take(db) || !schema_version(db, &version))))
		return false;
	for (size_t i = 0; i < LENGTH(steps); i++) {
		int step = atoi(steps[i].name);

		assert(step == (int)i + 1);
		if (step <= version)
			continue;
		if (!step_note(db, step, false) || !step_run(db, steps[i].text) || !step_note(db, step, true))
			return false;
		if (version > 0)
			log_event(LOG_INFO, "migrated", "version=%d step=%s", step, steps[i].name);
		if (progress)
			progress(step - version);
	}
	if (version == 0)
		log_event(LOG_INFO, "migrated", "version=%d hint=\"the database is new\"", schema_latest());
	return true;
}

bool schema_migrate(struct db *db, char *why, size_t why_size)
{
	int64_t locked = 0;
	bool    cluster = source_is_cluster(db_source(db)), ok;

	if (!cluster && (db_text(db, "SELECT GET_LOCK('holdfast_migrate', 60)", db_ints, &locked) != DB_OK || !locked))
		return why_write(why, why_size, "cannot migrate: %s", locked ? db_error(db) : "somebody else is at it");
	ok = steps_run(db);
	if (!ok)
		why_write(why, why_size, "cannot migrate: %s", others ? "somebody else is at it" : db_error(db));
	turn_leave(db);
	if (!cluster && db_text(db, "SELECT RELEASE_LOCK('holdfast_migrate')", NULL, NULL) != DB_OK)
		log_event(LOG_DEBUG, "lock_lost", "why=\"%s\"", db_error(db)); /* the lock ends with the connection */
	return ok;
}
