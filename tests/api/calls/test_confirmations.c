/* test_confirmations.c - POST /v1/confirmations and /v1/releases: many orders in one call, each judged on its own as
 * the single call would, in the lane of its own id. */
#include "engine/base/clock.h"
#include "tests/kit/patience.h"
#include "tests/kit/proxy.h"
#include "tests/lang/trap.h"

#include <unistd.h>

#define CONFIRMATIONS "raw POST /v1/confirmations "
#define RELEASES      "raw POST /v1/releases "

Test(confirmations, each_is_judged_on_its_own)
{
	flow("receipt  A +10 B +10                  -> 201",
	     "reserve  R1 A=4 B=1                   -> 201",
	     "reserve  R2 A=1                       -> 201",
	     "reserve  R3 A=1 ttl=60                -> 201",
	     "reserve  R4 A=1                       -> 201",
	     "confirm  R2                           -> confirmed",
	     "release  R4                           -> released",
	     "tick     61",
	     "confirmations R3 R1 R2 R4 R5          ->"
	     "   409 expired order_id=R3"
	     " | 200 confirmed order_id=R1 A=4 B=1 confirmed_at=~0 attempts=0"
	     " | 200 confirmed order_id=R2 replayed"
	     " | 409 released order_id=R4"
	     " | 404 unknown_order order_id=R5 !lines",
	     "get      R1                           -> confirmed A=4 B=1",
	     "get      R3                           -> expired",
	     "sku      A                            -> available=4 reserved=6",
	     "releases R2 R5 R1 R3                  ->"
	     "   200 released order_id=R2 released_at=~0"
	     " | 404 unknown_order"
	     " | 200 released A=4 B=1"
	     " | 409 expired",
	     "sku      A                            -> available=9 reserved=1",
	     "sku      B                            -> available=10");
}

Test(confirmations, repeats)
{
	flow("receipt  A +10                        -> 201",
	     "reserve  R1 A=4                       -> 201",
	     "reserve  R2 A=2                       -> 201",
	     "confirmations R1 R1 R2 R9 R9 R1       -> 200 confirmed | 200 confirmed replayed | 200 confirmed"
	     " | 404 unknown_order | 404 unknown_order | 200 confirmed replayed",
	     "confirmations R1 R2                   -> 200 confirmed replayed | 200 confirmed replayed",
	     "confirm  R2                           -> 200 confirmed replayed",
	     "releases R2 R1 R2                     -> 200 released | 200 released | 200 released replayed",
	     "releases R1 R2                        -> 200 released replayed | 200 released replayed",
	     "release  R1                           -> 200 released replayed",
	     "confirmations R1 R2                   -> 409 released | 409 released",
	     "sku      A                            -> available=10 reserved=0");
}

Test(confirmations, of_expired_ones)
{
	flow("receipt  A +10                        -> 201",
	     "reserve  R1 A=4 ttl=60                -> 201",
	     "reserve  R2 A=5 ttl=60                -> 201",
	     "reserve  R3 A=1                       -> 201",
	     "tick     61",
	     "work     expire",
	     "reserve  R4 A=3                       -> 201",
	     "confirmations R1 R2 R3 R1             -> 409 expired | 409 expired | 200 confirmed | 409 expired",
	     "confirmations R2 R1 R3 R2 reacquire   ->"
	     "   200 confirmed order_id=R2 reacquired A=5"
	     " | 409 short order_id=R1 A requested=4 available=1"
	     " | 200 confirmed replayed"
	     " | 200 confirmed replayed !reacquired",
	     "sku      A                            -> available=1 reserved=9");
}

/* Of what a worker has claimed it finds lost what was released. */
Test(confirmations, release_of_claimed_orders)
{
	flow("receipt  A +10                        -> 201",
	     "reserve  R1 A=1                       -> 201",
	     "reserve  R2 A=2                       -> 201",
	     "reserve  R3 A=4                       -> 201",
	     "confirmations R1 R2 R3                -> 200 confirmed | 200 confirmed | 200 confirmed",
	     "claim    settle                       -> 201 orders=3",
	     "releases R3 R1                        -> 200 released | 200 released attempts=1",
	     "complete 1                            -> completed=1 lost=2",
	     "releases R1 R2                        -> 200 released replayed | 409 settled",
	     "confirmations R2                      -> 200 settled replayed",
	     "sku      A                            -> available=8 reserved=0");
}

/* ---- malformed */

#define LONG65                                                             \
	"x123456789012345678901234567890123456789012345678901234567890123" \
	"45"
#define AMONG(item) CONFIRMATIONS "{'order_ids':['R1'," item ",'R2']} -> 200 results=3 results[0].status=200 "
#define FAULT       "results[2].status=200 results[1].status=400 results[1].code=invalid_request !results[1].order_id "
#define ITS_OWN     FAULT "results[1].field=order_ids[1]"

