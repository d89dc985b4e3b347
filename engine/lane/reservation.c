/* reservation.c - what becomes of reservations in a batch: found, made, changed, swept, answered.
 *
 * Rows are read without a lock, decided on in C (decide.c) and written with the decision's premise in the WHERE. The
 * lines of a reservation only change when an expired one is acquired anew, so the state that was read vouches for the
 * lines too. */
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/lane/lane.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading */

enum column {
	ORDER_ID,
	RESERVATION_ID,
	LINES_HASH,
	STATE,
	EXPIRES_AT,
	TASK_ID,
	ATTEMPTS,
	LAST_ERROR,
	CREATED_AT,
	CONFIRMED_AT,
	RELEASED_AT,
	SETTLED_AT,
	NOW,
	DUE_AT,
	KEY_ID,
	LINE_SKU_ID,
	LINE_SKU,
	LINE_LOCATION_ID,
	LINE_LOCATION,
	LINE_SLOT,
	LINE_QTY
};

void reservation_free(struct reservation *r)
{
	if (r)
		free(r->last_error);
	free(r);
}

struct reservation *reservation_copy(const struct reservation *r)
{
	size_t              size = sizeof(*r) + r->lines_count * sizeof(struct line);
	struct reservation *copy = memcpy(mem_alloc(size), r, size);

	copy->last_error = r->last_error ? mem_copy(r->last_error) : NULL;
	return copy;
}

void reservations_free(struct reservation **list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		reservation_free(list[i]);
	free(list);
}

static struct reservation *reservation_begin(const struct db_row *row, size_t lines_max)
{
	struct reservation *r = mem_alloc(sizeof(*r) + lines_max * sizeof(struct line));

	assert(row->len[ORDER_ID] <= ID_MAX && row->len[LINES_HASH] == sizeof(r->lines_hash));
	memcpy(r->order_id, row->col[ORDER_ID], row->len[ORDER_ID]);
	memcpy(r->lines_hash, row->col[LINES_HASH], sizeof(r->lines_hash));
	r->reservation_id = (uint64_t)db_int(row, RESERVATION_ID);
	r->state = (enum reservation_state)db_int(row, STATE);
	r->task_id = (uint64_t)db_int(row, TASK_ID);
	r->attempts = (unsigned)db_int(row, ATTEMPTS);
	r->last_error = row->col[LAST_ERROR] ? mem_copy(row->col[LAST_ERROR]) : NULL;
	r->expires_at = time_parse(row->col[EXPIRES_AT]);
	r->created_at = time_parse(row->col[CREATED_AT]);
	r->confirmed_at = time_parse(row->col[CONFIRMED_AT]);
	r->released_at = time_parse(row->col[RELEASED_AT]);
	r->settled_at = time_parse(row->col[SETTLED_AT]);
	r->due_at = time_parse(row->col[DUE_AT]);
	r->key_id = (uint32_t)db_int(row, KEY_ID);
	r->read_at = time_parse(row->col[NOW]);
	return r;
}

/* Where it is not, the catalogue knows another database, or another past of this one. */
static bool column_is(const struct db_row *row, unsigned column, const char *code)
{
	return !row->col[column] ||
	       (strlen(code) == row->len[column] && memcmp(code, row->col[column], row->len[column]) == 0);
}

void line_read(struct catalogue *c, struct line *line, const struct db_row *row, unsigned first)
{
	uint32_t sku_id = (uint32_t)db_int(row, first), location_id = (uint32_t)db_int(row, first + 2);

	line->sku = catalogue_sku_by_id(c, sku_id);
	if (!line->sku || !column_is(row, first + 1, sku_code(line->sku)))
		line->sku = catalogue_sku_enter(c, sku_id, row->col[first + 1], row->len[first + 1]);
	line->location = catalogue_location_by_id(c, location_id);
	if (!line->location || !column_is(row, first + 3, line->location->code))
		line->location = catalogue_location_enter(c, location_id, row->col[first + 3], row->len[first + 3]);
	line->sku_code = sku_code(line->sku);
	line->location_code = line->location->code;
	line->slot = (uint16_t)db_int(row, first + 4);
	line->qty = line->granted = db_int(row, first + 5);
}

