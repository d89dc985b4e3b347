/* rows.c - see rows.h. A record is a reservation or a movement, with its lines behind it. A statement gives a row for
 * each line. */
#include "engine/rows.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/catalogue/past.h"

const char *reservation_state_name(enum reservation_state s)
{
	static const char *const names[STATES] = {
#define X(name, number, word) [number] = word,
#include "engine/reservation_states.def"
#undef X
	};

	return s > 0 && s < STATES ? names[s] : "unknown";
}

static const struct {
	const char *word;
	unsigned    traits;
} movement_kinds[KINDS] = {
#define X(name, number, word, traits) [number] = {word, traits},
#include "engine/movement_kinds.def"
#undef X
};

const char *movement_kind_name(enum movement_kind k)
{
	return k > 0 && k < KINDS ? movement_kinds[k].word : "unknown";
}

bool movement_is(enum movement_kind k, unsigned traits)
{
	return k < KINDS && (movement_kinds[k].traits & traits) != 0;
}

enum reservation_state reservation_reads(const struct reservation *r)
{
	return r->state == HELD && r->expires_at <= r->read_at ? EXPIRED : r->state;
}

bool reservation_just_ended(const struct reservation *r)
{
	enum { COMMITTED_MS = 10000 }; /* longer than a transaction lasts that waits for locks */

	return r->state == HELD && r->expires_at <= r->read_at && r->read_at - r->expires_at < COMMITTED_MS;
}

bool reservation_is_live(enum reservation_state reads)
{
	return reads == HELD || reads == CONFIRMED || reads == BURIED;
}

bool hold_has_end(int64_t hold_until)
{
	return hold_until < INT64_C(190288396800000); /* the year 8000 */
}

/* ---- columns */

enum read_as { CODE, NUMBER, HASH, TIME, TEXT };

struct column {
	enum read_as as;
	size_t       offset, size; /* the place and size of the member that the column is read into */
};

static char **text_of(void *record, const struct column *column)
{
	return (char **)(void *)((char *)record + column->offset);
}

static void column_read(void *record, const struct column *column, const struct db_row *row, unsigned at)
{
	char    *to = (char *)record + column->offset;
	uint64_t number;

	switch (column->as) {
	case CODE:
		if (row->col[at])
			db_copy(row, at, to, column->size);
		break;
	case HASH:
		if (row->len[at] == column->size)
			memcpy(to, row->col[at], column->size);
		else
			db_other(row);
		break;
	case NUMBER: /* a number of 1, 4 or 8 bytes, on a little-endian machine */
		number = (uint64_t)db_int(row, at);
		memcpy(to, &number, column->size);
		break;
	case TIME:
		*(int64_t *)(void *)to = time_parse(row->col[at]);
		break;
	case TEXT:
		*text_of(record, column) = mem_copy(row->col[at]);
	}
}

static const struct column reservation_columns[] = {
#define X(declaration, member, read, column) \
	{read, offsetof(struct reservation, member), sizeof(((struct reservation *)0)->member)},
#include "engine/reservation.def"
#undef X
};
static const struct column movement_columns[] = {
#define X(declaration, member, read, column) \
	{read, offsetof(struct movement, member), sizeof(((struct movement *)0)->member)},
#include "engine/movement.def"
#undef X
};

/* The differences between reservations and movements. */
struct shape {
	const struct column *columns;      /* the columns of a line follow in the row */
	unsigned             count;        /* of them */
	size_t               size;         /* of the record without its lines */
	size_t               lines_count;  /* where the number of its lines stands */
	bool                 newest_first; /* the order of a list; false: by number */
	bool                 joins; /* a movement that took from several slots has a line for each: they are one */
};
static const struct shape reservations = {.columns = reservation_columns,
                                          .count = LENGTH(reservation_columns),
                                          .size = sizeof(struct reservation),
                                          .lines_count = offsetof(struct reservation, lines_count)};
static const struct shape movements = {.columns = movement_columns,
                                       .count = LENGTH(movement_columns),
                                       .size = sizeof(struct movement),
                                       .lines_count = offsetof(struct movement, lines_count),
                                       .newest_first = true,
                                       .joins = true};

enum { NUMBER_COLUMN = 1 }; /* reservation_id, movement_no */
static uint64_t number_of(const struct shape *shape, const void *record)
{
	return *(const uint64_t *)(const void *)((const char *)record + shape->columns[NUMBER_COLUMN].offset);
}

static size_t *lines_count(const struct shape *shape, void *record)
{
	return (size_t *)(void *)((char *)record + shape->lines_count);
}

