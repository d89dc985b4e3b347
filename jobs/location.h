/* location.h - locations as rows of the database: read, listed, made, given another kind. Functions run on the caller's
 * connection and thread, and may be repeated. */
#ifndef JOBS_LOCATION_H
#define JOBS_LOCATION_H

#include "engine/catalogue/catalogue.h"
#include "engine/db/db.h"
#include "engine/outcome.h"
#include "engine/read/census.h"
#include "jobs/sales.h"

enum { LOCATIONS_MAX = 65536 }; /* a receipt may make more */

struct location_row {
	struct location     is;
	char                reason[NOTE_MAX + 1];       /* of a stop of sales there; empty: none */
	char                waits_at[LOCATION_MAX + 1]; /* the code; empty: at none */
	struct location_sum stock;                      /* the caller's, of the count of a census */
};

/* *outcome: OUTCOME_OK or NO_LOCATION. */
enum db_result location_find(struct db *db, const char *code, struct location_row *out,
                             enum outcome *outcome) MUST_CHECK;
/* Up to `max` locations with codes greater than `after`, by code. */
enum db_result location_list(struct db *db, const char *after, struct location_row *list, size_t max,
                             size_t *count) MUST_CHECK;
/* The wish of a caller for a location. */
struct location_wish {
	enum location_kind kind;                       /* 0: stock if it is new, otherwise unchanged */
	int64_t            expected_at;                /* expected time, ms; 0: none, -1: unchanged */
	bool               waits;                      /* false: waits_at stays unchanged */
	char               waits_at[LOCATION_MAX + 1]; /* empty: none */
	bool               sells;                      /* false: sales there stay as they are */
	struct sales_wish  sales;
	const char        *fault; /* answered: the member that was refused; NULL: none */
};
/* Makes the location, or changes it. *outcome: OUTCOME_OK, and `out` has the location. IN_USE: something lies there,
 * even after holds past their time have expired. WRONG_KIND: a location of its kind has no expected time, or does not
 * wait, or not at that location. UNKNOWN_LOCATION: the location at which it would wait does not exist. LIMIT: there are
 * LOCATIONS_MAX. WRONG_KIND and UNKNOWN_LOCATION set wish->fault. *made: the location is new. */
enum db_result location_put(struct db *db, const char *code, struct location_wish *wish, struct location_row *out,
                            bool *made, enum outcome *outcome) MUST_CHECK;

#endif
