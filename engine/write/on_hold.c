/* on_hold.c - see on_hold.h. */
#include "engine/write/on_hold.h"
#include "engine/write/fence.h"

const struct reservation *op_hold_from(const struct op *op)
{
	bool makes = op_trait(op)->makes && !op_trait(op)->of_movement;

	if (!makes || !op->other || !reservation_on_hold(op->other))
		return NULL;
	return reservation_is_live(op_state(op)) ? op->other : NULL; /* a part may be released at once */
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t op_not_before(const struct op *op)
{
	const struct reservation *from = op_hold_from(op);

	return later(op->reserve.ship_after, from ? from->hold_until : 0);
}

/* ---- held back, or no more */

/* Adds the order to l->rows; `hold_until`: 0 where it is held back no more. */
static void given_row(struct lane *l, const struct reservation *r, int64_t hold_until)
{
	int64_t not_before = later(r->ship_after, hold_until);

	values_row(&l->rows, V_INT(r->reservation_id), V_INT(r->changed), V_INT(r->attempts),
	           V_INT(not_before > 0 ? not_before : 0));
}

/* Confirmed orders that have the number of a task which has ended: no task has them, and the ended task can tell so. */
static void tasks_lose(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];

		if (op_writes(op, OP_ON_HOLD) && op->found->state == CONFIRMED && reservations_claimed(&op->found, 1))
			reservations_as_read(&l->rows, &op->found, 1);
	}
	txn_rows(&l->txn, TASK_LOSE, &l->rows);
}

/* Holds orders back that a task had when they were read, or the others. */
static void held_write(struct lane *l, bool claimed)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];

		if (op_writes(op, OP_ON_HOLD) && reservations_claimed(&op->found, 1) == claimed)
			given_row(l, op->found, op->change.hold_until);
	}
	txn_move(&l->txn, RESERVATION_ON_HOLD, &(struct fill){.rows = &l->rows, .claimed = claimed});
}

static void lifted_write(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++)
		if (op_writes(l->batch.ops[i], OP_OFF_HOLD))
			given_row(l, l->batch.ops[i]->found, 0);
	txn_move(&l->txn, RESERVATION_OFF_HOLD, &(struct fill){.rows = &l->rows});
}

void on_hold_change(struct lane *l)
{
	tasks_lose(l);
	held_write(l, false);
	held_write(l, true);
	lifted_write(l);
}

/* ---- the table */

/* Adds the row of reservation `id`, which asked for this ship_after. */
static void hold_row(struct lane *l, uint64_t id, int64_t hold_until, int64_t ship_after, const char *reason)
{
	values_row(&l->rows, V_INT(id), V_INT(hold_until), V_INT(ship_after > 0 ? ship_after : 0), V_TEXT(reason));
}

static void rows_add(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op          *op = l->batch.ops[i];
		const struct reservation *from = op->writes ? op_hold_from(op) : NULL;

		if (op_writes(op, OP_ON_HOLD))
			hold_row(l, op->found->reservation_id, op->change.hold_until, op->found->ship_after,
			         op->change.reason);
		if (from)
			hold_row(l, op->new_id, from->hold_until,
			         op_asks(op) ? op->reserve.ship_after : from->ship_after, from->hold_reason);
	}
	txn_rows(&l->txn, ON_HOLD_ADD, &l->rows);
}

/* The order with the row that the operation removes; NULL: none has one. */
static const struct reservation *hold_ended(const struct op *op)
{
	bool                      replaced = op_writes(op, OP_RESERVE) && op->other;
	bool                      ended = !op_trait(op)->divides && (op->becomes == RELEASED || op->becomes == SETTLED);
	const struct reservation *of = replaced ? op->other : ended || op_writes(op, OP_OFF_HOLD) ? op->found : NULL;

	return op->writes && of && of->noted & NOTED_ON_HOLD ? of : NULL;
}

static void ends_run(struct txn *t, const struct values *ids)
{
	if (ids->count == 0)
		return;
	txn_run(t, ON_HOLD_END, &(struct fill){.rows = ids});
	txn_run(t, ON_HOLD_REMOVE, &(struct fill){.rows = ids});
}

void on_hold_write(struct lane *l)
{
	if (!txn_goes_on(&l->txn))
		return;
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++)
		if (hold_ended(l->batch.ops[i]))
			values_row(&l->rows, V_INT(hold_ended(l->batch.ops[i])->reservation_id));
	ends_run(&l->txn, &l->rows);
	rows_add(l);
}

void on_hold_end(struct txn *t, struct reservation *const *list, size_t count)
{
	struct values ids = {0};

	for (size_t i = 0; i < count; i++)
		if (list[i]->noted & NOTED_ON_HOLD)
			values_row(&ids, V_INT(list[i]->reservation_id));
	ends_run(t, &ids);
	values_fini(&ids);
}

/* ---- told */

void on_hold_changed(struct reservation *r, const struct op *op)
{
	bool on = op->kind == OP_ON_HOLD;

	r->hold_until = on ? op->change.hold_until : 0;
	r->hold_reason = on ? (char *)op->change.reason : NULL;
	r->noted = (uint8_t)(on ? r->noted | NOTED_ON_HOLD : r->noted & ~NOTED_ON_HOLD);
}
