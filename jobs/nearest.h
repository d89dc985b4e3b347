/* nearest.h - what somebody may have meant who mistyped a word. Pure. */
#ifndef NEAREST_H
#define NEAREST_H

#include "engine/base/base.h"

/* Of the names 0 to count - 1 (NULL: none) the one that takes the fewest changes of a letter to become `word`, the
 * first of equals; NULL: none is near, a change for every four letters and one more. A - is as good as a _. */
const char *nearest(const char *word, size_t len, size_t count, const char *(*name)(size_t i));

#endif
