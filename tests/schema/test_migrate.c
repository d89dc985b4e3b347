/* test_migrate.c - a database of the first version is migrated while programs of that version run; and a program that
 * finds another schema than its own ends. */
#include "schema/migrate.h"
#include "engine/base/clock.h"
#include "tests/schema/first.h"
#include "tests/lang/flow.h"
#include "tests/lang/steps.h"
#include "tests/kit/tables.h"
#include "tests/lang/trap.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEP      "011_orders.sql"
#define MAY_ALTER "sql EXECUTE IMMEDIATE CONCAT('GRANT ALL ON ', DATABASE(), '.* TO ', DATABASE(), '@localhost')"

static void facts_same(struct scratch *s, const struct text *before, const char *what)
{
	struct text now = {0};

	first_facts(s, &now);
	cr_expect(strcmp(before->data, now.data) == 0, "%s: before:\n%s\nafter:\n%s", what, before->data, now.data);
	text_fini(&now);
}

static void row_add(void *arg, const struct db_row *row)
{
	for (unsigned i = 0; i < row->columns; i++)
		text_format(arg, " %s", row->col[i] ? row->col[i] : "NULL");
	text_char(arg, '\n');
}

/* Tables, columns and indexes as they are. */
static void shape_read(struct scratch *s, struct text *to)
{
	static const char *const sql[] = {
		"SELECT table_name, ordinal_position, column_name, column_type, is_nullable, column_default, extra"
		" FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY 1, 2",
		"SELECT table_name, index_name, seq_in_index, column_name, non_unique"
		" FROM information_schema.statistics WHERE table_schema = DATABASE() ORDER BY 1, 2, 3",
		"SELECT version FROM schema_version ORDER BY version",
	};

	text_reset(to);
	for (size_t i = 0; i < LENGTH(sql); i++)
		cr_assert(db_text(s->db, sql[i], row_add, to) == DB_OK, "%s", db_error(s->db));
}

static void migrate(struct scratch *s)
{
	char why[300];

	cr_assert(schema_migrate(s->db, why, sizeof(why)), "%s", why);
}

/* ---- the step */

/* Runs the first `count` statements behind the first version, whatever steps they are of, and notes the steps that are
 * complete; returns how many statements there are. */
static size_t statements_run(struct scratch *s, size_t count)
{
	static const char *const steps[] = {STEP,
	                                    "012_events.sql",
	                                    "013_webhooks.sql",
	                                    "014_levels.sql",
	                                    "015_webhook_rows.sql",
	                                    "016_leaving.sql"};
	size_t                   all = 0;
	char                     note[80];

	for (size_t i = 0; i < LENGTH(steps); i++) {
		struct pieces step;

		pieces_of_step(&step, steps[i]);
		for (size_t k = 0; k < step.n && all + k < count; k++)
			cr_assert(db_text(s->db, step.item[k], NULL, NULL) == DB_OK, "%s", db_error(s->db));
		all += step.n;
		pieces_fini(&step);
		snprintf(note, sizeof(note), "INSERT INTO schema_version VALUES (%d, UTC_TIMESTAMP(3))",
		         atoi(steps[i]));
		if (all <= count)
			cr_assert(db_text(s->db, note, NULL, NULL) == DB_OK, "%s", db_error(s->db));
	}
	return all;
}

Test(migrate, bears_repeating_from_any_statement)
{
	struct scratch s;
	struct text    facts = {0}, shape = {0}, now = {0};
	size_t         all = 1;

	scratch_open(&s);
	migrate(&s);
	shape_read(&s, &shape); /* of a database that is made anew */
	for (size_t cut = 0; cut <= all; cut++) {
		first_load(&s);
		first_facts(&s, &facts);
		all = statements_run(&s, cut);
		migrate(&s);
		shape_read(&s, &now);
		cr_expect(strcmp(shape.data, now.data) == 0, "cut after %zu: made anew:\n%s\nmigrated:\n%s", cut,
		          shape.data, now.data);
		facts_same(&s, &facts, "cut");
	}
	text_fini(&facts);
	text_fini(&shape);
	text_fini(&now);
	scratch_close(&s);
}

