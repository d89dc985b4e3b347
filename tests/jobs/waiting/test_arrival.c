/* test_arrival.c - arrivals: promised units have come, and go to the orders in the queue, in queue order; the rest is
 * for sale. */
#include "api/request.h"
#include "engine/base/clock.h"
#include "tests/kit/proxy.h"
#include "tests/lang/trap.h"

#define PO "raw PUT /v1/locations/po {'kind':'incoming'} -> 201"

Test(arrival, serves_the_line_in_its_order)
{
	flow(PO,
	     "receipt A@po +10                                -> 201",
	     "reserve H1 A@po=2                               -> 201",
	     "tick    2",
	     "reserve C1 A@po=3 confirm=true                  -> 201",
	     "tick    2",
	     "reserve C2 A@po=4 confirm=true                  -> 201",
	     "arrival M1 A@po>main=5                          -> 201 kind=arrival lines=1 lines[0].from=po"
	     " lines[0].to=main lines[0].qty=5 lines[0].filled=5 lines[0].for_sale=0 lines[0].waiting=0",
	     "arrival M1 A@po>main=5                          -> 200 replayed lines[0].filled=5",
	     "arrival M1 A@po>main=6                          -> 422 movement_id_reused",
	     "movement M1                                     -> 200 kind=arrival lines[0].filled=5 lines[0].waiting=0",
	     "get     C1                                      -> confirmed A=3 !lines[0].waiting",
	     "get     C2                                      -> confirmed A=2 A@po=2 !lines[0].waiting"
	     " lines[1].waiting=true",
	     "get     H1                                      -> held A@po=2 lines[0].waiting=true",
	     "raw GET /v1/skus/A/waiting                      -> 200 items=C2,H1 end items[0].qty=2",
	     "claim   settle w                                -> 201 orders=1 orders[0].order_id=C1",
	     "complete 1                                      -> completed=1",
	     "claim   settle w                                -> 204",
	     "sku     A -> available=0 reserved=2 on_hand=2 @po available=1 @po reserved=4",
	     "arrival A@po>main=5                             -> 201 lines[0].filled=4 lines[0].for_sale=1"
	     " lines[0].waiting=0",
	     "get     C2                                      -> confirmed A=4",
	     "get     H1                                      -> held A=2",
	     "claim   settle w                                -> 201 orders=1 orders[0].order_id=C2",
	     "sku     A -> available=1 reserved=6 on_hand=7 !incoming",
	     "arrival A@po>main=1                             -> 409 short lines=1 lines[0].location=po"
	     " lines[0].requested=1 lines[0].available=0",
	     "movements A                                     -> 200 items=4",
	     "tick    900",
	     "sku     A -> available=1",
	     "work    expire",
	     "sku     A -> available=3 reserved=4",
	     "sql     SELECT (SELECT COUNT(*) FROM waiting_line), (SELECT COUNT(*) FROM arrival_open) -> 0,0",
	     "run     audit                                   -> 0");
}

/* An order that waits for many skus of an arrival is not read, written and told again for each of them. */
Test(arrival, of_many_skus_for_one_order)
{
	flow_begin();
	flow_step(PO);
	flow_repeat("receipt", " S#@po +3", 300, " -> 201");
	flow_repeat("reserve R1", " S#@po=1", 300, " confirm=true -> 201 confirmed");
	flow_steps("reserve R2 S5@po=1 S7@po=1 S9@po=1              -> 201 held",
	           "tick    1");
	flow_repeat("arrival", " S#@po>main=2", 300, " -> 201");
	flow_steps("wait:16 sql SELECT COUNT(*) FROM arrival_open   -> 0",
	           "get     R1                                      -> confirmed lines=300 S0=1 S299=1"
	           " !lines[0].waiting",
	           "get     R2                                      -> held S5=1 S7=1 S9=1 !lines[0].waiting",
	           "sku     S5 -> available=0 reserved=2 @po available=1 @po reserved=0",
	           "sku     S6 -> available=1 reserved=1 @po available=1 @po reserved=0",
	           "events  types=reservation.arrived limit=100     -> 200 !items[40]",
	           "claim   settle w                                -> 201 orders=R1",
	           "run     audit                                   -> 0");
	flow_end();
}

