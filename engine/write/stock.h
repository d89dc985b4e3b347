/* stock.h - a batch's writes to slots. */
#ifndef STOCK_H
#define STOCK_H

#include "engine/write/state.h"

/* LIMIT_NEAR: an addition that brings a total above this is a batch of its own, where the limit is exact. Below, lanes
 * may add at the same time: a batch adds at most 5,000 lines of SHARED_UNITS_MAX, which 200 lanes do not bring past
 * 9e15. */
#define LIMIT_NEAR INT64_C(8000000000000000)

/* Fills own slots that have too little, in a transaction of its own; their balances are not known then. With commits
 * false it only makes the rows ready for the gather that stock_write puts before the deduction. */
enum db_result stock_gather(struct lane *l, bool commits) MUST_CHECK;
void           stock_write(struct lane *l);
/* The guard: units leave the slots of l->rows, (take, hold, sku, location, slot), or all is undone as TXN_SHORT. A slot
 * comes once, and there is one at least; sorted by slot. Several slots go as one JSON, l->rows becomes its holder. */
void stock_deduct(struct lane *l);

#endif
