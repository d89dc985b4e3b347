/* test_replay.c - the same call again: no second effect, and the answer says how things stand now. */
#include "tests/lang/flow.h"

Test(replay, same_lines_in_any_form)
{
	flow("receipt  A +10 B +10 A@paris +5     -> 201",
	     "reserve  R1 A=4 B=2 A@paris=1       -> 201 held",
	     "reserve  R1 A=4 B=2 A@paris=1       -> 200 held replayed A=4 B=2 A@paris=1 lines=3",
	     "reserve  R1 A@paris=1 B=2 A=4       -> 200 held replayed",
	     "reserve  R1 B=1 A=3 A@paris=1 B=1 A=1 -> 200 held replayed",
	     "reserve  R1 A@main=4 B@main=2 A@paris=1 -> 200 held replayed",
	     "reserve  R1 A=4 B=2 A@paris=1 ttl=5 mode=best_effort -> 200 held replayed expires_at=~900 !short",
	     "sku      A                          -> available=10 reserved=5",
	     "sku      B                          -> available=8 reserved=2");
}

Test(replay, other_lines_are_refused)
{
	flow("receipt  A +10 B +10 A@paris +5     -> 201",
	     "reserve  R1 A=4 B=2                 -> 201 held",
	     "mark",
	     "reserve  R1 A=4                     -> 422 order_id_reused",
	     "reserve  R1 A=4 B=3                 -> 422 order_id_reused",
	     "reserve  R1 A=2 B=4                 -> 422 order_id_reused",
	     "reserve  R1 A=4 B=2 A@paris=1       -> 422 order_id_reused",
	     "reserve  R1 A@paris=4 B=2           -> 422 order_id_reused",
	     "reserve  R1 a=4 B=2                 -> 422 order_id_reused",
	     "reserve  R1 A=400 B=2               -> 422 order_id_reused",
	     "reserve  R1 GHOST=1                 -> 422 order_id_reused",
	     "get      R1                         -> held A=4 B=2 lines=2",
	     "unchanged",
	     "release  R1                         -> released",
	     "reserve  R1 A=4                     -> 422 order_id_reused",
	     "reserve  r1 A=4                     -> 201");
}

Test(replay, shows_the_state_of_now)
{
	flow("receipt  A +10                      -> 201",
	     "reserve  R1 A=1                     -> 201 held",
	     "confirm  R1                         -> confirmed",
	     "reserve  R1 A=1                     -> 200 confirmed replayed confirmed_at=*",
	     "release  R1                         -> released",
	     "reserve  R1 A=1                     -> 409 released replayed reservation.released_at=* A=1 !replaced_by",
	     "sku      A                          -> available=10 reserved=0",
	     "reserve  R2 A=1 ttl=60              -> 201 held",
	     "extend   R2 ttl=600                 -> held",
	     "reserve  R2 A=1 ttl=60              -> 200 held replayed expires_at=~600",
	     "tick     601",
	     "reserve  R2 A=1                     -> 409 expired replayed reservation.order_id=R2 !lines",
	     "confirm  R2 reacquire               -> confirmed reacquired",
	     "reserve  R2 A=1                     -> 200 confirmed replayed !reacquired");
}

/* A call that made an order is no success any more where the order has no units. */
Test(replay, of_an_order_that_is_over)
{
	flow("serve    --lanes 1",
	     "receipt  A +20                      -> 201",
	     "reserve  R1 A=1                     -> 201 held",
	     "batch    R2 A=30 mode=best_effort reference=x | R3 A=1 ttl=60 -> 201 held A=19 | 409 short",
	     "release  R1                         -> released",
	     "release  R2                         -> released",
	     "reserve  R3 A=1 ttl=60              -> 201 held",
	     "reserve  R4 A=2 ttl=60 confirm=true -> 201 confirmed",
	     "release  R4                         -> released",
	     "reserve  R5 A=1                     -> 201 held",
	     "work     settle",
	     "tick     61",
	     "mark",
	     "reserve  R1 A=1                     -> 409 released replayed A=1 reservation.state=released"
	     "                                       status=409 type=/problems/released !field !reservation.short",
	     "reserve  R1 A=1 confirm=true        -> 409 released replayed",
	     "reserve  R2 A=30 mode=best_effort reference=x -> 409 released replayed reservation.reference=x"
	     "                                       reservation.short[0].available=19",
	     "reserve  R4 A=2 confirm=true        -> 409 released replayed reservation.confirmed_at=*",
	     "reserve  R1 A=2                     -> 422 order_id_reused",
	     "batch    R3 A=1 | R1 A=1 | R5 A=1   -> 409 expired replayed order_id=R3 A=1"
	     "                                    | 409 released replayed reservation.order_id=R1 | 200 held replayed",
	     "unchanged",
	     "confirm  R3 reacquire               -> confirmed reacquired",
	     "reserve  R3 A=1                     -> 200 confirmed replayed",
	     "work     settle",
	     "reserve  R3 A=1                     -> 200 settled replayed",
	     "raw GET /metrics -> holdfast_refusals_total{code=released}=0 holdfast_refusals_total{code=expired}=0"
	     " holdfast_replays_total=9",
	     "sku      A                          -> available=18 reserved=1");
}

