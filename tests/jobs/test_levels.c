/* test_levels.c - levels: the watcher tells once which skus are sold out and which are back, whichever service it is
 * in. It also tells every change of stock while a service wants that. */
#include "engine/base/memory.h"
#include "jobs/levels/level.h"
#include "tests/kit/drill.h"
#include "tests/kit/events.h"
#include "tests/lang/flow.h"
#include "tests/lang/steps.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define LEVELS  "types=stock.out,stock.low,stock.back"
#define TOLD    "events " LEVELS
#define CHANGES "events types=stock.changed"
#define SEEN_Z  "wait:9 sql SELECT level FROM level JOIN sku USING (sku_id) WHERE code = 'Z' -> 3"

/* ---- what is told */

Test(levels, out_and_back_by_orders)
{
	flow(LEVELS_WATCHED,
	     "receipt A +10         -> 201",
	     "reserve R1 A=9        -> 201",
	     "reserve R2 A=1        -> 201",
	     "wait " TOLD "         -> items=stock.out items[0].data.sku=A items[0].data.available=0"
	     "                         items[0].data.location=main !items[0].data.low !items[0].by",
	     "reserve R3 A=1        -> 409 short",
	     "release R2            -> 200",
	     "wait " TOLD "         -> items=stock.out,stock.back items[1].data.sku=A items[1].data.available=1",
	     "confirm R1            -> 200",
	     "reserve R4 A=1 confirm=true -> 201",
	     "wait " TOLD "         -> items=stock.out,stock.back,stock.out",
	     "reserve R5 A=5 replaces=R4 -> 409",
	     "receipt A +4          -> 201",
	     "wait " TOLD "         -> items=stock.out,stock.back,stock.out,stock.back items[3].data.available=4",
	     "raw GET /metrics      -> holdfast_events_levels_total=4");
}

Test(levels, back_by_a_sweep_a_replacement_and_a_split)
{
	flow("serve --lanes 1 --jobs=expire",
	     LEVELS_WATCHED,
	     "receipt A +2 B +3 C +4     -> 201",
	     "reserve R1 A=2 ttl=2       -> 201",
	     "wait " TOLD "              -> items=stock.out",
	     "wait:8 " TOLD "            -> items=stock.out,stock.back items[1].data.available=2",
	     "reserve R2 B=3             -> 201",
	     "wait " TOLD "              -> items=stock.out,stock.back,stock.out items[2].data.sku=B",
	     "reserve R3 B=1 replaces=R2 -> 201",
	     "wait " TOLD "              -> items=stock.out,stock.back,stock.out,stock.back items[3].data.available=2",
	     "reserve R4 C=4             -> 201",
	     "wait " TOLD "              -> items[4].type=stock.out items[4].data.sku=C",
	     "split R4 R5 C=1 then=release -> 201",
	     "wait " TOLD "              -> items[5].type=stock.back items[5].data.sku=C items[5].data.available=1"
	     "                              items=6");
}

Test(levels, movements_at_two_locations)
{
	flow(LEVELS_WATCHED,
	     "receipt A@paris +5 A@rome +5  -> 201",
	     "adjust A@paris -5             -> 201",
	     "wait " TOLD "                 -> items=stock.out items[0].data.location=paris",
	     "count A@rome=0                -> 201",
	     "wait " TOLD "                 -> items=stock.out,stock.out items[1].data.location=rome",
	     "return A@rome +1              -> 201",
	     "wait " TOLD "                 -> items=stock.out,stock.out,stock.back items[2].data.location=rome",
	     "count A@paris=2               -> 201",
	     "wait " TOLD "                 -> items[3].type=stock.back items[3].data.location=paris items=4");
}

