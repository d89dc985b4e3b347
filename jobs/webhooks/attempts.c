/* attempts.c - see attempts.h. An attempt becomes JSON once, when it ends. */
#include "jobs/webhooks/attempts.h"
#include "engine/base/memory.h"

static char **item(struct attempts *a, size_t i)
{
	return &a->items[(a->oldest + i) % ATTEMPTS];
}

static void oldest_free(struct attempts *a)
{
	assert(a->count > 0 && a->bytes > strlen(*item(a, 0)));
	a->bytes -= strlen(*item(a, 0)) + 1;
	free(*item(a, 0));
	a->oldest = (a->oldest + 1) % ATTEMPTS;
	a->count--;
}

void attempts_add(struct attempts *a, const char *event_id, const char *type, const struct posted *p, size_t bytes_max)
{
	struct text        text = {0};
	struct json_writer w = {&text, false};

	json_open_object(&w, NULL);
	json_put_string(&w, "event_id", event_id);
	json_put_string(&w, "type", type);
	json_put_time(&w, "at", p->at);
	posted_json(&w, p);
	json_close_object(&w);
	while (a->count == ATTEMPTS || (a->count > 0 && a->bytes + text.len + 1 > bytes_max))
		oldest_free(a);
	*item(a, a->count++) = mem_copy(text.data);
	a->bytes += text.len + 1;
	text_fini(&text);
}

void attempts_write(const struct attempts *a, struct text *to)
{
	text_char(to, '[');
	for (size_t i = a->count; i-- > 0;) {
		text_add(to, a->items[(a->oldest + i) % ATTEMPTS]);
		text_add(to, i > 0 ? "," : "");
	}
	text_char(to, ']');
}

void attempts_fini(struct attempts *a)
{
	while (a->count > 0)
		oldest_free(a);
}
