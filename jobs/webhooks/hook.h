/* hook.h - one webhook while a deliverer serves it: which event goes next, the result of each attempt, and when the
 * next attempt may begin. Uses no database. One thread. */
#ifndef HOOK_H
#define HOOK_H

#include "jobs/webhooks/attempts.h"
#include "jobs/webhooks/sender.h"
#include "jobs/webhooks/webhook.h"
#include "jobs/webhooks/window.h"

/* HOOK_WINDOW: events in memory with `parallel`; HOOK_PAGE: without it, and in one read. HOOK_BYTES: memory for the
 * events of one webhook. HOOKS_BYTES: for all webhooks of a deliverer; beyond it each holds one event. ATTEMPTS_BYTES:
 * for the attempts of all webhooks of a deliverer. */
enum { HOOK_WINDOW = 1000, HOOK_PAGE = 200, HOOK_BYTES = 4 << 20, HOOKS_BYTES = 64 << 20, ATTEMPTS_BYTES = 16 << 20 };

struct hook {
	struct webhook      webhook; /* the row as it was claimed, with the current secrets */
	struct event_filter filter;
	struct window      *window;
	char                secrets[SECRETS][SECRET_SIZE]; /* [0] signs; so does each other that is not empty */
	struct failing      receiver;                      /* pauses of the whole webhook in a row */
	struct hook_event  *known; /* facts about events that are still to be read, in their order */
	size_t              known_count, known_max;
	int64_t             oldest_at;   /* time of the oldest, undelivered one; TIME_NONE: see the window */
	size_t              event_bytes; /* memory per event in the last page; 0: no page was read */
	unsigned            in_a_row;    /* attempts that failed since a delivery or a pause */
	int64_t             paused_ms;   /* when the last pause began: attempts begun earlier do not count */
	size_t              flying;      /* running attempts */
	enum webhook_state  state;       /* not WEBHOOK_ACTIVE: it must be switched off */
	bool                left;        /* the row is lost or gone: free the hook when no attempt runs */
	bool                unread;      /* there may be more to read .. */
	int64_t             read_ms;     /* .. from this time on */
	int                 last_status;
	char                last_error[200]; /* empty: the last attempt was good */
	struct attempts     attempts;
	int64_t             listed_ms; /* when they were last written to the row; 0: never */
	bool                changed;   /* the row must be written .. */
	int64_t             saved_ms;  /* .. and was last written then */
};

/* Takes over the row. `ahead`: ids of events that were delivered ahead, NULL: none. Returns NULL if the secret in use
 * does not open here; then it has taken nothing. */
struct hook *hook_new(struct webhook *row, const char *ahead, const struct vault *v);
void         hook_free(struct hook *h); /* when no attempt runs */
/* Takes over the secrets of the row as it is now. false: the one in use does not open here. */
bool hook_secrets(struct hook *h, const struct vault *v, struct webhook *row) MUST_CHECK;
/* The number of events to read now, behind window_end; 0: none. bytes: memory that is left for them. */
unsigned hook_wants(const struct hook *h, size_t bytes, int64_t now_ms);
void     hook_take(struct hook *h, struct feed_page *page, size_t bytes, int64_t now_ms);
/* True: nothing was read since the row was read. */
bool hook_is_fresh(const struct hook *h);

/* Begins the attempts that are due. *due_ms is lowered to the time of the next one. */
void hook_send(struct hook *h, struct sender *s, struct text *body, int64_t now_ms, int64_t *due_ms);
/* Takes the result of an attempt, for the hook that posted it. attempts_bytes: memory that its attempts may take. */
void hook_sent(const struct posted *p, size_t attempts_bytes, int64_t now_ms);
/* The oldest event that fails, with its id; NULL: none fails. *due_ms: the time of its next try. */
const struct failing *hook_failing(const struct hook *h, char id[EVENT_ID_SIZE], int64_t *due_ms);
/* The time of the oldest event that is not delivered; TIME_NONE: there is none. */
int64_t hook_oldest(const struct hook *h);
void    hook_ahead(const struct hook *h, struct text *ids); /* ids of events delivered ahead of window_place */
/* True: there is nothing to do before a later time, or before there is news. */
bool hook_rests(const struct hook *h, int64_t now_ms);

#endif
