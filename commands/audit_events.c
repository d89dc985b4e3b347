/* audit_events.c - see audit_events.h.
 *
 * The log has every event after a stamp (event_log.since). Older rows and events are not compared.
 *
 * A pass takes the orders and movements with a hash in a range; if there are too many, the range is halved, and another
 * pass takes the rest. A pass folds the log into a subject for each order and movement (row_fold), compares the
 * subjects with the rows of the tables (rows_walk), and looks again at subjects that differ (doubts_settle): it reads
 * their rows again, and only then walks the log on. So the log has every change that the row has, and up to the stamp
 * of the row's last change the two must agree. A row that the walk has not reached is left to the next look. A subject
 * that differs twice is a finding; once is not enough, as a torn snapshot may have a row without its lines. */
#include "commands/audit_events.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/db/db.h"
#include "engine/log/event_walk.h"

#include <stdio.h>
#include <unistd.h>

enum {
	KEYS = 5000,      /* rows of a range */
	NAMED = 500,      /* rows read by their ids at once */
	TRIES = 5,        /* passes, where each is overtaken by the removal of events */
	LOOKS = 10,       /* looks at subjects in doubt, at most .. */
	LOOKS_DIFFER = 2, /* .. looks in which a finding has differed */
	LOOK_PAUSE_US = 100000,
	ID_SIZE = 100,
};
#define SECOND_US INT64_C(1000000)

/* A reservation's or a movement's row. */
struct audited {
	char     id[ID_SIZE];
	int      state;      /* or kind */
	int64_t  changed;    /* a reservation's */
	int64_t  created_us; /* since 1970, whole ms */
	int64_t  number_us;  /* the time in its number (engine/base/ids.h) */
	int64_t  expires_at; /* a reservation's, ms */
	uint64_t link;       /* .. the row of its last event (event_link_no); 0: none is known */
	uint64_t lines;      /* as lines_of_event */
	bool     there;
};

struct subject {
	uint64_t        hash; /* 0: the place is empty */
	char           *id;
	bool            is_movement;
	enum event_type type;  /* of its last event; 0: no event was seen */
	int             state; /* a reservation's, after that event */
	int64_t         last;  /* stamp of that event */
	int64_t         expires_at;
	uint64_t        lines;
	uint64_t        link, before; /* the row of that event, and the row of the events before, as links; 0: none */
	bool            loose; /* true: an event names no row before: it is older than schema 28, or its program was */
	bool            born;  /* true: the event that made it was seen */
	bool            cut;   /* true: the last event has only some of the lines */
	bool            seen;  /* true: rows_walk has met the row */
	bool            doubt; /* true: to be looked at again .. */
	bool            judged;
	uint8_t         differs; /* .. number of looks in which it differed */
	const char     *why;     /* the finding; NULL: none */
	struct audited *row;     /* the row, as the last look has read it */
};

struct events_audit {
	struct db         *db;
	struct event_walk *walk;
	struct event_log   log;
	uint64_t           low, high; /* hashes of this pass */
	struct subject    *table;
	size_t             count, size; /* size: a power of two */
	size_t             subjects_max;
	size_t             doubts;
	bool               looks_again;
	struct feed_event  before; /* the event before in the same row: type, cause; before_id: order */
	char               before_id[ID_MAX + 1];
	void (*found)(void *arg, const struct event_finding *f);
	void *arg;
};

/* ---- subjects */

static uint64_t id_hash(const char *id, bool is_movement)
{
	uint64_t h = (hash_bytes(id, strlen(id)) ^ (is_movement ? 0x6d : 0)) * UINT64_C(0x9e3779b97f4a7c15);

	h ^= h >> 29;
	return h ? h : 1;
}

static struct subject *place_of(struct events_audit *a, uint64_t hash, const char *id, bool is_movement)
{
	for (size_t i = hash & (a->size - 1);; i = (i + 1) & (a->size - 1)) {
		struct subject *s = &a->table[i];

		if (!s->hash || (s->hash == hash && s->is_movement == is_movement && strcmp(s->id, id) == 0))
			return s;
	}
}

static void subject_free(struct subject *s)
{
	free(s->id);
	free(s->row);
	*s = (struct subject){0};
}

static void table_clear(struct events_audit *a)
{
	for (size_t i = 0; i < a->size; i++)
		subject_free(&a->table[i]);
	a->count = a->doubts = 0;
}

