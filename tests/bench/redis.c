/* redis.c - the same in Redis: a script checks and deducts, and leaves a hash that says which order got the units. One
 * call an order, over the loader's connections. appendfsync always: what was answered is on disk. The server is a
 * private one in build/bench/redis; where there is no redis-server, the rows are left out. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "load.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATA FOLDER "/redis"

enum { START_MS = 10000, SHA_LEN = 40 };

/* KEYS: the stock, the order. ARGV: quantity, when it expires. */
static const char script[] =
	"local qty = tonumber(ARGV[1])\n"
	"local left = tonumber(redis.call('GET', KEYS[1])) - qty\n"
	"if left < 0 then return -1 end\n"
	"redis.call('DECRBY', KEYS[1], qty)\n"
	"redis.call('HSET', KEYS[2], 'sku', 'HOT', 'qty', qty, 'state', 'held', 'expires_at', ARGV[2])\n"
	"return left";

static char script_sha[SHA_LEN + 1];

/* ---- its protocol */

static void redis_request(struct text *to, const char *const *words, int count)
{
	text_format(to, "*%d\r\n", count);
	for (int i = 0; i < count; i++)
		text_format(to, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
}

/* A line, or a string of a given length; that is all we ask for. */
static bool redis_frame(const struct text *in, struct load_answer *answer)
{
	const char *end = memchr(in->data, '\n', in->len);

	if (!end)
		return true;
	answer->head.len = (size_t)(end + 1 - in->data);
	if (in->data[0] == '$' && in->data[1] != '-')
		answer->body.len = strtoul(in->data + 1, NULL, 10) + 2;
	return in->data[0] && strchr(":+-$", in->data[0]);
}

struct redis_once {
	const char *const *words;
	int                count;
	struct text       *answer;
};

static bool once_next(void *arg, struct load_call *call, struct text *request)
{
	struct redis_once *once = arg;

	if (call->number++)
		return false;
	redis_request(request, once->words, once->count);
	return true;
}

static enum load_verdict once_check(void *arg, struct load_call *call, const struct load_answer *answer)
{
	struct redis_once *once = arg;

	(void)call;
	text_reset(once->answer);
	if (answer->body.len)
		text_bytes(once->answer, answer->body.at, answer->body.len - 2);
	else
		text_bytes(once->answer, answer->head.at, answer->head.len - 2);
	return answer->head.at[0] == '-' ? LOAD_WRONG : LOAD_DONE;
}

/* One command; its answer is a string or a line with its sign. */
static bool redis_ask(struct bench *b, const char *const *words, int count, struct text *answer)
{
	static const struct load_plan plan = {once_next, once_check, redis_frame};
	struct redis_once             once = {words, count, answer};
	struct load                   l = {.port = b->redis_port, .connections = 1, .plan = &plan, .arg = &once};

	l.until_us = clock_us() + START_MS * 1000;
	load_run(&l);
	free(l.samples.us);
	return l.orders == 1;
}

static int64_t redis_int(struct bench *b, const char *const *words, int count)
{
	struct text answer = {0};
	int64_t     n = -1;

	if (redis_ask(b, words, count, &answer))
		n = strtoll(answer.data + (answer.data[0] == ':'), NULL, 10);
	text_fini(&answer);
	return n;
}

/* ---- the server */

/* A port that was free when it was tried. */
static unsigned port_free(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t          len = sizeof(at);
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool found = bind(fd, (struct sockaddr *)&at, len) == 0 && getsockname(fd, (struct sockaddr *)&at, &len) == 0;

	close(fd);
	return found ? ntohs(at.sin_port) : 0;
}

static bool redis_listens(struct bench *b)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	                         .sin_port = htons((uint16_t)b->redis_port),
	                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int64_t            until_ms = clock_ms() + START_MS;
	bool               listens = false;
	int                status;

	while (!listens && !child_ended(&b->redis, &status) && clock_ms() < until_ms) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		listens = connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
		close(fd);
		if (!listens)
			usleep(10000);
	}
	return listens;
}

