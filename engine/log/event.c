/* event.c - see event.h. */
#include "engine/log/event.h"
#include "engine/log/event_form.h"
#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/base/memory.h"

/* ---- writing */

static void put(struct text *to, uint64_t n)
{
	char  *at = text_room(to, 10);
	size_t len = 0;

	for (; n >= 0x80; n >>= 7)
		at[len++] = (char)(n | 0x80);
	at[len++] = (char)n;
	at[len] = 0;
	to->len += len;
}

static void put_signed(struct text *to, int64_t n)
{
	put(to, ((uint64_t)n << 1) ^ (uint64_t)(n >> 63));
}

static void put_string(struct text *to, const char *s)
{
	size_t len = strlen(s);

	put(to, len);
	text_bytes(to, s, len);
}

static void put_string_if(struct text *to, const char *s)
{
	if (s)
		put_string(to, s);
}

/* An odd number counts from the row's time. A time before 1970, which a row has by damage alone, is told as 1973, one
 * behind the year 9999 as its last. */
static void put_time(struct text *to, int64_t ms)
{
	ms = ms < 0 ? EVENT_TIME_MAX : ms > TIME_LAST ? TIME_LAST : ms;
	put(to, (uint64_t)ms << 1 | (ms < EVENT_TIME_MAX));
}

static void put_time_if(struct text *to, int64_t ms)
{
	if (ms != TIME_NONE)
		put_time(to, ms);
}

static void put_head(struct text *to, const struct event_head *head)
{
	to->count++;
	if (to->len == 0)
		put(to, VERSION);
	put(to, head->type);
	put(to, head->by);
	if (head->task_id) {
		put(to, TASK_CAUSE);
		put(to, head->task_id);
	} else if (head->cause && *head->cause) {
		put(to, strlen(head->cause) + 1);
		text_add(to, head->cause);
	} else {
		put(to, NO_CAUSE);
	}
}

/* The units that lines have. GRANTED leaves lines of 0 out; MOVED tells them: a count that found what was expected. */
enum units { ASKED, GRANTED, MOVED };

/* `told` of the lines are to be told, as many of them as a record keeps. */
static void put_lines(struct text *to, const struct line *lines, size_t count, size_t told, enum units units)
{
	told = told > EVENT_LINES_MAX ? EVENT_LINES_MAX : told;
	put(to, told);
	for (size_t i = 0; i < count && told > 0; i++) {
		if (units == GRANTED && lines[i].granted == 0)
			continue;
		put(to, sku_id(lines[i].sku));
		put(to, lines[i].location->location_id);
		put_signed(to, units == ASKED ? lines[i].qty : lines[i].granted);
		told--;
	}
}

static void put_reservation(struct text *to, const struct event_head *head, const struct reservation *r,
                            const struct line *lines, size_t count, bool granted, bool cut)
{
	size_t   told = 0;
	unsigned state = r->state < 1 << STATE_BITS ? r->state : 0; /* unknown: more would be bits of members */
	bool     on_hold = r->hold_until > 0 && reservation_is_live(r->state);

	for (size_t i = 0; i < count; i++)
		told += !granted || lines[i].granted > 0;
	put_head(to, head);
	put_string(to, r->order_id);
	put(to, state | (r->key_id ? R_KEY : 0) | (r->attempts ? R_ATTEMPTS : 0) |
	                (r->confirmed_at != TIME_NONE ? R_CONFIRMED : 0) |
	                (r->released_at != TIME_NONE ? R_RELEASED : 0) | (r->settled_at != TIME_NONE ? R_SETTLED : 0) |
	                (r->last_error ? R_ERROR : 0) | (r->reference ? R_REFERENCE : 0) |
	                (r->replaced_by ? R_REPLACED : 0) | (cut || told > EVENT_LINES_MAX ? R_CUT : 0) |
	                (r->customer ? R_CUSTOMER : 0) | (r->ship_after > 0 ? R_SHIP_AFTER : 0) |
	                (r->waits_since > 0 ? R_WAITS_SINCE : 0) | (on_hold ? R_ON_HOLD : 0) |
	                (on_hold && r->hold_reason ? R_HOLD_REASON : 0) | (r->last_event ? R_PREVIOUS : 0));
	put_time(to, r->created_at);
	put_time(to, r->expires_at);
	if (r->key_id)
		put(to, r->key_id);
	if (r->attempts)
		put(to, r->attempts);
	put_time_if(to, r->confirmed_at);
	put_time_if(to, r->released_at);
	put_time_if(to, r->settled_at);
	put_string_if(to, r->last_error);
	put_string_if(to, r->reference);
	put_string_if(to, r->replaced_by);
	put_string_if(to, r->customer);
	if (r->ship_after > 0)
		put_time(to, r->ship_after);
	if (r->waits_since > 0)
		put_time(to, r->waits_since);
	if (on_hold) {
		put_time(to, r->hold_until);
		put_string_if(to, r->hold_reason);
	}
	if (r->last_event)
		put(to, r->last_event);
	put_lines(to, lines, count, told, granted ? GRANTED : ASKED);
}

