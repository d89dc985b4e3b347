/* test_feed_order.c - many change one order while readers follow the feed: through all lanes of two programs and their
 * jobs, and by four connections of the test's own, which are much faster. Each event has to follow from the one before
 * it of its order, by its stamp and by what it says; each writer's rows have to come without a hole, each event once.
 * TEST_TRIAL_S: for how long; `make fault` takes a minute. */
#include "engine/base/memory.h"
#include "engine/db/txn.h"
#include "engine/log/feed.h"
#include "engine/catalogue/past.h"
#include "tests/lang/flow.h"
#include "tests/kit/drill.h"
#include "tests/kit/server.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	READERS = 6,
	CLIENTS = 8,
	CONNECTIONS = 4,
	SECONDS = 4,
	WRITERS_MAX = 1000,
	HOTS_MAX = 10000,
	TOLD_MAX = 5,
	UNITS = 1000000
};

static _Atomic bool     ending, silent; /* writers are to end; nothing is written any more */
static _Atomic unsigned hot;            /* the number of the order that all change: H1, then H2 .. */

/* ---- what has to follow from what */

/* A hot order as a reader knows it. stamp 0: not at all. */
struct hot {
	int64_t  stamp, qty, expires_at;
	uint32_t writer_id, place;
	unsigned state;
};

/* The states that an order may be in before an event of it, and its state after that; 0: the same. */
static const struct rule {
	unsigned before, after;
} rules[EVENT_TYPES] = {
	[EVENT_EXTENDED] = {1 << HELD, HELD},
	[EVENT_CONFIRMED] = {1 << HELD, CONFIRMED},
	[EVENT_SPLIT] = {1 << HELD | 1 << CONFIRMED | 1 << BURIED, 0},
	[EVENT_BURIED] = {1 << CONFIRMED, BURIED},
	[EVENT_KICKED] = {1 << BURIED, CONFIRMED},
	[EVENT_RELEASED] = {1 << HELD | 1 << CONFIRMED | 1 << BURIED, RELEASED},
};

struct reader {
	pthread_t thread;
	unsigned  limit_max;
	bool      forgets; /* begins each page without memory, as another process would */
	/* the events that have come */
	struct hot  hot[HOTS_MAX];
	uint64_t    last_no[WRITERS_MAX];
	uint32_t    last_place[WRITERS_MAX];
	uint32_t    writer_id; /* of the event before */
	int64_t     newest;    /* stamp */
	uint64_t    events, late;
	struct text wrong;
	unsigned    wrongs;
};

static void wrong(struct reader *r, const struct feed_event *e, const char *what)
{
	if (r->wrongs++ < TOLD_MAX)
		text_format(&r->wrong, "%s: %s of %s, writer %u row %llu place %u stamp %lld\n", what,
		            event_trait(e->type)->word, e->reservation ? e->reservation->order_id : "a movement",
		            e->writer_id, (unsigned long long)e->event_no, e->place, (long long)e->stamp);
}

static void writer_follow(struct reader *r, const struct feed_event *e)
{
	uint64_t *no = &r->last_no[e->writer_id % WRITERS_MAX];
	uint32_t *place = &r->last_place[e->writer_id % WRITERS_MAX];

	if (e->event_no == *no ? e->place != *place + 1 : e->event_no != *no + 1 || e->place != 0)
		wrong(r, e, "a hole, or twice");
	else if (e->place > 0 && e->writer_id != r->writer_id)
		wrong(r, e, "a row with another one in it");
	*no = e->event_no;
	*place = e->place;
	r->writer_id = e->writer_id;
	r->late += e->stamp < r->newest;
	r->newest = e->stamp > r->newest ? e->stamp : r->newest;
}

static struct hot *hot_of(struct reader *r, const char *order_id)
{
	size_t number = order_id[0] == 'H' ? strtoul(order_id + 1, NULL, 10) : 0;

	return number == 0 ? NULL : &r->hot[number % HOTS_MAX];
}

static bool comes_later(const struct hot *h, const struct feed_event *e)
{
	return e->stamp > h->stamp || (e->stamp == h->stamp && e->writer_id == h->writer_id && e->place > h->place);
}

