/* test_customer.c - the most units of a sku that one customer may have, and what each has. */
#include "tests/kit/server.h"
#include "tests/lang/trap.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A sku that was never received is there all the same, with nothing in stock. */
Test(customer, a_sku_is_made_by_its_limit)
{
	flow("limit   A 2              -> 201 sku=A per_customer=2 Location:A",
	     "limit   A 2              -> 200 sku=A per_customer=2",
	     "limit   A                -> 200 sku=A per_customer=2",
	     "limit   A 5              -> 200 per_customer=5",
	     "limit   A none           -> 200 sku=A !per_customer",
	     "limit   A                -> 200 !per_customer",
	     "limit   B                -> 201 sku=B !per_customer",
	     "limit   '#/ 1'           -> 201 '~sku:#/ 1' Location:%23%2F%201",
	     "sku     A                -> available=0 reserved=0 on_hand=0 !per_customer",
	     "skus                     -> '~sku:#/ 1' ~sku:A A available=0 reserved=0 on_hand=0 B available=0",
	     "availability A B C       -> A available=0 B available=0 C code=unknown_sku",
	     "receipt D +1             -> 201",
	     "reserve R1 B=1           -> 409 short B requested=1 available=0",
	     "reserve R1 C=1           -> 422 unknown_sku C",
	     "return  B +1             -> 201",
	     "adjust  B +1             -> 201",
	     "reserve R1 B=2           -> 201",
	     "movements A              -> items=0 end",
	     "receipt A +1             -> 201",
	     "limit   A 7              -> 200 per_customer=7",
	     "sku     A                -> available=1 per_customer=7");
}

Test(customer, a_limit_is_read_strictly)
{
	flow("limit   A 0              -> 400 field=per_customer",
	     "limit   A -1             -> 400 field=per_customer",
	     "limit   A 1000000000001     -> 400 field=per_customer",
	     "limit   A 1.0            -> 400 field=per_customer",
	     "limit   A '\"2\"'          -> 400 field=per_customer",
	     "limit   A true           -> 400 field=per_customer",
	     "raw PUT /v1/skus/A {'per_customer':1,'per_customer':1} -> 400",
	     "raw PUT /v1/skus/A {'low':1} -> 400 field=low",
	     "raw PUT /v1/skus/A []    -> 400",
	     "raw PUT /v1/skus/A?x=1 {} -> 400 field=x",
	     "raw PUT /v1/skus/%20 {}  -> 400 field=sku",
	     "raw POST /v1/skus/A {}   -> 405 Allow:GET Allow:HEAD Allow:PUT",
	     "raw OPTIONS /v1/skus/A   -> 405 Allow:PUT",
	     "sku     A                -> 404 unknown_sku",
	     "limit   A 1000000000     -> 201 per_customer=1000000000");
}

Test(customer, has_is_for_any_code)
{
	flow("has     A c              -> 404 unknown_sku",
	     "limit   A                -> 201",
	     "has     A c              -> 200 sku=A customer=c has=0 !per_customer",
	     "limit   A 3              -> 200",
	     "has     A 'a/b c%'       -> 200 '~customer:a/b c%' has=0 per_customer=3",
	     "raw GET /v1/skus/A/customers/%2E -> 400 field=customer",
	     "raw GET /v1/skus/A/customers/c?limit=1 -> 400 field=limit",
	     "raw HEAD /v1/skus/A/customers/c -> 200",
	     "raw PUT /v1/skus/A/customers/c {} -> 405 Allow:GET Allow:HEAD",
	     "raw GET /v1/skus/A/customers -> 404 not_found",
	     "raw GET /v1/skus/A/customers/c/d -> 404 not_found");
}