static bool redis_start(struct bench *b)
{
	char  port[16];
	char *argv[] = {"redis-server",
	                "--port",
	                port,
	                "--bind",
	                "127.0.0.1",
	                "--dir",
	                DATA,
	                "--save",
	                "",
	                "--appendonly",
	                "yes",
	                "--appendfsync",
	                "always",
	                "--auto-aof-rewrite-percentage",
	                "0",
	                "--logfile",
	                "",
	                NULL};

	folder_remove(DATA); /* of the turn before: it would be loaded first */
	if (mkdir(DATA, 0700))
		return false;
	b->redis_port = port_free();
	snprintf(port, sizeof(port), "%u", b->redis_port);
	if (b->redis_port && child_start(&b->redis, argv) && redis_listens(b))
		return true;
	say("bench: no redis-server (Debian, Ubuntu: apt-get install redis-server); its rows are left out");
	return false;
}

static bool redis_open(struct bench *b, const struct contender *c)
{
	const char *const load[] = {"SCRIPT", "LOAD", script}, *const stock[] = {"SET", "stock:HOT", "1000000000"};
	struct text answer = {0};
	bool        ready;

	(void)c;
	if (b->redis.pid)
		return true;
	ready = redis_start(b) && redis_ask(b, stock, 3, &answer) && redis_ask(b, load, 3, &answer) &&
	        answer.len == SHA_LEN;
	if (ready)
		memcpy(script_sha, answer.data, SHA_LEN);
	text_fini(&answer);
	return ready;
}

/* ---- orders */

struct redis_round {
	struct bench *bench;
	struct text   key;
	int64_t       units; /* acknowledged */
};

static bool order_next(void *arg, struct load_call *call, struct text *request)
{
	struct redis_round *r = arg;
	char                qty[] = {(char)('0' + order_qty(r->bench->order_next)), '\0'};
	const char         *words[] = {"EVALSHA", script_sha, "2", "stock:HOT", NULL, qty, "1795168800"};

	call->number = r->bench->order_next++;
	text_reset(&r->key);
	order_write(&r->key, call->number);
	words[4] = r->key.data;
	redis_request(request, words, LENGTH(words));
	return true;
}

/* An answer is right if it is a natural number: the units that are left. */
static enum load_verdict order_check(void *arg, struct load_call *call, const struct load_answer *answer)
{
	struct redis_round *r = arg;

	if (answer->head.at[0] != ':' || answer->head.at[1] < '0' || answer->head.at[1] > '9')
		return LOAD_WRONG;
	r->units += order_qty(call->number);
	return LOAD_DONE;
}

static void redis_run(struct bench *b, const struct contender *c, struct round *out)
{
	static const struct load_plan plan = {order_next, order_check, redis_frame};
	const char *const             size[] = {"DBSIZE"};
	struct redis_round            r = {.bench = b};
	struct load l = {.port = b->redis_port, .connections = c->connections, .plan = &plan, .arg = &r};
	int64_t     keys = redis_int(b, size, 1);

	l.until_us = clock_us() + (int64_t)b->seconds * 1000000;
	load_run(&l);
	*out = (struct round){.seconds = l.seconds,
	                      .timed = l.timed,
	                      .orders = l.orders,
	                      .units = r.units,
	                      .wrong = l.wrong,
	                      .samples = l.samples};
	keys = redis_int(b, size, 1) - keys;
	if (keys != l.orders) {
		bench_wrong("%s: %" PRId64 " orders acknowledged, %" PRId64 " kept", c->name, l.orders, keys);
		out->wrong++;
	}
	text_fini(&r.key);
}

static bool redis_taken(struct bench *b, const struct contender *c, int64_t *units)
{
	const char *const stock[] = {"GET", "stock:HOT"};
	int64_t           left = redis_int(b, stock, 2);

	(void)c;
	*units = HOT_QTY - left;
	return left >= 0;
}

const struct way way_redis = {
	.open = redis_open, .run = redis_run, .taken = redis_taken, .child = offsetof(struct bench, redis)};
