/* test_migrate.c - a new database; made-up steps, of which each may be cut off anywhere, while older programs may still
 * run; and a program that finds another schema than its own ends. test_adopt.c: a database of version 19. */
#include "schema/migrate.h"
#include "engine/base/clock.h"
#include "tests/schema/nineteen.h"
#include "tests/lang/flow.h"
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"
#include "tests/kit/tables.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void row_add(void *arg, const struct db_row *row)
{
	for (unsigned i = 0; i < row->columns; i++)
		text_format(arg, " %s", row->col[i] ? row->col[i] : "NULL");
	text_char(arg, '\n');
}

static void rows_read(struct scratch *s, const char *sql, struct text *to)
{
	text_reset(to);
	cr_assert(db_text(s->db, sql, row_add, to) == DB_OK, "%s", db_error(s->db));
}

/* Tables, columns, indexes and seed rows as they are. */
static void shape_read(struct scratch *s, struct text *to)
{
	static const char *const sql[] = {
		"SELECT table_name, column_name, column_type, is_nullable, column_default, extra"
		" FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY 1, 2",
		"SELECT table_name, index_name, seq_in_index, column_name, non_unique"
		" FROM information_schema.statistics WHERE table_schema = DATABASE() ORDER BY 1, 2, 3",
		"SELECT constraint_name, check_clause FROM information_schema.check_constraints"
		" WHERE constraint_schema = DATABASE() ORDER BY 1",
		"SELECT MAX(version), MIN(version) < 0 FROM schema_version",
		"SELECT job, paused FROM job ORDER BY 1",
		"SELECT * FROM event_flush",
		"SELECT one, n FROM location_kinds",
		"SELECT one, fence FROM level_watch",
		"SELECT writer_last, keep_days FROM event_log",
		"SELECT COUNT(*) FROM identity WHERE mark > 0",
	};
	struct text part = {0};

	text_reset(to);
	for (size_t i = 0; i < LENGTH(sql); i++) {
		rows_read(s, sql[i], &part);
		text_add(to, part.data);
	}
	text_fini(&part);
}

static void migrate_files(struct scratch *s, const struct schema_files *files)
{
	char why[512];

	cr_assert(schema_migrate_files(files, s->db, why, sizeof(why)), "%s", why);
}

/* ---- a new database */

/* The program of version 19 asks for the newest version, and keeps away from this one. */
Test(migrate, a_baseline_cut_at_any_statement_is_repeated)
{
	struct scratch s;
	struct text    shape = {0}, now = {0}, text = {0};
	size_t         all = 1, first = 0;
	int64_t        version;
	char           why[512];

	scratch_open(&s);
	migrate(&s);
	shape_read(&s, &shape);
	while (schema_step(&schema_files.list[first]))
		first++;
	for (size_t cut = 0; cut < all; cut++) {
		struct schema_file  file = {"cut.sql", NULL};
		struct schema_files files = {&file, 1};

		tables_drop(&s);
		all = files_cut(schema_files.list + first, schema_files.count - first, cut, &text);
		file.text = text.data;
		cr_assert(!schema_migrate_files(&files, s.db, why, sizeof(why)) && strstr(why, "cut") &&
		          !schema_refused());
		cr_assert(schema_version(s.db, &version) && version == 0);
		rows_read(&s, "SELECT version FROM schema_version ORDER BY version", &now);
		cr_assert_str_eq(now.data, " -20\n 20\n");
		migrate(&s);
		shape_read(&s, &now);
		cr_expect_str_eq(now.data, shape.data, "cut after %zu", cut);
	}
	text_fini(&shape);
	text_fini(&now);
	text_fini(&text);
	scratch_close(&s);
}

