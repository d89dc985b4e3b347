/* test_expected.c - adjustments that are made only while there are as many units as they say. */
#include "tests/lang/flow.h"

Test(expected, only_while_the_level_is_that)
{
	flow("receipt A +10 A@shop +4 B +3              -> 201",
	     "reserve R1 A=4                            -> 201",
	     "adjust  M1 A -2 expected=10               -> 201 kind=adjustment A=-2",
	     "adjust  M1 A -2 expected=10               -> 200 replayed A=-2",
	     "mark",
	     "adjust  M2 A -2 expected=10               -> 409 count_mismatch A expected=10 on_hand=8 lines=1"
	     " !lines[0].requested",
	     "adjust  M2 A +5 expected=0                -> 409 count_mismatch A expected=0 on_hand=8",
	     "adjust  M2 A -1 expected=8 B +1 expected=4 A@shop +1 -> 409 count_mismatch lines=1"
	     " B expected=4 on_hand=3",
	     "adjust  M2 A -9 expected=9 B -9           -> 409 count_mismatch lines=1 A expected=9 on_hand=8",
	     "adjust  M2 A -9 expected=8                -> 409 short A requested=9 available=4",
	     "adjust  M2 A -5 expected=8                -> 409 short A requested=5 available=4",
	     "adjust  M2 GHOST +1 expected=0            -> 422 unknown_sku",
	     "adjust  M2 A@nowhere -1 expected=0        -> 409 short A@nowhere requested=1 available=0",
	     "unchanged",
	     "adjust  M2 A -1 expected=8 B +1 expected=3 A@shop +1 -> 201 A=-1 B=1 A@shop=1",
	     "adjust  A@new +2 expected=0               -> 201 A@new=2 new_locations=new",
	     "sku     A                                 -> on_hand=14 reserved=4 @main on_hand=7 @shop on_hand=5",
	     "run     audit                             -> 0");
}

Test(expected, is_content)
{
	flow("receipt A +10                             -> 201",
	     "adjust  M1 A -1 expected=10               -> 201",
	     "adjust  M1 A -1 expected=9                -> 422 movement_id_reused",
	     "adjust  M1 A -1                           -> 422 movement_id_reused",
	     "adjust  M2 A -1                           -> 201",
	     "adjust  M2 A -1 expected=9                -> 422 movement_id_reused");
}

Test(expected, refused)
{
#define LINE(members) "raw POST /v1/movements {'movement_id':'M1','kind':" members "} -> 400 "
	flow("receipt A +10 -> 201",
	     "mark",
	     LINE("'adjustment','lines':[{'sku':'A','qty':1,'expected':-1}]") "field=lines[0].expected",
	     LINE("'adjustment','lines':[{'sku':'A','qty':1,'expected':'x'}]") "field=lines[0].expected",
	     LINE("'adjustment','lines':[{'sku':'A','qty':1,'expected':9000000000000001}]") "field=lines[0].expected",
	     LINE("'receipt','lines':[{'sku':'A','qty':1,'expected':10}]") "field=lines[0].expected",
	     LINE("'return','lines':[{'sku':'A','qty':1,'expected':10}]") "field=lines[0].expected",
	     LINE("'adjustment','lines':[{'sku':'A','qty':1,'expected':10},{'sku':'A','qty':1}]") "field=lines",
	     LINE("'adjustment','lines':[{'sku':'A','qty':1},{'sku':'A','qty':1,'expected':10}]") "field=lines",
	     "unchanged");
}

/* The time of the last count stays, and a hold past its time counts as what is there. */
Test(expected, beside_counts_and_holds)
{
	flow("receipt A +10                             -> 201",
	     "reserve R1 A=6 ttl=60                     -> 201",
	     "tick    100",
	     "count   A=10 as_of=-50                    -> 201 A=0",
	     "adjust  A -7 expected=10                  -> 201 A=-7",
	     "count   A=9 as_of=-60                     -> 409 count_mismatch A counted_at=~-50",
	     "count   A=10 as_of=-40                    -> 201 A=0",
	     "sku     A                                 -> on_hand=3",
	     "run     audit                             -> 0");
}

/* Promised units that are lost, only while as many are there as was seen. */
Test(expected, of_lost_units)
{
	flow("raw PUT /v1/locations/bo {'kind':'incoming'} -> 201",
	     "receipt A +5                              -> 201",
	     "reserve R1 A=4 confirm=true               -> 201",
	     "adjust  L1 A -3 expected=6 short=backorder to=bo -> 409 count_mismatch A expected=6 on_hand=5",
	     "adjust  L1 A -3 expected=5 short=backorder to=bo -> 201 A=-3 A@bo=2 backordered=1",
	     "sku     A                                 -> on_hand=2 incoming.reserved=2",
	     "run     audit                             -> 0");
}

/* What is promised, as GET shows it. */
Test(expected, at_incoming_locations)
{
	flow("raw PUT /v1/locations/po {'kind':'incoming'} -> 201",
	     "receipt A@po +5                           -> 201",
	     "reserve R1 A@po=2 confirm=true            -> 201",
	     "adjust  A@po -1 expected=3                -> 409 count_mismatch A@po expected=3 on_hand=5",
	     "adjust  A@po -4 expected=5                -> 409 short A@po requested=4 available=3",
	     "adjust  A@po -3 expected=5                -> 201 A@po=-3",
	     "adjust  A@po +8 expected=2                -> 201",
	     "sku     A                                 -> incoming.available=8 incoming.reserved=2",
	     "run     audit                             -> 0");
}

/* Of those that rest on one level one is made, over two services. */
Test(expected, of_many_at_once)
{
	flow("serve   --lanes 2",
	     "second  --lanes 2 --slot 8",
	     "receipt A +100 B +100                     -> 201",
	     "race 16*4 adjust A +1 expected=100        -> 1x 201 | 63x 409 count_mismatch",
	     "race 16*4 adjust A -1 expected=101 || reserve R# A=1 || receipt B +1 -> 1x 201 A=-1 | *x 201 | "
	     "*x 409 count_mismatch",
	     "race 16*4 adjust B +1 expected=121 || count B=121 expected=121 || receipt B +1"
	     " || adjust B +2 expected=121 -> *x 201 | *x 409 count_mismatch",
	     "sku     A                                 -> on_hand=100",
	     "run     audit                             -> 0");
}