Test(arrival, wants_a_promise_and_a_place_for_sale)
{
	flow(PO,
	     "raw PUT /v1/locations/qc {'kind':'aside'}       -> 201",
	     "receipt A@po +10 A +5                           -> 201",
	     "arrival A@main>po=1                             -> 422 wrong_kind lines[0].from=main lines[0].to=po",
	     "arrival A@po>qc=1                               -> 422 wrong_kind lines[0].to=qc",
	     "arrival A@main>west=1                           -> 422 wrong_kind",
	     "arrival GHOST@po>main=1                         -> 422 unknown_sku",
	     "arrival A@nowhere>main=1                        -> 409 short lines[0].location=nowhere"
	     " lines[0].available=0",
	     "arrival A@po>main=11                            -> 409 short lines[0].requested=11 lines[0].available=10",
	     "arrival A@po>main=6 A@po>west=5                 -> 409 short lines[0].requested=11",
	     "arrival A@po>main=6 A@po>west=4                 -> 201 lines=2 lines[0].to=main lines[0].for_sale=6"
	     " lines[1].to=west lines[1].for_sale=4",
	     "sku     A -> available=15 @west available=4 @west kind=stock",
	     "run     audit                                   -> 0");
}

#define ROW_OF(order) "SELECT 1 FROM reservation WHERE order_id = '" order "' FOR UPDATE"

/* An order of the queue is locked: its units are set aside, and the orders behind it get theirs. Until it has them the
 * arrival is open, and its booked units go to no other order. */
Test(arrival, passes_over_who_is_locked)
{
	flow_begin();
	flow_steps("serve    --lanes 2",
	           PO,
	           "receipt  A@po +10                              -> 201",
	           "reserve  C1 A@po=3 confirm=true                -> 201",
	           "reserve  C2 A@po=2 confirm=true                -> 201",
	           "reserve  C3 A@po=9                             -> 409 short A@po available=5");
	trap_lock(ROW_OF("C1"));
	flow_steps("arrival  M1 A@po>main=7                         -> 201 lines[0].filled=2 lines[0].for_sale=0"
	           " lines[0].waiting=5",
	           "get      C2                                    -> confirmed A=2",
	           "get      C1                                    -> confirmed A@po=3",
	           "adjust   A@po -4                               -> 409 short A@po requested=4 available=3",
	           "transfer A@po>po2=1                            -> 422 wrong_kind",
	           "arrival  A@po>main=4                           -> 409 short A@po requested=4 available=3",
	           "raw PUT /v1/locations/main {'kind':'aside'}    -> 409 in_use",
	           "raw PUT /v1/locations/po {'kind':'stock'}      -> 409 in_use",
	           "count    A=6                                   -> 409 short",
	           "count    A=8 expected=9                        -> 409 count_mismatch A on_hand=7",
	           "count    K1 A=8                                -> 201 A=1",
	           "receipt  A +1                                  -> 201",
	           "count    K2 A=9 as_of=-0                       -> 201 A=0",
	           "run      audit                                 -> 0");
	trap_unlock();
	flow_steps("wait movement M1                               -> 200 lines[0].filled=5 lines[0].for_sale=2"
	           " lines[0].waiting=0",
	           "get      C1                                    -> confirmed A=3",
	           "sku      A                                     -> available=4 reserved=5 on_hand=9 @po available=3",
	           "run      audit                                 -> 0");
	flow_end();
}

/* A writer that hands out an arrival has it to itself for half a second. A clock that was ahead would make that much
 * longer; a time like this is ignored. The writer is that of the connection, from the first step on. */
