/* test_hold_limit.c - the units that reservations of a key may hold open: which count, what frees them, which process
 * counts them, and that an order which is there already is answered all the same. */
#include "engine/base/clock.h"
#include "tests/kit/patience.h"
#include "tests/lang/flow.h"

#define KEYS "keys bot order held=10 | shop order | packers worker | boss admin"
/* clang-format off */
#define STOCK \
	KEYS, \
	"serve --lanes 2", \
	"key boss", \
	"receipt A +1000 B +1000 -> 201", \
	"key bot"
/* clang-format on */

Test(hold_limit, up_to_the_limit)
{
	flow(STOCK,
	     "wait reserve R1 A=4 B=3 -> 201",
	     "reserve R2 A=4          -> 429 rate_limited Retry-After:1 !lines",
	     "wait reserve R2 A=3     -> 201",
	     "reserve R3 A=1          -> 429 rate_limited",
	     "sku A                   -> available=993 reserved=7",
	     /* nothing of a refused one is left, and others are not concerned */
	     "get R3                  -> 404",
	     "key shop",
	     "wait reserve R3 A=500   -> 201",
	     "key boss",
	     "wait reserve R4 A=100   -> 201",
	     "sql SELECT COUNT(*), SUM(units) FROM key_hold -> 2,10",
	     "sql SELECT r.order_id, k.name FROM reservation r JOIN api_key k USING (key_id) ORDER BY 1"
	     " -> R1,bot R2,bot R3,shop R4,boss");
}

Test(hold_limit, what_is_there_is_answered)
{
	flow(STOCK,
	     "wait reserve R1 A=10 -> 201",
	     "reserve R1 A=10 -> 200 held replayed",
	     "reserve R1 A=9  -> 422 order_id_reused",
	     "reserve R2 A=1  -> 429",
	     "restart",
	     "reserve R1 A=10 -> 200 replayed",
	     "reserve R2 A=1  -> 429",
	     "confirm R1      -> 200",
	     "reserve R1 A=10 -> 200 confirmed replayed",
	     /* the same of another key's */
	     "key shop",
	     "wait reserve S1 A=50 -> 201",
	     "key bot",
	     "reserve S1 A=50 -> 200 held replayed");
}

Test(hold_limit, is_over_once_confirmed_or_released)
{
	flow(STOCK,
	     "wait reserve R1 A=10 -> 201",
	     "reserve R2 A=1 -> 429",
	     "confirm R1 -> 200",
	     "wait reserve R2 A=10 -> 201",
	     "reserve R3 A=1 -> 429",
	     "release R2 -> 200",
	     "wait reserve R3 A=10 -> 201",
	     "reserve R4 A=1 -> 429",
	     /* twice is once; a confirmed one that is released held nothing open */
	     "confirm R1 -> 200 replayed",
	     "release R1 -> 200",
	     "release R1 -> 200 replayed",
	     "release R2 -> 200 replayed",
	     "reserve R4 A=1 -> 429",
	     /* whichever key does it */
	     "key shop",
	     "confirm R3 -> 200",
	     "key bot",
	     "wait reserve R4 A=10 -> 201",
	     "key boss",
	     "release R4 -> 200",
	     "key bot",
	     "wait reserve R5 A=10 -> 201",
	     "reserve R6 A=1 -> 429");
}

/* A hold that ends while a count is under way counts until the next one, two seconds later. Tests wait for that where
 * they free units, a few times; most holds count no longer once they have ended. */
static void at_once(int64_t from_ms)
{
	cr_expect(!patience_is_over(from_ms, PATIENCE_MS), "tens of holds were over after %lld ms",
	          (long long)(clock_ms() - from_ms));
}

/* Not only with the next count. */
Test(hold_limit, is_over_at_once)
{
	int64_t from;

	flow_begin();
	flow_steps(STOCK);
	from = clock_ms();
	for (int i = 0; i < 60; i++) {
		flow_step("wait reserve R%d A=10 -> 201", i);
		flow_step("%s R%d -> 200", i % 2 ? "confirm" : "release", i);
	}
	at_once(from);
	flow_end();
}

