/* threshold.h - thresholds of levels: a spot with as many units as its threshold, or fewer, is low. */
#ifndef THRESHOLD_H
#define THRESHOLD_H

#include "engine/db/db.h"
#include "engine/outcome.h"

/* Sets the threshold of a sku at a location, or over all (NULL); low below 0 removes it. The watcher looks at the spot
 * within a second. Outcomes: OUTCOME_OK, NO_SKU, NO_LOCATION; WRONG_KIND if the location does not sell. */
enum db_result threshold_put(struct db *db, const char *sku, const char *location, int64_t low,
                             enum outcome *outcome) MUST_CHECK;

#endif