/* Gives the table another size, and drops subjects above `high`. */
static void table_make(struct events_audit *a, size_t size)
{
	struct subject *old = a->table;
	size_t          old_size = a->size;

	a->table = mem_alloc(size * sizeof(*a->table));
	a->size = size;
	a->count = 0;
	for (size_t i = 0; i < old_size; i++) {
		if (!old[i].hash)
			continue;
		if (old[i].hash > a->high) {
			a->doubts -= old[i].doubt;
			subject_free(&old[i]);
			continue;
		}
		*place_of(a, old[i].hash, old[i].id, old[i].is_movement) = old[i];
		a->count++;
	}
	free(old);
}

/* Finds a subject or, with `make`, adds it. NULL: it is not of this pass, or not there. */
static struct subject *subject(struct events_audit *a, const char *id, bool is_movement, bool make)
{
	uint64_t        hash = id_hash(id, is_movement);
	struct subject *s;

	if (hash < a->low || hash > a->high)
		return NULL;
	s = place_of(a, hash, id, is_movement);
	if (s->hash || !make)
		return s->hash ? s : NULL;
	if (a->count == a->subjects_max) {
		a->high = a->low + (a->high - a->low) / 2;
		table_make(a, a->size);
		return subject(a, id, is_movement, make);
	}
	if (a->count * 2 >= a->size) {
		table_make(a, a->size * 2);
		s = place_of(a, hash, id, is_movement);
	}
	*s = (struct subject){.hash = hash, .id = mem_copy(id), .is_movement = is_movement};
	a->count++;
	return s;
}

/* ---- what differs */

static void report(struct events_audit *a, const char *about, const char *id, const char *why)
{
	a->found(a->arg, &(struct event_finding){about, id, why});
}

static bool is_live(int state)
{
	return state == HELD || state == CONFIRMED || state == BURIED;
}

/* A part of a split has the time of the order that was split and a number of its own: both must be new. */
static bool is_new(const struct events_audit *a, const struct audited *row)
{
	return row->created_us > a->log.since && row->number_us > a->log.since;
}

/* True: the last change of a reservation in this state has made an event. A held or confirmed one may have been
 * claimed, retried or put off since, which makes none. */
static bool ends_with_event(int state)
{
	return state != HELD && state != CONFIRMED;
}

static const char *reservation_differs(const struct events_audit *a, const struct subject *s, const struct audited *row)
{
	int64_t since = a->log.since;

	if (!row->there)
		return is_live(s->state) ? "it has events and no row" : NULL; /* an ended one may be purged */
	if (!s || !s->type) {
		if (row->changed > since && ends_with_event(row->state))
			return "its last change has no event";
		return row->changed > since && is_new(a, row) ? "it has no event" : NULL;
	}
	if (s->state != row->state)
		return "its state is not that of its last event";
	if (s->last > row->changed || (s->last < row->changed && ends_with_event(row->state)))
		return s->last > row->changed ? "its last event is newer than its row" : "its last change has no event";
	if (s->state == HELD && s->expires_at < row->expires_at) /* an extension is missing */
		return "it is held longer than its last event says";
	if (!s->cut && s->lines != row->lines)
		return "its lines are not those of its last event";
	if (row->link && row->link != s->link && !s->loose)
		return "its last event is another one than it says";
	return is_new(a, row) && !s->born ? "the event that made it is missing" : NULL;
}

static const char *movement_differs(const struct events_audit *a, const struct subject *s, const struct audited *row)
{
	if (!row->there)
		return "its event has no movement";
	if (!s || !s->type)
		return is_new(a, row) ? "it has no event" : NULL;
	if (s->type != event_of_movement((enum movement_kind)row->state))
		return "its kind is not that of its event";
	return !s->cut && s->lines != row->lines ? "its units are not those of its event" : NULL;
}

static const char *differs(const struct events_audit *a, bool is_movement, const struct subject *s,
                           const struct audited *row)
{
	return is_movement ? movement_differs(a, s, row) : reservation_differs(a, s, row);
}

/* ---- the log is folded into subjects */

/* A sum that is equal for equal units of each sku at each location, however they are divided. */
static uint64_t line_sum(uint64_t sku_id, uint64_t location_id, int64_t qty)
{
	uint64_t h = (sku_id << 32 | location_id) * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ h >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
	return (h ^ h >> 29) * (uint64_t)qty;
}

static uint64_t lines_sum(const struct line *lines, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += line_sum(sku_id(lines[i].sku), lines[i].location->location_id, lines[i].qty);
	return sum;
}

/* True: the event is the second one of a split, which is about the part. */
static bool is_part(const struct events_audit *a, const struct feed_event *e)
{
	return e->type == EVENT_SPLIT && a->before.type == EVENT_SPLIT &&
	       strcmp(a->before.cause, e->reservation->order_id) == 0 && strcmp(a->before_id, e->cause) == 0;
}

