/* test_adopt.c - a database of version 19 is taken over as it is, where its tables are those of the baseline. */
#include "tests/schema/nineteen.h"
#include "tests/lang/flow.h"
#include "tests/kit/tables.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
static const char *const old_ids[] = {
	"receipt M0 A +30 B +30             -> 200 replayed kind=receipt A=30 B=30",
	"receipt M0 A +30 B +31             -> 422 movement_id_reused",
	"adjust  M2 B -2 reason=broken      -> 200 replayed kind=adjustment B=-2 reason=broken",
	"return  M3 A +2 order=SET          -> 200 replayed order_id=SET A=2",
	"reserve OLD-HELD A=3 B=1           -> 409 expired replayed B=1 reservation.attempts=0",
	"reserve OLD-HELD A=3 B=2           -> 422 order_id_reused",
	"reserve OLD-REL A=1                -> 409 released replayed A=1 reservation.released_at=*",
	"reserve OLD-EXP A=2                -> 409 expired replayed A=2",
	"reserve OLD-SET A=1                -> 200 replayed settled A=1 settled_at=*",
	"reserve OLD-BUR B=1                -> 200 replayed buried B=1 last_error=old",
	"reserve OLD-SHORT B=500 mode=best_effort -> 409 expired replayed B=28",
	"reserve HELD A=3 B=1 customer=ann reference=web-7 -> 409 expired replayed reservation.reference=web-7"
		" reservation.customer=ann",
	"reserve NEXT A=2 replaces=GONE     -> 409 expired replayed",
	"reserve BUR A=1                    -> 200 replayed buried last_error=torn",
	NULL,
};
/* clang-format on */

/* Columns may stand anywhere, numbers go on, and a table that the schema does not know may be there. */
Test(adopt, version_19)
{
	struct scratch *s;
	struct text     facts = {0};

	flow_begin();
	s = flow_scratch();
	nineteen_load(s);
	tables_run(s->db, "ALTER TABLE sku MODIFY COLUMN per_customer BIGINT NULL FIRST, AUTO_INCREMENT = 70");
	tables_run(s->db, "ALTER TABLE reservation MODIFY COLUMN ship_after DATETIME(3) NULL AFTER order_id");
	tables_run(s->db, "ALTER TABLE webhook MODIFY COLUMN mark BIGINT UNSIGNED NOT NULL DEFAULT 0 FIRST");
	tables_run(s->db, "CREATE TABLE of_the_shop (id INT)");
	nineteen_facts(s, &facts);
	flow_steps(MAY_ALTER,
	           "run migrate --check       -> 1 '~version 19, this program'",
	           "run stats                 -> 78 '~version 19, this program needs 31: run `holdfast migrate`'",
	           "run migrate               -> 0 '~version=20 hint=adopted as it is'",
	           "run migrate --check       -> 0",
	           "run migrate               -> 0 !~adopted");
	nineteen_same(s, &facts, "adopted");
	flow_steps("run audit                 -> 0");
	flow_each(old_ids);
	flow_steps("confirm OLD-HELD          -> 409 expired",
	           "confirm OLD-SHORT reacquire -> confirmed B=28 reacquired",
	           "work expire               -> 0",
	           "get OLD-PART              -> expired",
	           "get HELD                  -> expired",
	           "kick OLD-BUR              -> confirmed",
	           "split OLD-SHORT P1 B=1    -> 201 confirmed",
	           "release CL1               -> released",
	           "has A ann                 -> 200",
	           "return M4 A +1 order=SET  -> 201",
	           "raw GET /v1/webhooks/W    -> 200",
	           "raw GET /v1/jobs          -> 200 ~stocktaking",
	           "raw PUT /v1/jobs/settle {'paused':false} -> 200",
	           "arrival M7 A@po>main=4    -> 201",
	           "run reap                  -> 0 '~task 4 of w2'",
	           "work settle               -> 0",
	           "get PART                  -> confirmed attempts=1",
	           "get WAIT                  -> settled",
	           "reserve NEWER A@paris=1 customer=d -> 201",
	           "run audit                 -> 0");
	flow_end();
	text_fini(&facts);
}