void event_reservation(struct text *to, const struct event_head *head, const struct reservation *r,
                       const struct line *lines, size_t count, bool granted)
{
	put_reservation(to, head, r, lines, count, granted, false);
}

void event_changed(struct text *to, const struct event_head *head, const struct reservation *r,
                   const struct line *lines, size_t count, const struct line *before, size_t before_count)
{
	put_reservation(to, head, r, lines, count, true, before_count > EVENT_LINES_MAX);
	put_lines(to, before, before_count, before_count, ASKED);
}

void event_entered(struct text *to, const struct event_head *head, const struct reservation *r,
                   enum reservation_state state)
{
	struct reservation now = *r;

	now.state = state;
	if (state == SETTLED)
		now.settled_at = 0;
	else if (state != BURIED)
		now.attempts = 0;
	event_reservation(to, head, &now, r->lines, r->lines_count, false);
}

static void put_transfers(struct text *to, const struct transfer *list, size_t count)
{
	if (count == 0)
		return;
	count = count > EVENT_LINES_MAX ? EVENT_LINES_MAX : count;
	put(to, count);
	for (size_t i = 0; i < count; i++) {
		put(to, sku_id(list[i].sku));
		put(to, list[i].from->location_id);
		put(to, list[i].to->location_id);
		put_signed(to, list[i].qty);
	}
}

void event_movement(struct text *to, const struct event_head *head, const struct movement *m, uint32_t made_by,
                    const struct line *lines, size_t count)
{
	put_head(to, head);
	put_string(to, m->movement_id);
	put(to, m->kind);
	put(to, (made_by ? M_KEY : 0) | (m->reason ? M_REASON : 0) | (m->reference ? M_REFERENCE : 0) |
	                (count > EVENT_LINES_MAX || m->transfers_count > EVENT_LINES_MAX ? M_CUT : 0) |
	                (m->order_id ? M_ORDER : 0) | (m->transfers_count ? M_TRANSFERS : 0));
	put_time(to, m->created_at);
	if (made_by)
		put(to, made_by);
	put_string_if(to, m->reason);
	put_string_if(to, m->reference);
	put_string_if(to, m->order_id);
	put_transfers(to, m->transfers, m->transfers_count);
	put_lines(to, lines, count, count, MOVED);
}

void event_level(struct text *to, enum event_type type, uint32_t sku_id, uint32_t location_id, int64_t available,
                 int64_t low)
{
	put_head(to, &(struct event_head){.type = type});
	put(to, sku_id);
	put(to, location_id);
	put_signed(to, available);
	put_signed(to, low);
}

void event_stock(struct text *to, const struct event_units *list, size_t count)
{
	put_head(to, &(struct event_head){.type = EVENT_STOCK});
	put(to, count);
	for (size_t i = 0; i < count; i++) {
		put(to, list[i].sku_id);
		put_signed(to, list[i].available);
		put_signed(to, list[i].reserved);
		put_signed(to, list[i].on_hand);
	}
}

