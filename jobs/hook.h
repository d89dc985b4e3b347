/* hook.h - one webhook while a deliverer serves it: which event goes next, what an attempt has come to, when the next
 * one may be. Knows no database. One thread. */
#ifndef HOOK_H
#define HOOK_H

#include "jobs/sender.h"
#include "jobs/webhook.h"
#include "jobs/window.h"

enum { HOOK_WINDOW = 1000, HOOK_PAGE = 200 };

struct hook {
	struct webhook      webhook; /* the row, as it was read last; `place` and what follows is of the claim */
	struct event_filter filter;
	struct window      *window;
	struct feed        *feed;
	char                secrets[2][SECRET_SIZE]; /* the second one empty: only one signs */
	struct failing      receiver;                /* pauses of the whole webhook in a row */
	struct failing      kept;                    /* what the row says of webhook.failed_event, until that is met */
	unsigned            in_a_row;                /* attempts that failed since a delivery or a pause */
	int64_t             paused_ms;               /* when the last pause began: attempts of before do not count */
	size_t              flying;                  /* attempts under way */
	enum webhook_state  state;                   /* no more WEBHOOK_ACTIVE: it is to be switched off */
	bool                left;                    /* it is another's, or gone: freed when nothing is under way */
	bool                unread;                  /* there may be more to read .. */
	int64_t             read_ms;                 /* .. from this time on */
	int                 last_status;
	char                last_error[200]; /* empty: the last attempt was good */
	bool                changed;         /* the row is to be written .. */
	int64_t             saved_ms;        /* .. and was at this time */
};

/* Takes the row over. false: its secret does not open here; nothing was taken. */
struct hook *hook_new(struct webhook *row, const struct vault *v, struct catalogue *c);
void         hook_free(struct hook *h); /* nothing is under way */
/* The secrets of the row as it is now; one that does not open changes nothing. */
void hook_secrets(struct hook *h, const struct vault *v, const struct webhook *row);
/* How many events are to be read now, behind window_end; 0: none. */
unsigned hook_wants(const struct hook *h, int64_t now_ms);
void     hook_take(struct hook *h, struct feed_page *page, int64_t now_ms);

/* Begins the attempts that may be now. *due_ms falls to the time of the next one. */
void hook_send(struct hook *h, struct sender *s, struct text *body, int64_t now_ms, int64_t *due_ms);
/* The end of an attempt, of the hook that posted it. */
void hook_sent(const struct posted *p, int64_t now_ms);
/* The oldest event that fails; NULL: none does. *due_ms: when it is tried again. */
const struct window_event *hook_failing(struct hook *h, int64_t *due_ms);
/* True: nothing can be done before some time to come, or something new. */
bool hook_rests(struct hook *h, int64_t now_ms);

#endif
