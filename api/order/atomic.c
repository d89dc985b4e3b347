/* atomic.c - see atomic.h. The items go to the lane of the first one, which takes them as one unit (op_unit). */
#include "api/order/atomic.h"
#include "api/request.h"

#include <stdio.h>

bool atomic_fits(struct request *r, size_t items)
{
	return items <= ITEMS_MAX || reply_field(r, TOO_LARGE, NULL, outcome_detail(TOO_LARGE));
}

bool atomic_has_room(struct request *r)
{
	size_t lines = 0;

	for (size_t i = 0; i < r->ops_count; i++)
		lines += r->ops[i] ? r->ops[i]->lines_count : 0;
	return lines <= ITEMS_LINES_MAX || reply_field(r, TOO_LARGE, NULL, outcome_detail(TOO_LARGE));
}

void atomic_refuse(struct request *r, const char *name, size_t i, enum outcome why, const char *within,
                   const char *detail)
{
	char field[2 * sizeof(((struct json_fault *)0)->field)];

	snprintf(field, sizeof(field), "%s[%zu]%s%s", name, i, *within ? "." : "", within);
	reply_field(r, why, field, detail);
}

/* ---- the orders that the items name */

static bool op_names_order(const struct op *op, const char *id)
{
	return strcmp(op->id, id) == 0 || (op->other_id && strcmp(op->other_id, id) == 0);
}

/* The item that is the first one to name an order of an earlier item; SIZE_MAX: there is none. */
static size_t item_again(const struct request *r)
{
	for (size_t i = 1; i < r->ops_count; i++)
		for (size_t k = 0; k < i; k++)
			if (op_names_order(r->ops[k], r->ops[i]->id) ||
			    (r->ops[i]->other_id && op_names_order(r->ops[k], r->ops[i]->other_id)))
				return i;
	return SIZE_MAX;
}

/* ---- the answer */

/* The refusal of the whole call, or OUTCOME_OK. The call is too large, or its outcome is not known and the client sends
 * it again. */
static enum outcome call_outcome(struct request *r)
{
	for (size_t i = 0; i < r->ops_count; i++) {
		enum outcome outcome = request_outcome(r, i);

		if (outcome_class(outcome) == UNAVAILABLE || outcome == TOO_LARGE)
			return outcome;
	}
	return OUTCOME_OK;
}

static void atomic_answer(struct request *r)
{
	enum outcome outcome = call_outcome(r);

	if (outcome != OUTCOME_OK)
		reply_refused(r, outcome, NULL, NULL);
	else if (ops_granted(r->ops, r->ops_count))
		reply_object(r, 200, r->write, r);
	else
		reply_refused(r, NOT_ALL, r->write, r);
}

void atomic_start(struct request *r, const char *name, void (*results)(struct json_writer *w, void *request))
{
	size_t again = item_again(r);

	assert(r->ops_count > 0 && r->ops_count <= ITEMS_MAX);
	if (again != SIZE_MAX) {
		atomic_refuse(r, name, again, INVALID, "", "names an order that an earlier item names");
		return;
	}
	for (size_t i = 0; i < r->ops_count; i++)
		r->ops[i]->atomic = true;
	r->write = results;
	request_start_batch(r, atomic_answer);
}
