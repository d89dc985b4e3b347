/* db.c - see db.h. */
#include "engine/db/db.h"
#include "engine/base/counters.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/db/prepared.h"
#include "engine/db/storage.h"

#include <errmsg.h>
#include <fcntl.h>
#include <mysql.h>
#include <mysqld_error.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/un.h>
#include <unistd.h>

enum { CONNECT_S = 3, STANDARD_S = 30 };

/* No numbers of MariaDB's. MISFIT: the schema is another one. OTHER: an answer is none to what was asked. */
enum { MISFIT = 1, OTHER = 2 };

struct db {
	struct source      *source;
	const _Atomic bool *cluster; /* of the source: source_cluster */
	bool                owns_source;
	MYSQL              *mysql; /* NULL: not connected */
	int                 kept;  /* of source_enter */
	struct prepared     prepared;
	unsigned            silence_s;
	/* The statements that were sent and not answered yet, the oldest first; NULL: plain text. */
	const struct prepared_statement *sent[DB_AHEAD];
	size_t                           sent_rows[DB_AHEAD]; /* rows that went by prepared_send_some; 0: all at once */
	unsigned                         sent_columns[DB_AHEAD];
	size_t                           sent_count;
	unsigned         causal;  /* a bit for each of them, from the oldest: on a cluster it waits for other nodes */
	unsigned         reads;   /* the same bits: it changes nothing */
	bool             running; /* a statement's rows are being read */
	bool             streams; /* its rows are given as they arrive */
	bool             manual;  /* the session commits nothing by itself */
	bool             begun;   /* between db_begin and db_end or db_end_behind */
	int64_t          changed, last_id;
	struct db_writer writer;
	unsigned         code;       /* the last error: its number .. */
	char             error[512]; /* .. and its text */
};

/* ---- errors */

/* The classes of error codes, by what they say about the transaction. Any other code: the server refused the statement.
 */
static const struct {
	unsigned       code;
	enum db_result result;
} classes[] = {
	{ER_LOCK_DEADLOCK, DB_RETRY},
	{ER_CHECKREAD, DB_RETRY},
	{ER_LOCK_WAIT_TIMEOUT, DB_LOCKED},
	{ER_DUP_ENTRY, DB_DUPLICATE},
	/* Never at COMMIT, or with the transaction undone: the server cannot write for now, or a table is missing. */
	{ER_DISK_FULL, DB_AWAY},
	{ER_RECORD_FILE_FULL, DB_AWAY},
	{ER_OPTION_PREVENTS_STATEMENT, DB_AWAY},
	{ER_READ_ONLY_MODE, DB_AWAY},
	{ER_OPEN_AS_READONLY, DB_AWAY},
	{ER_NO_SUCH_TABLE, DB_AWAY},
	/* Prepared statements alone: too many on this server, or it has forgotten ours. A new connection may help. */
	{ER_MAX_PREPARED_STMT_COUNT_REACHED, DB_AWAY},
	{ER_UNKNOWN_STMT_HANDLER, DB_AWAY},
	{ER_NEED_REPREPARE, DB_AWAY},
	/* Not proven to come before COMMIT: no word (an error without a code), an interrupt, a server that goes down or
         * is not part of its cluster, a write that failed. */
	{0, DB_UNKNOWN},
	{ER_QUERY_INTERRUPTED, DB_UNKNOWN},
	{ER_STATEMENT_TIMEOUT, DB_UNKNOWN},
	{ER_SERVER_SHUTDOWN, DB_UNKNOWN},
	{ER_CONNECTION_KILLED, DB_UNKNOWN},
	{ER_UNKNOWN_COM_ERROR, DB_UNKNOWN},
	{ER_ERROR_ON_WRITE, DB_UNKNOWN},
	{ER_GET_ERRNO, DB_UNKNOWN},
	{ER_ERROR_DURING_COMMIT, DB_UNKNOWN},
};

static enum db_result class_of(unsigned code)
{
	for (size_t i = 0; i < LENGTH(classes); i++)
		if (classes[i].code == code)
			return classes[i].result;
	/* libmariadb's own numbers: the connection broke, or what came over it made no sense */
	if ((code >= 2000 && code < 3000) || (code >= 5000 && code < 6000))
		return DB_UNKNOWN;
	return DB_ERROR;
}

