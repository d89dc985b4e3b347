/* fuzz_database.c - any bytes as the answers of a database server, to all that read them: lists, totals, counts, tasks,
 * jobs, queues, levels, webhooks, the feed. The first byte says which reader asks, the next one how (hostile.h). Then
 * come the answers. Whatever they are: no memory is hurt, no assertion fails, nothing hangs, and what was read can be
 * told in JSON. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/db/checks.h"
#include "engine/db/writer.h"
#include "engine/catalogue/sku_limits.h"
#include "engine/log/event_json.h"
#include "engine/log/event_walk.h"
#include "engine/log/feed.h"
#include "engine/log/history.h"
#include "engine/log/keeping.h"
#include "engine/log/touched.h"
#include "engine/catalogue/past.h"
#include "engine/read/census.h"
#include "engine/read/key.h"
#include "engine/read/list.h"
#include "engine/read/search.h"
#include "engine/read/sku_list.h"
#include "engine/read/totals.h"
#include "engine/rows_json.h"
#include "hostile.h"
#include "input.h"
#include "jobs/task/claim.h"
#include "jobs/cluster.h"
#include "jobs/task/complete.h"
#include "jobs/task/kick.h"
#include "jobs/levels/level.h"
#include "jobs/levels/threshold.h"
#include "jobs/levels/watch.h"
#include "jobs/waiting/arrival.h"
#include "jobs/waiting/handout.h"
#include "jobs/waiting/queue_page.h"
#include "jobs/location.h"
#include "jobs/waiting/loss.h"
#include "jobs/waiting/pull.h"
#include "jobs/pause.h"
#include "jobs/task/reap.h"
#include "jobs/webhooks/webhook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the readers */

static unsigned how; /* the second byte: bits from 8 on vary what is asked */

struct asker {
	struct db         *db;
	struct catalogue  *c;
	struct json_writer w; /* takes whatever was read */
};

static struct op *op_of(enum op_kind kind)
{
	struct op *op = op_new(kind, 8, 4096);

	snprintf(op->id, sizeof(op->id), "%s", kind == OP_GET_MOVEMENT ? "M1" : "R1");
	op_line(op, "A", 1, how & 8 ? "main" : NULL, how & 8 ? 4 : 0, 1);
	return op;
}

static void op_told(struct asker *a, struct op *op)
{
	if (op->kind == OP_GET && op->reservation)
		reservation_json(&a->w, op->reservation);
	if (op->kind == OP_GET_MOVEMENT && op->move.movement)
		movement_json(&a->w, op->move.movement);
	if (op->kind == OP_LIST_RESERVATIONS && op->query->reservations)
		for (size_t i = 0; i < op->query->items; i++)
			reservation_json(&a->w, op->query->reservations[i]);
	if (op->kind == OP_LIST_MOVEMENTS && op->query->movements)
		for (size_t i = 0; i < op->query->items; i++)
			movement_json(&a->w, op->query->movements[i]);
	op_free(op);
}

static enum db_result get(struct asker *a)
{
	struct op     *two[] = {op_of(OP_GET), op_of(OP_GET)};
	enum db_result result;

	strcpy(two[1]->id, "R2");
	result = list_found(a->db, two, 2);
	op_told(a, two[0]);
	op_told(a, two[1]);
	return result;
}

static enum db_result get_movement(struct asker *a)
{
	struct op     *op = op_of(OP_GET_MOVEMENT);
	enum db_result result = list_movement(a->db, op);

	op_told(a, op);
	return result;
}

static enum db_result get_customer(struct asker *a)
{
	struct op     *op = op_of(OP_GET_CUSTOMER);
	enum db_result result = totals_of_customer(a->db, op);

	op_told(a, op);
	return result;
}

static enum db_result totals(struct asker *a)
{
	struct op     *op = op_of(OP_TOTALS);
	enum db_result result = totals_answer(a->db, &op, 1);

	op_told(a, op);
	return result;
}

static enum db_result list_of(struct asker *a, enum op_kind kind, enum db_result (*list)(struct db *db, struct op *op))
{
	struct op     *op = op_of(kind);
	struct page   *page = &op->query->page;
	enum db_result result;

