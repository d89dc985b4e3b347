/* test_return.c - a return that names its order: which units may come back of which order, under which id, how often;
 * which keys may bring them back; two that come at once. */
#include "tests/kit/proxy.h"
#include "tests/kit/server.h"
#include "tests/lang/trap.h"

#include <unistd.h>

/* clang-format off */
/* An order that has left: A=4, of which 1 is at paris, and B=2. */
#define SETTLED_R1 \
	"receipt A +10 A@paris +5 B +5              -> 201", \
	"reserve R1 A=3 A@paris=1 B=2 confirm=true  -> 201 confirmed", \
	"settle  R1                                 -> settled !returned"
/* clang-format on */

Test(return, of_an_order)
{
	flow(SETTLED_R1,
	     "return  M1 A +1 order=R1                 -> 201 order_id=R1 kind=return A=1",
	     "get     R1                               -> settled returned=A returned[0].qty=1 A=3 A@paris=1 B=2",
	     "return  M2 A@lyon +2 B +2 order=R1       -> 201 order_id=R1 A@lyon=2 B=2",
	     "get     R1                               -> returned=A,B returned[0].qty=3 returned[1].qty=2",
	     "return  M3 A +2 B +1 order=R1            -> 409 over_returned lines=A,B A requested=2 settled=4 "
	     "returned=3 B requested=1 settled=2 returned=2 !parts",
	     "return  M3 A +1 B +1 order=R1            -> 409 over_returned lines=B B requested=1 settled=2 returned=2",
	     "return  M3 A +1 order=R1 reason=wrong    -> 201 reason=wrong",
	     "return  M4 A +1 order=R1                 -> 409 over_returned A requested=1 settled=4 returned=4",
	     "get     R1                               -> settled returned[0].qty=4 settled_at=*",
	     "list    state=settled                    -> items=R1 R1 returned[0].qty=4",
	     "movement M2                              -> order_id=R1 A@lyon=2",
	     "movements B                              -> items[0].order_id=R1 items[1].kind=settlement "
	     "!items[1].order_id !items[2].order_id",
	     "sku     A                                -> available=15 on_hand=15",
	     "sku     B                                -> on_hand=5",
	     "return  A +1                             -> 201 !order_id",
	     "sku     A                                -> on_hand=16",
	     "run     audit                            -> 0");
}

/* The lines of one sku are judged together, wherever they come back to. */
Test(return, is_judged_by_sku)
{
	flow(SETTLED_R1,
	     "return  M1 A +2 A@paris +2 A@lyon +1 order=R1 -> 409 over_returned lines=A A requested=5 "
	     "settled=4 returned=0",
	     "return  M1 A +2 A +2 A +1 order=R1            -> 409 over_returned lines=A A requested=5",
	     "mark",
	     "return  M1 A +1 B +3 order=R1                 -> 409 over_returned lines=B B requested=3 "
	     "settled=2 returned=0",
	     "unchanged",
	     "get     R1                                    -> !returned",
	     "return  M1 A@lyon +4 order=R1                 -> 201",
	     "sku     A                                     -> @lyon available=4",
	     "receipt C +1                                  -> 201",
	     "return  M2 C +1 order=R1                      -> 409 over_returned C requested=1 settled=0 returned=0");
}

Test(return, of_every_state)
{
	flow("receipt A +10 B +1               -> 201",
	     "return  M A +1 order=R0          -> 422 unknown_order field=order_id",
	     "reserve H A=1 ttl=60             -> 201 held",
	     "return  M A +1 order=H           -> 409 held field=order_id",
	     "reserve C A=1 confirm=true       -> 201",
	     "return  M A +1 order=C           -> 409 confirmed field=order_id",
	     "reserve L A=1                    -> 201",
	     "release L                        -> released",
	     "return  M A +1 order=L           -> 409 released field=order_id",
	     "claim   settle w                 -> 201 task_id=1",
	     "return  M A +1 order=C           -> 409 confirmed field=order_id",
	     "fail    1 C=bury                 -> buried=1",
	     "return  M A +1 order=C           -> 409 buried field=order_id",
	     "kick    C                        -> confirmed",
	     "work    settle                   -> 0",
	     "tick    61",
	     "return  M A +1 order=H           -> 409 expired field=order_id",
	     "work    expire                   -> 0",
	     "return  M A +1 order=H           -> 409 expired field=order_id",
	     "sku     A                        -> on_hand=9",
	     "return  M A +1 order=C           -> 201 order_id=C",
	     "sku     A                        -> on_hand=10");
}

