/* place.c - see place.h. Rows are written in the order of the primary keys; the other indexes of `reservation` are
 * taken off before and put back after, so that they are sorted once instead of being filled at random places. */
#include "engine/base/clock.h"
#include "place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 16384, PART = 1000000 };

/* Which sku an order wants: a tenth of the skus have half of the orders. */
#define SKU_OF(seq, count) "FLOOR(POW(CRC32(" seq ") / 4294967296, 3) * " count ")"

void place_enter(struct bench *b, const struct place *p)
{
	snprintf(b->database.database, sizeof(b->database.database), "%s", p->database);
}

/* ---- skus, with all their units in one slot */

static void skus_sql(const struct place *p, struct text *sql)
{
	int last = p->ledger.count - 1;

	text_format(
		sql,
		"BEGIN NOT ATOMIC\n"
		"INSERT INTO location (code) VALUES ('main');\n"
		"INSERT INTO sku (sku_id, code, created_at) SELECT seq + 1, CONCAT('%s-', IF(seq < 1000, LPAD(seq, 4,"
		" '0'), seq)), UTC_TIMESTAMP(3) FROM seq_0_to_%d;\n"
		"INSERT INTO stock_slot SELECT seq + 1, 1, 0, %" PRId64 ", 0 FROM seq_0_to_%d;\n"
		"INSERT INTO movement (movement_no, movement_id, kind, lines_hash, created_at)"
		" VALUES (1, 'receipt', 1, UNHEX(MD5('')), UTC_TIMESTAMP(3));\n"
		"INSERT INTO movement_line SELECT 1, seq + 1, 1, 0, %" PRId64 " FROM seq_0_to_%d;\nEND",
		p->ledger.prefix, last, p->ledger.received, last, p->ledger.received, last);
}

/* ---- reservations that came before, one a second until now. Of 200 one is held for a day, two were released, two have
 * expired, the others are settled; the last ones wait to be settled. */

/* Writes what every reservation is, so that rows, lines and sums agree. */
static void past_view_sql(const struct place *p, struct text *sql)
{
	text_format(sql,
	            "CREATE VIEW past AS SELECT seq, " SKU_OF(
			    "seq", "%d") " + 1 AS sku_id, 1 + seq %% %d AS qty,"
	                                 " CASE WHEN seq > %" PRId64
	                                 " THEN 2 WHEN seq %% 200 = 0 THEN 1 WHEN seq %% 200 <= 2 THEN 4"
	                                 " WHEN seq %% 200 <= 4 THEN 5 ELSE 3 END AS state FROM seq_1_to_%" PRId64,
	            p->ledger.count, QTY_KINDS, p->past - p->ready, p->past);
}

/* Statements that take the other indexes off and put them back, kept as a row of the table `indexes`. */
static const char indexes_keep[] =
	"CREATE TABLE indexes SELECT GROUP_CONCAT('DROP KEY ', name) AS taken, GROUP_CONCAT('ADD ', IF(others, '',"
	" 'UNIQUE '), 'KEY ', name, ' (', names, ')') AS put FROM (SELECT index_name AS name, MIN(non_unique) AS "
	"others,"
	" GROUP_CONCAT(column_name ORDER BY seq_in_index) AS names FROM information_schema.statistics"
	" WHERE table_schema = DATABASE() AND table_name = 'reservation' AND index_name <> 'PRIMARY'"
	" GROUP BY index_name) k";
static const char indexes_take[] = "BEGIN NOT ATOMIC SELECT taken INTO @sql FROM indexes;"
				   " EXECUTE IMMEDIATE CONCAT('ALTER TABLE reservation ', @sql); END";
static const char indexes_put[] =
	"BEGIN NOT ATOMIC SELECT put INTO @sql FROM indexes;"
	" EXECUTE IMMEDIATE CONCAT('ALTER TABLE reservation ', @sql); DROP TABLE indexes; END";

static void rows_sql(const struct place *p, int64_t first, int64_t last, struct text *sql)
{
	text_format(
		sql,
		"INSERT INTO reservation (reservation_id, order_id, lines_hash, state, due_at, expires_at, attempts,"
		" created_at, confirmed_at, released_at, settled_at)"
		" SELECT seq, CONCAT('P-', SUBSTR(SHA1(seq), 1, 16)), UNHEX(MD5(seq)), state,"
		" IF(state = 1, later, made), IF(state = 1, later, made + INTERVAL 900 SECOND), state = 3, made,"
		" IF(state IN (2, 3), made, NULL), IF(state = 4, made, NULL), IF(state = 3, made, NULL)"
		" FROM (SELECT seq, state, UTC_TIMESTAMP(3) - INTERVAL (%" PRId64 " - seq) SECOND AS made,"
		" UTC_TIMESTAMP(3) + INTERVAL 1 DAY AS later FROM past WHERE seq BETWEEN %" PRId64 " AND %" PRId64
		") m",
		p->past + 1000, first, last);
	text_char(sql, '\0');
	text_format(sql,
	            "INSERT INTO reservation_line SELECT seq, sku_id, 1, 0, qty, 0 FROM past"
	            " WHERE seq BETWEEN %" PRId64 " AND %" PRId64,
	            first, last);
}

