/* events.c - listeners to reservations: a reader of the feed, alone and beside them, and webhooks. Their receiver is
 * this program with the word `receiver`; the path of a webhook says how it answers. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "holdfast.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 100000, PAGE = 1000, FIRST_S = 15, SLOW_MS = 20, HOOKS_MAX = 20 };

/* ---- reading */

/* A reader. It begins with the oldest event that is kept, and anew at the end, or waits there. */
struct reading {
	struct bench *bench;
	struct text   cursor;
	bool          waits;
	atomic_bool   ending;
	bool          ended; /* `ending`, and nothing is left */
	int64_t       events;
	struct load   load;
};

static bool reading_next(void *arg, struct load_call *call, struct text *request)
{
	struct reading *r = arg;
	struct text     path = {0};

	(void)call;
	text_format(&path, "/v1/events?limit=%d%s", PAGE, r->waits && !r->ending ? "&wait_s=1" : "");
	if (r->cursor.len > 0)
		text_format(&path, "&after=%s", r->cursor.data);
	if (!r->ended)
		load_request(request, "GET", path.data, "", 0);
	text_fini(&path);
	return !r->ended;
}

/* A page that holds more than it may, or nothing though there is more, is wrong. */
static enum load_verdict reading_check(void *arg, struct load_call *call, const struct load_answer *answer)
{
	static const char *const names[] = {"items", "next_cursor", "more"};
	struct reading          *r = arg;
	struct span              values[3], item;
	size_t                   at = 0;
	bool                     more;

	if (answer->status != 200 || !answer_members(answer->body, names, values, 3) || values[1].len < 3)
		return LOAD_WRONG;
	for (call->count = 0; answer_item(values[0], &at, &item);)
		call->count++;
	more = values[2].len == 4;
	text_reset(&r->cursor);
	if (more || r->waits)
		text_bytes(&r->cursor, values[1].at + 1, values[1].len - 2);
	r->events += call->count;
	r->ended = r->ending && !more && call->count == 0;
	return call->count > PAGE || (more && call->count == 0) ? LOAD_WRONG : LOAD_DONE;
}

static const struct load_plan reading = {reading_next, reading_check, NULL};

static void reading_run(struct reading *r)
{
	r->load = (struct load){.port = r->bench->port,
	                        .connections = 1,
	                        .until_us = clock_us() + (int64_t)r->bench->seconds * 1000000,
	                        .plan = &reading,
	                        .arg = r};
	if (r->waits)
		r->load.until_us = bench_until_us(r->bench, 1);
	load_run(&r->load);
	text_fini(&r->cursor);
}

/* ---- reading alone */

/* Once a turn: a log that a round does not come to the end of too often. */
static bool log_open(struct bench *b, const struct contender *c)
{
	static int   turn;
	struct round made = {0};

	(void)c;
	if (!service_start(b) || !ledger_receive(b, &ledger_hot))
		return false;
	if (turn != b->turn)
		visit_run(b, &load_batch, 8, EVENTS, &made);
	free(made.samples.us);
	turn = b->turn;
	return made.wrong == 0;
}

static void feed_run(struct bench *b, const struct contender *c, struct round *out)
{
	struct reading r = {.bench = b};

	(void)c;
	reading_run(&r);
	*out = (struct round){.seconds = r.load.seconds,
	                      .timed = r.load.timed,
	                      .orders = r.load.orders,
	                      .wrong = r.load.wrong,
	                      .samples = r.load.samples};
}

const struct way way_feed = {.open = log_open, .run = feed_run, .child = offsetof(struct bench, service)};

/* ---- reservations beside a reader, which has to keep up with them */

static void *beside_main(void *arg)
{
	reading_run(arg);
	return NULL;
}

static bool beside_open(struct bench *b, const struct contender *c)
{
	(void)c;
	return service_start(b) && ledger_receive(b, &ledger_hot);
}

/* The cursor of a reader that begins now. */
static void cursor_now(struct bench *b, struct text *cursor)
{
	static const char *const names[] = {"next_cursor"};
	struct text              answer = {0};
	struct span              value;

	if (load_once(b->port, "GET", "/v1/events?after=now", NULL, &answer) == 200 &&
	    answer_members((struct span){answer.data, answer.len}, names, &value, 1) && value.len > 2)
		text_bytes(cursor, value.at + 1, value.len - 2);
	text_fini(&answer);
}

static void beside_run(struct bench *b, const struct contender *c, struct round *out)
{
	struct reading r = {.bench = b, .waits = true};
	int64_t        begun_us, late_us;
	pthread_t      thread;

	cursor_now(b, &r.cursor);
	begun_us = clock_us();
	if (pthread_create(&thread, NULL, beside_main, &r) != 0)
		abort();
	visit_run(b, c->what, c->connections, INT64_MAX, out);
	late_us = clock_us();
	r.ending = true;
	pthread_join(thread, NULL);
	out->beside = (double)r.events * 1e6 / (double)(clock_us() - begun_us);
	free(r.load.samples.us);
	if (r.events != out->orders || r.load.wrong) {
		bench_wrong("%" PRId64 " orders, and the reader beside them had %" PRId64 " events", out->orders,
		            r.events);
		out->wrong++;
	}
	fprintf(stderr, "%-36s       the reader was done %.2f s later\n", c->name,
	        (double)(clock_us() - late_us) / 1e6);
}

