/* split.h - units that leave a reservation for a new one. */
#ifndef SPLIT_H
#define SPLIT_H

#include "engine/write/state.h"

void splits_change(struct lane *l); /* writes the first reservations and their lines */
/* Names the settled orders that were split off, for returns that are more than what was settled of the first. */
enum db_result parts_look_up(struct lane *l) MUST_CHECK;
void           splits_insert(struct lane *l); /* writes the parts, their lines, and the holds of keys that both are */
/* The part in that state at `now`, without its lines and texts. */
void split_parted(struct reservation *r, const struct op *op, enum reservation_state state, int64_t now);
/* The part as after the commit at `now`; the caller's. */
struct reservation *split_made(const struct op *op, int64_t now);

#endif
