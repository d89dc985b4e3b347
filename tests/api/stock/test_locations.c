/* test_locations.c - lines that name several locations: where their units come from, and what a refusal says. One lane
 * where the place matters: what a lane knows of the others' work may be older. */
#include "tests/lang/flow.h"
#include "tests/lang/steps.h"

Test(locations, the_first_that_has_the_whole_line)
{
	flow("serve   --lanes 1",
	     "receipt A@paris +5 A@lyon +9 A@nice +9 B@moon +1 B@mars +1 -> 201",
	     "reserve R1 A@paris,lyon=6           -> 201 held lines=1 A@lyon=6",
	     "reserve R2 A@paris,lyon=5           -> 201 held lines=1 A@paris=5",
	     "reserve R3 A@paris,lyon,nice=1      -> 201 held lines=1 A@lyon=1",
	     "reserve R4 A@moon,nice=2            -> 201 held lines=1 A@nice=2",
	     "get     R3                          -> held lines=1 A@lyon=1",
	     "reserve R5 A@paris,lyon,nice=8      -> 409 short lines=1 lines[0].locations=paris,lyon,nice"
	     " lines[0].requested=8 lines[0].available=7 !lines[0].location",
	     "reserve R5 A@moon,mars=1            -> 409 short lines[0].locations=moon,mars lines[0].available=0",
	     "release R2                          -> 200",
	     "reserve R6 A@paris,lyon=2           -> 201 A@paris=2",
	     "sku A -> available=12 reserved=11 @paris available=3 @lyon available=2 @nice available=7");
}

Test(locations, piece_by_piece)
{
	flow("serve   --lanes 1",
	     "receipt A@paris +5 A@lyon +9 A@nice +9 -> 201",
	     "reserve R1 A@paris+lyon+nice=16     -> 201 held lines=3 A@paris=5 A@lyon=9 A@nice=2",
	     "reserve R2 A@paris+nice=8           -> 409 short lines=1 lines[0].locations=paris,nice"
	     " lines[0].requested=8 lines[0].available=7 !lines[0].may_split",
	     "reserve R2 A@paris+nice=7           -> 201 held lines=1 A@nice=7",
	     "reserve R3 A@paris+nice=1           -> 409 short lines[0].available=0",
	     "release R1                          -> 200",
	     "reserve R4 A@nice+paris=3           -> 201 A@nice=2 A@paris=1",
	     "sku A -> available=13 reserved=10 @paris available=4 @lyon available=9 @nice available=0");
}

/* Plain lines first, then by sku, those of one sku as sent. The answer has a line for each sku and location. */
Test(locations, lines_are_served_in_order)
{
	flow("serve   --lanes 1",
	     "receipt A@paris +5 A@lyon +5 B@paris +5 -> 201",
	     "reserve R1 A@paris,lyon=2 B@paris,lyon=1 A@paris=4 A@lyon+paris=2 ->"
	     " 201 held lines=3 A@paris=4 A@lyon=4 B@paris=1",
	     "release R1                          -> 200",
	     "reserve R2 A@paris,lyon=3 A@paris,lyon=2 A@paris+lyon=5 -> 201 lines=2 A@paris=5 A@lyon=5",
	     "release R2                          -> 200",
	     "reserve R3 A@paris,lyon=3 A@paris,lyon=4 A@paris,lyon=4 A@lyon+paris=9 -> 409 short lines=2"
	     " lines[0].locations=paris,lyon lines[0].requested=4 lines[0].available=2"
	     " lines[1].locations=lyon,paris lines[1].requested=9 lines[1].available=1",
	     "reserve R4 B@paris=6 A@paris,lyon=9 B@lyon,paris=1 -> 409 short lines=3"
	     " lines[0].location=paris lines[0].requested=6 lines[0].available=5"
	     " lines[1].sku=A lines[1].available=5 lines[2].locations=lyon,paris lines[2].available=0",
	     "sku A                               -> available=10 reserved=0",
	     "sku B                               -> available=5 reserved=0");
}

