/* census.h - figures of a database, whichever process tells them: the numbers of reservations and tasks, and the
 * counters of processes without /metrics (`work`, `reap`). Functions run on a connection of the caller's, without a
 * transaction open, and on its thread. */
#ifndef CENSUS_H
#define CENSUS_H

#include "engine/op.h"

/* Counts by one walk over the claim index and one over the slots; a brief one looks at the heads of the index, and
 * counts buried orders. false: the database did not answer. */
bool census_read(struct db *db, bool brief, struct census *out) MUST_CHECK;
/* Names what `stats` says, one figure after the other. */
void census_tell(const struct census *c, void (*tell)(void *arg, const char *name, int64_t n), void *arg);

/* The units at a location, over all skus, as its slots have them. */
struct location_sum {
	uint32_t location_id;         /* 0: not counted */
	int64_t  skus;                /* the number of those of which it has any */
	int64_t  available, reserved; /* at an incoming location promised units: free ones, and those of orders */
	int64_t  stopped;             /* units of available, of which the sale of the sku is stopped */
};
/* Counts them, unless the last count is young. *counted_at: the time of the count, by the database's clock. For the
 * census thread alone, which keeps one count; and so are the next two. */
enum db_result location_sums_read(struct db *db, int64_t *counted_at) MUST_CHECK;
/* Of a location, by that count: zeroes where it had nothing. */
struct location_sum location_sum(uint32_t location_id);
void                location_sums_forget(void);

/* Leaves the counters of this process in the database, where one service takes them over: every event is among the
 * figures of one process, and their sum over all services is right. Counters that could not be written stay for the
 * next time; the last events before a kill -9 are lost. Does nothing where nothing was counted. */
void census_leave(struct db *db);

/* Answers OP_COUNTS, by a young count or a new one: one at a time, as a process has one thread for counts. Takes
 * over the counters that others left. */
enum db_result census_answer(struct db *db, struct op *op) MUST_CHECK;

#endif
