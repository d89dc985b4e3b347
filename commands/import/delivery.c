/* delivery.c - see delivery.h. */
#include "commands/import/delivery.h"
#include "api/order/reservations.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/op.h"

#include <stdio.h>

enum { ORDER_ROWS_MAX = 1000 };

/* A row while it is read. */
struct reading {
	struct delivery     *delivery;
	const struct record *record;
	struct delivery_row *row;
	size_t               place;  /* of the columns of locations; NO_PLACE: the list has none */
	bool                 passes; /* the row is passed over */
	char                 wrong[CODE_RULE_SIZE + 96];
};
#define NO_PLACE SIZE_MAX

/* What stands in the column of a field, "" where the list lacks the column; a NUL stands behind it. */
static const char *field_text(const struct reading *in, enum field what, size_t *len)
{
	const struct columns *c = &in->delivery->columns;

	*len = 0;
	if (c->at[what] != NO_COLUMN)
		return record_field(in->record, (size_t)c->at[what], len);
	if (in->place == NO_PLACE || in->place >= in->record->count)
		return "";
	if (what == FIELD_counted || what == FIELD_qty)
		return record_field(in->record, in->place, len);
	if (what == FIELD_location) {
		*len = in->delivery->places[in->place - c->places].len;
		return in->delivery->places[in->place - c->places].data;
	}
	return "";
}

static bool field_given(const struct reading *in, enum field what)
{
	size_t len;

	(void)field_text(in, what, &len);
	return len > 0;
}

static bool is_of_kind(const struct reading *in, enum field what)
{
	return field_is_of(in->delivery->naming.kind, what);
}

/* ---- fields */

/* Reads the digits of a whole number, which may have a point and zeros behind it: 5.0000 is 5. Where a comma may be the
 * point, 1.000 may be a thousand: *unsure. */
static bool int_read(const char *text, size_t len, int64_t max, bool comma, int64_t *value, bool *unsure)
{
	const char *digits = text + (*text == '-');
	size_t      count = strspn(digits, "0123456789"), zeros = 0;
	const char *behind = digits + count;

	if (*behind == '.' || (comma && *behind == ',')) {
		zeros = strspn(behind + 1, "0");
		behind += zeros > 0 ? zeros + 1 : 0;
	}
	if (count == 0 || count > (size_t)snprintf(NULL, 0, "%lld", (long long)max) || behind != text + len)
		return false;
	*unsure = comma && zeros == 3 && count <= 3 && *digits != '0';
	*value = strtoll(text, NULL, 10);
	return true;
}

/* The text of a field as the shop system has it. An export has an apostrophe (WooCommerce) or a space (Magento) before
 * a sign with which a formula could begin, and an apostrophe before digits (Shopify). */
static const char *plain_text(const struct reading *in, enum field what, size_t *len)
{
	const char *text = field_text(in, what, len);
	bool        marked = *len > 1 && (*text == '\'' || *text == ' ') && strchr("=+-@", text[1]);

	if (*len > 1 && *text == '\'' && strspn(text + 1, "0123456789") == *len - 1)
		marked = true;
	if (!in->delivery->naming.from || !marked)
		return text;
	--*len;
	return text + 1;
}

/* Takes a code. An empty field gives NULL, if the first line need not name its column. */
static bool code_take(struct reading *in, enum field what, size_t max, const char **code)
{
	size_t      len;
	const char *text = plain_text(in, what, &len);

	*code = len > 0 || field_is_needed(in->delivery->naming.kind, what) ? text : NULL;
	return !*code || code_valid(text, len, max) ||
	       why_write(in->wrong, sizeof(in->wrong), "%s " CODE_RULE, field_name(what), max);
}

static bool int_take(struct reading *in, enum field what, int64_t min, int64_t max, int64_t *value)
{
	size_t      len;
	const char *text = plain_text(in, what, &len);
	int64_t     read = 0;
	bool        unsure = false;

	if (len == 0 && !field_is_needed(in->delivery->naming.kind, what))
		return true;
	if (!int_read(text, len, max, in->delivery->table.separator != ',', &read, &unsure) || read < min || read > max)
		return why_write(in->wrong, sizeof(in->wrong), "%s " INTEGER_RULE, field_name(what), (long long)min,
		                 (long long)max);
	if (unsure)
		return why_write(in->wrong, sizeof(in->wrong),
		                 "%s is one or a thousand times as much: write it in plain digits", field_name(what));
	*value = read;
	return true;
}