Test(arrival, of_a_clock_that_was_ahead)
{
	flow_begin();
	flow_steps("serve    --lanes 2",
	           PO,
	           "receipt  A@po +10                              -> 201",
	           "reserve  C1 A@po=3 confirm=true                -> 201",
	           "reserve  C2 A@po=2 confirm=true                -> 201");
	trap_lock(ROW_OF("C1"));
	flow_steps("arrival  M1 A@po>main=7                         -> 201 lines[0].filled=2 lines[0].waiting=5",
	           "sql      SELECT COUNT(*) FROM arrival_open WHERE writer_id = 0 -> 0",
	           "sql      UPDATE arrival_open SET writer_id = 999, due_at = due_at + INTERVAL 1 DAY -> ",
	           "run      stats --json                          -> 0 arrivals_ahead=1",
	           "run      audit                                 -> 1 '~arrival_taken_by_now: movement_id=M1 sku=A'");
	trap_unlock();
	flow_steps("wait movement M1                               -> 200 lines[0].filled=5 lines[0].for_sale=2",
	           "reserve  C3 A@po=3 confirm=true                -> 201");
	trap_lock(ROW_OF("C3"));
	flow_steps("arrival  M2 A@po>main=3                         -> 201 lines[0].waiting=3",
	           "kill",
	           "sql      UPDATE arrival_open SET writer_id = 999, due_at = due_at + INTERVAL 1 DAY -> ",
	           "run      reap                                  -> 0 '~event=clock_was_ahead' '~arrivals=1'",
	           "run      stats --json                          -> 0 arrivals_ahead=0",
	           "run      audit                                 -> 0",
	           "serve");
	trap_unlock();
	flow_steps("wait movement M2                               -> 200 lines[0].filled=3",
	           "run      audit                                 -> 0");
	flow_end();
}

/* An arrival with damaged rows cannot be handed out. It does not stop those behind it, and is logged once. */
Test(arrival, goes_on_behind_one_that_fails)
{
	flow_begin();
	flow_steps(PO,
	           "receipt  A@po +5 B@po +5                       -> 201",
	           "reserve  C1 A@po=1 confirm=true                -> 201",
	           "reserve  C2 B@po=1 confirm=true                -> 201");
	trap_sql("CREATE TRIGGER damaged BEFORE DELETE ON waiting_line FOR EACH ROW IF OLD.sku_id ="
	         " (SELECT sku_id FROM sku WHERE code = 'A') THEN SIGNAL SQLSTATE '45000'; END IF");
	flow_step("arrival  M1 A@po>main=2                         -> 201 lines[0].filled=0 lines[0].waiting=2");
	trap_lock(ROW_OF("C2"));
	flow_step("arrival  M2 B@po>main=1                         -> 201 lines[0].filled=0 lines[0].waiting=1");
	trap_unlock();
	flow_steps("wait movement M2                               -> 200 lines[0].filled=1 lines[0].waiting=0",
	           "get      C2                                    -> confirmed B=1",
	           "movement M1                                    -> 200 lines[0].filled=0 lines[0].waiting=2",
	           "run      audit                                 -> 0");
	cr_expect_eq(trap_said_count("event=job_failed worker=arrivals sku=A"), 1);
	trap_sql("DROP TRIGGER damaged");
	flow_end();
}

/* One movement, of whatever came of it: at a place that had nothing, beside units that the order has there already. */
Test(arrival, pieces)
{
	flow(PO,
	     "receipt A@po +9 A +2 B@po +4                    -> 201",
	     "reserve R1 A=2 A@po=3 B@po=1 confirm=true       -> 201",
	     "reserve R2 B@po=2 A@po=1                        -> 201",
	     "arrival A@po>main=1 B@po>west=2                 -> 201 lines[0].filled=1 lines[1].sku=B"
	     " lines[1].filled=2",
	     "get     R1                                      -> confirmed A=3 A@po=2 B@west=1 !lines[2].waiting",
	     "get     R2                                      -> held A@po=1 B@po=1 B@west=1",
	     "claim   settle w                                -> 204",
	     "split   R1 R1b A=2 A@po=1                       -> 201 confirmed",
	     "split   R1 R1c A=1 B@west=1 then=settle         -> 201 settled",
	     "arrival A@po>main=4                             -> 201 lines[0].filled=3 lines[0].for_sale=1",
	     "get     R1                                      -> confirmed A=1",
	     "get     R1b                                     -> confirmed A=3",
	     "release R1b                                     -> released",
	     "claim   settle w                                -> 201 orders=R1",
	     "raw POST /v1/reservations/R2/confirm            -> 200 confirmed",
	     "release R2                                      -> released",
	     "sku     A                                       -> available=5 reserved=1",
	     "run     audit                                   -> 0");
}