static void error_keep(struct db *db, unsigned code, const char *error)
{
	db->code = code;
	snprintf(db->error, sizeof(db->error), "%s", error && *error ? error : "an error without a text");
}

/* ---- connections */

/* mysql_init starts the library too, but not safely from two threads. */
static void library_start(void)
{
	if (mysql_library_init(0, NULL, NULL) != 0) {
		log_event(LOG_ERROR, "no_libmariadb", "error=\"libmariadb did not start\"");
		_exit(EXIT_TROUBLE);
	}
}

struct db *db_new(struct source *source)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct db            *db = mem_alloc(sizeof(*db));

	pthread_once(&once, library_start);
	db->source = source;
	db->cluster = source_cluster(source);
	db->kept = -1;
	db->silence_s = STANDARD_S;
	error_keep(db, CR_SERVER_GONE_ERROR, "not connected yet");
	return db;
}

struct db *db_new_alone(const struct db_target *target)
{
	struct db *db = db_new(source_new(target));

	db->owns_source = true;
	return db;
}

void db_free(struct db *db)
{
	if (!db)
		return;
	db_close(db);
	if (db->owns_source)
		source_free(db->source);
	free(db);
}

struct source *db_source(const struct db *db)
{
	return db->source;
}

void db_close(struct db *db)
{
	prepared_close(&db->prepared);
	if (db->mysql)
		mysql_close(db->mysql);
	source_leave(db->source, db->kept);
	db->kept = -1;
	db->mysql = NULL;
	db->sent_count = db->causal = db->reads = 0;
	db->manual = db->begun = false;
	db->writer.epoch = 0;
}

bool db_connected(const struct db *db)
{
	return db->mysql != NULL;
}

struct db_writer *db_writer(struct db *db)
{
	return &db->writer;
}

void db_silence_set(struct db *db, unsigned silence_s)
{
	db->silence_s = silence_s;
}

void db_stream(struct db *db)
{
	db->streams = true;
}

static void options_set(MYSQL *mysql, const struct db *db, const struct db_target *t)
{
	unsigned connect_s = db->silence_s && db->silence_s < CONNECT_S ? db->silence_s : CONNECT_S;

	mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &connect_s);
	mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &db->silence_s);
	mysql_options(mysql, MYSQL_OPT_WRITE_TIMEOUT, db->silence_s ? &db->silence_s : &(unsigned){STANDARD_S});
	mysql_options(mysql, MYSQL_OPT_RECONNECT, &(my_bool){0});
	mysql_options(mysql, MYSQL_OPT_LOCAL_INFILE, &(unsigned){0});
	mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	mysql_options(mysql, MYSQL_OPT_PROTOCOL, &(unsigned){*t->host ? MYSQL_PROTOCOL_TCP : MYSQL_PROTOCOL_SOCKET});
	mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &(my_bool){t->tls != DB_TLS_OFF});
	mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &(my_bool){t->tls == DB_TLS_VERIFY});
	if (t->tls != DB_TLS_OFF)
		mysql_options(mysql, MARIADB_OPT_TLS_VERSION, "TLSv1.2,TLSv1.3");
	if (t->tls == DB_TLS_VERIFY)
		mysql_options(mysql, MYSQL_OPT_SSL_CA, t->tls_ca);
	else if (*t->host) /* a false server gets no password in plain text */
		mysql_options(mysql, MARIADB_OPT_RESTRICTED_AUTH,
		              "mysql_native_password,client_ed25519,auth_gssapi_client");
	for (enum statement s = SESSION_LETTERS; s <= SESSION_NEWER; s++)
		mysql_options(mysql, MYSQL_INIT_COMMAND, statements[s].text);
}

/* A socket address holds 107 bytes: a longer path is reached through a descriptor of its folder (to be closed). */
static const char *socket_short(const char *path, char *to, size_t size, int *folder)
{
	const char *name = strrchr(path, '/');
	char        parent[sizeof(((struct db_target *)0)->socket)];

	*folder = -1;
	if (strlen(path) < sizeof(((struct sockaddr_un *)0)->sun_path) || !name)
		return path;
	snprintf(parent, sizeof(parent), "%.*s/", (int)(name - path), path);
	*folder = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*folder < 0)
		return path;
	snprintf(to, size, "/proc/self/fd/%d%s", *folder, name);
	return to;
}