static bool time_take(struct reading *in, enum field what, int64_t *ms)
{
	size_t      len;
	const char *text = field_text(in, what, &len);
	int64_t     us;

	if (len == 0)
		return true;
	if (strlen(text) != len || !time_read(text, &us) || us < 1000)
		return why_write(in->wrong, sizeof(in->wrong), "%s must be a time of RFC 3339, as 2026-11-20T22:00:00Z",
		                 field_name(what));
	*ms = us / 1000;
	return true;
}

/* ---- rows */

static bool locations_take(struct reading *in)
{
	struct delivery_row *row = in->row;
	bool                 moves = is_of_kind(in, FIELD_from);

	if (!code_take(in, moves ? FIELD_from : FIELD_location, LOCATION_MAX, &row->location) ||
	    (moves && !code_take(in, FIELD_to, LOCATION_MAX, &row->to)))
		return false;
	return !moves || strcmp(row->location, row->to) != 0 ||
	       why_write(in->wrong, sizeof(in->wrong), "to must be another location than from");
}

static bool loss_take(struct reading *in)
{
	size_t      len;
	const char *text;

	if (!is_of_kind(in, FIELD_short))
		return true;
	text = field_text(in, FIELD_short, &len);
	in->row->loses = len == strlen(text) && strcmp(text, "backorder") == 0;
	if (!in->row->loses && len > 0)
		return why_write(in->wrong, sizeof(in->wrong), "short must be backorder, or empty");
	if (!in->row->loses && field_given(in, FIELD_to))
		return why_write(in->wrong, sizeof(in->wrong), "to goes with short backorder alone");
	return code_take(in, FIELD_to, LOCATION_MAX, &in->row->waits_at);
}

/* A shop system's export has goods without a number of units, and numbers below 0 where more was sold than was there.
 * Returns whether there is a number; it is 0 or more. */
static bool export_units(struct reading *in, enum field what)
{
	struct passed *passed = &in->delivery->passed;
	size_t         len;
	const char    *text = field_text(in, what, &len);

	if (len == 0 || strcasecmp(text, "not stocked") == 0) {
		passed->no_units++;
		in->row->idle = true;
		return true;
	}
	if (!int_take(in, what, -LINE_UNITS_MAX, what == FIELD_counted ? QTY_MAX : LINE_UNITS_MAX, &in->row->qty))
		return false;
	passed->below += in->row->qty < 0;
	if (in->row->qty < 0)
		in->row->qty = 0;
	return true;
}

static bool counted_take(struct reading *in)
{
	struct delivery_row *row = in->row;

	if (in->delivery->naming.from ? !export_units(in, FIELD_counted)
	                              : !int_take(in, FIELD_counted, 0, QTY_MAX, &row->qty))
		return false;
	return row->idle ||
	       (int_take(in, FIELD_expected, 0, QTY_MAX, &row->expected) && time_take(in, FIELD_as_of, &row->as_of));
}

static bool units_take(struct reading *in)
{
	struct delivery_row *row = in->row;
	struct delivery     *d = in->delivery;
	bool                 is_signed = movement_is(d->naming.kind, SIGNED);
	int64_t least = is_signed ? -LINE_UNITS_MAX : d->makes && movement_is(d->naming.kind, MAKES_SKUS) ? 0 : 1;

	if (is_of_kind(in, FIELD_counted))
		return counted_take(in);
	if (d->naming.from) {
		if (!export_units(in, FIELD_qty))
			return false;
		in->passes = !row->idle && row->qty < least;
		d->passed.at_zero += in->passes;
		return !in->passes;
	}
	if (!int_take(in, FIELD_qty, least, LINE_UNITS_MAX, &row->qty) ||
	    !int_take(in, FIELD_expected, 0, QTY_MAX, &row->expected))
		return false;
	return row->qty != 0 || !is_signed || why_write(in->wrong, sizeof(in->wrong), "qty must not be 0");
}

/* A row must have as many fields as the first line: with fewer or more of them a field stands in the column of another
 * one. */
static bool width_take(struct reading *in)
{
	size_t count = in->record->count, columns = in->delivery->columns.count;

	return count == columns || why_write(in->wrong, sizeof(in->wrong), "it has %s fields than the first line",
	                                     count > columns ? "more" : "fewer");
}

static bool sku_take(struct reading *in)
{
	if (in->delivery->naming.from && !field_given(in, FIELD_sku)) {
		in->delivery->passed.no_sku++;
		in->passes = true;
		return false;
	}
	return code_take(in, FIELD_sku, SKU_MAX, &in->row->sku);
}

