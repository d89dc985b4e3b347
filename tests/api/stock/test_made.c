/* test_made.c - mistakes at the door: orders at locations that do not exist, and movements that make new skus and
 * locations, or may not. */
#include "tests/lang/flow.h"

Test(made, orders_name_locations_that_exist)
{
	flow("receipt A +5 A@paris +5               -> 201",
	     "receipt B@lyon +1                     -> 201",
	     "raw PUT /v1/locations/back {'kind':'aside'} -> 201",
	     "mark",
	     "reserve R1 A@pairs=1                  -> 422 unknown_location A@pairs lines=1 !lines[0].requested"
	     " 'detail=a location that does not exist'",
	     "reserve R1 A=9 A@pairs=1 A@paris=1    -> 422 unknown_location A@pairs lines=1",
	     "reserve R1 A@pairs=1 A@pairs=2 A@nowhere=1 -> 422 unknown_location A@pairs A@nowhere lines=2",
	     "reserve R1 A@pairs=1 mode=best_effort -> 422 unknown_location A@pairs",
	     "reserve R1 A@paris,pairs=1            -> 422 unknown_location lines=1 lines[0].locations=paris,pairs"
	     " !lines[0].location !lines[0].available",
	     "reserve R1 A@paris+pairs=1 A@lyon,paris=1 -> 422 unknown_location lines=1 lines[0].locations=paris,pairs",
	     "reserve R1 A@pairs=1 GHOST=1          -> 422 unknown_sku GHOST lines=1",
	     "reserve R1 A@pairs=1 A@back=1         -> 422 unknown_location A@pairs lines=1",
	     "reserve R1 A@back=1 A=9               -> 409 not_for_sale A@back lines=1",
	     "reserve R1 A@lyon=1                   -> 409 short A@lyon requested=1 available=0",
	     "reserve R1 A@pairs=1 replaces=R9      -> 422 unknown_order field=replaces",
	     "batch R1 A@pairs=1 | R2 A=9 | R3 GHOST=1 -> 422 unknown_location A@pairs | 409 short | 422 unknown_sku",
	     "get R1                                -> 404 unknown_order",
	     "unchanged",
	     "reserve R1 A@paris=1                  -> 201",
	     "reserve R1 A@pairs=1                  -> 422 order_id_reused",
	     "amend R1 A@paris=1 A@pairs=1          -> 422 unknown_location A@pairs lines=1",
	     "amend R1 A@paris,pairs=2              -> 422 unknown_location lines[0].locations=paris,pairs",
	     "split R1 S1 A@pairs=1                 -> 422 not_in_order lines[0].location=pairs",
	     "receipt B@pairs +1                    -> 201",
	     "reserve R2 A@pairs=1                  -> 409 short A@pairs available=0",
	     "raw GET /metrics                      -> holdfast_refusals_total{code=unknown_location}=10");
}

/* `main` is a location like others. */
Test(made, main_where_it_does_not_exist)
{
	flow("receipt A@paris +5    -> 201",
	     "reserve R1 A=1        -> 422 unknown_location A lines[0].location=main",
	     "receipt B +1          -> 201",
	     "reserve R1 A=1        -> 409 short A available=0");
}

/* The other process has not heard of the location, until an order names it. */
Test(made, a_location_that_another_process_made)
{
	flow("serve   --lanes 1",
	     "second  --lanes 1 --slot 1",
	     "receipt A +5 -> 201",
	     "@2 reserve R0 A=1 -> 201",
	     "@2 reserve R1 A@paris=1 -> 422 unknown_location A@paris",
	     "receipt A@paris +5 -> 201",
	     "@2 reserve R1 A@paris=1 -> 201",
	     "receipt A@nice +5 -> 201",
	     "@2 reserve R2 A@lyon,nice=1 -> 422 unknown_location lines[0].locations=lyon,nice",
	     "@2 reserve R2 A@paris,nice=5 -> 201 A@nice=5",
	     "receipt A@lyon +5 -> 201",
	     "@2 reserve R3 A@lyon+nice=5 -> 201 A@lyon=5");
}

/* While other processes make locations, no order is told that one is unknown which was made before. */
Test(made, races)
{
	flow("serve   --lanes 2",
	     "second  --lanes 2 --slot 8",
	     "receipt A +1 -> 201",
	     "race 8*20 receipt A@L# +1 -> 160x 201",
	     "race 8*20 reserve R# A@L#=1 -> 160x 201",
	     "race 16*2 receipt B@M +1 || reserve S# A@M=1 -> *x 201 | *x 422 unknown_location | *x 409 short",
	     "reserve T A@M=1 -> 409 short");
}

