/* prepared.h - private to db.c: statements with question marks, prepared once for a connection and then sent as numbers
 * and bytes. Many rows go in one trip (COM_STMT_BULK_EXECUTE of MariaDB). Nothing is parsed: the same deduction as text
 * takes 13 % more CPU an order over 64 connections, 26 % more for a lone one. */
#ifndef PREPARED_H
#define PREPARED_H

#include "engine/db/values.h"

#include <mysql.h>

enum { PREPARED_MAX = 8 };

/* The prepared statements of one connection. Zero-initialised is empty. */
struct prepared {
	struct {
		const char *sql; /* one pointer for each statement, which names it */
		MYSQL_STMT *stmt;
	} list[PREPARED_MAX];
	size_t count;
};

void        prepared_close(struct prepared *p);                       /* call before the connection is closed */
MYSQL_STMT *prepared_find(const struct prepared *p, const char *sql); /* NULL: it has not been made */
/* False: *code and `error` say why. */
bool prepared_make(struct prepared *p, MYSQL *mysql, const char *sql, unsigned *code, char *error,
                   size_t error_size) MUST_CHECK;
/* The two halves of an execution that gives no rows; others may be sent in between. False: mysql_stmt_errno says why.
 */
bool prepared_send(MYSQL_STMT *stmt, const struct values *values) MUST_CHECK;
bool prepared_read(MYSQL_STMT *stmt) MUST_CHECK;

#endif
