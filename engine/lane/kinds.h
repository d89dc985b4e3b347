/* kinds.h - what the kinds of locations, and stops of sales, allow an operation. Pure. Both are as memory knows them: a
 * refusal needs a look (op_is_certain), and what is written is undone where one has changed. */
#ifndef KINDS_H
#define KINDS_H

#include "engine/op.h"

/* In the house or as a promise. */
bool line_is_for_sale(const struct line *line);
/* True: sales of its sku, or at its location, are stopped, so no order gets units there that it does not have. */
bool line_is_stopped(const struct line *line);
/* A reservation: UNKNOWN_LOCATION or NOT_FOR_SALE, with its lines and choices at fault, or OUTCOME_OK. A best effort
 * goes on without the stopped lines, unless all of them are stopped. */
enum outcome locations_decide(struct op *op);
/* The operation is short of units. True: a stop is why, and only what is stopped is at fault from now on. */
bool stops_decide(struct op *op);
/* True: a line of the operation is stopped, or that is why it is refused. */
bool op_meets_stop(const struct op *op);
/* A movement: WRONG_KIND, with its lines or transfers at fault, or OUTCOME_OK. UNKNOWN_LOCATION of a location that the
 * movement may not make, or at which the orders would wait that lose units; INVALID where nothing says where. */
enum outcome moved_locations_decide(struct op *op);
/* What is to leave the stock: IS_WAITING, with the lines at fault that are not in the house, or OUTCOME_OK. */
enum outcome waits_decide(struct line *lines, size_t count);
/* True: the line of a movement names a location that does not exist, and that the movement makes if it may. */
bool line_makes_location(const struct op *op, const struct line *line);
/* True: refused because of the kind of a location, because the location is not there, or because of a stop. */
bool op_is_of_kinds(const struct op *op);
/* True: .. and whatever units there are. A best effort is refused so only if it gets nothing else. */
bool op_is_of_kinds_alone(const struct op *op);

#endif
