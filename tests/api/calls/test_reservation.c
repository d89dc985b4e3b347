/* test_reservation.c - how an order gets units, or does not: POST /v1/reservations and what time does to it. */
#include "tests/lang/flow.h"

Test(reservation, holds_units)
{
	flow("receipt  A +10 B +5          -> 201",
	     "reserve  R1 B=2 A=4          -> 201 held order_id=R1 A=4 B=2 lines=2 created_at=~0 expires_at=~900"
	     "                                attempts=0 !confirmed_at !released_at !settled_at !last_error !short !by",
	     "sku      A                   -> available=6 reserved=4 on_hand=10",
	     "sku      B                   -> available=3 reserved=2 on_hand=5",
	     "get      R1                  -> 200 held order_id=R1 A=4 B=2 lines=2 created_at=~0 expires_at=~900"
	     "                                attempts=0 !confirmed_at !released_at !settled_at !last_error !by",
	     "reserve  R2 A=6              -> 201",
	     "sku      A                   -> available=0 reserved=10",
	     "reserve  R3 A=1              -> 409 short A requested=1 available=0");
}

/* A lane makes the answer of a new reservation from the operation, GET reads it from the row. */
Test(reservation, made_as_it_is_read)
{
	struct client c;
	struct answer made = {0}, read = {0};

	flow_begin();
	flow_step("receipt A +10 B@paris +5 -> 201");
	client_open(&c, flow_port(0));
	client_ask(&c, "POST", "/v1/reservations",
	           "{\"order_id\":\"R1\",\"ttl_s\":77,\"lines\":[{\"sku\":\"B\",\"location\":\"paris\",\"qty\":2},"
	           "{\"sku\":\"A\",\"qty\":1},{\"sku\":\"A\",\"qty\":3}]}",
	           &made);
	client_ask(&c, "GET", "/v1/reservations/R1", "", &read);
	cr_expect_eq(made.status, 201);
	cr_expect_eq(read.status, 200);
	cr_expect_str_eq(made.body.data, read.body.data);
	answer_fini(&made);
	answer_fini(&read);
	client_close(&c);
	flow_end();
}

Test(reservation, ttl)
{
	flow("receipt  A +10              -> 201",
	     "reserve  R1 A=1 ttl=1       -> 201 expires_at=~1",
	     "reserve  R2 A=1 ttl=2678400 -> 201 expires_at=~2678400",
	     "reserve  R3 A=1             -> 201 expires_at=~900",
	     "tick     2678000",
	     "get      R1                 -> expired",
	     "get      R2                 -> held",
	     "get      R3                 -> expired",
	     "tick     401",
	     "get      R2                 -> expired");
}

Test(reservation, equal_lines_are_summed)
{
	flow("receipt  A +10 A@paris +2   -> 201",
	     "reserve  R1 A=4 A=3         -> 201 held A=7 lines=1",
	     "reserve  R2 A=2 A@main=1 A@paris=1 -> 201 A=3 A@paris=1 lines=2",
	     "reserve  R3 A@paris=1 A@paris=1 -> 409 short A@paris requested=2 available=1 lines=1",
	     "reserve  R4 A=1000000000 A=1000000000 -> 409 short A requested=2000000000 available=0");
}

Test(reservation, short_names_every_short_line)
{
	flow("receipt  A +10 B +5 C +1    -> 201",
	     "mark",
	     "reserve  R1 A=11            -> 409 short A requested=11 available=10 lines=1",
	     "reserve  R1 A=11 C=1 B=6    -> 409 short A requested=11 available=10 B requested=6 available=5 lines=2",
	     "reserve  R1 A=10 B=6        -> 409 short B requested=6 available=5 lines=1",
	     "get      R1                 -> 404 unknown_order",
	     "sku      A                  -> available=10 reserved=0",
	     "unchanged",
	     "reserve  R1 A=10 B=5 C=1    -> 201");
}

