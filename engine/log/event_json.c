/* event_json.c - see event_json.h. */
#include "engine/log/event_json.h"
#include "engine/rows_json.h"

void event_id(char to[EVENT_ID_SIZE], const struct feed_event *e)
{
	to = decimal_write(to, (unsigned)e->writer_id);
	*to++ = '-';
	to = hex_write(to, (uint64_t)e->stamp);
	*to++ = '-';
	decimal_write(to, (unsigned)e->place);
}

/* The lines that it tells: of a transfer both ends of each; of a change those before stand behind the others. */
static size_t lines_of(const struct feed_event *e)
{
	if (e->reservation)
		return e->reservation->lines_count + e->before_count;
	if (!e->movement)
		return 0;
	return e->movement->transfers ? e->movement->transfers_count : e->movement->lines_count;
}

static void line_write(struct json_writer *w, const struct feed_event *e, size_t i)
{
	const struct reservation *r = e->reservation;

	if (r)
		promised_json(w, i < r->lines_count ? &r->lines[i] : &e->before[i - r->lines_count],
		              reservation_is_live(r->state));
	else if (e->movement->transfers)
		transfer_json(w, e->movement->kind, &e->movement->transfers[i]);
	else
		line_json(w, &e->movement->lines[i], e->movement->lines[i].granted);
}

static void level_write(struct json_writer *w, const struct event_level *level)
{
	json_put_string(w, "sku", sku_code(level->sku));
	if (level->location)
		json_put_string(w, "location", level->location->code);
	json_put_int(w, "available", level->available);
	if (level->low >= 0)
		json_put_int(w, "low", level->low);
}

static void units_write(struct json_writer *w, const struct event_unit *units, size_t count)
{
	json_open_array(w, "items");
	for (size_t i = 0; i < count; i++) {
		json_open_object(w, NULL);
		json_put_string(w, "sku", sku_code(units[i].sku));
		json_put_int(w, "available", units[i].available);
		json_put_int(w, "reserved", units[i].reserved);
		json_put_int(w, "on_hand", units[i].on_hand);
		json_close_object(w);
	}
	json_close_array(w);
}

static void sale_write(struct json_writer *w, const struct event_sale *sale)
{
	if (sale->sku)
		json_put_string(w, "sku", sku_code(sale->sku));
	else
		json_put_string(w, "location", sale->location->code);
	json_put_bool(w, "for_sale", sale->for_sale);
	if (sale->reason)
		json_put_string(w, "reason", sale->reason);
}

/* A change tells its lines before. */
static void reservation_write(struct json_writer *w, const struct feed_event *e, size_t lines)
{
	size_t count = e->reservation->lines_count;

	reservation_json_part(w, e->reservation, e->made_by_name, lines < count ? lines : count);
	if (!e->before)
		return;
	json_open_array(w, "lines_before");
	for (size_t i = count; i < lines; i++)
		line_write(w, e, i);
	json_close_array(w);
}

static void subject_write(struct json_writer *w, const struct feed_event *e, size_t lines)
{
	if (e->reservation)
		reservation_write(w, e, lines);
	else if (e->movement)
		movement_json_part(w, e->movement, e->made_by_name, lines);
	else if (e->level.sku)
		level_write(w, &e->level);
	else if (e->sale.sku || e->sale.location)
		sale_write(w, &e->sale);
	else
		units_write(w, e->units, e->units_count);
}

/* The event with its first `lines` lines, of `count`. */
static void event_write(struct text *to, const struct feed_event *e, size_t lines, size_t count)
{
	struct json_writer w = {.to = to};
	char               id[EVENT_ID_SIZE];

	event_id(id, e);
	json_open_object(&w, NULL);
	json_put_string(&w, "id", id);
	json_put_string(&w, "type", event_trait(e->type)->word);
	json_put_time(&w, "at", e->at);
	if (e->by)
		json_put_string(&w, "by", e->by);
	json_open_object(&w, "data");
	subject_write(&w, e, lines);
	if (e->task_id)
		json_put_int(&w, "cause", (int64_t)e->task_id);
	else if (*e->cause)
		json_put_string(&w, "cause", e->cause);
	if (e->cut || lines < count)
		json_put_bool(&w, "lines_cut", true);
	json_close_object(&w);
	json_close_object(&w);
}

/* The bytes of a line and its comma, measured behind the text. */
static size_t line_size(struct text *to, const struct feed_event *e, size_t i)
{
	struct json_writer w = {.to = to, .comma = true};
	size_t             begin = to->len, size;

	line_write(&w, e, i);
	size = to->len - begin;
	to->len = begin;
	return size;
}

void event_json(struct text *to, const struct feed_event *e)
{
	size_t begin = to->len, count = lines_of(e), lines = count, size;

	event_write(to, e, count, count);
	if (to->len - begin <= EVENT_SIZE_MAX || count == 0)
		return;
	size = to->len - begin + (e->cut ? 0 : strlen(",\"lines_cut\":true"));
	while (size > EVENT_SIZE_MAX && lines > 0)
		size -= line_size(to, e, --lines);
	to->len = begin;
	event_write(to, e, lines, count);
}