Test(customer, limits_are_for_admins)
{
	flow("keys    ann admin | oda order | wes worker | rea read",
	     "key oda",
	     "limit   A 2              -> 403 forbidden",
	     "key wes",
	     "limit   A 2              -> 403 forbidden",
	     "key rea",
	     "limit   A 2              -> 403 forbidden",
	     "key",
	     "limit   A 2              -> 401 unauthorized",
	     "has     A c              -> 401 unauthorized",
	     "key ann",
	     "limit   A 2              -> 201",
	     "key rea",
	     "has     A c              -> 200 has=0",
	     "key oda",
	     "has     A c              -> 200 has=0",
	     "key wes",
	     "has     A c              -> 200 has=0");
}

/* Each limit of many is numbered behind the one before, whichever process sets it. */
Test(customer, limits_of_many_skus_at_once)
{
	flow("second",
	     "race 16*20 limit S# 5 -> 320x 201",
	     "race 16*20 limit S1 1# -> 320x 200",
	     "sql SELECT COUNT(*), COUNT(DISTINCT sku_id) FROM sku_limit -> 320,320",
	     "wait @2 sku S77          -> per_customer=5",
	     "wait sku S77             -> per_customer=5",
	     "sql SELECT COUNT(*) FROM sku JOIN sku_limit USING (sku_id) WHERE per_customer = 5 -> 319");
}

/* ---- what customers have, limit or not */

#define UNITS "sql SELECT customer, code, units FROM customer_units JOIN sku USING (sku_id) ORDER BY 1, 2 -> "

Test(customer, units_follow_the_order)
{
	flow("serve   --lanes 1",
	     "receipt A +50 A@paris +50 B +50 C@nice +1       -> 201",
	     "reserve R0 A=1                                 -> 201",
	     UNITS,
	     "reserve R1 A=2 A@paris=1 B=3 customer=c        -> 201",
	     UNITS "c,A,3 c,B,3",
	     "has     A c                                    -> has=3",
	     "reserve R1 A=2 A@paris=1 B=3 customer=c        -> 200 replayed",
	     "reserve R2 A=5 customer=c confirm=true         -> 201",
	     "reserve R3 A=1 customer=d                      -> 201",
	     UNITS "c,A,8 c,B,3 d,A,1",
	     "confirm R1                                     -> 200",
	     "extend  R3 ttl=5                               -> 200",
	     UNITS "c,A,8 c,B,3 d,A,1",
	     "release R1                                     -> 200",
	     UNITS "c,A,5 c,B,0 d,A,1",
	     "settle  R2                                     -> settled",
	     "release R2                                     -> 409 settled",
	     UNITS "c,A,5 c,B,0 d,A,1",
	     "reserve R4 A@nice=9 B=1 mode=best_effort customer=e -> 201 lines=1",
	     "reserve R5 A@paris,main=60 customer=e          -> 409 short",
	     "reserve R5 A@paris+main=60 customer=e          -> 201",
	     UNITS "c,A,5 c,B,0 d,A,1 e,A,60 e,B,1");
}

Test(customer, units_end_with_an_expired_hold)
{
	flow("receipt A +9 B +9                              -> 201",
	     "reserve R1 A=2 ttl=60 customer=c               -> 201",
	     "reserve R2 A=2 ttl=60 customer=d               -> 201",
	     "reserve R3 B=9 ttl=60 customer=e               -> 201",
	     "tick    61",
	     UNITS "c,A,2 d,A,2 e,B,9",
	     "claim   expire w limit=1                       -> 201 orders[0].order_id=R1",
	     "complete 1                                     -> completed=1",
	     UNITS "c,A,0 d,A,2 e,B,9",
	     "reserve R4 B=1 customer=f                      -> 201",
	     UNITS "c,A,0 d,A,2 e,B,0 f,B,1",
	     "confirm R2 reacquire                           -> confirmed reacquired",
	     UNITS "c,A,0 d,A,2 e,B,0 f,B,1",
	     "confirm R1 reacquire                           -> confirmed reacquired",
	     UNITS "c,A,2 d,A,2 e,B,0 f,B,1",
	     "confirm R3 reacquire                           -> 409 short",
	     UNITS "c,A,2 d,A,2 e,B,0 f,B,1",
	     "confirmations R1 R2 reacquire                  -> 200 replayed | 200 replayed");
}