static bool db_open(struct db *db)
{
	unsigned                moves = source_moves(db->source);
	const struct db_target *t = source_target(db->source);
	char                    short_path[sizeof(t->socket) + 32];
	const char             *path;
	int                     folder;
	bool                    connected;

	db_close(db);
	db->mysql = mysql_init(NULL);
	if (!db->mysql) {
		error_keep(db, CR_OUT_OF_MEMORY, "no memory for a connection");
		return false;
	}
	options_set(db->mysql, db, t);
	path = socket_short(t->socket, short_path, sizeof(short_path), &folder);
	connected = mysql_real_connect(db->mysql, *t->host ? t->host : NULL, t->user, t->password,
	                               *t->database ? t->database : NULL, t->port, *t->host ? NULL : path,
	                               CLIENT_MULTI_RESULTS) != NULL;
	if (folder >= 0)
		close(folder);
	if (!connected) {
		error_keep(db, mysql_errno(db->mysql), mysql_error(db->mysql));
		db_close(db);
		return false;
	}
	/* libmariadb goes on in plain text where the server knows no TLS and nothing is to be verified. */
	if (t->tls != DB_TLS_OFF && !mysql_get_ssl_cipher(db->mysql)) {
		error_keep(db, CR_SSL_CONNECTION_ERROR, "TLS is required, and the server speaks none");
		db_close(db);
		return false;
	}
	fcntl(mysql_get_socket(db->mysql), F_SETFD, FD_CLOEXEC);
	if (source_enter(db->source, moves, mysql_get_socket(db->mysql), &db->kept))
		return true;
	error_keep(db, CR_SERVER_LOST, "the process has moved to another host");
	db_close(db);
	return false;
}

/* ---- statements */

static const char commit[] = "COMMIT", rollback[] = "ROLLBACK";

/* Reads a result set to its end, and only then gives its rows. False: an error came instead of a row, or a row, or all
 * of them, are not what was asked for (*other). */
static bool set_read(struct db *db, int set, unsigned columns, bool *other,
                     void (*each)(void *arg, const struct db_row *row), void *arg)
{
	MYSQL_RES    *result = db->streams ? mysql_use_result(db->mysql) : mysql_store_result(db->mysql);
	struct db_row row = {.set = set, .other = other};
	bool          whole;

	if (!result)
		return false;
	row.columns = mysql_num_fields(result);
	row.fields = mysql_fetch_fields(result);
	*other = columns != DB_ANY_COLUMNS && row.columns != columns;
	while (!*other && (row.col = mysql_fetch_row(result)) != NULL) {
		row.len = mysql_fetch_lengths(result);
		if (each)
			each(arg, &row);
	}
	whole = !*other && mysql_errno(db->mysql) == 0;
	mysql_free_result(result);
	return whole;
}

/* Reads the whole answer; *sets counts the result sets that came whole. A statement that answers rows has one at least.
 */
static bool answer_read(struct db *db, unsigned columns, int *sets, bool *other,
                        void (*each)(void *arg, const struct db_row *row), void *arg)
{
	bool ok = mysql_read_query_result(db->mysql) == 0;

	while (ok) {
		int more;

		if (mysql_field_count(db->mysql) == 0)
			db->changed = (int64_t)mysql_affected_rows(db->mysql);
		else if (set_read(db, *sets, columns, other, each, arg))
			++*sets;
		else
			return false;
		more = mysql_next_result(db->mysql);
		if (more < 0) {
			*other = *sets == 0 && columns > 0 && columns != DB_ANY_COLUMNS;
			return !*other;
		}
		ok = more == 0;
	}
	return false;
}

/* Ends the connection: answers behind a wrong one are not ours, either. */
enum db_result db_answered_other(struct db *db, bool reads)
{
	error_keep(db, OTHER, "the database answers something else");
	db_close(db);
	return reads ? DB_ERROR : DB_UNKNOWN;
}

/* The result of a statement that failed. An error after a whole result set came after a COMMIT, perhaps. */
static enum db_result failed(struct db *db, unsigned code, const char *error, int sets, bool causal)
{
	enum db_result result;

