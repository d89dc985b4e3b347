/* feed_merge.c - see feed_merge.h. */
#include "engine/log/feed_merge.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/db/txn.h"

enum {
	STAMPS_FIRST = 8, /* of a writer; STEEPER times as many where they are used up */
	STAMPS_MAX = 512,
	ROWS_FIRST = 8, /* rows read at once; STEEPER times as many, too */
	ROWS_MAX = 256,
	STEEPER = 4,
	ROWS_BYTES = 1 << 20, /* of a batch */
	ALL_BYTES = 4 << 20,  /* .. for a reader that takes all */
	PAIRS_MAX = 2000,     /* keys in a statement: 3 us each */
	AHEAD_MAX = 512,      /* keys that are asked for before it is known whether their rows exist */
};

/* A writer, as the snapshot has it. */
struct feed_source {
	uint32_t          writer_id;
	bool              ended;
	uint64_t          last, floor_no;
	int64_t           floor_stamp, stamp;
	uint64_t          asked; /* a row to learn the stamp of; 0: none */
	int64_t           found; /* its stamp; -1: there is no row */
	bool              seeks; /* its place is looked for by a bisection, between .. */
	uint64_t          low, high;
	struct event_row *stamps; /* of the rows that come next; whole for a reader that checks the log */
	size_t            first, count, max;
	size_t            chunk;       /* so many were asked for the last time */
	uint64_t          next, until; /* the row behind the last stamp; the last row that was asked for */
	bool              ahead;       /* its stamps were asked for in the snapshot's trip */
};

/* ---- the snapshot */

static void writer_read(void *arg, const struct db_row *row)
{
	struct feed_merge *m = arg;

	if (m->count > 0 && m->sources[m->count - 1].writer_id >= (uint64_t)db_int(row, 0)) {
		db_other(row); /* source_find needs this order */
		return;
	}
	m->sources = mem_reach(m->sources, m->count, &m->max, sizeof(*m->sources));
	m->sources[m->count++] = (struct feed_source){
		.writer_id = (uint32_t)db_int(row, 0),
		.last = (uint64_t)db_int(row, 1),
		.floor_no = (uint64_t)db_int(row, 2),
		.floor_stamp = db_int(row, 3),
		.stamp = db_int(row, 4),
		.ended = db_int(row, 5),
	};
}

/* All in one trip. *before: the log as it was before the snapshot; the look at it has to end, for within a transaction
 * no isolation level can be set. `ahead` (NULL: none) goes behind; its answer is left to be read. */
static void snapshot_begin(struct feed_merge *m, struct feed_log *before, const char *ahead)
{
	const struct {
		enum statement name;
		void (*each)(void *arg, const struct db_row *row);
		void *arg;
	} steps[] = {{FEED_LOG, db_ints, before}, {TXN_END, NULL, NULL},        {TXN_REPEATABLE, NULL, NULL},
	             {FEED_SNAPSHOT, NULL, NULL}, {FEED_LOG, db_ints, &m->log}, {FEED_WRITERS, writer_read, m}};
	size_t sent = 0;

	m->in_snapshot = true;
	db_begin(m->db);
	for (; m->result == DB_OK && sent < LENGTH(steps); sent += m->result == DB_OK)
		m->result = db_send(m->db, statements[steps[sent].name].text, statements[steps[sent].name].columns);
	if (m->result == DB_OK && ahead) {
		m->result = db_send(m->db, ahead, statements[FEED_STAMPS].columns);
		m->ahead = m->result == DB_OK;
	}
	for (size_t i = 0; i < sent; i++) {
		enum db_result result = db_answer(m->db, steps[i].each, steps[i].arg);

		m->result = m->result == DB_OK ? result : m->result;
	}
}

/* ---- stamps of rows */

static struct feed_source *source_find(const struct feed_merge *m, uint32_t writer_id)
{
	const struct feed_writer *w = feed_place_find(&m->place, writer_id);

	return w ? &m->sources[w - m->place.writers] : NULL;
}

