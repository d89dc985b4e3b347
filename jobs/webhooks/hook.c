/* hook.c - see hook.h. Each event has a schedule of its own, so an event that the receiver refuses blocks only the
 * events that wait for it. If attempts fail in a row, whatever their events are, the whole webhook pauses by the same
 * schedule: a receiver that is down does not get a thousand events. */
#include "jobs/webhooks/hook.h"
#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <stdio.h>

/* PROBES: failures in a row after which the whole webhook pauses. */
enum { PROBES = 8, JITTER_PERCENT = 10, RETRY_MIN_MS = 1000 };
#define HOUR_MS      INT64_C(3600000)
#define GIVE_UP_MS   (5 * 24 * HOUR_MS)
#define PAUSE_MAX_MS (27 * HOUR_MS) /* the longest step, and its jitter */

struct hook_event {
	char           id[EVENT_ID_SIZE]; /* empty: its event was read */
	struct failing failing;
	bool           delivered;
};

/* ---- what is known of events */

static void known_add(struct hook *h, const char *id, size_t len, const struct failing *failing, bool delivered)
{
	struct hook_event *k;

	if (len == 0 || len >= EVENT_ID_SIZE)
		return;
	h->known = mem_reach(h->known, h->known_count, &h->known_max, sizeof(*h->known));
	k = &h->known[h->known_count++];
	*k = (struct hook_event){.failing = *failing, .delivered = delivered};
	memcpy(k->id, id, len);
}

/* Reads from the row the schedule of the oldest event that fails, and the events that were delivered ahead of it. */
static void known_read(struct hook *h, const char *ahead, int64_t now_ms)
{
	const struct webhook *row = &h->webhook;
	struct failing        failing = {0}, none = {0};

	if (row->failures > 0)
		failing = (struct failing){(unsigned)row->failures, now_ms - row->failing_ms, now_ms + row->retry_ms};
	if (failing.due_ms > now_ms + PAUSE_MAX_MS)
		failing.due_ms = now_ms + PAUSE_MAX_MS;
	known_add(h, row->failed_event, strlen(row->failed_event), &failing, false);
	known_add(h, row->skip_event, strlen(row->skip_event), &none, true);
	for (size_t len; ahead && *ahead && h->known_count <= HOOK_WINDOW; ahead += len + (ahead[len] == ' ')) {
		len = strcspn(ahead, " ");
		known_add(h, ahead, len, &none, true);
	}
}

/* Moves what is known of an event that was just read into the window. */
static void known_meet(struct hook *h, struct window_event *e)
{
	char id[EVENT_ID_SIZE];

	event_id(id, e->event);
	for (size_t i = 0; i < h->known_count; i++) {
		struct hook_event *k = &h->known[i];

		if (strcmp(k->id, id) != 0)
			continue;
		*k->id = '\0';
		e->failing = k->failing;
		if (k->delivered)
			window_delivered(h->window, e);
		return;
	}
}

/* Frees the events; the feed still has them. So a receiver that is down takes no memory. */
static void events_forget(struct hook *h)
{
	struct hook_event   *behind = h->known;
	size_t               count = h->known_count;
	struct window_event *e = window_after(h->window, NULL);
	char                 id[EVENT_ID_SIZE];

	if (!e)
		return;
	h->known = NULL;
	h->known_count = h->known_max = 0;
	h->oldest_at = e->event->at;
	for (; e; e = window_after(h->window, e)) {
		event_id(id, e->event);
		if (e->state == EVENT_DELIVERED || e->failing.count > 0)
			known_add(h, id, strlen(id), &e->failing, e->state == EVENT_DELIVERED);
	}
	for (size_t i = 0; i < count; i++)
		known_add(h, behind[i].id, strlen(behind[i].id), &behind[i].failing, behind[i].delivered);
	free(behind);
	window_empty(h->window);
	h->unread = true;
}

/* ---- the hook */

struct hook *hook_new(struct webhook *row, const char *ahead, const struct vault *v)
{
	struct hook *h = mem_alloc(sizeof(*h));
	int64_t      now_ms = clock_ms();

	memcpy(h->webhook.webhook_id, row->webhook_id, sizeof(row->webhook_id));
	if (!hook_secrets(h, v, row)) {
		free(h);
		return NULL;
	}
	memcpy(row->secrets, h->webhook.secrets, sizeof(row->secrets));
	h->webhook = *row;
	*row = (struct webhook){0};
	row = &h->webhook;
	if (!event_filter_read(row->types, &h->filter))
		log_event(LOG_WARN, "webhook_types", "webhook=%s types=%s hint=\"unknown to this program\"",
		          row->webhook_id, row->types);
	h->window = window_new(row->parallel > 1 ? HOOK_WINDOW : HOOK_PAGE, row->place);
	known_read(h, ahead, now_ms);
	h->oldest_at = TIME_NONE;
	h->state = WEBHOOK_ACTIVE;
	h->last_status = row->last_status;
	snprintf(h->last_error, sizeof(h->last_error), "%s", row->last_error ? row->last_error : "");
	h->unread = true;
	h->saved_ms = now_ms;
	return h;
}

