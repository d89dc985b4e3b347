/* group.c - see group.h. */
#include "engine/lane/group.h"
#include "engine/base/memory.h"
#include "engine/lane/quota.h"

/* ---- what is left */

static void lines_mark(struct batch *b, const struct line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!line_balance(b, &lines[i]))
			continue;
		b->marks = mem_reach(b->marks, b->marks_count, &b->marks_max, sizeof(*b->marks));
		b->marks[b->marks_count++] = (struct mark){lines[i].balance, *line_balance(b, &lines[i])};
	}
}

void group_mark(struct batch *b, struct op *const *ops, size_t count)
{
	b->marks_count = 0;
	for (size_t i = 0; i < count; i++) {
		lines_mark(b, ops[i]->lines, ops[i]->lines_count);
		if (ops[i]->kind == OP_CONFIRM && op_touches(ops[i]))
			lines_mark(b, ops[i]->found->lines, ops[i]->found->lines_count);
	}
	if (b->needs & NEEDS_QUOTA)
		quotas_mark(b->quotas);
}

static void group_give_up(struct batch *b)
{
	for (size_t i = 0; i < b->marks_count; i++) {
		assert(b->marks[i].balance < b->balances_count);
		b->balances[b->marks[i].balance] = b->marks[i].was;
	}
	if (b->needs & NEEDS_QUOTA)
		quotas_give_up(b->quotas);
}

/* ---- the verdict */

_Static_assert((int)ITEMS_LINES_MAX <= (int)BATCH_LINES, "an atomic call fits into a batch");

/* The lines that the items write: their own, and those of the orders that they change. */
static size_t lines_written(struct op *const *ops, size_t count)
{
	size_t lines = 0;

	for (size_t i = 0; i < count; i++)
		if (ops[i]->writes)
			lines += ops[i]->lines_count + (op_changes(ops[i]) ? op_changes(ops[i])->lines_count : 0);
	return lines;
}

void group_judge(struct batch *b, struct op *const *ops, size_t count)
{
	bool granted = ops_granted(ops, count), large = granted && lines_written(ops, count) > ITEMS_LINES_MAX;

	assert(count <= ITEMS_MAX && !ops[count - 1]->more_follow); /* the call is whole */
	if (granted && !large)
		return;
	group_give_up(b);
	for (size_t i = 0; i < count; i++) {
		if (large)
			ops[i]->outcome = TOO_LARGE;
		else if (ops[i]->outcome == OUTCOME_OK || outcome_is_repeat(ops[i]->outcome))
			ops[i]->outcome = NOT_DONE;
		ops[i]->writes = false;
	}
}
