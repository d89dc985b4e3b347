/* waiting_call.h - the handler of GET /v1/skus/{sku}/waiting. */
#ifndef API_WAITING_H
#define API_WAITING_H

#include "api/calls/job.h"

extern const struct job_kind get_waiting;

#endif