Test(levels, low_where_there_is_a_threshold)
{
	flow(LEVELS_WATCHED,
	     "receipt A +10                 -> 201",
	     "raw PUT /v1/skus/A/threshold {'low':3,'location':'main'} -> 200 sku=A location=main low=3",
	     "wait sql SELECT COUNT(*) FROM level_asked -> 0",
	     "reserve R1 A=6                -> 201",
	     "reserve R2 A=1                -> 201",
	     "wait " TOLD "                 -> items=stock.low items[0].data.available=3 items[0].data.low=3",
	     "reserve R3 A=3                -> 201",
	     "wait " TOLD "                 -> items=stock.low,stock.out items[1].data.low=3",
	     "release R2                    -> 200",
	     "wait " TOLD "                 -> items=stock.low,stock.out,stock.back items[2].data.available=1",
	     "release R1                    -> 200",
	     "wait " TOLD "                 -> items=stock.low,stock.out,stock.back,stock.back"
	     "                                 items[3].data.available=7");
}

Test(levels, a_threshold_is_set)
{
	flow("receipt A +10 A@shop +2 A@qc +1 -> 201",
	     "adjust  A@qc -1                 -> 201",
	     "raw PUT /v1/locations/qc {'kind':'aside'}                   -> 200",
	     "mark",
	     "raw PUT /v1/skus/GHOST/threshold {'low':3}                  -> 404 unknown_sku",
	     "raw PUT /v1/skus/GHOST/threshold {'low':3,'location':'x'}   -> 404 unknown_sku !field",
	     "raw PUT /v1/skus/A/threshold {'low':3,'location':'x'}       -> 404 unknown_location field=location",
	     "raw PUT /v1/skus/A/threshold {'low':3,'location':'qc'}      -> 422 wrong_kind field=location",
	     "raw PUT /v1/skus/A/threshold {'low':-1}                     -> 400 field=low",
	     "raw PUT /v1/skus/A/threshold {'low':9000000000000001}       -> 400 field=low",
	     "raw PUT /v1/skus/A/threshold {'location':'main'}            -> 400 field=low",
	     "raw PUT /v1/skus/A/threshold {'low':1,'high':2}             -> 400 field=high",
	     "unchanged",
	     "raw PUT /v1/skus/A/threshold {'low':null}                   -> 200 sku=A !low !location",
	     "raw PUT /v1/skus/A/threshold {'low':9000000000000000,'location':'shop'} -> 200 low=9000000000000000",
	     "wait " TOLD "          -> items=stock.low items[0].data.location=shop items[0].data.available=2",
	     "raw PUT /v1/skus/A/threshold {'low':1,'location':'shop'}    -> 200",
	     "wait " TOLD "          -> items=stock.low,stock.back items[1].data.available=2",
	     "raw PUT /v1/skus/A/threshold {'low':2,'location':'shop'}    -> 200",
	     "wait " TOLD "          -> items=3 items[2].type=stock.low",
	     "raw PUT /v1/skus/A/threshold {'low':null,'location':'shop'} -> 200",
	     "wait " TOLD "          -> items=4 items[3].type=stock.back !items[3].data.low",
	     "run audit              -> 0");
}

/* The sum over all places that sell has a level if it has a threshold; a transfer between places does not change it. */
Test(levels, over_all_where_there_is_a_threshold)
{
	flow("receipt A +10 A@shop +2 A@qc +1 -> 201",
	     "adjust  A@qc -1                 -> 201",
	     "raw PUT /v1/locations/qc {'kind':'aside'}  -> 200",
	     "receipt A@qc +50                -> 201",
	     "raw PUT /v1/skus/A/threshold {'low':8}     -> 200 low=8",
	     "wait sql SELECT COUNT(*) FROM level_asked  -> 0",
	     "transfer A@main>shop=4          -> 201",
	     "reserve R1 A=3                  -> 201",
	     "restart",
	     "wait sql SELECT fence > 1 AND task_id IS NOT NULL FROM level_watch -> 1",
	     "reserve R2 A@shop=1             -> 201",
	     "wait " TOLD "                   -> items=stock.low items[0].data.available=8 items[0].data.low=8"
	     "                                   !items[0].data.location",
	     "reserve R3 A@shop=5             -> 201",
	     "wait " TOLD "                   -> items=stock.low,stock.out items[1].data.location=shop",
	     "reserve R4 A=3                  -> 201",
	     "wait " TOLD "                   -> items=4 set=stock.low,stock.out,stock.out,stock.out",
	     "transfer A@qc>main=20           -> 201",
	     "wait " TOLD "                   -> items=6 items[5].type=stock.back",
	     "run audit                       -> 0");
}