static struct event_row *stamp_add(struct feed_source *s, int64_t stamp)
{
	s->stamps = mem_reach(s->stamps, s->count, &s->max, sizeof(*s->stamps));
	s->stamps[s->count] = (struct event_row){.writer_id = s->writer_id, .event_no = s->next++, .stamp = stamp};
	return &s->stamps[s->count++];
}

static void stamp_read(void *arg, const struct db_row *row)
{
	struct feed_merge  *m = arg;
	uint32_t            writer_id = (uint32_t)db_int(row, 0);
	uint64_t            event_no = (uint64_t)db_int(row, 1);
	int64_t             stamp = db_int(row, 2);
	struct feed_source *s = source_find(m, writer_id);

	if (writer_id == m->place.writer_id && event_no == m->place.event_no)
		m->merge_found = stamp;
	if (!s)
		return; /* a row of no known writer: a cursor names it */
	if (event_no == s->asked)
		s->found = stamp;
	if (event_no != s->next || event_no > s->until)
		return;
	stamp_add(s, stamp);
}

static void row_fill(struct event_row *r, const struct db_row *row)
{
	r->at = time_parse(row->col[2]);
	r->len = row->len[3];
	r->changes = memcpy(mem_alloc(r->len + 1), db_word(row, 3), r->len);
}

/* A whole row of a range. */
static void whole_read(void *arg, const struct db_row *row)
{
	struct feed_source *s = arg;

	if ((uint64_t)db_int(row, 0) == s->next)
		row_fill(stamp_add(s, db_int(row, 1)), row);
}

static void pairs_ask(struct feed_merge *m)
{
	if (m->result == DB_OK && m->pairs.rows > 0)
		m->result = db_ask(m->db, FEED_STAMPS, &(struct fill){.rows = &m->pairs}, stamp_read, m);
	values_reset(&m->pairs);
}

static void pair_add(struct feed_merge *m, uint32_t writer_id, uint64_t event_no)
{
	if (m->pairs.rows >= PAIRS_MAX)
		pairs_ask(m);
	values_row(&m->pairs, V_INT(writer_id), V_INT(event_no));
}

/* Finds the last row of each seeking writer that stands before the merge, all writers in step. */
static void places_seek(struct feed_merge *m)
{
	assert(m->place.count == m->count); /* each source has its writer */
	for (bool again = true; again && m->result == DB_OK;) {
		again = false;
		for (size_t i = 0; i < m->count; i++) {
			struct feed_source *s = &m->sources[i];

			if (!s->seeks)
				continue;
			if (s->asked && s->found < feed_place_behind(&m->place, s->writer_id))
				s->low = s->asked;
			else if (s->asked)
				s->high = s->asked - 1;
			m->place.writers[i].event_no = s->low;
			s->asked = s->low < s->high ? s->low + (s->high - s->low + 1) / 2 : 0;
			s->found = INT64_MAX;
			again |= s->asked > 0;
			if (s->asked)
				pair_add(m, s->writer_id, s->asked);
		}
		pairs_ask(m);
	}
}

/* A row that was asked for is not there yet. */
static bool has_gap(const struct feed_source *s)
{
	return s->next <= s->until;
}

static bool has_more(const struct feed_source *s)
{
	return s->first < s->count || (s->next <= s->last && !has_gap(s));
}

/* Asks for the stamps of the next `chunk` rows, or of as many as the writer has. */
static void source_ask(struct feed_source *s, size_t chunk)
{
	uint64_t left = s->last - s->next + 1;

	assert(chunk > 0 && !has_gap(s));
	s->chunk = chunk;
	s->until = s->next + (left < chunk ? left : chunk) - 1;
}

/* The row at which the writer's place stands is looked for. */
static void source_expect(struct feed_merge *m, struct feed_source *s)
{
	const struct feed_writer *w = &m->place.writers[s - m->sources];

	s->asked = w->event_no > s->floor_no ? w->event_no : 0;
	s->found = -1;
	s->next = w->event_no + 1;
}

