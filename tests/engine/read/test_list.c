/* test_list.c - the three lists, their pages and cursors. */
#include "engine/op.h"
#include "tests/lang/flow.h"

Test(list, empty)
{
	flow("list                        -> 200 items= end",
	     "list     state=held         -> 200 items= end",
	     "skus                        -> 200 items= end",
	     "movements A                 -> 404 unknown_sku");
}

Test(list, reservations_newest_first)
{
	flow("receipt  A +10              -> 201",
	     "reserve  R1 A=1 ttl=60      -> 201",
	     "reserve  R2 A=2             -> 201",
	     "reserve  R3 A=3             -> 201",
	     "confirm  R2                 -> 200",
	     "release  R3                 -> 200",
	     "tick     61",
	     "list                        -> 200 items=R3,R2,R1 end items[0].lines[0].qty=3 items[0].lines[0].sku=A"
	     "                               R3 state=released released_at=* attempts=0 created_at=* expires_at=*"
	     "                               R2 state=confirmed confirmed_at=* R1 state=expired",
	     "raw GET /v1/reservations    -> 200 items=3");
}

Test(list, pages)
{
	flow("receipt  A +10              -> 201",
	     "reserve  R1 A=1             -> 201",
	     "reserve  R2 A=1             -> 201",
	     "reserve  R3 A=1             -> 201",
	     "list     limit=2            -> items=R3,R2 more",
	     "reserve  R4 A=1             -> 201",
	     "list     limit=2 next       -> items=R1 end",
	     "list     limit=4            -> items=R4,R3,R2,R1",
	     "list     limit=3            -> items=R4,R3,R2 more",
	     "release  R1                 -> 200",
	     "list     limit=1000 next    -> items=R1 end R1 state=released",
	     "list     limit=1            -> items=R4 more",
	     "list     limit=1 next       -> items=R3 more",
	     "list     limit=1 next       -> items=R2 more",
	     "list     next               -> items=R1 end");
}

Test(list, default_limit_is_a_hundred)
{
	flow_begin();
	flow_steps("receipt A +1000 -> 201");
	flow_repeat("batch R0 A=1", " | Q# A=1", 100, " -> 201 | ...");
	flow_steps("list       -> items=100 more",
	           "list next  -> items=1 end",
	           "list state=held -> items=100 more",
	           "list state=held next -> items=1 end");
	flow_repeat("receipt", " S# +1", 100, " -> 201");
	flow_steps("skus       -> items=100 more",
	           "skus next  -> items=1 end");
	for (int i = 0; i < 100; i++)
		flow_step("receipt A +1 -> 201");
	flow_steps("movements A      -> items=100 more",
	           "movements A next -> items=1 end");
	flow_end();
}

/* By the time at which something is next due: for holds that is their end. */
Test(list, by_state)
{
	flow("receipt  A +10              -> 201",
	     "reserve  R1 A=1 ttl=300     -> 201",
	     "reserve  R2 A=1 ttl=100     -> 201",
	     "reserve  R3 A=1 ttl=200     -> 201",
	     "reserve  R4 A=1             -> 201",
	     "reserve  R5 A=1             -> 201",
	     "confirm  R4                 -> 200",
	     "release  R5                 -> 200",
	     "list     state=held         -> set=R1,R2,R3 end",
	     "list     state=held limit=2 -> items=R2,R3 more",
	     "list     state=held limit=2 next -> items=R1 end",
	     "list     state=confirmed    -> items=R4 end R4 state=confirmed",
	     "list     state=released     -> items=R5 end R5 state=released",
	     "list     state=expired      -> items= end",
	     "list     state=settled      -> items= end",
	     "list     state=buried       -> items= end");
}