Test(locations, best_effort)
{
	flow("serve   --lanes 1",
	     "receipt A@paris +3 A@lyon +5 A@nice +5 B +1 -> 201",
	     "reserve R1 A@paris,lyon,nice=7 B=2 mode=best_effort -> 201 held lines=2 A@lyon=5 B=1 short=2"
	     " short[0].sku=B short[0].location=main short[0].available=1"
	     " short[1].locations=paris,lyon,nice short[1].requested=7 short[1].available=5",
	     "reserve R1 B=2 A@paris,lyon,nice=7 -> 200 replayed lines=2 short=2"
	     " short[0].location=main short[1].locations=paris,lyon,nice short[1].requested=7 short[1].available=5",
	     "reserve R2 A@lyon+paris+nice=9 A@paris,nice=1 mode=best_effort -> 201 held lines=2 A@paris=3 A@nice=5"
	     " short=2 short[0].requested=9 short[0].available=8 short[1].requested=1 short[1].available=0",
	     "restart",
	     "batch R2 A@lyon+paris+nice=9 A@paris,nice=1 | R3 A@lyon,paris=1 mode=best_effort ->"
	     " 200 replayed short=2 short[0].locations=lyon,paris,nice short[0].available=8 short[1].available=0"
	     " | 409 short lines=1 lines[0].available=0",
	     "split   R1 S1 A@lyon=2              -> 201",
	     "reserve R1 B=2 A@paris,lyon,nice=7  -> 200 replayed A@lyon=3 short[1].available=5",
	     "sku A                               -> available=0 reserved=13");
}

/* The order of places, of lines of one sku and may_split count; the order of skus does not; a list of one is that
 * location. */
Test(locations, fingerprint)
{
	flow("receipt A@paris +50 A@lyon +50 B@paris +50 B@lyon +50 -> 201",
	     "reserve R1 A@paris=2 B@paris,lyon=3 A@paris,lyon=1 A@lyon+paris=1 -> 201 A@paris=3 A@lyon=1 B@paris=3",
	     "reserve R1 A@paris,lyon=1 A@lyon+paris=1 A@paris=1 B@paris,lyon=3 A@paris=1 -> 200 replayed lines=3",
	     "reserve R1 A@paris,lyon=1 A@lyon+paris=1 A@paris,=2 B@paris,lyon=3 -> 200 replayed lines=3",
	     "reserve R1 A@paris=2 B@paris,lyon=3 A@lyon+paris=1 A@paris,lyon=1 -> 422 order_id_reused",
	     "reserve R1 A@paris=2 B@lyon,paris=3 A@paris,lyon=1 A@lyon+paris=1 -> 422 order_id_reused",
	     "reserve R1 A@paris=2 B@paris+lyon=3 A@paris,lyon=1 A@lyon+paris=1 -> 422 order_id_reused",
	     "reserve R1 A@paris=2 B@paris=3 A@paris,lyon=1 A@lyon+paris=1 -> 422 order_id_reused",
	     "reserve R1 A@paris=3 A@lyon=1 B@paris=3 -> 422 order_id_reused",
	     "reserve R2 A@paris=3             -> 201",
	     "reserve R2 A@paris,=3            -> 200 replayed",
	     "reserve R2 A@paris,=1 A@paris=2  -> 200 replayed",
	     "reserve R3 A=1                   -> 422 unknown_location lines[0].location=main",
	     "raw POST /v1/reservations {'order_id':'R2','lines':[{'sku':'A','qty':3,'locations':['paris'],"
	     "'may_split':true}]} -> 200 replayed A@paris=3",
	     "reserve R4 A@main,=1             -> 422 unknown_location lines[0].location=main !lines[0].locations",
	     "reserve R4 A@lyon,=1 mode=best_effort -> 201 A@lyon=1",
	     "sku A -> available=92 reserved=8");
}