_Static_assert(sizeof(struct reservation) == offsetof(struct reservation, lines) &&
                       sizeof(struct movement) == offsetof(struct movement, lines),
               "lines follow at once");
static struct line *lines_of(const struct shape *shape, void *record)
{
	return (struct line *)(void *)((char *)record + shape->size);
}

static void record_free(const struct shape *shape, void *record)
{
	for (unsigned i = 0; record && i < shape->count; i++)
		if (shape->columns[i].as == TEXT)
			free(*text_of(record, &shape->columns[i]));
	free(record);
}

/* The catalogue's code, or of another database or another past of this one. */
static bool code_is(const struct db_row *row, unsigned column, const char *code)
{
	return !row->col[column] ||
	       (strlen(code) == row->len[column] && memcmp(code, row->col[column], row->len[column]) == 0);
}

int64_t qty_read(const struct db_row *row, unsigned column)
{
	int64_t units = db_int(row, column);

	return units > QTY_MAX ? QTY_MAX : units < -QTY_MAX ? -QTY_MAX : units;
}

void sku_row_read(void *catalogue, const struct db_row *row)
{
	catalogue_sku_enter(catalogue, (uint32_t)db_int(row, 1), db_word(row, 0), row->len[0]);
}

/* "" where the number is of nothing. */
static const char *code_of(const struct db_row *row, unsigned column)
{
	return row->col[column] ? row->col[column] : "";
}

/* Reads the columns sku_id, code, location_id, code, slot, qty, kind from `first` on. */
static void line_read(struct catalogue *c, struct line *line, const struct db_row *row, unsigned first, bool *lacks)
{
	static const struct location nowhere;
	uint32_t                     sku_id = (uint32_t)db_int(row, first);

	line->sku = catalogue_sku_by_id(c, sku_id);
	if (!line->sku || !code_is(row, first + 1, sku_code(line->sku)))
		line->sku = catalogue_sku_enter(c, sku_id, code_of(row, first + 1), row->len[first + 1]);
	line->location = catalogue_location_by_id(c, (uint32_t)db_int(row, first + 2));
	if (line->location && !code_is(row, first + 3, line->location->code)) {
		catalogue_forget(c);
		line->location = NULL;
	}
	*lacks |= !line->location ||
	          (row->col[first + 6] && location_kind(line->location) != (enum location_kind)db_int(row, first + 6));
	if (!line->location)
		line->location = &nowhere;
	line->sku_code = sku_code(line->sku);
	line->location_code = line->location->code;
	line->slot = (uint16_t)db_int(row, first + 4);
	line->qty = line->granted = qty_read(row, first + 5);
}

int line_order(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int                order = strcmp(x->sku_code, y->sku_code);

	return order ? order : strcmp(x->location_code, y->location_code);
}

struct line *line_like(const struct line *lines, size_t count, const struct line *like)
{
	return count > 0 ? bsearch(like, lines, count, sizeof(*like), line_order) : NULL;
}

void lines_sort(struct line *lines, size_t count)
{
	qsort(lines, count, sizeof(lines[0]), line_order);
}

static void line_add(void *sum, const void *one)
{
	((struct line *)sum)->granted += ((const struct line *)one)->granted;
}

size_t lines_join(struct line *lines, size_t count)
{
	return mem_join(lines, count, sizeof(lines[0]), line_order, line_add);
}

bool line_waits(const struct line *line)
{
	return !location_in_house(line->location);
}

bool lines_wait(const struct line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (line_waits(&lines[i]))
			return true;
	return false;
}

int64_t lines_units(const struct line *lines, size_t count)
{
	int64_t units = 0;

	for (size_t i = 0; i < count; i++)
		units += lines[i].qty;
	return units;
}

/* ---- reservations */

void reservation_free(struct reservation *r)
{
	if (r)
		free(r->hold_reason);
	record_free(&reservations, r);
}

struct reservation *reservation_copy(const struct reservation *r)
{
	size_t              size = sizeof(*r) + r->lines_count * sizeof(struct line);
	struct reservation *copy = memcpy(mem_alloc(size), r, size);

	for (unsigned i = 0; i < LENGTH(reservation_columns); i++)
		if (reservation_columns[i].as == TEXT)
			*text_of(copy, &reservation_columns[i]) = mem_copy(*text_of(copy, &reservation_columns[i]));
	copy->hold_reason = mem_copy(copy->hold_reason);
	return copy;
}

int transfer_order(const void *a, const void *b)
{
	const struct transfer *x = a, *y = b;
	int                    order = strcmp(x->sku_code, y->sku_code);

	if (order == 0)
		order = strcmp(x->from_code, y->from_code);
	return order ? order : strcmp(x->to_code, y->to_code);
}

