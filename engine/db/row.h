/* row.h - a row of an answer, as the callbacks of db.h get it. What a row says may be anything: the server is not
 * believed. */
#ifndef ROW_H
#define ROW_H

#include "engine/base/base.h"

/* Called for every row: `set` counts the result sets of the statement from 0; a NULL column is a NULL pointer. The
 * columns live until the callback returns. */
struct db_row {
	int                  set;
	unsigned             columns;
	char               **col;
	const unsigned long *len;
	const void          *fields; /* private to db_column and db_is_number */
	bool                *other;  /* private to db_other */
};
/* For an `each`: no right database gives this row. The answer becomes one that is none: no row follows, the connection
 * is closed, and the statement is DB_ERROR, or DB_UNKNOWN where it may have changed anything. */
void        db_other(const struct db_row *row);
int64_t     db_int(const struct db_row *row, unsigned column);  /* NULL reads as 0; anything but a number is db_other */
const char *db_word(const struct db_row *row, unsigned column); /* NULL is db_other, and reads as "" */
/* Text, with a \0 behind it; NULL, or more than there is room for, is db_other, and reads as "". */
void db_copy(const struct db_row *row, unsigned column, char *to, size_t size);
void db_ints(void *arg, const struct db_row *row);    /* an `each`: all columns, to int64_t's at `arg` */
void db_numbers(void *arg, const struct db_row *row); /* an `each`: adds them to the struct values at `arg` */
void db_time(
	void                *arg,
	const struct db_row *row); /* an `each`: the first column, ms, to an int64_t; what is no time is db_other */
const char *db_column(const struct db_row *row, unsigned column); /* the column's name; lives as long as the columns */
bool        db_is_number(const struct db_row *row, unsigned column);

#endif
