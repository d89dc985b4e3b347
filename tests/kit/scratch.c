/* scratch.c - see scratch.h. */
#include "tests/kit/scratch.h"
#include "tests/kit/patience.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"
#include "commands/audit_events.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PASSWORD_FILE "HOLDFAST_DB_PASSWORD_FILE" /* a variable of the program */

enum { TRIES_MAX = 50, TRY_PAUSE_US = 20000 };

/* A list of statements or names that a query gave. */
struct list {
	char **item;
	size_t n;
};

static void list_add(void *arg, const struct db_row *row)
{
	struct list *l = arg;

	l->item = mem_resize(l->item, (l->n + 1) * sizeof(*l->item));
	l->item[l->n++] = mem_copy(row->col[0]);
}

static void list_fini(struct list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->item[i]);
	free(l->item);
	*l = (struct list){0};
}

static void must(struct db *db, const char *sql, void (*each)(void *arg, const struct db_row *row), void *arg)
{
	enum db_result result = db_text(db, sql, each, arg);

	if (result != DB_OK)
		cr_assert_fail("test database: result %d: %s: %.500s", (int)result, db_error(db), sql);
}

static const char *env(const char *name)
{
	const char *value = getenv(name);

	if (!value)
		cr_assert_fail("%s is not set: tests/main.c sets it", name);
	return value;
}

const char *scratch_dir(void)
{
	return env(SCRATCH_DIR);
}

void scratch_folder(char *to, size_t size)
{
	int n = snprintf(to, size, "%s/XXXXXX", scratch_dir());

	cr_assert(n > 0 && (size_t)n < size && mkdtemp(to) && chmod(to, 0755) == 0, "a folder of the test's own");
}

static int one_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

bool scratch_remove(const char *path)
{
	return nftw(path, one_remove, 16, FTW_DEPTH | FTW_PHYS) == 0;
}

static struct db *connection_new(const struct db_target *target, const char *database)
{
	struct db_target to = *target;
	struct db       *db;

	snprintf(to.database, sizeof(to.database), "%s", database);
	db = db_new_alone(&to);
	db_silence_set(db, (unsigned)patience_ms(6 * PATIENCE_MS) / 1000);
	if (!db_connect(db))
		cr_assert_fail("cannot connect to the test database: %s", db_error(db));
	return db;
}

struct db *scratch_connection(const struct scratch *s)
{
	return connection_new(&s->target, s->name);
}

static struct db_target server_target(void)
{
	struct db_target to = {0};

	snprintf(to.socket, sizeof(to.socket), "%s", env(SCRATCH_SOCKET));
	snprintf(to.user, sizeof(to.user), "%s", env(SCRATCH_USER));
	return to;
}

struct db *scratch_server(void)
{
	struct db_target to = server_target();

	return connection_new(&to, "mysql");
}

void scratch_open_named(struct scratch *s, const char *name)
{
	*s = (struct scratch){.target = server_target()};
	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->link, sizeof(s->link), "%s/%s.sock", scratch_dir(), s->name);
	snprintf(s->url, sizeof(s->url), "mariadb://%s@localhost/%s?socket=%s", s->target.user, s->name, s->link);
	s->db = scratch_connection(s);
	must(s->db, "SET SESSION idle_transaction_timeout = 0, wait_timeout = 28800", NULL, NULL);
	scratch_back(s);
}

void scratch_open(struct scratch *s)
{
	unsigned char dice[8];
	struct text   name = {0};
	char          sql[80];
	struct db    *db = scratch_server();

	random_bytes(dice, sizeof(dice));
	text_add(&name, "t_");
	text_hex(&name, dice, sizeof(dice));
	snprintf(sql, sizeof(sql), "CREATE DATABASE %s", name.data);
	must(db, sql, NULL, NULL);
	db_free(db);
	scratch_open_named(s, name.data);
	text_fini(&name);
}

