/* history_call.h - what happened to an order. */
#ifndef HISTORY_CALL_H
#define HISTORY_CALL_H

#include "api/calls/job.h"

extern const struct job_kind get_history;

#endif
