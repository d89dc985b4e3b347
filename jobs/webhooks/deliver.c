/* deliver.c - see deliver.h. One loop: it claims webhooks, renews and reads its rows, reads one page for one webhook,
 * begins attempts, and lets the sender work until an attempt has ended or something is due. */
#include "jobs/webhooks/deliver.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/db/db.h"
#include "engine/log/feed.h"
#include "engine/catalogue/past.h"
#include "engine/read/census.h"
#include "jobs/pause.h"
#include "jobs/webhooks/hook.h"
#include "jobs/webhooks/webhook.h"

/* CLAIMS: webhooks in the first claim, so that several deliverers get some each. CLAIMS_MAX: webhooks in one claim, if
 * there are many. A lease is renewed after a third of its time. */
enum {
	CLAIM_MS = 500,
	CLAIMS = 8,
	CLAIMS_MAX = 128,
	LOOK_MS = 100,
	WATCH_MS = 500,
	SAVE_MS = 1000,
	LIST_MS = 1500, /* plus one look: a list of attempts is 2 s old at most */
	REREAD_MS = 5000,
	FAILED_MS = 500,
	CLOSE_MS = 300,
	POSTED_MAX = 64,
	UNAVAILABLE_MS = 30000,
};

struct deliverer {
	const struct work *work;
	struct db         *db;
	struct sender     *sender;
	struct feed       *feed;    /* one for all hooks, so that events read ahead are kept once */
	int64_t            task_id; /* drawn by chance */
	struct hook      **hooks;
	size_t             count, max;
	struct values      sealed;          /* sealed secrets that do not open here; the first is "" */
	int64_t            paused;          /* 1: the job is paused, and no attempt begins */
	bool               claims;          /* the last claim has taken webhooks */
	int64_t            claims_max;      /* webhooks that the next claim takes at most */
	size_t             turn;            /* the hook that reads next */
	struct text        body;            /* of the attempt that is being begun */
	int64_t            leased_until_ms; /* clock_ms: no attempt begins later, a tenth before the lease ends */
	int64_t            claim_ms, look_ms, watch_ms, renew_ms, reread_ms, counted_ms; /* clock_ms when each is due */
	int64_t            since_ms; /* when the database last answered without an error */
	int                status;
};

/* ---- rows of the database */

/* Writes the list of attempts into the row, for clients that ask for it. */
static enum db_result attempts_save(struct deliverer *d, struct hook *h)
{
	struct text    list = {0};
	enum db_result result;

	attempts_write(&h->attempts, &list);
	result = db_ask(d->db, WEBHOOK_ATTEMPTS_SAVE,
	                &(struct fill){.webhook = h->webhook.webhook_id,
	                               .mark = h->webhook.mark,
	                               .task = d->task_id,
	                               .version = h->webhook.version,
	                               .attempts = list.data,
	                               .instance = process_mark()},
	                NULL, NULL);
	text_fini(&list);
	h->listed_ms = clock_ms();
	return result;
}

/* Writes how far the hook has come into its row, unless another deliverer has the row now. The list of attempts of a
 * webhook that goes off is written first: a client that reads `off` finds the attempt that was the reason. */
static enum db_result hook_save(struct deliverer *d, struct hook *h, int64_t now_ms)
{
	int64_t               due_ms = now_ms, oldest_at = hook_oldest(h);
	char                  id[EVENT_ID_SIZE];
	const struct failing *failing = hook_failing(h, id, &due_ms);
	struct text           ahead = {0};
	enum db_result        result = h->state == WEBHOOK_ACTIVE ? DB_OK : attempts_save(d, h);

	if (result != DB_OK)
		return result;
	hook_ahead(h, &ahead);
	result = db_ask(d->db, WEBHOOK_SAVE,
	                &(struct fill){.webhook = h->webhook.webhook_id,
	                               .mark = h->webhook.mark,
	                               .task = d->task_id,
	                               .version = h->webhook.version,
	                               .state = h->state,
	                               .lease_s = d->work->lease_s,
	                               .cursor = window_place(h->window),
	                               .ahead = ahead.data,
	                               .behind = oldest_at != TIME_NONE,
	                               .from_at = oldest_at != TIME_NONE ? oldest_at : 0,
	                               .status = h->last_status,
	                               .error = *h->last_error ? h->last_error : NULL,
	                               .failures = failing ? failing->count : 0,
	                               .event = failing ? id : NULL,
	                               .failing_ms = failing ? now_ms - failing->since_ms : 0,
	                               .pause_ms = due_ms > now_ms ? due_ms - now_ms : 0},
	                NULL, NULL);
	text_fini(&ahead);
	if (result != DB_OK)
		return result;
	h->changed = false;
	h->saved_ms = now_ms;
	if (db_changed(d->db) == 0 || h->state != WEBHOOK_ACTIVE)
		h->left = true;
	if (db_changed(d->db) == 0 || h->state == WEBHOOK_ACTIVE)
		return DB_OK;
	log_event(LOG_WARN, "webhook_off", "webhook=%s reason=%s status=%d failures=%u why=%s", h->webhook.webhook_id,
	          webhook_reason(h->state), h->last_status, failing ? failing->count : 0, h->last_error);
	return DB_OK;
}

