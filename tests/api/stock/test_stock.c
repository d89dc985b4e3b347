/* test_stock.c - movements, skus, locations, availability: the stock that is there and how it changes. */
#include "tests/kit/proxy.h"
#include "tests/lang/trap.h"

#include <stdio.h>
#include <unistd.h>

Test(stock, receipt_makes_sku_and_location)
{
	flow("sku      A                        -> 404 unknown_sku",
	     "receipt  M1 A +10                 -> 201 movement_id=M1 kind=receipt created_at=~0 A=10 lines=1 !reason",
	     "sku      A                        -> 200 sku=A available=10 reserved=0 on_hand=10 locations=1",
	     "receipt  M2 A +5 B +2 A@paris +4  -> 201 A=5 B=2 A@paris=4 lines=3",
	     "sku      A                        -> available=19 locations=2 @main available=15 @paris available=4",
	     "sku      B                        -> available=2 locations=main",
	     "receipt  M3 C +1 reason=new reference=PO-7 -> 201 reason=new reference=PO-7",
	     "receipt  D +1000000000            -> 201 D=1000000000");
}

Test(stock, lines_name_exactly_one_location)
{
	flow("receipt  A +3                  -> 201 lines[0].location=main",
	     "receipt  A@main +3             -> 201",
	     "receipt  A@Main +4             -> 201",
	     "sku      A                     -> available=10 locations=2 @main available=6 @Main available=4",
	     "raw POST /v1/movements {'movement_id':'X','kind':'receipt',"
	     "'lines':[{'location':'main','qty':1,'sku':'A'}]} -> 201 A=1");
}

Test(stock, equal_lines_are_summed)
{
	flow("receipt  A +1 B +5 A +2        -> 201 A=3 B=5 lines=2",
	     "adjust   B -3 B +1             -> 201 B=-2 lines=1",
	     "return   A +1 A@main +1        -> 201 A=2 lines=1",
	     "sku      A                     -> available=5",
	     "sku      B                     -> available=3");
}

Test(stock, codes_are_compared_byte_by_byte)
{
	flow("receipt  85123A +1             -> 201",
	     "receipt  85123a +2             -> 201",
	     "sku      85123A                -> sku=85123A available=1",
	     "sku      85123a                -> sku=85123a available=2",
	     "reserve  r1 85123a=2           -> 201",
	     "reserve  R1 85123A=1           -> 201",
	     "get      r1                    -> held order_id=r1 85123a=2",
	     "get      R1                    -> held order_id=R1 85123A=1",
	     "receipt  m1 X +1               -> 201",
	     "receipt  M1 X +1               -> 201",
	     "skus                           -> items=85123A,85123a,X");
}

/* The characters that a code may have, but for those of test_codes.c; in a path some of them are escaped. */
Test(stock, codes_of_the_whole_alphabet)
{
	flow("raw POST /v1/movements {'movement_id':'M!$&()*+,-.:;<=>@[]^_`{|}~','kind':'receipt',"
	     "'lines':[{'sku':'S!$&()*+,-.:;<=>@[]^_`{|}~','location':'L!$&()*+,-.:;<=>@[]^_`','qty':7}]} -> 201",
	     "raw GET /v1/skus/S!$&()*+,-.:;%3C=%3E@%5B%5D%5E_%60%7B%7C%7D~ -> 200 available=7",
	     "raw POST /v1/movements {'movement_id':'\\\\','kind':'receipt','lines':[{'sku':'\\\\','qty':1}]}"
	     "                               -> 201 movement_id=\\",
	     "raw GET /v1/skus/%5C           -> 200 sku=\\",
	     "receipt  ...  ... +1           -> 201",
	     "sku      ...                   -> available=1",
	     "receipt  ab+cd +1              -> 201",
	     "sku      ab+cd                 -> sku=ab+cd available=1",
	     "raw GET /v1/skus/ab%2Bcd       -> 200 sku=ab+cd",
	     "raw GET /v1/skus/%61%62+cd     -> 200 sku=ab+cd",
	     "raw GET /v1/skus/ab%20cd       -> 404 unknown_sku");
}