Test(locations, refused)
{
#define LINE(members) "raw POST /v1/reservations {'order_id':'R1','lines':[{'sku':'A','qty':1," members "}]} -> 400 "
#define ELSEWHERE \
	"B@b +1 B@c +1 B@d +1 B@e +1 B@f +1 B@g +1 B@h +1 B@i +1 B@j +1 B@k +1 B@l +1 B@m +1 B@n +1 B@o +1 B@p +1 "
#define L16           "'a','b','c','d','e','f','g','h','i','j','k','l','m','n','o','p'"
	flow("receipt A@a +5 " ELSEWHERE "-> 201",
	     "mark",
	     LINE("'location':'a','locations':['b']") "invalid_request field=lines[0].location",
	     LINE("'location':'a','locations':['a','b']") "field=lines[0].location",
	     LINE("'location':7,'locations':['a','b']") "field=lines[0].location",
	     LINE("'may_split':true") "field=lines[0].may_split",
	     LINE("'may_split':false,'location':'a'") "field=lines[0].may_split",
	     LINE("'may_split':1,'locations':['a','b']") "field=lines[0].may_split",
	     LINE("'may_split':1,'locations':['a','a'],'location':'a'") "field=lines[0].may_split",
	     LINE("'locations':['a','a'],'location':'a'") "field=lines[0].locations",
	     LINE("'locations':['a','b','a']") "field=lines[0].locations",
	     LINE("'locations':[]") "field=lines[0].locations",
	     LINE("'locations':null") "field=lines[0].locations",
	     LINE("'locations':'a'") "field=lines[0].locations",
	     LINE("'locations':['a',1]") "field=lines[0].locations[1]",
	     LINE("'locations':['a','']") "field=lines[0].locations[1]",
	     LINE("'locations':['.']") "field=lines[0].locations[0]",
	     LINE("'locations':['a',null]") "field=lines[0].locations[1]",
	     LINE("'locations':[" L16 ",'q']") "field=lines[0].locations",
	     LINE("'locations':['a','b'],'locations':['a','b']") "invalid_request",
	     LINE("'locations':['a','b'],'places':1") "field=lines[0].places",
	     "raw POST /v1/reservations/batch {'reservations':[{'order_id':'R1','lines':[{'sku':'A','qty':1,"
	     "'locations':['b','b']}]},{'order_id':'R2','lines':[7]}]} -> 200 results[0].status=400 "
	     "results[0].field=lines[0].locations results[1].field=lines[0]",
	     "raw POST /v1/movements {'movement_id':'M1','kind':'receipt','lines':[{'sku':'A','qty':1,"
	     "'locations':['a']}]} -> 400 field=lines[0].locations",
	     "reserve R1 A@a,b=1 GHOST@b,a=1 SPOOK@a=1 -> 422 unknown_sku lines=2 lines[0].sku=SPOOK"
	     " lines[0].location=a lines[1].sku=GHOST lines[1].locations=b,a !lines[1].requested",
	     "unchanged",
	     "raw POST /v1/reservations {'order_id':'R1','lines':[{'sku':'A','qty':2,'locations':[" L16
	     "]}]} -> 201 A@a=2 lines=1",
	     "raw POST /v1/reservations/R1/split {'order_id':'S1','lines':[{'sku':'A','qty':1,'locations':['a']}]}"
	     " -> 400 field=lines[0].locations",
	     "raw POST /v1/reservations/R1/split {'order_id':'S1','lines':[{'sku':'A','qty':1,'location':'a',"
	     "'may_split':true}]} -> 400 field=lines[0].may_split");
}

/* 1,000 places in an order: 62 lists of 16 and 8 plain lines; one more is too many. */
Test(locations, at_most_a_thousand)
{
#define MANY "A@a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p=1 "
	flow_begin();
	flow_steps("receipt A@a +30 A@p +40 B +1 " ELSEWHERE "-> 201");
	flow_repeat("reserve R1 A@q=1 A@r=1 A@s=1 A@t=1 A@u=1 A@v=1 A@w=1 A@x=1 A@y=1 ", MANY, 62,
	            " -> 400 field=lines");
	flow_repeat("reserve R1 A@a=1 A@a=1 A@a=1 A@a=1 A@a=1 A@a=1 A@a=1 A@a=1 ", MANY, 62,
	            " -> 201 lines=2 A@a=30 A@p=40");
	flow_repeat("reserve R2 ", "A@a,b=1 ", 501, " -> 400 field=lines");
	flow_repeat("reserve R2 ", "A@a,b=1 ", 500, " -> 409 short lines=500");
	flow_repeat("reserve R2 ", "A=1 ", 1000, " -> 409 short lines=1");
	flow_steps("get R1 -> lines=2",
	           "sku A  -> available=0 reserved=70");
	flow_end();
}