/* Another program's table, or a database that is being restored: nothing is made beside it. */
Test(migrate, tables_of_others_are_left_alone)
{
	struct scratch s;

	scratch_open(&s);
	tables_run(s.db, "CREATE TABLE event (id INT)");
	migrate_refused(&s, "the database has a table event, but no version of the schema");
	cr_expect_eq(scratch_number(s.db, "SELECT COUNT(*) FROM information_schema.tables"
	                                  " WHERE table_schema = DATABASE()"),
	             1);
	tables_run(s.db, "RENAME TABLE event TO of_a_shop");
	migrate(&s);
	tables_run(s.db, NO_STEPS);
	tables_run(s.db, "DELETE FROM schema_version WHERE version > 20");
	tables_run(s.db, "INSERT INTO schema_version VALUES (-20, UTC_TIMESTAMP(3))"); /* cut off before its end .. */
	tables_run(s.db, "ALTER TABLE sku ADD COLUMN more INT");                       /* .. and not ours since */
	migrate_refused(&s, "table sku: column more is not of this schema");
	scratch_close(&s);
}

/* ---- made-up steps */

static const struct schema_file steps[] = {
	{"901_names.sql", "-- Shuts older programs out.\n"
                          "RENAME TABLE IF EXISTS log_writer TO made_writer, job_task TO made_task;\n\n"
                          "ALTER TABLE reservation ADD COLUMN IF NOT EXISTS made BIGINT NOT NULL DEFAULT 7,"
                          " ALGORITHM=INSTANT;\n\n"
                          "CREATE TABLE IF NOT EXISTS made (one TINYINT NOT NULL PRIMARY KEY);\n\n"
                          "INSERT IGNORE INTO made VALUES (1);\n"},
	{"902_more.sql", "ALTER TABLE made ADD COLUMN IF NOT EXISTS n BIGINT NOT NULL DEFAULT 0;\n\n"
                         "UPDATE made SET n = 2 WHERE one = 1;\n"},
};

Test(migrate, a_step_cut_at_any_statement_is_repeated)
{
	struct scratch s;
	struct made_up whole;
	struct text    shape = {0}, now = {0}, text = {0};
	char           why[512];

	scratch_open(&s);
	made_up(&whole, steps, LENGTH(steps));
	nineteen_load(&s);
	migrate_files(&s, &whole.files);
	shape_read(&s, &shape);
	for (size_t step = 0; step < LENGTH(steps); step++)
		for (size_t cut = 0, all = 1; cut < all; cut++) {
			struct schema_file list[LENGTH(steps)] = {steps[0], steps[1]};
			struct made_up     part;

			nineteen_load(&s);
			all = files_cut(&steps[step], 1, cut, &text);
			list[step].text = text.data;
			made_up(&part, list, LENGTH(list));
			cr_assert(!schema_migrate_files(&part.files, s.db, why, sizeof(why)));
			cr_expect_eq(scratch_number(s.db, "SELECT MIN(version) FROM schema_version"), -901 - (int)step);
			cr_expect_eq(scratch_number(s.db, "SELECT MAX(version) FROM schema_version"),
			             step ? 901 : schema_latest());
			migrate_files(&s, &whole.files);
			shape_read(&s, &now);
			cr_expect_str_eq(now.data, shape.data, "step %zu cut after %zu", step, cut);
		}
	migrate_files(&s, &whole.files); /* nothing is left to do */
	shape_read(&s, &now);
	cr_expect_str_eq(now.data, shape.data);
	text_fini(&shape);
	text_fini(&now);
	text_fini(&text);
	scratch_close(&s);
}

/* A table that was copied has another number. The tables of steps are new. waiting_line gets another primary key by a
 * step; it has the lines that wait just now and no others. */
