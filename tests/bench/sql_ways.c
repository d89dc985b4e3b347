/* sql_ways.c - how teams deduct stock in SQL, each as good as it gets: one hot sku, a row that says which order got the
 * units, durable when the answer comes. Their reservations have the two indexes that they cannot do without, fewer than
 * Holdfast's, and no table of lines. */
#include "sql.h"

#include <inttypes.h>

#define SKU "1"
#define QTY "1000000000" /* HOT_QTY */
#define STOCK_COLUMNS \
	"(sku INT NOT NULL, slot INT NOT NULL, qty BIGINT NOT NULL, PRIMARY KEY (sku, slot)) ENGINE=InnoDB"
#define RESERVATION_COLUMNS                                                                                   \
	"(reservation_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, order_id VARBINARY(64) NOT NULL UNIQUE," \
	" sku INT NOT NULL, qty BIGINT NOT NULL, state TINYINT NOT NULL, created_at DATETIME(3) NOT NULL,"    \
	" expires_at DATETIME(3) NOT NULL) ENGINE=InnoDB"
/* The tables of one contender, filled once a turn: the rounds of a turn go on from one another. */
#define TABLES(database)                                                                                           \
	"CREATE DATABASE IF NOT EXISTS " database, "CREATE TABLE IF NOT EXISTS " database ".stock " STOCK_COLUMNS, \
		"CREATE TABLE IF NOT EXISTS " database ".reservation " RESERVATION_COLUMNS
#define TAKEN(database)                                               \
	"SELECT " QTY " - (SELECT SUM(qty) FROM " database ".stock)," \
	" (SELECT COALESCE(SUM(qty), 0) FROM " database ".reservation)"

static const char undo_on_error[] = "BEGIN NOT ATOMIC\n"
				    "DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;\n"
				    "START TRANSACTION;\n";

static void int_read(void *arg, const struct db_row *row)
{
	*(int64_t *)arg = db_int(row, 0);
}

static void reservation_sql(struct text *sql, uint64_t number)
{
	text_add(sql, "INSERT INTO reservation (order_id, sku, qty, state, created_at, expires_at) VALUES ('");
	order_write(sql, number);
	text_format(sql, "'," SKU ",%" PRId64 ",1,UTC_TIMESTAMP(3),UTC_TIMESTAMP(3) + INTERVAL 900 SECOND)",
	            order_qty(number));
}

/* A compound statement that ends in SELECT 1 where it sold. */
static enum db_result compound_run(struct buyer *w, int64_t *units)
{
	int64_t        sold = 0;
	enum db_result result = db_text(w->db, w->sql.data, int_read, &sold);

	*units = sold ? order_qty(w->number) : 0;
	return result;
}

/* ---- The classic slotted deduction, in one trip. The stock of a sku is the sum of ten signed slots; a deduction
 * checks the sum and writes a random slot. */

static enum db_result classic_order(struct buyer *w, int64_t *units)
{
	int64_t qty = order_qty(w->number);

	text_reset(&w->sql);
	text_add(&w->sql, undo_on_error);
	text_format(&w->sql,
	            "INSERT INTO stock (sku, slot, qty) SELECT sku, %d, -%" PRId64
	            " FROM (SELECT sku, SUM(qty) AS total"
	            " FROM stock WHERE sku = " SKU " GROUP BY sku HAVING total >= %" PRId64 " FOR UPDATE) t"
	            " ON DUPLICATE KEY UPDATE qty = qty + VALUES(qty);\n"
	            "IF ROW_COUNT() = 0 THEN ROLLBACK; SELECT 0; ELSE\n",
	            (int)(number_spread(~w->number) % 10), qty, qty);
	reservation_sql(&w->sql, w->number);
	text_add(&w->sql, "; COMMIT; SELECT 1; END IF; END");
	return compound_run(w, units);
}

static const char *const classic_schema[] = {
	TABLES("classic"),
	"INSERT IGNORE INTO classic.stock SELECT " SKU ", seq, " QTY " DIV 10 FROM seq_0_to_9",
	NULL,
};

const struct sql_way sql_classic = {
	.database = "classic", .schema = classic_schema, .order = classic_order, .taken = TAKEN("classic")};

/* ---- Guarded update of a single row, in one trip. The hot row comes last: its lock is held for the commit alone. */

static enum db_result guarded_order(struct buyer *w, int64_t *units)
{
	int64_t qty = order_qty(w->number);

	text_reset(&w->sql);
	text_add(&w->sql, undo_on_error);
	reservation_sql(&w->sql, w->number);
	text_format(&w->sql,
	            ";\nUPDATE stock SET qty = qty - %" PRId64 " WHERE sku = " SKU " AND slot = 0 AND qty >= %" PRId64
	            ";\nIF ROW_COUNT() = 0 THEN ROLLBACK; SELECT 0; ELSE COMMIT; SELECT 1; END IF; END",
	            qty, qty);
	return compound_run(w, units);
}

static const char *const guarded_schema[] = {TABLES("guarded"),
                                             "INSERT IGNORE INTO guarded.stock VALUES (" SKU ", 0, " QTY ")", NULL};

