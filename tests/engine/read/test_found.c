/* test_found.c - orders found by their customer, their reference, the beginning of their id, or the time at which they
 * were made. */
#include "engine/base/clock.h"
#include "tests/kit/http.h"
#include "tests/lang/flow.h"

#include <stdio.h>
#include <unistd.h>

/* The newest first; a state beside it. */
Test(found, by_customer)
{
	flow("receipt  A +90                       -> 201",
	     "list     customer=c                  -> 200 items= end",
	     "reserve  R1 A=1 customer=c ttl=600   -> 201",
	     "reserve  R2 A=1 customer=d           -> 201",
	     "reserve  R3 A=1                      -> 201",
	     "reserve  R4 A=1 customer=c confirm=true -> 201",
	     "reserve  R5 A=1 customer=c ttl=60    -> 201",
	     "reserve  R6 A=1 customer=c reference=x -> 201",
	     "list     customer=c                  -> items=R6,R5,R4,R1 end R4 state=confirmed R1 customer=c",
	     "list     customer=d                  -> items=R2 end",
	     "list     customer=C                  -> items= end",
	     "list     customer=c state=held       -> items=R6,R5,R1 end",
	     "list     customer=c state=confirmed  -> items=R4 end",
	     "list     customer=c state=settled    -> items= end",
	     "list     customer=c limit=2          -> items=R6,R5 more",
	     "list     customer=c limit=2 next     -> items=R4,R1 end",
	     "list     customer=c state=held limit=1 -> items=R6 more",
	     "release  R5                          -> 200",
	     "list     customer=c state=held limit=1 next -> items=R1 end",
	     "list     customer=c state=released   -> items=R5 end",
	     "list     customer=c                  -> items=R6,R5,R4,R1 end",
	     "release  R4                          -> 200",
	     "list     customer=c state=released   -> items=R5,R4 end");
}

/* A hold past its time reads expired, whether it was swept or not. */
Test(found, by_customer_reads_expired)
{
	flow("receipt  A +3                        -> 201",
	     "reserve  R1 A=1 customer=c ttl=60    -> 201",
	     "reserve  R2 A=1 customer=c ttl=600   -> 201",
	     "reserve  R3 A=1 customer=c ttl=60    -> 201",
	     "tick     61",
	     "list     customer=c state=held       -> items=R2 end",
	     "list     customer=c state=expired    -> items=R3,R1 end",
	     "list     customer=c state=expired limit=1 -> items=R3 more",
	     "list     customer=c state=expired limit=1 next -> items=R1 end",
	     "reserve  R4 A=1                      -> 201",
	     "list     customer=c state=expired    -> items=R3,R1 end R1 state=expired",
	     "confirm  R1 reacquire                -> 200 reacquired",
	     "list     customer=c state=confirmed  -> items=R1 end",
	     "list     customer=c                  -> items=R3,R2,R1 end");
}

/* Whatever changes the state of an order, the list knows. */
Test(found, in_every_state)
{
	flow("receipt  A +90                       -> 201",
	     "reserve  R1 A=3 customer=c confirm=true -> 201",
	     "claim    settle w                    -> 201",
	     "fail     1 R1=bury                   -> 200",
	     "list     customer=c state=buried     -> items=R1 end",
	     "list     customer=c state=confirmed  -> items= end",
	     "kick     R1                          -> 200",
	     "list     customer=c state=confirmed  -> items=R1 end",
	     "split    R1 P1 A=1                   -> 201",
	     "split    R1 P2 A=1 then=settle       -> 201",
	     "list     customer=c state=confirmed  -> items=P1,R1 end",
	     "list     customer=c state=settled    -> items=P2 end",
	     "settle   P1                          -> 200",
	     "work     settle",
	     "list     customer=c state=settled    -> items=P2,P1,R1 end",
	     "reserve  R2 A=1 customer=c           -> 201",
	     "reserve  R3 A=1 customer=c replaces=R2 -> 201",
	     "list     customer=c state=released   -> items=R2 end R2 replaced_by=R3",
	     "list     customer=c state=held       -> items=R3 end",
	     "reserve  R4 A=1 confirm=true         -> 201",
	     "reserve  R5 A=1 customer=c replaces=R4 confirm=true -> 201",
	     "list     customer=c state=confirmed  -> items=R5 end",
	     "reserve  R6 A=1 customer=c ttl=60    -> 201",
	     "tick     61",
	     "work     expire",
	     "list     customer=c state=expired    -> items=R6 end",
	     "run      audit                       -> 0");
}