/* A table that was written anew has another number. */
Test(migrate, writes_no_table_anew)
{
	struct scratch    s;
	struct text       before = {0}, after = {0};
	static const char sql[] = "SELECT table_id FROM information_schema.innodb_sys_tables"
				  " WHERE name LIKE CONCAT(DATABASE(), '/%') AND name NOT LIKE '%/reservation\\_%'"
				  " AND name NOT LIKE '%/task\\_lost' AND name NOT LIKE '%/event%'"
				  " AND name NOT LIKE '%/webhook' AND name NOT LIKE '%/level%'"
				  " AND name NOT LIKE '%/customer\\_%' AND name NOT LIKE '%/sku\\_limit'"
				  " AND name NOT LIKE '%/location\\_kinds' AND name NOT LIKE '%/promise'"
				  " AND name NOT LIKE '%/waiting\\_line'"
				  " AND name NOT LIKE '%/movement\\_backorder'"
				  " AND name NOT LIKE '%/movement\\_transfer' AND name NOT LIKE '%/job'"
				  " AND name NOT LIKE '%/stock\\_counted' AND name NOT LIKE '%/process'"
				  " AND name NOT LIKE '%/log\\_floor' AND name NOT LIKE '%/arrival%' ORDER BY 1";

	scratch_open(&s);
	first_load(&s);
	cr_assert(db_text(s.db,
	                  "INSERT INTO reservation (reservation_id, order_id, lines_hash, state, due_at, expires_at,"
	                  " attempts, created_at) SELECT 1000 + seq, CONCAT('O', seq), '', 4, UTC_TIMESTAMP(3),"
	                  " UTC_TIMESTAMP(3), 0, UTC_TIMESTAMP(3) FROM seq_1_to_20000",
	                  NULL, NULL) == DB_OK,
	          "%s", db_error(s.db));
	cr_assert(db_text(s.db, sql, row_add, &before) == DB_OK && before.len > 0);
	migrate(&s);
	cr_assert(db_text(s.db, sql, row_add, &after) == DB_OK);
	cr_expect(strcmp(before.data, after.data) == 0, "before: %s after: %s", before.data, after.data);
	text_fini(&before);
	text_fini(&after);
	scratch_close(&s);
}

/* Somebody reads for longer than a session waits for a table. */
Test(migrate, waits_for_others)
{
	struct scratch *s;

	flow_begin();
	s = flow_scratch();
	first_load(s);
	flow_steps(MAY_ALTER);
	cr_assert(db_text(s->db, "START TRANSACTION", NULL, NULL) == DB_OK);
	scratch_number(s->db, "SELECT COUNT(*) FROM reservation");
	flow_steps("start M migrate",
	           "wait sql SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND"
	           " state LIKE '%metadata lock' -> 1");
	usleep(2500000);
	cr_assert(db_text(s->db, "COMMIT", NULL, NULL) == DB_OK);
	flow_steps("end M -> 0 ~migrate_waits ~011_orders",
	           "run migrate --check -> 0");
	flow_end();
}

/* ---- programs of the first version */

/* What is said of them below would be no news if they could write nothing at all. */
Test(migrate, older_programs_write_as_long_as_they_may)
{
	struct scratch s;
	struct writer  list[WRITERS_MAX];
	struct text    before = {0}, after = {0};
	size_t         count = 1;

	scratch_open(&s);
	for (size_t i = 0; i < count; i++) {
		first_load(&s);
		count = writers_open(&s, list);
		first_facts(&s, &before);
		cr_expect(writer_run(&list[i]), "%s: %s", list[i].name, db_error(list[i].db));
		first_facts(&s, &after);
		cr_expect(strcmp(before.data, after.data) != 0, "%s has written nothing", list[i].name);
		writers_close(list, count);
	}
	text_fini(&before);
	text_fini(&after);
	scratch_close(&s);
}

