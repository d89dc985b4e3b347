/* impostor.c - see impostor.h. */
#include "tests/kit/impostor.h"
#include "engine/base/memory.h"
#include "engine/db/statement.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { QUERY = 0x03, PREPARE = 0x16, EXECUTE = 0x17, CLOSE = 0x19 };
enum { MORE_FOLLOW = 8 }; /* a flag after a set of rows */

static int              listener;
static impostor_answer *answer_of;
static _Atomic int      connections;

/* ---- packets */

static void number_add(struct text *to, uint64_t n, int bytes)
{
	for (int i = 0; i < bytes; i++)
		text_char(to, (char)(n >> 8 * i & 0xff));
}

static void length_add(struct text *to, uint64_t n)
{
	if (n > 250)
		text_char(to, (char)(n >> 16 ? 0xfe : 0xfc));
	number_add(to, n, n <= 250 ? 1 : n >> 16 ? 8 : 2);
}

void reply_packet(struct reply *to, const void *bytes, size_t len)
{
	number_add(&to->bytes, len, 3);
	text_char(&to->bytes, (char)to->number++);
	text_bytes(&to->bytes, bytes, len);
}

static void packet_move(struct reply *to, struct text *bytes)
{
	reply_packet(to, bytes->data, bytes->len);
	text_fini(bytes);
}

void reply_done(struct reply *to, uint64_t changed, uint64_t last_id)
{
	struct text done = {0};

	text_char(&done, 0);
	length_add(&done, changed);
	length_add(&done, last_id);
	text_bytes(&done, "\2\0\0\0", 4);
	packet_move(to, &done);
}

void reply_error(struct reply *to, unsigned code, const char *text)
{
	struct text error = {0};

	text_char(&error, (char)0xff);
	number_add(&error, code, 2);
	text_format(&error, "#HY000%s", text);
	packet_move(to, &error);
}

void reply_columns(struct reply *to, unsigned count, unsigned char type)
{
	char column[] = "\3def\0\0\0\1a\1a\x0c\x21\0\xff\0\0\0\xfd\0\0\0\0";

	column[18] = (char)type;
	length_add(&to->row, count);
	reply_row(to);
	for (unsigned i = 0; i < count; i++)
		reply_packet(to, column, sizeof(column));
	reply_end(to, false);
}

void reply_value(struct reply *to, const char *bytes, size_t len)
{
	if (!bytes) {
		text_char(&to->row, (char)0xfb);
		return;
	}
	length_add(&to->row, len);
	text_bytes(&to->row, bytes, len);
}

void reply_row(struct reply *to)
{
	reply_packet(to, to->row.data, to->row.len);
	text_reset(&to->row);
}

void reply_end(struct reply *to, bool more)
{
	reply_packet(to, (char[]){(char)0xfe, 0, 0, more ? 2 | MORE_FOLLOW : 2, 0}, 5);
}

/* ---- the columns of a statement */

/* Takes the statement with the longest beginning (up to its first hole) that `sql` has. A transaction without a fence
 * is made of pieces. */
unsigned impostor_columns(const char *sql)
{
	static const char verdict[] = "SELECT verdict; END";
	size_t            longest = 0, all = strlen(sql);
	unsigned          columns = 0;

	if (all > strlen(verdict) && strcmp(sql + all - strlen(verdict), verdict) == 0)
		return 1;
	for (int i = 0; i < STATEMENT_COUNT; i++) {
		size_t len = strcspn(statements[i].text, "{");

		if (len > longest && strncmp(sql, statements[i].text, len) == 0) {
			longest = len;
			columns = statements[i].columns;
		}
	}
	return columns;
}

/* ---- a connection */

static void greet(struct reply *to)
{
	static const char hello[] = "\x0a"
				    "5.5.5-10.11.19-MariaDB\0"
				    "\7\0\0\0"
				    "12345678\0"
				    "\xdf\xf7\x21\2\0\xbf\x81\x15\0\0\0\0\0\0\0\0\0\0"
				    "123456789012\0"
				    "mysql_native_password";

	reply_packet(to, hello, sizeof(hello));
}

static bool whole_read(int fd, void *to, size_t len)
{
	return len == 0 || recv(fd, to, len, MSG_WAITALL) == (ssize_t)len;
}

