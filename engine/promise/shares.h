/* shares.h - units that reservations occupy, by slot row: summed in the order of locks, given back or settled. With
 * them goes what their customers have. */
#ifndef SHARES_H
#define SHARES_H

#include "engine/promise/customer.h"

struct event_head;

struct share { /* units of one slot row: `qty` leave reserved, `back` of them return to available */
	uint32_t sku_id, location_id;
	uint16_t slot;
	int64_t  qty, back;
};

/* Zero-initialised is empty. */
struct shares {
	struct share   *list;
	size_t          count, max;
	struct portions customers;
};
void shares_fini(struct shares *s);
void share_add(struct shares *s, uint32_t sku_id, uint32_t location_id, uint16_t slot, int64_t qty, int64_t back);

/* A promise ends here, in a lane that releases or splits, a sweep, a task that expires or settles. All that has to be
 * given back with the units of these lines of `of` is added here: slots, and the customer's units. */
void promise_end(struct shares *s, const struct reservation *of, const struct line *lines, size_t count);
/* A promise is kept here: its units leave the stock. */
void promise_keep(struct shares *s, const struct reservation *of, const struct line *lines, size_t count);
/* `of` gives way to an order (its own, with other lines) of `customer` (NULL: none) with these lines, sorted, in a lane
 * with `slot`. Units that stay in their slot, or move with the new order, are not given back. The customers' portions
 * are those of both orders. */
void promise_replace(struct shares *s, const struct reservation *of, const char *customer, const struct line *lines,
                     size_t count, unsigned slot);

/* Sorts by sku, location and slot, the order in which rows are locked; one share for each slot row. */
void    shares_sum(struct shares *s);
int64_t shares_of_sku(const struct shares *s, uint32_t sku_id); /* behind shares_sum: qty at location and slot 0 */
/* A step of a transaction, STOCK_GIVE_BACK or STOCK_SETTLE; `verdict`: a slot lacks the units. `rows`: scratch. */
void shares_write(struct txn *t, struct values *rows, const struct shares *s, enum statement name,
                  enum txn_verdict verdict);

/* A step of a transaction: the units of these reservations return to `available`, in the slots that their lines name,
 * and their customers have them no longer. TXN_MISPLACED: a slot lacks the units. */
void stock_give_back(struct txn *t, struct reservation *const *list, size_t count);
/* Gives holds back that are past their time, in a transaction without a fence, in one trip, with an event for each.
 * TXN_MOVED: one was changed since it was read. `changes`: scratch. */
enum db_result holds_expire(struct db *db, struct reservation *const *list, size_t count, struct text *changes,
                            enum txn_verdict *verdict) MUST_CHECK;

/* One settlement movement: of a part of a task, named by the first of its reservations, or of a reservation alone. */
struct settlement {
	uint64_t movement_no; /* made by id_make */
	char     movement_id[sizeof(OF_JOBS) + 42];
	char     reference[ID_MAX + 1]; /* the task, or the order */
};
void settlement_of_task(struct settlement *settlement, uint64_t task_id, uint64_t reservation_id);
void settlement_of_order(struct settlement *settlement, uint64_t reservation_id, const char *order_id);
/* Adds its row for MOVEMENT_ADD, which points into it, and rows of its lines for MOVEMENT_LINE_ADD. key_id 0: none. */
void settlement_row(struct values *rows, const struct settlement *settlement, uint32_t key_id);
void settlement_line(struct values *rows, const struct settlement *settlement, const struct share *share);
/* A step of a transaction: the units leave the stock, and one movement says so. TXN_MISPLACED: a slot lacks them. */
void stock_settle(struct txn *t, struct reservation **list, size_t count, const struct settlement *settlement);
/* Appends the event of that movement; `head` has its key and its cause. */
void settlement_tell(struct text *changes, const struct event_head *head, struct reservation *const *list, size_t count,
                     const struct settlement *settlement);

#endif
