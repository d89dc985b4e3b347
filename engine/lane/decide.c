/* decide.c - see decide.h. One function per kind, in the order of outcome.def: facts first, then refusals, then the
 * units that move. */
#include "engine/lane/decide.h"
#include "engine/lane/certain.h"
#include "engine/lane/group.h"
#include "engine/lane/kinds.h"
#include "engine/lane/quota.h"
#include "engine/lane/returned.h"

/* Units that a reservation may have. */
static int64_t line_left(struct batch *b, const struct line *line)
{
	const struct balance *p = line_balance(b, line);

	if (!p)
		return 0;
	return p->waited ? balance_for_sale(p) : p->left;
}

static enum outcome unknown_skus(struct op *op)
{
	enum outcome out = OUTCOME_OK;

	for (size_t i = 0; i < op->lines_count; i++) {
		op->lines[i].fault = !op->lines[i].sku;
		if (op->lines[i].fault)
			out = UNKNOWN_SKU;
	}
	for (size_t i = 0; i < op->choices_count; i++)
		op->choices[i].fault = !op->lines[op->choices[i].line[0]].sku;
	return out;
}

static void balance_hold(struct balance *p, int64_t qty)
{
	p->left -= qty;
	p->take += qty;
	p->hold += qty;
}

_Static_assert(IS_CLAIMED - IS_HELD == BURIED - HELD + 1, "outcome.def has the states together");
/* The state, told as a refusal. An operation does nothing to a state that this version does not know, and is told to
 * come again: another version may know it. */
static enum outcome state_outcome(enum reservation_state s)
{
	static const enum outcome outcomes[STATES] = {
		[HELD] = IS_HELD,         [CONFIRMED] = IS_CONFIRMED, [SETTLED] = IS_SETTLED,
		[RELEASED] = IS_RELEASED, [EXPIRED] = IS_EXPIRED,     [BURIED] = IS_BURIED,
	};

	return s > 0 && s < STATES ? outcomes[s] : BUSY;
}

static const struct line *stored_line(const struct reservation *r, const struct line *line)
{
	return r ? line_like(r->lines, r->lines_count, line) : NULL;
}

bool op_is_over_held(const struct op *op)
{
	const struct reservation *old;
	int64_t                   units;

	if (!op->reserve.limited)
		return false;
	old = op_replaced(op);
	units = op_units(op);
	if (old && old->state != CONFIRMED && old->key_id == op->key_id)
		units -= lines_units(old->lines, old->lines_count);
	return units > op->reserve.room;
}

/* May the other order be replaced? */
static enum outcome replaced_decide(const struct op *op)
{
	enum reservation_state state;

	if (!op->other_id)
		return OUTCOME_OK;
	if (!op->other)
		return NO_OTHER;
	state = reservation_reads(op->other);
	if (state == CONFIRMED && op->becomes == CONFIRMED)
		return op->claim ? IS_CLAIMED : OUTCOME_OK;
	return state == HELD ? OUTCOME_OK : state_outcome(state);
}

/* Judges a line by itself. Units of the replaced order, or of the order itself, count at their own location; a damaged
 * row may have less than none. */
static void line_decide(struct batch *b, struct op *op, struct line *line)
{
	const struct line *old = b->needs & NEEDS_BACK ? stored_line(op_replaced(op), line) : NULL;

	line->reserved = old && old->qty > 0 ? old->qty : 0;
	line->available = line->reserved;
	if (!(b->needs & NEEDS_LOCATION && line_is_stopped(line)))
		line->available += line_left(b, line);
	line->fault = line->qty > 0 && line->available < line->qty;
	line->granted = !line->fault ? line->qty : line->available > 0 ? line->available : 0;
	line->limited = false;
}

/* True: what the order has is to stay where it is, because it takes the place of a confirmed one, or its own. */
static bool op_stays(const struct op *op)
{
	return op->kind == OP_AMEND || (op->other && op->other->state == CONFIRMED);
}