static bool beside_taken(struct bench *b, const struct contender *c, int64_t *units)
{
	(void)c;
	return ledger_check(b, &ledger_hot, units);
}

const struct way way_read_beside = {
	.open = beside_open, .run = beside_run, .taken = beside_taken, .child = offsetof(struct bench, service)};

/* ---- the receiver, a program: POST /now/N, /slow/N after 20 ms, /hang/N never; GET / says how many were answered */

static int64_t answered;

static void delivery_answer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	answered++;
	evhttp_send_reply(arg, 204, NULL, NULL);
}

static void receive(struct evhttp_request *r, void *arg)
{
	const char *path = evhttp_request_get_uri(r);

	if (evhttp_request_get_command(r) == EVHTTP_REQ_GET) {
		evbuffer_add_printf(evhttp_request_get_output_buffer(r), "%" PRId64, answered);
		evhttp_send_reply(r, 200, NULL, NULL);
	} else if (strncmp(path, "/now", 4) == 0) {
		delivery_answer(-1, 0, r);
	} else if (strncmp(path, "/slow", 5) == 0) {
		event_base_once(arg, -1, EV_TIMEOUT, delivery_answer, r, &(struct timeval){.tv_usec = SLOW_MS * 1000});
	}
}

int receiver_main(void)
{
	struct event_base          *base = event_base_new();
	struct evhttp              *http = base ? evhttp_new(base) : NULL;
	struct evhttp_bound_socket *bound = http ? evhttp_bind_socket_with_handle(http, "127.0.0.1", 0) : NULL;
	struct sockaddr_in          at = {0};
	socklen_t                   len = sizeof(at);

	signal(SIGPIPE, SIG_IGN);
	if (!bound || getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&at, &len))
		return EXIT_UNAVAILABLE;
	evhttp_set_gencb(http, receive, base);
	log_event(LOG_INFO, "listening", "address=127.0.0.1:%u", ntohs(at.sin_port));
	event_base_dispatch(base);
	return EXIT_TROUBLE;
}

/* ---- deliveries */

struct delivery {
	const char *path;
	int         webhooks, parallel;
	bool        hangs; /* one more, that is never answered */
};
const struct delivery deliver_one = {"now", 1, 1, false}, deliver_parallel = {"slow", 1, 16, false},
		      deliver_many = {"now", HOOKS_MAX - 1, 1, false}, deliver_beside = {"now", HOOKS_MAX - 1, 1, true};

static bool deliver_open(struct bench *b, const struct contender *c)
{
	char *argv[] = {"/proc/self/exe", "receiver", NULL};
	long  from = log_size();

	if (!b->receiver.pid)
		b->receiver_port = child_start(&b->receiver, argv) ? program_port(&b->receiver, from) : 0;
	return b->receiver_port > 0 && log_open(b, c);
}

static bool webhook_make(struct bench *b, const char *path, int number, int parallel)
{
	struct text body = {0}, answer = {0};
	int         status;

	text_format(&body,
	            "{\"webhook_id\":\"W%d\",\"url\":\"http://127.0.0.1:%u/%s/%d\",\"from\":\"oldest\","
	            "\"parallel\":%d}",
	            number, b->receiver_port, path, number, parallel);
	status = load_once(b->port, "POST", "/v1/webhooks", &body, &answer);
	if (status != 201)
		say("bench: webhook %d: %d %s", number, status, answer.data);
	text_fini(&body);
	text_fini(&answer);
	return status == 201;
}

/* Each begins with the oldest event. */
static bool deliver_ready(struct bench *b, const struct contender *c)
{
	const struct delivery *d = c->what;
	char                   path[40];
	bool                   made = true;

	for (int i = 0; i < HOOKS_MAX; i++) {
		struct text answer = {0};

		snprintf(path, sizeof(path), "/v1/webhooks/W%d", i);
		made = load_once(b->port, "DELETE", path, NULL, &answer) == 204 && made;
		text_fini(&answer);
	}
	for (int i = 0; i < d->webhooks; i++)
		made = made && webhook_make(b, d->path, i, d->parallel);
	return made && (!d->hangs || webhook_make(b, "hang", d->webhooks, 1));
}

static int64_t delivered(const struct bench *b)
{
	struct text answer = {0};
	int64_t     count = -1;

	if (load_once(b->receiver_port, "GET", "/", NULL, &answer) == 200)
		count = atoll(answer.data);
	text_fini(&answer);
	return count;
}

static void deliver_run(struct bench *b, const struct contender *c, struct round *out)
{
	char   *words[] = {"work", "deliver", "--webhooks-allow", "127.0.0.0/8", NULL};
	int64_t before = delivered(b), until_us = clock_us() + FIRST_S * INT64_C(1000000), begun_us;
	bool    well = command_start(b, words);

	while (delivered(b) == before && clock_us() < until_us)
		usleep(10000);
	before = delivered(b);
	begun_us = clock_us();
	usleep((useconds_t)b->seconds * 1000000);
	out->timed = out->orders = delivered(b) - before;
	out->seconds = (double)(clock_us() - begun_us) / 1e6;
	well = well && child_stop(&b->worker, FIRST_S);
	out->cpu = b->worker.cpu_ended;
	if (!well || out->timed == 0) {
		bench_wrong("%s: work deliver did not end well", c->name);
		out->wrong++;
	}
}

const struct way way_deliver = {
	.open = deliver_open, .ready = deliver_ready, .run = deliver_run, .child = offsetof(struct bench, receiver)};
