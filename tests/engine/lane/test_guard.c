/* test_guard.c - what a guarded statement refuses, and which rows the statements of a transaction lock. They are taken
 * from the program. */
#include "engine/db/statement.h"
#include "tests/kit/tables.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct scratch s;

/* (reservation_id, changed, attempts) of the 4th to the 25th */
#define REST_25                                                                                         \
	"(4,0,0),(5,0,0),(6,0,0),(7,0,0),(8,0,0),(9,0,0),(10,0,0),(11,0,0),(12,0,0),(13,0,0),(14,0,0)," \
	"(15,0,0),(16,0,0),(17,0,0),(18,0,0),(19,0,0),(20,0,0),(21,0,0),(22,0,0),(23,0,0),(24,0,0),(25,0,0)"

/* How many of these rows another connection can lock right now. */
static int64_t free_rows(struct db *other, const char *where)
{
	struct text sql = {0};
	int64_t     n;

	text_format(&sql,
	            "SELECT COUNT(*) FROM (SELECT 1 FROM stock_slot FORCE INDEX (PRIMARY) WHERE %s"
	            " FOR UPDATE SKIP LOCKED) x",
	            where);
	n = scratch_number(other, sql.data);
	text_fini(&sql);
	return n;
}

static void in_transaction(enum statement name, const char *rows_text)
{
	struct values rows = {0};
	struct text   sql = {0};

	rows_parse(&rows, rows_text);
	tables_run(s.db, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
	tables_run(s.db, "SET @s = 1, @t = UTC_TIMESTAMP(3)");
	tables_run(s.db, "START TRANSACTION");
	statement_add(&sql, name, &(struct fill){.rows = &rows, .slot = 1, .limit = 1000});
	cr_assert_eq(db_text(s.db, sql.data, NULL, NULL), DB_OK, "%s", db_error(s.db));
	values_fini(&rows);
	text_fini(&sql);
}

/* Rows of (take, hold, sku, location, slot). */
static void deduct_by(enum statement name, const char *rows)
{
	const char   *sql = statements[name].text;
	struct values v = {0};
	struct text   json = {0};

	rows_parse(&v, rows);
	if (name == STOCK_DEDUCT_MANY) {
		values_json(&v, &json);
		values_reset(&v);
		values_row(&v, V_BYTES(json.data, json.len));
	}
	tables_run(s.db, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
	tables_run(s.db, "START TRANSACTION");
	cr_assert(db_prepare(s.db, sql) == DB_OK && db_send_values(s.db, sql, &v) == DB_OK &&
	                  db_answer(s.db, NULL, NULL) == DB_OK,
	          "%s", db_error(s.db));
	values_fini(&v);
	text_fini(&json);
}

static void deduct(const char *rows)
{
	deduct_by(strstr(rows, "),(") ? STOCK_DEDUCT_MANY : STOCK_DEDUCT, rows);
}

/* By our transaction. */
static int64_t rows_locked(void)
{
	return scratch_number(s.db, TRANSACTIONS("trx_rows_locked", "id = CONNECTION_ID()"));
}

Test(guard, a_deduction_locks_its_own_slots_only)
{
	struct db *other;

	tables_fill(&s);
	other = scratch_connection(&s);
	deduct("(2,2,1,1,1),(3,3,2,1,1)");
	cr_expect_eq(db_changed(s.db), 4, "two for each row");
	cr_expect_eq(free_rows(other, "sku_id = 1"), 3);
	cr_expect_eq(free_rows(other, "sku_id = 1 AND slot = 1"), 0);
	cr_expect_eq(free_rows(other, "sku_id = 2"), 3);
	cr_expect_eq(free_rows(other, "sku_id = 3"), 4);
	cr_expect_eq(rows_locked(), 2);
	cr_expect_eq(
		scratch_number(s.db, "SELECT available * 100 + reserved FROM stock_slot WHERE sku_id = 2 AND slot = 1"),
		708);
	tables_run(s.db, "ROLLBACK");
	db_free(other);
	scratch_close(&s);
}

Test(guard, a_deduction_of_one_sku_locks_its_own_slot_only)
{
	struct db *other;

	tables_fill(&s);
	other = scratch_connection(&s);
	deduct("(3,3,1,1,1)");
	cr_expect_eq(db_changed(s.db), 2);
	cr_expect_eq(free_rows(other, "TRUE"), 11);
	cr_expect_eq(free_rows(other, "sku_id = 1 AND slot = 1"), 0);
	cr_expect_eq(
		scratch_number(s.db, "SELECT available * 100 + reserved FROM stock_slot WHERE sku_id = 1 AND slot = 1"),
		708);
	tables_run(s.db, "ROLLBACK");
	for (int take = 9; take < 13; take++) { /* again and again: the plan is made once */
		char row[40];

		snprintf(row, sizeof(row), "(%d,%d,1,1,1)", take, take);
		deduct(row);
		cr_expect_eq(db_changed(s.db), take > 10 ? 0 : 2, "%d of the 10 in the own slot", take);
		cr_expect_eq(free_rows(other, "sku_id <> 1 OR slot <> 1"), 11);
		tables_run(s.db, "ROLLBACK");
	}
	db_free(other);
	scratch_close(&s);
}

Test(guard, a_deduction_on_a_nearly_empty_table_locks_its_own_slot_only)
{
	struct db *other;

	tables_fill(&s);
	tables_run(s.db, "DELETE FROM stock_slot WHERE sku_id > 1 OR slot > 2");
	other = scratch_connection(&s);
	deduct("(2,2,1,1,1)");
	cr_expect_eq(free_rows(other, "TRUE"), 2);
	tables_run(s.db, "ROLLBACK");
	deduct("(11,11,1,1,1)");
	cr_expect_eq(db_changed(s.db), 0, "too little in the own slot changes nothing, whatever the others have");
	cr_expect_eq(free_rows(other, "slot <> 1"), 2);
	tables_run(s.db, "ROLLBACK");
	deduct("(2,2,3,1,1)");
	cr_expect_eq(db_changed(s.db), 0, "a slot that is not there is not taken for one that has enough");
	tables_run(s.db, "ROLLBACK");
	db_free(other);
	scratch_close(&s);
}

/* Rows of (take, hold, sku, location, slot), and the count. What is refused stays as it is, what is not there is not
 * made: sums of available and reserved over all slots, 120 and 60 before. */
static const struct {
	const char *rows;
	int         changed, available, reserved;
} guarded[] = {
	{"(10,4,1,1,1)", 2, 110, 64},
	{"(11,0,1,1,1)", 0, 120, 60},
	{"(9,9,1,1,9)", 0, 120, 60},
	{"(10,10,1,1,1),(10,10,2,1,1)", 4, 100, 80},
	{"(10,10,1,1,1),(11,11,2,1,1)", 2, 110, 70},
	{"(11,11,1,1,1),(1,0,2,1,1),(1,1,3,1,3)", 4, 118, 61},
	{"(1,1,1,1,1),(1,1,1,1,9),(1,1,9,1,1)", 2, 119, 61},
};

/* Either form of the guard, whatever the number of slots. */
Test(guard, the_guard_refuses)
{
	static const enum statement forms[] = {STOCK_DEDUCT, STOCK_DEDUCT_MANY};

	tables_fill(&s);
	for (size_t i = 0; i < LENGTH(guarded); i++)
		for (size_t k = strstr(guarded[i].rows, "),(") ? 1 : 0; k < LENGTH(forms); k++) {
			deduct_by(forms[k], guarded[i].rows);
			cr_expect_eq(db_changed(s.db), guarded[i].changed, "%s", guarded[i].rows);
			cr_expect_eq(scratch_number(s.db, "SELECT SUM(available) FROM stock_slot"),
			             guarded[i].available, "%s", guarded[i].rows);
			cr_expect_eq(scratch_number(s.db, "SELECT SUM(reserved) FROM stock_slot"), guarded[i].reserved,
			             "%s", guarded[i].rows);
			cr_expect_eq(scratch_number(s.db, "SELECT COUNT(*) FROM stock_slot"), 12);
			tables_run(s.db, "ROLLBACK");
		}
	scratch_close(&s);
}

Test(guard, changes_of_state_lock_their_rows_only)
{
	struct db *other;

	tables_fill(&s);
	other = scratch_connection(&s);
	tables_run(
		s.db,
		"UPDATE reservation SET state = 1, expires_at = '2019-01-01', due_at = '2019-01-01', task_id = NULL");
	in_transaction(RESERVATION_EXPIRE, "(1,0,0),(2,0,0),(3,1,0)," REST_25);
	cr_expect_eq(db_changed(s.db), 24, "the third was changed by somebody else");
	cr_expect_eq(scratch_number(other,
	                            "SELECT COUNT(*) FROM (SELECT 1 FROM reservation FORCE INDEX (PRIMARY) FOR UPDATE "
	                            "SKIP LOCKED) x"),
	             176);
	tables_run(s.db, "ROLLBACK");
	in_transaction(RESERVATION_EXPIRE, "(7,0,0)");
	cr_expect_eq(db_changed(s.db), 1);
	cr_expect_eq(rows_locked(), 1);
	tables_run(s.db, "ROLLBACK");
	db_free(other);
	scratch_close(&s);
}

/* A hold that ends in half a second is not ended now. Where the machine was slower than that, nothing is proved. */
Test(guard, a_hold_is_not_ended_before_its_time)
{
	bool    in_time = false;
	int64_t changed = 0;

	tables_fill(&s);
	for (int i = 0; i < 20 && !in_time; i++) {
		tables_run(s.db, "UPDATE reservation SET state = 1, task_id = NULL, due_at = SYSDATE(3),"
		                 " expires_at = SYSDATE(3) + INTERVAL 500000 MICROSECOND");
		in_transaction(RESERVATION_EXPIRE, "(7,0,0)");
		changed = (int64_t)db_changed(s.db);
		in_time = scratch_number(s.db, "SELECT MIN(expires_at) > SYSDATE(3) FROM reservation") == 1;
		tables_run(s.db, "ROLLBACK");
	}
	cr_expect(in_time && changed == 0);
	scratch_close(&s);
}

/* Older holds are entered without a lock on reservations, so no order waits for it. */
Test(guard, entering_holds_of_keys_locks_no_reservation)
{
	struct db *other;

	tables_fill(&s);
	other = scratch_connection(&s);
	tables_run(s.db, "DELETE FROM key_hold");
	tables_run(s.db, "UPDATE reservation SET state = 1, key_id = 5, expires_at = UTC_TIMESTAMP(3) + INTERVAL 1 DAY,"
	                 " due_at = expires_at");
	in_transaction(KEY_HOLD_ENTER, "5");
	cr_expect_eq(db_changed(s.db), 200);
	cr_expect_eq(scratch_number(other,
	                            "SELECT COUNT(*) FROM (SELECT 1 FROM reservation FORCE INDEX (PRIMARY) FOR UPDATE "
	                            "SKIP LOCKED) x"),
	             200);
	tables_run(s.db, "ROLLBACK");
	db_free(other);
	scratch_close(&s);
}

/* The gather moves what is needed and a share of the rest, loses nothing, and begins with the slot after the own. */
Test(guard, a_gather_moves_and_loses_nothing)
{
	tables_fill(&s);
	in_transaction(STOCK_GATHER, "(1,1,25),(2,1,41)");
	tables_run(s.db, "COMMIT");
	cr_expect_eq(scratch_number(s.db, "SELECT SUM(available) FROM stock_slot WHERE sku_id = 1"), 40);
	cr_expect_eq(scratch_number(s.db, "SELECT available FROM stock_slot WHERE sku_id = 1 AND slot = 1"), 26,
	             "25 and a share of 15");
	cr_expect_eq(scratch_number(s.db, "SELECT available FROM stock_slot WHERE sku_id = 1 AND slot = 2"), 0);
	cr_expect_eq(scratch_number(s.db, "SELECT available FROM stock_slot WHERE sku_id = 1 AND slot = 3"), 4);
	cr_expect_eq(scratch_number(s.db, "SELECT available FROM stock_slot WHERE sku_id = 1 AND slot = 0"), 10);
	cr_expect_eq(scratch_number(s.db, "SELECT available FROM stock_slot WHERE sku_id = 2 AND slot = 1"), 10,
	             "40 is not 41");
	cr_expect_eq(scratch_number(s.db, "SELECT SUM(reserved) FROM stock_slot"), 60);
	scratch_close(&s);
}

/* Rows of (customer, sku, units), and the count: a row that is refused stays as it is. C has 1 of sku 1 and 2, with the
 * limits 3 and none. */
static const struct {
	const char *rows;
	int         changed, units;
} raised[] = {
	{"(C,1,2)", 2, 4},         {"(C,1,3)", 0, 2},         {"(C,1,1),(C,2,900)", 4, 903},
	{"(C,1,3),(C,2,1)", 2, 3}, {"(C,1,1),(D,1,1)", 2, 3},
};

Test(guard, of_what_a_customer_may_have)
{
	struct db *other;

	tables_fill(&s);
	tables_run(s.db, "UPDATE sku SET per_customer = 3 WHERE sku_id = 1");
	tables_run(s.db, "DELETE FROM customer_units");
	tables_run(s.db, "INSERT INTO customer_units VALUES ('C', 1, 1), ('C', 2, 1), ('E', 1, 1), ('E', 2, 1)");
	other = scratch_connection(&s);
	for (size_t i = 0; i < LENGTH(raised); i++) {
		in_transaction(CUSTOMER_RAISE, raised[i].rows);
		cr_expect_eq(db_changed(s.db), raised[i].changed, "%s: %lld", raised[i].rows,
		             (long long)db_changed(s.db));
		cr_expect_eq(scratch_number(s.db, "SELECT SUM(units) FROM customer_units WHERE customer = 'C'"),
		             raised[i].units, "%s", raised[i].rows);
		cr_expect_eq(scratch_number(s.db, "SELECT COUNT(*) FROM customer_units"), 4);
		cr_expect_eq(scratch_number(other, "SELECT COUNT(*) FROM (SELECT 1 FROM customer_units FORCE INDEX"
		                                   " (PRIMARY) WHERE customer = 'E' FOR UPDATE SKIP LOCKED) x"),
		             2);
		cr_expect_eq(scratch_number(other, "SELECT COUNT(*) FROM (SELECT 1 FROM sku FORCE INDEX (PRIMARY)"
		                                   " FOR UPDATE SKIP LOCKED) x"),
		             3, "whoever sets a limit does not wait");
		tables_run(s.db, "ROLLBACK");
	}
	db_free(other);
	scratch_close(&s);
}
