/* migrate.c - see migrate.h. files.h says what the baseline and a step are.
 *
 * Table schema_version has a row for each version that is complete. A step stands there below zero from before its
 * first statement until it is complete: programs that know the step before find out (db_connect). The baseline stands
 * there both ways meanwhile, so that an older program, which asks for the newest version, keeps away. */
#include "schema/migrate.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "schema/compare.h"

#include <stdio.h>
#include <unistd.h>

#define AT_WORK "another migration is at work"
/* Of this database: the migrations of others on the same server do not wait for it. */
#define LOCK_NAME "CONCAT('holdfast_migrate_', MD5(DATABASE()))"

enum { PATIENCE_MS = 60000, PAUSE_US = 500000, LOOKS = 10, TOLD_MAX = 3 };
enum { TABLE_EXISTS = 1050, KEY_EXISTS = 1062 }; /* errors of MariaDB */

static void (*progress)(int64_t done); /* NULL: none */
static int64_t     done;               /* the number that it was called with last */
static int64_t     turn = TIME_NONE;   /* our last change of the row of the turn; TIME_NONE: we have no row */
static bool        others;             /* another migration is at work */
static struct text refusal;            /* why this database is not taken over; empty: it is */

void schema_watch(void (*told)(int64_t done))
{
	progress = told;
}

static void part_done(void)
{
	done++;
	if (progress)
		progress(done);
}

int schema_latest(void)
{
	return schema_files_latest(&schema_files);
}

int64_t schema_parts(int64_t version)
{
	int64_t parts = 0;

	for (size_t i = 0; i < schema_files.count; i++) {
		int step = schema_step(&schema_files.list[i]);

		parts += step ? step > version : version < SCHEMA_BASELINE;
	}
	return parts;
}

bool schema_refused(void)
{
	return refusal.len > 0;
}

/* ---- what the database has */

struct state {
	int64_t version; /* the newest complete one; 0: none */
	int64_t begun;   /* the newest that was begun and is not complete; 0: none */
};

static void state_add(void *arg, const struct db_row *row)
{
	struct state *state = arg;
	int64_t       version = db_int(row, 0);

	if (version > state->version)
		state->version = version;
	if (-version > state->begun)
		state->begun = -version;
}

static bool state_read(struct db *db, struct state *state)
{
	int64_t tables = 0;

	*state = (struct state){0};
	if (db_query(db,
	             "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"
	             " AND table_name = 'schema_version'",
	             1, db_ints, &tables) != DB_OK ||
	    (tables > 0 && db_query(db, "SELECT version FROM schema_version", 1, state_add, state) != DB_OK))
		return false;
	if (state->begun == SCHEMA_BASELINE && state->version == SCHEMA_BASELINE)
		state->version = 0;
	return true;
}

bool schema_version(struct db *db, int64_t *version)
{
	struct state state;
	bool         ok = state_read(db, &state);

	*version = state.version;
	return ok;
}

/* ---- one migration at a time
 *
 * GET_LOCK covers one node only. On a cluster a migration has row 0 of schema_version instead, and changes it before
 * each statement. If the row does not change over LOOKS looks, its migration has died. A statement that changes the
 * schema stops all nodes while it lasts, and these looks with them. */

