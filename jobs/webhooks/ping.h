/* ping.h - pings: one delivery of a webhook.ping, at once and not repeated. It changes no cursor and no count of
 * failures. Each ping has its own thread and sender. One at a time per webhook, PINGS in all. */
#ifndef PING_H
#define PING_H

#include "engine/op.h"
#include "jobs/webhooks/deliver.h"
#include "jobs/webhooks/webhook.h"

enum { PINGS = 16, PING_MS = 5000 };

/* Takes a place. NULL: this webhook has a ping now, or all places are taken. Any thread. */
struct ping *ping_take(const char *webhook_id) MUST_CHECK;
/* Waits for the thread, which has returned its operation, and frees the place; NULL is fine. */
void ping_leave(struct ping *p);
/* Sends to the address of `row`, signed with its current secrets, and returns `op` by the outbox of its thread. `by`:
 * the name of the key that asks; empty: none. o outlives the ping. Any other result than OUTCOME_OK: nothing was begun.
 * NO_KEY_HERE: the secret in use does not open here; BUSY: the system gives no thread. */
enum outcome ping_begin(struct ping *p, const struct webhook_options *o, const struct webhook *row, const char *by,
                        struct op *op) MUST_CHECK;
/* Writes the members of the answer: {status, ms, body}, or {error}. */
void ping_json(struct json_writer *w, const struct ping *p);
/* Breaks off all pings, waits for them, and begins no more. Call it before the loop of the operations ends. */
void pings_stop(void);

#endif
