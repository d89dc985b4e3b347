/* relocate.h - promised units of orders that stay move to another location: the steps of any transaction that does so.
 * A hand-out brings them into the house, a loss takes them out of it, a split takes them to another order. */
#ifndef RELOCATE_H
#define RELOCATE_H

#include "engine/db/txn.h"
#include "engine/log/event.h"
#include "engine/rows.h"

/* Lines of which units leave, for one statement each. Zero-initialised. */
struct leaving {
	struct values parts, whole;
};
/* `whole`: all units of the order's line leave. */
void line_leaves(struct leaving *out, const struct reservation *of, const struct line *line, int64_t qty, bool whole);
/* Sends them, and ends the lists. */
void leaving_write(struct txn *t, struct leaving *out);

/* An order of which units move. */
struct relocated {
	struct reservation *reservation;
	struct relocation **list; /* in that of all */
	size_t              count;
	bool                told;
};
/* Relocations of one transaction. Zero-initialised it is empty. */
struct relocations {
	struct relocation **list;   /* by reservation: the order of locks */
	struct relocated   *orders; /* in that order */
	size_t              count, orders_count;
};
void relocations_fini(struct relocations *all);
/* Adds relocations, which outlive it; behind the last ones relocations_sort. */
void relocations_add(struct relocations *all, struct relocation *list, size_t count);
void relocations_sort(struct relocations *all);

/* Writes the orders as they were read (`changed`); a confirmed order of which no line waits any more is due. Ahead of
 * their lines and of all slots. `rows` is scratch. */
void relocations_orders(struct txn *t, const struct relocations *all, struct values *rows);
/* Writes the lines, behind the orders. `from_queue`: all of them wait at one location for one sku, and those that leave
 * whole lose their positions in the queue. At `to` no position is made. */
void relocations_write(struct txn *t, struct relocation *const *list, size_t count, bool from_queue,
                       struct values *rows);
/* Appends an event for each order of the list that was not told yet, as it is then, in the order of the list. */
void relocations_tell(const struct relocations *all, const struct relocation *list, size_t count,
                      const struct event_head *head, struct text *changes);
/* Adds the units as a line at their new location, behind the others: lines_join adds them to the one that is there. */
void line_come(struct line *lines, size_t *count, const struct relocation *m);

#endif
