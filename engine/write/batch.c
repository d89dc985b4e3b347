/* batch.c - see batch.h. */
#include "engine/write/batch.h"
#include "engine/base/memory.h"

/* ---- operations by their ids */

enum { IDS = 1 << 12 };

_Static_assert(4 * BATCH_OPS <= IDS, "the ids of a batch, two of each operation, fill half of their places");

struct batch_ids {
	uint16_t entries[IDS];        /* by hash of an id: index in ops * 2 + 1, or + 2 where it is other_id */
	uint16_t used[2 * BATCH_OPS]; /* the places of entries that are not 0 */
	size_t   count;
};

void batch_open(struct batch *b)
{
	b->ids = mem_alloc(sizeof(*b->ids));
}

void batch_close(struct batch *b)
{
	free(b->ids);
	free(b->marks);
}

/* An odd entry is of an operation's own id, an even one of the other order that it names. */
static bool entry_is(const struct batch *b, unsigned entry, bool movement, const char *id)
{
	const struct op *op = b->ops[(entry - 1) / 2];
	bool             own = entry % 2;

	return (own && op_trait(op)->of_movement) == movement && strcmp(own ? op->id : op->other_id, id) == 0;
}

static uint16_t *id_place(const struct batch *b, bool movement, const char *id, uint64_t hash)
{
	size_t at = (hash >> 1) % IDS;

	while (b->ids->entries[at] && !entry_is(b, b->ids->entries[at], movement, id))
		at = (at + 1) % IDS;
	return &b->ids->entries[at];
}

static uint16_t *other_place(const struct batch *b, const struct op *op)
{
	return id_place(b, false, op->other_id, op_id_hash(false, op->other_id));
}

struct op *batch_find(const struct batch *b, bool movement, const char *id)
{
	size_t entry = *id_place(b, movement, id, op_id_hash(movement, id));

	return entry && (entry - 1) / 2 < b->count ? b->ops[(entry - 1) / 2] : NULL;
}

bool batch_names(const struct batch *b, const struct op *op)
{
	return *id_place(b, op_trait(op)->of_movement, op->id, op->id_hash) != 0 ||
	       (op->other_id && *other_place(b, op) != 0);
}

static void id_enter(struct batch_ids *ids, uint16_t *place, size_t entry)
{
	if (*place == 0)
		ids->used[ids->count++] = (uint16_t)(place - ids->entries);
	*place = (uint16_t)entry;
}

void batch_name(struct batch *b, size_t at)
{
	const struct op *op = b->ops[at];
	uint16_t        *place = id_place(b, op_trait(op)->of_movement, op->id, op->id_hash);

	/* batch_fill ends a batch ahead of a twin, and at BATCH_OPS (l->limit). */
	assert(at < BATCH_OPS && *place == 0);
	id_enter(b->ids, place, at * 2 + 1);
	if (op->other_id)
		id_enter(b->ids, other_place(b, op), at * 2 + 2);
}

/* Clears the places that were used: a batch of one order uses one of thousands. */
void batch_unname(struct batch *b)
{
	while (b->ids->count > 0)
		b->ids->entries[b->ids->used[--b->ids->count]] = 0;
}

/* The promise of the order that it changes, or of the part that it takes out of it, is over. */
static bool op_ends(const struct op *op)
{
	return op->becomes == RELEASED || op->becomes == SETTLED;
}

/* An order that gets other lines keeps its notes. */
static unsigned asked_needs(const struct op *op)
{
	const struct reserve *r = &op->reserve;
	bool                  makes = op_trait(op)->makes;
	bool notes = op->reference || op->customer || r->ship_after > 0 || r->waits_since > 0 || r->mode == BEST_EFFORT;

	return NEEDS_UNITS | (makes && notes ? NEEDS_NOTE : 0) | (op->customer || !makes ? NEEDS_BACK : 0) |
	       (r->limited ? NEEDS_HOLD : 0);
}

unsigned op_needs(const struct op *op)
{
	unsigned needs = NEEDS(op->kind);

	if (op_asks(op))
		needs |= asked_needs(op);
	if (op->kind == OP_MOVE)
		needs |= NEEDS_UNITS | (op->other_id ? NEEDS_RETURN : 0);
	if (op_ends(op) || (op->kind == OP_CONFIRM && op->change.reacquire))
		needs |= NEEDS_UNITS | NEEDS_BACK;
	if (op->other_id)
		needs |= NEEDS_OTHER | NEEDS_BACK | (op->kind != OP_MOVE ? NEEDS_NOTE : 0);
	if (op->atomic)
		needs |= NEEDS_GROUP;
	return needs;
}

