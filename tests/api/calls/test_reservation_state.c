/* test_reservation_state.c - what becomes of a reservation: confirm, release, extend, reacquire. */
#include "tests/lang/flow.h"

Test(reservation_state, confirm)
{
	flow("receipt  A +10 B +1        -> 201",
	     "reserve  R1 A=4 B=1 ttl=60 -> 201",
	     "confirm  R1                -> 200 confirmed order_id=R1 A=4 B=1 confirmed_at=~0 attempts=0 !reacquired",
	     "confirm  R1                -> 200 confirmed replayed",
	     "tick     1000",
	     "get      R1                -> confirmed confirmed_at=~-1000",
	     "confirm  R1                -> 200 confirmed replayed confirmed_at=~-1000",
	     "sku      A                 -> available=6 reserved=4 on_hand=10",
	     "confirm  R9                -> 404 unknown_order");
}

Test(reservation_state, release)
{
	flow("receipt  A +10             -> 201",
	     "reserve  R1 A=4            -> 201",
	     "reserve  R2 A=3            -> 201",
	     "release  R1                -> 200 released A=4 released_at=~0 !confirmed_at",
	     "sku      A                 -> available=7 reserved=3",
	     "release  R1                -> 200 released replayed",
	     "sku      A                 -> available=7 reserved=3",
	     "confirm  R2                -> confirmed",
	     "release  R2                -> 200 released confirmed_at=* released_at=*",
	     "release  R2                -> 200 released replayed",
	     "get      R2                -> released",
	     "sku      A                 -> available=10 reserved=0",
	     "release  R9                -> 404 unknown_order");
}

Test(reservation_state, release_of_what_is_not_paid)
{
	flow("receipt  A +10             -> 201",
	     "reserve  R1 A=4            -> 201",
	     "reserve  R2 A=1            -> 201",
	     "release  R1 if=held        -> 200 released",
	     "release  R1 if=held        -> 200 released replayed",
	     "confirm  R2                -> confirmed",
	     "mark",
	     "release  R2 if=held        -> 409 confirmed",
	     "claim    settle w          -> 201 R2",
	     "release  R2 if=held        -> 409 confirmed",
	     "fail     1 R2=bury         -> buried=1",
	     "release  R2 if=held        -> 409 buried",
	     "sku      A                 -> available=9 reserved=1",
	     "settle   R2                -> 200 settled",
	     "release  R2 if=held        -> 409 settled",
	     "reserve  R3 A=2 ttl=60     -> 201",
	     "reserve  R4 A=1 confirm=true -> 201 confirmed",
	     "tick     61",
	     "release  R3 if=held        -> 409 expired",
	     "release  R9 if=held        -> 404 unknown_order",
	     "raw POST /v1/reservations/R4/release {'if_state':'confirmed'} -> 400 invalid_request field=if_state",
	     "raw POST /v1/reservations/R4/release {'if_state':null} -> 400 invalid_request field=if_state",
	     "raw POST /v1/reservations/R4/release {'if_held':true} -> 400 invalid_request field=if_held",
	     "raw POST /v1/reservations/R4/confirm {'if_state':'held'} -> 400 invalid_request field=if_state",
	     "release  R4                -> 200 released",
	     "release  R4 if=held        -> 200 released replayed");
}

Test(reservation_state, releases_of_what_is_not_paid)
{
	flow("receipt  A +10             -> 201",
	     "reserve  R1 A=4            -> 201",
	     "reserve  R2 A=1 confirm=true -> 201",
	     "reserve  R3 A=1            -> 201",
	     "releases R1 R2 R3 R9 R1 if=held -> 200 released | 409 confirmed order_id=R2 | 200 released"
	     " | 404 unknown_order | 200 released replayed",
	     "raw POST /v1/releases {'order_ids':['R2'],'if_state':'buried'} -> 400 invalid_request field=if_state",
	     "raw POST /v1/confirmations {'order_ids':['R2'],'if_state':'held'} -> 400 invalid_request field=if_state",
	     "sku      A                 -> available=9 reserved=1",
	     "releases R2                -> 200 released");
}

/* One of the two comes first: a payment, and a message that it has failed. The order ends paid or free, never both. */
Test(reservation_state, release_beside_a_confirmation)
{
	flow_begin();
	flow_step("receipt A +200 -> 201");
	for (int i = 0; i < 40; i++) {
		flow_step("reserve R%d A=1 -> 201", i);
		flow_step("race 2 confirm R%d || release R%d if=held -> 1x 200 | 1x 409", i, i);
	}
	flow_end();
}

