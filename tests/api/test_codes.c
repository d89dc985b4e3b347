/* test_codes.c - codes and ids of the whole alphabet, wherever one can stand: bodies, paths, answers, lists, files,
 * commands, programs of workers, the log. */
#include "tests/lang/flow.h"

#include "engine/base/codes.h"
#include "jobs/exec_output.h"

#include <stdio.h>
#include <string.h>

#define CODE                                                                                                          \
	"must be 1 to 128 bytes of UTF-8 with no space at either end, without control and invisible characters, and " \
	"not . or .."
#define ID      "must be 1 to 64 bytes of printable ASCII with no space at either end, and not . or .."
#define ENCODED "is not percent-encoded"

Test(codes, valid)
{
	static const char *const good[] = {
		"A",
		" A b",
		"A b",
		"a  b",
		"/",
		"//",
		"a/..",
		"...",
		". .",
		"?",
		"#1001",
		"%",
		"100%",
		"%2F",
		"%zz",
		"\\",
		"\"",
		"'",
		"+",
		"a+b",
		"&=",
		"-",
		"--all",
		"~",
		"BANK CHARGES",
		"SHIRT RED/L",
		"gid://shopify/Order/1",
		"settlement/1/1",
		"tune/sku",
	};
	static const char *const bad[] = {"", " ", "  ", " A", "A ", ".", "..", "a\tb", "a\n", "\x7f"};
	char                     long_code[66] = "";

	for (size_t i = 0; i < LENGTH(good); i++)
		cr_expect(code_valid(good[i], strlen(good[i]), 64) == (good[i][0] != ' ') &&
		                  id_valid(good[i], strlen(good[i]), 64) == (good[i][0] != ' '),
		          "%s", good[i]);
	for (size_t i = 0; i < LENGTH(bad); i++)
		cr_expect(!code_valid(bad[i], strlen(bad[i]), 64) && !id_valid(bad[i], strlen(bad[i]), 64), "%s",
		          bad[i]);
	cr_expect(!code_valid("a\0b", 3, 64));
	memset(long_code, '/', 65);
	cr_expect(code_valid(long_code, 64, 64) && !code_valid(long_code, 65, 64));
	cr_expect(name_valid("shop") && name_valid("...") && !name_valid("a b") && !name_valid("a/b") &&
	          !name_valid("#a") && !name_valid("50%") && !name_valid("a?") && !name_valid("") && !name_valid(".."));
	cr_expect(code_is_of_jobs("settlement/") && code_is_of_jobs("settlement/1/1") &&
	          !code_is_of_jobs("settlement") && !code_is_of_jobs("Settlement/1") &&
	          !code_is_of_jobs("a settlement/1"));
}

/* Texts of several bytes a character: which of them are codes. No id has any of them. */
Test(codes, of_utf8)
{
	static const char *const good[] = {
		"Tasse weiß", "漢字", "\U0001f455",   "e\u0301", "\u00e9",
		"A\u00a0B",        "A\u3000B",     "\u05d0\u05d1", "\ufffd",
	};
	static const char *const bad[] = {
		"\u00a0A",
		"A\u00a0",
		"\u3000",
		"A\u2003",
		"\u202fA", /* spaces at the ends */
		"ß ",
		" ß",
		"ß\tb",
		"ß\x7f",
		("a\xc2\x85"
		 "b"), /* and of ASCII; control characters */
		"A\u200bB",
		"A\u200dB",
		"\ufeffA",
		"A\u00adB",
		"\u2665\ufe0f",
		"A\u2060",
		"\u3164",
		"A\U000e0041", /* of no width */
		"A\u202eB",
		"A\u2066B",
		"\u200fA",
		"A\u061c",
		"A\u2028B", /* of direction; of a line */
		"\xc3",
		"\xa9",
		"A\xc3(",
		"\xc0\xaf",
		"\xe0\x80\xaf",
		"\xed\xa0\x80",
		"\xf4\x90\x80\x80",
		"\xff", /* no UTF-8 */
	};
	char euros[130] = "";

	for (size_t i = 0; i < LENGTH(good); i++)
		cr_expect(code_valid(good[i], strlen(good[i]), 64) && !id_valid(good[i], strlen(good[i]), 64), "%s",
		          good[i]);
	for (size_t i = 0; i < LENGTH(bad); i++)
		cr_expect(!code_valid(bad[i], strlen(bad[i]), 64) && !id_valid(bad[i], strlen(bad[i]), 64), "%zu: %s",
		          i, bad[i]);
	cr_expect(!code_valid("ß\0b", 4, 64));
	for (size_t i = 0; i < 126; i += 3)
		strcpy(euros + i, "\u20ac");
	cr_expect(code_valid(euros, 126, 128) && code_valid(euros, 126, 126) && !code_valid(euros, 126, 125));
	cr_expect(code_begins("ß ", 3, 64) && code_begins(" ", 1, 64) && code_begins("A\u00a0", 3, 64) &&
	          !code_begins("", 0, 64) && !code_begins("\xc3", 1, 64) && !code_begins("A\n", 2, 64) &&
	          !code_begins("ß\u200b", 5, 64));
}

