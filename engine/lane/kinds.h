/* kinds.h - what the kinds of locations allow an operation. Pure. Kinds are as memory knows them: a refusal needs a
 * look (op_is_certain), and what is written is undone where a kind has changed. */
#ifndef KINDS_H
#define KINDS_H

#include "engine/op.h"

/* In the house or as a promise. */
bool line_is_for_sale(const struct line *line);
/* A reservation: UNKNOWN_LOCATION or NOT_FOR_SALE, with its lines and choices at fault, or OUTCOME_OK. */
enum outcome locations_decide(struct op *op);
/* A movement: WRONG_KIND, with its lines or transfers at fault, or OUTCOME_OK. UNKNOWN_LOCATION of a location that the
 * movement may not make, or at which the orders would wait that lose units; INVALID where nothing says where. */
enum outcome moved_locations_decide(struct op *op);
/* What is to leave the stock: IS_WAITING, with the lines at fault that are not in the house, or OUTCOME_OK. */
enum outcome waits_decide(struct line *lines, size_t count);
/* True: the line of a movement names a location that does not exist, and that the movement makes if it may. */
bool line_makes_location(const struct op *op, const struct line *line);
/* True: refused because of the kind of a location, or because there is no such location. */
bool op_is_of_kinds(const struct op *op);

#endif
