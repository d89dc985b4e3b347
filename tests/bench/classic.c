/* classic.c - the contender: the classic slotted deduction in SQL, as good as it gets. The stock of a sku is the sum of
 * ten signed slots; a deduction checks the sum and writes a random slot. With it goes the row that says who got the
 * units. All of one order is one compound statement: one trip, one commit. The table of reservations has the two
 * indexes that it cannot do without, and fewer than Holdfast's. */
#include "bench.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CLASSIC_QTY INT64_C(1000000000)

enum { SLOTS = 10, SKU = 1, WORKERS_MAX = 256 };

/* A buyer: a thread with a connection of its own. */
struct worker {
	pthread_t          thread;
	pthread_barrier_t *start; /* all connections are open before the window begins */
	struct db         *db;
	uint64_t           number; /* of its next order */
	uint64_t           stride;
	int64_t            window_us;
	int64_t            retries; /* deadlocks and lock waits that ran out: tried again, part of the latency */
	struct round       round;
};

static const char *const schema[] = {
	"CREATE DATABASE classic",
	"CREATE TABLE classic.stock (sku INT NOT NULL, slot INT NOT NULL, qty BIGINT NOT NULL, PRIMARY KEY (sku, slot))"
	" ENGINE=InnoDB",
	"CREATE TABLE classic.reservation (reservation_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,"
	" order_id VARBINARY(64) NOT NULL UNIQUE, sku INT NOT NULL, qty BIGINT NOT NULL, state TINYINT NOT NULL,"
	" created_at DATETIME(3) NOT NULL, expires_at DATETIME(3) NOT NULL) ENGINE=InnoDB",
};

bool classic_open(struct bench *b, const struct contender *c)
{
	struct text sql = {0};
	bool        right;

	(void)c;
	for (size_t i = 0; i < COUNT(schema); i++)
		if (!database_run(b, schema[i]))
			return false;
	text_add(&sql, "INSERT INTO classic.stock (sku, slot, qty) VALUES ");
	for (int slot = 0; slot < SLOTS; slot++)
		text_format(&sql, "%s(%d,%d,%" PRId64 ")", slot ? "," : "", SKU, slot, CLASSIC_QTY / SLOTS);
	right = database_run(b, sql.data);
	text_fini(&sql);
	return right;
}

static void order_sql(struct text *sql, uint64_t number)
{
	int64_t qty = order_qty(number);

	text_reset(sql);
	text_format(sql,
	            "BEGIN NOT ATOMIC\n"
	            "DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;\n"
	            "START TRANSACTION;\n"
	            "INSERT INTO stock (sku, slot, qty) SELECT sku, %d, -%" PRId64
	            " FROM (SELECT sku, SUM(qty) AS total"
	            " FROM stock WHERE sku = %d GROUP BY sku HAVING total >= %" PRId64 " FOR UPDATE) t"
	            " ON DUPLICATE KEY UPDATE qty = qty + VALUES(qty);\n"
	            "IF ROW_COUNT() = 0 THEN ROLLBACK; SELECT 0; ELSE\n"
	            "INSERT INTO reservation (order_id, sku, qty, state, created_at, expires_at) VALUES ('",
	            (int)(number_spread(~number) % SLOTS), qty, SKU, qty);
	order_write(sql, number);
	text_format(sql,
	            "',%d,%" PRId64 ",1,UTC_TIMESTAMP(3),UTC_TIMESTAMP(3) + INTERVAL 900 SECOND);\n"
	            "COMMIT; SELECT 1; END IF; END",
	            SKU, qty);
}

static void int_read(void *arg, const struct db_row *row)
{
	*(int64_t *)arg = db_int(row, 0);
}