/* ---- over HTTP */

#define ORDER "raw POST /v1/reservations {'order_id':'"
#define LINES "','lines':[{'sku':'A','qty':1}]} -> 201 "

/* A 201 says where the thing is, so that the path of the call and its Location make the path of the thing. */
Test(codes, orders)
{
	flow("receipt  M A +20                               -> 201",
	     "reserve  R-1._~ A=1                            -> 201 Location:reservations/R-1._~",
	     "reserve  #1001 A=1                             -> 201 held order_id=#1001 Location:reservations/%231001",
	     "reserve  gid://shopify/Order/1 A=1"
	     "                                               -> 201 order_id=gid://shopify/Order/1"
	     "                  Location:reservations/gid%3A%2F%2Fshopify%2FOrder%2F1",
	     ORDER "a b=\\\"c" LINES "Location:reservations/a%20b%3D%22c",
	     ORDER "100%" LINES "Location:reservations/100%25",
	     ORDER "%41" LINES "Location:reservations/%2541",
	     ORDER "a\\\\b?c&d=e+f" LINES "Location:reservations/a%5Cb%3Fc%26d%3De%2Bf",
	     ORDER "R1/confirm" LINES "Location:reservations/R1%2Fconfirm",
	     "reserve  batch A=1                             -> 201 Location:reservations/batch",
	     "get      #1001                                 -> held order_id=#1001",
	     "get      gid://shopify/Order/1                 -> held",
	     "get      'a b=\"c'                             -> held",
	     "get      R1/confirm                            -> held",
	     "raw GET  /v1/reservations/100%25               -> 200 order_id=100%",
	     "raw GET  /v1/reservations/%2541                -> 200 order_id=%41",
	     "raw GET  /v1/reservations/a%5Cb%3fc%26d%3De+f  -> 200 held",
	     "confirm  gid://shopify/Order/1                 -> confirmed",
	     "extend   #1001 ttl=60                          -> held expires_at=~60",
	     "release  R1/confirm                            -> released",
	     "release  R1/confirm                            -> released replayed",
	     "reserve  #1001 A=1                             -> 200 held replayed",
	     "reserve  #1001 A=2                             -> 422 order_id_reused",
	     "batch    a/b A=1 | '# ?' A=1 | a/b A=1         -> 201 order_id=a/b | 201 'order_id=# ?' | 200 replayed",
	     "list     state=confirmed                       -> items=gid://shopify/Order/1 end",
	     "list     limit=3                               -> items=3 more items[0].order_id=*",
	     "list     limit=3 next                          -> items=3 more",
	     "list     limit=3 next                          -> items=3 more",
	     "list     limit=3 next                          -> items=2 end");
}

