/* test_group.c - items of an atomic call among other operations of a batch, without a database: who gets what, what
 * those behind find, and when a refusal may be told. */
#include "engine/lane/certain.h"
#include "engine/lane/decide.h"
#include "engine/lane/quota.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPS = 8, SKUS = 2 };

/* A batch over skus A and B at one location, of which customer c may have 3 and 2. */
struct table {
	struct catalogue *catalogue;
	struct op        *ops[OPS];
	struct balance    balances[SKUS];
	struct batch      batch;
	struct quotas     quotas;
};

static void table_open(struct table *t, int64_t a, int64_t b)
{
	*t = (struct table){.catalogue = catalogue_new()};
	t->batch = (struct batch){.ops = t->ops,
	                          .balances = t->balances,
	                          .balances_count = SKUS,
	                          .quotas = &t->quotas,
	                          .needs = ~0U,
	                          .read_seq = 1};
	for (uint32_t i = 0; i < SKUS; i++) {
		int64_t    total = i ? b : a;
		const char code = (char)('A' + i);

		t->balances[i] = (struct balance){
			.sku_id = i + 1, .location_id = 1, .own = total, .total = total, .known = true};
		catalogue_sku_enter(t->catalogue, i + 1, &code, 1);
		quota_enter(&t->quotas, "c", i + 1);
		t->quotas.list[i].limit = 3 - i;
		t->quotas.list[i].read_seq = 1;
	}
	quotas_sort(&t->quotas);
	catalogue_locations_enter(t->catalogue, catalogue_locations_ask(t->catalogue), 1,
	                          &(struct location){.location_id = 1, .kind = LOCATION_STOCK, .code = "main"}, 1);
}

static void table_close(struct table *t)
{
	for (size_t i = 0; i < t->batch.count; i++)
		op_free(t->ops[i]);
	free(t->batch.marks);
	free(t->quotas.list);
	catalogue_free(t->catalogue);
}

/* Orders as "A4 B2", each of a customer of its own where it begins with "c:". */
static struct op *add(struct table *t, const char *lines)
{
	struct op *op = op_new(OP_RESERVE, 8, 256);
	char       copy[64], *rest = copy;

	op->customer = strncmp(lines, "c:", 2) == 0 ? "c" : "d";
	snprintf(copy, sizeof(copy), "%s", lines + (op->customer[0] == 'c' ? 2 : 0));
	snprintf(op->id, sizeof(op->id), "R%zu", t->batch.count);
	for (char *word = strsep(&rest, " "); word && *word; word = strsep(&rest, " "))
		op_line(op, word, 1, NULL, 0, strtoll(word + 1, NULL, 10));
	op_seal(op, NULL);
	op->needs = ~0U;
	for (size_t i = 0; i < op->lines_count; i++) {
		op->lines[i].sku = catalogue_sku(t->catalogue, op->lines[i].sku_code);
		op->lines[i].location = catalogue_location(t->catalogue, "main");
		op->lines[i].balance = op->lines[i].sku ? sku_id(op->lines[i].sku) - 1 : 0;
	}
	t->ops[t->batch.count++] = op;
	return op;
}

/* These orders are one call. */
static void join(struct table *t, size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++) {
		t->ops[i]->atomic = true;
		t->ops[i]->more_follow = i + 1 < first + count;
	}
}

static const char *codes(const struct table *t)
{
	static char to[200];
	size_t      len = 0;

	for (size_t i = 0; i < t->batch.count; i++)
		len += (size_t)snprintf(to + len, sizeof(to) - len, "%s%s", i ? " " : "",
		                        t->ops[i]->outcome == OUTCOME_OK        ? "ok"
		                        : outcome_is_repeat(t->ops[i]->outcome) ? "done"
		                                                                : outcome_code(t->ops[i]->outcome));
	return to;
}

