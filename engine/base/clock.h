/* clock.h - the clocks of this machine, and times of the database as numbers.
 *
 * Facts carry the database's time, in milliseconds since 1970 UTC. The clocks here are monotonic, for time-outs. */
#ifndef CLOCK_H
#define CLOCK_H

#include "engine/base/text.h"

int64_t clock_ms(void); /* monotonic */
int64_t clock_us(void);
int64_t clock_boot_ms(void); /* monotonic, and goes on while the machine is suspended: for ages that somebody is told */
#define TIME_NONE INT64_MIN  /* what a NULL in the database reads as */
int64_t time_parse(const char *datetime);       /* "2026-11-20 08:47:00.123" -> ms; NULL -> TIME_NONE */
void    time_write(struct text *t, int64_t ms); /* RFC 3339, UTC, milliseconds: 2026-11-20T08:47:00.123Z */

#endif