	page->limit = 1 + (how >> 4 & 3);
	page->low = how >> 6 & 1;
	page->location = how & 8 ? "main" : NULL;
	page->prefix = how & 16 ? "A" : NULL;
	page->state = how & 32 ? BURIED : how & 64 ? HELD : NO_STATE;
	page->error = how & 128 ? "w" : NULL;
	page->customer = (how & 0x90) == 0x80 ? "w" : NULL;
	page->by_time = (how & 0x28) == 0x28;
	page->created_before = 1;
	if (kind == OP_LIST_SKUS || (kind == OP_LIST_RESERVATIONS && how & 64))
		op->lines_count = 0;
	result = list(a->db, op);
	op_told(a, op);
	return result;
}

static enum db_result list_skus(struct asker *a)
{
	return list_of(a, OP_LIST_SKUS, sku_list_page);
}

/* Twice, so that the second one reads what has changed. */
static enum db_result search_skus(struct asker *a)
{
	struct search *search = search_new(1 << 20);
	enum db_result result = DB_OK;

	for (int i = 0; i < 2 && result == DB_OK && db_connected(a->db); i++) {
		struct op *op = op_of(OP_SEARCH_SKUS);

		op->query->search = search;
		op->query->page.text = how & 16 ? "an" : "aa";
		op->query->page.limit = 1 + (how >> 5 & 3);
		op->query->page.low = how >> 7 & 1;
		op->query->page.location = how & 8 ? "main" : NULL;
		result = sku_list_page(a->db, op);
		op_told(a, op);
	}
	search_free(search);
	return result;
}

static enum db_result list_orders(struct asker *a)
{
	return list_of(a, OP_LIST_RESERVATIONS, list_reservations);
}

/* Of two ids. */
static enum db_result find(struct asker *a)
{
	struct op     *op = op_new(OP_FIND, 0, 2 * (sizeof(char *) + 3));
	enum db_result result;

	op_ids(op, 2);
	op_ids_add(op, "R1", 2);
	op_ids_add(op, "R2", 2);
	result = list_by_ids(a->db, op);
	op_told(a, op);
	return result;
}

static enum db_result stock(struct asker *a)
{
	struct op *op = op_of(OP_STOCK);

	op->query->page.places[0] = "main";
	op->query->page.places_count = how >> 3 & 1;
	enum db_result result = totals_by_place(a->db, op);

	op_told(a, op);
	return result;
}

/* Of one order, from its last event or from a row of the log. */
static enum db_result history(struct asker *a)
{
	struct history h = {.order_id = "R1", .begun = how & 8, .at = {event_link(1, 2), how & 64 ? 1 : UINT32_MAX}};
	struct text    event = {0};
	enum outcome   outcome;
	enum db_result result = history_read(a->db, &h, 1 + (how >> 4 & 3), &outcome);

	for (size_t i = 0; i < h.count; i++) {
		text_reset(&event);
		event_json(&event, h.events[i]);
		json_put_json(&a->w, NULL, event.data);
	}
	text_fini(&event);
	history_fini(&h);
	return result;
}

static enum db_result list_moves(struct asker *a)
{
	return list_of(a, OP_LIST_MOVEMENTS, list_movements);
}

static void figure_told(void *asker, const char *name, int64_t n)
{
	json_put_int(&((struct asker *)asker)->w, name, n);
}

static enum db_result census(struct asker *a)
{
	struct census *out = mem_alloc(sizeof(*out));
	int64_t        counted_at;
	enum db_result result;

	if (census_read(a->db, how & 8, out))
		census_tell(out, figure_told, a);
	census_leave(a->db);
	free(out);
	location_sums_forget();
	result = location_sums_read(a->db, &counted_at);
	figure_told(a, "skus", location_sum(1).skus);
	return result;
}

static enum db_result keys(struct asker *a)
{
	struct key_count *count = mem_alloc(sizeof(*count) + 2 * sizeof(count->keys[0]));
	enum db_result    result;

	count->full = how & 8;
	count->count = 2;
	strcpy(count->keys[0].name, "w");
	count->keys[1].limited = true;
	result = key_count_run(a->db, count);
	free(count);
	return result;
}

static enum db_result limits(struct asker *a)
{
	struct sku_put put = {.sku = "A", .wish = how & 8 ? 7 : -1};
	enum db_result result = sku_limits_read(a->db);

	if (result == DB_OK)
		result = sku_limits_put(a->db, &put);
	sku_details_fini(&put.details);
	return result;
}

/* ---- tasks */

