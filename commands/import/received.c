/* received.c - see received.h. */
#include "commands/import/received.h"
#include "api/stock/stock_call.h"
#include "engine/base/memory.h"
#include "engine/op.h"

/* SUM_MAX: units of a sku and location up to which every sum of its rows is tried. TRIED_MAX: rows times units. */
enum { SUM_MAX = 1000000 };
#define TRIED_MAX INT64_C(200000000)

const char *row_location(const struct row *row)
{
	return row->said.location ? row->location : "main";
}

/* ---- operations */

size_t rows_that(const struct row *rows, size_t count, enum row_is is, unsigned wave)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += rows[i].is == is && (wave == ALL_WAVES || rows[i].wave == wave);
	return found;
}

static void row_add(struct op *op, const struct row *row)
{
	const char *location = row->said.location ? row->location : NULL;

	if (op_moves(op, HAS_ENDS)) {
		op_transfer(op, &(struct transfer){row->sku, row->location, row->to, .qty = row->said.qty});
		return;
	}
	op_line(op, row->sku, strlen(row->sku), location, location ? strlen(location) : 0, row->said.qty);
	if (op_moves(op, COUNTED))
		op_counted(op, row->said.expected, row->said.as_of);
	else if (op_moves(op, SIGNED))
		op_expect(op, row->said.expected);
	if (row->said.loses)
		op_lose(op, row->said.waits_at ? row->waits_at : NULL, strlen(row->waits_at));
}

struct op *rows_movement(enum movement_kind kind, const struct row *rows, size_t count, enum row_is is, unsigned wave)
{
	struct op *op = movement_new(kind, rows_that(rows, count, is, wave), 0);

	for (size_t i = 0; i < count; i++)
		if (rows[i].is == is && (wave == ALL_WAVES || rows[i].wave == wave))
			row_add(op, &rows[i]);
	op->move.reason = "import";
	op_seal(op, NULL);
	return op;
}

/* ---- the rows of a movement */

/* Rows by sku and location, those of one in the order of the file. */
static int row_order(const void *a, const void *b)
{
	const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;
	int               order = strcmp(x->sku, y->sku);

	order = order ? order : strcmp(row_location(x), row_location(y));
	return order ? order : (x > y) - (x < y);
}

/* The rows that may stand in the movement, sorted. */
struct sorted {
	struct row **list;
	size_t       count;
};

static int spot_order(const struct row *row, const char *sku, const char *location)
{
	int order = strcmp(row->sku, sku);

	return order ? order : strcmp(row_location(row), location);
}

/* The rows at this location of the sku: the first of them in the list, and how many there are. */
static size_t spot_find(const struct sorted *s, const char *sku, const char *location, size_t *first)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (spot_order(s->list[mid], sku, location) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*first = low;
	while (high < s->count && spot_order(s->list[high], sku, location) == 0)
		high++;
	return high - low;
}

/* Finds rows that have `units` together, and marks them. reach[s]: the first row by which the sum s is reached. */
static bool sum_mark(struct row **rows, size_t count, int64_t units, enum row_is is)
{
	uint16_t *reach;
	bool      found;

	if (units > SUM_MAX || units * (int64_t)count > TRIED_MAX)
		return false;
	reach = mem_alloc((size_t)(units + 1) * sizeof(*reach));
	for (size_t i = 0; i < count && !reach[units]; i++)
		for (int64_t sum = units, qty = rows[i]->said.qty; sum >= qty; sum--)
			if (!reach[sum] && (sum == qty || reach[sum - qty]))
				reach[sum] = (uint16_t)(i + 1);
	found = reach[units] > 0;
	for (int64_t sum = units; found && sum > 0; sum -= rows[reach[sum] - 1]->said.qty)
		rows[reach[sum] - 1]->is = is;
	free(reach);
	return found;
}

/* Marks the rows of a receipt's line: nearly always all that are at its location. */
static bool units_find(struct row **rows, size_t count, int64_t units)
{
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += rows[i]->said.qty;
	if (units <= 0 || units > sum)
		return false;
	if (units < sum && units <= sum - units)
		return sum_mark(rows, count, units, FOUND);
	for (size_t i = 0; i < count; i++)
		rows[i]->is = FOUND;
	return units == sum || sum_mark(rows, count, sum - units, WAITS); /* those that are left out: fewer sums */
}

/* Marks the row of a line of another kind: the first one, with these units if the line tells them. */
static bool line_find(struct row **rows, size_t count, const char *to, int64_t qty, bool told)
{
	for (int exact = told; exact >= 0; exact--)
		for (size_t i = 0; i < count; i++)
			if (rows[i]->is == WAITS && (!to || strcmp(rows[i]->to, to) == 0) &&
			    (!exact || rows[i]->said.qty == qty)) {
				rows[i]->is = FOUND;
				return true;
			}
	return false;
}

static bool lines_find(enum movement_kind kind, const struct sorted *s, const struct movement *m)
{
	size_t first, count;
	bool   ok = true;

	for (size_t i = 0; i < m->transfers_count && ok; i++) {
		const struct transfer *t = &m->transfers[i];

		count = spot_find(s, t->sku_code, t->from_code, &first);
		ok = line_find(s->list + first, count, t->to_code, t->qty, true);
	}
	for (size_t i = 0; i < m->lines_count && m->transfers_count == 0 && ok; i++) {
		const struct line *line = &m->lines[i];

		count = spot_find(s, line->sku_code, line->location_code, &first);
		if (kind == RECEIPT)
			ok = units_find(s->list + first, count, line->granted);
		else /* a line where orders wait has no row */
			(void)line_find(s->list + first, count, NULL, line->granted, !movement_is(kind, COUNTED));
	}
	return ok;
}

/* True: the movement consists of the rows that were marked, by the fingerprint. */
static bool is_of_found(enum movement_kind kind, const struct row *rows, size_t count, const struct movement *m)
{
	struct op *op;
	bool       same;

	if (rows_that(rows, count, FOUND, ALL_WAVES) == 0)
		return false;
	op = rows_movement(kind, rows, count, FOUND, ALL_WAVES);
	same = memcmp(op->lines_hash, m->lines_hash, sizeof(op->lines_hash)) == 0;
	op_free(op);
	return same;
}

bool rows_find(enum movement_kind kind, struct row *rows, size_t count, const struct movement *m)
{
	struct sorted s = {.list = mem_alloc((count + 1) * sizeof(*s.list))};
	bool          same;

	for (size_t i = 0; i < count; i++) {
		assert(rows[i].is != FOUND);
		if (rows[i].is == WAITS)
			s.list[s.count++] = &rows[i];
	}
	qsort(s.list, s.count, sizeof(*s.list), row_order);
	same = m->kind == kind && lines_find(kind, &s, m) && is_of_found(kind, rows, count, m);
	for (size_t i = 0; i < s.count && !same; i++)
		s.list[i]->is = WAITS;
	free(s.list);
	return same;
}
