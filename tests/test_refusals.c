/* test_refusals.c - what is not a request: each malformed thing, its status, code and field, and that nothing changed. */
#include "tests/flow.h"

#define BAD           " -> 400 invalid_request "
#define MOVE          "raw POST /v1/movements "
#define RECEIPT(line) MOVE "{'movement_id':'X','kind':'receipt','lines':[" line "]}" BAD
#define QTY(number)   RECEIPT("{'sku':'A','qty':" number "}") "field=lines[0].qty"
#define ADJUST(n)     MOVE "{'movement_id':'X','kind':'adjustment','lines':[{'sku':'A','qty':" n "}]}" BAD "field=lines[0].qty"
#define COUNT_OF(of)  MOVE "{'movement_id':'X','kind':'count','lines':[{'sku':'A'," of "}]}" BAD
#define RESERVE       "raw POST /v1/reservations "
#define ORDER(line)   RESERVE "{'order_id':'X','lines':[" line "]}" BAD
#define UNITS(number) ORDER("{'sku':'A','qty':" number "}") "field=lines[0].qty"
#define ASK           "raw POST /v1/availability "

/* What stands before every table and after it. */
#define BEFORE "receipt A +10 -> 201", "reserve R1 A=4 -> 201", "mark"
#define AFTER  "unchanged", "sku A -> available=6 reserved=4", "list -> items=R1", "movements A -> items=1", \
               "get X -> 404 unknown_order", "receipt X A +1 -> 201", "reserve X A=1 -> 201"

Test(refusals, not_json)
{
	flow(BEFORE,
	     MOVE "{"                                    BAD, MOVE "}"                      BAD, MOVE "{}}"             BAD,
	     MOVE "{'movement_id'}"                      BAD, MOVE "{'movement_id':}"       BAD, MOVE "{movement_id:1}" BAD,
	     MOVE "{'movement_id':'X',}"                 BAD, MOVE "{'a':1 'b':2}"          BAD, MOVE "{,}"             BAD,
	     MOVE "{'movement_id':'X"                    BAD, MOVE "{'movement_id':'X'"     BAD, MOVE "nonsense"        BAD,
	     MOVE "[]"                                   BAD, MOVE "'X'"                    BAD, MOVE "1"               BAD,
	     MOVE "null"                                 BAD, MOVE "true"                   BAD, MOVE "NaN"             BAD,
	     MOVE "{} {}"                                BAD, MOVE "{} x"                   BAD, MOVE "/**/{}"          BAD,
	     MOVE "{'movement_id':'\\x'}"                BAD, MOVE "{'movement_id':'\\u12'}" BAD,
	     MOVE "{'movement_id':'a\tb'}"               BAD, MOVE "{'movement_id':TRUE}"   BAD,
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
	     RESERVE "{"                                 BAD, RESERVE "[]"                  BAD, RESERVE "7"            BAD,
	     ASK     "{"                                 BAD, ASK     "['A']"               BAD, ASK     "'A'"          BAD,
	     "raw POST /v1/reservations/R1/confirm {"    BAD, "raw POST /v1/reservations/R1/confirm []" BAD,
	     "raw POST /v1/reservations/R1/release x"    BAD, "raw POST /v1/reservations/R1/extend ''" BAD,
	     AFTER);
}

Test(refusals, not_utf8)
{
	flow(BEFORE,
#define REASON(bytes) MOVE "{'movement_id':'X','kind':'receipt','lines':[{'sku':'A','qty':1}],'reason':'" bytes "'}" BAD
	     REASON("\xff"), REASON("\x80"), REASON("\xc3"), REASON("\xc3("), REASON("\xe2\x82"), REASON("\xc0\xaf"),
	     REASON("\xe0\x80\xaf"), REASON("\xed\xa0\x80"), REASON("\xf4\x90\x80\x80"), REASON("\xf8\x88\x80\x80\x80"),
	     REASON("\\ud800"), REASON("\\udc00"), REASON("\\ud800\\u0041"), REASON("\\u0000"), REASON("a\\u0000b"),
	     RECEIPT("{'sku':'\xff','qty':1}"), RECEIPT("{'sku':'A','\xff':1,'qty':1}"),
	     AFTER);
}

