/* delivery.c - see delivery.h. */
#include "commands/import/delivery.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row while it is read. */
struct reading {
	const struct delivery *delivery;
	const struct record   *record;
	struct delivery_row   *row;
	char                   wrong[CODE_RULE_SIZE + 64];
};

/* What stands in the column of a field, "" where there is no such column; a NUL stands behind it. */
static const char *field_text(const struct reading *in, enum field what, size_t *len)
{
	int at = in->delivery->columns.at[what];

	*len = 0;
	return at == NO_COLUMN ? "" : record_field(in->record, (size_t)at, len);
}

static bool field_given(const struct reading *in, enum field what)
{
	size_t len;

	(void)field_text(in, what, &len);
	return len > 0;
}

static bool is_of_kind(const struct reading *in, enum field what)
{
	return field_is_of(in->delivery->kind, what);
}

/* ---- fields */

static bool int_read(const char *text, size_t len, int64_t min, int64_t max, int64_t *value)
{
	const char *digits = text + (*text == '-');
	size_t      count = strlen(digits);

	if (count == 0 || digits + count != text + len || count > (size_t)snprintf(NULL, 0, "%lld", (long long)max) ||
	    strspn(digits, "0123456789") != count)
		return false;
	*value = strtoll(text, NULL, 10);
	return *value >= min && *value <= max;
}

/* Takes a code. An empty field gives NULL, if the first line need not name its column. */
static bool code_take(struct reading *in, enum field what, size_t max, const char **code)
{
	size_t      len;
	const char *text = field_text(in, what, &len);

	*code = len > 0 || field_is_needed(in->delivery->kind, what) ? text : NULL;
	return !*code || code_valid(text, len, max) ||
	       why_write(in->wrong, sizeof(in->wrong), "%s " CODE_RULE, field_name(what), max);
}

static bool int_take(struct reading *in, enum field what, int64_t min, int64_t max, int64_t *value)
{
	size_t      len;
	const char *text = field_text(in, what, &len);

	return (len == 0 && !field_is_needed(in->delivery->kind, what)) || int_read(text, len, min, max, value) ||
	       why_write(in->wrong, sizeof(in->wrong), "%s " INTEGER_RULE, field_name(what), (long long)min,
	                 (long long)max);
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

static bool units_take(struct reading *in)
{
	struct delivery_row *row = in->row;
	int64_t              least = movement_is(in->delivery->kind, SIGNED) ? -LINE_UNITS_MAX : 1;

	if (is_of_kind(in, FIELD_counted))
		return int_take(in, FIELD_counted, 0, QTY_MAX, &row->qty) &&
		       int_take(in, FIELD_expected, 0, QTY_MAX, &row->expected) &&
		       time_take(in, FIELD_as_of, &row->as_of);
	if (!int_take(in, FIELD_qty, least, LINE_UNITS_MAX, &row->qty))
		return false;
	return row->qty != 0 || why_write(in->wrong, sizeof(in->wrong), "qty must not be 0");
}

/* A row must have as many fields as the first line: with fewer or more of them a field stands in the column of another
 * one. */
static bool width_take(struct reading *in)
{
	size_t count = in->record->count, columns = in->delivery->columns.count;

	return count == columns || why_write(in->wrong, sizeof(in->wrong), "it has %s fields than the first line",
	                                     count > columns ? "more" : "fewer");
}

/* A count may stand only once in a file. */
static bool count_note(struct reading *in, struct keyset *counted)
{
	const struct delivery_row *row = in->row;

	return !is_of_kind(in, FIELD_counted) ||
	       keys_add(counted, key_of(row->sku, row->location ? row->location : "main")) ||
	       why_write(in->wrong, sizeof(in->wrong), "it counts a sku and location again");
}

static void row_take(struct delivery *d, const struct record *record)
{
	struct delivery_row row = {.line = record->line, .number = ++d->numbers, .expected = -1};
	struct reading      in = {.delivery = d, .record = record, .row = &row};

	if (record->empty)
		return;
	if (!width_take(&in) || !code_take(&in, FIELD_sku, SKU_MAX, &row.sku) || !locations_take(&in) ||
	    !units_take(&in) || !loss_take(&in) || !count_note(&in, &d->counted))
		row.wrong = in.wrong;
	d->each(d->arg, &row);
}

static bool record_came(void *arg, const struct record *record)
{
	struct delivery *d = arg;

	if (d->headed) {
		row_take(d, record);
		return true;
	}
	d->headed = true;
	d->columns.kind = d->kind;
	return columns_read(&d->columns, &d->table, record, d->tells);
}

static int name_known(void *arg, const char *name, size_t len)
{
	return columns_know(((struct delivery *)arg)->kind, name, len);
}

bool delivery_read(struct delivery *d)
{
	bool ok;

	d->headed = false;
	d->numbers = 0;
	d->table = (struct table){.file = d->file, .sha = d->sha, .known = name_known, .each = record_came, .arg = d};
	ok = table_read(&d->table);
	keys_fini(&d->counted);
	if (ok && !d->headed)
		columns_missing(d->kind, &d->table);
	return ok && d->headed;
}
