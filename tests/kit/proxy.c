/* proxy.c - see proxy.h. */
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "tests/kit/proxy.h"
#include "tests/kit/impostor.h"
#include "tests/kit/patience.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	PAIRS = 32,
	WAIT_MS = PATIENCE_MS,
	POLL_MS = 20,
	CHUNK = 1 << 20,
	TORN_BYTES = 1100,
	WRONG_TIMES = 2,
	WRONG_MS = 100
};

/* A text that only lanes prepare. */
#define OF_A_LANE "ops = ops + ?, event_no = @n"

/* One connection. A side that is closed is -1. */
struct pair {
	int     client, server;
	bool    lane;    /* the connection of a lane */
	bool    mute;    /* the next answer ends it */
	size_t  left;    /* bytes of the answer after which the connection ends; 0: no limit */
	int64_t held_ms; /* clock_ms before which no answer is passed on */
};

struct proxy {
	char            server[512]; /* the real socket */
	int             listener;
	pthread_t       thread;
	char           *chunk;
	struct pair     pair[PAIRS];
	pthread_mutex_t lock; /* for what follows */
	bool            ends, struck, shut, shuts, stalls, lanes_only;
	int             armed; /* number of breaches still to come */
	enum breach     breach;
	char            text[200];
	size_t          nth;            /* BREACH_OTHER: the number of a lane's statement .. */
	char            instead_of[40]; /* .. or the text in a statement of another connection */
	const char     *value, *from;   /* BREACH_ROWS */
	int             more;
	unsigned        skips;
	struct text     late; /* bytes kept back, for late_server */
	int             late_server;
	int             waiting_server; /* as late_server, with a waiting client; owned by its pair; -1: none */
};

static int socket_open(const char *path, bool listens)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert(fd >= 0 && strlen(path) < sizeof(at.sun_path));
	strcpy(at.sun_path, path);
	if (listens ? bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, PAIRS) == 0
	            : connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	close(fd);
	return -1;
}

static void side_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void pair_close(struct pair *pair)
{
	side_close(&pair->client);
	side_close(&pair->server);
	pair->lane = false;
	pair->mute = false;
	pair->left = 0;
	pair->held_ms = 0;
}

static void send_all(int fd, const char *data, size_t len)
{
	for (ssize_t n; len > 0; data += n, len -= (size_t)n)
		if ((n = send(fd, data, len, MSG_NOSIGNAL)) <= 0)
			return;
}

static void accept_one(struct proxy *p)
{
	int  client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
	bool shut;

	pthread_mutex_lock(&p->lock);
	shut = p->shut;
	pthread_mutex_unlock(&p->lock);
	for (int i = 0; !shut && client >= 0 && i < PAIRS; i++)
		if (p->pair[i].client < 0 && p->pair[i].server < 0) {
			p->pair[i] = (struct pair){.client = client, .server = socket_open(p->server, false)};
			if (p->pair[i].server < 0)
				pair_close(&p->pair[i]);
			return;
		}
	side_close(&client);
}

/* The begin of the packet that holds the byte `at`. A packet begins with three bytes of length and one of a number. */
static size_t packet_of(const char *chunk, size_t at)
{
	const unsigned char *byte = (const unsigned char *)chunk;
	size_t               start = 0, next = 0;

	while (next <= at) {
		start = next;
		next += 4 + (byte[start] | (size_t)byte[start + 1] << 8 | (size_t)byte[start + 2] << 16);
	}
	return start;
}

/* Keeps the statement back, with the bytes after it. Packets of the client before it get through, even if they came in
 * the same chunk. BREACH_LATE also takes the server's side from the pair. */
static void statement_keep(struct proxy *p, struct pair *pair, const char *hit, size_t len)
{
	size_t start = packet_of(p->chunk, (size_t)(hit - p->chunk));

	send_all(pair->server, p->chunk, start);
	text_reset(&p->late);
	text_bytes(&p->late, p->chunk + start, len - start);
	*(p->breach == BREACH_LATE ? &p->late_server : &p->waiting_server) = pair->server;
	pair->server = p->breach == BREACH_LATE ? -1 : pair->server;
}

/* Makes the text of the statement invalid SQL. Answers are delayed, so that later bytes of the client come before the
 * answer. */
static void statement_spoil(struct proxy *p, struct pair *pair, char *hit, size_t len)
{
	pair->held_ms = clock_ms() + WRONG_MS;
	for (; hit && p->armed > 0; p->armed--) {
		memset(hit, '!', strlen(p->text));
		hit = memmem(p->chunk, len, p->text, strlen(p->text));
	}
}

