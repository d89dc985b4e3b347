/* follow.c - see follow.h. Readers that ask from one place are a group: one page is read for all of it, and one text is
 * made for readers that ask for as many events of the same types.
 *
 *   asks ─▶ due ─▶ its page is read ─┬─▶ events of these types: answered
 *            ▲                       └─▶ none: it waits with the group ─┬─▶ its time is over: an empty list
 *            └──── a look saw that something was written ───────────────┘
 *
 * The groups that wait stand at the end of the log as it was when their page was read. Readers for which a page has
 * nothing move on to its end. So groups meet there, and a look costs one page, however many readers ask, and for
 * whichever types. Answers go out in slices, so that a loop serves others in between. */
#include "engine/log/follow.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/base/thread.h"
#include "engine/busy.h"
#include "engine/db/retry.h"
#include "engine/log/feed.h"
#include "engine/log/telling.h"
#include "engine/loop.h"

#include <unistd.h>

enum {
	LOOK_MS = 100,    /* between two looks at the log, while a reader waits */
	SLICE_OPS = 256,  /* answers given together .. */
	SLICE_MS = 5,     /* .. so long after the last ones */
	CLOSED_US = 1000, /* a closed queue does not wait */
	QUIET_S = 5,      /* longest silence of the server: meanwhile no wait ends */
};

struct group {
	struct group *next;
	char         *after;         /* the place, as of struct follow */
	bool          due;           /* its page is to be read */
	bool          waits;         /* its readers wait at the end of the log */
	struct op    *first, **last; /* the readers, the one that came first in front */
	size_t        count;
};

struct follower {
	size_t         waiting_max;
	pthread_t      thread;
	struct queue   queue;
	struct db     *db;
	struct feed   *feed;
	struct group  *groups, **last;              /* the next one to be read in front */
	struct outbox  told;                        /* answers that wait for their slice */
	int64_t        look_ms, slice_ms, again_ms; /* clock_ms of the next look, the next slice, the next try */
	uint32_t       key_id;                      /* of the reader in front of the group that was read last */
	unsigned       failed, errors;              /* reads that failed since the last good one; of these DB_ERROR */
	bool           news;                        /* the last look saw something */
	_Atomic size_t waiting;                     /* readers of groups that wait */
	_Atomic size_t give_way;                    /* of them so many are to be answered */
	_Atomic bool   ends;                        /* no reader waits any more */
};

/* ---- readers and groups */

static bool group_is_at(const struct group *g, const char *after)
{
	return !g->after == !after && (!after || strcmp(g->after, after) == 0);
}

/* Puts the reader at `place` into the list of the group. */
static void group_put(struct follower *f, struct group *g, struct op **place, struct op *op)
{
	op->next = *place;
	*place = op;
	if (!op->next)
		g->last = &op->next;
	g->count++;
	atomic_fetch_add(&f->waiting, g->waits);
}

/* Takes the reader at `place` out of the list of its group. */
static struct op *group_take(struct follower *f, struct group *g, struct op **place)
{
	struct op *op = *place;

	*place = op->next;
	if (!op->next)
		g->last = place;
	g->count--;
	atomic_fetch_sub(&f->waiting, g->waits);
	return op;
}

static struct group *group_new(struct follower *f, const char *after)
{
	struct group *g = mem_alloc(sizeof(*g));

	*g = (struct group){.due = true};
	g->after = mem_copy(after);
	g->last = &g->first;
	*f->last = g;
	f->last = &g->next;
	return g;
}

static void group_unlink(struct follower *f, struct group *g)
{
	struct group **place = &f->groups;

	while (*place != g)
		place = &(*place)->next;
	*place = g->next;
	if (!g->next)
		f->last = place;
	g->next = NULL;
}

static void group_free(struct follower *f, struct group *g)
{
	assert(g->count == 0);
	group_unlink(f, g);
	free(g->after);
	free(g);
}