/* Settling moves no units that could be sold, and a call that crosses no level tells nothing. */
Test(levels, nothing_is_told_twice)
{
	flow("serve --lanes 2 --jobs=expire,settle,reap,deliver",
	     LEVELS_WATCHED,
	     "receipt A +3 Z +1            -> 201",
	     "reserve R1 A=3 confirm=true  -> 201",
	     "wait:9 get R1                -> settled",
	     "wait:9 " TOLD "              -> items=stock.out",
	     "receipt A +3                 -> 201",
	     "wait:9 " TOLD "              -> items=stock.out,stock.back",
	     "reserve R2 A=1               -> 201",
	     "reserve R3 A=1               -> 201",
	     "confirm R2                   -> 200",
	     "release R3                   -> 200",
	     "count A=3                    -> 201",
	     "count A@paris=0              -> 201",
	     "reserve R4 Z=1               -> 201",
	     SEEN_Z,
	     TOLD "                        -> items=stock.out,stock.back,stock.out items[2].data.sku=Z");
}

/* An event of many lines leaves some out; the watcher looks at all of them. */
Test(levels, orders_of_very_many_lines)
{
	flow_begin();
	flow_steps(LEVELS_WATCHED);
	flow_repeat("receipt", " S# +1", 900, " -> 201");
	flow_repeat("reserve R1", " S#=1", 900, " -> 201");
	flow_step("wait:9 sql SELECT COUNT(*) FROM level WHERE level = 3 -> 900");
	flow_step("release R1 -> 200");
	flow_step("wait:9 sql SELECT COUNT(*) FROM level WHERE level = 1 -> 900");
	flow_repeat("adjust", " S# -1", 900, " -> 201");
	flow_step("wait:9 sql SELECT COUNT(*) FROM level WHERE level = 3 -> 900");
	flow_end();
}

/* Untouched skus cost nothing, and have no level. */
Test(levels, only_what_was_touched)
{
	flow("receipt Q +1 A +1 -> 201",
	     LEVELS_WATCHED,
	     "sql INSERT INTO sku (code, created_at) SELECT CONCAT('X', seq), UTC_TIMESTAMP(3) FROM seq_1_to_1000",
	     "sql INSERT INTO stock_slot SELECT sku_id, 1, 0, 0, 0 FROM sku WHERE code LIKE 'X%'",
	     "reserve R1 A=1    -> 201",
	     "wait " TOLD "     -> items=stock.out items[0].data.sku=A",
	     "sql SELECT COUNT(*) FROM level -> 1");
}

/* A sku that many clients want at once is told once, and the last event is right. */
Test(levels, under_load, DRILL)
{
	flow("second",
	     LEVELS_WATCHED,
	     "receipt A +300                   -> 201",
	     "race 16*400 reserve R# A=1       -> 300x 201 | *x 409 short",
	     "wait " TOLD "                    -> items=stock.out",
	     "race 8*150 release R# -> *x 200 | *x 404",
	     "wait:9 sql SELECT level = IF((SELECT SUM(available) FROM stock_slot) > 0, 1, 3) FROM level -> 1",
	     TOLD "                            -> items=stock.out,stock.back");
}

/* The queue takes some of the units that a look has seen, orders take the others. */
Test(levels, out_after_the_queue)
{
	flow(LEVELS_WATCHED,
	     "raw PUT /v1/locations/po {'kind':'incoming'}   -> 201",
	     "receipt A@po +9 A +5                           -> 201",
	     "reserve R1 A=1                                 -> 201",
	     "sql DO SLEEP(2)", /* a look has seen four */
	     "reserve W1 A@po=2 confirm=true                 -> 201",
	     "raw PUT /v1/locations/main {'waits_at':'po'}   -> 200",
	     "wait get W1                                    -> confirmed A=2",
	     "reserve R2 A=2                                 -> 201",
	     "wait:9 " TOLD "                                -> items=stock.out items[0].data.available=0");
}

