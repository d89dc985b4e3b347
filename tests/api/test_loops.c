/* test_loops.c - two loops of one process call at once, without sockets: what they share has its locks, what each owns
 * is its own, and the metrics are the sums of both. */
#include "api/access.h"
#include "api/activity.h"
#include "api/health.h"
#include "api/key_limit.h"
#include "api/request.h"
#include "api/route.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/base/thread.h"
#include "engine/loop.h"
#include "tests/lang/flow.h"
#include "tests/lang/keyring.h"
#include "tests/kit/patience.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOPS = 2, ROUNDS = 100, POLL_MS = 100 };

struct caller {
	struct requests all;
	pthread_t       thread;
	int             number;
	int             status; /* of the last answer; 0: none yet */
	struct text     body;
	int             wrong; /* answers with another status than the expected one */
};

static struct common common;

static bool ready(void *arg, struct text *checks)
{
	(void)arg, (void)checks;
	return true;
}

/* ---- a client without a socket */

static void answer_take(const struct handle *to, const struct reply *answer)
{
	struct caller *c = to->place;

	c->status = answer->status;
	text_reset(&c->body);
	text_bytes(&c->body, answer->body, answer->len);
}

static void client_tell(const struct handle *from, char *to, size_t size)
{
	snprintf(to, size, "%d", ((struct caller *)from->place)->number);
}

static void call(struct caller *c, int status, const char *method, const char *target, char *body)
{
	static const struct handle_calls calls = {.answer = answer_take, .client = client_tell};
	char                             bearer[60];
	struct asked                     asked = {.from = {&calls, c, 0},
	                                          .method = method,
	                                          .target = mem_copy(target),
	                                          .length = body ? strlen(body) : 0,
	                                          .body = body,
	                                          .body_len = body ? strlen(body) : 0,
	                                          .whole = true};
	struct pollfd                    ready = {loop_fd(c->all.loop), POLLIN, 0};

	snprintf(bearer, sizeof(bearer), "Bearer " BEARER, "shop");
	asked.headers[HEADER_AUTHORIZATION] = bearer;
	asked.headers[HEADER_CONTENT_TYPE] = "application/json";
	c->status = 0;
	route_dispatch(request_new(&c->all, &asked));
	for (int64_t from = clock_ms(); c->status == 0 && !patience_is_over(from, PATIENCE_MS);) {
		engine_wake(common.engine);
		poll(&ready, 1, POLL_MS);
		loop_run(c->all.loop);
		requests_tick(&c->all);
	}
	c->wrong += c->status != status;
	free(asked.target);
}

/* ---- a loop */

static void *loop_thread(void *arg)
{
	struct caller *c = arg;
	char           body[200];

	for (int n = 0; n < ROUNDS; n++) {
		snprintf(body, sizeof(body), "{\"order_id\":\"L%d-%d\",\"lines\":[{\"sku\":\"A\",\"qty\":2}]}",
		         c->number, n);
		call(c, 201, "POST", "/v1/reservations", body);
		snprintf(body, sizeof(body), "{\"order_id\":\"L%d-%d\",\"lines\":[{\"sku\":\"A\",\"qty\":3}]}",
		         c->number, n);
		call(c, 422, "POST", "/v1/reservations", body);
		call(c, 200, "GET", n % 2 ? "/v1/key" : "/v1/activity", NULL);
		call(c, n % 10 ? 404 : 200, "GET", n % 10 ? "/v1/nothing" : "/metrics", NULL);
		if (c->number > 0)
			continue;
		activity_tick(&common); /* the first loop ticks for the process */
		key_limit_tick(common.key_limit);
		if (n % 10 == 0)
			c->wrong += !keys_reload(common.keys);
	}
	return NULL;
}