void batch_cut(struct batch *b, size_t count)
{
	assert(count <= b->count);
	b->cut += b->count - count;
	b->count = count;
}

/* ---- balances */

/* op_seal merged equal lines, so no balance occurs twice in an operation. Each plain line is judged alone; choices
 * share what is left at their places, in order. */
struct balance *line_balance(const struct batch *b, const struct line *line)
{
	return line->sku && line->location ? &b->balances[line->balance] : NULL;
}

bool balance_gathers(const struct balance *p)
{
	return p->take > p->own + p->add;
}

int64_t balance_for_sale(const struct balance *p)
{
	if (!p->waited)
		return p->left;
	return p->read_seq > 0 && p->left > p->kept ? p->left - p->kept : 0;
}

bool balance_is_shared(const struct balance *p)
{
	return p->waited && p->hold > p->moved;
}

/* ---- what an operation touches, changes and gives back */

struct reservation *op_touches(const struct op *op)
{
	if (op->kind == OP_CONFIRM)
		return op->change.reacquire ? op->found : NULL;
	if (op_ends(op))
		return op_changes(op);
	return op_replaced(op);
}

bool op_takes_again(const struct op *op)
{
	return op->kind == OP_CONFIRM && op->change.reacquired;
}

struct reservation *op_replaced(const struct op *op)
{
	if (!op_asks(op))
		return NULL;
	return op_trait(op)->makes ? op->other : op->found;
}

struct reservation *op_before(const struct op *op)
{
	return op_asks(op) ? op_replaced(op) : op->other;
}

struct reservation *op_changes(const struct op *op)
{
	return op->other_id ? op->other : op->found;
}

size_t op_ended(const struct op *op, const struct line **lines)
{
	const struct reservation *of = op_changes(op);

	*lines = op_trait(op)->divides ? op->lines : of->lines;
	return op_trait(op)->divides ? op->lines_count : of->lines_count;
}

void op_gives(const struct op *op, const struct batch *b, struct shares *s)
{
	const struct reservation *of = op_changes(op), *old = op_replaced(op);
	const struct line        *lines;
	size_t                    count;

	if (op->kind == OP_MOVE && of)
		portions_lower(&s->customers, of->customer, op->lines, op->lines_count);
	if (op->kind == OP_CONFIRM && of->state == EXPIRED)
		portions_raise(&s->customers, of->customer, of->lines, of->lines_count);
	if (old)
		promise_replace(s, old, op_trait(op)->makes ? op->customer : old->customer, op->lines, op->lines_count,
		                b->slot);
	else if (op->kind == OP_RESERVE)
		portions_raise(&s->customers, op->customer, op->lines, op->lines_count);
	if (!op_ends(op))
		return;
	count = op_ended(op, &lines);
	if (op->becomes == SETTLED)
		promise_keep(s, of, lines, count);
	else
		promise_end(s, of, lines, count);
}

void batch_gives(const struct batch *b, struct shares *s)
{
	if (!(b->needs & NEEDS_BACK))
		return;
	for (size_t i = 0; i < b->count; i++)
		if (b->ops[i]->writes)
			op_gives(b->ops[i], b, s);
}

enum outcome movement_outcome(const struct op *op)
{
	return memcmp(op->move.found->lines_hash, op->lines_hash, sizeof(op->lines_hash)) == 0 ? OUTCOME_REPLAYED
	                                                                                       : MOVEMENT_ID_REUSED;
}

enum outcome op_repeats(const struct op *op)
{
	enum reservation_state reads = reservation_reads(op->found);

	if (reads == EXPIRED)
		return WAS_EXPIRED;
	return reads == RELEASED && op->becomes != RELEASED ? WAS_RELEASED : OUTCOME_REPLAYED;
}

enum outcome order_outcome(const struct op *op)
{
	bool same = memcmp(op->found->lines_hash, op->lines_hash, sizeof(op->lines_hash)) == 0;

	return same ? op_repeats(op) : ORDER_ID_REUSED;
}
