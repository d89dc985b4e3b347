/* test_listen.c - where the service listens: which users may connect to a unix socket, a file that lies there already,
 * the file that is left; several places at once; checks before a database is made. */
#include "engine/base/clock.h"
#include "tests/lang/flow.h"
#include "tests/kit/patience.h"
#include "tests/kit/program.h"
#include "tests/kit/scratch.h"
#include "tests/kit/server.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { WAIT_MS = 2 * PATIENCE_MS, PAUSE_US = 5000 };

static struct sockaddr_un at = {.sun_family = AF_UNIX};
static char               log_file[300];

static void begin(void)
{
	flow_begin();
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s.http", scratch_dir(), flow_scratch()->name);
	snprintf(log_file, sizeof(log_file), "%s/%s.log", scratch_dir(), flow_scratch()->name);
}

static int connected(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* The service, once it can be connected to. */
static pid_t served(void)
{
	char  command[300];
	pid_t pid;
	int   fd, status;

	snprintf(command, sizeof(command), "serve --lanes 1 --listen unix:%s", at.sun_path);
	pid = program_begin(log_file, flow_scratch()->url, command);
	for (int64_t from = clock_ms(); (fd = connected()) < 0; usleep(PAUSE_US))
		cr_assert(!patience_is_over(from, WAIT_MS) && !program_wait(pid, 0, &status),
		          "after %lld ms nobody listens on %s", (long long)(clock_ms() - from), at.sun_path);
	close(fd);
	return pid;
}

/* Whatever the Host: a proxy has that from its client, or makes it up. */
static void answers(void)
{
	static const char ask[] = "GET /v1/skus HTTP/1.1\r\nHost: a\r\n\r\n";
	char              answer[1000] = "";
	int               fd = connected();

	cr_assert(fd >= 0 && send(fd, ask, strlen(ask), 0) > 0 && recv(fd, answer, sizeof(answer) - 1, 0) > 0);
	cr_expect(strstr(answer, "HTTP/1.1 200"), "%s", answer);
	close(fd);
}

static void ends(pid_t pid)
{
	int status = -1;

	kill(pid, SIGTERM);
	cr_expect(program_wait(pid, WAIT_MS, &status) && status == 0, "it ended with %d", status);
}

/* The mode does not hang on the umask, neither a narrow nor a wide one. */
Test(listen, unix_socket)
{
	static const mode_t umasks[] = {0077, 0022, 0};
	struct stat         st;

	begin();
	for (size_t i = 0; i < LENGTH(umasks); i++) {
		mode_t before = umask(umasks[i]);
		pid_t  pid = served();

		umask(before);
		answers();
		cr_expect(stat(at.sun_path, &st) == 0 && S_ISSOCK(st.st_mode) && (st.st_mode & 07777) == 0660,
		          "umask %03o: %o", umasks[i], st.st_mode);
		ends(pid);
		cr_expect(access(at.sun_path, F_OK) != 0, "the socket is left");
	}
	flow_end();
}

/* The socket of a killed service is replaced; a live one, and a file that is no socket, is not. */
Test(listen, unix_socket_that_is_there)
{
	FILE *file;
	pid_t pid;
	int   status;

	begin();
	pid = served();
	flow_step("run serve --listen unix:%s -> 69 '~Address already in use'", at.sun_path);
	answers();
	kill(pid, SIGKILL);
	cr_assert(program_wait(pid, WAIT_MS, &status));
	cr_expect(access(at.sun_path, F_OK) == 0);
	pid = served();
	answers();
	ends(pid);
	cr_assert_not_null(file = fopen(at.sun_path, "we"));
	fclose(file);
	flow_step("run serve --listen unix:%s -> 78 '~Address already in use'", at.sun_path);
	cr_expect(unlink(at.sun_path) == 0, "a file was taken away");
	flow_end();
}

/* ---- several places */

/* The port of the n-th line event=listening on 127.0.0.1 of what has been said; 0: there are not so many. */
static int said_port(int n)
{
	static const char mark[] = "event=listening address=127.0.0.1:";
	struct text       said = {0};
	const char       *at;
	int               port = 0;

	program_log_all(log_file, &said);
	at = said.data ? strstr(said.data, mark) : NULL;
	while (at && n-- > 0)
		at = strstr(at + 1, mark);
	if (at && strchr(at, '\n'))
		port = atoi(at + strlen(mark));
	text_fini(&said);
	return port;
}

/* Waits until it listens on two ports. */
static void ports_wait(pid_t pid)
{
	int status;

	for (int64_t from = clock_ms(); !said_port(1); usleep(PAUSE_US))
		cr_assert(!patience_is_over(from, WAIT_MS) && !program_wait(pid, 0, &status),
		          "after %lld ms it does not listen", (long long)(clock_ms() - from));
}

static int tcp_connected(int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((in_port_t)port)};
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	close(fd);
	return -1;
}

