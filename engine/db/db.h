/* db.h - one connection to MariaDB and the results of a statement. The only door to libmariadb.
 *
 * A connection belongs to one thread. Every connection is opened alike: READ COMMITTED, autocommit, strict sql_mode,
 * time zone +00:00, waits of 2 s for a row or a table, transactions idle for 5 s rolled back. */
#ifndef DB_H
#define DB_H

#include "engine/db/row.h"
#include "engine/db/source.h"
#include "engine/db/statement.h"

#include <limits.h>

/* The result of a statement: the classes of the MariaDB error codes, decided in db.c and nowhere else. */
enum db_result {
	DB_OK,
	DB_RETRY,     /* 1213, 1020: the server undid the whole transaction; do it again */
	DB_LOCKED,    /* 1205: a lock was not given in time; ROLLBACK, then perhaps again */
	DB_DUPLICATE, /* 1062: a key exists already; the statement was undone */
	DB_ERROR,     /* the server refused the statement, and would again */
	DB_AWAY,    /* nothing was done; the connection was closed. The connection was missing, or broke before all was
	               sent, or the server refuses for now: no space, read only, a missing table */
	DB_UNKNOWN, /* the statement may have been done or not; the connection was closed */
};

struct db;

/* The writer of a connection (writer.h). Zero-initialised: it has none yet. */
struct db_writer {
	int64_t writer_id, mark;    /* 0: none */
	int64_t epoch;              /* 0: it is to be entered again: the connection is new, or was shut out */
	int64_t batch_no, batch_at; /* as the row said when it was entered: a lane's last batch, .. */
	int64_t stamp;              /* .. with its stamp, .. */
	int64_t now;                /* .. and the database's clock then */
	bool    logs;               /* the writer's transactions write events */
};

struct db     *db_new(struct source *source);                /* not connected yet; the source outlives it */
struct db     *db_new_alone(const struct db_target *target); /* with a source of its own, which ends with it */
void           db_free(struct db *db);                       /* closes; NULL is fine */
struct source *db_source(const struct db *db);
/* Closes what was open, tries once; 3 s at most per step. A database with another schema than the source's is refused,
 * and so is a connection over which the source's memory could not be compared. */
bool db_connect(struct db *db) MUST_CHECK;
void db_close(struct db *db); /* db_connect may follow */
bool db_connected(const struct db *db);
/* The pointer stays over the life of the db; a connection that ends sets its epoch to 0. */
struct db_writer *db_writer(struct db *db);
/* Whether an idle connection still stands and the schema is still the one of the source; closes it if not. */
bool db_check(struct db *db) MUST_CHECK;
/* The silence of the server after which a statement is DB_UNKNOWN: 30 s unless set (a migration may need hours; 0 is
 * for ever). Counts from the next db_connect on. */
void db_silence_set(struct db *db, unsigned silence_s);
/* Gives rows as they arrive from now on, also rows of a set that breaks off, and keeps none: for readers of sets of any
 * length that make nothing of their rows before DB_OK. */
void db_stream(struct db *db);

/* Runs one statement (a compound is one) and gives its rows to `each` (NULL: there are none, or the caller needs none),
 * which must not use the connection. Rows are given when the end of their result set was read: a set that breaks off is
 * never seen. After any other result than DB_OK db_error says why, and the rows of the sets before are void. An error
 * after a whole result set is DB_UNKNOWN whatever its code: a compound gives rows after its COMMIT. */
enum { DB_ANY_COLUMNS = UINT_MAX };
/* An answer with rows of another number of columns is none (db_other), and so is one without rows to a statement that
 * has some: what an `each` reads and writes rests on that number, and the server is not believed. */
enum db_result db_query(struct db *db, const char *sql, unsigned columns,
                        void (*each)(void *arg, const struct db_row *row), void *arg) MUST_CHECK;
