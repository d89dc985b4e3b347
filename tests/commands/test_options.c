/* test_options.c - rules for every command: the file of options, access to the database, the making of databases, help,
 * output, and the form of the log. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "commands/options.h"
#include "tests/lang/flow.h"
#include "tests/lang/trap.h"
#include "tests/kit/program.h"
#include "tests/kit/scratch.h"
#include "tests/kit/patience.h"

#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void file_write(char *path, size_t size, const char *end, const char *content)
{
	FILE *file;

	snprintf(path, size, "%s/%s.%s", scratch_dir(), flow_scratch()->name, end);
	file = fopen(path, "w");
	cr_assert(file && fputs(content, file) >= 0 && fclose(file) == 0);
}

/* ---- the file of --config */

static void with_config(const char *content, const char *command, const char *expectation)
{
	char path[300];

	file_write(path, sizeof(path), "conf", content);
	flow_step("run %s --config %s -> %s", command, path, expectation);
}

Test(options, config)
{
	flow_begin();
	flow_step("receipt A +1 -> 201");
	with_config("sku = A\n", "audit", "0");
	with_config("sku = GHOST\n", "audit", "1 '~there is no sku GHOST'");
	with_config("# all of it\n\n   # is well\nsku = A # the only one\njson   # so that it can be read\n", "audit",
	            "0 whole=true");
	with_config("sku = A\t# the only one\r\n", "audit", "0");
	with_config("sku = \"A\" # the only one\n", "audit", "0");
	with_config("sku = A#1\n", "audit", "1 '~there is no sku A#1'");
	with_config("sku = \"A #1\"\n", "audit", "1 '~there is no sku A #1'");
	with_config("sku = # none\n", "audit", "1");
	with_config("json = off # for now\n", "audit", "0 '~all hold'");
	with_config("batch = 7 # not many\n", "work settle --once", "0");
	with_config("batch = seven # not many\n", "work settle --once",
	            "78 '~line 1: batch must be an integer from 1 to 5000, in plain digits'");
	with_config("\n\nbunch = 7\n", "work settle --once", "78 '~line 3: there is no option bunch'");
	with_config("= 7\n", "work settle --once", "78");
	with_config("log-level = loud\n", "stats", "78");
	flow_steps("run stats --config /no/such/file -> 78");
	flow_end();
}

/* A file that other users can write could decide what the program does. */
Test(options, files_that_others_can_write)
{
	struct text said = {0};
	char        path[300];

	flow_begin();
	file_write(path, sizeof(path), "conf", "json = on\n");
	cr_assert(chmod(path, 0640) == 0);
	flow_step("run stats --config %s -> 0 !~file_open", path);
	cr_assert(chmod(path, 0660) == 0);
	flow_step("run stats --config %s -> 0 ~event=file_open ~option=--config ~mode=0660 '~others can write it'",
	          path);
	flow_step("keys shop order");
	snprintf(path, sizeof(path), "%s/%s.keys", scratch_dir(), flow_scratch()->name);
	cr_assert(chmod(path, 0666) == 0);
	flow_step("serve --lanes 1");
	flow_said(&said);
	cr_expect(strstr(said.data, "level=warn event=file_open option=--keys"), "%s", said.data);
	text_fini(&said);
	flow_end();
}

/* A # in a value that is in quotes, whole or in part, is no comment. */
Test(options, config_of_a_program)
{
	flow_begin();
	flow_orders("R", 1);
	with_config("exec = while read -r l; do echo \"R0 bury # 7\"; done # a comment\n", "work settle --once", "0");
	flow_steps("get R0 -> buried '~last_error:# 7'");
	flow_end();
}

/* ---- SIGHUP */

/* Waits until the service has said the words so often. A line about a call comes behind its answer. */
static void said_wait(const char *words, int times)
{
	int64_t from_ms = clock_ms();

	while (trap_said_count(words) < times && !patience_is_over(from_ms, PATIENCE_MS))
		patience_pause(from_ms);
	cr_assert_geq(trap_said_count(words), times, "%s", words);
}