static bool livez(int fd)
{
	static const char ask[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
	char              answer[1000] = "";

	return fd >= 0 && send(fd, ask, strlen(ask), MSG_NOSIGNAL) > 0 && recv(fd, answer, sizeof(answer) - 1, 0) > 0 &&
	       strstr(answer, "HTTP/1.1 200");
}

/* A service at the unix socket and on two ports, however that is said; all three are served, and gone at the end. */
static void all_answer(const char *options)
{
	pid_t pid;
	int   ports[2] = {0}, fd;

	unlink(log_file);
	pid = program_begin(log_file, flow_scratch()->url, options);
	ports_wait(pid);
	ports[1] = said_port(1);
	ports[0] = said_port(0);
	cr_expect(ports[0] != ports[1]);
	for (int i = 0; i < 3; i++) {
		fd = i < 2 ? tcp_connected(ports[i]) : connected();
		cr_expect(livez(fd), "%s: the answer of place %d", options, i);
		close(fd);
	}
	ends(pid);
	cr_expect(access(at.sun_path, F_OK) != 0 && tcp_connected(ports[0]) < 0 && tcp_connected(ports[1]) < 0);
}

Test(listen, several_places)
{
	char  options[600], conf[320];
	FILE *file;

	begin();
	snprintf(options, sizeof(options), "serve --lanes 1 --listen 127.0.0.1:0 --listen unix:%s --listen localhost:0",
	         at.sun_path);
	all_answer(options);
	snprintf(options, sizeof(options), "serve --lanes 1 --listen 127.0.0.1:0,unix:%s,localhost:0", at.sun_path);
	all_answer(options);
	snprintf(options, sizeof(options), "127.0.0.1:0,127.0.0.1:0,unix:%s", at.sun_path);
	setenv("HOLDFAST_LISTEN", options, 1);
	all_answer("serve --lanes 1");
	unsetenv("HOLDFAST_LISTEN");
	snprintf(conf, sizeof(conf), "%s/%s.conf", scratch_dir(), flow_scratch()->name);
	cr_assert_not_null(file = fopen(conf, "we"));
	fprintf(file, "listen = 127.0.0.1:0\nlanes = 1\nlisten = unix:%s\nlisten = 127.0.0.1:0\n", at.sun_path);
	fclose(file);
	snprintf(options, sizeof(options), "serve --config %s", conf);
	all_answer(options);
	flow_end();
}

/* Places for clients are shared: while all are taken, no client comes in by another door. */
Test(listen, several_places_and_more_clients)
{
	enum { CLIENTS = 40 };
	char  options[400];
	pid_t pid;
	int   fds[CLIENTS], port, status;

	begin();
	snprintf(options, sizeof(options),
	         "serve --lanes 1 --max-connections 2 --listen 127.0.0.1:0 --listen unix:%s --listen 127.0.0.1:0",
	         at.sun_path);
	pid = program_begin(log_file, flow_scratch()->url, options);
	ports_wait(pid);
	port = said_port(1);
	kill(pid, SIGSTOP); /* so that all of them wait at all doors */
	for (int i = 0; i < CLIENTS; i++)
		fds[i] = i % 3 == 0 ? connected() : tcp_connected(i % 3 == 1 ? port : said_port(0));
	kill(pid, SIGCONT);
	usleep(300000); /* one that is too many would end it at once */
	cr_assert(!program_wait(pid, 0, &status), "it ended with %d", status);
	for (int i = 0; i < CLIENTS; i++)
		close(fds[i]);
	answers();
	ends(pid);
	flow_end();
}

/* ---- what is looked at first */

/* On a folder that is not there, `serve` with these options is refused, and the folder still is not there. */
static void refused_first(const char *options, const char *expectation)
{
	char data[300];

	snprintf(data, sizeof(data), "%s/%s.var", scratch_dir(), flow_scratch()->name);
	flow_step("alone serve --data %s %s -> %s", data, options, expectation);
	if (access(data, F_OK) == 0) {
		flow_fail("serve %s made a folder", options);
		scratch_remove(data);
	}
}

Test(listen, looked_at_before_a_database)
{
	struct sockaddr_in busy = {.sin_family = AF_INET};
	socklen_t          len = sizeof(busy);
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char               options[400];

	begin();
	busy.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert(bind(fd, (struct sockaddr *)&busy, len) == 0 && listen(fd, 1) == 0 &&
	          getsockname(fd, (struct sockaddr *)&busy, &len) == 0);
	snprintf(options, sizeof(options), "--listen 127.0.0.1:%d", ntohs(busy.sin_port));
	refused_first(options, "69 '~Address already in use; another program has it' '~--listen'");
	snprintf(options, sizeof(options), "--listen 127.0.0.1:0 --listen unix:%s --listen 127.0.0.1:%d", at.sun_path,
	         ntohs(busy.sin_port));
	refused_first(options, "69 '~Address already in use'");
	cr_expect(access(at.sun_path, F_OK) != 0, "the socket is left");
	refused_first("--listen 0.0.0.0:0", "78 ~--keys");
	refused_first("--listen 127.0.0.1:0 --listen 0.0.0.0:0", "78 ~--keys");
	refused_first("--listen [::]:0,127.0.0.1:0", "78 ~--keys");
	refused_first("--listen nowhere", "78 '~neither ADDR:PORT nor unix:PATH'");
	refused_first("--listen 127.0.0.1:0,", "78 '~neither ADDR:PORT nor unix:PATH'");
	refused_first("--listen 192.0.2.1:8080 --keys /nowhere", "78 '~cannot read /nowhere'");
	refused_first("--listen unix:/no/such/folder/s", "78 '~No such file or directory'");
	refused_first("--listen unix:", "78 '~needs a path of 1 to 107 bytes'");
	refused_first("--keys /nowhere --listen 127.0.0.1:0", "78 '~cannot read /nowhere'");
	refused_first("--tls-cert /nowhere --tls-key /nowhere --listen 127.0.0.1:0", "78 '~cannot read /nowhere'");
	refused_first("--jobs=nope --listen 127.0.0.1:0", "78 ~--jobs");
	refused_first("--lanes 100 --listen 127.0.0.1:0", "78 '~--lanes must be an integer from 1 to 64'");
	close(fd);
	/* two addresses that are one as soon as they listen; the port was free when it was tried */
	flow_step("keys boss admin");
	for (int i = 0; i < 3; i++) {
		static const char *const twins[] = {"--listen 127.0.0.1:%1$d,localhost:%1$d",
		                                    "--listen 127.0.0.1:%1$d --listen 127.0.0.2:%1$d,127.0.0.1:%1$d",
		                                    "--listen 127.0.0.1:%1$d --listen 0.0.0.0:%1$d"};

		snprintf(options, sizeof(options), twins[i], ntohs(busy.sin_port));
		refused_first(options, "78 '~are one place'");
	}
	snprintf(options, sizeof(options), "--listen unix:%s,unix:%s", at.sun_path, at.sun_path);
	refused_first(options, "78 '~are one place'");
	flow_end();
}

/* The start of a second one is refused, whichever of the two it meets first: its port or its folder. */
Test(listen, a_second_serve_of_a_folder)
{
	struct program first = {0};
	struct text    why = {0};
	char           data[300], options[340];

	begin();
	snprintf(data, sizeof(data), "%s/%s.var", scratch_dir(), flow_scratch()->name);
	server_data(data);
	snprintf(options, sizeof(options), "--data %s --lanes 1", data);
	program_start(&first, log_file, NULL, options);
	flow_step("alone serve --data %s --listen 127.0.0.1:0 -> 69 '~is in use by another serve (pid %d)'", data,
	          first.pid);
	flow_step("alone serve --data %s --listen 127.0.0.1:%d -> 69 '~is in use by another serve (pid %d)'", data,
	          first.port, first.pid);
	flow_step("alone serve --data %s.other --listen 127.0.0.1:%d -> 69 '~Address already in use'", data,
	          first.port);
	cr_expect(program_stop(&first, &why), "%s", why.data);
	scratch_remove(data);
	text_fini(&why);
	flow_end();
}

/* MariaDB is installed by halves: its own program said what it lacks, and was passed on as if it gave no reason. */
Test(listen, private_database_that_cannot_be_made)
{
	char        home[300], path[1000], log[340], command[340];
	struct text said = {0};
	FILE       *maker;

	scratch_folder(home, sizeof(home));
	snprintf(path, sizeof(path), "%s/mariadb-install-db", home);
	maker = fopen(path, "w");
	cr_assert(maker && fputs("#!/bin/sh\necho; echo 'FATAL ERROR: Could not find it'; exit 1\n", maker) > 0);
	cr_assert(fclose(maker) == 0 && chmod(path, 0755) == 0);
	snprintf(path, sizeof(path), "%s:%s", home, getenv("PATH"));
	setenv("PATH", path, 1);
	snprintf(log, sizeof(log), "%s/log", home);
	snprintf(command, sizeof(command), "migrate --data %s/var", home);
	cr_expect_eq(program_run(log, NULL, command), 69);
	program_log_all(log, &said);
	cr_expect(strstr(said.data, "failed (status 1): Could not find it (see"), "%s", said.data);
	text_fini(&said);
}
