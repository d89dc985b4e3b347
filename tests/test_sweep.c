/* test_sweep.c - expired holds that nobody has given back yet: who is about to be refused has them swept first,
 * whatever else lies about. */
#include "tests/flow.h"

#include "engine/rows.h"

#include <stdio.h>

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

/* What is promised all the same stays promised. */
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
	flow_steps("sql INSERT INTO reservation_line SELECT seq, sku_id, location_id, slot, 1"
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

/* Two skus whose numbers share a place in what the lane remembers of its looks, and a hold that stays. */
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

/* Whoever looked some minutes ago passes only what has become due since; not where times were set. */
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