/* A reader that does not wait sees all that was committed before it asked, so its page is read after that. */
static void join(struct follower *f, struct op *op)
{
	struct follow *asks = op->follow;
	struct group  *g = f->groups;

	while (g && !(group_is_at(g, asks->after) && (!g->waits || asks->wait_s > 0)))
		g = g->next;
	if (!g)
		g = group_new(f, asks->after);
	free(asks->after); /* ten thousand cursors are one */
	asks->after = NULL;
	group_put(f, g, g->last, op);
}

/* ---- answers */

/* Answers the reader at `place`. */
static void tell(struct follower *f, struct group *g, struct op **place, enum outcome outcome, struct text_shared *page)
{
	struct op *op = group_take(f, g, place);

	op->outcome = op_take(op) ? outcome : DATABASE_AWAY; /* otherwise its client is gone */
	op->follow->page = page ? text_share(page) : NULL;
	outbox_put(&f->told, op);
}

/* Nothing in the page is no answer for the reader: it waits, or looks on in the pages behind this one. */
static bool stays(const struct follower *f, const struct group *g, const struct op *op)
{
	return g->waits || (!atomic_load(&f->ends) && clock_ms() < op->arrived_ms + LOOK_ON_MS);
}

/* Answers readers from the page. Those for which it has nothing stay. */
static void group_tell(struct follower *f, struct group *g, struct telling *t)
{
	for (struct op **place = &g->first, *op; (op = *place);) {
		struct text_shared *text = telling_text(t, &op->follow->filter, op->follow->limit,
		                                        stays(f, g, op));

		if (text)
			tell(f, g, place, OUTCOME_OK, text);
		else
			place = &op->next;
	}
}

static void slice_send(struct follower *f)
{
	struct outbox slice;
	int64_t       now_ms = clock_ms();

	if (!f->told.first || now_ms < f->slice_ms)
		return;
	outbox_init(&slice);
	for (int i = 0; i < SLICE_OPS && f->told.first; i++) {
		struct op *op = f->told.first;

		f->told.first = op->next;
		outbox_put(&slice, op);
	}
	f->slice_ms = f->told.first ? now_ms + SLICE_MS : 0;
	if (!f->told.first)
		outbox_init(&f->told);
	outbox_send(&slice);
}

/* ---- the end of a wait */

/* Answers the readers of a group that waits when their time is over, and lets go a reader without a client. false: no
 * reader is left, the group is gone. */
static bool group_sweep(struct follower *f, struct group *g)
{
	struct text_shared *page = NULL;
	int64_t             now_ms = clock_ms();
	bool                ends = atomic_load(&f->ends);

	for (struct op **place = &g->first, *op; (op = *place);) {
		if (!op_cancelled(op) &&
		    !(g->waits && (ends || now_ms >= op->arrived_ms + op->follow->wait_s * 1000))) {
			place = &op->next;
			continue;
		}
		if (g->waits && !page)
			page = telling_none(g->after);
		tell(f, g, place, OUTCOME_OK, page);
	}
	text_leave(page);
	if (g->count > 0)
		return true;
	group_free(f, g);
	return false;
}

static void sweep(struct follower *f)
{
	for (struct group *g = f->groups, *next; g; g = next) {
		next = g->next;
		(void)group_sweep(f, g);
	}
}

/* Answers the reader that waits longest. */
static void longest_tell(struct follower *f)
{
	struct group       *longest = NULL;
	struct text_shared *page;

	for (struct group *g = f->groups; g; g = g->next)
		if (g->waits && (!longest || g->first->arrived_ms < longest->first->arrived_ms))
			longest = g;
	assert(longest);
	page = telling_none(longest->after);
	longest->first->follow->gives_way = true;
	tell(f, longest, &longest->first, OUTCOME_OK, page);
	text_leave(page);
	if (longest->count == 0)
		group_free(f, longest);
}

static void give_way(struct follower *f)
{
	size_t asked = atomic_exchange(&f->give_way, 0), waiting = atomic_load(&f->waiting);

	if (waiting > f->waiting_max && waiting - f->waiting_max > asked)
		asked = waiting - f->waiting_max;
	for (; asked > 0 && atomic_load(&f->waiting) > 0; asked--)
		longest_tell(f);
}

