/* upkeep.c - see upkeep.h. */
#include "commands/upkeep.h"
#include "engine/base/log.h"

void upkeep_note(struct db *db, enum statement what, int64_t began_at)
{
	assert(what == UPKEEP_BACKED_UP || what == UPKEEP_AUDITED || what == UPKEEP_AUDIT_FAILED);
	if (db_ask(db, what, &(struct fill){.began_at = began_at}, NULL, NULL) != DB_OK)
		say("/metrics will not know of this: %s", db_error(db));
}