Test(confirmations, a_malformed_id_is_its_own_fault)
{
	flow("receipt  A +10                        -> 201",
	     "reserve  R1 A=1                       -> 201",
	     "reserve  R2 A=1                       -> 201",
	     AMONG("''") ITS_OWN,
	     "mark",
	     AMONG("7") ITS_OWN,
	     AMONG("1.5") ITS_OWN,
	     AMONG("1e0") ITS_OWN,
	     AMONG("null") ITS_OWN,
	     AMONG("true") ITS_OWN,
	     AMONG("[]") ITS_OWN,
	     AMONG("['R1']") ITS_OWN,
	     AMONG("{}") ITS_OWN,
	     AMONG("{'order_id':'R1'}") ITS_OWN,
	     AMONG("{'a':1,'a':1}") ITS_OWN,
	     AMONG("' R1'") ITS_OWN,
	     AMONG("'..'") ITS_OWN,
	     AMONG("'R1\\u0000'") ITS_OWN,
	     AMONG("'R1\\ud800'") ITS_OWN,
	     AMONG("'\u00e9'") ITS_OWN,
	     AMONG("'" LONG65 "'") ITS_OWN,
	     RELEASES "{'order_ids':['',7]} -> 200 results=2 results[0].status=400 results[0].field=order_ids[0]"
	     " results[1].status=400 results[1].field=order_ids[1]",
	     "unchanged",
	     "raw GET  /metrics                     -> holdfast_refusals_total{code=invalid_request}=19",
	     "get      R1                           -> confirmed",
	     "get      R2                           -> confirmed");
}

Test(confirmations, a_malformed_call)
{
	flow("receipt  A +10                        -> 201",
	     "reserve  R1 A=1                       -> 201",
	     "mark",
	     CONFIRMATIONS "                                                  -> 400 invalid_request field=order_ids",
	     CONFIRMATIONS "{}                                                -> 400 invalid_request field=order_ids",
	     CONFIRMATIONS "{'order_ids':[]}                                  -> 400 invalid_request field=order_ids",
	     CONFIRMATIONS "{'order_ids':{}}                                  -> 400 invalid_request field=order_ids",
	     CONFIRMATIONS "{'order_ids':null}                                -> 400 invalid_request field=order_ids",
	     CONFIRMATIONS "{'order_ids':'R1'}                                -> 400 invalid_request field=order_ids",
	     CONFIRMATIONS "{'order_ids':1.5}                                 -> 400 invalid_request field=order_ids",
	     CONFIRMATIONS "{'order_id':'R1'}                                 -> 400 invalid_request field=order_ids",
	     CONFIRMATIONS "{'reservations':['R1']}                           -> 400 invalid_request field=order_ids",
	     CONFIRMATIONS "{'order_ids':['R1'],'order_ids':['R1']}           -> 400 invalid_request field=order_ids",
	     CONFIRMATIONS "['R1']                                            -> 400 invalid_request !field",
	     CONFIRMATIONS "'R1'                                              -> 400 invalid_request !field",
	     CONFIRMATIONS "{'order_ids':['R1']                               -> 400 invalid_request",
	     CONFIRMATIONS "{'order_ids':['R1',]}                             -> 400 invalid_request",
	     CONFIRMATIONS "{'order_ids':['R1'],'x':1}                        -> 400 invalid_request field=x",
	     CONFIRMATIONS "{'order_ids':['R1'],'ttl_s':60}                   -> 400 invalid_request field=ttl_s",
	     CONFIRMATIONS "{'order_ids':['R1'],'if_expired':''}              -> 400 invalid_request field=if_expired",
	     CONFIRMATIONS "{'order_ids':['R1'],'if_expired':null}            -> 400 invalid_request field=if_expired",
	     CONFIRMATIONS "{'order_ids':['R1'],'if_expired':'Reacquire'}     -> 400 invalid_request field=if_expired",
	     CONFIRMATIONS "{'order_ids':['R1'],'if_expired':['reacquire']}   -> 400 invalid_request field=if_expired",
	     CONFIRMATIONS "{'if_expired':'no','order_ids':['R1']}            -> 400 invalid_request field=if_expired",
	     RELEASES "{'order_ids':['R1'],'if_expired':'reacquire'}          -> 400 invalid_request field=if_expired",
	     RELEASES "{'order_ids':[]}                                       -> 400 invalid_request field=order_ids",
	     "raw POST /v1/releases?x=1 {'order_ids':['R1']}                  -> 400 invalid_request field=x",
	     "raw POST /v1/confirmations Content-Type:text/plain {'order_ids':['R1']} -> 415 unsupported_media_type",
	     "raw GET  /v1/confirmations                                      -> 405 Allow:POST",
	     "raw GET  /v1/releases                                           -> 405 Allow:POST",
	     "unchanged");
}

