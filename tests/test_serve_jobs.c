/* test_serve_jobs.c - the jobs inside `serve`: they run beside the calls, and end with the service. */
#include "engine/base/clock.h"
#include "tests/flow.h"
#include "tests/steps.h"

#include <unistd.h>

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
	           "sql SELECT SUM(completed) FROM task -> 10001");
	flow_end();
}

/* n orders of one A each, held or confirmed, that came in `ago_s` seconds ago and are due since then. */
static void backlog(int n, int state, int ago_s)
{
	flow_step("receipt A +%d -> 201", n);
	flow_step(
		"sql INSERT INTO reservation SELECT seq, CONCAT('R', seq), '', NULL, %d, UTC_TIMESTAMP(3) - INTERVAL %d"
		" SECOND, UTC_TIMESTAMP(3) - INTERVAL %d SECOND, NULL, 0, NULL, UTC_TIMESTAMP(3) - INTERVAL %d SECOND,"
		" IF(%d = 2, UTC_TIMESTAMP(3), NULL), NULL, NULL FROM seq_1_to_%d",
		state, ago_s, ago_s, ago_s, state, n);
	flow_step("sql INSERT INTO reservation_line SELECT seq, sku_id, 1, slot, 1 FROM stock_slot, seq_1_to_%d"
	          " WHERE available >= %d",
	          n, n);
	flow_step(
		"sql UPDATE stock_slot SET available = available - %d, reserved = reserved + %d WHERE available >= %d",
		n, n, n);
}

/* Within 2 s of its end, while every other job has its hands full. */
static void expires_in_time(int n, int state, const char *jobs)
{
	int64_t since;

	flow_begin();
	backlog(n, state, 9);
	flow_step("serve --lanes 2 --jobs%s", jobs);
	flow_step("receipt B +3 -> 201");
	since = clock_ms();
	flow_steps("reserve X1 B=1 ttl=1 -> 201",
	           "reserve X2 B=1 ttl=2 -> 201",
	           "reserve X3 B=1 ttl=3 -> 201");
	for (int i = 1; i <= 3; i++) {
		flow_step("wait:60 sql SELECT state FROM reservation WHERE order_id = 'X%d' -> 5", i);
		cr_expect_leq(clock_ms() - since, (i + 2) * 1000, "X%d after %lld ms", i,
		              (long long)(clock_ms() - since));
	}
	flow_step("sql SELECT COUNT(*) > 0 FROM reservation WHERE state IN (3, 5) AND order_id LIKE 'R%%' -> 1");
	flow_end();
}

Test(serve_jobs, expire_while_a_hundred_thousand_wait)
{
	expires_in_time(100000, 2, "");
}

Test(serve_jobs, expire_behind_a_hundred_thousand)
{
	expires_in_time(100000, 1, "=expire");
}

Test(serve_jobs, all_of_them)
{
	flow(THREE,
	     "claim    settle gone limit=1 lease=1 -> 201",
	     "reserve  H A=1 ttl=60         -> 201",
	     "tick     61",
	     "serve    --lanes 1 --jobs",
	     "wait:4 get R2                 -> settled",
	     "wait:12 get R1                -> settled attempts=2",
	     "wait:4 list state=expired     -> items=H",
	     "wait:4 sku A                  -> available=7 reserved=0 on_hand=7",
	     "raw GET /metrics              -> holdfast_reaped_tasks_total=1");
}