Test(found, by_reference)
{
	flow("receipt  A +90                       -> 201",
	     "reserve  R1 A=1 reference=web-7      -> 201",
	     "reserve  R2 A=1 customer=c reference=web-7 -> 201",
	     "reserve  R3 A=1 reference=web-70     -> 201",
	     "reserve  R4 A=1 'reference=bestellt über café & co' -> 201",
	     "confirm  R1                          -> 200",
	     "list     reference=web-7             -> items=R2,R1 end R1 reference=web-7",
	     "list     reference=web-7 state=held  -> items=R2 end",
	     "list     reference=web-7 limit=1     -> items=R2 more",
	     "list     reference=web-7 limit=1 next -> items=R1 end",
	     "list     reference=Web-7             -> items= end",
	     "list     reference=bestellt%20%C3%BCber%20caf%C3%A9%20%26%20co -> items=R4 end");
}

/* By the id, as bytes. */
Test(found, by_prefix)
{
	flow("receipt  A +90                       -> 201",
	     "batch    S-10 A=1 | S-1 A=1 | s-1 A=1 | S-2 A=1 | S- A=1 | T A=1 | '#10%' A=1 -> 201 | ...",
	     "list     prefix=S-                   -> items=S-,S-1,S-10,S-2 end",
	     "list     prefix=S-1                  -> items=S-1,S-10 end",
	     "list     prefix=S-1 limit=1          -> items=S-1 more",
	     "list     prefix=S-1 limit=1 next     -> items=S-10 end",
	     "list     prefix=%2310%25             -> items=#10% end",
	     "list     prefix=S-10x                -> items= end",
	     "list     prefix=S%20                 -> items= end",
	     "list     prefix=S- limit=2           -> items=S-,S-1 more",
	     "reserve  S-11 A=1                    -> 201",
	     "list     prefix=S- limit=2 next      -> items=S-10,S-11 more",
	     "list     prefix=S- limit=2 next      -> items=S-2 end");
}

/* By the text, as bytes; orders with the same one by their state, the oldest first. */
Test(found, by_customer_prefix)
{
	flow("receipt  A +90                       -> 201",
	     "reserve  R1 A=1 customer=ann2        -> 201",
	     "reserve  R2 A=1 customer=ann confirm=true -> 201",
	     "reserve  R3 A=1 customer=ann         -> 201",
	     "reserve  R4 A=1 customer=Ann         -> 201",
	     "reserve  R5 A=1 customer=ann         -> 201",
	     "reserve  R6 A=1 customer=an          -> 201",
	     "reserve  R7 A=1 reference=ann        -> 201",
	     "reserve  R8 A=1 customer=ann%        -> 201",
	     "reserve  R9 A=1 customer=ao confirm=true -> 201",
	     "list     customer_prefix=ann         -> items=R3,R5,R2,R8,R1 end R8 customer=ann%",
	     "list     customer_prefix=a           -> items=R6,R3,R5,R2,R8,R1,R9 end",
	     "list     customer_prefix=ann%25      -> items=R8 end",
	     "list     customer_prefix=ann_        -> items= end",
	     "list     customer_prefix=ann20       -> items= end",
	     "list     customer_prefix=a limit=2   -> items=R6,R3 more",
	     "list     customer_prefix=a limit=2 next -> items=R5,R2 more",
	     "reserve  R10 A=1 customer=an         -> 201",
	     "list     customer_prefix=a limit=2 next -> items=R8,R1 more",
	     "list     customer_prefix=a limit=2 next -> items=R9 end",
	     "list     customer_prefix=a state=confirmed -> items=R2,R9 end",
	     "list     customer_prefix=a state=confirmed limit=1 -> items=R2 more",
	     "list     customer_prefix=a state=confirmed limit=1 next -> items=R9 end",
	     "list     customer_prefix=a state=settled -> items= end",
	     "list     customer_prefix=a state=settled limit=1 -> items= end");
}

