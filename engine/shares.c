/* shares.c - see shares.h. */
#include "engine/shares.h"
#include "engine/base/memory.h"
#include "engine/db/guard.h"

#include <stdlib.h>

void share_add(struct shares *s, uint32_t sku_id, uint32_t location_id, uint16_t slot, int64_t qty)
{
	s->list = mem_reach(s->list, s->count, &s->max, sizeof(*s->list));
	s->list[s->count++] = (struct share){sku_id, location_id, slot, qty};
}

static int share_order(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->sku_id != y->sku_id)
		return x->sku_id < y->sku_id ? -1 : 1;
	if (x->location_id != y->location_id)
		return x->location_id < y->location_id ? -1 : 1;
	return (x->slot > y->slot) - (x->slot < y->slot);
}

/* An upsert that met the same row twice would count two rows. */
void shares_sum(struct shares *s)
{
	size_t kept = 0;

	if (s->count > 0)
		qsort(s->list, s->count, sizeof(s->list[0]), share_order);
	for (size_t i = 0; i < s->count; i++) {
		if (kept > 0 && share_order(&s->list[kept - 1], &s->list[i]) == 0)
			s->list[kept - 1].qty += s->list[i].qty;
		else
			s->list[kept++] = s->list[i];
	}
	s->count = kept;
}

void shares_of(struct shares *s, const struct reservation *r)
{
	for (size_t k = 0; k < r->lines_count; k++)
		share_add(s, sku_id(r->lines[k].sku), r->lines[k].location->location_id, r->lines[k].slot,
		          r->lines[k].qty);
}

void shares_rows(struct text *rows, const struct shares *s, enum statement name)
{
	for (size_t i = 0; i < s->count; i++) {
		row_begin(rows);
		row_int(rows, s->list[i].sku_id);
		row_int(rows, s->list[i].location_id);
		row_int(rows, s->list[i].slot);
		row_int(rows, name == STOCK_GIVE_BACK ? s->list[i].qty : 0);
		row_int(rows, s->list[i].qty);
		row_end(rows);
	}
}

static void shares_write(struct text *sql, const struct shares *s, enum statement name, int verdict)
{
	struct text rows = {0};

	shares_rows(&rows, s, name);
	if (s->count > 0) {
		statement_add(sql, name, &(struct fill){.rows = &rows});
		guard_expect(sql, 2 * (int64_t)s->count, verdict);
	}
	text_fini(&rows);
}

static struct shares shares_of_all(struct reservation **list, size_t count)
{
	struct shares s = {0};

	for (size_t i = 0; i < count; i++)
		shares_of(&s, list[i]);
	shares_sum(&s);
	return s;
}

void stock_give_back(struct text *sql, struct reservation **list, size_t count, int verdict)
{
	struct shares s = shares_of_all(list, count);

	shares_write(sql, &s, STOCK_GIVE_BACK, verdict);
	free(s.list);
}

static void settlement_header(struct text *rows, const struct settlement *settlement)
{
	static const uint8_t no_hash[16];
	struct text          id = {0}, reference = {0};

	text_format(&id, "settlement/%llu/%llu", (unsigned long long)settlement->task_id,
	            (unsigned long long)settlement->part);
	text_format(&reference, "%llu", (unsigned long long)settlement->task_id);
	row_begin(rows);
	row_int(rows, (int64_t)settlement->movement_no);
	row_hex(rows, id.data, id.len);
	row_int(rows, SETTLEMENT);
	row_hex(rows, no_hash, sizeof(no_hash));
	row_t(rows);
	row_null(rows);
	row_hex(rows, reference.data, reference.len);
	row_end(rows);
	text_fini(&id);
	text_fini(&reference);
}

void stock_settle(struct text *sql, struct reservation **list, size_t count, const struct settlement *settlement,
                  int verdict)
{
	struct shares s = shares_of_all(list, count);
	struct text   rows = {0};

	shares_write(sql, &s, STOCK_SETTLE, verdict);
	settlement_header(&rows, settlement);
	statement_add(sql, MOVEMENT_ADD, &(struct fill){.rows = &rows});
	text_reset(&rows);
	for (size_t i = 0; i < s.count; i++) {
		row_begin(&rows);
		row_int(&rows, (int64_t)settlement->movement_no);
		row_int(&rows, s.list[i].sku_id);
		row_int(&rows, s.list[i].location_id);
		row_int(&rows, s.list[i].slot);
		row_int(&rows, -s.list[i].qty);
		row_end(&rows);
	}
	statement_add(sql, MOVEMENT_LINE_ADD, &(struct fill){.rows = &rows});
	text_fini(&rows);
	free(s.list);
}