/* The order has other lines after the event. */
static bool moves_lines(enum event_type t)
{
	return t == EVENT_SPLIT || t == EVENT_ARRIVED || t == EVENT_BACKORDERED || t == EVENT_CHANGED;
}

/* The order stays in the state in which it was. */
static bool keeps_state(enum event_type t)
{
	return moves_lines(t) || t == EVENT_ON_HOLD || t == EVENT_OFF_HOLD;
}

static const char *step_is_wrong(const struct subject *s, const struct feed_event *e, bool born, uint64_t lines)
{
	const struct event_trait *is = event_trait(e->type);
	int                       state = (int)e->reservation->state;

	if (!(is->to >> state & 1))
		return "an event is not of its state";
	if (!s->type)
		return NULL;
	if (born)
		return is_live(s->state) ? "it is made twice" : NULL; /* an ended one may be purged */
	if (!(is->from >> s->state & 1) || (keeps_state(e->type) && state != s->state))
		return "an event is missing or comes out of order";
	if (!moves_lines(e->type) && !e->cut && !s->cut && lines != s->lines)
		return "its lines change between two events";
	return NULL;
}

/* Each event names the row of the order's events before, and the first of an order names none. A row that a program
 * older than schema 28 has written is named by nothing, and names nothing. */
static void link_fold(struct subject *s, const struct feed_event *e, bool born)
{
	uint64_t link = event_link(e->writer_id, e->event_no), named = e->reservation->last_event;

	if (s->link != link)
		s->before = s->link;
	s->link = link;
	if (born)
		s->before = 0;
	if (!s->why && named && named != s->before && s->type && !s->loose)
		s->why = "an event names another row before";
	s->loose = !named && s->before;
}

static void reservation_fold(struct subject *s, const struct feed_event *e, bool born)
{
	uint64_t lines = lines_sum(e->reservation->lines, e->reservation->lines_count);

	if (!s->why)
		s->why = step_is_wrong(s, e, born, lines);
	link_fold(s, e, born);
	s->born |= born;
	s->state = (int)e->reservation->state;
	s->expires_at = e->reservation->expires_at;
	s->lines = lines;
}

static void doubt_judge(struct events_audit *a, struct subject *s);

/* In another look only subjects in doubt take events, and each is judged before the first event that is newer than its
 * row. */
static void event_fold(struct events_audit *a, const struct feed_event *e)
{
	bool            is_movement = event_trait(e->type)->about == MOVEMENT;
	struct subject *s;

	if ((!is_movement && event_trait(e->type)->about != RESERVATION) || e->type == EVENT_PLACED)
		return;
	s = subject(a, is_movement ? e->movement->movement_id : e->reservation->order_id, is_movement, !a->looks_again);
	if (!s || (a->looks_again && !s->doubt))
		return;
	if (a->looks_again && !is_movement && s->row->there && e->stamp > s->row->changed)
		doubt_judge(a, s);
	if (is_movement) {
		if (s->type)
			s->why = "it has two events";
		s->lines = lines_sum(e->movement->lines, e->movement->lines_count);
	} else {
		reservation_fold(s, e, e->type == EVENT_HELD || is_part(a, e));
	}
	s->cut = e->cut;
	s->type = e->type;
	s->last = e->stamp;
}

static void row_fold(void *arg, const struct event_walked *row)
{
	struct events_audit *a = arg;
	char                 id[48];

	if (row->trouble && !a->low) {
		snprintf(id, sizeof(id), "%u/%llu", (unsigned)row->writer_id, (unsigned long long)row->event_no);
		report(a, "writer", id, row->trouble);
	}
	if (row->trouble || row->stamp <= a->log.since)
		return;
	a->before.type = 0;
	for (size_t i = 0; i < row->count; i++) {
		const struct feed_event *e = row->events[i];

		event_fold(a, e);
		a->before.type = e->type;
		memcpy(a->before.cause, e->cause, sizeof(e->cause));
		if (e->reservation)
			memcpy(a->before_id, e->reservation->order_id, sizeof(a->before_id));
	}
}

/* ---- the rows of the tables */

struct rows_reader {
	struct events_audit *a;
	bool                 is_movement;
	struct audited       row; /* so far: its lines come one after the other */
	void (*each)(struct events_audit *a, bool is_movement, const struct audited *row);
};

static void row_end(struct rows_reader *in)
{
	if (in->row.there)
		in->each(in->a, in->is_movement, &in->row);
	in->row.there = false;
}

