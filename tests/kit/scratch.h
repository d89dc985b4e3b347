/* scratch.h - the database of one test: made empty, shifted in time, locked, cut off, checked, dropped.
 *
 * The server's socket, its user and a folder for scratch files come by environment from tests/main.c. The service
 * reaches the database through a link of the test's own, so that a test can take it away without touching the others. A
 * fault of the database itself ends the test. One thread. */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include "engine/db/db.h"

#define SCRATCH_SOCKET "TEST_SOCKET"
#define SCRATCH_USER   "TEST_USER"
#define SCRATCH_DIR    "TEST_DIR"

/* The columns of the table, but for those that steps of the schema add: for rows that are made by hand. */
#define RESERVATION_COLUMNS                                                                            \
	"reservation_id, order_id, lines_hash, key_id, state, due_at, expires_at, task_id, attempts, " \
	"last_error, created_at, confirmed_at, released_at, settled_at, changed, noted, ship_after"

struct scratch {
	char             name[32];      /* of the database, t_<random>; the test's files are called so, too */
	char             link[256];     /* leads to the server's socket */
	char             url[512];      /* for --db: the server's owner or, after scratch_account, that account */
	char             password[256]; /* the file with the account's password; empty: there is none */
	struct db_target target;
	int64_t          tables; /* for kit/shelf.h: how its tables are */
	struct db       *db;     /* the test's own connection, not through the link */
	struct db       *holder; /* holds locks between scratch_lock and scratch_unlock; otherwise NULL */
};

void scratch_open(struct scratch *s);
void scratch_open_named(struct scratch *s, const char *name); /* a database that is there */
void scratch_close(struct scratch *s);                        /* drops it */
/* What scratch_close does, in two steps: the test's account and link go, and the database does. */
void scratch_leave(struct scratch *s);
void scratch_drop(struct scratch *s);
/* From now on the test's connection waits longer than the usual 2 s for locks. Changing and dropping a table locks the
 * server's own tables of statistics, for which other tests wait, too. */
void scratch_waits(struct scratch *s);
/* A connection to no test's database. The caller frees it. */
struct db  *scratch_server(void);
const char *scratch_dir(void);
/* Makes a folder of the test's own in scratch_dir, readable by every user; it is removed with the run. Its path has at
 * most SCRATCH_FOLDER_BYTES, the zero included, so that a socket's path has room in it: main.c sees to that. */
enum { SCRATCH_FOLDER_BYTES = 64 };
void scratch_folder(char *to, size_t size);
/* Removes a folder, or a file, before the run ends: a private database takes 100 MB. True: nothing is left. */
bool scratch_remove(const char *path);
/* One more connection to the database, not through the link. The caller frees it. */
struct db *scratch_connection(const struct scratch *s);
/* From now on programs use an account with a password and exactly the rights that the README asks for. */
void scratch_account(struct scratch *s);

/* Selects `what` from information_schema.innodb_trx, which is a copy: the server renews it only if it was not read for
 * 100 ms. So tests that read it on the shared server take turns. */
#define TRANSACTIONS(what, where)                                                   \
	"BEGIN NOT ATOMIC DO GET_LOCK('innodb_trx', 60), SLEEP(0.15); SELECT " what \
	" FROM information_schema.innodb_trx JOIN information_schema.processlist"   \
	" ON id = trx_mysql_thread_id WHERE " where "; DO RELEASE_LOCK('innodb_trx'); END"

/* The first column of the first row. */
int64_t scratch_number(struct db *db, const char *sql);
/* Sets every stored time of every table `seconds` back: for the service that much time has passed. */
void scratch_tick(struct scratch *s, int seconds);
/* Locks every row of every table until scratch_unlock. */
void scratch_lock(struct scratch *s);
void scratch_unlock(struct scratch *s);
/* Kills every connection of the service. */
void scratch_cut(struct scratch *s);
/* As scratch_cut, and no new connection is possible until scratch_back. */
void scratch_away(struct scratch *s);
void scratch_back(struct scratch *s);
/* One line for each table that holds facts. Slot rows are left out, because units move between slots as they like, and
 * what they hold in sum follows from the other tables by the invariants; lanes are housekeeping, and the name of a
 * location that was noted for a refused movement is visible nowhere. */
void scratch_checksum(struct scratch *s, struct text *out);
/* Runs schema/invariants.sql, and events against the tables; adds a line for every row that breaks one. */
void scratch_invariants(struct scratch *s, struct text *findings);

#endif
