/* test_decide.c - who gets what, without a database: the order of arrival, the precedence of refusals, what a batch
 * writes. */
#include "engine/lane/decide.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPS = 8, PAIRS = 4, NOW = 1000000 };

/* A batch over skus A, B, C, D at one location. Ops are freed with it. */
struct table {
	struct catalogue *catalogue;
	struct op        *ops[OPS];
	struct balance    balances[PAIRS];
	struct batch      batch;
};

static struct table table_new(int64_t a, int64_t b, int64_t c, int64_t d)
{
	struct table  t = {.catalogue = catalogue_new()};
	const int64_t totals[PAIRS] = {a, b, c, d};

	for (uint32_t i = 0; i < PAIRS; i++) {
		const char code = (char)('A' + i);

		t.balances[i] = (struct balance){
			.sku_id = i + 1, .location_id = 1, .own = totals[i], .total = totals[i], .known = true};
		catalogue_sku_enter(t.catalogue, i + 1, &code, 1);
	}
	catalogue_location_enter(t.catalogue, 1, "main", 4);
	return t;
}

static void table_free(struct table *t)
{
	for (size_t i = 0; i < t->batch.count; i++)
		op_free(t->ops[i]);
	catalogue_free(t->catalogue);
}

/* Lines as "A4 B2"; a sku beyond D is unknown. */
static struct op *add(struct table *t, enum op_kind kind, const char *id, const char *lines)
{
	struct op *op = op_new(kind, 8, 256);
	char       copy[64], *rest = copy;

	snprintf(copy, sizeof(copy), "%s", lines);
	strcpy(op->id, id);
	for (char *word = strsep(&rest, " "); word && *word; word = strsep(&rest, " "))
		op_line(op, word, 1, NULL, 0, strtoll(word + 1, NULL, 10));
	if (kind == OP_MOVE)
		op->move.kind = ADJUSTMENT;
	op_seal(op, NULL);
	for (size_t i = 0; i < op->lines_count; i++) {
		op->lines[i].sku = catalogue_sku(t->catalogue, op->lines[i].sku_code);
		op->lines[i].location = catalogue_location(t->catalogue, "main");
		if (op->lines[i].sku)
			op->lines[i].balance = sku_id(op->lines[i].sku) - 1;
	}
	t->ops[t->batch.count++] = op;
	return op;
}

static void run(struct table *t)
{
	t->batch.ops = t->ops;
	t->batch.balances = t->balances;
	t->batch.balances_count = PAIRS;
	decide(&t->batch);
}

static struct reservation *found(enum reservation_state state, int64_t expires_at, struct op *like)
{
	struct reservation *r = calloc(1, sizeof(*r) + like->lines_count * sizeof(struct line));

	r->state = state;
	r->expires_at = expires_at;
	r->read_at = NOW;
	memcpy(r->lines_hash, like->lines_hash, sizeof(r->lines_hash));
	return r;
}

Test(decide, first_come_first_served)
{
	struct table t = table_new(10, 0, 0, 0);
	struct op   *first = add(&t, OP_RESERVE, "R1", "A6"), *large = add(&t, OP_RESERVE, "R2", "A5"),
		  *small = add(&t, OP_RESERVE, "R3", "A4");

	run(&t);
	cr_assert_eq(first->outcome, OUTCOME_OK);
	cr_assert_eq(large->outcome, SHORT);
	cr_assert_eq(large->lines[0].available, 4, "what was left for it, not what the balance was");
	cr_assert_eq(small->outcome, OUTCOME_OK, "a small order passes a large one that does not fit");
	cr_assert_eq(t.balances[0].take, 10);
	cr_assert_eq(t.balances[0].hold, 10);
	cr_assert_eq(t.balances[0].left, 0);
	table_free(&t);
}

Test(decide, all_or_nothing_takes_nothing_when_one_line_is_short)
{
	struct table t = table_new(10, 1, 0, 0);
	struct op   *op = add(&t, OP_RESERVE, "R1", "A6 B2 C1");

	run(&t);
	cr_assert_eq(op->outcome, SHORT);
	cr_assert(!op->lines[0].fault && op->lines[1].fault && op->lines[2].fault, "every short line is named");
	cr_assert_eq(t.balances[0].take + t.balances[1].take + t.balances[2].take, 0);
	table_free(&t);
}