/* The row at which the merge stands; 0: none is looked for. */
static uint64_t merged_expect(struct feed_merge *m)
{
	const struct feed_place  *to = &m->place;
	const struct feed_source *merged = to->event_no ? source_find(m, to->writer_id) : NULL;
	bool                      asks = merged && to->event_no > merged->floor_no;

	m->merge_found = asks ? -1 : to->stamp;
	return asks ? to->event_no : 0;
}

/* Once a writer has no stamp left, one trip asks for the next ones of every writer that has used half of its own, and
 * for all pairs that wait to be asked for. */
static void stamps_fill(struct feed_merge *m)
{
	bool empty = m->pairs.rows > 0;

	for (size_t i = 0; i < m->count; i++)
		empty |= has_more(&m->sources[i]) && m->sources[i].first == m->sources[i].count;
	for (size_t i = 0; empty && i < m->count; i++) {
		struct feed_source *s = &m->sources[i];

		if (has_gap(s) || s->next > s->last || s->count - s->first > s->chunk / 2)
			continue;
		source_ask(s, s->chunk == 0                     ? m->chunk
		              : s->chunk * STEEPER < STAMPS_MAX ? s->chunk * STEEPER
		                                                : STAMPS_MAX);
		for (uint64_t n = s->next; n <= s->until && !m->checks; n++)
			pair_add(m, s->writer_id, n);
		if (m->result == DB_OK && m->checks)
			m->result = db_ask(m->db, FEED_RANGE,
			                   &(struct fill){.writer = s->writer_id,
			                                  .after_id = (int64_t)s->next - 1,
			                                  .until_id = (int64_t)s->until},
			                   whole_read, s);
	}
	pairs_ask(m);
}

/* ---- stamps that are asked for in the snapshot's trip */

/* The rows that a cursor names, and of each writer those that may come next. */
static void ahead_write(struct feed_merge *m, const struct feed_place *from, struct text *sql)
{
	size_t each = from->count ? AHEAD_MAX / from->count : 0;

	if (each < 2)
		return;
	m->chunk = each - 1 < m->chunk ? each - 1 : m->chunk;
	for (size_t i = 0; i < from->count; i++)
		for (size_t n = 0; n <= m->chunk; n++)
			values_row(&m->pairs, V_INT(from->writers[i].writer_id),
			           V_INT((int64_t)(from->writers[i].event_no + n)));
	if (from->event_no)
		values_row(&m->pairs, V_INT(from->writer_id), V_INT((int64_t)from->event_no));
	statement_add(sql, FEED_STAMPS, &(struct fill){.rows = &m->pairs});
	values_reset(&m->pairs);
}

/* Reads the answer, whatever is wanted of it by now. */
static void ahead_read(struct feed_merge *m, const struct feed_place *from)
{
	bool           wanted = m->result == DB_OK && m->outcome == OUTCOME_OK;
	enum db_result result;

	for (size_t i = 0; wanted && i < m->count; i++) {
		struct feed_source *s = &m->sources[i];

		s->ahead = feed_place_find(from, s->writer_id) != NULL;
		if (!s->ahead)
			continue;
		source_expect(m, s);
		source_ask(s, m->chunk);
	}
	if (wanted)
		merged_expect(m);
	result = db_answer(m->db, wanted ? stamp_read : NULL, m);
	m->result = m->result == DB_OK ? result : m->result;
}

/* ---- where the page begins */

bool feed_start_read(const char *after, struct feed_start *start)
{
	int64_t us;

	*start = (struct feed_start){.kind = FROM_OLDEST};
	if (!after || !*after)
		return true;
	if (strcmp(after, "now") == 0) {
		start->kind = FROM_NOW;
	} else if (time_read(after, &us)) {
		start->kind = FROM_TIME;
		start->place.stamp = us > 0 ? us - 1 : 0;
		start->place.writer_id = UINT32_MAX;
	} else {
		start->kind = FROM_PLACE;
		return feed_place_read(after, &start->place);
	}
	return true;
}

