/* stocktake.c - see stocktake.h. A stocktake must see every slot of its skus at one time, and so must an addition
 * that comes near the limit of a total. The transaction locks the slots, C decides, and the transaction writes.
 *
 * A count of yesterday adds what movements have added since. Movements are only appended, so all but those of the last
 * minute are summed before anything is locked. The rest is the first plain read behind the locks: it has whatever the
 * slots have. An arrival counts whole, from its own time on, whatever was handed out of it. */
#include "engine/write/stocktake.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/write/changes.h"
#include "engine/write/customers.h"
#include "engine/write/fence.h"
#include "engine/write/losses.h"
#include "engine/write/movement.h"
#include "engine/write/note.h"
#include "engine/write/reservation.h"
#include "engine/write/stock.h"

/* SETTLED_MS: no transaction takes longer, and no clock is known worse. BACK_MAX_MS: how far back a count may be. */
enum { SETTLED_MS = 60000 };
#define BACK_MAX_MS (INT64_C(35) * 86400 * 1000)

struct slot_row {
	uint32_t sku_id, location_id;
	uint16_t slot;
	int64_t  available, reserved;
	int64_t  change; /* change of available */
	int64_t  lost;   /* units that leave `reserved` */
	int64_t  booked; /* of a sum of promises, which stands among the slots: units that are booked */
};

struct slot_rows {
	struct slot_row *list;
	size_t           count, max;
};

static void slot_read(void *arg, const struct db_row *row)
{
	struct slot_rows *s = arg;

	struct slot_row r = {
		.sku_id = (uint32_t)db_int(row, 0),
		.location_id = (uint32_t)db_int(row, 1),
		.slot = (uint16_t)db_int(row, 2),
		.available = db_int(row, 3),
		.reserved = db_int(row, 4),
	};

	if (r.available < 0 || r.available > QTY_MAX || r.reserved < 0 || r.reserved > QTY_MAX)
		db_other(row); /* damaged: what is decided rests on sums of these */
	s->list = mem_reach(s->list, s->count, &s->max, sizeof(*s->list));
	s->list[s->count++] = r;
}

static void promise_read(void *arg, const struct db_row *row)
{
	struct slot_rows *s = arg;

	s->list = mem_reach(s->list, s->count, &s->max, sizeof(*s->list));
	s->list[s->count++] = (struct slot_row){
		.sku_id = (uint32_t)db_int(row, 0), .location_id = (uint32_t)db_int(row, 1), .booked = db_int(row, 2)};
}

static int slot_order(const void *a, const void *b)
{
	const struct slot_row *x = a, *y = b;
	int                    order = pair_order(x->sku_id, x->location_id, y->sku_id, y->location_id);

	return order ? order : (x->slot > y->slot) - (x->slot < y->slot);
}

