/* test_access.c - what is written of single requests: the access log, slow calls, answers 5xx and 401; and the delay of
 * a drain. */
#include "engine/base/clock.h"
#include "tests/lang/trap.h"
#include "tests/kit/http.h"
#include "tests/kit/drill.h"
#include "tests/kit/patience.h"
#include "tests/kit/program.h"
#include "tests/kit/server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DELAY_MS = PATIENCE_MS / 10 };

static char file[300];

/* `serve` with a file for the access log. */
static void serve_with(const char *options)
{
	snprintf(file, sizeof(file), "%s/%s.access", scratch_dir(), flow_scratch()->name);
	flow_step("serve --lanes 1 --access-log %s %s", file, options);
}

static void file_read(const char *name, struct text *to)
{
	FILE  *in = fopen(name, "r");
	size_t n;

	text_reset(to);
	text_add(to, "");
	while (in && (n = fread(text_room(to, 4096), 1, 4096, in)) > 0)
		to->len += n;
	if (to->data)
		to->data[to->len] = '\0';
	if (in)
		fclose(in);
}

/* Waits for a line with all of these, and for none with `never`. */
static void line_wait(const char *name, const char *const *parts)
{
	struct text t = {0};

	for (int64_t from = clock_ms(); !patience_is_over(from, PATIENCE_MS / 2); usleep(10000)) {
		file_read(name, &t);
		for (char *line = t.data, *end; (end = strchr(line, '\n')); line = end + 1) {
			size_t i = 0;

			*end = '\0';
			while (parts[i] && strstr(line, parts[i]))
				i++;
			if (!parts[i]) {
				text_fini(&t);
				return;
			}
		}
	}
	flow_fail("after %d ms no line has %s and the rest", patience_ms(PATIENCE_MS / 2), parts[0]);
	text_fini(&t);
}
#define LINE(...) line_wait(file, (const char *const[]){__VA_ARGS__, NULL})

static size_t said_count(const char *what)
{
	struct text t = {0};
	size_t      n = 0;

	flow_said(&t);
	for (const char *at = t.data; (at = strstr(at, what)); at += strlen(what))
		n++;
	text_fini(&t);
	return n;
}

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define ORDER " {'order_id':'R1','lines':[{'sku':'A','qty':3}]} "

Test(access, a_line_for_each_request)
{
	flow_begin();
	flow_steps("keys shop order,read | boss admin");
	serve_with("");
	flow_steps("key  boss",
	           "receipt M1 A +10 -> 201",
	           "key  shop",
	           "raw POST /v1/reservations X-Request-Id:me traceparent:00-" TRACE "-b7ad6b7169203331-01" ORDER
	           "-> 201",
	           "reserve R2 A=30 -> 409 short",
	           "batch R3 A=1 | R4 A=1 -> 201 | 201",
	           "raw GET /v1/reservations/R1?x=1 -> 400",
	           "raw HEAD /v1/skus/A -> 200",
	           "raw GET /no%20where X-Request-Id:a=b -> 404",
	           "key",
	           "raw GET /v1/skus -> 401");
	LINE("time=20", "Z client=127.0.0.1 key=boss method=POST path=/v1/movements status=201 bytes=", " ms=", " id=");
	LINE(" key=shop method=POST path=/v1/reservations status=201 order=R1 bytes=", " id=me trace=" TRACE);
	LINE(" key=shop method=POST path=/v1/reservations status=409 code=short order=R2 bytes=");
	LINE(" path=/v1/reservations/batch status=200 bytes=");
	LINE(" method=GET path=/v1/reservations/R1 status=400 code=invalid_request order=R1 ");
	LINE(" method=HEAD path=/v1/skus/A status=200 bytes=0 ");
	LINE(" path=/no%20where status=404 code=not_found bytes=", " id=\"a=b\"");
	LINE("client=127.0.0.1 method=GET path=/v1/skus status=401 code=unauthorized ");
	flow_end();
}

