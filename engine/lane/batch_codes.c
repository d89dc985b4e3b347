/* batch_codes.c - see batch_codes.h. The catalogue comes first, the database is asked for codes that it lacks. */
#include "engine/lane/batch_codes.h"
#include "engine/lane/kinds.h"
#include "engine/catalogue/past.h"
#include "engine/write/fence.h"
#include "engine/write/movement.h"

/* Finds the locations where orders wait that lose units; true: the catalogue lacks one. */
static bool losses_lack(struct lane *l, struct op *op)
{
	bool lacks = false;

	for (size_t k = 0; op->losses && k < op->lines_count; k++) {
		struct loss *loss = op->lines[k].loss;

		if (!loss)
			continue;
		loss->to = NULL;
		if (loss->to_code[0])
			loss->to = catalogue_location(l->catalogue, loss->to_code);
		else if (op->lines[k].location)
			loss->to = catalogue_location_by_id(l->catalogue, location_waits_at(op->lines[k].location));
		lacks |= !loss->to;
	}
	return lacks;
}

/* Lines get the numbers that the catalogue has, those of a split the numbers of the lines that it divides (decide.c).
 * The codes of skus that it lacks are listed in l->rows; true: it lacks a location. */
static bool lines_resolve(struct lane *l)
{
	bool lacks = false;

	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++)
		for (size_t k = 0; !op_trait(l->batch.ops[i])->divides && k < l->batch.ops[i]->lines_count; k++) {
			struct line *line = &l->batch.ops[i]->lines[k];

			if (!line->sku && !(line->sku = catalogue_sku(l->catalogue, line->sku_code)))
				values_row(&l->rows, V_TEXT(line->sku_code));
			if (!line->location)
				line->location = catalogue_location(l->catalogue, line->location_code);
			lacks |= !line->location;
		}
	for (size_t i = 0; i < l->batch.count; i++)
		lacks |= losses_lack(l, l->batch.ops[i]);
	return lacks;
}

/* Drops the numbers of another past, and rows that were read there. */
static void numbers_forget(struct op *op, unsigned past)
{
	for (size_t k = 0; k < op->lines_count; k++) {
		op->lines[k].sku = NULL;
		op->lines[k].location = NULL;
		op->lines[k].made = 0;
	}
	if (op->past != 0)
		op_unread(op);
	if (op->losses)
		losses_forget(op->losses);
	op->past = past;
}

enum db_result codes_resolve(struct lane *l)
{
	enum db_result result = DB_OK;
	bool           lacks;

	for (size_t i = 0; i < l->batch.count; i++)
		if (l->batch.ops[i]->past != l->past)
			numbers_forget(l->batch.ops[i], l->past);
	lacks = lines_resolve(l);
	if (l->rows.count > 0)
		result = lane_ask(l, SKU_FIND, &(struct fill){.rows = &l->rows}, sku_row_read, l->catalogue);
	if (result == DB_OK && lacks) {
		outbox_send(&l->outbox);
		result = past_locations(l->db);
		l->batch.kinds_read = result == DB_OK;
	}
	if (result == DB_OK && (lacks || l->rows.count > 0))
		lines_resolve(l);
	return result;
}

static bool makes_sku(const struct op *op, const struct line *line)
{
	return !line->sku && op_moves(op, MAKES_SKUS) && !op->move.known_only;
}

static bool makes_location(const struct op *op, const struct line *line)
{
	return op_trait(op)->of_movement && !op->move.known_only && line_makes_location(op, line);
}

/* Lists in l->rows the codes that new movements make, and marks the lines that name them. A movement that is refused
 * later may leave a name behind, which is no stock. */
static size_t list_new(struct lane *l, bool locations)
{
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++)
		for (size_t k = 0; k < l->batch.ops[i]->lines_count; k++) {
			struct op   *op = l->batch.ops[i];
			struct line *line = &op->lines[k];
			const char  *code = locations ? line->location_code : line->sku_code;

			if (!(locations ? makes_location(op, line) : makes_sku(op, line)) || op->move.found ||
			    op->move.over_limit)
				continue;
			line->made |= locations ? MADE_LOCATION : MADE_SKU;
			if (locations)
				values_row(&l->rows, V_TEXT(code));
			else
				values_row(&l->rows, V_TEXT(code), V_CLOCK);
		}
	return l->rows.count;
}

bool op_makes_codes(const struct op *op)
{
	for (size_t k = 0; k < op->lines_count; k++)
		if (makes_sku(op, &op->lines[k]) || makes_location(op, &op->lines[k]))
			return true;
	return false;
}

static void total_read(void *arg, const struct db_row *row)
{
	share_add(arg, (uint32_t)db_int(row, 0), 0, 0, db_int(row, 2) + db_int(row, 3), 0);
}

static bool makes_skus(const struct op *op)
{
	for (size_t k = 0; k < op->lines_count; k++)
		if (makes_sku(op, &op->lines[k]))
			return true;
	return false;
}

/* Reads the totals of the skus that receipts with new skus name. */
static enum db_result totals_ask(struct lane *l, struct shares *totals)
{
	enum db_result result;

	totals->count = 0;
	values_reset(&l->rows);
	for (size_t i = 0; i < l->batch.count; i++) {
		struct op *op = l->batch.ops[i];

		for (size_t k = 0; makes_skus(op) && !op->move.found && k < op->lines_count; k++) {
			op->lines[k].granted = op->lines[k].qty;
			if (op->lines[k].sku)
				values_row(&l->rows, V_INT(sku_id(op->lines[k].sku)));
		}
	}
	if (l->rows.count == 0)
		return DB_OK;
	result = lane_ask(l, STOCK_TOTALS, &(struct fill){.rows = &l->rows}, total_read, totals);
	shares_sum(totals);
	return result;
}

/* Refuses a receipt that names new skus and would pass the limit with a known one, before its new skus are made: a sku
 * that was never received stays unknown. Two reads must agree, as for every refusal (decide.h). */
static enum db_result receipts_limit(struct lane *l)
{
	enum db_result result = DB_OK;
	struct shares  totals = {0};
	bool           over = true;

	for (int look = 0; look < 2 && over && result == DB_OK; look++) {
		result = totals_ask(l, &totals);
		over = false;
		for (size_t i = 0; i < l->batch.count; i++) {
			struct op *op = l->batch.ops[i];

			if (!op_trait(op)->of_movement)
				continue;
			op->move.over_limit = makes_skus(op) && movement_passes_limit(op, &totals) &&
			                      (look == 0 || op->move.over_limit);
			over |= op->move.over_limit;
		}
	}
	shares_fini(&totals);
	return result;
}

enum db_result codes_make(struct lane *l)
{
	bool           made = false;
	enum db_result checked = receipts_limit(l);

	if (checked != DB_OK)
		return checked;

	for (int locations = 0; locations <= 1; locations++) {
		enum statement name = locations ? LOCATION_MAKE : SKU_MAKE;
		enum db_result result;

		if (list_new(l, locations) == 0)
			continue;
		result = lane_ask(l, name, &(struct fill){.rows = &l->rows}, NULL, NULL);
		if (result != DB_OK)
			return result;
		made = true;
	}
	return made ? codes_resolve(l) : DB_OK;
}
