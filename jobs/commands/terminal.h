/* terminal.h - what a command may do on a terminal, and only there: width, colour. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include "engine/base/text.h"

bool     terminal_is(int fd);     /* a terminal that knows escapes */
bool     terminal_paints(int fd); /* with colours: not with NO_COLOR (no-color.org) */
unsigned terminal_width(int fd);  /* columns; 80 where nobody knows */
/* Adds the text as a terminal may have it: control characters and those that turn the direction of writing stand as
 * escapes. Returns the columns that it takes. */
size_t terminal_text(struct text *to, const char *from);

#endif
