/* prepared.h - the prepared statements of a connection, for db.c alone.
 *
 * A statement with question marks is prepared once for a connection and then sent as numbers and bytes. Many rows go in
 * one trip (COM_STMT_BULK_EXECUTE of MariaDB). Nothing is parsed: the same deduction as text takes 13 % more CPU an
 * order over 64 connections, 26 % more for a lone one. */
#ifndef PREPARED_H
#define PREPARED_H

#include "engine/db/values.h"

#include <mysql.h>

enum { PREPARED_MAX = 12, WIDTHS = 3 };

struct prepared_statement {
	const char *sql;          /* the same pointer every time, so that it names the statement */
	MYSQL_STMT *stmt[WIDTHS]; /* of one row, of 4 and of 16; NULL: there is none of so many */
};

/* Zero-initialised is empty. */
struct prepared {
	struct prepared_statement list[PREPARED_MAX];
	size_t                    count;
};
/* wide: an INSERT of VALUES is there for several rows, too. false: the statement is not known; the error's number and
 * text are filled in. *other: the server made something else of it. */
bool prepared_make(struct prepared *p, MYSQL *mysql, const char *sql, bool wide, bool *other, unsigned *code,
                   char *error, size_t error_size) MUST_CHECK;
const struct prepared_statement *prepared_find(const struct prepared *p, const char *sql); /* NULL: it was not made */
void                             prepared_close(struct prepared *p);
/* The first half of an execution that gives no rows, with all rows of the values. Other statements may be sent before
 * prepared_read, the second. */
bool prepared_send(const struct prepared_statement *s, const struct values *v) MUST_CHECK;
/* prepared_send with as many rows, from row `first` on, as one statement takes. */
bool prepared_send_some(const struct prepared_statement *s, const struct values *v, size_t first) MUST_CHECK;
/* How many rows that is where so many are left. */
size_t prepared_takes(const struct prepared_statement *s, size_t left);
/* rows: as prepared_takes said; 1 behind prepared_send. */
MYSQL_STMT *prepared_of(const struct prepared_statement *s, size_t rows);
/* *other: it answers rows. */
bool prepared_read(MYSQL_STMT *stmt, bool *other) MUST_CHECK;

#endif