Test(migrate, writes_no_table_anew)
{
	struct scratch    s;
	struct made_up    m;
	struct text       before = {0}, after = {0};
	static const char sql[] =
		"SELECT table_id FROM information_schema.innodb_sys_tables"
		" WHERE name LIKE CONCAT(DATABASE(), '/%') AND name NOT LIKE '%/made'"
		" AND name NOT LIKE '%/waiting_line' AND name NOT LIKE '%/reservation_amend'"
		" AND name NOT LIKE '%/reservation_on_hold' AND name NOT LIKE '%/sku_barcode'"
		" AND name NOT LIKE '%/sku_text' AND name NOT LIKE '%/api_key_use' AND name NOT LIKE '%/upkeep'"
		" ORDER BY 1";

	scratch_open(&s);
	nineteen_load(&s);
	rows_read(&s, sql, &before);
	migrate(&s);
	rows_read(&s, sql, &after);
	cr_expect_str_eq(after.data, before.data, "adopted");
	made_up(&m, steps, LENGTH(steps));
	migrate_files(&s, &m.files);
	rows_read(&s, sql, &after);
	cr_expect_str_eq(after.data, before.data, "migrated");
	text_fini(&before);
	text_fini(&after);
	scratch_close(&s);
}

struct migration {
	struct db          *db;
	struct schema_files files;
	char                why[512];
	bool                ok;
	int64_t             took_ms;
};

static void *migration_run(void *arg)
{
	struct migration *m = arg;
	int64_t           began_ms = clock_ms();

	m->ok = schema_migrate_files(&m->files, m->db, m->why, sizeof(m->why));
	m->took_ms = clock_ms() - began_ms;
	return NULL;
}

/* A reader stays for longer than a session waits for a table. */
Test(migrate, waits_for_others)
{
	struct scratch   s;
	struct made_up   all;
	struct migration m;
	pthread_t        thread;

	scratch_open(&s);
	migrate(&s);
	made_up(&all, steps, LENGTH(steps));
	m = (struct migration){.db = scratch_connection(&s), .files = all.files};
	tables_run(s.db, "START TRANSACTION");
	scratch_number(s.db, "SELECT COUNT(*) FROM log_writer");
	cr_assert(pthread_create(&thread, NULL, migration_run, &m) == 0);
	for (int64_t until = clock_ms() + 10000; clock_ms() < until; usleep(120000))
		if (scratch_number(s.db, "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND"
		                         " state LIKE '%metadata lock'"))
			break;
	usleep(2500000);
	tables_run(s.db, "COMMIT");
	pthread_join(thread, NULL);
	cr_expect(m.ok && m.took_ms >= 2500, "%s after %lld ms", m.why, (long long)m.took_ms);
	cr_expect_eq(scratch_number(s.db, "SELECT MAX(version) FROM schema_version"), 902);
	db_free(m.db);
	scratch_close(&s);
}

/* ---- another schema */

#define NEWER     "sql INSERT INTO schema_version VALUES (999, UTC_TIMESTAMP(3))"
#define HALF_WAY  "sql INSERT INTO schema_version VALUES (-999, UTC_TIMESTAMP(3))"
#define OLDER     IS_19
#define AS_BEFORE "sql DELETE FROM schema_version WHERE ABS(version) = 999"

Test(migrate, a_service_that_finds_another_schema_ends)
{
	flow("receipt A +100       -> 201",
	     NEWER,
	     "ended 78",
	     "run stats            -> 78 '~migrated by a newer holdfast'",
	     "run serve --listen 127.0.0.1:0 -> 78 '~migrated by a newer holdfast'",
	     AS_BEFORE,
	     "serve --lanes 1 --jobs",
	     "reserve R1 A=1       -> 201",
	     HALF_WAY,
	     "ended 78",
	     "run stats            -> 78 '~half-way to a newer one'",
	     "run work expire      -> 78",
	     AS_BEFORE,
	     "reserve R1 A=1       -> 200 replayed",
	     OLDER,
	     "ended 78",
	     "run stats            -> 78 '~run `holdfast migrate`'",
	     MAY_ALTER,
	     "run migrate          -> 0",
	     "reserve R1 A=1       -> 200 replayed");
}

/* Orders come in all the time while `change` is made. Every one that was accepted is answered: done, or 503 and not
 * done, or `unknown_outcome` where the connection broke at COMMIT. One that comes later is not let in (0). */
