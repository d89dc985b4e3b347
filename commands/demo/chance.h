/* chance.h - numbers that look like chance and repeat: whoever asks for the same thing gets the same numbers. Pure. */
#ifndef CHANCE_H
#define CHANCE_H

#include "engine/base/base.h"

struct chance {
	uint64_t state;
};
/* The numbers of thing `number` of this kind, which is any word. */
struct chance chance_for(const char *kind, int64_t number);
int           chance_below(struct chance *c, int n); /* 0 to n - 1 */

#endif