Test(migrate, older_programs_commit_nothing_from_the_first_statement_on)
{
	struct scratch s;
	struct writer  list[WRITERS_MAX];
	struct pieces  step;
	struct text    facts = {0};

	scratch_open(&s);
	first_load(&s);
	first_facts(&s, &facts);
	pieces_of_step(&step, STEP);
	for (size_t i = 0; i < step.n; i++) {
		size_t count = writers_open(&s, list);

		cr_assert(db_text(s.db, step.item[i], NULL, NULL) == DB_OK, "%s", db_error(s.db));
		for (size_t w = 0; w < count; w++)
			cr_expect(!writer_run(&list[w]), "after %.60s: %s", step.item[i], list[w].name);
		writers_close(list, count);
		facts_same(&s, &facts, step.item[i]);
	}
	pieces_fini(&step);
	text_fini(&facts);
	scratch_close(&s);
}

/* The server looks at its locks ten times a second at most, and not at all for somebody who asks more often. */
static void wait_until(struct scratch *s, const char *sql)
{
	for (int64_t until = clock_ms() + 10000; scratch_number(s->db, sql) == 0; usleep(120000))
		cr_assert(clock_ms() < until, "in vain: %s", sql);
}

#define WAITS_FOR_TABLE(statement)                                                           \
	"SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND info" \
	" LIKE '" statement "' AND state LIKE 'Waiting for table metadata lock%'"

/* Three transactions are under way: a lane is before its COMMIT, the fence of another lane waits behind the migration,
 * and a worker has written its orders, but not its task. The first one's order stays. */
static void migrate_amid(struct scratch *s)
{
	struct writer    list[WRITERS_MAX];
	size_t           count = writers_open(s, list);
	struct writer   *reserves = writer_find(list, count, "a lane reserves");
	struct writer   *receives = writer_find(list, count, "a lane receives");
	struct writer   *completes = writer_find(list, count, "a worker completes");
	struct db_target to = s->target;
	struct db       *locker;
	char             waits[400];

	snprintf(to.database, sizeof(to.database), "%s", s->name);
	locker = db_new_alone(&to);
	cr_assert(db_connect(locker) && db_text(locker, "START TRANSACTION", NULL, NULL) == DB_OK);
	scratch_number(locker, "SELECT COUNT(*) FROM stock_slot WHERE sku_id = 2 FOR UPDATE");
	while (reserves->next < reserves->statements.n - 1)
		writer_step(reserves);
	cr_assert(db_text(completes->db, "SET SESSION innodb_lock_wait_timeout = 20", NULL, NULL) == DB_OK);
	snprintf(waits, sizeof(waits), TRANSACTIONS("COUNT(*)", "trx_state = 'LOCK WAIT' AND id = %lld"),
	         (long long)scratch_number(completes->db, "SELECT CONNECTION_ID()"));
	writer_send(completes);
	wait_until(s, waits);
	flow_steps("start M migrate");
	wait_until(s, WAITS_FOR_TABLE("%RENAME TABLE%"));
	writer_step(receives);
	writer_send(receives);
	wait_until(s, WAITS_FOR_TABLE("%UPDATE lane%"));
	writer_step(reserves);
	cr_expect(!reserves->failed, "%s", db_error(reserves->db));
	wait_until(s, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"
	              " AND table_name IN ('worker_task', 'claimed_task', 'job_task')");
	cr_assert(db_text(locker, "ROLLBACK", NULL, NULL) == DB_OK);
	writer_answer(completes);
	writer_answer(receives);
	cr_expect(completes->failed && db_errno(completes->db) == 1146, "%s", db_error(completes->db));
	cr_expect(receives->failed && db_errno(receives->db) == 1146, "%s", db_error(receives->db));
	flow_steps("end M -> 0 ~011_orders");
	db_free(locker);
	writers_close(list, count);
}

