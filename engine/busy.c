/* busy.c - see busy.h. */
#include "engine/busy.h"
#include "engine/base/log.h"

#include <stdatomic.h>

static const char *const names[] = {
#define X(name, word) word,
#include "engine/busy.def"
#undef X
};

static _Atomic int64_t counted[BUSY_CAUSES];

void busy_count(enum busy_cause cause, const char *id)
{
	assert(cause < BUSY_CAUSES);
	atomic_fetch_add_explicit(&counted[cause], 1, memory_order_relaxed);
	log_event(LOG_DEBUG, "busy", "cause=%s id=%s", names[cause], id);
}

int64_t busy_counted(enum busy_cause cause)
{
	return atomic_load_explicit(&counted[cause], memory_order_relaxed);
}

const char *busy_name(enum busy_cause cause)
{
	return names[cause];
}