/* A split makes an order, too; the one that releases its part at once is told of its success. */
Test(replay, of_a_split_whose_part_is_over)
{
	flow("receipt  A +20                      -> 201",
	     "reserve  R1 A=10 ttl=60             -> 201 held",
	     "split    R1 S1 A=1                  -> 201 held",
	     "split    R1 S2 A=2 then=release     -> 201 released",
	     "split    R1 S3 A=3 then=confirm     -> 201 confirmed",
	     "split    R1 S4 A=1                  -> 201 held",
	     "release  S1                         -> released",
	     "release  S3                         -> released",
	     "tick     61",
	     "mark",
	     "split    R1 S1 A=1                  -> 409 released replayed A=1",
	     "split    R1 S2 A=2 then=release     -> 200 released replayed A=2",
	     "split    R1 S3 A=3 then=confirm     -> 409 released replayed A=3 reservation.order_id=S3",
	     "split    R1 S4 A=1                  -> 409 expired replayed A=1",
	     "split    R1 S5 A=1                  -> 409 expired !reservation",
	     "release  S2                         -> 200 released replayed",
	     "unchanged");
}

/* The order that a PUT has changed was released since. */
Test(replay, of_a_change_of_an_order_that_is_over)
{
	flow("receipt  A +20                      -> 201",
	     "reserve  R1 A=10 ttl=60             -> 201 held",
	     "amend    R1 A=4                     -> 200 A=4",
	     "reserve  R2 A=1                     -> 201 held",
	     "amend    R2 A=2                     -> 200 A=2",
	     "reserve  R3 A=1 replaces=R2         -> 201 held",
	     "tick     61",
	     "mark",
	     "amend    R1 A=4                     -> 409 expired replayed A=4",
	     "amend    R1 A=5                     -> 409 expired !reservation",
	     "amend    R2 A=2 if_version=1        -> 409 released replayed A=2 replaced_by=R3",
	     "amend    R2 A=1                     -> 409 released !reservation",
	     "reserve  R1 A=10                    -> 409 expired replayed A=4",
	     "unchanged");
}

/* The commonest replay on the day of a sale: the order was held, the stock is gone. */
Test(replay, sold_out)
{
	flow("receipt  A +10                      -> 201",
	     "reserve  R1 A=10                    -> 201 held",
	     "reserve  R1 A=10                    -> 200 held replayed",
	     "reserve  R2 A=1                     -> 409 short A requested=1 available=0",
	     "reserve  R1 A=10                    -> 200 held replayed",
	     "restart",
	     "reserve  R1 A=10                    -> 200 held replayed",
	     "release  R1                         -> released",
	     "reserve  R2 A=10                    -> 201",
	     "reserve  R1 A=10                    -> 409 released replayed");
}

Test(replay, best_effort_is_known_by_what_it_asked)
{
	flow("receipt  A +10                      -> 201",
	     "reserve  R1 A=15 mode=best_effort   -> 201 held A=10 short A requested=15 available=10",
	     "receipt  A +10                      -> 201",
	     "reserve  R1 A=15 mode=best_effort   -> 200 held replayed A=10",
	     "reserve  R1 A=15                    -> 200 held replayed A=10",
	     "reserve  R1 A=10 mode=best_effort   -> 422 order_id_reused",
	     "sku      A                          -> available=10 reserved=10");
}