/* Passes a chunk of whole packets on, with another statement in the place of one. False: the chunk has not that one. */
static bool other_sent(struct proxy *p, struct pair *pair, size_t len)
{
	static const char    commit[] = "\x07\0\0\0\x03"
					"COMMIT";
	const unsigned char *byte = (const unsigned char *)p->chunk;
	unsigned char        head[5];
	size_t               next, other = strlen(p->text) + 1;

	for (size_t at = 0; at + 5 <= len; at = next) {
		next = at + 4 + (byte[at] | (size_t)byte[at + 1] << 8 | (size_t)byte[at + 2] << 16);
		if (*p->instead_of
		            ? next > len || !memmem(p->chunk + at, next - at, p->instead_of, strlen(p->instead_of))
		    : p->nth ? --p->nth > 0
		             : memcmp(p->chunk + at, commit, sizeof(commit) - 1) != 0)
			continue;
		assert(next <= len && other < 1 << 8);
		memcpy(head, (unsigned char[]){(unsigned char)other, 0, 0, 0, 3}, sizeof(head));
		send_all(pair->server, p->chunk, at);
		send_all(pair->server, (const char *)head, sizeof(head));
		send_all(pair->server, p->text, other - 1);
		send_all(pair->server, p->chunk + next, len - next);
		p->armed = 0;
		p->struck = true;
		return true;
	}
	return false;
}

/* True: a statement by which a connection begins. */
static bool is_first(const char *sql)
{
	static const char *const first[] = {"FROM schema_version",
	                                    "FROM identity",
	                                    "FROM location FORCE INDEX (PRIMARY)",
	                                    "CRC32(MD5(CONCAT_WS",
	                                    "DECLARE number INT UNSIGNED",
	                                    "DECLARE CONTINUE HANDLER FOR 1193"};

	for (size_t i = 0; i < LENGTH(first); i++)
		if (strstr(sql, first[i]))
			return true;
	return false;
}

/* Writes the statement that replaces `sql`; false: `sql` is sent unchanged. */
static bool rows_instead(struct proxy *p, const char *sql, struct text *to)
{
	int columns = (int)impostor_columns(sql);

	if (strncmp(sql, p->text, strlen(p->text)) != 0 || columns == 0 || is_first(sql))
		return false;
	if (p->skips > 0) {
		p->skips--;
		return false;
	}
	text_add(to, "SELECT ");
	for (int i = 0; i < columns + p->more || i == 0; i++)
		text_format(to, "%s%s", i > 0 ? "," : "", p->value);
	text_format(to, " %s", p->from);
	return true;
}

/* Passes a chunk on, with other statements in the place of those that begin with p->text. A packet that is not whole is
 * passed on unchanged. */
static void rows_sent(struct proxy *p, struct pair *pair, size_t len)
{
	const unsigned char *byte = (const unsigned char *)p->chunk;
	size_t               at = 0, next;

	for (; at + 5 <= len; at = next) {
		struct text sql = {0}, other = {0};
		size_t      size = byte[at] | (size_t)byte[at + 1] << 8 | (size_t)byte[at + 2] << 16;

		next = at + 4 + size;
		if (next > len)
			break;
		text_bytes(&sql, byte + at + 5, size - 1);
		if (byte[at + 4] == 3 && rows_instead(p, sql.data, &other)) {
			send_all(pair->server,
			         (const char[]){(char)(other.len + 1), (char)((other.len + 1) >> 8), 0, 0, 3}, 5);
			send_all(pair->server, other.data, other.len);
			p->struck = true;
		} else {
			send_all(pair->server, p->chunk + at, next - at);
		}
		text_fini(&sql);
		text_fini(&other);
	}
	send_all(pair->server, p->chunk + at, len - at);
}

