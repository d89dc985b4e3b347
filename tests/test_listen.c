/* test_listen.c - the service on a unix socket: who may connect, what lies there already, what is left. */
#include "tests/flow.h"
#include "tests/program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { WAIT_MS = 20000, PAUSE_US = 5000 };

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
	for (int64_t until = clock_ms() + WAIT_MS; (fd = connected()) < 0; usleep(PAUSE_US))
		cr_assert(clock_ms() < until && !program_wait(pid, 0, &status), "nobody listens on %s", at.sun_path);
	close(fd);
	return pid;
}

static void answers(void)
{
	static const char ask[] = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";
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
	for (size_t i = 0; i < COUNT(umasks); i++) {
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

/* What a killed service left is replaced; what lives, and what is no socket, is not. */
Test(listen, unix_socket_that_is_there)
{
	FILE *file;
	pid_t pid;
	int   status;

	begin();
	pid = served();
	flow_step("run serve --listen unix:%s -> 78 '~Address already in use'", at.sun_path);
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