/* A part belongs to the customer of the first. */
Test(customer, units_of_parts)
{
	flow("receipt A +9 B +9                              -> 201",
	     "reserve R1 A=4 B=4 customer=c                  -> 201",
	     "split   R1 S1 A=1                              -> 201 held customer=c",
	     UNITS "c,A,4 c,B,4",
	     "split   R1 S2 A=1 then=confirm                 -> 201 confirmed",
	     UNITS "c,A,4 c,B,4",
	     "split   R1 S3 A=1 B=1 then=release             -> 201 released",
	     UNITS "c,A,3 c,B,3",
	     "confirm R1                                     -> 200",
	     "split   R1 S4 B=1 then=settle                  -> 201 settled",
	     UNITS "c,A,3 c,B,3",
	     "release S1                                     -> 200",
	     "release R1                                     -> 200",
	     UNITS "c,A,1 c,B,1");
}

Test(customer, units_of_a_replacement)
{
	flow("receipt A +20 B +20                            -> 201",
	     "reserve R1 A=2 B=2 customer=c                  -> 201",
	     "reserve R2 A=3 customer=c replaces=R1          -> 201",
	     UNITS "c,A,3 c,B,0",
	     "reserve R3 A=3 customer=c replaces=R2          -> 201",
	     UNITS "c,A,3 c,B,0",
	     "reserve R4 A=1 B=1 customer=d replaces=R3      -> 201",
	     UNITS "c,A,0 c,B,0 d,A,1 d,B,1",
	     "reserve R5 A=1 B=1 replaces=R4                 -> 201",
	     UNITS "c,A,0 c,B,0 d,A,0 d,B,0",
	     "reserve R6 A=5 customer=c replaces=R5 confirm=true -> 201",
	     "reserve R7 A=2 B=2 customer=c replaces=R6 confirm=true -> 201 confirmed",
	     "reserve R8 A=9 customer=d                      -> 201",
	     UNITS "c,A,2 c,B,2 d,A,9 d,B,0",
	     "batch R9 A=1 customer=d replaces=R8 | S1 A=1 customer=c replaces=R7 | S2 B=3 customer=d -> 201 |"
	     " 409 confirmed | 201",
	     "reserve S1 A=1 customer=c replaces=R7 confirm=true -> 201",
	     UNITS "c,A,1 c,B,0 d,A,1 d,B,3");
}

Test(customer, units_of_workers)
{
	flow("receipt A +20                                  -> 201",
	     "batch R1 A=1 customer=c confirm=true | R2 A=2 customer=c confirm=true | R3 A=4 customer=c confirm=true"
	     " | R4 A=8 customer=c confirm=true             -> 201 | ...",
	     UNITS "c,A,15",
	     "claim   settle w                               -> 201 task_id=1 orders=4",
	     "complete 1 R1                                  -> completed=1",
	     "fail    1 R2=bury R3=retry                     -> buried=1 retried=1",
	     UNITS "c,A,15",
	     "kick    R2                                     -> confirmed",
	     "settle  R4 force=true                          -> settled",
	     UNITS "c,A,15",
	     "release R2                                     -> released",
	     "release R3                                     -> released",
	     UNITS "c,A,9");
}

/* A customer is forgotten with his orders. */
Test(customer, purge_forgets)
{
	flow("receipt A +30 B +30                            -> 201",
	     "reserve R1 A=1 B=1 customer=c confirm=true     -> 201",
	     "reserve R2 A=2 customer=c                      -> 201",
	     "reserve R3 A=4 customer=d confirm=true         -> 201",
	     "reserve R4 A=1 customer=e                      -> 201",
	     "reserve R5 B=1 ttl=60 customer=f               -> 201",
	     "reserve R6 B=1                                 -> 201",
	     "settlements R1 R3                              -> 200 | 200",
	     "releases R4 R6                                 -> 200 | 200",
	     "tick    100",
	     "work    expire                                 -> 0",
	     UNITS "c,A,3 c,B,1 d,A,4 e,A,0 f,B,0",
	     "tick    86400",
	     "reserve R7 A=1 customer=d                      -> 201",
	     "run purge --keep 1 --force                     -> 0 '~5 reservations'",
	     UNITS "c,A,2 d,A,1",
	     "has     A e                                    -> has=0",
	     "release R2                                     -> 409 expired",
	     "work    expire                                 -> 0",
	     UNITS "c,A,0 d,A,1",
	     "tick    86400",
	     "tick    86400",
	     "run purge --keep 1 --force                     -> 0",
	     UNITS "d,A,1");
}

