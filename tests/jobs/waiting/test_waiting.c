/* test_waiting.c - orders of units that are not in the house yet: they are promised, confirmed, changed and ended as
 * any others, and no worker gets them. */
#include "tests/lang/flow.h"

static const char po[] = "raw PUT /v1/locations/po {'kind':'incoming','expected_at':'2027-01-02T03:04:05Z'} -> 201";

Test(waiting, an_order_is_promised_and_waits)
{
	flow(po,
	     "receipt A@po +5 A +2                        -> 201",
	     "reserve R1 A@po=3                               -> 201 held A@po=3 lines[0].waiting=true"
	     " lines[0].expected_at=2027-01-02T03:04:05.000Z !waits_since",
	     "reserve R1 A@po=3                               -> 200 replayed lines[0].waiting=true",
	     "get     R1                                      -> held lines[0].waiting=true",
	     "reserve R2 A@po=3                               -> 409 short A@po requested=3 available=2",
	     "reserve R2 A@main+po=4                          -> 201 A=2 A@po=2 lines[1].waiting=true"
	     " !lines[0].waiting",
	     "sku     A -> available=0 reserved=2 on_hand=2 incoming.available=0 incoming.reserved=5",
	     "raw POST /v1/availability {'skus':['A'],'locations':['po','main']} -> 200 A available=0 A reserved=7"
	     " A on_hand=2",
	     "sql     SELECT held, told FROM waiting_line     -> 1,0 1,0",
	     "confirm R1                                      -> confirmed lines[0].waiting=true",
	     "get     R1                                      -> confirmed lines[0].waiting=true",
	     "sql     SELECT held, told FROM waiting_line ORDER BY held -> 0,0 1,0",
	     "claim   settle                                  -> 204",
	     "tick    3000",
	     "claim   settle                                  -> 204",
	     "run     reap                                    -> 0",
	     "claim   settle                                  -> 204",
	     "run     stats --json                            -> 0 confirmed=1 ready=0 orders_ahead=0",
	     "raw POST /v1/reservations/R1/settle             -> 409 waiting lines=1 lines[0].sku=A"
	     " lines[0].location=po"
	     " !lines[0].requested",
	     "raw POST /v1/reservations/R1/settle {'force':true} -> 409 waiting lines=1",
	     "raw POST /v1/settlements {'order_ids':['R1']}   -> 200 results[0].code=waiting results[0].lines[0].sku=A",
	     "release R1                                      -> released !lines[0].waiting",
	     "get     R1                                      -> released !lines[0].waiting",
	     "sku     A                                       -> incoming.available=3 incoming.reserved=2",
	     "get     R2                                      -> expired !lines[1].waiting",
	     "reserve R3 A@po=5 confirm=true                  -> 201 confirmed lines[0].waiting=true",
	     "claim   settle                                  -> 204",
	     "sql     SELECT held, told FROM waiting_line     -> 0,0",
	     "run     audit                                   -> 0");
}

/* A hold that was swept is held again, and waits from then on; one that was not swept is only confirmed. */
Test(waiting, expiry)
{
	flow(po,
	     "receipt A@po +5                             -> 201",
	     "reserve R1 A@po=3 ttl=60                        -> 201",
	     "reserve R2 A@po=2 ttl=60                        -> 201",
	     "tick    61",
	     "confirm R1                                      -> 409 expired",
	     "confirm R1 reacquire                            -> confirmed reacquired lines[0].waiting=true",
	     "work    expire",
	     "sql     SELECT held FROM waiting_line           -> 0",
	     "get     R2                                      -> expired",
	     "confirm R2 reacquire                            -> confirmed reacquired lines[0].waiting=true",
	     "sql     SELECT held, reservation_id = first_id FROM waiting_line -> 0,1 0,1",
	     "claim   settle                                  -> 204",
	     "release R1                                      -> released",
	     "reserve R4 A@po=3 ttl=60                        -> 201",
	     "extend  R4 ttl=120                              -> held",
	     "tick    130",
	     "reserve R5 A@po=3                               -> 201 held",
	     "sql     SELECT COUNT(*) FROM waiting_line       -> 2",
	     "run     audit                                   -> 0");
}