/* The own id, the other order, skus, units. */
Test(return, what_is_told_first)
{
	flow(SETTLED_R1,
	     "reserve R2 A=1                   -> 201 held",
	     "return  M1 A +1 order=R1         -> 201",
	     "return  M1 NEVER +1 order=R2     -> 422 movement_id_reused",
	     "return  M2 NEVER +1 order=R2     -> 409 held field=order_id",
	     "return  M2 NEVER +1 order=R9     -> 422 unknown_order",
	     "return  M2 NEVER +1 A +9 order=R1 -> 422 unknown_sku NEVER lines=1",
	     "return  M2 A +9 order=R1         -> 409 over_returned",
	     "receipt M2 A +1 order=R1         -> 400 field=order_id",
	     "adjust  M2 A +1 order=R1         -> 400 field=order_id",
	     "count   M2 A=1 order=R1          -> 400 field=order_id",
	     "return  M2 A +1 order=           -> 400 field=order_id",
	     "raw POST /v1/movements {'movement_id':'M2','kind':'return','order_id':5,'lines':[{'sku':'A','qty':1}]}"
	     " -> 400 field=order_id",
	     "raw POST /v1/movements {'movement_id':'M2','kind':'return','order_id':null,'lines':[{'sku':'A','qty':1}]}"
	     " -> 400 field=order_id");
}

/* The order belongs to the fingerprint; a replay says what was done, whatever came back since. */
Test(return, repeated)
{
	flow(SETTLED_R1,
	     "reserve R2 A=4 confirm=true      -> 201",
	     "settle  R2                       -> settled",
	     "return  M1 A +4 order=R1         -> 201",
	     "return  M1 A +4 order=R1         -> 200 replayed order_id=R1 A=4",
	     "restart",
	     "return  M1 A +4 order=R1         -> 200 replayed order_id=R1 A=4",
	     "return  M1 A +4 order=R2         -> 422 movement_id_reused",
	     "return  M1 A +4                  -> 422 movement_id_reused",
	     "return  M1 A +3 order=R1         -> 422 movement_id_reused",
	     "return  M2 A +1                  -> 201",
	     "return  M2 A +1 order=R2         -> 422 movement_id_reused",
	     "return  M3 A +5 order=R2         -> 409 over_returned",
	     "return  M3 A +1 order=R2         -> 201",
	     "confirm R2                       -> 200 settled replayed returned[0].qty=1",
	     "settle  R2                       -> 200 settled replayed returned=A",
	     "reserve R2 A=4                   -> 200 settled replayed returned=A",
	     "sku     A                        -> on_hand=13");
}

/* A movement and an order may have the same id; a movement that names itself is no riddle. */
Test(return, under_the_id_of_the_order)
{
	flow(SETTLED_R1,
	     "return  R1 A +1 order=R1         -> 201 movement_id=R1 order_id=R1",
	     "return  R1 A +1 order=R1         -> 200 replayed",
	     "restart",
	     "return  R1 A +1 order=R1         -> 200 replayed",
	     "return  R9 A +1 order=R9         -> 422 unknown_order",
	     "get     R1                       -> settled returned[0].qty=1");
}

/* A part's units come back under its own id. */
Test(return, of_a_part)
{
	flow("receipt A +20 B +20                   -> 201",
	     "reserve R1 A=8 B=2 confirm=true       -> 201",
	     "split   R1 S1 A=3 then=settle         -> 201 settled",
	     "split   R1 S2 A=2 B=1                 -> 201 confirmed",
	     "split   R1 S3 A=1 then=release        -> 201 released",
	     "settle  R1                            -> settled A=2 B=1",
	     "return  M1 A +3 order=R1              -> 409 over_returned A requested=3 settled=2 parts=1 parts[0]=S1",
	     "return  M1 B +2 order=R1              -> 409 over_returned B requested=2 settled=1 !parts",
	     "split   S2 S4 A=1                     -> 201 confirmed",
	     "settlements S2 S4                     -> 200 settled | 200 settled",
	     "return  M1 A +3 B +2 order=R1         -> 409 over_returned lines=A,B parts=S1,S2,S4",
	     "return  M1 A +1 B +2 order=R1         -> 409 over_returned lines=B parts=S2",
	     "return  M1 A +2 order=S2              -> 409 over_returned A settled=1 parts=S4",
	     "return  M1 A +2 order=S4              -> 409 over_returned A settled=1 !parts",
	     "return  M1 A +2 order=R1              -> 201",
	     "return  M2 A +3 order=S1              -> 201",
	     "return  M3 A +1 order=R1              -> 409 over_returned A settled=2 returned=2 parts=S1,S2,S4",
	     "return  M4 A +1 B +1 order=S2         -> 201",
	     "return  M5 A +1 order=S4              -> 201",
	     "return  M6 A +1 order=S3              -> 409 released",
	     "get     R1                            -> returned=A returned[0].qty=2",
	     "get     S2                            -> returned=A,B",
	     "sku     A                             -> available=20 on_hand=20",
	     "sku     B                             -> available=19 on_hand=19");
}