/* The units of an expired hold go to the next orders, or on sale. */
Test(arrival, holds_past_their_time_get_nothing)
{
	flow(PO,
	     "receipt A@po +9                                 -> 201",
	     "reserve H1 A@po=3 ttl=60                        -> 201",
	     "reserve H2 A@po=3 ttl=600                       -> 201",
	     "reserve H3 A@po=3 ttl=60                        -> 201",
	     "tick    61",
	     "arrival A@po>main=5                             -> 201 lines[0].filled=3 lines[0].for_sale=2",
	     "get     H1                                      -> expired A@po=3",
	     "get     H2                                      -> held A=3",
	     "sku     A                                       -> available=2 reserved=3 @po available=4 @po reserved=0",
	     "confirm H1 reacquire                            -> 200 confirmed A@po=3 lines[0].waiting=true",
	     "confirm H3 reacquire                            -> 409 short",
	     "run     audit                                   -> 0");
}

Test(arrival, is_told)
{
	flow("serve   --lanes 1 --stock-changed               -> ",
	     PO,
	     "receipt A@po +9 B +1                            -> 201",
	     "reserve R1 A@po=3 confirm=true                  -> 201",
	     "raw PUT /v1/skus/A/threshold {'low':1,'location':'main'} -> 200",
	     "arrival M1 A@po>main=2                          -> 201 lines[0].filled=2",
	     "events  types=reservation.arrived               -> 200 items=reservation.arrived"
	     " items[0].data.order_id=R1"
	     " items[0].data.cause=M1 items[0].data.lines[0].location=main items[0].data.lines[0].qty=2"
	     " items[0].data.lines[1].waiting=true",
	     "events  types=movement.arrival                  -> 200 items=movement.arrival"
	     " items[0].data.lines[0].qty=2 items[0].data.lines[0].filled=0 items[0].data.lines[0].waiting=2",
	     "wait events types=stock.changed                 -> 200 ~available:0,reserved:2,on_hand:2",
	     "arrival M2 A@po>main=4                          -> 201 lines[0].filled=1 lines[0].for_sale=3",
	     "wait events types=stock.changed                 -> 200 ~available:3,reserved:3,on_hand:6",
	     "events  types=,                                 -> 400",
	     "run     export movements                        -> 0 '~M1,arrival,' '~,A,,2,po,main'",
	     "run     audit                                   -> 0");
}

/* An order that lost its units waits even if it is buried: it is brought back, waits on, and is served before held
 * orders. */
Test(arrival, buried_orders_wait_and_are_served)
{
	flow("serve   --lanes 1 --events-keep 0               -> ",
	     PO,
	     "receipt A@po +9                                 -> 201",
	     "reserve H1 A@po=1                               -> 201",
	     "reserve B1 A@po=2 confirm=true                  -> 201",
	     "reserve B2 A@po=2 confirm=true                  -> 201",
	     "reserve B3 A@po=2 confirm=true                  -> 201",
	     "sql     UPDATE reservation SET state = 6, task_id = NULL, due_at = confirmed_at, last_error = 'lost'"
	     " WHERE order_id LIKE 'B_'                       -> ",
	     "kick    B1                                      -> 200 confirmed lines[0].waiting=true",
	     "raw POST /v1/kicks {'error':'lost'}             -> 200 kicked=2",
	     "claim   settle w                                -> 204",
	     "run     reap                                    -> 0",
	     "claim   settle w                                -> 204",
	     "run     audit                                   -> 0",
	     "sql     UPDATE reservation SET state = 6, task_id = NULL, due_at = confirmed_at"
	     " WHERE order_id IN ('B2', 'B3')                 -> ",
	     "arrival A@po>main=5                             -> 201 lines[0].filled=5",
	     "get     B1                                      -> confirmed A=2",
	     "get     B2                                      -> buried A=2",
	     "get     B3                                      -> buried A=1 A@po=1",
	     "get     H1                                      -> held A@po=1",
	     "claim   settle w                                -> 201 orders=B1",
	     "kick    B2                                      -> 200 confirmed",
	     "kick    B3                                      -> 200 confirmed",
	     "claim   settle w                                -> 201 orders=B2",
	     "arrival A@po>main=2                             -> 201 lines[0].filled=2",
	     "claim   settle w                                -> 201 orders=B3",
	     "run     audit                                   -> 0");
}

