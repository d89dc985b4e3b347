/* watch.h - the thread of a service that watches levels, whatever --jobs says: one process at a time over all services
 * does, the others wait until it goes silent. It follows the log of events for what was touched, and tells what has
 * crossed. */
#ifndef WATCH_H
#define WATCH_H

#include "engine/catalogue.h"
#include "engine/db/source.h"

struct watch;
/* wants_stock: whoever watches tells every change of stock, too. The source and the catalogue must outlive the watch.
 */
struct watch *watch_open(struct source *source, struct catalogue *c, bool wants_stock);
void          watch_close(struct watch *w); /* waits for the turn at hand */

#endif
