/* deliver.h - a deliverer: a worker (work.h) that brings events to webhooks until it is stopped.
 *
 * A webhook is served by one deliverer at a time, in whichever process: the row is claimed for a lease, which is
 * renewed while the deliverer lives, and names it in every write. One deliverer serves many webhooks at once, over one
 * sender, so that one that hangs holds up nobody. After a kill the next deliverer goes on when the lease is over,
 * behind what was saved last: about a second's deliveries come again. */
#ifndef DELIVER_H
#define DELIVER_H

#include "jobs/settings.h"
#include "jobs/webhooks/sender.h"
#include "jobs/webhooks/vault.h"

/* What this process knows of webhooks, whether it takes calls about them or delivers. */
struct webhook_options {
	struct vault          vault;
	struct sender_options sender;
};

/* Delivers on the caller's thread, over a connection of its own. After a stop what is under way may end for a moment.
 * Returns the exit status. */
int deliver_run(struct db *db, const struct work *work);

#endif
