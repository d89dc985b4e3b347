/* log.c - see log.h. A line is built here and written by one write, so that lines of threads never mix. */
#include "engine/base/log.h"
#include "engine/base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(long) == 8 && sizeof(size_t) == 8, "log_event reads l, ll and z as 64 bits");

enum log_level log_level = LOG_INFO;
const char    *log_wipes = "";
static bool    is_json;

static struct {
	bool never_waits;
	pthread_mutex_t
		 writing; /* held by the thread that writes: the room that it has seen in a pipe is still there */
	uint64_t lost;    /* lines on stderr since the last one that got through */
	bool     torn;    /* the last line that got through lacks its end */
} out = {.writing = PTHREAD_MUTEX_INITIALIZER};

static const char *const level_names[] = {"error", "warn", "info", "debug"};

bool log_level_set(const char *name)
{
	for (size_t i = 0; i < LENGTH(level_names); i++)
		if (strcmp(name, level_names[i]) == 0) {
			log_level = (enum log_level)i;
			return true;
		}
	return false;
}

bool log_format_set(const char *name)
{
	is_json = strcmp(name, "json") == 0;
	return is_json || strcmp(name, "logfmt") == 0;
}

enum { NUMBERS_MAX = 32 };

struct log_line {
	char   data[2048];
	size_t len;
	struct {
		uint16_t at, end;
	} numbers[NUMBERS_MAX]; /* values that began as numbers */
	size_t numbers_count;
};

/* Text that does not fit is left out; room for the end of the line is kept. */
static void line_char(struct log_line *l, char c)
{
	if (l->len < sizeof(l->data) - 1)
		l->data[l->len++] = c;
}

static void line_add(struct log_line *l, const char *text)
{
	while (*text)
		line_char(l, *text++);
}

/* An escape that does not fit whole is left out, with all that follows. */
static void line_escape(struct log_line *l, uint32_t c)
{
	char escape[8];
	int  len = c == '\n' ? snprintf(escape, sizeof(escape), "\\n") : snprintf(escape, sizeof(escape), "\\u%04x", c);

	if (l->len + (size_t)len < sizeof(l->data))
		line_add(l, escape);
	else
		l->len = sizeof(l->data) - 1;
}

/* `open`: the format has the quotes itself. Characters that do not show would move the text of a terminal. */
static void line_value(struct log_line *l, const char *text, bool open)
{
	bool     quotes = !open && !*text;
	size_t   len;
	uint32_t number;

	for (const char *c = text; *c && !open; c += len)
		quotes |= character_moves(c, &len, &number) || strchr(" \"=\\", *c);
	if (quotes)
		line_char(l, '"');
	for (; *text; text += len) {
		if (*text == '"' || *text == '\\')
			line_char(l, '\\');
		if (!character_moves(text, &len, &number))
			for (size_t i = 0; i < len; i++)
				line_char(l, text[i]);
		else if (number < ' ' && number != '\n')
			line_char(l, ' ');
		else
			line_escape(l, number);
	}
	if (quotes)
		line_char(l, '"');
}

/* Takes the name of a value back that is not there. */
static void line_drop(struct log_line *l)
{
	while (l->len > 0 && l->data[l->len - 1] != ' ')
		l->len--;
	l->len -= l->len > 0;
}

/* A value that is a number, if nothing else stands behind it. */
static void line_number(struct log_line *l, const char *digits)
{
	uint16_t at = (uint16_t)l->len;
	bool     begins = at > 0 && l->data[at - 1] == '=' && l->numbers_count < NUMBERS_MAX;

	line_add(l, digits);
	if (begins) {
		l->numbers[l->numbers_count].at = at;
		l->numbers[l->numbers_count++].end = (uint16_t)l->len;
	}
}

static void line_text(struct log_line *l, const char *text)
{
	if (text)
		line_value(l, text, l->len > 0 && l->data[l->len - 1] == '"');
	else
		line_drop(l);
}

