/* db.c against a real MariaDB: the session, rows and result sets, what becomes of errors, a server that is gone or
 * silent. Each test has a private server of its own, because some of them stop it. */
#include "engine/base/clock.h"
#include "engine/db/checks.h"
#include "engine/db/db.h"
#include "engine/server/embedded.h"
#include "tests/kit/proxy.h"
#include "tests/kit/scratch.h"
#include "tests/kit/server.h"
#include "tests/kit/patience.h"
#include "tests/kit/program.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static char             dir[SCRATCH_FOLDER_BYTES + 16];
static struct embedded *server;
static struct db       *one, *two; /* connected */

static struct db *connection(void)
{
	struct db *db = db_new_alone(embedded_target(server));

	cr_assert(db_connect(db), "%s", db_error(db));
	return db;
}

static void setup(void)
{
	char why[1024];

	scratch_folder(dir, sizeof(dir));
	server_data(strcat(dir, "/var"));
	embedded_pool(SERVER_POOL_MIB);
	cr_assert(embedded_open(&server, dir, EMBEDDED_SERVE, why, sizeof(why)) == EXIT_DONE, "%s", why);
	one = connection();
	two = connection();
	cr_assert(db_text(one, "CREATE TABLE t (n INT PRIMARY KEY, s VARCHAR(20)) ENGINE=InnoDB", NULL, NULL) == DB_OK);
	cr_assert(db_text(one, "INSERT INTO t VALUES (1, 'one'), (2, NULL), (3, 'a\\0b')", NULL, NULL) == DB_OK);
}

static void teardown(void)
{
	db_free(one);
	db_free(two);
	embedded_close(server);
	*strrchr(dir, '/') = '\0';
	scratch_remove(dir);
}

TestSuite(db, .init = setup, .fini = teardown);

/* Rows as text: sets split by `|`, rows by a space, columns by a comma; a NUL in a value is shown as 0. */
static void row_write(void *arg, const struct db_row *row)
{
	struct text *t = arg;
	static int   set;

	if (t->len)
		text_char(t, row->set == set ? ' ' : '|');
	set = row->set;
	for (unsigned i = 0; i < row->columns; i++) {
		if (i)
			text_char(t, ',');
		if (!row->col[i])
			text_add(t, "NULL");
		for (unsigned long j = 0; row->col[i] && j < row->len[i]; j++)
			text_char(t, row->col[i][j] ? row->col[i][j] : '0');
	}
}

static void says(const char *sql, const char *rows)
{
	struct text t = {0};

	cr_assert(db_text(one, sql, row_write, &t) == DB_OK, "%s: %s", sql, db_error(one));
	cr_expect_str_eq(t.data ? t.data : "", rows);
	text_fini(&t);
}

static void number_keep(void *arg, const struct db_row *row)
{
	*(int64_t *)arg = db_int(row, 0);
}

static long connection_id(struct db *db)
{
	int64_t id = 0;

	cr_assert(db_text(db, "SELECT CONNECTION_ID()", number_keep, &id) == DB_OK);
	return (long)id;
}

static long server_pid(void)
{
	char  path[128];
	FILE *file;
	long  pid = 0;

	snprintf(path, sizeof(path), "%s/mariadbd.pid", dir);
	cr_assert_not_null(file = fopen(path, "r"));
	cr_assert(fscanf(file, "%ld", &pid) == 1 && pid > 0);
	fclose(file);
	return pid;
}

/* ---- a statement in a second thread */

enum { PAUSE_US = 10000 };

struct errand {
	struct db     *db;
	const char    *sql;
	enum db_result result;
	pthread_t      thread;
};

static void *errand_run(void *arg)
{
	struct errand *errand = arg;

	errand->result = db_text(errand->db, errand->sql, NULL, NULL);
	return NULL;
}

/* Returns when the statement has run for a while, so that it waits for something. */
static void errand_start(struct errand *errand)
{
	int64_t     from_ms = clock_ms(), runs = 0;
	struct text sql = {0};

	text_format(&sql,
	            "SELECT COUNT(*) FROM information_schema.processlist WHERE id = %ld AND command = 'Query'"
	            " AND time_ms > 100",
	            connection_id(errand->db));
	cr_assert(pthread_create(&errand->thread, NULL, errand_run, errand) == 0);
	while (!runs && !patience_is_over(from_ms, PATIENCE_MS)) {
		usleep(PAUSE_US);
		cr_assert(db_text(one, sql.data, number_keep, &runs) == DB_OK, "%s", db_error(one));
	}
	cr_assert(runs, "the statement does not wait after %d ms: %s", (int)(clock_ms() - from_ms), errand->sql);
	text_fini(&sql);
}

