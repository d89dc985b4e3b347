/* tasks.h - calls of workers: claim, heartbeat, complete, fail, return, and reads of tasks. */
#ifndef TASKS_H
#define TASKS_H

#include "api/calls/job.h"

extern const struct job_kind post_task, post_task_heartbeat, post_task_complete, post_task_fail, post_task_return;
extern const struct job_kind get_task, get_tasks;

#endif
