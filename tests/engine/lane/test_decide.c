/* test_decide.c - who gets what, without a database: the order of arrival, the precedence of refusals, what a batch
 * writes. */
#include "engine/lane/decide.h"
#include "engine/lane/quota.h"

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
	struct quotas     quotas; /* none: no sku has a limit */
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
	catalogue_locations_enter(t.catalogue, catalogue_locations_ask(t.catalogue), 1,
	                          &(struct location){.location_id = 1, .kind = LOCATION_STOCK, .code = "main"}, 1);
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
	if (op_traits[kind].makes)
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
	t->batch.quotas = &t->quotas;
	t->batch.needs = ~0U;
	for (size_t i = 0; i < t->batch.count; i++)
		t->ops[i]->needs = ~0U;
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
	cr_assert_eq(same->outcome, WAS_RELEASED, "although nothing is left");
	cr_assert_eq(other->outcome, ORDER_ID_REUSED, "although the sku is unknown");
	table_free(&t);
}

/* What made an order is a success as long as the order is not over. */
Test(decide, a_repeat_tells_of_the_state)
{
	static const struct {
		enum reservation_state found, becomes;
		int64_t                expires_at;
		enum outcome           outcome;
	} cases[] = {
		{HELD, HELD, NOW + 1, OUTCOME_REPLAYED},      {HELD, HELD, NOW, WAS_EXPIRED},
		{EXPIRED, HELD, NOW - 1, WAS_EXPIRED},        {CONFIRMED, HELD, NOW - 1, OUTCOME_REPLAYED},
		{BURIED, CONFIRMED, NOW, OUTCOME_REPLAYED},   {SETTLED, HELD, NOW, OUTCOME_REPLAYED},
		{RELEASED, CONFIRMED, NOW + 1, WAS_RELEASED}, {RELEASED, RELEASED, NOW, OUTCOME_REPLAYED},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct table t = table_new(9, 0, 0, 0);
		struct op   *op = add(&t, OP_RESERVE, "R1", "A2");

		op->becomes = cases[i].becomes;
		op->found = found(cases[i].found, cases[i].expires_at, op);
		run(&t);
		cr_expect_eq(op->outcome, cases[i].outcome, "case %zu: %d", i, (int)op->outcome);
		table_free(&t);
	}
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
		{OP_ON_HOLD, HELD, NOW + 1, OUTCOME_OK},
		{OP_ON_HOLD, HELD, NOW, IS_EXPIRED},
		{OP_ON_HOLD, CONFIRMED, NOW, OUTCOME_OK},
		{OP_ON_HOLD, SETTLED, NOW, IS_SETTLED},
		{OP_ON_HOLD, RELEASED, NOW, IS_RELEASED},
		{OP_ON_HOLD, EXPIRED, NOW, IS_EXPIRED},
		{OP_ON_HOLD, BURIED, NOW, OUTCOME_OK},
		{OP_OFF_HOLD, CONFIRMED, NOW, OUTCOME_REPLAYED},
		{OP_OFF_HOLD, SETTLED, NOW, OUTCOME_REPLAYED},
		{OP_OFF_HOLD, RELEASED, NOW, OUTCOME_REPLAYED},
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

/* Rows that were written by hand: none ends the process, and units without an order are given to none. */
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

/* ---- lines that name several places: sku A at a, b, c, d */

/* Lines as "4abc", of which "4abc+" may be split; "4a" is a plain one. */
static struct op *add_choices(struct table *t, const char *id, const char *lines)
{
	struct op *op = op_new(OP_RESERVE, 16, 512 + 4 * sizeof(struct choice));
	char       copy[64], *rest = copy, *places;

	snprintf(copy, sizeof(copy), "%s", lines);
	strcpy(op->id, id);
	op_choices(op, 4);
	for (char *word = strsep(&rest, " "); word && *word; word = strsep(&rest, " ")) {
		int64_t        qty = strtoll(word, &places, 10);
		struct choice *choice;

		if (strlen(places) == 1) {
			op_line(op, "A", 1, places, 1, qty);
			continue;
		}
		choice = op_choice(op, "A", 1, qty, strchr(places, '+'));
		for (; *places && *places != '+'; places++)
			op_choice_add(op, choice, places, 1);
	}
	op_seal(op, NULL);
	for (size_t i = 0; i < op->lines_count; i++) {
		const char *code = op->lines[i].location_code;

		op->lines[i].sku = catalogue_sku(t->catalogue, "A");
		catalogue_locations_enter(t->catalogue, catalogue_locations_ask(t->catalogue), 1,
		                          &(struct location){.location_id = (uint32_t)(*code - 'a' + 2),
		                                             .kind = LOCATION_STOCK,
		                                             .code = {*code}},
		                          1);
		op->lines[i].location = catalogue_location(t->catalogue, code);
		op->lines[i].balance = (uint32_t)(*code - 'a');
	}
	t->ops[t->batch.count++] = op;
	return op;
}

/* Writes units granted at each location, "a5 b0", and for each choice that is short the units available, "/ - 8". */
static void told(const struct op *op, char *to, size_t size)
{
	int len = 0;

	for (size_t i = 0; i < op->lines_count; i++)
		len += snprintf(to + len, size - (size_t)len, "%s%lld ", op->lines[i].location_code,
		                (long long)op->lines[i].granted);
	len += snprintf(to + len, size - (size_t)len, "/");
	for (size_t i = 0; i < op->choices_count; i++)
		if (op->choices[i].fault)
			len += snprintf(to + len, size - (size_t)len, " %lld", (long long)op->choices[i].available);
		else
			len += snprintf(to + len, size - (size_t)len, " -");
}

Test(decide, choices_take_what_the_lines_before_them_left)
{
	static const struct {
		const char  *lines;
		bool         best_effort;
		enum outcome outcome;
		const char  *told;
	} rows[] = {
		/* there are 5 at a, 8 at b, none at c, 9 at d */
		{"5ab", false, OUTCOME_OK, "a5 b0 / -"},
		{"6ab", false, OUTCOME_OK, "a0 b6 / -"},
		{"6acb", false, OUTCOME_OK, "a0 b6 c0 / -"},
		{"9bad", false, OUTCOME_OK, "a0 b0 d9 / -"},
		{"5ab 1ab", false, OUTCOME_OK, "a5 b1 / - -"},
		{"1ab 5a", false, OUTCOME_OK, "a5 b1 / -"},
		{"1ab 2a 2a", false, OUTCOME_OK, "a5 b0 / -"},
		{"7ab+", false, OUTCOME_OK, "a5 b2 / -"},
		{"7cba+", false, OUTCOME_OK, "a0 b7 c0 / -"},
		{"3ab 9ba+", false, OUTCOME_OK, "a4 b8 / - -"},
		{"10abc", false, SHORT, "a0 b8 c0 / 8"},
		{"14ab+", false, SHORT, "a5 b8 / 13"},
		{"3ab 9ba 3ab", false, SHORT, "a5 b8 / - 8 2"},
		{"6a 1ab", false, SHORT, "a5 b1 / -"},
		{"10abc", true, OUTCOME_OK, "a0 b8 c0 / 8"},
		{"9ab 6ab 9ab+", true, OUTCOME_OK, "a5 b8 / 8 5 0"},
		{"3bc 6ab", true, OUTCOME_OK, "a5 b3 c0 / - 5"},
		{"3bc 6ba", true, OUTCOME_OK, "a0 b8 c0 / - 5"},
		{"9c 2cb", true, OUTCOME_OK, "b2 c0 / -"},
		{"9c 2ac 2ca+", true, OUTCOME_OK, "a4 c0 / - -"},
		{"6ca 9ca 1ca", true, OUTCOME_OK, "a5 c0 / 5 0 0"},
	};
	char have[120];

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct table t = table_new(5, 8, 0, 9);
		struct op   *op = add_choices(&t, "R1", rows[i].lines);

		op->reserve.mode = rows[i].best_effort ? BEST_EFFORT : ALL_OR_NOTHING;
		for (int again = 0; again < 2; again++) {
			run(&t);
			told(op, have, sizeof(have));
			cr_expect_eq(op->outcome, rows[i].outcome, "row %zu: %s", i, outcome_code(op->outcome));
			cr_expect_str_eq(have, rows[i].told, "row %zu: %s", i, have);
		}
		for (size_t k = 0; k < op->lines_count; k++)
			cr_expect_eq(t.balances[op->lines[k].balance].hold, op->writes ? op->lines[k].granted : 0,
			             "row %zu: all or nothing", i);
		table_free(&t);
	}
}