/* A writer without a place in a cursor. */
static void source_start(struct feed_merge *m, const struct feed_start *start, struct feed_source *s,
                         struct feed_writer *w)
{
	struct feed_place *to = &m->place;

	w->found_from = s->floor_no ? s->floor_stamp : INT64_MIN;
	w->event_no = start->kind == FROM_OLDEST ? s->floor_no : s->last;
	s->seeks = start->kind == FROM_TIME && s->stamp >= feed_place_behind(to, s->writer_id);
	if (start->kind == FROM_NOW && s->stamp >= to->stamp)
		to->stamp = s->stamp;
	if (start->kind == FROM_NOW)
		to->writer_id = UINT32_MAX;
}

/* The place of a writer that the cursor `from` names or not. false: rows that were not read are gone, or the cursor is
 * of another past. */
static bool source_follow(const struct feed_place *from, struct feed_source *s, struct feed_writer *w)
{
	const struct feed_writer *named = feed_place_find(from, s->writer_id);
	int64_t                   behind = feed_place_behind(from, s->writer_id);

	if (named) {
		w->event_no = named->event_no;
		w->check = named->check;
		return s->last >= w->event_no && s->floor_no <= w->event_no;
	}
	if (s->writer_id > from->known)
		return s->floor_no == 0;
	w->found_from = s->floor_no ? s->floor_stamp : INT64_MIN;
	w->event_no = s->last;
	s->seeks = s->stamp >= behind;
	return s->ended && (s->floor_no == 0 || s->floor_stamp < behind);
}

/* Gives every writer its place. `from` was read from the cursor. */
static void places_settle(struct feed_merge *m, const struct feed_start *start)
{
	const struct feed_place *from = &start->place;
	struct feed_place       *to = &m->place;
	bool                     ok = start->kind != FROM_PLACE || (from->mark == to->mark && from->era == to->era);
	size_t                   named = 0;

	for (size_t i = 0; i < m->count && ok; i++) {
		struct feed_source *s = &m->sources[i];
		struct feed_writer *w = feed_place_add(to, s->writer_id);

		w->ended = s->ended;
		w->last = s->last;
		s->low = s->floor_no;
		s->high = s->last;
		named += feed_place_find(from, s->writer_id) != NULL;
		if (start->kind == FROM_PLACE)
			ok = source_follow(from, s, w);
		else
			source_start(m, start, s, w);
	}
	if (!ok || named < from->count)
		m->outcome = CURSOR_EXPIRED;
}

/* The rows that a place names are asked for, unless they were. Those of a cursor must be there as they were. Of a
 * writer that has ended and was read to its end no cursor names a row. */
static void places_ask(struct feed_merge *m, const struct feed_place *from)
{
	for (size_t i = 0; i < m->count; i++) {
		struct feed_source *s = &m->sources[i];

		if (s->ahead)
			continue;
		source_expect(m, s);
		if (s->ended && s->asked == s->last && !feed_place_find(from, s->writer_id))
			s->asked = 0;
		if (s->asked)
			pair_add(m, s->writer_id, s->asked);
	}
	if (!m->ahead && merged_expect(m))
		pair_add(m, m->place.writer_id, m->place.event_no);
	stamps_fill(m);
}

static void places_check(struct feed_merge *m, const struct feed_place *from)
{
	struct feed_place *to = &m->place;

	for (size_t i = 0; i < m->count; i++) {
		const struct feed_source *s = &m->sources[i];
		struct feed_writer       *w = &to->writers[i];
		uint32_t check = s->asked ? feed_check(s->asked, s->found) : feed_check(s->floor_no, s->floor_stamp);

		if (feed_place_find(from, s->writer_id) && w->event_no > 0 &&
		    ((s->asked && s->found < 0) || check != w->check))
			m->outcome = CURSOR_EXPIRED;
		w->check = w->event_no ? check : 0;
	}
	if (m->merge_found != to->stamp)
		m->outcome = CURSOR_EXPIRED;
}