static void under_load(void (*change)(void), const char *const *back, bool refuses)
{
	struct race         *race;
	const struct answer *answers;
	int                  count, done = 0, refused = 0, unknown = 0;

	flow_begin();
	flow_steps("receipt A +100000     -> 201");
	race = flow_race("16*3000", "reserve R# A=1");
	flow_steps("wait sql SELECT COUNT(*) > 99 FROM reservation -> 1");
	change();
	flow_step("ended 78");
	flow_each(back);
	answers = race_finish(race, &count);
	for (int i = 0; i < count; i++) {
		int status = answers[i].status;

		cr_expect(status == 201 || status == 503 || status == 0, "%d %s", status, answers[i].body.data);
		done += status == 201;
		refused += status == 503;
		unknown += status == 503 && strstr(answers[i].body.data, "unknown_outcome");
	}
	race_free(race);
	cr_expect(done > 0 && (refused > 0 || !refuses), "done %d refused %d", done, refused);
	flow_step("sql SELECT COUNT(*) BETWEEN %d AND %d FROM reservation -> 1", done, done + unknown);
	flow_end();
}

static void connections_break(void)
{
	flow_steps(NEWER,
	           "cut");
}

Test(migrate, busy_lanes_end_when_connections_break)
{
	under_load(connections_break, (const char *const[]){AS_BEFORE, NULL}, false);
}

/* The connections stand, statements fail: the step's first one renames a table that they name. */
static void steps_rename(void)
{
	struct made_up m;

	made_up(&m, steps, LENGTH(steps));
	migrate_files(flow_scratch(), &m.files);
}

Test(migrate, busy_lanes_end_when_a_step_renames_their_table)
{
	static const char *const back[] = {
		"run stats -> 78 '~schema version 902, this program needs 31: it was migrated by a newer'",
		"sql RENAME TABLE made_writer TO log_writer, made_task TO job_task",
		"sql DELETE FROM schema_version WHERE version > 900",
		NULL,
	};

	under_load(steps_rename, back, true);
}

/* A step may shut all older programs out by renaming these three tables: every transaction names one of them, so none
 * commits anything. */
Test(migrate, nobody_commits_without_these_tables)
{
	flow_begin();
	flow_steps("serve --lanes 2 --jobs=expire,settle,reap",
	           "receipt A +100              -> 201",
	           "reserve H1 A=1              -> 201",
	           "reserve H2 A=2              -> 201",
	           "reserve H3 A=3 ttl=1        -> 201",
	           "serve --lanes 2",
	           "reserve C1 A=1 confirm=true -> 201",
	           "reserve C2 A=2 confirm=true -> 201",
	           "reserve B1 A=1 confirm=true -> 201",
	           "claim settle w1 lease=1     -> 201 task_id=1",
	           "fail 1 B1=bury              -> buried=1",
	           "reserve C3 A=1 confirm=true -> 201",
	           "reserve S1 A=1              -> 201",
	           "release S1                  -> released",
	           "tick 90000",
	           "reserve L1 A=1              -> 201",
	           "mark",
	           "sql RENAME TABLE log_writer TO x, job_task TO y, reservation_part TO z",
	           "start R reap --every 1",
	           "race 14 receipt M9 A +1 || count M8 A=1000 || reserve N1 A=1 || reserve N2 A=2 replaces=L1"
	           " || reserve N3 A=1 confirm=true replaces=C3 || confirm L1 || release L1 || extend L1 ttl=60"
	           " || split C3 P1 A=1 || settle C3 || kick B1 || claim settle w2 || complete 1 || heartbeat 1"
	           " -> *x 503 | *x 422 nothing_left",
	           "signal R KILL",
	           "end R                       -> 137 ~job_failed",
	           "run kick B1                 -> 69",
	           "run purge --keep 1          -> 69",
	           "sql RENAME TABLE x TO log_writer, y TO job_task, z TO reservation_part",
	           "unchanged",
	           "reserve N1 A=1              -> 201");
	flow_end();
}