static bool turn_read(struct db *db, int64_t *sign)
{
	*sign = TIME_NONE;
	return db_query(db, "SELECT applied_at FROM schema_version WHERE version = 0", 1, db_time, sign) == DB_OK;
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

/* False: another migration is at work, or the database is away. */
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

/* False: another migration has the turn, or the database is away. */
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

/* ---- statements */

/* Waits for the transactions of others, which may last longer than the lock wait of a session. The pause lets those
 * pass that stand behind this statement. */
static bool statement_run(struct db *db, const char *sql)
{
	int64_t        until_ms = clock_ms() + PATIENCE_MS;
	enum db_result result;

	if (!turn_keep(db))
		return false;
	while ((result = db_text(db, sql, NULL, NULL)) == DB_LOCKED || result == DB_RETRY) {
		if (clock_ms() > until_ms)
			return false;
		log_event(LOG_INFO, "migrate_waits", "why=\"%s\"", db_error(db));
		usleep(PAUSE_US);
	}
	return result == DB_OK;
}

/* again: what a run that was cut off has made is there. */
static bool file_run(struct db *db, const struct schema_file *file, bool again)
{
	struct text statement = {0};
	const char *text = file->text;
	bool        ok = true;

	while (ok && schema_statement(&text, &statement))
		ok = statement_run(db, statement.data) ||
		     (again && !others && (db_errno(db) == TABLE_EXISTS || db_errno(db) == KEY_EXISTS));
	text_fini(&statement);
	return ok;
}

/* ---- the baseline */

/* The first few differences; the log has all. */
static void differences_refuse(struct text *differences, int version)
{
	size_t n = 0;

	text_format(&refusal, "the tables are not those of schema version %d: ", version);
	for (char *line = differences->data, *end; (end = strchr(line, '\n')); line = end + 1, n++) {
		*end = '\0';
		log_event(LOG_ERROR, "schema_differs", "why=\"%s\"", line);
		if (n < TOLD_MAX)
			text_format(&refusal, "%s%s", n ? "; " : "", line);
	}
	if (n > TOLD_MAX)
		text_format(&refusal, "; and %zu more, which the log names", n - TOLD_MAX);
}

static bool tables_compare(struct db *db, const struct schema_files *files, int version)
{
	struct text differences = {0};
	bool        ok = true;

	for (size_t i = 0; ok && i < files->count; i++) {
		if (schema_step(&files->list[i]) != 0)
			continue;
		ok = turn_keep(db) && schema_compare(db, &files->list[i], &differences);
		if (ok)
			part_done();
	}
	if (ok && differences.count > 0)
		differences_refuse(&differences, version);
	ok = ok && differences.count == 0;
	text_fini(&differences);
	return ok;
}

/* A row of the baseline's version, before the steps. Programs of version 19 that are connected go on with their
 * orders, in the same tables, until they look at the version. */
static bool adopt(struct db *db, const struct schema_files *files)
{
	char sql[100];

	snprintf(sql, sizeof(sql), "INSERT INTO schema_version VALUES (%d, UTC_TIMESTAMP(3))", SCHEMA_BASELINE);
	if (!tables_compare(db, files, SCHEMA_ADOPTED) || !statement_run(db, sql))
		return false;
	log_event(LOG_INFO, "migrated", "version=%d hint=\"adopted as it is\"", SCHEMA_BASELINE);
	return true;
}

/* again: an earlier run was cut off. Other programs may have made the tables, so they are compared. */
static bool tables_make(struct db *db, const struct schema_files *files, bool again)
{
	char sql[150];

	snprintf(sql, sizeof(sql), "INSERT INTO schema_version VALUES (%d, UTC_TIMESTAMP(3)), (-%d, UTC_TIMESTAMP(3))",
	         SCHEMA_BASELINE, SCHEMA_BASELINE);
	if (!again && !statement_run(db, sql))
		return false;
	for (size_t i = 0; i < files->count; i++) {
		if (schema_step(&files->list[i]) != 0)
			continue;
		if (!file_run(db, &files->list[i], again))
			return false;
		if (!again)
			part_done();
	}
	snprintf(sql, sizeof(sql), "DELETE FROM schema_version WHERE version = -%d", SCHEMA_BASELINE);
	return (!again || tables_compare(db, files, SCHEMA_BASELINE)) && statement_run(db, sql);
}

/* A table of another program, or a database that was restored without its schema_version so far. */
static void table_refuse(void *arg, const struct db_row *row)
{
	(void)arg;
	if (refusal.len == 0)
		text_format(&refusal,
		            "the database has a table %s, but no version of the schema: name an empty one, or restore "
		            "all of it",
		            db_word(row, 0));
}

/* Whether no table has a name of the baseline's. */
static bool way_is_free(struct db *db, const struct schema_files *files)
{
	struct text sql = {0}, statement = {0};
	char        table[SCHEMA_NAME_MAX + 1];
	bool        ok;

	text_add(&sql, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
	               " AND table_name IN (''");
	for (size_t i = 0; i < files->count; i++) {
		const char *text = schema_step(&files->list[i]) ? "" : files->list[i].text;

		while (schema_statement(&text, &statement))
			if (schema_statement_of(statement.data, SCHEMA_CREATE, table))
				text_format(&sql, ", '%s'", table);
	}
	text_add(&sql, ")");
	ok = db_query(db, sql.data, 1, table_refuse, NULL) == DB_OK && refusal.len == 0;
	text_fini(&statement);
	text_fini(&sql);
	return ok;
}

/* ---- steps */

static bool step_run(struct db *db, const struct schema_file *file)
{
	int  step = schema_step(file);
	char begun[100], complete[120];

	snprintf(begun, sizeof(begun), "INSERT IGNORE INTO schema_version VALUES (-%d, UTC_TIMESTAMP(3))", step);
	snprintf(complete, sizeof(complete),
	         "UPDATE schema_version SET version = %d, applied_at = UTC_TIMESTAMP(3) WHERE version = -%d", step,
	         step);
	if (!statement_run(db, begun) || !file_run(db, file, false) || !statement_run(db, complete))
		return false;
	part_done();
	return true;
}

/* The tables of older versions are made by programs that have the steps to them. */
static bool is_refused(const struct state *state)
{
	bool half = state->begun > 0 && (state->version > 0 || state->begun != SCHEMA_BASELINE);
	char cut[80] = "";

	if (state->version >= SCHEMA_BASELINE || (!half && (state->version == 0 || state->version == SCHEMA_ADOPTED)))
		return false;
	if (half)
		snprintf(cut, sizeof(cut), ", and the step to %lld was cut off", (long long)state->begun);
	text_format(
		&refusal,
		"the database has schema version %lld%s; this program takes over version %d: first run `holdfast "
		"migrate` of holdfast 0.1.0 with schema %d, the last one that has the steps to it (docs/operator.md, "
		"Upgrade)",
		(long long)state->version, cut, SCHEMA_ADOPTED, SCHEMA_ADOPTED);
	return true;
}

static bool files_run(struct db *db, const struct schema_files *files)
{
	struct state state;
	bool         cluster = atomic_load(source_cluster(db_source(db)));

	if (!state_read(db, &state))
		return false;
	if (state.version >= schema_files_latest(files))
		return true; /* a database that is up to date needs no right to change it */
	if (is_refused(&state) || (state.version + state.begun == 0 && !cluster && !way_is_free(db, files)))
		return false;
	if (db_text(db,
	            "CREATE TABLE IF NOT EXISTS schema_version (version INT NOT NULL PRIMARY KEY,"
	            " applied_at DATETIME(3) NOT NULL) ENGINE=InnoDB",
	            NULL, NULL) != DB_OK)
		return false;
	/* On a cluster the first look was one beside others. */
	if (cluster && (!turn_take(db) || !state_read(db, &state) || is_refused(&state) ||
	                (state.version + state.begun == 0 && !way_is_free(db, files))))
		return false;
	if (state.version == 0 && !tables_make(db, files, state.begun > 0))
		return false;
	if (state.version == SCHEMA_ADOPTED && !adopt(db, files))
		return false;
	for (size_t i = 0; i < files->count; i++) {
		int step = schema_step(&files->list[i]);

		if (step <= state.version || step == 0)
			continue;
		if (!step_run(db, &files->list[i]))
			return false;
		if (state.version > 0)
			log_event(LOG_INFO, "migrated", "version=%d step=%s", step, files->list[i].name);
	}
	if (state.version == 0)
		log_event(LOG_INFO, "migrated", "version=%d hint=\"the database is new\"", schema_files_latest(files));
	return true;
}

bool schema_migrate_files(const struct schema_files *files, struct db *db, char *why, size_t why_size)
{
	int64_t locked = 0;
	bool    cluster = atomic_load(source_cluster(db_source(db))), ok;

	done = 0;
	others = false;
	text_fini(&refusal);
	if (!cluster && (db_query(db, "SELECT GET_LOCK(" LOCK_NAME ", 60)", 1, db_ints, &locked) != DB_OK || !locked))
		return why_write(why, why_size, "cannot migrate: %s", locked ? db_error(db) : AT_WORK);
	ok = files_run(db, files);
	if (!ok)
		why_write(why, why_size, "cannot migrate: %s",
		          refusal.len ? refusal.data
		          : others    ? AT_WORK
		                      : db_error(db));
	turn_leave(db);
	if (!cluster && db_text(db, "SELECT RELEASE_LOCK(" LOCK_NAME ")", NULL, NULL) != DB_OK)
		log_event(LOG_DEBUG, "lock_lost", "why=\"%s\"", db_error(db)); /* the lock ends with the connection */
	return ok;
}

bool schema_migrate(struct db *db, char *why, size_t why_size)
{
	return schema_migrate_files(&schema_files, db, why, why_size);
}
