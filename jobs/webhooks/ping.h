/* ping.h - pings: a delivery of one webhook.ping, at once and not repeated, which no cursor and no count of failures
 * knows. Each has a thread and a sender of its own; one at a time of a webhook, PINGS in all. */
#ifndef PING_H
#define PING_H

#include "engine/op.h"
#include "jobs/webhooks/deliver.h"
#include "jobs/webhooks/webhook.h"

enum { PINGS = 16, PING_MS = 5000 };

/* Takes a place. NULL: one of this webhook is under way, or all places are taken. Any thread. */
struct ping *ping_take(const char *webhook_id) MUST_CHECK;
/* Waits for the thread, which has given its operation back, and gives the place back; NULL is fine. */
void ping_leave(struct ping *p);
/* Sends to the address of `row`, with the secrets that sign now, and gives `op` back by the outbox of its thread. `by`:
 * the name of the key that asks; empty: none. o outlives the ping. Otherwise nothing was begun: NO_KEY_HERE, the secret
 * in use does not open here; BUSY, the system gives no thread. */
enum outcome ping_begin(struct ping *p, const struct webhook_options *o, const struct webhook *row, const char *by,
                        struct op *op) MUST_CHECK;
/* Puts the members of the answer: {status, ms, body}, or {error}. */
void ping_json(struct json_writer *w, const struct ping *p);
/* Breaks off what is under way, waits for it, and begins nothing more: before the loop of the operations ends. */
void pings_stop(void);

#endif