static void callers_run(struct caller *callers)
{
	for (int i = 0; i < LOOPS; i++)
		cr_assert(pthread_create(&callers[i].thread, NULL, loop_thread, &callers[i]) == 0);
	for (int i = 0; i < LOOPS; i++)
		pthread_join(callers[i].thread, NULL);
	for (int i = 0; i < LOOPS; i++)
		cr_expect(callers[i].wrong == 0, "%d answers of loop %d", callers[i].wrong, i);
}

static void expect_metric(struct caller *c, const char *name, int value)
{
	const char *at;
	char        line[200];

	snprintf(line, sizeof(line), "\n%s ", name);
	call(c, 200, "GET", "/metrics", NULL);
	at = strstr(c->body.data, line);
	cr_expect(at && atoi(at + strlen(line)) == value, "%s is %.60s", name, at ? at + strlen(line) : "not there");
}

/* All that two loops share, and the engine behind it. */
static void process_begin(struct engine_options *options, struct caller *callers, const char *keys)
{
	static struct db_target target;
	char                    why[400];

	target = flow_scratch()->target;
	snprintf(target.database, sizeof(target.database), "%s", flow_scratch()->name);
	options->source = source_new(&target);
	common.engine = engine_open(options);
	common.body_max = 1 << 20;
	common.keys = keys_open(keys, why, sizeof(why));
	cr_assert(common.keys, "%s", why);
	common.ready = ready;
	common.counts = counts_new();
	common.activity = activity_new();
	for (int i = 0; i < LOOPS; i++) {
		callers[i].number = i;
		callers[i].all = (struct requests){.common = &common,
		                                   .other = common.loops,
		                                   .loop = loop_new(),
		                                   .ops_bytes_max = 1 << 20,
		                                   .named = (uint64_t)i << 32};
		common.loops = &callers[i].all;
	}
	activity_tick(&common);
	common.key_limit = key_limit_open(common.keys, common.engine, callers[0].all.loop);
}

static void process_end(struct engine_options *options, struct caller *callers)
{
	engine_close(common.engine);
	for (int i = 0; i < LOOPS; i++) {
		loop_run(callers[i].all.loop);
		cr_expect(callers[i].all.count == 0);
		loop_free(callers[i].all.loop);
		requests_fini(&callers[i].all);
		text_fini(&callers[i].body);
	}
	key_limit_free(common.key_limit);
	counts_free(common.counts);
	activity_free(common.activity);
	keys_free(common.keys);
	source_free(options->source);
}

/* Each of the two orders of a number has its twin under the same id: the second one is refused. */
Test(loops, two_loops_call_at_once)
{
	struct engine_options       options = {.lanes = 2, .slot = 7, .waiting_max = 2};
	struct caller              *callers = mem_alloc(LOOPS * sizeof(*callers));
	const struct access_options lines = {.file = "/dev/null", .slow_ms = 100000};
	char                        keys[60], why[400];
	struct access              *access;

	snprintf(keys, sizeof(keys), "/tmp/holdfast-loops-%d", (int)getpid());
	keyring_write(keys, "shop order held=1000");
	flow_begin();
	flow_step("receipt A +1000 -> 201");
	process_begin(&options, callers, keys);
	access = access_open(&lines, why, sizeof(why));
	cr_assert(access);
	access_watch(access, &common);
	callers_run(callers);
	expect_metric(callers, "holdfast_requests_total{route=\"POST /v1/reservations\",status=\"201\"}",
	              LOOPS * ROUNDS);
	expect_metric(callers, "holdfast_requests_total{route=\"POST /v1/reservations\",status=\"422\"}",
	              LOOPS * ROUNDS);
	expect_metric(callers, "holdfast_refusals_total{code=\"order_id_reused\"}", LOOPS * ROUNDS);
	process_end(&options, callers);
	access_close(access);
	flow_step("sku A -> available=%d reserved=%d", 1000 - 2 * LOOPS * ROUNDS, 2 * LOOPS * ROUNDS);
	flow_end();
	unlink(keys);
	free(callers);
}
