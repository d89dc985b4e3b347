/* watch.h - the chore of a service that watches levels. One process of all services is the watcher; the others wait
 * until it is silent. The watcher follows the log of events, looks at the spots that were touched, and writes an event
 * for each level that was crossed. */
#ifndef WATCH_H
#define WATCH_H

#include "engine/catalogue/catalogue.h"
#include "jobs/background.h"

struct watch;
/* wants_stock: the watcher writes an event for every change of stock, too. The catalogue must outlive the watch. */
struct watch *watch_new(struct catalogue *c, bool wants_stock);
struct chore  watch_chore(struct watch *w);
void          watch_free(struct watch *w); /* when no background has its chore any more; NULL is fine */

#endif