/* In parts, so that an end that comes in between has little to undo. */
static bool rows_write(struct bench *b, const struct place *p)
{
	struct text sql = {0};
	bool        written = true;

	for (int64_t first = 1; first <= p->past && written; first += PART) {
		int64_t last = first + PART - 1 < p->past ? first + PART - 1 : p->past;

		text_reset(&sql);
		rows_sql(p, first, last, &sql);
		written = database_run(b, sql.data) && database_run(b, sql.data + strlen(sql.data) + 1);
		stage_check();
	}
	text_fini(&sql);
	return written;
}

/* Writes the sums that the movements and the slots must then have. */
static const char sums_write[] =
	"BEGIN NOT ATOMIC\n"
	"CREATE TEMPORARY TABLE sums (sku_id INT PRIMARY KEY) SELECT sku_id, SUM(IF(state IN (1, 2), qty, 0)) AS "
	"promised,"
	" SUM(IF(state = 3, qty, 0)) AS settled FROM past GROUP BY sku_id;\n"
	"INSERT INTO movement (movement_no, movement_id, kind, lines_hash, created_at)"
	" VALUES (2, 'settlement/past', 5, UNHEX(MD5('')), UTC_TIMESTAMP(3));\n"
	"INSERT INTO movement_line SELECT 2, sku_id, 1, 0, -settled FROM sums WHERE settled > 0;\n"
	"UPDATE stock_slot JOIN sums USING (sku_id) SET available = available - promised - settled, reserved = "
	"promised;\n"
	"DROP VIEW past;\nEND";

/* ---- what it takes on disk */

static const struct {
	const char *table, *index;
} trees[TREES] = {
	{"reservation", "PRIMARY"},
	{"reservation", "order_id"},
	{"reservation", "claim"},
	{"reservation_line", "PRIMARY"},
};

/* The statistics that ANALYZE TABLE writes. */
static bool trees_measure(struct bench *b, struct place *p)
{
	struct text sql = {0};
	bool        measured = database_run(b, "ANALYZE TABLE reservation, reservation_line");

	for (size_t i = 0; i < TREES && measured; i++) {
		int64_t pages[2];

		text_reset(&sql);
		text_format(&sql,
		            "SELECT SUM(IF(stat_name = 'size', stat_value, 0)),"
		            " SUM(IF(stat_name = 'n_leaf_pages', stat_value, 0)) FROM mysql.innodb_index_stats"
		            " WHERE database_name = DATABASE() AND table_name = '%s' AND index_name = '%s'",
		            trees[i].table, trees[i].index);
		measured = database_ints(b, sql.data, pages, 2);
		p->trees[i] = (struct tree){pages[0], pages[1]};
	}
	text_fini(&sql);
	return measured;
}

static void tree_print(const struct place *p, size_t i, FILE *csv)
{
	double size = (double)p->trees[i].pages * PAGE, each = size / (double)p->past;

	printf("  %-12s %-18s %-10s %12" PRId64 " %8.0f %6.0f %9" PRId64 "\n", p->database, trees[i].table,
	       trees[i].index, p->past, size / 1e6, each, p->trees[i].leaves);
	if (csv)
		fprintf(csv, "%s,%s,%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%.1f\n", p->database, trees[i].table,
		        trees[i].index, p->past, p->trees[i].pages, p->trees[i].leaves, each);
}

void place_report(struct place *const *places, size_t count, const char *file)
{
	FILE *csv = csv_open(file);

	printf("\nReservations on disk, before the load\n  %-12s %-18s %-10s %12s %8s %6s %9s\n", "", "table", "index",
	       "rows", "MB", "bytes", "leaves");
	if (csv)
		fprintf(csv, "database,table,index,rows,pages,leaf_pages,bytes_each\n");
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; places[i]->made && k < TREES; k++)
			tree_print(places[i], k, csv);
	csv_close(csv);
	fflush(stdout);
}

/* ---- the whole */

static bool place_fill(struct bench *b, struct place *p)
{
	struct text skus = {0}, view = {0};
	bool        filled;

	skus_sql(p, &skus);
	past_view_sql(p, &view);
	filled = database_run(b, skus.data) &&
	         (!p->past || (database_run(b, view.data) && database_run(b, indexes_keep) &&
	                       database_run(b, indexes_take) && rows_write(b, p) && database_run(b, indexes_put) &&
	                       database_run(b, sums_write) && trees_measure(b, p)));
	text_fini(&skus);
	text_fini(&view);
	return filled;
}

bool place_make(struct bench *b, struct place *p)
{
	struct text create = {0};
	int64_t     begun_us = clock_us();

	if (!p->made) {
		text_format(&create, "CREATE OR REPLACE DATABASE %s", p->database);
		p->made = database_run(b, create.data);
		text_fini(&create);
		place_enter(b, p);
		p->made = p->made && database_migrate(b) && place_fill(b, p);
		b->broken = !p->made;
		ledger_open(&p->ledger);
		fprintf(stderr, "%-36s       %d skus, %" PRId64 " reservations in %.0f s\n", p->database,
		        p->ledger.count, p->past, (double)(clock_us() - begun_us) / 1e6);
	}
	place_enter(b, p);
	return p->made;
}

bool place_warm(struct bench *b, const struct place *p)
{
	int64_t rows;

	return !p->past ||
	       database_ints(b, "SELECT COUNT(*) FROM reservation FORCE INDEX (order_id) WHERE order_id > ''", &rows,
	                     1);
}

bool place_reserved(struct bench *b, int64_t *units)
{
	return database_ints(b, "SELECT COALESCE(SUM(reserved), 0) FROM stock_slot", units, 1);
}