/* False if the row was claimed again since, or is a new webhook with the same id: the hook's knowledge is void then. */
static bool is_of(const struct hook *h, const struct webhook *row)
{
	return !h->left && h->webhook.mark == row->mark && h->webhook.version == row->version &&
	       strcmp(h->webhook.webhook_id, row->webhook_id) == 0;
}

/* Leaves the webhook to a process with another key: its secret does not open here. */
static enum db_result row_pass(struct deliverer *d, struct webhook *row)
{
	log_event(LOG_ERROR, "webhook_sealed", "webhook=%s hint=\"--webhooks-key is not the key of its secret\"",
	          row->webhook_id);
	values_row(&d->sealed, V_TEXT(row->secrets[0]));
	row->secrets[0] = NULL; /* owned by the list now */
	return db_ask(d->db, WEBHOOK_PASS,
	              &(struct fill){.webhook = row->webhook_id, .mark = row->mark, .task = d->task_id}, NULL, NULL);
}

static void ahead_read(void *arg, const struct db_row *row)
{
	char **ahead = arg;

	if (*ahead)
		db_other(row);
	else
		*ahead = mem_copy(row->col[0]);
}

/* A row that a hook has already. */
static enum db_result row_again(struct deliverer *d, struct hook *h, struct webhook *row)
{
	h->left = !hook_secrets(h, &d->work->webhooks->vault, row);
	if (h->left)
		return row_pass(d, row);
	return row->asked && clock_ms() - h->listed_ms >= LIST_MS ? attempts_save(d, h) : DB_OK;
}

/* Keeps the attempts of a webhook that was enabled, which comes back with another version. */
static void attempts_inherit(struct deliverer *d, struct hook *h)
{
	for (size_t i = 0; i < d->count; i++) {
		struct hook *before = d->hooks[i];

		if (!before->left || before->webhook.mark != h->webhook.mark ||
		    strcmp(before->webhook.webhook_id, h->webhook.webhook_id) != 0)
			continue;
		attempts_fini(&h->attempts);
		h->attempts = before->attempts;
		before->attempts = (struct attempts){0};
	}
}

static enum db_result row_enter(struct deliverer *d, struct webhook *row)
{
	struct hook   *h = NULL;
	char          *ahead = NULL;
	enum db_result result = DB_OK;

	for (size_t i = 0; i < d->count; i++)
		if (is_of(d->hooks[i], row))
			return row_again(d, d->hooks[i], row);
	if (row->has_ahead)
		result = db_ask(d->db, WEBHOOK_AHEAD, &(struct fill){.webhook = row->webhook_id, .mark = row->mark},
		                ahead_read, &ahead);
	if (result == DB_OK)
		h = hook_new(row, ahead, &d->work->webhooks->vault);
	free(ahead);
	if (result != DB_OK)
		return result;
	if (!h)
		return row_pass(d, row);
	d->hooks = mem_reach(d->hooks, d->count, &d->max, sizeof(struct hook *));
	attempts_inherit(d, h);
	d->hooks[d->count++] = h;
	return DB_OK;
}

static bool row_is_there(const struct webhooks *rows, const struct hook *h)
{
	for (size_t i = 0; i < rows->count; i++)
		if (is_of(h, &rows->list[i]))
			return true;
	return false;
}

/* Reads the rows of this deliverer. Ends the hooks that have no row any more (deleted, off or taken over), and begins
 * hooks for new rows. */
static enum db_result rows_watch(struct deliverer *d)
{
	struct webhooks rows = {0};
	enum db_result  result = db_ask(d->db, WEBHOOK_MINE, &(struct fill){.task = d->task_id}, webhook_read, &rows);

