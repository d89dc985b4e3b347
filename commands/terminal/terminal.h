/* terminal.h - functions of a command for a terminal only: size, colour, a picture that is drawn again and again. Main
 * thread. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include "engine/base/text.h"

bool     terminal_is(int fd);                    /* a terminal that knows escapes */
bool     terminal_paints(int fd);                /* with colours: not with NO_COLOR (no-color.org) */
unsigned terminal_width(int fd, unsigned *rows); /* columns; 80, and 24 rows, if unknown */
/* Adds the text as a terminal may have it: control characters and those that turn the direction of writing stand as
 * escapes. Returns the columns that it takes. */
size_t terminal_text(struct text *to, const char *from);

/* Signals that end the process end a terminal_wait from now on; the second one ends the process at once. `screen`: a
 * picture is drawn on stdout, keys come unseen; the terminal is put back by terminal_leave, by exit, and by every
 * signal that ends or stops the process. */
void terminal_enter(bool screen);
void terminal_leave(void);
bool terminal_wait(int64_t ms); /* pauses; true: q or a signal wants an end */

#endif
