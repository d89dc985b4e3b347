/* forecast.c - see forecast.h. */
#include "commands/import/forecast.h"
#include "engine/base/log.h"

#include <stdio.h>

enum { NAMED_MAX = 10 };

void forecast_fini(struct forecast *f)
{
	text_fini(&f->sku_names);
	text_fini(&f->location_names);
	keys_fini(&f->skus);
	keys_fini(&f->locations);
}

struct op *forecast_ask(const struct row *rows, size_t count)
{
	struct op *op = op_new(OP_TOTALS, count, count * (SKU_MAX + 1));

	for (size_t i = 0; i < count; i++)
		if (rows[i].is == WAITS || rows[i].is == EMPTY)
			(void)op_line(op, rows[i].sku, strlen(rows[i].sku), NULL, 0, 0);
	return op;
}

/* Notes a code that is new. */
static void new_note(struct keyset *known, struct text *names, int64_t *count, const char *code)
{
	if (!keys_add(known, key_of("", code)))
		return;
	*count += 1;
	if (*count > NAMED_MAX)
		return;
	text_format(names, "%s%s", names->len > 0 ? ", " : "", code);
}

static void refuse(struct forecast *f, const struct row *row, const char *code, int64_t units, int64_t there)
{
	f->refused++;
	if (there < 0)
		say("%s, line %lld: would be refused: %s %s", f->file, (long long)row->said.line, code, row->sku);
	else
		say("%s, line %lld: would be refused: %s %s at %s, %lld of %lld", f->file, (long long)row->said.line,
		    code, row->sku, row_location(row), (long long)there, (long long)units);
}

/* The units at the row's location. */
static struct total total_at(const struct total *totals, size_t count, const char *location)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(totals[i].location->code, location) == 0)
			return totals[i];
	return (struct total){0};
}

static void row_judge(struct forecast *f, const struct row *row, const struct total *at)
{
	int64_t on_hand = at->available + at->reserved, units = row->said.qty;

	if (movement_is(f->kind, COUNTED)) {
		f->changed += units != on_hand;
		f->up += units > on_hand ? units - on_hand : 0;
		f->down += units < on_hand ? on_hand - units : 0;
		if (row->said.expected >= 0 && row->said.expected != on_hand && !row->said.as_of)
			refuse(f, row, "count_mismatch", row->said.expected, on_hand);
		else if (units < at->reserved && !row->said.loses)
			refuse(f, row, "short", at->reserved, units);
	} else if (movement_is(f->kind, HAS_ENDS) ? at->available < units
	                                          : at->available < -units && !row->said.loses) {
		refuse(f, row, "short", units < 0 ? -units : units, at->available);
	}
}

static void location_note(struct forecast *f, struct catalogue *c, const char *code)
{
	if (!catalogue_location(c, code))
		new_note(&f->locations, &f->location_names, &f->new_locations, code);
}

void forecast_take(struct forecast *f, struct catalogue *c, const struct row *rows, size_t count, const struct op *op)
{
	size_t line = 0, used = 0;

	for (size_t i = 0; i < count; i++) {
		const struct row *row = &rows[i];
		struct total      at;

		if (row->is != WAITS && row->is != EMPTY)
			continue;
		assert(line < op->lines_count);
		at = total_at(op->query->totals + used, op->query->totals_of[line], row_location(row));
		used += op->query->totals_of[line];
		f->rows += row->is == WAITS;
		f->units += row->said.qty;
		if (!op->lines[line++].sku) {
			if (f->makes || movement_is(f->kind, MAKES_SKUS)) {
				new_note(&f->skus, &f->sku_names, &f->new_skus, row->sku);
			} else {
				refuse(f, row, "unknown_sku", 0, -1);
				continue;
			}
		}
		location_note(f, c, row->said.to ? row->to : row_location(row));
		row_judge(f, row, &at);
	}
}

static void names_print(const char *what, int64_t count, const struct text *names)
{
	if (count > 0)
		printf("  %lld new %s: %s%s\n", (long long)count, what, names->data, count > NAMED_MAX ? ", .." : "");
}

void forecast_tell(const struct forecast *f)
{
	printf("would be loaded: %lld rows, %lld units\n", (long long)f->rows, (long long)f->units);
	names_print("skus", f->new_skus, &f->sku_names);
	names_print("locations", f->new_locations, &f->location_names);
	if (movement_is(f->kind, COUNTED))
		printf("  %lld rows change what is there: %lld units more, %lld units fewer\n", (long long)f->changed,
		       (long long)f->up, (long long)f->down);
	if (f->refused > 0)
		printf("  %lld rows would be refused\n", (long long)f->refused);
}