Test(decide, best_effort_takes_what_there_is)
{
	struct table t = table_new(10, 1, 0, 0);
	struct op   *op = add(&t, OP_RESERVE, "R1", "A6 B2 C1"), *nothing = add(&t, OP_RESERVE, "R2", "C1");

	op->reserve.mode = nothing->reserve.mode = BEST_EFFORT;
	run(&t);
	cr_assert_eq(op->outcome, OUTCOME_OK);
	cr_assert_eq(op->lines[0].granted, 6);
	cr_assert_eq(op->lines[1].granted, 1);
	cr_assert_eq(op->lines[2].granted, 0);
	cr_assert_eq(t.balances[1].hold, 1);
	cr_assert_eq(nothing->outcome, SHORT);
	cr_assert(op_is_refused(op), "a part is told only after a look at the database");
	table_free(&t);
}

Test(decide, equal_lines_are_summed_before_they_get_here)
{
	struct table t = table_new(10, 0, 0, 0);
	struct op   *op = add(&t, OP_RESERVE, "R1", "A6 A5");

	run(&t);
	cr_assert_eq(op->lines_count, 1);
	cr_assert_eq(op->outcome, SHORT);
	cr_assert_eq(op->lines[0].qty, 11);
	table_free(&t);
}

Test(decide, unknown_sku_comes_before_short)
{
	struct table t = table_new(1, 0, 0, 0);
	struct op   *op = add(&t, OP_RESERVE, "R1", "A2 X1");

	run(&t);
	cr_assert_eq(op->outcome, UNKNOWN_SKU);
	cr_assert(!op->lines[0].fault && op->lines[1].fault);
	table_free(&t);
}

Test(decide, replay_comes_before_everything)
{
	struct table t = table_new(0, 0, 0, 0);
	struct op   *same = add(&t, OP_RESERVE, "R1", "A2"), *other = add(&t, OP_RESERVE, "R2", "A3 X1");

	same->found = found(RELEASED, NOW, same);
	other->found = found(HELD, NOW + 1, same);
	run(&t);
	cr_assert_eq(same->outcome, OUTCOME_REPLAYED, "although nothing is left, and whatever became of it");
	cr_assert_eq(other->outcome, ORDER_ID_REUSED, "although the sku is unknown");
	table_free(&t);
}

Test(decide, what_comes_in_may_go_out_in_the_same_batch)
{
	struct table t = table_new(0, 5, 0, 0);
	struct op   *in = add(&t, OP_MOVE, "M1", "A7"), *out = add(&t, OP_RESERVE, "R1", "A7"),
		  *down = add(&t, OP_MOVE, "M2", "B-5"), *more = add(&t, OP_MOVE, "M3", "B-1");

	run(&t);
	cr_assert_eq(in->outcome, OUTCOME_OK);
	cr_assert_eq(out->outcome, OUTCOME_OK);
	cr_assert_eq(t.balances[0].add, 7);
	cr_assert_eq(t.balances[0].take, 7);
	cr_assert_eq(down->outcome, OUTCOME_OK);
	cr_assert_eq(more->outcome, SHORT);
	cr_assert_eq(t.balances[1].take, 5);
	cr_assert_eq(t.balances[1].hold, 0, "an adjustment reserves nothing");
	table_free(&t);
}