static enum db_result errand_end(struct errand *errand)
{
	cr_assert(pthread_join(errand->thread, NULL) == 0);
	return errand->result;
}

static void kill_sql(const char *what, long id)
{
	struct text sql = {0};

	text_format(&sql, "KILL %s %ld", what, id);
	cr_assert(db_text(one, sql.data, NULL, NULL) == DB_OK, "%s", db_error(one));
	text_fini(&sql);
}

/* ---- tests */

Test(db, session_and_rows)
{
	says("SELECT @@tx_isolation, @@autocommit, @@time_zone, @@innodb_lock_wait_timeout, @@lock_wait_timeout,"
	     " @@idle_transaction_timeout, @@max_statement_time, @@character_set_connection, @@local_infile,"
	     " @@sql_mode LIKE '%STRICT_ALL_TABLES%'",
	     "READ-COMMITTED,1,+00:00,2,2,5,0.000000,utf8mb4,0,1");
	says("SELECT * FROM t ORDER BY n", "1,one 2,NULL 3,a0b");
	says("BEGIN NOT ATOMIC SELECT 1; UPDATE t SET s = 'two' WHERE n = 2; SELECT 2; SELECT 3 WHERE 0; SELECT 4; END",
	     "1|2|4");
	says("SELECT LENGTH(x) FROM (SELECT REPEAT('x', 10000000) AS x UNION SELECT 'y') big", "10000000 1");
	cr_expect(db_text(one, "UPDATE t SET s = 'x' WHERE n > 1", NULL, NULL) == DB_OK && db_changed(one) == 2);
	cr_expect(db_text(one, "BEGIN NOT ATOMIC SELECT seq FROM seq_1_to_100000; SELECT 2; END", NULL, NULL) == DB_OK);
	says("SELECT 5", "5");
	cr_expect(db_text(one, "SELECT 1; SELECT 2", NULL, NULL) == DB_ERROR, "two statements in one must not run");
}

/* Rows (n, bytes of s, seconds after @t) for a prepared statement. */
static void values_fill(struct values *v, const int64_t *numbers, const char *const *texts, size_t rows)
{
	values_reset(v);
	for (size_t i = 0; i < rows; i++) {
		values_row(v, V_INT(numbers[i]), V_BYTES(texts[i], strlen(texts[i])), V_INT(600));
	}
}

static enum db_result execute(const char *sql, const struct values *v)
{
	enum db_result result = db_prepare(one, sql);

	if (result == DB_OK)
		result = db_send_values(one, sql, v);
	return result == DB_OK ? db_answer(one, NULL, NULL) : result;
}