Test(reservation_state, whoever_comes_second_is_told)
{
	flow("receipt  A +10             -> 201",
	     "reserve  R1 A=4            -> 201",
	     "release  R1                -> released",
	     "confirm  R1                -> 409 released",
	     "confirm  R1 reacquire      -> 409 released",
	     "extend   R1 ttl=60         -> 409 released",
	     "reserve  R2 A=4            -> 201",
	     "confirm  R2                -> confirmed",
	     "extend   R2 ttl=60         -> 409 confirmed",
	     "reserve  R3 A=2 ttl=60     -> 201",
	     "tick     61",
	     "confirm  R3                -> 409 expired",
	     "release  R3                -> 409 expired",
	     "extend   R3 ttl=60         -> 409 expired",
	     "extend   R9 ttl=60         -> 404 unknown_order",
	     "get      R9                -> 404 unknown_order",
	     "sku      A                 -> on_hand=10");
}

Test(reservation_state, extend)
{
	flow("receipt  A +10             -> 201",
	     "reserve  R1 A=4 ttl=60     -> 201",
	     "extend   R1 ttl=600        -> 200 held A=4 expires_at=~600 created_at=~0",
	     "tick     500",
	     "get      R1                -> held expires_at=~100",
	     "extend   R1 ttl=10         -> 200 held expires_at=~10",
	     "tick     11",
	     "get      R1                -> expired",
	     "extend   R1 ttl=60         -> 409 expired",
	     "reserve  R2 A=6 ttl=1      -> 201",
	     "extend   R2 ttl=2678400    -> 200 held expires_at=~2678400",
	     "extend   R2 ttl=2678400    -> 200 held expires_at=~2678400",
	     "tick     86000",
	     "confirm  R2                -> confirmed");
}

Test(reservation_state, extended_hold_is_not_swept)
{
	flow("receipt  A +10             -> 201",
	     "reserve  R1 A=4 ttl=60     -> 201",
	     "reserve  R2 A=4 ttl=60     -> 201",
	     "extend   R1 ttl=600        -> 200",
	     "tick     61",
	     "expire",
	     "wait sku A                 -> available=6 reserved=4",
	     "get      R1                -> held",
	     "get      R2                -> expired",
	     "reserve  R3 A=7            -> 409 short A requested=7 available=6");
}

/* Expired by the clock, its units still reserved: no other order can have taken them. */
Test(reservation_state, reacquire_unswept)
{
	flow("receipt  A +10             -> 201",
	     "reserve  R1 A=10 ttl=60    -> 201",
	     "tick     61",
	     "confirm  R1                -> 409 expired",
	     "confirm  R1 reacquire      -> 200 confirmed reacquired A=10",
	     "confirm  R1 reacquire      -> 200 confirmed replayed",
	     "confirm  R1                -> 200 confirmed replayed",
	     "sku      A                 -> available=0 reserved=10",
	     "release  R1                -> released",
	     "sku      A                 -> available=10 reserved=0");
}

Test(reservation_state, reacquire_swept)
{
	flow("receipt  A +10 B@paris +5  -> 201",
	     "reserve  R1 A=10 B@paris=1 ttl=60 -> 201",
	     "tick     61",
	     "reserve  R2 A=4            -> 201",
	     "get      R1                -> expired",
	     "confirm  R1 reacquire      -> 409 short A requested=10 available=6 lines=1",
	     "get      R1                -> expired !confirmed_at",
	     "release  R2                -> released",
	     "confirm  R1 reacquire      -> 200 confirmed reacquired A=10 B@paris=1 confirmed_at=~0",
	     "sku      A                 -> available=0 reserved=10",
	     "sku      B                 -> available=4 reserved=1",
	     "confirm  R1 reacquire      -> 200 confirmed replayed",
	     "release  R1                -> released",
	     "sku      A                 -> available=10 reserved=0");
}

Test(reservation_state, reacquire_of_a_live_one_is_a_confirm)
{
	flow("receipt  A +10             -> 201",
	     "reserve  R1 A=4            -> 201",
	     "confirm  R1 reacquire      -> 200 confirmed !reacquired",
	     "confirm  R9 reacquire      -> 404 unknown_order");
}

/* Swept for another order, which takes some of its units; then acquired again from units that came in. */
Test(reservation_state, reacquire_takes_other_units)
{
	flow("serve    --lanes 4",
	     "receipt  A +4              -> 201",
	     "reserve  R1 A=4 ttl=60     -> 201",
	     "tick     61",
	     "reserve  R2 A=4            -> 201",
	     "confirm  R2                -> confirmed",
	     "confirm  R1 reacquire      -> 409 short A requested=4 available=0",
	     "race 4 receipt A +1        -> 4x 201",
	     "confirm  R1 reacquire      -> confirmed reacquired",
	     "sku      A                 -> available=0 reserved=8 on_hand=8");
}