/* ---- the watcher */

#define TASK "sql SELECT task_id FROM level_watch"

Test(levels, two_services_tell_once)
{
	flow("second",
	     LEVELS_WATCHED,
	     "receipt A +4              -> 201",
	     "reserve R1 A=2            -> 201",
	     "@2 reserve R2 A=2         -> 201",
	     "wait " TOLD "             -> items=stock.out",
	     "@2 release R1             -> 200",
	     "wait @2 " TOLD "          -> items=stock.out,stock.back",
	     "sql SELECT fence FROM level_watch -> 1");
}

/* A service that stands still cannot look; a level that was crossed and crossed back meanwhile is not told. */
Test(levels, a_flicker_is_none)
{
	flow_begin();
	flow_steps(LEVELS_WATCHED,
	           "second",
	           "receipt A +1 Z +1 -> 201");
	flow_signal(SIGSTOP);
	flow_steps("@2 reserve R1 A=1 -> 201",
	           "@2 release R1     -> 200");
	flow_signal(SIGCONT);
	flow_steps("reserve R2 Z=1    -> 201",
	           SEEN_Z,
	           "sql SELECT fence, COUNT(*) FROM level_watch JOIN level -> 1,1");
	flow_end();
}

/* The watcher is killed; the other service goes on from its place. The stamps of a sku still grow. */
Test(levels, another_service_takes_over)
{
	flow(LEVELS_WATCHED,
	     "second",
	     "receipt A +1 B +1                   -> 201",
	     "reserve R1 A=1                      -> 201",
	     "wait " TOLD "                       -> items=stock.out",
	     "sql UPDATE level SET stamp = stamp + 3600000000",
	     "reserve R2 B=1                      -> 201",
	     "kill",
	     "@2 release R1                       -> 200",
	     "sql UPDATE level_watch SET lease_until = lease_until - INTERVAL 5 SECOND",
	     "wait:16 @2 sql SELECT fence FROM level_watch -> 2",
	     "wait:9 @2 " TOLD "                  -> items=stock.out,stock.back,stock.out items[1].data.sku=A",
	     "sql SELECT l.stamp = MAX(e.stamp), l.stamp > UNIX_TIMESTAMP() * 1000000 + 3000000000"
	     " FROM level l JOIN sku USING (sku_id) JOIN event e WHERE code = 'A' -> 1,1");
}

/* A service that ends leaves the watch at once. */
Test(levels, a_service_that_ends_leaves_it)
{
	flow(LEVELS_WATCHED,
	     "second",
	     "receipt A +1                        -> 201",
	     "restart",
	     "wait:4 sql SELECT fence > 1 AND task_id IS NOT NULL FROM level_watch -> 1",
	     "reserve R1 A=1                      -> 201",
	     "wait " TOLD "                       -> items=stock.out");
}

/* There was no watcher for a while: the next one looks at the changes of that time. */
Test(levels, what_happened_meanwhile)
{
	flow(LEVELS_WATCHED,
	     "receipt A +1 B +1               -> 201",
	     "reserve R1 A=1                  -> 201",
	     "wait " TOLD "                   -> items=stock.out",
	     "wait sql SELECT task_id IS NOT NULL FROM level_watch -> 1",
	     "sql UPDATE level_watch SET task_id = 1, fence = fence + 1,"
	     " lease_until = UTC_TIMESTAMP(3) + INTERVAL 9 SECOND",
	     "reserve R2 B=1                  -> 201",
	     "release R1                      -> 200",
	     "sql DO SLEEP(2)", /* a look comes every second */
	     "sql SELECT COUNT(*) FROM level  -> 1",
	     "sql UPDATE level_watch SET lease_until = UTC_TIMESTAMP(3)",
	     "wait:16 " TOLD "                -> items=3 items[0].data.sku=A",
	     "sql SELECT code, level FROM level JOIN sku USING (sku_id) ORDER BY code -> A,1 B,3",
	     "sql SELECT fence FROM level_watch -> 3");
}

