/* audit.h - the command `audit`: checks every invariant. */
#ifndef AUDIT_H
#define AUDIT_H

/* EXIT_DONE: all invariants hold. EXIT_TROUBLE: an invariant does not, and the rows that break it are printed. */
int audit_run(void);

#endif