Test(hold_limit, is_over_once_expired)
{
	flow(STOCK,
	     "wait reserve R1 A=6 ttl=60               -> 201",
	     "wait reserve R2 A=4 ttl=600              -> 201",
	     "reserve R3 A=1                           -> 429",
	     "tick 61",
	     "wait reserve R3 A=6                      -> 201",
	     "reserve R4 A=1                           -> 429",
	     /* acquired again, it is confirmed at once and never counts */
	     "confirm R1 reacquire                     -> 200 confirmed reacquired",
	     "wait sql SELECT COUNT(*), SUM(units) FROM key_hold -> 2,10",
	     "reserve R4 A=1                           -> 429",
	     "extend R2 ttl=3600                       -> 200",
	     "tick 601",
	     "wait sql SELECT SUM(units) FROM key_hold -> 10",
	     "tick 400",
	     "wait sql SELECT SUM(units) FROM key_hold -> 4",
	     "wait reserve R4 A=6                      -> 201",
	     "reserve R5 A=1                           -> 429");
}

/* Held and confirmed in one step: judged like a hold, and none afterwards. */
Test(hold_limit, of_what_is_confirmed_at_once)
{
	flow_begin();
	flow_steps(STOCK,
	           "wait reserve R1 A=6                 -> 201",
	           "reserve C1 A=5 confirm=true         -> 429 rate_limited",
	           "wait reserve C1 A=4 confirm=true    -> 201 confirmed",
	           "reserve C1 A=4 confirm=true         -> 200 confirmed replayed",
	           "batch C2 A=4 confirm=true | C3 A=4 confirm=true | C2 A=4 -> 201 confirmed | 429 | 200 replayed");
	for (int i = 0; i < 40; i++)
		flow_step("reserve D%d A=4 confirm=true     -> 201 confirmed", i);
	flow_steps("wait reserve R2 A=4                 -> 201",
	           "reserve C4 A=1 confirm=true         -> 429",
	           "sql SELECT COUNT(*), SUM(units) FROM key_hold -> 2,10",
	           "restart",
	           "reserve C4 A=1 confirm=true         -> 429",
	           "release R2                          -> 200",
	           "wait reserve C4 A=4 confirm=true    -> 201");
	flow_end();
}

/* The units of the order that is replaced count off, where they are the same key's. */
Test(hold_limit, of_a_replacement)
{
	int64_t from;

	flow_begin();
	flow_steps(STOCK,
	           "wait reserve R1 A=8                    -> 201",
	           "reserve R2 A=11 replaces=R1            -> 429 rate_limited",
	           "get R1                                 -> held !replaced_by",
	           "wait reserve R2 A=10 replaces=R1       -> 201 A=10",
	           "reserve X A=1                          -> 429",
	           "reserve R2 A=10 replaces=R1            -> 200 replayed",
	           /* the limit of the key is looked at before the other order */
	           "reserve R3 A=11 replaces=R1            -> 429",
	           "reserve R3 A=1 replaces=R1             -> 409 released field=replaces",
	           "reserve R3 A=11 replaces=NOBODY        -> 429",
	           "reserve R3 GHOST=11 replaces=R2        -> 429",
	           "wait reserve R3 A=3 replaces=R2        -> 201",
	           "wait reserve R4 A=7                    -> 201",
	           "reserve X A=1                          -> 429",
	           "wait sql SELECT COUNT(*), SUM(units) FROM key_hold JOIN reservation USING (reservation_id)"
	           " WHERE state = 1                       -> 2,10",
	           "batch R5 A=3 replaces=R3 | R6 A=3 replaces=R5 | R7 A=4 replaces=R6 -> 201 | 201 | 429",
	           /* units of another key do not count off, and are given back to their key */
	           "key shop",
	           "wait reserve S1 A=5                    -> 201",
	           "key bot",
	           "reserve R7 A=1 replaces=S1             -> 429",
	           "key shop",
	           "wait reserve S2 A=50 replaces=R6       -> 201",
	           "key bot",
	           "wait reserve R8 A=3                    -> 201",
	           "reserve X A=1                          -> 429",
	           "reserve R9 A=8 confirm=true replaces=R4 -> 429",
	           "wait reserve R9 A=7 confirm=true replaces=R4 -> 201 confirmed",
	           "wait reserve R10 A=7                   -> 201",
	           "reserve X A=1                          -> 429");
	flow_step("wait reserve Q0 A=10 replaces=R10 -> 429");
	flow_step("release R8 -> 200");
	flow_step("wait reserve Q0 A=10 replaces=R10 -> 201");
	from = clock_ms();
	for (int i = 0; i < 40; i++)
		flow_step("wait reserve Q%d A=10 replaces=Q%d -> 201", i + 1, i);
	at_once(from);
	flow_step("reserve X A=1                     -> 429");
	flow_end();
}

