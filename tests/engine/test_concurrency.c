/* test_concurrency.c - many clients at once, over lanes and processes: never a unit too many, never one too few. */
#include "tests/lang/flow.h"

Test(concurrency, last_units)
{
	flow("serve    --lanes 4",
	     "receipt  A +10                  -> 201",
	     "race 64  reserve R# A=1         -> 10x 201 held | 54x 409 short A available=0",
	     "sku      A                      -> available=0 reserved=10 on_hand=10",
	     "race 64  reserve R# A=1         -> 10x 200 held replayed | 54x 409 short");
}

/* The units came in through all lanes, so they lie in all slots. */
Test(concurrency, last_units_from_every_slot)
{
	flow("serve    --lanes 4",
	     "race 16*2 receipt A +2 B +1     -> 32x 201",
	     "race 64  reserve R# A=1 B=1     -> 32x 201 held | 32x 409 short",
	     "sku      A                      -> available=32 reserved=32",
	     "sku      B                      -> available=0 reserved=32",
	     "race 64  reserve Q# A=3         -> 10x 201 held | 54x 409 short A available=2",
	     "sku      A                      -> available=2 reserved=62");
}

Test(concurrency, last_units_two_processes)
{
	flow("serve    --lanes 2",
	     "second   --lanes 2 --slot 2",
	     "race 8*4 receipt A +1           -> 32x 201",
	     "race 64  reserve R# A=1         -> 32x 201 held | 32x 409 short A available=0",
	     "sku      A                      -> available=0 reserved=32",
	     "@2 sku   A                      -> available=0 reserved=32");
}

Test(concurrency, last_units_two_processes_of_one_slot)
{
	flow("serve    --lanes 2",
	     "second   --lanes 2",
	     "race 8*4 receipt A +1           -> 32x 201",
	     "race 64  reserve R# A=1         -> 32x 201 held | 32x 409 short A available=0",
	     "race 16  receipt NEW@l# +1 || receipt NEW +1 -> 16x 201",
	     "race 64  reserve Q# NEW=1       -> 8x 201 held | 56x 409 short",
	     "sku      NEW                    -> available=8 reserved=8");
}

/* Orders of many skus in opposite order; each takes one of each, so exactly as many succeed as there are units. */
Test(concurrency, opposite_orders)
{
#define SKUS(qty) "A=" qty " B=" qty " C=" qty " D=" qty " E=" qty " F=" qty " G=" qty " H=" qty
#define BACK(qty) "H=" qty " G=" qty " F=" qty " E=" qty " D=" qty " C=" qty " B=" qty " A=" qty
#define IN        "A +5 B +5 C +5 D +5 E +5 F +5 G +5 H +5"
	flow("serve    --lanes 4",
	     "second   --lanes 4 --slot 4",
	     "race 8   receipt " IN "         -> 8x 201",
	     "race 64  reserve R# " SKUS("1") " || reserve R# " BACK("1") " -> 40x 201 held | 24x 409 short",
	     "sku      A                      -> available=0 reserved=40",
	     "sku      H                      -> available=0 reserved=40",
	     "race 64  release R#             -> 40x 200 released | 24x 404 unknown_order",
	     "race 64*3 reserve Q# " SKUS("1") " || reserve Q# " BACK(
	     "1") "       || reserve Q# D=1 C=1 || reserve Q# C=1 D=1 -> 40x 201 held | 152x 409 short",
	     "sku      C                      -> available=0 reserved=40",
	     "sku      D                      -> available=0 reserved=40");
}

Test(concurrency, best_effort_gives_everything_away)
{
	flow("serve    --lanes 4",
	     "second   --lanes 4 --slot 4",
	     "race 8   receipt A +12          -> 8x 201",
	     "reserve  ODD A=3                -> 201",
	     "race 64  reserve R# A=2 mode=best_effort ->"
	     "   46x 201 held A=2 !short | 1x 201 held A=1 short A requested=2 available=1"
	     " | 17x 409 short A available=0",
	     "sku      A                      -> available=0 reserved=96");
}

