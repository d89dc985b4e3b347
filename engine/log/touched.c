/* touched.c - see touched.h. */
#include "engine/log/touched.h"
#include "engine/db/db.h"
#include "engine/log/feed.h"
#include "engine/log/feed_merge.h"

enum { ROWS_MAX = 4000, BYTES_MAX = 4 << 20, BATCH_FIRST = 32 };

struct look {
	const struct touched_ear *ear;
	struct feed_merge         merge;
	struct values   orders, movements; /* ids of records that stand there without lines, in the bytes of the rows */
	enum event_type type;              /* of the lines that are read now */
};

static void line_heard(void *arg, const struct event_touch *t)
{
	struct look *l = arg;

	if (t->sku_id)
		l->ear->each(l->ear->arg, t);
	else
		values_row(event_trait(t->type)->about == MOVEMENT ? &l->movements : &l->orders,
		           V_BYTES(t->id, t->id_len));
}

static void rows_read(struct look *l, struct feed_place *place, struct touched *out)
{
	const struct event_row *r;
	size_t                  bytes = 0;

	while (l->merge.taken < ROWS_MAX && bytes < BYTES_MAX && (r = feed_merge_take(&l->merge))) {
		if (!event_touches(r, line_heard, l))
			feed_damaged(r->writer_id, r->event_no);
		feed_place_pass(place, r->writer, r->event_no, r->stamp, 0);
		out->stamp = r->stamp > out->stamp ? r->stamp : out->stamp;
		bytes += r->len;
	}
}

static void line_read(void *arg, const struct db_row *row)
{
	struct look             *l = arg;
	const struct event_touch t = {.type = l->type,
	                              .sku_id = (uint32_t)db_int(row, 0),
	                              .location_id = (uint32_t)db_int(row, 1),
	                              .taken = INT64_MAX};

	l->ear->each(l->ear->arg, &t);
}

static enum db_result lines_read(struct look *l, struct db *db, enum statement name, enum event_type type,
                                 const struct values *ids)
{
	l->type = type;
	return ids->rows > 0 ? db_ask(db, name, &(struct fill){.rows = ids}, line_read, l) : DB_OK;
}

enum db_result touched_read(struct db *db, const char *after, const struct touched_ear *ear, struct touched *out,
                            enum outcome *outcome)
{
	struct look       l = {.ear = ear};
	struct feed_start start;
	struct feed_rows  none = {0};
	struct feed_place place = {0};
	enum db_result    result = DB_OK;

	assert(ear->each);
	*out = (struct touched){.batch = out->batch ? out->batch : BATCH_FIRST};
	*outcome = BAD_CURSOR;
	if (feed_start_read(after, &start)) {
		if (feed_merge_begin(&l.merge, db, &start, &none, out->batch)) {
			feed_place_copy(&place, &l.merge.place);
			rows_read(&l, &place, out);
			out->batch = l.merge.batch;
		}
		feed_merge_end(&l.merge);
		*outcome = l.merge.outcome;
		result = l.merge.result;
		if (result == DB_OK)
			result = lines_read(&l, db, LINES_OF_ORDERS, EVENT_HELD, &l.orders);
		if (result == DB_OK)
			result = lines_read(&l, db, LINES_OF_MOVEMENTS, EVENT_RECEIPT, &l.movements);
		if (result == DB_OK && *outcome == OUTCOME_OK) {
			out->more = feed_merge_more(&l.merge);
			out->cursor = feed_place_write(&place);
		}
		feed_merge_fini(&l.merge, 0);
		feed_rows_fini(&none);
	}
	values_fini(&l.orders);
	values_fini(&l.movements);
	feed_place_fini(&place);
	feed_place_fini(&start.place);
	return result;
}
