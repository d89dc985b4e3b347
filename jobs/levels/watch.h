/* watch.h - the chore of a service that watches levels: one process at a time over all services does, the others wait
 * until it goes silent. It follows the log of events for what was touched, and tells what has crossed. */
#ifndef WATCH_H
#define WATCH_H

#include "engine/catalogue.h"
#include "jobs/background.h"

struct watch;
/* wants_stock: whoever watches tells every change of stock, too. The catalogue must outlive the watch. */
struct watch *watch_new(struct catalogue *c, bool wants_stock);
struct chore  watch_chore(struct watch *w);
void          watch_free(struct watch *w); /* when no background has its chore any more; NULL is fine */

#endif
