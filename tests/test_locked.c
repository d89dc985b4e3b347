/* test_locked.c - rows that somebody outside has locked, many of them and for long: who has to wait, who has not, and
 * what is told. One row at a time: test_traps_rows.c. */
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "tests/trap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS_OF(codes)                                                                                    \
	"SELECT s.slot FROM sku k STRAIGHT_JOIN stock_slot s FORCE INDEX (PRIMARY) ON s.sku_id = k.sku_id" \
	" WHERE k.code LIKE '" codes "' FOR UPDATE"

/* ---- orders that come one after the other, whatever becomes of those before */

enum { DRIPS_MAX = 900, DRIP_US = 10000 };

struct drip {
	pthread_t     thread;
	_Atomic bool  ending;
	int           port, skus; /* L0 to L.. in turn */
	int           count;
	struct client client[DRIPS_MAX];
};

static void drip_one(struct drip *d)
{
	struct client *c = &d->client[d->count];
	char           body[100], request[300];
	int            len, sent;

	client_open(c, d->port);
	if (!client_connect(c))
		return;
	len = snprintf(body, sizeof(body), "{\"order_id\":\"drip-%d\",\"lines\":[{\"sku\":\"L%d\",\"qty\":1}]}",
	               d->count, d->count % d->skus);
	sent = snprintf(request, sizeof(request),
	                "POST /v1/reservations HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
	                "Content-Length: %d\r\n\r\n%s",
	                len, body);
	d->count += write(c->fd, request, (size_t)sent) == sent;
}

static void *drip_run(void *arg)
{
	struct drip *d = arg;

	for (; !atomic_load(&d->ending) && d->count < DRIPS_MAX; usleep(DRIP_US))
		drip_one(d);
	return NULL;
}

static struct drip *drip_start(int skus)
{
	struct drip *d = mem_alloc(sizeof(*d));

	d->port = flow_port(0);
	d->skus = skus;
	cr_assert_eq(pthread_create(&d->thread, NULL, drip_run, d), 0);
	return d;
}

static void drip_end(struct drip *d)
{
	atomic_store(&d->ending, true);
	pthread_join(d->thread, NULL);
	for (int i = 0; i < d->count; i++)
		client_close(&d->client[i]);
	free(d);
}

/* A row of L0 is locked by the one, of A by another. */
static void lock_two(void)
{
	trap_lock(SLOTS_OF("A"));
	trap_sql("SET SESSION idle_transaction_timeout = 0");
	trap_sql("START TRANSACTION");
	trap_sql(SLOTS_OF("L0"));
}

/* Those that wait for L0 become more all the time; those that wait for A are tried all the same, and served when it is
 * free. */
Test(locked, parked_whatever_else_is_parked)
{
	struct drip *drip;
	struct race *race;
	int64_t      began;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +100 L0 +1000 B +1     -> 201", "reserve R A=1 L0=1               -> 201");
	lock_two();
	drip = drip_start(1);
	usleep(1500000);
	race = flow_race("4", "reserve A# A=1");
	usleep(3100000);
	trap_unlock();
	began = clock_ms();
	trap_raced(race, "4x 201 held");
	cr_expect(clock_ms() - began < 3000, "they took %lld ms", (long long)(clock_ms() - began));
	flow_step("reserve B B=1                     -> 201");
	drip_end(drip);
	trap_sql("COMMIT");
	flow_end();
}

/* One hundred skus are locked, orders for each of them come. Another one goes on: it waits once, for a moment or not at
 * all after that. */
Test(locked, many_skus)
{
	struct drip  *drip;
	struct client client;
	struct answer answer = {0};
	int           served = 0, slow = 0;
	int64_t       until;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_repeat("receipt B +100000", " L# +10", 100, "   -> 201");
	flow_repeat("reserve R B=1", " L#=1", 100, "         -> 201");
	trap_lock(SLOTS_OF("L%%"));
	drip = drip_start(100);
	client_open(&client, flow_port(0));
	for (until = clock_ms() + 7000; clock_ms() < until; served++) {
		struct call call = {.method = "POST"};
		int64_t     began = clock_ms();

		text_add(&call.path, "/v1/reservations");
		text_format(&call.body, "{\"order_id\":\"B%d\",\"lines\":[{\"sku\":\"B\",\"qty\":1}]}", served);
		client_call(&client, &call, &answer);
		cr_expect_eq(answer.status, 201, "%.300s", answer.body.data);
		slow += clock_ms() - began >= 900;
		call_fini(&call);
	}
	cr_expect(slow <= 3 && served > 100, "%d orders of B were served, %d of them slow", served, slow);
	answer_fini(&answer);
	client_close(&client);
	drip_end(drip);
	trap_unlock();
	flow_steps("wait reserve L L7=1              -> 201");
	flow_end();
}

/* Somebody has written one of the ids and not committed: a lock that is seen neither in a slot nor in a reservation
 * that there is. Its own order waits for it, its neighbours in the batch do not. */
