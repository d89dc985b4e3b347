/* changes.c - see changes.h. A step that does several things gives an event for each. */
#include "engine/write/changes.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/log/event.h"
#include "engine/write/amend.h"
#include "engine/write/losses.h"
#include "engine/write/reservation.h"
#include "engine/promise/shares.h"
#include "engine/write/split.h"

static void reserve_tell(struct text *to, const struct op *op)
{
	struct event_head head = {
		.type = EVENT_HELD, .by = op->key_id, .cause = op->other ? op->other->order_id : NULL};
	struct reservation r;

	if (op->other) {
		r = *op->other;
		r.state = RELEASED;
		r.released_at = 0;
		r.replaced_by = (char *)op->id;
		event_reservation(to, &(struct event_head){.type = EVENT_REPLACED, .by = op->key_id, .cause = op->id},
		                  &r, op->other->lines, op->other->lines_count, false);
	}
	reservation_held(&r, op, 0);
	r.reference = (char *)op->reference;
	r.customer = (char *)op->customer;
	event_reservation(to, &head, &r, op->lines, op->lines_count, true);
	if (op->becomes != CONFIRMED)
		return;
	r.state = CONFIRMED;
	r.confirmed_at = op_confirmed_at(op, 0);
	event_reservation(to, &(struct event_head){.type = EVENT_CONFIRMED, .by = op->key_id}, &r, op->lines,
	                  op->lines_count, true);
}

static void change_tell(struct text *to, const struct op *op, enum event_type type, const char *cause)
{
	struct event_head  head = {.type = type, .by = op->key_id, .cause = cause};
	struct reservation r = *op->found;

	reservation_changed(&r, op, 0);
	event_reservation(to, &head, &r, op->found->lines, op->found->lines_count, false);
}

static void confirm_tell(struct text *to, const struct op *op)
{
	change_tell(to, op, EVENT_CONFIRMED, op->change.reacquired ? "reacquired" : NULL);
}

static void release_tell(struct text *to, const struct op *op)
{
	change_tell(to, op, EVENT_RELEASED, NULL);
}

static void extend_tell(struct text *to, const struct op *op)
{
	change_tell(to, op, EVENT_EXTENDED, NULL);
}

/* The event of the movement that took the units of this order. */
static void settled_tell(struct text *to, const struct op *op, struct reservation *r)
{
	struct event_head head = {.by = op->key_id};
	struct settlement settlement;

	settlement_of_order(&settlement, r->reservation_id, op->id);
	settlement_tell(to, &head, &r, 1, &settlement);
}

static void settle_tell(struct text *to, const struct op *op)
{
	change_tell(to, op, EVENT_SETTLED, NULL);
	settled_tell(to, op, op->found);
}

static void on_hold_tell(struct text *to, const struct op *op)
{
	change_tell(to, op, EVENT_ON_HOLD, NULL);
}

static void off_hold_tell(struct text *to, const struct op *op)
{
	change_tell(to, op, EVENT_OFF_HOLD, NULL);
}

static void kick_tell(struct text *to, const struct op *op)
{
	change_tell(to, op, EVENT_KICKED, NULL);
}

/* The lines that stay in the first; those that left whole have none `granted`. */
static struct line *lines_left(const struct op *op)
{
	const struct reservation *first = op->other;
	struct line              *left = mem_alloc((first->lines_count + 1) * sizeof(*left));

	for (size_t i = 0; i < first->lines_count; i++) {
		left[i] = first->lines[i];
		left[i].granted = left[i].qty;
		for (size_t k = 0; k < op->lines_count; k++)
			if (op->lines[k].sku == left[i].sku && op->lines[k].location == left[i].location)
				left[i].granted -= op->lines[k].qty;
	}
	return left;
}

/* The part, which came in the state of the first, enters that of its own. */
static void part_tell(struct text *to, const struct op *op)
{
	static const enum event_type entered[STATES] = {
		[CONFIRMED] = EVENT_CONFIRMED, [RELEASED] = EVENT_RELEASED, [SETTLED] = EVENT_SETTLED};
	struct reservation *part = split_made(op, 0);

	event_reservation(to, &(struct event_head){.type = entered[part->state], .by = op->key_id}, part, part->lines,
	                  part->lines_count, false);
	if (part->state == SETTLED)
		settled_tell(to, op, part);
	reservation_free(part);
}

static void split_tell(struct text *to, const struct op *op)
{
	struct event_head  head = {.type = EVENT_SPLIT, .by = op->key_id, .cause = op->id};
	struct line       *left = lines_left(op);
	struct reservation part;

	event_reservation(to, &head, op->other, left, op->other->lines_count, true);
	free(left);
	head.cause = op->other->order_id;
	split_parted(&part, op, op->other->state, 0);
	part.customer = op->other->customer;
	event_reservation(to, &head, &part, op->lines, op->lines_count, false);
	if (op_state(op) != op->other->state)
		part_tell(to, op);
}

static void move_tell(struct text *to, const struct op *op)
{
	struct movement m = {.kind = op->move.kind,
	                     .created_at = 0,
	                     .reason = (char *)op->move.reason,
	                     .reference = (char *)op->reference,
	                     .order_id = (char *)op->other_id,
	                     .transfers = op->move.transfers_count > 0 ? op->move.transfers : NULL,
	                     .transfers_count = op->move.transfers_count};
	size_t          count = op->lines_count;
	struct line    *lines =
                op->losses ? losses_lines(op, &count)
			      : memcpy(mem_alloc((count + 1) * sizeof(*lines)), op->lines, count * sizeof(*lines));

	for (size_t i = 0; op_moves(op, BOOKS) && i < op->lines_count; i++)
		lines[i].granted = lines[i].qty; /* the units that will be moved */
	memcpy(m.movement_id, op->id, sizeof(op->id));
	event_movement(to, &(struct event_head){.type = event_of_movement(m.kind), .by = op->key_id}, &m, op->key_id,
	               lines, count);
	free(lines);
	if (op->losses)
		losses_tell(to, op);
}

static void (*const tells[OP_KINDS])(struct text *to, const struct op *op) = {
#define ASKED(kind, ...)
#define LANE(kind, noun, ...) [kind] = noun##_tell,
#include "engine/op_kinds.def"
#undef LANE
#undef ASKED
};

void changes_write(struct lane *l)
{
	text_reset(&l->changes);
	for (size_t i = 0; txn_goes_on(&l->txn) && i < l->batch.count; i++) /* else what it tells of was not made */
		if (l->batch.ops[i]->writes)
			tells[l->batch.ops[i]->kind](&l->changes, l->batch.ops[i]);
}