/* Adds the row to those before it for its sku and location, or gives the first of them the sum. */
static bool sum_take(struct reading *in, uint64_t key)
{
	struct delivery     *d = in->delivery;
	struct delivery_row *row = in->row;
	bool                 first = d->readings == 1 ? !keys_has(&d->counted, key) : true;
	int64_t             *sum = keys_number(&d->counted, key, true);

	if (d->readings > 1) {
		first = (*sum < 0) == (d->readings % 2 == 1);
		if (first)
			*sum = -1 - *sum;
	}
	if (!first && (row->expected >= 0 || row->as_of || row->loses))
		return why_write(in->wrong, sizeof(in->wrong),
		                 "a row that is added to another one has no expected, as_of or short");
	d->passed.summed += !first;
	if (d->readings == 1) {
		if (*sum > QTY_MAX - row->qty)
			return why_write(in->wrong, sizeof(in->wrong), "the sum passes %lld", (long long)QTY_MAX);
		*sum += row->qty;
		return true;
	}
	row->qty = *sum < 0 ? -1 - *sum : *sum;
	in->passes = !first;
	return first;
}

/* A count may stand only once in a file, unless its rows are added up. */
static bool count_note(struct reading *in)
{
	const struct delivery_row *row = in->row;
	uint64_t                   key;

	if (!is_of_kind(in, FIELD_counted) || row->idle)
		return true;
	key = key_of(row->sku, row->location ? row->location : "main");
	if (in->delivery->sums)
		return sum_take(in, key);
	return keys_add(&in->delivery->counted, key) ||
	       why_write(in->wrong, sizeof(in->wrong), "it counts a sku and location again (--sum adds them up)");
}

/* ---- orders */

/* An id, by its own rule. */
static bool id_take(struct reading *in, enum field what, const char **id)
{
	size_t      len;
	const char *text = field_text(in, what, &len);

	*id = len > 0 || field_is_needed(in->delivery->naming.kind, what) ? text : NULL;
	return !*id || id_valid(text, len, ID_MAX) ||
	       why_write(in->wrong, sizeof(in->wrong), "%s " ID_RULE, field_name(what), (size_t)ID_MAX);
}

/* An order that has ended has no units that are promised. */
static bool state_take(struct reading *in)
{
	size_t      len;
	const char *text = field_text(in, FIELD_state, &len);
	int         state = CONFIRMED;

	for (int i = 1; i < STATES && len > 0; i++)
		if (strcasecmp(text, reservation_state_name((enum reservation_state)i)) == 0)
			state = i;
		else if (i + 1 == STATES &&
		         strcasecmp(text, reservation_state_name((enum reservation_state)state)) != 0)
			return why_write(in->wrong, sizeof(in->wrong),
			                 "state must be held or confirmed, or that of an order that has ended");
	in->row->held = state == HELD;
	in->passes = !reservation_is_live((enum reservation_state)state);
	in->delivery->passed.ended += in->passes;
	return true;
}

/* The rows of an order stand together: a later one would be another order under its id. */
static bool together_take(struct reading *in)
{
	struct delivery *d = in->delivery;
	const char      *id = in->row->order_id;

	const char *customer = in->row->customer ? in->row->customer : "";

	d->order_rows = strcmp(d->order_id, id) == 0 ? d->order_rows + 1 : 1;
	if (d->order_rows > ORDER_ROWS_MAX)
		return why_write(in->wrong, sizeof(in->wrong), "an order has at most %d rows", ORDER_ROWS_MAX);
	if (strcmp(d->order_id, id) == 0)
		return (strcmp(d->customer, customer) == 0 && d->held == in->row->held &&
		        d->waits_since == in->row->waits_since && d->ship_after == in->row->ship_after) ||
		       why_write(in->wrong, sizeof(in->wrong),
		                 "the rows of an order say one customer, state, waits_since and ship_after");
	strcpy(d->order_id, id);
	strcpy(d->customer, customer);
	d->held = in->row->held;
	d->waits_since = in->row->waits_since;
	d->ship_after = in->row->ship_after;
	return keys_add(&d->orders, key_of(id, "")) ||
	       why_write(in->wrong, sizeof(in->wrong),
	                 "order_id stood further up: the rows of an order stand together");
}

static bool order_times_take(struct reading *in)
{
	struct delivery_row *row = in->row;
	int64_t              now_ms = clock_wall_ms();

	if (!time_take(in, FIELD_waits_since, &row->waits_since) || !time_take(in, FIELD_ship_after, &row->ship_after))
		return false;
	if (row->waits_since > now_ms + 1000)
		return why_write(in->wrong, sizeof(in->wrong), "waits_since must have passed");
	return row->ship_after <= now_ms + SHIP_AFTER_MAX_MS ||
	       why_write(in->wrong, sizeof(in->wrong), "ship_after must be at most 400 days ahead");
}

