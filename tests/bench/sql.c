/* sql.c - see sql.h. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "sql.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES_MAX = 100, WRONG_MAX = 10 };

/* The defaults of a server: a thousand buyers of one sku wait for each other longer than Holdfast would. */
enum { SILENCE_S = 120 };
static const char patience[] = "SET SESSION innodb_lock_wait_timeout = 50, idle_transaction_timeout = 0,"
			       " wsrep_sync_wait = 0"; /* of a cluster, where nobody else waits by himself either */

static bool sql_open(struct bench *b, const struct contender *c)
{
	const struct sql_way *way = c->what;

	for (size_t i = 0; way->schema[i]; i++)
		if (!database_run(b, way->schema[i]))
			return false;
	return true;
}

static bool sql_ready(struct bench *b, const struct contender *c)
{
	const struct sql_way *way = c->what;

	return !way->empty || database_run(b, way->empty);
}

/* ---- buyers */

/* One order, tried until it has an answer. */
static bool order_place(struct buyer *w, int64_t *units)
{
	for (int tries = 0; tries < TRIES_MAX; tries++) {
		enum db_result result;

		*units = 0;
		result = w->way->order(w, units);
		if (result == DB_OK && *units > 0)
			return true;
		if (result != DB_RETRY && result != DB_LOCKED) {
			bench_wrong("%s: %" PRId64 " units, error %u %s", w->way->database ? w->way->database : "plain",
			            *units, db_errno(w->db), db_error(w->db));
			return false;
		}
		w->retries++;
	}
	bench_wrong("an order found no end of conflicts");
	return false;
}

static void *buyer_main(void *arg)
{
	struct buyer *w = arg;
	int64_t       until_us, now_us, units;

	pthread_barrier_wait(w->start);
	now_us = clock_us();
	until_us = now_us + w->window_us;
	while (now_us < until_us && w->round.wrong < WRONG_MAX && w->left-- > 0) {
		int64_t from_us = now_us;
		bool    placed = order_place(w, &units);

		now_us = clock_us();
		w->number += w->stride;
		if (!placed) {
			w->round.wrong++;
			continue;
		}
		w->round.orders++;
		w->round.timed += now_us < until_us;
		w->round.units += units;
		samples_add(&w->round.samples, now_us - from_us);
	}
	return NULL;
}

static bool buyer_connect(struct buyer *w, const struct db_target *target)
{
	w->db = db_new_alone(target);
	db_silence_set(w->db, SILENCE_S); /* longer than a lock may take */
	return db_connect(w->db) && db_text(w->db, patience, NULL, NULL) == DB_OK;
}

static void buyer_join(struct buyer *w, struct round *out)
{
	pthread_join(w->thread, NULL);
	out->timed += w->round.timed;
	out->orders += w->round.orders;
	out->units += w->round.units;
	out->wrong += w->round.wrong;
	samples_join(&out->samples, &w->round.samples);
	free(w->round.samples.us);
}

static void buyers_run(struct bench *b, struct buyer *buyers, int count, int64_t orders, struct round *out)
{
	pthread_barrier_t start;
	int64_t           retries = 0;

	pthread_barrier_init(&start, NULL, (unsigned)count);
	for (int i = 0; i < count; i++) {
		struct buyer *w = &buyers[i];

		w->start = &start;
		w->number = b->order_next + (uint64_t)i;
		w->stride = (uint64_t)count;
		w->left = orders / count;
		w->window_us = (int64_t)b->seconds * 1000000;
		if (pthread_create(&w->thread, NULL, buyer_main, w))
			abort(); /* the others would wait at the barrier for ever */
	}
	for (int i = 0; i < count; i++) {
		buyer_join(&buyers[i], out);
		retries += buyers[i].retries;
		if (buyers[i].number > b->order_next)
			b->order_next = buyers[i].number;
	}
	if (retries)
		say("bench: %" PRId64 " orders were tried again after a conflict", retries);
	pthread_barrier_destroy(&start);
}

void sql_round(struct bench *b, const char *database, const struct sql_way *way, int connections, int64_t orders,
               struct round *out)
{
	struct buyer    *buyers = mem_alloc((size_t)connections * sizeof(*buyers));
	struct db_target target = b->database;
	int              connected = 0;

	*out = (struct round){.seconds = b->seconds};
	if (database)
		strcpy(target.database, database);
	for (int i = 0; i < connections && connected == i; i++) {
		buyers[i].way = way;
		connected += buyer_connect(&buyers[i], &target);
	}
	if (connected == connections) {
		buyers_run(b, buyers, connections, orders, out);
	} else {
		bench_wrong("no connection %d: %s", connected, db_error(buyers[connected].db));
		out->wrong++;
	}
	for (int i = 0; i < connections; i++) {
		db_free(buyers[i].db);
		text_fini(&buyers[i].sql);
	}
	free(buyers);
}

static void sql_run(struct bench *b, const struct contender *c, struct round *out)
{
	const struct sql_way *way = c->what;

	sql_round(b, way->database, way, c->connections, INT64_MAX, out);
}

static bool sql_taken(struct bench *b, const struct contender *c, int64_t *units)
{
	const struct sql_way *way = c->what;
	int64_t               figures[2];

	if (!database_ints(b, way->taken, figures, 2) || figures[0] != figures[1]) {
		bench_wrong("%s: the stock lost %" PRId64 ", the reservations hold %" PRId64, c->name, figures[0],
		            figures[1]);
		return false;
	}
	*units = figures[0];
	return true;
}

const struct way way_sql = {.open = sql_open, .ready = sql_ready, .run = sql_run, .taken = sql_taken};
