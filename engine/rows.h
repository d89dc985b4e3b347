/* rows.h - reservations as rows of the database, and what their completion does to stock. For the engine and for jobs.
 */
#ifndef ROWS_H
#define ROWS_H

#include "engine/db/txn.h"
#include "engine/engine.h"

/* Reads rows of reservation_find, reservation_by_id or task_rows into a growing list, which is the caller's. Rows may
 * come in any order: the list is not to be used before reservations_join was called. */
struct reservation_reader {
	struct catalogue    *catalogue;
	struct reservation **list;
	size_t               count, max;
	size_t               lines_max; /* room of the one being read */
};
void reservation_read(void *arg, const struct db_row *row);
/* Each of them once, with all of its lines in the order of their codes; sorted by id, the order in which rows are
 * locked.
 */
void                reservations_join(struct reservation_reader *in);
struct reservation *reservation_copy(const struct reservation *r);
void                reservation_free(struct reservation *r);
void                reservations_free(struct reservation **list, size_t count);

/* A step of a transaction: the units of these reservations return to `available`, in the slots that their lines name.
 * TXN_MISPLACED where a slot has them not. */
void stock_give_back(struct txn *t, struct reservation **list, size_t count);

/* One settlement movement: of a task, its part-th, with a number made by id_make. */
struct settlement {
	uint64_t task_id, part, movement_no;
};
/* Likewise: the units leave the house, and one movement says so. */
void stock_settle(struct txn *t, struct reservation **list, size_t count, const struct settlement *settlement);

/* Makes ids ordered by time, about as fine as a commit takes: 44 bits of quarters of a millisecond since 1970 (until
 * 2109 the highest bit is 0), 10 bits of `owner`, 9 bits of a counter. The owner is a number that the database gave (of
 * a lane, of a task), so that processes seldom collide; where they do, a duplicate key means another owner and a new
 * id. One thread. */
struct ids {
	int64_t  clock_offset_ms; /* the database's clock minus clock_ms */
	uint64_t owner;
	int64_t  tick; /* of the last id, and how many in it */
	unsigned count;
};
uint64_t id_make(struct ids *ids);

#endif