/* A held reservation past expires_at reads expired in every answer, swept or not. */
Test(list, by_state_reads_expired)
{
	flow("receipt  A +10 B +1         -> 201",
	     "reserve  R1 A=1 ttl=60      -> 201",
	     "reserve  R2 A=1 ttl=600     -> 201",
	     "reserve  R3 B=1 ttl=60      -> 201",
	     "tick     61",
	     "list     state=held         -> items=R2 end",
	     "list     state=expired      -> set=R1,R3 end R1 state=expired R3 state=expired",
	     "reserve  R4 B=1             -> 201",
	     "list     state=expired      -> set=R1,R3 end",
	     "list     state=held         -> set=R2,R4 end",
	     "list                        -> items=R4,R3,R2,R1 R1 state=expired R2 state=held R3 state=expired");
}

Test(list, by_state_reads_expired_in_pages)
{
	flow("receipt  A +10              -> 201",
	     "reserve  R1 A=1 ttl=60      -> 201",
	     "reserve  R2 A=1 ttl=70      -> 201",
	     "reserve  R3 A=10            -> 409 short",
	     "tick     80",
	     "reserve  R4 A=10 ttl=90     -> 201",
	     "tick     100",
	     "release  R4                 -> 409 expired",
	     "list     state=expired limit=1 -> items=1 more",
	     "list     state=expired limit=1 next -> items=1 more",
	     "list     state=expired limit=1 next -> items=1 end",
	     "list     state=expired limit=3 -> set=R1,R2,R4 end");
}

/* A page looks at 10,000 rows at most, however few of them belong to it; the cursor goes on behind the last of them. */
Test(list, bounded_pages)
{
	flow("receipt  A +10              -> 201",
	     "reserve  R1 A=1 ttl=600     -> 201",
	     "reserve  R2 A=1 ttl=600     -> 201",
	     "release  R2                 -> 200",
	     /* past their time, and waiting for another attempt to expire */
	     "sql INSERT INTO reservation (" RESERVATION_COLUMNS
	     ") SELECT seq, CONCAT('W', seq), '', NULL, 1, UTC_TIMESTAMP(3) + INTERVAL 1"
	     " HOUR, UTC_TIMESTAMP(3) - INTERVAL 1 HOUR, 0, 1, NULL, UTC_TIMESTAMP(3), NULL, NULL, NULL, 0, 0, NULL"
	     " FROM seq_1_to_25000 -> ",
	     "list     state=held limit=7 -> items=R1 more",
	     "list     state=held limit=7 next -> items= end",
	     "list     state=held limit=1 -> items=R1 more",
	     "list     state=expired limit=7 -> items=7 more",
	     "list     state=released limit=7 -> items=R2 end",
	     "list     limit=1000         -> items=1000 more",
	     "sql DELETE FROM reservation WHERE order_id LIKE 'W%' -> ",
	     "list     state=held         -> items=R1 end",
	     "list     state=expired      -> items= end");
}

/* ---- skus */

#define LOW(text) "raw GET /v1/skus?low=true" text " -> 200 items=1 next_cursor=null items[0]."

Test(list, skus_by_prefix_and_location)
{
	flow("receipt  A +1 AB +2 AB@paris +3 ABC@paris +4 B +5 'A B' +6 ~ +1 a +1 -> 201",
	     "skus     prefix=A            -> 200 items=4 end AB available=5 on_hand=5",
	     "skus     prefix=A%20         -> items=1 end",
	     "skus     prefix=~            -> items=~ end",
	     "skus     prefix=a            -> items=a end",
	     "skus     prefix=AB limit=1   -> items=AB more",
	     "skus     prefix=AB limit=1 next -> items=ABC end",
	     "skus     location=paris      -> items=AB,ABC end AB available=5",
	     "skus     location=paris limit=1 -> items=AB more",
	     "skus     location=paris limit=1 next -> items=ABC end",
	     "skus     location=paris prefix=ABC -> items=ABC end",
	     "skus     location=rome       -> items= end",
	     "skus     location=rome low=true -> items= end",
	     "skus     prefix=Z            -> items= end",
	     "adjust   ABC@paris -4        -> 201",
	     "skus     location=paris      -> items=AB,ABC end ABC available=0");
}