void hook_free(struct hook *h)
{
	assert(h->flying == 0);
	window_free(h->window);
	attempts_fini(&h->attempts);
	webhook_fini(&h->webhook);
	OPENSSL_cleanse(h->secrets, sizeof(h->secrets));
	free(h->known);
	free(h);
}

bool hook_secrets(struct hook *h, const struct vault *v, struct webhook *row)
{
	char secret[SECRET_SIZE] = "";

	for (int i = 0; i < SECRETS; i++) {
		char *kept = row->secrets[i];

		if (texts_equal(kept, h->webhook.secrets[i]))
			continue;
		*secret = '\0';
		if (kept && !vault_open(v, row->webhook_id, kept, secret)) {
			if (i == 0)
				return false;
			log_event(LOG_WARN, "webhook_sealed",
			          "webhook=%s hint=\"no --webhooks-key opens a secret from before it was rotated\"",
			          row->webhook_id);
		}
		memcpy(h->secrets[i], secret, sizeof(secret));
		row->secrets[i] = h->webhook.secrets[i]; /* for webhook_fini */
		h->webhook.secrets[i] = kept;
	}
	OPENSSL_cleanse(secret, sizeof(secret));
	return true;
}

/* ---- reading */

/* Memory that further events may take. */
static size_t bytes_left(const struct hook *h, size_t bytes)
{
	size_t held = window_bytes(h->window), left = held < HOOK_BYTES ? HOOK_BYTES - held : 0;

	return bytes < left ? bytes : left;
}

unsigned hook_wants(const struct hook *h, size_t bytes, int64_t now_ms)
{
	size_t room = window_room(h->window), wanted = h->receiver.count > 0 ? PROBES : HOOK_PAGE;

	if (!h->unread || h->left || now_ms < h->read_ms || now_ms < h->receiver.due_ms ||
	    window_fresh(h->window) >= 2 * h->webhook.parallel)
		return 0;
	bytes = bytes_left(h, bytes);
	if (bytes < wanted * h->event_bytes)
		wanted = bytes / h->event_bytes + (window_bytes(h->window) == 0);
	return (unsigned)(room < wanted ? room : wanted);
}

void hook_take(struct hook *h, struct feed_page *page, size_t bytes, int64_t now_ms)
{
	size_t               held = window_bytes(h->window), room = window_room(h->window);
	struct window_event *last = NULL, *next;

	for (struct window_event *e = NULL; (e = window_after(h->window, e)) != NULL;)
		last = e;
	h->read_ms = now_ms;
	h->changed |= strcmp(page->cursor, window_end(h->window)) != 0;
	h->unread = page->more;
	h->unread |= !window_add(h->window, page, bytes_left(h, bytes));
	room -= window_room(h->window);
	if (room > 0)
		h->event_bytes = (window_bytes(h->window) - held) / room;
	for (struct window_event *e = window_after(h->window, last); e && h->known_count > 0; e = next) {
		next = window_after(h->window, e);
		known_meet(h, e);
	}
	if (!h->unread)
		h->known_count = 0; /* the rest of the known events are not in the log any more */
	if (!h->unread || window_after(h->window, NULL))
		h->oldest_at = TIME_NONE;
}

bool hook_is_fresh(const struct hook *h)
{
	return strcmp(window_end(h->window), h->webhook.place) == 0;
}

/* ---- attempts */

static void attempt_begin(struct hook *h, struct window_event *e, struct sender *s, struct text *body, int64_t now_ms)
{
	char id[EVENT_ID_SIZE];

	e->owner = h;
	e->begun_ms = now_ms;
	event_id(id, e->event);
	text_reset(body);
	event_json(body, e->event);
	h->flying++;
	sender_post(s, &(struct post){.url = h->webhook.url,
	                              .id = id,
	                              .body = body->data,
	                              .len = body->len,
	                              .secrets = {h->secrets[0], *h->secrets[1] ? h->secrets[1] : NULL,
	                                          *h->secrets[2] ? h->secrets[2] : NULL},
	                              .arg = e});
}

void hook_send(struct hook *h, struct sender *s, struct text *body, int64_t now_ms, int64_t *due_ms)
{
	struct window_event *e;

	if (h->left || h->state != WEBHOOK_ACTIVE || h->flying >= h->webhook.parallel)
		return;
	if (now_ms < h->receiver.due_ms) {
		*due_ms = h->receiver.due_ms < *due_ms ? h->receiver.due_ms : *due_ms;
		return;
	}
	while (h->flying < h->webhook.parallel &&
	       (e = window_next(h->window, h->webhook.parallel == 1, now_ms, due_ms)) != NULL)
		attempt_begin(h, e, s, body, now_ms);
}

/* The pause after this many failures in a row: the schedule of Standard Webhooks 1.0. Its last step is repeated. */
static int64_t pause_of(unsigned failures)
{
	static const int64_t schedule_ms[] = {5000,         300000,       HOUR_MS / 2,  2 * HOUR_MS, 5 * HOUR_MS,
	                                      10 * HOUR_MS, 14 * HOUR_MS, 20 * HOUR_MS, 24 * HOUR_MS};
	int64_t              ms = schedule_ms[failures <= LENGTH(schedule_ms) ? failures - 1 : LENGTH(schedule_ms) - 1];
	unsigned             dice;

	random_bytes(&dice, sizeof(dice));
	return ms + ms * (int64_t)(dice % (2 * JITTER_PERCENT * 10 + 1)) / 1000 - ms * JITTER_PERCENT / 100;
}

