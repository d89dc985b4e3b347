/* test_calls.c - the calls behind a page for people: the key that asks, the figures, the activity. */
#include "engine/base/memory.h"
#include "engine/read/census.h"
#include "tests/lang/flow.h"
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"

#include <criterion/criterion.h>
#include <stdlib.h>

Test(calls, who_am_i)
{
	flow("raw GET /v1/key              -> 200 roles=1 roles[0]=admin !name service=* instance=*",
	     "raw GET /v1/key?x=1          -> 400 invalid_request field=x",
	     "keys shop order | desk order,worker | eye read | boss admin",
	     "restart",
	     "raw GET /v1/key              -> 401 unauthorized",
	     "key shop",
	     "raw GET /v1/key              -> 200 name=shop roles=1 roles[0]=order",
	     "key desk",
	     "raw GET /v1/key              -> 200 name=desk roles=2 roles[0]=order roles[1]=worker",
	     "key eye",
	     "raw GET /v1/key              -> 200 name=eye roles[0]=read",
	     "raw GET /v1/stats            -> 200 skus=0",
	     "raw GET /v1/activity         -> 200 step_s=1");
}

/* The figures of the command, and when they were counted. */
Test(calls, stats)
{
	flow(THREE,
	     "claim    settle w limit=1     -> 201",
	     "fail     1 R1=bury            -> 200",
	     "raw GET /v1/stats            -> 200 confirmed=2 buried=1 tasks_open=0 on_hand=10 reserved=3 skus=1"
	     " slot_rows=* orders_ahead=0 leases_ahead=0 counted_at=~0",
	     "raw GET /v1/stats?x=1        -> 400 field=x");
}

/* A count answers all that ask within a second, /metrics among them. */
Test(calls, stats_are_counted_once)
{
	flow_begin();
	flow_steps("receipt  A@annex +10         -> 201",
	           "wait raw GET /v1/stats       -> 200 skus=1 available=10");
	trap_counted_once("/v1/stats", "receipt A@annex +1 -> 201");
	flow_steps("receipt  B +10               -> 201",
	           "wait raw GET /v1/stats       -> 200 skus=2",
	           "reserve  R1 B=4              -> 201",
	           "raw GET /metrics             -> 200 'holdfast_reservations{state=held,scope=database}=0'");
	flow_end();
}

Test(calls, stats_without_a_database)
{
	flow("raw GET /v1/key              -> 200",
	     "away",
	     "raw GET /v1/stats            -> 503 unavailable",
	     "raw GET /v1/activity         -> 200 step_s=1",
	     "back");
}

static void counts_agree(const struct census *brief, const struct census *whole)
{
	for (enum reservation_state s = HELD; s <= CONFIRMED; s++) {
		cr_expect(brief->oldest_ready_ms[s] > 1000, "state %d", s);
		cr_expect(whole->oldest_ready_ms[s] >= brief->oldest_ready_ms[s]);
		cr_expect(whole->oldest_ready_ms[s] - brief->oldest_ready_ms[s] < 100000);
	}
	cr_expect_eq(brief->by_state[BURIED], 1);
	cr_expect_eq(whole->by_state[BURIED], 1);
	cr_expect_eq(brief->tasks_open, 1);
	cr_expect_eq(whole->tasks_open, 1);
	cr_expect_eq(brief->webhooks_count, 1);
	cr_expect_eq(whole->webhooks_count, 1);
}

/* The activity's figures of the database are found without a count of all orders; they are the same. Claimed orders,
 * and orders that are not due yet, are older than any that is due. */
Test(calls, a_brief_count_is_as_the_whole)
{
	struct census     *brief = mem_alloc(sizeof(*brief)), *whole = mem_alloc(sizeof(*whole));
	struct db         *db;
	static const char *due[][2] = {{"T1", "9000"}, {"C1", "500"},  {"C2", "400"}, {"H1", "300"},
	                               {"H2", "200"},  {"H3", "-500"}, {"B1", "9000"}};

	flow_begin();
	db = flow_scratch()->db;
	flow_steps("receipt  A +20               -> 201",
	           "raw POST /v1/webhooks {'webhook_id':'W','url':'https://shop.example/'} -> 201",
	           "reserve  B1 A=1 confirm=true -> 201",
	           "claim    settle w            -> 201 ~B1",
	           "fail     1 B1=bury:E         -> 200",
	           "reserve  T1 A=1 confirm=true -> 201",
	           "claim    settle w            -> 201 ~T1",
	           "reserve  C1 A=1 confirm=true -> 201",
	           "reserve  C2 A=1 confirm=true -> 201",
	           "reserve  H1 A=1 ttl=600      -> 201",
	           "reserve  H2 A=1 ttl=600      -> 201",
	           "reserve  H3 A=1 ttl=600      -> 201",
	           "sql UPDATE reservation SET task_id = 0 WHERE order_id IN ('C2', 'H1') -> ");
	cr_assert(census_read(db, true, brief));
	cr_expect_eq(brief->oldest_ready_ms[HELD], 0);
	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		flow_step("sql UPDATE reservation SET due_at = UTC_TIMESTAMP(3) - INTERVAL %s SECOND"
		          " WHERE order_id = '%s' -> ",
		          due[i][1], due[i][0]);
	cr_assert(census_read(db, true, brief));
	cr_assert(census_read(db, false, whole));
	counts_agree(brief, whole);
	cr_expect(brief->oldest_ready_ms[CONFIRMED] >= 500000 && brief->oldest_ready_ms[CONFIRMED] < 600000);
	cr_expect(brief->oldest_ready_ms[HELD] >= 300000 && brief->oldest_ready_ms[HELD] < 400000);
	flow_step("sql UPDATE reservation SET due_at = expires_at WHERE state = 1 -> ");
	flow_step("sql UPDATE reservation SET task_id = NULL WHERE order_id IN ('C2', 'H1') -> ");
	flow_end();
	free(brief);
	free(whole);
}

/* The series have ten minutes, of which most is from before the process. */
Test(calls, activity)
{
	flow("receipt  A +10               -> 201",
	     "raw GET /v1/activity         -> 200 instance=* now=~0 since=~-600 series.answered=600 series.granted=600"
	     " series.granted[0]=null series.p50_ms=600 series.queue=600 series.batches=600 series.settled=600"
	     " series.delivered=600 series.oldest_due_s=600 series.buried=600 series.tasks=600"
	     " series.undelivered=600 series.busy=600 !series.refused.short",
	     "reserve  R1 A=4              -> 201",
	     "reserve  R1 A=4              -> 200 replayed",
	     "batch    R2 A=1 | R3 A=40 | R4 A=40 -> 201 | 409 short | 409 short",
	     "confirm  R1                  -> 200",
	     "settle   R1                  -> 200",
	     "wait raw GET /v1/activity    -> 200 series.refused.short=600 ~,2, '~granted:[null' '~buried:[null'",
	     "raw GET /v1/activity?since=2100-01-01T00:00:00Z -> 200 series.answered=600",
	     "raw GET /v1/activity?since=12:00  -> 400 field=since",
	     "raw GET /v1/activity?x=1     -> 400 field=x");
}