/* Units at any of its places would have helped, also those that an earlier line would have left alone. */
Test(decide, a_choice_is_refused_by_the_database)
{
	struct table t = table_new(5, 8, 0, 9);
	struct op   *op = add_choices(&t, "R1", "6ab 6bc");

	run(&t);
	cr_assert_eq(op->outcome, SHORT);
	op->lookup_seq = 3;
	for (size_t i = 0; i < PAIRS; i++) {
		t.balances[i].read_seq = 2;
		t.balances[i].swept = t.balances[i].agreed = i < 3;
	}
	cr_assert(op_is_certain(op, &t.batch));
	for (size_t i = 0; i < 3; i++) {
		t.balances[i].agreed = false;
		cr_assert(!op_is_certain(op, &t.batch), "place %zu", i);
		t.balances[i].agreed = true;
		t.balances[i].swept = false;
		cr_assert(!op_is_certain(op, &t.batch), "place %zu", i);
		t.balances[i].swept = true;
	}
	op->reserve.mode = BEST_EFFORT;
	run(&t);
	cr_assert_eq(op->outcome, OUTCOME_OK);
	cr_assert(op_is_refused(op), "a part is told only after a look at the database");
	table_free(&t);
}

/* Units of the replaced order count at their own place, and stay in their slot where they are enough. */
Test(decide, choices_of_a_replacement)
{
	struct table  t = table_new(1, 8, 0, 9);
	struct op    *before = add_choices(&t, "R0", "5a 2c"), *op = add_choices(&t, "R1", "6abc 2cb");
	struct shares s = {0};

	t.ops[0] = op;
	t.batch.count = 1;
	op->other_id = "R0";
	op->other = calloc(1, sizeof(*op->other) + 2 * sizeof(struct line));
	op->other->state = HELD;
	op->other->expires_at = NOW + 1;
	op->other->read_at = NOW;
	op->other->lines_count = 2;
	memcpy(op->other->lines, before->lines, 2 * sizeof(struct line));
	op->other->lines[0].slot = 7;
	op->other->lines[1].slot = 8;
	run(&t);
	cr_assert_eq(op->outcome, OUTCOME_OK);
	cr_assert(op->lines[0].granted == 6 && op->lines[1].granted == 0 && op->lines[2].granted == 2);
	cr_assert_eq(t.balances[0].take, 1, "only the difference leaves what is for sale");
	cr_assert_eq(t.balances[0].hold, 6, "all of it is held in one slot");
	cr_assert_eq(op->lines[0].slot, t.batch.slot);
	cr_assert_eq(op->lines[2].slot, 8);
	batch_gives(&t.batch, &s);
	cr_assert_eq(s.count, 1);
	cr_assert(s.list[0].slot == 7 && s.list[0].qty == 5 && s.list[0].back == 0);
	free(s.list);
	op_free(before);
	table_free(&t);
}