Test(codes, stock)
{
	flow("receipt  'PO 1/2' 'SHIRT RED/L@BACK ROOM' +5 50% +1 -> 201 Location:movements/PO%201%2F2"
	     "                       'movement_id=PO 1/2' 'SHIRT RED/L@BACK ROOM=5' 50%=1",
	     "receipt  'PO 1/2' 'SHIRT RED/L@BACK ROOM' +5 50% +1 -> 200 replayed",
	     "receipt  'PO 1/2' 'SHIRT RED/L@BACK ROOM' +6        -> 422 movement_id_reused",
	     "reserve  R1 'SHIRT RED/L@BACK ROOM=6'  -> 409 short 'SHIRT RED/L@BACK ROOM' requested=6 available=5",
	     "reserve  R1 'SHIRT RED/M=6'            -> 422 unknown_sku 'SHIRT RED/M'",
	     "reserve  R1 'SHIRT RED/L@BACK ROOM=2'  -> 201 held 'SHIRT RED/L@BACK ROOM=2'",
	     "sku      'SHIRT RED/L'                 -> 'sku=SHIRT RED/L' reserved=2 '@BACK ROOM' available=3",
	     "sku      'SHIRT RED/L' max_age=60000   -> reserved=2",
	     "raw GET  /v1/skus/SHIRT%20RED%2FL      -> 200 on_hand=5",
	     "raw GET  /v1/skus/SHIRT+RED%2FL        -> 404 unknown_sku",
	     "raw GET  /v1/skus/SHIRT%20RED/L        -> 404 not_found",
	     "raw GET  /v1/skus/50%25                -> 200 sku=50%",
	     "movements 'SHIRT RED/L'                -> items=1 'items[0].movement_id=PO 1/2'",
	     "raw GET  /v1/skus/SHIRT%20RED%2FL/movements?limit=1 -> 200 items=1 end",
	     "availability 50% 'SHIRT RED/L' A?B     -> 'items=50%,SHIRT RED/L,A?B'",
	     "adjust   #1 50% -1                     -> 201 Location:movements/%231",
	     "count    #2 'SHIRT RED/L@BACK ROOM=4' expected=9"
	     "                        -> 409 count_mismatch 'SHIRT RED/L@BACK ROOM' on_hand=5");
}

/* Names of other alphabets, wherever a sku or a location stands. They are not normalized; ids have none of them. */
Test(codes, stock_of_utf8)
{
	flow("receipt  PO1 'Tasse weiß@Köln Süd' +5 漢字 +1 -> 201 'Tasse weiß@Köln Süd=5' 漢字=1",
	     "receipt  PO1 'Tasse weiß@Köln Süd' +5 漢字 +1 -> 200 replayed",
	     "reserve  R1 'Tasse weiß@Köln Süd=6' -> 409 short 'Tasse weiß@Köln Süd' requested=6 available=5",
	     "reserve  R1 'Tasse weiß@main,Köln Süd=2' -> 201 held 'Tasse weiß@Köln Süd=2'",
	     "get      R1                          -> held 'Tasse weiß@Köln Süd=2'",
	     "sku      'Tasse weiß'               -> 'sku=Tasse weiß' reserved=2 '@Köln Süd' available=3",
	     "sku      'Tasse weiß' max_age=60000 -> reserved=2",
	     "raw GET  /v1/skus/Tasse%20wei%C3%9F  -> 200 on_hand=5",
	     "raw GET  /v1/skus/%E6%BC%A2%E5%AD%97 -> 200 on_hand=1",
	     "raw GET  /v1/locations/K%C3%B6ln%20S%C3%BCd -> 200 'location=Köln Süd'",
	     "raw GET  /v1/skus?prefix=Tasse%20    -> 200 'items=Tasse weiß'",
	     "raw GET  /v1/skus?prefix=Tasse%20wei%C3%9F -> 200 'items=Tasse weiß'",
	     "raw GET  /v1/skus?prefix=Tasse%20wei%C3    -> 400 field=prefix",
	     "raw GET  /v1/skus?location=K%C3%B6ln%20S%C3%BCd -> 200 'items=Tasse weiß'",
	     "raw GET  /v1/reservations?sku=%E6%BC%A2%E5%AD%97 -> 200 items=0",
	     "raw GET  /v1/reservations?sku=Tasse%20wei%C3%9F&location=K%C3%B6ln%20S%C3%BCd -> 200 items=R1",
	     "availability 'Tasse weiß' 漢字 tasse -> 'items=Tasse weiß,漢字,tasse'",
	     "skus limit=1                         -> 'items=Tasse weiß' more",
	     "skus limit=1 next                    -> items=漢字 end",
	     "receipt  PO2 caf\u00e9 +1 cafe\u0301 +2      -> 201",
	     "sku      caf\u00e9                       -> available=1",
	     "sku      cafe\u0301                      -> available=2",
	     "mark",
	     "raw GET  /v1/skus/%C3                -> 400 invalid_request field=sku 'detail=" CODE "'",
	     "raw GET  /v1/skus/%E2%80%8B          -> 400 invalid_request field=sku 'detail=" CODE "'",
	     "raw GET  /v1/skus/A%C2%A0            -> 400 invalid_request field=sku 'detail=" CODE "'",
	     "raw GET  /v1/skus?location=%E2%80%AEA -> 400 invalid_request field=location",
	     "raw GET  /v1/reservations/%C3%A9     -> 400 invalid_request field=order_id 'detail=" ID "'",
	     "receipt  \u00e9 A +1                     -> 400 invalid_request field=movement_id 'detail=" ID "'",
	     "reserve  \u00e9 漢字=1                 -> 400 invalid_request field=order_id",
	     "reserve  R2 漢字=1 customer=\u00e9      -> 400 invalid_request field=customer",
	     "receipt  PO3 A\u200bB +1                 -> 400 invalid_request field=lines[0].sku 'detail=" CODE "'",
	     "receipt  PO3 A@\ufeffB +1                -> 400 invalid_request field=lines[0].location",
	     "unchanged",
	     "raw PUT  /v1/locations/Z%C3%BCrich {'kind':'incoming'} -> 201 Location:Z%C3%BCrich 'location=Zürich'",
	     "receipt  PO4 '漢字@Zürich' +3          -> 201",
	     "reserve  R3 '漢字@Zürich=2' confirm=true -> 201 confirmed",
	     "raw GET  /v1/skus/%E6%BC%A2%E5%AD%97/waiting -> 200 items=R3 items[0].location=Zürich",
	     "raw PUT  /v1/skus/%E6%BC%A2%E5%AD%97/threshold {'low':1,'location':'Köln Süd'} -> 200 sku=漢字",
	     "limit    漢字 9                         -> 200",
	     "has      漢字 C1                        -> sku=漢字 has=0",
	     "events                               -> 200 '~漢字' '~Köln Süd'",
	     "run show sku 'Tasse weiß'           -> 0 '~Tasse weiß' '~Köln Süd'",
	     "run export stock                     -> 0 '~Tasse weiß,Köln Süd,stock,3,2,5'",
	     "run audit --sku 漢字                    -> 0");
}

