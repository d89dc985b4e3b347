/* test_refusals.c - what is not a request: each malformed thing, its status, code and field; nothing changes. */
#include "tests/lang/flow.h"

#define BAD           " -> 400 invalid_request "
#define POST_MOVEMENT "raw POST /v1/movements "
#define POST_ORDER    "raw POST /v1/reservations "
#define POST_ASK      "raw POST /v1/availability "

/* Bodies: whole; an object's members; a movement or order with this line; with one good line and more members. */
#define MOVE(body)    POST_MOVEMENT body BAD
#define ORDER(body)   POST_ORDER body BAD
#define ASK(body)     POST_ASK body BAD
#define LINE          "'lines':[{'sku':'A','qty':1}]"
#define RECEIPT(line) MOVE("{'movement_id':'X','kind':'receipt','lines':[" line "]}")
#define RETURN(line)  MOVE("{'movement_id':'X','kind':'return','lines':[" line "]}")
#define ADJUST(line)  MOVE("{'movement_id':'X','kind':'adjustment','lines':[" line "]}")
#define COUNT_OF(of)  MOVE("{'movement_id':'X','kind':'count','lines':[{'sku':'A'," of "}]}")
#define HOLD(line)    ORDER("{'order_id':'X','lines':[" line "]}")
#define MOVE_WITH(m)  MOVE("{'movement_id':'X','kind':'receipt'," LINE "," m "}")
#define HOLD_WITH(m)  ORDER("{'order_id':'X'," LINE "," m "}")

/* The steps before every table and after it. */
/* clang-format off */
#define BEFORE \
	"receipt A +10    -> 201", \
	"reserve R1 A=4   -> 201", \
	"mark"
#define AFTER \
	"unchanged", \
	"sku A            -> available=6 reserved=4", \
	"list             -> items=R1", \
	"movements A      -> items=1", \
	"get X            -> 404 unknown_order", \
	"receipt X A +1   -> 201", \
	"reserve X A=1    -> 201"
/* clang-format on */

Test(refusals, not_json)
{
	flow(BEFORE,
	     MOVE("{"),
	     MOVE("}"),
	     MOVE("{}}"),
	     MOVE("{'movement_id'}"),
	     MOVE("{'movement_id':}"),
	     MOVE("{movement_id:1}"),
	     MOVE("{'movement_id':'X',}"),
	     MOVE("{'a':1 'b':2}"),
	     MOVE("{,}"),
	     MOVE("{'movement_id':'X"),
	     MOVE("{'movement_id':'X'"),
	     MOVE("nonsense"),
	     MOVE("[]"),
	     MOVE("'X'"),
	     MOVE("1"),
	     MOVE("null"),
	     MOVE("true"),
	     MOVE("NaN"),
	     MOVE("{} {}"),
	     MOVE("{} x"),
	     MOVE("/**/{}"),
	     MOVE("{'movement_id':'\\x'}"),
	     MOVE("{'movement_id':'\\u12'}"),
	     MOVE("{'movement_id':'a\tb'}"),
	     MOVE("{'movement_id':TRUE}"),
	     RECEIPT("{'sku':'A','qty':1},"),
	     RECEIPT("{'sku':'A','qty':01}"),
	     RECEIPT("{'sku':'A','qty':+1}"),
	     RECEIPT("{'sku':'A','qty':.5}"),
	     RECEIPT("{'sku':'A','qty':1.}"),
	     RECEIPT("{'sku':'A','qty':0x1}"),
	     RECEIPT("{'sku':'A','qty':1e}"),
	     RECEIPT("{'sku':'A','qty':-}"),
	     RECEIPT("{'sku':'A','qty':1-2}"),
	     RECEIPT("{'sku':'A','qty':Infinity}"),
	     ORDER("{"),
	     ORDER("[]"),
	     ORDER("7"),
	     ASK("{"),
	     ASK("['A']"),
	     ASK("'A'"),
	     "raw POST /v1/reservations/R1/confirm {" BAD,
	     "raw POST /v1/reservations/R1/confirm []" BAD,
	     "raw POST /v1/reservations/R1/release x" BAD,
	     "raw POST /v1/reservations/R1/extend ''" BAD,
	     AFTER);
}