/* clang-format off */
static const char *const old_ids[] = {
	"receipt M1 A +100 B +40            -> 200 replayed kind=receipt A=100 B=40",
	"receipt M1 A +100 B +41            -> 422 movement_id_reused",
	"adjust  M3 B -2 reason=broken      -> 200 replayed kind=adjustment B=-2 reason=broken",
	"reserve HELD A=3 B=1               -> 200 replayed held A=3 B=1 attempts=0 created_at=~-4 expires_at=~79996",
	"reserve HELD A=3 B=2               -> 422 order_id_reused",
	"reserve OF-KEY A=2                 -> 200 replayed held A=2",
	"reserve PAST A=2                   -> 200 replayed expired A=2",
	"reserve EXPIRED B=3                -> 200 replayed expired B=3",
	"reserve EARLIER A=4                -> 200 replayed released A=4 released_at=*",
	"reserve CONFIRMED A=1              -> 200 replayed confirmed A=1 confirmed_at=*",
	"reserve CLAIMED-1 B=1              -> 200 replayed confirmed B=1 attempts=1",
	"reserve CLAIMED-1 B=2              -> 422 order_id_reused",
	"reserve BURIED B=2                 -> 200 replayed buried B=2 last_error=*",
	"reserve SETTLED A=2 B=1            -> 200 replayed settled A=2 B=1 settled_at=*",
	"reserve PART B=1000 mode=best_effort     -> 200 replayed released B=34",
	"reserve PART-HELD B=900 mode=best_effort -> 200 replayed held B=34",
	NULL,
};
/* clang-format on */

Test(migrate, while_older_programs_run)
{
	struct scratch *s;

	flow_begin();
	s = flow_scratch();
	first_load(s);
	flow_steps(MAY_ALTER,
	           "run migrate --check       -> 1",
	           "run stats                 -> 78 '~run `holdfast migrate`'");
	migrate_amid(s);
	flow_steps("run migrate --check       -> 0",
	           "run audit                 -> 0",
	           "get NEW                   -> held A=1",
	           "sql SELECT COUNT(*) FROM movement WHERE movement_id IN ('M9', 'settlement/5/111') -> 0",
	           "get CLAIMED-3             -> confirmed",
	           "task 5                    -> open claimed=3 completed=0 failed=0");
	flow_each(old_ids);
	flow_steps("confirm HELD              -> confirmed",
	           "release HELD-2            -> released",
	           "extend OF-KEY ttl=60      -> held expires_at=~60",
	           "confirm PAST              -> 409 expired",
	           "confirm EXPIRED reacquire -> confirmed",
	           "release CONFIRMED         -> released",
	           "kick BURIED               -> confirmed",
	           "complete 5 CLAIMED-1      -> completed=1",
	           "fail 5 CLAIMED-2=retry    -> retried=1",
	           "heartbeat 5               -> open",
	           "give-back 5               -> returned claimed=3 completed=1 failed=1",
	           "get CLAIMED-1             -> settled",
	           "run reap                  -> 0 '~task 6 of gone'",
	           "work expire               -> 0",
	           "get PAST                  -> expired",
	           "work settle               -> 0",
	           "get HELD                  -> settled",
	           "get CLAIMED-3             -> settled",
	           "reserve NEWER A=1         -> 201");
	flow_end();
}

/* ---- another schema */

#define NEWER     "sql INSERT INTO schema_version VALUES (999, UTC_TIMESTAMP(3))"
#define HALF_WAY  "sql INSERT INTO schema_version VALUES (-999, UTC_TIMESTAMP(3))"
#define OLDER     "sql DELETE FROM schema_version ORDER BY version DESC LIMIT 1"
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

/* Orders come in all the time, and `changes` is what the migration does. Every one that was accepted is answered: done,
 * or 503 and not done, or `unknown_outcome` where the connection broke at COMMIT. Who comes later is not let in (0). */
