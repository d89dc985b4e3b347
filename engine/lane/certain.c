/* certain.c - see certain.h. */
#include "engine/lane/certain.h"
#include "engine/lane/kinds.h"
#include "engine/lane/quota.h"

bool op_is_beyond(const struct op *op)
{
	return op->outcome == CUSTOMER_REQUIRED || op->outcome == LIMIT_REACHED;
}

/* An item that its call keeps from being done. */
static bool is_kept_back(const struct op *op)
{
	return op->outcome == NOT_DONE || op->outcome == TOO_LARGE;
}

bool op_is_refused(const struct op *op)
{
	bool amends = op->kind == OP_AMEND;

	if (op->outcome == OUTCOME_OK || (amends && op->outcome == OUTCOME_REPLAYED)) /* a partial grant */
		return op_asks(op) && op->reserve.mode == BEST_EFFORT && op_has_faults(op);
	return op->outcome == UNKNOWN_SKU || op->outcome == SHORT || op_is_of_kinds(op) || op_is_beyond(op) ||
	       is_kept_back(op);
}

/* Tells whether the line's balance is certain. A refusal names every line that fell short. Every line's balance has to
 * be newer than the operation; a line that fell short needs its balance swept and read twice. A choice that fell short
 * needs that of all: with more at one location, an earlier choice would have left more at another. So does a choice of
 * an item, which may have left less to the items behind it. */
static bool balance_is_certain(const struct balance *p, bool fault, const struct op *op)
{
	return p->read_seq > 0 && p->read_seq <= op->lookup_seq &&
	       (!fault || (p->swept && (p->agreed || op->looks >= LOOKS_ENOUGH)));
}

static bool lines_certain(const struct batch *b, const struct op *op, const struct line *lines, size_t count)
{
	/* Of a refusal for a stop, what else is short is not at fault. */
	bool all = op_is_of_kinds(op) || (is_kept_back(op) && op->choices_count > 0);

	for (size_t i = 0; i < op->choices_count; i++)
		all |= op->choices[i].fault;
	for (size_t i = 0; i < count; i++)
		if (lines[i].sku && lines[i].location &&
		    !balance_is_certain(&b->balances[lines[i].balance], all || lines[i].fault, op))
			return false;
	return true;
}

struct certainty {
	const struct op *op;
	bool             all;
};

/* That a sku has a limit is certain when it was read; what the customer has beside expired holds, as a balance is. */
static void quota_is_certain(struct quota *quota, void *arg)
{
	struct certainty *c = arg;

	c->all &= quota->read_seq > 0 && quota->read_seq <= c->op->lookup_seq;
	if (c->op->outcome != CUSTOMER_REQUIRED)
		c->all &= quota->swept && (quota->agreed || c->op->looks >= LOOKS_ENOUGH);
}

bool op_is_certain(const struct op *op, const struct batch *b)
{
	struct certainty          quotas = {op, true};
	const struct reservation *old = op_before(op);

	if (op->lookup_seq == 0 || (old && old->changed != op->other_before))
		return false;
	if (!b->kinds_read && (op_is_of_kinds(op) || (b->needs & NEEDS_LOCATION && op_meets_stop(op))))
		return false; /* what a stop holds back may be for sale by now */
	if (op_is_of_kinds_alone(op))
		return true;
	quotas_at_fault(b->quotas, op, quota_is_certain, &quotas);
	if (!quotas.all || op_is_beyond(op))
		return quotas.all;
	if (op_takes_again(op) && !lines_certain(b, op, op->found->lines, op->found->lines_count))
		return false;
	return op->outcome == UNKNOWN_SKU || op->outcome == TOO_LARGE ||
	       lines_certain(b, op, op->lines, op->lines_count);
}

bool unit_is_certain(struct op *const *ops, size_t count, const struct batch *b)
{
	bool whole = ops[0]->atomic && !ops_granted(ops, count);

	assert(count == 1 || ops[0]->atomic);
	for (size_t i = 0; i < count; i++) {
		if (whole && (ops[i]->lookup_seq == 0 || ops[i]->lookup_seq != ops[0]->lookup_seq))
			return false;
		if (op_is_refused(ops[i]) && !op_is_certain(ops[i], b))
			return false;
	}
	return true;
}