Test(db, prepared_statements)
{
	static const char insert[] = "INSERT INTO p VALUES (?, ?, @t + INTERVAL ? SECOND)",
			  raise[] = "UPDATE p SET n = n + ? WHERE s = ? AND at = @t + INTERVAL ? SECOND",
			  tells[] =
				  "UPDATE p SET n = LAST_INSERT_ID(n + ?) WHERE s = ? AND at = @t + INTERVAL ? SECOND";
	struct values v = {0};

	cr_assert(db_text(one, "CREATE TABLE p (n BIGINT PRIMARY KEY, s VARBINARY(20), at DATETIME(3)) ENGINE=InnoDB",
	                  NULL, NULL) == DB_OK);
	cr_assert(db_text(one, "SET @t = TIMESTAMP'2026-12-31 23:49:59.999'", NULL, NULL) == DB_OK);
	values_fill(&v, (int64_t[]){-1, INT64_MAX, 7}, (const char *[]){"", "'\"\\", "seven"}, 3);
	cr_expect(execute(insert, &v) == DB_OK && db_changed(one) == 3, "%s", db_error(one));
	says("SELECT n, s, at FROM p ORDER BY n", "-1,,2026-12-31 23:59:59.999 7,seven,2026-12-31 23:59:59.999 "
	                                          "9223372036854775807,'\"\\,2026-12-31 23:59:59.999");
	values_fill(&v, (int64_t[]){1}, (const char *[]){"seven"}, 1);
	cr_expect(execute(raise, &v) == DB_OK && db_changed(one) == 1, "one row after many");
	values_fill(&v, (int64_t[]){1, 1, 1}, (const char *[]){"seven", "eight", ""}, 3);
	cr_expect(execute(raise, &v) == DB_OK && db_changed(one) == 2, "changes are counted over all rows of values");
	values_fill(&v, (int64_t[]){-1, -1}, (const char *[]){"seven", ""}, 2);
	cr_expect(execute(raise, &v) == DB_OK && db_changed(one) == 2, "%s", db_error(one));
	values_fill(&v, (int64_t[]){20, 8, 21}, (const char *[]){"a", "twice", "b"}, 3);
	cr_expect(execute(insert, &v) == DB_DUPLICATE && db_errno(one) == 1062, "8 is there");
	values_fill(&v, (int64_t[]){INT64_C(1798761600000)}, (const char *[]){"seven"}, 1);
	cr_expect(execute(tells, &v) == DB_OK && db_changed(one) == 1, "%s", db_error(one));
	cr_expect_eq(db_last_id(one), INT64_C(1798761600008));
	db_close(one);
	cr_expect(execute(insert, &v) == DB_AWAY);
	cr_assert(db_connect(one), "%s", db_error(one));
	values_fill(&v, (int64_t[]){40, 41}, (const char *[]){"x", "y"}, 2);
	cr_expect(execute(insert, &v) == DB_OK, "prepared anew on a new connection");
	cr_expect(execute("SELECT nothing FROM p WHERE n = ? OR s = ? OR at = ?", &v) == DB_ERROR);
	values_fini(&v);
}

/* How many executions it takes. */
static int64_t executions(const char *sql, const struct values *v)
{
	static const char sent[] = "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS"
				   " WHERE VARIABLE_NAME = 'COM_STMT_EXECUTE'";
	int64_t           before, after;

	cr_assert(db_text(one, sent, number_keep, &before) == DB_OK);
	cr_expect(execute(sql, v) == DB_OK && db_changed(one) == (int64_t)v->rows, "%s", db_error(one));
	cr_assert(db_text(one, sent, number_keep, &after) == DB_OK);
	return after - before;
}

/* On a node of a cluster rows go in statements of 16, 4 and one, not in bulk: a bulk that another node aborts in its
 * midst is told as done, and what follows it would be committed without it. */
Test(db, statements_of_several_rows_on_a_cluster)
{
	/* Statements are known by where they stand. */
	static const char insert[2][70] = {"INSERT INTO p VALUES (?, ?, @t + INTERVAL ? SECOND, (1 + 1))",
	                                   "INSERT INTO p VALUES (?, ?, @t + INTERVAL ? SECOND, (1 + 1))"},
			  raise[2][70] = {"UPDATE p SET two = 3 WHERE n = ?", "UPDATE p SET two = 3 WHERE n = ?"};
	char          texts[32][8];
	struct values v = {0};

	cr_assert(db_text(one,
	                  "CREATE TABLE p (n BIGINT PRIMARY KEY, s VARBINARY(20), at DATETIME(3), two INT)"
	                  " ENGINE=InnoDB",
	                  NULL, NULL) == DB_OK);
	cr_assert(db_text(one, "SET @t = TIMESTAMP'2026-12-31 23:49:59.999'", NULL, NULL) == DB_OK);
	for (int cluster = 0; cluster < 2; cluster++) {
		if (cluster)
			source_node_set(db_source(one), &(struct node){.name = "n1"});
		cr_assert(db_text(one, "DELETE FROM p", NULL, NULL) == DB_OK);
		values_reset(&v);
		for (int i = 0; i < 23; i++) {
			snprintf(texts[i], sizeof(texts[i]), "%.*s", i % 4, "'\"\\");
			values_row(&v, V_INT(i), V_BYTES(texts[i], strlen(texts[i])), V_INT(i));
		}
		cr_expect_eq(executions(insert[cluster], &v), cluster ? 1 + 1 + 3 : 1);
		says("SELECT COUNT(*), SUM(two), SUM(s = LEFT('\\'\"\\\\', n % 4)),"
		     " SUM(at = TIMESTAMP'2026-12-31 23:49:59.999' + INTERVAL n SECOND) FROM p",
		     "23,46,23,23");
		values_reset(&v);
		for (int i = 0; i < 5; i++)
			values_row(&v, V_INT(i));
		cr_expect_eq(executions(raise[cluster], &v), 5); /* the server counts rows of an UPDATE */
		values_reset(&v);
		for (int i = 0; i < 6; i++)
			values_row(&v, V_INT(i == 2 ? 7 : 100 + i), V_BYTES("", 0), V_INT(0));
		cr_expect(execute(insert[cluster], &v) == DB_DUPLICATE && db_changed(one) == -1, "one of six is there");
	}
	values_fini(&v);
}