static void row_read(void *arg, const struct db_row *row)
{
	struct rows_reader *in = arg;

	if (!in->row.there || strcmp(in->row.id, db_word(row, 0)) != 0) {
		row_end(in);
		in->row = (struct audited){.state = (int)db_int(row, 1),
		                           .changed = db_int(row, 2),
		                           .created_us = db_int(row, 3),
		                           .number_us = (db_int(row, 4) >> 19) * 250,
		                           .expires_at = in->is_movement ? 0 : time_parse(row->col[8]),
		                           .link = in->is_movement ? 0 : (uint64_t)db_int(row, 9),
		                           .there = true};
		db_copy(row, 0, in->row.id, sizeof(in->row.id));
		if (in->row.created_us > INT64_MAX - SECOND_US) {
			db_other(row);
			in->row.created_us = 0;
		}
	}
	in->row.lines += line_sum((uint64_t)db_int(row, 5), (uint64_t)db_int(row, 6), db_int(row, 7));
}

static void subject_doubt(struct events_audit *a, struct subject *s)
{
	a->doubts += !s->doubt;
	s->doubt = true;
}

/* Compares a row with its subject, unless the row was changed after the walk over the log. */
static void row_compare(struct events_audit *a, bool is_movement, const struct audited *row)
{
	struct subject *s = subject(a, row->id, is_movement, false);
	int64_t         at = is_movement ? row->created_us + SECOND_US : row->changed;
	uint64_t        hash = id_hash(row->id, is_movement);

	if (s)
		s->seen = true;
	if (hash < a->low || hash > a->high || at >= a->walk->passed || (s && s->why))
		return;
	if (!differs(a, is_movement, s, row))
		return;
	s = subject(a, row->id, is_movement, true);
	if (s) {
		s->seen = true;
		subject_doubt(a, s);
	}
}

struct page {
	int64_t last, keys;
};

/* Walks the rows after `low` in ranges of keys. */
static enum db_result rows_walk(struct events_audit *a, bool is_movement, int64_t low)
{
	enum statement     find = is_movement ? AUDIT_PAGE_MOVEMENT : AUDIT_PAGE_RESERVATION;
	enum statement     read = is_movement ? AUDITED_MOVEMENTS : AUDITED_RESERVATIONS;
	struct rows_reader in = {.a = a, .is_movement = is_movement, .each = row_compare};
	struct page        page = {.keys = KEYS};
	enum db_result     result = DB_OK;

	for (; result == DB_OK && page.keys == KEYS; low = page.last) {
		result = db_ask(a->db, find, &(struct fill){.after_id = low, .limit = KEYS}, db_ints, &page);
		if (result == DB_OK && page.keys > 0)
			result = db_ask(a->db, read,
			                &(struct fill){.after_id = low,
			                               .until_id = page.last,
			                               .stamp_min = a->log.since + (a->log.since < INT64_MAX)},
			                row_read, &in);
		if (result == DB_OK)
			row_end(&in);
	}
	return result;
}

/* ---- another look at what differs */

static void doubt_judge(struct events_audit *a, struct subject *s)
{
	const char *why;

	if (s->judged || !s->doubt)
		return;
	s->judged = true;
	if (s->why) /* the log alone shows the fault */
		return;
	why = differs(a, s->is_movement, s, s->row);
	if (!why) {
		s->doubt = false;
		assert(a->doubts > 0);
		a->doubts--;
	} else if (++s->differs == LOOKS_DIFFER) {
		s->why = why;
	}
}

static void row_keep(struct events_audit *a, bool is_movement, const struct audited *row)
{
	struct subject *s = subject(a, row->id, is_movement, false);

	if (s && s->doubt)
		*s->row = *row;
}

/* Reads the rows of the subjects in doubt, one of the two kinds. */
static enum db_result doubts_read(struct events_audit *a, bool is_movement)
{
	struct rows_reader in = {.a = a, .is_movement = is_movement, .each = row_keep};
	struct values      ids = {0};
	enum db_result     result = DB_OK;

	for (size_t i = 0; i <= a->size && result == DB_OK; i++) {
		struct subject *s = i < a->size ? &a->table[i] : NULL;

		if (s && s->hash && s->doubt && s->is_movement == is_movement) {
			s->row = s->row ? s->row : mem_alloc(sizeof(*s->row));
			*s->row = (struct audited){0};
			s->judged = false;
			values_row(&ids, V_TEXT(s->id));
		}
		if (ids.rows == 0 || (s && ids.rows < NAMED))
			continue;
		result = db_ask(a->db, is_movement ? AUDITED_MOVEMENTS_NAMED : AUDITED_RESERVATIONS_NAMED,
		                &(struct fill){.rows = &ids}, row_read, &in);
		if (result == DB_OK)
			row_end(&in);
		values_reset(&ids);
	}
	values_fini(&ids);
	return result;
}