/* The service has these lines as its file, and has said the words `times` times. */
static void file_taken_over(const char *lines, const char *words, int times)
{
	char path[300];

	file_write(path, sizeof(path), "conf", lines);
	flow_step("hangup");
	said_wait(words, times);
	cr_assert_eq(trap_said_count(words), times, "%s", words);
}

Test(options, hangup_takes_over_jobs_and_log)
{
	char path[300];

	flow_begin();
	file_write(path, sizeof(path), "conf", "jobs = none\n");
	flow_step("serve --lanes 1 --config %s", path);
	flow_steps("receipt A +9               -> 201",
	           "reserve R1 A=1 confirm=true -> 201 confirmed");
	cr_expect_eq(trap_said_count("event=slow "), 0);
	file_taken_over("jobs = settle\nslow_ms = 1\nlog-level = debug\n",
	                "event=options log_level=debug slow_ms=1 jobs=settle", 1);
	flow_steps("wait get R1                -> settled",
	           "lock",
	           "reserve R9 A=1             -> 503 busy", /* slow on any machine */
	           "unlock");
	said_wait("event=slow ", 1);
	said_wait("event=request ", 1);

	/* What is wrong changes nothing; what only a start reads is named. */
	file_taken_over("jobs = fly\n", "event=reload_failed", 1);
	file_taken_over("jobs = none\ncolour = red\n", "there is no option colour", 1);
	flow_steps("reserve R2 A=1 confirm=true -> 201 confirmed",
	           "wait get R2                -> settled");
	file_taken_over("jobs = none\nlog-level = info\nidle-timeout = 5\n",
	                "event=options log_level=info slow_ms=0 jobs=none", 1);
	cr_expect_eq(trap_said_count("event=option_waits option=idle_timeout"), 1);
	usleep(1000 * (unsigned)patience_ms(300)); /* the job has ended */
	flow_step("reserve R3 A=1 confirm=true -> 201 confirmed");
	usleep(1200000); /* it would look once a second */
	flow_step("get R3 -> confirmed");
	flow_end();
}

/* ---- access */

/* The error is told at once, because waiting would not help. With a retry of half a minute each, all these would
 * outlive the test. */
Test(options, access_denied)
{
	static const char *const commands[] = {"stats",  "work settle --once", "reap",   "audit",
	                                       "kick X", "purge --keep 1",     "migrate"};
	struct scratch          *s;
	char                     right[300], wrong[300], url[600], sql[300];

	flow_begin();
	s = flow_scratch();
	snprintf(sql, sizeof(sql), "CREATE USER x%s@localhost IDENTIFIED BY 'right'", s->name);
	cr_assert_eq(db_text(s->db, sql, NULL, NULL), DB_OK, "%s", db_error(s->db));
	snprintf(sql, sizeof(sql), "GRANT ALL ON %s.* TO x%s@localhost", s->name, s->name);
	cr_assert_eq(db_text(s->db, sql, NULL, NULL), DB_OK, "%s", db_error(s->db));
	file_write(right, sizeof(right), "right", "right\n");
	file_write(wrong, sizeof(wrong), "wrong", "wrong\n");
	snprintf(url, sizeof(url), "--db mariadb://x%s@localhost/%s?socket=%s --db-password-file", s->name, s->name,
	         s->link);
	for (size_t i = 0; i < LENGTH(commands); i++)
		flow_step("alone %s %s %s -> 69 '~refuses the user of' '~Access denied'", commands[i], url, wrong);
	flow_step("alone serve --listen 127.0.0.1:0 %s %s -> 69 '~Access denied'", url, wrong);
	flow_step("alone stats --db mariadb://x%s@localhost/nosuch?socket=%s --db-password-file %s -> 69", s->name,
	          s->link, right);
	flow_step("alone stats %s %s -> 0 ~available", url, right);
	snprintf(sql, sizeof(sql), "DROP USER x%s@localhost", s->name);
	cr_assert_eq(db_text(s->db, sql, NULL, NULL), DB_OK, "%s", db_error(s->db));
	flow_end();
}