/* All calls for an order that waits, while two services hand out arrivals. */
Test(arrival, races)
{
	struct race *one;

	flow_begin();
	flow_step("serve --lanes 2 --jobs=expire,settle,reap");
	flow_step("second --lanes 2 --slot 5 --jobs=expire,settle");
	flow_step(PO);
	flow_step("receipt A@po +400 A +100 -> 201");
	flow_step("race 4*60 reserve R# A@po=2 A=1 ttl=1 -> *x 201 | *x 409");
	one = flow_race("4*80", "arrival M# A@po>main=3 || arrival N# A@po>west=2");
	flow_step("race 8*300 confirm R# || release R# || split R# S# A@po=1 || reserve Q# A@po=2 replaces=R# "
	          "confirm=true"
	          " || confirm R# reacquire || extend R# ttl=2 -> *x 200 | *x 200 replayed | *x 201 | *x 404 | *x 409 "
	          "| *x 422");
	flow_step("race 8*200 confirm S# || release Q# || split R# U# A=1 then=settle || reserve T# A@main+po=1 ttl=1"
	          " || raw POST /v1/reservations/R#/settle -> *x 200 | *x 200 replayed | *x 201 | *x 404 | *x 409 | *x "
	          "422");
	trap_raced(one, "*x 201 | *x 409");
	flow_step("wait sql SELECT COUNT(*) FROM arrival_open -> 0");
	flow_step("run audit -> 0");
	flow_end();
}

/* The last line of a hold arrives at the instant of its confirmation, through two services: whichever comes first, the
 * order has its units and a worker gets it. */
Test(arrival, a_confirmation_at_that_instant)
{
	enum { INSTANTS = 60 };

	flow_begin();
	flow_step("serve --lanes 2");
	flow_step("second --lanes 2 --slot 5");
	flow_step(PO);
	flow_step("receipt A@po +100 A +100 -> 201");
	for (int i = 0; i < INSTANTS; i++) {
		flow_step("reserve R%d A=1 A@po=1 -> 201 held", i);
		if (i % 2)
			flow_step("race 2 confirm R%d || arrival M%d A@po>main=1 -> 1x 200 confirmed | 1x 201", i, i);
		else
			flow_step("race 2 arrival M%d A@po>main=1 || confirm R%d -> 1x 200 confirmed | 1x 201", i, i);
		flow_step("wait get R%d -> confirmed lines=1 A=2 !lines[0].waiting", i);
	}
	flow_step("events types=reservation.arrived -> items=%d", INSTANTS);
	flow_step("claim settle w limit=1000 -> 201 orders=%d", INSTANTS);
	flow_step("sku A -> available=%d reserved=%d @po available=%d @po reserved=0", 100 - INSTANTS, 2 * INSTANTS,
	          100 - INSTANTS);
	flow_step("run audit -> 0");
	flow_end();
}

/* Many at once: an arrival serves the order that is then first in the queue, and confirmations change which one that
 * is. */
Test(arrival, confirmations_while_they_arrive)
{
	flow_begin();
	flow_step("serve --lanes 2");
	flow_step("second --lanes 2 --slot 5");
	flow_step(PO);
	flow_step("receipt A@po +200 A +200 -> 201");
	flow_step("race 4*50 reserve R# A=1 A@po=1 -> 200x 201");
	flow_step("race 8*25 confirm R# || arrival M# A@po>main=1 -> 100x 200 confirmed | 100x 201");
	flow_step("wait sql SELECT COUNT(*) FROM arrival_open -> 0");
	flow_step("sku A -> available=0 reserved=300 @po available=0 @po reserved=100");
	flow_step("events types=reservation.arrived limit=1000 -> items=100");
	flow_step("sql SELECT COUNT(*) FROM waiting_line w JOIN reservation r USING (reservation_id)"
	          " WHERE (w.held = 1) <> (r.state = 1) -> 0");
	flow_step("race 4*25 arrival N# A@po>main=1 -> 100x 201");
	flow_step("wait sql SELECT COUNT(*) FROM waiting_line -> 0");
	flow_step("claim settle w limit=1000 -> 201 orders=100");
	flow_step("sku A -> available=0 reserved=400 !incoming");
	flow_step("run audit -> 0");
	flow_end();
}

