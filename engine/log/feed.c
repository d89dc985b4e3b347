/* feed.c - see feed.h. */
#include "engine/log/feed.h"
#include "engine/base/log.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"
#include "engine/db/db.h"
#include "engine/log/feed_merge.h"
#include "engine/catalogue/past.h"

#include <pthread.h>

enum {
	NAMES_MAX = 1000,     /* numbers in a statement */
	LOOKED_MAX = 4 << 20, /* bytes of rows that are looked at for a page, wanted or not */
};

/* A row of the log that was passed. */
struct feed_step {
	size_t   writer; /* index in the place */
	uint64_t event_no;
	int64_t  stamp;
	size_t   events; /* of the page, up to the end of this row */
	uint32_t part;   /* the page ends within the row, behind so many changes; 0: the row was passed whole */
};

struct feed {
	struct catalogue *catalogue;
	int64_t           mark; /* of its row in table process */
	unsigned          past; /* of the catalogue, in which the names were read */
	struct feed_rows  kept; /* rows that were read and not given yet */
	struct key_name {
		uint32_t key_id;
		char    *name;
	} * keys;
	size_t keys_count, keys_max;
	struct seen {
		int64_t writers, events, numbers, era, there; /* there: 1; 0: not yet */
	} seen;                                               /* by feed_look */
};

/* One call of feed_read. */
struct look {
	struct feed               *feed;
	struct db                 *db;
	const struct event_filter *filter;
	unsigned                   limit;
	struct feed_page          *page;
	struct feed_merge          merge;
	size_t                     bytes;           /* looked at */
	struct values              skus, locations; /* numbers without a name */
	bool                       asked;           /* for the names: what has none by now is damaged */
	enum db_result             result;
};

/* ---- memory */

static void feed_forget(struct feed *f)
{
	feed_rows_fini(&f->kept);
	for (size_t i = 0; i < f->keys_count; i++)
		free(f->keys[i].name);
	f->keys_count = 0;
}

struct feed *feed_new(struct catalogue *c)
{
	struct feed *f = mem_alloc(sizeof(*f));

	f->catalogue = c;
	f->mark = random_number();
	return f;
}

void feed_free(struct feed *f)
{
	if (!f)
		return;
	feed_forget(f);
	free(f->keys);
	free(f);
}

static void events_free(struct feed_page *p)
{
	for (size_t i = 0; i < p->count; i++)
		feed_event_free(p->events[i]);
	p->count = 0;
}

void feed_page_fini(struct feed_page *p)
{
	events_free(p);
	free(p->events);
	free(p->cursor);
	free(p->steps);
	feed_place_fini(&p->begin);
	*p = (struct feed_page){0};
}

char *feed_cursor(const struct feed_page *p, size_t count)
{
	struct feed_place at;
	size_t            first = 0;
	char             *text;

	feed_place_copy(&at, &p->begin);
	for (size_t i = 0; count > 0 && i < p->steps_count && first <= count; i++) {
		const struct feed_step *s = &p->steps[i];
		uint32_t                part = s->part;

		if (s->events > count && first == count)
			break;
		if (s->events > count)
			part = p->events[count - 1]->place + 1;
		feed_place_pass(&at, s->writer, s->event_no, s->stamp, part);
		first = s->events;
	}
	text = feed_place_write(&at);
	feed_place_fini(&at);
	return text;
}

/* ---- damaged rows */

void feed_damaged(uint32_t writer_id, uint64_t event_no)
{
	enum { KNOWN = 64 };
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct {
		uint32_t writer_id;
		uint64_t event_no;
	} known[KNOWN]; /* the last ones named */
	static unsigned next;
	bool            named = false;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < KNOWN; i++)
		named |= known[i].writer_id == writer_id && known[i].event_no == event_no;
	if (!named) {
		known[next].writer_id = writer_id;
		known[next].event_no = event_no;
		next = (next + 1) % KNOWN;
	}
	pthread_mutex_unlock(&lock);
	if (!named)
		log_event(LOG_ERROR, "event_damaged", "writer=%u event_no=%llu", writer_id,
		          (unsigned long long)event_no);
}

/* ---- the page */

