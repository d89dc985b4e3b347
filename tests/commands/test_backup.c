/* test_backup.c - the commands backup and restore: a copy that was cut off never looks like a good one, and what was
 * acknowledged before a back-up began is in it. */
#include "engine/base/clock.h"
#include "engine/db/db.h"
#include "engine/server/embedded.h"
#include "tests/kit/drill.h"
#include "tests/kit/program.h"
#include "tests/kit/scratch.h"
#include "tests/kit/server.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KILLS_MAX = 64 };

static struct {
	char           home[300], log[320], file[320];
	struct program service;
	int            sent, acknowledged; /* receipts of one unit */
	struct text    said;
} own;

/* ---- running it */

static int run(const char *format, const char *a)
{
	char  command[1200], log[340];
	FILE *in;
	int   status;

	snprintf(command, sizeof(command), format, own.home, a);
	snprintf(log, sizeof(log), "%s/said", own.home);
	unlink(log);
	status = program_run(log, NULL, command);
	text_reset(&own.said);
	text_add(&own.said, "");
	in = fopen(log, "r");
	if (in) {
		own.said.len += fread(text_room(&own.said, 65536), 1, 65536, in);
		own.said.data[own.said.len] = '\0';
		fclose(in);
	}
	return status;
}

/* One unit more, by a command beside the service. */
static void unit_receive(void)
{
	char id[32];

	snprintf(id, sizeof(id), "U%d", ++own.sent);
	if (run("import %1$s/one.csv --data %1$s/var --id %2$s", id) == 0)
		own.acknowledged++;
}

static int units_in(const char *folder)
{
	const char *at;

	cr_assert(run("show sku U --data %s/%s", folder) == 0, "%s", own.said.data);
	at = strstr(own.said.data, "available");
	return at ? (int)strtol(at + strlen("available"), NULL, 10) : -1;
}

static void begin(void)
{
	char  file[340], data[340], options[400];
	FILE *out;

	if (system("command -v mariadb-backup >/dev/null") != 0)
		cr_skip_test("mariadb-backup is not installed");
	scratch_folder(own.home, sizeof(own.home));
	snprintf(own.log, sizeof(own.log), "%s/service.log", own.home);
	snprintf(file, sizeof(file), "%s/one.csv", own.home);
	out = fopen(file, "w");
	cr_assert(out && fputs("sku,qty\nU,1\n", out) > 0 && fclose(out) == 0);
	snprintf(data, sizeof(data), "%s/var", own.home);
	server_data(data);
	snprintf(options, sizeof(options), "--data %s --jobs=none", data);
	program_start(&own.service, own.log, NULL, options);
	unit_receive();
	cr_assert_eq(own.acknowledged, 1, "%s", own.said.data);
}

static void end(void)
{
	struct text why = {0};

	cr_expect(program_stop(&own.service, &why), "%s", why.data);
	text_fini(&why);
}

/* The names that look like good back-ups. */
static size_t copies(glob_t *found)
{
	char pattern[340];

	snprintf(pattern, sizeof(pattern), "%s/copies/*Z", own.home);
	return glob(pattern, 0, NULL, found) == 0 ? found->gl_pathc : 0;
}

/* ---- kills */

/* A back-up that is killed after so long, or ends before that, while units come in. */
static void backup_killed(int after_ms)
{
	char    command[700];
	int64_t until_ms = clock_ms() + after_ms;
	int     status;
	pid_t   pid;

	snprintf(command, sizeof(command), "backup %1$s/copies --data %1$s/var", own.home);
	pid = program_begin(own.log, NULL, command);
	while (clock_ms() < until_ms) {
		unit_receive();
		usleep(10000);
	}
	kill(pid, SIGKILL);
	cr_assert(waitpid(pid, &status, 0) == pid);
}

/* Each back-up is complete by its name: its copy passes the audit. One takes 1.5 s on a quiet machine. */
static void kills(int count, int until_ms)
{
	unsigned seed = (unsigned)getpid();
	glob_t   found = {0};
	size_t   good;

	begin();
	for (int i = 0; i < count; i++)
		backup_killed(100 + rand_r(&seed) % until_ms);
	good = copies(&found);
	for (size_t i = 0; i < good; i++) {
		char command[700];

		snprintf(command, sizeof(command), "backup %s --verify --data %%s/none", found.gl_pathv[i]);
		cr_expect(run(command, "") == 0, "%s: %s", found.gl_pathv[i], own.said.data);
		cr_expect(strstr(own.said.data, "all hold"), "%s", own.said.data);
	}
	fprintf(stderr,
	        "%d kills of back-ups: %zu had ended and look whole; %d of %d receipts meanwhile\n",
	        count, good, own.acknowledged, own.sent);
	globfree(&found);
	end();
}

Test(backup, killed)
{
	kills(2, 900);
}

Test(backup, killed_often, DRILL)
{
	kills(30, 2900);
}

/* ---- what the database knows of it */

