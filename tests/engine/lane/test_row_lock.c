/* test_row_lock.c - rows that another program has locked, one or many, and for long: which orders have to wait, which
 * do not, and what is told. */
#include "engine/base/memory.h"
#include "tests/kit/drill.h"
#include "tests/lang/trap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS_LIKE(codes)                                                                                  \
	"SELECT s.slot FROM sku k STRAIGHT_JOIN stock_slot s FORCE INDEX (PRIMARY) ON s.sku_id = k.sku_id" \
	" WHERE k.code LIKE '" codes "' FOR UPDATE"

/* ---- one row: the others go on */

/* How often a lane has waited for a row in vain (2 s each time, innodb_lock_wait_timeout), by what the service says. */
static int waits(void)
{
	return trap_said_count("event=rows_locked");
}

/* Orders of B, one after the other. The lane has waited `most` times at most since the beginning, no matter how many
 * orders of other skus have come meanwhile. */
static void others_go_on(int orders, int most)
{
	struct client client;
	struct answer answer = {0};
	int           count;

	client_open(&client, flow_port(0));
	for (int i = 0; i < orders; i++) {
		struct call call = {.method = "POST"};

		text_add(&call.path, "/v1/reservations");
		text_format(&call.body, "{\"order_id\":\"B%d\",\"lines\":[{\"sku\":\"B\",\"qty\":1}]}", i);
		client_call(&client, &call, &answer);
		cr_expect_eq(answer.status, 201, "an order of B: %d %.300s", answer.status, answer.body.data);
		call_fini(&call);
	}
	answer_fini(&answer);
	client_close(&client);
	count = waits();
	cr_expect(count <= most, "the lane has waited %d times beside %d orders of B", count, orders);
}

Test(row_lock, slot_holds_up_its_sku_alone)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +100 B +100000           -> 201",
	           "reserve R A=1 B=1                  -> 201");
	trap_lock(SLOTS_OF("A"));
	race = flow_race("4", "reserve X# A=1 || release R || adjust M# A -1 || reserve Y# A=1 B=1");
	others_go_on(500, 2);
	trap_raced(race, "4x 503 busy Retry-After:*");
	flow_steps("get     X0                         -> 404 unknown_order",
	           "get     R                          -> held",
	           "sku     A                          -> available=99 reserved=1");
	race = flow_race("4*2", "reserve X# A=1");
	usleep(300000);
	trap_unlock();
	trap_raced(race, "8x 201 held");
	flow_steps("release R                          -> released",
	           "sku     A                          -> available=92 reserved=8");
	flow_end();
}

/* Another program keeps the row of one customer: orders of this customer wait, in and out, and others go on. */
Test(row_lock, customer_holds_up_his_orders_alone)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +1000 B +100000          -> 201",
	           "reserve R A=1 customer=c           -> 201",
	           "reserve S A=1 customer=c           -> 201",
	           "reserve T A=1 customer=d           -> 201",
	           "limit A 50                         -> 200");
	trap_lock("SELECT units FROM customer_units WHERE customer = 'c' FOR UPDATE");
	race = flow_race("4", "reserve X# A=1 customer=c || release R || reserve Y# A=1 customer=d replaces=S ||"
	                      " reserve Z# A=1 B=1 customer=c");
	others_go_on(500, 2);
	flow_steps("reserve V A=1 customer=d           -> 201",
	           "reserve W B=1 customer=c           -> 201",
	           "release T                          -> 200",
	           "reserve U A=99 customer=c          -> 409 limit_reached");
	trap_raced(race, "4x 503 busy Retry-After:*");
	flow_steps("get     X0                         -> 404 unknown_order",
	           "get     R                          -> held",
	           "has     A c                        -> has=2");
	race = flow_race("4*2", "reserve X# A=1 customer=c");
	usleep(300000);
	trap_unlock();
	trap_raced(race, "8x 201 held");
	flow_steps("release R                          -> released",
	           "has     A c                        -> has=9");
	flow_end();
}

Test(row_lock, reservation_holds_up_itself_alone)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +100 B +100000           -> 201",
	           "reserve R1 A=1 B=1                 -> 201",
	           "reserve R2 A=1 B=1                 -> 201");
	trap_lock("SELECT state FROM reservation WHERE order_id = 'R1' FOR UPDATE");
	race = flow_race("3", "confirm R1 || release R1 || extend R1 ttl=60");
	others_go_on(500, 2);
	trap_raced(race, "3x 503 busy Retry-After:*");
	flow_steps("release R2                         -> released",
	           "reserve R3 A=1                     -> 201",
	           "get     R1                         -> held !confirmed_at");
	trap_unlock();
	flow_steps("confirm R1                         -> confirmed",
	           "sku     A                          -> available=98 reserved=2");
	flow_end();
}

