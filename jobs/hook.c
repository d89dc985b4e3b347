/* hook.c - see hook.h. Each event has a schedule of its own, so that one that the receiver does not take holds up only
 * those that wait for it. Where attempts fail one after the other, whatever their events are, the whole webhook
 * pauses by the same schedule: a receiver that is down is not tried with a thousand events. */
#include "jobs/hook.h"
#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* PROBES: failures in a row after which the whole webhook pauses. */
enum { PROBES = 8, JITTER_PERCENT = 10, RETRY_MIN_MS = 1000 };
#define HOUR_MS    INT64_C(3600000)
#define GIVE_UP_MS (5 * 24 * HOUR_MS)

struct hook *hook_new(struct webhook *row, const struct vault *v, struct catalogue *c)
{
	struct hook *h = mem_alloc(sizeof(*h));
	int64_t      now_ms = clock_ms();

	if (!vault_open(v, row->webhook_id, row->secret, h->secrets[0])) {
		free(h);
		return NULL;
	}
	h->webhook = *row;
	*row = (struct webhook){0};
	row = &h->webhook;
	hook_secrets(h, v, row);
	if (!event_filter_read(row->types, &h->filter))
		log_event(LOG_WARN, "webhook_types", "webhook=%s types=%s hint=\"unknown to this program\"",
		          row->webhook_id, row->types);
	h->window = window_new(row->parallel > 1 ? HOOK_WINDOW : HOOK_PAGE, row->place);
	h->feed = feed_new(c);
	h->kept = (struct failing){(unsigned)row->failures, now_ms - row->failing_ms, now_ms + row->retry_ms};
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
	feed_free(h->feed);
	webhook_fini(&h->webhook);
	free(h);
}

void hook_secrets(struct hook *h, const struct vault *v, const struct webhook *row)
{
	char secret[SECRET_SIZE];

	if (vault_open(v, row->webhook_id, row->secret, secret))
		memcpy(h->secrets[0], secret, sizeof(secret));
	if (!row->secret_before || !vault_open(v, row->webhook_id, row->secret_before, h->secrets[1]))
		h->secrets[1][0] = '\0';
}

/* ---- reading */

unsigned hook_wants(const struct hook *h, int64_t now_ms)
{
	size_t room = window_room(h->window);

	if (!h->unread || h->left || now_ms < h->read_ms || window_fresh(h->window) >= 2 * h->webhook.parallel)
		return 0;
	return room < HOOK_PAGE ? (unsigned)room : HOOK_PAGE;
}

void hook_take(struct hook *h, struct feed_page *page, int64_t now_ms)
{
	size_t               first = (h->webhook.parallel > 1 ? HOOK_WINDOW : HOOK_PAGE) - window_room(h->window);
	struct window_event *e;
	char                 id[EVENT_ID_SIZE];

	h->unread = page->more;
	h->read_ms = now_ms;
	h->changed |= strcmp(page->cursor, window_end(h->window)) != 0;
	window_add(h->window, page);
	if (!*h->webhook.failed_event && !*h->webhook.skip_event)
		return;
	for (size_t i = first; (e = window_at(h->window, i)) != NULL; i++) {
		event_id(id, e->event);
		if (strcmp(id, h->webhook.failed_event) == 0 && h->kept.count > 0)
			e->failing = h->kept;
		if (strcmp(id, h->webhook.skip_event) != 0)
			continue;
		window_delivered(h->window, e);
		return;
	}
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
	                              .secrets = {h->secrets[0], *h->secrets[1] ? h->secrets[1] : NULL},
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

/* The pause behind so many failures in a row: the schedule of Standard Webhooks 1.0, whose last step goes on. */
static int64_t pause_of(unsigned failures)
{
	static const int64_t schedule_ms[] = {5000,         300000,       HOUR_MS / 2,  2 * HOUR_MS, 5 * HOUR_MS,
	                                      10 * HOUR_MS, 14 * HOUR_MS, 20 * HOUR_MS, 24 * HOUR_MS};
	int64_t              ms = schedule_ms[failures <= LENGTH(schedule_ms) ? failures - 1 : LENGTH(schedule_ms) - 1];
	unsigned             dice;

	random_bytes(&dice, sizeof(dice));
	return ms + ms * (int64_t)(dice % (2 * JITTER_PERCENT * 10 + 1)) / 1000 - ms * JITTER_PERCENT / 100;
}

/* One failure more. asked_s: what the receiver asks for; -1: nothing. The last try comes when five days are over. */
static void failing_note(struct failing *f, int64_t asked_s, int64_t now_ms)
{
	int64_t pause_ms;

	if (f->count++ == 0)
		f->since_ms = now_ms;
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

void hook_sent(const struct posted *p, int64_t now_ms)
{
	struct window_event *e = p->arg;
	struct hook         *h = e->owner;

	h->flying--;
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
}

/* ---- what there is */

const struct window_event *hook_failing(struct hook *h, int64_t *due_ms)
{
	struct window_event *e;

	for (size_t i = 0; (e = window_at(h->window, i)) != NULL; i++)
		if (e->state != EVENT_DELIVERED && e->failing.count > 0) {
			*due_ms = e->failing.due_ms > h->receiver.due_ms ? e->failing.due_ms : h->receiver.due_ms;
			return e;
		}
	return NULL;
}

bool hook_rests(struct hook *h, int64_t now_ms)
{
	struct window_event *e;

	if (h->flying > 0 || hook_wants(h, now_ms) > 0)
		return false;
	for (size_t i = 0; now_ms >= h->receiver.due_ms && (e = window_at(h->window, i)) != NULL; i++)
		if (e->state == EVENT_WAITS && e->blockers == 0 && e->failing.due_ms <= now_ms)
			return false;
	return true;
}