/* ---- rows */

const struct feed_writer *feed_merge_gap(const struct feed_merge *m)
{
	for (size_t i = 0; m->checks && i < m->count; i++)
		if (has_gap(&m->sources[i]) && m->sources[i].first == m->sources[i].count)
			return &m->place.writers[i];
	return NULL;
}

/* The writer of the next row; NULL: there is none. A row that was begun comes before rows that are new. */
static struct feed_source *merge_next(struct feed_merge *m)
{
	struct feed_source *best = NULL;

	stamps_fill(m);
	if (feed_merge_gap(m))
		return NULL;
	if (m->result == DB_OK && m->place.part > 0 && m->rows.count == 0)
		best = source_find(m, m->place.part_writer);
	if (best && best->first < best->count)
		return best;
	best = NULL;
	for (size_t i = 0; m->result == DB_OK && i < m->count; i++) {
		struct feed_source *s = &m->sources[i];

		assert(s->first <= s->count);
		if (s->first < s->count && (!best || s->stamps[s->first].stamp < best->stamps[best->first].stamp))
			best = s;
	}
	return best;
}

static bool row_is(const struct event_row *r, uint32_t writer_id, uint64_t event_no)
{
	return r->event_no == event_no && r->writer_id == writer_id;
}

static void row_read(void *arg, const struct db_row *row)
{
	struct feed_merge *m = arg;

	for (size_t i = m->taken; i < m->rows.count; i++) {
		struct event_row *r = &m->rows.list[i];

		if (!r->changes && row_is(r, (uint32_t)db_int(row, 0), (uint64_t)db_int(row, 1)))
			row_fill(r, row);
	}
}

/* A row that was read before, if it is the same. */
static bool row_of(struct feed_rows *kept, struct event_row *r)
{
	for (size_t i = 0; i < kept->count; i++) {
		struct event_row *k = &kept->list[i];

		if (row_is(k, r->writer_id, r->event_no) && k->stamp == r->stamp && k->changes) {
			r->at = k->at;
			r->changes = k->changes;
			r->len = k->len;
			k->changes = NULL;
			return true;
		}
	}
	return false;
}

static void row_add(struct feed_merge *m, struct feed_source *s)
{
	struct feed_rows *to = &m->rows;

	assert(s->first < s->count);
	to->list = mem_reach(to->list, to->count, &to->max, sizeof(*to->list));
	to->list[to->count] = s->stamps[s->first++];
	to->list[to->count++].writer = (size_t)(s - m->sources);
}

static bool sources_have_more(const struct feed_merge *m)
{
	bool more = false;

	for (size_t i = 0; i < m->count; i++)
		more |= has_more(&m->sources[i]);
	return more;
}

/* Reads a batch of the rows that come next; the next batch is larger, unless its bytes are too many. */
static void rows_fetch(struct feed_merge *m)
{
	size_t              from = m->rows.count, bytes = 0, count, most;
	struct values       missing = {0};
	struct feed_source *s;

	assert(m->batch > 0 && m->taken == from);
	while (m->rows.count - from < m->batch && (s = merge_next(m)))
		row_add(m, s);
	count = m->rows.count - from;
	if (count == 0)
		return;
	for (size_t i = from; i < m->rows.count; i++)
		if (!m->rows.list[i].changes && !row_of(m->kept, &m->rows.list[i]))
			values_row(&missing, V_INT(m->rows.list[i].writer_id), V_INT(m->rows.list[i].event_no));
	if (m->result == DB_OK && missing.rows > 0 && !sources_have_more(m)) {
		db_end_behind(m->db);
		m->in_snapshot = false;
	}
	if (m->result == DB_OK && missing.rows > 0)
		m->result = db_ask(m->db, FEED_ROWS, &(struct fill){.rows = &missing}, row_read, m);
	values_fini(&missing);
	for (size_t i = from; i < m->rows.count; i++) {
		bytes += m->rows.list[i].len;
		if (m->result == DB_OK && !m->rows.list[i].changes)
			m->result = DB_ERROR; /* one snapshot has its stamp and not the row */
	}
	most = m->takes_all ? ALL_BYTES : ROWS_BYTES;
	m->batch = m->takes_all || m->batch * STEEPER > ROWS_MAX ? ROWS_MAX : m->batch * STEEPER;
	if (bytes > 0 && m->batch > most * count / bytes)
		m->batch = most * count / bytes + 1;
}