/* The second look-up left the lines of what it found without a balance of their own. */
Test(reservation_state, reacquire_of_many_lines)
{
	flow("receipt  A +10 B +10 C +10    -> 201",
	     "reserve  R1 A=5 B=7 C=3 ttl=60 -> 201",
	     "tick     61",
	     "expire",
	     "wait get R1                   -> expired",
	     "wait sku B                    -> available=10",
	     "reserve  R2 B=4               -> 201",
	     "confirm  R1 reacquire         -> 409 short B requested=7 available=6",
	     "release  R2                   -> 200",
	     "confirm  R1 reacquire         -> 200 confirmed reacquired A=5 B=7 C=3",
	     "sku      A                    -> available=5 reserved=5",
	     "sku      B                    -> available=3 reserved=7",
	     "sku      C                    -> available=7 reserved=3");
}

Test(reservation_state, bodies_of_state_changes)
{
	flow("receipt  A +10             -> 201",
	     "reserve  R1 A=1            -> 201",
	     "reserve  R2 A=1            -> 201",
	     "mark",
	     "raw POST /v1/reservations/R1/confirm {'if_expired':'refuse'} -> 400 invalid_request field=if_expired",
	     "raw POST /v1/reservations/R1/confirm {'if_expired':true} -> 400 invalid_request field=if_expired",
	     "raw POST /v1/reservations/R1/confirm {'force':true} -> 400 invalid_request field=force",
	     "raw POST /v1/reservations/R1/release {'reason':'x'} -> 400 invalid_request field=reason",
	     "raw POST /v1/reservations/R1/extend -> 400 invalid_request field=ttl_s",
	     "raw POST /v1/reservations/R1/extend {} -> 400 invalid_request field=ttl_s",
	     "extend   R1 ttl=0          -> 400 invalid_request field=ttl_s",
	     "extend   R1 ttl=-1         -> 400 invalid_request field=ttl_s",
	     "extend   R1 ttl=2678401    -> 400 invalid_request field=ttl_s",
	     "extend   R1 ttl=60.0       -> 400 invalid_request field=ttl_s",
	     "extend   R1 ttl=\"60\"     -> 400 invalid_request field=ttl_s",
	     "raw POST /v1/reservations/R1/extend {'ttl_s':60,'from':'now'} -> 400 invalid_request field=from",
	     "unchanged",
	     "raw POST /v1/reservations/R1/confirm {} -> 200 confirmed",
	     "raw POST /v1/reservations/R2/release {} -> 200 released",
	     "raw POST /v1/reservations/R2/release -> 200 released replayed");
}

/* Each process sees at once what the other one did. */
Test(reservation_state, two_processes)
{
	flow("receipt  A +10             -> 201",
	     "second",
	     "reserve  R1 A=4            -> 201",
	     "@2 get   R1                -> held A=4",
	     "@2 reserve R1 A=4          -> 200 held replayed",
	     "@2 reserve R1 A=5          -> 422 order_id_reused",
	     "@2 confirm R1              -> confirmed",
	     "confirm  R1                -> 200 confirmed replayed",
	     "release  R1                -> released",
	     "@2 confirm R1              -> 409 released",
	     "@2 reserve R2 A=10 ttl=60  -> 201",
	     "reserve  R3 A=1            -> 409 short A requested=1 available=0",
	     "extend   R2 ttl=600        -> held",
	     "tick     61",
	     "@2 confirm R2              -> confirmed",
	     "@2 receipt NEW +1          -> 201",
	     "reserve  R4 NEW@main=1     -> 201",
	     "@2 receipt NEW@paris +1    -> 201",
	     "reserve  R5 NEW@paris=1    -> 201");
}

/* Orders that are extended by the same time are written together. */
Test(reservation_state, extends_at_once)
{
	flow("receipt  A +64                  -> 201",
	     "race 8*8 reserve R# A=1 ttl=100 -> 64x 201",
	     "race 8*8 extend R# ttl=60 || extend R# ttl=600 -> 64x 200 held",
	     "sql SELECT SUM(expires_at > UTC_TIMESTAMP(3) + INTERVAL 500 SECOND),"
	     " SUM(expires_at < UTC_TIMESTAMP(3) + INTERVAL 61 SECOND), SUM(due_at = expires_at) FROM reservation -> "
	     "32,32,64");
}