Test(refusals, not_utf8)
{
#define REASON(bytes) MOVE_WITH("'reason':'" bytes "'")
	flow(BEFORE,
	     REASON("\xff"),
	     REASON("\x80"),
	     REASON("\xc3"),
	     REASON("\xc3("),
	     REASON("\xe2\x82"),
	     REASON("\xc0\xaf"),
	     REASON("\xe0\x80\xaf"),
	     REASON("\xed\xa0\x80"),
	     REASON("\xf4\x90\x80\x80"),
	     REASON("\xf8\x88\x80\x80\x80"),
	     REASON("\\ud800"),
	     REASON("\\udc00"),
	     REASON("\\ud800\\u0041"),
	     REASON("\\u0000"),
	     REASON("a\\u0000b"),
	     RECEIPT("{'sku':'\xff','qty':1}"),
	     RECEIPT("{'sku':'A','\xff':1,'qty':1}"),
	     HOLD("{'sku':'A\\u0000','qty':1}"),
	     ORDER("{'order_id':'X\\u0000'," LINE "}"),
	     AFTER);
}

Test(refusals, movement_members)
{
	flow(BEFORE,
	     MOVE("") "field=movement_id",
	     MOVE("{}") "field=movement_id",
	     MOVE("{'kind':'receipt'," LINE "}") "field=movement_id",
	     MOVE("{'movement_id':'X'," LINE "}") "field=kind",
	     MOVE("{'movement_id':'X','kind':'receipt'}") "field=lines",
	     MOVE("{'movement_id':7,'kind':'receipt'," LINE "}") "field=movement_id",
	     MOVE("{'movement_id':null,'kind':'receipt'," LINE "}") "field=movement_id",
	     MOVE("{'movement_id':['X'],'kind':'receipt'," LINE "}") "field=movement_id",
	     MOVE("{'movement_id':'X','kind':'delivery'," LINE "}") "field=kind",
	     MOVE("{'movement_id':'X','kind':'Receipt'," LINE "}") "field=kind",
	     MOVE("{'movement_id':'X','kind':'settlement'," LINE "}") "field=kind",
	     MOVE("{'movement_id':'X','kind':1," LINE "}") "field=kind",
	     MOVE("{'movement_id':'X','kind':'receipt','lines':{}}") "field=lines",
	     MOVE("{'movement_id':'X','kind':'receipt','lines':null}") "field=lines",
	     MOVE("{'movement_id':'X','kind':'receipt','lines':[]}") "field=lines",
	     MOVE_WITH("'reason':1") "field=reason",
	     MOVE_WITH("'reference':{}") "field=reference",
	     MOVE_WITH("'colour':1") "field=colour",
	     MOVE_WITH("'Reason':''") "field=Reason",
	     MOVE_WITH("'movement_id':'X'") "field=movement_id",
	     MOVE_WITH("'kind':'return'") "field=kind",
	     MOVE_WITH(LINE) "field=lines",
	     MOVE_WITH("'':1"),
	     RECEIPT("{}") "field=lines[0].sku",
	     RECEIPT("null") "field=lines[0]",
	     RECEIPT("'A'") "field=lines[0]",
	     RECEIPT("[]") "field=lines[0]",
	     RECEIPT("1") "field=lines[0]",
	     RECEIPT("{'qty':1}") "field=lines[0].sku",
	     RECEIPT("{'sku':'A'}") "field=lines[0].qty",
	     RECEIPT("{'sku':1,'qty':1}") "field=lines[0].sku",
	     RECEIPT("{'sku':null,'qty':1}") "field=lines[0].sku",
	     RECEIPT("{'sku':'A','qty':1,'location':1}") "field=lines[0].location",
	     RECEIPT("{'sku':'A','qty':1,'location':null}") "field=lines[0].location",
	     RECEIPT("{'sku':'A','qty':1,'colour':'red'}") "field=lines[0].colour",
	     RECEIPT("{'sku':'A','qty':1,'counted':1}") "field=lines[0].counted",
	     RECEIPT("{'sku':'A','qty':1,'qty':1}") "field=lines[0].qty",
	     RECEIPT("{'sku':'A','sku':'B','qty':1}") "field=lines[0].sku",
	     RECEIPT("{'sku':'A','s\\u006bu':'A','qty':1}") "field=lines[0].sku",
	     RECEIPT("{'sku':'A','qty':1},{'sku':'A','qty':0}") "field=lines[1].qty",
	     AFTER);
}