Test(list, skus_refused)
{
	flow("receipt  A +1 B +1 B@paris +1 -> 201",
	     "skus     prefix=             -> 400 invalid_request field=prefix",
	     "skus     prefix=%C3           -> 400 invalid_request field=prefix",
	     "skus     prefix=A%E2%80%8B   -> 400 invalid_request field=prefix",
	     "skus     prefix=%00          -> 400 invalid_request field=prefix",
	     "skus     location=           -> 400 invalid_request field=location",
	     "skus     location=%20x       -> 400 invalid_request field=location",
	     "skus     low=false           -> 400 invalid_request field=low",
	     "skus     low=                -> 400 invalid_request field=low",
	     "skus     low=true low=true   -> 400 invalid_request field=low",
	     "skus     limit=1             -> items=A more",
	     "skus     prefix=A next       -> 400 invalid_request field=cursor",
	     "skus     location=main next  -> 400 invalid_request field=cursor",
	     "skus     location=rome next  -> 400 invalid_request field=cursor",
	     "skus     low=true next       -> 400 invalid_request field=cursor",
	     "skus     next                -> items=B end",
	     "skus     location=main limit=1 -> items=A more",
	     "skus     location=paris next -> 400 invalid_request field=cursor",
	     "skus     next                -> 400 invalid_request field=cursor",
	     "skus     prefix=A limit=1 location=main low=true next -> 400 invalid_request field=cursor",
	     "skus     location=main next  -> items=B end");
}

/* At or below a threshold, or with nothing left: at a place that sells, and over all where a threshold over all is. */
Test(list, skus_low)
{
	flow("receipt  A +5 A@paris +5 B +5 C@qc +1 D +5 D@paris +1 -> 201",
	     "adjust   C@qc -1                                  -> 201",
	     "raw PUT /v1/locations/qc {'kind':'aside'}         -> 200",
	     "raw PUT /v1/skus/N {}                             -> 201",
	     "skus     low=true                                 -> items= end",
	     "raw PUT /v1/skus/A/threshold {'low':5,'location':'paris'} -> 200",
	     LOW("") "sku=A items[0].available=10 items[0].low[0].location=paris items[0].low[0].low=5"
	             " items[0].low[0].available=5 items[0].low=1",
	     "raw PUT /v1/skus/A/threshold {'low':10}           -> 200",
	     LOW("") "low=2 !items[0].low[0].location items[0].low[0].low=10 items[0].low[0].available=10"
	             " items[0].low[1].location=paris",
	     "reserve  R1 A=5                                   -> 201",
	     LOW("") "low=3 items[0].low[0].available=5 items[0].low[1].location=main items[0].low[1].low=0"
	             " items[0].low[1].available=0 items[0].low[2].location=paris",
	     LOW("&location=main") "low=1 items[0].low[0].location=main",
	     "skus     low=true location=qc                     -> items= end",
	     "skus     low=true prefix=B                        -> items= end",
	     "raw PUT /v1/skus/A/threshold {'low':null}         -> 200",
	     "raw PUT /v1/skus/A/threshold {'low':null,'location':'paris'} -> 200",
	     "release  R1                                       -> 200",
	     "skus     low=true                                 -> items= end",
	     "raw PUT /v1/skus/B/threshold {'low':2,'location':'paris'} -> 200",
	     LOW("") "sku=B items[0].low[0].location=paris items[0].low[0].low=2 items[0].low[0].available=0",
	     "skus     low=true location=paris                  -> items= end",
	     "reserve  R2 D@paris=1                             -> 201",
	     "skus     low=true                                 -> items=B,D end",
	     "skus     low=true limit=1                         -> items=B more",
	     "skus     low=true limit=1 next                    -> items=D end",
	     "raw PUT /v1/skus/N/threshold {'low':0}            -> 200",
	     "skus     low=true prefix=N                        -> items=N end");
}

