/* test_traps_rows.c - traps of design.md section 3: rows that somebody else has locked, ids that collide, and one order
 * among many that cannot be stored. See test_traps.c. */
#include "engine/base/clock.h"
#include "tests/trap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS_OF(code) "SELECT slot FROM stock_slot JOIN sku USING (sku_id) WHERE code = '" code "' FOR UPDATE"

/* ---- rows that somebody outside has locked */

struct waits {
	int     answers, slow; /* slow: half a second and more */
	int64_t longest_ms;
};

/* One order of B after the other. */
static struct waits orders_of_b(int64_t for_ms)
{
	struct waits  w = {0};
	struct client client;
	struct answer answer = {0};
	int64_t       until = clock_ms() + for_ms;

	client_open(&client, flow_port(0));
	while (clock_ms() < until) {
		struct call call = {.method = "POST"};
		int64_t     began = clock_ms(), took;

		text_add(&call.path, "/v1/reservations");
		text_format(&call.body, "{\"order_id\":\"B%d\",\"lines\":[{\"sku\":\"B\",\"qty\":1}]}", w.answers++);
		client_call(&client, &call, &answer);
		if (answer.status != 201)
			flow_fail("an order of B: %d %.300s", answer.status, answer.body.data);
		took = clock_ms() - began;
		w.slow += took >= 500;
		w.longest_ms = took > w.longest_ms ? took : w.longest_ms;
		call_fini(&call);
	}
	answer_fini(&answer);
	client_close(&client);
	return w;
}

/* The lane waits for the row once (2 s, innodb_lock_wait_timeout), no matter how many orders of A come meanwhile. */
static void others_go_on(void)
{
	struct waits w = orders_of_b(5000);

	cr_expect(w.slow <= 2 && w.longest_ms < 3000, "%d of %d orders of B waited, one of them %lld ms", w.slow,
	          w.answers, (long long)w.longest_ms);
	cr_expect(w.answers > 100, "only %d orders of B were answered in 5 s", w.answers);
}

Test(traps, locked_slot_holds_up_its_sku_alone)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +100 B +100000           -> 201",
	           "reserve R A=1 B=1                  -> 201");
	trap_lock(SLOTS_OF("A"));
	race = flow_race("4", "reserve X# A=1 || release R || adjust M# A -1 || reserve Y# A=1 B=1");
	others_go_on();
	trap_raced(race, "4x 503 busy Retry-After:*");
	flow_steps("get     X0                         -> 404 unknown_order",
	           "get     R                          -> held",
	           "sku     A                          -> available=99 reserved=1");
	race = flow_race("4*2", "reserve X# A=1");
	usleep(700000);
	trap_unlock();
	trap_raced(race, "8x 201 held");
	flow_steps("release R                          -> released",
	           "sku     A                          -> available=92 reserved=8");
	flow_end();
}

Test(traps, locked_reservation_holds_up_itself_alone)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +100 B +100000           -> 201",
	           "reserve R1 A=1 B=1                 -> 201",
	           "reserve R2 A=1 B=1                 -> 201");
	trap_lock("SELECT state FROM reservation WHERE order_id = 'R1' FOR UPDATE");
	race = flow_race("3", "confirm R1 || release R1 || extend R1 ttl=60");
	others_go_on();
	trap_raced(race, "3x 503 busy Retry-After:*");
	flow_steps("release R2                         -> released",
	           "reserve R3 A=1                     -> 201",
	           "get     R1                         -> held !confirmed_at");
	trap_unlock();
	flow_steps("confirm R1                         -> confirmed",
	           "sku     A                          -> available=98 reserved=2");
	flow_end();
}

/* An expired hold that somebody has locked cannot be swept now; no lane waits for it time and again. */
Test(traps, locked_expired_hold_holds_up_its_sku_alone)
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
	others_go_on();
	trap_unlock();
	trap_raced(race, "*x 503 busy | *x 409 short | *x 201 held");
	flow_steps("get     R1                         -> expired",
	           "sku     A                          -> on_hand=10");
	flow_end();
}

/* What the lane remembers of a sku may be older than its slots: the second program has made another one. */
Test(traps, locked_slot_of_a_sku_that_got_another_slot)
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

/* The clock of a statement stands still while it waits for a lock: a hold that expires meanwhile is not confirmed. */
Test(traps, expires_while_its_confirmation_waits)
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

/* The deduction meets a deadlock, which undoes its transaction; the rows of its orders were sent behind it all the
 * same. The holder is not the victim, because it has changed more. */
Test(traps, deadlock_in_the_midst_of_the_steps)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +100                     -> 201");
	trap_sql("CREATE TABLE heavy (n INT) ENGINE=InnoDB SELECT seq AS n FROM seq_1_to_1000");
	trap_lock("UPDATE heavy SET n = n + 1");
	trap_lock("SELECT available FROM stock_slot FOR UPDATE");
	race = trap_race_of_waiters("40", "reserve X# A=1");
	trap_waiter();
	trap_lock("SELECT lane_id FROM lane FOR UPDATE");
	trap_unlock();
	trap_raced(race, "40x 201 held");
	flow_steps("sku     A                          -> available=60 reserved=40");
	cr_expect_geq(trap_metric(0, "holdfast_deadlocks_total"), 1);
	trap_sql("DROP TABLE heavy");
	flow_end();
}

/* ---- ids that collide */