Test(confirmations, a_thousand)
{
	flow_begin();
	flow_steps("receipt  A +1000                  -> 201");
	flow_repeat("confirmations", " R#", 1001, "         -> 400 invalid_request field=order_ids");
	flow_repeat("confirmations", " R#", 1000, "         -> 404 unknown_order | ...");
	flow_repeat("batch    FIRST A=1", " | R# A=1", 999, " -> 201 held | ...");
	flow_repeat("confirmations FIRST", " R#", 999, "    -> 200 confirmed | ...");
	flow_repeat("confirmations FIRST", " R#", 999, "    -> 200 confirmed replayed | ...");
	flow_steps("sku      A                        -> available=0 reserved=1000",
	           "list     state=confirmed limit=1000 -> items=1000 end");
	flow_repeat("releases R998 R0", " R#", 998,
	            "       -> 200 released | 200 released | 200 released replayed"
	            " | 200 released | ...");
	/* Each of these is a batch of its own. Where the machine is so busy that they take longer than the 10 s of a
	 * request, the rest is told busy; a repeat goes on. */
	flow_repeat("wait releases R0", " R0", 999, "       -> 200 released replayed | ...");
	flow_steps("sku      A                        -> available=999 reserved=1");
	flow_end();
}

Test(confirmations, largest_body)
{
	flow_begin();
	flow_steps("serve    --lanes 2 --max-body 65536",
	           "receipt  A +1                     -> 201",
	           "reserve  R1 A=1                   -> 201");
	flow_repeat("releases", " an-id-that-is-as-long-as-an-id-may-be-it-is-64-bytes-with-n-####", 1000,
	            "                                      -> 413 too_large");
	flow_steps("releases R1                       -> 200 released");
	flow_end();
}

/* ---- twins, in two processes */

Test(confirmations, twins)
{
	flow("serve    --lanes 2",
	     "second   --lanes 2 --slot 2",
	     "receipt  A +1000                      -> 201",
	     "race 8*8 reserve R# A=1               -> 64x 201",
	     "race 16  confirmations R1             -> 1x 200 !results[0].replayed | 15x 200 results[0].replayed=true",
	     "race 16  releases R2                  -> 1x 200 !results[0].replayed | 15x 200 results[0].replayed=true",
	     "race 16  confirmations R3 || confirm R3 ->"
	     " 8x 200 results=1 | *x 200 confirmed replayed | *x 200 confirmed",
	     "race 16  confirmations R4 R5 R6 R4 || confirmations R6 R5 R4 R6 -> 16x 200 results[0].status=200"
	     " results[1].status=200 results[2].status=200 results[3].replayed=true",
	     /* both or the second alone, but each unit once */
	     "race 32*4 confirmations R10 R11 R12 R13 R14 R15 R16 R17 || releases R17 R16 R15 R14 R13 R12 R11 R10"
	     "                                      -> 128x 200 results=8",
	     "sku      A                            -> available=945 reserved=55",
	     "@2 sku   A                            -> available=945 reserved=55",
	     "list     state=released limit=1000    -> items=9",
	     "@2 releases R1 R3 R4 R5 R6            -> 200 released | 200 released | 200 released | 200 released"
	     " | 200 released",
	     "confirmations R1 R18                  -> 409 released | 200 confirmed");
}

/* ---- lanes */

static int64_t batches(void)
{
	return trap_metric(0, "holdfast_batch_requests_count");
}

/* A call is divided among the lanes, and each takes its part as one batch. */
Test(confirmations, each_in_its_lane)
{
	static const char *const serves[] = {"serve --lanes 1", "serve --lanes 2"};

	flow_begin();
	for (int lanes = 1; lanes <= 2; lanes++) {
		int64_t before;

		flow_step("%s", serves[lanes - 1]);
		flow_step("receipt A +100                 -> 201");
		flow_repeat("batch FIRST A=1", " | R# A=1", 99,
		            lanes == 1 ? " -> 201 | ..." : " -> 200 replayed | ...");
		before = batches();
		flow_repeat(lanes == 1 ? "confirmations" : "releases", " R#", 99, " -> 200 | ...");
		cr_expect_eq(batches(), before + lanes, "%d lanes", lanes);
	}
	flow_end();
}

/* The number of results with this status. */
static int results_of(const struct answer *a, int status)
{
	const cJSON *result;
	int          count = 0;

	cJSON_ArrayForEach(result, cJSON_GetObjectItemCaseSensitive(a->json, "results"))
	{
		count += cJSON_GetObjectItemCaseSensitive(result, "status")->valueint == status;
	}
	return count;
}

/* `begin` and 999 pieces, each with its number. */
static struct race *race_of_many(const char *shape, const char *begin, const char *piece)
{
	struct text  step = {0};
	struct race *race;