/* A page looks at 4,000 skus at most, however few of them belong to it. */
Test(list, skus_bounded_pages)
{
	flow("receipt  A +1 Z +1 Z@paris +1 -> 201",
	     "sql INSERT INTO sku (code, created_at) SELECT CONCAT('S', LPAD(seq, 5, '0')), UTC_TIMESTAMP(3)"
	     " FROM seq_1_to_9000 -> ",
	     "sql INSERT INTO stock_slot SELECT sku_id, location_id, 1, 1, 0 FROM sku JOIN location"
	     " WHERE sku.code LIKE 'S%' AND location.code = 'main' -> ",
	     "skus     location=paris      -> items=Z end",
	     "skus     low=true            -> items= end",
	     "skus     prefix=Z location=paris -> items=Z end",
	     "skus     limit=1000          -> items=1000 more",
	     "sql DELETE FROM stock_slot WHERE sku_id IN (SELECT sku_id FROM sku WHERE code LIKE 'S%') -> ");
}

/* A list is tried anew when its statement failed, with the filters that it was asked with. */
Test(list, filters_outlive_a_failure)
{
	struct op *op = op_new(OP_LIST_RESERVATIONS, 1, 0);

	op->query->page =
		(struct page){.state = BURIED, .error = "late", .prefix = "A", .location = "main", .low = true};
	op->query->items = 0;
	op_forget(op);
	cr_expect_str_eq(op->query->page.error, "late");
	cr_expect_str_eq(op->query->page.prefix, "A");
	cr_expect_str_eq(op->query->page.location, "main");
	cr_expect(op->query->page.low && op->query->page.state == BURIED);
	op_free(op);
}

/* ---- holders of a sku */

/* All orders with promised units, the newest first. */
Test(list, who_holds_a_sku)
{
	flow("receipt  A +20 A@paris +5 B +10 -> 201",
	     "list     sku=A              -> 200 items= end",
	     "reserve  R1 A=1 ttl=300     -> 201",
	     "reserve  R2 A=1 B=2 ttl=100 -> 201",
	     "reserve  R3 B=1             -> 201",
	     "reserve  R4 A@paris=2       -> 201",
	     "reserve  R5 A=1 A@paris=1   -> 201",
	     "reserve  R6 A=1             -> 201",
	     "reserve  R7 A=1             -> 201",
	     "confirm  R4                 -> 200",
	     "confirm  R5                 -> 200",
	     "confirm  R6                 -> 200",
	     "claim    settle w limit=1   -> 201 R4",
	     "fail     1 R4=bury          -> 200",
	     "claim    settle w limit=1   -> 201 R5",
	     "release  R7                 -> 200",
	     "list     sku=A              -> 200 items=R6,R5,R4,R2,R1 end R2 state=held lines=2 R4 state=buried",
	     "list     sku=A location=main -> items=R6,R5,R2,R1 end",
	     "list     sku=A location=paris -> items=R5,R4 end",
	     "list     sku=B              -> items=R3,R2 end",
	     "list     sku=B location=paris -> items= end",
	     "list     sku=A location=rome -> items= end",
	     /* past its time, swept or not */
	     "tick     101",
	     "list     sku=A              -> items=R6,R5,R4,R1 end",
	     "list     sku=B              -> items=R3 end",
	     "complete 2                  -> completed=1",
	     "list     sku=A              -> items=R6,R4,R1 end",
	     "kick     R4                 -> 200",
	     "list     sku=A              -> items=R6,R4,R1 end R4 state=confirmed",
	     "release  R1                 -> 200",
	     "release  R6                 -> 200",
	     "list     sku=A              -> items=R4 end");
}