/* A service takes calls before its watcher has the claim. The first watcher of a database looks at their changes. */
Test(levels, what_happened_before_the_first_one)
{
	flow("serve --lanes 1 --stock-changed",
	     LEVELS_WATCHED,
	     "sql UPDATE level_watch SET task_id = 1, fence = fence + 1, place = NULL,"
	     " lease_until = UTC_TIMESTAMP(3) + INTERVAL 9 SECOND",
	     "receipt A +1                    -> 201",
	     "reserve R1 A=1                  -> 201",
	     "sql DO SLEEP(2)", /* the watcher of before keeps its claim no longer than that */
	     "sql UPDATE level_watch SET lease_until = UTC_TIMESTAMP(3)",
	     "wait:16 " TOLD "                -> items=stock.out items[0].data.sku=A",
	     "wait " CHANGES "                -> items=stock.changed items[0].data.items[0].reserved=1");
}

/* ---- the log */

/* The kept events are removed. The changes since are told, whether the sku had a level before or not. */
Test(levels, the_log_off_and_on)
{
	flow(LEVELS_WATCHED,
	     "receipt A +1 B +1 C +1             -> 201",
	     "reserve R1 A=1                     -> 201",
	     "wait " TOLD "                      -> items=stock.out",
	     "second --events-keep 0",
	     "@2 events                          -> 409",
	     "release R1                         -> 200",
	     "reserve R2 B=1                     -> 201",
	     "sql DO SLEEP(2)",
	     "sql SELECT level FROM level        -> 3",
	     "sql SELECT COUNT(*) FROM event     -> 0",
	     "second --events-keep 7",
	     "wait:9 @2 " TOLD "                 -> items=stock.back,stock.out items[0].data.sku=A items[1].data.sku=B",
	     "reserve R3 C=1                     -> 201",
	     "wait " TOLD "                      -> items=stock.back,stock.out,stock.out items[2].data.sku=C",
	     "release R2                         -> 200",
	     "wait " TOLD "                      -> items=stock.back,stock.out,stock.out,stock.back"
	     " items[3].data.sku=B");
}

/* The place in the log is not valid any more. */
Test(levels, the_place_is_lost)
{
	flow(LEVELS_WATCHED,
	     "receipt A +1 B +1                  -> 201",
	     "reserve R1 A=1                     -> 201",
	     "wait " TOLD "                      -> items=stock.out",
	     "sql UPDATE level_watch SET task_id = 1, fence = fence + 1, place = 'nonsense',"
	     " lease_until = UTC_TIMESTAMP(3) + INTERVAL 9 SECOND",
	     "release R1                         -> 200",
	     "sql UPDATE level_watch SET lease_until = UTC_TIMESTAMP(3)",
	     "wait:16 " TOLD "                   -> items=stock.out,stock.back",
	     "reserve R2 B=1                     -> 201",
	     "wait " TOLD "                      -> items=stock.out,stock.back,stock.out");
}

/* The log has the place, but the database was restored. */
Test(levels, another_past)
{
	flow(LEVELS_WATCHED,
	     "receipt A +1                       -> 201",
	     "reserve R1 A=1                     -> 201",
	     "wait " TOLD "                      -> items=stock.out",
	     LEVELS_KEPT,
	     "sql UPDATE event SET stamp = stamp - 1",
	     "release R1                         -> 200",
	     "wait:16 " TOLD "                   -> items=stock.out,stock.back");
}

/* ---- every change of stock */

#define ITEM "items[0].data.items[0]"