/* Customers in and out at once, over two services: the audit at the end has to agree. */
Test(customer, units_of_a_crowd)
{
	flow("second",
	     "receipt A +9000 B +9000                        -> 201",
	     "race 16*40 reserve R# A=2 B=1 customer=c || reserve S# B=2 A=1 customer=d -> 640x 201",
	     "race 16*20 release R# || release S# || confirm R# || confirm S# -> *x 200 | *x 404",
	     "race 16*20 reserve T# A=1 customer=d replaces=R# || reserve U# B=3 customer=c replaces=S# ->"
	     " *x 201 | *x 409 | *x 422 unknown_order",
	     "run audit                                      -> 0");
}

/* ---- limits */

Test(customer, has_to_be_named)
{
	flow("serve   --lanes 1",
	     "receipt A +9 A@paris +9 B +9                   -> 201",
	     "reserve R0 A=1 ttl=600                         -> 201",
	     "limit   A 2                                    -> 200",
	     "reserve R1 A=1 B=1 A@paris=1                   -> 422 customer_required field=customer lines=2 A A@paris"
	     " !lines[0].requested",
	     "reserve R1 A@main,paris=3 B=1                  -> 422 customer_required lines=1"
	     " lines[0].locations=main,paris",
	     "reserve R1 A=1 mode=best_effort                -> 422 customer_required",
	     "reserve R1 A=1 C=1                             -> 422 unknown_sku lines=1 C",
	     "reserve R1 A=99                                -> 422 customer_required",
	     "reserve R1 B=1                                 -> 201",
	     "reserve R0 A=1                                 -> 200 replayed",
	     "reserve R0 A=2                                 -> 422 order_id_reused",
	     "reserve R2 A=1 replaces=R0                     -> 422 customer_required",
	     "reserve R2 A=1 replaces=R9                     -> 422 unknown_order",
	     "batch R3 A=1 | R4 A=1 customer=c | R5 B=1      -> 422 customer_required field=customer A | 201 | 201",
	     "reserve R6 A=1 customer=c replaces=R0          -> 201",
	     "has     A c                                    -> has=2",
	     "limit   A none                                 -> 200",
	     "reserve R7 A=1                                 -> 201",
	     "reserve R8 A=5 customer=c                      -> 201",
	     "has     A c                                    -> has=7 !per_customer");
}

Test(customer, limit_is_reached)
{
	flow("serve   --lanes 1",
	     "receipt A +50 A@paris +50 B +50 C@moon +1       -> 201",
	     "limit   A 3                                    -> 200",
	     "reserve R1 A=2 customer=c                      -> 201",
	     "reserve R2 A=2 customer=c                      -> 409 limit_reached lines=1 A limit=3 has=2 requested=2"
	     " !lines[0].location",
	     "reserve R2 A=1 A@paris=1 B=9 customer=c        -> 409 limit_reached lines=1 A limit=3 has=2 requested=2",
	     "reserve R2 A@main,paris=1 A=1 B=9 customer=c   -> 409 limit_reached lines=1 A requested=2",
	     "reserve R2 A@moon=2 customer=c                 -> 409 limit_reached A requested=2",
	     "reserve R2 A=99 B=99 customer=d                -> 409 limit_reached lines=1 A has=0 requested=99",
	     "reserve R2 A=3 B=99 customer=d                 -> 409 short lines=1 B requested=99 available=50",
	     "reserve R2 A=4 D=1 customer=d                  -> 422 unknown_sku D",
	     "reserve R2 A=1 customer=c                      -> 201",
	     "reserve R2 A=1 customer=c                      -> 200 replayed",
	     "reserve R3 A=1 customer=c                      -> 409 limit_reached A has=3 requested=1",
	     "reserve R3 B=9 customer=c                      -> 201",
	     "reserve R4 A=3 customer=d                      -> 201",
	     "release R1                                     -> 200",
	     "reserve R5 A=2 customer=c confirm=true         -> 201",
	     "settle  R5                                     -> settled",
	     "reserve R6 A=1 customer=c                      -> 409 limit_reached A has=3",
	     "raw GET /metrics                               -> 'holdfast_refusals_total{code=limit_reached}=7'",
	     "has     A c                                    -> has=3 per_customer=3");
}