Test(list, who_holds_a_sku_refused)
{
	flow("receipt  A +9 B +9 A@paris +1 -> 201",
	     "reserve  R1 A=1 B=1         -> 201",
	     "reserve  R2 A=1 B=1         -> 201",
	     "list     sku=GHOST          -> 404 unknown_sku",
	     "list     sku=a              -> 404 unknown_sku",
	     "list     sku=GHOST location=rome -> 404 unknown_sku",
	     "list     sku=               -> 400 invalid_request field=sku",
	     "list     sku=%20A           -> 400 invalid_request field=sku",
	     "list     sku=A sku=B        -> 400 invalid_request field=sku",
	     "list     sku=A location=    -> 400 invalid_request field=location",
	     "list     sku=A location=%00 -> 400 invalid_request field=location",
	     "list     sku=A location=12345678901234567890123456789012345678901234567890123456789012345"
	     "                            -> 400 invalid_request field=location",
	     "list     location=main      -> 400 unsupported_filter field=location",
	     "list     location=main state=held -> 400 unsupported_filter field=location",
	     "list     sku=A state=held   -> 400 unsupported_filter field=state",
	     "list     state=confirmed sku=A location=main -> 400 unsupported_filter field=state",
	     "list     sku=A state=buried -> 400 unsupported_filter field=state",
	     "list     sku=A state=expired -> 400 unsupported_filter field=state",
	     "list     sku=A state=settled -> 400 unsupported_filter field=state",
	     "list     sku=A state=released -> 400 unsupported_filter field=state",
	     "list     sku=A state=x      -> 400 invalid_request field=state",
	     "list     sku=A limit=0      -> 400 invalid_request field=limit",
	     "list     sku=A cursor=x     -> 400 invalid_request field=cursor",
	     "skus     sku=A              -> 400 invalid_request field=sku",
	     "list     sku=A limit=1      -> items=R2 more",
	     "list     sku=B next         -> 400 invalid_request field=cursor",
	     "list     sku=A location=main next -> 400 invalid_request field=cursor",
	     "list     sku=A location=rome next -> 400 invalid_request field=cursor",
	     "list     state=held next    -> 400 invalid_request field=cursor",
	     "list     next               -> 400 invalid_request field=cursor",
	     "list     sku=A next         -> items=R1 end",
	     "list     sku=A location=main limit=1 -> items=R2 more",
	     "list     sku=A next         -> 400 invalid_request field=cursor",
	     "list     sku=A location=paris next -> 400 invalid_request field=cursor",
	     "list     sku=A location=main next -> items=R1 end",
	     "list     state=held limit=1 -> more",
	     "list     sku=A next         -> 400 invalid_request field=cursor");
}

/* A service that has just begun knows no sku and no location. */
Test(list, who_holds_a_sku_after_a_start)
{
	flow("receipt  A@paris +9         -> 201",
	     "reserve  R1 A@paris=1       -> 201",
	     "reserve  R2 A@paris=1       -> 201",
	     "restart",
	     "list     sku=A location=paris limit=1 -> items=R2 more",
	     "restart",
	     "list     sku=A location=paris next -> items=R1 end");
}

/* 30,000 live orders hold something else, and 30,000 that have ended held the sku: neither costs the list a look. An
 * order that goes on to another state meanwhile is shown once. */
Test(list, who_holds_a_sku_among_many)
{
	flow("receipt  A +10 B +10        -> 201",
	     "reserve  R1 A=1 ttl=600     -> 201",
	     "reserve  R2 A=1 ttl=86400   -> 201",
	     "sql INSERT INTO reservation (reservation_id, order_id, lines_hash, state, due_at, expires_at, attempts,"
	     " created_at, settled_at) SELECT seq, CONCAT('W', seq), '', IF(seq > 30000, 5, 1), UTC_TIMESTAMP(3) +"
	     " INTERVAL 1 HOUR, UTC_TIMESTAMP(3) + INTERVAL 1 HOUR, 0, UTC_TIMESTAMP(3), NULL FROM seq_1_to_60000 -> ",
	     "sql INSERT INTO reservation_line SELECT seq, IF(seq > 30000, 1, 2), 1, 0, 1, seq <= 30000 FROM"
	     " seq_1_to_60000 -> ",
	     "reserve  R3 A=1 ttl=86400   -> 201",
	     "reserve  R4 A=1 A@paris=0   -> 400",
	     "reserve  R4 A=1             -> 201",
	     "confirm  R4                 -> 200",
	     "list     sku=A limit=2      -> items=R4,R3 more",
	     "confirm  R2                 -> 200",
	     "confirm  R3                 -> 200",
	     "list     sku=A limit=2 next -> items=R2,R1 end R2 state=confirmed",
	     "list     sku=A location=paris -> items= end",
	     "sql DELETE FROM reservation WHERE order_id LIKE 'W%' -> ",
	     "sql DELETE FROM reservation_line WHERE reservation_id <= 60000 -> ");
}