Test(return, names_a_hundred_parts)
{
	flow_begin();
	flow_steps("receipt A +1000                     -> 201",
	           "reserve R A=300 confirm=true        -> 201");
	for (int i = 0; i < 120; i++)
		flow_step("split R S%d A=1 then=settle -> 201", i);
	flow_steps("settle  R                           -> settled A=180",
	           "return  M A +181 order=R            -> 409 over_returned parts=100",
	           "return  M A +180 order=R            -> 201");
	flow_end();
}

/* Units that a task has settled come back like those of an order that was settled by its id. */
Test(return, of_what_a_task_settled)
{
	flow("receipt A +10                    -> 201",
	     "reserve R1 A=2 confirm=true      -> 201",
	     "work    settle                   -> 0",
	     "return  M1 A +2 order=R1         -> 201",
	     "return  M2 A +1 order=R1         -> 409 over_returned A requested=1 settled=2 returned=2",
	     "run     audit                    -> 0");
}

/* The id of a purged order is new: what came back of another order that had it does not count. */
Test(return, of_what_was_purged)
{
	flow(SETTLED_R1,
	     "return  M1 A +4 order=R1         -> 201",
	     "tick    90000",
	     "run     purge --keep 1           -> 0 '~1 reservations'",
	     "sql SELECT COUNT(*) FROM reservation_returned -> 0",
	     "return  M2 B +1 order=R1         -> 422 unknown_order field=order_id",
	     "return  M1 A +4 order=R1         -> 200 replayed order_id=R1",
	     "movement M1                      -> order_id=R1",
	     "run     audit                    -> 0",
	     "reserve R1 A=2 confirm=true      -> 201",
	     "settle  R1                       -> settled",
	     "return  M2 A +3 order=R1         -> 409 over_returned A requested=3 settled=2 returned=0",
	     "return  M2 A +2 order=R1         -> 201",
	     "get     R1                       -> returned[0].qty=2",
	     "run     audit                    -> 0");
}

/* purge comes between the look and the write. */
Test(return, of_what_is_being_purged)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps(SETTLED_R1,
	           "return  M1 B +1 order=R1         -> 201");
	trap_lock("DELETE FROM reservation");
	trap_lock("DELETE FROM reservation_line");
	trap_lock("DELETE FROM reservation_returned");
	race = flow_race("1", "return M2 A +1 order=R1");
	trap_waiter();
	trap_unlock();
	trap_raced(race, "1x 422 unknown_order");
	flow_step("sku A -> on_hand=11");
	flow_end();
}

/* purge has read what came back of both orders and waits for the row of the first one's customer: the return of the
 * second waits for purge, and its customer has what the audit says. */
Test(return, while_purge_lowers_customers)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +10                    -> 201",
	           "reserve R1 A=2 customer=b confirm=true -> 201",
	           "reserve R2 A=2 customer=c confirm=true -> 201",
	           "reserve R3 A=1 customer=c        -> 201",
	           "settlements R1 R2                -> 200 | 200",
	           "tick    90000");
	trap_lock("SELECT 1 FROM customer_units WHERE customer = 'b' FOR UPDATE");
	flow_step("start W purge --keep 1");
	trap_waiter();
	race = flow_race("1", "return M A +1 order=R2");
	flow_step("wait sql SELECT COUNT(*) >= 2 FROM information_schema.processlist WHERE db = DATABASE()"
	          " AND id <> CONNECTION_ID() AND command IN ('Query', 'Execute') AND time_ms > 100 -> 1");
	trap_unlock();
	trap_raced(race, "1x 422 unknown_order");
	flow_steps("end W -> 0",
	           "has A c -> has=1",
	           "run audit -> 0");
	flow_end();
}

/* Another return takes what is left between the look and the write: of a sku that came back before, and of one that did
 * not, where two rows of which one may not be raised would count as much as two new ones. */
