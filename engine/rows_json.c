/* rows_json.c - see rows_json.h. */
#include "engine/rows_json.h"
#include "engine/base/clock.h"

void line_json(struct json_writer *w, const struct line *line, int64_t qty)
{
	json_open_object(w, NULL);
	json_put_string(w, "sku", line->sku_code);
	json_put_string(w, "location", line->location_code);
	json_put_int(w, "qty", qty);
	json_close_object(w);
}

void lines_json(struct json_writer *w, const struct line *lines, size_t count)
{
	json_open_array(w, "lines");
	for (size_t i = 0; i < count; i++)
		line_json(w, &lines[i], lines[i].qty);
	json_close_array(w);
}

/* A line that waits says so, and when its units are expected, while the promise of them lives. */
static void promised_json(struct json_writer *w, const struct line *line, bool lives)
{
	json_open_object(w, NULL);
	json_put_string(w, "sku", line->sku_code);
	json_put_string(w, "location", line->location_code);
	json_put_int(w, "qty", line->qty);
	if (lives && line->location && line_waits(line)) {
		json_put_bool(w, "waiting", true);
		if (line->location->expected_at > 0)
			json_put_time(w, "expected_at", line->location->expected_at);
	}
	json_close_object(w);
}

static void reservation_lines_json(struct json_writer *w, const struct reservation *r, size_t count, bool lives)
{
	bool waits = false;

	json_open_array(w, "lines");
	for (size_t i = 0; i < count; i++) {
		promised_json(w, &r->lines[i], lives);
		waits |= r->lines[i].location && line_waits(&r->lines[i]);
	}
	json_close_array(w);
	if (lives && waits && r->waits_since > 0)
		json_put_time(w, "waits_since", r->waits_since);
}

/* Writes the units that came back, by sku. */
static void returned_json(struct json_writer *w, const struct line *lines, size_t count)
{
	json_open_array(w, "returned");
	for (size_t i = 0; i < count; i++) {
		if (lines[i].returned == 0)
			continue;
		json_open_object(w, NULL);
		json_put_string(w, "sku", lines[i].sku_code);
		json_put_int(w, "qty", lines[i].returned);
		json_close_object(w);
	}
	json_close_array(w);
}

static void put_time_if(struct json_writer *w, const char *key, int64_t ms)
{
	if (ms != TIME_NONE)
		json_put_time(w, key, ms);
}

static void put_string_if(struct json_writer *w, const char *key, const char *s)
{
	if (s)
		json_put_string(w, key, s);
}

static void on_hold_json(struct json_writer *w, const struct reservation *r)
{
	json_open_object(w, "on_hold");
	if (hold_has_end(r->hold_until))
		json_put_time(w, "until", r->hold_until);
	else
		json_put_null(w, "until");
	put_string_if(w, "reason", r->hold_reason);
	json_close_object(w);
}

void reservation_json_part(struct json_writer *w, const struct reservation *r, const char *by, size_t lines)
{
	json_put_string(w, "order_id", r->order_id);
	json_put_string(w, "state", reservation_state_name(reservation_reads(r)));
	reservation_lines_json(w, r, lines, reservation_is_live(reservation_reads(r)));
	json_put_time(w, "created_at", r->created_at);
	json_put_time(w, "expires_at", r->expires_at);
	json_put_int(w, "attempts", r->attempts);
	json_put_int(w, "version", r->version ? r->version : r->changed);
	put_time_if(w, "confirmed_at", r->confirmed_at);
	put_time_if(w, "released_at", r->released_at);
	put_time_if(w, "settled_at", r->settled_at);
	if (r->noted & NOTED_RETURNS)
		returned_json(w, r->lines, lines);
	put_string_if(w, "last_error", r->last_error);
	put_string_if(w, "reference", r->reference);
	put_string_if(w, "replaced_by", r->replaced_by);
	put_string_if(w, "customer", r->customer);
	if (r->ship_after > 0)
		json_put_time(w, "ship_after", r->ship_after);
	if (reservation_on_hold(r) && reservation_is_live(reservation_reads(r)))
		on_hold_json(w, r);
	put_string_if(w, "by", by);
}

void reservation_json(struct json_writer *w, const struct reservation *r)
{
	reservation_json_part(w, r, r->by, r->lines_count);
}

void transfer_json(struct json_writer *w, enum movement_kind kind, const struct transfer *t)
{
	json_open_object(w, NULL);
	json_put_string(w, "sku", t->sku_code);
	json_put_string(w, "from", t->from_code);
	json_put_string(w, "to", t->to_code);
	json_put_int(w, "qty", t->qty);
	if (movement_is(kind, BOOKS)) {
		json_put_int(w, "filled", t->filled);
		json_put_int(w, "for_sale", t->for_sale);
		json_put_int(w, "waiting", t->qty - t->filled - t->for_sale);
	}
	json_close_object(w);
}

void movement_json_part(struct json_writer *w, const struct movement *m, const char *by, size_t lines)
{
	json_put_string(w, "movement_id", m->movement_id);
	json_put_string(w, "kind", movement_kind_name(m->kind));
	json_put_time(w, "created_at", m->created_at);
	put_string_if(w, "reason", m->reason);
	put_string_if(w, "reference", m->reference);
	put_string_if(w, "order_id", m->order_id);
	put_string_if(w, "by", by);
	json_open_array(w, "lines");
	for (size_t i = 0; i < lines; i++)
		if (m->transfers)
			transfer_json(w, m->kind, &m->transfers[i]);
		else
			line_json(w, &m->lines[i], m->lines[i].granted);
	json_close_array(w);
}

void movement_json(struct json_writer *w, const struct movement *m)
{
	movement_json_part(w, m, m->by, m->transfers ? m->transfers_count : m->lines_count);
	if (m->backorders_count == 0)
		return;
	json_open_array(w, "backordered");
	for (size_t i = 0; i < m->backorders_count; i++) {
		json_open_object(w, NULL);
		json_put_string(w, "order_id", m->backorders[i].order_id);
		json_put_string(w, "sku", m->backorders[i].sku_code);
		json_put_int(w, "qty", m->backorders[i].qty);
		json_close_object(w);
	}
	json_close_array(w);
}