Test(refusals, movement_members)
{
	flow(BEFORE,
	     MOVE                                                                                 BAD "field=movement_id",
	     MOVE "{}"                                                                            BAD "field=movement_id",
	     MOVE "{'kind':'receipt','lines':[{'sku':'A','qty':1}]}"                              BAD "field=movement_id",
	     MOVE "{'movement_id':'X','lines':[{'sku':'A','qty':1}]}"                             BAD "field=kind",
	     MOVE "{'movement_id':'X','kind':'receipt'}"                                          BAD "field=lines",
	     MOVE "{'movement_id':7,'kind':'receipt','lines':[{'sku':'A','qty':1}]}"              BAD "field=movement_id",
	     MOVE "{'movement_id':null,'kind':'receipt','lines':[{'sku':'A','qty':1}]}"           BAD "field=movement_id",
	     MOVE "{'movement_id':['X'],'kind':'receipt','lines':[{'sku':'A','qty':1}]}"          BAD "field=movement_id",
	     MOVE "{'movement_id':'X','kind':'delivery','lines':[{'sku':'A','qty':1}]}"           BAD "field=kind",
	     MOVE "{'movement_id':'X','kind':'Receipt','lines':[{'sku':'A','qty':1}]}"            BAD "field=kind",
	     MOVE "{'movement_id':'X','kind':'settlement','lines':[{'sku':'A','qty':1}]}"         BAD "field=kind",
	     MOVE "{'movement_id':'X','kind':1,'lines':[{'sku':'A','qty':1}]}"                    BAD "field=kind",
	     MOVE "{'movement_id':'X','kind':'receipt','lines':{'sku':'A','qty':1}}"              BAD "field=lines",
	     MOVE "{'movement_id':'X','kind':'receipt','lines':null}"                             BAD "field=lines",
	     MOVE "{'movement_id':'X','kind':'receipt','lines':[]}"                               BAD "field=lines",
	     MOVE "{'movement_id':'X','kind':'receipt','lines':[{'sku':'A','qty':1}],'reason':1}" BAD "field=reason",
	     MOVE "{'movement_id':'X','kind':'receipt','lines':[{'sku':'A','qty':1}],'reference':{}}" BAD "field=reference",
	     MOVE "{'movement_id':'X','kind':'receipt','lines':[{'sku':'A','qty':1}],'colour':1}" BAD "field=colour",
	     MOVE "{'movement_id':'X','kind':'receipt','lines':[{'sku':'A','qty':1}],'Reason':''}" BAD "field=Reason",
	     MOVE "{'movement_id':'X','kind':'receipt','lines':[{'sku':'A','qty':1}],'':1}"       BAD,
	     MOVE "{'movement_id':'X','movement_id':'X','kind':'receipt','lines':[{'sku':'A','qty':1}]}" BAD "field=movement_id",
	     MOVE "{'movement_id':'X','kind':'receipt','kind':'return','lines':[{'sku':'A','qty':1}]}"   BAD "field=kind",
	     RECEIPT("{}") "field=lines[0].sku", RECEIPT("null") "field=lines[0]", RECEIPT("'A'") "field=lines[0]",
	     RECEIPT("[]") "field=lines[0]", RECEIPT("1") "field=lines[0]",
	     RECEIPT("{'qty':1}")                                "field=lines[0].sku",
	     RECEIPT("{'sku':'A'}")                              "field=lines[0].qty",
	     RECEIPT("{'sku':1,'qty':1}")                        "field=lines[0].sku",
	     RECEIPT("{'sku':null,'qty':1}")                     "field=lines[0].sku",
	     RECEIPT("{'sku':'A','qty':1,'location':1}")         "field=lines[0].location",
	     RECEIPT("{'sku':'A','qty':1,'location':null}")      "field=lines[0].location",
	     RECEIPT("{'sku':'A','qty':1,'colour':'red'}")       "field=lines[0].colour",
	     RECEIPT("{'sku':'A','qty':1,'counted':1}")          "field=lines[0].counted",
	     RECEIPT("{'sku':'A','qty':1,'qty':1}")              "field=lines[0].qty",
	     RECEIPT("{'sku':'A','sku':'B','qty':1}")            "field=lines[0].sku",
	     RECEIPT("{'sku':'A','s\\u006bu':'A','qty':1}")      "field=lines[0].sku",
	     RECEIPT("{'sku':'A','qty':1},{'sku':'A','qty':0}")  "field=lines[1].qty",
	     AFTER);
}