static void taken_between(const char *before, const char *between, const char *came)
{
	struct proxy *proxy;
	struct race  *race;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 7");
	flow_steps(SETTLED_R1);
	if (before)
		flow_step("%s", before);
	proxy_arm(proxy, BREACH_WAIT, "SELECT 1 FROM reservation FORCE INDEX (PRIMARY)");
	race = flow_race("1", "return M A +1 B +1 order=R1");
	cr_expect(proxy_struck(proxy));
	flow_step("@2 %s", between);
	proxy_go_on(proxy);
	trap_raced(race, came);
	flow_step("run audit -> 0");
	flow_end();
	proxy_close(proxy);
}

Test(return, another_one_comes_between)
{
	taken_between(NULL, "return N A +1 B +2 order=R1 -> 201", "1x 409 over_returned lines=B");
	taken_between(NULL, "return N A +3 B +1 order=R1 -> 201", "1x 201");
	taken_between("return N A +3 B +1 order=R1 -> 201", "return O A +1 order=R1 -> 201",
	              "1x 409 over_returned lines=A A returned=4");
	taken_between("return N A +1 order=R1 -> 201", "return O B +1 order=R1 -> 201", "1x 201");
}

/* One that was sent twice, through two services: the second finds the first, and is no second return. */
static void twin_between(const char *look)
{
	struct proxy *proxy;
	struct race  *race;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 7");
	flow_steps(SETTLED_R1,
	           "return M0 A +1 order=R1       -> 201");
	proxy_arm(proxy, BREACH_WAIT, look);
	race = flow_race("1", "return M A +3 order=R1");
	cr_expect(proxy_struck(proxy));
	flow_step("@2 return M A +3 order=R1 -> 201");
	proxy_go_on(proxy);
	trap_raced(race, "1x 200 replayed order_id=R1");
	flow_step("get R1 -> returned[0].qty=4");
	flow_end();
	proxy_close(proxy);
}

Test(return, a_twin_comes_between)
{
	twin_between("FROM reservation r FORCE INDEX (order_id)");
	twin_between("FROM reservation_returned FORCE INDEX (PRIMARY)");
	twin_between("FROM movement m FORCE INDEX (movement_id)");
	twin_between("SELECT 1 FROM reservation FORCE INDEX (PRIMARY)");
}

/* However many come at once, under whatever ids: what was settled comes back once. */
Test(return, from_many_at_once)
{
	flow("serve --lanes 2                         -> ",
	     "second --lanes 2 --slot 7               -> ",
	     "receipt A +100 B +100                   -> 201",
	     "reserve R1 A=20 A@main=5 B=9 confirm=true -> 201",
	     "settle  R1                              -> settled",
	     "race 32 return M# A +4 B +1 order=R1    -> 6x 201 | 26x 409 over_returned",
	     "get     R1                              -> returned=A,B returned[0].qty=24 returned[1].qty=6",
	     "race 32*4 return N# A +1 order=R1 || return O# B +1 order=R1 -> 4x 201 | 124x 409 over_returned",
	     "sku     A                               -> on_hand=100",
	     "sku     B                               -> on_hand=100",
	     "@2 get  R1                              -> returned[0].qty=25 returned[1].qty=9");
}

Test(return, the_same_from_many_at_once)
{
	flow("serve --lanes 2                         -> ",
	     "second --lanes 2 --slot 7               -> ",
	     "receipt A +100                          -> 201",
	     "reserve R1 A=5 confirm=true             -> 201",
	     "settle  R1                              -> settled",
	     "race 32 return M A +5 order=R1          -> 1x 201 | 31x 200 replayed",
	     "sku     A                               -> on_hand=100");
}

/* Orders of many batches, some of which are being settled or split meanwhile. */
Test(return, beside_everything_else)
{
	flow("serve --lanes 2                         -> ",
	     "second --lanes 2 --slot 7               -> ",
	     "receipt A +1000 B +1000                 -> 201",
	     "race 8*20 reserve R# A=3 B=1 confirm=true -> 160x 201",
	     "race 8*40 return M# A +2 order=R# || settle R# || split R# S# A=1 then=settle || "
	     "return N# A +1 B +1 order=R# || return O# A +1 order=S# -> *x 201 | *x 200 | *x 200 "
	     "replayed | *x 409 | *x 422 | *x 404",
	     "race 8*20 settle R#                     -> *x 200 | *x 200 replayed",
	     "race 8*40 return P# A +1 order=R# || return Q# A +1 B +1 order=R# || return T# A +1 order=S# -> "
	     "*x 201 | *x 409 | *x 422",
	     "run audit                               -> 0");
}