void reservation_read(void *arg, const struct db_row *row)
{
	struct reservation_reader *in = arg;
	struct reservation        *r = in->count ? in->list[in->count - 1] : NULL;

	if (!r || r->reservation_id != (uint64_t)db_int(row, RESERVATION_ID)) {
		in->list = mem_reach(in->list, in->count, &in->max, sizeof(*in->list));
		in->lines_max = 4;
		r = in->list[in->count++] = reservation_begin(row, in->lines_max);
	}
	if (!row->col[LINE_SKU_ID])
		return;
	if (r->lines_count == in->lines_max) {
		in->lines_max *= 2;
		r = in->list[in->count - 1] = mem_resize(r, sizeof(*r) + in->lines_max * sizeof(struct line));
	}
	r->lines[r->lines_count] = (struct line){0};
	line_read(in->catalogue, &r->lines[r->lines_count++], row, LINE_SKU_ID);
}

static int by_id(const void *a, const void *b)
{
	const struct reservation *x = *(struct reservation *const *)a, *y = *(struct reservation *const *)b;

	return (x->reservation_id > y->reservation_id) - (x->reservation_id < y->reservation_id);
}

static struct reservation *lines_append(struct reservation *r, struct reservation *piece)
{
	r = mem_resize(r, sizeof(*r) + (r->lines_count + piece->lines_count) * sizeof(struct line));
	memcpy(r->lines + r->lines_count, piece->lines, piece->lines_count * sizeof(struct line));
	r->lines_count += piece->lines_count;
	reservation_free(piece);
	return r;
}

/* What was read as several is one: nothing but the keys of a join says in which order its rows come. */
void reservations_join(struct reservation_reader *in)
{
	struct reservation **list = in->list;
	size_t               kept = 0;

	if (in->count > 0)
		qsort(list, in->count, sizeof(list[0]), by_id);
	for (size_t i = 0; i < in->count; i++) {
		if (kept > 0 && by_id(&list[kept - 1], &list[i]) == 0)
			list[kept - 1] = lines_append(list[kept - 1], list[i]);
		else
			list[kept++] = list[i];
	}
	in->count = kept;
	for (size_t i = 0; i < kept; i++)
		lines_sort(list[i]->lines, list[i]->lines_count);
}

/* ---- the look-up of a batch */

static bool wants_look_up(const struct op *op)
{
	return op->kind != OP_MOVE && op->look_up;
}

/* The ids of the first look_ups operations that want it, into l->rows; the batch ends behind them. */
static size_t look_up_rows(struct lane *l)
{
	size_t asked = 0, kept = 0;

	values_begin(&l->rows, 1);
	for (; kept < l->batch.count; kept++) {
		const struct op *op = l->batch.ops[kept];

		if (!wants_look_up(op))
			continue;
		if (asked == l->look_ups)
			break;
		values_text(&l->rows, op->id);
		asked++;
	}
	batch_cut(l, kept);
	return asked;
}

static void look_up_meet(struct lane *l, struct reservation_reader *in)
{
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];

		if (!wants_look_up(op))
			continue;
		reservation_free(op->found);
		op->found = NULL;
		op->look_up = false;
		op->looked_at = l->batch.moment;
	}
	reservations_join(in);
	for (size_t i = 0; i < in->count; i++) {
		struct op *op = batch_find(l, false, in->list[i]->order_id);

		if (op && !op->found)
			op->found = in->list[i];
		else
			reservation_free(in->list[i]);
	}
	free(in->list);
}

static size_t rows_read(const struct reservation_reader *in)
{
	size_t rows = 0;

	for (size_t i = 0; i < in->count; i++)
		rows += in->list[i]->lines_count ? in->list[i]->lines_count : 1;
	return rows;
}