/* Both parts count, whichever key divides them. */
Test(hold_limit, of_a_split)
{
	int64_t from;

	flow_begin();
	flow_steps(STOCK,
	           "wait reserve R1 A=10                   -> 201",
	           "split R1 S1 A=4                        -> 201 held",
	           "reserve X A=1                          -> 429",
	           "sql SELECT order_id, units FROM key_hold JOIN reservation USING (reservation_id) ORDER BY 1"
	           "                                       -> R1,6 S1,4",
	           "key shop",
	           "split S1 S2 A=1                        -> 201 held",
	           "key bot",
	           "reserve X A=1                          -> 429",
	           "split R1 C1 A=3 then=confirm           -> 201 confirmed",
	           "wait reserve R2 A=3                    -> 201",
	           "reserve X A=1                          -> 429",
	           "split R1 D1 A=2 then=release           -> 201 released",
	           "wait reserve R3 A=2                    -> 201",
	           "reserve X A=1                          -> 429",
	           "restart",
	           "reserve X A=1                          -> 429",
	           "wait sql SELECT order_id, units FROM key_hold JOIN reservation USING (reservation_id)"
	           " WHERE state = 1 ORDER BY 1            -> R1,1 R2,3 R3,2 S1,3 S2,1",
	           "confirm S1                             -> confirmed",
	           "split S1 S3 A=1                        -> 201 confirmed",
	           "split S1 S4 A=1 then=release           -> 201 released",
	           "wait reserve R4 A=3                    -> 201",
	           "reserve X A=1                          -> 429",
	           "wait sql SELECT COUNT(*) FROM key_hold JOIN reservation USING (reservation_id) WHERE state <> 1"
	           "                                       -> 0",
	           "release R4                             -> 200");
	from = clock_ms();
	for (int i = 0; i < 40; i++) {
		flow_step("wait reserve Q%d A=3             -> 201", i);
		flow_step("split Q%d P%d A=1 then=%s         -> 201", i, i, i % 2 ? "release" : "confirm");
		flow_step("release Q%d                      -> 200", i);
	}
	at_once(from);
	flow_end();
}

/* A hold that was over by a clock that was ahead is held again when the clock is back, and counts. */
Test(hold_limit, comes_back_with_the_clock)
{
	flow(STOCK,
	     "wait reserve R1 A=5 ttl=60             -> 201",
	     "reserve X A=6                          -> 429",
	     "tick 120",
	     "get R1                                 -> expired",
	     "wait sql SELECT COUNT(*) FROM key_hold -> 0",
	     "wait reserve R2 A=5 ttl=600            -> 201",
	     "tick -120",
	     "get R1                                 -> held",
	     "wait sql SELECT COUNT(*), SUM(units) FROM key_hold -> 2,10",
	     "release R2                             -> 200",
	     "wait reserve X NONE=6                  -> 429",
	     "wait reserve X NONE=5                  -> 422 unknown_sku",
	     "wait reserve X A=5                     -> 201",
	     "reserve Y A=1                          -> 429");
}

/* The walk that finds them goes on where it was, a page with each count, and begins anew at the end. An order of an
 * unknown sku tries the limit and changes nothing where it is not reached. */
