/* webhooks.c - see webhooks.h. A secret leaves the service in the answer of the call that made it, and nowhere else. */
#include "api/calls/webhooks.h"
#include "api/calls/page.h"
#include "api/request.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/read/cursor.h"
#include "jobs/webhooks/deliver.h"
#include "jobs/webhooks/ping.h"
#include "jobs/webhooks/webhook.h"

#include <openssl/crypto.h>
#include <stdio.h>

enum { TYPES_MAX = 64, ATTEMPTS_WAIT_MS = 1500, ATTEMPTS_LOOK_MS = 200 };

struct webhook_call {
	struct job_call job;
	/* ---- asked */
	const struct webhook_options *options;
	char                          webhook_id[ID_MAX + 1]; /* of a list: the id after which it begins */
	struct webhook                asked;
	char                          secret[SECRET_SIZE]; /* the new one */
	char                         *from;                /* a time; NULL: none */
	bool                          skip;
	char                          by[ID_MAX + 1]; /* the name of the key that asks */
	/* ---- answered */
	struct webhook          webhook;
	struct ping            *ping; /* NULL: the call is none */
	struct webhook_attempts attempts;
};

static void list_empty(struct webhook_call *call)
{
	struct webhook *list = call->job.list;

	for (size_t i = 0; i < call->job.count; i++)
		webhook_fini(&list[i]);
	call->job.count = 0;
}

static void call_fini(void *arg)
{
	struct webhook_call *call = arg;

	ping_leave(call->ping);
	list_empty(call);
	free(call->attempts.list);
	webhook_fini(&call->asked);
	webhook_fini(&call->webhook);
	OPENSSL_cleanse(call->secret, sizeof(call->secret));
	free(call->from);
}

static void *call_new(struct request *r)
{
	struct webhook_call *call = mem_alloc(sizeof(*call));

	call->options = r->all->common->webhooks;
	strcpy(call->webhook_id, r->param[0]);
	return call;
}

static const struct job_noun noun = {call_new, call_fini};

/* ---- answers */

static void types_write(struct json_writer *w, const char *types)
{
	if (!types)
		return;
	json_open_array(w, "types");
	for (size_t len; *types; types += len + (types[len] == ',')) {
		len = strcspn(types, ",");
		json_put_bytes(w, NULL, types, len);
	}
	json_close_array(w);
}

static void failures_write(struct json_writer *w, const struct webhook *h)
{
	if (h->last_status >= 0)
		json_put_int(w, "last_status", h->last_status);
	if (h->last_error)
		json_put_string(w, "last_error", h->last_error);
	json_put_int(w, "failures", h->failures);
	if (h->failures == 0)
		return;
	json_put_string(w, "failed_event", h->failed_event);
	json_put_time(w, "failing_since", h->failing_since);
	if (h->state == WEBHOOK_ACTIVE)
		json_put_time(w, "retry_at", h->retry_at);
}

static void webhook_write(struct json_writer *w, const void *webhook)
{
	const struct webhook *h = webhook;

	json_put_string(w, "webhook_id", h->webhook_id);
	json_put_string(w, "url", h->url);
	types_write(w, h->types);
	json_put_string(w, "from", h->from_oldest ? "oldest" : "now");
	json_put_int(w, "parallel", h->parallel);
	json_put_string(w, "state", h->state == WEBHOOK_ACTIVE ? "active" : "off");
	if (h->state != WEBHOOK_ACTIVE)
		json_put_string(w, "reason", webhook_reason(h->state));
	json_put_time(w, "created_at", h->created_at);
	if (h->rotated_at != TIME_NONE)
		json_put_time(w, "rotated_at", h->rotated_at);
	json_put_int(w, "cursor_age_s", h->age_ms / 1000);
	failures_write(w, h);
}

/* Writes the webhook, with its secret if the call has made one. */
static void one_write(struct json_writer *w, void *arg)
{
	const struct webhook_call *call = arg;

	webhook_write(w, &call->webhook);
	if (*call->secret && call->job.outcome == OUTCOME_OK)
		json_put_string(w, "secret", call->secret);
}

