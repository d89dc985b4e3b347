/* stats_watch.h - `stats --watch`: the figures again and again, with what has changed since the last look. */
#ifndef STATS_WATCH_H
#define STATS_WATCH_H

#include "engine/db/db.h"

/* Every every_s seconds, until q or a signal: draws a picture on a terminal, otherwise prints a block; `print` (not
 * NULL for JSON) prints it. EXIT_DONE, or EXIT_UNAVAILABLE if the schema was changed meanwhile. */
struct census;
int stats_watch(struct db *db, int64_t every_s, void (*print)(const struct census *counts));

#endif