/* The parts of a choice that count for a repeated call. */
Test(decide, choices_in_the_fingerprint)
{
	static const struct {
		const char *a, *b;
		bool        same;
	} rows[] = {
		{"1a 2ab", "2ab 1a", true},      {"1a 1a 2ab", "2ab 2a", true}, {"2ab 3ab", "3ab 2ab", false},
		{"2ab", "2ba", false},           {"2ab", "2ab+", false},        {"2ab", "2abc", false},
		{"2ab 2ab", "4ab", false},       {"2ab", "2a", false},          {"1a 1b 2ab", "1a 2ab", false},
		{"2ab 2cd+", "2ab+ 2cd", false},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct table t = table_new(0, 0, 0, 0);
		struct op   *a = add_choices(&t, "R1", rows[i].a), *b = add_choices(&t, "R1", rows[i].b);

		cr_expect_eq(memcmp(a->lines_hash, b->lines_hash, sizeof(a->lines_hash)) == 0, rows[i].same, "row %zu",
		             i);
		table_free(&t);
	}
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

/* ---- limits of customers */

/* c has 1 of A; of A and B a customer may have 3 and 2. */
static void quotas_set(struct table *t)
{
	static const char *const customers[] = {NULL, "c", "d"};
	static const int64_t     limits[] = {0, 3, 2};
	struct quotas           *q = &t->quotas;

	for (size_t i = 0; i < LENGTH(customers); i++)
		for (uint32_t sku = 1; sku < LENGTH(limits); sku++)
			quota_enter(q, customers[i], sku);
	quotas_sort(q);
	for (size_t i = 0; i < q->count; i++) {
		q->list[i].limit = limits[q->list[i].sku_id];
		q->list[i].has = strcmp(q->list[i].customer, "c") == 0 && q->list[i].sku_id == 1;
		q->list[i].read_seq = 1;
	}
}

static void quotas_free(struct table *t)
{
	free(t->quotas.list);
	table_free(t);
}

/* Writes the decision on each order: its code, or the units granted, with a star where the limit left no more. */
static void judged(const struct table *t, char *to, size_t size)
{
	int len = 0;

	*to = 0;
	for (size_t i = 0; i < t->batch.count; i++) {
		const struct op *op = t->ops[i];

		len += snprintf(to + len, size - (size_t)len, "%s%s", i ? ", " : "", outcome_code(op->outcome));
		for (size_t k = 0; op->outcome == OUTCOME_OK && k < op->lines_count; k++)
			len += snprintf(to + len, size - (size_t)len, "%s%s%lld%s", k ? " " : "", op->lines[k].sku_code,
			                (long long)op->lines[k].granted, op->lines[k].limited ? "*" : "");
	}
}

Test(decide, limits_of_customers)
{
	static const struct {
		const char *orders[4]; /* its customer, - for none; + a best effort; its lines */
		const char *judged;
	} rows[] = {
		/* in stock are 10 of A, 1 of B, 10 of C, none of D */
		{{"c A2"}, "A2"},
		{{"c A3"}, "limit_reached"},
		{{"- A1"}, "customer_required"},
		{{"- C1"}, "C1"},
		{{"- A1 E1"}, "unknown_sku"},
		{{"c A3 E1"}, "unknown_sku"},
		{{"c A3 D1"}, "limit_reached"},
		{{"c A2 D1", "c A2"}, "short, A2"},
		{{"c A1", "c A1", "d A1", "c A1"}, "A1, A1, A1, limit_reached"},
		{{"c A3", "c A2", "c A1"}, "limit_reached, A2, limit_reached"},
		{{"c+A9", "c A1"}, "A2*, limit_reached"},
		{{"c+A9 B9 C9"}, "A2* B1 C9"},
		{{"c+A2", "c+A1 C1", "c+A1"}, "A2, A0* C1, limit_reached"},
		{{"c+A2", "c+A1 D1"}, "A2, short"},
		{{"d+B1", "d+B1"}, "B1, short"},
		{{"d+B1", "d+B2"}, "B1, short"},
		{{"- A1", "- C1", "-+A1"}, "customer_required, C1, customer_required"},
	};
	char have[200];

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct table t = table_new(10, 1, 10, 0);

		for (size_t k = 0; k < LENGTH(rows[i].orders) && rows[i].orders[k]; k++) {
			const char *order = rows[i].orders[k];
			struct op  *op = add(&t, OP_RESERVE, "R1", order + 2);

			op->customer = *order == 'c' ? "c" : *order == 'd' ? "d" : NULL;
			op->reserve.mode = order[1] == '+' ? BEST_EFFORT : ALL_OR_NOTHING;
		}
		quotas_set(&t);
		for (int again = 0; again < 2; again++) {
			run(&t);
			judged(&t, have, sizeof(have));
			cr_expect_str_eq(have, rows[i].judged, "row %zu: %s", i, have);
		}
		quotas_free(&t);
	}
}