/* ---- databases that are not there */

static char data[300];

static int entries(const char *path)
{
	DIR *dir = opendir(path);
	int  n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* The output of `holdfast COMMAND --data DIR`; it must end with 0. */
static void said(const char *command, struct text *to)
{
	char log[320], line[400];

	snprintf(log, sizeof(log), "%s.said", data);
	snprintf(line, sizeof(line), "%s --data %s", command, data);
	cr_expect(program_run(log, NULL, line) == 0, "%s", line);
	text_reset(to);
	program_log_all(log, to);
	unlink(log);
}

static const char *const finders[] = {"stats",        "audit",          "work settle --once", "reap",
                                      "kick X",       "kick --all",     "purge --keep 1",     "tune --seconds 1",
                                      "stats --json", "migrate --check"};

static void nothing_found(const char *where)
{
	for (size_t i = 0; i < LENGTH(finders); i++)
		flow_step("alone %s --data %s -> 78 '~there is no database in %s;'", finders[i], where, where);
}

/* The host takes the connection and says nothing. */
Test(options, a_database_that_says_nothing)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t          len = sizeof(at);
	struct text        said = {0};
	char               log[320], command[100], wanted[100];
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t              pid;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert(bind(fd, (struct sockaddr *)&at, len) == 0 && listen(fd, 100) == 0);
	cr_assert(getsockname(fd, (struct sockaddr *)&at, &len) == 0);
	snprintf(command, sizeof(command), "stats --db mariadb://x@127.0.0.1:%d/x", ntohs(at.sin_port));
	snprintf(wanted, sizeof(wanted), "event=database_silent host=127.0.0.1:%d seconds=5", ntohs(at.sin_port));
	snprintf(log, sizeof(log), "%s/silent.log", scratch_dir());
	pid = program_begin(log, NULL, command);
	for (int64_t from = clock_ms(); !patience_is_over(from, 2 * PATIENCE_MS); usleep(50000)) {
		text_reset(&said);
		program_log_all(log, &said);
		if (strstr(said.data, wanted))
			break;
	}
	cr_expect(strstr(said.data, wanted), "%s", said.data);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fd);
	text_fini(&said);
}

/* A mistyped folder is refused: otherwise the answer would be an empty database in which all is well. */
Test(options, data_that_is_not_there)
{
	char        path[320];
	struct stat st;

	flow_begin();
	snprintf(data, sizeof(data), "%s/%s.var", scratch_dir(), flow_scratch()->name);
	nothing_found(data);
	cr_expect(access(data, F_OK) != 0, "a folder was made");
	snprintf(path, sizeof(path), "%s/deeper/var", data);
	nothing_found(path);
	cr_assert(mkdir(data, 0755) == 0);
	nothing_found(data);
	cr_expect(entries(data) == 2 && stat(data, &st) == 0 && (st.st_mode & 07777) == 0755, "it was touched");
	snprintf(path, sizeof(path), "%s/photos", data);
	cr_assert(mkdir(path, 0755) == 0);
	nothing_found(data);
	cr_expect(entries(data) == 3 && stat(data, &st) == 0 && (st.st_mode & 07777) == 0755, "it was touched");
	cr_assert(rmdir(path) == 0);
	snprintf(path, sizeof(path), "%s/users.lock", data); /* as of one that was killed while it made the database */
	cr_assert(creat(path, 0600) >= 0);
	nothing_found(data);
	scratch_remove(data);
	flow_end();
}