Test(levels, stock_changed)
{
	flow("serve --lanes 2 --stock-changed --jobs=settle",
	     LEVELS_WATCHED,
	     STOCK_WISHED,
	     "receipt A +9 B@paris +2 B@rome +3  -> 201",
	     "wait " CHANGES "                   -> items=stock.changed " ITEM ".sku=A " ITEM ".available=9 " ITEM
	     ".reserved=0 " ITEM ".on_hand=9 items[0].data.items[1].sku=B items[0].data.items[1].available=5",
	     "reserve R1 A=4 confirm=true        -> 201",
	     "wait:9 get R1                      -> settled",
	     /* available 5, reserved 0, on_hand 5: each twice */
	     "wait sql SELECT RIGHT(HEX(changes), 6) FROM event WHERE ORD(SUBSTR(changes, 2, 1)) = 67"
	     " ORDER BY stamp DESC LIMIT 1       -> 0A000A");
}

/* Each sku at most once a second, and once after its last change. */
#define LAST                                                                                                      \
	"sql SELECT RIGHT(HEX(changes), 10) FROM event WHERE ORD(SUBSTR(changes, 2, 1)) = 67 ORDER BY stamp DESC" \
	" LIMIT 1"
Test(levels, stock_changed_is_not_too_often)
{
	flow("serve --lanes 2 --stock-changed",
	     LEVELS_WATCHED,
	     STOCK_WISHED,
	     "receipt A +400                       -> 201",
	     "race 1*400 reserve R# A=1            -> 400x 201",
	     "wait " CHANGES "                     -> items[0].type=stock.changed",
	     "race 1*400 release R#                -> 400x 200",
	     "reserve S1 A=7                       -> 201",
	     "wait " LAST " -> 92060EA006",
	     "sql DO SLEEP(1.5)", /* one too many would come within a second */
	     "sql SELECT COUNT(*) > 1, MIN(gap) >= 1000000 FROM (SELECT TIMESTAMPDIFF(MICROSECOND,"
	     " LAG(at) OVER (ORDER BY stamp), at) AS gap FROM event WHERE ORD(SUBSTR(changes, 2, 1)) = 67) gaps -> 1,1",
	     /* available 393, reserved 7, on_hand 400: twice each, seven bits a byte */
	     LAST " -> 92060EA006");
}

/* The last change is told although the service that wants it was away for a moment, or the clock has jumped. */
Test(levels, stock_changed_while_the_wish_was_over)
{
#define WISH(seconds) "sql UPDATE level_watch SET stock_until = UTC_TIMESTAMP(3) + INTERVAL " #seconds " SECOND -> "
	flow(LEVELS_WATCHED,
	     WISH(60),
	     LEVELS_KEPT,
	     "receipt A +9                         -> 201",
	     "wait " CHANGES "                     -> items=stock.changed",
	     WISH(-1),
	     LEVELS_KEPT,
	     "receipt A +3 Z +1                    -> 201",
	     "reserve R1 Z=1                       -> 201",
	     SEEN_Z,
	     "sql DO SLEEP(2)", /* a watcher tells within two seconds */
	     CHANGES "                             -> items=stock.changed",
	     WISH(60),
	     "wait:9 " CHANGES "                   -> items=stock.changed,stock.changed"
	     " items[1].data.items[0].sku=A items[1].data.items[0].available=12");
}

/* The wish of one service is fulfilled by the watcher in another, and ends with that service. */
Test(levels, one_service_wants_every_change)
{
	flow(LEVELS_WATCHED,
	     "second --stock-changed",
	     STOCK_WISHED,
	     "receipt A +9                         -> 201",
	     "wait " CHANGES "                     -> items=stock.changed",
	     "second",
	     "sql UPDATE level_watch SET stock_until = stock_until - INTERVAL 9 SECOND",
	     "sql SELECT stock_until < UTC_TIMESTAMP(3) FROM level_watch -> 1",
	     LEVELS_KEPT,
	     "receipt A +9                         -> 201",
	     "receipt Z +1                         -> 201",
	     "reserve R1 Z=1                       -> 201",
	     SEEN_Z,
	     "sql DO SLEEP(2)",
	     CHANGES "                             -> items=stock.changed");
}

/* ---- without a database */

