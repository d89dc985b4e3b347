/* checks.c - see checks.h. */
#include "engine/db/checks.h"
#include "engine/base/clock.h"

#include <stdio.h>
#include <strings.h>

enum { PREPARED_MIN = 512, IDLE_S_MIN = 5, CAUSAL_S_MAX = 5 };

enum column {
	VERSION,
	FLUSH,
	PACKET,
	BINLOG,
	FORMAT,
	SYNC,
	READ_ONLY,
	DETECT,
	PREPARED,
	IDLE,
	INIT,
	NATIVE_AIO,
	SYSDATE,
};

struct exam {
	struct text *findings;
	int          found;
};

/* One line: the setting as found, its right value, and the reason. */
static void PRINTF(3, 4) exam_expect(struct exam *exam, bool good, const char *format, ...)
{
	char    line[300];
	va_list ap;

	if (good)
		return;
	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	text_format(exam->findings, "%s\n", line);
	exam->found++;
}

static void exam_row(void *arg, const struct db_row *row)
{
	struct exam *exam = arg;
	int          major = 0, minor = 0;

	sscanf(db_word(row, VERSION), "%d.%d", &major, &minor);
	exam_expect(exam, strstr(db_word(row, VERSION), "MariaDB") && major * 1000 + minor >= 10011,
	            "the server is %s; it should be MariaDB 10.11 or later", db_word(row, VERSION));
	exam_expect(exam, db_int(row, FLUSH) == 1,
	            "innodb_flush_log_at_trx_commit is %s; it should be 1, or a crash undoes promises",
	            db_word(row, FLUSH));
	exam_expect(exam, db_int(row, PACKET) >= 16 << 20, "max_allowed_packet is %s; it should be 16777216 or more",
	            db_word(row, PACKET));
	exam_expect(exam, !db_int(row, BINLOG) || strcmp(db_word(row, FORMAT), "STATEMENT") != 0,
	            "binlog_format is STATEMENT; it should be ROW or MIXED, for SKIP LOCKED");
	exam_expect(exam, !db_int(row, BINLOG) || db_int(row, SYNC) == 1,
	            "sync_binlog is %s; it should be 1 beside a binary log, or a loss of power undoes promises",
	            db_word(row, SYNC));
	exam_expect(exam, strcmp(db_word(row, READ_ONLY), "0") == 0 || strcmp(db_word(row, READ_ONLY), "OFF") == 0,
	            "read_only is on; it should be off, or nothing can be promised");
	exam_expect(exam, db_int(row, DETECT),
	            "innodb_deadlock_detect is off; it should be on, or a deadlock lasts 2 s");
	exam_expect(exam, db_int(row, PREPARED) >= PREPARED_MIN,
	            "max_prepared_stmt_count is %s; it should be %d or more, or lanes cannot begin",
	            db_word(row, PREPARED), PREPARED_MIN);
	exam_expect(exam, db_int(row, IDLE) >= IDLE_S_MIN,
	            "wait_timeout is %s; it should be %d or more, or connections end while they are idle",
	            db_word(row, IDLE), IDLE_S_MIN);
	exam_expect(exam, !db_int(row, INIT),
	            "init_connect is set; it should be empty, or only set what a session is told anyway");
	exam_expect(exam, !db_int(row, NATIVE_AIO),
	            "innodb_use_native_aio is on; it should be off, or a write of a killed server lands on its "
	            "successor's");
	exam_expect(exam, !db_int(row, SYSDATE),
	            "the server runs with sysdate-is-now; it should not, or a hold that expires while it is waited for "
	            "is confirmed");
}

/* ---- a node of a cluster */

struct cluster_settings {
	bool   on;
	int    autoinc;
	double causal_s; /* repl.causal_read_timeout */
};

/* The seconds of PT1.5S or PT2M; 0: something else. */
static double duration_s(const char *from)
{
	double n = 0;
	char   unit = '\0';

	if (sscanf(from, "PT%lf%c", &n, &unit) != 2)
		return 0;
	return unit == 'S' ? n : unit == 'M' ? n * 60 : 3600;
}

static void cluster_read(void *arg, const struct db_row *row)
{
	static const char        timeout[] = "repl.causal_read_timeout = ";
	struct cluster_settings *in = arg;
	const char              *found;

	if (strcasecmp(db_word(row, 0), "wsrep_on") == 0)
		in->on = strcasecmp(db_word(row, 1), "ON") == 0;
	else if (strcasecmp(db_word(row, 0), "innodb_autoinc_lock_mode") == 0)
		in->autoinc = (int)db_int(row, 1);
	else if ((found = strstr(db_word(row, 1), timeout)) != NULL)
		in->causal_s = duration_s(found + strlen(timeout));
}

static bool cluster_examine(struct db *db, struct exam *exam)
{
	struct cluster_settings in = {0};

	if (db_ask(db, SERVER_CLUSTER, NULL, cluster_read, &in) != DB_OK)
		return false;
	if (!in.on)
		return true;
	exam_expect(exam, in.causal_s > 0 && in.causal_s <= CAUSAL_S_MAX,
	            "repl.causal_read_timeout in wsrep_provider_options is %g s; it should be PT%dS, or calls end "
	            "before a read gives up",
	            in.causal_s, CAUSAL_S_MAX);
	exam_expect(exam, in.autoinc == 2, "innodb_autoinc_lock_mode is %d; it should be 2 on a node of a cluster",
	            in.autoinc);
	return true;
}

/* ---- clocks */

enum db_result db_clock_ahead(struct db *db, int64_t *ahead_ms)
{
	int64_t        theirs_ms = 0, before_ms = clock_wall_ms(), after_ms;
	enum db_result result = db_ask(db, SERVER_CLOCK, NULL, db_time, &theirs_ms);

	after_ms = clock_wall_ms();
	*ahead_ms = theirs_ms < before_ms ? theirs_ms - before_ms : theirs_ms > after_ms ? theirs_ms - after_ms : 0;
	return result;
}

enum db_result db_clock_apart(struct db *db, int64_t *ahead_s)
{
	enum db_result result = db_clock_ahead(db, ahead_s);

	*ahead_s /= 1000;
	return result;
}

/* True: others on the network may read what goes to and from the server. */
static bool way_is_open(const struct db_target *t)
{
	return *t->host && t->tls == DB_TLS_OFF && strcmp(t->host, "localhost") != 0 && strcmp(t->host, "::1") != 0 &&
	       strncmp(t->host, "127.", 4) != 0;
}

int db_doctor(struct db *db, struct text *findings)
{
	struct exam exam = {findings, 0};
	int64_t     ahead_s = 0;

	if (db_ask(db, SERVER_SETTINGS, NULL, exam_row, &exam) != DB_OK || !cluster_examine(db, &exam) ||
	    db_clock_apart(db, &ahead_s) != DB_OK) {
		exam_expect(&exam, false, "the server's settings could not be read: %s", db_error(db));
		ahead_s = 0;
	}
	exam_expect(
		&exam, llabs(ahead_s) <= CLOCKS_APART_S,
		"the database's clock is %lld s %s this machine's; it should be right, for it tells what has expired",
		llabs(ahead_s), ahead_s > 0 ? "ahead of" : "behind");
	exam_expect(&exam, !way_is_open(source_target(db_source(db))),
	            "the connection to %s is not encrypted; it should be, by ?tls=verify&tls_ca=FILE",
	            source_target(db_source(db))->host);
	return exam.found;
}
