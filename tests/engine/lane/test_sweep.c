/* test_sweep.c - expired holds that are not given back yet: an order that is about to be refused has them swept first,
 * whatever else lies about. */
#include "engine/rows.h"
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"

#include <stdio.h>
#include <unistd.h>

/* A movement that goes alone is decided under its locks, and refused there. */
Test(sweep, before_a_count_is_refused)
{
	flow("receipt  A +10                -> 201",
	     "reserve  R1 A=10 ttl=60       -> 201",
	     "tick     61",
	     "get      R1                   -> expired",
	     "count    A=0                  -> 201",
	     "sku      A                    -> available=0 reserved=0 on_hand=0",
	     "get      R1                   -> expired");
}

/* Promised units stay promised. */
Test(sweep, a_count_below_what_is_held_is_refused)
{
	flow("receipt  A +10                -> 201",
	     "reserve  R1 A=4 ttl=60        -> 201",
	     "reserve  R2 A=3               -> 201",
	     "tick     61",
	     "count    A=2                  -> 409 short A counted=2 reserved=3",
	     "count    A=3                  -> 201",
	     "sku      A                    -> available=0 reserved=3");
}

/* R2 cannot be given back, because its slot of B has nothing reserved. It alone stays. */
Test(sweep, one_that_is_damaged_keeps_nobody_else)
{
	flow("serve    --lanes 1",
	     "receipt  A +20 B +5           -> 201",
	     "reserve  R1 A=5 ttl=60        -> 201",
	     "reserve  R2 A=5 B=5 ttl=60    -> 201",
	     "reserve  R3 A=10 ttl=60       -> 201",
	     "tick     61",
	     "sql UPDATE stock_slot SET reserved = 0 WHERE sku_id = (SELECT sku_id FROM sku WHERE code = 'B') -> ",
	     "reserve  Q1 A=15              -> 201 held",
	     "reserve  Q2 A=1               -> 409 short A requested=1 available=0",
	     "count    A=0                  -> 409 short A counted=0 reserved=20",
	     "sql UPDATE stock_slot SET reserved = 5 WHERE sku_id = (SELECT sku_id FROM sku WHERE code = 'B') -> ",
	     "wait reserve Q3 A=1 B=1       -> 201 held",
	     "sku      A                    -> available=4 reserved=16");
}

/* A backlog of another sku that fell due `seconds` after it was made, longer than a batch passes: the look goes on with
 * the next ones, and ends. */
static void behind_a_backlog(int seconds)
{
	flow_begin();
	flow_steps("serve    --lanes 1",
	           "receipt  A +10 C +1000        -> 201",
	           "receipt  B +50000             -> 201",
	           "sql UPDATE stock_slot SET available = 0, reserved = 50000"
	           " WHERE sku_id = (SELECT sku_id FROM sku WHERE code = 'B') -> ");
	flow_step("sql INSERT INTO reservation (reservation_id, order_id, lines_hash, state, due_at, expires_at,"
	          " attempts, created_at) SELECT seq, CONCAT('old', seq), REPEAT(x'00', 16), 1,"
	          " UTC_TIMESTAMP(3) + INTERVAL %d SECOND, UTC_TIMESTAMP(3) + INTERVAL %d SECOND,"
	          " 0, UTC_TIMESTAMP(3) FROM seq_1_to_50000 -> ",
	          seconds, seconds);
	flow_steps("sql INSERT INTO reservation_line SELECT seq, sku_id, location_id, slot, 1, 1"
	           " FROM seq_1_to_50000, stock_slot"
	           " WHERE sku_id = (SELECT sku_id FROM sku WHERE code = 'B') -> ",
	           "reserve  R1 A=10 ttl=7200     -> 201",
	           "tick     7201",
	           "race 8   reserve Q# A=1 || reserve F# C=1 -> 8x 201 held",
	           "reserve  Q8 A=7               -> 409 short A requested=7 available=6",
	           "get      R1                   -> expired",
	           "sku      B                    -> reserved=50000");
	flow_end();
}

Test(sweep, behind_an_old_backlog)
{
	behind_a_backlog(3600);
}

/* Each look goes back a little, because holds may be committed late; this one would pass all of them anew. */
Test(sweep, behind_a_backlog_of_the_last_seconds)
{
	behind_a_backlog(7200);
}

