/* waits.c - see waits.h. The rows of the lines follow the reservations: one pass behind all other writes, whatever the
 * operation was. */
#include "engine/write/waits.h"
#include "engine/promise/waiting.h"

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

	if (op_asks(op) && op->reserve.waits_since > 0)
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

/* The changes of the batch's orders in queues, but for new positions, which are in l->rows. */
struct waits {
	struct values ids;                /* orders with a line that waits, or waited */
	struct values amended;            /* of these orders those that may have several positions for a line */
	struct values follow, more, less; /* rows of WAITING_FOLLOW, WAITING_MORE, WAITING_LESS */
};

static void waits_fini(struct waits *w)
{
	values_fini(&w->ids);
	values_fini(&w->amended);
	values_fini(&w->follow);
	values_fini(&w->more);
	values_fini(&w->less);
}

static void order_list(struct waits *w, uint64_t id, bool amended)
{
	values_row(&w->ids, V_INT(id));
	if (amended)
		values_row(&w->amended, V_INT(id));
}

/* Later positions go along with the units that leave the other order for the new one. */
static void follow_list(struct waits *w, const struct op *op, bool held)
{
	const struct reservation *of = op->other;

	for (size_t i = 0; i < op->lines_count; i++) {
		const struct line *line = &op->lines[i], *old = line_like(of->lines, of->lines_count, line);
		int64_t            left = old ? old->qty - line->granted : 0;

		if (old && line->granted > 0 && line_waits(line))
			values_row(&w->follow, V_INT(op->new_id), V_INT(sku_id(line->sku)),
			           V_INT(line->location->location_id), V_INT(held), V_INT(of->reservation_id),
			           V_INT(old->qty), V_INT(left > 0 ? left : 0));
	}
}

/* An order that comes by a reservation, or off another one by a split. */
static void made_list(struct lane *l, const struct op *op, struct waits *w)
{
	enum reservation_state state = op_state(op);
	bool                   amended = op->other && op->other->noted & NOTED_AMENDED;

	if ((state != HELD && state != CONFIRMED) || !op_waits(op))
		return;
	lines_list(&l->rows, op->lines, op->lines_count, op->new_id, state == HELD,
	           op_asks(op) ? op->reserve.waits_since : 0, op->other ? op->other->reservation_id : 0);
	if (amended)
		follow_list(w, op, state == HELD);
	order_list(w, op->new_id, amended);
}

/* An order that was there. */
static void changed_list(struct lane *l, const struct op *op, struct waits *w)
{
	const struct reservation *of = op_changes(op);

	bool stays = op->kind == OP_EXTEND || op->kind == OP_ON_HOLD || op->kind == OP_OFF_HOLD;

	if (!of || stays || !lines_wait(of->lines, of->lines_count))
		return;
	order_list(w, of->reservation_id, of->noted & NOTED_AMENDED);
	if (op->kind == OP_CONFIRM && of->state == EXPIRED) /* its lines were removed when it was swept */
		lines_list(&l->rows, of->lines, of->lines_count, of->reservation_id, false, of->waits_since, 0);
}

/* A line of an order that got other lines: units that it had keep their positions, units that came are at the end. */
static void amended_line(struct lane *l, const struct op *op, const struct line *line, struct waits *w)
{
	const struct reservation *of = op->found;
	const struct line        *old = line_like(of->lines, of->lines_count, line);
	int64_t id = (int64_t)of->reservation_id, sku = sku_id(line->sku), location = line->location->location_id;
	int64_t more = line->granted - (old ? old->qty : 0);

	if (!old)
		lines_list(&l->rows, line, 1, of->reservation_id, of->state == HELD, 0, 0);
	else if (more > 0)
		values_row(&w->more, V_INT(id), V_INT(sku), V_INT(location), V_INT(of->state == HELD), V_INT(more));
	else if (more < 0)
		values_row(&w->less, V_INT(id), V_INT(sku), V_INT(location), V_INT(-more));
}

static void amended_list(struct lane *l, const struct op *op, struct waits *w)
{
	if (!op_waits(op) && !lines_wait(op->found->lines, op->found->lines_count))
		return;
	order_list(w, op->found->reservation_id, true);
	for (size_t i = 0; i < op->lines_count; i++)
		if (op->lines[i].granted > 0 && line_waits(&op->lines[i]))
			amended_line(l, op, &op->lines[i], w);
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
	txn_rows(&l->txn, WAITS_SINCE_ADD, &l->rows);
}

static void orders_run(struct lane *l, struct waits *w)
{
	txn_rows(&l->txn, WAITING_ADD, &l->rows);
	txn_rows(&l->txn, WAITING_FOLLOW, &w->follow);
	txn_rows(&l->txn, WAITING_MORE, &w->more);
	txn_rows(&l->txn, WAITING_LESS, &w->less);
	txn_rows(&l->txn, WAITING_CONFIRM, &w->ids);
	txn_rows(&l->txn, WAITING_JOIN, &w->amended);
	txn_rows(&l->txn, WAITING_END, &w->ids);
	if (w->amended.count > 0)
		waiting_trim(&l->txn, &w->amended);
	txn_rows(&l->txn, RESERVATION_WAIT, &w->ids);
}

void waits_write(struct lane *l)
{
	struct waits w = {0};
	bool         given = false;

	if (!txn_goes_on(&l->txn))
		return;
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		if (!op->writes || op_trait(op)->of_movement)
			continue;
		given |= op_waits_since(op) > 0;
		if (op->kind == OP_AMEND)
			amended_list(l, op, &w);
		else
			changed_list(l, op, &w);
		if (op_trait(op)->makes)
			made_list(l, op, &w);
	}
	orders_run(l, &w);
	if (w.ids.count > 0 || given)
		given_write(l);
	waits_fini(&w);
}