/* 25,000 orders hold the sku at another place: the page that is asked for has what is found. A reservation of several
 * places is shown once, on whichever page. */
Test(list, who_holds_a_sku_somewhere)
{
	flow("receipt  A +10 A@paris +10 A@rome +10 -> 201",
	     "reserve  R1 A=1 A@paris=1 A@rome=1 -> 201",
	     "sql INSERT INTO reservation (reservation_id, order_id, lines_hash, state, due_at, expires_at, attempts,"
	     " created_at) SELECT (SELECT MAX(reservation_id) FROM reservation) + seq, CONCAT('W', seq), '', 1,"
	     " UTC_TIMESTAMP(3) + INTERVAL 1 HOUR, UTC_TIMESTAMP(3) + INTERVAL 1 HOUR, 0, UTC_TIMESTAMP(3)"
	     " FROM seq_1_to_25000 -> ",
	     "sql INSERT INTO reservation_line SELECT reservation_id, 1, 1, 0, 1, 1 FROM reservation WHERE"
	     " order_id LIKE"
	     " 'W%' -> ",
	     "list     sku=A location=rome limit=1 -> items=R1 end",
	     "confirm  R1                 -> 200",
	     "sql DELETE reservation_line FROM reservation_line JOIN reservation USING (reservation_id)"
	     " WHERE order_id LIKE"
	     " 'W%' -> ",
	     "sql DELETE FROM reservation WHERE order_id LIKE 'W%' -> ",
	     "reserve  R2 A=1 A@paris=1 A@rome=1 -> 201",
	     "list     sku=A limit=1      -> items=R2 more",
	     "list     sku=A limit=1 next -> items=R1 end");
}

/* Each way in which an order ends or comes back. */
Test(list, who_holds_a_sku_no_longer)
{
	flow("receipt  A +20              -> 201",
	     "reserve  SETTLED A=1        -> 201",
	     "reserve  BYID A=1           -> 201",
	     "reserve  GONE A=1           -> 201",
	     "reserve  OLD A=1            -> 201",
	     "reserve  BACK A=1 ttl=10    -> 201",
	     "reserve  SPLIT A=3          -> 201",
	     "confirm  SETTLED            -> 200",
	     "work     settle             -> 0",
	     "confirm  BYID               -> 200",
	     "settle   BYID               -> 200",
	     "release  GONE               -> 200",
	     "reserve  NEW A=1 replaces=OLD -> 201",
	     "confirm  SPLIT              -> 200",
	     "split    SPLIT PART A=1 then=release -> 201",
	     "tick     11",
	     "work     expire             -> 0",
	     "list     sku=A              -> items=NEW,SPLIT end",
	     "sql SELECT COUNT(*) FROM reservation_line WHERE live = 1 -> 2",
	     "sql SELECT COUNT(*) FROM reservation_line WHERE live = 0 -> 6",
	     "confirm  BACK reacquire     -> 200",
	     "list     sku=A              -> items=NEW,SPLIT,BACK end");
}