	error_keep(db, code, error);
	result = sets ? DB_UNKNOWN : class_of(code);
	if (result == DB_LOCKED && causal && *db->cluster)
		result = DB_AWAY; /* no row was waited for, but nodes that say nothing; and no transaction is open */
	if (storage_fault(db->source, code, db->error) && result == DB_ERROR)
		result = DB_UNKNOWN; /* a file that could not be written may be one of the COMMIT */
	if (result == DB_RETRY)
		counter_add(COUNT_DEADLOCKS, 1);
	if (result == DB_UNKNOWN || result == DB_AWAY)
		db_close(db);
	return result;
}

/* The server begins a statement when it has the last byte. A send that fails has kept back at least this byte. */
static enum db_result not_sent(struct db *db)
{
	error_keep(db, mysql_errno(db->mysql), mysql_error(db->mysql));
	db_close(db);
	return DB_AWAY;
}

static enum db_result text_put(struct db *db, const char *sql, unsigned columns)
{
	assert(!db->running && db->sent_count < DB_AHEAD);
	if (!db->mysql)
		return DB_AWAY;
	if (mysql_send_query(db->mysql, sql, strlen(sql)) != 0)
		return not_sent(db);
	if (sql != commit && sql != rollback) {
		db->causal |= (unsigned)sql_is_causal(sql) << db->sent_count;
		db->reads |= (unsigned)sql_is_read(sql) << db->sent_count;
	}
	db->sent_columns[db->sent_count] = columns;
	db->sent_rows[db->sent_count] = 0;
	db->sent[db->sent_count++] = NULL;
	return DB_OK;
}

/* Reads all answers to a prepared statement. The first that is none tells why; those behind it are read, too. */
static enum db_result prepared_answer(struct db *db, const struct prepared_statement *s, size_t rows)
{
	enum db_result result = DB_OK;
	size_t         took;
	bool           other;

	for (size_t at = 0; (at == 0 || at < rows) && db->mysql; at += took) {
		MYSQL_STMT *stmt;

		took = rows ? prepared_takes(s, rows - at) : 1;
		stmt = prepared_of(s, took);
		db->mysql->net.last_errno = 0; /* the library clears the error before it when it sends */
		if (!prepared_read(stmt, &other)) {
			enum db_result one = failed(db, mysql_stmt_errno(stmt), mysql_stmt_error(stmt), 0, false);

			result = result == DB_OK ? one : result;
			continue;
		}
		if (other)
			return db_answered_other(db, false);
		db->changed += (int64_t)mysql_stmt_affected_rows(stmt);
		db->last_id = (int64_t)mysql_stmt_insert_id(stmt);
	}
	if (result != DB_OK)
		db->changed = -1;
	return result;
}

static enum db_result oldest_answer(struct db *db, void (*each)(void *arg, const struct db_row *row), void *arg)
{
	const struct prepared_statement *prepared = db->sent[0];

	size_t rows = db->sent_rows[0];
	int    sets = 0;
	bool   ok, causal = db->causal & 1, reads = db->reads & 1, other = false;

	unsigned columns = db->sent_columns[0];

	db->causal >>= 1;
	db->reads >>= 1;
	db->sent_count--;
	memmove(db->sent, db->sent + 1, db->sent_count * sizeof(*db->sent));
	memmove(db->sent_rows, db->sent_rows + 1, db->sent_count * sizeof(*db->sent_rows));
	memmove(db->sent_columns, db->sent_columns + 1, db->sent_count * sizeof(*db->sent_columns));
	db->changed = 0;
	if (prepared)
		return prepared_answer(db, prepared, rows);
	db->mysql->net.last_errno = 0;
	db->running = true;
	ok = answer_read(db, columns, &sets, &other, each, arg);
	db->running = false;
	if (other)
		return db_answered_other(db, reads);
	return ok ? DB_OK : failed(db, mysql_errno(db->mysql), mysql_error(db->mysql), sets, causal);
}

/* The first transaction of a connection turns autocommit off and waits for the answer: an interrupt may hit that
 * statement, too, and no step behind it may commit by itself. */
static enum db_result session_follow(struct db *db)
{
	if (db->manual || !db->begun)
		return DB_OK;
	db->manual = text_put(db, "SET autocommit = 0", 0) == DB_OK && oldest_answer(db, NULL, NULL) == DB_OK;
	if (db->manual)
		return DB_OK;
	db_close(db);
	return DB_AWAY; /* nothing of the transaction was sent */
}

enum db_result db_send(struct db *db, const char *sql, unsigned columns)
{
	enum db_result result = session_follow(db);

