/* test_audit.c - the command audit: every invariant of schema/invariants.sql is broken by hand and named; a whole
 * database passes, also while it is worked on. */
#include "tests/flow.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One way to break an invariant, and back. */
static const struct breach {
	const char *name;  /* of the invariant */
	const char *words; /* said of it: part of a row */
	bool        of_a;  /* about sku A, and so not found by --sku B */
	const char *broken, *mended;
} breaches[] = {
	{"no_negative_slot", "A 1 0 -", true,
         "UPDATE stock_slot SET available = available - 1000 WHERE sku_id = 1 AND location_id = 1 AND slot = 0",
         "UPDATE stock_slot SET available = available + 1000 WHERE sku_id = 1 AND location_id = 1 AND slot = 0"},
	{"no_negative_slot", "A 1 0 ", true,
         "UPDATE stock_slot SET available = available + 1000, reserved = reserved - 1000"
         " WHERE sku_id = 1 AND location_id = 1 AND slot = 0",
         "UPDATE stock_slot SET available = available - 1000, reserved = reserved + 1000"
         " WHERE sku_id = 1 AND location_id = 1 AND slot = 0"},
	{"reserved_is_promised", "A 1 0 ", true,
         "UPDATE stock_slot SET available = available - 1, reserved = reserved + 1"
         " WHERE sku_id = 1 AND location_id = 1 AND slot = 0",
         "UPDATE stock_slot SET available = available + 1, reserved = reserved - 1"
         " WHERE sku_id = 1 AND location_id = 1 AND slot = 0"},
	{"reserved_is_promised", "A 1 ", true, /* a line that names another slot than the one that has its units */
         "UPDATE reservation_line JOIN reservation USING (reservation_id) SET slot = slot + 1 WHERE order_id = 'HELD'",
         "UPDATE reservation_line JOIN reservation USING (reservation_id) SET slot = slot - 1 WHERE order_id = 'HELD'"},
	{"reserved_is_promised", "A 1 ", true, /* settled, but its units never left */
         "UPDATE reservation SET state = 3, settled_at = UTC_TIMESTAMP(3) WHERE order_id = 'BURIED'",
         "UPDATE reservation SET state = 6, settled_at = NULL WHERE order_id = 'BURIED'"},
	{"reserved_is_promised", "A 1 ", true, /* settled twice */
         "BEGIN NOT ATOMIC"
         "  INSERT INTO movement SELECT 99, 'twice', 5, '', UTC_TIMESTAMP(3), NULL, NULL;"
         "  INSERT INTO movement_line SELECT 99, 1, 1, 0, -1;"
         "  UPDATE stock_slot SET reserved = reserved - 1 WHERE sku_id = 1 AND location_id = 1 AND slot = 0; END",
         "BEGIN NOT ATOMIC DELETE FROM movement WHERE movement_no = 99; DELETE FROM movement_line WHERE movement_no = "
         "99;"
         "  UPDATE stock_slot SET reserved = reserved + 1 WHERE sku_id = 1 AND location_id = 1 AND slot = 0; END"},
	{"on_hand_is_moved", "A 1 ", true,
         "UPDATE stock_slot SET available = available + 1 WHERE sku_id = 1 AND location_id = 1 AND slot = 0",
         "UPDATE stock_slot SET available = available - 1 WHERE sku_id = 1 AND location_id = 1 AND slot = 0"},
	{"on_hand_is_moved", "A 2 ", true, /* units where nothing was ever moved to */
         "INSERT INTO stock_slot VALUES (1, 2, 7, 3, 0)", "DELETE FROM stock_slot WHERE slot = 7"},
	{"on_hand_is_moved", "A 1 ", true, "UPDATE movement_line SET qty = qty - 1 WHERE sku_id = 1 AND qty = 10",
         "UPDATE movement_line SET qty = qty + 1 WHERE sku_id = 1 AND qty = 9"},
	{"total_in_range", "A 9", true,
         "UPDATE stock_slot SET available = available + 9000000000000000 WHERE sku_id = 1 AND location_id = 1 AND slot "
         "= 0",
         "UPDATE stock_slot SET available = available - 9000000000000000 WHERE sku_id = 1 AND location_id = 1 AND slot "
         "= 0"},
	{"line_is_positive", "HELD 1 1 0", true,
         "UPDATE reservation_line JOIN reservation USING (reservation_id) SET qty = 0 WHERE order_id = 'HELD'",
         "UPDATE reservation_line JOIN reservation USING (reservation_id) SET qty = 1 WHERE order_id = 'HELD'"},
	{"line_is_positive", "RELEASED NULL", false,
         "CREATE OR REPLACE TEMPORARY TABLE saved AS SELECT l.* FROM reservation_line l JOIN reservation USING "
         "(reservation_id)"
         " WHERE order_id = 'RELEASED'; DELETE l FROM reservation_line l JOIN saved USING (reservation_id)",
         "INSERT INTO reservation_line SELECT * FROM saved"},
	{"line_has_reservation", "99 A", true, "INSERT INTO reservation_line VALUES (99, 1, 1, 0, 1)",
         "DELETE FROM reservation_line WHERE reservation_id = 99"},
	{"line_has_movement", "99 A", true, "INSERT INTO movement_line VALUES (99, 1, 1, 0, 0)",
         "DELETE FROM movement_line WHERE movement_no = 99"},
	{"names_exist", "99", false, "INSERT INTO stock_slot VALUES (99, 1, 0, 0, 0)",
         "DELETE FROM stock_slot WHERE sku_id = 99"},
	{"resolved_once", "SETTLED 3 ", false,
         "UPDATE reservation SET released_at = UTC_TIMESTAMP(3) WHERE order_id = 'SETTLED'",
         "UPDATE reservation SET released_at = NULL WHERE order_id = 'SETTLED'"},
	{"resolved_once", "HELD 1 ", false,
         "UPDATE reservation SET settled_at = UTC_TIMESTAMP(3) WHERE order_id = 'HELD'",
         "UPDATE reservation SET settled_at = NULL WHERE order_id = 'HELD'"},
	{"resolved_once", "BURIED 6 NULL", false,
         "UPDATE reservation SET confirmed_at = NULL WHERE order_id = 'BURIED'",
         "UPDATE reservation SET confirmed_at = created_at WHERE order_id = 'BURIED'"},
	{"resolved_once", "EXPIRED 7 ", false, "UPDATE reservation SET state = 7 WHERE order_id = 'EXPIRED'",
         "UPDATE reservation SET state = 5 WHERE order_id = 'EXPIRED'"},
	{"held_is_due_at_expiry", "HELD ", false,
         "UPDATE reservation SET due_at = due_at + INTERVAL 1 SECOND WHERE order_id = 'HELD'",
         "UPDATE reservation SET due_at = expires_at WHERE order_id = 'HELD'"},
	{"claim_has_task", "CLAIMED 2 99 1", false, /* a task that nobody made */
         "UPDATE reservation SET task_id = 99 WHERE order_id = 'CLAIMED'",
         "UPDATE reservation SET task_id = 3 WHERE order_id = 'CLAIMED'"},
	{"claim_has_task", "CLAIMED 2 3 0", false, "UPDATE reservation SET attempts = 0 WHERE order_id = 'CLAIMED'",
         "UPDATE reservation SET attempts = 1 WHERE order_id = 'CLAIMED'"},
	{"claim_has_task", "CLAIMED 2 3 1", false, "UPDATE task SET kind = 2 WHERE task_id = 3",
         "UPDATE task SET kind = 1 WHERE task_id = 3"},
	{"hold_of_key", "HELD 7 NULL 1 1", false, /* no key made it */
         "INSERT INTO key_hold SELECT reservation_id, 7, 1 FROM reservation WHERE order_id = 'HELD'",
         "DELETE FROM key_hold"},
	{"hold_of_key", "HELD 7 7 2 1", false, /* nor does it hold as much */
         "UPDATE reservation SET key_id = 7 WHERE order_id = 'HELD'; "
         "INSERT INTO key_hold SELECT reservation_id, 7, 2 FROM reservation WHERE order_id = 'HELD'",
         "UPDATE reservation SET key_id = NULL WHERE order_id = 'HELD'; DELETE FROM key_hold"},
	{"task_counts", "1 2 0 1 1", false, "UPDATE task SET completed = 0 WHERE task_id = 1",
         "UPDATE task SET completed = 1 WHERE task_id = 1"},
	{"task_counts", "1 2 2 1 1", false, "UPDATE task SET completed = 2 WHERE task_id = 1",
         "UPDATE task SET completed = 1 WHERE task_id = 1"},
};