/* On a node of a cluster a compound that was not given a row in time has waited for other nodes, perhaps: a read tells,
 * which waits for them alone. Of a write it was a row. */
Test(db_alone, waits_of_compounds_on_a_cluster)
{
	static const char locked[] = "BEGIN NOT ATOMIC SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205; END",
			  write[] = "UPDATE t SET n = 2";
	struct scratch   s = {0};
	struct db_target target;
	struct proxy    *proxy;
	struct db       *db, *other;

	scratch_open(&s);
	proxy = proxy_open(&s);
	target = s.target;
	snprintf(target.socket, sizeof(target.socket), "%s", s.link);
	snprintf(target.database, sizeof(target.database), "%s", s.name);
	db = db_new_alone(&target);
	other = scratch_connection(&s);
	cr_assert(db_connect(db), "%s", db_error(db));
	cr_assert(db_text(db, "CREATE TABLE t (n INT) ENGINE=InnoDB", NULL, NULL) == DB_OK &&
	          db_text(db, "INSERT INTO t VALUES (1)", NULL, NULL) == DB_OK);
	for (int cluster = 0; cluster < 2; cluster++) {
		if (cluster)
			source_node_set(db_source(db), &(struct node){.name = "n1"});
		cr_expect(db_text(db, locked, NULL, NULL) == DB_LOCKED && db_errno(db) == 1205, "%s", db_error(db));
		proxy_arm(proxy, BREACH_MUTE, "SELECT 1");
		cr_expect(db_text(db, locked, NULL, NULL) == (cluster ? DB_AWAY : DB_LOCKED), "%s", db_error(db));
		cr_expect(db_connected(db) == !cluster && proxy_disarm(proxy) == (cluster > 0));
	}
	cr_assert(db_connect(db), "%s", db_error(db));
	cr_assert(db_text(other, "START TRANSACTION", NULL, NULL) == DB_OK &&
	          db_text(other, write, NULL, NULL) == DB_OK);
	proxy_arm(proxy, BREACH_MUTE, "SELECT 1");
	cr_expect(db_text(db, write, NULL, NULL) == DB_LOCKED && !proxy_disarm(proxy), "%s", db_error(db));
	db_free(other);
	db_free(db);
	proxy_close(proxy);
	scratch_close(&s);
}

/* Sent one behind the other; one that fails does not stop those behind it. */
Test(db, several_at_once)
{
	static const char insert[] = "INSERT INTO p VALUES (?)", *const texts[] = {"SELECT 1", "SELECT nothing",
	                                                                           "SELECT 3"};
	struct values v = {0};
	struct text   t = {0};

	cr_assert(db_text(one, "CREATE TABLE p (n BIGINT PRIMARY KEY) ENGINE=InnoDB", NULL, NULL) == DB_OK);
	cr_assert(db_prepare(one, insert) == DB_OK);
	for (int again = 0; again < 2; again++) {
		values_reset(&v);
		values_row(&v, V_INT(7));
		cr_assert(db_send(one, texts[0], DB_ANY_COLUMNS) == DB_OK && db_send_values(one, insert, &v) == DB_OK &&
		          db_send(one, texts[1], DB_ANY_COLUMNS) == DB_OK &&
		          db_send(one, texts[2], DB_ANY_COLUMNS) == DB_OK);
		text_reset(&t);
		cr_expect(db_answer(one, row_write, &t) == DB_OK, "%s", db_error(one));
		cr_expect(db_answer(one, NULL, NULL) == (again ? DB_DUPLICATE : DB_OK) &&
		                  db_changed(one) == (again ? -1 : 1),
		          "%d changed", (int)db_changed(one));
		cr_expect(db_answer(one, NULL, NULL) == DB_ERROR);
		cr_expect(db_answer(one, row_write, &t) == DB_OK, "%s", db_error(one));
		cr_expect_str_eq(t.data, "1 3");
	}
	db_close(one);
	cr_expect(db_send(one, "DO 1", DB_ANY_COLUMNS) == DB_AWAY && db_answer(one, NULL, NULL) == DB_AWAY);
	text_fini(&t);
	values_fini(&v);
}

