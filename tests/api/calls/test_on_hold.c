/* test_on_hold.c - an order that is held back from shipping: no claim and no settlement takes it until its hold ends,
 * whatever becomes of it meanwhile, and everything else goes on. */
#include "tests/kit/proxy.h"
#include "tests/kit/server.h"
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"

#include <unistd.h>

Test(on_hold, claims_pass_it_over)
{
	flow("receipt A +10                               -> 201",
	     "reserve R1 A=1 confirm=true                  -> 201 confirmed !on_hold",
	     "reserve R2 A=1 confirm=true                  -> 201",
	     "reserve R3 A=1 confirm=true ship_after=+90   -> 201",
	     "reserve R4 A=1 confirm=true                  -> 201",
	     "hold    R1 until=+60 reason=fraud            -> 200 confirmed on_hold.until=~60 on_hold.reason=fraud",
	     "hold    R2                                   -> 200 confirmed on_hold.until=null !on_hold.reason",
	     "hold    R3 until=+30                         -> 200 ship_after=~90 on_hold.until=~30",
	     "get     R1                                   -> confirmed attempts=0 on_hold.until=~60 !ship_after",
	     "run     show order R2                        -> 0 '~on_hold       until -'",
	     "run     show order R1                        -> 0 '~Z, reason fraud'",
	     "claim   settle w1                            -> 201 task_id=1 orders=1 ~R4",
	     "complete 1                                   -> completed=1",
	     "claim   settle w1                            -> 204",
	     "run     reap                                 -> 0",
	     "run     audit                                -> 0",
	     "tick    61",
	     "get     R1                                   -> confirmed !on_hold !next_attempt_at",
	     "claim   settle w1                            -> 201 task_id=2 orders=1 ~R1",
	     "complete 2                                   -> completed=1",
	     "tick    30",
	     "get     R3                                   -> confirmed !on_hold ship_after=*",
	     "claim   settle w1                            -> 201 orders=1 ~R3",
	     "complete 3                                   -> completed=1",
	     "tick    30000000",
	     "claim   settle w1                            -> 204",
	     "run     audit                                -> 0",
	     "off-hold R2                                  -> 200 confirmed !on_hold",
	     "claim   settle w1                            -> 201 orders=1 ~R2",
	     "complete 4                                   -> completed=1",
	     "sql SELECT COUNT(*) FROM reservation_on_hold -> 0");
}

/* The acceptance of a hold without end. At every step a claim is tried, and gets nothing. */
#define NEVER "claim   settle w9 -> 204", "run reap -> 0", "claim settle w9 -> 204", "run audit -> 0"

Test(on_hold, without_end_outlives_all)
{
	flow_begin();
	flow_steps("raw PUT /v1/locations/po {'kind':'incoming'} -> 201",
	           "receipt A +10 A@po +5                        -> 201",
	           "reserve W A@po=2 confirm=true                -> 201 lines[0].waiting=true",
	           "hold    W                                    -> 200 on_hold.until=null lines[0].waiting=true",
	           NEVER,
	           "arrival A@po>main=1                          -> 201 lines[0].filled=1",
	           NEVER,
	           "arrival A@po>main=1                          -> 201 lines[0].filled=1",
	           "get     W                                    -> A@main=2 on_hold.until=null !next_attempt_at",
	           NEVER,
	           "reserve R A=3                                -> 201 held",
	           "hold    R reason=look                        -> 200 held on_hold.reason=look",
	           "confirm R                                    -> 200 confirmed on_hold.reason=look",
	           NEVER,
	           "split   R P A=1                              -> 201 on_hold.until=null on_hold.reason=look",
	           NEVER,
	           "reserve N A=3 confirm=true replaces=R        -> 201 on_hold.until=null on_hold.reason=look",
	           "get     R                                    -> released !on_hold replaced_by=N",
	           NEVER,
	           /* a failure, which a task without a hold begins */
	           "reserve F A=1 confirm=true                   -> 201",
	           "reserve B A=1 confirm=true                   -> 201",
	           "claim   settle w1                            -> 201 task_id=1 orders=2",
	           "fail    1 F=retry B=bury                     -> retried=1 buried=1",
	           "hold    F                                    -> 200 confirmed on_hold.until=null",
	           "hold    B                                    -> 200 buried on_hold.until=null",
	           "tick    700",
	           NEVER,
	           "kick    B                                    -> 200 confirmed attempts=0 on_hold.until=null",
	           NEVER,
	           "tick    -7200",
	           NEVER,
	           "tick    7200",
	           NEVER);
	trap_sql("UPDATE log_writer SET stamp = stamp + 3600000000"); /* a clock that was ahead has written */
	flow_steps(NEVER,
	           "count   A=5 short=backorder to=po            -> 201 backordered=*",
	           NEVER,
	           "receipt A +30                                -> 201",
	           "arrival A@po>main=3                          -> 201",
	           NEVER,
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 2 AND task_id = 0 -> 5",
	           "off-hold W -> 200",
	           "off-hold P -> 200",
	           "off-hold N -> 200",
	           "off-hold F -> 200",
	           "off-hold B -> 200",
	           "claim   settle w1                            -> 201 orders=5",
	           "complete 2                                   -> completed=5");
	flow_end();
}