/* Units of the order that is replaced count at their own place. */
Test(locations, replaces)
{
	flow("serve   --lanes 1",
	     "receipt A@paris +5 A@lyon +5 B@paris +1 -> 201",
	     "reserve R1 A@paris=4 A@lyon=5 B@paris=1 -> 201",
	     "reserve R2 A@paris,lyon=6 replaces=R1 -> 409 short lines[0].locations=paris,lyon lines[0].available=5",
	     "reserve R2 A@paris+lyon=11 replaces=R1 -> 409 short lines[0].available=10",
	     "reserve R2 A@paris,lyon=6          -> 409 short lines[0].available=1",
	     "get     R1                         -> held !replaced_by",
	     "reserve R2 A@paris,lyon=5 B@lyon,paris=1 replaces=R1 -> 201 held lines=2 A@paris=5 B@paris=1",
	     "get     R1                         -> released replaced_by=R2",
	     "sku A -> available=5 reserved=5 @paris available=0 @lyon available=5",
	     "sku B -> available=0 reserved=1",
	     "reserve R3 A@lyon,paris=3 A@paris,lyon=2 A@paris,lyon=4 A@paris+lyon=3 mode=best_effort replaces=R2 ->"
	     " 201 lines=2 A@paris=5 A@lyon=5 short=2 short[0].requested=4 short[0].available=3"
	     " short[1].requested=3 short[1].available=2",
	     "reserve R3 A@lyon,paris=3 A@paris,lyon=2 A@paris,lyon=4 A@paris+lyon=3 replaces=R2 ->"
	     " 200 replayed short=2 short[1].available=2",
	     "reserve R3 A@lyon,paris=3 A@paris,lyon=2 A@paris,lyon=4 A@paris+lyon=3 -> 422 order_id_reused",
	     "reserve R4 A@lyon,paris=5 replaces=R3 -> 201 A@lyon=5 lines=1",
	     "batch R5 A@lyon+paris=5 | R6 B@lyon,paris=2 | R7 A@paris+lyon=2 replaces=R5"
	     " confirm=true -> 201 A@paris=5 lines=1 | 409 short | 201 confirmed A@paris=2 lines=1",
	     "sku A -> available=3 reserved=7 @paris available=3 reserved=2 @lyon available=0",
	     "sku B -> available=1 reserved=0");
}

/* Replaced units lie in any slot, and so do those that come to them. */
Test(locations, replaces_over_slots)
{
	flow("serve   --lanes 4",
	     "second  --lanes 4 --slot 8",
	     "race 16*2 receipt A@x +1 A@y +1 A@z +1 -> 32x 201",
	     "race 8*16 reserve R# A@x,y,z=1 || reserve R# A@y+x=1 || reserve R# A@z,x=1 -> *x 201 | *x 409 short",
	     "race 8*24 reserve S# A@z,y,x=1 replaces=R# || reserve S# A@x+y+z=2 replaces=R# || release R#"
	     " || reserve S# A@y,z=2 A@x,z=1 replaces=R# mode=best_effort"
	     " -> *x 201 | *x 200 | *x 409 | *x 422 | *x 404",
	     "race 8*24 release R# -> *x 200 | *x 200 replayed | *x 404",
	     "race 8*24 release S# -> *x 200 | *x 404",
	     "sku A -> available=96 reserved=0");
}

Test(locations, confirmed_split_expired)
{
	flow("serve   --lanes 1",
	     "receipt A@paris +5 A@lyon +5       -> 201",
	     "reserve R1 A@paris+lyon=7 confirm=true -> 201 confirmed A@paris=5 A@lyon=2",
	     "split   R1 S1 A@paris=2 A@lyon=2 then=release -> 201 released A@paris=2 A@lyon=2",
	     "claim   settle W                   -> 201 orders=1",
	     "complete 1                         -> completed=1",
	     "sku     A                          -> available=7 on_hand=7 @paris available=2",
	     "reserve R2 A@paris+lyon=4 ttl=60   -> 201 A@paris=2 A@lyon=2",
	     "tick    61",
	     "reserve R3 A@paris+lyon=7 ttl=60   -> 201 A@paris=2 A@lyon=5",
	     "confirm R2 reacquire               -> 409 short lines=2 lines[0].location=lyon lines[0].requested=2"
	     " lines[0].available=0 lines[1].location=paris !lines[1].locations",
	     "tick    61",
	     "wait confirm R2 reacquire          -> 200 confirmed reacquired A@paris=2 A@lyon=2",
	     "sku     A                          -> available=3 reserved=4");
}