/* The number of rows from 10 on that `two` sees; a statement that is no part of a transaction. */
static int64_t seen(void)
{
	int64_t count = -1;

	cr_assert(db_text(two, "SELECT COUNT(*) FROM t WHERE n >= 10", number_keep, &count) == DB_OK);
	return count;
}

Test(db, transactions)
{
	static const char set[] = "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS"
				  " WHERE VARIABLE_NAME = 'COM_SET_OPTION'";
	int64_t           before, after;

	cr_assert(db_text(one, set, number_keep, &before) == DB_OK);
	for (int i = 0; i < 3; i++) {
		db_begin(one);
		cr_assert(db_send(one, "INSERT INTO t VALUES (10, 'ten')", DB_ANY_COLUMNS) == DB_OK &&
		          db_send(one, i == 1 ? "ROLLBACK" : "SELECT nothing", DB_ANY_COLUMNS) ==
		                  DB_OK && /* as a deadlock does */
		          db_send(one, "INSERT INTO t VALUES (11, 'eleven')", DB_ANY_COLUMNS) == DB_OK);
		cr_expect(db_answer(one, NULL, NULL) == DB_OK &&
		          db_answer(one, NULL, NULL) == (i == 1 ? DB_OK : DB_ERROR) &&
		          db_answer(one, NULL, NULL) == DB_OK);
		cr_expect_eq(seen(), 0);
		cr_assert(db_end(one, i == 2) == DB_OK);
		cr_expect_eq(seen(), i == 2 ? 2 : 0);
	}
	cr_assert(db_text(one, set, number_keep, &after) == DB_OK);
	cr_expect_eq(after, before + 1, "the first has one to say");
	cr_assert(db_text(one, "INSERT INTO t VALUES (12, 'by itself')", NULL, NULL) == DB_OK && db_changed(one) == 1);
	cr_expect_eq(seen(), 3);
	db_begin(one);
	cr_assert(db_text(one, "DELETE FROM t WHERE n >= 10", NULL, NULL) == DB_OK);
	db_close(one);
	cr_expect(db_end(one, true) == DB_AWAY);
	cr_assert(db_connect(one), "%s", db_error(one));
	cr_assert(db_text(one, "DELETE FROM t WHERE n = 12", NULL, NULL) == DB_OK);
	cr_expect_eq(seen(), 2, "nothing of the transaction, and by itself again");
}

Test(db, errors_of_statements)
{
	static const struct {
		const char    *sql;
		enum db_result result;
		unsigned       code;
	} cases[] = {
		{"INSERT INTO t VALUES (1, 'again')", DB_DUPLICATE, 1062},
		{"SELECT nothing FROM t", DB_ERROR, 1054},
		{"no sql at all", DB_ERROR, 1064},
		{"INSERT INTO t VALUES (7, REPEAT('x', 30))", DB_ERROR, 1406},
		{"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1213", DB_RETRY, 1213},
		{"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1020", DB_RETRY, 1020},
		{"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1205", DB_LOCKED, 1205},
		{"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1317", DB_UNKNOWN, 1317},
		{"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1053", DB_UNKNOWN, 1053},
		{"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1927", DB_UNKNOWN, 1927},
		{"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1047", DB_UNKNOWN, 1047},
		{"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1290", DB_AWAY, 1290},
		{"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1021", DB_AWAY, 1021},
		{"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1114", DB_AWAY, 1114},
		{"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1180", DB_UNKNOWN, 1180},
		{"INSERT INTO nowhere VALUES (1)", DB_AWAY, 1146},
		{"BEGIN NOT ATOMIC SELECT 1; SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1114; END", DB_UNKNOWN, 1114},
		{"SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 2014", DB_UNKNOWN, 2027},
		{"BEGIN NOT ATOMIC SELECT 1; SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1062; END", DB_UNKNOWN, 1062},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		enum db_result result = db_text(one, cases[i].sql, NULL, NULL);

		cr_expect(result == cases[i].result && db_errno(one) == cases[i].code, "%s: %d, %u %s", cases[i].sql,
		          (int)result, db_errno(one), db_error(one));
		cr_expect(db_connected(one) == (result != DB_UNKNOWN && result != DB_AWAY), "%s", cases[i].sql);
		if (!db_connected(one)) {
			cr_expect(db_text(one, "SELECT 1", NULL, NULL) == DB_AWAY);
			cr_assert(db_connect(one), "%s", db_error(one));
		}
	}
}