/* A header that is no traceparent (W3C Trace Context) is as if it were not there. */
Test(access, traces_that_are_none)
{
	static const char *const none[] = {
		"00-" TRACE "-b7ad6b7169203331",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"00-" TRACE "-0000000000000000-01",
		"ff-" TRACE "-b7ad6b7169203331-01",
		"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-" TRACE "-b7ad6b7169203331-01-more",
		"00_" TRACE "-b7ad6b7169203331-01",
		"-",
	};
	struct text t = {0};

	flow_begin();
	serve_with("");
	for (size_t i = 0; i < LENGTH(none); i++)
		flow_step("raw GET /livez traceparent:%s -> 200", none[i]);
	flow_step("raw GET /readyz traceparent:01-%s-b7ad6b7169203331-01-more -> 200", TRACE);
	LINE("path=/readyz ", " trace=" TRACE);
	file_read(file, &t);
	cr_expect(strstr(t.data, "trace=") == strstr(t.data, "trace=" TRACE) &&
	                  !strstr(strstr(t.data, "trace=") + 1, "trace="),
	          "%s", t.data);
	text_fini(&t);
	flow_end();
}

/* A program that moves the file away sends SIGHUP. */
Test(access, the_file_is_opened_anew)
{
	char moved[320];

	flow_begin();
	serve_with("");
	flow_step("raw GET /livez X-Request-Id:first -> 200");
	LINE("id=first");
	snprintf(moved, sizeof(moved), "%s.1", file);
	cr_assert(rename(file, moved) == 0);
	flow_step("raw GET /livez X-Request-Id:second -> 200");
	flow_signal(SIGHUP);
	trap_file(file);
	flow_step("raw GET /livez X-Request-Id:third -> 200");
	LINE("id=third");
	line_wait(moved, (const char *const[]){"id=second", NULL});
	flow_end();
}

Test(access, a_file_that_cannot_be_written)
{
	flow("run serve --listen 127.0.0.1:0 --access-log /no/such/folder/log -> 78 '~--access-log: cannot write'",
	     "run serve --listen 127.0.0.1:0 --log-format xml -> 78 '~there is no log format xml'");
}

/* A row that a stranger has locked makes a call slow, and the line says where its time went. The other
 * calls take milliseconds. The limit stays below the second of the call that waits for events. */
Test(access, slow_calls)
{
	const int slow_ms = patience_ms(300);

	flow_begin();
	flow_step("serve --lanes 1 --slow-ms %d", slow_ms < 900 ? slow_ms : 900);
	flow_steps("receipt A +10                  -> 201",
	           "reserve R1 A=1                 -> 201",
	           "events after=now wait_s=1      -> items=",
	           "lock",
	           "reserve R2 A=1                 -> 503 busy",
	           "unlock",
	           "reserve R3 A=1                 -> 201");
	cr_expect_eq(said_count("event=slow "), 1, "only the one that was slow; a call that waits for events is not");
	cr_expect_eq(said_count(" method=POST path=/v1/reservations status=503 code=busy order=R2 ms="), 1);
	cr_expect_eq(said_count(" locked=true"), 1);
	flow_end();
}

/* One line for each 5xx, without a flag; for 401 one a second. */
Test(access, failures_are_told)
{
	flow_begin();
	flow_steps("keys boss admin",
	           "serve --lanes 1",
	           "key boss",
	           "receipt A +10                  -> 201",
	           "lock",
	           "reserve R2 A=1                 -> 503 busy",
	           "unlock",
	           "key",
	           "race 4*200 raw GET /v1/skus    -> 800x 401");
	cr_expect_eq(said_count("event=failed "), 1);
	cr_expect_eq(
		said_count(" key=boss client=127.0.0.1 route=\"POST /v1/reservations\" status=503 code=busy order=R2"),
		1);
	cr_expect(said_count("event=unauthorized client=127.0.0.1 route=\"GET /v1/skus\"") >= 1);
	cr_expect(said_count("event=unauthorized ") <= 5);
	flow_end();
}