	return result == DB_OK ? text_put(db, sql, columns) : result;
}

enum db_result db_prepare(struct db *db, const char *sql)
{
	char     error[sizeof(db->error)];
	unsigned code;
	bool     other;

	assert(db->sent_count == 0);
	if (!db->mysql)
		return DB_AWAY;
	if (prepared_find(&db->prepared, sql) ||
	    prepared_make(&db->prepared, db->mysql, sql, *db->cluster, &other, &code, error, sizeof(error)))
		return DB_OK;
	if (other)
		return db_answered_other(db, true);
	return failed(db, code, error, 0, false);
}

/* Several rows go in one execution, but for a node of a cluster: there a batch of rows that another node's write has
 * aborted is answered as if it had been done, and what follows it is committed without what came before it (9 of 203
 * batches beside a writer on another node). A statement by itself is answered with the error. */
enum db_result db_send_values(struct db *db, const char *sql, const struct values *values)
{
	const struct prepared_statement *s = prepared_find(&db->prepared, sql);

	bool           apart = *db->cluster;
	enum db_result result = session_follow(db);

	assert(!db->running && db->sent_count < DB_AHEAD);
	if (result != DB_OK || !db->mysql)
		return DB_AWAY;
	assert(s && values->rows > 0);
	if (!apart && !prepared_send(s, values))
		return not_sent(db);
	for (size_t at = 0; apart && at < values->rows; at += prepared_takes(s, values->rows - at))
		if (!prepared_send_some(s, values, at))
			return not_sent(db);
	db->sent_rows[db->sent_count] = apart ? values->rows : 0;
	db->reads &= ~(1U << db->sent_count);
	db->sent[db->sent_count++] = s;
	return DB_OK;
}

enum db_result db_answer(struct db *db, void (*each)(void *arg, const struct db_row *row), void *arg)
{
	db->changed = 0;
	if (!db->mysql)
		return DB_AWAY;
	assert(db->sent_count > 0);
	return oldest_answer(db, each, arg);
}

void db_begin(struct db *db)
{
	assert(!db->begun);
	db->begun = db->mysql != NULL;
}

enum db_result db_end(struct db *db, bool commits)
{
	enum db_result result = db_text(db, commits ? commit : rollback, NULL, NULL);

	if (result == DB_OK)
		db->begun = false;
	return result;
}

void db_end_behind(struct db *db)
{
	assert(db->sent_count == 0 && (db->manual || !db->mysql));
	db->begun = false;
}

/* The ending of a statement that is no part of a transaction, where the session commits nothing by itself. NULL: a
 * compound ends its own transactions. Where an interrupt has left the rest of one, nothing may commit it. */
static const char *ending(const char *sql)
{
	if (strncmp(sql, "BEGIN", 5) == 0)
		return NULL;
	return strncmp(sql, "INSERT", 6) == 0 || strncmp(sql, "UPDATE", 6) == 0 || strncmp(sql, "DELETE", 6) == 0
	               ? commit
	               : rollback;
}

/* A compound, or a read under locks, may have waited for a row or for other nodes: both end with the same error. A read
 * that waits for no row tells which it was, and the connection is gone where the nodes say nothing to it, either. */
static bool in_vain(struct db *db, const char *sql)
{
	return *db->cluster && ending(sql) != commit && db_text(db, "SELECT 1", NULL, NULL) != DB_OK && !db->mysql;
}

/* Statement and ending go in one trip. */
enum db_result db_query(struct db *db, const char *sql, unsigned columns,
                        void (*each)(void *arg, const struct db_row *row), void *arg)
{
	const char    *end = db->manual && !db->begun ? ending(sql) : NULL;
	enum db_result result = db_send(db, sql, columns), ended = DB_OK;
	int64_t        changed;

	assert(db->sent_count <= 1);
	if (result == DB_OK && end)
		result = text_put(db, end, 0);
	if (result != DB_OK)
		return result;
	result = db_answer(db, each, arg);
	changed = db->changed;
	if (end && db->mysql)
		ended = oldest_answer(db, NULL, NULL);
	db->changed = changed;
	if (result == DB_LOCKED && in_vain(db, sql))
		result = DB_AWAY;
	return result == DB_OK ? ended : result;
}