/* Holds the service at the statement with this text until the steps are done, which come in between. R1 waits. A worker
 * gets `ready` in the end. One service: another one's look for open arrivals would come in between, too. */
static void arrival_between(const char *r1, const char *text, const char *act, const char *const *steps,
                            const char *came, const char *told, const char *ready)
{
	struct proxy *proxy;
	struct race  *race;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("serve    --lanes 1",
	           PO,
	           "receipt  A@po +9                               -> 201",
	           r1);
	proxy_arm(proxy, BREACH_WAIT, text);
	race = flow_race("1", act);
	cr_expect(proxy_struck(proxy), "there is no %s", text);
	flow_each(steps);
	proxy_go_on(proxy);
	trap_raced(race, came);
	flow_step("wait movement M1 -> 200 %s", told);
	flow_step("wait claim settle w -> 201 orders=%s", ready);
	flow_step("run audit -> 0");
	flow_end();
	proxy_close(proxy);
}

#define HELD      "reserve R1 A@po=3 -> 201 held"
#define CONFIRMED "reserve R1 A@po=3 confirm=true -> 201 confirmed"

/* If an order has changed since it was read, the hand-out is undone and decided again. */
Test(arrival, serves_orders_as_they_were_read)
{
	static const char *const steps[] = {"split R1 R1b A@po=2 -> 201", "release R1 -> released", NULL};

	arrival_between(CONFIRMED, "r.changed = @s", "arrival M1 A@po>main=3", steps, "1x 201 kind=arrival",
	                "lines[0].filled=2 lines[0].for_sale=1", "R1b");
}

Test(arrival, serves_who_is_confirmed_meanwhile)
{
	static const char *const steps[] = {"confirm R1 -> confirmed lines[0].waiting=true", NULL};

	arrival_between(HELD, "r.changed = @s", "arrival M1 A@po>main=3", steps, "1x 201 kind=arrival",
	                "lines[0].filled=3", "R1");
}

/* The confirmation has read that the order waits, which is true no more when it is written. */
Test(arrival, is_confirmed_as_it_was_served_meanwhile)
{
	static const char *const steps[] = {
		"second --lanes 1 --slot 5",
		"@2 arrival M1 A@po>main=3 -> 201 lines[0].filled=3",
		NULL,
	};

	arrival_between(HELD, "changed = @s", "confirm R1", steps, "1x 200 confirmed A=3 !lines[0].waiting",
	                "lines[0].filled=3", "R1");
}

/* An order that joins the queue before the rest goes on sale gets units of it. */
Test(arrival, sells_nothing_while_somebody_waits)
{
	static const char *const steps[] = {"reserve R2 A@po=2 confirm=true -> 201", NULL};

	arrival_between(CONFIRMED, "available = available + 4611686018427387904", "arrival M1 A@po>main=6", steps,
	                "1x 201 kind=arrival", "lines[0].filled=5 lines[0].for_sale=1", "R1,R2");
}

/* The arrival is booked; its answer waits for the hand-out, but not for a connection from which nothing comes. */
Test(arrival, is_answered_though_its_hand_out_hangs)
{
	struct proxy *proxy;
	struct race  *race;
	int64_t       began_ms;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("serve    --lanes 1",
	           PO,
	           "receipt  A@po +9                               -> 201",
	           CONFIRMED);
	proxy_arm(proxy, BREACH_WAIT, "SET units = units -");
	began_ms = clock_ms();
	race = flow_race("1", "arrival M1 A@po>main=4");
	cr_expect(proxy_struck(proxy), "nothing is handed out");
	trap_raced(race, "1x 201 lines[0].filled=0 lines[0].for_sale=0 lines[0].waiting=4");
	cr_expect_lt(clock_ms() - began_ms, REQUEST_DEADLINE_MS / 2, "the answer waited as long as any call does");
	proxy_go_on(proxy);
	flow_steps("wait movement M1 -> 200 lines[0].filled=3 lines[0].for_sale=1 lines[0].waiting=0",
	           "run audit -> 0");
	flow_end();
	proxy_close(proxy);
}
