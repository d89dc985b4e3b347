/* activity.h - the work of this process, second by second, for ten minutes: GET /v1/activity. Every figure is a
 * difference of counters that exist anyway, taken by the tick of the loop. The loop's thread. */
#ifndef ACTIVITY_H
#define ACTIVITY_H

struct activity;
struct request;
struct requests;

struct activity *activity_new(void); /* for free */
void             activity_tick(struct requests *all);
void             get_activity(struct request *r);

#endif