Test(on_hold, states)
{
	flow("receipt A +20                                 -> 201",
	     "hold    GHOST                                 -> 404 unknown_order",
	     "off-hold GHOST                                -> 404 unknown_order",
	     "reserve H A=1                                 -> 201",
	     "hold    H until=+60                           -> 200 held on_hold.until=~60",
	     "reserve C A=1 confirm=true                    -> 201",
	     "claim   settle w1                             -> 201 task_id=1",
	     "hold    C                                     -> 409 claimed task_id=1 worker=w1 lease_until=*",
	     "off-hold C                                    -> 200 replayed confirmed",
	     "fail    1 C=bury                              -> buried=1",
	     "hold    C                                     -> 200 buried on_hold.until=null",
	     "off-hold C                                    -> 200 buried !on_hold",
	     "reserve S A=1 confirm=true                    -> 201",
	     "settle  S                                     -> settled",
	     "hold    S                                     -> 409 settled",
	     "off-hold S                                    -> 200 replayed settled",
	     "release C                                     -> released",
	     "hold    C                                     -> 409 released",
	     "reserve E A=1 ttl=60                          -> 201",
	     "hold    E                                     -> 200 held on_hold.until=null",
	     "tick    61",
	     "get     E                                     -> expired !on_hold",
	     "hold    E                                     -> 409 expired",
	     "off-hold E                                    -> 200 replayed expired",
	     "work    expire                                -> 0",
	     "hold    E                                     -> 409 expired",
	     "release H                                     -> 200 released",
	     "raw DELETE /v1/reservations/H/hold?x=1         -> 400",
	     "raw POST /v1/reservations/H/hold {'until':null} -> 405");
}

Test(on_hold, says_what_is_wrong)
{
	flow("receipt A +10 -> 201",
	     "reserve R A=1 -> 201",
	     "raw PUT /v1/reservations/R/hold {} -> 400 field=until",
	     "raw PUT /v1/reservations/R/hold {'until':5} -> 400 field=until",
	     "raw PUT /v1/reservations/R/hold {'until':'soon'} -> 400 field=until",
	     "raw PUT /v1/reservations/R/hold {'until':'2020-02-29T01:00:00Z'} -> 400 field=until",
	     "hold    R until=+34600000 -> 400 field=until",
	     "hold    R until=+34500000 -> 200",
	     "raw PUT /v1/reservations/R/hold {'until':null,'reason':7} -> 400 field=reason",
	     "raw PUT /v1/reservations/R/hold {'until':null,'force':true} -> 400 field=force",
	     "run audit -> 0");
}

/* The same hold again is a repeat; another one is new. */
Test(on_hold, is_repeated)
{
	flow("receipt A +10                                -> 201",
	     "reserve R A=1 confirm=true                    -> 201",
	     "raw PUT /v1/reservations/R/hold {'until':null,'reason':'x'} -> 200 on_hold.reason=x",
	     "raw PUT /v1/reservations/R/hold {'until':null,'reason':'x'} -> 200 replayed on_hold.reason=x",
	     "tick    100",
	     "raw PUT /v1/reservations/R/hold {'until':null,'reason':'x'} -> 200 replayed on_hold.reason=x",
	     "raw PUT /v1/reservations/R/hold {'until':null,'reason':'y'} -> 200 on_hold.reason=y",
	     "raw PUT /v1/reservations/R/hold {'until':null} -> 200 !on_hold.reason",
	     "raw PUT /v1/reservations/R/hold {'until':'2027-06-01T12:00:00+02:00'}"
	     " -> 200 on_hold.until=2027-06-01T10:00:00.000Z",
	     "raw PUT /v1/reservations/R/hold {'until':'2027-06-01T10:00:00Z'} -> 200 replayed",
	     "get     R -> confirmed next_attempt_at=2027-06-01T10:00:00.000Z",
	     "hold    R until=+60                           -> 200 on_hold.until=~60",
	     "get     R                                     -> confirmed next_attempt_at=~60",
	     "run     audit                                 -> 0",
	     "off-hold R                                    -> 200 !on_hold",
	     "off-hold R                                    -> 200 replayed !on_hold",
	     "events  types=reservation.on_hold,reservation.off_hold -> 200 items=6"
	     " items[0].data.on_hold.until=null items[0].data.on_hold.reason=x items[0].data.state=confirmed"
	     " items[4].data.on_hold.until=~60 !items[4].data.on_hold.reason"
	     " items[5].type=reservation.off_hold !items[5].data.on_hold",
	     "claim   settle w                              -> 201 orders=1");
}