Test(concurrency, reserve_and_release)
{
	flow("serve    --lanes 4",
	     "second   --lanes 4 --slot 4",
	     "receipt  A +1000 B +1000        -> 201",
	     "race 32*10 reserve R# A=2 B=1   -> 320x 201 held",
	     "race 64*10 release R# || reserve Q# A=1 B=2 ->"
	     "   *x 200 released | *x 404 unknown_order | *x 201 held | *x 409 short",
	     "race 64*10 release R# || release Q# -> *x 200 released | *x 200 released replayed | *x 404 unknown_order",
	     "race 64*10 release Q# || release R# -> *x 200 released | *x 200 released replayed | *x 404 unknown_order",
	     "sku      A                      -> available=1000 reserved=0",
	     "sku      B                      -> available=1000 reserved=0");
}

/* Each unit is resolved once: of a confirmation and a release of the same hold, the release wins or comes after it. */
Test(concurrency, confirm_against_release)
{
	flow("serve    --lanes 4",
	     "second   --lanes 4 --slot 4",
	     "receipt  A +64                  -> 201",
	     "reserve  R A=4                  -> 201",
	     "race 64  confirm R || release R || extend R ttl=60 ->"
	     "   1x 200 released | *x 200 released replayed | *x 200 confirmed | *x 200 confirmed replayed"
	     " | *x 200 held | *x 409 released | *x 409 confirmed",
	     "get      R                      -> released",
	     "sku      A                      -> available=64 reserved=0");
}

Test(concurrency, expired_units_go_to_one_buyer)
{
	flow("serve    --lanes 4",
	     "second   --lanes 4 --slot 4",
	     "receipt  A +16                  -> 201",
	     "race 16  reserve OLD# A=1 ttl=60 -> 16x 201",
	     "tick     61",
	     "race 64  reserve NEW# A=1 || confirm OLD3 reacquire || reserve NEW# A=1 || reserve NEW# A=1 ->"
	     "   *x 201 held | *x 200 confirmed | *x 200 confirmed replayed | *x 409 short",
	     "sku      A                      -> available=0 reserved=16");
}

Test(concurrency, adjustments)
{
	flow("serve    --lanes 4",
	     "second   --lanes 4 --slot 4",
	     "race 10  receipt A +1           -> 10x 201",
	     "race 64  adjust A -1            -> 10x 201 A=-1 | 54x 409 short",
	     "sku      A                      -> available=0 on_hand=0",
	     "race 10  return A +1            -> 10x 201",
	     "race 64  adjust A -1 || reserve R# A=1 -> *x 201 A=-1 | *x 201 held | *x 409 short",
	     "availability A                  -> A available=0");
}

/* A count is absolute, so whatever happens meanwhile it must see all of it. */
Test(concurrency, counts)
{
	flow("serve    --lanes 4",
	     "second   --lanes 4 --slot 4",
	     "receipt  A +500                 -> 201",
	     "race 32*2 count A=500 || reserve R# A=1 || receipt A +1 || adjust A -1 -> *x 201",
	     "count    A=500                  -> 201",
	     "sku      A                      -> reserved=16 on_hand=500",
	     "race 16  count A=500 expected=500 || count A=499 expected=500 ->"
	     "   *x 201 | *x 409 count_mismatch A expected=500",
	     "sku      A                      -> on_hand=499");
}

/* New skus and locations made by many at once. */
Test(concurrency, new_codes)
{
	flow("serve    --lanes 4",
	     "second   --lanes 4 --slot 4",
	     "race 64  receipt N1 +1 N2@x +1 N3 +1 || receipt N3 +1 N2@x +1 N1 +1 -> 64x 201",
	     "sku      N1                     -> available=64",
	     "sku      N2                     -> available=64 locations=x",
	     "race 32*4 receipt S#@l# +1      -> 128x 201",
	     "skus     limit=1000             -> items=131");
}

Test(concurrency, batches)
{
	flow("serve    --lanes 4",
	     "second   --lanes 4 --slot 4",
	     "receipt  A +100 B +100          -> 201",
	     "race 32*2 batch a# A=1 B=1 | b# B=1 A=1 | c# A=2 | d# GHOST=1 -> 64x 200 results=4",
	     "sku      A                      -> available=0 reserved=100",
	     "race 32*2 batch a# A=1 B=1 | b# B=1 A=1 | c# A=2 | d# GHOST=1 -> 64x 200 results=4",
	     "sku      A                      -> available=0 reserved=100");
}