/* A page looks at 10,000 orders, and at 4,000 skus. One that has found nothing goes on to the next by itself. */
Test(list, no_page_is_empty_before_the_end)
{
	flow("receipt  A +10              -> 201",
	     "sql INSERT INTO reservation (reservation_id, order_id, lines_hash, state, due_at, expires_at, attempts,"
	     " confirmed_at, created_at, last_error) SELECT seq, CONCAT('W', seq), '', 6,"
	     " UTC_TIMESTAMP(3), UTC_TIMESTAMP(3),"
	     " 0, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3),"
	     " IF(seq IN (12000, 25000), 'rare', 'usual') FROM seq_1_to_31000 -> ",
	     "list     state=buried error=rare         -> items=W12000 more",
	     "list     state=buried error=rare next    -> items=W25000 more",
	     "list     state=buried error=rare next    -> items= end",
	     "list     state=buried error=none         -> items= end",
	     "sql DELETE FROM reservation WHERE order_id LIKE 'W%' -> ",
	     "sql INSERT INTO sku (code, created_at) SELECT CONCAT('X', 100000 + seq), UTC_TIMESTAMP(3)"
	     " FROM seq_1_to_13000 -> ",
	     "raw PUT  /v1/skus/X109999/threshold {'low':3} -> 200",
	     "raw GET  /v1/skus?low=true               -> 200 items=1 items[0].sku=X109999 next_cursor=*",
	     "raw GET  /v1/skus?location=paris         -> 200 items=0 next_cursor=null",
	     "receipt  X110500@paris +4                -> 201",
	     "raw GET  /v1/skus?location=paris         -> 200 items=1 items[0].sku=X110500 next_cursor=*");
}

Test(list, skus_by_code)
{
	flow("receipt  b +1 B +2 a +3 A@paris +4 10 +5 9 +6 -> 201",
	     "reserve  R1 b=1             -> 201",
	     "skus                        -> items=10,9,A,B,a,b end A available=4 reserved=0 on_hand=4"
	     "                               b available=0 reserved=1 on_hand=1",
	     "skus     limit=4            -> items=10,9,A,B more",
	     "receipt  AA +1 c +1         -> 201",
	     "skus     limit=4 next       -> items=a,b,c end",
	     "skus     limit=1000         -> items=10,9,A,AA,B,a,b,c end");
}

Test(list, movements_newest_first)
{
	flow("receipt  M1 A +10 B +1 reason=first -> 201",
	     "adjust   M2 A -2 reference=x -> 201",
	     "return   M3 B +1            -> 201",
	     "count    M4 A=5 B=7         -> 201",
	     "reserve  R1 A=1             -> 201",
	     "movements A                 -> 200 items=M4,M2,M1 end items[0].lines[0].qty=-3 items[1].lines[0].qty=-2"
	     "       M4 kind=count created_at=~0 M2 kind=adjustment reference=x M1 kind=receipt reason=first",
	     "movements B                 -> items=M4,M3,M1",
	     "movements A limit=2         -> items=M4,M2 more",
	     "receipt  M5 A +1            -> 201",
	     "movements A limit=2 next    -> items=M1 end",
	     "movements GHOST             -> 404 unknown_sku");
}

Test(list, limit)
{
	flow("receipt  A +10              -> 201",
	     "list     limit=1000         -> 200",
	     "list     limit=1            -> 200",
	     "list     limit=0            -> 400 invalid_request field=limit",
	     "list     limit=1001         -> 400 invalid_request field=limit",
	     "list     limit=-1           -> 400 invalid_request field=limit",
	     "list     limit=+1           -> 400 invalid_request field=limit",
	     "list     limit=             -> 400 invalid_request field=limit",
	     "list     limit=ten          -> 400 invalid_request field=limit",
	     "list     limit=10x          -> 400 invalid_request field=limit",
	     "list     limit=1.0          -> 400 invalid_request field=limit",
	     "list     limit=1e2          -> 400 invalid_request field=limit",
	     "list     limit=18446744073709551617 -> 400 invalid_request field=limit",
	     "skus     limit=0            -> 400 invalid_request field=limit",
	     "skus     limit=1001         -> 400 invalid_request field=limit",
	     "movements A limit=0         -> 400 invalid_request field=limit",
	     "movements A limit=1001      -> 400 invalid_request field=limit",
	     "list     state=open         -> 400 invalid_request field=state",
	     "list     state=HELD         -> 400 invalid_request field=state",
	     "list     state=             -> 400 invalid_request field=state",
	     "list     order=asc          -> 400 invalid_request field=order",
	     "skus     state=held         -> 400 invalid_request field=state",
	     "movements A state=held      -> 400 invalid_request field=state");
}