/* Units at location number `k` of a choice that the lines before it have not taken. */
static int64_t choice_left(const struct op *op, const struct choice *choice, size_t k)
{
	const struct line *line = &op->lines[choice->line[k]];

	return line->available > line->granted ? line->available - line->granted : 0;
}

/* Of these the units of the replaced order. */
static int64_t choice_kept(const struct op *op, const struct choice *choice, size_t k)
{
	const struct line *line = &op->lines[choice->line[k]];

	return line->reserved > line->granted ? line->reserved - line->granted : 0;
}

static void choice_take(struct op *op, struct choice *choice, size_t k, int64_t left)
{
	int64_t want = choice->wanted - choice->granted, part = want < left ? want : left;

	op->lines[choice->line[k]].granted += part;
	choice->granted += part;
}

/* All units at the first location that has them, otherwise those of the location that has most. Units that are to stay
 * stay where the replaced order has them all. */
static void choice_decide_whole(struct op *op, struct choice *choice)
{
	size_t most = 0;

	for (size_t k = 0; k < choice->count && choice_left(op, choice, most) < choice->wanted; k++)
		if (choice_left(op, choice, k) > choice_left(op, choice, most))
			most = k;
	for (size_t k = choice->count; op_stays(op) && k-- > 0;)
		if (choice_kept(op, choice, k) >= choice->wanted)
			most = k;
	for (size_t k = 0; k < choice->count; k++)
		if (choice_left(op, choice, k) > choice->available)
			choice->available = choice_left(op, choice, k);
	choice_take(op, choice, most, choice_left(op, choice, most));
}

/* Piece by piece, what is to stay first. */
static void choice_decide_parts(struct op *op, struct choice *choice)
{
	for (size_t k = 0; k < choice->count; k++)
		choice->available += choice_left(op, choice, k);
	for (size_t k = 0; op_stays(op) && k < choice->count; k++)
		choice_take(op, choice, k, choice_kept(op, choice, k));
	for (size_t k = 0; k < choice->count; k++)
		choice_take(op, choice, k, choice_left(op, choice, k));
}

static void choice_decide(struct batch *b, struct op *op, struct choice *choice)
{
	choice->available = choice->granted = 0;
	choice->limited = false;
	choice->wanted = quota_wanted(b->quotas, op, choice);
	if (choice->may_split)
		choice_decide_parts(op, choice);
	else
		choice_decide_whole(op, choice);
	choice->fault = choice->granted < choice->qty;
	quota_counted(b->quotas, op, choice);
}

/* Units that the replaced order has stay in their slot where they are enough. Otherwise all are held in the own slot,
 * and only the difference leaves `available`. */
static void line_hold(struct batch *b, struct op *op, struct line *line)
{
	const struct line *old = line->reserved > 0 ? stored_line(op_replaced(op), line) : NULL;
	int64_t            more = line->granted - line->reserved;
	struct balance    *p = line_balance(b, line);

	line->slot = old && more <= 0 ? old->slot : (uint16_t)b->slot;
	if (more <= 0)
		return;
	balance_hold(p, more);
	if (old && old->slot != b->slot) {
		p->hold += line->reserved;
		p->moved += line->reserved;
	}
}

/* Why an order gets no units, or too few: stops are told before limits, as locations_decide tells them. */
static enum outcome short_decide(struct batch *b, struct op *op, bool nothing)
{
	if (b->needs & NEEDS_LOCATION && stops_decide(op))
		return NOT_FOR_SALE;
	return nothing && quotas_left_nothing(b->quotas, op) ? LIMIT_REACHED : SHORT;
}

/* Grants units to each line: plain lines first, then choices. */
static enum outcome lines_decide(struct batch *b, struct op *op)
{
	int64_t granted = 0;
	bool    faults = false;