/* How many changes of a row were passed by an earlier page. */
static uint32_t row_begun(const struct feed_place *begin, const struct event_row *r)
{
	return r->writer_id == begin->part_writer && r->event_no == begin->writers[r->writer].event_no + 1 ? begin->part
	                                                                                                   : 0;
}

/* Adds the wanted events of a row, as many as have room. */
static void row_pass(struct look *l, const struct event_row *r)
{
	struct feed_page *p = l->page;
	struct feed_step  step = {r->writer, r->event_no, r->stamp, 0, 0};
	size_t            count = p->count;
	uint32_t          begun = row_begun(&p->begin, r), passed = begun;
	bool              whole;

	whole = event_decode(l->feed->catalogue, r, l->filter, NULL, &p->events, &count, &p->max, &l->skus,
	                     &l->locations);
	for (size_t i = p->count; i < count; i++) {
		struct feed_event *e = p->events[i];
		bool               damaged = l->asked && e->nameless;
		bool               wanted = e->place >= begun && !damaged;

		whole &= !damaged;
		if (wanted && p->count == l->limit)
			step.part = passed;
		if (!wanted || p->count == l->limit) {
			feed_event_free(e);
			continue;
		}
		passed = e->place + 1;
		p->events[p->count++] = e;
	}
	if (!whole)
		feed_damaged(r->writer_id, r->event_no);
	l->bytes += r->len;
	step.events = p->count;
	p->steps = mem_reach(p->steps, p->steps_count, &p->steps_max, sizeof(*p->steps));
	p->steps[p->steps_count++] = step;
}

static bool page_ends_within(const struct feed_page *p)
{
	return p->steps_count > 0 && p->steps[p->steps_count - 1].part > 0;
}

/* The same rows once more, now that their names are known. */
static void page_refill(struct look *l)
{
	size_t rows = l->page->steps_count;

	events_free(l->page);
	values_reset(&l->skus);
	values_reset(&l->locations);
	l->page->steps_count = 0;
	for (size_t i = 0; i < rows; i++)
		row_pass(l, &l->merge.rows.list[i]);
}

/* ---- names */

static int number_order(const void *a, const void *b)
{
	int64_t one = ((const struct value *)a)->number, two = ((const struct value *)b)->number;

	return (one > two) - (one < two);
}

/* Asks for the names of numbers, each once. */
static void names_ask(struct look *l, enum statement name, struct values *numbers,
                      void (*each)(void *arg, const struct db_row *row), void *arg)
{
	struct values page = {0};

	if (numbers->count > 0)
		qsort(numbers->list, numbers->count, sizeof(*numbers->list), number_order);
	for (size_t i = 0; i < numbers->count && l->result == DB_OK; i++) {
		if (i == 0 || numbers->list[i].number != numbers->list[i - 1].number)
			values_row(&page, numbers->list[i]);
		if (page.rows == NAMES_MAX || (i + 1 == numbers->count && page.rows > 0)) {
			l->result = db_ask(l->db, name, &(struct fill){.rows = &page}, each, arg);
			values_reset(&page);
		}
	}
	values_fini(&page);
}

static void sku_name_read(void *arg, const struct db_row *row)
{
	catalogue_sku_enter(arg, (uint32_t)db_int(row, 0), db_word(row, 1), row->len[1]);
}

/* Reads the names of skus and locations that the catalogue lacks. It may forget them at once, for another thread. */
static void codes_fill(struct look *l)
{
	struct catalogue *c = l->feed->catalogue;

	if (l->skus.count + l->locations.count == 0)
		return;
	names_ask(l, SKU_NAMES, &l->skus, sku_name_read, c);
	if (l->result == DB_OK && l->locations.count > 0)
		l->result = past_locations(l->db);
	if (l->result != DB_OK)
		return;
	page_refill(l);
	if (l->skus.count + l->locations.count == 0)
		return;
	l->asked = true;
	if (catalogue_past(c) == l->feed->past)
		page_refill(l);
	if (catalogue_past(c) != l->feed->past)
		l->result = DB_RETRY;
}

static const char *key_name(const struct feed *f, uint32_t key_id)
{
	for (size_t i = 0; i < f->keys_count; i++)
		if (f->keys[i].key_id == key_id)
			return f->keys[i].name;
	return NULL;
}