Test(hold_limit, comes_back_among_many)
{
	flow(STOCK,
	     "wait reserve R1 A=5 ttl=600 -> 201",
	     "sql INSERT INTO reservation (reservation_id, order_id, lines_hash, state, due_at, expires_at, attempts,"
	     " created_at) SELECT seq, CONCAT('S', seq), '', 1, UTC_TIMESTAMP(3) + INTERVAL 60 SECOND,"
	     " UTC_TIMESTAMP(3) + INTERVAL 60 SECOND, 0, UTC_TIMESTAMP(3) FROM seq_1_to_12000 -> ",
	     "tick 0",
	     "sql DELETE FROM key_hold    -> ",
	     "wait:60 sql SELECT COUNT(*), SUM(units) FROM key_hold -> 1,5",
	     "sql DELETE FROM key_hold    -> ",
	     "wait:60 sql SELECT COUNT(*), SUM(units) FROM key_hold -> 1,5",
	     "wait reserve X NONE=6       -> 429",
	     "wait reserve X NONE=5       -> 422 unknown_sku",
	     "sql DELETE FROM reservation WHERE order_id LIKE 'S%' -> ");
}

Test(hold_limit, after_a_restart)
{
	flow(STOCK,
	     "wait reserve R1 A=9 -> 201",
	     "restart",
	     "reserve R2 A=2      -> 429",
	     "wait reserve R2 A=1 -> 201",
	     "kill",
	     "reserve R3 A=1      -> 429",
	     "confirm R1          -> 200",
	     "kill",
	     "reserve R3 A=10     -> 429",
	     "wait reserve R3 A=9 -> 201");
}

Test(hold_limit, in_batches)
{
	flow(STOCK,
	     "batch R1 A=4 | R2 A=7 | R3 A=6 | R1 A=4 | R4 A=1 -> 201 | 429 rate_limited | 201 | 200 replayed | 429",
	     "sku A -> reserved=10");
}

Test(hold_limit, best_effort_is_judged_by_what_it_asks_for)
{
	flow(STOCK,
	     "key boss",
	     "receipt C +3                         -> 201",
	     "key bot",
	     "reserve R1 C=11 mode=best_effort     -> 429",
	     "wait reserve R1 C=8 mode=best_effort -> 201 C=3",
	     "reserve R2 A=8                       -> 429",
	     "wait reserve R2 A=7                  -> 201");
}

/* Orders that came to nothing count for nothing. */
Test(hold_limit, refusals)
{
	flow(STOCK,
	     "wait reserve R1 GHOST=10 -> 422 unknown_sku",
	     "reserve R1 GHOST=11 -> 429",
	     "key boss",
	     "receipt C +3        -> 201",
	     "key bot",
	     "reserve R1 C=10     -> 409 short",
	     "raw POST /v1/reservations {} -> 400",
	     "wait reserve R1 A=10 -> 201");
}

/* The keys are read again: a limit that is new counts what was held before, a limit that is gone lets everything in. */
Test(hold_limit, limits_come_and_go)
{
	flow(STOCK,
	     "key shop",
	     "wait reserve S1 A=30              -> 201",
	     "wait reserve S2 A=30              -> 201",
	     "confirm S2                        -> 200",
	     "sql SELECT COUNT(*) FROM key_hold -> 0",
	     "keys bot order | shop order held=35 | boss admin",
	     "hangup",
	     "wait sql SELECT COUNT(*), SUM(units) FROM key_hold -> 1,30",
	     "wait reserve S3 A=5               -> 201",
	     "reserve S4 A=1                    -> 429",
	     "key bot",
	     "wait reserve R1 A=100             -> 201",
	     "restart",
	     "key shop",
	     "reserve S4 A=1                    -> 429",
	     "keys shop order held=36",
	     "hangup",
	     "wait reserve S4 A=1               -> 201",
	     "reserve S5 A=1                    -> 429");
}

/* Two processes see of each other what is held with the next count. An order for a ghost is 429 or 422 and never held.
 */
