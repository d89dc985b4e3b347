/* test_txn.c - a transaction in one trip: committed whole or undone with a verdict; and retries. The transactions
 * of lanes, behind a fence, are tested through the service. */
#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/db/retry.h"
#include "engine/db/txn.h"
#include "schema/migrate.h"
#include "tests/kit/scratch.h"

#include <criterion/criterion.h>
#include <string.h>

static struct scratch s;

static void open_tables(void)
{
	char why[300];

	scratch_open(&s);
	cr_assert(schema_migrate(s.db, why, sizeof(why)), "%s", why);
	cr_assert_eq(db_text(s.db, "INSERT INTO stock_slot VALUES (1, 1, 0, 10, 5), (2, 1, 0, 10, 5)", NULL, NULL),
	             DB_OK);
}

static void close_tables(void)
{
	scratch_close(&s);
}

TestSuite(txn, .init = open_tables, .fini = close_tables);

/* So many units come in, for skus 1 to `skus`; `expected` rows are to change. */
static enum db_result add(size_t skus, size_t expected, enum txn_verdict *verdict)
{
	struct values  rows = {0};
	struct txn     t = {0};
	enum db_result result;

	for (size_t i = 1; i <= skus; i++) {
		values_row(&rows, V_INT(i), V_INT(1), V_INT(0), V_INT(1), V_INT(0));
	}
	txn_begin(&t, s.db);
	txn_run(&t, STOCK_ADD, &(struct fill){.rows = &rows});
	txn_expect(&t, expected, TXN_SHORT);
	result = txn_commit(&t, verdict);
	values_fini(&rows);
	return result;
}

Test(txn, changes_what_it_expects_or_nothing)
{
	enum txn_verdict verdict;

	cr_expect(add(2, 4, &verdict) == DB_OK && verdict == TXN_DONE, "an upsert counts two for each row");
	cr_expect_eq(scratch_number(s.db, "SELECT SUM(available) FROM stock_slot"), 22);
	cr_expect(add(2, 3, &verdict) == DB_OK && verdict == TXN_SHORT);
	cr_expect_eq(scratch_number(s.db, "SELECT SUM(available) FROM stock_slot"), 22, "undone");
	cr_expect_eq(counter_here(COUNT_RETRIES), 1);
}

Test(txn, ends_at_its_first_trouble)
{
	enum txn_verdict verdict;
	struct values    rows = {0}, taken = {0};
	struct txn       t = {0};

	values_row(&rows, V_INT(1), V_INT(1), V_INT(0), V_INT(99), V_INT(0));
	values_row(&taken, V_INT(1), V_INT(1), V_INT(0), V_INT(0), V_INT(99));
	txn_begin(&t, s.db);
	txn_run(&t, STOCK_SETTLE, &(struct fill){.rows = &taken}); /* more than there is: a CHECK */
	txn_run(&t, STOCK_ADD, &(struct fill){.rows = &rows});
	cr_expect_eq(txn_commit(&t, &verdict), DB_ERROR);
	cr_expect(db_refused_row(s.db));
	txn_begin(&t, s.db);
	txn_refuse(&t, TXN_LIMIT);
	txn_run(&t, STOCK_ADD, &(struct fill){.rows = &rows});
	txn_refuse(&t, TXN_SHORT);
	cr_expect(txn_commit(&t, &verdict) == DB_OK && verdict == TXN_LIMIT, "the first verdict stands");
	cr_expect_eq(scratch_number(s.db, "SELECT SUM(available) FROM stock_slot"), 20);
	values_fini(&rows);
	values_fini(&taken);
}

Test(txn, is_not_sent_where_it_is_too_large)
{
	enum txn_verdict verdict;

	cr_expect(add(TXN_BYTES_MAX / 10, 1, &verdict) == DB_OK && verdict == TXN_TOO_LARGE);
	cr_expect_eq(scratch_number(s.db, "SELECT COUNT(*) FROM stock_slot"), 2);
	cr_expect_eq(counter_here(COUNT_RETRIES), 0);
}

/* How often something with this result is done. */
static int tries(struct retry retry, enum db_result result)
{
	int n = 0;

	do
		n++;
	while (retry_again(&retry, result));
	return n;
}

static const struct policy {
	const char    *name;
	struct retry   retry;
	enum db_result result;
	int            tries;
} policies[] = {
	{"success", {.results = RETRY_ALL, .tries_max = 20}, DB_OK, 1},
	{"deadlock", {.results = RETRY_CONFLICTS, .tries_max = 5}, DB_RETRY, 5},
	{"id that is there", {.results = RETRY_CONFLICTS, .tries_max = RETRY_TRIES}, DB_DUPLICATE, RETRY_TRIES},
	{"lock, not wanted", {.results = RETRY_CONFLICTS, .tries_max = RETRY_TRIES}, DB_LOCKED, 1},
	{"lock", {.results = RETRY_LOCKS, .tries_max = RETRY_TRIES}, DB_LOCKED, RETRY_TRIES},
	{"refusal, by a writer", {.results = RETRY_LOCKS, .tries_max = RETRY_TRIES}, DB_ERROR, 1},
	{"refusal, by a reader", {.results = RETRY_ALL, .tries_max = RETRY_TRIES}, DB_ERROR, RETRY_ERRORS},
	{"unknown, by a writer", {.results = RETRY_LOCKS, .tries_max = RETRY_TRIES}, DB_UNKNOWN, 1},
	{"no time left", {.results = RETRY_ALL, .until_ms = 1}, DB_AWAY, 1},
};

Test(retry, policy)
{
	for (size_t i = 0; i < LENGTH(policies); i++)
		cr_expect_eq(tries(policies[i].retry, policies[i].result), policies[i].tries, "%s: %d tries",
		             policies[i].name, tries(policies[i].retry, policies[i].result));
	cr_expect_gt(tries((struct retry){.results = RETRY_ALL, .until_ms = clock_ms() + 100}, DB_AWAY), 1);
}

/* slots_raise changes every slot, slots_lower changes them back. A slot that another transaction makes between these
 * two keeps its units, also if it has none. */
Test(txn, leaves_slots_alone_that_are_made_meanwhile)
{
	struct fill fill = {.sku = 1, .location = 1};
	struct db  *other = scratch_connection(&s);

	db_begin(s.db);
	cr_assert_eq(db_ask(s.db, SLOTS_RAISE, &fill, NULL, NULL), DB_OK);
	cr_assert_eq(db_text(other, "INSERT INTO stock_slot VALUES (1, 1, 1, 3, 0), (1, 1, 2, 0, 4)", NULL, NULL),
	             DB_OK);
	cr_assert_eq(db_ask(s.db, SLOTS_LOWER, &fill, NULL, NULL), DB_OK, "%s", db_error(s.db));
	cr_assert_eq(db_end(s.db, true), DB_OK);
	cr_expect_eq(scratch_number(s.db, "SELECT SUM(available) FROM stock_slot WHERE sku_id = 1"), 13);
	cr_expect_eq(scratch_number(s.db, "SELECT available FROM stock_slot WHERE sku_id = 1 AND slot = 0"), 10);
	cr_expect_eq(scratch_number(s.db, "SELECT SUM(reserved) FROM stock_slot WHERE sku_id = 1"), 9);
	db_free(other);
}
