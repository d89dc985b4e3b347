/* clock.h - the clocks of this machine, and times of the database as numbers.
 *
 * Facts carry the database's time, in milliseconds since 1970 UTC. The clocks here are monotonic, for time-outs. */
#ifndef CLOCK_H
#define CLOCK_H

#include "engine/base/text.h"

#include <pthread.h>
#include <stdatomic.h>

int64_t clock_ms(void); /* monotonic */
int64_t clock_us(void);
/* Times by clock_ms that any thread may read and put off; 0: never. */
bool    clock_before(const _Atomic int64_t *until_ms);           /* True: the time is still to come. */
void    clock_extend(_Atomic int64_t *until_ms, int64_t for_ms); /* Sets the time to so long from now, never nearer. */
int64_t clock_boot_ms(void); /* Monotonic; goes on while the machine is suspended. Ages that clients are told are taken
                                from this clock. */
int64_t clock_wall_ms(void); /* Since 1970 UTC, as this machine has it: for what the database does not see. */
bool clock_due(int64_t *due_ms, int64_t pause_ms); /* True: the time has come; the next is so long from now. */
void clock_cond_init(pthread_cond_t *cond);        /* waits of it end by the monotonic clock, .. */
struct timespec clock_until(int64_t ms);           /* .. by this time, ms from now */
#define TIME_NONE INT64_MIN                        /* a NULL of the database */
#define TIME_LAST INT64_C(253402300799999)         /* the last ms of the year 9999 */
int64_t time_parse(const char *datetime);          /* "2026-11-20 08:47:00.123" -> ms; NULL -> TIME_NONE */
/* RFC 3339, UTC, milliseconds: 2026-11-20T08:47:00.123Z. A time before 1970 or behind TIME_LAST is told as these. */
void time_write(struct text *t, int64_t ms);
/* Reads a time of RFC 3339, from 1970 on, with any offset; microseconds, digits behind them are dropped. false: it is
 * none. */
bool time_read(const char *rfc3339, int64_t *us) MUST_CHECK;

#endif