/* True: the walk has passed every event up to the row's last change. */
static bool is_passed(const struct subject *s, int64_t passed)
{
	if (passed == INT64_MAX || !s->row->there)
		return passed > 0;
	return (s->is_movement ? s->row->created_us + SECOND_US : s->row->changed) < passed;
}

static enum db_result doubts_settle(struct events_audit *a)
{
	enum db_result result = DB_OK;

	a->looks_again = true;
	for (int look = 0; look < LOOKS && a->doubts > 0 && result == DB_OK; look++) {
		bool open = false;

		result = doubts_read(a, false);
		if (result == DB_OK)
			result = doubts_read(a, true);
		if (result == DB_OK)
			result = event_walk(a->walk);
		if (result != DB_OK || a->walk->overtaken)
			break;
		for (size_t i = 0; i < a->size; i++) {
			struct subject *s = &a->table[i];

			if (s->doubt && !s->judged && is_passed(s, a->walk->passed))
				doubt_judge(a, s);
			open |= s->doubt && !s->why;
		}
		if (!open)
			break;
		if (look >= LOOKS_DIFFER - 1)
			usleep(LOOK_PAUSE_US);
	}
	return result;
}

/* ---- passes */

/* Puts subjects without a row in doubt: live reservations and movements. */
static void rest_doubt(struct events_audit *a)
{
	for (size_t i = 0; i < a->size; i++) {
		struct subject *s = &a->table[i];

		if (s->hash && !s->seen && !s->why && (s->is_movement || is_live(s->state)))
			subject_doubt(a, s);
	}
}

static void findings_report(struct events_audit *a)
{
	for (size_t i = 0; i < a->size; i++)
		if (a->table[i].why)
			report(a, a->table[i].is_movement ? "movement_id" : "order_id", a->table[i].id,
			       a->table[i].why);
}

static enum db_result pass_run(struct events_audit *a)
{
	int64_t        since_tick;
	enum db_result result;

	table_clear(a);
	a->looks_again = false;
	event_walk_free(a->walk);
	a->walk = event_walk_new(a->db, row_fold, a);
	result = event_walk(a->walk);
	/* A movement gets its number before its transaction, from the clock of its process: begin a minute earlier. */
	since_tick = a->log.since > 60 * SECOND_US ? (a->log.since - 60 * SECOND_US) / 250 : 0;
	if (since_tick > INT64_MAX >> 19) /* a clock that is ages ahead */
		since_tick = INT64_MAX >> 19;
	if (result == DB_OK && !a->walk->overtaken)
		result = rows_walk(a, false, 0);
	if (result == DB_OK && !a->walk->overtaken)
		result = rows_walk(a, true, since_tick > 0 ? since_tick << 19 : 0);
	rest_doubt(a);
	if (result == DB_OK && !a->walk->overtaken)
		result = doubts_settle(a);
	return result;
}

/* Audits one range of hashes. *over: the log was switched off or on meanwhile, or events are removed too fast, so there
 * are no findings. */
static enum db_result range_run(struct events_audit *a, bool *over)
{
	struct event_log log;
	enum db_result   result = DB_OK;

	*over = false;
	for (int try = 0; try < TRIES && result == DB_OK; try++) {
		result = event_log_read(a->db, &a->log);
		if (result == DB_OK && a->log.on)
			result = pass_run(a);
		if (result == DB_OK)
			result = event_log_read(a->db, &log);
		if (result != DB_OK)
			return result;
		*over = !a->log.on || !log.on || log.era != a->log.era;
		if (!*over && !a->walk->overtaken)
			findings_report(a);
		if (*over || !a->walk->overtaken)
			return DB_OK;
	}
	*over = true;
	log_event(LOG_WARN, "events_not_audited", "why=\"they are removed faster than they are read\"");
	return result;
}

enum db_result audit_events(struct db *db, size_t subjects_max, void (*found)(void *arg, const struct event_finding *f),
                            void *arg)
{
	struct events_audit a = {.db = db, .subjects_max = subjects_max, .found = found, .arg = arg};
	enum db_result      result = DB_OK;
	bool                over = false;

	table_make(&a, 1024);
	for (bool more = true; more && !over && result == DB_OK; a.low = a.high + 1) {
		a.high = UINT64_MAX;
		result = range_run(&a, &over);
		more = a.high != UINT64_MAX;
	}
	event_walk_free(a.walk);
	table_clear(&a);
	free(a.table);
	return result;
}
