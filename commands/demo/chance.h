/* chance.h - pseudo-random numbers. The same kind and number always give the same sequence. Pure. */
#ifndef CHANCE_H
#define CHANCE_H

#include "engine/base/base.h"

struct chance {
	uint64_t state;
};
/* The sequence of thing `number` of this kind. A kind is any word. */
struct chance chance_for(const char *kind, int64_t number);
int           chance_below(struct chance *c, int n); /* 0 to n - 1 */

#endif
