/* stop.h - one stop for all threads that work together: it ends their pauses, and signals cause it. */
#ifndef STOP_H
#define STOP_H

#include "engine/base/base.h"

#include <stdatomic.h>

struct stop {
	atomic_bool stops; /* true for good */
	int         wakes; /* an eventfd that becomes readable when all is to stop: for poll; no thread reads it */
};
void stop_init(struct stop *s);
void stop_fini(struct stop *s);
void stop_now(struct stop *s);              /* ends every pause; any thread */
bool stop_wait(struct stop *s, int64_t ms); /* pauses; true: the caller must stop. Any thread */

/* Call once, from a command's main thread and before any other thread starts. The first SIGTERM or SIGINT stops the
 * returned stop, which lasts as long as the process; the second one calls at_once (or NULL) on a thread of its own and
 * ends the process. */
struct stop *stop_on_signals(void (*at_once)(void));
/* True: stop_on_signals was called, and one of its signals has come. */
bool stop_was_signalled(void);

#endif