/* Two skus that share a place in the lane's memory of looks, and a hold that stays. */
Test(sweep, skus_that_share_a_place)
{
	flow("serve    --lanes 1",
	     "receipt  A +1 C +1            -> 201",
	     "sql ALTER TABLE sku AUTO_INCREMENT = 4097 -> ",
	     "receipt  B +1                 -> 201",
	     "sql SELECT COUNT(DISTINCT sku_id MOD 4096) FROM sku WHERE code <> 'C' -> 1",
	     "reserve  H C=1 ttl=60         -> 201",
	     "tick     61",
	     "sql UPDATE stock_slot SET reserved = 0 WHERE sku_id = (SELECT sku_id FROM sku WHERE code = 'C') -> ",
	     "reserve  R1 A=2 B=2           -> 409 short A available=1",
	     "reserve  R2 A=1 B=1           -> 201 held",
	     "sql UPDATE stock_slot SET reserved = 1 WHERE sku_id = (SELECT sku_id FROM sku WHERE code = 'C') -> ");
}

/* A lane that looked some minutes ago passes only holds that have become due since; not where times were set. */
Test(sweep, looked_at_before)
{
	flow("serve    --lanes 1",
	     "receipt  A +10 B +10          -> 201",
	     "reserve  OLD B=10 ttl=60      -> 201",
	     "tick     61",
	     "reserve  Q1 A=11              -> 409 short A available=10",
	     "reserve  R1 A=10 ttl=3600     -> 201",
	     "tick     1000",
	     "reserve  Q2 A=1               -> 409 short A available=0",
	     "reserve  Q3 A=1               -> 409 short A available=0",
	     "tick     36000",
	     "wait reserve Q4 A=1           -> 201 held",
	     "get      R1                   -> expired");
}

/* A worker has claimed the holds and died: they are given back all the same. */
Test(sweep, holds_of_a_dead_worker)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +10                    -> 201",
	           "reserve R1 A=5 ttl=60            -> 201",
	           "reserve R2 A=5 ttl=60            -> 201",
	           "reserve R3 A=1                   -> 409 short A available=0");
	trap_sql("INSERT INTO job_task (task_id, kind, worker, state, lease_until, claimed, completed, failed, "
	         "created_at)"
	         " SELECT seq, 2, 'w', 1, UTC_TIMESTAMP(3) + INTERVAL 1 HOUR, 1, 0, 0, UTC_TIMESTAMP(3)"
	         " FROM seq_7_to_8");
	trap_sql("UPDATE reservation SET task_id = 7, attempts = 1 WHERE order_id = 'R1'");
	trap_sql("UPDATE reservation SET task_id = 8, attempts = 3, due_at = due_at + INTERVAL 1 HOUR"
	         " WHERE order_id = 'R2'");
	flow_steps("reserve R3 A=1                   -> 409 short A available=0",
	           "tick    61",
	           "reserve R3 A=10                  -> 201",
	           "get     R1                       -> expired",
	           "get     R2                       -> expired",
	           "reserve R4 A=1                   -> 409 short A available=0");
	flow_end();
}

/* A sweep that found nothing for one sku says nothing about another. */
Test(sweep, holds_of_another_sku_than_the_last_sweep)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +10 B +10              -> 201",
	           "reserve R1 B=10 ttl=60           -> 201",
	           "tick    61",
	           "reserve R2 A=11                  -> 409 short A available=10",
	           "reserve R3 B=10                  -> 201 held B=10");
	flow_end();
}

/* The first order gets its units by a sweep, and takes what the second one needs: the second one is worth a sweep of
 * its own, even though its balance was read just now, because at first it was refused for an old one. */
Test(sweep, holds_that_are_needed_only_now)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 1");
	flow_steps("receipt A +5 B +1                -> 201",
	           "reserve R0 B=1                   -> 201",
	           "reserve R1 A=5 ttl=60            -> 201",
	           "@2 receipt B +10                 -> 201",
	           "@2 reserve R2 B=1 ttl=60         -> 201",
	           "tick    61",
	           "batch   R3 A=5 B=5 | R4 B=5      -> 201 held | 201 held",
	           "sku     A                        -> available=0 reserved=5",
	           "sku     B                        -> available=0 reserved=11");
	flow_end();
}