/* ---- one, and the list */

static enum db_result run_find(struct db *db, void *arg)
{
	struct webhook_call *call = arg;

	return webhook_find(db, call->webhook_id, &call->webhook, &call->job.outcome);
}

const struct job_kind get_webhook = {&noun, NULL, run_find, one_write, NULL};

static bool list_begin(void *arg, const char *cursor)
{
	struct webhook_call *call = arg;
	size_t               len = 0;
	bool                 good = !cursor || cursor_read_code(cursor, 'w', 0, call->webhook_id, ID_MAX, &len);

	call->webhook_id[len] = '\0';
	return good;
}

static enum db_result run_list(struct db *db, void *arg)
{
	struct webhook_call *call = arg;

	list_empty(call);
	return webhook_list(db, call->webhook_id, call->job.list, call->job.limit + 1, &call->job.count);
}

static void list_mark(const void *call, const void *webhook, char *cursor)
{
	(void)call;
	cursor_write_code(cursor, 'w', 0, ((const struct webhook *)webhook)->webhook_id);
}

static const struct job_page page = {list_begin, sizeof(struct webhook), webhook_write, list_mark};

const struct job_kind get_webhooks = {&noun, NULL, run_list, NULL, &page};

/* ---- delete */

static enum db_result run_delete(struct db *db, void *arg)
{
	struct webhook_call *call = arg;

	call->job.empty = true;
	return webhook_delete(db, call->webhook_id);
}

const struct job_kind delete_webhook = {&noun, NULL, run_delete, NULL, NULL};

/* ---- make */

static void read_url(struct json_reader *in, struct webhook_call *call)
{
	const char *url = "", *why;
	size_t      len;

	if (!json_string(in, "url", JSON_REQUIRED, &url, &len))
		return;
	if (webhook_url_valid(url, &call->options->sender, &why))
		call->asked.url = mem_copy(url);
	else
		json_refuse(in, "url", why);
}

/* The types as a set, in the order of their numbers. */
static void read_types(struct json_reader *in, struct webhook_call *call)
{
	struct event_filter filter = {0};
	struct text         list = {0};
	const void         *element;
	const char         *word;
	size_t              len, count = json_array(in, "types", 1, TYPES_MAX, &element);
	char                name[32];

	for (size_t i = 0; i < count && !in->failed; i++) {
		element = json_array_id(in, "types", i, element, &word, &len);
		snprintf(name, sizeof(name), "types[%zu]", i);
		if (!in->failed && !event_type_find(word, len))
			json_refuse(in, name, "is no type of event");
		else
			filter.wanted[event_type_find(word, len)] = true;
	}
	for (int t = 1; t < EVENT_TYPES; t++)
		if (filter.wanted[t])
			text_format(&list, "%s%s", list.len ? "," : "", event_trait((enum event_type)t)->word);
	call->asked.types = mem_copy(list.data);
	text_fini(&list);
}

static void read_webhook(struct json_reader *in, void *arg)
{
	static const char *const words[] = {"now", "oldest", NULL};
	struct webhook_call     *call = arg;
	const char              *id = "";
	size_t                   len = 0;
	int64_t                  parallel = 1;
	int                      from = 0;

	json_id(in, "webhook_id", JSON_REQUIRED, &id, &len);
	memcpy(call->asked.webhook_id, id, len);
	read_url(in, call);
	if (json_has(in, "types"))
		read_types(in, call);
	json_word(in, "from", JSON_OPTIONAL, words, &from);
	json_int(in, "parallel", JSON_OPTIONAL, 1, PARALLEL_MAX, &parallel);
	call->asked.from_oldest = from == 1;
	call->asked.parallel = (unsigned)parallel;
	secret_make(call->secret);
}

static enum db_result run_make(struct db *db, void *arg)
{
	struct webhook_call *call = arg;

	call->job.made = "webhooks/";
	strcpy(call->job.made_id, call->asked.webhook_id);
	return webhook_make(db, &call->options->vault, &call->asked, call->secret, &call->webhook, &call->job.outcome);
}

const struct job_kind post_webhook = {&noun, read_webhook, run_make, one_write, NULL};

