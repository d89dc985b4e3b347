/* impostor.h - a false database server: it greets, accepts every account, and answers every statement as its owner
 * says. A thread for each connection. */
#ifndef TESTS_IMPOSTOR_H
#define TESTS_IMPOSTOR_H

#include "engine/base/text.h"

/* The answer to a statement, as it grows. Everything added goes out when the owner's call returns. */
struct reply {
	struct text   bytes;  /* packets */
	unsigned char number; /* of the next packet */
	struct text   row;    /* of the values added since the last row */
};
void reply_done(struct reply *to, uint64_t changed, uint64_t last_id); /* no rows */
void reply_error(struct reply *to, unsigned code, const char *text);
void reply_packet(struct reply *to, const void *bytes, size_t len); /* with any content */
/* Rows follow: values, row by row, then the end. `type` is MariaDB's number of the columns' type. */
enum { REPLY_TEXT = 0xfd, REPLY_NUMBER = 0x08 };
void reply_columns(struct reply *to, unsigned count, unsigned char type);
void reply_value(struct reply *to, const char *bytes, size_t len); /* NULL is NULL */
void reply_row(struct reply *to);
void reply_end(struct reply *to, bool more); /* more: another answer to the same statement follows */

/* Called for every statement, on the connection's thread. `sql` ends in a NUL; prepared: it is the execution of a
 * prepared statement, and `sql` is empty; to prepare always succeeds. false: the connection is closed after the
 * answer. */
typedef bool impostor_answer(struct reply *to, const char *sql, bool prepared);
/* Listens as long as the process lives: at a path, or with NULL at a port of 127.0.0.1, which it returns; 0: it cannot
 * listen. Once a process. */
int impostor_open(const char *path, impostor_answer *answer) MUST_CHECK;
/* The number of open connections. */
int impostor_connections(void);

/* The number of columns of the named statement that begins like `sql`; 0: it has no rows, or there is no statement of
 * this name. */
unsigned impostor_columns(const char *sql);

#endif