Test(made, the_answer_says_what_is_new)
{
	flow("receipt M1 A +1                       -> 201 new_skus=A new_locations=main",
	     "receipt M1 A +1                       -> 200 replayed !new_skus !new_locations",
	     "movement M1                           -> 200 !new_skus !new_locations",
	     "receipt A +1                          -> 201 !new_skus !new_locations",
	     "receipt C@z +1 B@y +1 C@y +1 A@z +1 A@x +1 B@x +2 B@x +1 -> 201 new_skus=B,C new_locations=x,y,z",
	     "adjust A@w +1 A@w +1                  -> 201 new_locations=w !new_skus",
	     "adjust A@w -1                         -> 201 !new_locations",
	     "return B@v +1                         -> 201 new_locations=v",
	     "count A@u=0 A@main=7                  -> 201 new_locations=u A@u=0",
	     "transfer A@main>t=1 B@x>t=1           -> 201 new_locations=t !new_skus",
	     "adjust A@s -1                         -> 409 short !new_locations",
	     "raw PUT /v1/skus/E {}                 -> 201",
	     "raw PUT /v1/locations/po {'kind':'incoming'} -> 201",
	     "receipt E@po +3                       -> 201 !new_skus !new_locations",
	     "arrival E@po>q=3                      -> 201 new_locations=q lines[0].for_sale=3",
	     "events types=movement.receipt limit=1 -> items[0].data.movement_id=M1 !items[0].data.new_skus");
}

/* The first program found no sku when it looked, and what it makes it names. */
Test(made, by_another_process_it_is_not_new)
{
	flow("serve   --lanes 1",
	     "second  --lanes 1 --slot 1",
	     "receipt A@x +1                        -> 201 new_skus=A new_locations=x",
	     "@2 receipt A@x +1                     -> 201 !new_skus !new_locations",
	     "@2 receipt B@y +1                     -> 201 new_skus=B new_locations=y",
	     "receipt B@y +1 C@y +1                 -> 201 new_skus=C !new_locations");
}

Test(made, create_false_makes_nothing)
{
	flow("receipt A +5 B +5                     -> 201",
	     "raw PUT /v1/locations/po {'kind':'incoming'} -> 201",
	     "receipt A@po +5                       -> 201",
	     "mark",
	     "receipt M1 A +1 GHOST +1 SPOOK@y +1 create=false -> 422 unknown_sku GHOST SPOOK@y lines=2",
	     "receipt M1 A +1 A@y +1 B@y +1 create=false -> 422 unknown_location A@y B@y lines=2 !lines[0].to",
	     "adjust M1 A@y +1 create=false         -> 422 unknown_location A@y lines=1",
	     "adjust M1 GHOST@y +1 create=false     -> 422 unknown_sku GHOST@y",
	     "adjust M1 A@y -1 create=false         -> 409 short A@y requested=1 available=0",
	     "return M1 A@y +1 create=false         -> 422 unknown_location A@y",
	     "count M1 A=5 A@y=0 create=false       -> 422 unknown_location A@y lines=1",
	     "transfer M1 A@main>y=1 A@main>po=1 create=false -> 422 unknown_location A@y lines=1",
	     "transfer M1 A@y>main=1 create=false   -> 409 short lines[0].location=y",
	     "arrival M1 A@po>y=1 create=false      -> 422 unknown_location A@y lines=1",
	     "raw POST /v1/movements {'movement_id':'M1','kind':'receipt','create':1,'lines':[{'sku':'A','qty':1}]}"
	     " -> 400 field=create",
	     "sku GHOST                             -> 404 unknown_sku",
	     "raw GET /v1/locations/y               -> 404 unknown_location",
	     "unchanged",
	     "receipt M1 A +1 create=false          -> 201 A=1 !new_skus",
	     "receipt M1 A +1                       -> 200 replayed",
	     "receipt M2 C@y +1 create=true         -> 201 new_skus=C new_locations=y",
	     "receipt M2 C@y +1 create=false        -> 200 replayed");
}

Test(made, serve_create_never)
{
	flow("serve --create=never",
	     "receipt M1 A +1                       -> 422 unknown_sku A",
	     "sku A                                 -> 404 unknown_sku",
	     "raw PUT /v1/skus/A {}                 -> 201",
	     "receipt M1 A +1                       -> 422 unknown_location A",
	     "receipt M1 A +1 create=false          -> 422 unknown_location A",
	     "receipt M1 A +1 create=true           -> 201 new_locations=main !new_skus",
	     "receipt M1 A +1                       -> 200 replayed",
	     "receipt M2 A +1                       -> 201",
	     "alone serve --db mariadb://a@localhost/b --create=maybe -> 78 '~--create takes always or never'",
	     "serve --create=always",
	     "receipt M3 B@x +1                     -> 201 new_skus=B new_locations=x");
}