Test(on_hold, no_settlement_but_by_force)
{
	flow("receipt A +20                                -> 201",
	     "reserve R1 A=3 confirm=true                   -> 201",
	     "reserve R2 A=3 confirm=true                   -> 201",
	     "hold    R1                                    -> 200",
	     "settle  R1                                    -> 409 on_hold",
	     "settlements R1 R2                             -> 409 on_hold | 200 settled",
	     "split   R1 S1 A=1 then=settle                 -> 409 on_hold",
	     "split   R1 S1 A=1 then=settle force=true      -> 409 on_hold",
	     "split   R1 S1 A=1 then=release                -> 201 released !on_hold",
	     "settle  R1 force=true                         -> 200 settled !on_hold",
	     "settle  R1                                    -> 200 replayed settled",
	     "reserve R3 A=1 confirm=true                   -> 201",
	     "hold    R3 until=+60                          -> 200",
	     "settle  R3                                    -> 409 on_hold",
	     "tick    61",
	     "split   R3 S3 A=1 then=settle                 -> 422 nothing_left",
	     "settle  R3                                    -> 200 settled",
	     "sku     A                                     -> available=14 reserved=0 on_hand=14",
	     "sql SELECT COUNT(*) FROM reservation_on_hold  -> 0",
	     "sql SELECT COUNT(*) FROM reservation WHERE ship_after IS NOT NULL OR noted & 64 -> 0");
}

/* Parts and replacements take a hold over; of a part that has ended nothing is held back. */
Test(on_hold, is_of_parts_and_replacements)
{
	flow("receipt A +20                                 -> 201",
	     "reserve R1 A=5 ship_after=+900                 -> 201 held",
	     "hold    R1 until=+60 reason=a                  -> 200 held on_hold.until=~60 ship_after=~900",
	     "split   R1 S1 A=1                              -> 201 on_hold.until=~60 on_hold.reason=a ship_after=~900",
	     "get     S1                                     -> on_hold.until=~60 on_hold.reason=a ship_after=~900",
	     "split   R1 S2 A=1 then=confirm                 -> 201 confirmed on_hold.reason=a ship_after=~900",
	     "split   R1 S3 A=1 then=release                 -> 201 released !on_hold ship_after=~900",
	     "get     S3                                     -> released !on_hold ship_after=~900",
	     "reserve R2 A=2 replaces=R1                     -> 201 on_hold.until=~60 on_hold.reason=a !ship_after",
	     "get     R2                                     -> held on_hold.until=~60 on_hold.reason=a !ship_after",
	     "get     R1                                     -> released !on_hold ship_after=~900",
	     "reserve R3 A=2 replaces=R2 confirm=true ship_after=+30 -> 201 confirmed on_hold.until=~60 ship_after=~30",
	     "get     R3                                     -> confirmed on_hold.until=~60 next_attempt_at=~60",
	     "reserve R3 A=2 replaces=R2 confirm=true        -> 200 replayed on_hold.until=~60 ship_after=~30",
	     "run     audit                                  -> 0",
	     "claim   settle w1                              -> 204",
	     "off-hold R3                                    -> 200 ship_after=~30 !on_hold",
	     "reserve R4 A=2 replaces=R3 confirm=true        -> 201 confirmed !on_hold !ship_after",
	     "get     R4                                     -> confirmed !on_hold",
	     "claim   settle w1                              -> 201 orders=1 ~R4",
	     "complete 1                                     -> completed=1",
	     "tick    61",
	     "claim   settle w1                              -> 204",
	     "get     S2                                     -> confirmed !on_hold next_attempt_at=*",
	     "reserve R5 A=1 replaces=S2 confirm=true        -> 201 confirmed !on_hold",
	     "claim   settle w1                              -> 201 orders=1 ~R5",
	     "complete 2                                     -> completed=1",
	     "run     audit                                  -> 0");
}

