/* test_hosts.c - several hosts in --db: which one a process begins with, and when it moves. Both hosts lead to one
 * server here, so that nothing is lost on the way; tests/fault/drills_cluster.py has nodes that differ. */
#include "engine/base/clock.h"
#include "tests/kit/http.h"
#include "tests/kit/program.h"
#include "tests/kit/server.h"
#include "tests/kit/patience.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* In MOVED_MS a process must have moved. */
enum { MOVED_MS = PATIENCE_MS * 6 / 10, RETRY_US = 50000 };

static struct server server;
static int           port;
static char          log_path[80];

static void setup(void)
{
	static const char *const sql[] = {"CREATE USER app", "GRANT ALL ON holdfast.* TO app", NULL};
	char                     words[40];

	server_make(&server, sql);
	port = server_port();
	snprintf(words, sizeof(words), "--port=%d", port);
	server_start(&server, (const char *const[]){"--skip-networking=0", "--bind-address=127.0.0.1", words, NULL});
	snprintf(log_path, sizeof(log_path), "%s/log", server.dir);
}

static void teardown(void)
{
	server_remove(&server);
}

TestSuite(hosts, .init = setup, .fini = teardown);

static const char *url_of(int one, int two, const char *options)
{
	static char url[200];

	snprintf(url, sizeof(url), "mariadb://app@127.0.0.1:%d,127.0.0.1:%d/holdfast%s", one, two, options);
	return url;
}

static void log_needs(const char *words)
{
	struct text all = {0};

	program_log_all(log_path, &all);
	cr_expect(all.data && strstr(all.data, words), "the log has no `%s`:\n%s", words, all.data);
	text_fini(&all);
}

/* ---- a way to the server that dies or freezes: processes that pass on what comes */

static int connected(int to)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)to), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0 ? fd : -1;
}

static void pass_on(int client)
{
	struct pollfd ends[2] = {{client, POLLIN, 0}, {connected(port), POLLIN, 0}};
	char          bytes[65536];

	while (poll(ends, 2, -1) > 0)
		for (int i = 0; i < 2; i++) {
			ssize_t n = ends[i].revents ? read(ends[i].fd, bytes, sizeof(bytes)) : 0;

			if (ends[i].revents && (n <= 0 || write(ends[!i].fd, bytes, (size_t)n) != n))
				_exit(0);
		}
	_exit(0);
}

/* Returns the process group. */
static pid_t way_open(int at_port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)at_port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int   fd = socket(AF_INET, SOCK_STREAM, 0);
	pid_t pid;

	cr_assert(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) == 0 &&
	          bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 50) == 0);
	pid = fork();
	if (pid != 0) {
		close(fd);
		setpgid(pid, pid);
		return pid;
	}
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int client = accept(fd, NULL, NULL);

		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(fd);
			pass_on(client);
		}
		close(client);
	}
}

static void way_end(pid_t way, int number)
{
	kill(-way, number);
	if (number == SIGKILL)
		waitpid(way, NULL, 0);
}

/* ---- calls */

static bool call_answers(int at, const char *method, const char *path, const char *body, int status, const char *words)
{
	struct client client;
	struct answer answer = {0};
	bool          good;

	client_open(&client, at);
	client_ask(&client, method, path, body ? body : "", &answer);
	good = answer.status == status && (!words || (answer.body.data && strstr(answer.body.data, words)));
	client_close(&client);
	answer_fini(&answer);
	return good;
}

static bool receipt(const struct program *p, const char *id)
{
	char body[200];

	snprintf(body, sizeof(body),
	         "{\"movement_id\":\"%s\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"A\",\"qty\":9}]}", id);
	return call_answers(p->port, "POST", "/v1/movements", body, 201, NULL);
}

static void names(const struct program *p, int host)
{
	char    words[40];
	int64_t from_ms = clock_ms();
	bool    named;

	snprintf(words, sizeof(words), "127.0.0.1:%d", host);
	while (!(named = call_answers(p->port, "GET", "/readyz?verbose", NULL, 200, words)) &&
	       !patience_is_over(from_ms, MOVED_MS))
		usleep(RETRY_US); /* some thread may not be connected yet */
	cr_expect(named, "readyz does not name %s for %d ms", words, (int)(clock_ms() - from_ms));
}

