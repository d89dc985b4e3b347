/* test_serve_jobs.c - the jobs inside `serve`: they run beside the calls, and end with the service. */
#include "engine/base/clock.h"
#include "tests/kit/drill.h"
#include "tests/lang/flow.h"
#include "tests/lang/steps.h"

#include <string.h>

Test(serve_jobs, expire)
{
	flow("serve --lanes 2 --jobs=expire",
	     "receipt A +10        -> 201",
	     "reserve KEEP A=1     -> 201",
	     "reserve R1 A=4 ttl=1 -> 201",
	     "wait sku A           -> available=9 reserved=1",
	     "list state=expired   -> items=R1");
}

/* ... whatever else has expired before it. */
Test(serve_jobs, expire_behind_a_backlog)
{
	flow_begin();
	flow_orders("R", 10000);
	flow_steps("sql UPDATE reservation SET state = 1, confirmed_at = NULL, due_at = UTC_TIMESTAMP(3)"
	           " - INTERVAL 9 SECOND, expires_at = due_at",
	           "serve --lanes 2 --jobs=expire",
	           "receipt B +1           -> 201",
	           "reserve LAST B=1 ttl=1 -> 201");
	flow_steps("wait:20 sku B                       -> available=1 reserved=0",
	           "wait:20 sku A                       -> available=10000 reserved=0",
	           "sql SELECT SUM(completed) FROM job_task -> 10001");
	flow_step(BY_HAND);
	flow_end();
}

/* Expiry has workers of its own: holds end while a hundred thousand confirmed orders wait for theirs. */
Test(serve_jobs, expire_while_many_wait_for_settlement, DRILL)
{
	enum { MANY = 100000 };

	flow_begin();
	flow_step("receipt A +%d -> 201", MANY);
	flow_step("sql INSERT INTO reservation (" RESERVATION_COLUMNS
	          ") SELECT seq, CONCAT('R', seq), '', NULL, 2, UTC_TIMESTAMP(3), "
	          "UTC_TIMESTAMP(3),"
	          " NULL, 0, NULL, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), NULL, NULL, 0, 0, NULL FROM seq_1_to_%d",
	          MANY);
	flow_step("sql INSERT INTO reservation_line SELECT seq, sku_id, 1, slot, 1, 1 FROM stock_slot, seq_1_to_%d"
	          " WHERE available >= %d",
	          MANY, MANY);
	flow_step(
		"sql UPDATE stock_slot SET available = available - %d, reserved = reserved + %d WHERE available >= %d",
		MANY, MANY, MANY);
	flow_steps("serve --lanes 2 --jobs=expire,settle",
	           "receipt B +1         -> 201",
	           "reserve X B=1 ttl=1  -> 201",
	           "wait:60 sku B        -> available=1 reserved=0",
	           "sql SELECT COUNT(*) > 0 FROM reservation WHERE state = 2 -> 1");
	flow_end();
}

Test(serve_jobs, all_of_them)
{
	flow(THREE,
	     "claim    settle gone limit=1 lease=1 -> 201",
	     "reserve  H A=1 ttl=60         -> 201",
	     "tick     61",
	     "serve    --lanes 1 --jobs=expire,settle,reap,deliver",
	     "wait:4 get R2                 -> settled",
	     "wait:12 get R1                -> settled attempts=2",
	     "wait:4 list state=expired     -> items=H",
	     "wait:4 sku A                  -> available=7 reserved=0 on_hand=7",
	     "raw GET /metrics              -> holdfast_reaped_tasks_total=1");
}

/* A paid order leaves the stock when it was shipped. Without a list, or with an empty one, no job settles orders. */
Test(serve_jobs, settle_where_it_is_named_alone)
{
	static const char *const lists[] = {"serve --lanes 1 --jobs", "serve --lanes 1 --jobs="};

	for (size_t i = 0; i < LENGTH(lists); i++) {
		struct text said = {0};

		flow_begin();
		flow_steps(THREE,
		           "reserve  H A=1 ttl=60         -> 201",
		           "claim    settle gone limit=1 lease=1 -> 201",
		           "tick     61",
		           lists[i],
		           "wait list state=expired       -> items=H",
		           "wait raw GET /metrics         -> holdfast_reaped_tasks_total=1",
		           "list state=confirmed          -> set=R3,R2,R1",
		           "sku      A                    -> available=7 reserved=3");
		flow_said(&said);
		cr_expect(strstr(said.data, "jobs=expire,reap,deliver") && !strstr(said.data, "settles_unshipped"));
		flow_end();
		text_fini(&said);
	}
}

Test(serve_jobs, settle_is_told_at_the_start)
{
	struct text said = {0};

	flow_begin();
	flow_steps("serve --lanes 1 --jobs=settle,expire");
	flow_said(&said);
	cr_expect(strstr(said.data, "event=settles_unshipped"), "%s", said.data);
	flow_end();
	text_fini(&said);
}

Test(serve_jobs, none)
{
	flow("serve --lanes 1 --jobs=none",
	     "receipt A +1                  -> 201",
	     "reserve R1 A=1 confirm=true   -> 201",
	     "run serve --jobs=none,expire  -> 78 '~or none'",
	     "get R1                        -> confirmed");
}