Test(locked, id_of_one_order)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +100                   -> 201");
	trap_lock("INSERT INTO reservation (reservation_id, order_id, lines_hash, state, expires_at, due_at, attempts,"
	          " created_at) VALUES (1, 'K7', REPEAT('x', 16), 1, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), 0,"
	          " UTC_TIMESTAMP(3))");
	trap_raced(trap_race_of_waiters("40", "reserve K# A=1"), "39x 201 held | 1x 503 busy Retry-After:*");
	trap_raced(trap_race_of_waiters("16", "reserve K# A=1"), "15x 200 held replayed | 1x 503 busy Retry-After:*");
	trap_lock("DELETE FROM reservation WHERE order_id = 'K7'");
	trap_unlock();
	flow_steps("reserve K7 A=1                   -> 201", "sku A -> available=60 reserved=40");
	flow_end();
}

/* Likewise a code that is to be new; that one no look finds. */
Test(locked, code_of_one_receipt)
{
	flow_begin();
	flow_step("serve --lanes 1");
	trap_lock("INSERT INTO sku (code, created_at) VALUES ('N7', UTC_TIMESTAMP(3))");
	trap_raced(trap_race_of_waiters("24", "receipt M# N# +1"), "23x 201 | 1x 503 busy Retry-After:*");
	trap_unlock();
	flow_steps("receipt M7 N7 +1                 -> 201");
	flow_end();
}

/* An expired hold that lies in a slot that somebody has locked cannot be given back: nobody is told `short` for that.
 */
Test(locked, slot_of_an_expired_hold)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +10 B +10              -> 201", "reserve R A=10 ttl=60             -> 201", "tick 61");
	trap_lock(SLOTS_OF("A"));
	trap_raced(flow_race("4", "reserve X# A=5"), "4x 503 busy Retry-After:*");
	trap_unlock();
	flow_steps("reserve Y A=10                   -> 201", "get R -> expired");
	flow_end();
}

/* What is parked counts into the queue of 4,096: memory has a bound, and who comes later is told so at once. */
Test(locked, parked_count_into_the_queue)
{
	struct text  call = {0};
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +100000                -> 201", "reserve R A=1                    -> 201");
	for (int i = 0; i < 1000; i++)
		text_format(&call, "%s Q#-%d A=1", i ? " |" : "batch", i);
	trap_lock(SLOTS_OF("A"));
	flow_step("reserve W A=1                    -> 503 busy");
	race = flow_race("4", call.data);
	flow_step("wait raw GET /metrics            -> 200 holdfast_queue_depth{lane=0}=4000");
	flow_repeat("batch Z A=1", " | Z# A=1", 999, " -> 503 busy");
	flow_step("raw GET /metrics                 -> 200 holdfast_busy_total{cause=queue_full}=1000");
	trap_raced(race, "4x 200");
	flow_step("wait raw GET /metrics            -> 200 holdfast_queue_depth{lane=0}=0");
	trap_unlock();
	flow_step("reserve V A=1                    -> 201");
	text_fini(&call);
	flow_end();
}

/* ---- rows that many of ours write */

enum { WRITES = 100 };

/* Takes its turn at the slot of A again and again, and has it for a while. */
static void *write_a(void *arg)
{
	struct db_target to = flow_scratch()->target;
	struct db       *db;
	char             sql[200];

	snprintf(to.database, sizeof(to.database), "%s", flow_scratch()->name);
	db = db_new(&to);
	cr_assert(db_connect(db));
	snprintf(sql, sizeof(sql),
	         "UPDATE stock_slot JOIN sku USING (sku_id) SET available = available %s 1 WHERE code = 'A'",
	         (const char *)arg);
	for (int i = 0; i < WRITES; i++)
		cr_assert(db_text(db, "START TRANSACTION", NULL, NULL) == DB_OK &&
		          db_text(db, sql, NULL, NULL) == DB_OK && db_text(db, "DO SLEEP(0.05)", NULL, NULL) == DB_OK &&
		          db_text(db, "COMMIT", NULL, NULL) == DB_OK);
	db_free(db);
	return NULL;
}

/* Somebody keeps B, so the lane looks at all rows; that of A is locked whenever it looks, because others always write
 * it. They give it back, each time, and so it waits for its turn. */
Test(locked, row_that_is_always_in_use)
{
	pthread_t    more, less;
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +1000 B +10            -> 201", "reserve R A=1 B=1                -> 201");
	trap_lock(SLOTS_OF("B"));
	flow_step("reserve W B=1                    -> 503 busy");
	cr_assert_eq(pthread_create(&more, NULL, write_a, "+"), 0);
	cr_assert_eq(pthread_create(&less, NULL, write_a, "-"), 0);
	usleep(200000);
	race = flow_race("8*2", "reserve X# A=1");
	trap_raced(race, "16x 201 held");
	pthread_join(more, NULL);
	pthread_join(less, NULL);
	trap_unlock();
	flow_end();
}
