/* test_terminal.c - commands on a terminal, and in a pipe: bars, colours, and how the terminal is left. */
#include "engine/base/clock.h"
#include "tests/lang/flow.h"
#include "tests/kit/program.h"
#include "tests/kit/patience.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

enum { END_MS = 3 * PATIENCE_MS, KEEPS_MS = 20 };

/* A command on a terminal of its own, and what it has written there. */
struct terminal {
	int            master, slave;
	pid_t          pid;
	struct termios before;
	struct text    said;
};

/* `holdfast COMMAND --db URL REST` by a shell, with a terminal of this size as its input and outputs. */
static void terminal_begin_sized(struct terminal *t, struct winsize size, const char *environment, const char *command,
                                 const char *rest)
{
	char line[1200];

	*t = (struct terminal){.pid = 0};
	text_add(&t->said, "");
	cr_assert(openpty(&t->master, &t->slave, NULL, NULL, &size) == 0 && tcgetattr(t->slave, &t->before) == 0);
	snprintf(line, sizeof(line), "%s exec %s %s --db '%s' %s", environment, program_path(), command,
	         flow_scratch()->url, rest);
	t->pid = fork();
	if (t->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(t->master);
		login_tty(t->slave);
		setenv("TERM", "xterm", 1);
		unsetenv("NO_COLOR");
		execl("/bin/sh", "sh", "-c", line, NULL);
		_exit(127);
	}
	cr_assert(t->pid > 0 && fcntl(t->master, F_SETFL, O_NONBLOCK) == 0);
}

static void terminal_begin(struct terminal *t, const char *environment, const char *command, const char *rest)
{
	terminal_begin_sized(t, (struct winsize){.ws_row = 20, .ws_col = 60}, environment, command, rest);
}

static void terminal_read(struct terminal *t)
{
	char    bytes[4096];
	ssize_t n;

	while ((n = read(t->master, bytes, sizeof(bytes))) > 0)
		text_bytes(&t->said, bytes, (size_t)n);
}