	for (size_t i = 0; i < op->lines_count; i++)
		line_decide(b, op, &op->lines[i]);
	if (b->needs & NEEDS_QUOTA)
		quotas_cap(b->quotas, op);
	for (size_t i = 0; i < op->choices_count; i++) {
		choice_decide(b, op, &op->choices[i]);
		faults |= op->choices[i].fault;
	}
	for (size_t i = 0; i < op->lines_count; i++) {
		granted += op->lines[i].granted;
		faults |= op->lines[i].fault;
	}
	if (granted > 0 && !(faults && op->reserve.mode == ALL_OR_NOTHING))
		return OUTCOME_OK;
	return short_decide(b, op, granted == 0);
}

/* Which units the order may have. */
static enum outcome units_decide(struct batch *b, struct op *op)
{
	enum outcome out = unknown_skus(op);

	if (out == OUTCOME_OK && b->needs & NEEDS_LOCATION)
		out = locations_decide(op);
	if (out == OUTCOME_OK && b->needs & NEEDS_QUOTA)
		out = quotas_judge(b->quotas, op);
	return out == OUTCOME_OK ? lines_decide(b, op) : out;
}

static void units_take(struct batch *b, struct op *op)
{
	for (size_t i = 0; i < op->lines_count; i++)
		line_hold(b, op, &op->lines[i]);
	if (b->needs & NEEDS_QUOTA)
		quotas_take(b->quotas, op);
}

static enum outcome reserve_decide(struct batch *b, struct op *op)
{
	enum outcome out;

	if (op->found)
		return order_outcome(op);
	if (op->needs & NEEDS_HOLD && op_is_over_held(op))
		return TOO_MUCH_HELD;
	out = replaced_decide(op);
	if (out == OUTCOME_OK)
		out = units_decide(b, op);
	if (out == OUTCOME_OK)
		units_take(b, op);
	return out;
}

/* True: the lines of the operation, as they were asked for or as they are granted, are those that the order has. */
static bool lines_stay(const struct op *op, bool granted)
{
	size_t found = 0;

	for (size_t i = 0; i < op->lines_count; i++) {
		const struct line *line = &op->lines[i], *old = stored_line(op->found, line);
		int64_t            units = granted ? line->granted : line->qty;

		if (units != (old ? old->qty : 0))
			return false;
		found += old != NULL;
	}
	return found == op->found->lines_count;
}

/* True: what is asked for is what the order has. A repeat of a call with lists of locations finds the units where the
 * call has put them (op_stays). */
static bool lines_are_had(struct batch *b, struct op *op)
{
	if (op->choices_count == 0)
		return lines_stay(op, false);
	return op->reserve.mode == ALL_OR_NOTHING && lines_decide(b, op) == OUTCOME_OK && lines_stay(op, true);
}

/* May the lines of the order become others? The lines that it has already were set before, whatever its version is by
 * now. */
static enum outcome amended_decide(struct batch *b, struct op *op, enum reservation_state state)
{
	int64_t version = op->found->version ? op->found->version : op->found->changed;
	bool    had = lines_are_had(b, op);

	for (size_t i = 0; i < op->lines_count; i++)
		op->lines[i].fault = false;
	for (size_t i = 0; i < op->choices_count; i++)
		op->choices[i].fault = false;
	if (had)
		return op_repeats(op);
	if (state != HELD && state != CONFIRMED)
		return state_outcome(state);
	if (op->claim && !op->reserve.force)
		return IS_CLAIMED;
	if (op->reserve.if_version >= 0 && op->reserve.if_version != version)
		return IS_CHANGED;
	return state == HELD && op->found->key_id == op->key_id && op_is_over_held(op) ? TOO_MUCH_HELD : OUTCOME_OK;
}

static enum outcome amend_decide(struct batch *b, struct op *op)
{
	enum outcome out;

	out = amended_decide(b, op, reservation_reads(op->found));
	if (out == OUTCOME_OK)
		out = units_decide(b, op);
	if (out == OUTCOME_OK && lines_stay(op, true))
		return OUTCOME_REPLAYED;
	if (out == OUTCOME_OK)
		units_take(b, op);
	return out;
}

