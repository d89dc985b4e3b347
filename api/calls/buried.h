/* buried.h - calls about buried orders: why there are any, and many back to work at once. */
#ifndef BURIED_H
#define BURIED_H

#include "api/calls/job.h"

extern const struct job_kind get_buried, post_kicks;

#endif