/* A call that follows a parked operation and names its order is judged behind it, also while the lanes still suspect
 * locks. */
Test(row_lock, call_keeps_its_order)
{
	static const struct {
		const char *locks, *call, *told;
	} rows[] = {
		{SLOTS_OF("A"), "batch D1 A=1 | D2 B=1 replaces=D1",
	         "1x 200 results[0].status=201 results[1].status=201"},
		{SLOTS_OF("A"), "batch E1 A=1 | E1 B=1",
	         "1x 200 results[0].status=201 results[1].code=order_id_reused"},
		{SLOTS_OF("A"), "batch F1 A=1 | F1 A=1 | F2 B=1 replaces=F1",
	         "1x 200 results[0].status=201 results[1].status=200 results[2].status=201"},
		{"SELECT 1 FROM reservation WHERE order_id = 'R1' FOR UPDATE", "releases R1 R2 R1",
	         "1x 200 !results[0].replayed !results[1].replayed results[2].replayed=true"},
		{"SELECT 1 FROM reservation WHERE order_id = 'R3' FOR UPDATE", "confirmations R3 R3 R4",
	         "1x 200 !results[0].replayed results[1].replayed=true !results[2].replayed"},
	};

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +100 B +100              -> 201",
	           "batch R1 B=1 | R2 B=1 | R3 B=1 | R4 B=1 -> 201 | ...");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct race *race;

		trap_lock("%s", rows[i].locks);
		race = flow_race("1", rows[i].call);
		usleep(2500000); /* longer than a lane waits */
		trap_unlock();
		trap_raced(race, rows[i].told);
	}
	cr_expect_eq(trap_said_count("event=database_away"), 0, "a look at locked rows costs no connection");
	flow_end();
}

/* An expired hold that another program has locked cannot be swept now; no lane waits for it time and again. */
Test(row_lock, expired_hold_holds_up_its_sku_alone)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +10 B +100000            -> 201",
	           "reserve R1 A=10 ttl=60             -> 201",
	           "reserve R2 B=1                     -> 201",
	           "tick    61");
	trap_lock("SELECT state FROM reservation WHERE order_id = 'R1' FOR UPDATE");
	race = flow_race("2*8", "reserve X# A=5");
	others_go_on(500, 2);
	trap_unlock();
	trap_raced(race, "*x 503 busy | *x 409 short | *x 201 held");
	flow_steps("get     R1                         -> expired",
	           "sku     A                          -> on_hand=10");
	flow_end();
}

/* The lane's memory of a sku may be older than its slots: the second program has made another one. */
Test(row_lock, slot_of_a_sku_that_got_another_slot)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +100 B +1000             -> 201",
	           "reserve R1 A=1 B=1                 -> 201");
	flow_step("second --lanes 1 --slot 1");
	flow_steps("@2 receipt A +100                  -> 201");
	trap_lock("SELECT slot FROM stock_slot JOIN sku USING (sku_id) WHERE code = 'A' AND slot = 0 FOR UPDATE");
	trap_raced(trap_race_of_waiters("32", "reserve X# A=1 || sku A || reserve Y# B=1 || sku A"),
	           "8x 503 busy | 8x 201 held | 16x 200");
	trap_unlock();
	flow_end();
}

/* The slot of another lane is read without a lock, and only a gather needs it. */
Test(row_lock, slot_of_another_lane)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 1");
	flow_steps("receipt A +10                      -> 201",
	           "@2 receipt A +10                   -> 201",
	           "reserve R1 A=1                     -> 201");
	trap_lock("SELECT available FROM stock_slot WHERE slot = 1 FOR UPDATE");
	flow_steps("reserve R2 A=1                     -> 201",
	           "adjust  M1 A -1                    -> 201",
	           "receipt M2 A +1                    -> 201",
	           "return  M3 A +1                    -> 201",
	           "confirm R1                         -> confirmed",
	           "release R2                         -> released");
	cr_expect_eq(waits(), 0);
	trap_unlock();
	flow_steps("sku     A                          -> available=20 reserved=1");
	flow_end();
}

