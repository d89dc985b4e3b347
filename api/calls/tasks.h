/* tasks.h - calls of workers: claim, heartbeat, complete, fail, return, and reads of tasks. */
#ifndef TASKS_H
#define TASKS_H

struct request;

void post_task(struct request *r);
void post_task_heartbeat(struct request *r);
void post_task_complete(struct request *r);
void post_task_fail(struct request *r);
void post_task_return(struct request *r);
void get_task(struct request *r);
void get_tasks(struct request *r);

#endif
