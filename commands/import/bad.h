/* bad.h - a file of bad rows with their reasons, which can be corrected and loaded by itself. It is written beside its
 * name, and gets the name when it is whole. */
#ifndef BAD_H
#define BAD_H

#include "engine/base/text.h"

#include <stdio.h>

struct bad {
	const char *name;
	struct text beside; /* the name under which it is written */
	FILE       *out;    /* NULL: there is no bad row so far */
	int64_t     rows;
};
/* Writes a row: first why it is wrong, then the row as it stands in its file. `head` is that file's first line. false:
 * it cannot be written; a message has said so. */
bool bad_row(struct bad *b, const char *wrong, const char *row, size_t row_len, const struct text *head,
             char separator) MUST_CHECK;
/* Gives the file its name. false: another file has the name, which may hold rows that were corrected, or it cannot be
 * written; a message has said so, and nothing is left. Without a bad row there is no file. */
bool bad_end(struct bad *b) MUST_CHECK;
void bad_fini(struct bad *b); /* removes what has no name yet */

#endif