static void key_name_read(void *arg, const struct db_row *row)
{
	struct feed *f = arg;

	f->keys = mem_reach(f->keys, f->keys_count, &f->keys_max, sizeof(*f->keys));
	f->keys[f->keys_count++] = (struct key_name){(uint32_t)db_int(row, 0), mem_copy(db_word(row, 1))};
}

/* A key without a name in the database, yet, has none in the page. */
static void keys_fill(struct look *l)
{
	struct feed_page *p = l->page;
	struct feed      *f = l->feed;
	struct values     missing = {0};

	for (size_t i = 0; i < p->count; i++) {
		const uint32_t ids[] = {p->events[i]->by_key, p->events[i]->made_by};

		for (size_t k = 0; k < LENGTH(ids); k++)
			if (ids[k] && !key_name(f, ids[k]))
				values_row(&missing, V_INT(ids[k]));
	}
	names_ask(l, KEY_NAMES, &missing, key_name_read, f);
	for (size_t i = 0; i < p->count; i++) {
		p->events[i]->by = mem_copy(key_name(f, p->events[i]->by_key));
		p->events[i]->made_by_name = mem_copy(key_name(f, p->events[i]->made_by));
	}
	values_fini(&missing);
}

/* ---- the call */

/* Makes the page durable before it is given: a snapshot may have commits without a redo log on disk, which a crash of
 * the database would take back. */
static void page_keep(struct look *l)
{
	int64_t durable = 0;

	l->result = db_ask(l->db, FEED_IS_DURABLE, NULL, db_ints, &durable);
	if (l->result == DB_OK && !durable)
		l->result = db_ask(l->db, FEED_FLUSH, &(struct fill){.mark = l->feed->mark}, NULL, NULL);
}

/* Reads the rows; the snapshot ends before names are looked for, which are in the database by then. */
static void page_read(struct look *l, const struct feed_start *start)
{
	struct feed_merge      *m = &l->merge;
	struct feed_page       *p = l->page;
	const struct event_row *row;

	if (feed_merge_begin(m, l->db, start, &l->feed->kept, 0)) {
		feed_place_copy(&p->begin, &m->place);
		while (p->count < l->limit && l->bytes < LOOKED_MAX && (row = feed_merge_take(m)))
			row_pass(l, row);
	}
	feed_merge_end(m);
	l->result = m->result;
	if (l->result != DB_OK || m->outcome != OUTCOME_OK)
		return;
	if (p->steps_count > 0)
		page_keep(l);
	if (l->result == DB_OK)
		codes_fill(l);
	keys_fill(l);
	p->more = page_ends_within(p) || feed_merge_more(m);
	if (l->result == DB_OK)
		p->cursor = feed_cursor(p, SIZE_MAX);
}

enum db_result feed_read(struct feed *f, struct db *db, const char *after, const struct event_filter *filter,
                         unsigned limit, struct feed_page *page, enum outcome *outcome)
{
	struct look       l = {.feed = f, .db = db, .filter = filter, .limit = limit, .page = page};
	struct feed_start start;

	assert(limit > 0 && limit <= FEED_LIMIT_MAX);
	*page = (struct feed_page){0};
	*outcome = BAD_CURSOR;
	if (feed_start_read(after, &start)) {
		if (f->past != catalogue_past(f->catalogue))
			feed_forget(f);
		f->past = catalogue_past(f->catalogue);
		page_read(&l, &start);
		*outcome = l.merge.outcome;
		feed_merge_fini(&l.merge, page_ends_within(page));
		values_fini(&l.skus);
		values_fini(&l.locations);
	}
	feed_place_fini(&start.place);
	if (l.result != DB_OK)
		events_free(page);
	return l.result;
}

enum db_result feed_look(struct feed *f, struct db *db, bool *news)
{
	struct seen    now = {.there = 1};
	enum db_result result = db_ask(db, FEED_LOOK, NULL, db_ints, &now);

	*news = result == DB_OK && memcmp(&now, &f->seen, sizeof(now)) != 0;
	if (result == DB_OK)
		f->seen = now;
	return result;
}