/* Reads one packet, with a \0 after it. false: the client has gone. */
static bool packet_read(int fd, struct reply *reply, struct text *in)
{
	unsigned char head[4];
	size_t        len;
	char         *room;

	text_reset(in);
	if (!whole_read(fd, head, sizeof(head)))
		return false;
	len = (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16;
	reply->number = (unsigned char)(head[3] + 1);
	room = text_room(in, len + 1);
	if (!whole_read(fd, room, len))
		return false;
	room[len] = '\0';
	in->len += len;
	return true;
}

/* The number of the statement, no columns, and as many parameters as it has marks, each in a packet of its own. */
static void prepared_add(struct reply *to, const char *sql)
{
	struct text ready = {0};
	unsigned    marks = 0;

	for (; (sql = strchr(sql, '?')) != NULL; sql++)
		marks++;
	text_char(&ready, 0);
	number_add(&ready, 1, 4);
	number_add(&ready, 0, 2);
	number_add(&ready, marks, 2);
	number_add(&ready, 0, 3);
	packet_move(to, &ready);
	for (unsigned i = 0; i < marks; i++)
		reply_packet(to, "\3def\0\0\0\1?\0\x0c\x3f\0\0\0\0\0\xfd\x80\0\0\0\0", 23);
	if (marks > 0)
		reply_end(to, false);
}

/* Answers a command. Statements that set up a session get the right answer. false: the connection ends. */
static bool command_answer(struct reply *to, const struct text *in)
{
	const char *sql = in->data + 1;

	switch (in->data[0]) {
	case QUERY:
		if (strncmp(sql, "SET ", 4) != 0 && strncmp(sql, statements[SESSION_NEWER].text, 40) != 0)
			return answer_of(to, sql, false);
		reply_done(to, 0, 0);
		return true;
	case PREPARE:
		prepared_add(to, sql);
		return true;
	case EXECUTE:
		return answer_of(to, "", true);
	case CLOSE: /* has no answer */
		return true;
	default:
		return false;
	}
}

static bool reply_send(int fd, struct reply *reply)
{
	const char *at = reply->bytes.data;

	for (size_t left = reply->bytes.len; left > 0;) {
		ssize_t sent = send(fd, at, left, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		at += sent;
		left -= (size_t)sent;
	}
	text_reset(&reply->bytes);
	return true;
}

/* Serves one connection; every name and password is accepted. */
static void *client_serve(void *arg)
{
	int          fd = *(int *)arg;
	struct text  in = {0};
	struct reply reply = {0};
	bool         goes_on;

	free(arg);
	greet(&reply);
	goes_on = reply_send(fd, &reply) && packet_read(fd, &reply, &in);
	reply_done(&reply, 0, 0);
	goes_on = goes_on && reply_send(fd, &reply);
	while (goes_on && packet_read(fd, &reply, &in)) {
		goes_on = command_answer(&reply, &in);
		goes_on &= reply_send(fd, &reply);
	}
	text_fini(&in);
	text_fini(&reply.bytes);
	text_fini(&reply.row);
	close(fd);
	connections--;
	return NULL;
}

static void *clients_take(void *arg)
{
	(void)arg;
	for (;;) {
		int       fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), *its = mem_alloc(sizeof(*its));
		pthread_t thread;

		*its = fd;
		connections++;
		if (fd < 0 || pthread_create(&thread, NULL, client_serve, its) != 0)
			return NULL;
		pthread_detach(thread);
	}
}

int impostor_connections(void)
{
	return connections;
}

int impostor_open(const char *path, impostor_answer *answer)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_un there = {.sun_family = AF_UNIX};
	struct sockaddr   *at = path ? (struct sockaddr *)&there : (struct sockaddr *)&here;
	socklen_t          len = path ? sizeof(there) : sizeof(here);
	pthread_t          thread;

	answer_of = answer;
	if (path)
		snprintf(there.sun_path, sizeof(there.sun_path), "%s", path);
	listener = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, at, len) != 0 || listen(listener, 20) != 0 || getsockname(listener, at, &len) != 0 ||
	    pthread_create(&thread, NULL, clients_take, NULL) != 0)
		return 0;
	return path ? 1 : ntohs(here.sin_port);
}