/* A hold that has expired is not held back by that, and its hold is there again when its units are. */
Test(on_hold, outlives_an_expiry)
{
	flow("receipt A +10                              -> 201",
	     "reserve R1 A=1 ttl=60                       -> 201",
	     "reserve R2 A=1 ttl=60                       -> 201",
	     "hold    R1 reason=x                         -> 200",
	     "hold    R2 until=+600                       -> 200",
	     "extend  R2 ttl=90                           -> 200 on_hold.until=~600",
	     "tick    61",
	     "work    expire                              -> 0",
	     "get     R1                                  -> expired !on_hold",
	     "list    on_hold=true                        -> items=R2 end",
	     "run     audit                               -> 0",
	     "confirm R1 reacquire                        -> 200 reacquired on_hold.until=null on_hold.reason=x",
	     "get     R1                                  -> confirmed on_hold.reason=x !next_attempt_at",
	     "claim   settle w1                           -> 204",
	     "tick    31",
	     "get     R2                                  -> expired !on_hold",
	     "confirm R2 reacquire                        -> 200 confirmed reacquired on_hold.until=*",
	     "claim   settle w1                           -> 204",
	     "run     audit                               -> 0",
	     "release R1                                  -> released !on_hold",
	     "tick    600",
	     "claim   settle w1                           -> 201 orders=1 ~R2");
}

Test(on_hold, is_listed)
{
	flow_begin();
	flow_steps("receipt A +50                             -> 201",
	           "reserve R1 A=1                             -> 201",
	           "reserve R2 A=1 confirm=true                -> 201",
	           "reserve R3 A=1 confirm=true                -> 201",
	           "reserve R4 A=1 confirm=true                -> 201",
	           "reserve R5 A=1 ttl=60                      -> 201",
	           "list    on_hold=true                       -> items= end",
	           "hold    R1                                 -> 200",
	           "hold    R2 until=+60                       -> 200",
	           "hold    R4 reason=x                        -> 200",
	           "hold    R5                                 -> 200",
	           "list    on_hold=true                       -> items=R5,R4,R2,R1 end items[1].on_hold.reason=x",
	           "list    on_hold=true state=confirmed       -> items=R4,R2 end",
	           "list    on_hold=true state=held limit=1    -> items=R5 more",
	           "list    on_hold=true state=held limit=1 next -> items=R1 end",
	           "list    on_hold=true limit=3               -> items=R5,R4,R2 more",
	           "list    on_hold=true state=held next       -> 400 field=cursor",
	           "list    on_hold=true limit=3               -> items=R5,R4,R2 more",
	           "list    on_hold=true limit=3 next          -> items=R1 end",
	           "list    on_hold=true limit=3               -> items=R5,R4,R2 more",
	           "list    limit=3 next                       -> 400 field=cursor",
	           "list    on_hold=true state=buried          -> items= end",
	           "list    on_hold=true state=settled         -> 400 field=state",
	           "list    on_hold=true sku=A                 -> 400 field=sku",
	           "list    on_hold=true state=buried error=x  -> 400 field=error",
	           "list    on_hold=false                      -> 400 field=on_hold",
	           "tick    61",
	           "list    on_hold=true                       -> items=R4,R1 end",
	           "settle  R4 force=true                      -> 200",
	           "off-hold R1                                -> 200",
	           "list    on_hold=true                       -> items= end");
	flow_end();
}

/* More were held back and have expired than a page looks at: the list goes on behind them. */
Test(on_hold, is_listed_behind_many_others)
{
	flow("receipt A +10 -> 201",
	     "reserve R1 A=1 -> 201",
	     "hold    R1 -> 200",
	     "sql INSERT INTO reservation_on_hold SELECT r.reservation_id + seq, UTC_TIMESTAMP(3) - INTERVAL 1 SECOND,"
	     " NULL, NULL FROM reservation r, seq_1_to_12000 -> ",
	     "sql INSERT INTO reservation (reservation_id, order_id, lines_hash, state, due_at, expires_at, attempts,"
	     " created_at, changed, noted, ship_after) SELECT h.reservation_id, CONCAT('X', h.reservation_id), '', 5,"
	     " h.ends_at, h.ends_at, 0, h.ends_at, 0, 64, h.ends_at FROM reservation_on_hold h"
	     " WHERE h.ends_at < UTC_TIMESTAMP(3) -> ",
	     "sql SELECT COUNT(*) FROM reservation_on_hold JOIN reservation USING (reservation_id) -> 12001",
	     "list    on_hold=true limit=5 -> items=R1 end",
	     "sql BEGIN NOT ATOMIC DELETE FROM reservation WHERE order_id LIKE 'X%';"
	     " DELETE FROM reservation_on_hold WHERE ends_at < UTC_TIMESTAMP(3); END -> ");
}