void movement_free(struct movement *m)
{
	if (m) {
		free(m->transfers);
		free(m->backorders);
	}
	record_free(&movements, m);
}

void reservations_free(struct reservation **list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		reservation_free(list[i]);
	free(list);
}

int64_t reservations_as_read(struct values *rows, struct reservation *const *list, size_t count)
{
	int64_t last = 0;

	for (size_t i = 0; i < count; i++) {
		if (rows)
			values_row(rows, V_INT(list[i]->reservation_id), V_INT(list[i]->changed),
			           V_INT(list[i]->attempts));
		last = list[i]->changed > last ? list[i]->changed : last;
	}
	return last + 1;
}

bool reservations_claimed(struct reservation *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i]->task_id > 0)
			return true;
	return false;
}

/* ---- reading */

struct reading {
	const struct shape *shape;
	struct catalogue   *catalogue;
	void              **list;
	size_t              count, max;
	size_t              lines_max; /* room of the record that is being read */
	bool                lacks;     /* a row named a location that the catalogue lacks, or has as of another kind */
};

static void *record_begin(struct reading *in, const struct db_row *row)
{
	void *record = mem_alloc(in->shape->size + (in->lines_max = 4) * sizeof(struct line));

	for (unsigned i = 0; i < in->shape->count; i++)
		column_read(record, &in->shape->columns[i], row, i);
	in->list = mem_reach(in->list, in->count, &in->max, sizeof(*in->list));
	return in->list[in->count++] = record;
}

static void record_read(void *arg, const struct db_row *row)
{
	struct reading     *in = arg;
	const struct shape *shape = in->shape;
	void               *record = in->count ? in->list[in->count - 1] : NULL;
	size_t              at;
	struct line        *line;

	if (!record || number_of(shape, record) != (uint64_t)db_int(row, NUMBER_COLUMN))
		record = record_begin(in, row);
	if (!row->col[shape->count])
		return;
	at = (*lines_count(shape, record))++;
	if (at == in->lines_max)
		record = mem_resize(record, shape->size + (in->lines_max *= 2) * sizeof(*line));
	in->list[in->count - 1] = record;
	line = &lines_of(shape, record)[at];
	*line = (struct line){0};
	line_read(in->catalogue, line, row, shape->count, &in->lacks);
}

static int record_order(const void *a, const void *b, void *arg)
{
	const struct shape *shape = arg;
	uint64_t            x = number_of(shape, *(void *const *)a), y = number_of(shape, *(void *const *)b);

	return shape->newest_first ? (x < y) - (x > y) : (x > y) - (x < y);
}

static void *record_append(const struct shape *shape, void *record, void *piece)
{
	size_t count = *lines_count(shape, record), more = *lines_count(shape, piece);

	record = mem_resize(record, shape->size + (count + more) * sizeof(struct line));
	memcpy(lines_of(shape, record) + count, lines_of(shape, piece), more * sizeof(struct line));
	*lines_count(shape, record) += more;
	record_free(shape, piece);
	return record;
}

/* Joins the pieces of one record. Rows of a join come in any order; only their keys tell which belong together. */
static void records_join(struct reading *in)
{
	const struct shape *shape = in->shape;
	void              **list = in->list;
	size_t              kept = 0;

	if (in->count > 0)
		qsort_r(list, in->count, sizeof(list[0]), record_order, (void *)(uintptr_t)shape);
	for (size_t i = 0; i < in->count; i++) {
		if (kept > 0 && number_of(shape, list[kept - 1]) == number_of(shape, list[i]))
			list[kept - 1] = record_append(shape, list[kept - 1], list[i]);
		else
			list[kept++] = list[i];
	}
	in->count = kept;
	for (size_t i = 0; i < kept; i++) {
		size_t *count = lines_count(shape, list[i]);

		if (shape->joins)
			*count = lines_join(lines_of(shape, list[i]), *count);
		else
			lines_sort(lines_of(shape, list[i]), *count);
	}
}

static enum db_result records_ask(struct db *db, enum statement name, const struct fill *fill, struct reading *in)
{
	enum db_result result = db_ask(db, name, fill, record_read, in);

	if (in->lacks && result == DB_OK)
		result = past_locations(db);
	if (in->lacks && result == DB_OK) {
		while (in->count > 0)
			record_free(in->shape, in->list[--in->count]);
		result = db_ask(db, name, fill, record_read, in);
	}
	records_join(in);
	return result;
}

