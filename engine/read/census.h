/* census.h - how many reservations and tasks there are, counted by one walk over the claim index. */
#ifndef CENSUS_H
#define CENSUS_H

#include "engine/op.h"

/* Counts on a connection of the caller's, which waits for it. false: the database did not answer. */
bool census_read(struct db *db, struct census *out) MUST_CHECK;
/* Answers OP_COUNTS: one count for all of `ops`. */
enum db_result census_answer(struct db *db, struct catalogue *c, struct op **ops, size_t count) MUST_CHECK;

#endif