void event_sale(struct text *to, const struct event_head *head, uint32_t id, bool for_sale, const char *reason)
{
	put_head(to, head);
	put(to, id);
	put(to, (for_sale ? S_FOR_SALE : 0) | (reason ? S_REASON : 0));
	put_string_if(to, reason);
}

/* ---- reading */

struct in {
	struct catalogue    *catalogue;
	const unsigned char *at, *end;
	int64_t              row_at;
	bool                 wrong;
	struct values       *skus, *locations;
	bool                 light; /* codes and texts are passed over */
	/* ---- of the record that was read last */
	bool        caused;
	const char *id;
	size_t      id_len;
	uint32_t    number; /* in a light reading: of the sku or location of a SALE */
};

static uint64_t get(struct in *in)
{
	uint64_t n = 0;

	for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7) {
		n |= (uint64_t)(*in->at & 0x7f) << shift;
		if (*in->at++ < 0x80)
			return n;
	}
	in->wrong = true;
	return 0;
}

/* A number of 32 bits. */
static uint32_t get_small(struct in *in)
{
	uint64_t n = get(in);

	in->wrong |= n > UINT32_MAX;
	return in->wrong ? 0 : (uint32_t)n;
}

static int64_t get_signed(struct in *in)
{
	uint64_t n = get(in);

	return (int64_t)(n >> 1) ^ -(int64_t)(n & 1);
}

/* The next `len` bytes, of `max` at most; "" where they are not there. */
static const char *get_bytes(struct in *in, uint64_t len, size_t max)
{
	const char *bytes = (const char *)in->at;

	if (len > max || len > (uint64_t)(in->end - in->at)) {
		in->wrong = true;
		return "";
	}
	in->at += len;
	return bytes;
}

static void get_code(struct in *in, uint64_t len, char *to, size_t size)
{
	const char *bytes = get_bytes(in, len, size - 1);

	if (!in->wrong && !in->light)
		memcpy(to, bytes, len);
}

static void get_id(struct in *in, char *to, size_t size)
{
	in->id_len = get(in);
	in->id = (const char *)in->at;
	get_code(in, in->id_len, to, size);
}

static char *get_text(struct in *in, bool there, size_t max)
{
	uint64_t    len = there ? get(in) : 0;
	const char *bytes = get_bytes(in, len, max);

	return there && !in->wrong && !in->light ? memcpy(mem_alloc(len + 1), bytes, len) : NULL;
}

static int64_t get_time(struct in *in, bool there)
{
	uint64_t n;
	int64_t  ms;

	if (!there)
		return TIME_NONE;
	n = get(in);
	ms = (int64_t)(n >> 1);
	in->wrong |= (n & 1) != (ms < EVENT_TIME_MAX) || ms > TIME_LAST;
	return in->wrong ? 0 : ms + (n & 1 ? in->row_at : 0);
}

static const struct sku *get_sku(struct in *in)
{
	uint32_t          id = get_small(in);
	const struct sku *sku = catalogue_sku_by_id(in->catalogue, id);

	in->wrong |= id == 0;
	if (!sku && !in->wrong)
		values_row(in->skus, V_INT(id));
	return sku;
}

static const struct location *get_location(struct in *in, bool may_lack)
{
	uint32_t               id = get_small(in);
	const struct location *location = id ? catalogue_location_by_id(in->catalogue, id) : NULL;

	in->wrong |= id == 0 && !may_lack;
	if (!location && !in->wrong && id != 0)
		values_row(in->locations, V_INT(id));
	return location;
}

static void get_line(struct in *in, struct line *line)
{
	line->sku = get_sku(in);
	line->location = get_location(in, false);
	line->qty = line->granted = get_signed(in);
	line->sku_code = line->sku ? sku_code(line->sku) : "";
	line->location_code = line->location ? line->location->code : "";
}

/* A number of things that follow, each of `size` bytes at least. */
static size_t get_count(struct in *in, size_t size)
{
	uint64_t count = get(in);

	in->wrong |= count > (uint64_t)(in->end - in->at) / size;
	return in->wrong ? 0 : (size_t)count;
}

