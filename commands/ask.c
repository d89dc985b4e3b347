/* ask.c - see ask.h. The engine has no lane: a call that writes orders or stock cannot be made. */
#include "commands/ask.h"
#include "api/request.h"
#include "api/route.h"
#include "commands/database.h"
#include "commands/options.h"
#include "engine/base/log.h"
#include "engine/loop.h"

#include <poll.h>
#include <string.h>

enum { HEAD_MAX = 1 << 20, POLL_MS = 100 };

struct asker {
	struct requests all;
	int             status; /* of the answer; 0: no answer yet */
	struct text    *body;
};

static void answer_take(void *arg, int status, const void *body, size_t len)
{
	struct asker *a = arg;

	a->status = status;
	text_reset(a->body);
	text_bytes(a->body, body, len);
}

int ask_get(struct asker *a, const char *target, struct text *body)
{
	static const struct http1_limits limits = {.head_max = HEAD_MAX, .body_max = HEAD_MAX};
	struct http1                     http1 = {.limits = &limits};
	struct asked                     asked = {.http1 = &http1, .whole = true};
	struct text                      bytes = {0};
	struct pollfd                    ready = {loop_fd(a->all.loop), POLLIN, 0};

	text_format(&bytes, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", target);
	(void)http1_read(&http1, bytes.data, bytes.len);
	assert(http1.state == HTTP1_DONE);
	asked.bytes = bytes.data;
	asked.method = bytes.data + http1.method.at;
	asked.target = bytes.data + http1.target.at;
	bytes.data[http1.method.end] = bytes.data[http1.target.end] = '\0';
	a->status = 0;
	a->body = body;
	route_dispatch(request_new(&a->all, &asked));
	while (a->status == 0) {
		engine_wake(a->all.engine);
		poll(&ready, 1, POLL_MS);
		loop_run(a->all.loop);
		requests_tick(&a->all); /* a call that takes too long is given up */
	}
	text_fini(&bytes);
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
	a.all = (struct requests){.engine = engine_open(&(struct engine_options){.source = database.source}),
	                          .loop = loop_new(),
	                          .ops_bytes_max = SIZE_MAX,
	                          .taken = answer_take,
	                          .taken_arg = &a};
	status = act(&a, arg);
	engine_close(a.all.engine);
	loop_run(a.all.loop);
	loop_free(a.all.loop);
	requests_fini(&a.all);
	return database_close(&database, status);
}