/* Another process makes the folder just now: a command waits for that, as it waits for a start. */
Test(options, data_that_is_being_made)
{
	char   line[400], log[320];
	glob_t made;
	pid_t  pid;
	int    status;

	snprintf(data, sizeof(data), "%s/being-made", scratch_dir());
	snprintf(log, sizeof(log), "%s.log", data);
	snprintf(line, sizeof(line), "migrate --data %s", data);
	pid = program_begin(log, NULL, line);
	snprintf(line, sizeof(line), "%s/db.new.*", data);
	while (glob(line, 0, NULL, &made) != 0 && !program_wait(pid, 0, &status))
		usleep(1000);
	globfree(&made);
	snprintf(line, sizeof(line), "stats --data %s", data);
	cr_expect(program_run(log, NULL, line) == 0, "it did not wait");
	cr_expect(program_wait(pid, 3 * PATIENCE_MS, &status) && status == 0);
	scratch_remove(data);
}

/* A result on a terminal comes without the news that a server was started for it and stopped again. */
Test(options, results_without_events)
{
	static const char *const commands[] = {"stats",      "audit",          "work settle --once", "reap",
	                                       "kick --all", "purge --keep 1", "stats --json"};
	char                     csv[300], line[400];
	struct text              t = {0};

	flow_begin();
	snprintf(data, sizeof(data), "%s/%s.var", scratch_dir(), flow_scratch()->name);
	file_write(csv, sizeof(csv), "csv", "sku,qty\nA,5\n");
	snprintf(line, sizeof(line), "import %s", csv);
	said(line, &t);
	cr_expect(strstr(t.data, "event=migrated") && strstr(t.data, "1 rows, 5 units"), "%s", t.data);
	cr_expect(!strstr(strstr(t.data, "event=migrated") + 1, "event=migrated"), "one line of a new database");
	said(line, &t);
	cr_expect(!strstr(t.data, "event=") && strstr(t.data, "all received before"), "%s", t.data);
	for (size_t i = 0; i < LENGTH(commands); i++) {
		said(commands[i], &t);
		cr_expect(!strstr(t.data, "event="), "%s: %s", commands[i], t.data);
	}
	said("stats --log-level debug", &t);
	cr_expect(strstr(t.data, "event=server_started") && strstr(t.data, "event=server_stopped"), "%s", t.data);
	scratch_remove(data);
	text_fini(&t);
	flow_end();
}

/* ---- help */

/* In every line that begins with `mark`, the text begins in one column, behind two spaces. */
static void columns_check(const char *text, const char *mark)
{
	size_t column = 0;
	int    lines = 0;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *summary;

		line += *line == '\n';
		if (strncmp(line, mark, strlen(mark)) != 0)
			continue;
		summary = strstr(line + strlen(mark), "  ");
		cr_assert(summary && summary < strchr(line, '\n'), "the columns of this collide: %.80s", line);
		summary += strspn(summary, " ");
		column = column ? column : (size_t)(summary - line);
		cr_expect((size_t)(summary - line) == column, "another column: %.80s", line);
		lines++;
	}
	cr_expect(lines > 0, "no line begins with %s", mark);
}

static void printed(const char *command, struct text *to)
{
	char log[300];

	snprintf(log, sizeof(log), "%s/help.said", scratch_dir());
	unlink(log);
	cr_expect(program_run(log, NULL, command) == 0, "holdfast %s", command);
	text_reset(to);
	program_log_all(log, to);
	unlink(log);
}

extern const struct command commands[]; /* main.c, which has no header */

Test(options, help)
{
	static const char *const versions[] = {"version", "--version", "-V"};
	struct text              overview = {0}, t = {0};
	char                     line[100];

	printed("help", &overview);
	columns_check(overview.data, "  holdfast ");
	printed("--help", &t);
	cr_expect_str_eq(t.data, overview.data);
	for (const struct command *c = commands; c->name; c++) {
		struct text asked = {0};

		snprintf(line, sizeof(line), "\n  holdfast %s ", c->name);
		cr_expect(strstr(overview.data, line), "%s is not in the list", c->name);
		snprintf(line, sizeof(line), "%s --help", c->name);
		printed(line, &asked);
		if (c->mask)
			columns_check(asked.data, "  --");
		snprintf(line, sizeof(line), "help %s", c->name);
		printed(line, &t);
		cr_expect_str_eq(t.data, asked.data);
		text_fini(&asked);
	}
	for (size_t i = 0; i < LENGTH(versions); i++) {
		printed(versions[i], &t);
		cr_expect(strncmp(t.data, "holdfast ", 9) == 0 && strchr(t.data, '\n') == t.data + t.len - 1, "%s",
		          t.data);
	}
	text_fini(&overview);
	text_fini(&t);
	flow_begin();
	flow_steps("alone help nonsense  -> 64 '~there is no command nonsense'",
	           "alone nonsense       -> 64 '~holdfast serve'",
	           "alone help serve now -> 64 '~unexpected argument now'",
	           "alone version 2      -> 64",
	           "alone help --json    -> 64 '~unknown flag --json'");
	flow_end();
}