/* Reads the fields before the lines. */
static void get_reservation(struct in *in, struct reservation *r, uint32_t *made_by, bool *cut)
{
	uint64_t has;

	get_id(in, r->order_id, sizeof(r->order_id));
	has = get(in);
	r->state = (enum reservation_state)(has & ((1 << STATE_BITS) - 1));
	r->created_at = r->read_at = get_time(in, true); /* a hold reads `held`, as it did then */
	r->expires_at = get_time(in, true);
	r->key_id = *made_by = has & R_KEY ? get_small(in) : 0;
	r->attempts = has & R_ATTEMPTS ? get_small(in) : 0;
	r->confirmed_at = get_time(in, has & R_CONFIRMED);
	r->released_at = get_time(in, has & R_RELEASED);
	r->settled_at = get_time(in, has & R_SETTLED);
	r->last_error = get_text(in, has & R_ERROR, NOTE_MAX);
	r->reference = get_text(in, has & R_REFERENCE, NOTE_MAX);
	r->replaced_by = get_text(in, has & R_REPLACED, ID_MAX);
	r->customer = get_text(in, has & R_CUSTOMER, ID_MAX);
	r->ship_after = get_time(in, has & R_SHIP_AFTER);
	r->waits_since = get_time(in, has & R_WAITS_SINCE);
	r->hold_until = get_time(in, has & R_ON_HOLD);
	r->hold_reason = get_text(in, has & R_HOLD_REASON, NOTE_MAX);
	r->last_event = has & R_PREVIOUS ? get(in) : 0;
	*cut = has & R_CUT;
}

static void get_transfers(struct in *in, struct movement *m)
{
	size_t count = get_count(in, 4);

	if (!in->light)
		m->transfers = mem_alloc((count + 1) * sizeof(*m->transfers));
	for (size_t i = 0; i < count && !in->wrong; i++) {
		struct transfer t = {0};

		for (int k = 0; in->light && k < 4; k++)
			get(in);
		if (in->light)
			continue;
		t.sku = get_sku(in);
		t.from = get_location(in, false);
		t.to = get_location(in, false);
		t.qty = get_signed(in);
		t.sku_code = t.sku ? sku_code(t.sku) : "";
		t.from_code = t.from ? t.from->code : "";
		t.to_code = t.to ? t.to->code : "";
		m->transfers[m->transfers_count++] = t;
	}
}

static void get_movement(struct in *in, struct movement *m, uint32_t *made_by, bool *cut)
{
	uint64_t has;

	get_id(in, m->movement_id, sizeof(m->movement_id));
	m->kind = (enum movement_kind)get_small(in);
	has = get(in);
	m->created_at = get_time(in, true);
	*made_by = has & M_KEY ? get_small(in) : 0;
	m->reason = get_text(in, has & M_REASON, NOTE_MAX);
	m->reference = get_text(in, has & M_REFERENCE, NOTE_MAX);
	m->order_id = get_text(in, has & M_ORDER, ID_MAX);
	if (has & M_TRANSFERS)
		get_transfers(in, m);
	*cut = has & M_CUT;
}

/* In a light reading it is passed over. */
static void get_sale(struct in *in, struct feed_event *e)
{
	uint64_t has;

	if (in->light)
		in->number = get_small(in);
	else if (e->type == EVENT_SKU_SALE)
		e->sale.sku = get_sku(in);
	else
		e->sale.location = get_location(in, false);
	has = get(in);
	e->sale.for_sale = has & S_FOR_SALE;
	e->sale.reason = get_text(in, has & S_REASON, NOTE_MAX);
}

/* A copy of the subject's `size` bytes, and behind them the lines that follow. */
static void *get_lines(struct in *in, const void *subject, size_t size, size_t *count)
{
	char        *whole;
	struct line *lines;

	*count = get_count(in, 3);
	whole = memcpy(mem_alloc(size + *count * sizeof(*lines)), subject, size);
	lines = (struct line *)(void *)(whole + size);
	for (size_t i = 0; i < *count; i++)
		get_line(in, &lines[i]);
	return whole;
}