Test(adopt, a_database_that_differs_is_refused)
{
	static const struct {
		const char *change, *told;
	} cases[] = {
		{"ALTER TABLE sku DROP COLUMN per_customer", "table sku: column per_customer is missing"},
		{"ALTER TABLE sku ADD COLUMN more INT", "table sku: column more is not of this schema"},
		{"ALTER TABLE reservation MODIFY COLUMN order_id VARBINARY(90) NOT NULL",
	         "table reservation: column order_id is varbinary(90) NOT NULL, not varbinary(64) NOT NULL"},
		{"ALTER TABLE reservation MODIFY COLUMN created_at DATETIME(3) NULL",
	         "table reservation: column created_at is datetime(3) DEFAULT NULL, not datetime(3) NOT NULL"},
		{"ALTER TABLE reservation ALTER COLUMN noted SET DEFAULT 1",
	         "table reservation: column noted is tinyint(3) unsigned NOT NULL DEFAULT 1, not"},
		{"ALTER TABLE job_task MODIFY COLUMN task_id BIGINT UNSIGNED NOT NULL",
	         "table job_task: column task_id is bigint(20) unsigned NOT NULL, not bigint(20) unsigned NOT NULL"
	         " AUTO_INCREMENT"},
		{"ALTER TABLE reservation DROP KEY claim", "table reservation: KEY claim is missing"},
		{"ALTER TABLE reservation DROP KEY claim, ADD KEY claim (state, due_at, task_id)",
	         "table reservation: KEY claim is (`state`,`due_at`,`task_id`), not (`state`,`task_id`,`due_at`)"},
		{"ALTER TABLE job_task DROP KEY mark, ADD KEY mark (mark)",
	         "table job_task: UNIQUE KEY mark is missing; table job_task: KEY mark is not of this schema"},
		{"ALTER TABLE reservation ADD KEY more (changed)", "table reservation: KEY more is not of this schema"},
		{"ALTER TABLE api_key DROP PRIMARY KEY", "table api_key: PRIMARY KEY is missing"},
		{"ALTER TABLE stock_slot DROP CONSTRAINT reserved_not_negative",
	         "table stock_slot: CONSTRAINT reserved_not_negative is missing"},
		{"ALTER TABLE stock_slot DROP CONSTRAINT available_not_negative, ADD CONSTRAINT available_not_negative"
	         " CHECK (available >= -1)",
	         "table stock_slot: CONSTRAINT available_not_negative is CHECK (`available` >= -1), not CHECK"
	         " (`available` >= 0)"},
		{"ALTER TABLE counter ENGINE = MyISAM", "table counter: the engine is MyISAM, not InnoDB"},
		{"DROP TABLE task_lost", "table task_lost is missing"},
		{"DELETE FROM job WHERE job = 3", "table job: the row job=3 is missing"},
		{"INSERT INTO job (job, paused) VALUES (9, 0)", "table job: the row job=9 is not of this schema"},
		{"DELETE FROM identity", "table identity: the row one=1 is missing"},
	};
	struct scratch s;
	struct text    facts = {0};
	char           words[600];

	scratch_open(&s);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		nineteen_load(&s);
		tables_run(s.db, cases[i].change);
		nineteen_facts(&s, &facts);
		snprintf(words, sizeof(words), "the tables are not those of schema version 19: %s", cases[i].told);
		migrate_refused(&s, words);
		nineteen_same(&s, &facts, cases[i].change);
		cr_expect_eq(scratch_number(s.db, "SELECT MAX(version) FROM schema_version"), 19);
	}
	tables_run(s.db, "DROP TABLE task_lost, counter, process, stock_counted");
	migrate_refused(&s, "; and 2 more, which the log names");
	text_fini(&facts);
	scratch_close(&s);
}