enum db_result db_ask(struct db *db, enum statement name, const struct fill *fill,
                      void (*each)(void *arg, const struct db_row *row), void *arg)
{
	struct text    sql = {0};
	enum db_result result;

	statement_add(&sql, name, fill);
	result = db_query(db, sql.data, statements[name].columns, each, arg);
	text_fini(&sql);
	return result;
}

/* ---- the schema */

const char *db_other_schema(const struct db *db)
{
	return source_other_schema(db->source);
}

bool db_misfits(const struct db *db)
{
	return db->code == MISFIT;
}

bool db_has_answered_other(const struct db *db)
{
	return db->code == OTHER;
}

enum { COMPLETE, BEGUN, KINDS }; /* the newest version of each kind; 0 or less: none */

static void schema_refuse(struct db *db, const int64_t *found)
{
	int  needed = source_schema(db->source);
	bool in_the_making = found[BEGUN] > 0 && found[BEGUN] == found[COMPLETE];

	db_close(db);
	db->code = MISFIT;
	snprintf(db->error, sizeof(db->error), "the database has schema version %lld%s, this program needs %d: %s",
	         (long long)found[COMPLETE],
	         in_the_making                    ? ", but not all of it"
	         : found[BEGUN] > found[COMPLETE] ? " and is half-way to a newer one"
	                                          : "",
	         needed,
	         found[COMPLETE] < needed || (found[COMPLETE] == needed && in_the_making)
	                 ? "run `holdfast migrate`"
	                 : "it was migrated by a newer holdfast; `migrate` goes forward only");
	if (found[COMPLETE] > 0 && !in_the_making)
		source_other_schema_set(db->source, db->error);
}

bool db_check(struct db *db)
{
	int64_t        found[KINDS] = {0};
	int            needed = source_schema(db->source);
	enum db_result result =
		needed ? db_ask(db, SCHEMA_READ, NULL, db_ints, found) : db_text(db, "DO 1", NULL, NULL);

	if (result == DB_OK && (needed == 0 || (found[COMPLETE] == needed && found[BEGUN] <= 0)))
		return true;
	if (result == DB_OK || db->code == ER_NO_SUCH_TABLE)
		schema_refuse(db, found);
	db_close(db);
	return false;
}

bool db_connect(struct db *db)
{
	struct source_memory memory = source_memory(db->source);

	if (!db_open(db) || (source_schema(db->source) != 0 && !db_check(db)))
		return false;
	if (memory.compare && !memory.compare(memory.arg, db))
		db_close(db);
	return db_connected(db);
}

const char *db_error(const struct db *db)
{
	return db->error;
}

bool db_refused(const struct db *db)
{
	static const unsigned codes[] = {ER_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR,
	                                 ER_DBACCESS_DENIED_ERROR, ER_BAD_DB_ERROR, ER_HOST_NOT_PRIVILEGED};

	for (size_t i = 0; i < LENGTH(codes); i++)
		if (db->code == codes[i])
			return true;
	return false;
}

bool db_not_serving(const struct db *db)
{
	static const unsigned codes[] = {CR_CONNECTION_ERROR,          CR_CONN_HOST_ERROR, CR_UNKNOWN_HOST,
	                                 ER_UNKNOWN_COM_ERROR,         ER_SERVER_SHUTDOWN, ER_ERROR_DURING_COMMIT,
	                                 ER_OPTION_PREVENTS_STATEMENT, ER_READ_ONLY_MODE};

	for (size_t i = 0; i < LENGTH(codes); i++)
		if (db->code == codes[i])
			return true;
	return false;
}

bool db_full(const struct db *db)
{
	return storage_refused(db->code, db->error);
}

bool db_refused_row(const struct db *db)
{
	return db->code == ER_CONSTRAINT_FAILED || db->code == ER_WARN_DATA_OUT_OF_RANGE ||
	       db->code == ER_DATA_OUT_OF_RANGE;
}

bool db_denied(const struct db *db)
{
	return db->code == ER_DBACCESS_DENIED_ERROR || db->code == ER_TABLEACCESS_DENIED_ERROR ||
	       db->code == ER_SPECIFIC_ACCESS_DENIED_ERROR;
}

unsigned db_errno(const struct db *db)
{
	return db->code;
}

int64_t db_changed(const struct db *db)
{
	return db->changed;
}

int64_t db_last_id(const struct db *db)
{
	return db->last_id;
}