Test(levels, of_units)
{
	cr_expect_eq(level_of(0, -1), LEVEL_OUT);
	cr_expect_eq(level_of(1, -1), LEVEL_ABOVE);
	cr_expect_eq(level_of(0, 0), LEVEL_OUT);
	cr_expect_eq(level_of(1, 0), LEVEL_ABOVE);
	cr_expect_eq(level_of(3, 3), LEVEL_LOW);
	cr_expect_eq(level_of(4, 3), LEVEL_ABOVE);
	cr_expect_eq(level_event(LEVEL_ABOVE, LEVEL_ABOVE), 0);
	cr_expect_eq(level_event(LEVEL_ABOVE, LEVEL_LOW), EVENT_LOW);
	cr_expect_eq(level_event(LEVEL_ABOVE, LEVEL_OUT), EVENT_OUT);
	cr_expect_eq(level_event(LEVEL_LOW, LEVEL_OUT), EVENT_OUT);
	cr_expect_eq(level_event(LEVEL_OUT, LEVEL_LOW), EVENT_BACK);
	cr_expect_eq(level_event(LEVEL_LOW, LEVEL_ABOVE), EVENT_BACK);
	cr_expect_eq(level_event(LEVEL_OUT, LEVEL_ABOVE), EVENT_BACK);
}

Test(levels, spots)
{
	struct spots s = {0};

	spots_touch(&s, 1, 1, -5);
	spots_touch(&s, 1, 1, 3);
	spots_touch(&s, 1, 2, 3);
	cr_expect_eq(s.pending, 2);
	spots_settle(&s, 1, 1, 4);
	spots_trim(&s);
	cr_assert_eq(s.pending, 1);
	cr_expect_eq(s.list[0].location_id, 2);
	spots_touch(&s, 1, 1, 3);
	spots_touch(&s, 1, 1, -9);
	cr_expect_eq(s.pending, 1, "one is left at least");
	spots_touch(&s, 1, 1, 1);
	cr_expect_eq(s.pending, 2, "none may be left");
	spots_settle(&s, 1, 1, 100);
	spots_settle(&s, 1, 2, 0);
	spots_trim(&s);
	cr_expect_eq(s.pending, 0);
	spots_touch(&s, 1, 1, INT64_MAX);
	spots_touch(&s, 1, 2, -1);
	cr_expect_eq(s.pending, 2, "one that may be out is looked at after every change");
	spots_fini(&s);
}

/* Many spots are known, and all are forgotten when they are too many. */
Test(levels, spots_of_a_large_shop)
{
	struct spots s = {0};

	for (uint32_t sku = 1; sku <= 200000; sku++)
		spots_touch(&s, sku, 1 + sku % 3, 1);
	cr_assert_eq(s.pending, 200000);
	for (size_t i = 0; i < s.pending; i++) {
		cr_assert(s.list[i].sku_id == i + 1 && s.list[i].location_id == 1 + (i + 1) % 3);
		if (i != 6)
			spots_settle(&s, s.list[i].sku_id, s.list[i].location_id, 2);
	}
	spots_trim(&s);
	cr_assert_eq(s.pending, 1);
	cr_expect_eq(s.list[0].sku_id, 7);
	spots_touch(&s, 8, 1 + 8 % 3, 1);
	cr_expect_eq(s.pending, 1, "it has one more");
	spots_settle(&s, 7, 1 + 7 % 3, 2);
	spots_trim(&s);
	spots_touch(&s, 8, 1 + 8 % 3, -1);
	cr_expect_eq(s.pending, 1, "all were forgotten");
	spots_fini(&s);
}

/* ---- lines of records */

static void touch_write(void *arg, const struct event_touch *t)
{
	if (t->sku_id)
		text_format(arg, "%u@%u%+lld ", t->sku_id, t->location_id, (long long)t->taken);
	else
		text_format(arg, "%.*s.. ", (int)t->id_len, t->id);
}

static const char *touched(struct events *log)
{
	static struct text all;
	struct event_row   row = {.changes = log->row.data, .len = log->row.len};

	text_reset(&all);
	text_add(&all, "");
	cr_expect(event_touches(&row, touch_write, &all));
	events_reset(log);
	return all.data;
}