static int64_t database_number(const char *sql)
{
	struct embedded *e;
	struct db       *db;
	char             home[320], why[512];
	int64_t          n = -1;

	snprintf(home, sizeof(home), "%s/var", own.home);
	cr_assert_eq(embedded_open(&e, home, EMBEDDED_FIND, why, sizeof(why)), 0, "%s", why);
	db = db_new_alone(embedded_target(e));
	cr_assert(db_connect(db) && db_text(db, sql, db_ints, &n) == DB_OK, "%s: %s", sql, db_error(db));
	db_free(db);
	embedded_close(e);
	return n;
}

/* By the time at which it began. A copy that does not pass the audit is no good back-up, and the database is known not
 * to pass it. */
Test(backup, is_noted)
{
	int64_t began_s, at_s;

	begin();
	cr_expect_eq(database_number("UPDATE stock_slot SET available = available + 1"), -1);
	cr_expect_eq(run("backup %1$s/copies --data %1$s/var --verify", ""), 1, "%s", own.said.data);
	cr_expect_eq(database_number("SELECT backed_up_at IS NULL AND audited_at IS NULL AND audit_failed FROM upkeep"),
	             1);
	cr_expect_eq(database_number("UPDATE stock_slot SET available = available - 1"), -1);
	began_s = time(NULL);
	cr_expect_eq(run("backup %1$s/copies --data %1$s/var", ""), 0, "%s", own.said.data);
	at_s = database_number("SELECT TIMESTAMPDIFF(SECOND, '1970-01-01', backed_up_at) FROM upkeep");
	cr_expect(at_s >= began_s && at_s <= time(NULL), "%lld, %lld", (long long)at_s, (long long)began_s);
	cr_expect_eq(database_number("SELECT audited_at IS NULL AND audit_failed FROM upkeep"), 1);
	end();
}

/* ---- a restore */

/* What was acknowledged before the back-up began is in it, and nothing that was never sent. */
Test(backup, holds_what_was_acknowledged)
{
	char  command[700];
	int   before, restored, status;
	pid_t pid;

	begin();
	for (int i = 0; i < 5; i++)
		unit_receive();
	before = own.acknowledged;
	snprintf(command, sizeof(command), "backup %1$s/copies --data %1$s/var --keep 1", own.home);
	pid = program_begin(own.log, NULL, command);
	while (waitpid(pid, &status, WNOHANG) == 0)
		unit_receive();
	cr_assert_eq(status, 0);
	cr_expect_eq(run("restore %1$s/copies --data %1$s/%2$s", "new"), 0, "%s", own.said.data);
	restored = units_in("new");
	cr_expect(restored >= before && restored <= own.sent, "%d units; %d before it, %d sent", restored, before,
	          own.sent);
	cr_expect_eq(run("audit --data %s/%s", "new"), 0, "%s", own.said.data);
	end();
}

/* A database that is in use, or that is there, stays as it is. */
Test(backup, restore_refuses)
{
	begin();
	cr_expect_eq(run("restore %1$s/copies --data %1$s/%2$s", "new"), 78, "no back-up: %s", own.said.data);
	cr_expect_eq(run("backup %1$s/copies --data %1$s/var --verify", ""), 0, "%s", own.said.data);
	cr_expect_eq(database_number("SELECT audited_at >= backed_up_at AND audit_failed = 0 FROM upkeep"), 1);
	cr_expect_eq(run("restore %1$s/copies --data %1$s/%2$s", "var"), 1);
	cr_expect(strstr(own.said.data, "is in use"), "%s", own.said.data);
	unit_receive();
	end();
	cr_expect_eq(run("restore %1$s/copies --data %1$s/%2$s", "var"), 1);
	cr_expect(strstr(own.said.data, "--aside"), "%s", own.said.data);
	cr_expect_eq(units_in("var"), 2);
	cr_expect_eq(run("restore %1$s/copies --data %1$s/%2$s --aside", "var"), 0, "%s", own.said.data);
	cr_expect_eq(units_in("var"), 1);
}

/* A cursor of the feed from before the copy is refused: the database is in another past. */
Test(backup, restore_is_another_past)
{
	char *cursor, *end_of, command[900];

	begin();
	cr_expect_eq(run("events --data %s/%s", "var"), 0);
	cursor = strrchr(own.said.data, '{');
	cursor = cursor ? strchr(cursor, '\n') : NULL;
	cr_assert(cursor && cursor[1], "%s", own.said.data);
	cursor = strdup(cursor + 1);
	end_of = strchr(cursor, '\n');
	cr_assert(end_of);
	*end_of = '\0';
	snprintf(command, sizeof(command), "events --data %%s/%%s --after %s", cursor);
	cr_expect_eq(run(command, "var"), 0, "%s", own.said.data);
	cr_expect_eq(run("backup %1$s/copies --data %1$s/var", ""), 0, "%s", own.said.data);
	cr_expect_eq(run("restore %1$s/copies --data %1$s/%2$s", "new"), 0, "%s", own.said.data);
	cr_expect_eq(run(command, "new"), 1, "%s", own.said.data);
	free(cursor);
	end();
}