/* A part of a split keeps the position of the first order; a replacement takes it over line by line. */
Test(waiting, places_in_the_line)
{
	flow(po,
	     "raw PUT /v1/locations/po2 {'kind':'incoming'} -> 201",
	     "receipt A@po +9 A@po2 +9 A +9                   -> 201",
	     "reserve R1 A@po=3 A=2 confirm=true              -> 201",
	     "tick    10",
	     "reserve R2 A@po=1                               -> 201",
	     "split   R1 R1b A@po=1                           -> 201 confirmed A@po=1 lines[0].waiting=true",
	     "sql     SELECT COUNT(DISTINCT waits_since, first_id, held), COUNT(*) FROM waiting_line -> 2,3",
	     "claim   settle                                  -> 204",
	     "split   R1 R1c A@po=2 then=settle               -> 409 waiting lines=1 lines[0].location=po",
	     "split   R1 R1c A@po=2                           -> 201 confirmed",
	     "claim   settle W                                -> 201 orders=1 orders[0].order_id=R1",
	     "give-back 1",
	     "sql     SELECT COUNT(DISTINCT waits_since, first_id, held), COUNT(*) FROM waiting_line -> 2,3",
	     "tick    10",
	     "reserve R3 A@po=4 A@po2=1 replaces=R1c confirm=true -> 201 confirmed",
	     "sql     SELECT COUNT(DISTINCT waits_since, first_id, held), COUNT(*) FROM waiting_line -> 3,4",
	     "reserve R4 A=1 replaces=R2                      -> 201 held",
	     "sql     SELECT COUNT(*) FROM waiting_line       -> 3",
	     "split   R3 R3b A@po2=1 then=release             -> 201 released",
	     "sql     SELECT COUNT(*) FROM waiting_line       -> 2",
	     "reserve R5 A=1 replaces=R3 confirm=true         -> 201 confirmed",
	     "claim   settle                                  -> 201 orders=1 orders[0].order_id=R5",
	     "claim   settle                                  -> 201 orders=1 orders[0].order_id=R1",
	     "reserve R6 A@po=1                               -> 201 held",
	     "split   R1b R1d A@po=1                          -> 422 nothing_left",
	     "run     audit                                   -> 0");
}

/* A hold that is confirmed by a replacement or a split gets its position by the time of that, unless another one was
 * given. */
Test(waiting, the_first_confirmation_counts)
{
	flow(po,
	     "receipt A@po +9                             -> 201",
	     "reserve H1 A@po=3                               -> 201",
	     "reserve H2 A@po=2 waits_since=-3600             -> 201 waits_since=*",
	     "tick    10",
	     "reserve H1b A@po=3 replaces=H1 confirm=true     -> 201 confirmed !waits_since",
	     "split   H2 H2b A@po=1 then=confirm              -> 201 confirmed waits_since=*",
	     "sql     SELECT w.held, w.told, r.created_at < w.waits_since, r.order_id FROM waiting_line w JOIN"
	     " reservation r USING (reservation_id) ORDER BY r.order_id      -> 0,0,0,H1b 1,1,0,H2 0,1,0,H2b",
	     "sql     SELECT COUNT(DISTINCT first_id) FROM waiting_line -> 2",
	     "confirm H2                                      -> confirmed waits_since=*",
	     "sql     SELECT COUNT(*) FROM waiting_line WHERE told = 1 AND held = 0 AND waits_since < UTC_TIMESTAMP() -"
	     " INTERVAL 3000 SECOND -> 2",
	     "reserve X A@po=1 waits_since=+3600              -> 400 field=waits_since",
	     "get     H2                                      -> confirmed waits_since=*",
	     "release H2                                      -> released !waits_since",
	     "run     audit                                   -> 0");
}

