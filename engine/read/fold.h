/* fold.h - upper and lower case made one, for texts that are looked for in others. */
#ifndef FOLD_H
#define FOLD_H

#include "engine/base/base.h"

/* The character's simple case folding (CaseFolding.txt of Unicode, status C and S), for letters of ASCII, Latin-1,
 * Latin Extended-A and Additional, Greek and Cyrillic. Every other character stays as it is. */
uint32_t character_fold(uint32_t c);
/* Writes the folded text to `to`, which has room for len bytes, and returns the place behind it. A byte that is no
 * UTF-8 becomes a question mark. A NUL stands behind the len bytes of `from`. */
char *text_fold(char *to, const char *from, size_t len);

#endif