/* ---- slips of the pen */

/* Units and containers set every option by the environment. */
Test(options, a_name_of_the_environment_that_is_none)
{
	flow_begin();
	setenv("HOLDFAST_LANE", "3", 1);
	flow_steps("run stats                -> 78 '~HOLDFAST_LANE, but there is no such option; did you mean --lanes'",
	           "run serve --listen 127.0.0.1:0 -> 78 ~HOLDFAST_LANE",
	           "alone --help             -> 0");
	unsetenv("HOLDFAST_LANE");
	setenv("HOLDFAST_LANES", "3", 1); /* another command's is none of its business */
	flow_step("run stats                -> 0");
	unsetenv("HOLDFAST_LANES");
	setenv("HOLDFAST_", "3", 1);
	flow_step("run stats                -> 78 '~HOLDFAST_, but there is no such option'");
	unsetenv("HOLDFAST_");
	flow_end();
}

Test(options, a_typo_is_answered_with_the_nearest)
{
	flow_begin();
	flow_steps("alone stat               -> 64 '~there is no command stat; did you mean stats?'",
	           "alone sreve              -> 64 '~did you mean serve?'",
	           "alone help migrat        -> 64 '~did you mean migrate?'",
	           "alone kcik R1            -> 64 '~did you mean kick?' '!~holdfast serve'",
	           "alone nonsense           -> 64 '~there is no command nonsense' '!~did you mean'",
	           "alone serve --jbos       -> 64 '~unknown flag --jbos; did you mean --jobs?'",
	           "alone serve --tls_cret=x -> 64 '~did you mean --tls-cert?'",
	           "alone serve --skip-bda   -> 64 '~unknown flag --skip-bda' '!~did you mean'",
	           "alone stats --x          -> 64 '~unknown flag --x' '!~did you mean'",
	           "alone stats --           -> 64 '!~did you mean'",
	           "alone jobs pase settle   -> 64 '~there is no pase here; did you mean pause?'",
	           "alone jobs zzzzz settle  -> 64 '~jobs resume KIND' '!~did you mean'",
	           "alone jobs pause         -> 64 '~jobs resume KIND' '!~did you mean'",
	           "alone jobs pause setle   -> 64 '~there is no setle here; did you mean settle?'",
	           "alone jobs pause zzzzzz  -> 64 '~the jobs are settle, expire and deliver' '!~did you mean'",
	           "alone work setle         -> 64 '~there is no setle here; did you mean settle?'",
	           "alone work delivr --once -> 64 '~did you mean deliver?'",
	           "alone work zzzzzz        -> 64 '~work settle, expire or deliver' '!~did you mean'",
	           "alone work               -> 64 '~work settle, expire or deliver'",
	           "alone export stok        -> 64 '~there is no stok here; did you mean stock?'",
	           "alone export zzzzzz      -> 64 '~say what to export' '!~did you mean'",
	           "alone export             -> 64 '~say what to export'",
	           "alone key nwe A read     -> 64 '~there is no nwe here; did you mean new?'",
	           "alone key zzzzzz A read  -> 64 '~key new NAME ROLE' '!~did you mean'",
	           "alone key new A          -> 64 '~key new NAME ROLE' '!~did you mean'",
	           "alone show ordr R1       -> 64 '~there is no ordr here; did you mean order?'",
	           "alone show order         -> 64 '~show sku SKU' '!~did you mean'");
	with_config("batch-size = 7\n", "work settle --once", "78 '~there is no option batch-size' '!~did you mean'");
	with_config("log-levle = info\n", "work settle --once", "78 '~did you mean log-level?'");
	flow_end();
}