static void stopped(struct program *p)
{
	struct text why = {0};
	bool        good = program_stop(p, &why);

	if (!good)
		program_log_tail(log_path, &why);
	cr_expect(good, "%s", why.data);
	text_fini(&why);
}

/* ---- tests */

/* A host without a server is passed over, by commands and by the service. */
Test(hosts, the_first_that_serves)
{
	int            nobody = server_port();
	const char    *url = url_of(nobody, port, "");
	struct program p = {0};

	cr_expect(program_run(log_path, url, "migrate") == 0);
	cr_expect(program_run(log_path, url, "stats") == 0);
	program_start(&p, log_path, url, "");
	cr_expect(receipt(&p, "M1"));
	names(&p, port);
	stopped(&p);
	log_needs("could not be asked for its settings");
	cr_expect(program_run(log_path, url, "audit") == 0);
}

Test(hosts, another_to_begin_with)
{
	int            way_port = server_port();
	pid_t          way = way_open(way_port);
	const char    *url = url_of(port, way_port, "?start=2");
	struct program p = {0};

	cr_expect(program_run(log_path, url, "migrate") == 0);
	program_start(&p, log_path, url, "");
	names(&p, way_port);
	stopped(&p);
	way_end(way, SIGKILL);
}

static void moves(int number)
{
	int            way_port = server_port();
	pid_t          way = way_open(way_port);
	const char    *url = url_of(way_port, port, "");
	struct program p = {0};
	int64_t        began_ms;

	cr_expect(program_run(log_path, url, "migrate") == 0);
	program_start(&p, log_path, url, "--jobs");
	cr_expect(receipt(&p, "M1"));
	names(&p, way_port);
	way_end(way, number);
	began_ms = clock_ms();
	while (!receipt(&p, "M2") && !patience_is_over(began_ms, 2 * MOVED_MS))
		usleep(RETRY_US);
	cr_expect(!patience_is_over(began_ms, MOVED_MS), "it took %d ms", (int)(clock_ms() - began_ms));
	names(&p, port);
	log_needs("event=database_moved");
	stopped(&p);
	way_end(way, SIGKILL);
	cr_expect(program_run(log_path, url, "audit") == 0);
}

Test(hosts, moves_where_its_own_is_gone)
{
	moves(SIGKILL);
}

/* Connections that wait for the old host are closed. */
Test(hosts, moves_where_its_own_is_silent)
{
	moves(SIGSTOP);
}

/* No service moves where no other host commits. */
Test(hosts, stays_while_no_other_commits)
{
	int            way_port = server_port(), nobody = server_port();
	pid_t          way = way_open(way_port);
	const char    *url = url_of(way_port, nobody, "");
	struct program p = {0};
	int64_t        began_ms;

	cr_expect(program_run(log_path, url, "migrate") == 0);
	program_start(&p, log_path, url, "");
	way_end(way, SIGSTOP);
	began_ms = clock_ms();
	usleep(MOVED_MS * 1000); /* the others have moved by then */
	cr_expect(call_answers(p.port, "GET", "/livez", NULL, 200, NULL));
	way_end(way, SIGCONT);
	while (!receipt(&p, "M1") && !patience_is_over(began_ms, 4 * MOVED_MS))
		usleep(RETRY_US);
	names(&p, way_port);
	stopped(&p);
	way_end(way, SIGKILL);
}

/* Each is named, with the reason. */
Test(hosts, none_serves)
{
	int  one = server_port(), two = server_port();
	char words[40];

	cr_expect(program_run(log_path, url_of(one, two, ""), "stats") == 69);
	snprintf(words, sizeof(words), "127.0.0.1:%d: ", one);
	log_needs(words);
	snprintf(words, sizeof(words), "127.0.0.1:%d: ", two);
	log_needs(words);
	cr_expect(program_run(log_path, url_of(one, two, "?start=3"), "stats") == 78);
}
