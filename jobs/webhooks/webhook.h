/* webhook.h - webhooks as rows of the database: made, read, listed, deleted, enabled, given a new secret.
 *
 *             410, 5 days of failures, cursor expired
 *   active ───────────────────────────────────────────▶ off, with its reason
 *      ◀──────────────────── enable ─────────────────────┘
 *
 * Functions run on the caller's connection and thread. A call that returned another db_result than DB_OK may be
 * repeated with the same new secret: what was done before is found done. */
#ifndef WEBHOOK_H
#define WEBHOOK_H

#include "engine/catalogue.h"
#include "engine/db/db.h"
#include "engine/log/event_json.h"
#include "engine/outcome.h"
#include "jobs/webhooks/vault.h"

enum webhook_state {
#define X(name, number, word) name = number,
#include "jobs/webhooks/webhook_states.def"
#undef X
	WEBHOOK_STATES
};
const char *webhook_reason(enum webhook_state s); /* why it is off; NULL: it is active */

enum { PARALLEL_MAX = 64 };

/* A row of table webhook; one owner. */
struct webhook {
	char               webhook_id[ID_MAX + 1];
	char              *url, *types; /* types NULL: all */
	bool               from_oldest;
	unsigned           parallel; /* deliveries at once, 1 to PARALLEL_MAX */
	int64_t            created_at;
	char              *secrets[SECRETS]; /* as they are kept: the one in use, those before; NULL: does not sign */
	int64_t            rotated_at;       /* TIME_NONE: never */
	enum webhook_state state;
	int64_t            mark, version;             /* the row's own; of its claims */
	char              *place;                     /* the cursor behind all that was delivered .. */
	bool               has_ahead;                 /* .. but for some events behind it */
	int64_t            age_ms;                    /* of the oldest event that is not delivered; 0: there is none */
	char               skip_event[EVENT_ID_SIZE]; /* is passed over; empty: none */
	int                last_status;               /* of the last attempt; 0: no answer; -1: there was no attempt */
	char              *last_error;                /* NULL: the last attempt was good */
	int64_t            failures;                  /* failed attempts in a row .. */
	char               failed_event[EVENT_ID_SIZE]; /* .. of this event */
	int64_t            failing_since, retry_at;     /* TIME_NONE: it does not fail */
	bool               asked;                       /* somebody asks for its attempts */
	int64_t            failing_ms, retry_ms; /* how long it was tried, and how long from now to the next try */
};
void webhook_fini(struct webhook *w);
struct webhooks {
	struct webhook *list;
	size_t          count, max;
	size_t          most; /* that were asked for; 0: all */
};
/* For db_ask of a statement that selects {webhook_columns}: adds a row to the struct webhooks, whose list is the
 * caller's, and grows where it is full. */
void webhook_read(void *webhooks, const struct db_row *row);

/* asked: id, url, types, from_oldest, parallel. *outcome: OUTCOME_OK (made with `secret`), OUTCOME_REPLAYED,
 * WEBHOOK_ID_REUSED or EVENTS_OFF. `out` has the row after the first two. */
enum db_result webhook_make(struct db *db, struct catalogue *c, const struct vault *v, const struct webhook *asked,
                            const char *secret, struct webhook *out, enum outcome *outcome) MUST_CHECK;
/* *outcome: OUTCOME_OK or NO_WEBHOOK. */
enum db_result webhook_find(struct db *db, const char *webhook_id, struct webhook *out,
                            enum outcome *outcome) MUST_CHECK;
/* Up to `max` webhooks whose ids stand behind `after`, by id. */
enum db_result webhook_list(struct db *db, const char *after, struct webhook *list, size_t max,
                            size_t *count) MUST_CHECK;
/* What a deliverer told of its attempts lately; notes that somebody asks. */
struct webhook_attempts {
	char   *list;   /* an array of JSON; NULL: nothing was told, or it is damaged; owned */
	int64_t at;     /* when */
	char    by[65]; /* the mark of its process */
	bool    found;
	bool    old; /* somebody delivers, and tells a newer list soon */
};
/* *outcome: OUTCOME_OK or NO_WEBHOOK. */
enum db_result webhook_attempts(struct db *db, const char *webhook_id, struct webhook_attempts *out,
                                enum outcome *outcome) MUST_CHECK;
enum db_result webhook_delete(struct db *db, const char *webhook_id) MUST_CHECK;
/* Active from now on: where it stood, or with the oldest event that is kept. from: a time (time_read), from which on it
 * goes on; NULL: none. skip: the event that failed is passed over. *outcome: OUTCOME_OK, NO_WEBHOOK or EVENTS_OFF. */
enum db_result webhook_enable(struct db *db, struct catalogue *c, const char *webhook_id, const char *from, bool skip,
                              struct webhook *out, enum outcome *outcome) MUST_CHECK;
/* `secret` signs from now on, and those before sign beside it, each for a day. *outcome: OUTCOME_OK or NO_WEBHOOK. */
enum db_result webhook_rotate(struct db *db, const struct vault *v, const char *webhook_id, const char *secret,
                              struct webhook *out, enum outcome *outcome) MUST_CHECK;

#endif