Test(decide, states)
{
	static const struct {
		enum op_kind           kind;
		enum reservation_state state;
		int64_t                expires_at;
		enum outcome           outcome;
	} rows[] = {
		{OP_CONFIRM, HELD, NOW + 1, OUTCOME_OK},
		{OP_CONFIRM, HELD, NOW, IS_EXPIRED},
		{OP_CONFIRM, EXPIRED, NOW, IS_EXPIRED},
		{OP_CONFIRM, RELEASED, NOW, IS_RELEASED},
		{OP_CONFIRM, CONFIRMED, NOW, OUTCOME_REPLAYED},
		{OP_CONFIRM, SETTLED, NOW, OUTCOME_REPLAYED},
		{OP_CONFIRM, BURIED, NOW, OUTCOME_REPLAYED},
		{OP_RELEASE, HELD, NOW + 1, OUTCOME_OK},
		{OP_RELEASE, HELD, NOW, IS_EXPIRED},
		{OP_RELEASE, CONFIRMED, NOW, OUTCOME_OK},
		{OP_RELEASE, BURIED, NOW, OUTCOME_OK},
		{OP_RELEASE, RELEASED, NOW, OUTCOME_REPLAYED},
		{OP_RELEASE, SETTLED, NOW, IS_SETTLED},
		{OP_RELEASE, EXPIRED, NOW, IS_EXPIRED},
		{OP_EXTEND, HELD, NOW + 1, OUTCOME_OK},
		{OP_EXTEND, HELD, NOW, IS_EXPIRED},
		{OP_EXTEND, CONFIRMED, NOW, IS_CONFIRMED},
		{OP_EXTEND, SETTLED, NOW, IS_SETTLED},
		{OP_EXTEND, RELEASED, NOW, IS_RELEASED},
		{OP_EXTEND, EXPIRED, NOW, IS_EXPIRED},
		{OP_EXTEND, BURIED, NOW, IS_BURIED},
		{OP_KICK, BURIED, NOW, OUTCOME_OK},
		{OP_KICK, CONFIRMED, NOW, IS_CONFIRMED},
		{OP_KICK, HELD, NOW + 1, IS_HELD},
		{OP_KICK, HELD, NOW, IS_EXPIRED},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct table t = table_new(0, 0, 0, 0);
		struct op   *op = add(&t, rows[i].kind, "R1", ""), *missing = add(&t, rows[i].kind, "R2", "");

		op->found = found(rows[i].state, rows[i].expires_at, op);
		run(&t);
		cr_expect_eq(op->outcome, rows[i].outcome, "row %zu: %s", i, outcome_code(op->outcome));
		cr_expect_eq(op->writes, rows[i].outcome == OUTCOME_OK, "row %zu", i);
		cr_expect_eq(missing->outcome, NO_ORDER);
		table_free(&t);
	}
}

/* Somebody wrote to the tables by hand: no row ends the process, and units of nobody are given to nobody. */
Test(decide, damaged_rows)
{
	struct table t = table_new(-5, 4, 0, 0);
	struct op   *in = add(&t, OP_MOVE, "M1", "A3"), *part = add(&t, OP_RESERVE, "R1", "A1 B1"),
		  *none = add(&t, OP_RESERVE, "R2", "A2"), *again = add(&t, OP_CONFIRM, "R3", "");

	part->reserve.mode = none->reserve.mode = BEST_EFFORT;
	again->found = found(EXPIRED, NOW - 1, part);
	again->found->lines_count = 1;
	again->found->lines[0] = part->lines[1];
	again->found->lines[0].qty = -2;
	again->change.reacquire = true;
	run(&t);
	cr_expect_eq(in->outcome, SHORT);
	cr_expect_eq(part->outcome, OUTCOME_OK);
	cr_expect_eq(part->lines[0].granted, 0);
	cr_expect_eq(none->outcome, SHORT);
	cr_expect_eq(again->outcome, SHORT);
	cr_expect_eq(t.balances[1].take, 1);
	table_free(&t);
}

Test(decide, refusals_wait_for_the_database)
{
	struct table t = table_new(1, 0, 0, 0);
	struct op   *op = add(&t, OP_RESERVE, "R1", "A2");

	run(&t);
	cr_assert(op_is_refused(op));
	cr_assert(!op_is_certain(op, &t.batch));
	op->lookup_seq = 1;
	cr_assert(!op_is_certain(op, &t.batch), "the balance may be old");
	t.balances[0].read_seq = 2;
	cr_assert(!op_is_certain(op, &t.batch), "a twin may have taken the last units between look-up and balance");
	op->lookup_seq = 3;
	cr_assert(!op_is_certain(op, &t.batch), "an expired hold may still occupy it");
	t.balances[0].swept = true;
	cr_assert(!op_is_certain(op, &t.batch), "one look may have seen a sum that never was");
	op->looks = LOOKS_ENOUGH;
	cr_assert(op_is_certain(op, &t.batch), "looks that differ, all of them short");
	op->looks = 0;
	t.balances[0].agreed = true;
	cr_assert(op_is_certain(op, &t.batch));
	op->lookup_seq = 0;
	cr_assert(!op_is_certain(op, &t.batch), "the id may be an order that was held before");
	table_free(&t);
}