/* The same with rows of any number of columns: for callers that look at no row, or at db_row.columns. */
static inline enum db_result MUST_CHECK db_text(struct db *db, const char                               *sql,
                                                void (*each)(void *arg, const struct db_row *row), void *arg)
{
	return db_query(db, sql, DB_ANY_COLUMNS, each, arg);
}
/* The same with a named statement, which has a known number of columns; `fill` as for statement_add. */
enum db_result db_ask(struct db *db, enum statement name, const struct fill *fill,
                      void (*each)(void *arg, const struct db_row *row), void *arg) MUST_CHECK;

/* ---- several statements in one trip: sent one behind the other, then answered in that order. The server does not stop
 * at a statement that fails: it runs those behind it all the same. At most DB_AHEAD may wait for their answers, and
 * nothing else may be asked meanwhile. */
enum { DB_AHEAD = 16 };
enum db_result db_send(struct db *db, const char *sql, unsigned columns) MUST_CHECK; /* DB_OK, or DB_AWAY */
/* Runs a statement that db_prepare has made known and that gives no rows, once for each row of values. Sent and
 * answered as by db_send. */
enum db_result db_send_values(struct db *db, const char *sql, const struct values *values) MUST_CHECK;
/* Reads the answer to the oldest unanswered statement, as db_text does. */
enum db_result db_answer(struct db *db, void (*each)(void *arg, const struct db_row *row), void *arg) MUST_CHECK;
/* Once for a connection; `sql` is known by its address. */
enum db_result db_prepare(struct db *db, const char *sql) MUST_CHECK;

/* ---- a transaction of several statements: nothing is committed before db_end, also when a statement fails or is
 * interrupted. Call db_begin with no answer outstanding. db_begin is lazy: SET autocommit = 0 goes out with the first
 * statement, or not at all if a transaction of this connection has sent it before. From then on a statement by itself
 * is sent with its own COMMIT or ROLLBACK behind it. The lone request gains: 9 to 11 % more orders over up to 16
 * connections, nothing from 64 on. */
void db_begin(struct db *db); /* does nothing on a connection that is closed */
/* Ends the transaction, as db_text does, when all sent statements are answered. A transaction that could not be
 * committed is ended again, without commit. */
enum db_result db_end(struct db *db, bool commits) MUST_CHECK;
/* Instead of db_end, where one more statement is to come, by db_text: one that reads. The transaction, of which at
 * least one statement was sent, ends behind it in the same trip. */
void db_end_behind(struct db *db);

/* True: in the last db_connect that failed the server refused this name, password or database. Another try is of no
 * use. */
bool db_refused(const struct db *db);
/* True: the last db_connect or statement failed because no server listens there, or the server takes no writes for now:
 * it ends, is read-only, or is not part of its cluster. */
bool db_not_serving(const struct db *db);
/* True: the last db_connect or db_check found another schema, or none; db_error names both versions and what to do. */
bool db_misfits(const struct db *db);
/* Does what db_other (row.h) does, for an answer that lacks a row: DB_ERROR, or DB_UNKNOWN unless the statement only
 * reads. */
enum db_result db_answered_other(struct db *db, bool reads);
/* True: the last db_connect, db_check or statement failed because the answer was none to what was asked. */
bool db_has_answered_other(const struct db *db);
/* source_other_schema of its source. */
const char *db_other_schema(const struct db *db);
/* True: the last statement failed because the server could not write its files (storage.h). */
bool db_full(const struct db *db);
/* True: the last statement is DB_ERROR because the account lacks the right. */
bool db_denied(const struct db *db);
/* True: the last statement is DB_ERROR because a row breaks a rule of its table. Other errors may concern all rows. */
bool        db_refused_row(const struct db *db);
const char *db_error(const struct db *db); /* the error of the last db_connect or statement that failed */
unsigned    db_errno(const struct db *db);
int64_t db_changed(const struct db *db); /* rows changed by the last statement; an upsert counts 2 for each updated */
int64_t db_last_id(const struct db *db); /* the LAST_INSERT_ID that the last prepared statement gave back */

#endif