Test(levels, lines_that_move_units)
{
	static const struct {
		enum event_type type;
		const char     *cause, *touched;
	} rows[] = {
		{EVENT_HELD, NULL, "1@1+3 300@2+4 "},
		{EVENT_HELD, "R2", "1@1+3 300@2+4 "},
		{EVENT_CONFIRMED, NULL, ""},
		{EVENT_CONFIRMED, "reacquired", "1@1+3 300@2+4 "},
		{EVENT_EXTENDED, NULL, ""},
		{EVENT_RELEASED, NULL, "1@1-3 300@2-4 "},
		{EVENT_EXPIRED, NULL, "1@1-3 300@2-4 "},
		{EVENT_SETTLED, NULL, "1@1+0 300@2+0 "},
		{EVENT_BURIED, NULL, ""},
		{EVENT_KICKED, NULL, ""},
		{EVENT_SPLIT, "R2", "1@1+3 300@2+4 "},
		{EVENT_REPLACED, "R2", "1@1-3 300@2-4 "},
	};
	struct events     log = events_new();
	const struct line lines[] = {events_line(&log, 1, 1, 3, 3), events_line(&log, 300, 2, 4, 4)};

	for (unsigned has = 0; has < 1 << BITS; has += 7)
		for (size_t i = 0; i < LENGTH(rows); i++) {
			const struct event_head head = {rows[i].type, has, rows[i].cause, 0};
			struct reservation      r = reservation_of(has);

			event_reservation(&log.row, &head, &r, lines, 2, has & 1);
			event_level(&log.row, EVENT_OUT, 1, 0, 3, -1);
			event_stock(&log.row, &(struct event_units){1, 2, 3, 5}, 1);
			event_reservation(&log.row, &(struct event_head){EVENT_HELD, 1, NULL, has}, &r, lines, 1, true);
			strcpy(r.order_id, "R1");
			cr_expect_str_eq(touched(&log) + strlen(rows[i].touched), "1@1+3 ");
		}
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct reservation r = reservation_of(0);

		event_reservation(&log.row, &(struct event_head){rows[i].type, 0, rows[i].cause, 0}, &r, lines, 2,
		                  true);
		cr_expect_str_eq(touched(&log), rows[i].touched, "%s", event_trait(rows[i].type)->word);
	}
	events_free(&log);
}

Test(levels, movements_and_lines_left_out)
{
	struct events   log = events_new();
	struct line     lines[EVENT_LINES_MAX + 1];
	struct movement m = {
		.movement_id = "M1", .kind = ADJUSTMENT, .reason = (char *)"lost", .reference = (char *)"x"};
	struct reservation r = reservation_of(255);
	const char        *told;

	for (size_t i = 0; i < LENGTH(lines); i++)
		lines[i] = events_line(&log, 1, 1, 1, i == 0 ? -2 : i == 1 ? 0 : 4);
	event_movement(&log.row, &(struct event_head){.type = EVENT_ADJUSTMENT}, &m, 5, lines, 3);
	event_movement(&log.row, &(struct event_head){.type = EVENT_SETTLEMENT, .task_id = 9}, &m, 0, lines, 3);
	cr_expect_str_eq(touched(&log), "1@1+2 1@1-4 ");
	event_movement(&log.row, &(struct event_head){.type = EVENT_RECEIPT}, &m, 5, lines, LENGTH(lines));
	told = touched(&log);
	cr_expect_str_eq(told + strlen(told) - 11, "1@1-4 M1.. ");
	event_reservation(&log.row, &(struct event_head){EVENT_RELEASED, 1, NULL, 0}, &r, lines, LENGTH(lines), false);
	told = touched(&log);
	cr_expect_str_eq(told + strlen(told) - 12, "1@1-1 R 1.. ");
	event_reservation(&log.row, &(struct event_head){EVENT_EXTENDED, 1, NULL, 0}, &r, lines, LENGTH(lines), false);
	cr_expect_str_eq(touched(&log), "");
	events_free(&log);
}