/* The command ends by itself; returns its exit status. The terminal has to be as it was. */
static int terminal_end(struct terminal *t)
{
	int64_t        from_ms = clock_ms();
	struct termios after;
	bool           ended;
	int            status;

	while (!(ended = waitpid(t->pid, &status, WNOHANG) != 0) && !patience_is_over(from_ms, END_MS)) {
		terminal_read(t);
		usleep(KEEPS_MS * 1000);
	}
	terminal_read(t);
	cr_expect(ended, "it does not end in %d ms: %s", (int)(clock_ms() - from_ms), t->said.data);
	cr_expect(tcgetattr(t->slave, &after) == 0 && after.c_lflag == t->before.c_lflag &&
	          after.c_iflag == t->before.c_iflag && after.c_oflag == t->before.c_oflag);
	if (!ended)
		kill(t->pid, SIGKILL);
	close(t->master);
	close(t->slave);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool shows(const struct terminal *t, const char *what)
{
	return strstr(t->said.data, what) != NULL;
}

static void csv_make(char *path, size_t size)
{
	FILE *out;

	snprintf(path, size, "%s/%s.csv", scratch_dir(), flow_scratch()->name);
	out = fopen(path, "w");
	cr_assert(out);
	fprintf(out, "sku,qty\n");
	for (int i = 0; i < 3000; i++)
		fprintf(out, "S%d,2\n", i);
	fclose(out);
}

/* Runs the command on a terminal, with and without colours, and in a pipe. */
static void bar_check(const char *command, const char *rest, const char *bar)
{
	struct terminal t;
	char            step[500];

	terminal_begin(&t, "", command, rest);
	cr_expect(terminal_end(&t) == 0, "%s: %s", command, t.said.data);
	cr_expect(shows(&t, bar) && shows(&t, "\r\033[K"), "%s: %s", command, t.said.data);
	text_fini(&t.said);
	terminal_begin(&t, "NO_COLOR=1", command, rest);
	cr_expect(terminal_end(&t) == 0);
	cr_expect(shows(&t, bar) && !shows(&t, "\033[3"), "%s: %s", command, t.said.data);
	text_fini(&t.said);
	terminal_begin(&t, "TERM=dumb", command, rest);
	cr_expect(terminal_end(&t) == 0);
	cr_expect(!shows(&t, "\033"), "%s: %s", command, t.said.data);
	text_fini(&t.said);
	snprintf(step, sizeof(step), "run %s -> 0 '!~\033' '!~\r'", command);
	flow_step("%s", step);
}

Test(terminal, bars)
{
	char csv[300], command[400];

	flow_begin();
	csv_make(csv, sizeof(csv));
	snprintf(command, sizeof(command), "import %s", csv);
	bar_check(command, "", "\033[Krows [");
	bar_check("audit", "", "\033[Ksku");
	bar_check("purge --keep 1", "", "\033[Kreservations");
	bar_check("export stock", "> /dev/null", "\033[Kstock");
	flow_end();
}

/* A progress bar would mix with the lines of an export. */
Test(terminal, no_bar_between_lines)
{
	struct terminal t;

	flow_begin();
	flow_step("receipt A +1 -> 201");
	terminal_begin(&t, "", "export stock", "");
	cr_expect(terminal_end(&t) == 0);
	cr_expect_str_eq(t.said.data, "sku,location,kind,available,reserved,on_hand\r\nA,main,stock,1,0,1\r\n");
	text_fini(&t.said);
	flow_end();
}

Test(terminal, show_has_colours_there_alone)
{
	struct terminal t;

	flow_begin();
	flow_step("receipt A +1 -> 201");
	terminal_begin(&t, "", "show sku A", "");
	cr_expect(terminal_end(&t) == 0);
	cr_expect(shows(&t, "\033[1msku\033[0m        A"), "%s", t.said.data);
	text_fini(&t.said);
	terminal_begin(&t, "NO_COLOR=1", "show sku A", "");
	cr_expect(terminal_end(&t) == 0);
	cr_expect(shows(&t, "sku        A") && !shows(&t, "\033"), "%s", t.said.data);
	text_fini(&t.said);
	flow_steps("run show sku A -> 0 '!~\033' '~sku        A'");
	flow_end();
}

/* ---- stats --watch */

#define SCREEN "\033[?1049h\033[?25l"
#define BACK   "\033[?25h\033[?1049l"

/* Waits until the command has written this. */
static void terminal_wait_for(struct terminal *t, const char *what)
{
	int64_t from_ms = clock_ms();

	while (!shows(t, what) && !patience_is_over(from_ms, PATIENCE_MS)) {
		usleep(10000);
		terminal_read(t);
	}
	cr_expect(shows(t, what), "it does not show %s in %d ms: %s", what, (int)(clock_ms() - from_ms), t->said.data);
}

static void watch_begin(struct terminal *t)
{
	terminal_begin(t, "", "stats --watch 1", "");
	terminal_wait_for(t, "incoming_reserved");
	cr_expect(strncmp(t->said.data, SCREEN, strlen(SCREEN)) == 0, "%s", t->said.data);
}

/* At the end the terminal must be put back. */
static void watch_ends(struct terminal *t, int status)
{
	int    ended = terminal_end(t);
	size_t len = strlen(BACK);

	cr_expect_eq(ended, status, "%d and not %d", ended, status);
	cr_expect(t->said.len > len && strcmp(t->said.data + t->said.len - len, BACK) == 0, "%s",
	          t->said.data + (t->said.len > 200 ? t->said.len - 200 : 0));
	text_fini(&t->said);
}

Test(terminal, watch_ends_with_a_key)
{
	struct terminal t;

	flow_begin();
	flow_steps("receipt A +10  -> 201",
	           "reserve R1 A=3 -> 201");
	watch_begin(&t);
	cr_expect(shows(&t, "available                          7") && shows(&t, "\033[1mreservations\033[0m"), "%s",
	          t.said.data);
	flow_step("reserve R2 A=1 -> 201");
	terminal_wait_for(&t, "held                               2      +");
	cr_expect(write(t.master, "xq", 2) == 2);
	watch_ends(&t, 0);
	watch_begin(&t);
	cr_expect(write(t.master, "\003", 1) == 1); /* Ctrl-C */
	watch_ends(&t, 0);
	flow_end();
}

/* A screen of 80 by 24 has room for all of it, in two columns; the line at the bottom stays empty. */
Test(terminal, watch_fits_an_ordinary_screen)
{
	struct terminal t;
	int             lines = 0;

	flow_begin();
	flow_steps("receipt A +10  -> 201",
	           "reserve R1 A=3 -> 201");
	terminal_begin_sized(&t, (struct winsize){.ws_row = 24, .ws_col = 80}, "NO_COLOR=1", "stats --watch 1", "");
	terminal_wait_for(&t, "\033[J");
	cr_expect(shows(&t, "  skus                        1           oldest_expired_ms ") &&
	                  shows(&t, "  available                   7           ") && shows(&t, "  buried  ") &&
	                  shows(&t, "  leases_ahead                0"),
	          "%s", t.said.data);
	for (const char *at = t.said.data, *end; (end = strstr(at, "\033[K")); at = end + 5, lines++)
		cr_expect(end - at < 80 + (lines > 0 ? 2 : (int)strlen(SCREEN) + 4), "%.*s", (int)(end - at), at);
	cr_expect_eq(lines, 22, "%d: %s", lines, t.said.data);
	cr_expect(write(t.master, "q", 1) == 1);
	watch_ends(&t, 0);
	flow_end();
}

Test(terminal, watch_puts_the_terminal_back_after_every_signal)
{
	static const struct {
		int sig, status;
	} ends[] = {{SIGTERM, 0},
	            {SIGHUP, 0},
	            {SIGQUIT, 0},
	            {SIGABRT, 128 + SIGABRT},
	            {SIGSEGV, 128 + SIGSEGV},
	            {SIGBUS, 128 + SIGBUS},
	            {SIGFPE, 128 + SIGFPE}};
	struct terminal t;

	flow_begin();
	for (size_t i = 0; i < LENGTH(ends); i++) {
		watch_begin(&t);
		kill(t.pid, ends[i].sig);
		watch_ends(&t, ends[i].status);
	}
	flow_end();
}

/* Ctrl-Z gives the terminal back to the shell, and fg takes it again. */
Test(terminal, watch_may_be_stopped)
{
	struct terminal t;
	struct termios  now;

	flow_begin();
	watch_begin(&t);
	kill(t.pid, SIGTSTP);
	terminal_wait_for(&t, BACK);
	cr_expect(tcgetattr(t.slave, &now) == 0 && now.c_lflag == t.before.c_lflag);
	text_reset(&t.said);
	text_add(&t.said, "");
	kill(t.pid, SIGCONT);
	terminal_wait_for(&t, SCREEN);
	terminal_wait_for(&t, "incoming_reserved");
	cr_expect(tcgetattr(t.slave, &now) == 0 && !(now.c_lflag & (ICANON | ECHO)));
	kill(t.pid, SIGTERM);
	watch_ends(&t, 0);
	flow_end();
}

/* If the database is away, the screen says so, and the command waits for it. */
Test(terminal, watch_waits_for_the_database)
{
	struct terminal t;

	flow_begin();
	watch_begin(&t);
	flow_steps("away",
	           "cut");
	terminal_wait_for(&t, "the database does not answer; q ends");
	flow_step("back");
	text_reset(&t.said);
	text_add(&t.said, "");
	terminal_wait_for(&t, "incoming_reserved");
	cr_expect(write(t.master, "q", 1) == 1);
	watch_ends(&t, 0);
	flow_end();
}

/* In a pipe: blocks without escapes; with --json a line each. */
Test(terminal, watch_in_a_pipe)
{
	flow("receipt A +10               -> 201",
	     "start W stats --watch=1",
	     "start J stats --watch 1 --json",
	     "wait sql SELECT 1           -> 1",
	     "raw GET /v1/events?after=now&wait_s=3 -> 200",
	     "signal W TERM",
	     "signal J INT",
	     "end W -> 0 '~holdfast stats  20' '~  available                         10' '!~\033' '~stock' '~clocks'",
	     "end J -> 0 available=10 '!~\033'",
	     "run stats --watch 0         -> 64 '~--watch must be an integer from 1 to 3600'",
	     "run stats --watch soon      -> 64 '~--watch must be an integer'",
	     "run stats --watch=1 2       -> 64 '~unexpected argument 2'",
	     "run stats 2                 -> 64 '~unexpected argument 2'");
}

/* The reader of the pipe has gone. */
Test(terminal, watch_ends_with_its_pipe)
{
	struct terminal t;

	flow_begin();
	terminal_begin(&t, "", "stats --watch 1", "| head -n 1");
	cr_expect_eq(terminal_end(&t), 0);
	cr_expect(shows(&t, "holdfast stats  20"), "%s", t.said.data);
	text_fini(&t.said);
	flow_end();
}

/* ---- serve */

Test(terminal, a_service_begins_with_four_lines)
{
	struct terminal t;
	const char     *first, *at;
	int             lines = 0;

	flow_begin();
	flow_step("receipt A +1 -> 201"); /* the schema is there */
	terminal_begin(&t, "", "serve", "--listen 127.0.0.1:0");
	terminal_wait_for(&t, "/v1/reservations --json '{");
	kill(t.pid, SIGTERM);
	cr_expect(terminal_end(&t) == 0, "%s", t.said.data);
	first = strstr(t.said.data, "Holdfast reserves stock");
	cr_assert(first, "%s", t.said.data);
	for (at = first; (at = strchr(at, '\n')); at++)
		lines += strncmp(at + 1, "  ", 2) == 0;
	cr_expect_eq(lines, 3, "%s", first);
	cr_expect(strstr(first, "listening  http://127.0.0.1:") &&
	          strstr(first, "curl -s -w '\\n' http://127.0.0.1:") && strstr(first, "/v1/movements --json '{"));
	text_fini(&t.said);
	flow_end();
}

/* In a pipe or a file it writes its log and no other line; the log has the address of the console. */
Test(terminal, a_service_writes_a_log_elsewhere)
{
	struct text said = {0};
	bool        json = true;
	char        log[300];
	int         status = -1;
	pid_t       pid;

	flow_begin();
	flow_step("receipt A +1 -> 201");
	snprintf(log, sizeof(log), "%s/%s.json", scratch_dir(), flow_scratch()->name);
	pid = program_begin(log, flow_scratch()->url, "serve --listen 127.0.0.1:0 --log-format json");
	for (int tries = 0; tries < 1000 && !(said.data && strstr(said.data, "\"no_expiry\"")); tries++) {
		usleep(20000);
		text_reset(&said);
		program_log_all(log, &said);
	}
	kill(pid, SIGTERM);
	cr_expect(program_wait(pid, END_MS, &status) && status == 0, "%d", status);
	text_reset(&said);
	program_log_all(log, &said);
	for (const char *line = said.data, *end; json && (end = strchr(line, '\n')); line = end + 1)
		json = *line == '{' && end[-1] == '}';
	cr_expect(json, "%s", said.data);
	cr_expect(strstr(said.data, "\"console\":\"http://127.0.0.1:") && strstr(said.data, "/console/\""), "%s",
	          said.data);
	text_fini(&said);
	flow_end();
}
