/* kinds.c - see kinds.h. */
#include "engine/lane/kinds.h"
#include "engine/write/batch.h"

/* Units are neither reserved nor acquired again where they lie aside, not even from one location of several. */
bool line_is_for_sale(const struct line *line)
{
	return !line->location || location_sells(line->location) || !location_in_house(line->location);
}

bool line_is_stopped(const struct line *line)
{
	return sku_stopped(line->sku) || (line->location && location_stopped(line->location));
}

/* Units that the line asks for and its order, or the one that it replaces, does not have; below 0: it has more. */
static int64_t line_adds(const struct op *op, const struct line *line)
{
	const struct reservation *had = op_replaced(op);
	const struct line        *old = had ? line_like(had->lines, had->lines_count, line) : NULL;

	return line->qty - (old && old->qty > 0 ? old->qty : 0);
}

/* Sales are stopped at each of its locations. */
static bool choice_is_stopped(const struct op *op, const struct choice *choice)
{
	for (size_t k = 0; k < choice->count; k++)
		if (!line_is_stopped(&op->lines[choice->line[k]]))
			return false;
	return true;
}

/* True: the units are those that the order, or the one that it replaces, has there already. */
static bool choice_stays(const struct op *op, const struct choice *choice)
{
	int64_t most = 0;

	assert(choice->count <= CHOICE_MAX);
	for (size_t k = 0; k < choice->count; k++) {
		int64_t kept = -line_adds(op, &op->lines[choice->line[k]]);

		if (kept > 0)
			most = choice->may_split ? most + kept : kept > most ? kept : most;
	}
	return most >= choice->qty;
}

/* Judges by the stops alone, before customers' limits are. Without an outcome nothing is at fault. */
static enum outcome stops_judge(struct op *op)
{
	size_t asked = op->choices_count, stopped = 0;

	for (size_t i = 0; i < op->lines_count; i++) {
		struct line *line = &op->lines[i];

		line->fault = line_is_stopped(line) && line_adds(op, line) > 0;
		asked += line->qty > 0;
		stopped += line->fault;
	}
	for (size_t i = 0; i < op->choices_count; i++) {
		struct choice *choice = &op->choices[i];

		choice->fault = choice_is_stopped(op, choice) && !choice_stays(op, choice);
		stopped += choice->fault;
	}
	if (stopped > 0 && (op->reserve.mode != BEST_EFFORT || (stopped == asked && !op_replaced(op))))
		return NOT_FOR_SALE;
	for (size_t i = 0; i < op->lines_count; i++)
		op->lines[i].fault = false;
	for (size_t i = 0; i < op->choices_count; i++)
		op->choices[i].fault = false;
	return OUTCOME_OK;
}

/* Why the location of a line has no units for an order. */
static enum outcome location_decide(const struct line *line)
{
	if (!line->location)
		return UNKNOWN_LOCATION;
	return line_is_for_sale(line) ? OUTCOME_OK : NOT_FOR_SALE;
}

static enum outcome choice_locations_decide(const struct op *op, const struct choice *choice)
{
	enum outcome out = OUTCOME_OK;

	for (size_t k = 0; k < choice->count; k++)
		out = outcome_first(out, location_decide(&op->lines[choice->line[k]]));
	return out;
}

static enum outcome line_location_decide(const struct op *op, const struct line *line)
{
	return line_adds(op, line) > 0 ? location_decide(line) : OUTCOME_OK;
}

enum outcome locations_decide(struct op *op)
{
	enum outcome out = OUTCOME_OK;

	for (size_t i = 0; i < op->lines_count; i++)
		out = outcome_first(out, line_location_decide(op, &op->lines[i]));
	for (size_t i = 0; i < op->choices_count; i++)
		out = outcome_first(out, choice_locations_decide(op, &op->choices[i]));
	for (size_t i = 0; i < op->lines_count; i++)
		op->lines[i].fault = out != OUTCOME_OK && line_location_decide(op, &op->lines[i]) == out;
	for (size_t i = 0; i < op->choices_count; i++)
		op->choices[i].fault = out != OUTCOME_OK && choice_locations_decide(op, &op->choices[i]) == out;
	return out == OUTCOME_OK ? stops_judge(op) : out;
}

