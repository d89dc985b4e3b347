/* deliver.h - a deliverer: a worker (work.h) that brings events to webhooks until it is stopped.
 *
 * One deliverer of all processes serves a webhook at a time. It claims the row for a lease, renews the lease while it
 * lives, and names its claim in every write. One deliverer serves many webhooks at once over one sender, so a receiver
 * that hangs does not block the others. After a kill the next deliverer goes on when the lease is over, from the place
 * that was saved last: the deliveries of about a second come again. */
#ifndef DELIVER_H
#define DELIVER_H

#include "jobs/settings.h"
#include "jobs/webhooks/sender.h"
#include "jobs/webhooks/vault.h"

/* The settings of a process for webhooks: of one that takes calls about them, and of one that delivers. */
struct webhook_options {
	struct vault          vault;
	struct sender_options sender;
};

/* Delivers on the caller's thread, over a connection of its own. After a stop, attempts that are running get a moment
 * to end. Returns the exit status. */
int deliver_run(struct db *db, const struct work *work);

#endif
