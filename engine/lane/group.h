/* group.h - the items of an atomic call, which are done together or not at all. Pure, as decide.h. */
#ifndef GROUP_H
#define GROUP_H

#include "engine/write/batch.h"

/* Notes what is left of all that these operations may take, before they are decided. */
void group_mark(struct batch *b, struct op *const *ops, size_t count);
/* Call when each of them is decided as if it had been alone. Where the call is refused, none of them writes, what is
 * left is as it was marked, and an item that is not the reason gets NOT_DONE. */
void group_judge(struct batch *b, struct op *const *ops, size_t count);

#endif
