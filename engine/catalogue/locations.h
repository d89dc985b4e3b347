/* locations.h - the locations of a database, all of them: a list that is read whole, and never by the way of a row that
 * names one. Memory alone: catalogue.h has the list and its lock, past.h reads it. */
#ifndef LOCATIONS_H
#define LOCATIONS_H

#include "engine/base/codes.h"

#include <stdatomic.h>

enum location_kind {
#define X(name, number, word) name = number,
#include "engine/catalogue/location_kinds.def"
#undef X
	LOCATION_KINDS
};
const char *location_kind_name(enum location_kind k); /* of another number: "unknown" */

/* The number and the code stay as they are. The rest changes while others look. */
struct location {
	uint32_t         location_id;
	_Atomic uint8_t  kind;        /* enum location_kind, as it was read last */
	_Atomic bool     stopped;     /* sales there are */
	_Atomic uint32_t waits_at;    /* the location whose waiting lines get what is available here; 0: none */
	_Atomic int64_t  expected_at; /* ms; when what is promised there is expected; 0 or less: not given */
	char             code[LOCATION_MAX + 1];
};
/* What memory says. A lane's transaction is undone where the kind of any location has changed since (location.sql);
 * a lane reads the kind again before it refuses because of it. */
enum location_kind location_kind(const struct location *l);
/* True: units at the location are in the house and for sale, and so are the units of the sum `available` of its sku. */
bool location_sells(const struct location *l);
/* True: orders get no units there that they do not have, in the house or promised, until sales there go on. */
bool location_stopped(const struct location *l);
/* True: it sells, and nothing is stopped there. */
bool location_is_open(const struct location *l);
/* Its kind, and LOCATION_STOPPED more where sales there are stopped: location_says in SQL. */
enum { LOCATION_STOPPED = 128 };
int64_t location_says(const struct location *l);
/* Lines that wait at the incoming location given here get this location's units before new orders do; 0: none. */
uint32_t location_waits_at(const struct location *l);
/* True: units at the location are in the house, and in `on_hand` of their sku; false: they are promised. */
bool location_in_house(const struct location *l);

/* Zero-initialised: none. Entries stay where they are until locations_fini. */
struct locations {
	struct location **by_id, **by_code; /* sorted */
	size_t            count, max;
	struct location **all; /* of earlier pasts, too */
	size_t            all_count, all_max;
	int64_t           version; /* of the table when it was read (stock.sql); 0: it was not read yet */
	int64_t           asked;   /* number of the look that knew the version last */
};
void locations_fini(struct locations *l);

/* NULL: there is none. */
const struct location *locations_find(const struct locations *l, const char *code);
const struct location *locations_find_id(const struct locations *l, uint32_t location_id);
/* Adds those of `list` that are new, and takes over what has changed of the others. false: one contradicts what is
 * known, so nothing was added: they are of another past. */
bool locations_add(struct locations *l, const struct location *list, size_t count) MUST_CHECK;
void locations_forget(struct locations *l); /* its entries may still be looked at */

#endif
