/* test_passed.c - sockets that another process made and passed, as systemd does (sd_listen_fds(3)): they are served in
 * place of --listen, outlive the service, and their clients wait while no service runs. */
#include "engine/base/clock.h"
#include "tests/lang/flow.h"
#include "tests/kit/patience.h"
#include "tests/kit/program.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	WAIT_MS = 2 * PATIENCE_MS,
	PASSED_FIRST = 3,
	SPARE = 100,
	BACKLOG = 64,
	LATE_MS = 500,
	SURELY_MS = 900,
	TRIES = 5
};

static const char ask[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
static char       log_file[300];

static void begin(void)
{
	flow_begin();
	snprintf(log_file, sizeof(log_file), "%s/%s.log", scratch_dir(), flow_scratch()->name);
}

static int tcp_socket(uint32_t address, int type, bool listens)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int                fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(address);
	cr_assert(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && (!listens || listen(fd, BACKLOG) == 0));
	return fd;
}

static int unix_socket(struct sockaddr_un *at, mode_t mode)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*at = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(at->sun_path, sizeof(at->sun_path), "%s/%s.door", scratch_dir(), flow_scratch()->name);
	unlink(at->sun_path);
	cr_assert(bind(fd, (struct sockaddr *)at, sizeof(*at)) == 0 && chmod(at->sun_path, mode) == 0 &&
	          listen(fd, BACKLOG) == 0);
	return fd;
}

/* A new connection to the place of a socket. */
static int connected(int door)
{
	struct sockaddr_storage at;
	socklen_t               len = sizeof(at);
	int                     fd;

	cr_assert(getsockname(door, (struct sockaddr *)&at, &len) == 0);
	fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert(connect(fd, (struct sockaddr *)&at, len) == 0, "refused");
	return fd;
}

/* A process that serves the database of the flow and gets these descriptors. `pid` 0: they are meant for it. */
static pid_t passed(const int *fds, int count, const char *told, pid_t pid)
{
	pid_t child = fork();
	char  number[20];

	if (child != 0)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < count; i++)
		dup2(fds[i], SPARE + i);
	for (int i = 0; i < count; i++)
		dup2(SPARE + i, PASSED_FIRST + i);
	dup2(open(log_file, O_CREAT | O_APPEND | O_WRONLY, 0600), STDERR_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	close_range((unsigned)(PASSED_FIRST + count), ~0U, 0);
	snprintf(number, sizeof(number), "%d", (int)(pid ? pid : getpid()));
	setenv("LISTEN_PID", number, 1);
	setenv("LISTEN_FDS", told, 1);
	setenv("LISTEN_FDNAMES", "front:back", 1);
	execl(program_path(), "holdfast", "serve", "--lanes", "1", "--listen", "127.0.0.1:0", "--db",
	      flow_scratch()->url, (char *)NULL);
	_exit(127);
}

static bool says(const char *text)
{
	struct text said = {0};
	bool        has;

	program_log_all(log_file, &said);
	has = said.data && strstr(said.data, text);
	text_fini(&said);
	return has;
}

static void said_wait(pid_t pid, const char *text)
{
	int status;

	for (int64_t from = clock_ms(); !says(text); usleep(5000))
		cr_assert(!patience_is_over(from, WAIT_MS) && !program_wait(pid, 0, &status), "it does not say %s",
		          text);
}

static void ended(pid_t pid, int wanted)
{
	int status = -1;

	cr_expect(program_wait(pid, WAIT_MS, &status) && status == wanted, "it ended with %d, not %d", status, wanted);
}

static void asks(int fd)
{
	cr_assert(send(fd, ask, strlen(ask), MSG_NOSIGNAL) > 0);
}

/* The answer is 200 and has `more`, and the client closes. */
static void answered(int fd, const char *more)
{
	char    answer[1000] = "";
	ssize_t n = recv(fd, answer, sizeof(answer) - 1, 0);

	cr_expect(n > 0 && strstr(answer, "HTTP/1.1 200") && strstr(answer, more), "%zd %s", n, answer);
	close(fd);
}

