/* tables.h - a few rows in every table, for tests of single statements: small tables are where plans go wrong. */
#ifndef TESTS_TABLES_H
#define TESTS_TABLES_H

#include "tests/kit/scratch.h"

/* A database with three skus of four slots, and a few reservations in every state; scratch_close follows. */
void tables_fill(struct scratch *s);
/* What it is made of: the tables, and the rows. */
void tables_make(struct scratch *s);
void tables_rows(struct scratch *s);
void tables_run(struct db *db, const char *sql);
/* "(1,2),(3,4)", "1,2" or "A,B" as rows of a statement. */
void rows_parse(struct values *rows, const char *text);

#endif