/* A replay in the call makes the lane look up all ids; what falls short only because others got units is swept, too. */
Test(sweep, holds_and_a_replay_in_one_call)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +5 B +10               -> 201",
	           "reserve X B=1                    -> 201",
	           "release X                        -> released",
	           "reserve R1 A=5 ttl=60            -> 201",
	           "reserve R2 B=1 ttl=60            -> 201",
	           "tick    61");
	flow_step("second --lanes 1 --slot 1"); /* remembers no id, so the replay is met by its key */
	flow_steps("@2 batch X B=1 | R3 A=5 B=5 | R4 B=5 -> 409 released replayed | 201 held | 201 held",
	           "sku     A                        -> available=0 reserved=5",
	           "sku     B                        -> available=0 reserved=10");
	flow_end();
}

/* Acquired anew, where the units are with another hold that has expired by now. */
Test(sweep, holds_and_one_that_is_acquired_anew)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +5                     -> 201",
	           "reserve R1 A=5 ttl=60            -> 201",
	           "tick    61",
	           "reserve R2 A=5 ttl=60            -> 201",
	           "get     R1                       -> expired",
	           "tick    61");
	flow_step("second --lanes 1 --slot 1");
	flow_steps("@2 confirm R1 reacquire          -> 200 confirmed reacquired",
	           "@2 confirm R2 reacquire          -> 409 short A requested=5 available=0",
	           "sku     A                        -> available=0 reserved=5");
	flow_end();
}

/* Adjustments as well, also when they go alone because the total is near its limit. */
Test(sweep, holds_and_adjustments)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +10                    -> 201",
	           "reserve R1 A=10 ttl=60           -> 201",
	           "tick    61",
	           "adjust  A -10                    -> 201",
	           "receipt A +1 A@x +1              -> 201",
	           "count   A@x=8999999999999990     -> 201",
	           "reserve R2 A=1 ttl=60            -> 201",
	           "tick    61");
	usleep(120000); /* a lane that looked for expired holds of a sku in vain does not look again for 0.1 s */
	flow_steps("adjust  A -1 A@x +1              -> 201");
	flow_end();
}

/* More of them than one sweep takes. */
Test(sweep, thousands_of_holds)
{
	flow_begin();
	flow_step("serve --lanes 2");
	flow_steps("receipt A +3000                  -> 201");
	for (int i = 0; i < 3; i++) {
		char before[40], piece[40];

		snprintf(before, sizeof(before), "batch F%d A=1 ttl=60", i);
		snprintf(piece, sizeof(piece), " | R%d-# A=1 ttl=60", i);
		flow_repeat(before, piece, 999, " -> 201 held | ...");
	}
	flow_steps("tick    61",
	           "reserve X1 A=3000                -> 201 held",
	           "reserve X2 A=1                   -> 409 short A available=0",
	           "sku     A                        -> available=0 reserved=3000");
	flow_end();
}

/* A job is giving the hold back, so no lane can: the order waits for it instead of being told short. */
Test(sweep, somebody_is_giving_back)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +1              -> 201",
	           "reserve  R1 A=1 ttl=60     -> 201",
	           "tick     61");
	trap_lock("UPDATE reservation r, stock_slot s SET r.state = 5, s.available = s.available + s.reserved,"
	          " s.reserved = 0");
	race = flow_race("1", "reserve S# A=1");
	usleep(100000);
	trap_unlock();
	trap_raced(race, "1x 201 held A=1");
	flow_step(BY_HAND);
	flow_end();
}

/* A job takes its time. The order waits for it, however long a lane itself waits, and holds up no other: a refusal that
 * does not rest on that hold is told. */
Test(sweep, somebody_takes_long_to_give_back)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +1 B +1         -> 201",
	           "reserve  R1 A=1 ttl=60     -> 201",
	           "tick     61");
	trap_lock("UPDATE reservation r, stock_slot s JOIN sku k USING (sku_id)"
	          " SET r.state = 5, s.available = s.available + s.reserved, s.reserved = 0 WHERE k.code = 'A'");
	race = flow_race("1", "reserve S# A=1");
	for (int i = 0; i < 15; i++) {
		usleep(100000);
		flow_step("reserve T%d B=2 -> 409 short B requested=2 available=1", i);
	}
	trap_unlock();
	trap_raced(race, "1x 201 held A=1");
	flow_step(BY_HAND);
	flow_end();
}

