/* ask.c - see ask.h. The engine has no lane: a call that writes orders or stock cannot be made. */
#include "commands/ask.h"
#include "api/health.h"
#include "api/request.h"
#include "api/route.h"
#include "commands/database.h"
#include "commands/options.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/loop.h"

#include <poll.h>

enum { POLL_MS = 100 };

struct asker {
	struct common   common;
	struct requests all;
	int             status; /* of the answer; 0: no answer yet */
	struct text    *body;
};

static void answer_take(const struct handle *to, const struct reply *answer)
{
	struct asker *a = to->place;

	assert(a->status == 0);
	a->status = answer->status;
	text_reset(a->body);
	text_bytes(a->body, answer->body, answer->len);
}

int ask_get(struct asker *a, const char *target, struct text *body)
{
	static const struct handle_calls calls = {.answer = answer_take};
	struct asked  asked = {.from = {&calls, a, 0}, .method = "GET", .target = mem_copy(target), .whole = true};
	struct pollfd ready = {loop_fd(a->all.loop), POLLIN, 0};

	a->status = 0;
	a->body = body;
	route_dispatch(request_new(&a->all, &asked));
	while (a->status == 0) {
		engine_wake(a->common.engine);
		poll(&ready, 1, POLL_MS);
		loop_run(a->all.loop);
		requests_tick(&a->all); /* a call that takes too long is given up */
	}
	free(asked.target);
	return a->status;
}

int ask_refused(int status, const struct text *body)
{
	struct json_fault  fault = {0};
	struct json_doc   *doc = json_parse(body->data, body->len, &fault);
	struct json_reader in;
	const char        *detail = "the call was refused";
	size_t             len;

	if (doc) {
		json_begin(&in, doc, &fault);
		json_string(&in, "detail", JSON_OPTIONAL, &detail, &len);
	}
	say("%s", detail);
	json_free(doc);
	return status == 404 ? EXIT_TROUBLE : status == 503 ? EXIT_UNAVAILABLE : EXIT_USAGE;
}

int ask_run(int (*act)(struct asker *a, void *arg), void *arg)
{
	struct database database;
	struct asker    a = {0};
	int             status = database_open(&database, EMBEDDED_FIND, false);

	if (status != EXIT_DONE)
		return status;
	a.common = (struct common){.engine = engine_open(&(struct engine_options){.source = database.source}),
	                           .loops = &a.all,
	                           .counts = counts_new()};
	a.all = (struct requests){.common = &a.common, .loop = loop_new(), .ops_bytes_max = SIZE_MAX};
	status = act(&a, arg);
	engine_close(a.common.engine);
	loop_run(a.all.loop);
	loop_free(a.all.loop);
	requests_fini(&a.all);
	counts_free(a.common.counts);
	return database_close(&database, status);
}
