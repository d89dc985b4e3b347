/* test_notify.c - what the service tells its manager: a manager of the test's own listens, on a path and on an abstract
 * address, with a private MariaDB below the service that speaks the protocol too. */
#include "tests/kit/patience.h"
#include "tests/kit/program.h"
#include "tests/kit/scratch.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	WAIT_MS = PATIENCE_MS / 2,
	QUIET_MS = 300, /* a wrong WATCHDOG=1 would come with a tick, ten times a second */
};

static char           log_file[300], data[300];
static struct program program;
static int            manager;

/* Listens where NOTIFY_SOCKET will say; '@' stands for the NUL of an abstract address. */
static void manager_open(const char *address)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int                yes = 1;

	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	strcpy(at.sun_path, address);
	if (*address == '@')
		at.sun_path[0] = '\0';
	cr_assert(setsockopt(manager, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) == 0);
	cr_assert(bind(manager, (struct sockaddr *)&at,
	               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(address))) == 0);
	setenv("NOTIFY_SOCKET", address, 1);
}

/* The next message that the service itself sent; every other sender is a fault. NULL: none in time. */
static const char *heard(int wait_ms)
{
	static char   text[200];
	char          control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec  part = {text, sizeof(text) - 1};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct pollfd p = {.fd = manager, .events = POLLIN};
	struct ucred  sender;
	ssize_t       len;

	if (poll(&p, 1, wait_ms) != 1)
		return NULL;
	len = recvmsg(manager, &message, 0);
	cr_assert(len >= 0 && CMSG_FIRSTHDR(&message));
	text[len] = '\0';
	memcpy(&sender, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(sender));
	cr_expect(sender.pid == program.pid, "%s was said by process %d", text, (int)sender.pid);
	return text;
}

static void hear(const char *expected)
{
	const char *text = heard(patience_ms(WAIT_MS));

	cr_expect(text && strcmp(text, expected) == 0, "heard %s instead of %s within %d ms", text ? text : "nothing",
	          expected, patience_ms(WAIT_MS));
}

/* A service on a folder of its own; what it says is still to be heard. */
static void begin(const char *name)
{
	char options[340];

	snprintf(log_file, sizeof(log_file), "%s/%s.log", scratch_dir(), name);
	snprintf(data, sizeof(data), "%s/%s", scratch_dir(), name);
	snprintf(options, sizeof(options), "--data %s", data);
	program_start(&program, log_file, NULL, options);
}

static void end(void)
{
	struct text why = {0};

	cr_expect(program_stop(&program, &why), "%s", why.data);
	text_fini(&why);
	close(manager);
}

Test(notify, ready_and_stopping)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/notify.sock", scratch_dir());
	manager_open(path);
	begin("notify-path");
	hear("READY=1");
	cr_expect(heard(QUIET_MS) == NULL, "nobody asked for a watchdog");
	program_terminate(&program);
	hear("STOPPING=1");
	end();
	unlink(path);
}

Test(notify, watchdog)
{
	char address[60];

	snprintf(address, sizeof(address), "@holdfast-test-%d", (int)getpid());
	manager_open(address);
	setenv("WATCHDOG_USEC", "600000", 1);
	begin("notify-watchdog");
	hear("READY=1");
	for (int i = 0; i < 6; i++)
		hear("WATCHDOG=1");
	program_terminate(&program);
	for (const char *text = heard(patience_ms(WAIT_MS)); text && strcmp(text, "STOPPING=1") != 0;
	     text = heard(patience_ms(WAIT_MS)))
		cr_expect_str_eq(text, "WATCHDOG=1");
	end();
}

/* Meant for another process, and no address at all. */
Test(notify, not_for_us)
{
	char address[60];

	snprintf(address, sizeof(address), "@holdfast-test-%d", (int)getpid());
	manager_open(address);
	setenv("WATCHDOG_USEC", "200000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	begin("notify-other");
	hear("READY=1");
	cr_expect(heard(QUIET_MS) == NULL);
	end();
	setenv("NOTIFY_SOCKET", "nowhere", 1);
	begin("notify-nowhere");
	end();
}