	text_add(&step, begin);
	for (int i = 1; i < 1000; i++)
		text_format(&step, piece, i);
	race = flow_race(shape, step.data);
	text_fini(&step);
	return race;
}

#define DEPTH(lane) "holdfast_queue_depth{lane=\"" lane "\"}"

/* One of two lanes has no room: only its part of the call is busy, about half of the ids. No client knows which. */
Test(confirmations, full_queue_of_one_lane)
{
	struct race         *first, *fill, *race;
	const struct answer *answer;
	int64_t              refused;
	int                  busy;

	flow_begin();
	flow_step("serve --lanes 2");
	flow_steps("receipt A +100000                  -> 201");
	trap_lock("SELECT writer_id FROM log_writer WHERE writer_id = %lld FOR UPDATE",
	          (long long)trap_number("SELECT writer_id FROM log_writer WHERE slot = 0"));
	first = flow_race("16", "reserve W# A=1");
	trap_waiter();
	fill = race_of_many("24", "batch FIRST# A=1", " | R#-%d A=1");
	for (int64_t from = clock_ms(); !patience_is_over(from, PATIENCE_MS); usleep(10000))
		if (trap_metric(0, DEPTH("0")) >= 4000 && trap_metric(0, DEPTH("1")) == 0)
			break;
	refused = trap_metric(0, "holdfast_busy_total{cause=\"queue_full\"}");
	race = race_of_many("1", "confirmations Z0", " Z%d");
	answer = race_finish(race, NULL);
	busy = results_of(answer, 503);
	cr_expect(busy > 300 && busy < 700, "%d of the thousand", busy);
	cr_expect_eq(results_of(answer, 404), 1000 - busy);
	cr_expect_eq(trap_metric(0, "holdfast_busy_total{cause=\"queue_full\"}"), refused + busy);
	race_free(race);
	trap_unlock();
	trap_raced(first, "16x 201");
	race_finish(fill, NULL);
	race_free(fill);
	flow_repeat("confirmations", " Z#", 1000, "         -> 404 unknown_order | ...");
	flow_end();
}

/* ---- the database goes away */

Test(confirmations, outcome_of_each)
{
	struct proxy *proxy;
	struct race  *race;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +10                    -> 201",
	           "batch    R1 A=1 | R2 A=1 | R3 A=1 -> 201 | 201 | 201",
	           "confirm  R2                       -> confirmed");
	proxy_arm_lane(proxy, BREACH_LATE, "COMMIT");
	proxy_shut_behind(proxy); /* or the lane is back before the database is away */
	race = flow_race("1", "confirmations R1 R2");
	cr_assert(proxy_struck(proxy));
	flow_step("away");
	proxy_let_in(proxy);
	flow_steps("confirmations R3 BAD R9           -> 503 unavailable order_id=R3 | 503 unavailable"
	           " | 503 unavailable order_id=R9");
	trap_raced(race, "1x 200 results=2 results[0].code=unknown_outcome results[0].order_id=R1"
	                 " results[1].code=unavailable results[1].order_id=R2");
	flow_steps("back",
	           "wait confirmations R1 R2          -> 200 confirmed replayed | 200 confirmed replayed",
	           "confirmations R3 R1               -> 200 confirmed | 200 confirmed replayed",
	           "sku      A                        -> available=7 reserved=3");
	flow_end();
	proxy_close(proxy);
}

/* ---- keys */

Test(confirmations, who_may)
{
	flow("keys shop order held=10 | packers worker | eyes read | boss admin",
	     "serve --lanes 2",
	     "key boss",
	     "receipt A +100                        -> 201",
	     "key shop",
	     "wait reserve R1 A=4                   -> 201",
	     "wait reserve R2 A=4                   -> 201",
	     "wait reserve R3 A=2                   -> 201",
	     "reserve R4 A=1                        -> 429 rate_limited",
	     "key packers",
	     CONFIRMATIONS "{'order_ids':['R1']}   -> 403 forbidden",
	     "key eyes",
	     RELEASES "{'order_ids':['R1']}        -> 403 forbidden",
	     "key",
	     RELEASES "{'order_ids':['R1']}        -> 401 unauthorized",
	     /* each of them frees what it held open, at once and once */
	     "key shop",
	     "confirmations R1 R1                   -> 200 confirmed | 200 confirmed replayed",
	     "wait reserve R4 A=4                   -> 201",
	     "reserve R5 A=1                        -> 429 rate_limited",
	     "releases R2 R3 R1 R3                  -> 200 released | 200 released | 200 released"
	     " | 200 released replayed",
	     "wait reserve R5 A=6                   -> 201",
	     "reserve R6 A=1                        -> 429 rate_limited",
	     "key boss",
	     "confirmations R4 R5                   -> 200 confirmed | 200 confirmed",
	     "key shop",
	     "wait reserve R6 A=10                  -> 201");
}