Test(hold_limit, in_two_processes)
{
	flow(STOCK,
	     "second",
	     "wait reserve R1 A=5       -> 201",
	     "wait @2 reserve X GHOST=6 -> 429",
	     "wait @2 reserve R2 A=5    -> 201",
	     "wait reserve X GHOST=1    -> 429",
	     "reserve R3 A=1            -> 429",
	     "@2 reserve R1 A=5         -> 200 replayed",
	     "@2 confirm R1             -> 200",
	     "wait reserve X GHOST=5    -> 422",
	     "wait reserve R3 A=5       -> 201",
	     "wait @2 reserve X GHOST=1 -> 429",
	     "@2 reserve R4 A=1         -> 429");
}

static void held_read(void *arg, const struct db_row *row)
{
	*(int64_t *)arg = db_int(row, 0);
}

/* Takes what the limit leaves, to the last unit. */
static void take_the_rest(int64_t limit)
{
	int64_t held = 0;

	cr_assert_eq(db_text(flow_scratch()->db, "SELECT COALESCE(SUM(units), 0) FROM key_hold", held_read, &held),
	             DB_OK);
	cr_expect_leq(held, limit, "%lld are held", (long long)held);
	if (held < limit)
		flow_step("wait reserve REST A=%lld -> 201", (long long)(limit - held));
	flow_steps("reserve MORE A=1 -> 429");
}

/* Many at once on two lanes: never a unit more than the limit, whatever comes of each; a few less while a count comes
 * back. */
Test(hold_limit, in_a_race)
{
	flow_begin();
	flow_steps("keys bot order held=100 | boss admin",
	           "serve --lanes 2",
	           "key boss",
	           "receipt A +100000         -> 201",
	           "key bot",
	           "race 16*20 reserve R# A=1 -> *x 201 | *x 429 rate_limited",
	           "sql SELECT SUM(units) BETWEEN 50 AND 100 FROM key_hold -> 1",
	           "race 16*20 reserve R# A=1 -> *x 200 replayed | *x 201 | *x 429 rate_limited");
	take_the_rest(100);
	flow_steps(
		"sku A -> reserved=100",
		"race 16*20 reserve S# A=1 || confirm R# || release R# -> *x 201 | *x 200 | *x 404 | *x 409 | *x 429",
		"sql SELECT COALESCE(SUM(qty), 0) <= 100 FROM reservation JOIN reservation_line USING (reservation_id)"
		" WHERE state = 1 -> 1");
	flow_end();
}

/* Calls that find the queue full, and those that give up: nothing of them is counted for ever. */
Test(hold_limit, when_the_queue_is_full)
{
	struct text  batch = {0};
	struct race *race;
	int          count, busy = 0;

	flow_begin();
	flow_steps("keys bot order held=300000 | boss admin",
	           "serve --lanes 1",
	           "key boss",
	           "receipt A +300000  -> 201",
	           "key bot",
	           "wait reserve R A=1 -> 201",
	           "lock");
	text_add(&batch, "batch");
	for (int i = 0; i < 1000; i++)
		text_format(&batch, "%s B#.%d A=10", i ? " |" : "", i);
	text_add(&batch, " || confirm R");
	race = flow_race("16", batch.data);
	for (const struct answer *a = race_finish(race, &count), *end = a + count; a < end; a++)
		busy += a->status == 503;
	cr_expect_gt(busy, 0, "the queue was never full");
	race_free(race);
	text_fini(&batch);
	flow_steps(
		"unlock",
		"wait release R -> 200",
		"wait sql SELECT COUNT(*) FROM key_hold JOIN reservation USING (reservation_id) WHERE state <> 1 -> 0");
	take_the_rest(300000);
	flow_end();
}

/* While the database is away nothing is known; afterwards the limit is where it was. */
Test(hold_limit, after_the_database_was_away)
{
	flow(STOCK,
	     "wait reserve R1 A=9 -> 201",
	     "cut",
	     "wait reserve R2 A=1 -> 201",
	     "reserve R3 A=1      -> 429",
	     "away",
	     "back",
	     "wait reserve R3 A=1 -> 429",
	     "confirm R2          -> 200",
	     "wait reserve R3 A=1 -> 201");
}