/* ---- reading */

/* A new connection counts as news: feed_look compares with the look before, and may have missed events meanwhile. */
static bool connected(struct follower *f)
{
	if (db_connected(f->db))
		return true;
	if (!db_connect(f->db))
		return false;
	f->news = true;
	return true;
}

/* True: the log may be asked. A connection that was idle for long is tried again at once, then there is a pause. */
static bool succeeded(struct follower *f, enum db_result result)
{
	if (result == DB_OK) {
		f->failed = f->errors = 0;
		return true;
	}
	f->errors += result == DB_ERROR;
	f->again_ms = f->failed++ ? clock_ms() + LOOK_MS : 0;
	return false;
}

/* Groups that wait go on waiting. Others are given up as every read is. */
static void group_failed(struct follower *f, struct group *g, enum db_result result)
{
	bool lost =
		(result == DB_ERROR && f->errors >= RETRY_ERRORS) || (!db_connected(f->db) && db_other_schema(f->db));
	bool        away = result == DB_AWAY || result == DB_UNKNOWN;
	struct op **place = &g->first;

	if (g->waits)
		return;
	while (*place && (lost || clock_ms() > (*place)->arrived_ms + WAIT_MS)) {
		if (!away)
			busy_count(BUSY_READER_FAILED, "events");
		tell(f, g, place, away ? DATABASE_AWAY : BUSY, NULL);
	}
	if (g->count > 0)
		return;
	log_event(LOG_ERROR, "statement_failed", "errno=%u why=\"%s\"", db_errno(f->db), db_error(f->db));
	group_free(f, g);
}

/* Moves all readers of `from` into `g`, by the time of their coming. */
static void groups_merge(struct follower *f, struct group *g, struct group *from)
{
	struct op **place = &g->first;

	while (from->first) {
		struct op *op = group_take(f, from, &from->first);

		while (*place && (*place)->arrived_ms <= op->arrived_ms)
			place = &(*place)->next;
		group_put(f, g, place, op);
	}
	group_free(f, from);
}

/* The group has come to the end of the log: it waits there, with the readers that wait already. */
static void group_wait(struct follower *f, struct group *g)
{
	g->due = false;
	if (!g->waits)
		atomic_fetch_add(&f->waiting, g->count);
	g->waits = true;
	if (!group_sweep(f, g))
		return;
	for (struct group *other = f->groups; other; other = other->next)
		if (other != g && other->waits && group_is_at(other, g->after)) {
			groups_merge(f, other, g);
			return;
		}
}

/* Reads a page with all that the readers of the group want together. */
static enum db_result page_read(struct follower *f, const struct group *g, struct feed_page *page,
                                enum outcome *outcome)
{
	struct event_filter filter = {0};
	unsigned            limit = 0;

	for (const struct op *op = g->first; op; op = op->next) {
		const struct follow *asks = op->follow;

		filter.all |= asks->filter.all;
		for (size_t type = 0; type < EVENT_TYPES; type++)
			filter.wanted[type] |= asks->filter.wanted[type];
		limit = limit < asks->limit ? asks->limit : limit;
	}
	return feed_read(f->feed, f->db, g->after, &filter, limit, page, outcome);
}

static void page_tell(struct follower *f, struct group *g, const struct feed_page *page)
{
	struct telling *t = telling_new(page);

	group_tell(f, g, t);
	free(g->after);
	g->after = mem_copy(t->cursor);
	if (!t->more)
		group_wait(f, g);
	else if (g->count == 0)
		group_free(f, g);
	telling_free(t);
}

static void group_read(struct follower *f, struct group *g)
{
	struct feed_page page = {0};
	enum outcome     outcome = OUTCOME_OK;
	enum db_result   result = DB_AWAY;

	f->key_id = g->first->key_id;
	if (connected(f))
		result = page_read(f, g, &page, &outcome);
	if (!succeeded(f, result)) {
		group_failed(f, g, result);
	} else if (outcome == OUTCOME_OK) {
		page_tell(f, g, &page);
	} else {
		while (g->first)
			tell(f, g, &g->first, outcome, NULL);
		group_free(f, g);
	}
	feed_page_fini(&page);
}

