/* test_history.c - what happened to one order, read from the log by links. */
#include "engine/log/event.h"
#include "tests/lang/flow.h"

#define HISTORY(id) "raw GET /v1/reservations/" id "/events"

/* The newest first: its type, its time, the key, and what the order had become. */
Test(history, of_an_order)
{
	flow("keys shop order | boss admin -> ",
	     "serve --lanes 1",
	     "key boss",
	     "receipt A +10                          -> 201",
	     "key shop",
	     "reserve R1 A=3                         -> 201",
	     "reserve R2 A=1                         -> 201",
	     HISTORY("R1") "                         -> 200 items=reservation.held end items[0].by=shop"
	                   " items[0].data.state=held items[0].data.lines[0].qty=3 items[0].at=* items[0].id=*",
	     "extend  R1 ttl=600                     -> 200",
	     "amend   R1 A=2                         -> 200",
	     "confirm R1                             -> 200",
	     "hold    R1 reason=fraud                -> 200",
	     "key boss",
	     "off-hold R1                            -> 200",
	     "release R1                             -> 200",
	     HISTORY("R1") "                         -> items=reservation.released,reservation.off_hold,"
	                   "reservation.on_hold,reservation.confirmed,reservation.changed,reservation.extended,"
	                   "reservation.held end items[0].by=boss items[3].by=shop items[2].data.on_hold.reason=fraud"
	                   " items[4].data.lines[0].qty=2 items[4].data.lines_before[0].qty=3",
	     HISTORY("R2") "                         -> items=reservation.held end",
	     HISTORY("R3") "                         -> 404 unknown_order",
	     "restart",
	     "confirm R2                             -> 200",
	     HISTORY("R2") "                         -> items=reservation.confirmed,reservation.held end");
}

/* Other processes, lanes and jobs have writers of their own. */
Test(history, over_many_writers)
{
	flow("receipt A +20                          -> 201",
	     "second",
	     "reserve R1 A=2                         -> 201",
	     "@2 confirm R1                          -> 200",
	     "claim   settle w                       -> 201",
	     "fail    1 R1=bury:late                 -> 200",
	     "@2 kick R1                             -> 200",
	     "work    settle",
	     HISTORY("R1") "                         -> items=reservation.settled,reservation.kicked,"
	                   "reservation.buried,reservation.confirmed,reservation.held end"
	                   " items[2].data.last_error=late",
	     "reserve R2 A=1 ttl=60                  -> 201",
	     "tick    61",
	     "work    expire",
	     "@2 confirm R2 reacquire                -> 200",
	     HISTORY("R2") "                         -> items=reservation.confirmed,reservation.expired,"
	                   "reservation.held end items[0].data.cause=reacquired",
	     "reserve R3 A=1 confirm=true            -> 201",
	     "settle  R3                             -> 200",
	     HISTORY("R3") "                         -> items=reservation.settled,reservation.confirmed,"
	                   "reservation.held end",
	     "run     kick --all                     -> 0",
	     "run     audit                          -> 0");
}

/* A split and a replacement stand in the histories of both orders. */
Test(history, of_two_orders)
{
	flow("receipt A +20                          -> 201",
	     "reserve R1 A=5 confirm=true            -> 201",
	     "split   R1 P1 A=2 then=settle          -> 201",
	     HISTORY("R1") "                         -> items=reservation.split,reservation.confirmed,"
	                   "reservation.held end items[0].data.lines[0].qty=3",
	     HISTORY("P1") "                         -> items=reservation.settled,reservation.split end",
	     "reserve R2 A=4 confirm=true replaces=R1 -> 201",
	     HISTORY("R1") "                         -> items=reservation.replaced,reservation.split,"
	                   "reservation.confirmed,reservation.held end",
	     HISTORY("R2") "                         -> items=reservation.confirmed,reservation.held end",
	     "batch atomic R5 A=1 | R6 A=1           -> 201 | 201",
	     "confirmations atomic R5 R6             -> 200 | 200",
	     HISTORY("R5") "                         -> items=reservation.confirmed,reservation.held end");
}

/* Goods that come are handed out, and goods that are lost are waited for. */
Test(history, of_an_order_that_waits)
{
	flow("receipt A +2                           -> 201",
	     "raw PUT /v1/locations/soon {'kind':'incoming'} -> 201",
	     "receipt A@soon +5                      -> 201",
	     "reserve R1 A@soon=2 confirm=true       -> 201",
	     "arrival A@soon>main=2                  -> 201",
	     "wait " HISTORY("R1") "                 -> items=reservation.arrived,reservation.confirmed,"
	                   "reservation.held end",
	     "count   A=1 short=backorder to=soon    -> 201",
	     HISTORY("R1") "                         -> items[0].type=reservation.backordered items=4",
	     "run audit                              -> 0");
}

Test(history, pages)
{
	flow("receipt A +20                          -> 201",
	     "reserve R1 A=5 confirm=true            -> 201",
	     "split   R1 P1 A=1 then=settle          -> 201",
	     "split   R1 P2 A=1                      -> 201",
	     HISTORY("R1") "?limit=2                 -> items=reservation.split,reservation.split more",
	     HISTORY("R1") "?limit=3                 -> items=3 more items[2].type=reservation.confirmed",
	     HISTORY("R1") "?limit=4                 -> items=4 end items[3].type=reservation.held",
	     HISTORY("P1") "?limit=1                 -> items=reservation.settled more",
	     HISTORY("R1") "?limit=0                 -> 400 invalid_request field=limit",
	     HISTORY("R1") "?cursor=x                -> 400 invalid_request field=cursor",
	     HISTORY("R1") "?types=a                 -> 400 invalid_request field=types");
}

/* A history has what is kept, and no more. */
Test(history, as_long_as_events_are_kept)
{
	flow("receipt A +20                          -> 201",
	     "reserve R1 A=5                         -> 201",
	     "confirm R1                             -> 200",
	     "sql UPDATE event SET stamp = stamp - 864000000000, at = at - INTERVAL 10 DAY -> ",
	     "hold    R1                             -> 200",
	     HISTORY("R1") "                         -> items=3 end",
	     "run     reap                           -> 0",
	     HISTORY("R1") "                         -> items=reservation.on_hold end",
	     "reserve R2 A=5                         -> 201",
	     "restart",
	     "serve   --events-keep 0 --lanes 1",
	     "confirm R2                             -> 200",
	     HISTORY("R2") "                         -> 200 items= end",
	     "serve   --events-keep 7 --lanes 1",
	     "hold    R2                             -> 200",
	     HISTORY("R2") "                         -> items=reservation.on_hold end");
}

/* A row of many orders gives the records of one. */
Test(history, in_a_large_row)
{
	flow_begin();
	flow_orders("R", 300);
	flow_steps("work settle --batch 300",
	           HISTORY("R7") " -> items=reservation.settled,reservation.confirmed,reservation.held end"
	                         " items[0].data.order_id=R7");
	flow_end();
}