/* Counts a failure. asked_s: the pause that the receiver asks for; -1: none. The last try is made when five days are
 * over. */
static void failing_note(struct failing *f, int64_t asked_s, int64_t now_ms)
{
	int64_t pause_ms;

	if (f->count == 0)
		f->since_ms = now_ms;
	f->count += f->count < UINT_MAX;
	pause_ms = asked_s >= 0 ? asked_s * 1000 : pause_of(f->count);
	f->due_ms = now_ms + (pause_ms > RETRY_MIN_MS ? pause_ms : RETRY_MIN_MS);
	if (f->due_ms > f->since_ms + GIVE_UP_MS && f->since_ms + GIVE_UP_MS > now_ms)
		f->due_ms = f->since_ms + GIVE_UP_MS;
}

static void hook_failed(struct hook *h, struct window_event *e, const struct posted *p, int64_t now_ms)
{
	unsigned probes = h->webhook.parallel < PROBES ? h->webhook.parallel : PROBES;

	if (e->failing.count == 0)
		log_event(LOG_WARN, "webhook_failing", "webhook=%s status=%d why=%s", h->webhook.webhook_id, p->status,
		          p->why);
	e->state = EVENT_WAITS;
	failing_note(&e->failing, p->retry_after_s, now_ms);
	if (e->begun_ms >= h->paused_ms)
		h->in_a_row++;
	if (h->in_a_row >= probes || p->retry_after_s >= 0) {
		failing_note(&h->receiver, p->retry_after_s, now_ms);
		h->paused_ms = now_ms;
		h->in_a_row = 0;
	}
	if (p->gone)
		h->state = WEBHOOK_GONE;
	else if (now_ms - e->failing.since_ms >= GIVE_UP_MS)
		h->state = WEBHOOK_FAILED;
}

void hook_sent(const struct posted *p, size_t attempts_bytes, int64_t now_ms)
{
	struct window_event *e = p->arg;
	struct hook         *h = e->owner;
	char                 id[EVENT_ID_SIZE];

	h->flying--;
	event_id(id, e->event);
	attempts_add(&h->attempts, id, event_trait(e->event->type)->word, p, attempts_bytes);
	counter_add(p->delivered ? COUNT_DELIVERED : COUNT_UNDELIVERED, 1);
	if (p->delivered) {
		window_delivered(h->window, e);
		h->receiver = (struct failing){0};
		h->in_a_row = 0;
	} else {
		hook_failed(h, e, p, now_ms);
	}
	h->last_status = p->status;
	snprintf(h->last_error, sizeof(h->last_error), "%s", p->why);
	h->changed = true;
	if (h->flying == 0 && now_ms < h->receiver.due_ms)
		events_forget(h);
}

/* ---- the state of the hook */

const struct failing *hook_failing(const struct hook *h, char id[EVENT_ID_SIZE], int64_t *due_ms)
{
	const struct failing *f = NULL;

	for (struct window_event *e = NULL; !f && (e = window_after(h->window, e)) != NULL;)
		if (e->state != EVENT_DELIVERED && e->failing.count > 0) {
			event_id(id, e->event);
			f = &e->failing;
		}
	for (size_t i = 0; !f && i < h->known_count; i++)
		if (*h->known[i].id && h->known[i].failing.count > 0) {
			memcpy(id, h->known[i].id, EVENT_ID_SIZE);
			f = &h->known[i].failing;
		}
	if (f)
		*due_ms = f->due_ms > h->receiver.due_ms ? f->due_ms : h->receiver.due_ms;
	return f;
}

int64_t hook_oldest(const struct hook *h)
{
	const struct window_event *e = window_after(h->window, NULL);

	return e ? e->event->at : h->oldest_at;
}

static void id_add(struct text *ids, const char *id)
{
	text_format(ids, "%s%s", ids->len ? " " : "", id);
}

void hook_ahead(const struct hook *h, struct text *ids)
{
	char id[EVENT_ID_SIZE];

	for (struct window_event *e = NULL; (e = window_after(h->window, e)) != NULL;)
		if (e->state == EVENT_DELIVERED) {
			event_id(id, e->event);
			id_add(ids, id);
		}
	for (size_t i = 0; i < h->known_count; i++)
		if (*h->known[i].id && h->known[i].delivered)
			id_add(ids, h->known[i].id);
}

bool hook_rests(const struct hook *h, int64_t now_ms)
{
	struct window_event *e = NULL;

	if (h->flying > 0 || hook_wants(h, HOOK_BYTES, now_ms) > 0)
		return false;
	while (now_ms >= h->receiver.due_ms && (e = window_after(h->window, e)) != NULL)
		if (e->state == EVENT_WAITS && e->blockers == 0 && e->failing.due_ms <= now_ms)
			return false;
	return true;
}