/* A batch does not read more lines than it may put into writing, or once more as many: orders of 1,000 lines are looked
 * up a few at a time, and the rest of them is not read to be put back. */
enum db_result reservation_look_up(struct lane *l)
{
	enum { ROWS = 2 * BATCH_LINES };

	for (;;) {
		struct reservation_reader in = {.catalogue = l->catalogue};
		size_t                    asked = look_up_rows(l), rows;
		enum db_result            result = DB_OK;

		if (asked > 0)
			result = lane_ask(l, RESERVATION_FIND, &(struct fill){.rows = &l->rows, .limit = ROWS},
			                  reservation_read, &in);
		rows = rows_read(&in);
		if (result == DB_OK && rows < ROWS) {
			look_up_meet(l, &in);
			if (rows < ROWS / 4 && l->look_ups < BATCH_OPS)
				l->look_ups *= 2;
			return DB_OK;
		}
		reservations_free(in.list, in.count);
		if (result != DB_OK)
			return result;
		assert(asked > 1); /* a reservation has 1,000 lines at most */
		l->look_ups = asked / 2;
	}
}

/* ---- changes of state */

static bool confirms(const struct op *op)
{
	return op->kind == OP_CONFIRM && !op->reacquired;
}

static bool confirms_late(const struct op *op)
{
	return op->kind == OP_CONFIRM && op->reacquired && op->found->state == HELD;
}

static bool reacquires(const struct op *op)
{
	return op->kind == OP_CONFIRM && op->reacquired && op->found->state == EXPIRED;
}

static bool releases_held(const struct op *op)
{
	return op->kind == OP_RELEASE && op->found->state == HELD;
}

static bool releases_confirmed(const struct op *op)
{
	return op->kind == OP_RELEASE && op->found->state == CONFIRMED;
}

static bool releases_buried(const struct op *op)
{
	return op->kind == OP_RELEASE && op->found->state == BURIED;
}

static bool kicks(const struct op *op)
{
	return op->kind == OP_KICK;
}

static const struct change {
	bool (*meant)(const struct op *op);
	enum statement         statement;
	enum reservation_state from;
} changes[] = {
	{confirms, RESERVATION_CONFIRM, HELD},
	{confirms_late, RESERVATION_CONFIRM_LATE, HELD},
	{reacquires, RESERVATION_REACQUIRE, EXPIRED},
	{releases_held, RESERVATION_RELEASE_HELD, HELD},
	{releases_confirmed, RESERVATION_RELEASE_FROM, CONFIRMED},
	{releases_buried, RESERVATION_RELEASE_FROM, BURIED},
	{kicks, RESERVATION_KICK, BURIED},
};

static void change_write(struct lane *l, const struct change *change)
{
	values_begin(&l->rows, 1);
	for (size_t i = 0; i < l->batch.count; i++)
		if (l->batch.ops[i]->writes && change->meant(l->batch.ops[i]))
			values_int(&l->rows, (int64_t)l->batch.ops[i]->found->reservation_id);
	if (l->rows.count == 0)
		return;
	txn_run(&l->txn, change->statement, &(struct fill){.rows = &l->rows, .state = change->from});
	txn_expect(&l->txn, values_rows(&l->rows), TXN_MOVED);
	if (change->from == EXPIRED)
		txn_run(&l->txn, RESERVATION_LINE_MOVE, &(struct fill){.rows = &l->rows, .slot = l->slot});
}

static bool extends(const struct op *op, int64_t ttl_s)
{
	return op->writes && op->kind == OP_EXTEND && (ttl_s == 0 || op->ttl_s == ttl_s);
}

/* All that are extended by as long as the first one, which is at `first`. */
static void extend_write(struct lane *l, size_t first)
{
	int64_t ttl_s = l->batch.ops[first]->ttl_s;

	for (size_t i = 0; i < first; i++)
		if (extends(l->batch.ops[i], ttl_s))
			return; /* they are written already */
	values_begin(&l->rows, 1);
	for (size_t i = first; i < l->batch.count; i++)
		if (extends(l->batch.ops[i], ttl_s))
			values_int(&l->rows, (int64_t)l->batch.ops[i]->found->reservation_id);
	txn_run(&l->txn, RESERVATION_EXTEND, &(struct fill){.rows = &l->rows, .ttl_s = ttl_s});
	txn_expect(&l->txn, values_rows(&l->rows), TXN_MOVED);
}