static void line_format(struct log_line *l, const char *format, va_list ap)
{
	for (; *format; format++) {
		char digits[32] = "";
		int  size = 0;

		if (*format != '%') {
			line_char(l, *format);
			continue;
		}
		while (*++format == 'l' || *format == 'z')
			size++;
		if (*format == 's')
			line_text(l, va_arg(ap, const char *));
		else if (*format == 'f')
			snprintf(digits, sizeof(digits), "%.3f", va_arg(ap, double));
		else if (*format == 'd')
			snprintf(digits, sizeof(digits), "%" PRId64, size ? va_arg(ap, int64_t) : va_arg(ap, int));
		else if (*format == 'u')
			snprintf(digits, sizeof(digits), "%" PRIu64,
			         size ? va_arg(ap, uint64_t) : va_arg(ap, unsigned));
		else
			assert(!"the log knows d, f, u and s");
		line_number(l, digits);
	}
}

/* ---- JSON. The line is made as logfmt first: its escapes are those of JSON, and it has no control characters. */

/* The bytes of the character at `c` as they stand; a ? for a byte that is no UTF-8. */
static char *json_char(char *to, const char **c, const char *end)
{
	unsigned char lead = (unsigned char)**c;
	int more = lead < 0x80 ? 0 : lead < 0xc2 ? -1 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : lead < 0xf5 ? 3 : -1;

	for (int i = 1; i <= more; i++)
		if (*c + i >= end || ((*c)[i] & 0xc0) != 0x80)
			more = -1;
	if (more < 0) {
		*to++ = '?';
		(*c)++;
		return to;
	}
	memcpy(to, *c, (size_t)more + 1);
	*c += more + 1;
	return to + more + 1;
}

/* A value in quotes, or a word: a string. */
static char *json_value(char *to, const char **c, const char *end)
{
	bool quoted = *c < end && **c == '"';

	*c += quoted;
	*to++ = '"';
	while (*c < end && **c != (quoted ? '"' : ' ')) {
		if (**c == '\\') {
			if (*c + 1 == end) { /* the line was cut here */
				++*c;
				break;
			}
			*to++ = *(*c)++;
		}
		to = json_char(to, c, end);
	}
	*c += quoted && *c < end;
	*to++ = '"';
	return to;
}

/* The line as an object; returns its length. */
static size_t line_json(const struct log_line *l, char to[LOG_LINE_MAX])
{
	const char *c = l->data, *end = l->data + l->len;
	char       *at = to;

	for (*at++ = '{'; c < end; c += c < end && *c == ' ') {
		bool number = false;

		if (at > to + 1)
			*at++ = ',';
		for (*at++ = '"'; c < end && *c != '=';)
			at = json_char(at, &c, end);
		*at++ = '"';
		*at++ = ':';
		c += c < end;
		for (size_t i = 0; i < l->numbers_count && !number; i++)
			number = l->data + l->numbers[i].at == c && l->numbers[i].end > l->numbers[i].at &&
			         l->data + l->numbers[i].end == c + strcspn(c, " ");
		if (!number)
			at = json_value(at, &c, end);
		while (number && c < end && *c != ' ')
			*at++ = *c++;
	}
	*at++ = '}';
	return (size_t)(at - to);
}

/* ---- writing */

void log_never_wait(void)
{
	out.never_waits = true;
}

/* Up to PIPE_BUF bytes, whole lines where one ends within. */
static size_t piece_of(const char *bytes, size_t len)
{
	size_t      piece = len < PIPE_BUF ? len : PIPE_BUF;
	const char *end = memrchr(bytes, '\n', piece);

	return end ? (size_t)(end + 1 - bytes) : piece;
}

/* A descriptor may be shared with other programs, so it is not made O_NONBLOCK. A pipe that has room takes PIPE_BUF
 * bytes at once (pipe(7)), and so do terminals and sockets; a file has no reader. */
static ssize_t piece_write(int fd, mode_t kind, const char *bytes, size_t len)
{
	struct pollfd room = {fd, POLLOUT, 0};

	if (S_ISREG(kind))
		return write(fd, bytes, len);
	if (poll(&room, 1, 0) == 0) {
		errno = EAGAIN;
		return -1;
	}
	return write(fd, bytes, piece_of(bytes, len));
}

