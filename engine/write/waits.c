/* waits.c - see waits.h. The rows of the lines follow the reservations: one pass behind all other writes, whatever the
 * operation was. */
#include "engine/write/waits.h"

/* A line of the new order waits. */
static bool op_waits(const struct op *op)
{
	for (size_t i = 0; i < op->lines_count; i++)
		if (op->lines[i].granted > 0 && op->lines[i].location && line_waits(&op->lines[i]))
			return true;
	return false;
}

/* A part, and a replacement for which no other time was given, have the time of the order that they come from, whether
 * a line waits just now or not: it may be lost again. */
int64_t op_waits_since(const struct op *op)
{
	int64_t given = 0;

	if (op->kind == OP_RESERVE && op->reserve.waits_since > 0)
		given = op_waits(op) ? op->reserve.waits_since : 0;
	else if (op->other && op_trait(op)->makes && !op_trait(op)->of_movement)
		given = op->other->waits_since;
	return given > 0 ? given : 0;
}

/* Lists the waiting ones of these lines, of reservation `id`; they come from `old` (0: from none). */
static void lines_list(struct values *rows, const struct line *lines, size_t count, uint64_t id, bool held,
                       int64_t given, uint64_t old)
{
	for (size_t i = 0; i < count; i++)
		if (lines[i].granted > 0 && line_waits(&lines[i]))
			values_row(rows, V_INT(id), V_INT(sku_id(lines[i].sku)), V_INT(lines[i].location->location_id),
			           V_INT(held), V_INT(given > 0 ? given : 0), V_INT(old));
}

/* An order that comes by a reservation, or off another one by a split. */
static void made_list(struct lane *l, const struct op *op, struct values *ids)
{
	enum reservation_state state = op_state(op);

	if ((state != HELD && state != CONFIRMED) || !op_waits(op))
		return;
	lines_list(&l->rows, op->lines, op->lines_count, op->new_id, state == HELD,
	           op->kind == OP_RESERVE ? op->reserve.waits_since : 0, op->other ? op->other->reservation_id : 0);
	values_row(ids, V_INT(op->new_id));
}

/* An order that was there. */
static void changed_list(struct lane *l, const struct op *op, struct values *ids)
{
	const struct reservation *of = op_changes(op);

	bool stays = op->kind == OP_EXTEND || op->kind == OP_ON_HOLD || op->kind == OP_OFF_HOLD;

	if (!of || stays || !lines_wait(of->lines, of->lines_count))
		return;
	values_row(ids, V_INT(of->reservation_id));
	if (op->kind == OP_CONFIRM && of->state == EXPIRED) /* its lines were removed when it was swept */
		lines_list(&l->rows, of->lines, of->lines_count, of->reservation_id, false, of->waits_since, 0);
}

/* The times that were given, which a GET of the order tells. */
static void given_write(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		if (op->writes && op_waits_since(op) > 0)
			values_row(&l->rows, V_INT(op->new_id), V_INT(op_waits_since(op)));
	}
	if (l->rows.count > 0)
		txn_run(&l->txn, WAITS_SINCE_ADD, &(struct fill){.rows = &l->rows});
}

void waits_write(struct lane *l)
{
	struct values ids = {0};
	bool          given = false;

	if (!txn_goes_on(&l->txn))
		return;
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		if (!op->writes || op_trait(op)->of_movement)
			continue;
		given |= op_waits_since(op) > 0;
		changed_list(l, op, &ids);
		if (op_trait(op)->makes)
			made_list(l, op, &ids);
	}
	if (l->rows.count > 0)
		txn_run(&l->txn, WAITING_ADD, &(struct fill){.rows = &l->rows});
	if (ids.count > 0) {
		txn_run(&l->txn, WAITING_CONFIRM, &(struct fill){.rows = &ids});
		txn_run(&l->txn, WAITING_END, &(struct fill){.rows = &ids});
		txn_run(&l->txn, RESERVATION_WAIT, &(struct fill){.rows = &ids});
	}
	if (ids.count > 0 || given)
		given_write(l);
	values_fini(&ids);
}