static void tasks_told(struct asker *a, const struct task *t, struct reservation **orders, size_t count)
{
	json_put_string(&a->w, "kind", task_kind_name(t->kind));
	json_put_string(&a->w, "state", task_state_name(t->state));
	json_put_string(&a->w, "worker", t->worker);
	json_put_time(&a->w, "at", t->lease_until);
	for (size_t i = 0; i < count; i++)
		reservation_json(&a->w, orders[i]);
}

static enum db_result task_lists(struct asker *a)
{
	struct task    list[3];
	size_t         count = 0;
	enum db_result result = task_list(a->db, UINT64_MAX, list, LENGTH(list), &count);

	for (size_t i = 0; result == DB_OK && i < count; i++)
		tasks_told(a, &list[i], NULL, 0);
	return result;
}

static enum db_result claim(struct asker *a)
{
	struct claimer            claimer = {0};
	struct task               task = {.kind = how & 8 ? TASK_SETTLE : TASK_EXPIRE, .worker = "w"};
	struct task_answer        said = {0};
	struct reservation      **orders = NULL;
	struct reservation_reader now = {.catalogue = a->c};
	size_t                    count = 0;
	enum db_result            result = task_claim(a->db, &claimer, &task, 1 + (how >> 4 & 3), 30, &orders, &count);

	if (result == DB_OK && task.task_id) {
		tasks_told(a, &task, orders, count);
		if (how & 128)
			result = task_complete_claimed(a->db, &task, orders, count, &said);
		else if (how & 64)
			result = task_give_back(a->db, &task);
		else
			result = task_take_up(a->db, &task, 30, orders, count, &now);
	}
	reservations_free(now.list, now.count);
	reservations_free(orders, count);
	task_answer_fini(&said);
	return result;
}

static enum db_result task_ends(struct asker *a)
{
	const struct report one = {.order_id = "R1", .retry = how & 64, .error = "w"};
	struct task_answer  said = {0};
	enum db_result      result;

	switch (how >> 3 & 7) {
	case 0:
		result = task_complete(a->db, 1, &one, 1, &said);
		break;
	case 1:
		result = task_complete(a->db, 1, NULL, 0, &said);
		break;
	case 2:
		result = task_fail(a->db, 1, &one, 1, 8, &said);
		break;
	case 3:
		result = task_return(a->db, 1, &said);
		break;
	default:
		result = task_heartbeat(a->db, 1, 30, &said);
	}
	if (result == DB_OK)
		tasks_told(a, &said.task, NULL, 0);
	task_answer_fini(&said);
	return result;
}

static enum db_result reap(struct asker *a)
{
	struct reaper reaper = {.pause_ms = 1000, .attempts_max = 8, .dry = how & 8};

	return task_reap(a->db, &reaper, NULL, NULL);
}

static enum db_result buried(struct asker *a)
{
	struct buried_page page = {0};
	struct kick_walk   walk = {.error = how & 8 ? "w" : NULL};
	enum db_result     result = buried_read(a->db, &page);

	for (size_t i = 0; i < page.count; i++)
		json_put_time(&a->w, "oldest", page.groups[i].oldest_at);
	buried_page_fini(&page);
	return result == DB_OK ? kick_walk(a->db, &walk) : result;
}

static enum db_result jobs(struct asker *a)
{
	struct job_state    list[JOB_NAMES];
	struct job_workers *workers = mem_alloc(sizeof(*workers));
	enum db_result      result = jobs_read(a->db, list, workers);

	for (enum job_name j = JOB_SETTLE; result == DB_OK && j < JOB_NAMES; j++)
		job_json(&a->w, &list[j], workers);
	free(workers);
	return result == DB_OK ? job_pause(a->db, JOB_SETTLE, true, "w", NULL) : result;
}

/* ---- locations, queues, levels */

static enum db_result locations(struct asker *a)
{
	struct location_row  row, list[3];
	struct location_wish wish = {.kind = how & 8 ? LOCATION_INCOMING : LOCATION_STOCK, .expected_at = -1};
	enum outcome         outcome;
	size_t               count;
	bool                 made;
	enum db_result       result = location_list(a->db, "", list, LENGTH(list), &count);

	wish.waits = how & 16;
	if (result == DB_OK)
		result = location_find(a->db, "main", &row, &outcome);
	return result == DB_OK ? location_put(a->db, "main", &wish, &row, &made, &outcome) : result;
}

