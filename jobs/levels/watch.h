/* watch.h - the thread of a service that watches levels: one process at a time over all services does, the others wait
 * until it goes silent. It follows the log of events for what was touched, and tells what has crossed. */
#ifndef WATCH_H
#define WATCH_H

#include "engine/catalogue.h"
#include "engine/db/url.h"

struct watch;
/* wants_stock: whoever watches tells every change of stock, too. The catalogue must outlive the watch. */
struct watch *watch_open(const struct db_target *target, struct catalogue *c, bool wants_stock);
void          watch_close(struct watch *w); /* waits for the look at hand; NULL is fine */

#endif