/* A hold past its time reads expired, whether it was swept or not. What changes its state between two pages may be
 * missed, or come twice. */
Test(found, by_customer_prefix_as_it_reads)
{
	flow("receipt  A +4                        -> 201",
	     "reserve  R1 A=1 customer=c1 ttl=60   -> 201",
	     "reserve  R2 A=1 customer=c1 ttl=600  -> 201",
	     "reserve  R3 A=1 customer=c2 ttl=60   -> 201",
	     "tick     61",
	     "list     customer_prefix=c state=held -> items=R2 end",
	     "list     customer_prefix=c state=expired limit=1 -> items=R1 more R1 state=expired",
	     "list     customer_prefix=c state=expired limit=1 next -> items=R3 end",
	     "list     customer_prefix=c           -> items=R1,R2,R3 end",
	     "work     expire",
	     "list     customer_prefix=c           -> items=R2,R1,R3 end",
	     "list     customer_prefix=c state=expired -> items=R1,R3 end",
	     "list     customer_prefix=c limit=1   -> items=R2 more",
	     "confirm  R2                          -> 200",
	     "list     customer_prefix=c limit=1 next -> items=R2 more R2 state=confirmed",
	     "confirm  R1 reacquire                -> 200",
	     "list     customer_prefix=c limit=1 next -> items=R3 end");
}

#define X10(text) text text text text text text text text text text

/* A reference may be as long as a note: so may its beginning, and a cursor knows all of it. */
Test(found, by_reference_prefix)
{
	flow("receipt  A +90                       -> 201",
	     "reserve  R1 A=1 reference=web-70     -> 201",
	     "reserve  R2 A=1 reference=web-7      -> 201",
	     "reserve  R3 A=1 'reference=über café' -> 201",
	     "reserve  R4 A=1 'reference=über uns' -> 201",
	     "reserve  R5 A=1 'reference=web 7_%'  -> 201",
	     "reserve  R6 A=1 customer=web-7       -> 201",
	     "list     reference_prefix=web-7      -> items=R2,R1 end R1 reference=web-70",
	     "list     reference_prefix=web        -> items=R5,R2,R1 end",
	     "list     reference_prefix=web%207_   -> items=R5 end",
	     "list     reference_prefix=web%25     -> items= end",
	     "list     reference_prefix=Web        -> items= end",
	     "list     reference_prefix=%C3%BCber%20 -> items=R3,R4 end",
	     "list     reference_prefix=%C3%BCber limit=1 -> items=R3 more",
	     "list     reference_prefix=%C3%BCber limit=1 next -> items=R4 end",
	     "reserve  L1 A=1 reference=" X10(X10("longs")) " -> 201",
	     "reserve  L2 A=1 reference=" X10(X10("longs")) " confirm=true -> 201",
	     "reserve  L3 A=1 reference=" X10(X10("longt")) " -> 201",
	     "list     reference_prefix=long limit=1 -> items=L1 more",
	     "list     reference_prefix=long limit=1 next -> items=L2 more",
	     "list     reference_prefix=long limit=1 next -> items=L3 end",
	     "list     reference_prefix=long state=held -> items=L1,L3 end",
	     "list     reference_prefix=" X10(X10("longs")) " -> items=L1,L2 end",
	     "list     reference_prefix=" X10(X10("longs")) " limit=1 -> items=L1 more",
	     "list     reference_prefix=" X10(X10("longs")) " limit=1 next -> items=L2 end",
	     "list     reference_prefix=" X10(X10("longs")) "s"
	     "                                     -> 400 invalid_request field=reference_prefix");
}