/* The clock of a statement stands still while it waits for a lock: a hold that expires meanwhile is not confirmed. */
Test(row_lock, hold_that_expires_while_its_confirmation_waits)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +10                      -> 201",
	           "reserve R1 A=1 ttl=1               -> 201",
	           "reserve R2 A=1 ttl=1               -> 201");
	trap_lock("SELECT state FROM reservation FOR UPDATE");
	race = flow_race("2", "confirm R1 || release R2");
	usleep(1400000);
	trap_unlock();
	trap_raced(race, "2x 409 expired");
	flow_steps("get     R1                         -> expired !confirmed_at",
	           "reserve R3 A=10                    -> 201");
	flow_end();
}

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
	                "POST /v1/reservations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
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
	trap_lock(SLOTS_LIKE("A"));
	trap_sql("SET SESSION idle_transaction_timeout = 0");
	trap_sql("START TRANSACTION");
	trap_sql(SLOTS_LIKE("L0"));
}

/* Orders that wait for L0 become more all the time. Orders that wait for A are tried all the same, and served when it
 * is free. */
Test(row_lock, parked_whatever_else_is_parked)
{
	struct drip *drip;
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +100 L0 +1000 B +1     -> 201",
	           "reserve R A=1 L0=1               -> 201");
	lock_two();
	drip = drip_start(1);
	usleep(1500000);
	race = flow_race("4", "reserve A# A=1");
	usleep(3100000);
	trap_unlock();
	trap_raced(race, "4x 201 held");
	flow_step("reserve B B=1                     -> 201");
	drip_end(drip);
	trap_sql("COMMIT");
	flow_end();
}

/* One hundred skus are locked, orders for each of them come. Another one goes on: it waits once, for a short time or
 * not at all after that. */
static void many_skus(bool gathers)
{
	struct drip *drip;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 1");
	flow_step("receipt B +100000                -> 201");
	flow_repeat(gathers ? "@2 receipt" : "receipt", " L# +10", 100, " -> 201");
	if (!gathers)
		flow_repeat("reserve R B=1", " L#=1", 100, "         -> 201");
	trap_lock(SLOTS_LIKE("L%%"));
	drip = drip_start(100);
	others_go_on(2000, 3);
	drip_end(drip);
	trap_unlock();
	flow_steps("wait reserve L L7=1              -> 201");
	flow_end();
}

Test(row_lock, many_skus, DRILL)
{
	many_skus(false);
}

Test(row_lock, many_skus_of_another_lane, DRILL)
{
	many_skus(true);
}

/* A change of a reservation in another lane's slot needs the slots that it writes, and no other. */
Test(row_lock, slot_that_a_change_does_not_write)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 1");
	flow_steps("receipt A +10                    -> 201",
	           "@2 receipt A +10                 -> 201",
	           "@2 reserve R1 A=5                -> 201",
	           "@2 reserve R2 A=2 ttl=60         -> 201",
	           "tick 61",
	           "work expire");
	trap_lock("SELECT slot FROM stock_slot WHERE slot = 1 FOR UPDATE");
	flow_steps("release R1                       -> 503 busy",
	           "confirm R2 reacquire             -> reacquired");
	trap_unlock();
	trap_lock("SELECT slot FROM stock_slot WHERE slot = 0 FOR UPDATE");
	flow_steps("reserve W A=1                    -> 503 busy",
	           "reserve R3 A=3 replaces=R1       -> 201");
	trap_unlock();
	flow_steps("sku A                            -> available=15 reserved=5");
	flow_end();
}

/* Many orders are locked, which no look finds. Each of them is tried by itself once it is known, so that they do not
 * fail together, and others with them, time and again: an order is taken about ten times. */
Test(row_lock, many_reservations)
{
	struct text  call = {0};
	struct race *race;
	int64_t      before;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +1000 B +1000          -> 201",
	           "race 8*20 reserve R# A=1         -> 160x 201");
	trap_lock("SELECT state FROM reservation FOR UPDATE");
	for (int i = 0; i < 160; i++)
		text_format(&call, "%s R%d", i ? "" : "confirmations", i);
	before = trap_metric(0, "holdfast_batch_requests_sum");
	race = flow_race("1", call.data);
	usleep(2500000); /* longer than a lane waits, shorter than an order does */
	others_go_on(20, 1);
	trap_raced(race, "1x 200 results[0].code=busy results[159].code=busy");
	cr_expect(trap_metric(0, "holdfast_batch_requests_sum") - before < 160 * 12);
	trap_unlock();
	text_fini(&call);
	flow_end();
}