/* The longest codes, of signs that JSON escapes: events, cursors, pages. */
Test(codes, longest)
{
	static char sku[SKU_MAX + 1], location[LOCATION_MAX + 1];

	memset(sku, '\\', SKU_MAX);
	memset(location, '\\', LOCATION_MAX);
	flow_begin();
	flow_step("receipt M1 %s@%s +5 A +1 ~ +1 -> 201", sku, location);
	flow_step("receipt M2 %s%s +5 -> 400 field=lines[0].sku", sku, "x");
	flow_step("receipt M2 A@%s%s +5 -> 400 field=lines[0].location", location, "x");
	flow_steps("skus limit=1      -> items=A more",
	           "skus limit=1 next -> items=1 more",
	           "skus limit=1 next -> items=~ end");
	flow_step("skus limit=2      -> items=A,%s more", sku);
	flow_step("raw GET /v1/skus?location=%s -> 400 field=location", "%5C%20");
	flow_step("raw PUT /v1/locations/%s {} -> 200", "main");
	flow_steps("raw GET /v1/locations?limit=1 -> 200 items=1 more");
	flow_step("reserve R1 %s@%s=2 confirm=true -> 201", sku, location);
	flow_step("movements %s limit=1 -> items=M1 end", sku);
	flow_steps("serve --lanes 2 --stock-changed");
	flow_step("adjust M3 %s@%s -1 -> 201", sku, location);
	flow_steps("wait events types=stock.changed -> items=stock.changed",
	           "run audit                       -> 0");
	flow_end();
}

/* A page goes on behind any code, in the order of bytes. */
Test(codes, pages)
{
	flow("receipt  M '! a' +1 ! +1 A +1 'A !' +1 'A A' +1 A! +1 A/A +1 A?cursor&b +1 %41 +1 #1 +1 ~ +1 -> 201",
	     "skus                 -> 'items=!,! a,#1,%41,A,A !,A A,A!,A/A,A?cursor&b,~' end",
	     "skus limit=1         -> items=! more",
	     "skus limit=1 next    -> 'items=! a' more",
	     "skus limit=1 next    -> items=#1 more",
	     "skus limit=1 next    -> items=%41 more",
	     "skus limit=1 next    -> items=A more",
	     "skus limit=1 next    -> 'items=A !' more",
	     "skus limit=1 next    -> 'items=A A' more",
	     "skus limit=1 next    -> items=A! more",
	     "skus limit=1 next    -> items=A/A more",
	     "skus limit=1 next    -> items=A?cursor&b more",
	     "skus limit=1 next    -> items=~ end",
	     "receipt  M2 A/A +1   -> 201",
	     "movements A/A limit=1      -> items=M2 more",
	     "movements A/A limit=1 next -> items=M end");
}

