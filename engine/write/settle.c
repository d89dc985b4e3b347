/* settle.c - see settle.h. Settling by id is the completion of a task without a task: the units leave the slots that
 * the lines name (promise_keep), and a movement says so. The look tells which task has the order; a claim that comes
 * between the look and the write is seen by the write (is_had_as_read). */
#include "engine/write/settle.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/write/fence.h"
#include "engine/promise/shares.h"

/* ---- the task that has it */

/* The order that the operation settles, replaces, amends or holds back and that some task has, or had; NULL: there is
 * none. */
static const struct reservation *claimed_order(const struct op *op)
{
	bool                reads = op->becomes == SETTLED || op_asks(op) || op->kind == OP_ON_HOLD;
	struct reservation *r = reads ? op_changes(op) : NULL;

	return r && r->state == CONFIRMED && reservations_claimed(&r, 1) ? r : NULL;
}

static void claim_read(void *arg, const struct db_row *row)
{
	struct lane *l = arg;

	for (size_t i = 0; i < l->batch.count; i++) {
		struct op                *op = l->batch.ops[i];
		const struct reservation *r = claimed_order(op);

		if (!r || r->task_id != (uint64_t)db_int(row, 0) || op->claim)
			continue;
		op->claim = mem_alloc(sizeof(*op->claim));
		op->claim->task_id = r->task_id;
		db_copy(row, 1, op->claim->worker, sizeof(op->claim->worker));
		op->claim->lease_until = time_parse(row->col[2]);
	}
}

enum db_result claims_look_up(struct lane *l)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op                *op = l->batch.ops[i];
		const struct reservation *r = claimed_order(op);

		free(op->claim);
		op->claim = NULL;
		if (r)
			values_row(&l->rows, V_INT(r->task_id));
	}
	if (l->rows.count == 0)
		return DB_OK;
	return lane_ask(l, CLAIMS_OPEN, &(struct fill){.rows = &l->rows}, claim_read, l);
}

/* ---- the movements */

void settlements_insert(struct lane *l)
{
	struct settlement *settlements;
	struct values      lines = {0};

	if (!txn_goes_on(&l->txn))
		return;
	assert(l->batch.count > 0);
	settlements = mem_alloc(l->batch.count * sizeof(*settlements));
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op   *op = l->batch.ops[i];
		struct shares      shares = {0};
		const struct line *ended;
		size_t             count;

		if (!op->writes || op->becomes != SETTLED)
			continue;
		settlement_of_order(&settlements[i], op->found ? op->found->reservation_id : op->new_id, op->id);
		settlements[i].movement_no = lane_new_id(l);
		settlement_row(&l->rows, &settlements[i], op->key_id);
		count = op_ended(op, &ended);
		promise_keep(&shares, op_changes(op), ended, count);
		for (size_t k = 0; k < shares.count; k++)
			settlement_line(&lines, &settlements[i], &shares.list[k]);
		shares_fini(&shares);
	}
	if (l->rows.count > 0) {
		txn_run(&l->txn, MOVEMENT_ADD, &(struct fill){.rows = &l->rows});
		txn_run(&l->txn, MOVEMENT_LINE_ADD, &(struct fill){.rows = &lines});
	}
	values_fini(&lines);
	free(settlements);
}