#define RECEIVED(qty) RECEIPT("{'sku':'A','qty':" qty "}") "field=lines[0].qty"
#define RETURNED(qty) RETURN("{'sku':'A','qty':" qty "}") "field=lines[0].qty"
#define ADJUSTED(qty) ADJUST("{'sku':'A','qty':" qty "}") "field=lines[0].qty"
#define RESERVED(qty) HOLD("{'sku':'A','qty':" qty "}") "field=lines[0].qty"

Test(refusals, quantities_received)
{
	flow(BEFORE,
	     RECEIVED("0"),
	     RECEIVED("-0"),
	     RECEIVED("-1"),
	     RECEIVED("1000000000001"),
	     RECEIVED("9000000000000001"),
	     RECEIVED("9223372036854775807"),
	     RECEIVED("9223372036854775808"),
	     RECEIVED("18446744073709551617"),
	     RECEIVED("-9223372036854775809"),
	     RECEIVED("100000000000000000000000000000000000000001"),
	     RECEIVED("1e400"),
	     RECEIVED("1.0"),
	     RECEIVED("1.5"),
	     RECEIVED("0.1"),
	     RECEIVED("1e0"),
	     RECEIVED("1E0"),
	     RECEIVED("1e3"),
	     RECEIVED("10e-1"),
	     RECEIVED("1.0e1"),
	     RECEIVED("'1'"),
	     RECEIVED("''"),
	     RECEIVED("null"),
	     RECEIVED("true"),
	     RECEIVED("[1]"),
	     RECEIVED("{}"),
	     AFTER);
}

Test(refusals, quantities)
{
	flow(BEFORE,
	     RETURNED("0"),
	     RETURNED("-1"),
	     RETURNED("1000000000001"),
	     ADJUSTED("0"),
	     ADJUSTED("-0"),
	     ADJUSTED("1000000000001"),
	     ADJUSTED("-1000000000001"),
	     ADJUSTED("-1.0"),
	     ADJUSTED("'-1'"),
	     ADJUSTED("1e1"),
	     RESERVED("0"),
	     RESERVED("-1"),
	     RESERVED("1000000000001"),
	     RESERVED("9223372036854775808"),
	     RESERVED("1.0"),
	     RESERVED("1e0"),
	     RESERVED("'1'"),
	     RESERVED("null"),
	     RESERVED("true"),
	     RESERVED("[1]"),
	     AFTER);
}

Test(refusals, quantities_counted)
{
	flow(BEFORE,
	     COUNT_OF("'counted':-1") "field=lines[0].counted",
	     COUNT_OF("'counted':9000000000000001") "field=lines[0].counted",
	     COUNT_OF("'counted':9223372036854775808") "field=lines[0].counted",
	     COUNT_OF("'counted':1.0") "field=lines[0].counted",
	     COUNT_OF("'counted':'1'") "field=lines[0].counted",
	     COUNT_OF("'counted':null") "field=lines[0].counted",
	     COUNT_OF("'expected':1") "field=lines[0].counted",
	     COUNT_OF("'counted':1,'expected':-1") "field=lines[0].expected",
	     COUNT_OF("'counted':1,'expected':9000000000000001") "field=lines[0].expected",
	     COUNT_OF("'counted':1,'expected':1e0") "field=lines[0].expected",
	     COUNT_OF("'counted':1,'expected':'1'") "field=lines[0].expected",
	     COUNT_OF("'counted':1,'qty':1") "field=lines[0].qty",
	     COUNT_OF("'counted':1},{'sku':'A','counted':1"),
	     COUNT_OF("'counted':1},{'sku':'B','counted':1},{'sku':'A','location':'main','counted':2"),
	     AFTER);
}

