/* busy.h - causes of `busy`. One code tells a client to come again; the cause tells an operator which resource was
 * short. Each process counts for itself. Any thread. */
#ifndef BUSY_H
#define BUSY_H

#include "engine/base/base.h"

enum busy_cause {
#define X(name, word) name,
#include "engine/busy.def"
#undef X
	BUSY_CAUSES
};

/* Counts one operation, or a request that became none, with a line event=busy at level debug. `id`: order_id or
 * movement_id, or else the request's id; "" where there is none. */
void        busy_count(enum busy_cause cause, const char *id);
int64_t     busy_counted(enum busy_cause cause);
const char *busy_name(enum busy_cause cause);

#endif
