/* event_type.h - the types of events, a row of event_types.def each, and lists of them. Pure; any thread. */
#ifndef EVENT_TYPE_H
#define EVENT_TYPE_H

#include "engine/rows.h"

enum event_about { NOTHING, RESERVATION, MOVEMENT, LEVEL, STOCK, SALE };
/* What a line of an event does to `available`, by the sign of its units. RETAKES: takes where there is a cause, which
 * is that the units were acquired again. DRAWS: takes where there is no cause, because an order in the queue got units
 * that were freed; with a cause they are those of an arrival, and were never available. It may have fewer new units
 * than the line says. KEEPS: moves units out of `reserved` alone. SWAPS: takes them, and gives those of a second list,
 * the lines before. */
enum moves { NO_MOVE, TAKES, RETAKES, DRAWS, GIVES, KEEPS, SWAPS };
enum event_type {
#define X(name, number, word, about, cause, moves, from, to) name = number,
#include "engine/log/event_types.def"
#undef X
	EVENT_TYPES
};
/* The traits of a type, by event_types.def. */
struct event_trait {
	const char      *word; /* NULL: the type is unknown */
	enum event_about about;
	bool             by_order; /* its cause, where there is one, is another order */
	enum moves       moves;
	unsigned         from, to; /* the states that may stand before it and behind it: the bit 1 << state of each */
};
/* Takes any number: an unknown type tells NOTHING and moves nothing. */
const struct event_trait *event_trait(enum event_type t);
/* RETAKES and DRAWS become what they are with a cause, or without one. */
enum moves      event_moves(const struct event_trait *is, bool caused);
enum event_type event_type_find(const char *word, size_t len); /* 0: unknown */
enum event_type event_of_movement(enum movement_kind k);       /* 0: unknown */

/* The types that a reader or a webhook asks for. */
struct event_filter {
	bool all;
	bool wanted[EVENT_TYPES];
};
/* A list like "reservation.held,stock.out"; NULL or empty: all. false: it names an unknown type, or none between two
 * commas or behind the last. */
bool event_filter_read(const char *list, struct event_filter *filter) MUST_CHECK;
bool event_is_wanted(const struct event_filter *filter, enum event_type t);

#endif