/* ---- what is said and printed */

#define CODE(max)                                                                                                      \
	"must be 1 to " #max " bytes of UTF-8 with no space at either end, without control and invisible characters, " \
	"and not . or .."
#define ID(max)           "must be 1 to " #max " bytes of printable ASCII with no space at either end, and not . or .."
#define NAME              "NAME must be 1 to 64 bytes of printable ASCII without space / ? # %, and not . or .."
#define INTEGER(min, max) "must be an integer from " #min " to " #max ", in plain digits"

/* A rule has one text, wherever it is violated. */
Test(options, one_text_for_one_rule)
{
	char csv[300], keys[300];

	flow_begin();
	flow_steps("raw POST /v1/reservations {'order_id':'a ','lines':[{'sku':'A','qty':1}]}"
	           " -> 400 field=order_id 'detail=" ID(64) "'",
	           "raw POST /v1/reservations {'order_id':'R','lines':[{'sku':' a','qty':1}]}"
	           " -> 400 field=lines[0].sku 'detail=" CODE(128) "'",
	           "raw POST /v1/reservations {'order_id':'R','lines':[{'sku':'A','location':'..','qty':1}]}"
	           " -> 400 field=lines[0].location 'detail=" CODE(64) "'",
	           "raw POST /v1/availability {'skus':['']} -> 400 field=skus[0] 'detail=" CODE(128) "'",
	           "raw GET /v1/skus/a%20                   -> 400 field=sku 'detail=" CODE(128) "'",
	           "raw GET /v1/reservations/%2E            -> 400 field=order_id 'detail=" ID(64) "'",
	           "raw POST /v1/reservations {'order_id':'R','lines':[{'sku':'A','qty':0}]}"
	           " -> 400 field=lines[0].qty 'detail=" INTEGER(1, 1000000000000) "'",
	           "raw POST /v1/reservations {'order_id':'R','lines':[{'sku':'A','qty':1.0}]}"
	           " -> 400 field=lines[0].qty 'detail=" INTEGER(1, 1000000000000) "'",
	           "raw POST /v1/reservations {'order_id':'R','lines':[{'sku':'A','qty':18446744073709551617}]}"
	           " -> 400 field=lines[0].qty 'detail=" INTEGER(1, 1000000000000) "'",
	           "raw POST /v1/reservations {'order_id':'R','lines':[{'sku':'A','qty':'1'}]}"
	           " -> 400 field=lines[0].qty 'detail=" INTEGER(1, 1000000000000) "'",
	           "raw GET /v1/skus?limit=1001             -> 400 field=limit 'detail=" INTEGER(1, 1000) "'",
	           "raw GET /v1/skus?limit=1.0              -> 400 field=limit 'detail=" INTEGER(1, 1000) "'",
	           "raw GET /v1/reservations?state=lost     -> 400 field=state"
	           " 'detail=must be one of: held, confirmed, settled, released, expired, buried'",
	           "raw POST /v1/reservations {'order_id':'R','lines':[{'sku':'A','qty':1}],'mode':'all'}"
	           " -> 400 field=mode 'detail=must be one of: all_or_nothing, best_effort'");
	file_write(csv, sizeof(csv), "csv", "sku,qty,location\n\" a\",1,\nA,1,..\nA,1.5,\nA,1000000000001,\n");
	flow_step("run import %s -> 1 '~line 2: sku %s' '~line 3: location %s' '~line 4: qty %s' '~line 5: qty %s'",
	          csv, CODE(128), CODE(64), INTEGER(1, 1000000000000), INTEGER(1, 1000000000000));
	flow_step("run import %s --id 'a ' -> 64 '~--id %s'", csv, ID(40));
	snprintf(keys, sizeof(keys), "%s/%s.nokeys", scratch_dir(), flow_scratch()->name);
	flow_step("alone key new a/b order --keys %s -> 64 '~%s'", keys, NAME);
	file_write(keys, sizeof(keys), "badkeys", "a/b order 00\n");
	flow_step("alone key new shop order --keys %s -> 78 '~line 1: %s'", keys, NAME);
	flow_steps("run work settle --batch 5001     -> 64 '~--batch " INTEGER(1, 5000) "'",
	           "run work settle --batch many     -> 64 '~--batch " INTEGER(1, 5000) "'",
	           "run work settle --max-attempts 0 -> 64 '~--max-attempts " INTEGER(1, 1000) "'",
	           "run reap --every 0               -> 64 '~--every " INTEGER(1, 86400) "'",
	           "run purge --keep 36501           -> 64 '~--keep " INTEGER(0, 36500) "'",
	           "run tune --seconds 61            -> 64 '~--seconds " INTEGER(1, 60) "'",
	           "run serve --slot 60001           -> 78 '~--slot " INTEGER(0, 60000) "'",
	           "run serve --slot 1.0             -> 64 '~--slot " INTEGER(0, 60000) "'");
	with_config("batch = 5001\n", "work settle --once", "64 '~--batch " INTEGER(1, 5000) "'");
	with_config("batch = 5e3\n", "work settle --once", "78 '~line 1: batch " INTEGER(1, 5000) "'");
	setenv("HOLDFAST_BATCH", "-1", 1);
	flow_steps("run work settle --once -> 78 '~HOLDFAST_BATCH " INTEGER(1, 5000) "'");
	unsetenv("HOLDFAST_BATCH");
	flow_end();
}

