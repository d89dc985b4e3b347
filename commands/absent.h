/* absent.h - what a full list of stock lacks: skus that have units at a location of the list, and no row of it. */
#ifndef ABSENT_H
#define ABSENT_H

#include "commands/import/keyset.h"
#include "engine/db/db.h"

/* Zero-initialised is empty. */
struct listed {
	struct keyset rows, locations;
};
void listed_add(struct listed *l, const char *sku, const char *location);
void listed_fini(struct listed *l);

/* Calls `each` for whatever the list lacks, by the code of the sku. false: the database is away. */
bool absent_find(struct db *db, const struct listed *l, void (*each)(void *arg, const char *sku, const char *location),
                 void *arg) MUST_CHECK;

#endif
