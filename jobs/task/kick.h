/* kick.h - buried orders: counted by their errors, and given to workers again. Every function runs on the caller's
 * connection and thread. */
#ifndef KICK_H
#define KICK_H

#include "engine/catalogue/catalogue.h"
#include "engine/rows.h"

/* A place in the list of buried orders, which is sorted by due time and number; all 0: the beginning. */
struct buried_place {
	int64_t due_at, id;
};

enum { BURIED_WALK = 10000 }; /* orders that one call looks at */
struct buried_group {
	char   *error; /* NULL: none */
	int64_t orders, oldest_at;
};
struct buried_page {                 /* zero-initialised */
	struct buried_place  after;  /* in: the page begins behind it; out: the last order of the page */
	struct buried_group *groups; /* the errors with the most orders first */
	size_t               count, max;
	int64_t              orders; /* BURIED_WALK: there may be more */
};
void           buried_page_fini(struct buried_page *p);
enum db_result buried_read(struct db *db, struct buried_page *p) MUST_CHECK;

/* Kicks the buried ones of the orders that `find` finds by `list`, in one transaction; an order that was kicked
 * meanwhile is skipped. The reader is the caller's. by: the key that asks; 0: none. */
enum db_result kick_list(struct db *db, enum statement find, const struct values *list, uint32_t by,
                         struct reservation_reader *in, int64_t *kicked) MUST_CHECK;

struct kick_walk {
	const char         *error;   /* orders with this last error; NULL: orders with any error, .. */
	bool                unnamed; /* .. or, if true, those without one */
	uint32_t            by;
	struct buried_place after; /* as in struct buried_page */
	int64_t             kicked;
	bool                more; /* the walk has not come to the end */
};
/* Looks at BURIED_WALK buried orders at most, and kicks those with the error in one transaction. */
enum db_result kick_walk(struct db *db, struct kick_walk *k) MUST_CHECK;

#endif