/* The path is cut at its slashes, then a segment is decoded, once, then checked. */
Test(codes, paths)
{
	flow("receipt  A +10                             -> 201",
	     "mark",
	     "raw GET /v1/skus/..%2F..%2Fmetrics         -> 404 unknown_sku",
	     "raw GET /v1/skus/%2e%2e%2f                 -> 404 unknown_sku",
	     "raw GET /v1/skus/..                        -> 400 invalid_request field=sku 'detail=" CODE "'",
	     "raw GET /v1/skus/%2E%2E                    -> 400 invalid_request field=sku 'detail=" CODE "'",
	     "raw GET /v1/skus/%2e                       -> 400 invalid_request field=sku 'detail=" CODE "'",
	     "raw GET /v1/skus/%20                       -> 400 invalid_request field=sku 'detail=" CODE "'",
	     "raw GET /v1/skus/A%20                      -> 400 invalid_request field=sku 'detail=" CODE "'",
	     "raw GET /v1/skus/%20A                      -> 400 invalid_request field=sku 'detail=" CODE "'",
	     "raw GET /v1/skus/A%00                      -> 400 invalid_request field=sku 'detail=" CODE "'",
	     "raw GET /v1/skus/A%00B/movements           -> 400 invalid_request field=sku 'detail=" CODE "'",
	     "raw GET /v1/skus/A%                        -> 400 invalid_request field=sku 'detail=" ENCODED "'",
	     "raw GET /v1/skus/100%                      -> 400 invalid_request field=sku 'detail=" ENCODED "'",
	     "raw GET /v1/skus/%zz                       -> 400 invalid_request field=sku 'detail=" ENCODED "'",
	     "raw GET /v1/skus/%2%46                     -> 400 invalid_request field=sku 'detail=" ENCODED "'",
	     "raw GET /v1/skus/A#1                       -> 400 invalid_request field=sku 'detail=" ENCODED "'",
	     "raw GET /v1/skus/%2541                     -> 404 unknown_sku",
	     "raw GET /v1/skus//                         -> 404 not_found",
	     "raw GET /v1/skus/%2F                       -> 404 unknown_sku",
	     "raw GET /v1%2Fskus                         -> 404 not_found",
	     "raw GET /v1/sku%73                         -> 404 not_found",
	     "raw GET /v1/skus/A%3Fmax_age_ms=1          -> 404 unknown_sku",
	     "raw GET /v1/skus?cursor=a#b                -> 400 invalid_request field=cursor",
	     "raw GET /v1/skus?cursor=a+b                -> 400 invalid_request field=cursor",
	     "raw POST /v1/reservations/R%2Fconfirm      -> 405 method_not_allowed",
	     "raw POST /v1/reservations/R%2Fx/confirm    -> 404 unknown_order",
	     "raw GET /v1/tasks/1%2F                     -> 400 invalid_request field=task_id",
	     "unchanged");
}

/* ---- ids that jobs give */

Test(codes, ids_of_jobs)
{
	flow("mark",
	     "receipt  settlement/ A +1                  -> 400 invalid_request field=movement_id"
	     "                      'detail=must not begin with settlement/, as the ids of jobs do'",
	     "receipt  settlement/7/1 A +1               -> 400 invalid_request field=movement_id",
	     "run import /nowhere --id settlement/1      -> 64 '~--id must not begin with settlement/'",
	     "unchanged",
	     "receipt  settlement A +1                   -> 201",
	     "receipt  Settlement/7/1 A +1               -> 201 Location:movements/Settlement%2F7%2F1",
	     "reserve  settlement/7/1 A=1                -> 201",
	     "confirm  settlement/7/1                    -> 200",
	     "work     settle                            -> 0",
	     "sql SELECT COUNT(*) FROM movement WHERE kind = 5 AND movement_id LIKE 'settlement/1/%' -> 1");
}

/* Codes under which an older program put the load of tune are codes like others. */
Test(codes, of_an_old_tune)
{
	flow("receipt  tune/ab tune/sku +5               -> 201",
	     "reserve  tune/1 tune/sku=2                 -> 201",
	     "run migrate                                -> 0",
	     "restart",
	     "get      tune/1                            -> held tune/sku=2",
	     "skus                                       -> items=tune/sku",
	     "sku      tune/sku                          -> available=3 reserved=2",
	     "run stats --json                           -> 0 skus=1",
	     "run audit --sku tune/sku                   -> 0");
}