/* Every command that prints JSON; the output is read strictly (command.c). */
Test(options, json_of_every_command)
{
	char csv[300], keys[300];

	flow_begin();
	file_write(csv, sizeof(csv), "csv", "sku,qty\nA,5\n");
	snprintf(keys, sizeof(keys), "%s/%s.newkeys", scratch_dir(), flow_scratch()->name);
	flow_step("run import %s --json -> 0 rows=1 units=5", csv);
	flow_steps(
		"reserve R1 A=1              -> 201",
		"reserve H A=1 ttl=60        -> 201",
		"confirm R1                  -> 200",
		"claim settle w lease=1      -> 201",
		"tick 61",
		"run reap --json --dry-run   -> 0 task_id=1",
		"run reap --json             -> 0 task_id=1",
		"run work expire --once      -> 0",
		"run stats --json            -> 0 available=4 expired=1",
		"run audit --json            -> 0 whole=true",
		"sql UPDATE stock_slot SET reserved = reserved + 1",
		"run audit --json            -> 1 whole=false",
		"sql UPDATE stock_slot SET reserved = reserved - 1",
		"run kick --all --json       -> 0 kicked=0",
		"run purge --keep 0 --json   -> 0 reservations=1 tasks=2",
		"sql EXECUTE IMMEDIATE CONCAT('GRANT ALL ON ', DATABASE(), '_tune.* TO ', DATABASE(), '@localhost')",
		"run tune --seconds 1 --json -> 0 seconds=1");
	flow_step("alone key new shop order --json --keys %s -> 0 name=shop role=order key=*", keys);
	flow_end();
}

/* ---- the log */

/* The line of an event on stderr. */
static void logged(void (*event)(void), char *line, size_t size)
{
	int     ends[2], saved = dup(STDERR_FILENO);
	ssize_t n;

	cr_assert(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) >= 0);
	event();
	dup2(saved, STDERR_FILENO);
	close(ends[1]);
	n = read(ends[0], line, size - 1);
	line[n > 0 ? n : 0] = '\0';
	close(ends[0]);
	close(saved);
}

