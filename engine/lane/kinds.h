/* kinds.h - what the kinds of locations allow an operation. Pure. Kinds are as memory knows them: a refusal needs a
 * look (op_is_certain), and what is written is undone where a kind has changed. */
#ifndef KINDS_H
#define KINDS_H

#include "engine/op.h"

/* In the house or as a promise. */
bool line_is_for_sale(const struct line *line);
/* A reservation: NOT_FOR_SALE, with its lines and choices at fault, or OUTCOME_OK. */
enum outcome locations_decide(struct op *op);
/* A movement: WRONG_KIND, with its lines or transfers at fault, or OUTCOME_OK. Where those would wait who lose units:
 * also UNKNOWN_LOCATION, or INVALID where nothing says where. */
enum outcome moved_locations_decide(struct op *op);
/* What is to leave the stock: IS_WAITING, with the lines at fault that are not in the house, or OUTCOME_OK. */
enum outcome waits_decide(struct line *lines, size_t count);
/* True: refused because of the kind of a location. */
bool op_is_of_kinds(const struct op *op);

#endif