static void made(const char *from, const char *until, const char *expected)
{
	flow_step("list created_after=%s created_before=%s -> %s", from, until, expected);
}

static int64_t created_at(const char *id)
{
	struct client client;
	struct answer out = {0};
	char          path[100];
	int64_t       us = 0;

	snprintf(path, sizeof(path), "/v1/reservations/%s", id);
	client_open(&client, flow_port(0));
	client_ask(&client, "GET", path, "", &out);
	cr_assert(out.status == 200 &&
	          time_read(cJSON_GetObjectItemCaseSensitive(out.json, "created_at")->valuestring, &us));
	answer_fini(&out);
	client_close(&client);
	return us / 1000;
}

/* From a moment on, up to another one; both are exact. */
Test(found, by_time)
{
	struct text times[5] = {0};

	flow_begin();
	flow_step("receipt A +90 -> 201");
	for (int i = 0; i < 4; i++) {
		flow_step("reserve R%d A=1 -> 201", i);
		usleep(3000);
	}
	for (int i = 0; i < 5; i++)
		time_write(&times[i], i < 4 ? created_at(i == 0   ? "R0"
		                                         : i == 1 ? "R1"
		                                         : i == 2 ? "R2"
		                                                  : "R3")
		                            : created_at("R3") + 1);
	made(times[1].data, times[3].data, "items=R2,R1 end");
	made(times[0].data, times[4].data, "items=R3,R2,R1,R0 end");
	made(times[2].data, times[2].data, "items= end");
	made(times[3].data, times[1].data, "items= end");
	made("1970-01-01T00:00:00Z", times[0].data, "items= end");
	made("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "items= end");
	made(times[4].data, "2100-01-01T00:00:00Z", "items= end");
	made("2020-01-01T00:00:00%2B02:00", "2100-01-01T00:00:00Z", "items=R3,R2,R1,R0 end");
	flow_step("list created_after=2020-01-01T00:00:00Z created_before=2100-01-01T00:00:00Z limit=3"
	          " -> items=R3,R2,R1 more");
	flow_steps("reserve R4 A=1 -> 201",
	           "list created_after=2020-01-01T00:00:00Z created_before=2100-01-01T00:00:00Z limit=3 next"
	           " -> items=R0 end",
	           "list created_after=2021-01-01T00:00:00Z created_before=2100-01-01T00:00:00Z limit=3 next"
	           " -> 400 invalid_request field=cursor",
	           /* an hour later the same orders were made an hour ago */
	           "tick 3600",
	           "reserve R5 A=1 -> 201");
	made(times[1].data, "2100-01-01T00:00:00Z", "items=R5 end");
	for (int i = 0; i < 5; i++)
		text_fini(&times[i]);
	flow_end();
}

/* The holders of a sku have a path of their own. */
Test(found, by_sku)
{
	flow("receipt  A +9 A@paris +9 B +9        -> 201",
	     "reserve  R1 A=1                      -> 201",
	     "reserve  R2 A@paris=1 B=1            -> 201",
	     "reserve  R3 A=1                      -> 201",
	     "release  R3                          -> 200",
	     "raw GET /v1/skus/A/holds             -> 200 items=R2,R1 end R1 state=held",
	     "raw GET /v1/skus/A/holds?location=paris -> items=R2 end",
	     "raw GET /v1/skus/A/holds?location=rome -> items= end",
	     "raw GET /v1/skus/A/holds?limit=1     -> items=R2 more",
	     "raw GET /v1/skus/X/holds             -> 404 unknown_sku",
	     "raw GET /v1/skus/A/holds?state=held  -> 400 invalid_request field=state",
	     "raw GET /v1/skus/A/holds?location=   -> 400 invalid_request field=location");
}

/* What no index serves is refused, and the answer says what is served. */
Test(found, refused)
{
	flow("list     customer=c reference=r      -> 400 unsupported_filter field=reference ~created_after ~prefix",
	     "list     customer=c sku=A            -> 400 unsupported_filter field=customer",
	     "list     customer=c on_hold=true     -> 400 unsupported_filter field=customer",
	     "list     prefix=R customer=c         -> 400 unsupported_filter field=prefix",
	     "list     prefix=R state=held         -> 400 unsupported_filter field=state",
	     "list     created_after=2026-01-01T00:00:00Z -> 400 unsupported_filter field=created_after",
	     "list     created_before=2026-01-01T00:00:00Z -> 400 unsupported_filter field=created_before",
	     "list     created_after=2026-01-01T00:00:00Z created_before=2026-01-02T00:00:00Z state=held"
	     "                                     -> 400 unsupported_filter field=state",
	     "list     created_after=2026-01-01T00:00:00Z created_before=2026-01-02T00:00:00Z prefix=R"
	     "                                     -> 400 unsupported_filter field=created_after",
	     "list     reference=r error=e state=buried -> 400 unsupported_filter field=reference",
	     "list     on_hold=true state=settled  -> 400 unsupported_filter field=state",
	     "list     error=e                     -> 400 unsupported_filter field=error",
	     "list     customer=                   -> 400 invalid_request field=customer",
	     "list     customer=%C3%BC             -> 400 invalid_request field=customer",
	     "list     reference=                  -> 400 invalid_request field=reference",
	     "list     prefix=                     -> 400 invalid_request field=prefix",
	     "list     prefix=%00                  -> 400 invalid_request field=prefix",
	     "list     created_after=1 created_before=2026-01-01T00:00:00Z -> 400 invalid_request field=created_after",
	     "list     customer_prefix=c customer=c -> 400 unsupported_filter field=customer_prefix ~reference_prefix",
	     "list     customer_prefix=c reference_prefix=c -> 400 unsupported_filter field=reference_prefix",
	     "list     prefix=R reference_prefix=c -> 400 unsupported_filter field=prefix",
	     "list     customer_prefix=c sku=A     -> 400 unsupported_filter field=customer_prefix",
	     "list     customer_prefix=            -> 400 invalid_request field=customer_prefix",
	     "list     customer_prefix=%C3%BC      -> 400 invalid_request field=customer_prefix",
	     "list     reference_prefix=           -> 400 invalid_request field=reference_prefix",
	     "list     reference_prefix=%00        -> 400 invalid_request field=reference_prefix",
	     "list     color=red                   -> 400 invalid_request field=color",
	     "receipt  A +9                        -> 201",
	     "reserve  R1 A=1 customer=c reference=c -> 201",
	     "reserve  R2 A=1 customer=c reference=c -> 201",
	     "list     customer=c limit=1          -> items=R2 more",
	     "list     reference=c next            -> 400 invalid_request field=cursor",
	     "list     customer=d next             -> 400 invalid_request field=cursor",
	     "list     customer=c state=held next  -> 400 invalid_request field=cursor",
	     "list     next                        -> 400 invalid_request field=cursor",
	     "list     prefix=R limit=1            -> items=R1 more",
	     "list     prefix=R1 next              -> 400 invalid_request field=cursor",
	     "skus     next                        -> 400 invalid_request field=cursor",
	     "list     customer_prefix=R next      -> 400 invalid_request field=cursor",
	     "list     prefix=R next               -> items=R2 end",
	     "list     customer_prefix=c limit=1   -> items=R1 more",
	     "list     customer_prefix=c state=held next -> 400 invalid_request field=cursor",
	     "list     customer_prefix=b next      -> 400 invalid_request field=cursor",
	     "list     reference_prefix=c next     -> 400 invalid_request field=cursor",
	     "list     prefix=c next               -> 400 invalid_request field=cursor",
	     "list     customer_prefix=c next      -> items=R2 end");
}
