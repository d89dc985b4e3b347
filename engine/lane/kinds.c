/* kinds.c - see kinds.h. */
#include "engine/lane/kinds.h"

#include <string.h>

/* Units are neither reserved nor acquired anew where they lie aside, not even from one location of several. */
bool line_is_for_sale(const struct line *line)
{
	return !line->location || location_sells(line->location) || !location_in_house(line->location);
}

enum outcome locations_decide(struct op *op)
{
	enum outcome out = OUTCOME_OK;

	for (size_t i = 0; i < op->lines_count; i++) {
		op->lines[i].fault = op->lines[i].qty > 0 && !line_is_for_sale(&op->lines[i]);
		if (op->lines[i].fault)
			out = NOT_FOR_SALE;
	}
	for (size_t i = 0; i < op->choices_count; i++) {
		struct choice *choice = &op->choices[i];

		choice->fault = false;
		for (size_t k = 0; k < choice->count; k++)
			choice->fault |= !line_is_for_sale(&op->lines[choice->line[k]]);
		if (choice->fault)
			out = NOT_FOR_SALE;
	}
	return out;
}

static const struct location *location_of(const struct op *op, const char *code)
{
	for (size_t i = 0; i < op->lines_count; i++)
		if (op->lines[i].location && strcmp(op->lines[i].location_code, code) == 0)
			return op->lines[i].location;
	return NULL;
}

/* Units go from house to house, or from promise to promise; what arrives, from a promise to where it is for sale. */
static bool ends_fit(enum movement_kind kind, const struct location *from, const struct location *to)
{
	if (kind == ARRIVAL)
		return (!from || !location_in_house(from)) && (!to || location_sells(to));
	return !from || !to || location_in_house(from) == location_in_house(to);
}

static enum outcome ends_decide(struct op *op)
{
	enum outcome out = OUTCOME_OK;

	for (unsigned i = 0; i < op->move.parts_count; i++) {
		struct transfer       *t = &op->move.transfers[i];
		const struct location *from = location_of(op, t->from_code), *to = location_of(op, t->to_code);

		t->fault = !ends_fit(op->move.kind, from, to);
		if (t->fault)
			out = WRONG_KIND;
	}
	return out;
}

/* An order that loses units waits for others at a location that is not in the house. */
static enum outcome loss_decide(const struct line *line, const struct loss *loss)
{
	if (!loss->to)
		return loss->to_code[0] ? UNKNOWN_LOCATION : INVALID;
	return location_in_house(loss->to) || (line->location && !location_sells(line->location)) ? WRONG_KIND
	                                                                                          : OUTCOME_OK;
}

/* The outcome that says most, and its lines at fault; a malformed line is told before all others. */
static enum outcome losses_decide(struct op *op)
{
	enum outcome out = OUTCOME_OK;

	for (size_t i = 0; i < op->lines_count; i++) {
		const struct loss *loss = line_loss(op, &op->lines[i]);
		enum outcome       of = loss ? loss_decide(&op->lines[i], loss) : OUTCOME_OK;

		if (of == INVALID || (of != OUTCOME_OK && (out == OUTCOME_OK || (out != INVALID && of < out))))
			out = of;
	}
	for (size_t i = 0; out != OUTCOME_OK && i < op->lines_count; i++) {
		const struct loss *loss = line_loss(op, &op->lines[i]);

		op->lines[i].fault = loss && loss_decide(&op->lines[i], loss) == out;
	}
	return out;
}

/* May units be moved where the lines say? What is not in the house is neither counted, nor does it come back. */
enum outcome moved_locations_decide(struct op *op)
{
	enum outcome out = OUTCOME_OK;

	if (movement_has_ends(op->move.kind))
		return ends_decide(op);
	for (size_t i = 0; i < op->lines_count; i++) {
		struct line *line = &op->lines[i];

		line->fault = (op->move.kind == RETURN || op->move.kind == STOCKTAKE) && line->location &&
		              !location_in_house(line->location);
		if (line->fault)
			out = WRONG_KIND;
	}
	return out == OUTCOME_OK && op->move.losses ? losses_decide(op) : out;
}

enum outcome waits_decide(struct line *lines, size_t count)
{
	enum outcome out = OUTCOME_OK;

	for (size_t i = 0; i < count; i++) {
		lines[i].fault = line_waits(&lines[i]);
		if (lines[i].fault)
			out = IS_WAITING;
	}
	return out;
}

bool op_is_of_kinds(const struct op *op)
{
	return op->outcome == NOT_FOR_SALE || op->outcome == WRONG_KIND || op->outcome == IS_WAITING;
}