void scratch_account(struct scratch *s)
{
	char  sql[200];
	FILE *file;

	snprintf(sql, sizeof(sql), "CREATE USER %s@localhost IDENTIFIED BY 'of %s'", s->name, s->name);
	must(s->db, sql, NULL, NULL);
	snprintf(sql, sizeof(sql), "GRANT SELECT, INSERT, UPDATE, DELETE ON %s.* TO %s@localhost", s->name, s->name);
	must(s->db, sql, NULL, NULL);
	snprintf(s->password, sizeof(s->password), "%s/%s.password", scratch_dir(), s->name);
	file = fopen(s->password, "we");
	cr_assert(file && fchmod(fileno(file), 0600) == 0 && fprintf(file, "of %s\n", s->name) > 0, "cannot write %s",
	          s->password);
	fclose(file);
	setenv(PASSWORD_FILE, s->password, 1);
	snprintf(s->url, sizeof(s->url), "mariadb://%s@localhost/%s?socket=%s", s->name, s->name, s->link);
}

static void account_drop(struct scratch *s)
{
	char sql[80];

	if (!*s->password)
		return;
	snprintf(sql, sizeof(sql), "DROP USER %s@localhost", s->name);
	must(s->db, sql, NULL, NULL);
	unlink(s->password);
	unsetenv(PASSWORD_FILE);
}

void scratch_waits(struct scratch *s)
{
	int  wait_s = patience_ms(3 * PATIENCE_MS) / 1000;
	char sql[120];

	snprintf(sql, sizeof(sql), "SET SESSION lock_wait_timeout = %d, innodb_lock_wait_timeout = %d", wait_s, wait_s);
	must(s->db, sql, NULL, NULL);
}

void scratch_leave(struct scratch *s)
{
	scratch_unlock(s);
	scratch_waits(s);
	account_drop(s);
	unlink(s->link);
}

void scratch_drop(struct scratch *s)
{
	char sql[80];

	snprintf(sql, sizeof(sql), "DROP DATABASE %s", s->name);
	must(s->db, sql, NULL, NULL);
}

void scratch_close(struct scratch *s)
{
	scratch_leave(s);
	scratch_drop(s);
	db_free(s->db);
}

static void number_read(void *arg, const struct db_row *row)
{
	*(int64_t *)arg = db_int(row, 0);
}

int64_t scratch_number(struct db *db, const char *sql)
{
	int64_t n = -1;

	cr_assert_eq(db_text(db, sql, number_read, &n), DB_OK, "%s: %s", sql, db_error(db));
	return n;
}

/* One transaction shifts all times, so that no row is ever seen between two ages. */
void scratch_tick(struct scratch *s, int seconds)
{
	struct list    updates = {0};
	char           sql[800];
	enum db_result result = DB_RETRY;

	snprintf(sql, sizeof(sql),
	         "SELECT CONCAT('UPDATE `', table_name, '` SET ',"
	         " GROUP_CONCAT('`', column_name, '` = `', column_name, '` - INTERVAL %d SECOND'))"
	         " FROM information_schema.columns WHERE table_schema = DATABASE() AND is_generated = 'NEVER'"
	         " AND data_type IN ('datetime', 'timestamp') GROUP BY table_name",
	         seconds);
	must(s->db, sql, list_add, &updates);
	for (int try = 0; result != DB_OK && try < TRIES_MAX; try++) {
		must(s->db, "START TRANSACTION", NULL, NULL);
		result = DB_OK;
		for (size_t i = 0; result == DB_OK && i < updates.n; i++)
			result = db_text(s->db, updates.item[i], NULL, NULL);
		must(s->db, result == DB_OK ? "COMMIT" : "ROLLBACK", NULL, NULL);
		if (result != DB_OK)
			usleep(TRY_PAUSE_US);
	}
	cr_assert(result == DB_OK, "tick: %s", db_error(s->db));
	list_fini(&updates);
}

