/* terminal.c - see terminal.h. */
#include "commands/terminal/terminal.h"
#include "engine/base/clock.h"
#include "engine/base/thread.h"
#include "engine/base/utf8.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

bool terminal_is(int fd)
{
	const char *kind = getenv("TERM");

	return isatty(fd) && kind && strcmp(kind, "dumb") != 0;
}

bool terminal_paints(int fd)
{
	const char *never = getenv("NO_COLOR");

	return terminal_is(fd) && (!never || !*never);
}

unsigned terminal_width(int fd, unsigned *rows)
{
	struct winsize size = {0};
	bool           known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;

	*rows = known ? size.ws_row : 24;
	return known ? size.ws_col : 80;
}

size_t terminal_text(struct text *to, const char *from)
{
	size_t columns = 0, len;

	for (; *from; from += len) {
		uint32_t c;

		if (character_moves(from, &len, &c)) {
			text_format(to, "\\u%04x", c);
			columns += 6;
		} else {
			text_bytes(to, from, len);
			columns++;
		}
	}
	return columns;
}

/* ---- a picture. What handlers of signals call is safe there (signal-safety(7)): write, tcsetattr, kill. */

#define ENTER "\033[?1049h\033[?25l\033[2J" /* another screen, no cursor */
#define LEAVE "\033[?25h\033[?1049l"

static struct {
	bool                  screen; /* a picture was asked for */
	volatile sig_atomic_t taken;  /* the terminal is set for pictures */
	volatile sig_atomic_t ends;   /* a signal to end has come */
	struct termios        before;
	int                   woken; /* eventfd: a signal came */
} picture = {.woken = -1};

static void put(const char *bytes, size_t len)
{
	if (write(STDOUT_FILENO, bytes, len) < 0)
		return; /* the terminal has gone */
}

static void picture_take(void)
{
	struct termios now = picture.before;

	now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &now);
	put(ENTER, strlen(ENTER));
	picture.taken = 1;
}

void terminal_leave(void)
{
	if (!picture.taken)
		return;
	picture.taken = 0;
	put(LEAVE, strlen(LEAVE));
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &picture.before);
}

static void at_end(int sig)
{
	uint64_t one = 1;

	if (picture.ends) {
		terminal_leave();
		_exit(128 + sig);
	}
	picture.ends = 1;
	if (write(picture.woken, &one, sizeof(one)) < 0)
		return; /* the eventfd is full, so the waiter wakes anyway */
}

/* After a fault or an assertion: SA_RESETHAND has removed the handler, so the process ends when it returns. */
static void at_crash(int sig)
{
	terminal_leave();
	raise(sig);
}

static void at_stop(int sig)
{
	(void)sig;
	terminal_leave();
	kill(getpid(), SIGSTOP);
	picture_take(); /* the process was continued */
}

static void handle(int sig, void (*act)(int sig), int flags)
{
	struct sigaction action = {.sa_handler = act, .sa_flags = flags};

	sigaction(sig, &action, NULL);
}

void terminal_enter(bool screen)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT},
			 crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

	assert(picture.woken < 0); /* once */
	picture.woken = wake_open(0);
	picture.screen = screen && tcgetattr(STDIN_FILENO, &picture.before) == 0;
	for (size_t i = 0; i < LENGTH(ends); i++)
		handle(ends[i], at_end, SA_RESTART);
	handle(SIGPIPE, SIG_IGN, 0); /* if the reader has gone, the next write fails */
	if (!picture.screen)
		return;
	for (size_t i = 0; i < LENGTH(crashes); i++)
		handle(crashes[i], at_crash, (int)SA_RESETHAND);
	handle(SIGTSTP, at_stop, SA_RESTART);
	atexit(terminal_leave);
	picture_take();
}

/* True: q was typed, or stdin has ended. */
static bool key_read(void)
{
	char    keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

	return n == 0 || (n > 0 && memchr(keys, 'q', (size_t)n));
}

bool terminal_wait(int64_t ms)
{
	int64_t until_ms = clock_ms() + ms;

	while (!picture.ends && ms > 0) {
		struct pollfd ready[] = {{picture.woken, POLLIN, 0}, {picture.screen ? STDIN_FILENO : -1, POLLIN, 0}};

		if (poll(ready, LENGTH(ready), (int)ms) > 0 && ready[1].revents && key_read())
			return true;
		ms = until_ms - clock_ms();
	}
	return picture.ends;
}