Test(list, cursor_from_elsewhere)
{
	flow("receipt  A +10 B +10        -> 201",
	     "receipt  A +10 B +10        -> 201",
	     "reserve  R1 A=1             -> 201",
	     "reserve  R2 A=1             -> 201",
	     "list     cursor=            -> 400 invalid_request field=cursor",
	     "list     cursor=x           -> 400 invalid_request field=cursor",
	     "list     cursor=1           -> 400 invalid_request field=cursor",
	     "list     cursor=%00         -> 400 invalid_request field=cursor",
	     "list     cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA -> 400 invalid_request field=cursor",
	     "skus     cursor=x           -> 400 invalid_request field=cursor",
	     "movements A cursor=x        -> 400 invalid_request field=cursor",
	     "skus     limit=1            -> more",
	     "list     next               -> 400 invalid_request field=cursor",
	     "movements A next            -> 400 invalid_request field=cursor",
	     "list     limit=1            -> more",
	     "skus     next               -> 400 invalid_request field=cursor",
	     "list     state=held next    -> 400 invalid_request field=cursor",
	     "list     state=held limit=1 -> more",
	     "list     next               -> 400 invalid_request field=cursor",
	     "list     state=confirmed next -> 400 invalid_request field=cursor",
	     "movements A limit=1         -> more",
	     "movements B next            -> 400 invalid_request field=cursor",
	     "movements A next            -> items=1 end");
}

/* Lists that are both by a code are two all the same, and so are two lines. */
Test(list, cursor_of_another_list_by_code)
{
#define NEXT(path, of) "raw GET " path "cursor=" of " -> 400 invalid_request field=cursor"
	flow("raw PUT /v1/locations/po {'kind':'incoming'} -> 201",
	     "raw PUT /v1/locations/qc {} -> 201",
	     "receipt  A@po +10 B@po +10  -> 201",
	     "reserve  R1 A@po=1          -> 201",
	     "reserve  R2 A@po=1          -> 201",
	     "raw GET /v1/skus?limit=1             -> 200 next_cursor=s.41.88e38716",
	     "raw GET /v1/locations?limit=1        -> 200 next_cursor=l.706f.a1a9389e",
	     NEXT("/v1/locations?", "s.41.88e38716"),
	     NEXT("/v1/webhooks?", "s.41.88e38716"),
	     NEXT("/v1/skus/A/waiting?", "s.41.88e38716"),
	     NEXT("/v1/skus?", "l.706f.a1a9389e"),
	     "raw GET /v1/locations?cursor=l.706f.a1a9389e -> 200 items=qc end");
#undef NEXT
}

/* A cursor is text for the client to keep: it outlives the process, and another process takes it. */
Test(list, cursor_goes_anywhere)
{
	flow("receipt  A +10              -> 201",
	     "reserve  R1 A=1             -> 201",
	     "reserve  R2 A=1             -> 201",
	     "list     limit=1            -> items=R2 more",
	     "restart",
	     "list     next               -> items=R1 end",
	     "second",
	     "@2 list  next               -> items=R1 end");
}

/* The check of a cursor is no secret, so a cursor may hold anything. */
Test(list, cursors_made_by_hand)
{
	flow("raw GET /v1/reservations?state=held&cursor=r.1.0.-5.0.562563c8  -> 400 invalid_request field=cursor",
	     "raw GET /v1/reservations?state=held&cursor=r.1.99.0.0.5b932e50  -> 400 invalid_request field=cursor",
	     "raw GET /v1/reservations?state=held&cursor=r.1.0.0.-7.b5d88d36  -> 400 invalid_request field=cursor",
	     "raw GET /livez                                                  -> 200");
}
