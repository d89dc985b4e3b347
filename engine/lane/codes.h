/* codes.h - codes of a batch become numbers of skus and locations. Each runs on the lane's connection. */
#ifndef LANE_CODES_H
#define LANE_CODES_H

#include "engine/lane/state.h"

enum db_result codes_resolve(struct lane *l) MUST_CHECK; /* reads what the catalogue lacks */
/* Makes new skus and locations of movements, and commits them; refuses receipts that would pass the limit first. */
enum db_result codes_make(struct lane *l) MUST_CHECK;
bool           op_makes_codes(const struct op *op); /* will it need that, unless it is a replay? */

#endif
