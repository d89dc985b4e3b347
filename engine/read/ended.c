/* ended.c - see ended.h. A hold is over if no transaction has locked its row: each one that locks it from now on finds
 * that its time has passed (`is_kept`). Where the row is locked, an uncommitted read tells a change under which the
 * hold lives on from a sweep, a claim and a stranger's lock, behind all of which it is over. */
#include "engine/read/ended.h"
#include "engine/db/db.h"

#include <unistd.h>

enum { WRITTEN_US = 10000 }; /* a statement that found the time not passed has written its row by then */

static void row_count(void *arg, const struct db_row *row)
{
	(void)row;
	++*(size_t *)arg;
}

/* The hold of this number in the list; NULL: it is not there. */
static struct reservation **hold_of(const struct reservation_reader *in, uint64_t id)
{
	for (size_t i = 0; i < in->count; i++)
		if (in->list[i]->reservation_id == id)
			return &in->list[i];
	return NULL;
}

/* Puts what is committed `now` into the list. What is over there, and not as others have `written` it, is undecided. */
static void holds_replace(struct reservation_reader *in, struct reservation_reader *now,
                          const struct reservation_reader *written)
{
	for (size_t i = 0; i < now->count; i++) {
		struct reservation  *r = now->list[i], **as_written = hold_of(written, r->reservation_id);
		struct reservation **place = hold_of(in, r->reservation_id);

		if (reservation_just_ended(r) && as_written && reservation_reads(*as_written) != EXPIRED)
			r->read_at = r->expires_at - 1;
		now->list[i] = *place;
		*place = r;
	}
}

enum db_result ended_look(struct db *db, struct reservation_reader *in)
{
	struct reservation_reader now = {.catalogue = in->catalogue}, written = now;
	struct values             ids = {0};
	struct fill               fill = {.rows = &ids};
	size_t                    unlocked = 0;
	enum db_result            result;

	for (size_t i = 0; i < in->count; i++)
		if (reservation_just_ended(in->list[i]))
			values_row(&ids, V_INT(in->list[i]->reservation_id));
	if (ids.count == 0)
		return DB_OK;
	result = db_ask(db, RESERVATION_UNLOCKED, &fill, row_count, &unlocked);
	if (result == DB_OK && unlocked < ids.count) {
		usleep(WRITTEN_US);
		result = db_ask(db, DIRTY_READ, &fill, NULL, NULL);
		if (result == DB_OK)
			result = reservations_ask(db, RESERVATION_BY_ID, &fill, &written);
	}
	if (result == DB_OK)
		result = reservations_ask(db, RESERVATION_BY_ID, &fill, &now);
	if (result == DB_OK)
		holds_replace(in, &now, &written);
	reservations_free(now.list, now.count);
	reservations_free(written.list, written.count);
	values_fini(&ids);
	return result;
}