	for (size_t i = 0; result == DB_OK && i < d->count; i++)
		d->hooks[i]->left |= !row_is_there(&rows, d->hooks[i]);
	for (size_t i = 0; i < rows.count; i++) {
		if (result == DB_OK)
			result = row_enter(d, &rows.list[i]);
		webhook_fini(&rows.list[i]);
	}
	free(rows.list);
	return result;
}

/* A claim that got all it asked for is repeated at once, because there may be more. */
static enum db_result rows_claim(struct deliverer *d)
{
	enum db_result result = db_ask(
		d->db, WEBHOOK_CLAIM,
		&(struct fill){
			.task = d->task_id, .lease_s = d->work->lease_s, .rows = &d->sealed, .limit = d->claims_max},
		NULL, NULL);
	int64_t taken = result == DB_OK ? (int64_t)db_changed(d->db) : 0;

	d->claims = taken > 0;
	if (d->claims)
		d->watch_ms = 0;
	if (taken == d->claims_max)
		d->claim_ms = 0;
	d->claims_max = taken < d->claims_max ? CLAIMS : 2 * taken < CLAIMS_MAX ? 2 * taken : CLAIMS_MAX;
	return result;
}

static enum db_result rows_renew(struct deliverer *d)
{
	int64_t        began_ms = clock_ms();
	enum db_result result = db_ask(d->db, WEBHOOK_RENEW,
	                               &(struct fill){.task = d->task_id, .lease_s = d->work->lease_s}, NULL, NULL);

	if (result == DB_OK)
		d->leased_until_ms = began_ms + d->work->lease_s * 900;
	return result;
}

static enum db_result rows_save(struct deliverer *d, bool at_once)
{
	enum db_result result = DB_OK;

	for (size_t i = 0; result == DB_OK && i < d->count; i++) {
		struct hook *h = d->hooks[i];
		int64_t      now_ms = clock_ms();
		bool         off = h->state != WEBHOOK_ACTIVE;

		if (!h->left && (off || (h->changed && (at_once || now_ms - h->saved_ms >= SAVE_MS))))
			result = hook_save(d, h, now_ms);
	}
	return result;
}

/* Whether the job is paused. */
static enum db_result pause_watch(struct deliverer *d)
{
	int64_t        before = d->paused;
	enum db_result result = db_ask(d->db, JOB_IS_PAUSED, &(struct fill){.kind = JOB_DELIVER}, db_ints, &d->paused);

	if (d->paused != before)
		log_event(LOG_INFO, d->paused ? "paused" : "resumed", "kind=deliver");
	return result;
}

/* ---- the feed */

static enum db_result feed_watch(struct deliverer *d)
{
	bool           news = false;
	enum db_result result = feed_look(d->feed, d->db, &news);

	news |= clock_due(&d->reread_ms, REREAD_MS);
	for (size_t i = 0; news && i < d->count; i++)
		d->hooks[i]->unread = true;
	return result;
}

/* Ends the hooks with a place that this database does not know, because it was restored. Their rows are read again. */
static enum db_result hooks_prove(struct deliverer *d)
{
	static const struct event_filter all = {.all = true};
	enum db_result                   result = DB_OK;

	for (size_t i = 0; result == DB_OK && i < d->count; i++) {
		struct hook     *h = d->hooks[i];
		struct feed_page page = {0};
		enum outcome     outcome = OUTCOME_OK;

		result = feed_read(d->feed, d->db, window_end(h->window), &all, 1, &page, &outcome);
		h->left |= result == DB_OK && (outcome == CURSOR_EXPIRED || outcome == BAD_CURSOR);
		feed_page_fini(&page);
	}
	d->watch_ms = 0;
	return result;
}

/* Memory that the events of all hooks may still take. */
static size_t bytes_left(const struct deliverer *d)
{
	size_t held = 0;

	for (size_t i = 0; i < d->count; i++)
		held += window_bytes(d->hooks[i]->window);
	return held < HOOKS_BYTES ? HOOKS_BYTES - held : 0;
}

static void is_mine_read(void *arg, const struct db_row *row)
{
	*(bool *)arg = db_int(row, 0) != 0;
}

/* Asks whether the row is still as it was claimed. This comes after the events were read, so no event that happened
 * after a deletion is delivered. */
static enum db_result hook_is_mine(struct deliverer *d, const struct hook *h, bool *is)
{
	*is = false;
	return db_ask(d->db, WEBHOOK_IS_MINE,
	              &(struct fill){.webhook = h->webhook.webhook_id,
	                             .mark = h->webhook.mark,
	                             .task = d->task_id,
	                             .version = h->webhook.version},
	              is_mine_read, is);
}