Test(reservation, a_line_means_its_location)
{
	flow("receipt  A +10 A@paris +2   -> 201",
	     "receipt  B@mars +1          -> 201",
	     "reserve  R1 A@paris=3       -> 409 short A@paris requested=3 available=2",
	     "reserve  R1 A=11            -> 409 short A requested=11 available=10",
	     "reserve  R1 A@mars=1        -> 409 short A@mars requested=1 available=0",
	     "reserve  R1 A@nowhere=1 A=1 -> 422 unknown_location A@nowhere lines=1 !lines[0].available",
	     "reserve  R1 A=10 A@paris=2  -> 201 A=10 A@paris=2",
	     "sku      A                  -> available=0 reserved=12 @main reserved=10 @paris reserved=2");
}

Test(reservation, unknown_sku)
{
	flow("receipt  A +10              -> 201",
	     "mark",
	     "reserve  R1 GHOST=1         -> 422 unknown_sku GHOST",
	     "reserve  R1 A=1 GHOST=1 SPOOK@paris=2 -> 422 unknown_sku GHOST SPOOK@paris lines=2",
	     "reserve  R1 A=1 GHOST=1 mode=best_effort -> 422 unknown_sku GHOST",
	     "sku      A                  -> available=10 reserved=0",
	     "get      R1                 -> 404 unknown_order",
	     "unchanged",
	     "receipt  GHOST +1           -> 201",
	     "reserve  R1 GHOST=1         -> 201");
}

Test(reservation, best_effort)
{
	flow("receipt  A +10 B +5 C +1    -> 201",
	     "reserve  R1 A=4 mode=best_effort -> 201 held A=4 !short",
	     "reserve  R2 A=20 B=5 mode=best_effort ->"
	     "                               201 held A=6 B=5 lines=2 short A requested=20 available=6 short=1",
	     "get      R2                 -> held A=6 B=5 lines=2",
	     "reserve  R3 A=1 C=1 B=2 mode=best_effort ->"
	     "         201 held C=1 lines=1 short A requested=1 available=0 B requested=2 available=0 short=2",
	     "reserve  R4 A=1 B=1 mode=best_effort ->"
	     "         409 short A requested=1 available=0 B requested=1 available=0 lines=2",
	     "get      R4                 -> 404 unknown_order",
	     "reserve  R5 A@mars=1 mode=best_effort -> 422 unknown_location A@mars lines=1",
	     "sku      A                  -> available=0 reserved=10",
	     "release  R2                 -> 200",
	     "reserve  R4 A=1 B=1 mode=best_effort -> 201 held A=1 B=1 !short",
	     "reserve  R6 A=1 mode=all_or_nothing -> 201");
}

/* A hold from its beginning to its end, without workers. */
Test(reservation, expires)
{
	flow("receipt  A +10             -> 201",
	     "reserve  R1 A=4 ttl=60     -> 201 held expires_at=~60",
	     "reserve  R1 A=5 ttl=60     -> 422 order_id_reused",
	     "reserve  R2 A=7 ttl=60     -> 409 short A requested=7 available=6",
	     "tick     58",
	     "get      R1                -> held",
	     "tick     3",
	     "get      R1                -> expired expires_at=~-1",
	     "confirm  R1                -> 409 expired",
	     "release  R1                -> 409 expired",
	     "extend   R1 ttl=60         -> 409 expired",
	     "reserve  R1 A=4            -> 409 expired replayed",
	     "sku      A                 -> available=6 reserved=4 on_hand=10");
}

