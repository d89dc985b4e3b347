/* movement.h - movements of a batch: looked up, made, answered. */
#ifndef MOVEMENT_H
#define MOVEMENT_H

#include "engine/write/state.h"

enum db_result movements_look_up(struct lane *l) MUST_CHECK;
void           movements_insert(struct lane *l); /* writes new movements and their lines */
void           transfers_insert(struct lane *l); /* writes both ends of new transfers, which learn numbers */
/* Behind transfers_insert, under the locks of the sums: books an arrival, which is handed out later. */
void arrivals_insert(struct lane *l, const struct op *op);
/* True: the movement brings a sku above QTY_MAX; its lines are at fault. `totals` has the units of each sku so far, at
 * location and slot 0, by shares_sum. The lines of a sku stand together. */
bool movement_passes_limit(struct op *op, const struct shares *totals) MUST_CHECK;
void movement_answer(struct op *op, int64_t now); /* fills op->move.movement, as after the commit at `now` */
/* A row for MOVEMENT_ADD, and one for MOVEMENT_LINE_ADD. */
void movement_row(struct values *rows, const struct op *op);
void movement_line_row(struct values *rows, const struct op *op, const struct line *line, unsigned slot, int64_t qty);

#endif
