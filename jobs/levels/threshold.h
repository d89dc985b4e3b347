/* threshold.h - thresholds of levels: a spot with as many units as its threshold, or fewer, is low. */
#ifndef THRESHOLD_H
#define THRESHOLD_H

#include "engine/db/db.h"
#include "engine/base/codes.h"
#include "engine/outcome.h"

/* Sets the threshold of a sku at a location, or over all (NULL); low below 0 removes it. The watcher looks at the spot
 * within a second. Outcomes: OUTCOME_OK, NO_SKU, NO_LOCATION; WRONG_KIND if the location does not sell. */
enum db_result threshold_put(struct db *db, const char *sku, const char *location, int64_t low,
                             enum outcome *outcome) MUST_CHECK;
/* Removes it, at a location of whatever kind; the watcher looks as before. Outcomes: OUTCOME_OK, also where there is
 * none; NO_SKU, NO_LOCATION. */
enum db_result threshold_delete(struct db *db, const char *sku, const char *location, enum outcome *outcome) MUST_CHECK;

struct threshold {
	uint32_t location_id;                /* 0: over all */
	char     location[LOCATION_MAX + 1]; /* its code; empty: over all */
	int64_t  low;
};
/* Up to `max` thresholds of a sku behind location number `after` (-1: all), by number: the one over all comes first.
 * Outcomes: OUTCOME_OK, NO_SKU. */
enum db_result threshold_list(struct db *db, const char *sku, int64_t after, struct threshold *list, size_t max,
                              size_t *count, enum outcome *outcome) MUST_CHECK;

#endif