static void under_load(const char *const *changes)
{
	struct race         *race;
	const struct answer *answers;
	int                  count, done = 0, refused = 0, unknown = 0;

	flow_begin();
	flow_steps("receipt A +100000     -> 201");
	race = flow_race("16*3000", "reserve R# A=1");
	flow_steps("wait sql SELECT COUNT(*) > 99 FROM reservation -> 1");
	flow_each(changes);
	flow_steps("ended 78",
	           AS_BEFORE,
	           "sql RENAME TABLE IF EXISTS later TO log_writer");
	answers = race_finish(race, &count);
	for (int i = 0; i < count; i++) {
		int status = answers[i].status;

		cr_expect(status == 201 || status == 503 || status == 0, "%d %s", status, answers[i].body.data);
		done += status == 201;
		refused += status == 503;
		unknown += status == 503 && strstr(answers[i].body.data, "unknown_outcome");
	}
	race_free(race);
	cr_expect(done > 0 && (refused > 0 || !strstr(changes[0], "RENAME")), "done %d refused %d", done, refused);
	flow_step("sql SELECT COUNT(*) BETWEEN %d AND %d FROM reservation -> 1", done, done + unknown);
	flow_end();
}

Test(migrate, busy_lanes_end_when_connections_break)
{
	under_load((const char *const[]){NEWER, "cut", NULL});
}

/* As an older program meets the next step that renames a table: the connection stands, the statement fails. */
Test(migrate, busy_lanes_end_when_a_table_is_gone)
{
	under_load((const char *const[]){"sql RENAME TABLE log_writer TO later", HALF_WAY, NULL});
}

/* The first statement of step 16 takes three tables away from the programs of before, whose transactions are the same
 * but for these names: none of them commits anything. */
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
	           "race 14 receipt M9 A +1 || count M8 A=1000 || reserve N1 A=1 || reserve N2 A=2 replaces=L1"
	           " || reserve N3 A=1 confirm=true replaces=C3 || confirm L1 || release L1 || extend L1 ttl=60"
	           " || split C3 P1 A=1 || settle C3 || kick B1 || claim settle w2 || complete 1 || heartbeat 1"
	           " -> *x 503 | *x 422 nothing_left",
	           "run reap                    -> 69",
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

/* What a worker's program has done cannot be written any more: the log names it, and the reaper frees the order. */
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

/* What was removed of the log of events is known afterwards, wherever the step was cut. */
Test(migrate, floors_move)
{
	struct scratch s;
	int64_t        floor[3] = {0};

	scratch_open(&s);
	migrate(&s);
	tables_run(s.db, "ALTER TABLE log_writer ADD COLUMN floor_no BIGINT UNSIGNED NOT NULL DEFAULT 0,"
	                 " ADD COLUMN floor_stamp BIGINT NOT NULL DEFAULT 0");
	tables_run(
		s.db,
		"INSERT INTO log_writer (writer_id, slot, mark, epoch, batch_no, batch_at, started_at, event_no,"
		" floor_no, floor_stamp) SELECT seq, 0, seq, 1, 0, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), 9, seq - 7, 70"
		" FROM seq_7_to_9");
	tables_run(s.db, "INSERT INTO log_floor VALUES (8, 1, 70)"); /* as a step leaves it that was cut */
	for (int again = 0; again < 2; again++) {
		tables_run(s.db, "DELETE FROM schema_version WHERE version > 18");
		migrate(&s);
		cr_assert(db_text(s.db, "SELECT COUNT(*), SUM(floor_no), SUM(floor_stamp) FROM log_floor", db_ints,
		                  floor) == DB_OK);
		cr_expect(floor[0] == 2 && floor[1] == 3 && floor[2] == 140);
	}
	scratch_close(&s);
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

/* Waits for whoever is at work on another node, who changes row 0; takes over from one who died. */
Test(migrate, one_after_the_other_on_a_cluster, .timeout = 60)
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
		tables_run(s.db, "DELETE FROM schema_version WHERE version > 18");
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