Test(access, drain_delay)
{
	flow_begin();
	flow_step("serve --lanes 1 --drain-delay %d", 1 + patience_ms(DELAY_MS) / 1000);
	flow_steps("receipt A +10        -> 201",
	           "raw GET /readyz      -> 200");
	flow_terminate();
	flow_steps("wait raw GET /readyz -> 503 unavailable",
	           "reserve R1 A=1       -> 201 held !Connection",
	           "raw GET /livez       -> 200",
	           "wait reserve R2 A=1  -> lost");
	flow_end();
}

/* A second signal ends the wait. */
Test(access, drain_delay_ends_with_the_second_signal)
{
	flow_begin();
	flow_steps("serve --lanes 1 --drain-delay 3600",
	           "receipt A +10        -> 201");
	flow_terminate();
	flow_steps("wait raw GET /readyz -> 503 unavailable",
	           "raw GET /metrics     -> 200 '~\nholdfast_draining 1\n' '~\nholdfast_service_ready 0\n'");
	flow_signal(SIGINT);
	flow_steps("wait reserve R2 A=1  -> lost");
	flow_end();
}

Test(access, metrics_of_the_process)
{
	flow("raw GET /livez   -> 200",
	     "raw GET /metrics -> 200 '~holdfast_build_info{version='"
	     " '~# TYPE process_cpu_seconds_total counter' ~\nprocess_cpu_seconds_total"
	     " ~\nprocess_resident_memory_bytes ~\nprocess_virtual_memory_bytes ~\nprocess_open_fds ~\nprocess_max_fds"
	     " ~\nprocess_start_time_seconds ~\nprocess_threads '~\nholdfast_database_up 1\n'"
	     " '~\nholdfast_service_ready 1\n' '~\nholdfast_draining 0\n'"
	     " '~holdfast_request_seconds_bucket{group=console,le=0.5} 1'"
	     " '~holdfast_request_seconds_bucket{group=console,le=2.5} 1'"
	     " '~holdfast_request_seconds_bucket{group=console,le=10} 1'");
}

/* What an alert looks at, and to which group a call belongs. Figures are counted once in 10 s: the watcher first. */
Test(access, metrics_of_what_waits)
{
	flow("raw PUT /v1/locations/po {'kind':'incoming'}                -> 201",
	     "receipt A@po +5 B +2                                        -> 201",
	     "raw PUT /v1/skus/B/threshold {'low':2,'location':'main'}    -> 200",
	     "reserve R1 A@po=3 confirm=true                              -> 201",
	     "reserve R2 A@po=1 B=1                                       -> 201",
	     "raw POST /v1/reservations/find {'order_ids':['R1']}         -> 200",
	     "wait sql SELECT COUNT(*) FROM level WHERE level = 2         -> 1",
	     "raw GET /metrics -> 200 '~\nholdfast_queued_lines{scope=database} 2\n'"
	     " '~\nholdfast_levels{level=low,scope=database} 1\n' '~\nholdfast_levels{level=out,scope=database} 0\n'"
	     " '~\nholdfast_request_seconds_count{group=orders} 2\n'"
	     " '~\nholdfast_request_seconds_count{group=stock} 3\n'"
	     " '~\nholdfast_request_seconds_count{group=reads} 1\n'"
	     " '!~\nholdfast_certificate_expiry_timestamp_seconds'");
}

/* An idle connection is looked at every few seconds. */
Test(access, metrics_without_a_database, DRILL)
{
	flow("receipt A +1 -> 201",
	     "away",
	     "wait raw GET /metrics -> 200 '~\nholdfast_database_up 0\n' '~\nholdfast_service_ready 0\n'"
	     " '~\nholdfast_draining 0\n'",
	     "back",
	     "wait raw GET /metrics -> 200 '~\nholdfast_database_up 1\n' '~\nholdfast_service_ready 1\n'");
}

enum { UNREAD = 1500 }; /* so many calls that their lines do not fit into a pipe */

static void ask_each(struct client *c, int count)
{
	struct answer a = {0};

	for (int i = 0; i < count; i++) {
		client_ask(c, "GET", "/livez", "", &a);
		if (a.status != 200)
			cr_assert_fail("call %d: %d %s", i, a.status, a.body.data);
	}
	answer_fini(&a);
}

