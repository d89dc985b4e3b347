/* test_other_answers.c - a database server that answers something else than what was asked for, as a node that was
 * broken into does, or whoever stands between. The program says so and ends by itself; it writes nothing past its
 * memory. */
#include "engine/base/memory.h"
#include "engine/db/statement.h"
#include "schema/files.h"
#include "tests/kit/drill.h"
#include "tests/kit/program.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* How the server answers every statement that it does not answer rightly. */
struct answer {
	const char *name;
	unsigned    columns, rows;
	const char *value; /* of every column; NULL is NULL */
};
enum { NO_ROWS, AS_ASKED = 100 }; /* columns: none, done; as many as the statement has, behind the right schema */

/* What is read first has two columns, on the stack. */
static const struct answer answers[] = {
	{"done", NO_ROWS, 0, ""},
	{"too few columns", 1, 1, "1"},
	{"too many columns", 30, 1, "20"},
	{"too many columns and rows", 30, 3, "-1"},
	{"too many texts", 30, 3, "word"},
	{"too many NULLs", 30, 1, NULL},
	{"NULL for a version", 2, 1, NULL},
	{"text for a version", 2, 9, "word"},
	{"no number for a version", 2, 1, "99999999999999999999"},
};
/* Behind that every number, text and time. */
static const struct answer later_answers[] = {
	{"NULLs", AS_ASKED, 1, NULL},
	{"many NULLs", AS_ASKED, 3000, NULL},
	{"texts", AS_ASKED, 3000, "word"},
	{"small numbers", AS_ASKED, 3000, "1"},
	{"large numbers", AS_ASKED, 3000, "9223372036854775807"},
	{"numbers below zero", AS_ASKED, 3000, "-9223372036854775808"},
	{"no numbers", AS_ASKED, 3000, "99999999999999999999"},
	{"times", AS_ASKED, 3000, "2026-11-27 22:00:00.000"},
	{"no times", AS_ASKED, 3000, "99999999999999999999-01-01 00:00:00"},
	{"no rows", AS_ASKED, 0, NULL},
};

static int  listener;
static char url[80], log_path[64];

/* ---- the protocol */

static void packet_add(struct text *to, unsigned char *number, const void *bytes, size_t len)
{
	text_char(to, (char)(len & 0xff));
	text_char(to, (char)(len >> 8 & 0xff));
	text_char(to, (char)(len >> 16));
	text_char(to, (char)(*number)++);
	text_bytes(to, bytes, len);
}

static bool whole_read(int fd, void *to, size_t len)
{
	return len == 0 || recv(fd, to, len, MSG_WAITALL) == (ssize_t)len;
}

