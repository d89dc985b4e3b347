/* thresholds.h - the calls about thresholds of levels. */
#ifndef API_THRESHOLDS_H
#define API_THRESHOLDS_H

#include "api/calls/job.h"

extern const struct job_kind put_threshold, delete_threshold, get_thresholds;

#endif
