/* background.c - see background.h. */
#include "jobs/background.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/base/thread.h"
#include "engine/db/writer.h"
#include "jobs/stop.h"

/* LOCK_WAIT_S: how long a chore waits for a lock of another connection. The other chores wait for it meanwhile. */
enum { CHORES_MAX = 8, CONFLICT_MS = 10, FAILED_MS = 500, LOCK_WAIT_S = 1 };

struct background {
	struct {
		struct chore chore;
		int64_t      due_ms; /* clock_ms */
		bool         failed; /* the last turn failed, and the log says so */
	} chores[CHORES_MAX];
	size_t      count;
	struct db  *db;
	struct stop stop;
	pthread_t   thread;
};

static bool connected(struct background *b)
{
	return db_connected(b->db) ||
	       (db_connect(b->db) &&
	        db_ask(b->db, LOCK_WAIT, &(struct fill){.wait_s = LOCK_WAIT_S}, NULL, NULL) == DB_OK);
}

/* Runs one turn of chore `i`. */
static void turn(struct background *b, size_t i)
{
	const struct chore *chore = &b->chores[i].chore;
	int64_t             pause_ms = FAILED_MS;
	enum db_result      result = DB_AWAY;

	if (connected(b))
		result = chore->turn(chore->arg, b->db, &pause_ms);
	if (result != DB_OK && result != DB_RETRY && result != DB_LOCKED && !b->chores[i].failed)
		log_event(LOG_WARN, "job_failed", "worker=%s why=\"%s\"", chore->name, db_error(b->db));
	b->chores[i].failed = result != DB_OK;
	if (result != DB_OK)
		pause_ms = result == DB_RETRY ? CONFLICT_MS : FAILED_MS;
	b->chores[i].due_ms = clock_ms() + pause_ms;
}

static void *background_main(void *arg)
{
	struct background *b = arg;
	int64_t            pause_ms = 0;

	while (!db_other_schema(b->db) && !stop_wait(&b->stop, pause_ms)) {
		int64_t due_ms = INT64_MAX;

		for (size_t i = 0; i < b->count; i++) {
			if (b->chores[i].due_ms <= clock_ms())
				turn(b, i);
			due_ms = b->chores[i].due_ms < due_ms ? b->chores[i].due_ms : due_ms;
		}
		pause_ms = due_ms > clock_ms() ? due_ms - clock_ms() : 0;
	}
	for (size_t i = 0; i < b->count; i++)
		b->chores[i].chore.leave(b->chores[i].chore.arg, b->db);
	writer_leave(b->db);
	return NULL;
}

struct background *background_open(struct source *source, const struct chore *chores, size_t count)
{
	struct background *b = mem_alloc(sizeof(*b));

	assert(count <= CHORES_MAX);
	stop_init(&b->stop);
	b->db = db_new(source);
	for (; b->count < count; b->count++)
		b->chores[b->count].chore = chores[b->count];
	thread_start(&b->thread, background_main, b);
	return b;
}

void background_close(struct background *b)
{
	if (!b)
		return;
	stop_now(&b->stop);
	pthread_join(b->thread, NULL);
	db_free(b->db);
	stop_fini(&b->stop);
	free(b);
}