Test(stock, longest_codes)
{
#define SIXTEEN    "0123456789abcdef"
#define THIRTY_TWO SIXTEEN SIXTEEN
#define SIXTY_FOUR THIRTY_TWO THIRTY_TWO
	flow("receipt " SIXTY_FOUR " " SIXTY_FOUR "@" THIRTY_TWO " +5 -> 201 movement_id=" SIXTY_FOUR,
	     "sku     " SIXTY_FOUR "                                  -> available=5 locations=" THIRTY_TWO,
	     "reserve " SIXTY_FOUR " " SIXTY_FOUR "@" THIRTY_TWO "=5  -> 201 held order_id=" SIXTY_FOUR,
	     "confirm " SIXTY_FOUR "                                  -> confirmed",
	     "availability " SIXTY_FOUR "                             -> items[0].reserved=5");
}

Test(stock, only_a_receipt_makes_a_sku)
{
	flow("receipt  A +1                 -> 201",
	     "mark",
	     "adjust   GHOST +1             -> 422 unknown_sku GHOST",
	     "return   GHOST +1             -> 422 unknown_sku GHOST",
	     "count    GHOST=1              -> 422 unknown_sku GHOST",
	     "return   A +1 GHOST +1 SPOOK@paris +1 -> 422 unknown_sku GHOST SPOOK@paris lines=2",
	     "sku      GHOST                -> 404 unknown_sku",
	     "sku      A                    -> available=1",
	     "unchanged",
	     "receipt  GHOST +1             -> 201",
	     "return   GHOST +1             -> 201");
}

Test(stock, any_addition_makes_a_location)
{
	flow("receipt  A +1                 -> 201",
	     "return   A@paris +2           -> 201 kind=return A@paris=2",
	     "adjust   A@rome +3            -> 201 kind=adjustment A@rome=3",
	     "count    A@oslo=4             -> 201 kind=count A@oslo=4",
	     "sku      A                    -> locations=4 @paris on_hand=2 @rome on_hand=3 @oslo on_hand=4",
	     "reserve  R1 A@rome=3 A@oslo=4 -> 201");
}

/* A receipt that was refused has received nothing. */
Test(stock, refused_receipt_makes_no_sku)
{
	flow("receipt  A +1                 -> 201",
	     "count    A=9000000000000000   -> 201",
	     "receipt  M1 NEW +1 A +1       -> 409 limit",
	     "sku      NEW                  -> 404 unknown_sku",
	     "reserve  R1 NEW=1             -> 422 unknown_sku NEW");
}

/* A count says a total, not an addition; only a receipt has to be asked before it makes a sku. */
Test(stock, count_at_a_new_location_is_no_addition)
{
	flow("receipt  A +5                 -> 201",
	     "receipt  B +5                 -> 201",
	     "count    A=9000000000000000 B@Paris=3 expected=1 -> 409 count_mismatch",
	     "count    A=8999999999999999 A@Paris=1 -> 201");
}

Test(stock, adjustment)
{
	flow("receipt  A +10 B +1           -> 201",
	     "adjust   M1 A -4 reason=broken -> 201 kind=adjustment reason=broken A=-4",
	     "sku      A                    -> available=6 on_hand=6",
	     "adjust   A +1                 -> 201 A=1",
	     "reserve  R1 A=5               -> 201",
	     "mark",
	     "adjust   A -3                 -> 409 short A available=2",
	     "adjust   B +1 A -3            -> 409 short A available=2 lines=1",
	     "adjust   A@paris -1           -> 409 short A@paris available=0",
	     "sku      A                    -> available=2 reserved=5 on_hand=7",
	     "sku      B                    -> available=1",
	     "unchanged",
	     "adjust   A -2                 -> 201",
	     "sku      A                    -> available=0 reserved=5 on_hand=5");
}