Test(locations, limit_of_a_key)
{
	flow("keys shop order held=10 | boss admin",
	     "serve --lanes 2",
	     "key boss",
	     "receipt A@x +50 A@y +50           -> 201",
	     "key shop",
	     "reserve R1 A@x,y=6 A@y+x=5        -> 429 rate_limited",
	     "reserve R1 A@x,y=6 A@y+x=4        -> 201",
	     "reserve R2 A@x,y=1                -> 429 rate_limited",
	     "reserve R2 A@x,y=5 A@x+y=5 replaces=R1 -> 201",
	     "release R2                        -> 200",
	     "reserve R3 A@x,y=10               -> 201");
}

/* Never a unit too many, and no order is refused while one location has it all. */
Test(locations, last_units)
{
	flow("serve    --lanes 2",
	     "second   --lanes 2 --slot 8",
	     "race 10*2 receipt A@x +1 A@y +1 A@z +1 -> 20x 201",
	     "race 32*4 reserve R# A@x,y,z=1 || reserve R# A@y,z,x=1 || reserve R# A@z+x+y=1 ->"
	     "   60x 201 held lines=1 | 68x 409 short A available=0",
	     "sku      A -> available=0 reserved=60 @x available=0 @y available=0 @z available=0",
	     "race 32*4 reserve R# A@x,y,z=1 || reserve R# A@y,z,x=1 || reserve R# A@z+x+y=1 ->"
	     "   60x 200 replayed lines=1 | 68x 409 short");
}

Test(locations, last_whole_lines)
{
	flow("serve    --lanes 2",
	     "second   --lanes 2 --slot 8",
	     "race 10*2 receipt A@x +1 A@y +1 A@z +1 -> 20x 201",
	     "race 32*2 reserve R# A@x,y,z=3 || reserve R# A@y,z,x=3 || reserve R# A@z,x,y=3 ->"
	     "   18x 201 held lines=1 | 46x 409 short A requested=3 available=2",
	     "race 16   reserve S# A@x+y+z=4 || reserve S# A@z+x+y=4 -> 1x 201 held | 15x 409 short A available=2",
	     "sku      A -> available=2 reserved=58");
}

Test(locations, best_effort_gives_everything_away)
{
	flow("serve    --lanes 2",
	     "second   --lanes 2 --slot 8",
	     "race 10*2 receipt A@x +1 A@y +1 A@z +1 B@x +1 B@z +1 -> 20x 201",
	     "race 32*2 reserve R# A@x+y=3 B@z,x=2 A@y,z=1 mode=best_effort ||"
	     "          reserve R# A@z+y+x=4 A@x,y=1 B@x+z=3 mode=best_effort -> *x 201 held | *x 409 short",
	     "sku      A -> available=0 reserved=60",
	     "sku      B -> available=0 reserved=40");
}

/* Orders over places and skus in opposite order, with plain ones among them. */
Test(locations, batches_beside_others)
{
	flow("serve    --lanes 2",
	     "second   --lanes 2 --slot 8",
	     "race 8   receipt A@x +100 A@y +100 B@x +24 B@y +24 -> 8x 201",
	     "race 16*8 batch a# A@x,y=1 B@y+x=2 | b# B@x,y=1 A@y,x=1 | c# A@x=1 | d# GHOST@x,y=1"
	     " | e# A@y+x=2 replaces=c#"
	     " -> 128x 200 results=5",
	     "sku      A -> available=1088 reserved=512",
	     "sku      B -> available=0 reserved=384");
}

/* Whichever process made it, the service learns of it by the first row or call that names it. */
Test(locations, made_by_another_process)
{
	flow("receipt A@paris +5 -> 201",
	     "reserve R1 A@paris=5 -> 201 held",
	     "sql INSERT INTO location (location_id, code) VALUES (70, 'lyon'), (71, 'nice') -> ",
	     "sql UPDATE stock_slot SET location_id = 70 -> ",
	     "sql UPDATE movement_line SET location_id = 70 -> ",
	     "sql UPDATE reservation_line SET location_id = 70 -> ",
	     "sku A -> available=0 reserved=5 @lyon available=0",
	     "get R1 -> A@lyon=5",
	     "movements A -> items[0].lines[0].location=lyon",
	     "sql INSERT INTO location (location_id, code) VALUES (72, 'rome') -> ",
	     "sql UPDATE stock_slot SET location_id = 72 -> ",
	     "sql UPDATE movement_line SET location_id = 72 -> ",
	     "sql UPDATE reservation_line SET location_id = 72 -> ",
	     "release R1 -> 200 A@rome=5",
	     "reserve R2 A@rome=5 -> 201 held",
	     BY_HAND);
}