/* ---- the call */

static void changes_free(const struct event_row *rows, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		free((void *)rows[i].changes);
}

void feed_rows_fini(struct feed_rows *rows)
{
	changes_free(rows->list, 0, rows->count);
	free(rows->list);
	*rows = (struct feed_rows){0};
}

static void place_begin(struct feed_merge *m, const struct feed_start *start, uint32_t known)
{
	m->outcome = m->log.keep_days == 0 ? EVENTS_OFF : known < start->place.known ? CURSOR_EXPIRED : OUTCOME_OK;
	m->place = start->place;
	m->place.mark = (uint64_t)m->log.mark;
	m->place.era = (uint32_t)m->log.era;
	m->place.known = known;
	m->place.writers = NULL;
	m->place.count = m->place.max = 0;
	if (m->outcome == OUTCOME_OK)
		places_settle(m, start);
}

bool feed_merge_begin(struct feed_merge *m, struct db *db, const struct feed_start *start, struct feed_rows *kept,
                      size_t batch)
{
	struct feed_log before = {0};
	struct text     ahead = {0};

	*m = (struct feed_merge){
		.db = db, .kept = kept, .checks = start->checks, .takes_all = batch > 0, .outcome = OUTCOME_OK};
	m->chunk = m->takes_all ? STAMPS_MAX : STAMPS_FIRST;
	m->batch = m->takes_all ? batch : ROWS_FIRST;
	if (start->kind == FROM_PLACE && !m->checks)
		ahead_write(m, &start->place, &ahead);
	snapshot_begin(m, &before, ahead.data);
	text_fini(&ahead);
	if (m->result == DB_OK)
		place_begin(m, start, (uint32_t)before.writer_last);
	if (m->ahead)
		ahead_read(m, &start->place);
	if (m->result != DB_OK || m->outcome != OUTCOME_OK)
		return false;
	places_seek(m);
	places_ask(m, &start->place);
	if (m->result == DB_OK && !m->checks)
		places_check(m, &start->place);
	return m->result == DB_OK && m->outcome == OUTCOME_OK;
}

const struct event_row *feed_merge_take(struct feed_merge *m)
{
	if (m->taken == m->rows.count)
		rows_fetch(m);
	return m->result == DB_OK && m->taken < m->rows.count ? &m->rows.list[m->taken++] : NULL;
}

bool feed_merge_more(const struct feed_merge *m)
{
	return m->taken < m->rows.count || sources_have_more(m);
}

void feed_merge_end(struct feed_merge *m)
{
	enum db_result result = DB_OK;

	if (m->in_snapshot && db_connected(m->db))
		result = db_end(m->db, false);
	if (result != DB_OK)
		db_close(m->db);
	m->in_snapshot = false;
	m->result = m->result == DB_OK ? result : m->result;
}

void feed_merge_fini(struct feed_merge *m, size_t again)
{
	size_t from = m->taken - again;

	assert(again <= m->taken && m->taken <= m->rows.count);
	feed_rows_fini(m->kept);
	changes_free(m->rows.list, 0, from);
	if (m->rows.count > from)
		memmove(m->rows.list, m->rows.list + from, (m->rows.count - from) * sizeof(*m->rows.list));
	m->rows.count -= from;
	*m->kept = m->rows;
	for (size_t i = 0; i < m->count; i++) {
		struct feed_source *s = &m->sources[i];

		changes_free(s->stamps, s->first, s->count);
		free(s->stamps);
	}
	free(m->sources);
	values_fini(&m->pairs);
	feed_place_fini(&m->place);
}