static enum db_result queue_page(struct asker *a)
{
	struct queue_position after = {0};
	struct queue_order    list[3];
	enum outcome          outcome;
	size_t                count = 0;
	enum db_result        result =
		queue_page_read(a->db, "A", how & 8 ? "main" : NULL, &after, list, LENGTH(list), &count, &outcome);

	for (size_t i = 0; result == DB_OK && i < count; i++) {
		json_put_string(&a->w, "order_id", list[i].order_id);
		json_put_string(&a->w, "state", reservation_state_name(list[i].state));
		json_put_time(&a->w, "waits_since", list[i].position.waits_since);
	}
	return result;
}

static enum db_result handout(struct asker *a)
{
	struct handout h = {.sku_id = 1, .from_id = 1, .to_id = 2, .units = 5, .orders_max = 16, .passes = how & 8};
	enum db_result result = handout_read(a->db, &h);

	if (result == DB_OK && h.lapsed_count > 0)
		result = handout_sweep(a->db, &h);
	handout_fini(&h);
	return result;
}

static enum db_result loss(struct asker *a)
{
	struct loss_pick pick = {.wants = mem_alloc(sizeof(*pick.wants)), .wants_count = 1};
	bool             more = true;
	enum db_result   result = DB_OK;

	pick.wants[0] = (struct loss_want){.sku_id = 1, .location_id = 1, .needed = 5};
	for (int i = 0; i < 4 && more && result == DB_OK; i++)
		result = loss_pick_run(a->db, &pick, 10, &more);
	loss_pick_fini(&pick);
	return result;
}

/* A few turns, the connection made anew behind those that broke it. */
static enum db_result turns(struct asker *a, struct chore chore)
{
	enum db_result result = DB_OK;

	for (int i = 0; i < 3; i++) {
		int64_t pause_ms = 0;

		if (db_connected(a->db) || db_connect(a->db))
			result = chore.turn(chore.arg, a->db, &pause_ms);
	}
	chore.leave(chore.arg, a->db);
	return result;
}

static enum db_result arrival(struct asker *a)
{
	struct arrivals *all = arrivals_new();
	bool             more;
	enum db_result   result = how & 8 ? arrivals_run(a->db, 1, 10, &more) : turns(a, arrival_chore(all));

	arrivals_free(all);
	return result;
}

static enum db_result pull(struct asker *a)
{
	struct pull   *p = pull_new();
	enum db_result result = turns(a, pull_chore(p));

	pull_free(p);
	return result;
}

static enum db_result watch(struct asker *a)
{
	struct watch  *w = watch_new(a->c, how & 8);
	enum db_result result = turns(a, watch_chore(w));

	watch_free(w);
	return result;
}

static enum db_result pauses(struct asker *a)
{
	return turns(a, pause_chore());
}

static enum db_result levels(struct asker *a)
{
	struct watch_claim claim = {.task_id = 1, .fence = 1, .lease_s = 10};
	struct spots       spots = {0};
	const uint32_t     skus[] = {1, 2};
	enum db_result     result = levels_list(a->db, &claim, &spots);

	spots_touch(&spots, 1, 1, INT64_MAX);
	if (result == DB_OK)
		result = levels_look(a->db, &claim, &spots);
	spots_fini(&spots);
	return result == DB_OK ? levels_tell_stock(a->db, &claim, skus, LENGTH(skus)) : result;
}

static enum db_result threshold(struct asker *a)
{
	enum outcome outcome;

	return threshold_put(a->db, "A", how & 8 ? "main" : NULL, 5, &outcome);
}

/* ---- events, webhooks */

static enum db_result feed(struct asker *a)
{
	static const char *const  after[] = {NULL, "now", "2026-11-27T00:00:00Z", ""};
	const struct event_filter filter = {.all = true};
	struct feed              *f = feed_new(a->c);
	struct feed_page          page = {0};
	enum outcome              outcome;
	bool                      news;
	enum db_result            result = feed_read(f, a->db, after[how >> 3 & 3], &filter, 5, &page, &outcome);

	for (size_t i = 0; result == DB_OK && i < page.count; i++)
		event_json(a->w.to, page.events[i]);
	feed_page_fini(&page);
	if (result == DB_OK)
		result = feed_look(f, a->db, &news);
	feed_free(f);
	return result;
}