/* Looks for the awaited statement, and breaks it. True: the chunk was dealt with. */
static bool strikes(struct proxy *p, struct pair *pair, size_t len)
{
	char *hit = NULL;

	pair->lane |= memmem(p->chunk, len, OF_A_LANE, sizeof(OF_A_LANE) - 1) != NULL;
	pthread_mutex_lock(&p->lock);
	if (p->armed > 0 && p->breach == BREACH_OTHER) {
		bool sent = pair->lane == !*p->instead_of && other_sent(p, pair, len);

		pthread_mutex_unlock(&p->lock);
		return sent;
	}
	if (p->armed > 0 && p->breach == BREACH_ROWS) {
		bool takes = pair->lane == p->lanes_only;

		if (takes)
			rows_sent(p, pair, len);
		pthread_mutex_unlock(&p->lock);
		return takes;
	}
	if (p->armed > 0 && (pair->lane || !p->lanes_only))
		hit = memmem(p->chunk, len, p->text, strlen(p->text));
	if (hit) {
		p->struck = true;
		if (p->breach == BREACH_WRONG)
			statement_spoil(p, pair, hit, len);
		else
			p->armed = 0;
		if (p->breach == BREACH_LATE || p->breach == BREACH_WAIT)
			statement_keep(p, pair, hit, len);
		else
			send_all(pair->server, p->chunk, len);
		p->shut = p->breach == BREACH_TORN || p->shuts;
		p->shuts = false;
		pair->left = p->breach == BREACH_TORN ? TORN_BYTES : 0;
		pair->mute = p->breach == BREACH_MUTE;
		if (p->breach == BREACH_LATE || p->breach == BREACH_DEAF)
			side_close(&pair->client);
	}
	pthread_mutex_unlock(&p->lock);
	return hit != NULL;
}

static void pass_client(struct proxy *p, struct pair *pair)
{
	ssize_t n = recv(pair->client, p->chunk, CHUNK, 0);

	if (n <= 0)
		pair_close(pair);
	else if (!strikes(p, pair, (size_t)n))
		send_all(pair->server, p->chunk, (size_t)n);
}

static void pass_server(struct proxy *p, struct pair *pair)
{
	ssize_t n = recv(pair->server, p->chunk, CHUNK, 0);

	if (n <= 0 || pair->mute || pair->client < 0) {
		pair_close(pair);
		return;
	}
	if (pair->left == 0 || (size_t)n < pair->left) {
		send_all(pair->client, p->chunk, (size_t)n);
		pair->left -= pair->left ? (size_t)n : 0;
		return;
	}
	send_all(pair->client, p->chunk, pair->left);
	pair_close(pair);
}

static bool proxy_ends(struct proxy *p)
{
	bool ends;

	pthread_mutex_lock(&p->lock);
	ends = p->ends;
	pthread_mutex_unlock(&p->lock);
	return ends;
}

/* True: a statement of the client is kept back, so its later bytes are, too. */
static bool waits(struct proxy *p, const struct pair *pair)
{
	bool waiting;

	pthread_mutex_lock(&p->lock);
	waiting = pair->server >= 0 && pair->server == p->waiting_server;
	pthread_mutex_unlock(&p->lock);
	return waiting;
}

static bool proxy_stalls(struct proxy *p)
{
	bool stalls;

	pthread_mutex_lock(&p->lock);
	stalls = p->stalls;
	pthread_mutex_unlock(&p->lock);
	return stalls;
}

static void *proxy_run(void *arg)
{
	struct proxy *p = arg;
	struct pollfd fds[1 + 2 * PAIRS];

	while (!proxy_ends(p)) {
		if (proxy_stalls(p)) {
			usleep(POLL_MS * 1000);
			continue;
		}
		fds[0] = (struct pollfd){.fd = p->listener, .events = POLLIN};
		for (int i = 0; i < PAIRS; i++) {
			fds[1 + 2 * i] = (struct pollfd){.events = POLLIN};
			fds[1 + 2 * i].fd = waits(p, &p->pair[i]) ? -1 : p->pair[i].client;
			fds[2 + 2 * i] = (struct pollfd){.events = POLLIN};
			fds[2 + 2 * i].fd = clock_ms() < p->pair[i].held_ms ? -1 : p->pair[i].server;
		}
		if (poll(fds, LENGTH(fds), POLL_MS) <= 0)
			continue;
		for (int i = 0; i < PAIRS; i++) {
			if (fds[1 + 2 * i].revents && p->pair[i].client >= 0)
				pass_client(p, &p->pair[i]);
			if (fds[2 + 2 * i].revents && p->pair[i].server >= 0)
				pass_server(p, &p->pair[i]);
		}
		if (fds[0].revents)
			accept_one(p);
	}
	return NULL;
}

struct proxy *proxy_open(struct scratch *s)
{
	struct proxy *p = mem_alloc(sizeof(*p));
	int           error;