/* Numbers of reservations and movements are made by the lanes themselves. With lanes whose own numbers differ by 1,024
 * the same ones come up all the time. */
Test(traps, primary_keys_collide)
{
	int64_t next;

	flow_begin();
	flow_step("serve --lanes 1");
	next = trap_number("SELECT MAX(lane_id) + 1024 FROM lane");
	trap_sql("ALTER TABLE lane AUTO_INCREMENT = %lld", (long long)next);
	flow_step("second --lanes 1 --slot 1");
	cr_assert(trap_number("SELECT COUNT(DISTINCT lane_id & 1023) FROM lane") == 1);
	flow_steps("receipt A +2000                    -> 201",
	           "race 32*40 reserve R# A=1          -> 1280x 201 held",
	           "race 32*40 reserve R# A=1          -> 1280x 200 held replayed",
	           "race 32*20 receipt M# B +1         -> 640x 201",
	           "race 32*20 receipt M# B +1         -> 640x 200 replayed",
	           "sku A                              -> available=720 reserved=1280",
	           "sku B                              -> available=640");
	cr_expect(trap_metric(0, "holdfast_retries_total") + trap_metric(1, "holdfast_retries_total") > 0,
	          "no number came up twice");
	flow_end();
}

/* ---- one order among many that cannot be stored */

static void refuse_order(const char *pattern)
{
	trap_sql("CREATE TRIGGER refuse BEFORE INSERT ON reservation FOR EACH ROW"
	         " IF NEW.order_id LIKE '%s' THEN"
	         " SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused by the test'; END IF",
	         pattern);
}

Test(traps, one_culprit_in_a_call)
{
	struct text step = {0};

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +5000                    -> 201");
	refuse_order("R123");
	for (int i = 0; i < 300; i++)
		text_format(&step, "%s R%d A=1", i ? " |" : "batch", i);
	for (int i = 0; i < 300; i++)
		text_format(&step, "%s %s", i ? " |" : " ->", i == 123 ? "503 busy order_id=R123" : "201 held");
	flow_repeat(step.data, "", 0, "");
	flow_steps("get     R123                       -> 404 unknown_order",
	           "sku     A                          -> available=4701 reserved=299");
	text_fini(&step);
	flow_end();
}

Test(traps, one_culprit_among_many_callers)
{
	flow_begin();
	flow_step("serve --lanes 2");
	flow_steps("receipt A +5000                    -> 201");
	refuse_order("R77");
	flow_steps("race 32*8 reserve R# A=1           -> 255x 201 held | 1x 503 busy Retry-After:*",
	           "get     R77                        -> 404 unknown_order",
	           "sku     A                          -> available=4745 reserved=255");
	trap_sql("DROP TRIGGER refuse");
	flow_steps("reserve R77 A=1                    -> 201");
	flow_end();
}

/* The next batch is on its way before those of the last are told, and may wait long: here a stranger has taken the
 * lane's row between the two. They are told before it gives the row back, and before the lane gives up waiting for it.
 */
Test(traps, answers_do_not_wait_for_the_next_batch)
{
	struct race *first, *next;
	struct db   *stranger;
	int64_t      retries;

	flow_begin();
	flow_steps("serve --lanes 1",
	           "receipt A +100 -> 201",
	           "reserve W A=1  -> 201");
	retries = trap_metric(0, "holdfast_retries_total");
	stranger = flow_scratch()->db;
	trap_lock("SELECT lane_id FROM lane FOR UPDATE");
	first = flow_race("1", "reserve F A=1");
	trap_waiter();
	trap_sql("START TRANSACTION");
	cr_assert(db_send(stranger, "SELECT lane_id FROM lane FOR UPDATE") == DB_OK);
	next = flow_race("8", "reserve R# A=1");
	usleep(300000);
	trap_unlock();
	trap_raced(first, "1x 201 held");
	cr_expect(retries == 0 && trap_metric(0, "holdfast_retries_total") == 0);
	cr_assert(db_answer(stranger, NULL, NULL) == DB_OK);
	trap_sql("COMMIT");
	trap_raced(next, "8x 201 held");
	flow_end();
}

/* Ten of them, spread over batches of half a hundred. */
Test(traps, several_culprits_in_a_batch)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +5000                    -> 201");
	refuse_order("R%7");
	trap_raced(trap_race_of_waiters("100", "reserve R# A=1"), "90x 201 held | 10x 503 busy Retry-After:*");
	flow_steps("sku     A                          -> available=4910 reserved=90");
	flow_end();
}

/* What belongs to another lane is nobody else's business: it is read without a lock, and only a gather needs it. */
Test(traps, locked_slot_of_another_lane)
{
	int64_t began;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 1");
	flow_steps("receipt A +10                      -> 201",
	           "@2 receipt A +10                   -> 201",
	           "reserve R1 A=1                     -> 201");
	trap_lock("SELECT available FROM stock_slot WHERE slot = 1 FOR UPDATE");
	began = clock_ms();
	flow_steps("reserve R2 A=1                     -> 201",
	           "adjust  M1 A -1                    -> 201",
	           "receipt M2 A +1                    -> 201",
	           "return  M3 A +1                    -> 201",
	           "confirm R1                         -> confirmed",
	           "release R2                         -> released");
	cr_expect(clock_ms() - began < 1000, "they took %lld ms", (long long)(clock_ms() - began));
	trap_unlock();
	flow_steps("sku     A                          -> available=20 reserved=1");
	flow_end();
}