static void touch_heard(void *arg, const struct event_touch *t)
{
	*(size_t *)arg += t->id_len;
}

static enum db_result touched(struct asker *a)
{
	size_t                   heard = 0;
	const struct touched_ear ear = {touch_heard, &heard};
	struct touched           out = {0};
	enum outcome             outcome;
	enum db_result           result = touched_read(a->db, how & 8 ? "now" : NULL, &ear, &out, &outcome);

	free(out.cursor);
	return result;
}

static void walked(void *asker, const struct event_walked *row)
{
	for (size_t i = 0; i < row->count; i++)
		event_json(((struct asker *)asker)->w.to, row->events[i]);
}

static enum db_result walk(struct asker *a)
{
	struct event_log   log;
	enum db_result     result = event_log_read(a->db, &log);
	struct event_walk *w = event_walk_new(a->db, walked, a);

	if (result == DB_OK)
		result = event_walk(w);
	event_walk_free(w);
	return result;
}

static enum db_result keeping(struct asker *a)
{
	int64_t        removed = 0;
	enum db_result result = keeping_pass(a->db, 5, &removed);

	if (result == DB_OK)
		result = keeping_writers(a->db);
	return result == DB_OK ? keeping_set(a->db, how & 8 ? 0 : 7) : result;
}

static enum db_result webhooks(struct asker *a)
{
	static const struct vault plain;
	static const char         secret[] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
	const struct webhook      asked = {.webhook_id = "w", .url = (char[]){"https://example.com/"}, .parallel = 1};
	struct webhook            list[3] = {0}, out = {0};
	struct webhook_attempts   attempts = {0};
	size_t                    count = 0;
	enum outcome              outcome;
	enum db_result            result = webhook_list(a->db, "", list, LENGTH(list), &count);

	for (size_t i = 0; i < count; i++)
		webhook_fini(&list[i]);
	if (result == DB_OK)
		result = webhook_attempts(a->db, "w", &attempts, &outcome);
	free(attempts.list);
	if (result == DB_OK && how & 8)
		result = webhook_make(a->db, &plain, &asked, secret, &out, &outcome);
	else if (result == DB_OK && how & 16)
		result = webhook_enable(a->db, "w", NULL, how & 32, &out, &outcome);
	else if (result == DB_OK)
		result = webhook_rotate(a->db, &plain, "w", secret, &out, &outcome);
	webhook_fini(&out);
	return result;
}

/* ---- the server itself */

static enum db_result server(struct asker *a)
{
	struct text findings = {0};
	int64_t     ahead_s;

	db_doctor(a->db, &findings);
	text_fini(&findings);
	cluster_look(db_source(a->db), a->db);
	return db_clock_apart(a->db, &ahead_s);
}

static enum db_result past(struct asker *a)
{
	return past_locations(a->db);
}

static enum db_result writer(struct asker *a)
{
	enum db_result result = writer_enter(a->db, how & 8 ? 3 : 0);

	if (result == DB_OK)
		result = writer_touch(a->db);
	writer_leave(a->db);
	return result;
}

/* In this order: an input's first byte is a place here. New ones go to the end. */
static enum db_result (*const askers[])(struct asker *a) = {
	get,     get_movement, get_customer, totals,    list_skus, list_orders, list_moves, census,    keys,
	limits,  claim,        task_lists,   task_ends, reap,      buried,      jobs,       locations, queue_page,
	handout, loss,         arrival,      pull,      watch,     pauses,      levels,     threshold, feed,
	touched, walk,         keeping,      webhooks,  server,    past,        writer,     find,      stock,
	history,  search_skus,
};

/* ---- one input */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	hostile_open();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text    json = {0};
	struct asker   a = {.w = {.to = &json}};
	struct source *source;

	if (size < 2)
		return 0;
	a.c = catalogue_new();
	source = hostile_begin(how = data[1], data + 2, size - 2);
	past_watch(source, a.c);
	a.db = db_new(source);
	if (db_connect(a.db)) {
		catalogue_sku_enter(a.c, 1, "A", 1);
		json_open_object(&a.w, NULL);
		if (askers[data[0] % LENGTH(askers)](&a) == DB_OK)
			json_close_object(&a.w);
	}
	db_free(a.db);
	hostile_end(source);
	catalogue_free(a.c);
	text_fini(&json);
	return 0;
}