/* Another program has written one of the ids and not committed: a lock that is seen neither in a slot nor in a
 * reservation that there is. Its own order waits for it, its neighbours in the batch do not. */
Test(row_lock, id_of_one_order)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +100                   -> 201");
	trap_lock("INSERT INTO reservation (reservation_id, order_id, lines_hash, state, expires_at, due_at, attempts,"
	          " created_at) VALUES (1, 'K7', REPEAT('x', 16), 1, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), 0,"
	          " UTC_TIMESTAMP(3))");
	trap_raced(trap_race_of_waiters("16", "reserve K# A=1"), "15x 201 held | 1x 503 busy Retry-After:*");
	trap_raced(trap_race_of_waiters("16", "reserve K# A=1"), "15x 200 held replayed | 1x 503 busy Retry-After:*");
	trap_lock("DELETE FROM reservation WHERE order_id = 'K7'");
	trap_unlock();
	flow_steps("reserve K7 A=1 -> 201",
	           "sku A          -> available=84 reserved=16");
	flow_end();
}

/* From the second time on no batch waits for the id of a movement, either. */
Test(row_lock, id_of_one_movement)
{
	int before;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +100                   -> 201");
	trap_lock("INSERT INTO movement (movement_no, movement_id, kind, lines_hash, created_at)"
	          " VALUES (1, 'K7', 1, REPEAT('x', 16), UTC_TIMESTAMP(3))");
	trap_raced(trap_race_of_waiters("16", "receipt K# A +1"), "15x 201 | 1x 503 busy Retry-After:*");
	before = waits();
	trap_raced(trap_race_of_waiters("16", "receipt K# A +1"), "15x 200 replayed | 1x 503 busy Retry-After:*");
	cr_expect_eq(waits(), before);
	trap_lock("DELETE FROM movement WHERE movement_id = 'K7'");
	trap_unlock();
	flow_step("sku A                            -> available=115");
	flow_end();
}

/* The new id of a split or of a replacement is as hard to see; the order that it changes is free. From the second time
 * on no batch waits for it. */
static void id_of_what_changes_another(const char *steps)
{
	int before;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +200                   -> 201",
	           "race 8*5 reserve R# A=3          -> 40x 201");
	trap_lock("INSERT INTO reservation (reservation_id, order_id, lines_hash, state, expires_at, due_at, attempts,"
	          " created_at) VALUES (1, 'K7', REPEAT('x', 16), 1, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), 0,"
	          " UTC_TIMESTAMP(3))");
	trap_raced(trap_race_of_waiters("16", steps), "15x 201 held | 1x 503 busy Retry-After:*");
	before = waits();
	trap_raced(trap_race_of_waiters("16", steps), "15x 200 held replayed | 1x 503 busy Retry-After:*");
	cr_expect_eq(waits(), before);
	trap_lock("DELETE FROM reservation WHERE order_id = 'K7'");
	trap_unlock();
	trap_raced(flow_race("8", steps), "7x 200 held replayed | 1x 201 held");
	flow_step("sku A                            -> available=80 reserved=120");
	flow_end();
}

Test(row_lock, id_of_one_split)
{
	id_of_what_changes_another("split R# K# A=1");
}

Test(row_lock, id_of_one_replacement)
{
	id_of_what_changes_another("reserve K# A=3 replaces=R#");
}

/* A split writes the slots of what it releases, and no other. */
Test(row_lock, slot_of_a_line_that_is_not_split)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +10 B +10 -> 201",
	           "reserve R1 A=4 B=4 -> 201");
	trap_lock(SLOTS_OF("A"));
	flow_steps("reserve W A=1 -> 503 busy",
	           "split R1 S1 B=1 then=release -> 201 released",
	           "split R1 S2 A=1 -> 201 held",
	           "split R1 S3 A=1 then=release -> 503 busy");
	trap_unlock();
	flow_steps("split R1 S3 A=1 then=release -> 201 released",
	           "sku A -> available=7 reserved=3",
	           "sku B -> available=7 reserved=3");
	flow_end();
}

/* The same with a code that is to be new: no look finds its lock. */
Test(row_lock, code_of_one_receipt)
{
	flow_begin();
	flow_step("serve --lanes 1");
	trap_lock("INSERT INTO sku (code, created_at) VALUES ('N7', UTC_TIMESTAMP(3))");
	trap_raced(trap_race_of_waiters("24", "receipt M# N# +1"), "23x 201 | 1x 503 busy Retry-After:*");
	trap_unlock();
	flow_steps("receipt M7 N7 +1                 -> 201");
	flow_end();
}

