/* ids.c - see ids.h. */
#include "engine/base/ids.h"
#include "engine/base/clock.h"

uint64_t id_make(struct ids *ids)
{
	enum { SET_BACK = 4000 }; /* a second: the clock was set back, and the last id was made ahead of time */
	int64_t tick = (clock_us() + ids->clock_offset_ms * 1000) / 250;

	if (tick > ids->tick || tick < ids->tick - SET_BACK) {
		ids->tick = tick;
		ids->count = 0;
	} else if (++ids->count == 512) {
		ids->tick++;
		ids->count = 0;
	}
	assert(ids->count < 512);
	return (uint64_t)ids->tick << 19 | (ids->owner & 1023) << 9 | ids->count;
}

uint64_t id_first(int64_t ms)
{
	return (uint64_t)ms * 4 << 19;
}