static void returned_read(void *arg, const struct db_row *row)
{
	const struct reservation_reader *in = arg;

	for (size_t i = 0; i < in->count; i++) {
		struct reservation *r = in->list[i];

		if (r->reservation_id != (uint64_t)db_int(row, 0))
			continue;
		for (size_t k = 0; k < r->lines_count; k++)
			if (sku_id(r->lines[k].sku) == (uint32_t)db_int(row, 1)) {
				r->lines[k].returned = qty_read(row, 2);
				return;
			}
	}
}

static enum db_result returned_ask(struct db *db, struct reservation_reader *in)
{
	struct values  ids = {0};
	enum db_result result = DB_OK;

	for (size_t i = 0; i < in->count; i++)
		if (in->list[i]->noted & NOTED_RETURNS)
			values_row(&ids, V_INT(in->list[i]->reservation_id));
	if (ids.count > 0)
		result = db_ask(db, RETURNED_FIND, &(struct fill){.rows = &ids}, returned_read, in);
	values_fini(&ids);
	return result;
}

/* Reservations that say that they were held back, and the rows that were found. */
struct holds {
	const struct reservation_reader *in;
	size_t                           asked, found;
};

static void hold_read(void *arg, const struct db_row *row)
{
	struct holds *holds = arg;

	for (size_t i = 0; i < holds->in->count; i++) {
		struct reservation *r = holds->in->list[i];

		if (r->reservation_id != (uint64_t)db_int(row, 0) || !(r->noted & NOTED_ON_HOLD))
			continue;
		r->hold_until = time_parse(row->col[1]);
		r->ship_after = time_parse(row->col[2]);
		free(r->hold_reason);
		r->hold_reason = mem_copy(row->col[3]);
		holds->found++;
		return;
	}
}

/* *torn: a hold has ended since its reservation was read. */
static enum db_result holds_ask(struct db *db, const struct reservation_reader *in, bool *torn)
{
	struct holds   holds = {.in = in};
	struct values  ids = {0};
	enum db_result result = DB_OK;

	for (size_t i = 0; i < in->count; i++)
		if (in->list[i]->noted & NOTED_ON_HOLD)
			values_row(&ids, V_INT(in->list[i]->reservation_id));
	holds.asked = ids.rows;
	if (holds.asked > 0)
		result = db_ask(db, ON_HOLD_FIND, &(struct fill){.rows = &ids}, hold_read, &holds);
	values_fini(&ids);
	*torn = holds.found < holds.asked;
	return result;
}

static enum db_result reservations_look(struct db *db, enum statement name, const struct fill *fill,
                                        struct reservation_reader *in, bool *torn)
{
	struct reading all = {.shape = &reservations, .catalogue = in->catalogue};
	enum db_result result = records_ask(db, name, fill, &all);

	*torn = false;
	in->list = (struct reservation **)all.list;
	in->count = all.count;
	if (result == DB_OK)
		result = returned_ask(db, in);
	return result == DB_OK ? holds_ask(db, in, torn) : result;
}

enum db_result reservations_ask(struct db *db, enum statement name, const struct fill *fill,
                                struct reservation_reader *in)
{
	enum { LOOKS = 3 }; /* by damage a row may be missing for good */
	bool           torn;
	enum db_result result = reservations_look(db, name, fill, in, &torn);

	for (int looks = 1; result == DB_OK && torn && looks < LOOKS; looks++) {
		reservations_free(in->list, in->count);
		result = reservations_look(db, name, fill, in, &torn);
	}
	return result;
}

/* ---- transfers */

struct transfers_reader {
	struct movement_reader *in;
	size_t                  at; /* the movement of the row before */
};

static const struct location *location_of(struct catalogue *c, uint32_t location_id)
{
	static const struct location nowhere;
	const struct location       *l = catalogue_location_by_id(c, location_id);

	return l ? l : &nowhere; /* by damage alone: lines name both ends, too */
}

/* Rows of one movement come together, in the order of the list. */
static void transfer_read(void *arg, const struct db_row *row)
{
	struct transfers_reader *t = arg;
	struct movement         *m;
	struct transfer         *to;
	size_t                   max;

	while (t->at < t->in->count && t->in->list[t->at]->movement_no != (uint64_t)db_int(row, 0))
		t->at++;
	if (t->at == t->in->count)
		return;
	m = t->in->list[t->at];
	max = m->transfers_count;
	m->transfers = mem_reach(m->transfers, m->transfers_count, &max, sizeof(*m->transfers));
	to = &m->transfers[m->transfers_count++];
	to->sku = catalogue_sku_enter(t->in->catalogue, (uint32_t)db_int(row, 1), code_of(row, 2), row->len[2]);
	to->from = location_of(t->in->catalogue, (uint32_t)db_int(row, 3));
	to->to = location_of(t->in->catalogue, (uint32_t)db_int(row, 4));
	to->sku_code = sku_code(to->sku);
	to->from_code = to->from->code;
	to->to_code = to->to->code;
	to->qty = qty_read(row, 5);
	to->filled = qty_read(row, 6);
	to->for_sale = qty_read(row, 7);
}