Test(db, locks_and_deadlocks)
{
	struct errand errand = {.db = two, .sql = "UPDATE t SET s = 'z' WHERE n = 1"};

	cr_assert(db_text(one, "START TRANSACTION", NULL, NULL) == DB_OK);
	cr_assert(db_text(one, "UPDATE t SET s = 'y' WHERE n = 1", NULL, NULL) == DB_OK);
	cr_expect(db_text(two, errand.sql, NULL, NULL) == DB_LOCKED);
	cr_assert(db_text(two, "START TRANSACTION", NULL, NULL) == DB_OK);
	cr_assert(db_text(two, "UPDATE t SET s = 'y' WHERE n = 2", NULL, NULL) == DB_OK);
	errand_start(&errand);
	cr_expect((db_text(one, "UPDATE t SET s = 'x' WHERE n = 2", NULL, NULL) == DB_RETRY) !=
	          (errand_end(&errand) == DB_RETRY));
}

Test(db, kills)
{
	struct errand errand = {.db = two, .sql = "BEGIN NOT ATOMIC SELECT 1 FROM t WHERE SLEEP(5); END"};
	long          id = connection_id(two);

	errand_start(&errand); /* the statement is interrupted .. */
	kill_sql("QUERY", id);
	cr_expect(errand_end(&errand) == DB_UNKNOWN && !db_connected(two), "%u %s", db_errno(two), db_error(two));
	cr_assert(db_connect(two));
	errand.sql = "DO SLEEP(5)"; /* .. or its connection .. */
	kill_sql("HARD", connection_id(two));
	cr_expect(db_text(two, "SELECT 1", NULL, NULL) >= DB_AWAY && !db_connected(two));
	cr_assert(db_connect(two));
	errand_start(&errand); /* .. or the whole server while it runs .. */
	cr_assert(kill((pid_t)server_pid(), SIGKILL) == 0);
	cr_expect(errand_end(&errand) == DB_UNKNOWN && !db_connected(two));
	usleep((useconds_t)patience_ms(200) * 1000);                                      /* until it is gone */
	cr_expect(db_text(one, "SELECT 1", NULL, NULL) == DB_AWAY && !db_connected(one)); /* .. or between two */
	for (int64_t from_ms = clock_ms(); !db_connect(one) && !patience_is_over(from_ms, PATIENCE_MS);)
		usleep(PAUSE_US);
	says("SELECT COUNT(*) FROM t", "3");
}

/* The connection waits for a second, and not without end. */
Test(db, a_silent_server)
{
	long    pid = server_pid();
	int64_t from_ms;

	db_silence_set(one, 1);
	cr_assert(db_connect(one));
	program_signal((pid_t)pid, SIGSTOP);
	from_ms = clock_ms();
	cr_expect(db_text(one, "SELECT 1", NULL, NULL) == DB_UNKNOWN && !db_connected(one));
	cr_expect(!db_connect(one));
	cr_expect(!patience_is_over(from_ms, PATIENCE_MS / 2), "it took %d ms", (int)(clock_ms() - from_ms));
	cr_assert(kill((pid_t)pid, SIGCONT) == 0);
	cr_expect(db_connect(one), "%s", db_error(one));
}