static size_t pieces_write(int fd, const char *bytes, size_t len)
{
	struct stat st = {0};
	size_t      done = 0;
	ssize_t     n = 0;

	if (fstat(fd, &st) != 0)
		return 0;
	while (done < len && ((n = piece_write(fd, st.st_mode, bytes + done, len - done)) > 0 || errno == EINTR))
		done += n > 0 ? (size_t)n : 0;
	return done;
}

size_t log_write(int fd, const char *bytes, size_t len)
{
	size_t done;
	int    error;

	pthread_mutex_lock(&out.writing);
	done = pieces_write(fd, bytes, len);
	error = errno;
	pthread_mutex_unlock(&out.writing);
	errno = error;
	return done;
}

/* Writes a whole line on stderr, with out.writing held; `tells` of the lines that were lost. */
static void line_write(const char *line, size_t len, bool tells)
{
	size_t done;

	if (!out.never_waits) {
		(void)!write(STDERR_FILENO, line, len); /* where stderr fails, no place is left to say it */
		return;
	}
	done = out.torn && pieces_write(STDERR_FILENO, "\n", 1) == 0 ? 0 : pieces_write(STDERR_FILENO, line, len);
	if (done > 0)
		out.torn = done < len;
	if (done < len)
		out.lost++;
	else if (tells)
		out.lost = 0;
}

/* ---- lines */

/* Writes the line in its format, with its newline; returns its length. */
static size_t line_end(struct log_line *l, char to[LOG_LINE_MAX])
{
	size_t len;

	while (l->len > 0 && l->data[l->len - 1] == ' ')
		l->len--;
	l->data[l->len] = '\0';
	len = is_json ? line_json(l, to) : l->len;
	if (!is_json)
		memcpy(to, l->data, len);
	to[len++] = '\n';
	return len;
}

/* Begins the line. */
static void line_time(struct log_line *l)
{
	struct timespec now;
	struct tm       utc;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	l->numbers_count = 0;
	l->len = strftime(l->data, sizeof(l->data), "time=%Y-%m-%dT%H:%M:%S", &utc);
	l->len += (size_t)snprintf(l->data + l->len, sizeof(l->data) - l->len, ".%03ldZ ", now.tv_nsec / 1000000);
}

static void line_lost(struct log_line *l, uint64_t lost)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "%" PRIu64, lost);
	line_add(l, "lines_lost=");
	line_number(l, digits);
	line_char(l, ' ');
}

size_t log_line(char line[LOG_LINE_MAX], const char *format, ...)
{
	struct log_line l UNZEROED;
	va_list           ap;

	line_time(&l);
	va_start(ap, format);
	line_format(&l, format, ap);
	va_end(ap);
	return line_end(&l, line);
}

void log_event(enum log_level level, const char *event, const char *format, ...)
{
	struct log_line l UNZEROED;
	char              line[LOG_LINE_MAX + 8] UNZEROED;
	size_t            len = strlen(log_wipes);
	va_list           ap;

	if (level > log_level)
		return;
	pthread_mutex_lock(&out.writing);
	line_time(&l);
	l.len += (size_t)snprintf(l.data + l.len, sizeof(l.data) - l.len, "level=%s event=%s ", level_names[level],
	                          event);
	if (out.lost > 0)
		line_lost(&l, out.lost);
	va_start(ap, format);
	line_format(&l, format, ap);
	va_end(ap);
	memcpy(line, log_wipes, len);
	len += line_end(&l, line + len);
	line_write(line, len, true);
	pthread_mutex_unlock(&out.writing);
}

static void line_say(const char *format, va_list ap)
{
	char   line[2048 + 64];
	size_t len = (size_t)snprintf(line, sizeof(line), "%sholdfast: ", log_wipes);

	vsnprintf(line + len, sizeof(line) - len - 1, format, ap);
	len = strlen(line);
	line[len++] = '\n';
	pthread_mutex_lock(&out.writing);
	line_write(line, len, false);
	pthread_mutex_unlock(&out.writing);
}

void say(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	line_say(format, ap);
	va_end(ap);
}

int say_status(int status, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	line_say(format, ap);
	va_end(ap);
	return status;
}

bool why_write(char *why, size_t why_size, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, why_size, format, ap);
	va_end(ap);
	return false;
}