static void hot_follow(struct reader *r, struct hot *h, const struct feed_event *e)
{
	const struct reservation *now = e->reservation;
	const struct rule        *rule = &rules[e->type];
	int64_t                   qty = lines_units(now->lines, now->lines_count);

	if (e->type == EVENT_HELD ? h->stamp != 0 : !(rule->before & 1U << h->state))
		wrong(r, e, "not after what was before");
	else if (e->type != EVENT_HELD && !comes_later(h, e))
		wrong(r, e, "its stamp is not the later one");
	else if (now->state != (e->type == EVENT_HELD ? HELD : rule->after ? rule->after : h->state))
		wrong(r, e, "another state");
	else if (e->cause[0] >= '0' && e->cause[0] <= '9' && strtoll(e->cause, NULL, 10) != h->stamp)
		wrong(r, e, "it followed another one");
	else if (e->type != EVENT_HELD && qty != h->qty - (e->type == EVENT_SPLIT))
		wrong(r, e, "units that do not follow");
	else if (h->state == HELD && e->type == EVENT_SPLIT && now->expires_at != h->expires_at)
		wrong(r, e, "a due time that does not follow");
	*h = (struct hot){.stamp = e->stamp,
	                  .qty = qty,
	                  .expires_at = now->expires_at,
	                  .writer_id = e->writer_id,
	                  .place = e->place,
	                  .state = now->state};
}

static void reader_follow(struct reader *r, const struct feed_event *e)
{
	struct hot *h = e->reservation ? hot_of(r, e->reservation->order_id) : NULL;

	writer_follow(r, e);
	if (h)
		hot_follow(r, h, e);
	r->events++;
}

/* ---- readers */

/* Pages until nothing is left of what was committed before `silent`. */
static void reader_pages(struct reader *r, struct db *db, struct catalogue *catalogue)
{
	struct event_filter all = {.all = true};
	struct feed        *feed = feed_new(catalogue);
	char               *cursor = NULL;
	enum outcome        outcome = OUTCOME_OK;
	unsigned            dice = r->limit_max;

	for (bool last, done = false; !done;) {
		struct feed_page page = {0};

		last = silent;
		if (feed_read(feed, db, cursor, &all, 1 + (unsigned)rand_r(&dice) % r->limit_max, &page, &outcome) !=
		            DB_OK ||
		    outcome != OUTCOME_OK) {
			text_format(&r->wrong, "a page: %s %s\n", outcome_code(outcome), db_error(db));
			r->wrongs++;
			done = true;
		}
		for (size_t i = 0; i < page.count; i++)
			reader_follow(r, page.events[i]);
		done = done || (last && !page.more);
		free(cursor);
		cursor = page.cursor ? mem_copy(page.cursor) : NULL;
		feed_page_fini(&page);
		if (r->forgets) {
			feed_free(feed);
			feed = feed_new(catalogue);
		}
	}
	free(cursor);
	feed_free(feed);
}

static struct db *connect(struct catalogue *catalogue)
{
	struct db_target target = flow_scratch()->target;
	struct db       *db;

	snprintf(target.database, sizeof(target.database), "%s", flow_scratch()->name);
	db = db_new_alone(&target);
	past_watch(db_source(db), catalogue);
	if (!db_connect(db))
		abort(); /* no assertion of Criterion outside of the main thread */
	return db;
}

static void *reader_run(void *arg)
{
	struct catalogue *catalogue = catalogue_new();
	struct db        *db = connect(catalogue);

	reader_pages(arg, db, catalogue);
	db_free(db);
	catalogue_free(catalogue);
	return NULL;
}

/* ---- writers over HTTP */

struct writer {
	pthread_t     thread;
	struct client client;
	struct answer answer;
	unsigned      number, dice, splits;
};

static unsigned chance(struct writer *w, unsigned of)
{
	return (unsigned)rand_r(&w->dice) % of;
}

static int post(struct writer *w, const char *path, const char *body)
{
	answer_fini(&w->answer);
	w->answer = (struct answer){0};
	client_ask(&w->client, "POST", path, body, &w->answer);
	return w->answer.status;
}

static bool answered(const struct writer *w, const char *code)
{
	const cJSON *said = cJSON_GetObjectItem(w->answer.json, "code");

	return cJSON_IsString(said) && strcmp(said->valuestring, code) == 0;
}

static int call(struct writer *w, unsigned number, const char *what, const char *body)
{
	char path[80];

	snprintf(path, sizeof(path), "/v1/reservations/H%u/%s", number, what);
	return post(w, path, body);
}