/* May the units of an order in this state leave the stock by its id? No part of an order that is held back may. */
static enum outcome settled_decide(const struct op *op, enum reservation_state state)
{
	if (state != CONFIRMED && state != BURIED)
		return state_outcome(state);
	if (op->claim && !op->change.force)
		return IS_CLAIMED;
	return reservation_on_hold(op_changes(op)) && (op->kind == OP_SPLIT || !op->change.force) ? IS_ON_HOLD
	                                                                                          : OUTCOME_OK;
}

/* Which units the first reservation has of each line, and in which slot. */
static enum outcome split_decide(struct batch *b, struct op *op)
{
	struct reservation    *f = op->other;
	enum reservation_state state;
	enum outcome           out = OUTCOME_OK;

	(void)b;
	if (op->found)
		return order_outcome(op);
	if (!f)
		return NO_ORDER;
	state = reservation_reads(f);
	if (state != CONFIRMED && (state != HELD || op->becomes == SETTLED))
		return state_outcome(state);
	out = op->becomes == SETTLED ? settled_decide(op, state) : OUTCOME_OK;
	if (out != OUTCOME_OK)
		return out;
	for (size_t i = 0; i < op->lines_count; i++) {
		struct line       *line = &op->lines[i];
		const struct line *of = stored_line(f, line);

		line->available = of ? of->qty : 0;
		line->fault = line->available < line->qty;
		if (line->fault) {
			out = NOT_IN_ORDER;
			continue;
		}
		line->sku = of->sku;
		line->location = of->location;
		line->slot = of->slot;
		line->granted = line->qty;
	}
	if (out == OUTCOME_OK && op->becomes == SETTLED)
		out = waits_decide(op->lines, op->lines_count);
	if (out == OUTCOME_OK && lines_units(op->lines, op->lines_count) == lines_units(f->lines, f->lines_count))
		return NOTHING_LEFT;
	return out;
}

/* May units come back from the order that the movement names? */
static enum outcome origin_decide(const struct op *op)
{
	enum reservation_state state;

	if (!op->other_id)
		return OUTCOME_OK;
	if (!op->other)
		return NO_OTHER;
	state = reservation_reads(op->other);
	return state == SETTLED ? OUTCOME_OK : state_outcome(state);
}

static enum outcome move_decide(struct batch *b, struct op *op)
{
	bool         expects = op_expects(op);
	enum outcome out;

	if (op->move.found)
		return movement_outcome(op);
	if (op->move.over_limit)
		return LIMIT;
	out = origin_decide(op);
	if (out == OUTCOME_OK)
		out = unknown_skus(op);
	if (out == OUTCOME_OK)
		out = moved_locations_decide(op);
	if (out == OUTCOME_OK && op->other_id)
		out = returned_decide(op);
	if (out != OUTCOME_OK)
		return out;
	for (size_t i = 0; i < op->lines_count; i++) {
		struct line          *line = &op->lines[i];
		const struct balance *p = line_balance(b, line);

		line->available = p ? p->left : 0;
		line->granted = line->qty;
		line->fault = line->available < line_takes(op, line) &&
		              ((!op_moves(op, BOOKS) && !line->loss && !expects) ||
		               !line->location); /* orders may have what arrives, or is lost; the level is told first */
		if (line->fault)
			out = SHORT;
	}
	if (out != OUTCOME_OK || op->exclusive) /* an exclusive operation is decided under its own locks */
		return out;
	for (size_t i = 0; i < op->lines_count; i++) {
		struct balance *p = line_balance(b, &op->lines[i]);
		int64_t         qty = op->lines[i].qty;

		if (!p)
			continue; /* a sum of zero where nothing was ever stocked */
		p->left += qty;
		if (qty > 0)
			p->add += qty;
		else
			p->take -= qty;
	}
	return OUTCOME_OK;
}

/* Decides on a reservation that has expired and is wanted all the same. An unswept hold still has its units; a swept
 * one takes them again, all or nothing. */