/* A return by itself, decided under locks: its sum is larger than a line may be, or a total is near its limit. */
Test(return, of_very_many_units)
{
	flow("receipt A +1000000000 A +1000000000      -> 201",
	     "reserve R1 A=900000000 A=900000000 confirm=true -> 201",
	     "reserve R2 A=1 confirm=true              -> 201",
	     "settlements R1 R2                        -> 200 settled | 200 settled",
	     "return  M1 A +1000000000 A +900000000 order=R1 -> 409 over_returned A "
	     "requested=1900000000",
	     "return  M1 A +600000000 A +600000000 order=R1 -> 201 order_id=R1",
	     "return  M1 A +600000000 A +600000000 order=R1 -> 200 replayed",
	     "return  M2 A +600000000 A +600000000 order=R1 -> 409 over_returned A settled=1800000000 "
	     "returned=1200000000",
	     "receipt A@paris +1                       -> 201",
	     "count   A@paris=8000000000000000         -> 201",
	     "return  M3 A +1 order=R1                 -> 201 order_id=R1",
	     "sku     A                                -> on_hand=8000001400000000",
	     "count   A@paris=8999998600000000         -> 201",
	     "mark",
	     "return  M4 A +1 order=R1                 -> 409 limit",
	     "return  M4 A +1 order=R2                 -> 409 limit",
	     "unchanged",
	     "return  M4 A +600000000 order=R1         -> 409 over_returned",
	     "get     R1                               -> returned[0].qty=1200000001",
	     "count   A@paris=8999998599999999         -> 201",
	     "return  M4 A +1 order=R2                 -> 201",
	     "get     R2                               -> returned[0].qty=1");
}

/* Two of them at once. */
Test(return, by_themselves_at_once)
{
	flow("serve --lanes 2                          -> ",
	     "second --lanes 2 --slot 7                -> ",
	     "receipt A +1000000000 A +1000000000      -> 201",
	     "receipt A +1000000000 A +1000000000      -> 201",
	     "reserve R1 A=900000000 A=900000000 A=900000000 confirm=true -> 201",
	     "settle  R1                               -> settled",
	     "race 16 return M# A +600000000 A +600000000 order=R1 || return N# A +1 order=R1 -> 10x 201"
	     " | 6x 409 over_returned",
	     "get     R1                               -> returned[0].qty=2400000008");
}

/* Another program has the order's row: the return waits, others go on. */
Test(return, of_a_locked_order)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps(SETTLED_R1,
	           "reserve R2 A=1 confirm=true      -> 201",
	           "settle  R2                       -> settled");
	trap_lock("SELECT 1 FROM reservation WHERE order_id = 'R1' FOR UPDATE");
	race = flow_race("1", "return M1 A +1 order=R1");
	trap_waiter();
	flow_steps("return M2 A +1 order=R2           -> 201",
	           "receipt A +1                      -> 201");
	trap_unlock();
	trap_raced(race, "1x 201");
	flow_end();
}

/* Units that come back are no longer the customer's. */
Test(return, lowers_what_the_customer_has)
{
	flow("receipt A +1000000000 A +1000000000 B +5  -> 201",
	     "reserve R1 A=3 A@main=1 B=2 customer=c confirm=true -> 201",
	     "reserve R2 A=1 customer=c                -> 201 held",
	     "reserve R3 A=900000000 A=900000000 customer=d confirm=true -> 201",
	     "settlements R1 R3                        -> 200 | 200",
	     "has     A c                              -> has=5",
	     "return  M1 A +1 A@paris +2 B +1 order=R1 -> 201",
	     "has     A c                              -> has=2",
	     "has     B c                              -> has=1",
	     "return  M1 A +1 A@paris +2 B +1 order=R1 -> 200 replayed",
	     "return  M2 A +2 order=R1                 -> 409 over_returned",
	     "return  M2 A +1                          -> 201",
	     "has     A c                              -> has=2",
	     "return  M3 A +600000000 A +600000000 order=R3 -> 201",
	     "has     A d                              -> has=600000000",
	     "run     audit                            -> 0",
	     "tick    90000",
	     "run     purge --keep 1                   -> 0 '~2 reservations'",
	     "has     A c                              -> has=1",
	     "has     A d                              -> has=0",
	     "run     audit                            -> 0");
}