/* A reservation in every state. The units of sku 1, A, lie in slot 0. */
static void house_begin(void)
{
	flow_begin();
	flow_steps("serve    --lanes 1", "receipt  A +10 A@paris +2    -> 201", "receipt  B +5                -> 201",
	           "reserve  SETTLED A=1         -> 201", "confirm SETTLED -> 200",
	           "reserve  BURIED A=1          -> 201", "confirm BURIED -> 200",
	           "claim    settle w            -> 201 task_id=1", "complete 1 SETTLED           -> completed=1",
	           "fail 1 BURIED=bury -> buried=1", "reserve  EXPIRED A=1 ttl=60  -> 201", "tick 61", "work expire",
	           "reserve  RELEASED A=2        -> 201", "release RELEASED -> 200",
	           "reserve  HELD A=1            -> 201", "reserve  CLAIMED B=1 A@paris=1 -> 201",
	           "confirm CLAIMED -> 200", "claim    settle w            -> 201 task_id=3",
	           "sql SELECT sku_id, available, reserved FROM stock_slot WHERE location_id = 1 AND slot = 0"
	           " -> 1,7,2 3,4,1",
	           "run      audit               -> 0 '~all hold'");
}

/* The number of an invariant in the file, and how many there are. */
static int invariant_number(const char *name, int *count)
{
	FILE *file = fopen("schema/invariants.sql", "r");
	char  line[300], found[100];
	int   number = -1;

	cr_assert(file);
	for (*count = 0; fgets(line, sizeof(line), file);)
		if (sscanf(line, "-- name: %99s", found) == 1) {
			number = name && strcmp(found, name) == 0 ? *count : number;
			++*count;
		}
	fclose(file);
	return number;
}

