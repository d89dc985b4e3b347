/* trips.h - what the benchmark and the preloaded library share: a mapped file, zeroed at the start. */
#ifndef TRIPS_H
#define TRIPS_H

#include <stdatomic.h>

#define TRIPS_FILE "BENCH_TRIPS" /* the environment's name of the file */

struct trips {
	atomic_long count; /* of all programs that have the file */
};

#endif
