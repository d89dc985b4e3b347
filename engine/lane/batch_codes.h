/* batch_codes.h - codes of a batch become numbers of skus and locations. All functions run on the lane's connection. */
#ifndef LANE_CODES_H
#define LANE_CODES_H

#include "engine/write/state.h"

enum db_result codes_resolve(struct lane *l) MUST_CHECK; /* reads codes that the catalogue lacks */
/* Makes new skus and locations of movements, and commits them; refuses receipts that would pass the limit first. */
enum db_result codes_make(struct lane *l) MUST_CHECK;
bool op_makes_codes(const struct op *op); /* true: codes_make will be needed, unless the movement is a replay */

#endif