Test(on_hold, goes_with_a_purge)
{
	flow("receipt A +10                               -> 201",
	     "reserve R1 A=1 ttl=60                        -> 201",
	     "hold    R1                                   -> 200",
	     "tick    61",
	     "work    expire                               -> 0",
	     "sql SELECT COUNT(*) FROM reservation_on_hold -> 1",
	     "tick    864000",
	     "run     purge --keep 5 --force               -> 0",
	     "sql SELECT COUNT(*) FROM reservation_on_hold -> 0",
	     "reserve R1 A=1 confirm=true                  -> 201 !on_hold",
	     "run     audit                                -> 0");
}

/* A claim and a hold of one order at once: never both. */
Test(on_hold, a_claim_or_a_hold_comes_first)
{
	flow_begin();
	flow_steps("serve --lanes 2",
	           "receipt A +100 -> 201");
	for (int i = 0; i < 20; i++) {
		flow_step("reserve R%d A=1 confirm=true -> 201", i);
		flow_step("race 2 hold R%d || claim settle w -> *x 200 confirmed on_hold.until=null | *x 409 claimed"
		          " | *x 201 | *x 204",
		          i);
	}
	flow_steps("sql SELECT COUNT(*) FROM reservation JOIN reservation_on_hold USING (reservation_id)"
	           " WHERE task_id > 0 -> 0",
	           "sql SELECT COUNT(*) FROM reservation LEFT JOIN reservation_on_hold h USING (reservation_id)"
	           " WHERE (task_id > 0) + (h.reservation_id IS NOT NULL) <> 1 -> 0");
	flow_end();
}

/* Holds, their ends, and what ends an order, from many threads at once through two services. */
Test(on_hold, many_at_once)
{
	flow_begin();
	flow_steps("serve --lanes 2",
	           "second --lanes 2 --slot 2",
	           "receipt A +100 -> 201");
	flow_repeat("batch R9 A=1", " | R# A=2 confirm=true", 6, " -> 201 | ...");
	flow_step("race 8*40 hold R0 || off-hold R0 || hold R1 until=+5 || hold R1 || settle R2 || hold R2 || hold R9"
	          " || confirm R9 -> *x 200 | *x 200 replayed | *x 409 on_hold | *x 409 settled");
	flow_steps("run audit -> 0",
	           "hold R1 reason=last -> 200",
	           "settle R1 -> 409 on_hold",
	           "settle R1 force=true -> 200",
	           "race 6 off-hold R0 || off-hold R2 || off-hold R3 || off-hold R4 || off-hold R5 || off-hold R9"
	           " -> *x 200 | *x 200 replayed",
	           "work settle -> 0",
	           "sql SELECT COUNT(*) FROM reservation WHERE state <> 3 -> 0",
	           "sql SELECT COUNT(*) FROM reservation_on_hold -> 0");
	flow_end();
}

/* The worker of a task that was reaped takes up no order that was held back since. */
Test(on_hold, take_up_passes_it_over)
{
	flow_begin();
	flow_steps("serve --lanes 1",
	           "receipt A +10 -> 201",
	           "reserve R1 A=3 confirm=true -> 201");
	trap_exec("while read -r l; do sleep 2; done");
	flow_step("start W work settle --once --lease 3");
	trap_begun();
	usleep(200000); /* until the worker listens to its program, which ends after 2 s */
	flow_steps("signal W STOP",
	           "tick 100",
	           "run reap --max-attempts 5 -> 0 '~1 orders freed'",
	           "hold R1 -> 200 confirmed on_hold.until=null",
	           "signal W CONT",
	           "end W -> 0 '~event=orders_lost task=1 lost=1' !task_taken_up",
	           "get R1 -> confirmed on_hold.until=null attempts=1",
	           "run audit -> 0");
	flow_end();
}

