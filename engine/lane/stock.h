/* stock.h - what a batch does to slots. */
#ifndef STOCK_H
#define STOCK_H

#include "engine/lane/state.h"

/* Additions that bring a total above this go alone, where the limit is exact. Below, lanes may add at the same moment:
 * a batch adds at most 5,000 lines of 1e9 units, which 200 lanes do not bring past 9e15. */
#define LIMIT_NEAR INT64_C(8000000000000000)

/* Fills own slots that have too little: in a transaction of its own, or (commits false) only makes the rows ready for
 * the gather that stock_write puts before the deduction. */
enum db_result stock_gather(struct lane *l, bool commits) MUST_CHECK;
void           stock_write(struct lane *l, bool gather);

#endif