Test(db, doctor)
{
	struct text findings = {0};

	cr_expect(db_doctor(one, &findings) == 0, "%s", findings.data);
	says("SET GLOBAL innodb_flush_log_at_trx_commit = 2, GLOBAL max_allowed_packet = 1048576, GLOBAL read_only = 1,"
	     " GLOBAL innodb_deadlock_detect = 0, GLOBAL max_prepared_stmt_count = 10, GLOBAL wait_timeout = 1,"
	     " GLOBAL init_connect = 'SET autocommit = 0'",
	     "");
	cr_assert(db_connect(one));
	cr_expect(db_doctor(one, &findings) == 7);
	cr_expect_str_eq(findings.data,
	                 "innodb_flush_log_at_trx_commit is 2; it should be 1, or a crash undoes promises\n"
	                 "max_allowed_packet is 1048576; it should be 16777216 or more\n"
	                 "read_only is on; it should be off, or nothing can be promised\n"
	                 "innodb_deadlock_detect is off; it should be on, or a deadlock lasts 2 s\n"
	                 "max_prepared_stmt_count is 10; it should be 512 or more, or lanes cannot begin\n"
	                 "wait_timeout is 1; it should be 5 or more, or connections end while they are idle\n"
	                 "init_connect is set; it should be empty, or only set what a session is told anyway\n");
	text_fini(&findings);
	db_close(one);
	cr_expect(db_doctor(one, &findings) == 1);
	text_fini(&findings);
}

Test(db_alone, doctor_on_late_writes)
{
	struct server s;
	struct text   findings = {0};
	struct db    *db;

	server_make(&s, (const char *const[]){NULL});
	server_start(&s, (const char *const[]){"--innodb-use-native-aio=ON", NULL});
	db = server_connect(&s, "holdfast");
	cr_expect(db_doctor(db, &findings) == 1);
	cr_expect_str_eq(findings.data, "innodb_use_native_aio is on; it should be off, or a write of a killed server "
	                                "lands on its successor's\n");
	text_fini(&findings);
	db_free(db);
	server_remove(&s);
}

/* ---- without a server */

Test(db_alone, a_port_that_accepts_and_says_nothing)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t          len = sizeof(at);
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct db_target   target = {.host = "127.0.0.1", .user = "nobody", .password = "secret", .database = "none"};
	struct db         *db;

	cr_assert(bind(fd, (struct sockaddr *)&at, len) == 0 && listen(fd, 5) == 0);
	cr_assert(getsockname(fd, (struct sockaddr *)&at, &len) == 0);
	target.port = ntohs(at.sin_port);
	db = db_new_alone(&target);
	cr_expect(!db_connect(db) && !strstr(db_error(db), "secret"), "%s", db_error(db));
	close(fd);
	cr_expect(!db_connect(db) && db_errno(db) == 2002, "%u %s", db_errno(db), db_error(db));
	db_free(db);
	db_free(NULL);
}