/* A program with both outputs in a FIFO: its log, with a line for each call, and its access log. */
static pid_t serve_into(const char *fifo, struct client *c)
{
	char    command[200];
	int64_t from = clock_ms();
	pid_t   pid;

	cr_assert(mkfifo(fifo, 0600) == 0);
	client_open(c, server_port());
	snprintf(command, sizeof(command), "serve --lanes 1 --listen 127.0.0.1:%d --log-level debug --access-log -",
	         c->port);
	pid = program_begin(fifo, flow_scratch()->url, command);
	while (!client_connect(c) && !patience_is_over(from, PATIENCE_MS))
		usleep(10000);
	return pid;
}

static void fifo_read(int fd, struct text *to)
{
	ssize_t n;

	while ((n = read(fd, text_room(to, 4096), 4096)) > 0)
		to->len += (size_t)n;
}

/* Every line is one of a log, whole. */
static void lines_are_whole(struct text *said)
{
	said->data[said->len] = '\0';
	for (char *line = said->data, *end; *line; line = end + 1) {
		end = strchrnul(line, '\n');
		cr_assert(*end && strncmp(line, "time=", 5) == 0, "%.*s", (int)(end - line), line);
	}
}

/* A collector that stands still costs lines, which the next one counts. Nothing waits for it: no call, no signal. */
Test(access, nobody_waits_for_who_reads_the_log)
{
	char          fifo[300];
	struct client c;
	struct text   said = {0};
	pid_t         pid;
	int           fd, status = -1;

	flow_begin();
	snprintf(fifo, sizeof(fifo), "%s/%s.fifo", scratch_dir(), flow_scratch()->name);
	pid = serve_into(fifo, &c);
	ask_each(&c, UNREAD);
	fd = open(fifo, O_RDONLY | O_NONBLOCK);
	for (int64_t from = clock_ms(); !patience_is_over(from, PATIENCE_MS); usleep(10000)) {
		fifo_read(fd, &said);
		ask_each(&c, 1);
		if (memmem(said.data, said.len, "Z lines_lost=", 13) ||
		    memmem(said.data, said.len, " event=request lines_lost=", 26))
			break;
	}
	lines_are_whole(&said);
	cr_expect(strstr(said.data, " level=debug event=request lines_lost="), "%.3000s", said.data);
	ask_each(&c, UNREAD);
	kill(pid, SIGTERM);
	cr_expect(program_wait(pid, 2 * PATIENCE_MS, &status) && status == 0, "status %d", status);
	kill(pid, SIGKILL);
	close(fd);
	client_close(&c);
	text_fini(&said);
	flow_end();
}

/* A FIFO without a reader is no start. Where its reader has gone, SIGHUP changes nothing. */
Test(access, a_fifo_without_a_reader)
{
	int reader;

	flow_begin();
	snprintf(file, sizeof(file), "%s/%s.fifo", scratch_dir(), flow_scratch()->name);
	cr_assert(mkfifo(file, 0600) == 0);
	flow_step("run serve --listen 127.0.0.1:0 --access-log %s -> 78 '~no program reads it'", file);
	reader = open(file, O_RDONLY | O_NONBLOCK);
	flow_step("serve --lanes 1 --access-log %s", file);
	flow_step("raw GET /livez -> 200");
	close(reader);
	flow_steps("hangup",
	           "wait raw GET /livez -> 200",
	           "receipt A +1        -> 201");
	cr_expect_eq(said_count("why=\"no program reads it\""), 1);
	flow_end();
}

/* A disk that takes no more costs lines of the access log, which the log says once, and no call. */
Test(access, a_file_that_takes_no_more)
{
	flow_begin();
	flow_steps("serve --lanes 1 --access-log /dev/full",
	           "raw GET /livez      -> 200",
	           "receipt A +10       -> 201",
	           "events after=now wait_s=1 -> items=",
	           "reserve R1 A=1      -> 201",
	           "events after=now wait_s=1 -> items=",
	           "raw GET /readyz     -> 200");
	cr_expect_eq(said_count("event=access_log file=/dev/full why=\"No space left on device\""), 1);
	flow_end();
}