/* The second, third and fourth order are a call. What one of them cannot have, none of them takes. */
Test(group, those_behind_find_what_was_there)
{
	static const struct {
		const char *orders[5], *codes;
		int64_t     left_a, left_b;
	} rows[] = {
		{{"A2", "A4", "B2", "A1", "A8"}, "ok not_done short not_done ok", 0, 1},
		{{"A2", "A4", "B1", "A1", "A4"}, "ok ok ok ok short", 3, 0},
		{{"A2", "A4", "X1", "A5", "A8"}, "ok not_done unknown_sku short ok", 0, 1},
		{{"A9", "A1", "A1", "B1", "A1 B1"}, "ok not_done short not_done ok", 0, 0},
		{{"c:A1", "c:A2", "c:A1", "A1", "c:A2"}, "ok not_done limit_reached not_done ok", 7, 1},
		{{"c:A1", "c:A1", "c:A1", "A1", "c:A1"}, "ok ok ok ok limit_reached", 6, 1},
		{{"c:A1", "c:A1", "c:A1", "A11", "c:A2"}, "ok not_done not_done short ok", 7, 1},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct table t;

		table_open(&t, 10, 1);
		for (size_t k = 0; k < LENGTH(rows[i].orders); k++)
			add(&t, rows[i].orders[k]);
		join(&t, 1, 3);
		for (int again = 0; again < 2; again++) {
			decide(&t.batch);
			cr_expect_str_eq(codes(&t), rows[i].codes, "row %zu: %s", i, codes(&t));
			cr_expect(t.balances[0].left == rows[i].left_a && t.balances[1].left == rows[i].left_b,
			          "row %zu: %d A, %d B are left", i, (int)t.balances[0].left, (int)t.balances[1].left);
			cr_expect(t.balances[0].take == 10 - rows[i].left_a &&
			          t.balances[0].hold == t.balances[0].take);
		}
		table_close(&t);
	}
}

static void exists(struct op *op)
{
	struct reservation *r = calloc(1, sizeof(*r));

	memcpy(r->lines_hash, op->lines_hash, sizeof(r->lines_hash));
	r->state = RELEASED;
	op->found = r;
}

/* Two calls stand side by side. What exists is granted, and takes nothing. */
Test(group, items_that_exist)
{
	struct table t;

	table_open(&t, 10, 1);
	exists(add(&t, "A8"));
	exists(add(&t, "A9"));
	exists(add(&t, "A7"));
	add(&t, "A10");
	exists(add(&t, "B1"));
	add(&t, "B2");
	join(&t, 0, 2);
	join(&t, 2, 2);
	join(&t, 4, 2);
	decide(&t.batch);
	cr_expect_str_eq(codes(&t), "done done done ok not_done short");
	cr_expect_eq(t.balances[0].left, 0);
	table_close(&t);
}

/* No refusal is told before all ids were looked up behind the balances, at one time. */
Test(group, a_refusal_waits_for_all_ids)
{
	struct table t;

	table_open(&t, 10, 1);
	add(&t, "A6");
	add(&t, "A6");
	add(&t, "B1");
	join(&t, 0, 3);
	decide(&t.batch);
	cr_assert_str_eq(codes(&t), "not_done short not_done");
	cr_assert(t.batch.needs & NEEDS_CERTAINTY);
	for (size_t i = 0; i < SKUS; i++) {
		t.balances[i].read_seq = 2;
		t.balances[i].swept = t.balances[i].agreed = true;
	}
	t.ops[1]->lookup_seq = 3;
	cr_assert(op_is_certain(t.ops[1], &t.batch), "by itself");
	cr_assert(!unit_is_certain(t.ops, 3, &t.batch));
	t.ops[0]->lookup_seq = t.ops[2]->lookup_seq = 1;
	cr_assert(!unit_is_certain(t.ops, 3, &t.batch), "they were new before the balances were read");
	t.ops[0]->lookup_seq = t.ops[2]->lookup_seq = 3;
	cr_assert(unit_is_certain(t.ops, 3, &t.batch));
	t.balances[0].swept = false;
	cr_assert(!unit_is_certain(t.ops, 3, &t.batch), "an expired hold may have the units");
	table_close(&t);
}

/* So many lines are not written together: those that are there count, too. */
Test(group, too_many_lines)
{
	struct table t;
	struct op   *release = op_new(OP_RELEASE, 0, 0);

	table_open(&t, 10, 1);
	add(&t, "A6");
	t.ops[t.batch.count++] = release;
	release->found = calloc(1, sizeof(*release->found) + ITEMS_LINES_MAX * sizeof(struct line));
	release->found->state = CONFIRMED;
	release->found->lines_count = ITEMS_LINES_MAX - 1;
	join(&t, 0, 2);
	decide(&t.batch);
	cr_expect_str_eq(codes(&t), "ok ok");
	release->found->lines_count++;
	decide(&t.batch);
	cr_expect_str_eq(codes(&t), "too_large too_large");
	cr_expect(t.balances[0].left == 10 && !t.batch.writes);
	release->found->lines_count = 0;
	table_close(&t);
}