/* The first group that is due; keys take turns, so that none holds up the others by many groups. */
static struct group *group_next(const struct follower *f)
{
	struct group *first = NULL;

	for (struct group *g = f->groups; g; g = g->next) {
		if (g->due && g->first->key_id != f->key_id)
			return g;
		if (g->due && !first)
			first = g;
	}
	return first;
}

/* Reads for the next group, which goes to the end of the list. */
static void read_next(struct follower *f)
{
	struct group *g = group_next(f);

	if (!g || clock_ms() < f->again_ms)
		return;
	group_unlink(f, g);
	*f->last = g;
	f->last = &g->next;
	group_read(f, g);
}

/* A page may end before what a look has seen, where a transaction of a smaller number shows later: so the pages are
 * read after the next look, too. */
static void look(struct follower *f)
{
	bool news = false;

	if (!connected(f) || !succeeded(f, feed_look(f->feed, f->db, &news)))
		return;
	for (struct group *g = f->groups; g; g = g->next)
		g->due |= g->waits && (news || f->news);
	f->news = news;
}

/* ---- the thread */

/* The ms for which there is nothing to do unless a reader comes. */
static int pause_ms(const struct follower *f)
{
	int64_t now_ms = clock_ms(), until_ms = now_ms + IDLE_MS;

	if (f->groups)
		until_ms = group_next(f) && f->again_ms < f->look_ms ? f->again_ms : f->look_ms;
	if (f->told.first && f->slice_ms < until_ms)
		until_ms = f->slice_ms;
	return until_ms > now_ms ? (int)(until_ms - now_ms) : 0;
}

static void turn(struct follower *f)
{
	int64_t now_ms = clock_ms();

	if (f->groups && now_ms >= f->look_ms) {
		f->look_ms = now_ms + LOOK_MS;
		if (atomic_load(&f->waiting) > 0)
			look(f);
		sweep(f);
	}
	read_next(f);
	give_way(f);
	slice_send(f);
}

/* The thread takes its whole queue at once: readers that one page has answered come back together. */
static void *follow_main(void *arg)
{
	struct follower *f = arg;
	struct op       *taken[QUEUE_OPS];
	bool             ends = false;

	for (;;) {
		size_t count = queue_take(&f->queue, taken, QUEUE_OPS, pause_ms(f));

		if (count == 0 && queue_closed(&f->queue)) {
			if (!f->groups && !f->told.first)
				return NULL;
			usleep(CLOSED_US);
		}
		for (size_t i = 0; i < count; i++)
			join(f, taken[i]);
		if (atomic_load(&f->ends) && !ends)
			sweep(f);
		ends = atomic_load(&f->ends);
		turn(f);
	}
}

struct follower *follow_open(struct shared *shared, size_t waiting_max)
{
	struct follower *f = mem_alloc(sizeof(*f));

	f->waiting_max = waiting_max;
	f->db = db_new(shared->source);
	db_silence_set(f->db, QUIET_S);
	f->feed = feed_new(shared->catalogue);
	f->last = &f->groups;
	queue_init(&f->queue);
	outbox_init(&f->told);
	thread_start(&f->thread, follow_main, f);
	return f;
}

void follow_close(struct follower *f)
{
	follow_give_way(f, SIZE_MAX);
	queue_close(&f->queue);
	pthread_join(f->thread, NULL);
	queue_fini(&f->queue);
	feed_free(f->feed);
	db_free(f->db);
	free(f);
}

struct queue *follow_queue(struct follower *f)
{
	return &f->queue;
}

void follow_give_way(struct follower *f, size_t count)
{
	if (count == SIZE_MAX)
		atomic_store(&f->ends, true);
	else
		atomic_fetch_add(&f->give_way, count);
	queue_poke(&f->queue);
}

size_t follow_waiting(struct follower *f)
{
	return atomic_load(&f->waiting);
}