Test(adopt, older_versions_and_steps_that_were_cut_are_refused)
{
	static const struct {
		const char *versions, *told;
	} cases[] = {
		{"(1)",
	         "the database has schema version 1; this program takes over version 19: first run `holdfast migrate`"
	         " of holdfast 0.1.0 with schema 19, the last one that has the steps to it"},
		{"(1), (18)", "the database has schema version 18; this program takes over version 19"},
		{"(1), (18), (-19)", "has schema version 18, and the step to 19 was cut off; this program takes over"},
		{"(-1)", "has schema version 0, and the step to 1 was cut off; this program takes over"},
		{"(19), (-20)", "has schema version 19, and the step to 20 was cut off; this program takes over"},
	};
	struct scratch *s;
	char            sql[200];

	flow_begin();
	s = flow_scratch();
	for (size_t i = 0; i < LENGTH(cases); i++) {
		tables_run(s->db, "DELETE FROM schema_version");
		snprintf(sql, sizeof(sql),
		         "INSERT INTO schema_version WITH v(version) AS (VALUES %s) SELECT version, UTC_TIMESTAMP(3)"
		         " FROM v",
		         cases[i].versions);
		tables_run(s->db, sql);
		migrate_refused(s, cases[i].told);
	}
	flow_steps("run migrate         -> 78 '~holdfast 0.1.0 with schema 19'",
	           "run migrate --check -> 1",
	           IS_19,
	           MAY_ALTER,
	           "run migrate         -> 0");
	flow_end();
}

/* A program of version `needed` says these words where it connects; "": it is let in. */
static void finds(struct scratch *s, int needed, const char *words)
{
	struct db_target to = s->target;
	struct source   *source;
	struct db       *db;

	snprintf(to.database, sizeof(to.database), "%s", s->name);
	source = source_new(&to);
	source_schema_set(source, needed);
	db = db_new(source);
	if (db_connect(db))
		cr_expect_str_empty(words, "version %d is let in", needed);
	else
		cr_expect(*words && db_misfits(db) && strstr(db_error(db), words), "%d: %s", needed, db_error(db));
	db_free(db);
	source_free(source);
}

/* A lane of version 19 that is connected goes on in the same tables, and learns it at its next look. */
Test(adopt, programs_of_both_versions)
{
	struct scratch   s;
	struct db_target to;
	struct source   *source;
	struct db       *lane;

	scratch_open(&s);
	nineteen_load(&s);
	to = s.target;
	snprintf(to.database, sizeof(to.database), "%s", s.name);
	source = source_new(&to);
	source_schema_set(source, 19);
	lane = db_new(source);
	cr_assert(db_connect(lane));
	tables_run(lane, "UPDATE counter SET total = total + 1 WHERE name = 'events'");
	finds(&s, 31, "version 19, this program needs 31: run `holdfast migrate`");
	migrate(&s);
	tables_run(lane, "UPDATE counter SET total = total + 1 WHERE name = 'events'");
	cr_expect(!db_check(lane) && strstr(db_other_schema(lane), "migrated by a newer holdfast"));
	finds(&s, 31, "");
	finds(&s, 19, "migrated by a newer holdfast");
	tables_run(s.db, "INSERT INTO schema_version VALUES (-31, UTC_TIMESTAMP(3))"); /* in the making */
	finds(&s, 31, "version 31, but not all of it, this program needs 31: run `holdfast migrate`");
	finds(&s, 19, "migrated by a newer holdfast");
	finds(&s, 31, "run `holdfast migrate`");
	tables_run(s.db, "UPDATE schema_version SET version = -32 WHERE version = -31");
	finds(&s, 31, "half-way to a newer one");
	db_free(lane);
	source_free(source);
	scratch_close(&s);
}