/* Quotas are read when the guard has refused an order, or when units do not suffice: the limit is said first. */
Test(customer, limit_is_said_before_units)
{
	flow("serve   --lanes 1",
	     "receipt A +2 B +2                              -> 201",
	     "limit   A 3                                    -> 200",
	     "reserve R1 A=4 customer=c                      -> 409 limit_reached lines=1 A limit=3 has=0 requested=4",
	     "serve   --lanes 1",
	     "reserve R1 A=3 customer=c                      -> 409 short lines=1 A requested=3 available=2",
	     "reserve R1 A=2 B=1 customer=c                  -> 201",
	     "reserve R2 A=1 B=9 customer=d                  -> 409 short lines=2",
	     "reserve R2 A=2 B=9 customer=c                  -> 409 limit_reached lines=1 A limit=3 has=2 requested=2",
	     "batch R3 B=9 customer=c | R4 B=1 customer=c    -> 409 short | 201",
	     "has     A c                                    -> has=2");
}

/* A limit below the units that a customer has takes none away. */
Test(customer, limit_may_change)
{
	flow("serve   --lanes 1",
	     "receipt A +50                                  -> 201",
	     "reserve R1 A=5 customer=c                      -> 201",
	     "limit   A 2                                    -> 200",
	     "has     A c                                    -> has=5 per_customer=2",
	     "reserve R2 A=1 customer=c                      -> 409 limit_reached A limit=2 has=5 requested=1",
	     "reserve R2 A=1 customer=c mode=best_effort     -> 409 limit_reached A limit=2 has=5 requested=1",
	     "reserve R3 A=6 customer=c replaces=R1          -> 409 limit_reached A limit=2 has=0 requested=6",
	     "reserve R3 A=5 customer=c replaces=R1          -> 201",
	     "reserve R4 A=4 customer=c replaces=R3          -> 201",
	     "confirm R4                                     -> 200",
	     "reserve R5 A=1 customer=c                      -> 409 limit_reached A limit=2 has=4",
	     "limit   A 5                                    -> 200",
	     "reserve R5 A=2 customer=c                      -> 409 limit_reached A limit=5 has=4",
	     "reserve R5 A=1 customer=c                      -> 201",
	     "limit   A 1                                    -> 200",
	     "reserve R6 A=1 customer=c                      -> 409 limit_reached A limit=1 has=5",
	     "limit   A none                                 -> 200",
	     "reserve R6 A=9 customer=c                      -> 201",
	     "has     A c                                    -> has=14");
}

