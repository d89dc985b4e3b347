/* nineteen.h - a database of schema version 19 (nineteen_dump.sql), and made-up steps of the schema. Trouble ends the
 * test. One thread. */
#ifndef TESTS_NINETEEN_H
#define TESTS_NINETEEN_H

#include "schema/migrate.h"
#include "tests/kit/scratch.h"

/* Drops all tables of the database. */
void tables_drop(struct scratch *s);
/* Empties the database and loads the dump. Its holds and leases ran out long ago. */
void nineteen_load(struct scratch *s);
/* A line for each table of the database with a sum of its rows, but for that of the versions. */
void nineteen_facts(struct scratch *s, struct text *out);
void nineteen_same(struct scratch *s, const struct text *before, const char *where);

/* The schema of the program; or it is refused with these words. */
void migrate(struct scratch *s);
void migrate_refused(struct scratch *s, const char *words);
/* Steps of a flow. */
#define OF_STEPS                                                                                      \
	" ALTER TABLE reservation_line DROP KEY IF EXISTS holder, DROP COLUMN IF EXISTS live;"        \
	" ALTER TABLE reservation DROP COLUMN IF EXISTS version, DROP COLUMN IF EXISTS version_kept," \
	" DROP COLUMN IF EXISTS last_event;"                                                          \
	" DROP TABLE IF EXISTS reservation_amend; ALTER TABLE waiting_line DROP PRIMARY KEY,"         \
	" ADD PRIMARY KEY (reservation_id, sku_id, location_id), DROP COLUMN IF EXISTS added,"        \
	" DROP COLUMN IF EXISTS units;"                                                               \
	" ALTER TABLE sku MODIFY code VARBINARY(64) NOT NULL, DROP COLUMN IF EXISTS name;"            \
	" ALTER TABLE location MODIFY code VARBINARY(32) NOT NULL; DROP TABLE IF EXISTS "             \
	"sku_barcode,sku_text,api_key_use,upkeep;"                                                    \
	" ALTER TABLE sku DROP COLUMN IF EXISTS for_sale, DROP COLUMN IF EXISTS stop_reason;"         \
	" ALTER TABLE location DROP COLUMN IF EXISTS for_sale, DROP COLUMN IF EXISTS stop_reason;"    \
	" ALTER TABLE reservation_note DROP KEY IF EXISTS customer, DROP KEY IF EXISTS reference,"    \
	" DROP COLUMN IF EXISTS order_state;"
#define NO_STEPS "BEGIN NOT ATOMIC" OF_STEPS " END"
#define IS_19                                                                                \
	"sql BEGIN NOT ATOMIC DELETE FROM schema_version WHERE ABS(version) >= 20;" OF_STEPS \
	" REPLACE INTO schema_version VALUES (19, UTC_TIMESTAMP(3)); END"
#define MAY_ALTER "sql EXECUTE IMMEDIATE CONCAT('GRANT ALL ON ', DATABASE(), '.* TO ', DATABASE(), '@localhost')"

/* The files of the program, and these steps behind them. The steps' texts stay the caller's. */
enum { MADE_UP_MAX = 100 };
struct made_up {
	struct schema_file  list[MADE_UP_MAX];
	struct schema_files files;
};
void made_up(struct made_up *m, const struct schema_file *steps, size_t count);
/* The first `count` statements of all these files as one, with a statement behind them that fails; the caller frees
 * `text`. Returns how many statements there are. */
size_t files_cut(const struct schema_file *files, size_t file_count, size_t count, struct text *text);

#endif
