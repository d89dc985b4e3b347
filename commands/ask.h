/* ask.h - calls of the API made by a command: the handler of the call answers, without a service and its sockets. */
#ifndef ASK_H
#define ASK_H

#include "engine/base/text.h"

struct asker;
/* Opens the database of the options and calls `act`, which asks. Returns the exit status. */
int ask_run(int (*act)(struct asker *a, void *arg), void *arg) MUST_CHECK;
/* Makes the call GET `target`, which is percent-encoded. Returns the status; `body` is the answer. */
int ask_get(struct asker *a, const char *target, struct text *body);
/* Says why a call was refused, in the words of its answer, and returns the exit status that goes with that. */
int ask_refused(int status, const struct text *body);

#endif