/* Units of one sku over several lines share what is left, in the order sent. */
Test(customer, best_effort_takes_what_the_limit_leaves)
{
	flow("serve   --lanes 1",
	     "receipt A +50 A@paris +50 A@nice +1 B +3 C@moon +1 -> 201",
	     "limit   A 5                                    -> 200",
	     "reserve R1 A=9 B=2 customer=c mode=best_effort -> 201 lines=2 A=5 B=2 short=1 short"
	     " A requested=9 available=5 limit=true",
	     "reserve R1 A=9 B=2 customer=c mode=best_effort -> 200 replayed short=1 short"
	     " A requested=9 available=5 limit=true",
	     "reserve R2 A=1 customer=c mode=best_effort     -> 409 limit_reached A limit=5 has=5 requested=1",
	     "reserve R2 A=1 B=9 customer=c mode=best_effort -> 201 lines=1 B=1 short=2 short"
	     " A requested=1 available=0 limit=true"
	     " B requested=9 available=1 !short[1].limit",
	     "reserve R3 A=1 B=9 customer=c mode=best_effort -> 409 short lines=2 A requested=1 available=0 limit=true"
	     " B requested=9 available=0 !lines[1].limit",
	     "reserve R4 A@paris=3 A=2 A@nice=3 customer=d mode=best_effort -> 201 lines=2 A@paris=3 A=2"
	     " short=1 short[0].location=nice short[0].available=0 short[0].limit=true",
	     "release R4                                     -> 200",
	     "reserve R5 A@nice=3 A@paris=3 A=2 customer=d mode=best_effort -> 201 lines=3 A@nice=1"
	     " A@paris=3 A=1 short=2"
	     " short[0].location=main short[0].available=1 short[0].limit=true"
	     " short[1].location=nice short[1].available=1 !short[1].limit",
	     "release R5                                     -> 200",
	     "reserve R6 A@paris,main=9 customer=d mode=best_effort -> 201 lines=1 A@paris=5 short=1"
	     " short[0].requested=9 short[0].available=5 short[0].limit=true",
	     "reserve R6 A@paris,main=9 customer=d mode=best_effort -> 200 replayed short=1 short[0].available=5"
	     " short[0].limit=true",
	     "release R6                                     -> 200",
	     "reserve R7 A@nice+paris=9 A=1 customer=d mode=best_effort -> 201 lines=3 A=1 A@nice=1 A@paris=3 short=1"
	     " short[0].requested=9 short[0].available=4 short[0].limit=true",
	     "reserve R8 A@nice,main=1 customer=d mode=best_effort -> 409 limit_reached A limit=5 has=5 requested=1",
	     "reserve R8 A@moon=1 customer=d mode=best_effort -> 409 limit_reached A limit=5 has=5 requested=1",
	     "has     A d                                    -> has=5");
}

Test(customer, items_of_a_batch_see_those_before_them)
{
	flow("serve   --lanes 1",
	     "receipt A +50 B +50                            -> 201",
	     "limit   A 3                                    -> 200",
	     "batch R1 A=2 customer=c | R2 A=2 customer=c | R3 A=1 customer=c | R4 A=1 customer=c | R5 A=3 customer=d |"
	     " R6 A=1 customer=d mode=best_effort            -> 201 | 409 limit_reached A has=2 requested=2 | 201 |"
	     " 409 limit_reached A has=3 | 201 | 409 limit_reached A has=3",
	     "batch S1 A=1 customer=c replaces=R1 | S2 A=1 customer=c | S3 A=1 customer=c -> 201 | 201 |"
	     " 409 limit_reached A has=3",
	     "batch S4 A=1 customer=d replaces=S1 | S5 A=1 customer=c -> 409 limit_reached A has=3 |"
	     " 409 limit_reached A has=3",
	     "batch S6 A=1 customer=e replaces=S1 | S7 A=1 customer=c | S8 A=2 customer=e | S9 A=1 customer=e ->"
	     " 201 | 201 | 201 | 409 limit_reached A has=3",
	     "has     A c                                    -> has=3",
	     "has     A e                                    -> has=3");
}