Test(refusals, quantities)
{
	flow(BEFORE,
	     QTY("0"), QTY("-0"), QTY("-1"), QTY("1000000001"), QTY("9000000000000001"), QTY("2147483648"), QTY("4294967297"),
	     QTY("9223372036854775807"), QTY("9223372036854775808"), QTY("18446744073709551617"), QTY("-9223372036854775809"),
	     QTY("100000000000000000000000000000000000000001"), QTY("1e400"),
	     QTY("1.0"), QTY("1.5"), QTY("0.1"), QTY("1e0"), QTY("1E0"), QTY("1e3"), QTY("10e-1"), QTY("1.0e1"),
	     QTY("'1'"), QTY("''"), QTY("null"), QTY("true"), QTY("[1]"), QTY("{}"), QTY("[]"),
	     MOVE "{'movement_id':'X','kind':'return','lines':[{'sku':'A','qty':0}]}"          BAD "field=lines[0].qty",
	     MOVE "{'movement_id':'X','kind':'return','lines':[{'sku':'A','qty':-1}]}"         BAD "field=lines[0].qty",
	     MOVE "{'movement_id':'X','kind':'return','lines':[{'sku':'A','qty':1000000001}]}" BAD "field=lines[0].qty",
	     ADJUST("0"), ADJUST("-0"), ADJUST("1000000001"), ADJUST("-1000000001"), ADJUST("-1.0"), ADJUST("'-1'"), ADJUST("1e1"),
	     COUNT_OF("'counted':-1")                      "field=lines[0].counted",
	     COUNT_OF("'counted':9000000000000001")        "field=lines[0].counted",
	     COUNT_OF("'counted':9223372036854775808")     "field=lines[0].counted",
	     COUNT_OF("'counted':1.0")                     "field=lines[0].counted",
	     COUNT_OF("'counted':'1'")                     "field=lines[0].counted",
	     COUNT_OF("'counted':null")                    "field=lines[0].counted",
	     COUNT_OF("'expected':1")                      "field=lines[0].counted",
	     COUNT_OF("'counted':1,'expected':-1")         "field=lines[0].expected",
	     COUNT_OF("'counted':1,'expected':9000000000000001") "field=lines[0].expected",
	     COUNT_OF("'counted':1,'expected':1e0")        "field=lines[0].expected",
	     COUNT_OF("'counted':1,'expected':'1'")        "field=lines[0].expected",
	     COUNT_OF("'counted':1,'qty':1")               "field=lines[0].qty",
	     COUNT_OF("'counted':1},{'sku':'A','counted':1"),
	     COUNT_OF("'counted':1},{'sku':'B','counted':1},{'sku':'A','location':'main','counted':2"),
	     UNITS("0"), UNITS("-1"), UNITS("1000000001"), UNITS("9223372036854775808"), UNITS("1.0"), UNITS("1e0"), UNITS("'1'"),
	     UNITS("null"), UNITS("true"), UNITS("[1]"),
	     AFTER);
}

#define SIXTEEN     "0123456789abcdef"
#define SIXTY_FIVE  SIXTEEN SIXTEEN SIXTEEN SIXTEEN "x"
#define SKU(code)   RECEIPT("{'sku':'" code "','qty':1}") "field=lines[0].sku", ORDER("{'sku':'" code "','qty':1}") "field=lines[0].sku", \
                    ASK "{'skus':['A','" code "']}" BAD "field=skus[1]"
#define PLACE(code) RECEIPT("{'sku':'A','qty':1,'location':'" code "'}") "field=lines[0].location", \
                    ORDER("{'sku':'A','qty':1,'location':'" code "'}") "field=lines[0].location"
#define ID(code)    MOVE "{'movement_id':'" code "','kind':'receipt','lines':[{'sku':'A','qty':1}]}" BAD "field=movement_id", \
                    RESERVE "{'order_id':'" code "','lines':[{'sku':'A','qty':1}]}" BAD "field=order_id"
#define EVERY_CODE(code) SKU(code), PLACE(code), ID(code)

Test(refusals, codes)
{
	flow(BEFORE,
	     EVERY_CODE(""), EVERY_CODE(" "), EVERY_CODE("a b"), EVERY_CODE(" a"), EVERY_CODE("a/b"), EVERY_CODE("a?"),
	     EVERY_CODE("a#b"), EVERY_CODE("100%"), EVERY_CODE("."), EVERY_CODE(".."), EVERY_CODE("\\t"), EVERY_CODE("a\\n"),
	     EVERY_CODE("\\u007f"), EVERY_CODE("caf\xc3\xa9"), EVERY_CODE("\\u00e9"),
	     EVERY_CODE(SIXTY_FIVE), PLACE(SIXTEEN SIXTEEN "x"),
	     AFTER);
}