/* Clients that come before a service, between two and while one ends are answered by the next one. */
Test(passed, outlive_the_service)
{
	struct sockaddr_un at;
	int                doors[2], early[2], between[2];
	pid_t              pid;

	begin();
	doors[0] = tcp_socket(INADDR_LOOPBACK, SOCK_STREAM, true);
	doors[1] = unix_socket(&at, 0660);
	for (int i = 0; i < 2; i++)
		asks(early[i] = connected(doors[i]));
	pid = passed(doors, 2, "2", 0);
	for (int i = 0; i < 2; i++)
		answered(early[i], "ok");
	cr_expect(says("passed=front") && says("passed=back") && !says("address=127.0.0.1:0"));
	kill(pid, SIGTERM);
	ended(pid, 0);
	cr_expect(access(at.sun_path, F_OK) == 0, "the path of a socket that was passed is not ours to unlink");
	for (int i = 0; i < 2; i++)
		asks(between[i] = connected(doors[i]));
	pid = passed(doors, 2, "2", 0);
	for (int i = 0; i < 2; i++)
		answered(between[i], "ok");
	kill(pid, SIGTERM);
	ended(pid, 0);
	unlink(at.sun_path);
	flow_end();
}

/* Three clients are there when the service is told to end: one that has said nothing yet, one between two calls that
 * sends another one, and one that stays silent. The first two are answered, and the third sees an end and no reset. */
Test(passed, clients_of_a_drain)
{
	int  door, fresh, again, silent, tries = 0;
	char rest[1000];
	bool in_time = false;

	begin();
	door = tcp_socket(INADDR_LOOPBACK, SOCK_STREAM, true);
	while (!in_time && tries++ < TRIES) {
		pid_t   pid = passed(&door, 1, "1", 0);
		int64_t from;

		again = connected(door);
		silent = connected(door);
		asks(again);
		asks(silent);
		cr_assert(recv(again, rest, sizeof(rest), 0) > 0 && recv(silent, rest, sizeof(rest), 0) > 0);
		fresh = connected(door);
		answered((asks(fresh), fresh), "ok"); /* so that the next one is accepted soon */
		from = clock_ms();
		fresh = connected(door);
		usleep(50000);
		kill(pid, SIGTERM);
		said_wait(pid, "event=draining");
		asks(again);
		answered(again, "Connection: close");
		usleep(LATE_MS * 1000);
		(void)!send(fresh, ask, strlen(ask), MSG_NOSIGNAL);
		in_time = clock_ms() - from < SURELY_MS;
		if (in_time)
			answered(fresh, "Connection: close");
		else
			close(fresh);
		cr_expect_eq(recv(silent, rest, sizeof(rest), 0), 0, "a silent client was not told the end");
		close(silent);
		ended(pid, 0);
		unlink(log_file);
	}
	cr_assert(in_time, "the machine was too slow %d times", TRIES);
	flow_end();
}

static void refused(int fd, const char *told, const char *why)
{
	unlink(log_file);
	ended(passed(&fd, 1, told, 0), 78);
	cr_expect(says(why), "%s", why);
	close(fd);
}

Test(passed, that_cannot_be_served)
{
	struct sockaddr_un at, none = {.sun_family = AF_UNIX, .sun_path = "\0holdfast-test-passed"};
	int                pair[2], abstract;

	begin();
	refused(open("/dev/null", O_RDONLY | O_CLOEXEC), "1", "descriptor 3 (front) is no socket");
	refused(tcp_socket(INADDR_LOOPBACK, SOCK_DGRAM, false), "1", "is no stream socket that listens");
	refused(tcp_socket(INADDR_LOOPBACK, SOCK_STREAM, false), "1", "is no stream socket that listens");
	cr_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	refused(pair[0], "1", "is no stream socket that listens");
	close(pair[1]);
	snprintf(none.sun_path + 1, sizeof(none.sun_path) - 1, "%s", flow_scratch()->name);
	abstract = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert(bind(abstract, (struct sockaddr *)&none, sizeof(none)) == 0 && listen(abstract, BACKLOG) == 0);
	refused(abstract, "1", "is a unix socket without a path");
	refused(tcp_socket(INADDR_ANY, SOCK_STREAM, true), "1", "is open to others and there are no keys");
	refused(unix_socket(&at, 0666), "1", "is open to others and there are no keys");
	unlink(at.sun_path);
	refused(tcp_socket(INADDR_LOOPBACK, SOCK_STREAM, true), "17", "up to 16 sockets can be passed");
	refused(tcp_socket(INADDR_LOOPBACK, SOCK_STREAM, true), "-1", "up to 16 sockets can be passed");
	flow_end();
}

/* What was passed to another process, as to a shell that started this one, is none of ours. */
Test(passed, to_another_process)
{
	int   door;
	pid_t pid;

	begin();
	door = tcp_socket(INADDR_LOOPBACK, SOCK_STREAM, true);
	pid = passed(&door, 1, "1", getpid());
	said_wait(pid, "event=listening");
	cr_expect(!says("passed=front"));
	kill(pid, SIGTERM);
	ended(pid, 0);
	close(door);
	flow_end();
}
