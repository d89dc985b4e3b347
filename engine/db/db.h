/* db.h - one connection to MariaDB and what can come of a statement. The only door to libmariadb.
 *
 * A connection belongs to one thread. Every connection is opened the same way: READ COMMITTED, autocommit, strict
 * sql_mode, time zone +00:00, waits of 2 s for a row or a table, transactions idle for 5 s rolled back. */
#ifndef DB_H
#define DB_H

#include "engine/base/text.h"

/* What a connection over TCP must be, or is not made. A socket needs none of it. */
enum db_tls {
	DB_TLS_OFF,
	DB_TLS_REQUIRED, /* encrypted, by whoever answers */
	DB_TLS_VERIFY,   /* encrypted, by the host named: its certificate is of an authority in tls_ca, and valid */
};

/* Where a database is. Filled by db_target_parse or by embedded_open. */
struct db_target {
	char        host[256]; /* empty: the socket is used */
	unsigned    port;
	char        socket[512]; /* may be longer than the 107 bytes of a socket address */
	char        user[128];
	char        password[256];
	char        database[128];
	enum db_tls tls;
	char        tls_ca[512]; /* a file of certificates (PEM), for DB_TLS_VERIFY alone */
};

/* Reads mariadb://USER@HOST:PORT/DB (port 3306 if none, an IPv6 address in brackets) or
 * mariadb://USER@localhost/DB?socket=PATH; localhost without a socket is TCP. Over TCP, ?tls=off (so it is without a
 * word), ?tls=required or ?tls=verify&tls_ca=FILE. Names may be percent-encoded. A password is refused there: a URL is
 * seen by everybody. On false `why` says what is wrong. */
bool db_target_parse(struct db_target *to, const char *url, char *why, size_t why_size) MUST_CHECK;

/* What became of a statement; the classes of the MariaDB error codes, decided in db.c alone. */
enum db_result {
	DB_OK,
	DB_RETRY,     /* 1213, 1020: the server undid the whole transaction; do it again */
	DB_LOCKED,    /* 1205: a lock was not given in time; ROLLBACK, then perhaps again */
	DB_DUPLICATE, /* 1062: a key exists already; the statement was undone */
	DB_ERROR,     /* the server refused the statement, and would again */
	DB_AWAY,      /* nothing was done; the connection was closed. There was none, or it broke before all was sent,
	               * or the server cannot do it for now: no space, read only, a table that is missing */
	DB_UNKNOWN,   /* the statement may have been done or not; the connection was closed */
};

struct db;

struct db *db_new(const struct db_target *target); /* not connected yet; target is copied */
void       db_free(struct db *db);                 /* closes; NULL is fine */
bool       db_connect(struct db *db) MUST_CHECK;   /* closes what was open, tries once; 3 s at most per step */
void       db_close(struct db *db);                /* db_connect may follow */
bool       db_connected(const struct db *db);
/* How long the server may be silent before a statement is DB_UNKNOWN: 30 s unless set (a migration may need hours; 0 is
 * for ever). Counts from the next db_connect on. */
void db_silence_set(struct db *db, unsigned silence_s);
/* From now on rows are given as they arrive, those of a set that breaks off, too, and none is kept here: for whoever
 * reads sets of any length and makes nothing of their rows before DB_OK. */
void                    db_stream(struct db *db);
const struct db_target *db_where(const struct db *db);

/* Called for every row: `set` counts the result sets of the statement from 0; a NULL column is a NULL pointer. The
 * columns live until the callback returns. */
struct db_row {
	int                  set;
	unsigned             columns;
	char               **col;
	const unsigned long *len;
	const void          *fields; /* for the last two below */
};
int64_t     db_int(const struct db_row *row, unsigned column);    /* NULL reads as 0 */
const char *db_column(const struct db_row *row, unsigned column); /* its name; lives as long as the columns */
bool        db_is_number(const struct db_row *row, unsigned column);