const struct sql_way sql_guarded = {
	.database = "guarded", .schema = guarded_schema, .order = guarded_order, .taken = TAKEN("guarded")};

/* ---- What an ORM does: the row is read and locked, computed with, written, and each statement is a trip. */

static enum db_result orm_steps(struct buyer *w, int64_t *units)
{
	int64_t        qty = order_qty(w->number), left = 0;
	enum db_result result = db_text(w->db, "START TRANSACTION", NULL, NULL);

	if (result == DB_OK)
		result = db_text(w->db, "SELECT qty FROM stock WHERE sku = " SKU " AND slot = 0 FOR UPDATE", int_read,
		                 &left);
	if (result != DB_OK || left < qty)
		return result;
	text_reset(&w->sql);
	text_format(&w->sql, "UPDATE stock SET qty = %" PRId64 " WHERE sku = " SKU " AND slot = 0", left - qty);
	result = db_text(w->db, w->sql.data, NULL, NULL);
	text_reset(&w->sql);
	reservation_sql(&w->sql, w->number);
	if (result == DB_OK)
		result = db_text(w->db, w->sql.data, NULL, NULL);
	if (result == DB_OK)
		result = db_text(w->db, "COMMIT", NULL, NULL);
	*units = result == DB_OK ? qty : 0;
	return result;
}

static enum db_result orm_order(struct buyer *w, int64_t *units)
{
	enum db_result result = orm_steps(w, units);

	if (*units == 0 && db_text(w->db, "ROLLBACK", NULL, NULL) != DB_OK)
		return DB_ERROR;
	return result;
}

static const char *const orm_schema[] = {TABLES("orm"), "INSERT IGNORE INTO orm.stock VALUES (" SKU ", 0, " QTY ")",
                                         NULL};

const struct sql_way sql_orm = {.database = "orm", .schema = orm_schema, .order = orm_order, .taken = TAKEN("orm")};

/* ---- WooCommerce's way: nothing is deducted, a hold counts as long as it lives. Its statement (ReserveStock.php) with
 * both its locks, without its join to the orders, and with an index that makes the sum a range. Each round begins
 * without holds, for every one of them makes the next one slower. */

static enum db_result woo_order(struct buyer *w, int64_t *units)
{
	int64_t        qty = order_qty(w->number);
	enum db_result result;

	text_reset(&w->sql);
	text_format(&w->sql,
	            "INSERT INTO reserved_stock (order_id, product_id, stock_quantity, timestamp, expires)"
	            " SELECT %" PRIu64 ", " SKU ", %" PRId64 ", NOW(), NOW() + INTERVAL 60 MINUTE FROM DUAL"
	            " WHERE (SELECT qty FROM stock WHERE sku = " SKU " AND slot = 0 FOR UPDATE)"
	            " - (SELECT COALESCE(SUM(stock_quantity), 0) FROM reserved_stock"
	            " WHERE product_id = " SKU " AND expires > NOW() AND order_id <> %" PRIu64
	            " FOR UPDATE) >= %" PRId64
	            " ON DUPLICATE KEY UPDATE expires = VALUES(expires), stock_quantity = VALUES(stock_quantity)",
	            w->number, qty, w->number, qty);
	result = db_text(w->db, w->sql.data, NULL, NULL);
	*units = result == DB_OK && db_changed(w->db) == 1 ? qty : 0;
	return result;
}

static const char *const woo_schema[] = {
	TABLES("woo"),
	"INSERT IGNORE INTO woo.stock VALUES (" SKU ", 0, " QTY ")",
	"CREATE TABLE IF NOT EXISTS woo.reserved_stock (order_id BIGINT NOT NULL, product_id BIGINT NOT NULL,"
	" stock_quantity DOUBLE NOT NULL DEFAULT 0, timestamp DATETIME NOT NULL, expires DATETIME NOT NULL,"
	" PRIMARY KEY (order_id, product_id), KEY product_expires (product_id, expires)) ENGINE=InnoDB",
	NULL,
};

const struct sql_way sql_woo = {
	.database = "woo",
	.schema = woo_schema,
	.empty = "TRUNCATE woo.reserved_stock",
	.order = woo_order,
	.taken = "SELECT COALESCE(SUM(stock_quantity), 0), COALESCE(SUM(stock_quantity), 0) FROM woo.reserved_stock"};

/* ---- The least that can be asked of a database: one row, durable. What a lone request is compared with. */

static enum db_result single_order(struct buyer *w, int64_t *units)
{
	enum db_result result;

	text_reset(&w->sql);
	reservation_sql(&w->sql, w->number);
	result = db_text(w->db, w->sql.data, NULL, NULL);
	*units = result == DB_OK ? order_qty(w->number) : 0;
	return result;
}

static const char *const single_schema[] = {TABLES("single"), NULL};

const struct sql_way sql_single = {
	.database = "single",
	.schema = single_schema,
	.order = single_order,
	.taken = "SELECT COALESCE(SUM(qty), 0), COALESCE(SUM(qty), 0) FROM single.reservation"};
