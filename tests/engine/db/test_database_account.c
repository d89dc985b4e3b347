/* test_database_account.c - the account by which the program gets into a database of yours: what it must be allowed,
 * and where its password may stand. All flows use an account of this kind; here every command is run by it once, in its
 * normal course. */
#include "tests/lang/flow.h"
#include "tests/kit/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of the test's own. */
static void file_write(char *path, size_t size, const char *kind, unsigned mode, const char *text)
{
	FILE *file;

	snprintf(path, size, "%s/%s.%s", scratch_dir(), flow_scratch()->name, kind);
	file = fopen(path, "we");
	cr_assert(file && fputs(text, file) >= 0 && fchmod(fileno(file), mode) == 0, "cannot write %s", path);
	fclose(file);
}

Test(database_account, rows_are_enough)
{
	char csv[300];

	flow_begin();
	file_write(csv, sizeof(csv), "csv", 0600, "sku,qty,location\nA,100,\nB,7,paris\n");
	flow_step("sql SELECT GROUP_CONCAT(privilege_type ORDER BY privilege_type SEPARATOR ' ') FROM"
	          " information_schema.schema_privileges WHERE grantee LIKE CONCAT('%%', DATABASE(), '%%')"
	          " -> DELETE INSERT SELECT UPDATE");
	flow_step("run import %s -> 0", csv);
	flow_steps("run migrate             -> 0",
	           "run migrate --check     -> 0",
	           "raw GET /readyz?verbose -> 200 '~database'",
	           "adjust A -10            -> 201",
	           "count C1 A=90           -> 201",
	           "reserve R1 A=1          -> 201",
	           "reserve R2 A=2          -> 201",
	           "reserve R3 A=3 ttl=60   -> 201",
	           "reserve R4 B@paris=8    -> 409 short",
	           "confirm R1              -> 200",
	           "confirm R2              -> 200",
	           "work settle             -> 0",
	           "reserve R5 A=1          -> 201",
	           "confirm R5              -> 200",
	           "claim settle w          -> 201 R5",
	           "tick 61",
	           "run reap                -> 0 '~1 orders freed'",
	           "work expire             -> 0",
	           "get R3                  -> expired",
	           "tick 61",
	           "claim settle w          -> 201 R5",
	           "fail 4 R5=bury:torn     -> 200",
	           "run kick R5             -> 0",
	           "release R5              -> 200",
	           "run stats --json        -> 0",
	           "tick 200000",
	           "run purge --keep 1      -> 0 '~4 reservations'",
	           "run audit               -> 0",
	           "serve --lanes 2 --jobs=expire,settle,reap,deliver",
	           "reserve R6 A=1          -> 201",
	           "confirm R6              -> 200",
	           "wait get R6             -> settled",
	           "raw GET /metrics        -> 200",
	           "cut",
	           "wait get R6             -> settled");
	flow_end();
	unlink(csv);
}

/* ---- without a flow */

/* Runs `holdfast COMMAND`: its text and its exit status. */
static int said(const struct scratch *s, const char *url, const char *command, struct text *to)
{
	char log[300];
	int  status;

	snprintf(log, sizeof(log), "%s/%s.said", scratch_dir(), s->name);
	status = program_run(log, url, command);
	text_reset(to);
	program_log_all(log, to);
	unlink(log);
	return status;
}

Test(database_account, migrate_asks_for_more)
{
	struct scratch s;
	struct text    t = {0};

	scratch_open(&s);
	scratch_account(&s);
	cr_expect(said(&s, s.url, "migrate", &t) == 1 && strstr(t.data, "CREATE command denied"), "%s", t.data);
	cr_expect(said(&s, s.url, "serve --listen 127.0.0.1:0", &t) == 78 && strstr(t.data, "run `holdfast migrate`"),
	          "%s", t.data);
	text_fini(&t);
	scratch_close(&s);
}

Test(database_account, no_password_in_the_url)
{
	static const char *const urls[] = {
		"mariadb://app:sesame@localhost/shop",
		"mariadb://app:@localhost/shop?socket=/sesame",
		"mariadb://app:ses%40ame:sesame@localhost/shop",
		"mariadb://app@localhost/shop?password=sesame",
	};
	struct scratch s;
	struct text    t = {0};

	scratch_open(&s);
	for (size_t i = 0; i < LENGTH(urls); i++) {
		cr_expect(said(&s, urls[i], "serve --listen 127.0.0.1:0 --log-level debug", &t) == 78 &&
		                  !strstr(t.data, "sesame"),
		          "%s: %s", urls[i], t.data);
		cr_expect(i == 3 || strstr(t.data, "--db-password-file"), "%s", t.data);
	}
	text_fini(&t);
	scratch_close(&s);
}

/* The program complains of a file that others may read, unless systemd keeps it. */
Test(database_account, password_files)
{
	static const struct {
		mode_t      mode;
		const char *vault; /* CREDENTIALS_DIRECTORY */
		bool        warns;
	} cases[] = {{0600, NULL, false},  {0400, NULL, false}, {0640, NULL, true},   {0604, NULL, true},
	             {0644, "/run", true}, {0440, "", true},    {0440, "here", false}};
	struct scratch s;
	struct text    t = {0};

	scratch_open(&s);
	cr_assert(program_run("/dev/null", s.url, "migrate") == 0);
	scratch_account(&s);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		const char *vault = cases[i].vault;

		if (vault)
			setenv("CREDENTIALS_DIRECTORY", strcmp(vault, "here") == 0 ? scratch_dir() : vault, 1);
		cr_assert(chmod(s.password, cases[i].mode) == 0);
		cr_expect(said(&s, s.url, "stats", &t) == 0, "%s", t.data);
		cr_expect((strstr(t.data, "event=secret_open") != NULL) == cases[i].warns && !strstr(t.data, "of t_"),
		          "%04o %s: %s", cases[i].mode, vault ? vault : "", t.data);
	}
	unsetenv("CREDENTIALS_DIRECTORY");
	cr_expect(said(&s, s.url, "stats --db-password-file /nowhere", &t) == 78 &&
	          strstr(t.data, "cannot read /nowhere"));
	text_fini(&t);
	scratch_close(&s);
}