static const struct {
	const char *url, *host;
	unsigned    port;
	const char *socket, *user, *database; /* user NULL: refused */
} urls[] = {
	{"mariadb://app@db.example:3307/shop", "db.example", 3307, "", "app", "shop"},
	{"mariadb://app@10.0.0.1/shop", "10.0.0.1", 3306, "", "app", "shop"},
	{"mariadb://app@[::1]:3307/shop", "::1", 3307, "", "app", "shop"},
	{"mariadb://app@[fe80::2]/shop", "fe80::2", 3306, "", "app", "shop"},
	{"mariadb://app@localhost/shop", "localhost", 3306, "", "app", "shop"},
	{"mariadb://app@localhost/shop?socket=/run/my.sock", "", 3306, "/run/my.sock", "app", "shop"},
	{"mariadb://a%40b@localhost/s%2fh?socket=/a%20b", "", 3306, "/a b", "a@b", "s/h"},
	{"mariadb://app@a:1,b,[::1]:3/shop", "a", 1, "", "app", "shop"},
	{"mariadb://app@a:1,b,[::1]:3/shop?start=1", "a", 1, "", "app", "shop"},
	{"mariadb://app@a:1,b,[::1]:3/shop?start=2", "b", 3306, "", "app", "shop"},
	{"mariadb://app@a:1,b,[::1]:3/shop?start=3&tls=required", "::1", 3, "", "app", "shop"},
	{"mariadb://app@a/shop?start=1", "a", 3306, "", "app", "shop"},
	{"mariadb://app@a,b,c,d,e,f,g,h,i/shop?start=9", "i", 3306, "", "app", "shop"},
	{"mariadb://app@h:1,h:2/shop", "h", 1, "", "app", "shop"},
	{"mariadb://app@a,b,c,d,e,f,g,h,i,j/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@a,b/shop?start=3", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@a,b/shop?start=0", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@a,b/shop?start=", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@a,b/shop?start=12", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@a,b/shop?start=b", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@a,,b/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@a,/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@,a/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@a:1,b:x/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@a,b,a/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@a:3306,A/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@localhost,b/shop?socket=/run/my.sock", NULL, 0, NULL, NULL, NULL},
	{"mysql://app@localhost/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@localhost", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@localhost/", NULL, 0, NULL, NULL, NULL},
	{"mariadb://localhost/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://@localhost/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app:secret@localhost/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@h:0/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@h:65536/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@h:33x/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@[::1/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@h/shop?socket=/x", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@localhost/shop?socket=", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@h/shop?tls=off", "h", 3306, "", "app", "shop"},
	{"mariadb://app@h/shop?tls=required", "h", 3306, "", "app", "shop"},
	{"mariadb://app@h/shop?tls=verify&tls_ca=/dev/null", "h", 3306, "", "app", "shop"},
	{"mariadb://app@h/shop?tls_ca=%2fdev/null&tls=verify", "h", 3306, "", "app", "shop"},
	{"mariadb://app@localhost/shop?socket=/run/my.sock&tls=off", "", 3306, "/run/my.sock", "app", "shop"},
	{"mariadb://app@localhost/shop?tls=1", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@localhost/shop?tls=", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@localhost/shop?tls", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@localhost/shop?tls=require", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@localhost/shop?tls=verify", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@localhost/shop?tls=verify&tls_ca=", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@localhost/shop?tls=verify&tls_ca=/nowhere", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@localhost/shop?tls=required&tls_ca=/dev/null", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@localhost/shop?socket=/run/my.sock&tls=required", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app@localhost/shop?password=secret", NULL, 0, NULL, NULL, NULL},
	{"mariadb://app:sec/ret@localhost/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://a%0@localhost/shop", NULL, 0, NULL, NULL, NULL},
	{"mariadb://a%00@localhost/shop", NULL, 0, NULL, NULL, NULL},
	{"", NULL, 0, NULL, NULL, NULL},
};

Test(db_alone, targets)
{
	struct db_target to;
	char             why[300];

	for (size_t i = 0; i < LENGTH(urls); i++) {
		bool ok = db_target_parse(&to, urls[i].url, why, sizeof(why));

		cr_expect(ok == (urls[i].user != NULL), "%s: %s", urls[i].url, ok ? "accepted" : why);
		cr_expect(ok || (!strstr(why, "secret") && *why), "%s: %s", urls[i].url, why);
		if (ok && urls[i].user) {
			cr_expect_str_eq(to.host, urls[i].host);
			cr_expect_str_eq(to.socket, urls[i].socket);
			cr_expect_str_eq(to.user, urls[i].user);
			cr_expect_str_eq(to.database, urls[i].database);
			cr_expect(to.port == urls[i].port, "%s: port %u", urls[i].url, to.port);
		}
	}
}

static void number_read(void *arg, const struct db_row *row)
{
	*(int64_t *)arg += db_int(row, 0);
}

/* Half a set is nothing to any reader. */
Test(db_alone, rows_of_half_a_set)
{
	struct scratch s;
	struct proxy  *proxy;
	struct db     *db;
	int64_t        sum = 0;

	scratch_open(&s);
	proxy = proxy_open(&s);
	snprintf(s.target.socket, sizeof(s.target.socket), "%s", s.link);
	db = db_new_alone(&s.target);
	cr_assert(db_connect(db), "%s", db_error(db));
	proxy_arm(proxy, BREACH_TORN, "seq_1_to_1000");
	cr_expect(db_text(db, "SELECT seq FROM mysql.seq_1_to_1000", number_read, &sum) == DB_UNKNOWN && sum == 0,
	          "rows were given, their sum is %d", (int)sum);
	proxy_let_in(proxy);
	cr_assert(db_connect(db), "%s", db_error(db));
	cr_expect(db_text(db, "SELECT seq FROM mysql.seq_1_to_1000", number_read, &sum) == DB_OK && sum == 500500);
	db_free(db);
	proxy_close(proxy);
	scratch_close(&s);
}