/* Another transaction keeps a hold locked, and may give it back or not. So no order is told short because of the hold,
 * and other orders get the units that are left. */
Test(sweep, somebody_does_not_give_back)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +3              -> 201",
	           "reserve  R1 A=1 ttl=60     -> 201",
	           "tick     61");
	trap_lock("SELECT 1 FROM reservation WHERE order_id = 'R1' FOR UPDATE");
	race = flow_race("3", "reserve S# A=3 || reserve B# A=3 mode=best_effort || count A=0");
	usleep(500000);
	flow_steps("reserve  T1 A=2            -> 201 held",
	           "release  T1                -> released");
	trap_raced(race, "3x 503 busy Retry-After:*");
	trap_unlock();
	flow_step("reserve S A=3 -> 201 held");
	flow_end();
}

/* An atomic call waits as a whole. An order waits where the locked hold takes up the rest of a customer's limit. A
 * change of an order that needs the units waits, too. */
Test(sweep, calls_and_customers_wait_for_it)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +2 B +5 C +1                 -> 201",
	           "limit    B 1                            -> 200",
	           "reserve  R1 A=2 ttl=60                  -> 201",
	           "reserve  R2 B=1 customer=c ttl=60       -> 201",
	           "reserve  R3 C=1                         -> 201",
	           "tick     61");
	trap_lock("SELECT 1 FROM reservation WHERE order_id IN ('R1', 'R2') FOR UPDATE");
	race = flow_race("3", "batch atomic X1 B=1 customer=d | X2 A=1 || reserve S1 B=1 customer=c || amend R3 A=1");
	usleep(700000);
	flow_step("reserve  T1 C=2                         -> 409 short C requested=2 available=0");
	trap_unlock();
	trap_raced(race, "1x 200 results[1].status=201 | 1x 201 held B=1 | 1x 200 held A=1");
	flow_end();
}

/* One empty look for a sku kept the lane from looking for the others. */
Test(sweep, an_empty_sweep_is_of_its_sku_only)
{
	flow("serve    --lanes 1",
	     "receipt  A +1 B +1 C +1       -> 201",
	     "reserve  R1 A=1               -> 201",
	     "reserve  R2 B=1 ttl=60        -> 201",
	     "reserve  R3 C=1 ttl=60        -> 201",
	     "tick     61",
	     "reserve  Q1 A=1               -> 409 short",
	     "reserve  Q2 B=1               -> 201 held",
	     "reserve  Q3 A=1               -> 409 short",
	     "reserve  Q4 C=1               -> 201 held");
}

/* An order that would be short sweeps expired holds first, even if a worker has claimed them. */
Test(sweep, hold_that_a_dead_worker_claimed)
{
	flow(STOCK,
	     "reserve  R1 A=6 ttl=60      -> 201",
	     "reserve  R2 A=4 ttl=600     -> 201",
	     "tick     61",
	     "claim    expire dead lease=3600 -> 201 orders=R1",
	     "reserve  R3 A=6             -> 201 held",
	     "reserve  R4 A=1             -> 409 short A available=0",
	     "complete 1 R1               -> 200",
	     "get      R1                 -> expired",
	     "sku      A                  -> available=0 reserved=10");
}

/* ... also while they wait for another attempt of their job. */
Test(sweep, hold_that_waits_for_a_retry)
{
	flow(STOCK,
	     "reserve  R1 A=6 ttl=60      -> 201",
	     "tick     61",
	     "claim    expire w1          -> 201 orders=R1",
	     "fail     1 R1=retry         -> retried=1",
	     "reserve  R2 A=10            -> 201 held",
	     "sku      A                  -> available=0 reserved=10");
}

Test(sweep, hold_that_was_reaped)
{
	flow(STOCK,
	     "reserve  R1 A=6 ttl=60      -> 201",
	     "tick     61",
	     "claim    expire w1 lease=1  -> 201 orders=R1",
	     "tick     2",
	     "run      reap               -> 0 '~1 orders freed'",
	     "reserve  R2 A=10            -> 201 held",
	     "sku      A                  -> available=0 reserved=10");
}