static enum outcome reacquire_decide(struct batch *b, struct op *op)
{
	struct reservation *f = op->found;
	enum outcome        out = OUTCOME_OK;
	bool                short_of = false;

	op->change.reacquired = true;
	for (size_t i = 0; i < f->lines_count; i++) {
		f->lines[i].fault = !line_is_for_sale(&f->lines[i]) || line_is_stopped(&f->lines[i]);
		if (f->lines[i].fault)
			out = NOT_FOR_SALE;
	}
	if (out == OUTCOME_OK)
		out = quotas_judge_again(b->quotas, f);
	if (f->state == HELD)
		return out;
	for (size_t i = 0; out == OUTCOME_OK && i < f->lines_count; i++) {
		f->lines[i].available = line_left(b, &f->lines[i]);
		f->lines[i].fault = f->lines[i].available < f->lines[i].qty || f->lines[i].qty < 1; /* < 1: damaged */
		short_of |= f->lines[i].fault;
	}
	if (short_of)
		return SHORT;
	if (out != OUTCOME_OK)
		return out;
	for (size_t i = 0; i < f->lines_count; i++)
		balance_hold(line_balance(b, &f->lines[i]), f->lines[i].qty);
	quotas_take_again(b->quotas, f);
	return OUTCOME_OK;
}

static enum outcome confirm_decide(struct batch *b, struct op *op)
{
	const struct reservation *f = op->found;

	op->change.reacquired = false;
	switch (reservation_reads(f)) {
	case HELD:
		return OUTCOME_OK;
	case EXPIRED:
		return op->change.reacquire ? reacquire_decide(b, op) : IS_EXPIRED;
	case CONFIRMED:
	case SETTLED:
	case BURIED:
		return OUTCOME_REPLAYED;
	default:
		return state_outcome(f->state); /* released */
	}
}

static enum outcome release_decide(struct batch *b, struct op *op)
{
	const struct reservation *f = op->found;

	(void)b;
	switch (reservation_reads(f)) {
	case RELEASED:
		return OUTCOME_REPLAYED;
	case HELD:
		return OUTCOME_OK;
	case CONFIRMED:
	case BURIED:
		return op->change.if_held ? state_outcome(f->state) : OUTCOME_OK;
	default:
		return state_outcome(reservation_reads(f)); /* settled, expired */
	}
}

static enum outcome extend_decide(struct batch *b, struct op *op)
{
	const struct reservation *f = op->found;

	(void)b;
	return reservation_reads(f) == HELD ? OUTCOME_OK : state_outcome(reservation_reads(f));
}

static enum outcome kick_decide(struct batch *b, struct op *op)
{
	const struct reservation *f = op->found;

	(void)b;
	if (f->state == CONFIRMED && f->attempts == 0 && !f->task_id && f->last_error &&
	    strcmp(f->last_error, ERROR_LOCKED) != 0)
		return OUTCOME_REPLAYED; /* kicked already, and not claimed since */
	return f->state == BURIED ? OUTCOME_OK : state_outcome(reservation_reads(f));
}

static enum outcome settle_decide(struct batch *b, struct op *op)
{
	enum outcome out;

	(void)b;
	if (op->found->state == SETTLED)
		return OUTCOME_REPLAYED;
	out = settled_decide(op, reservation_reads(op->found));
	return out == OUTCOME_OK ? waits_decide(op->found->lines, op->found->lines_count) : out;
}

/* The end of a hold and its reason are as the operation says, or a repeat of this call finds them so. */
static bool is_held_so(const struct reservation *f, const struct change *change)
{
	bool ends = f->hold_until == change->hold_until ||
	            !(hold_has_end(f->hold_until) || hold_has_end(change->hold_until));

	return reservation_on_hold(f) && ends && texts_equal(f->hold_reason, change->reason);
}

static enum outcome on_hold_decide(struct batch *b, struct op *op)
{
	const struct reservation *f = op->found;

