/* tables.c - see tables.h. */
#include "tests/kit/tables.h"
#include "schema/migrate.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

void tables_run(struct db *db, const char *sql)
{
	cr_assert_eq(db_text(db, sql, NULL, NULL), DB_OK, "%s: %s", sql, db_error(db));
}

void tables_make(struct scratch *s)
{
	char why[300];

	cr_assert(schema_migrate(s->db, why, sizeof(why)), "%s", why);
}

void tables_fill(struct scratch *s)
{
	scratch_open(s);
	tables_make(s);
	tables_rows(s);
}

void tables_rows(struct scratch *s)
{
	tables_run(s->db,
	           "INSERT INTO sku (sku_id, code, created_at) VALUES (1,'A',UTC_TIMESTAMP()),(2,'B',UTC_TIMESTAMP()),"
	           "(3,'C',UTC_TIMESTAMP())");
	tables_run(s->db, "INSERT INTO location (location_id, code) VALUES (1,'main'),(2,'paris')");
	tables_run(s->db, "INSERT INTO stock_slot SELECT k.sku_id, 1, x.seq, 10, 5 FROM sku k, seq_0_to_3 x");
	tables_run(s->db,
	           "INSERT INTO reservation (reservation_id, order_id, lines_hash, state, due_at, expires_at, task_id,"
	           " attempts, created_at) SELECT seq, CONCAT('R', seq), '', 1 + seq MOD 6,"
	           " UTC_TIMESTAMP(3) + INTERVAL CAST(seq AS SIGNED) - 100 SECOND,"
	           " UTC_TIMESTAMP(3) + INTERVAL CAST(seq AS SIGNED) - 100 SECOND, IF(seq MOD 5 = 0, seq, NULL), 0, "
	           "UTC_TIMESTAMP(3) FROM seq_1_to_200");
	tables_run(s->db,
	           "INSERT INTO reservation_line SELECT seq, 1 + seq MOD 3, 1, seq MOD 4, 1, 1 FROM seq_1_to_200");
	tables_run(s->db,
	           "INSERT INTO job_task (task_id, kind, worker, state, lease_until, claimed, completed, failed,"
	           " created_at) SELECT seq, 1, 'w', 1, UTC_TIMESTAMP(3), 1, 0, 0, UTC_TIMESTAMP(3) FROM seq_1_to_200");
	tables_run(s->db, "INSERT INTO movement SELECT seq, CONCAT('M', seq), 1, '', UTC_TIMESTAMP(3), NULL, NULL, "
	                  "NULL, NULL, NULL FROM seq_1_to_50");
	tables_run(s->db, "INSERT INTO movement_line SELECT seq, 1 + seq MOD 3, 1, 0, 1 FROM seq_1_to_50");
	tables_run(s->db,
	           "INSERT INTO webhook (webhook_id, url, from_oldest, parallel, created_at, secret, due_at, task_id, "
	           "place,"
	           " waits_since, state) SELECT CONCAT('W', seq), 'u', 0, 1, UTC_TIMESTAMP(3), 's', UTC_TIMESTAMP(3) +"
	           " INTERVAL CAST(seq AS SIGNED) - 100 SECOND, seq MOD 20, '', UTC_TIMESTAMP(3), 1 + seq MOD 4"
	           " FROM seq_1_to_200");
	tables_run(s->db, "INSERT INTO reservation_part SELECT seq MOD 20, seq, 1 + seq MOD 3, 1, 2, 1 FROM "
	                  "seq_21_to_200");
	tables_run(s->db, "INSERT INTO reservation_returned SELECT seq, 1 + seq MOD 3, 1 FROM seq_1_to_200");
	tables_run(s->db, "INSERT INTO reservation_on_hold SELECT seq, '9000-01-01', NULL, 'x' FROM seq_1_to_200");
	tables_run(s->db, "INSERT INTO reservation_note (reservation_id, reference, customer, order_state)"
	                  " SELECT seq, CONCAT('R', seq MOD 7), CONCAT('C', seq MOD 5), 1 + seq MOD 6"
	                  " FROM seq_1_to_200");
	tables_run(s->db, "INSERT INTO key_hold SELECT seq, 5 + seq MOD 2, 1 FROM seq_1_to_200");
	tables_run(s->db, "INSERT INTO sku_limit SELECT seq, seq FROM seq_1_to_3");
	tables_run(s->db, "INSERT INTO sku_text SELECT seq, seq FROM seq_1_to_3");
	tables_run(s->db, "INSERT INTO customer_units SELECT CONCAT('C', seq), 1 + seq MOD 3, 1 FROM seq_1_to_50");
	tables_run(s->db, "INSERT INTO level SELECT k.sku_id, 1, 3, NULL, 5 FROM sku k");
	tables_run(s->db, "UPDATE level_watch SET task_id = 7, fence = 1");
	tables_run(s->db, "INSERT INTO log_writer (writer_id, slot, epoch, batch_no, batch_at, started_at) VALUES"
	                  " (7,0,1,0,UTC_TIMESTAMP(3),UTC_TIMESTAMP(3)),(8,1,1,0,UTC_TIMESTAMP(3),UTC_TIMESTAMP(3))");
	tables_run(s->db, "INSERT INTO event SELECT 7 + seq MOD 2, seq, seq, UTC_TIMESTAMP(3), '' FROM seq_1_to_50");
	tables_run(s->db, "INSERT INTO api_key SELECT seq, CONCAT('K', seq), UTC_TIMESTAMP(3) FROM seq_1_to_4");
}

void rows_parse(struct values *rows, const char *text)
{
	static char  letters[] = "ABCDEFGHIJ";
	struct value row[VALUES_COLUMNS_MAX];
	size_t       columns = 1, count = 0;

	for (const char *at = text; *text == '(' && *at != ')'; at++)
		columns += *at == ',';
	values_reset(rows);
	for (char *at = strdupa(text); *at;) {
		if (*at >= 'A' && *at <= 'J')
			row[count++] = V_BYTES(&letters[*at - 'A'], 1);
		if (*at >= '0' && *at <= '9')
			row[count++] = V_INT(strtol(at, &at, 10));
		else
			at++;
		if (count == columns)
			values_add(rows, row, columns);
		count = count == columns ? 0 : count;
	}
}