/* A part keeps the position that was given to its first order, even if only the first waits when it is split off. */
Test(waiting, a_part_keeps_the_place_that_was_told)
{
	flow(po,
	     "receipt A@po +9 A +2                        -> 201",
	     "reserve R1 A=1 confirm=true                     -> 201",
	     "tick    10",
	     "reserve T1 A@po=1 A=1 confirm=true waits_since=-3600 -> 201 waits_since=*",
	     "split   T1 T2 A=1                               -> 201 confirmed !waits_since",
	     "count   A=0 short=backorder to=po               -> 201 backordered=2",
	     "raw GET /v1/skus/A/waiting                      -> 200 items=T1,T2,R1 end",
	     "get     T2                                      -> confirmed A@po=1 waits_since=*",
	     "split   R1 R2 A@po=1                            -> 422 nothing_left",
	     "run     audit                                   -> 0");
}

/* A replacement keeps the position, too, shows it, and passes it on, whether it waits or not. */
Test(waiting, a_replacement_keeps_the_place_that_was_told)
{
	flow(po,
	     "receipt A@po +9                                 -> 201",
	     "reserve N1 A@po=1 confirm=true                  -> 201",
	     "tick    10",
	     "reserve T1 A@po=2 confirm=true waits_since=-3600 -> 201 waits_since=*",
	     "reserve T2 A@po=3 confirm=true replaces=T1      -> 201 waits_since=*",
	     "get     T2                                      -> confirmed waits_since=*",
	     "reserve T2 A@po=3 confirm=true replaces=T1      -> 200 replayed waits_since=*",
	     "split   T2 T3 A@po=1                            -> 201 waits_since=*",
	     "raw GET /v1/skus/A/waiting                      -> 200 items=T2,T3,N1 end",
	     "arrival A@po>main=4                             -> 201 lines[0].filled=4",
	     "get     T2                                      -> confirmed A=2 !waits_since",
	     "reserve T4 A=2 confirm=true replaces=T2         -> 201 !waits_since",
	     "count   A=0 short=backorder to=po               -> 201 backordered=3",
	     "raw GET /v1/skus/A/waiting                      -> 200 items=T3,T4,N1 end",
	     "get     T4                                      -> confirmed A@po=2 waits_since=*",
	     "run     audit                                   -> 0",
	     "reserve T5 A@po=2 confirm=true replaces=T4 waits_since=-60 -> 201 waits_since=*",
	     "raw GET /v1/skus/A/waiting                      -> 200 items=T3,T5,N1 end",
	     "run     audit                                   -> 0");
}

Test(waiting, a_place_is_told_by_admins)
{
	flow("keys    shop order | boss admin                 -> ",
	     "key     boss",
	     po,
	     "receipt A@po +9                             -> 201",
	     "reserve R1 A@po=1 waits_since=-60               -> 201 waits_since=*",
	     "key     shop",
	     "reserve R2 A@po=1 waits_since=-60               -> 403 forbidden field=waits_since",
	     "batch   R2 A@po=1 waits_since=-60 | R3 A@po=1   -> 403 forbidden field=waits_since | 201 held",
	     "reserve R1 A@po=1                               -> 200 replayed waits_since=*");
}

/* An order without a given position sends and writes nothing more. */
Test(waiting, others_pay_nothing)
{
	flow("serve   --lanes 1                               -> ",
	     po,
	     "receipt A +9                                -> 201",
	     "reserve R1 A=1 confirm=true                     -> 201 !lines[0].waiting",
	     "reserve R2 A=1 waits_since=-60                  -> 201 !waits_since",
	     "release R2                                      -> released",
	     "sql     SELECT (SELECT COUNT(*) FROM waiting_line), (SELECT COUNT(*) FROM reservation_note) -> 0,0");
}

/* A buried order counts as a confirmed one; after a kick it waits on. */
Test(waiting, kick)
{
	flow(po,
	     "receipt A@po +9 A +3                        -> 201",
	     "reserve R1 A=1 confirm=true                     -> 201",
	     "claim   settle W                                -> 201",
	     "fail    1 R1=bury:no                            -> 200",
	     "kick    R1                                      -> confirmed",
	     "claim   settle W                                -> 201 orders=1",
	     "run     audit                                   -> 0");
}