static void get_units(struct in *in, struct feed_event *e)
{
	size_t count = get_count(in, 4);

	e->units = mem_alloc((count + 1) * sizeof(*e->units));
	for (; e->units_count < count; e->units_count++) {
		struct event_unit *unit = &e->units[e->units_count];

		unit->sku = get_sku(in);
		unit->available = get_signed(in);
		unit->reserved = get_signed(in);
		unit->on_hand = get_signed(in);
	}
}

/* A subject without its lines. */
union subject {
	struct reservation reservation;
	struct movement    movement;
};

/* Reads a record from behind its type up to its lines, its level or its units. */
static void get_head(struct in *in, struct feed_event *e, union subject *subject)
{
	enum event_about about = event_trait(e->type)->about;
	uint64_t         cause;

	e->by_key = get_small(in);
	cause = get(in);
	in->caused = cause != NO_CAUSE;
	if (cause == TASK_CAUSE)
		e->task_id = get(in);
	else if (in->caused)
		get_code(in, cause - 1, e->cause, sizeof(e->cause));
	if (about == RESERVATION)
		get_reservation(in, &subject->reservation, &e->made_by, &e->cut);
	else if (about == MOVEMENT)
		get_movement(in, &subject->movement, &e->made_by, &e->cut);
	in->wrong |= about == NOTHING;
}

static void get_before(struct in *in, struct feed_event *e)
{
	e->before_count = get_count(in, 3);
	e->before = mem_alloc((e->before_count + 1) * sizeof(*e->before));
	for (size_t i = 0; i < e->before_count; i++)
		get_line(in, &e->before[i]);
}

/* Reads the rest of the record. */
static void get_subject(struct in *in, struct feed_event *e, const union subject *subject)
{
	size_t count;

	switch (event_trait(e->type)->about) {
	case RESERVATION:
		e->reservation = get_lines(in, subject, sizeof(subject->reservation), &count);
		e->reservation->lines_count = count;
		if (event_trait(e->type)->moves == SWAPS)
			get_before(in, e);
		break;
	case MOVEMENT:
		e->movement = get_lines(in, subject, sizeof(subject->movement), &count);
		e->movement->lines_count = count;
		break;
	case LEVEL:
		e->level.sku = get_sku(in);
		e->level.location = get_location(in, true);
		e->level.available = get_signed(in);
		e->level.low = get_signed(in);
		break;
	case STOCK:
		get_units(in, e);
		break;
	case SALE:
		get_sale(in, e);
		break;
	case NOTHING:
		break;
	}
}

/* Passes over the rest of the record: lines, each of three numbers, a level or units, each of four, or a sale. */
static void skip_subject(struct in *in, struct feed_event *e)
{
	const struct event_trait *is = event_trait(e->type);
	uint64_t                  numbers = is->about == RESERVATION || is->about == MOVEMENT ? 3 : 4;

	if (is->about == SALE) {
		get_sale(in, e);
		return;
	}
	for (int lists = is->moves == SWAPS ? 2 : 1; lists > 0; lists--)
		for (uint64_t left = numbers * (is->about == LEVEL ? 1 : get_count(in, numbers));
		     left > 0 && !in->wrong; left--)
			get(in);
}

void feed_event_free(struct feed_event *e)
{
	if (!e)
		return;
	reservation_free(e->reservation);
	movement_free(e->movement);
	free(e->before);
	free(e->units);
	free(e->sale.reason);
	free(e->by);
	free(e->made_by_name);
	free(e);
}

/* ---- what is looked at for its lines alone */

/* Tells of a list of lines; the last one of a record tells that lines were left out. */
static void list_touch(struct in *in, const struct feed_event *e, enum moves moves, bool last,
                       void (*each)(void *arg, const struct event_touch *t), void *arg)
{
	const struct event_touch whole = {.type = e->type, .id = in->id, .id_len = in->id_len};

	for (size_t count = get_count(in, 3); count > 0 && !in->wrong; count--) {
		struct event_touch t = whole;
		int64_t            qty;

		t.sku_id = get_small(in);
		t.location_id = get_small(in);
		qty = get_signed(in);
		qty = qty < -INT64_MAX ? -INT64_MAX : qty; /* damaged */
		t.taken = moves == TAKES ? qty : moves == GIVES ? -qty : 0;
		in->wrong |= t.sku_id == 0 || t.location_id == 0;
		if (moves != NO_MOVE && qty != 0 && !in->wrong)
			each(arg, &t);
	}
	if (last && e->cut && moves != NO_MOVE && !in->wrong)
		each(arg, &whole);
}