/* ---- workers */

Test(codes, tasks)
{
	flow("receipt  A +10                             -> 201",
	     "reserve  'R 1' A=1                         -> 201",
	     "reserve  R/2 A=1                           -> 201",
	     "reserve  %41 A=1                           -> 201",
	     "confirm  'R 1'                             -> 200",
	     "confirm  R/2                               -> 200",
	     "confirm  %41                               -> 200",
	     "claim    settle 'packing #1/2 50%'         -> 201 'worker=packing #1/2 50%' orders=3 Location:tasks/1",
	     "task     1                                 -> 'worker=packing #1/2 50%'",
	     "tasks                                      -> items=T1",
	     "complete 1 'R 1'                           -> completed=1 lost=0",
	     "release  R/2                               -> released",
	     "complete 1 R/2 %41                         -> completed=1 lost=1 lost_orders=R/2",
	     "fail     1 'R/2=retry'                     -> lost_orders=R/2",
	     "get      'R 1'                             -> settled",
	     "get      %41                               -> settled");
}

/* A program prints `answer`, which a shell reads as one word. */
Test(codes, exec)
{
	char path[300];

	flow_begin();
	snprintf(path, sizeof(path), "%s/%s.orders", scratch_dir(), flow_scratch()->name);
	flow_steps("receipt A +10 -> 201",
	           "reserve 'BANK CHARGES' A=1 confirm=true -> 201",
	           "reserve 100% A=1 confirm=true -> 201",
	           "reserve %20 A=1 confirm=true -> 201",
	           "reserve gid://1 A=1 confirm=true -> 201",
	           ORDER "q\\\\\\\"1" "','confirm':true,'lines':[{'sku':'A','qty':1}]} -> 201 ");
	flow_step("exec tee %s | sed -e 's/.*\"answer\":\"//' -e 's/\",\"attempts.*//' -e 's/\\\\\\(.\\)/\\1/g'"
	          " -e 's/$/ done/'",
	          path);
	flow_steps("work settle -> 0",
	           "list state=settled -> 'set=BANK CHARGES,100%,%20,gid://1,q\\\"1'");
	flow_end();
}

/* The first line that names no order is told, and how many there are. Chatter is no answer. */
Test(codes, exec_astray)
{
	struct text said = {0};

	flow_begin();
	flow_steps("receipt A +10 -> 201",
	           "reserve 'BANK CHARGES' A=1 -> 201",
	           "reserve R1 A=1 -> 201",
	           "confirm 'BANK CHARGES' -> 200",
	           "confirm R1 -> 200",
	           "exec echo hello there; echo; echo R1; echo BANK CHARGES done; echo '%42ANK%20CHARGES%00 done';"
	           " echo R1 done",
	           "work settle -> 0 '~event=answer_astray task=1 answers=2 first=BANK CHARGES done'",
	           "get R1 -> settled",
	           "get 'BANK CHARGES' -> confirmed attempts=1",
	           "tick 3",
	           "exec echo; echo ready; echo %42ANK%20CHARGES retry not now; echo BANK%20CHARGES done",
	           "work settle -> 0",
	           "get 'BANK CHARGES' -> confirmed 'last_error=not now' attempts=2");
	flow_said(&said);
	cr_expect(strstr(said.data, " first=\"BANK CHARGES done\"\n"), "%s", said.data);
	text_fini(&said);
	flow_end();
}

/* Names in answers: what is written is read, and what no program should write is read all the same. */
Test(codes, answers)
{
	static const struct {
		const char *id, *answer;
	} names[] = {
		{"R1", "R1"},           {"BANK CHARGES", "BANK%20CHARGES"},
		{"100%", "100%25"},     {"%20", "%2520"},
		{"a/b?c#d", "a/b?c#d"}, {"\\\"", "\\\""},
	};
	static const struct {
		const char *line, *id;
	} lines[] = {
		{"R%31 done", "R1"},   {"%52%31 done", "R1"}, {"100% done", "100%"}, {"%2 done", "%2"},
		{"% done", "%"},       {"%zz done", "%zz"},   {"%%20 done", "% "},   {"a+b done", "a+b"},
		{"%2541 done", "%41"}, {"%6 done", "%6"},     {"%61%6 done", "a%6"}, {"%4G done", "%4G"},
	};
	char name[ANSWER_NAME_SIZE];

	for (size_t i = 0; i < LENGTH(names); i++) {
		answer_name(name, names[i].id);
		cr_expect_str_eq(name, names[i].answer);
	}
	for (size_t i = 0; i < LENGTH(lines); i++) {
		struct reservation    r = {.order_id = ""}, *orders[] = {&r};
		static struct answers a;

		strcpy(r.order_id, lines[i].id);
		answers_init(&a, orders, 1);
		cr_expect(answers_take(&a, lines[i].line, strlen(lines[i].line)) == false);
		cr_expect(answers_take(&a, "\n", 1) && a.said[0] == SAID_DONE && a.strays == 0, "%s", lines[i].line);
		answers_fini(&a);
	}
}