/* An expired hold in a slot that another program has locked cannot be given back: no order is told `short` for this. */
Test(row_lock, slot_of_an_expired_hold)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +10 B +10   -> 201",
	           "reserve R A=10 ttl=60 -> 201",
	           "tick 61");
	trap_lock(SLOTS_LIKE("A"));
	trap_raced(flow_race("4", "reserve X# A=5"), "4x 503 busy Retry-After:*");
	trap_unlock();
	flow_steps("reserve Y A=10 -> 201",
	           "get R          -> expired");
	flow_end();
}

/* Parked operations count into the queue of 4,096: memory has a bound, and later calls are told so at once. Operations
 * that a lane has in hand count again when they are parked; so do all that came before an operation which is answered.
 */
Test(row_lock, parked_count_into_the_queue)
{
	struct text  call = {0};
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +100000 B +1           -> 201",
	           "reserve R A=1                    -> 201");
	for (int i = 0; i < 1000; i++)
		text_format(&call, "%s Q#-%d A=1", i ? " |" : "batch", i);
	trap_lock(SLOTS_LIKE("A"));
	flow_step("reserve W A=1                    -> 503 busy");
	race = flow_race("4", call.data);
	flow_step("wait raw GET /metrics            -> 200 holdfast_queue_depth{lane=0}=4000");
	flow_step("reserve U B=1                    -> 201");
	flow_repeat("batch Z A=1", " | Z# A=1", 999, " -> 503 busy");
	flow_step("raw GET /metrics                 -> 200 holdfast_busy_total{cause=queue_full}=1000");
	trap_raced(race, "4x 200");
	flow_step("wait raw GET /metrics            -> 200 holdfast_queue_depth{lane=0}=0");
	trap_unlock();
	flow_step("reserve V A=1                    -> 201");
	text_fini(&call);
	flow_end();
}

/* ---- the order of locks */

#define FREE(table, code)                                                                    \
	"SELECT COUNT(*) FROM (SELECT 1 FROM " table " FORCE INDEX (PRIMARY) WHERE sku_id =" \
	" (SELECT sku_id FROM sku WHERE code = '" code "') FOR UPDATE SKIP LOCKED) free"

/* Of the rows that an operation locks, it has none behind the row that it waits for (docs/developer.md, `Locks in one
 * order`): the slot of B stands behind that of A, and the units of customers behind all slots. */
Test(row_lock, none_behind_the_row_that_it_waits_for)
{
	static const struct {
		const char *locks, *call, *told;
	} rows[] = {
		{"SELECT 1 FROM reservation WHERE order_id = 'R1' FOR UPDATE", "release R1", "1x 200 released"},
		{SLOTS_OF("A"), "release R2", "1x 200 released"},
		{SLOTS_OF("A"), "reserve R5 A=1 B=1 customer=c", "1x 201 held"},
		{SLOTS_OF("A"), "amend R3 A=3 B=3", "1x 200 held"},
		{SLOTS_OF("A"), "amend R4 A=1 B=3", "1x 200 held"},
		{SLOTS_OF("A"), "adjust M A -1 B -1", "1x 201"},
	};

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +100                     -> 201",
	           "receipt B +100                     -> 201");
	for (int i = 1; i <= 4; i++)
		flow_step("reserve R%d A=2 B=2 customer=c     -> 201", i);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct race *race;

		trap_lock("%s", rows[i].locks);
		race = flow_race("1", rows[i].call);
		trap_waiter();
		cr_expect_eq(trap_number(FREE("stock_slot", "B")), 1, "%s: the slot of B", rows[i].call);
		cr_expect_eq(trap_number(FREE("customer_units", "A")), 1, "%s: the customer's row", rows[i].call);
		trap_unlock();
		trap_raced(race, rows[i].told);
	}
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
	db = db_new_alone(&to);
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

/* Another program keeps B, so the lane looks at all rows. The row of A is locked at every look, because others always
 * write it. They give it back each time, and so the order waits for its turn. */
Test(row_lock, row_that_is_always_in_use)
{
	pthread_t    more, less;
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +1000 B +10            -> 201",
	           "reserve R A=1 B=1                -> 201");
	trap_lock(SLOTS_LIKE("B"));
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
