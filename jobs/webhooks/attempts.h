/* attempts.h - the last attempts of one webhook, in the memory of its deliverer. Zero-initialised is empty. One
 * thread. */
#ifndef ATTEMPTS_H
#define ATTEMPTS_H

#include "jobs/webhooks/sender.h"

enum { ATTEMPTS = 50 };

struct attempts {
	char  *items[ATTEMPTS]; /* each an object of JSON; a ring */
	size_t oldest, count, bytes;
};

/* Adds an attempt that has ended. The oldest ones are dropped until all take bytes_max at most; the new one stays. */
void attempts_add(struct attempts *a, const char *event_id, const char *type, const struct posted *p, size_t bytes_max);
/* Adds an array of JSON, the newest first. */
void attempts_write(const struct attempts *a, struct text *to);
void attempts_fini(struct attempts *a);

#endif
