/* rows.c - see rows.h. A statement gives a row for each line, so that a reservation or movement comes in as many. */
#include "engine/rows.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"

#include <stdlib.h>
#include <string.h>

const char *reservation_state_name(enum reservation_state s)
{
	static const char *const names[STATES] = {
#define X(name, number, word) [number] = word,
#include "engine/reservation_states.def"
#undef X
	};

	return s > 0 && s < STATES ? names[s] : "unknown";
}

const char *movement_kind_name(enum movement_kind k)
{
	static const char *const names[KINDS] = {
#define X(name, number, word) [number] = word,
#include "engine/movement_kinds.def"
#undef X
	};

	return k > 0 && k < KINDS ? names[k] : "unknown";
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
		assert(row->len[at] < column->size);
		memcpy(to, row->col[at], row->len[at]);
		break;
	case HASH:
		assert(row->len[at] == column->size);
		memcpy(to, row->col[at], column->size);
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

enum {
#define X(declaration, member, read, column) R_##member,
#include "engine/reservation.def"
#undef X
	R_LINE
};
static const struct column reservation_columns[R_LINE] = {
#define X(declaration, member, read, column) \
	{read, offsetof(struct reservation, member), sizeof(((struct reservation *)0)->member)},
#include "engine/reservation.def"
#undef X
};
enum {
#define X(declaration, member, read, column) M_##member,
#include "engine/movement.def"
#undef X
	M_LINE
};
static const struct column movement_columns[M_LINE] = {
#define X(declaration, member, read, column) \
	{read, offsetof(struct movement, member), sizeof(((struct movement *)0)->member)},
#include "engine/movement.def"
#undef X
};

/* With room for *max lines behind its `size` bytes. */
static void *record_new(const struct db_row *row, size_t size, size_t *max, const struct column *columns,
                        unsigned count)
{
	void *record = mem_alloc(size + (*max = 4) * sizeof(struct line));

	for (unsigned i = 0; i < count; i++)
		column_read(record, &columns[i], row, i);
	return record;
}

static void record_free(void *record, const struct column *columns, unsigned count)
{
	for (unsigned i = 0; record && i < count; i++)
		if (columns[i].as == TEXT)
			free(*text_of(record, &columns[i]));
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

/* "" where the number is of nothing. */
static const char *code_of(const struct db_row *row, unsigned column)
{
	return row->col[column] ? row->col[column] : "";
}

/* Reads the columns sku_id, code, location_id, code, slot, qty from `first` on. */
static void line_read(struct catalogue *c, struct line *line, const struct db_row *row, unsigned first)
{
	uint32_t sku_id = (uint32_t)db_int(row, first), location_id = (uint32_t)db_int(row, first + 2);

	line->sku = catalogue_sku_by_id(c, sku_id);
	if (!line->sku || !code_is(row, first + 1, sku_code(line->sku)))
		line->sku = catalogue_sku_enter(c, sku_id, code_of(row, first + 1), row->len[first + 1]);
	line->location = catalogue_location_by_id(c, location_id);
	if (!line->location || !code_is(row, first + 3, line->location->code))
		line->location = catalogue_location_enter(c, location_id, code_of(row, first + 3), row->len[first + 3]);
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

void lines_sort(struct line *lines, size_t count)
{
	qsort(lines, count, sizeof(lines[0]), line_order);
}

int64_t lines_units(const struct line *lines, size_t count)
{
	int64_t units = 0;

	for (size_t i = 0; i < count; i++)
		units += lines[i].qty;
	return units;
}

/* Gives `record` room for one more line behind its `size` bytes. */
static void *lines_room(void *record, size_t size, size_t count, size_t *max)
{
	if (count < *max)
		return record;
	*max *= 2;
	return mem_resize(record, size + *max * sizeof(struct line));
}

/* ---- reservations */

void reservation_free(struct reservation *r)
{
	record_free(r, reservation_columns, R_LINE);
}

struct reservation *reservation_copy(const struct reservation *r)
{
	size_t              size = sizeof(*r) + r->lines_count * sizeof(struct line);
	struct reservation *copy = memcpy(mem_alloc(size), r, size);

	for (unsigned i = 0; i < R_LINE; i++)
		if (reservation_columns[i].as == TEXT)
			*text_of(copy, &reservation_columns[i]) = mem_copy(*text_of(copy, &reservation_columns[i]));
	return copy;
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

void reservation_read(void *arg, const struct db_row *row)
{
	struct reservation_reader *in = arg;
	struct reservation        *r = in->count ? in->list[in->count - 1] : NULL;

	if (!r || r->reservation_id != (uint64_t)db_int(row, R_reservation_id)) {
		in->list = mem_reach(in->list, in->count, &in->max, sizeof(*in->list));
		r = in->list[in->count++] = record_new(row, sizeof(*r), &in->lines_max, reservation_columns, R_LINE);
	}
	if (!row->col[R_LINE])
		return;
	r = in->list[in->count - 1] = lines_room(r, sizeof(*r), r->lines_count, &in->lines_max);
	r->lines[r->lines_count] = (struct line){0};
	line_read(in->catalogue, &r->lines[r->lines_count++], row, R_LINE);
}

static int by_id(const void *a, const void *b)
{
	const struct reservation *x = *(struct reservation *const *)a, *y = *(struct reservation *const *)b;

	return (x->reservation_id > y->reservation_id) - (x->reservation_id < y->reservation_id);
}

static struct reservation *reservation_append(struct reservation *r, struct reservation *piece)
{
	r = mem_resize(r, sizeof(*r) + (r->lines_count + piece->lines_count) * sizeof(struct line));
	memcpy(r->lines + r->lines_count, piece->lines, piece->lines_count * sizeof(struct line));
	r->lines_count += piece->lines_count;
	reservation_free(piece);
	return r;
}

/* Joins the pieces of one reservation. Rows of a join come in any order; only their keys tell which belong together. */
void reservations_join(struct reservation_reader *in)
{
	struct reservation **list = in->list;
	size_t               kept = 0;

	if (in->count > 0)
		qsort(list, in->count, sizeof(list[0]), by_id);
	for (size_t i = 0; i < in->count; i++) {
		if (kept > 0 && by_id(&list[kept - 1], &list[i]) == 0)
			list[kept - 1] = reservation_append(list[kept - 1], list[i]);
		else
			list[kept++] = list[i];
	}
	in->count = kept;
	for (size_t i = 0; i < kept; i++)
		lines_sort(list[i]->lines, list[i]->lines_count);
}

/* ---- movements */

void movement_free(struct movement *m)
{
	record_free(m, movement_columns, M_LINE);
}

void movement_read(void *arg, const struct db_row *row)
{
	struct movement_reader *in = arg;
	struct movement        *m = in->count ? in->list[in->count - 1] : NULL;

	if (!m || m->movement_no != (uint64_t)db_int(row, M_movement_no)) {
		in->list = mem_reach(in->list, in->count, &in->max, sizeof(*in->list));
		m = in->list[in->count++] = record_new(row, sizeof(*m), &in->lines_max, movement_columns, M_LINE);
	}
	if (!row->col[M_LINE])
		return;
	m = in->list[in->count - 1] = lines_room(m, sizeof(*m), m->lines_count, &in->lines_max);
	m->lines[m->lines_count] = (struct line){0};
	line_read(in->catalogue, &m->lines[m->lines_count++], row, M_LINE);
}

static int newest_first(const void *a, const void *b)
{
	const struct movement *x = *(struct movement *const *)a, *y = *(struct movement *const *)b;

	return (x->movement_no < y->movement_no) - (x->movement_no > y->movement_no);
}

static struct movement *movement_append(struct movement *m, struct movement *piece)
{
	m = mem_resize(m, sizeof(*m) + (m->lines_count + piece->lines_count) * sizeof(struct line));
	memcpy(m->lines + m->lines_count, piece->lines, piece->lines_count * sizeof(struct line));
	m->lines_count += piece->lines_count;
	movement_free(piece);
	return m;
}

/* A stocktake that took from several slots has a line for each; to its reader they are one. */
static void lines_join(struct movement *m)
{
	size_t kept = 0;

	lines_sort(m->lines, m->lines_count);
	for (size_t i = 0; i < m->lines_count; i++) {
		if (kept > 0 && m->lines[kept - 1].sku == m->lines[i].sku &&
		    m->lines[kept - 1].location == m->lines[i].location)
			m->lines[kept - 1].granted += m->lines[i].granted;
		else
			m->lines[kept++] = m->lines[i];
	}
	m->lines_count = kept;
}

void movements_join(struct movement_reader *in)
{
	struct movement **list = in->list;
	size_t            kept = 0;

	if (in->count > 0)
		qsort(list, in->count, sizeof(list[0]), newest_first);
	for (size_t i = 0; i < in->count; i++) {
		if (kept > 0 && newest_first(&list[kept - 1], &list[i]) == 0)
			list[kept - 1] = movement_append(list[kept - 1], list[i]);
		else
			list[kept++] = list[i];
	}
	in->count = kept;
	for (size_t i = 0; i < kept; i++)
		lines_join(list[i]);
}