/* Statements, divided by a semicolon outside of a compound. */
static void sql_run(const char *statements)
{
	struct db  *db = flow_scratch()->db;
	const char *end = strncmp(statements, "BEGIN", 5) == 0 ? NULL : strstr(statements, "; ");
	struct text first = {0};

	text_bytes(&first, statements, end ? (size_t)(end - statements) : strlen(statements));
	cr_assert_eq(db_text(db, first.data, NULL, NULL), DB_OK, "%s: %s", first.data, db_error(db));
	text_fini(&first);
	if (end)
		sql_run(end + 2);
}

Test(audit, names_what_is_broken)
{
	house_begin();
	sql_run("SET SESSION check_constraint_checks = 0");
	for (size_t i = 0; i < COUNT(breaches); i++) {
		const struct breach *b = &breaches[i];
		int                  count, number = invariant_number(b->name, &count);

		cr_assert(number >= 0, "there is no invariant %s", b->name);
		sql_run(b->broken);
		flow_step("run audit -> 1 '~%s: %s' '~%d invariants checked, not all hold'", b->name, b->words, count);
		flow_step(
			"run audit --json -> 1 whole=false invariants=%d invariants[%d].name=%s invariants[%d].broken=*"
			" invariants[%d].rows[0]=*",
			count, number, b->name, number, number);
		if (b->of_a)
			flow_steps("run audit --sku A -> 1", "run audit --sku B -> 0");
		sql_run(b->mended);
		flow_steps("run audit -> 0");
	}
	flow_end();
}

Test(audit, every_invariant_is_broken_once)
{
	int  count, known = 0;
	bool seen[100] = {0};

	for (size_t i = 0; i < COUNT(breaches); i++) {
		int number = invariant_number(breaches[i].name, &count);

		cr_assert(number >= 0 && number < (int)COUNT(seen), "%s", breaches[i].name);
		known += !seen[number];
		seen[number] = true;
	}
	cr_expect_eq(known, count, "of %d invariants %d are broken by this test", count, known);
}

Test(audit, whole)
{
	house_begin();
	flow_steps("run audit --json             -> 0 whole=true invariants[0].broken=0 invariants[0].rows=0",
	           "run audit --sku A            -> 0 '~all hold'", "run audit --sku B --json     -> 0 whole=true",
	           "run audit --sku GHOST        -> 1", "run audit --sku a            -> 1",
	           "run audit --sku              -> 64", "serve --lanes 4", "run audit -> 0", "kill",
	           "run audit            -> 0");
	flow_end();
}

Test(audit, of_nothing)
{
	flow("run audit                      -> 0 '~all hold'", "run audit --json               -> 0 whole=true");
}

/* Twenty rows of each are shown. */
Test(audit, of_much)
{
	int count, number = invariant_number("line_has_reservation", &count);

	flow_begin();
	flow_orders("R", 50);
	flow_steps("sql INSERT INTO reservation_line SELECT seq, 1, 1, 0, 1 FROM seq_1_to_45",
	           "run audit                  -> 1 '~line_has_reservation: 1 A' '~line_has_reservation: and 25 more "
	           "rows'");
	flow_step("run audit --json            -> 1 invariants[%d].rows=20 invariants[%d].broken=45", number, number);
	flow_steps("sql DELETE FROM reservation_line WHERE reservation_id <= 45", "run audit -> 0");
	flow_end();
}

/* No false alarm by what is in flight. */
Test(audit, under_load)
{
	struct race *race;

	flow_begin();
	flow_steps("serve --lanes 4", "receipt A +2000 B +2000 -> 201");
	flow_orders("K", 2000);
	flow_steps("start W work settle --batch 20 --workers 2 --every 1", "start V work expire --every 1",
	           "start X reap --every 1");
	race = flow_race("12*400", "reserve R# A=1 B=1 ttl=1 || reserve Q# B=1 || adjust A +1 || receipt B +1"
	                           " || claim settle idle limit=3 lease=1");
	for (int i = 0; i < 8; i++) {
		flow_step("run audit -> 0 '~all hold'");
		flow_step("run purge --keep 0 -> 0");
		flow_step("run kick --all -> 0");
	}
	race_finish(race, NULL);
	race_free(race);
	flow_steps("signal W TERM", "signal V TERM", "signal X TERM", "end W -> 0", "end V -> 0", "end X -> 0",
	           "run audit -> 0");
	flow_end();
}