Test(stock, count_sets_on_hand)
{
	flow("receipt  A +10                -> 201",
	     "count    M1 A=7               -> 201 kind=count A=-3",
	     "count    A=7                  -> 201 A=0",
	     "count    A=12                 -> 201 A=5",
	     "reserve  R1 A=4               -> 201",
	     "count    A=9 expected=12      -> 201 A=-3",
	     "sku      A                    -> available=5 reserved=4 on_hand=9",
	     "count    A=4                  -> 201 A=-5",
	     "sku      A                    -> available=0 reserved=4 on_hand=4",
	     "release  R1                   -> 200",
	     "count    A=0 A@paris=2        -> 201 A=-4 A@paris=2",
	     "sku      A                    -> available=2 on_hand=2 @main on_hand=0 @paris on_hand=2",
	     "count    A@paris=0 expected=2 -> 201",
	     "sku      A                    -> available=0 reserved=0 on_hand=0");
}

Test(stock, count_refused)
{
	flow("receipt  A +10 B +5           -> 201",
	     "reserve  R1 A=4               -> 201",
	     "mark",
	     "count    M1 A=8 expected=9    -> 409 count_mismatch A expected=9 on_hand=10 lines=1",
	     "count    M1 B=6 A=8 expected=9 A@paris=1 expected=1 ->"
	     "              409 count_mismatch A expected=9 on_hand=10 A@paris expected=1 on_hand=0 lines=2",
	     "count    M1 A=3               -> 409 short A counted=3 reserved=4 lines=1",
	     "count    M1 B=6 A=3           -> 409 short A counted=3 reserved=4 lines=1",
	     "sku      A                    -> available=6 reserved=4",
	     "sku      B                    -> available=5",
	     "unchanged",
	     "count    M1 A=8 expected=10   -> 201 A=-2");
}

Test(stock, no_total_passes_the_limit)
{
	flow("receipt  A +1 B +1            -> 201",
	     "count    A=9000000000000000   -> 201 A=8999999999999999",
	     "sku      A                    -> available=9000000000000000 on_hand=9000000000000000",
	     "mark",
	     "receipt  A +1                 -> 409 limit",
	     "return   A +1                 -> 409 limit",
	     "adjust   A +1                 -> 409 limit",
	     "receipt  A@paris +1           -> 409 limit",
	     "count    A@paris=1            -> 409 limit",
	     "receipt  B +1 A +1            -> 409 limit",
	     "sku      B                    -> available=1",
	     "unchanged",
	     "reserve  R1 A=1000000000      -> 201",
	     "receipt  A +1                 -> 409 limit",
	     "adjust   A -1                 -> 201",
	     "receipt  A +1                 -> 201",
	     "sku      A                    -> available=8999999000000000 reserved=1000000000");
}

Test(stock, a_thousand_lines)
{
	flow_begin();
	flow_repeat("receipt", " S# +2", 1000, " -> 201 lines=1000");
	flow_repeat("receipt", " T# +2", 1001, " -> 400 invalid_request field=lines");
	flow_repeat("availability", " S#", 1000, " -> items=1000 S999 available=2");
	flow_repeat("availability", " S#", 1001, " -> 400 invalid_request field=skus");
	flow_repeat("reserve R1", " S#=1", 1000, " -> 201 held lines=1000");
	flow_repeat("reserve R2", " S#=1", 1001, " -> 400 invalid_request field=lines");
	flow_repeat("reserve R3", " S#=3", 1000, " -> 409 short lines=1000 S7 requested=3 available=1");
	flow_steps("confirm R1 -> confirmed lines=1000",
	           "release R1 -> released",
	           "sku S500   -> available=2 reserved=0");
	flow_repeat("count", " S#=5 expected=2", 1000, " -> 201 lines=1000");
	flow_end();
}