/* Runs one statement (a compound is one) and gives its rows to `each` (NULL: there are none, or nobody cares), which
 * must not use the connection. Rows are given when the end of their result set was read: nothing of one that breaks off
 * is ever seen. After any other result than DB_OK db_error says why, and the rows of the sets before are void. An error
 * after a whole result set is DB_UNKNOWN whatever its code: a compound gives rows after its COMMIT. */
enum db_result db_run(struct db *db, const struct text *sql, void (*each)(void *arg, const struct db_row *row),
                      void *arg) MUST_CHECK;
enum db_result db_text(struct db *db, const char *sql, void (*each)(void *arg, const struct db_row *row),
                       void *arg) MUST_CHECK;
/* ---- values for the question marks of a statement: rows of as many columns as the first one has, filled in order. A
 * column has one type. Bytes stay the caller's, and stay as they are until the statement has been run. */
enum { DB_COLUMNS_MAX = 10 };
enum db_type { DB_INT, DB_BYTES };
struct db_value {
	enum db_type type;
	int64_t      number; /* the number, or how many bytes */
	const void  *bytes;
};
struct db_values {
	unsigned         columns;
	struct db_value *list;
	size_t           count, max;
};
void   db_values_begin(struct db_values *v, unsigned columns); /* empty; the memory stays */
void   db_values_fini(struct db_values *v);
void   db_values_int(struct db_values *v, int64_t n);
void   db_values_bytes(struct db_values *v, const void *bytes, size_t len);
size_t db_values_rows(const struct db_values *v);

/* ---- several statements in one trip: sent one behind the other, then answered in that order. The server does not stop
 * at one that fails: what was sent behind it is run all the same. At most DB_AHEAD may wait for their answers, and
 * nothing else may be asked meanwhile. */
enum { DB_AHEAD = 16 };
enum db_result db_send(struct db *db, const char *sql) MUST_CHECK; /* DB_OK, or DB_AWAY */
/* The same for a statement that db_prepare has made known and that gives no rows: once for each row of values. */
enum db_result db_send_values(struct db *db, const char *sql, const struct db_values *values) MUST_CHECK;
/* Of the oldest that has none. As for db_run. */
enum db_result db_answer(struct db *db, void (*each)(void *arg, const struct db_row *row), void *arg) MUST_CHECK;
/* Once for a connection; `sql` is known by its address. */
enum db_result db_prepare(struct db *db, const char *sql) MUST_CHECK;

/* ---- a transaction of several statements: nothing is committed before db_end, whatever becomes of one of them, and
 * whoever interrupts them. The first one of a connection costs a trip more; from then on what is run by itself is sent
 * with its own COMMIT or ROLLBACK behind it. Before either, all that was sent is to be answered. */
void db_begin(struct db *db); /* does nothing on a connection that is closed */
/* As db_text. One that could not be committed is to be ended again, without. */
enum db_result db_end(struct db *db, bool commits) MUST_CHECK;

/* Of the last db_connect that failed: the server is there and lets nobody in by this name, password or database. To
 * try again is no use. */
bool db_refused(const struct db *db);
/* Of the last statement: DB_ERROR, because the account may not do it. */
bool db_denied(const struct db *db);
/* Of the last statement: DB_ERROR, and a row is to blame, which breaks a rule of its table. Other errors may be of all
 * rows. */
bool        db_refused_row(const struct db *db);
const char *db_error(const struct db *db); /* of the last db_connect or statement that failed */
unsigned    db_errno(const struct db *db);
int64_t     db_changed(const struct db *db); /* by the last statement */
int64_t     db_last_id(const struct db *db); /* what the last prepared statement told LAST_INSERT_ID */

/* The server's settings that Holdfast depends on and no session can mend: version, durability, sizes, what is done to a
 * session before us; its clock against our own; and TLS where the way to it is open. One line for each that is not as
 * it should be is added to `findings`; returns how many. */
int db_doctor(struct db *db, struct text *findings);
/* By how much the database's clock is ahead of this machine's, negative where it is behind; the time that the question
 * takes is not counted. More than CLOCKS_APART_S is worth a word. */
enum { CLOCKS_APART_S = 300 };
enum db_result db_clock_apart(struct db *db, int64_t *ahead_s) MUST_CHECK;

#endif