static enum db_result hook_read(struct deliverer *d, struct hook *h, unsigned wanted, int64_t now_ms)
{
	struct feed_page page = {0};
	enum outcome     outcome = OUTCOME_OK;
	bool             mine = true;
	enum db_result   result = feed_read(d->feed, d->db, window_end(h->window), &h->filter, wanted, &page, &outcome);

	if (result == DB_OK && outcome == OUTCOME_OK && page.count > 0)
		result = hook_is_mine(d, h, &mine);
	if (!mine) {
		h->left |= result == DB_OK;
		feed_page_fini(&page);
		return result;
	}
	if (result == DB_OK && outcome == OUTCOME_OK)
		hook_take(h, &page, bytes_left(d), now_ms);
	else if (result == DB_OK && outcome == EVENTS_OFF)
		h->read_ms = now_ms + WATCH_MS;
	else if (result == DB_OK && hook_is_fresh(h))
		h->state = WEBHOOK_CURSOR_EXPIRED;
	else if (result == DB_OK) /* the place in the row may be a good one */
		h->left = true;
	else
		h->read_ms = now_ms + FAILED_MS; /* the other hooks go on */
	feed_page_fini(&page);
	return h->left ? hooks_prove(d) : result;
}

/* Reads one page, for the next hook in turn. Nothing is sent meanwhile. */
static enum db_result hooks_read(struct deliverer *d, int64_t now_ms)
{
	size_t bytes = bytes_left(d);

	for (size_t i = 0; i < d->count; i++) {
		struct hook *h = d->hooks[(d->turn + i) % d->count];
		unsigned     wanted = h->state == WEBHOOK_ACTIVE ? hook_wants(h, bytes, now_ms) : 0;

		if (wanted == 0)
			continue;
		d->turn = (d->turn + i + 1) % d->count;
		return hook_read(d, h, wanted, now_ms);
	}
	return DB_OK;
}

/* ---- the loop */

static enum db_result connect(struct deliverer *d)
{
	if (!db_connect(d->db))
		return DB_AWAY;
	if (hooks_prove(d) != DB_OK)
		db_close(d->db);
	return db_connected(d->db) ? DB_OK : DB_AWAY;
}

/* Does all that needs the database in one turn. */
static enum db_result turn_ask(struct deliverer *d, int64_t now_ms)
{
	enum db_result result = db_connected(d->db) ? DB_OK : connect(d);

	if (result == DB_OK && clock_due(&d->renew_ms, d->work->lease_s * 1000 / 3))
		result = rows_renew(d);
	if (result == DB_OK && clock_due(&d->claim_ms, CLAIM_MS))
		result = rows_claim(d);
	if (result == DB_OK && clock_due(&d->watch_ms, WATCH_MS)) {
		result = pause_watch(d);
		if (result == DB_OK)
			result = rows_watch(d);
	}
	if (result == DB_OK && d->count > 0 && clock_due(&d->look_ms, LOOK_MS))
		result = feed_watch(d);
	if (result == DB_OK && d->count > 0)
		result = hooks_read(d, now_ms);
	if (result == DB_OK)
		result = rows_save(d, false);
	if (result != DB_OK)
		d->renew_ms = 0; /* the pause may have been long */
	return result;
}

static void posted_take(struct deliverer *d, int wait_ms)
{
	struct posted done[POSTED_MAX] UNZEROED;
	size_t        count = sender_wait(d->sender, wait_ms, done, POSTED_MAX);
	int64_t       now_ms = clock_ms();

	assert(count == 0 || d->count > 0);
	for (size_t i = 0; i < count; i++)
		hook_sent(&done[i], ATTEMPTS_BYTES / d->count, now_ms);
}

/* Frees hooks that have left. True: a page can be read at once. */
static bool hooks_clean(struct deliverer *d, int64_t now_ms)
{
	size_t bytes = bytes_left(d);
	bool   more = false;

	for (size_t i = d->count; i-- > 0;) {
		struct hook *h = d->hooks[i];

		more |= h->state != WEBHOOK_ACTIVE ? !h->left : hook_wants(h, bytes, now_ms) > 0;
		if (!h->left || h->flying > 0)
			continue;
		hook_free(h);
		d->hooks[i] = d->hooks[--d->count];
	}
	return more;
}