Test(reservation, expired_units_are_swept_by_the_job)
{
	flow("receipt  A +10 B +1         -> 201",
	     "reserve  R1 A=4 B=1 ttl=60  -> 201",
	     "reserve  R2 A=1 ttl=600     -> 201",
	     "tick     61",
	     "expire",
	     "wait sku A                  -> available=9 reserved=1",
	     "wait sku B                  -> available=1 reserved=0",
	     "get      R1                 -> expired A=4 B=1 !released_at !confirmed_at",
	     "get      R2                 -> held",
	     "reserve  R3 A=1 ttl=1       -> 201",
	     "tick     2",
	     "wait sku A                  -> available=9 reserved=1",
	     "confirm  R1                 -> 409 expired",
	     "reserve  R1 A=4 B=1         -> 409 expired replayed A=4 B=1",
	     "sku      A                  -> available=9 reserved=1");
}

/* No order is refused for want of units that only wait to be swept. */
Test(reservation, expired_units_are_swept_before_a_refusal)
{
	flow("receipt  A +10 A@paris +1   -> 201",
	     "reserve  R1 A=10 ttl=60     -> 201",
	     "reserve  R2 A@paris=1 ttl=600 -> 201",
	     "tick     61",
	     "reserve  R3 A=10            -> 201 held A=10",
	     "reserve  R4 A=1             -> 409 short A requested=1 available=0",
	     "reserve  R4 A@paris=1       -> 409 short A@paris requested=1 available=0",
	     "get      R1                 -> expired",
	     "release  R1                 -> 409 expired",
	     "sku      A                  -> available=0 reserved=11",
	     "tick     1000",
	     "reserve  R5 A=12 mode=best_effort -> 201 A=10 short A requested=12 available=10",
	     "reserve  R6 A@paris=1       -> 201");
}

/* The same when other processes made the holds. */
Test(reservation, expired_units_of_another_process)
{
	flow("receipt  A +10              -> 201",
	     "second",
	     "reserve  R1 A=5 ttl=60      -> 201",
	     "@2 reserve R2 A=5 ttl=60    -> 201",
	     "@2 get   R1                 -> held",
	     "tick     61",
	     "@2 reserve R3 A=7           -> 201",
	     "reserve  R4 A=3             -> 201",
	     "@2 reserve R5 A=1           -> 409 short A requested=1 available=0");
}

Test(reservation, a_refused_id_is_not_remembered)
{
	flow("receipt  A +10              -> 201",
	     "reserve  R1 A=11            -> 409 short A requested=11 available=10",
	     "reserve  R1 A=0             -> 400 invalid_request field=lines[0].qty",
	     "reserve  R1 GHOST=1         -> 422 unknown_sku GHOST",
	     "confirm  R1                 -> 404 unknown_order",
	     "reserve  R1 A=10            -> 201 held A=10",
	     "reserve  R2 A=1             -> 409 short A requested=1 available=0",
	     "release  R1                 -> released",
	     "reserve  R2 A=9             -> 201",
	     "adjust   M1 A -2            -> 409 short A",
	     "adjust   M1 A -1            -> 201");
}

Test(reservation, order_and_movement_ids_are_apart)
{
	flow("receipt  X A +10            -> 201",
	     "reserve  X A=1              -> 201 held",
	     "receipt  X A +10            -> 200 replayed",
	     "reserve  X A=1              -> 200 held replayed");
}

/* Units move freely between the slots of lanes: what is there can be had, wherever it came in. */
Test(reservation, every_unit_can_be_had)
{
	flow("serve    --lanes 4",
	     "race 8*4 receipt A +1       -> 32x 201",
	     "reserve  R1 A=32            -> 201",
	     "release  R1                 -> 200",
	     "reserve  R2 A=31            -> 201",
	     "reserve  R3 A=2             -> 409 short A requested=2 available=1",
	     "reserve  R4 A=1             -> 201",
	     "second   --lanes 4 --slot 4",
	     "release  R2                 -> 200",
	     "@2 reserve R5 A=31          -> 201",
	     "@2 confirm R4               -> confirmed",
	     "@2 release R4               -> released",
	     "adjust   A -1               -> 201",
	     "sku      A                  -> available=0 reserved=31");
}