void reservation_change(struct lane *l)
{
	for (size_t i = 0; i < LENGTH(changes); i++)
		change_write(l, &changes[i]);
	for (size_t i = 0; i < l->batch.count; i++)
		if (extends(l->batch.ops[i], 0))
			extend_write(l, i);
}

/* ---- new reservations */

static bool holds(const struct op *op)
{
	return op->writes && op->kind == OP_RESERVE;
}

static void lines_insert(struct lane *l)
{
	values_begin(&l->rows, 5);
	for (size_t i = 0; i < l->batch.count; i++) {
		const struct op *op = l->batch.ops[i];

		for (size_t k = 0; holds(op) && k < op->lines_count; k++) {
			if (op->lines[k].granted == 0)
				continue;
			values_int(&l->rows, (int64_t)op->new_id);
			values_int(&l->rows, sku_id(op->lines[k].sku));
			values_int(&l->rows, op->lines[k].location->location_id);
			values_int(&l->rows, l->slot);
			values_int(&l->rows, op->lines[k].granted);
		}
	}
	txn_run(&l->txn, RESERVATION_LINE_ADD, &(struct fill){.rows = &l->rows});
}

void reservation_insert(struct lane *l)
{
	if (!txn_goes_on(&l->txn))
		return;
	values_begin(&l->rows, 6);
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];

		if (!holds(op))
			continue;
		op->new_id = lane_new_id(l);
		values_int(&l->rows, (int64_t)op->new_id);
		values_text(&l->rows, op->id);
		values_bytes(&l->rows, op->lines_hash, sizeof(op->lines_hash));
		values_int(&l->rows, op->key_id);
		values_int(&l->rows, HELD);
		values_int(&l->rows, op->ttl_s);
	}
	if (l->rows.count == 0)
		return;
	txn_run(&l->txn, RESERVATION_ADD, &(struct fill){.rows = &l->rows});
	lines_insert(l);
}

/* ---- answers */

static struct reservation *reservation_made(const struct op *op, int64_t now)
{
	struct reservation *r = mem_alloc(sizeof(*r) + op->lines_count * sizeof(struct line));

	r->reservation_id = op->new_id;
	memcpy(r->order_id, op->id, sizeof(r->order_id));
	r->state = HELD;
	r->created_at = r->read_at = now;
	r->expires_at = r->due_at = now + op->ttl_s * 1000;
	r->confirmed_at = r->released_at = r->settled_at = TIME_NONE;
	for (size_t i = 0; i < op->lines_count; i++)
		if (op->lines[i].granted > 0) {
			r->lines[r->lines_count] = op->lines[i];
			r->lines[r->lines_count++].qty = op->lines[i].granted;
		}
	return r;
}

static void reservation_changed(struct reservation *r, const struct op *op, int64_t now)
{
	r->read_at = now;
	r->attempts = op->kind == OP_RELEASE ? r->attempts : 0;
	switch (op->kind) {
	case OP_CONFIRM:
		r->confirmed_at = now;
		/* fallthrough */
	case OP_KICK:
		r->state = CONFIRMED;
		break;
	case OP_RELEASE:
		r->state = RELEASED;
		r->released_at = now;
		break;
	case OP_EXTEND:
		r->expires_at = now + op->ttl_s * 1000;
		break;
	default:
		assert(!"not a change of state");
	}
}

void reservation_answer(struct op *op, int64_t now)
{
	if (op->kind == OP_RESERVE && op->writes) {
		op->reservation = reservation_made(op, now);
		return;
	}
	op->reservation = op->found; /* NULL where there is none */
	op->found = NULL;
	if (op->writes)
		reservation_changed(op->reservation, op, now);
}
