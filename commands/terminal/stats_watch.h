/* stats_watch.h - `stats --watch`: the figures again and again, with what has changed since the last look. */
#ifndef STATS_WATCH_H
#define STATS_WATCH_H

#include "engine/db/db.h"

/* Every so many seconds, until q or a signal: a picture on a terminal, otherwise a block each time, which `print` puts
 * on stdout where it is not NULL (JSON). EXIT_DONE, or EXIT_UNAVAILABLE where the schema became another one. */
struct census;
int stats_watch(struct db *db, int64_t every_s, void (*print)(const struct census *counts));

#endif
