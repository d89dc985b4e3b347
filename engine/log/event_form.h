/* event_form.h - for event.c alone. The form of a record: which optional members it has. */
#ifndef EVENT_FORM_H
#define EVENT_FORM_H

#include "engine/rows.h"

enum { VERSION = 1, RECORDS_MAX = 20000 }; /* a row has a record for each order of a claim, and few more */

/* The optional members of a reservation, as bits behind its state, and of a movement, from the first bit on. */
enum { STATE_BITS = 3 };
enum {
	R_KEY = 1 << STATE_BITS,
	R_ATTEMPTS = R_KEY << 1,
	R_CONFIRMED = R_KEY << 2,
	R_RELEASED = R_KEY << 3,
	R_SETTLED = R_KEY << 4,
	R_ERROR = R_KEY << 5,
	R_REFERENCE = R_KEY << 6,
	R_REPLACED = R_KEY << 7,
	R_CUT = R_KEY << 8,
	R_CUSTOMER = R_KEY << 9,
	R_SHIP_AFTER = R_KEY << 10,
	R_WAITS_SINCE = R_KEY << 11,
	R_ON_HOLD = R_KEY << 12,
	R_HOLD_REASON = R_KEY << 13, /* only beside R_ON_HOLD */
	R_PREVIOUS = R_KEY << 14,
};
enum { M_KEY = 1, M_REASON = 2, M_REFERENCE = 4, M_CUT = 8, M_ORDER = 16, M_TRANSFERS = 32 };
enum { S_FOR_SALE = 1, S_REASON = 2 };
enum { NO_CAUSE, TASK_CAUSE }; /* more: a text of so many bytes less 1 */
_Static_assert(STATES <= 1 << STATE_BITS, "a state has its bits");

#endif