/* A task that has ended and still names the order is no claim. */
Test(on_hold, of_an_order_of_a_task_that_has_ended)
{
	flow("serve --lanes 1",
	     "receipt A +10 -> 201",
	     "reserve R1 A=3 confirm=true -> 201",
	     "claim   settle w -> 201 task_id=1",
	     "sql UPDATE job_task SET state = 4, ended_at = UTC_TIMESTAMP(3) -> ",
	     "hold    R1 -> 200 confirmed on_hold.until=null",
	     "sql SELECT task_id FROM reservation -> 0",
	     "sql SELECT order_id FROM task_lost -> R1",
	     "run     reap -> 0",
	     "claim   settle w -> 204",
	     "run     audit -> 0");
}

/* A pause after a failure that ends later than the hold stays. */
Test(on_hold, may_be_over_before_the_pause)
{
	flow("receipt A +10                               -> 201",
	     "reserve R1 A=1 confirm=true                  -> 201",
	     "claim   settle w1                            -> 201 task_id=1",
	     "fail    1 R1=retry                           -> retried=1",
	     "sql UPDATE reservation SET due_at = due_at + INTERVAL 300 SECOND, attempts = 9 -> ",
	     "hold    R1 until=+60                         -> 200 on_hold.until=~60",
	     "run     audit                                -> 0",
	     "tick    61",
	     "claim   settle w1                            -> 204",
	     "hold    R1                                   -> 200",
	     "tick    400",
	     "claim   settle w1                            -> 204",
	     "off-hold R1                                  -> 200",
	     "claim   settle w1                            -> 201");
}

/* A hold ends between the look at an order and the look at what holds it back: the order is looked at once more. */
Test(on_hold, is_read_whole)
{
	struct proxy *proxy;
	struct race  *race;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("serve   --lanes 1",
	           "receipt A +10 -> 201",
	           "reserve R1 A=3 confirm=true -> 201",
	           "hold    R1 until=+600 -> 200");
	proxy_arm(proxy, BREACH_WAIT, "asked_ship_after, reason FROM");
	race = flow_race("1", "get R1");
	cr_expect(proxy_struck(proxy));
	trap_sql("BEGIN NOT ATOMIC START TRANSACTION;"
	         " UPDATE reservation SET ship_after = NULL, noted = 0, task_id = NULL, due_at = UTC_TIMESTAMP(3),"
	         " changed = changed + 1; DELETE FROM reservation_on_hold; COMMIT; END");
	proxy_go_on(proxy);
	trap_raced(race, "1x 200 confirmed !on_hold !ship_after !next_attempt_at");
	flow_step(BY_HAND);
	flow_end();
	proxy_close(proxy);
}

/* An order that is not held back writes and looks for nothing, and neither does an order that takes its place. */
Test(on_hold, an_order_without_one_pays_nothing)
{
	static const char words[] = " reservation_on_hold h FORCE";
	struct server     server;

	server_make(&server, NULL);
	server_start_logged(&server);
	server_use(&server);
	flow_begin();
	flow_steps("serve   --lanes 1",
	           "receipt A +50 -> 201",
	           "reserve R1 A=5 confirm=true -> 201");
	flow_costs(&server, "reserve R2 A=1               -> 201", 0, "on_hold", 0);
	flow_costs(&server, "confirm R2                   -> 200", 0, words, 0);
	flow_costs(&server, "reserve R3 A=5 confirm=true replaces=R1 -> 201", 0, words, 0);
	flow_costs(&server, "release R3                   -> 200", 0, words, 0);
	flow_costs(&server, "hold    R2                   -> 200", 0, "INTO reservation_on_hold", 1);
	flow_costs(&server, "release R2                   -> 200", 0, words, 2);
	flow_end();
	server_remove(&server);
}

/* Roles: a key that makes orders holds them back; a worker does not let them go. */
Test(on_hold, by_whom)
{
	flow("keys shop order | hand worker | eye read | boss admin",
	     "serve --lanes 1",
	     "key boss",
	     "receipt A +10                    -> 201",
	     "key shop",
	     "reserve R1 A=1 confirm=true      -> 201",
	     "hold    R1                       -> 200 by=shop",
	     "key hand",
	     "hold    R1                       -> 403 forbidden",
	     "off-hold R1                      -> 403 forbidden",
	     "settle  R1                       -> 409 on_hold",
	     "key eye",
	     "off-hold R1                      -> 403 forbidden",
	     "get     R1                       -> on_hold.until=null",
	     "list    on_hold=true             -> items=R1",
	     "key boss",
	     "off-hold R1                      -> 200",
	     "events  types=reservation.on_hold -> 200 items[0].by=shop",
	     "events  types=reservation.off_hold -> 200 items[0].by=boss");
}