bool stops_decide(struct op *op)
{
	bool any = false;

	for (size_t i = 0; i < op->lines_count; i++)
		any |= op->lines[i].fault && line_is_stopped(&op->lines[i]);
	for (size_t i = 0; i < op->choices_count; i++)
		any |= op->choices[i].fault && choice_is_stopped(op, &op->choices[i]);
	for (size_t i = 0; any && i < op->lines_count; i++)
		op->lines[i].fault &= line_is_stopped(&op->lines[i]);
	for (size_t i = 0; any && i < op->choices_count; i++)
		op->choices[i].fault &= choice_is_stopped(op, &op->choices[i]);
	return any;
}

bool op_meets_stop(const struct op *op)
{
	for (size_t i = 0; i < op->lines_count; i++)
		if (line_is_stopped(&op->lines[i]))
			return true;
	return op->outcome == NOT_FOR_SALE;
}

/* Units go from house to house, or from promise to promise; what arrives, from a promise to where it is for sale. */
static bool ends_fit(bool books, const struct location *from, const struct location *to)
{
	if (books)
		return (!from || !location_in_house(from)) && (!to || location_sells(to));
	return !from || !to || location_in_house(from) == location_in_house(to);
}

static enum outcome ends_decide(struct op *op)
{
	enum outcome out = OUTCOME_OK;

	for (size_t i = 0; i < op->move.transfers_count; i++) {
		struct transfer *t = &op->move.transfers[i];

		t->fault = !ends_fit(op_moves(op, BOOKS), op->lines[t->from_line].location,
		                     op->lines[t->to_line].location);
		if (t->fault)
			out = WRONG_KIND;
	}
	return out;
}

/* Orders that lose units of the line wait for others at a location that is not in the house. */
static enum outcome loss_decide(const struct line *line)
{
	const struct loss *loss = line->loss;

	if (!loss)
		return OUTCOME_OK;
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
		enum outcome of = loss_decide(&op->lines[i]);

		if (of == INVALID || (of != OUTCOME_OK && (out == OUTCOME_OK || (out != INVALID && of < out))))
			out = of;
	}
	for (size_t i = 0; out != OUTCOME_OK && i < op->lines_count; i++)
		op->lines[i].fault = loss_decide(&op->lines[i]) == out;
	return out;
}

bool line_makes_location(const struct op *op, const struct line *line)
{
	return !line->location && line->qty >= 0 && (op->move.transfers_count == 0 || line->expected == 0);
}

/* A movement that makes nothing names locations that exist, but for those that would give units and have none. */
static enum outcome known_locations_decide(struct op *op)
{
	enum outcome out = OUTCOME_OK;

	for (size_t i = 0; i < op->lines_count; i++) {
		op->lines[i].fault = line_makes_location(op, &op->lines[i]);
		if (op->lines[i].fault)
			out = UNKNOWN_LOCATION;
	}
	return out;
}

/* May units be moved where the lines say? What is not in the house is neither counted, nor does it come back. */
enum outcome moved_locations_decide(struct op *op)
{
	enum outcome out = op->move.known_only ? known_locations_decide(op) : OUTCOME_OK;

	if (out != OUTCOME_OK)
		return out;
	if (op->move.transfers_count > 0)
		return ends_decide(op);
	for (size_t i = 0; i < op->lines_count; i++) {
		struct line *line = &op->lines[i];

		line->fault = op_moves(op, IN_HOUSE) && line->location && !location_in_house(line->location);
		if (line->fault)
			out = WRONG_KIND;
	}
	return out == OUTCOME_OK && op->losses ? losses_decide(op) : out;
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
	return op->outcome == UNKNOWN_LOCATION || op->outcome == NOT_FOR_SALE || op->outcome == WRONG_KIND ||
	       op->outcome == IS_WAITING;
}

bool op_is_of_kinds_alone(const struct op *op)
{
	return op_is_of_kinds(op) && !(op_asks(op) && op->reserve.mode == BEST_EFFORT);
}