/* ---- commands, files, logs */

Test(codes, commands)
{
	flow("receipt  A +10                             -> 201",
	     "reserve  'S 1' A=1                         -> 201",
	     "confirm  'S 1'                             -> 200",
	     "claim    settle 'w 1'                      -> 201",
	     "fail     1 'S 1=bury:broken'               -> buried=1",
	     "run kick 'S 2'                             -> 1 '~S 2 is not known'",
	     "run kick 'S 1'                             -> 0 '~S 1 is confirmed again'",
	     "run kick 'S 1'                             -> 1 '~S 1 is confirmed'",
	     "claim    settle 'w 1'                      -> 201",
	     "tick     60",
	     "run reap --dry-run                         -> 0 '~task 2 of w 1 (settle): 1 orders would be freed'",
	     "run reap --json                            -> 0 'worker=w 1' orders=1");
}

Test(codes, audit_names_them)
{
	struct text said = {0};

	flow_begin();
	flow_steps("receipt 'A =b' +10 -> 201",
	           "sql UPDATE stock_slot SET available = available + 1",
	           "run audit -> 1 '~sku=A =b '",
	           "run audit --json -> 1",
	           "sql UPDATE stock_slot SET available = available - 1");
	flow_said(&said);
	cr_expect(strstr(said.data, " sku=\"A =b\" "), "%s", said.data);
	text_fini(&said);
	flow_end();
}

Test(codes, import)
{
	char  path[300];
	FILE *file;

	flow_begin();
	snprintf(path, sizeof(path), "%s/%s.csv", scratch_dir(), flow_scratch()->name);
	file = fopen(path, "w");
	cr_assert(file &&
	          fputs("sku,qty,location\nBANK CHARGES,1,\n\"SHIRT, \"\"RED\"\"/L\",2,\"BACK ROOM #1\"\n  A B  ,3,\n"
	                "50%,4,?\n",
	                file) >= 0 &&
	          fclose(file) == 0);
	flow_step("run import %s --id 'monday #1/2 50%%' -> 0 '~4 rows, 10 units'", path);
	flow_steps("skus                -> 'items=50%,A B,BANK CHARGES,SHIRT, \"RED\"/L'",
	           "sku 50%             -> @? available=4",
	           "sku 'SHIRT, \"RED\"/L' -> '@BACK ROOM #1' available=2",
	           "movements 50%       -> 'items=import-monday #1/2 50%-1'");
	file = fopen(path, "w");
	cr_assert(file && fputs("sku,qty,location\n\" A\",1,\nA,1,\"b \"\nB,1,\n", file) >= 0 && fclose(file) == 0);
	flow_step("run import %s -> 1 '~line 2: sku " CODE "' '~line 3: location must be 1 to 64 bytes'", path);
	flow_end();
}

/* A line of the log is logfmt, whatever an id holds. */
Test(codes, log)
{
	struct text said = {0};

	flow_begin();
	flow_steps("serve --lanes 2 --log-level debug",
	           "keys boss admin",
	           "key boss",
	           "serve --lanes 2 --log-level debug",
	           "receipt A +10 -> 201",
	           ORDER "a b=\\\"c" LINES,
	           ORDER "\\\\" LINES,
	           ORDER "#1" LINES,
	           "confirm \\ -> 200",
	           "confirm #1 -> 200");
	flow_said(&said);
	cr_expect(strstr(said.data, " id=\"a b=\\\"c\" status=201\n"), "%s", said.data);
	cr_expect(strstr(said.data, " id=\"\\\\\" status=200\n"));
	cr_expect(strstr(said.data, " id=#1 status=200\n"));
	text_fini(&said);
	flow_end();
}