/* All calls at the same instant, through two services. */
Test(waiting, races)
{
	flow_begin();
	flow_step("serve --lanes 2 --jobs=expire,settle,reap");
	flow_step("second --lanes 2 --slot 5 --jobs=expire,settle");
	flow_step(po);
	flow_step("receipt A@po +300 A +300 -> 201");
	flow_step("race 4*150 reserve R# A@po=1 A=1 ttl=1 -> *x 201 | *x 409");
	flow_step("race 16*450 confirm R# || release R# || split R# S# A@po=1 || reserve Q# A@po=2 replaces=R# "
	          "confirm=true"
	          " || confirm R# reacquire || extend R# ttl=2 -> *x 200 | *x 201 | *x 404 | *x 409 | *x 422");
	flow_step("race 16*450 confirm S# || release Q# || split R# T# A=1 then=settle || raw POST "
	          "/v1/reservations/R#/settle"
	          " -> *x 200 | *x 201 | *x 404 | *x 409 | *x 422");
	flow_step("run audit -> 0");
	flow_end();
}

/* Confirmed before held, then by the time, then by the reservation. */
Test(waiting, the_line_is_read)
{
	flow(po,
	     "raw PUT /v1/locations/po2 {'kind':'incoming'} -> 201",
	     "receipt A@po +9 A@po2 +9 B +1                   -> 201",
	     "reserve H1 A@po=1 ttl=60                        -> 201",
	     "tick    2",
	     "reserve H2 A@po=1 A@po2=3                       -> 201",
	     "tick    2",
	     "reserve C1 A@po=2 confirm=true                  -> 201",
	     "tick    2",
	     "reserve T1 A@po=1 confirm=true waits_since=-9000 -> 201",
	     "reserve T2 A@po=1 waits_since=-9000             -> 201",
	     "raw GET /v1/skus/A/waiting                      -> 200 items=T1,C1,T2,H1,H2,H2 end items[0].location=po"
	     " items[0].qty=1 items[0].state=confirmed items[1].qty=2 items[3].state=held items[5].location=po2"
	     " items[5].qty=3 items[5].waits_since=*",
	     "confirm H2                                      -> confirmed",
	     "raw GET /v1/skus/A/waiting?location=po          -> 200 items=T1,C1,H2,T2,H1 end",
	     "split   C1 C1b A@po=1                           -> 201",
	     "raw GET /v1/skus/A/waiting?location=po&limit=2  -> 200 items=T1,C1 more",
	     "raw GET /v1/skus/A/waiting?limit=9              -> 200 items=T1,C1,C1b,H2,T2,H1,H2 end",
	     "raw GET /v1/skus/A/waiting?location=po2         -> 200 items=H2 end",
	     "raw GET /v1/skus/A/waiting?location=main        -> 200 items= end",
	     "raw GET /v1/skus/B/waiting                      -> 200 items= end",
	     "raw GET /v1/skus/C/waiting                      -> 404 unknown_sku",
	     "raw GET /v1/skus/A/waiting?location=moon        -> 404 unknown_location",
	     "raw GET /v1/skus/A/waiting?cursor=x             -> 400 invalid_request",
	     "raw GET /v1/skus/A/waiting?colour=1             -> 400 invalid_request",
	     "tick    61",
	     "raw GET /v1/skus/A/waiting?location=po          -> 200 items=T1,C1,C1b,H2,T2 end");
}

/* Page by page, each order comes once. */
Test(waiting, the_line_is_read_page_by_page)
{
	flow_begin();
	flow_step(po);
	flow_step("receipt A@po +30 -> 201");
	flow_step("reserve R A@po=10 confirm=true -> 201");
	for (int i = 0; i < 9; i++)
		flow_step("split R S%d A@po=1 -> 201", i);
	flow_step("raw GET /v1/skus/A/waiting?limit=4 -> 200 items=R,S0,S1,S2 more");
	flow_step("list sku=A limit=99 -> 200");
	flow_end();
}