/* A found order of c, of the lines of `like`. */
static struct reservation *found_of_c(enum reservation_state state, int64_t expires_at, struct op *like)
{
	struct reservation *r = found(state, expires_at, like);

	r->customer = strdup("c");
	r->lines_count = like->lines_count;
	memcpy(r->lines, like->lines, like->lines_count * sizeof(struct line));
	return r;
}

/* Units that c had go to later orders, and to the order that replaces its own. */
Test(decide, what_a_customer_gave_back)
{
	struct table t = table_new(10, 0, 0, 0);
	struct op   *full = add(&t, OP_RESERVE, "R1", "A3"), *release = add(&t, OP_RELEASE, "R0", "A1"),
		  *behind = add(&t, OP_RESERVE, "R2", "A3"), *over = add(&t, OP_RESERVE, "R3", "A1"),
		  *replacing = add(&t, OP_RESERVE, "R4", "A3");

	full->customer = behind->customer = over->customer = "c";
	replacing->customer = "c";
	release->found = found_of_c(HELD, NOW + 1, release);
	release->becomes = RELEASED;
	replacing->other_id = "R2";
	replacing->other = found_of_c(HELD, NOW + 1, behind);
	quotas_set(&t);
	run(&t);
	cr_expect_eq(full->outcome, LIMIT_REACHED);
	cr_expect(full->lines[0].available == 3 && full->lines[0].reserved == 1, "the limit, and what c has");
	cr_expect_eq(release->outcome, OUTCOME_OK);
	cr_expect_eq(behind->outcome, OUTCOME_OK);
	cr_expect_eq(over->outcome, LIMIT_REACHED);
	cr_expect_eq(replacing->outcome, OUTCOME_OK, "the difference counts, and there is none");
	quotas_free(&t);
}