static void hot_make(struct writer *w, unsigned number)
{
	char body[160];

	snprintf(body, sizeof(body), "{\"order_id\":\"H%u\",\"ttl_s\":80000,\"lines\":[{\"sku\":\"A\",\"qty\":%d}]}",
	         number, UNITS);
	if (post(w, "/v1/reservations", body) == 201)
		hot = number;
}

static void hot_split(struct writer *w, unsigned number)
{
	static const char *const then[] = {"", ",\"then\":\"release\"", ",\"then\":\"confirm\""};
	char                     body[200];

	snprintf(body, sizeof(body), "{\"order_id\":\"P%u-%u\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]%s}", w->number,
	         w->splits++, then[chance(w, 3)]);
	call(w, number, "split", body);
}

/* A task of some orders, in which the hot one is buried and the others are settled. */
static void hot_bury(struct writer *w, unsigned number)
{
	char path[80], body[120];
	bool claimed = post(w, "/v1/tasks", "{\"kind\":\"settle\",\"worker\":\"W\",\"limit\":20}") == 201;
	long task = claimed ? (long)cJSON_GetNumberValue(cJSON_GetObjectItem(w->answer.json, "task_id")) : 0;

	if (!claimed)
		return;
	snprintf(path, sizeof(path), "/v1/tasks/%ld/fail", task);
	snprintf(body, sizeof(body), "{\"orders\":[{\"order_id\":\"H%u\",\"error\":\"e\",\"retry\":false}]}", number);
	post(w, path, body);
	snprintf(path, sizeof(path), "/v1/tasks/%ld/complete", task);
	post(w, path, "{}");
}

static void hot_extend(struct writer *w, unsigned number)
{
	char body[40];

	snprintf(body, sizeof(body), "{\"ttl_s\":%u}", 1000 + chance(w, 80000));
	call(w, number, "extend", body);
	if (answered(w, "confirmed") && chance(w, 20) == 0)
		hot_bury(w, number);
	else if (answered(w, "buried"))
		call(w, number, "kick", "");
	else if (answered(w, "released") && chance(w, 4) == 0)
		hot_make(w, number + 1);
}

static void *writer_run(void *arg)
{
	struct writer *w = arg;

	for (unsigned i; !ending;) {
		i = chance(w, 1000);
		if (i < 480)
			hot_split(w, hot);
		else if (i < 996)
			hot_extend(w, hot);
		else
			call(w, hot, i < 998 ? "confirm" : "release", "{}");
	}
	answer_fini(&w->answer);
	client_close(&w->client);
	return NULL;
}

/* ---- the end */

/* Compares what a reader knows with the tables. */
static void state_compare(const struct reader *r, int64_t changed, int64_t state, int64_t qty)
{
	const struct hot *h = &r->hot[hot];

	if (h->stamp != changed || h->state != state || h->qty != qty)
		flow_fail("the table has stamp %lld state %lld units %lld; the feed %lld %u %lld", (long long)changed,
		          (long long)state, (long long)qty, (long long)h->stamp, h->state, (long long)h->qty);
}

static int64_t of_hot(const char *column)
{
	char sql[200];

	snprintf(sql, sizeof(sql),
	         "SELECT %s FROM reservation JOIN reservation_line USING (reservation_id) WHERE "
	         "order_id = 'H%u'",
	         column, hot);
	return scratch_number(flow_scratch()->db, sql);
}

static void reader_compare(const struct reader *r, const struct reader *other)
{
	char sql[100];

	if (r->wrongs)
		flow_fail("%u are wrong:\n%s", r->wrongs, r->wrong.data);
	if (r->events != other->events)
		flow_fail("%llu events, another reader has %llu", (unsigned long long)r->events,
		          (unsigned long long)other->events);
	else
		state_compare(r, of_hot("changed"), of_hot("state"), of_hot("qty"));
	for (uint32_t i = 1; i < WRITERS_MAX; i++) {
		snprintf(sql, sizeof(sql), "SELECT COALESCE(SUM(event_no), 0) FROM log_writer WHERE writer_id = %u", i);
		if (r->last_no[i] && scratch_number(flow_scratch()->db, sql) != (int64_t)r->last_no[i])
			flow_fail("writer %u was read up to %llu", i, (unsigned long long)r->last_no[i]);
	}
}

static struct reader readers[READERS];
static struct server server;

/* A server of the trial's own that does not wait for its disk, so that ten times as much happens. */
static void begin(void)
{
	server_make(&server, (const char *const[]){NULL});
	server_start(&server, (const char *const[]){"--innodb-flush-log-at-trx-commit=0", NULL});
	server_use(&server);
	flow_begin();
}

