/* hook.h - one webhook while a deliverer serves it: which event goes next, what an attempt has come to, when the next
 * one may be. Knows no database. One thread. */
#ifndef HOOK_H
#define HOOK_H

#include "jobs/webhooks/attempts.h"
#include "jobs/webhooks/sender.h"
#include "jobs/webhooks/webhook.h"
#include "jobs/webhooks/window.h"

/* HOOK_WINDOW: events that are held, with `parallel`; HOOK_PAGE: without it, and in one read. HOOK_BYTES: memory of the
 * events of one webhook. HOOKS_BYTES: of all webhooks of a deliverer; beyond it each holds one event. ATTEMPTS_BYTES:
 * of the attempts of all webhooks of a deliverer. */
enum { HOOK_WINDOW = 1000, HOOK_PAGE = 200, HOOK_BYTES = 4 << 20, HOOKS_BYTES = 64 << 20, ATTEMPTS_BYTES = 16 << 20 };

struct hook {
	struct webhook      webhook; /* the row, as it was when it was claimed, with the secrets of now */
	struct event_filter filter;
	struct window      *window;
	char                secrets[SECRETS][SECRET_SIZE]; /* [0] signs, and each other one that is not empty */
	struct failing      receiver;                      /* pauses of the whole webhook in a row */
	struct hook_event  *known; /* what is known of events that are to be read, in their order */
	size_t              known_count, known_max;
	int64_t             oldest_at;   /* of the oldest of them, which waits; TIME_NONE: the window tells */
	size_t              event_bytes; /* memory of an event, as the last page had it; 0: no page came */
	unsigned            in_a_row;    /* attempts that failed since a delivery or a pause */
	int64_t             paused_ms;   /* when the last pause began: attempts of before do not count */
	size_t              flying;      /* attempts under way */
	enum webhook_state  state;       /* no more WEBHOOK_ACTIVE: it is to be switched off */
	bool                left;        /* it is another's, or gone: freed when nothing is under way */
	bool                unread;      /* there may be more to read .. */
	int64_t             read_ms;     /* .. from this time on */
	int                 last_status;
	char                last_error[200]; /* empty: the last attempt was good */
	struct attempts     attempts;
	int64_t             listed_ms; /* when they were written down; 0: never */
	bool                changed;   /* the row is to be written .. */
	int64_t             saved_ms;  /* .. and was at this time */
};

/* Takes the row over; `ahead`: its events that were delivered ahead, NULL: none. NULL: the secret in use does not open
 * here; nothing was taken. */
struct hook *hook_new(struct webhook *row, const char *ahead, const struct vault *v);
void         hook_free(struct hook *h); /* nothing is under way */
/* Takes over the secrets of the row as it is now. false: the one in use does not open here. */
bool hook_secrets(struct hook *h, const struct vault *v, struct webhook *row) MUST_CHECK;
/* How many events are to be read now, behind window_end; 0: none. bytes: memory that is left for them. */
unsigned hook_wants(const struct hook *h, size_t bytes, int64_t now_ms);
void     hook_take(struct hook *h, struct feed_page *page, size_t bytes, int64_t now_ms);
/* True: nothing was read since the row was. */
bool hook_is_fresh(const struct hook *h);

/* Begins the attempts that may be now. *due_ms falls to the time of the next one. */
void hook_send(struct hook *h, struct sender *s, struct text *body, int64_t now_ms, int64_t *due_ms);
/* The end of an attempt, of the hook that posted it. attempts_bytes: memory that its attempts may take. */
void hook_sent(const struct posted *p, size_t attempts_bytes, int64_t now_ms);
/* The oldest event that fails, with its id; NULL: none does. *due_ms: when it is tried again. */
const struct failing *hook_failing(const struct hook *h, char id[EVENT_ID_SIZE], int64_t *due_ms);
/* The time of the oldest event that is not delivered; TIME_NONE: there is none. */
int64_t hook_oldest(const struct hook *h);
void    hook_ahead(const struct hook *h, struct text *ids); /* of events that were delivered ahead of window_place */
/* True: nothing can be done before some time to come, or something new. */
bool hook_rests(const struct hook *h, int64_t now_ms);

#endif