/* The number of the first row of sorted ones that does not stand ahead of this place. */
static size_t slot_first(const struct slot_rows *s, uint32_t sku_id, uint32_t location_id, uint16_t slot)
{
	const struct slot_row key = {.sku_id = sku_id, .location_id = location_id, .slot = slot};
	size_t                low = 0, high = s->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (slot_order(&s->list[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The rows of a line stand together. */
static size_t line_first(const struct slot_rows *s, const struct line *line)
{
	return line->location ? slot_first(s, sku_id(line->sku), line->location->location_id, 0) : s->count;
}

static bool row_is_of(const struct slot_row *r, const struct line *line)
{
	return r->sku_id == sku_id(line->sku) && r->location_id == line->location->location_id;
}

/* Locks the sums of promises that the lines change. */
static void promises_lock(struct lane *l, const struct op *op, struct slot_rows *s)
{
	struct values sums = {0};
	bool          losers = op->losses && op->losses->losers_count > 0;

	values_reset(&l->rows);
	for (size_t k = 0; k < op->lines_count; k++) {
		const struct line *line = &op->lines[k];

		if (!line->location || location_in_house(line->location))
			continue;
		values_row(&l->rows, V_INT(sku_id(line->sku)), V_INT(line->location->location_id), V_INT(0), V_INT(1));
		values_row(&sums, V_INT(sku_id(line->sku)), V_INT(line->location->location_id));
	}
	for (size_t k = 0; losers && k < op->lines_count; k++)
		if (op->lines[k].loss)
			values_row(&l->rows, V_INT(sku_id(op->lines[k].sku)), V_INT(op->lines[k].loss->to->location_id),
			           V_INT(0), V_INT(1));
	txn_rows(&l->txn, PROMISE_ENTER, &l->rows);
	if (sums.count > 0)
		txn_read(&l->txn, PROMISE_READ, &(struct fill){.rows = &sums}, promise_read, s);
	values_fini(&sums);
}

/* ---- counts, and what has moved since */

/* The lines of a count by the numbers of sku and place: rows name these. */
struct counting {
	struct op    *op;
	struct line **lines;
	int64_t       as_of; /* of the lines that are asked for */
};

static int numbers_order(const void *a, const void *b)
{
	const struct line *x = *(struct line *const *)a, *y = *(struct line *const *)b;

	if (x->sku != y->sku)
		return sku_id(x->sku) < sku_id(y->sku) ? -1 : 1;
	return (x->location->location_id > y->location->location_id) -
	       (x->location->location_id < y->location->location_id);
}

static int row_order(const void *key, const void *item)
{
	const struct db_row *row = key;
	const struct line   *line = *(struct line *const *)item;
	uint32_t             sku = (uint32_t)db_int(row, 0), location = (uint32_t)db_int(row, 1);

	if (sku != sku_id(line->sku))
		return sku < sku_id(line->sku) ? -1 : 1;
	return (location > line->location->location_id) - (location < line->location->location_id);
}

static void counting_begin(struct counting *in, struct op *op)
{
	in->op = op;
	if (!op_moves(op, COUNTED))
		return;
	in->lines = mem_alloc((op->lines_count + 1) * sizeof(struct line *));
	for (size_t k = 0; k < op->lines_count; k++)
		in->lines[k] = &op->lines[k];
	qsort(in->lines, op->lines_count, sizeof(struct line *), numbers_order);
}

/* NULL: the place of the row is not counted. */
static struct counted *counted_of(const struct counting *in, const struct db_row *row)
{
	struct line **at = bsearch(row, in->lines, in->op->lines_count, sizeof(struct line *), row_order);

	return at ? (*at)->count : NULL;
}

static void last_read(void *arg, const struct db_row *row)
{
	struct counted *counted = counted_of(arg, row);
	int64_t         counted_at = time_parse(row->col[2]);

	if (counted && counted->as_of && counted_at > counted->as_of)
		counted->counted_at = counted_at;
}

/* Every count writes the row of its sku and location, so no two of them pass each other, on whatever nodes they are. */
static void counts_enter(struct lane *l, struct counting *in)
{
	const struct op *op = in->op;

	values_reset(&l->rows);
	for (size_t k = 0; k < op->lines_count; k++)
		values_row(&l->rows, V_INT(sku_id(op->lines[k].sku)), V_INT(op->lines[k].location->location_id),
		           V_INT(op->lines[k].count->as_of));
	txn_read(&l->txn, COUNTED_ENTER, &(struct fill){.rows = &l->rows}, last_read, in);
}

static void nothing_read(void *arg, const struct db_row *row)
{
	(void)arg;
	(void)row;
}

/* An adjustment that rests on how many units there are writes the rows of counts, too: no count and no other one passes
 * it. FIRST_MS: a time before all counts, so that the time of the last one stays. */
static void levels_enter(struct lane *l, const struct op *op)
{
	enum { FIRST_MS = 1 };

	values_reset(&l->rows);
	for (size_t k = 0; k < op->lines_count; k++)
		if (line_expects(op, &op->lines[k]))
			values_row(&l->rows, V_INT(sku_id(op->lines[k].sku)), V_INT(op->lines[k].location->location_id),
			           V_INT(FIRST_MS));
	txn_read(&l->txn, COUNTED_ENTER, &(struct fill){.rows = &l->rows}, nothing_read, NULL);
}

static void since_read(void *arg, const struct db_row *row)
{
	const struct counting *in = arg;
	struct counted        *counted = counted_of(in, row);

	if (counted && counted->as_of == in->as_of)
		counted->since += db_int(row, 2);
}

/* The skus of the lines that were counted then. False: an earlier line was, and theirs were named with it. */
static bool skus_counted(const struct op *op, size_t first, struct values *skus)
{
	values_reset(skus);
	for (size_t k = 0; k < op->lines_count; k++)
		if (op->lines[k].count->as_of == op->lines[first].count->as_of) {
			if (k < first)
				return false;
			values_row(skus, V_INT(sku_id(op->lines[k].sku)));
		}
	return true;
}

/* Adds what was moved behind the time of each line, up to `until`; locked: what was moved later. */
static enum db_result since_add(struct lane *l, struct counting *in, int64_t until, bool locked)
{
	const struct op *op = in->op;
	enum db_result   result = DB_OK;

	for (size_t k = 0; op_moves(op, COUNTED) && result == DB_OK && k < op->lines_count; k++) {
		int64_t     as_of = op->lines[k].count->as_of, after = locked && as_of < until ? until : as_of;
		struct fill fill = {.rows = &l->rows,
		                    .after_at = after,
		                    .until_at = locked ? TIME_LAST : until,
		                    .after_id = (int64_t)id_first(after - SETTLED_MS)};

		if (!as_of || (!locked && as_of >= until) || !skus_counted(op, k, &l->rows))
			continue;
		in->as_of = as_of;
		if (locked)
			txn_read(&l->txn, MOVED_SINCE, &fill, since_read, in);
		else
			result = lane_ask(l, MOVED_SINCE, &fill, since_read, in);
	}
	return result;
}

static void arriving_read(void *arg, const struct db_row *row)
{
	struct counted *counted = counted_of(arg, row);

	if (counted)
		counted->arriving = db_int(row, 2);
}

/* A count of a location finds the units that have arrived there, handed out or not. A count of a promise is without
 * what has arrived of it (counted_decide). */
static void arriving_add(struct lane *l, struct counting *in)
{
	values_reset(&l->rows);
	for (size_t k = 0; op_moves(in->op, COUNTED) && k < in->op->lines_count; k++)
		values_row(&l->rows, V_INT(sku_id(in->op->lines[k].sku)));
	if (l->rows.count > 0)
		txn_read(&l->txn, ARRIVING, &(struct fill){.rows = &l->rows}, arriving_read, in);
}

/* ---- decisions */

/* A count at its own time: on_hand becomes what was counted and what was moved since. */
static enum outcome count_decide(struct line *line)
{
	const struct counted *count = line->count;
	int64_t               on_hand = line->available + line->reserved + count->arriving - count->since;

	line->granted = line->qty - on_hand;
	if (count->counted_at || (count->expected >= 0 && count->expected != on_hand))
		return COUNT_MISMATCH;
	return line->available + line->granted < 0 ? SHORT : OUTCOME_OK;
}

/* The change that a line makes, now that its slots are locked. Booked units of a promise are not available: an arrival
 * takes them. */
static enum outcome counted_decide(const struct op *op, struct line *line, const struct slot_rows *s)
{
	struct loss *loss = line->loss;
	enum outcome out = OUTCOME_OK;
	int64_t      unbooked, booked = 0;

	if (loss)
		loss->needed = 0;
	line->available = line->reserved = 0;
	for (size_t i = line_first(s, line); i < s->count && row_is_of(&s->list[i], line); i++) {
		line->available += s->list[i].available;
		line->reserved += s->list[i].reserved;
		booked += s->list[i].booked;
	}
	line->granted = line->qty;
	if (line_expects(op, line) && line->available + line->reserved != line->expected) {
		line->fault = true;
		return COUNT_MISMATCH;
	}
	unbooked = line->available + line->reserved - booked;
	if (op_moves(op, COUNTED) && booked > 0)
		line->count->arriving = -booked;
	else if (line->available > unbooked)
		line->available = unbooked;
	if (op_moves(op, BOOKS)) {
		line->available = unbooked;
		line->granted = 0;
	}
	if (op_moves(op, COUNTED))
		out = count_decide(line);
	else if (line->available < line_takes(op, line))
		out = SHORT;
	if (out == SHORT && loss && -(line->available + line->granted) <= line->reserved) {
		loss->needed = -(line->available + line->granted);
		out = OUTCOME_OK;
	}
	line->fault = out != OUTCOME_OK;
	return out;
}

static bool passes_limit(struct op *op, const struct slot_rows *s)
{
	struct shares totals = {0};
	bool          passes;

	for (size_t i = 0; i < s->count; i++)
		share_add(&totals, s->list[i].sku_id, 0, 0, s->list[i].available + s->list[i].reserved, 0);
	shares_sum(&totals);
	passes = movement_passes_limit(op, &totals);
	shares_fini(&totals);
	return passes;
}

/* A malformed line is told before all others. */
static bool counts_ahead(struct op *op, int64_t now)
{
	bool ahead = false;

	for (size_t k = 0; k < op->lines_count; k++) {
		struct counted *count = op->lines[k].count;

		count->ahead = count->as_of && (count->as_of > now || count->as_of < now - BACK_MAX_MS);
		ahead |= count->ahead;
	}
	return ahead;
}

/* The outcome that stands first in outcome.def; the lines keep their fault only where it is theirs. */
static enum outcome stocktake_decide(struct op *op, const struct slot_rows *s)
{
	enum outcome out = OUTCOME_OK;

	for (size_t k = 0; k < op->lines_count; k++) {
		enum outcome of_line = counted_decide(op, &op->lines[k], s);

		if (of_line != OUTCOME_OK && (out == OUTCOME_OK || of_line < out))
			out = of_line;
	}
	for (size_t k = 0; out == COUNT_MISMATCH && k < op->lines_count; k++)
		op->lines[k].fault = counted_decide(op, &op->lines[k], s) == COUNT_MISMATCH;
	if (out == OUTCOME_OK && passes_limit(op, s))
		out = LIMIT;
	return out == OUTCOME_OK && op->losses ? losers_decide(op) : out;
}

/* Additions go to the own slot; its row may have to be made; units that leave are taken from slots that have them. */
static void line_spread(struct lane *l, const struct op *op, const struct line *line, struct slot_rows *s,
                        struct values *lines)
{
	int64_t left = -line->granted - (line->loss ? line->loss->needed : 0);

	if (line->granted >= 0) {
		movement_line_row(lines, op, line, l->slot, line->granted);
		if (left < 0)
			values_row(&l->rows, V_INT(sku_id(line->sku)), V_INT(line->location->location_id),
			           V_INT(l->slot), V_INT(-left), V_INT(0));
		return;
	}
	for (size_t i = line_first(s, line); i < s->count && row_is_of(&s->list[i], line); i++) {
		struct slot_row *r = &s->list[i];

		r->change = r->available < left ? -r->available : -left;
		left += r->change;
		if (r->change < 0 || r->lost > 0)
			movement_line_row(lines, op, line, r->slot, r->change - r->lost);
	}
	assert(left == 0); /* no slot has less than none (slot_read), and together they have it (counted_decide) */
}

/* Marks the slots that have what orders lose. */
static void slots_lose(struct lane *l, const struct losses *losses, struct slot_rows *s)
{
	for (size_t i = 0; i < losses->lost_count; i++) {
		const struct relocation *lost = &losses->lost[i];
		size_t at = slot_first(s, sku_id(lost->line->sku), lost->line->location->location_id, lost->line->slot);

		if (at == s->count || !row_is_of(&s->list[at], lost->line) || s->list[at].slot != lost->line->slot ||
		    s->list[at].lost + lost->qty > s->list[at].reserved) {
			txn_refuse(&l->txn, TXN_MISPLACED);
			return;
		}
		s->list[at].lost += lost->qty;
	}
}

static void stocktake_write(struct lane *l, struct op *op, struct slot_rows *s)
{
	struct values lines = {0};
	struct shares given = {0};

	op->new_id = lane_new_id(l);
	if (op->losses)
		slots_lose(l, op->losses, s);
	if (!txn_goes_on(&l->txn))
		return;
	values_reset(&l->rows);
	for (size_t k = 0; k < op->lines_count; k++)
		line_spread(l, op, &op->lines[k], s, &lines);
	txn_rows(&l->txn, STOCK_ADD, &l->rows);
	values_reset(&l->rows);
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].change < 0 || s->list[i].lost > 0)
			values_row(&l->rows, V_INT(-s->list[i].change), V_INT(-s->list[i].lost),
			           V_INT(s->list[i].sku_id), V_INT(s->list[i].location_id), V_INT(s->list[i].slot));
	if (l->rows.count > 0)
		stock_deduct(l);
	batch_gives(&l->batch, &given);
	customers_write(l, &given.customers);
	if (op->other)
		returns_write(l);
	shares_fini(&given);
	values_reset(&l->rows);
	movement_row(&l->rows, op);
	txn_run(&l->txn, MOVEMENT_ADD, &(struct fill){.rows = &l->rows});
	txn_run(&l->txn, MOVEMENT_LINE_ADD, &(struct fill){.rows = &lines});
	transfers_insert(l);
	if (op_moves(op, BOOKS))
		arrivals_insert(l, op);
	if (l->writer->logs)
		txn_run(&l->txn, LANE_LOGS, &(struct fill){.writer = l->writer->writer_id});
	if (op->losses) /* its orders name the row of events */
		losses_write(l, op);
	values_fini(&lines);
	if (!l->writer->logs)
		return;
	changes_write(l);
	lane_log(l);
}

/* Looks for a twin that was committed before our locks were given: it is why the balances are not as expected, and the
 * id tells. */
static void stocktake_look_again(struct lane *l, struct op *op)
{
	op->lookup_due = true;
	txn_fail(&l->txn, movements_look_up(l));
	if (txn_goes_on(&l->txn) && op->move.found)
		op->outcome = movement_outcome(op);
}

/* Forgets what the count was told before. */
static enum db_result counts_begin(struct lane *l, struct counting *in, int64_t until)
{
	for (size_t k = 0; op_moves(in->op, COUNTED) && k < in->op->lines_count; k++) {
		struct counted *count = in->op->lines[k].count;

		count->since = count->counted_at = count->arriving = 0;
	}
	return since_add(l, in, until, false);
}

/* A refused count leaves nothing behind, its own row among it, nor does an adjustment that enters as one. */
static enum db_result stocktake_end(struct lane *l, bool refused, enum txn_verdict *verdict, int64_t *now)
{
	enum db_result result;

	if (refused)
		txn_refuse(&l->txn, TXN_MOVED);
	result = lane_commit(l, verdict, now);
	if (refused && result == DB_OK)
		*verdict = TXN_DONE;
	return result;
}

static void slots_lock(struct lane *l, const struct op *op, struct slot_rows *s)
{
	values_reset(&l->rows);
	for (size_t k = 0; k < op->lines_count; k++)
		values_row(&l->rows, V_INT(sku_id(op->lines[k].sku)));
	txn_read(&l->txn, STOCK_EVERY_SLOT, &(struct fill){.rows = &l->rows}, slot_read, s);
	if (s->count > 0)
		qsort(s->list, s->count, sizeof(*s->list), slot_order);
}

/* Decides behind the locks, and writes. */
static void stocktake_resolve(struct lane *l, struct op *op, struct slot_rows *s)
{
	op->outcome = op_moves(op, COUNTED) && counts_ahead(op, l->txn.now) ? INVALID : stocktake_decide(op, s);
	op->writes = op->outcome == OUTCOME_OK;
	if (op->writes)
		stocktake_write(l, op, s); /* the batch is this operation alone */
	else
		stocktake_look_again(l, op);
}

enum db_result stocktake_run(struct lane *l, struct op *op, enum txn_verdict *verdict, int64_t *now)
{
	struct slot_rows s = {0};
	struct counting  in = {0};
	int64_t          until = clock_ms() + atomic_load(&l->shared->clock_offset_ms) - SETTLED_MS;
	bool             counted = op_moves(op, COUNTED), expects = op_expects(op);
	enum db_result   result;

	counting_begin(&in, op);
	result = counts_begin(l, &in, until);
	if (result == DB_OK) {
		lane_begin(l, REPEATABLE_READ, false);
		promises_lock(l, op, &s);
		reservations_lock(l);
		if (op->losses)
			losers_lock(l, op);
		if (counted)
			counts_enter(l, &in);
		if (expects)
			levels_enter(l, op);
		slots_lock(l, op, &s);
		txn_fail(&l->txn, since_add(l, &in, until, true));
		arriving_add(l, &in);
		op->writes = false;
		if (txn_goes_on(&l->txn))
			stocktake_resolve(l, op, &s);
		result = stocktake_end(l, txn_goes_on(&l->txn) && (counted || expects) && !op->writes, verdict, now);
	} else if (result == DB_UNKNOWN) {
		result = DB_AWAY;
	}
	free(in.lines);
	free(s.list);
	return result;
}
