/* nearest.h - the name that a mistyped word may stand for. Pure. */
#ifndef NEAREST_H
#define NEAREST_H

#include "engine/base/base.h"

/* Of the names 0 to count - 1 (NULL: none) the one that takes the fewest changes of a letter to become `word`, the
 * first of equals; NULL: none is near, a change for every four letters and one more. Its beginning,
 * of three letters or more, is as near as one change. A - is as good as a _. Any thread. */
const char *nearest(const char *word, size_t len, size_t count, const char *(*name)(const void *arg, size_t i),
                    const void *arg);

#endif