Test(customer, expired_holds_do_not_count)
{
	flow("serve   --lanes 1",
	     "receipt A +50 B +50 C@moon +1                   -> 201",
	     "limit   A 3                                    -> 200",
	     "reserve R1 A=2 customer=c ttl=60               -> 201",
	     "reserve R2 A=1 customer=c ttl=600              -> 201",
	     "reserve R3 A=1 customer=c                      -> 409 limit_reached A has=3",
	     "tick    61",
	     "has     A c                                    -> has=3",
	     "reserve R4 A@moon=3 customer=c                 -> 409 limit_reached A has=1 requested=3",
	     "has     A c                                    -> has=1",
	     "confirm R1 reacquire                           -> confirmed reacquired",
	     "has     A c                                    -> has=3",
	     "reserve R5 A=1 customer=c                      -> 409 limit_reached A has=3",
	     "tick    600",
	     "wait reserve R5 A=1 customer=c                 -> 201",
	     "confirm R2 reacquire                           -> 409 limit_reached lines=1 A limit=3 has=3 requested=1",
	     "get     R2                                     -> expired",
	     "confirmations R2 R1 reacquire                  -> 409 limit_reached A limit=3 has=3 requested=1"
	     " | 200 replayed",
	     "limit   A none                                 -> 200",
	     "confirm R2 reacquire                           -> confirmed reacquired",
	     "has     A c                                    -> has=4");
}

/* The limit holds for what has expired, whether it was swept already or not. */
Test(customer, revived_before_the_sweep)
{
	flow("serve   --lanes 1",
	     "receipt A +50                                  -> 201",
	     "reserve R1 A=5 customer=c ttl=60               -> 201",
	     "reserve R2 A=2 customer=c ttl=60               -> 201",
	     "reserve R3 A=2 customer=c ttl=60               -> 201",
	     "limit   A 3                                    -> 200",
	     "tick    61",
	     "confirm R1 reacquire                           -> 409 limit_reached lines=1 A limit=3 has=0 requested=5",
	     "confirmations R2 R3 reacquire                  -> 200 reacquired | 409 limit_reached A has=2 requested=2",
	     "has     A c                                    -> has=2",
	     "limit   A 9                                    -> 200",
	     "confirm R1 reacquire                           -> confirmed reacquired",
	     "reserve R4 A=1 customer=c ttl=60               -> 201",
	     "reserve R5 A=1 customer=c ttl=60               -> 201",
	     "tick    61",
	     "confirmations R4 R5 reacquire                  -> 200 reacquired | 200 reacquired",
	     "has     A c                                    -> has=9");
}

/* Another service that does not know the limit yet is refused by the guard, and then knows it. */
Test(customer, limits_of_another_service)
{
	flow("receipt A +50                                  -> 201",
	     "second",
	     "@2 reserve R1 A=2 customer=c                   -> 201",
	     "limit   A 2                                    -> 200",
	     "@2 reserve R2 A=1 customer=c                   -> 409 limit_reached A limit=2 has=2",
	     "wait:2 @2 reserve R3 A=1                       -> 422 customer_required",
	     "limit   A none                                 -> 200",
	     "@2 reserve R3 A=1                              -> 201",
	     "@2 reserve R4 A=1 customer=c                   -> 201");
}

/* ---- what an order costs */

/* An order without a customer sends what it always did, whatever limits there are: its lane's row, the deduction, the
 * order, its line, its event, COMMIT. */
Test(customer, an_order_without_one_pays_nothing)
{
	struct server server;

	server_make(&server, NULL);
	server_start_logged(&server);
	server_use(&server);
	flow_begin();
	flow_steps("serve   --lanes 1",
	           "receipt A +50 B +50 C +50 -> 201",
	           "limit   B 20            -> 200",
	           "reserve R0 A=1 B=1 customer=c -> 201",
	           "reserve R1 A=1          -> 201",
	           "reserve R2 A=1 customer=c -> 201");
	flow_costs(&server, "reserve R3 A=1            -> 201", 6, "customer_units", 0);
	flow_costs(&server, "reserve R4 A=1 C=1        -> 201", 6, "customer_units", 0);
	flow_costs(&server, "release R3                -> 200", 8, "customer_units", 0);
	flow_costs(&server, "reserve R5 A=1 customer=c -> 201", 9, "customer_units", 2);
	flow_costs(&server, "release R5                -> 200", 10, "customer_units", 1);
	flow_end();
	server_remove(&server);
}