/* The list is in the order of numbers, the newest first. */
static enum db_result transfers_ask(struct db *db, int64_t sku_id, struct movement_reader *in)
{
	struct transfers_reader t = {.in = in};
	struct values           numbers = {0};
	enum db_result          result = DB_OK;

	for (size_t i = 0; i < in->count; i++)
		if (movement_is(in->list[i]->kind, HAS_ENDS))
			values_row(&numbers, V_INT(in->list[i]->movement_no));
	if (numbers.count > 0)
		result = db_ask(db, TRANSFERS_FIND, &(struct fill){.rows = &numbers, .sku = sku_id}, transfer_read, &t);
	for (size_t i = 0; i < in->count; i++)
		if (in->list[i]->transfers_count > 1)
			qsort(in->list[i]->transfers, in->list[i]->transfers_count, sizeof(struct transfer),
			      transfer_order);
	values_fini(&numbers);
	return result;
}

/* ---- orders that lost units */

static int backorder_order(const void *a, const void *b)
{
	const struct backorder *x = a, *y = b;
	int                     order = strcmp(x->order_id, y->order_id);

	return order ? order : strcmp(x->sku_code, y->sku_code);
}

static void backorder_add(void *sum, const void *one)
{
	((struct backorder *)sum)->qty += ((const struct backorder *)one)->qty;
}

void backorders_sum(struct movement *m)
{
	m->backorders_count =
		mem_join(m->backorders, m->backorders_count, sizeof(*m->backorders), backorder_order, backorder_add);
}

/* True: the movement took units in the house and promised others, so it may have backorders. */
static bool may_backorder(const struct movement *m)
{
	bool taken = false, raised = false;

	for (size_t i = 0; movement_is(m->kind, MAY_LOSE) && i < m->lines_count; i++) {
		taken |= m->lines[i].granted < 0 && !line_waits(&m->lines[i]);
		raised |= m->lines[i].granted > 0 && line_waits(&m->lines[i]);
	}
	return taken && raised;
}

static void backorder_read(void *arg, const struct db_row *row)
{
	const struct movement_reader *in = arg;
	struct movement              *m = NULL;
	struct backorder             *to;
	size_t                        max;

	for (size_t i = 0; i < in->count && !m; i++)
		if (in->list[i]->movement_no == (uint64_t)db_int(row, 0))
			m = in->list[i];
	if (!m)
		return;
	max = m->backorders_count;
	m->backorders = mem_reach(m->backorders, m->backorders_count, &max, sizeof(*m->backorders));
	to = &m->backorders[m->backorders_count++];
	*to = (struct backorder){.sku_code = sku_code(catalogue_sku_enter(in->catalogue, (uint32_t)db_int(row, 1),
	                                                                  code_of(row, 2), row->len[2])),
	                         .qty = qty_read(row, 4)};
	db_copy(row, 3, to->order_id, sizeof(to->order_id));
}

static enum db_result backorders_ask(struct db *db, int64_t sku_id, struct movement_reader *in)
{
	struct values  numbers = {0};
	enum db_result result = DB_OK;

	for (size_t i = 0; i < in->count; i++)
		if (may_backorder(in->list[i]))
			values_row(&numbers, V_INT(in->list[i]->movement_no));
	if (numbers.count > 0)
		result = db_ask(db, BACKORDERS_FIND, &(struct fill){.rows = &numbers, .sku = sku_id}, backorder_read,
		                in);
	for (size_t i = 0; i < in->count; i++)
		backorders_sum(in->list[i]);
	values_fini(&numbers);
	return result;
}

enum db_result movements_ask(struct db *db, enum statement name, const struct fill *fill, struct movement_reader *in)
{
	struct reading all = {.shape = &movements, .catalogue = in->catalogue};
	enum db_result result = records_ask(db, name, fill, &all);

	in->list = (struct movement **)all.list;
	in->count = all.count;
	if (result == DB_OK)
		result = transfers_ask(db, fill->sku, in);
	return result == DB_OK ? backorders_ask(db, fill->sku, in) : result;
}