static void event_of_texts(void)
{
	log_event(LOG_WARN, "test", "a=%s b=%s c=%s d=%s e=\"%s\" f=%s", "plain", "two words", "", "say \"no\" \\",
	          "a \"b\"\nlevel=error", "x=1");
}

static void event_of_numbers(void)
{
	log_event(LOG_WARN, "test", "a=%d b=%u c=%lld d=%llu e=%zu f=%ld", -1, 4000000000U, LLONG_MIN,
	          (unsigned long long)UINT64_MAX, (size_t)7, -5L);
}

static void event_that_is_long(void)
{
	static char text[5000];

	memset(text, '"', sizeof(text) - 1);
	log_event(LOG_WARN, "test", "a=%s", text);
}

Test(options, log_values_stay_values)
{
	char line[4096];

	logged(event_of_texts, line, sizeof(line));
	cr_expect_str_eq(strstr(line, "level="),
	                 "level=warn event=test a=plain b=\"two words\" c=\"\" d=\"say \\\"no\\\" \\\\\""
	                 " e=\"a \\\"b\\\"\\nlevel=error\" f=\"x=1\"\n");
	logged(event_of_numbers, line, sizeof(line));
	cr_expect_str_eq(strstr(line, "level="), "level=warn event=test a=-1 b=4000000000 c=-9223372036854775808"
	                                         " d=18446744073709551615 e=7 f=-5\n");
	logged(event_that_is_long, line, sizeof(line));
	cr_expect_eq(strlen(line), 2048);
	cr_expect_eq(strchr(line, '\n'), line + 2047);
}

static void event_without_a_value(void)
{
	const char *none = getenv("TEST_NO_SUCH_NAME");

	log_event(LOG_WARN, "test", "a=%s b=%d c=%s", none, 1, none);
}

static void event_of_decimals(void)
{
	log_event(LOG_WARN, "test", "a=%f b=%d-%d c=%s d=\xff\xc3\xa9", 1234.5678, 1, 2, "3");
}

Test(options, log_values_may_be_missing)
{
	char line[4096];

	logged(event_without_a_value, line, sizeof(line));
	cr_expect_str_eq(strstr(line, "level="), "level=warn event=test b=1\n");
	logged(event_of_decimals, line, sizeof(line));
	cr_expect_str_eq(strstr(line, "level="), "level=warn event=test a=1234.568 b=1-2 c=3 d=\xff\xc3\xa9\n");
}

/* Does the same with JSON objects: whatever an event says, the line stays JSON. */
Test(options, log_as_json)
{
	static void (*const events[])(void) = {event_of_texts, event_of_numbers, event_that_is_long,
	                                       event_without_a_value, event_of_decimals};
	char line[4400];

	cr_assert(log_format_set("json"));
	logged(event_of_texts, line, sizeof(line));
	cr_expect_str_eq(strstr(line, "\"level\""),
	                 "\"level\":\"warn\",\"event\":\"test\",\"a\":\"plain\",\"b\":\"two words\",\"c\":\"\","
	                 "\"d\":\"say \\\"no\\\" \\\\\",\"e\":\"a \\\"b\\\"\\nlevel=error\",\"f\":\"x=1\"}\n");
	logged(event_of_numbers, line, sizeof(line));
	cr_expect_str_eq(strstr(line, "\"a\""), "\"a\":-1,\"b\":4000000000,\"c\":-9223372036854775808,"
	                                        "\"d\":18446744073709551615,\"e\":7,\"f\":-5}\n");
	logged(event_of_decimals, line, sizeof(line));
	cr_expect_str_eq(strstr(line, "\"a\""), "\"a\":1234.568,\"b\":\"1-2\",\"c\":\"3\",\"d\":\"?\xc3\xa9\"}\n");
	for (size_t i = 0; i < LENGTH(events); i++) {
		cJSON *json;

		logged(events[i], line, sizeof(line));
		json = cJSON_Parse(line);
		cr_expect(json, "%zu: %s", i, line);
		cJSON_Delete(json);
	}
}