/* The bits of `noted`; a row that was written before there were two of them has 1. */
Test(replay, best_effort_says_again_what_was_short)
{
	flow("serve    --lanes 1",
	     "receipt  A +10 B +10                    -> 201",
	     "reserve  R1 A=6 mode=best_effort reference=x  -> 201 held A=6 reference=x !short",
	     "reserve  R2 A=6 mode=best_effort        -> 201 held A=4 short A requested=6 available=4",
	     "reserve  R3 A=1 B=2 mode=best_effort reference=y -> 201 held B=2 short A requested=1 available=0",
	     "sql SELECT order_id, noted FROM reservation ORDER BY order_id -> R1,1 R2,2 R3,3",
	     "reserve  R1 A=6 mode=best_effort reference=x  -> 200 replayed reference=x !short",
	     "reserve  R2 A=6 mode=best_effort        -> 200 replayed short A requested=6 available=4",
	     "reserve  R3 A=1 B=2 mode=best_effort reference=y -> 200 replayed short A requested=1 available=0",
	     "sql UPDATE reservation SET noted = 1 WHERE order_id = 'R2' -> ",
	     "reserve  R2 A=6 mode=best_effort        -> 200 replayed short A requested=6 available=4");
}

Test(replay, movements)
{
	flow("receipt  M1 A +10 B +2 A@paris +1 reason=r reference=f -> 201",
	     "receipt  M1 A +10 B +2 A@paris +1 reason=r reference=f -> 200 replayed movement_id=M1 kind=receipt"
	     "                                       A=10 B=2 A@paris=1 reason=r reference=f created_at=~0",
	     "receipt  M1 A@paris +1 B@main +2 A +4 A +6 reason=r reference=f -> 200 replayed",
	     "mark",
	     "receipt  M1 A +10 B +2 A@paris +1                      -> 422 movement_id_reused",
	     "receipt  M1 A +10 B +2 A@paris +1 reason=r             -> 422 movement_id_reused",
	     "receipt  M1 A +10 B +2 A@paris +1 reason=r reference=g -> 422 movement_id_reused",
	     "receipt  M1 A +10 B +2 A@paris +1 reason=f reference=r -> 422 movement_id_reused",
	     "receipt  M1 A +11 B +2 A@paris +1 reason=r reference=f -> 422 movement_id_reused",
	     "receipt  M1 A +10 B +2 reason=r reference=f            -> 422 movement_id_reused",
	     "return   M1 A +10 B +2 A@paris +1 reason=r reference=f -> 422 movement_id_reused",
	     "adjust   M1 A +10 B +2 A@paris +1 reason=r reference=f -> 422 movement_id_reused",
	     "count    M1 A=10 B=2 A@paris=1 reason=r reference=f    -> 422 movement_id_reused",
	     "receipt  M1 GHOST +1                                   -> 422 movement_id_reused",
	     "unchanged",
	     "sku      A                                             -> available=11",
	     "sku      GHOST                                         -> 404 unknown_sku");
}

/* A replay is judged by its id, before the stock: it is right even where it could not be done any more. */
Test(replay, movements_that_could_not_be_done_again)
{
	flow("receipt  A +10                      -> 201",
	     "adjust   M1 A -8                    -> 201 A=-8",
	     "adjust   M1 A -8                    -> 200 replayed A=-8",
	     "count    M2 A=9 expected=2          -> 201 A=7",
	     "count    M2 A=9 expected=2          -> 200 replayed A=7",
	     "adjust   A -4                       -> 201",
	     "count    M2 A=9 expected=2          -> 200 replayed A=7",
	     "count    M2 A=5 expected=2          -> 422 movement_id_reused",
	     "count    M2 A=9                     -> 422 movement_id_reused",
	     "sku      A                          -> available=5",
	     "count    M3 A=9000000000000000      -> 201",
	     "return   M4 A +1                    -> 409 limit",
	     "adjust   A -1                       -> 201",
	     "return   M4 A +1                    -> 201",
	     "return   M4 A +1                    -> 200 replayed",
	     "sku      A                          -> available=9000000000000000");
}

Test(replay, survives_a_restart)
{
	flow("receipt  M1 A +10                   -> 201",
	     "reserve  R1 A=4                     -> 201",
	     "confirm  R1                         -> confirmed",
	     "restart",
	     "receipt  M1 A +10                   -> 200 replayed",
	     "receipt  M1 A +11                   -> 422 movement_id_reused",
	     "reserve  R1 A=4                     -> 200 confirmed replayed",
	     "reserve  R1 A=5                     -> 422 order_id_reused",
	     "confirm  R1                         -> 200 confirmed replayed",
	     "sku      A                          -> available=6 reserved=4");
}

