/* webhook.h - webhooks as rows of the database: made, read, listed, deleted, enabled, given a new secret.
 *
 *             410, 5 days of failures, cursor expired
 *   active ───────────────────────────────────────────▶ off, with its reason
 *      ◀──────────────────── enable ─────────────────────┘
 *
 * Functions run on the caller's connection and thread. A call that returned another db_result than DB_OK may be
 * repeated with the same new secret: it has one effect. */
#ifndef WEBHOOK_H
#define WEBHOOK_H

#include "engine/catalogue/catalogue.h"
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
	unsigned           parallel; /* deliveries at a time, 1 to PARALLEL_MAX */
	int64_t            created_at;
	char              *secrets[SECRETS]; /* as in the table: the one in use, then older ones; NULL: none */
	int64_t            rotated_at;       /* TIME_NONE: never */
	enum webhook_state state;
	int64_t            mark, version;             /* the mark of the row; the number of its claims */
	char              *place;                     /* the cursor behind all that was delivered .. */
	bool               has_ahead;                 /* .. but for some events behind it */
	int64_t            age_ms;                    /* of the oldest event that is not delivered; 0: there is none */
	char               skip_event[EVENT_ID_SIZE]; /* an event to skip; empty: none */
	int                last_status;               /* of the last attempt; 0: no answer; -1: there was no attempt */
	char              *last_error;                /* NULL: the last attempt was good */
	int64_t            failures;                  /* failed attempts in a row .. */
	char               failed_event[EVENT_ID_SIZE]; /* .. of this event */
	int64_t            failing_since, retry_at;     /* TIME_NONE: it does not fail */
	bool               asked;                       /* a client asks for its attempts */
	int64_t            failing_ms, retry_ms; /* for how long it has been tried, and the time until the next try */
};
void webhook_fini(struct webhook *w);
struct webhooks {
	struct webhook *list;
	size_t          count, max;
	size_t          most; /* the most rows to read; 0: all */
};
/* Row callback for a statement that selects {webhook_columns}: adds a row to a struct webhooks. The caller owns its
 * list, which grows. */
void webhook_read(void *webhooks, const struct db_row *row);

/* Uses id, url, types, from_oldest and parallel of `asked`. *outcome: OUTCOME_OK (made with `secret`),
 * OUTCOME_REPLAYED, WEBHOOK_ID_REUSED or EVENTS_OFF. `out` has the row after the first two. */
enum db_result webhook_make(struct db *db, const struct vault *v, const struct webhook *asked, const char *secret,
                            struct webhook *out, enum outcome *outcome) MUST_CHECK;
/* *outcome: OUTCOME_OK or NO_WEBHOOK. */
enum db_result webhook_find(struct db *db, const char *webhook_id, struct webhook *out,
                            enum outcome *outcome) MUST_CHECK;
/* Up to `max` webhooks with ids behind `after`, by id. */
enum db_result webhook_list(struct db *db, const char *after, struct webhook *list, size_t max,
                            size_t *count) MUST_CHECK;
/* The attempts that a deliverer has written lately. The call also notes that a client asks for them. */
struct webhook_attempts {
	char   *list;   /* an array of JSON; NULL: there is none, or it is damaged; owned */
	int64_t at;     /* when it was written */
	char    by[65]; /* the mark of the process that wrote it */
	bool    found;
	bool    old; /* there is a deliverer, which will soon write a newer list */
};
/* *outcome: OUTCOME_OK or NO_WEBHOOK. */
enum db_result webhook_attempts(struct db *db, const char *webhook_id, struct webhook_attempts *out,
                                enum outcome *outcome) MUST_CHECK;
enum db_result webhook_delete(struct db *db, const char *webhook_id) MUST_CHECK;
/* Makes the webhook active. It goes on from its old place, or from the oldest event that is kept. from: a time
 * (time_read) from which it goes on; NULL: none. skip: the event that failed is skipped. *outcome: OUTCOME_OK,
 * NO_WEBHOOK or EVENTS_OFF. */
enum db_result webhook_enable(struct db *db, const char *webhook_id, const char *from, bool skip, struct webhook *out,
                              enum outcome *outcome) MUST_CHECK;
/* From now on `secret` signs; the earlier ones sign beside it, each for a day. *outcome: OUTCOME_OK or NO_WEBHOOK. */
enum db_result webhook_rotate(struct db *db, const struct vault *v, const char *webhook_id, const char *secret,
                              struct webhook *out, enum outcome *outcome) MUST_CHECK;

#endif