/* Customers that get and give back at once. */
Test(return, of_customers_at_once)
{
	flow("serve --lanes 2                          -> ",
	     "second --lanes 2 --slot 7                -> ",
	     "receipt A +2000 B +2000                  -> 201",
	     "race 8*40 reserve R# A=2 B=1 customer=c confirm=true || "
	     "reserve S# B=2 A=1 customer=d confirm=true -> 320x 201",
	     "race 8*40 settle R# || settle S#         -> 320x 200",
	     "race 16*40 return M# A +1 B +1 order=R# || return N# B +1 A +1 order=S# || reserve T# B=1 A=1 customer=c"
	     " || reserve U# A=1 B=1 customer=d -> *x 201 | *x 422 unknown_order",
	     "run audit                                -> 0");
}

Test(return, is_told_as_an_event)
{
	flow(SETTLED_R1,
	     "return  M1 A +1 order=R1         -> 201",
	     "return  M2 A +1                  -> 201",
	     "events  types=movement.return    -> items=movement.return,movement.return items[0].data.order_id=R1 "
	     "items[0].data.movement_id=M1 !items[1].data.order_id",
	     "events  types=reservation.settled,movement.return limit=2 -> items=reservation.settled,movement.return");
}

/* The clock of the settlement was an hour ahead: the return, through another service, is told behind it. */
Test(return, is_told_behind_the_settlement)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 7");
	flow_steps("receipt A +10                    -> 201",
	           "reserve R1 A=4 confirm=true      -> 201");
	trap_sql("UPDATE log_writer SET stamp = (UNIX_TIMESTAMP() + 3600) * 1000000 WHERE writer_id > 1");
	flow_steps("@2 settle R1                     -> settled",
	           "return M1 A +1 order=R1          -> 201",
	           "events types=reservation.settled,movement.return -> items=reservation.settled,movement.return",
	           "run audit                        -> 0");
	flow_end();
}

/* A return that names no order costs what a receipt does, and an order of which nothing came back is read as ever. A
 * ROLLBACK ends each look of a lane. */
Test(return, without_an_order_pays_nothing)
{
	struct server server;

	server_make(&server, NULL);
	server_start_logged(&server);
	server_use(&server);
	flow_begin();
	flow_steps("serve   --lanes 1",
	           "receipt A +50 -> 201",
	           "reserve R1 A=5 confirm=true -> 201",
	           "settle  R1 -> settled");
	flow_costs(&server, "receipt A +1               -> 201", 7, "reservation_returned", 0);
	flow_costs(&server, "return  A +1               -> 201", 7, "reservation_returned", 0);
	flow_costs(&server, "get     R1                 -> settled !returned", 1, "reservation_returned", 0);
	flow_costs(&server, "confirm R1                 -> 200 replayed", 2, "reservation_returned", 0);
	flow_costs(&server, "return  A +1 order=R1      -> 201", 15, "reservation_returned", 2);
	flow_costs(&server, "return  A +1 order=R1      -> 201", 16, "reservation_returned", 3);
	flow_costs(&server, "get     R1                 -> settled returned=A", 2, "reservation_returned", 1);
	flow_costs(&server, "return  A +9 order=R1      -> 409 over_returned", 8, "reservation_returned", 1);
	flow_end();
	server_remove(&server);
}

/* Roles: a key that makes orders brings their units back; all other movements are an admin's. */
Test(return, by_whom)
{
	flow("keys shop order | hand worker | eye read | boss admin | both order,worker",
	     "serve --lanes 1",
	     "key boss",
	     SETTLED_R1,
	     "return  M1 A +1 order=R1         -> 201 by=boss",
	     "key shop",
	     "return  M2 A +1 order=R1         -> 201 by=shop order_id=R1",
	     "return  M3 A +1                  -> 403 forbidden",
	     "receipt M3 A +1                  -> 403 forbidden",
	     "adjust  M3 A +1                  -> 403 forbidden",
	     "count   M3 A=1                   -> 403 forbidden",
	     "receipt M3 A +1 order=R1         -> 400 field=order_id",
	     "key both",
	     "return  M3 B +1 order=R1         -> 201 by=both",
	     "key hand",
	     "return  M4 A +1 order=R1         -> 403 forbidden",
	     "key eye",
	     "return  M4 A +1 order=R1         -> 403 forbidden",
	     "get     R1                       -> returned=A,B",
	     "key",
	     "return  M4 A +1 order=R1         -> 401 unauthorized",
	     "key boss",
	     "movement M2                      -> by=shop");
}
