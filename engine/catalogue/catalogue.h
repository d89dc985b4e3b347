/* catalogue.h - codes <-> numbers of skus and locations, and the last totals read of each sku. The catalogue grows with
 * the skus of the database and never frees one, so a pointer to an entry is good for the life of the process. Every
 * function may be called from any thread; one lock inside.
 *
 * A sku that the catalogue lacks may still be in the database: the caller reads it there (sku_find, sku_name) and
 * enters it here. Locations are few: all are read at once, with each connection and where one is missed (past.h).
 *
 * A number means its sku in one past of one database. When the database turns out to be another one, or restored, the
 * catalogue forgets all entries: no look-up finds the old ones any more. A caller that keeps pointers or numbers beyond
 * one use of one connection keeps catalogue_past along with them. */
#ifndef CATALOGUE_H
#define CATALOGUE_H

#include "engine/catalogue/locations.h"

/* Units of a sku at one location. */
struct total {
	const struct location *location;
	int64_t                available, reserved;
};

struct sku; /* 57 bytes and its code; 8 to 24 more in the tables */
uint32_t    sku_id(const struct sku *s);
const char *sku_code(const struct sku *s); /* NUL-terminated */
/* The most units that one customer may have, as it was read last; 0: no limit. Any thread. */
int64_t sku_per_customer(const struct sku *s);
/* True: its sale was stopped when it was read last; NULL: false. A lane of another memory is undone (sales.sql). Any
 * thread. */
bool sku_stopped(const struct sku *s);

struct catalogue;
struct catalogue *catalogue_new(void);
void              catalogue_free(struct catalogue *c);

/* NULL: the catalogue does not know the code or number; the database may. */
struct sku            *catalogue_sku(struct catalogue *c, const char *code);
struct sku            *catalogue_sku_by_id(struct catalogue *c, uint32_t sku_id);
const struct location *catalogue_location(struct catalogue *c, const char *code);
const struct location *catalogue_location_by_id(struct catalogue *c, uint32_t location_id);
/* Enters a code and number read from the database. Entering twice is fine. code need not end in a NUL. */
struct sku *catalogue_sku_enter(struct catalogue *c, uint32_t sku_id, const char *code, size_t len);
size_t      catalogue_skus(struct catalogue *c);
/* Take a number before reading the locations: a result with a smaller number than the known one is dropped as stale. A
 * version of the locations is not 0. */
int64_t catalogue_locations_ask(struct catalogue *c);
bool    catalogue_locations_same(struct catalogue *c, int64_t asked, int64_t version); /* false: enter them */
void    catalogue_locations_enter(struct catalogue *c, int64_t asked, int64_t version, const struct location *list,
                                  size_t count);

/* Names the locations that sell and have the queue of `waits_at`, up to this number, in the order of their numbers. */
void catalogue_sellers(struct catalogue *c, uint32_t waits_at, uint32_t until_id,
                       void (*each)(void *arg, uint32_t location_id), void *arg);

/* Limits and stops of skus, as far as their changes are numbered (sku_limits.sql). */
struct sku_limit {
	struct sku *sku;
	int64_t     per_customer; /* 0: none */
	bool        stopped;      /* its sale */
};
/* Enters the limits that were read behind the known number, all up to `to`. Where another thread has entered more
 * meanwhile, or the catalogue forgot since `past`, none is entered. `read_ms`: clock_ms when the statement was sent
 * that found no change behind `to`; LIMITS_MORE: there may be some. */
#define LIMITS_MORE INT64_MIN
void    catalogue_limits_enter(struct catalogue *c, unsigned past, int64_t to, int64_t read_ms,
                               const struct sku_limit *list, size_t count);
void    catalogue_limits_forget(struct catalogue *c);
int64_t catalogue_limits_number(struct catalogue *c); /* of the last change that is known; 0: none is */
/* Whether all changes are known that were committed by `since_ms` (clock_ms). */
bool catalogue_limits_known(struct catalogue *c, int64_t since_ms);
/* Bits: some known sku has a limit; the sale of one is stopped. */
enum { ANY_LIMIT = 1, ANY_STOP = 2 };
unsigned catalogue_limits_any(struct catalogue *c);

/* Forgets everything. The catalogue also does so when a number or a code is entered that it knows otherwise. */
void     catalogue_forget(struct catalogue *c);
unsigned catalogue_past(struct catalogue *c); /* 1 at first, one more each time the catalogue forgets */

/* The newest known sku and location. An earlier past of the database lacks them, or has given their numbers to other
 * codes, because numbers are given in order. Number 0: none is known. */
struct newest {
	uint32_t        sku_id;
	char            sku[SKU_MAX + 1];
	struct location location;
};
void catalogue_newest(struct catalogue *c, struct newest *out);

/* The totals of a sku by location, all read in one statement that was sent at `read_ms` (clock_boot_ms). */
void catalogue_totals_put(struct catalogue *c, struct sku *s, int64_t read_ms, const struct total *totals,
                          size_t count);
/* Copies up to `max` totals that are at most max_age_ms old to `out`; gives the number of all totals and their age.
 * false: they are older or were never read. */
bool catalogue_totals_get(struct catalogue *c, struct sku *s, int64_t max_age_ms, struct total *out, size_t max,
                          size_t *count, int64_t *age_ms);

#endif
