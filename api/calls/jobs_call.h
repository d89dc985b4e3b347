/* jobs_call.h - calls about jobs: which are paused, and what they have to do. */
#ifndef API_JOBS_H
#define API_JOBS_H

#include "api/calls/job.h"

extern const struct job_kind put_job, get_jobs;

#endif