	snprintf(p->server, sizeof(p->server), "%s", s->target.socket);
	p->chunk = mem_alloc(CHUNK);
	for (int i = 0; i < PAIRS; i++)
		p->pair[i] = (struct pair){.client = -1, .server = -1};
	p->late_server = p->waiting_server = -1;
	pthread_mutex_init(&p->lock, NULL);
	unlink(s->link);
	p->listener = socket_open(s->link, true);
	assert(p->listener >= 0);
	error = pthread_create(&p->thread, NULL, proxy_run, p);
	assert(error == 0);
	return p;
}

void proxy_close(struct proxy *p)
{
	pthread_mutex_lock(&p->lock);
	p->ends = true;
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	for (int i = 0; i < PAIRS; i++)
		pair_close(&p->pair[i]);
	side_close(&p->listener);
	side_close(&p->late_server);
	text_fini(&p->late);
	pthread_mutex_destroy(&p->lock);
	free(p->chunk);
	free(p);
}

void proxy_stall(struct proxy *p, bool stalls)
{
	pthread_mutex_lock(&p->lock);
	p->stalls = stalls;
	pthread_mutex_unlock(&p->lock);
}

static void arm(struct proxy *p, enum breach breach, const char *text, bool lanes_only)
{
	pthread_mutex_lock(&p->lock);
	p->armed = breach == BREACH_WRONG ? WRONG_TIMES : 1;
	p->struck = false;
	p->lanes_only = lanes_only;
	p->breach = breach;
	snprintf(p->text, sizeof(p->text), "%s", text);
	pthread_mutex_unlock(&p->lock);
}

void proxy_arm(struct proxy *p, enum breach breach, const char *text)
{
	arm(p, breach, text, false);
}

void proxy_arm_lane(struct proxy *p, enum breach breach, const char *text)
{
	arm(p, breach, text, true);
}

void proxy_arm_other(struct proxy *p, size_t nth, const char *sql)
{
	assert(strlen(sql) < sizeof(p->text));
	arm(p, BREACH_OTHER, sql, true);
	pthread_mutex_lock(&p->lock);
	p->nth = nth;
	p->instead_of[0] = '\0';
	pthread_mutex_unlock(&p->lock);
}

void proxy_arm_instead(struct proxy *p, const char *text, const char *sql)
{
	assert(strlen(sql) < sizeof(p->text));
	pthread_mutex_lock(&p->lock);
	snprintf(p->instead_of, sizeof(p->instead_of), "%s", text);
	pthread_mutex_unlock(&p->lock);
	arm(p, BREACH_OTHER, sql, false);
}

void proxy_arm_hostile(struct proxy *p, bool lanes, const char *begins, unsigned skips, const char *value, int more,
                       const char *from)
{
	pthread_mutex_lock(&p->lock);
	p->skips = skips;
	p->value = value;
	p->more = more;
	p->from = from;
	pthread_mutex_unlock(&p->lock);
	arm(p, BREACH_ROWS, begins, lanes);
}

bool proxy_disarm(struct proxy *p)
{
	bool struck;

	pthread_mutex_lock(&p->lock);
	struck = p->struck;
	p->armed = 0;
	pthread_mutex_unlock(&p->lock);
	return struck;
}

void proxy_shut_behind(struct proxy *p)
{
	pthread_mutex_lock(&p->lock);
	p->shuts = true;
	pthread_mutex_unlock(&p->lock);
}

void proxy_let_in(struct proxy *p)
{
	pthread_mutex_lock(&p->lock);
	p->shut = false;
	pthread_mutex_unlock(&p->lock);
}

bool proxy_struck(struct proxy *p)
{
	bool struck = false;

	for (int64_t from_ms = clock_ms(); !struck && !patience_is_over(from_ms, WAIT_MS); usleep(2000)) {
		pthread_mutex_lock(&p->lock);
		struck = p->struck;
		pthread_mutex_unlock(&p->lock);
	}
	return struck;
}

bool proxy_deliver(struct proxy *p)
{
	struct pollfd answer;
	bool          kept;

	pthread_mutex_lock(&p->lock);
	kept = p->late_server >= 0;
	if (kept) {
		answer = (struct pollfd){.fd = p->late_server, .events = POLLIN};
		send_all(p->late_server, p->late.data, p->late.len);
		kept = poll(&answer, 1, patience_ms(WAIT_MS)) == 1;
		side_close(&p->late_server);
	}
	pthread_mutex_unlock(&p->lock);
	return kept;
}

void proxy_go_on(struct proxy *p)
{
	pthread_mutex_lock(&p->lock);
	send_all(p->waiting_server, p->late.data, p->late.len);
	p->waiting_server = -1;
	pthread_mutex_unlock(&p->lock);
}
