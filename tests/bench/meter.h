/* meter.h - what a program has cost so far: CPU time of the service and of its database, redo, handler calls, round
 * trips. The program has a database of its own (stage_own). One thread. */
#ifndef METER_H
#define METER_H

#include "bench.h"

enum cost { COST_CPU, COST_SERVICE, COST_DATABASE, COST_REDO, COST_HANDLERS, COST_TRIPS, COSTS };

struct meter {
	struct bench *bench;
	struct db    *db;
	struct trips *trips;
	int           file;     /* the file that it is mapped from */
	char          path[64]; /* the same, for other processes */
	int64_t       reading;  /* handler calls of one reading itself */
	int64_t       readings; /* so far */
};

/* Programs that are started from now on count their round trips to that file; NULL: they do not. */
void trips_preload(const char *file);
/* Where trips are counted: before the service is started. */
bool meter_init(struct meter *m, struct bench *b) MUST_CHECK;
void meter_fini(struct meter *m);            /* a zeroed one is fine */
bool meter_open(struct meter *m) MUST_CHECK; /* once its database runs */
/* Waits until the counters of the database stand still, so that what goes on after the last answer is in them, and
 * gives all: microseconds of CPU, bytes, calls, trips. What reading them costs is not in the calls. */
bool meter_read(struct meter *m, double costs[COSTS]) MUST_CHECK;

#endif
