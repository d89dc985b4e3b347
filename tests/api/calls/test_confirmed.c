/* test_confirmed.c - held and confirmed in one step, references, long holds, and a grant in part that is told again. */
#include "tests/lang/flow.h"

Test(confirm_true, held_and_confirmed_in_one_step)
{
	flow("receipt A +10                            -> 201",
	     "reserve R1 A=4 ttl=60 confirm=true       -> 201 confirmed A=4 confirmed_at=~0 expires_at=~60 attempts=0",
	     "get     R1                               -> confirmed A=4 confirmed_at=~0 expires_at=~60",
	     "sku     A                                -> available=6 reserved=4",
	     "reserve R1 A=4                           -> 200 confirmed replayed",
	     "reserve R1 A=4 confirm=true              -> 200 confirmed replayed",
	     "confirm R1                               -> 200 confirmed replayed",
	     "reserve R2 A=1                           -> 201 held",
	     "reserve R2 A=1 confirm=true              -> 200 held replayed",
	     "get     R2                               -> held",
	     "reserve R3 A=7 confirm=true              -> 409 short",
	     "reserve R3 A=7 confirm=true mode=best_effort -> 201 confirmed A=5 short[0].requested=7",
	     "batch R4 A=1 confirm=true | R1 A=4 confirm=true -> 409 short | 200 confirmed replayed",
	     "tick    61",
	     "get     R1                               -> confirmed",
	     "claim   settle W                         -> 201 orders=2",
	     "complete 1                               -> completed=2",
	     "get     R1                               -> settled",
	     "raw POST /v1/reservations {'order_id':'R9','lines':[{'sku':'A','qty':1}],'confirm':1} -> 400 "
	     "field=confirm",
	     "sku     A                                -> available=0 reserved=1 on_hand=1");
}

Test(reference, is_kept_and_answered)
{
	flow("receipt A +10                            -> 201",
	     "reserve R1 A=1 reference=cart-7          -> 201 held reference=cart-7",
	     "get     R1                               -> held reference=cart-7",
	     "reserve R1 A=1                           -> 200 held replayed reference=cart-7",
	     "reserve R1 A=1 reference=other           -> 200 held replayed reference=cart-7",
	     "list                                     -> items=R1 items[0].reference=cart-7",
	     "confirm R1                               -> confirmed reference=cart-7",
	     "reserve R2 A=1                           -> 201 !reference",
	     "reserve R3 A=1 replaces=R2 reference=new -> 201 reference=new",
	     "get     R2                               -> released !reference replaced_by=R3",
	     "reserve R4 A=1 replaces=R3               -> 201 !reference",
	     "get     R3                               -> released reference=new replaced_by=R4",
	     "reserve R7 A=2 reference=two             -> 201 reference=two",
	     "split   R7 S7 A=1                        -> 201 !reference",
	     "get     S7                               -> held !reference",
	     "get     R7                               -> held A=1 reference=two",
	     "raw POST /v1/reservations {'order_id':'R5','lines':[{'sku':'A','qty':1}],'reference':'Caf\u00e9 "
	     "\u2615'} -> "
	     "201 reference=*",
	     "raw POST /v1/reservations {'order_id':'R6','lines':[{'sku':'A','qty':1}],'reference':7} -> 400 "
	     "field=reference");
}

/* The units asked for and granted are kept: after a split they could not be derived. */
Test(short, is_told_again)
{
	flow("receipt A +5                          -> 201",
	     "receipt B +2                          -> 201",
	     "receipt C +9                          -> 201",
	     "reserve R1 C=1 B=3 A=9 mode=best_effort -> 201 lines=3 short=2 short[0].sku=A short[0].requested=9 "
	     "short[0].available=5 short[1].requested=3 short[1].available=2",
	     "reserve R1 A=9 B=3 C=1 mode=best_effort -> 200 replayed lines=3 short=2 short[0].sku=A "
	     "short[0].requested=9 "
	     "short[0].available=5 short[1].requested=3 short[1].available=2",
	     "split   R1 S1 A=5 B=1                 -> 201",
	     "batch R1 A=9 B=3 C=1 mode=best_effort | R2 C=1 -> 200 replayed short=2 short[0].available=5 | 201 !short",
	     "restart",
	     "reserve R1 A=9 B=3 C=1                -> 200 replayed short=2 short[1].available=2 B=1",
	     "reserve R1 A=9 B=3 C=2                -> 422 order_id_reused !short !lines",
	     "reserve R2 C=1                        -> 200 replayed !short",
	     "get     R1                            -> held !short");
}