	(void)b;
	if (!reservation_is_live(reservation_reads(f)))
		return state_outcome(reservation_reads(f));
	if (is_held_so(f, &op->change))
		return OUTCOME_REPLAYED;
	return op->claim ? IS_CLAIMED : OUTCOME_OK;
}

/* An order that has ended is not held back any more: another call for it is a replay. */
static enum outcome off_hold_decide(struct batch *b, struct op *op)
{
	const struct reservation *f = op->found;

	(void)b;
	return reservation_is_live(reservation_reads(f)) && reservation_on_hold(f) ? OUTCOME_OK : OUTCOME_REPLAYED;
}

static enum outcome (*const decisions[OP_KINDS])(struct batch *b, struct op *op) = {
#define ASKED(kind, ...)
#define LANE(kind, noun, ...) [kind] = noun##_decide,
#include "engine/op_kinds.def"
#undef LANE
#undef ASKED
};

/* Checks the invariants of a decision. Nothing is granted twice: units that leave were there or came in before, and
 * reserved units are among those that leave, or were reserved before. No row breaks them: a balance begins between 0
 * and QTY_MAX (balance.c), a batch adds 1e15 at most, and whatever takes asks for what is left first. */
static void balance_check(const struct balance *p)
{
	assert(p->left >= 0 || p->left == p->total);
	assert(p->hold >= 0 && p->moved >= 0 && p->hold <= p->take + p->moved && p->add >= 0);
	assert(p->take <= p->total + p->add || p->take == 0);
	assert(p->left == p->total + p->add - p->take);
}

/* Units that a customer gives back may go to later operations of the batch. */
static void released_count(struct batch *b, const struct op *op)
{
	const struct line *lines;
	size_t             count = op_ended(op, &lines);

	quotas_give(b->quotas, op_changes(op), lines, count);
}

static void op_decide(struct batch *b, struct op *op)
{
	bool absent = !op_trait(op)->makes && !op->found;

	op->outcome = absent ? NO_ORDER : decisions[op->kind](b, op);
	op->writes = op->outcome == OUTCOME_OK;
	if (op->writes && op->becomes == RELEASED && b->needs & NEEDS_QUOTA)
		released_count(b, op);
}

static void op_count(struct batch *b, const struct op *op)
{
	bool whole = op->kind == OP_RESERVE && op->reserve.mode == ALL_OR_NOTHING;

	if (op->writes)
		b->writes |= op->needs;
	if (!(op->writes && whole) && op_is_refused(op))
		b->needs |= NEEDS_CERTAINTY;
}

/* Decides on the items of an atomic call, in their order, and then on the call. Returns their number. */
static size_t group_decide(struct batch *b, size_t first)
{
	struct op **ops = b->ops + first;
	size_t      count = op_unit(ops, b->count - first);

	group_mark(b, ops, count);
	for (size_t i = 0; i < count; i++)
		op_decide(b, ops[i]);
	group_judge(b, ops, count);
	for (size_t i = 0; i < count; i++)
		op_count(b, ops[i]);
	return count;
}

void decide(struct batch *b)
{
	for (size_t i = 0; i < b->balances_count; i++) {
		struct balance *p = &b->balances[i];

		p->left = p->total;
		p->take = p->hold = p->add = p->moved = 0;
	}
	if (b->needs & NEEDS_QUOTA)
		quotas_begin(b->quotas);
	b->needs &= ~(unsigned)(NEEDS_CERTAINTY | NEEDS_GATHER);
	b->writes = 0;
	for (size_t i = 0; i < b->count; i++) {
		if (b->ops[i]->atomic) {
			i += group_decide(b, i) - 1;
		} else {
			op_decide(b, b->ops[i]);
			op_count(b, b->ops[i]);
		}
	}
	for (size_t i = 0; i < b->balances_count; i++) {
		balance_check(&b->balances[i]);
		if (balance_gathers(&b->balances[i]))
			b->needs |= NEEDS_GATHER;
	}
	if (b->writes)
		b->writes |= b->needs & NEEDS_OF_ROWS;
}