static void end(void)
{
	flow_end();
	server_stop(&server);
	server_remove(&server);
}

static void readers_start(void)
{
	for (unsigned i = 0; i < READERS; i++) {
		readers[i].limit_max = 8U << i;
		readers[i].forgets = i == READERS - 1;
		cr_assert_eq(pthread_create(&readers[i].thread, NULL, reader_run, &readers[i]), 0);
	}
}

static void readers_end(void)
{
	silent = true;
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i].thread, NULL);
	for (int i = 0; i < READERS; i++)
		reader_compare(&readers[i], &readers[0]);
	fprintf(stderr, "feed_order: %llu events, %u orders; %llu came late to a reader\n",
	        (unsigned long long)readers[0].events, hot, (unsigned long long)readers[READERS - 1].late);
	for (int i = 0; i < READERS; i++)
		text_fini(&readers[i].wrong);
}

static void trial_wait(void)
{
	const char *seconds = getenv("TEST_TRIAL_S");

	sleep(seconds ? (unsigned)atoi(seconds) : SECONDS);
	ending = true;
}

Test(feed_order, all_lanes_change_one_order, DRILL)
{
	static struct writer writers[CLIENTS];

	begin();
	flow_steps("serve --lanes 2 -> ",
	           "second --lanes 2 --slot 2 -> ",
	           "receipt A +100000000 -> 201");
	flow_step("reserve H1 A=%d ttl=80000 -> 201 held", UNITS);
	hot = 1;
	readers_start();
	for (unsigned i = 0; i < CLIENTS; i++) {
		writers[i].number = writers[i].dice = i;
		client_open(&writers[i].client, flow_port((int)i % 2));
		cr_assert_eq(pthread_create(&writers[i].thread, NULL, writer_run, &writers[i]), 0);
	}
	trial_wait();
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(writers[i].thread, NULL);
	readers_end();
	end();
}

/* ---- connections that write as the program does */

/* One extension, which names as its cause what it was decided on. */
static void extend(struct db *db, const struct reservation *found, unsigned ttl_s)
{
	struct reservation r = *found;
	struct values      rows = {0};
	struct text        changes = {0};
	struct txn         t = {0};
	enum txn_verdict   verdict;
	char               cause[24];

	snprintf(cause, sizeof(cause), "%lld", (long long)found->changed);
	r.expires_at = 1000 * (int64_t)ttl_s;
	event_reservation(&changes, &(struct event_head){.type = EVENT_EXTENDED, .cause = cause}, &r, found->lines,
	                  found->lines_count, false);
	txn_begin(&t, db);
	txn_enter(&t, reservations_as_read(&rows, (struct reservation *const[]){(struct reservation *)found}, 1), true);
	txn_run(&t, RESERVATION_EXTEND, &(struct fill){.rows = &rows, .ttl_s = ttl_s});
	txn_expect(&t, 1, TXN_MOVED);
	txn_log(&t, &changes);
	if (txn_commit(&t, &verdict) == DB_AWAY)
		abort();
	values_fini(&rows);
	text_fini(&changes);
}

static void *connection_run(void *arg)
{
	struct catalogue *catalogue = catalogue_new();
	struct db        *db = connect(catalogue);
	struct values     id = {0};
	unsigned         *dice = arg;

	values_row(&id, V_TEXT("H1"));
	while (!ending) {
		struct reservation_reader in = {.catalogue = catalogue};

		if (reservations_ask(db, RESERVATION_FIND, &(struct fill){.rows = &id, .limit = 10}, &in) == DB_OK) {
			extend(db, in.list[0], 1000 + (unsigned)rand_r(dice) % 80000);
		}
		reservations_free(in.list, in.count);
	}
	values_fini(&id);
	db_free(db);
	catalogue_free(catalogue);
	return NULL;
}

Test(feed_order, connections_change_one_order, DRILL)
{
	pthread_t threads[CONNECTIONS];
	unsigned  dice[CONNECTIONS];

	begin();
	flow_steps("receipt A +100 -> 201",
	           "reserve H1 A=7 ttl=80000 -> 201 held");
	hot = 1;
	readers_start();
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		dice[i] = i;
		cr_assert_eq(pthread_create(&threads[i], NULL, connection_run, &dice[i]), 0);
	}
	trial_wait();
	for (int i = 0; i < CONNECTIONS; i++)
		pthread_join(threads[i], NULL);
	readers_end();
	end();
}