Test(migrate, workers_end)
{
	flow("receipt A +10        -> 201",
	     "start W work settle --every 1 --workers 2",
	     "start R reap --every 1",
	     "exec cat",
	     "start E work settle --every 1",
	     "wait tasks           -> end",
	     NEWER,
	     "cut",
	     "end W                -> 78 '~schema version 999'",
	     "end R                -> 78 '~schema version 999'",
	     "end E                -> 78 '~schema version 999'",
	     "ended 78",
	     AS_BEFORE);
}

/* The work of a worker's program cannot be written any more: the log names it, and the reaper frees the order. */
Test(migrate, an_answer_that_comes_too_late)
{
	flow_begin();
	flow_steps("receipt A +10        -> 201",
	           "reserve R1 A=1       -> 201",
	           "confirm R1           -> confirmed");
	trap_exec(LOOP_FORMAT("sleep 1; echo $id done"));
	flow_step("start E work settle --once");
	trap_begun();
	flow_steps(NEWER,
	           "cut",
	           "end E                -> 78 ~answer_lost '~schema version 999'",
	           "ended 78",
	           AS_BEFORE,
	           "get R1               -> confirmed attempts=1",
	           "tick 60",
	           "run reap             -> 0 '~task 1'");
	flow_end();
}

/* A database that is being restored has no schema for a while. */
Test(migrate, no_schema_at_all_is_waited_for)
{
	flow("receipt A +10        -> 201",
	     "sql RENAME TABLE schema_version TO elsewhere",
	     "cut",
	     "wait raw GET /readyz -> 503",
	     "run stats            -> 78 '~schema version 0'",
	     "sql RENAME TABLE elsewhere TO schema_version",
	     "wait raw GET /readyz -> 200",
	     "reserve R1 A=1       -> 201");
}

/* ---- on a cluster, where a lock of MariaDB's is of one node */

static void *sign_renew(void *arg)
{
	struct db *db = arg;

	for (int i = 0; i < 14; i++) {
		usleep(500000);
		tables_run(db,
		           "UPDATE schema_version SET applied_at = applied_at + INTERVAL 1 SECOND WHERE version = 0");
	}
	tables_run(db, "DELETE FROM schema_version WHERE version = 0");
	return NULL;
}

/* A migration waits for one on another node, which changes row 0, and takes over from one that died. */
Test(migrate, one_after_the_other_on_a_cluster)
{
	struct scratch s;
	struct db     *other;
	pthread_t      thread;
	int64_t        left[1], began_ms;

	scratch_open(&s);
	migrate(&s);
	other = scratch_connection(&s);
	source_node_set(db_source(s.db), &(struct node){.name = "n1"});
	for (int dead = 0; dead < 2; dead++) {
		tables_run(s.db, NO_STEPS);
		tables_run(s.db, "DELETE FROM schema_version");
		tables_run(s.db, "INSERT INTO schema_version VALUES (19, UTC_TIMESTAMP(3))");
		tables_run(s.db, "INSERT INTO schema_version VALUES (0, UTC_TIMESTAMP(3))");
		began_ms = clock_ms();
		if (!dead)
			cr_assert(pthread_create(&thread, NULL, sign_renew, other) == 0);
		migrate(&s);
		cr_expect(clock_ms() - began_ms >= (dead ? 5000 : 7000), "%lld ms", (long long)(clock_ms() - began_ms));
		if (!dead)
			pthread_join(thread, NULL);
		cr_assert(db_text(s.db, "SELECT COUNT(*) FROM schema_version WHERE version <= 0", db_ints, left) ==
		          DB_OK);
		cr_expect_eq(left[0], 0);
	}
	db_free(other);
	scratch_close(&s);
}

/* Two shops on one server: neither migration is at work in the other's database. */
Test(migrate, waits_for_no_other_database)
{
	struct scratch other, s;

	scratch_open(&other);
	scratch_open(&s);
	cr_assert(scratch_number(other.db, "SELECT GET_LOCK('holdfast_migrate', 0)"
	                                   " + GET_LOCK(CONCAT('holdfast_migrate_', MD5(DATABASE())), 0)") == 2);
	migrate(&s);
	scratch_close(&s);
	scratch_close(&other);
}
