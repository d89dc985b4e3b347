/* spare.h - memory put aside for the moment when there is none.
 *
 * libevent does not bear to be refused a small piece of memory: it would send half an answer, or crash. So at the first
 * refusal what was put aside is given back and the piece is got again. Until it could be put aside anew, requests are
 * answered 503, which takes little. If even that is not enough, the process ends with one line, as everywhere. */
#ifndef SPARE_H
#define SPARE_H

#include "engine/base/base.h"

/* Before anything else is asked of libevent, which is used on one thread. */
void spare_open(void);
/* false: it is given out, and there is not enough memory to put it aside again. */
bool spare_is_there(void) MUST_CHECK;
/* Tries to put it aside again. */
void spare_tick(void);

#endif
