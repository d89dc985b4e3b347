/* prepared.h - the prepared statements of a connection, for db.c alone.
 *
 * A statement with question marks is prepared once for a connection and then sent as numbers and bytes. Many rows go in
 * one trip (COM_STMT_BULK_EXECUTE of MariaDB). Nothing is parsed: the same deduction as text takes 13 % more CPU an
 * order over 64 connections, 26 % more for a lone one. */
#ifndef PREPARED_H
#define PREPARED_H

#include "engine/db/values.h"

#include <mysql.h>

enum { PREPARED_MAX = 12 };

/* Zero-initialised is empty. */
struct prepared {
	struct {
		const char *sql; /* the same pointer every time, so that it names the statement */
		MYSQL_STMT *stmt;
	} list[PREPARED_MAX];
	size_t count;
};
/* false: the statement is not known; the error's number and text are filled in. */
bool        prepared_make(struct prepared *p, MYSQL *mysql, const char *sql, unsigned *code, char *error,
                          size_t error_size) MUST_CHECK;
MYSQL_STMT *prepared_find(const struct prepared *p, const char *sql); /* NULL: it was not made */
void        prepared_close(struct prepared *p);
/* The first half of an execution that gives no rows, with `rows` of the values from row `first` on. Other statements
 * may be sent before prepared_read, the second. */
bool prepared_send(MYSQL_STMT *stmt, const struct values *v, size_t first, size_t rows) MUST_CHECK;
bool prepared_read(MYSQL_STMT *stmt) MUST_CHECK;

#endif
