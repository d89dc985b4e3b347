/* writer.c - see writer.h. */
#include "engine/db/writer.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/db/statement.h"

static void writer_read(void *arg, const struct db_row *row)
{
	struct db_writer *w = arg;

	w->writer_id = db_int(row, 0);
	w->epoch = db_int(row, 1);
	w->batch_no = db_int(row, 2);
	w->batch_at = time_parse(row->col[3]);
	w->now = time_parse(row->col[4]);
	w->logs = db_int(row, 5) != 0;
	w->stamp = db_int(row, 6);
	if (w->writer_id <= 0 || w->epoch <= 0 || w->batch_at == TIME_NONE || w->now == TIME_NONE)
		db_other(row);
}

enum db_result writer_enter(struct db *db, unsigned slot)
{
	struct db_writer *w = db_writer(db);
	enum db_result    result = DB_OK;
	int64_t           mark;

	if (w->epoch)
		return DB_OK;
	if (w->mark)
		result = db_ask(db, WRITER_RAISE, &(struct fill){.writer = w->writer_id, .mark = w->mark}, writer_read,
		                w);
	if (result != DB_OK || w->epoch)
		return result;
	mark = random_number();
	result = db_ask(db, WRITER_TAKE, &(struct fill){.slot = slot, .mark = mark}, writer_read, w);
	if (result == DB_OK && !w->epoch)
		result = db_answered_other(db, false);
	assert(result != DB_OK || w->epoch > 0);
	if (result == DB_OK)
		w->mark = mark; /* not before it is committed: a mark that never was would look like another past */
	return result;
}

/* A statement about the writer, if there is one. */
static enum db_result writer_tell(struct db *db, enum statement name)
{
	struct db_writer *w = db_writer(db);

	if (!w->epoch)
		return DB_OK;
	return db_ask(db, name, &(struct fill){.writer = w->writer_id, .mark = w->mark, .epoch = w->epoch}, NULL, NULL);
}

enum db_result writer_touch(struct db *db)
{
	return writer_tell(db, WRITER_TOUCH);
}

void writer_leave(struct db *db)
{
	if (writer_tell(db, WRITER_LEAVE) != DB_OK)
		log_event(LOG_WARN, "writer_stays", "writer=%lld why=\"%s\"", (long long)db_writer(db)->writer_id,
		          db_error(db));
	db_writer(db)->epoch = 0;
}
