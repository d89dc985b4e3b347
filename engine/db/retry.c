/* retry.c - see retry.h. */
#include "engine/db/retry.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"

#include <unistd.h>

void retry_pause(enum db_result result, unsigned tries)
{
	unsigned char chance;

	if (result == DB_RETRY || result == DB_DUPLICATE) {
		random_bytes(&chance, sizeof(chance));
		usleep((tries < 6 ? 500u << tries : 32000u) * chance / 256);
	} else if (result != DB_LOCKED) {
		usleep(tries < 10 ? 10000u * tries : 100000u);
	}
}

bool retry_again(struct retry *r, enum db_result result)
{
	assert(r->results && (r->tries_max || r->until_ms));
	if (!(r->results >> result & 1))
		return false;
	r->tries++;
	r->errors += result == DB_ERROR;
	if (r->errors == RETRY_ERRORS || r->tries == r->tries_max || (r->until_ms && clock_ms() > r->until_ms))
		return false;
	retry_pause(result, r->tries);
	return true;
}