/* ---- enable, rotate */

static void read_enable(struct json_reader *in, void *arg)
{
	struct webhook_call *call = arg;
	const char          *from = NULL;
	size_t               len;
	int64_t              us;

	json_bool(in, "skip", JSON_OPTIONAL, &call->skip);
	json_string(in, "from", JSON_OPTIONAL, &from, &len);
	if (from && !time_read(from, &us))
		json_refuse(in, "from", "must be a time as RFC 3339 has it, 2026-11-22T08:00:00Z");
	if (from && call->skip)
		json_refuse(in, "skip", "does not go together with from");
	call->from = mem_copy(from);
}

static enum db_result run_enable(struct db *db, void *arg)
{
	struct webhook_call *call = arg;

	return webhook_enable(db, call->webhook_id, call->from, call->skip, &call->webhook, &call->job.outcome);
}

const struct job_kind post_webhook_enable = {&noun, read_enable, run_enable, one_write, NULL};

static void read_rotate(struct json_reader *in, void *arg)
{
	(void)in;
	secret_make(((struct webhook_call *)arg)->secret);
}

static enum db_result run_rotate(struct db *db, void *arg)
{
	struct webhook_call *call = arg;

	return webhook_rotate(db, &call->options->vault, call->webhook_id, call->secret, &call->webhook,
	                      &call->job.outcome);
}

const struct job_kind post_webhook_rotate = {&noun, read_rotate, run_rotate, one_write, NULL};

/* ---- ping, attempts */

static enum onward ping_onward(void *arg, struct op *op)
{
	struct webhook_call *call = arg;
	enum outcome         outcome = call->job.outcome;

	if (outcome == OUTCOME_OK)
		outcome = ping_begin(call->ping, call->options, &call->webhook, call->by, op);
	if (outcome == OUTCOME_OK)
		return JOB_TAKEN; /* the call may have been answered and freed by now */
	call->job.outcome = outcome;
	return JOB_ENDS;
}

static void *ping_new(struct request *r)
{
	struct ping         *ping = ping_take(r->param[0]);
	struct webhook_call *call;

	if (!ping) {
		reply_refused(r, PINGS_FULL, NULL, NULL);
		return NULL;
	}
	call = call_new(r);
	snprintf(call->by, sizeof(call->by), "%s", r->key ? r->key->name : "");
	call->job.onward = ping_onward;
	call->ping = ping;
	return call;
}

static const struct job_noun ping_noun = {ping_new, call_fini};

static void ping_write(struct json_writer *w, void *arg)
{
	ping_json(w, ((struct webhook_call *)arg)->ping);
}

const struct job_kind post_webhook_ping = {&ping_noun, NULL, run_find, ping_write, NULL};

static enum db_result run_attempts(struct db *db, void *arg)
{
	struct webhook_call *call = arg;

	return webhook_attempts(db, call->webhook_id, &call->attempts, &call->job.outcome);
}

static void attempts_put(struct json_writer *w, void *arg)
{
	const struct webhook_attempts *a = &((struct webhook_call *)arg)->attempts;

	json_put_json(w, "items", a->list ? a->list : "[]");
	if (!a->list)
		return;
	json_put_time(w, "at", a->at);
	json_put_string(w, "instance", a->by);
}

/* Looks again until the deliverer has written its attempts: it hears within half a second that they are asked for. */
static enum onward attempts_onward(void *arg, struct op *op)
{
	const struct webhook_call *call = arg;

	if (!call->attempts.old || clock_ms() - op->arrived_ms >= ATTEMPTS_WAIT_MS)
		return JOB_ENDS;
	op->again_ms = clock_ms() + ATTEMPTS_LOOK_MS;
	return JOB_AGAIN;
}

static void *attempts_new(struct request *r)
{
	struct webhook_call *call = call_new(r);

	call->job.onward = attempts_onward;
	return call;
}

static const struct job_noun attempts_noun = {attempts_new, call_fini};

const struct job_kind get_webhook_attempts = {&attempts_noun, NULL, run_attempts, attempts_put, NULL};
