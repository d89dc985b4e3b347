/* buried.c - see buried.h. */
#include "api/calls/buried.h"
#include "api/calls/page.h"
#include "api/request.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/read/cursor.h"
#include "jobs/task/kick.h"
#include "jobs/task/task.h"

enum { GROUPS_MAX = 100 };

struct buried_call {
	struct job_call     job;
	struct buried_place after; /* asked */
	struct buried_page  page;
	struct kick_walk    kicks;
	char               *error; /* owned */
};

static void call_fini(void *arg)
{
	struct buried_call *call = arg;

	buried_page_fini(&call->page);
	free(call->error);
}

static void *call_new(struct request *r)
{
	struct buried_call *call = mem_alloc(sizeof(*call));

	call->kicks.by = r->key ? r->key->key_id : 0;
	return call;
}

static const struct job_noun noun = {call_new, call_fini};

/* Both calls walk in the same order. */
static bool place_read(const char *cursor, struct buried_place *place)
{
	int64_t none;

	return cursor_read(cursor, 'b', 0, &none, &place->due_at, &place->id) && place->due_at >= 0 &&
	       place->due_at <= TIME_LAST && place->id >= 0;
}

static void place_write(char cursor[CURSOR_SIZE], const struct buried_place *place)
{
	cursor_write(cursor, 'b', 0, 0, place->due_at, place->id);
}

/* ---- by error */

static bool page_begin(void *arg, const char *cursor)
{
	struct buried_call *call = arg;

	return !cursor || place_read(cursor, &call->after);
}

static enum db_result run_page(struct db *db, void *arg)
{
	struct buried_call *call = arg;

	buried_page_fini(&call->page);
	call->page = (struct buried_page){.after = call->after};
	return buried_read(db, &call->page);
}

static void group_write(struct json_writer *w, const void *item)
{
	const struct buried_group *g = item;

	if (g->error)
		json_put_string(w, "error", g->error);
	else
		json_put_null(w, "error");
	json_put_int(w, "orders", g->orders);
	json_put_time(w, "oldest", g->oldest_at);
}

static void groups_write(struct json_writer *w, void *arg)
{
	const struct buried_call *call = arg;
	const struct buried_page *p = &call->page;
	size_t                    most = call->job.limit < GROUPS_MAX ? call->job.limit : GROUPS_MAX;
	size_t                    count = p->count < most ? p->count : most;
	char                      cursor[CURSOR_SIZE] = "";
	int64_t                   other = p->orders;

	for (size_t i = 0; i < count; i++)
		other -= p->groups[i].orders;
	assert(other >= 0);
	if (p->orders == BURIED_WALK)
		place_write(cursor, &p->after);
	page_write(w, p->groups, count, sizeof(*p->groups), group_write, cursor);
	json_put_int(w, "other", other);
	json_put_int(w, "counted", p->orders);
}

static const struct job_page page = {.begin = page_begin};

const struct job_kind get_buried = {&noun, NULL, run_page, groups_write, &page};

/* ---- kicks */

static void read_kicks(struct json_reader *in, void *arg)
{
	struct buried_call *call = arg;
	const char         *error = NULL, *cursor = NULL;
	size_t              len = 0, cursor_len;

	call->kicks.unnamed = json_null(in, "error");
	if (!call->kicks.unnamed)
		json_string(in, "error", JSON_OPTIONAL, &error, &len);
	json_string(in, "cursor", JSON_OPTIONAL, &cursor, &cursor_len);
	if (len > NOTE_MAX)
		json_refuse(in, "error", "may have at most 500 bytes");
	if (cursor && !place_read(cursor, &call->after))
		json_refuse(in, "cursor", "is not one that this call gave");
	call->error = mem_copy(error);
}

static enum db_result run_kicks(struct db *db, void *arg)
{
	struct buried_call *call = arg;

	call->kicks.error = call->error;
	call->kicks.after = call->after;
	return kick_walk(db, &call->kicks);
}

static void kicks_write(struct json_writer *w, void *arg)
{
	const struct kick_walk *k = &((struct buried_call *)arg)->kicks;
	char                    cursor[CURSOR_SIZE];

	json_put_int(w, "kicked", k->kicked);
	json_put_bool(w, "more", k->more);
	if (!k->more)
		return;
	place_write(cursor, &k->after);
	json_put_string(w, "cursor", cursor);
}

const struct job_kind post_kicks = {&noun, read_kicks, run_kicks, kicks_write, NULL};