Test(refusals, reservation_members)
{
#define WITH(more) RESERVE "{'order_id':'X','lines':[{'sku':'A','qty':1}]," more "}" BAD
	flow(BEFORE,
	     RESERVE                                                       BAD "field=order_id",
	     RESERVE "{'lines':[{'sku':'A','qty':1}]}"                     BAD "field=order_id",
	     RESERVE "{'order_id':'X'}"                                    BAD "field=lines",
	     RESERVE "{'order_id':1,'lines':[{'sku':'A','qty':1}]}"        BAD "field=order_id",
	     RESERVE "{'order_id':'X','lines':[]}"                         BAD "field=lines",
	     RESERVE "{'order_id':'X','lines':'A'}"                        BAD "field=lines",
	     ORDER("{'sku':'A'}")                                          "field=lines[0].qty",
	     ORDER("{'qty':1}")                                            "field=lines[0].sku",
	     ORDER("{'sku':'A','qty':1,'price':1}")                        "field=lines[0].price",
	     ORDER("{'sku':'A','qty':1,'qty':2}")                          "field=lines[0].qty",
	     ORDER("{'sku':'A','qty':1},{'sku':'B','qty':-1}")             "field=lines[1].qty",
	     ORDER("{'sku':'A','qty':1},7")                                "field=lines[1]",
	     WITH("'customer':1")                                          "field=customer",
	     WITH("'order_id':'X'")                                        "field=order_id",
	     WITH("'ttl':60")                                              "field=ttl",
	     WITH("'ttl_s':0")      "field=ttl_s", WITH("'ttl_s':-1")      "field=ttl_s", WITH("'ttl_s':86401") "field=ttl_s",
	     WITH("'ttl_s':1.5")    "field=ttl_s", WITH("'ttl_s':6e1")     "field=ttl_s", WITH("'ttl_s':'60'")  "field=ttl_s",
	     WITH("'ttl_s':null")   "field=ttl_s", WITH("'ttl_s':9223372036854775808") "field=ttl_s",
	     WITH("'mode':'some'")  "field=mode",  WITH("'mode':''")       "field=mode",  WITH("'mode':1")      "field=mode",
	     WITH("'mode':null")    "field=mode",  WITH("'mode':'ALL_OR_NOTHING'") "field=mode",
	     ASK                                                           BAD "field=skus",
	     ASK "{'skus':[]}"       BAD "field=skus", ASK "{'skus':'A'}"  BAD "field=skus", ASK "{'skus':{}}" BAD "field=skus",
	     ASK "{'skus':[1]}"      BAD "field=skus[0]",
	     ASK "{'skus':['A',null]}" BAD "field=skus[1]",
	     ASK "{'skus':['A'],'max_age_ms':1}" BAD "field=max_age_ms",
	     ASK "{'skus':['A'],'skus':['A']}"   BAD "field=skus",
	     AFTER);
}

#define SIXTEEN_OPEN   "[[[[[[[[[[[[[[[["
#define SIXTEEN_CLOSED "]]]]]]]]]]]]]]]]"

Test(refusals, deep_nesting)
{
	flow_begin();
	flow_steps(BEFORE);
	flow_repeat(MOVE, "[", 100000, BAD);
	flow_repeat(MOVE "{'a':", "[", 100000, BAD);
	flow_repeat(MOVE, "{'a':", 100000, BAD);
	flow_repeat(RESERVE "{'order_id':", "[[[[[[[[[[", 1000, BAD);
	flow_repeat("raw POST /v1/reservations/batch {'reservations':[", "[", 100000, BAD);
	flow_repeat(MOVE "{'movement_id':'X','kind':'receipt','lines':[{'sku':", "[", 500, BAD);
	flow_steps(MOVE "{'movement_id':" SIXTEEN_OPEN SIXTEEN_OPEN SIXTEEN_CLOSED SIXTEEN_CLOSED "}" BAD, AFTER);
	flow_end();
}

/* A body of exactly 8 MiB is read, one byte more is not; nor is one that only says it is longer. */
Test(refusals, large_bodies)
{
#define SIZE(body) ((int)sizeof(body) - 1)
#define SOUND "{\"movement_id\":\"M8\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}"
	enum { BODY_MAX = 8 << 20 };
	flow_begin();
	flow_steps(BEFORE);
	flow_repeat(MOVE "{}", " ", BODY_MAX - 1, ". -> 413 too_large");
	flow_repeat(MOVE SOUND, " ", BODY_MAX + 1 - SIZE(SOUND) - 1, "\n -> 413 too_large");
	flow_steps("raw POST /v1/movements Content-Length:67108864 Content-Type:application/json -> 413 too_large",
	           "unchanged");
	flow_repeat(MOVE SOUND, " ", BODY_MAX - SIZE(SOUND) - 1, "\n -> 201 movement_id=M8");
	flow_steps("sku A -> available=7");
	flow_end();
}