#define SIXTEEN    "0123456789abcdef"
#define SIXTY_FIVE SIXTEEN SIXTEEN SIXTEEN SIXTEEN "x"
/* clang-format off */
#define SKU(code) \
	RECEIPT("{'sku':'" code "','qty':1}") "field=lines[0].sku", \
	HOLD("{'sku':'" code "','qty':1}") "field=lines[0].sku", \
	ASK("{'skus':['A','" code "']}") "field=skus[1]"
#define PLACE(code) \
	RECEIPT("{'sku':'A','qty':1,'location':'" code "'}") "field=lines[0].location", \
	HOLD("{'sku':'A','qty':1,'location':'" code "'}") "field=lines[0].location"
#define ID(code) \
	MOVE("{'movement_id':'" code "','kind':'receipt'," LINE "}") "field=movement_id", \
	ORDER("{'order_id':'" code "'," LINE "}") "field=order_id"
#define EVERY(code) \
	SKU(code), \
	PLACE(code), \
	ID(code)
/* clang-format on */

Test(refusals, codes)
{
	flow(BEFORE,
	     EVERY(""),
	     EVERY(" "),
	     EVERY("  "),
	     EVERY("a "),
	     EVERY(" a"),
	     EVERY("."),
	     EVERY(".."),
	     EVERY("\\t"),
	     EVERY("a\\n"),
	     EVERY("\\u007f"),
	     EVERY("\\u0085a"),
	     EVERY("a\xc2\xa0"),
	     EVERY("a\\u200bb"),
	     EVERY("\\u202ea"),
	     ID("caf\xc3\xa9"),
	     ID("\\u00e9"),
	     ID(SIXTY_FIVE),
	     PLACE(SIXTY_FIVE),
	     SKU(SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTY_FIVE),
	     AFTER);
}

Test(refusals, reservation_members)
{
	flow(BEFORE,
	     ORDER("") "field=order_id",
	     ORDER("{" LINE "}") "field=order_id",
	     ORDER("{'order_id':1," LINE "}") "field=order_id",
	     ORDER("{'order_id':'X'}") "field=lines",
	     ORDER("{'order_id':'X','lines':[]}") "field=lines",
	     ORDER("{'order_id':'X','lines':'A'}") "field=lines",
	     HOLD("{'sku':'A'}") "field=lines[0].qty",
	     HOLD("{'qty':1}") "field=lines[0].sku",
	     HOLD("{'sku':'A','qty':1,'price':1}") "field=lines[0].price",
	     HOLD("{'sku':'A','qty':1,'qty':2}") "field=lines[0].qty",
	     HOLD("{'sku':'A','qty':1},{'sku':'B','qty':-1}") "field=lines[1].qty",
	     HOLD("{'sku':'A','qty':1},7") "field=lines[1]",
	     HOLD_WITH("'customer':1") "field=customer",
	     HOLD_WITH("'order_id':'X'") "field=order_id",
	     HOLD_WITH("'ttl':60") "field=ttl",
	     HOLD_WITH("'ttl_s':0") "field=ttl_s",
	     HOLD_WITH("'ttl_s':-1") "field=ttl_s",
	     HOLD_WITH("'ttl_s':2678401") "field=ttl_s",
	     HOLD_WITH("'ttl_s':1.5") "field=ttl_s",
	     HOLD_WITH("'ttl_s':6e1") "field=ttl_s",
	     HOLD_WITH("'ttl_s':'60'") "field=ttl_s",
	     HOLD_WITH("'ttl_s':null") "field=ttl_s",
	     HOLD_WITH("'ttl_s':9223372036854775808") "field=ttl_s",
	     HOLD_WITH("'mode':'some'") "field=mode",
	     HOLD_WITH("'mode':''") "field=mode",
	     HOLD_WITH("'mode':1") "field=mode",
	     HOLD_WITH("'mode':null") "field=mode",
	     HOLD_WITH("'mode':'ALL_OR_NOTHING'") "field=mode",
	     AFTER);
}