/* An expired order is acquired anew within the limit; the units of an unswept hold are counted already. */
Test(decide, acquired_anew_within_a_limit)
{
	static const struct {
		enum reservation_state state;
		int64_t                has;
		enum outcome           outcome;
	} rows[] = {
		{EXPIRED, 0, OUTCOME_OK}, {EXPIRED, 1, OUTCOME_OK}, {EXPIRED, 2, LIMIT_REACHED},
		{HELD, 2, OUTCOME_OK},    {HELD, 3, OUTCOME_OK},    {HELD, 4, LIMIT_REACHED},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct table t = table_new(10, 0, 0, 0);
		struct op   *op = add(&t, OP_CONFIRM, "R1", "A2");

		op->found = found_of_c(rows[i].state, NOW, op);
		op->change.reacquire = true;
		quotas_set(&t);
		quota_find(&t.quotas, "c", 1)->has = rows[i].has;
		run(&t);
		cr_expect_eq(op->outcome, rows[i].outcome, "row %zu: %s", i, outcome_code(op->outcome));
		quotas_free(&t);
	}
}

Test(decide, limits_wait_for_the_database)
{
	struct table  t = table_new(10, 0, 0, 0);
	struct op    *op = add(&t, OP_RESERVE, "R1", "A3"), *none = add(&t, OP_RESERVE, "R2", "A1");
	struct quota *of_c, *of_nobody;

	op->customer = "c";
	quotas_set(&t);
	of_c = quota_find(&t.quotas, "c", 1);
	of_nobody = quota_find(&t.quotas, NULL, 1);
	of_c->read_seq = of_nobody->read_seq = 2;
	run(&t);
	cr_assert(op_is_beyond(op) && op_is_refused(op) && op_is_beyond(none) && op_is_refused(none));
	op->lookup_seq = none->lookup_seq = 1;
	cr_assert(!op_is_certain(none, &t.batch), "the limit may be gone since the order came");
	op->lookup_seq = none->lookup_seq = 3;
	cr_assert(op_is_certain(none, &t.batch), "whatever anybody has");
	cr_assert(!op_is_certain(op, &t.batch), "an expired hold may still count");
	of_c->swept = true;
	cr_assert(!op_is_certain(op, &t.batch), "another may have had it for a moment");
	op->looks = LOOKS_ENOUGH;
	cr_assert(op_is_certain(op, &t.batch));
	op->looks = 0;
	of_c->agreed = true;
	cr_assert(op_is_certain(op, &t.batch));
	of_c->swept = false;
	cr_assert(!op_is_certain(op, &t.batch), "both looks may have seen the hold");
	of_c->swept = true;
	op->lookup_seq = 1;
	cr_assert(!op_is_certain(op, &t.batch), "what c has may be old");
	quotas_free(&t);
}