/* One bad row makes all rows of its order bad: a part of an order is none. The next reading knows that the rows before
 * it are bad, too. */
static bool order_take(struct reading *in)
{
	struct delivery     *d = in->delivery;
	struct delivery_row *row = in->row;
	uint64_t             key;
	bool                 ok;

	if (!id_take(in, FIELD_order_id, &row->order_id))
		return false;
	key = key_of(row->order_id, "");
	ok = width_take(in) && sku_take(in) && locations_take(in) &&
	     int_take(in, FIELD_qty, 1, LINE_UNITS_MAX, &row->qty) && id_take(in, FIELD_customer, &row->customer) &&
	     order_times_take(in) && state_take(in) && together_take(in);
	if (!ok)
		(void)keys_add(&d->bad_orders, key);
	else if (keys_has(&d->bad_orders, key))
		return why_write(in->wrong, sizeof(in->wrong), "another row of its order is bad");
	return ok;
}

/* Reads a row of the record: the only one, or one of each column of a location. */
static void row_take(struct delivery *d, const struct record *record, size_t place)
{
	struct delivery_row row = {.line = record->line,
	                           .number = ++d->numbers,
	                           .expected = -1,
	                           .raw = record->whole.data,
	                           .raw_len = record->raw_len};
	struct reading      in = {.delivery = d, .record = record, .row = &row, .place = place};

	if (d->naming.kind == ORDERS_LIST ? !order_take(&in)
	                                  : !width_take(&in) || !sku_take(&in) || !locations_take(&in) ||
	                                            !units_take(&in) || !loss_take(&in) || !count_note(&in))
		row.wrong = in.wrong;
	if (!in.passes)
		d->each(d->arg, &row);
}

static void record_take(struct delivery *d, const struct record *record)
{
	size_t first = d->columns.places, count = d->columns.places_count;

	if (record->empty) {
		d->numbers += count > 0 ? (int64_t)count : 1;
		d->passed.empty++;
		return;
	}
	if (count == 0)
		row_take(d, record, NO_PLACE);
	for (size_t i = 0; i < count; i++)
		row_take(d, record, first + i);
}

static void places_free(struct delivery *d)
{
	for (size_t i = 0; d->places && i < d->columns.places_count; i++)
		text_fini(&d->places[i]);
	free(d->places);
	d->places = NULL;
}

static bool head_take(struct delivery *d, const struct record *head)
{
	size_t len;

	d->headed = true;
	text_reset(&d->head);
	text_bytes(&d->head, head->whole.data, head->raw_len);
	if (!columns_read(&d->columns, &d->naming, &d->table, head, d->tells))
		return false;
	text_reset(&d->names);
	columns_tell(&d->columns, head, &d->names);
	d->places = d->columns.places_count > 0 ? mem_alloc(d->columns.places_count * sizeof(*d->places)) : NULL;
	for (size_t i = 0; i < d->columns.places_count; i++) {
		const char *name = record_field(head, d->columns.places + i, &len);

		name = name_trim(name, &len);
		text_bytes(&d->places[i], name, len);
	}
	return true;
}

static bool record_came(void *arg, const struct record *record)
{
	struct delivery *d = arg;

	if (!d->headed)
		return head_take(d, record);
	record_take(d, record);
	return true;
}

static int name_known(void *arg, const char *name, size_t len)
{
	return columns_know(&((struct delivery *)arg)->naming, name, len);
}

bool delivery_read(struct delivery *d)
{
	bool ok;

	places_free(d);
	d->headed = false;
	d->numbers = 0;
	d->passed = (struct passed){0};
	d->readings++;
	d->order_id[0] = '\0';
	keys_fini(&d->orders);
	d->table = (struct table){
		.file = d->file, .sha = d->sha, .read = d->read, .known = name_known, .each = record_came, .arg = d};
	ok = table_read(&d->table);
	if (!d->sums)
		keys_fini(&d->counted);
	if (ok && !d->headed)
		columns_missing(&d->naming, &d->table);
	return ok && d->headed;
}

void delivery_fini(struct delivery *d)
{
	places_free(d);
	keys_fini(&d->counted);
	keys_fini(&d->orders);
	keys_fini(&d->bad_orders);
	text_fini(&d->head);
	text_fini(&d->names);
	naming_fini(&d->naming);
}