/* One order, tried until it has an answer. */
static bool order_place(struct worker *w, struct text *sql)
{
	for (int tries = 0; tries < 100; tries++) {
		int64_t        sold = -1;
		enum db_result result = db_text(w->db, sql->data, int_read, &sold);

		if (result == DB_OK && sold == 1)
			return true;
		if (result != DB_RETRY && result != DB_LOCKED) {
			bench_wrong("classic: sold=%d error %u %s", (int)sold, db_errno(w->db), db_error(w->db));
			return false;
		}
		w->retries++;
	}
	bench_wrong("classic: an order found no end of conflicts");
	return false;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct text    sql = {0};
	int64_t        begun_us, until_us, now_us;

	pthread_barrier_wait(w->start);
	begun_us = now_us = clock_us();
	until_us = begun_us + w->window_us;
	while (now_us < until_us && w->round.wrong < 10) {
		int64_t from_us = now_us;

		order_sql(&sql, w->number);
		if (order_place(w, &sql)) {
			now_us = clock_us();
			w->round.orders++;
			w->round.timed += now_us < until_us;
			w->round.units += order_qty(w->number);
			samples_add(&w->round.samples, now_us - from_us);
		} else {
			now_us = clock_us();
			w->round.wrong++;
		}
		w->number += w->stride;
	}
	text_fini(&sql);
	return NULL;
}

static void worker_join(struct worker *w, struct round *out)
{
	pthread_join(w->thread, NULL);
	out->timed += w->round.timed;
	out->orders += w->round.orders;
	out->units += w->round.units;
	out->wrong += w->round.wrong;
	samples_join(&out->samples, &w->round.samples);
	free(w->round.samples.us);
}

void classic_run(struct bench *b, const struct contender *c, struct round *out)
{
	struct worker    *workers = mem_alloc(WORKERS_MAX * sizeof(*workers));
	struct db_target  target = b->database;
	pthread_barrier_t start;
	bool              connected = true;
	int64_t           retries = 0;

	assert(c->connections <= WORKERS_MAX);
	*out = (struct round){.seconds = b->seconds};
	strcpy(target.database, "classic");
	for (int i = 0; i < c->connections; i++) {
		workers[i].db = db_new(&target);
		connected = db_connect(workers[i].db) && connected;
	}
	if (!connected) {
		bench_wrong("classic: not connected: %s", db_error(workers[0].db));
		out->wrong++;
	}
	pthread_barrier_init(&start, NULL, (unsigned)c->connections);
	for (int i = 0; connected && i < c->connections; i++) {
		struct worker *w = &workers[i];

		w->start = &start;
		w->number = b->order_next++;
		w->stride = (uint64_t)c->connections;
		w->window_us = (int64_t)b->seconds * 1000000;
		if (pthread_create(&w->thread, NULL, worker_main, w))
			abort(); /* the others would wait at the barrier for ever */
	}
	for (int i = 0; i < c->connections; i++) {
		if (connected)
			worker_join(&workers[i], out);
		if (workers[i].number > b->order_next)
			b->order_next = workers[i].number;
		retries += workers[i].retries;
		db_free(workers[i].db);
	}
	if (retries)
		say("bench: classic: %" PRId64 " orders were tried again after a conflict", retries);
	pthread_barrier_destroy(&start);
	free(workers);
}

struct balance {
	int64_t left;
	int64_t sold;
};

static void balance_read(void *arg, const struct db_row *row)
{
	*(struct balance *)arg = (struct balance){db_int(row, 0), db_int(row, 1)};
}

/* The units that the stock lost; false unless the reservations hold exactly these. */
bool classic_taken(struct bench *b, const struct contender *c, int64_t *units)
{
	struct db     *db = db_new(&b->database);
	struct balance is = {0};
	bool           right;

	(void)c;
	right = db_connect(db) && db_text(db,
	                                  "SELECT (SELECT SUM(qty) FROM classic.stock WHERE sku = 1),"
	                                  " (SELECT SUM(qty) FROM classic.reservation)",
	                                  balance_read, &is) == DB_OK;
	*units = CLASSIC_QTY - is.left;
	if (!right || is.sold != *units)
		bench_wrong("classic: the stock lost %" PRId64 ", the reservations hold %" PRId64, *units, is.sold);
	right = right && is.sold == *units;
	db_free(db);
	return right;
}