Test(stock, availability)
{
	flow("receipt  A +3 B@paris +2 B +1 -> 201",
	     "reserve  R1 B=1               -> 201",
	     "availability B GHOST A        -> items=B,GHOST,A B available=2 reserved=1 on_hand=3",
	     "availability A                -> items=A A available=3 reserved=0 on_hand=3 !locations",
	     "availability GHOST            -> items=GHOST GHOST code=unknown_sku !available",
	     "availability A A              -> items=A,A",
	     "adjust   A -3                 -> 201",
	     "availability A                -> A available=0 on_hand=0",
	     "second",
	     "@2 availability A B           -> A available=0 B available=2");
}

Test(stock, read_from_memory)
{
	flow("receipt  A +3                 -> 201",
	     "sku      A max_age=0          -> available=3 Age-Ms:0",
	     "sku      A max_age=60000      -> sku=A available=3 Age-Ms:*",
	     "reserve  R1 A=1               -> 201",
	     "sku      A                    -> available=2 reserved=1",
	     "sku      A max_age=0          -> available=2 Age-Ms:0",
	     "sku      GHOST max_age=60000  -> 404 unknown_sku",
	     "second",
	     "@2 sku   A max_age=60000      -> sku=A Age-Ms:*",
	     "reserve  R2 A=1               -> 201",
	     "@2 sku   A max_age=0          -> available=1 reserved=2 Age-Ms:0",
	     "@2 sku   A                    -> available=1 reserved=2",
	     "receipt  NEW +1               -> 201",
	     "@2 sku   NEW max_age=60000    -> available=1");
}

Test(stock, texts_of_a_movement)
{
	flow("raw POST /v1/movements {'movement_id':'M1','kind':'receipt','lines':[{'sku':'A','qty':1}],"
	     "'reason':'caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x93\xa6','reference':'\\u0041\\n\\u00e9'} -> 201"
	     " 'reason=caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x93\xa6' 'reference=A\n\xc3\xa9'",
	     "movements A ->"
	     " 'items[0].reason=caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x93\xa6' 'items[0].reference=A\n\xc3\xa9'");
	flow_begin();
	flow_repeat("receipt A +1 reason=", "x", 500, " -> 201");
	flow_repeat("receipt A +1 reason=", "x", 501, " -> 400 invalid_request field=reason");
	flow_repeat("receipt A +1 reference=", "\xc3\xa9", 250, " -> 201");
	flow_repeat("receipt A +1 reference=", "\xc3\xa9", 251, " -> 400 invalid_request field=reference");
	flow_end();
}

/* Rows of a sku that were read before the answer broke off are not remembered. */
Test(stock, totals_whose_answer_broke_off)
{
	struct proxy *proxy;
	struct race  *first, *second;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_repeat("receipt", " A@L# +100", 50, " -> 201");
	proxy_arm(proxy, BREACH_TORN, "FROM stock_slot s");
	first = flow_race("1", "sku A");
	cr_expect(proxy_struck(proxy));
	usleep(300000); /* the service notices; too soon would be no fault, and no test */
	second = flow_race("1", "sku A max_age=60000");
	usleep(300000);
	proxy_let_in(proxy);
	trap_raced(first, "1x 200 available=5000");
	trap_raced(second, "1x 200 available=5000");
	flow_end();
	proxy_close(proxy);
}

Test(stock, sku_is_received_while_it_is_asked_for)
{
	flow_begin();
	flow_step("serve --lanes 2");
	flow_step("second --lanes 2");
	for (int i = 0; i < 8; i++) {
		char race[300];

		snprintf(race, sizeof(race),
		         "race 32 receipt M%d-# N%d +2 || reserve R%d-# N%d=1 || reserve Q%d-# N%d@x=1"
		         " || return K%d-# N%d@y +1 -> *x 201 | *x 409 short | *x 422 unknown_sku"
		         " | *x 422 unknown_location",
		         i, i, i, i, i, i, i, i);
		flow_each((const char *const[]){race, NULL});
		flow_step("receipt N%d +1 -> 201", i);
		flow_step("reserve LAST%d N%d=17 mode=best_effort -> 201 held", i, i);
		flow_step("sku     N%d -> @main available=0 reserved=17 on_hand=17", i);
	}
	flow_end();
}