static int64_t soonest(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void turn_send(struct deliverer *d, enum db_result asked)
{
	int64_t now_ms = clock_ms(), due_ms = now_ms + LOOK_MS;

	for (size_t i = 0; !d->paused && now_ms < d->leased_until_ms && i < d->count; i++)
		hook_send(d->hooks[i], d->sender, &d->body, now_ms, &due_ms);
	if (asked == DB_OK) {
		due_ms = soonest(due_ms, soonest(d->claim_ms, d->watch_ms));
		due_ms = d->count > 0 ? soonest(due_ms, d->look_ms) : due_ms;
		due_ms = hooks_clean(d, now_ms) ? now_ms : due_ms;
	}
	posted_take(d, due_ms > now_ms ? (int)(due_ms - now_ms) : 0);
}

static bool all_rest(struct deliverer *d)
{
	for (size_t i = 0; i < d->count; i++)
		if (!hook_rests(d->hooks[i], clock_ms()) || d->hooks[i]->state != WEBHOOK_ACTIVE)
			return false;
	return true;
}

static void counts_leave(struct deliverer *d)
{
	if (!d->work->inside && db_connected(d->db) && clock_due(&d->counted_ms, 2 * SAVE_MS))
		census_leave(d->db);
}

/* Lets running attempts end, saves, and gives the rows back. */
static void deliverer_close(struct deliverer *d)
{
	int64_t until_ms = clock_ms() + CLOSE_MS;

	sender_wake_by(d->sender, -1);
	for (size_t i = 0; i < d->count; i++)
		d->hooks[i]->unread = false;
	while (sender_busy(d->sender) > 0 && clock_ms() < until_ms)
		posted_take(d, (int)(until_ms - clock_ms()));
	if (db_connected(d->db) &&
	    (rows_save(d, true) != DB_OK ||
	     db_ask(d->db, WEBHOOK_RETURN, &(struct fill){.task = d->task_id}, NULL, NULL) != DB_OK))
		log_event(LOG_WARN, "job_failed", "job=deliver why=%s", db_error(d->db));
}

/* Logs the database's error. True: a worker that runs only once gives up, after UNAVAILABLE_MS without an answer. */
static bool trouble_judge(struct deliverer *d, enum db_result result)
{
	if (result == DB_RETRY || result == DB_LOCKED)
		return false;
	log_event(LOG_WARN, "job_failed", "job=deliver why=%s", db_error(d->db));
	if (!d->work->once || clock_ms() - d->since_ms < UNAVAILABLE_MS)
		return false;
	say("the database does not answer: %s", db_error(d->db));
	d->status = db_connected(d->db) ? EXIT_TROUBLE : EXIT_UNAVAILABLE;
	return true;
}

static void deliverer_loop(struct deliverer *d)
{
	int64_t again_ms = 0; /* clock_ms: no question to the database before */

	while (!db_other_schema(d->db) && !stop_wait(d->work->stop, 0)) {
		enum db_result result = DB_AWAY;

		if (clock_ms() >= again_ms) {
			result = turn_ask(d, clock_ms());
			again_ms = result == DB_OK ? 0 : clock_ms() + FAILED_MS;
			if (result == DB_OK)
				d->since_ms = clock_ms();
			else if (trouble_judge(d, result))
				break;
		}
		if (d->work->once && result == DB_OK && (d->paused || (!d->claims && all_rest(d))))
			break;
		turn_send(d, result);
		counts_leave(d);
	}
}

int deliver_run(struct db *db, const struct work *work)
{
	struct deliverer d = {.work = work,
	                      .db = db,
	                      .sender = sender_new(&work->webhooks->sender),
	                      .feed = feed_new(past_catalogue(db)),
	                      .task_id = random_number(),
	                      .claims_max = CLAIMS,
	                      .since_ms = clock_ms()};

	values_row(&d.sealed, V_TEXT(""));
	sender_wake_by(d.sender, work->stop->wakes);
	deliverer_loop(&d);
	deliverer_close(&d);
	sender_free(d.sender);
	for (size_t i = 0; i < d.count; i++) {
		d.hooks[i]->flying = 0; /* the attempts were broken off */
		hook_free(d.hooks[i]);
	}
	free(d.hooks);
	for (size_t i = 1; i < d.sealed.count; i++)
		free((char *)(uintptr_t)d.sealed.list[i].bytes);
	values_fini(&d.sealed);
	feed_free(d.feed);
	text_fini(&d.body);
	return d.status;
}