/* Twins meet at the same instant: one of them has the effect, and none is told `short` for the sake of a twin. */
Test(replay, twins)
{
	flow("receipt  A +1                       -> 201",
	     "race 2   reserve R1 A=1             -> 1x 201 held | 1x 200 held replayed",
	     "release  R1                         -> 200",
	     "race 16  reserve R2 A=1             -> 1x 201 held | 15x 200 held replayed",
	     "race 16  confirm R2                 -> 1x 200 confirmed | 15x 200 confirmed replayed",
	     "race 16  release R2                 -> 1x 200 released | 15x 200 released replayed",
	     "race 16  receipt M1 A +1            -> 1x 201 | 15x 200 replayed",
	     "race 16  adjust  M2 A -2            -> 1x 201 | 15x 200 replayed",
	     "sku      A                          -> available=0 reserved=0");
}

Test(replay, twins_of_other_content)
{
	flow("receipt  A +10                              -> 201",
	     "race 2   reserve R1 A=1 || reserve R1 A=2   -> 1x 201 held | 1x 422 order_id_reused",
	     "race 2   receipt M1 A +1 || receipt M1 A +2 -> 1x 201 | 1x 422 movement_id_reused");
}

Test(replay, twins_through_four_lanes)
{
	flow("serve    --lanes 4",
	     "receipt  A +4                       -> 201",
	     "race 32  reserve R1 A=1 || reserve R2 A=1 || reserve R3 A=1 || reserve R4 A=1 ->"
	     "                                       4x 201 held | 28x 200 held replayed",
	     "reserve  R5 A=1                     -> 409 short A requested=1 available=0",
	     "race 32  reserve R1 A=1 || reserve R2 A=1 || reserve R5 A=1 || confirm R3 ->"
	     "                                       16x 200 held replayed | 8x 409 short | 1x 200 confirmed"
	     "                                     | 7x 200 confirmed replayed",
	     "sku      A                          -> available=0 reserved=4");
}

Test(replay, twins_on_two_processes)
{
	flow("receipt  A +1                       -> 201",
	     "second",
	     "race 2   reserve R1 A=1             -> 1x 201 held | 1x 200 held replayed",
	     "race 16  reserve R1 A=1             -> 16x 200 held replayed",
	     "release  R1                         -> released",
	     "race 16  reserve R2 A=1             -> 1x 201 held | 15x 200 held replayed",
	     "race 16  confirm R2                 -> 1x 200 confirmed | 15x 200 confirmed replayed",
	     "race 16  release R2                 -> 1x 200 released | 15x 200 released replayed",
	     "race 16  receipt M1 A +1            -> 1x 201 | 15x 200 replayed",
	     "race 16  adjust  M2 A -2            -> 1x 201 | 15x 200 replayed",
	     "race 2   reserve R3 A=1 || reserve R3 A=2 -> 2x 409 short",
	     "sku      A                          -> available=0 reserved=0");
}

/* Equal slot numbers cost speed only. */
Test(replay, twins_on_two_processes_of_one_slot)
{
	flow("receipt  A +1                       -> 201",
	     "second   --lanes 2",
	     "race 16  reserve R1 A=1             -> 1x 201 held | 15x 200 held replayed",
	     "race 16  receipt M1 A +1 NEW +1     -> 1x 201 | 15x 200 replayed",
	     "race 16  reserve R2 A=1 NEW=1       -> 1x 201 held | 15x 200 held replayed",
	     "sku      A                          -> available=0 reserved=2",
	     "sku      NEW                        -> available=0 reserved=1");
}

/* Pairs of twins, many at a time, so that some meet within one transaction and some do not. */
Test(replay, many_twins)
{
	flow("serve    --lanes 4",
	     "receipt  A +400                     -> 201",
	     "second   --lanes 4 --slot 4",
	     "race 32*10 reserve R# A=1           -> 320x 201 held",
	     "race 32*10 reserve R# A=1           -> 320x 200 held replayed",
	     "race 32*10 reserve R# A=2           -> 320x 422 order_id_reused",
	     "race 32*10 confirm R#               -> 320x 200 confirmed",
	     "race 32*10 release R# || release R# -> 320x 200 released",
	     "race 32*10 release R# || confirm R# -> 160x 200 released replayed | 160x 409 released",
	     "sku      A                          -> available=400 reserved=0");
}

/* The id was looked up before the locks, and the twin came in between. */
Test(replay, twins_of_a_count)
{
	flow("second   --slot 1",
	     "receipt  A +5                 -> 201",
	     "race 8   count M1 A=7 expected=5 -> 1x 201 | 7x 200 replayed",
	     "sku      A                    -> on_hand=7");
}