Test(refusals, availability_members)
{
	flow(BEFORE,
	     ASK("") "field=skus",
	     ASK("{'skus':[]}") "field=skus",
	     ASK("{'skus':'A'}") "field=skus",
	     ASK("{'skus':{}}") "field=skus",
	     ASK("{'skus':[1]}") "field=skus[0]",
	     ASK("{'skus':['A',null]}") "field=skus[1]",
	     ASK("{'skus':['A'],'max_age_ms':1}") "field=max_age_ms",
	     ASK("{'skus':['A'],'skus':['A']}") "field=skus",
	     ASK("{'skus':['A'],'locations':[]}") "field=locations",
	     ASK("{'skus':['A'],'locations':['a','a']}") "field=locations",
	     ASK("{'skus':['A'],'locations':['a','']}") "field=locations[1]",
	     ASK("{'skus':['A'],'baskets':[{'id':'B','lines':[{'sku':'A','qty':1}]}]}") "field=skus",
	     ASK("{'baskets':[]}") "field=baskets",
	     ASK("{'baskets':['A']}") "field=baskets[0]",
	     ASK("{'baskets':[{'lines':[{'sku':'A','qty':1}]}]}") "field=baskets[0].id",
	     ASK("{'baskets':[{'id':'B'}]}") "field=baskets[0].lines",
	     ASK("{'baskets':[{'id':'B','lines':[]}]}") "field=baskets[0].lines",
	     ASK("{'baskets':[{'id':'B','lines':[{'sku':'A','qty':0}]}]}") "field=baskets[0].lines[0].qty",
	     ASK("{'baskets':[{'id':'B','lines':[{'sku':'A','qty':1,'x':1}]}]}") "field=baskets[0].lines[0].x",
	     ASK("{'baskets':[{'id':'B','lines':[{'sku':'A','qty':1}],'x':1}]}") "field=baskets[0].x",
	     AFTER);
}

#define OPEN   "[[[[[[[[[[[[[[[["
#define CLOSED "]]]]]]]]]]]]]]]]"

Test(refusals, deep_nesting)
{
	flow_begin();
	flow_steps(BEFORE);
	flow_repeat(POST_MOVEMENT, "[", 100000, BAD);
	flow_repeat(POST_MOVEMENT "{'a':", "[", 100000, BAD);
	flow_repeat(POST_MOVEMENT, "{'a':", 100000, BAD);
	flow_repeat(POST_ORDER "{'order_id':", OPEN, 1000, BAD);
	flow_repeat("raw POST /v1/reservations/batch {'reservations':[", "[", 100000, BAD);
	flow_repeat(POST_MOVEMENT "{'movement_id':'X','kind':'receipt','lines':[{'sku':", "[", 500, BAD);
	flow_steps(MOVE("{'movement_id':" OPEN OPEN OPEN CLOSED CLOSED CLOSED "}"),
	           AFTER);
	flow_end();
}

/* A length that is never read is refused at the headers, by the HTTP library and in its own form. */
static void refuse_announced_body(void)
{
	struct client client;
	struct call   call = {.method = "POST", .raw_body = true};
	struct answer answer = {0};

	text_add(&call.path, "/v1/movements");
	text_add(&call.headers, "Content-Length: 6710886400\r\nContent-Type: application/json\r\n");
	client_open(&client, flow_port(0));
	client_call(&client, &call, &answer);
	if (answer.status != 413)
		flow_fail("an announced body of 6 GB was answered %d %s", answer.status, answer.body.data);
	client_close(&client);
	call_fini(&call);
	answer_fini(&answer);
}

/* A body of exactly 8 MiB is read, one byte more is not. */
Test(refusals, large_bodies)
{
#define SIZE(body) ((int)sizeof(body) - 1)
#define SOUND      "{\"movement_id\":\"M8\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}"
	enum { BODY_MAX = 8 << 20 };

	flow_begin();
	flow_steps(BEFORE);
	flow_repeat(POST_MOVEMENT "{}", " ", BODY_MAX - 2, ". -> 413 too_large");
	flow_repeat(POST_MOVEMENT SOUND, " ", BODY_MAX - SIZE(SOUND), "\n -> 413 too_large");
	refuse_announced_body();
	flow_step("unchanged");
	flow_repeat(POST_MOVEMENT SOUND, " ", BODY_MAX - SIZE(SOUND) - 1, "\n -> 201 movement_id=M8");
	flow_steps("sku A -> available=7");
	flow_end();
}
