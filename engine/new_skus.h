/* new_skus.h - makes skus that are not there yet, with no units. */
#ifndef NEW_SKUS_H
#define NEW_SKUS_H

#include "engine/catalogue/catalogue.h"
#include "engine/db/db.h"

/* Makes those of the skus that are not there; the catalogue knows all of them then. It bears repeating. */
enum db_result new_skus_make(struct db *db, const char *const *skus, size_t count) MUST_CHECK;

#endif