void scratch_lock(struct scratch *s)
{
	struct list    selects = {0};
	enum db_result result = DB_RETRY;

	assert(!s->holder);
	s->holder = scratch_connection(s);
	must(s->holder, "SET SESSION idle_transaction_timeout = 0, wait_timeout = 28800", NULL, NULL);
	must(s->db,
	     "SELECT CONCAT('SELECT * FROM `', table_name, '` FOR UPDATE') FROM information_schema.tables"
	     " WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' ORDER BY table_name",
	     list_add, &selects);
	for (int try = 0; result != DB_OK && try < TRIES_MAX; try++) {
		must(s->holder, "ROLLBACK", NULL, NULL);
		must(s->holder, "START TRANSACTION", NULL, NULL);
		result = DB_OK;
		for (size_t i = 0; result == DB_OK && i < selects.n; i++)
			result = db_text(s->holder, selects.item[i], NULL, NULL);
	}
	cr_assert(result == DB_OK, "lock: %s", db_error(s->holder));
	list_fini(&selects);
}

void scratch_unlock(struct scratch *s)
{
	if (s->holder)
		must(s->holder, "ROLLBACK", NULL, NULL);
	db_free(s->holder);
	s->holder = NULL;
}

void scratch_cut(struct scratch *s)
{
	struct list kills = {0};

	must(s->db,
	     "SELECT CONCAT('KILL ', id) FROM information_schema.processlist"
	     " WHERE db = DATABASE() AND id <> CONNECTION_ID() ORDER BY id DESC",
	     list_add, &kills);              /* the newest first: it may wait for a lock of an older one */
	for (size_t i = 0; i < kills.n; i++) /* a connection that has gone meanwhile is an error, and fine */
		if (db_text(s->db, kills.item[i], NULL, NULL) == DB_UNKNOWN)
			cr_assert_fail("kill: %s", db_error(s->db));
	list_fini(&kills);
}

void scratch_away(struct scratch *s)
{
	unlink(s->link);
	scratch_cut(s);
}

void scratch_back(struct scratch *s)
{
	unlink(s->link);
	cr_assert(symlink(s->target.socket, s->link) == 0, "cannot link %s", s->link);
}

static void row_write(void *arg, const struct db_row *row)
{
	struct text *out = arg;

	for (unsigned i = 0; i < row->columns; i++)
		text_format(out, "%s%s", i ? ", " : "", row->col[i] ? row->col[i] : "NULL");
	text_char(out, '\n');
}

void scratch_checksum(struct scratch *s, struct text *out)
{
	struct list sql = {0};

	must(s->db,
	     "SELECT CONCAT('CHECKSUM TABLE ', GROUP_CONCAT('`', table_name, '`' ORDER BY table_name))"
	     " FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'"
	     " AND table_name NOT IN ('counter', 'event_log', 'log_writer', 'location', 'location_kinds', 'stock_slot',"
	     " 'event', 'level', 'level_watch', 'process')",
	     list_add, &sql);
	text_reset(out);
	must(s->db, sql.item[0], row_write, out);
	must(s->db,
	     "SELECT 'event', COUNT(*), SUM(CRC32(CONCAT(writer_id, '-', event_no, '-', stamp, changes))) FROM event"
	     " WHERE ORD(SUBSTR(changes, 2, 1)) NOT BETWEEN 64 AND 67",
	     row_write, out);
	list_fini(&sql);
}

static void event_write(void *arg, const struct event_finding *f)
{
	text_format(arg, "invariant events_add_up\n%s %s, %s\n", f->about, f->id, f->why);
}

void scratch_invariants(struct scratch *s, struct text *findings)
{
	struct text sql = {0}, rows = {0};

	for (int i = 0; i < STATEMENT_COUNT; i++) {
		if (!(statements[i].flags & STATEMENT_INVARIANT))
			continue;
		text_reset(&sql);
		text_reset(&rows);
		statement_add(&sql, (enum statement)i, &(struct fill){.until_id = INT64_MAX});
		must(s->db, sql.data, row_write, &rows);
		if (rows.len)
			text_format(findings, "invariant %s\n%s", statements[i].name, rows.data);
	}
	text_fini(&sql);
	text_fini(&rows);
	cr_assert_eq(audit_events(s->db, AUDIT_SUBJECTS, event_write, findings), DB_OK, "%s", db_error(s->db));
}
