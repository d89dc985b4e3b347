/* waiting.h - lines that wait for units which are not in the house, as rows of table waiting_line. Of any transaction.
 */
#ifndef WAITING_H
#define WAITING_H

#include "engine/db/txn.h"
#include "engine/rows.h"

/* Adds a statement that removes the waiting lines of these reservations, which end in this transaction; none where no
 * line waits. */
void waiting_end(struct txn *t, struct reservation *const *list, size_t count);
/* Puts those that wait aside, of reservations that this transaction confirms: no claim takes them. */
void waiting_put_aside(struct txn *t, struct reservation *const *list, size_t count);

/* Brings the positions of these orders' lines into order, where lines may have several of them (NOTED_AMENDED), behind
 * all that changes their units: a position without units is none. `ids` (reservation_id) has one at least. */
void waiting_trim(struct txn *t, const struct values *ids);

#endif
