/* activity.h - the work of this process, second by second, for ten minutes: GET /v1/activity. Every figure is a
 * difference of counters that exist anyway, taken by the tick of the first loop. Any loop answers. */
#ifndef ACTIVITY_H
#define ACTIVITY_H

struct activity;
struct common;
struct request;

struct activity *activity_new(void);
void activity_tick(struct common *common); /* on the first loop's thread; the first time before a call may come */
void activity_free(struct activity *a);
void get_activity(struct request *r);

#endif