/* ---- the answer of a movement */

/* The first answer alone names what is new; the text has it last. */
static void new_cut(struct answer *made)
{
	char *at = strstr(made->body.data, ",\"new_");

	if (at)
		strcpy(at, "}");
	cJSON_DeleteItemFromObject(made->json, "new_skus");
	cJSON_DeleteItemFromObject(made->json, "new_locations");
}

static void made_as_read(struct client *c, const char *movement)
{
	struct answer made = {0}, read = {0}, alone = {0};
	struct text   path = {0};

	client_ask(c, "POST", "/v1/movements", movement, &made);
	cr_expect_eq(made.status, 201);
	new_cut(&made);
	text_format(&path, "/v1/movements/%s", cJSON_GetObjectItem(made.json, "movement_id")->valuestring);
	client_ask(c, "GET", path.data, "", &alone);
	cr_expect_eq(alone.status, 200);
	cr_expect_str_eq(alone.body.data, made.body.data);
	client_ask(c, "GET", "/v1/skus/A/movements?limit=1", "", &read);
	cr_expect_eq(read.status, 200);
	cr_expect(cJSON_Compare(made.json, cJSON_GetArrayItem(cJSON_GetObjectItem(read.json, "items"), 0), true),
	          "made %s, read %s", made.body.data, read.body.data);
	answer_fini(&made);
	answer_fini(&read);
	answer_fini(&alone);
	text_fini(&path);
}

/* A lane makes the answer of a new movement from the operation, a read makes it from the rows. */
Test(stock, made_as_it_is_read)
{
	struct client c;

	flow_begin();
	client_open(&c, flow_port(0));
	made_as_read(&c, "{\"movement_id\":\"M1\",\"kind\":\"receipt\",\"reason\":\"r\",\"reference\":\"PO 1\","
	                 "\"lines\":[{\"sku\":\"A\",\"location\":\"rome\",\"qty\":2},{\"sku\":\"A\",\"qty\":1},{"
	                 "\"sku\":\"A\",\"qty\":3}]}");
	made_as_read(&c, "{\"movement_id\":\"M2\",\"kind\":\"adjustment\",\"lines\":[{\"sku\":\"A\",\"qty\":-1},"
	                 "{\"sku\":\"A\",\"location\":\"paris\",\"qty\":1}]}");
	made_as_read(&c, "{\"movement_id\":\"M3\",\"kind\":\"count\",\"lines\":[{\"sku\":\"A\",\"counted\":9},"
	                 "{\"sku\":\"A\",\"location\":\"rome\",\"counted\":2}]}");
	client_close(&c);
	flow_end();
}

Test(stock, one_movement)
{
	flow("movement M1                 -> 404 unknown_movement",
	     "receipt  M1 A +10 B@paris +3 reason=first reference=x -> 201",
	     "count    M2 A=7             -> 201",
	     "adjust   M3 A -9            -> 409 short",
	     "reserve  R1 A=1             -> 201",
	     "movement M1                 -> 200 movement_id=M1 kind=receipt A=10 B@paris=3 lines=2 reason=first"
	     "                               reference=x created_at=~0 !by",
	     "movement M2                 -> 200 kind=count A=-3 lines=1 !reason !reference",
	     "movement M3                 -> 404 unknown_movement",
	     "movement R1                 -> 404 unknown_movement",
	     "movement m1                 -> 404 unknown_movement",
	     "raw HEAD /v1/movements/M1   -> 200",
	     "raw GET /v1/movements/%4D1 -> 200 movement_id=M1",
	     "raw GET /v1/movements/      -> 404",
	     "raw GET /v1/movements/M1/lines -> 404 not_found",
	     "raw GET /v1/movements/M1?limit=1 -> 400 invalid_request field=limit",
	     "raw POST /v1/movements/M1 {} -> 405 method_not_allowed Allow:GET",
	     "race 8*20 movement M1       -> *x 200 A=10");
}