/* One packet, with a \0 behind it. false: the client has gone. */
static bool packet_read(int fd, unsigned char *number, struct text *in)
{
	unsigned char head[4];
	size_t        len;
	char         *room;

	text_reset(in);
	if (!whole_read(fd, head, sizeof(head)))
		return false;
	len = (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16;
	*number = (unsigned char)(head[3] + 1);
	room = text_room(in, len + 1);
	if (!whole_read(fd, room, len))
		return false;
	room[len] = '\0';
	in->len += len;
	return true;
}

static bool all_send(int fd, const struct text *out)
{
	return send(fd, out->data, out->len, MSG_NOSIGNAL) == (ssize_t)out->len;
}

static void done_add(struct text *to, unsigned char *number)
{
	static const char done[] = {0, 0, 0, 2, 0, 0, 0};

	packet_add(to, number, done, sizeof(done));
}

static void column_add(struct text *to, unsigned char *number)
{
	static const char column[] = "\3def\0\0\0\1a\1a\x0c\x21\0\xff\0\0\0\xfd\0\0\0\0";

	packet_add(to, number, column, sizeof(column));
}

/* `rest`: the value of all columns but the first. */
static void rows_add(struct text *to, unsigned char *number, const struct answer *a, const char *rest)
{
	static const char end[] = {(char)0xfe, 0, 0, 2, 0};
	struct text       row = {0};

	text_char(&row, (char)a->columns);
	packet_add(to, number, row.data, row.len);
	for (unsigned i = 0; i < a->columns; i++)
		column_add(to, number);
	packet_add(to, number, end, sizeof(end));
	text_reset(&row);
	for (unsigned i = 0; i < a->columns; i++) {
		const char *value = i == 0 ? a->value : rest;

		text_char(&row, value ? (char)strlen(value) : (char)0xfb);
		text_add(&row, value ? value : "");
	}
	for (unsigned i = 0; i < a->rows; i++)
		packet_add(to, number, row.data, row.len);
	packet_add(to, number, end, sizeof(end));
	text_fini(&row);
}

static void greet(struct text *to)
{
	static const char hello[] = "\x0a"
				    "5.5.5-10.11.19-MariaDB\0"
				    "\7\0\0\0"
				    "12345678\0"
				    "\xdf\xf7\x21\2\0\xbf\x81\x15\0\0\0\0\0\0\0\0\0\0"
				    "123456789012\0"
				    "mysql_native_password";
	unsigned char     number = 0;

	packet_add(to, &number, hello, sizeof(hello));
}

/* ---- the server */

static struct answer now;

/* Of the statement that begins like the text, as far as it has no holes. */
static unsigned columns_of(const char *sql)
{
	size_t   longest = 0;
	unsigned columns = 0;

	for (int i = 0; i < STATEMENT_COUNT; i++) {
		size_t len = strcspn(statements[i].text, "{");

		if (len > longest && strncmp(sql, statements[i].text, len) == 0) {
			longest = len;
			columns = statements[i].columns;
		}
	}
	return columns;
}

static void answer_add(struct text *to, unsigned char *number, const char *sql)
{
	struct answer a = now;
	const char   *rest = a.value;
	char          version[20];

	snprintf(version, sizeof(version), "%d", schema_files_latest(&schema_files));
	if (now.columns == AS_ASKED) {
		a.columns = strncmp(sql, "SELECT verdict", 14) == 0 ? 1 : columns_of(sql);
		if (strstr(sql, "FROM schema_version")) {
			a = (struct answer){.columns = a.columns, .rows = 1, .value = version};
			rest = "0";
		}
	}
	if (a.columns > 0)
		rows_add(to, number, &a, rest);
	else
		done_add(to, number);
}

/* Any name and password will do. What tells a session how to be is answered rightly. */
static void *client_serve(void *arg)
{
	int           fd = *(int *)arg;
	struct text   in = {0}, out = {0};
	unsigned char number;
	bool          goes_on;

	free(arg);
	greet(&out);
	goes_on = all_send(fd, &out) && packet_read(fd, &number, &in);
	for (bool first = true; goes_on; first = false) {
		text_reset(&out);
		if (first || strstr(in.data, "SET "))
			done_add(&out, &number);
		else
			answer_add(&out, &number, in.data + 1);
		goes_on = all_send(fd, &out) && packet_read(fd, &number, &in) && in.data[0] == 3;
	}
	text_fini(&in);
	text_fini(&out);
	close(fd);
	return NULL;
}

static void *clients_take(void *arg)
{
	(void)arg;
	for (;;) {
		int       fd = accept(listener, NULL, NULL), *its = mem_alloc(sizeof(*its));
		pthread_t thread;

		*its = fd;
		if (fd < 0 || pthread_create(&thread, NULL, client_serve, its) != 0)
			return NULL;
		pthread_detach(thread);
	}
}

static void server_begin(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t          len = sizeof(at);
	pthread_t          thread;

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert(bind(listener, (struct sockaddr *)&at, len) == 0 && listen(listener, 20) == 0 &&
	          getsockname(listener, (struct sockaddr *)&at, &len) == 0 &&
	          pthread_create(&thread, NULL, clients_take, NULL) == 0);
	snprintf(url, sizeof(url), "mariadb://shop@127.0.0.1:%d/holdfast", ntohs(at.sin_port));
	snprintf(log_path, sizeof(log_path), "/tmp/holdfast-other-%d", (int)getpid());
}

/* ---- the tests */

static void command_ends(const char *command, const struct answer *a)
{
	struct text said = {0};
	int         status;
	bool        is;

	now = *a;
	status = program_run(log_path, url, command);
	program_log_all(log_path, &said);
	is = status == 69 && said.data && strstr(said.data, "the database answers something else");
	cr_expect(is || (status == 78 && (a->columns == 1 || a->columns == 2)), "%s, %s: %d: %s", command, a->name,
	          status, said.data);
	unlink(log_path);
	text_fini(&said);
}

Test(other_answers, end_a_command)
{
	static const char *const commands[] = {"stats", "migrate", "audit", "export stock",
	                                       "serve --listen 127.0.0.1:0"};

	server_begin();
	for (size_t i = 0; i < LENGTH(answers); i++)
		for (size_t k = 0; k < LENGTH(commands); k++)
			command_ends(commands[k], &answers[i]);
}

/* What a text or a number of a row tells is believed, and the command may end well. */
Test(other_answers, end_no_process, DRILL)
{
	static const char *const commands[] = {"stats",      "audit",        "export stock", "export movements",
	                                       "show sku X", "show order X", "jobs"};

	server_begin();
	for (size_t i = 0; i < LENGTH(later_answers); i++)
		for (size_t k = 0; k < LENGTH(commands); k++) {
			int status;

			now = later_answers[i];
			status = program_run(log_path, url, commands[k]);
			cr_expect(status < 128, "%s, %s: %d", commands[k], now.name, status);
		}
}