static void lines_touch(struct in *in, const struct feed_event *e, enum moves moves,
                        void (*each)(void *arg, const struct event_touch *t), void *arg)
{
	if (moves == SWAPS)
		list_touch(in, e, TAKES, false, each, arg);
	list_touch(in, e, moves == SWAPS ? GIVES : moves, true, each, arg);
}

static struct in row_begin(const struct event_row *row)
{
	struct in in = {.at = row->changes, .end = (const unsigned char *)row->changes + row->len, .row_at = row->at};

	in.wrong = get(&in) != VERSION;
	return in;
}

/* Looks ahead: is the record behind its type of this order (NULL: any)? */
static bool is_of_order(const struct in *in, enum event_type type, const char *order_id)
{
	struct in         ahead = *in;
	struct feed_event e = {.type = type};
	union subject     subject = {0};

	if (!order_id)
		return true;
	if (event_trait(type)->about != RESERVATION)
		return false;
	ahead.light = true;
	get_head(&ahead, &e, &subject);
	return !ahead.wrong && ahead.id_len == strlen(order_id) && memcmp(ahead.id, order_id, ahead.id_len) == 0;
}

bool event_decode(struct catalogue *c, const struct event_row *row, const struct event_filter *filter,
                  const char *order_id, struct feed_event ***list, size_t *count, size_t *max, struct values *skus,
                  struct values *locations)
{
	struct in         in = row_begin(row);
	struct feed_event passed = {0};
	union subject     subject;

	in.catalogue = c;
	in.skus = skus;
	in.locations = locations;
	for (uint32_t place = 0; place < RECORDS_MAX && in.at < in.end && !in.wrong; place++) {
		enum event_type    type = (enum event_type)get_small(&in);
		size_t             lacks = skus->rows + locations->rows;
		struct feed_event *e;

		in.light = (filter && !event_is_wanted(filter, type)) || !is_of_order(&in, type, order_id);
		if (in.light) {
			passed.type = type;
			get_head(&in, &passed, &subject);
			skip_subject(&in, &passed);
			continue;
		}
		e = mem_alloc(sizeof(*e));
		e->type = type;
		e->writer_id = row->writer_id;
		e->event_no = row->event_no;
		e->stamp = row->stamp;
		e->at = row->at;
		e->place = place;
		subject = (union subject){0};
		get_head(&in, e, &subject);
		get_subject(&in, e, &subject);
		if (e->reservation)
			e->reservation->version = row->stamp;
		if (in.wrong) {
			feed_event_free(e);
			break;
		}
		e->nameless = skus->rows + locations->rows > lacks;
		*list = mem_reach(*list, *count, max, sizeof(**list));
		(*list)[(*count)++] = e;
	}
	return !in.wrong && in.at == in.end;
}

bool event_touches(const struct event_row *row, void (*each)(void *arg, const struct event_touch *t), void *arg)
{
	struct in         in = row_begin(row);
	struct feed_event e = {0};
	union subject     subject;

	in.light = true;
	while (in.at < in.end && !in.wrong) {
		const struct event_trait *is;

		e.type = (enum event_type)get_small(&in);
		is = event_trait(e.type);
		get_head(&in, &e, &subject);
		if (is->about == RESERVATION || is->about == MOVEMENT)
			lines_touch(&in, &e, event_moves(is, in.caused), each, arg);
		else
			skip_subject(&in, &e);
		if (e.type == EVENT_SKU_SALE && !in.wrong)
			each(arg, &(struct event_touch){.type = e.type, .sku_id = in.number});
	}
	return !in.wrong;
}
