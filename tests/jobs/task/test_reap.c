/* test_reap.c - the command reap: orders of workers that have died or gone silent are freed. */
#include "engine/base/clock.h"
#include "engine/catalogue/past.h"
#include "jobs/task/reap.h"
#include "tests/kit/proxy.h"
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"

#include <stdio.h>
#include <unistd.h>

Test(reap, reap)
{
	flow(THREE,
	     "run      reap                 -> 0 '~nothing to free'",
	     "claim    settle a limit=2 lease=10 -> 201 orders=2",
	     "claim    settle b limit=2 lease=50 -> 201 orders=1",
	     "reserve  H1 A=1 ttl=60        -> 201",
	     "tick     61",
	     "claim    expire c lease=10    -> 201 task_id=3",
	     "tick     11",
	     "mark",
	     "run      reap --stale-after 100 -> 0 '~nothing to free'",
	     "run      reap --dry-run --stale-after 100 -> 0 '~nothing to free'",
	     "unchanged",
	     "run      reap --dry-run       -> 0 '~task 1 of a (settle): 2 orders would be freed'"
	     "                                   '~task 2 of b (settle): 1 orders would be freed'"
	     "                                   '~task 3 of c (expire): 1 orders would be freed'",
	     "unchanged",
	     "run      reap --stale-after 40 -> 0 '~task 1 of a (settle): 2 orders freed'",
	     "task     1                    -> reaped",
	     "task     2                    -> open",
	     "task     3                    -> open",
	     "run      reap --once          -> 0 '~task 2 of b (settle): 1 orders freed'"
	     "                                   '~task 3 of c (expire): 1 orders freed'",
	     "get      R1                   -> confirmed attempts=1 last_error=*",
	     "get      H1                   -> expired attempts=1",
	     "tick     3",
	     "work     settle               -> 0",
	     "work     expire               -> 0",
	     STATES "3,3 5,1",
	     "sku      A                    -> available=7 on_hand=7");
}

/* A worker renews its lease between the look and the reaping: it keeps its orders. */
Test(reap, a_worker_that_renews_at_that_instant)
{
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("serve    --lanes 1",
	           "receipt  A +1                 -> 201",
	           "reserve  R1 A=1 confirm=true  -> 201",
	           "claim    settle a lease=10    -> 201 orders=R1",
	           "tick     20");
	proxy_arm(proxy, BREACH_WAIT, "UPDATE job_task SET state =");
	flow_step("start P reap");
	cr_expect(proxy_struck(proxy));
	flow_step("heartbeat 1 lease=60              -> 200");
	proxy_go_on(proxy);
	flow_steps("end      P                    -> 0",
	           "task     1                    -> open",
	           "complete 1                    -> completed=1",
	           "run      audit                -> 0");
	flow_end();
	proxy_close(proxy);
}

/* For programs: an object for each task, or for all of it. */
Test(reap, prints_json)
{
	flow(THREE,
	     "run      reap --json                  -> 0 !task_id '!nothing'",
	     "claim    settle a limit=2 lease=1     -> 201",
	     "tick     2",
	     "run      reap --json --dry-run --log-level warn -> 0 task_id=1 kind=settle worker=a orders=2 freed=false",
	     "run      reap --json --log-level warn -> 0 task_id=1 kind=settle worker=a orders=2 freed=true",
	     "claim    settle b                     -> 201 task_id=2 orders=R3",
	     "fail     2 R3=bury:x                  -> 200",
	     "run      kick R3 --json               -> 0 kicked=1",
	     "run      kick R3 --json               -> 1 !kicked",
	     "run      kick --all --json            -> 0 kicked=0",
	     "release  R1                           -> 200",
	     "tick     90000",
	     "run      purge --keep 1 --json        -> 0 reservations=1 tasks=2");
}

/* The eighth time a worker goes silent over an order, it is buried. A hold is not. */
Test(reap, reap_buries)
{
	flow("receipt  A +10                -> 201",
	     "reserve  H1 A=1 ttl=60        -> 201",
	     "tick     61",
	     "reserve  R1 A=1               -> 201",
	     "confirm  R1                   -> 200",
	     "sql UPDATE reservation SET attempts = 7",
	     "claim    settle a lease=1     -> 201",
	     "claim    expire a lease=1     -> 201",
	     "tick     2",
	     "run      reap                 -> 0",
	     "get      R1                   -> buried attempts=8 last_error=*",
	     "get      H1                   -> expired attempts=8",
	     "kick     R1                   -> confirmed",
	     "claim    settle a lease=1     -> 201 task_id=3",
	     "tick     2",
	     "run      reap --max-attempts 1 -> 0",
	     "get      R1                   -> buried attempts=1");
}

/* All overdue tasks are reaped, however many there are. */
Test(reap, reap_of_many_tasks)
{
	flow_begin();
	flow_orders("R", 250);
	for (int i = 0; i < 250; i++)
		flow_step("claim settle w limit=1 lease=1 -> 201");
	flow_steps("tick 2",
	           "run reap --dry-run -> 0 '~task 1 of w' '~task 250 of w'",
	           /* and then their reaper died */
	           "sql UPDATE job_task SET state = 4, ended_at = UTC_TIMESTAMP(3)",
	           "run reap --dry-run -> 0 '~task 1 of w' '~task 101 of w' '~task 250 of w'",
	           "run reap           -> 0",
	           "run reap           -> 0 '!task'",
	           TASKS "4,250",
	           "sql SELECT COUNT(*) FROM reservation WHERE task_id IS NOT NULL -> 0");
	flow_end();
}

Test(reap, many_reapers_at_once)
{
	flow_begin();
	flow_orders("R", 400);
	for (int i = 0; i < 40; i++)
		flow_step("claim settle w limit=10 lease=1 -> 201");
	flow_steps(
		"tick 2",
		"start A reap",
		"start B reap",
		"start C reap",
		"start D reap",
		"end A -> 0",
		"end B -> 0",
		"end C -> 0",
		"end D -> 0",
		TASKS "4,40",
		"sql SELECT COUNT(*), MIN(attempts), MAX(attempts) FROM reservation WHERE task_id IS NULL"
		" -> 400,1,1",
		"sql SELECT MAX(due_at) < UTC_TIMESTAMP(3) + INTERVAL 2200 * 1000 MICROSECOND FROM reservation -> 1",
		"tick 3",
		"work settle -> 0",
		STATES "3,400");
	flow_end();
}

/* More orders than go into one transaction. The first ones are freed, and then all are buried. */
Test(reap, reap_of_a_large_task)
{
	flow_begin();
	flow_orders("R", 2500);
	flow_steps("claim settle w limit=2500 lease=1 -> 201 orders=2500",
	           "tick 2",
	           "run reap --dry-run -> 0 '~task 1 of w (settle): 2500 orders would be freed'",
	           "run reap           -> 0 '~task 1 of w (settle): 2500 orders freed'",
	           "task 1             -> reaped claimed=2500 completed=0",
	           "sql SELECT state, COUNT(*), MIN(attempts), MAX(attempts), COUNT(task_id),"
	           " COUNT(DISTINCT last_error)"
	           " FROM reservation GROUP BY state -> 2,2500,1,1,0,1",
	           "tick 3",
	           "claim settle v limit=2500 lease=1 -> 201 task_id=2 orders=2500",
	           "tick 2",
	           "run reap --max-attempts 2 -> 0 '~task 2 of v (settle): 2500 orders freed'",
	           STATES "6,2500",
	           "sku A -> available=0 reserved=2500");
	flow_end();
}

/* The reaper died after it had marked the task; or a worker's return was cut in half. */
Test(reap, reap_finishes_what_another_began)
{
	flow(THREE,
	     "claim    settle a limit=1     -> 201",
	     "claim    settle b limit=1     -> 201",
	     "claim    settle c limit=1     -> 201",
	     "reserve  H1 A=1 ttl=60        -> 201",
	     "tick     61",
	     "claim    expire d             -> 201 task_id=4",
	     "sql UPDATE job_task SET state = 4, ended_at = UTC_TIMESTAMP(3) WHERE task_id IN (1, 4)",
	     "heartbeat 2                   -> open",
	     "heartbeat 3                   -> open",
	     "run      reap --dry-run       -> 0 '~task 1 of a (settle): 1 orders would be freed'"
	     "                                   '~task 4 of d (expire): 1 orders would be freed'",
	     "run      reap                 -> 0 '~task 1 of a (settle): 1 orders freed'"
	     "                                   '~task 4 of d (expire): 1 orders freed'",
	     "get      R1                   -> confirmed attempts=1",
	     "task     2                    -> open",
	     "complete 2                    -> completed=1",
	     "complete 3                    -> completed=1",
	     "tick     3",
	     "work     settle               -> 0",
	     "work     expire               -> 0",
	     STATES "3,3 5,1");
}

/* Longer than the lease, and than a reaper that looks every second takes for one between two of its looks. */
enum { STANDSTILL_US = 3600000 };

/* A reaper has come to the end of a pass: it has removed a row that a process left an hour ago. */
#define SWEPT                                                                            \
	"sql INSERT INTO process VALUES (7, 1, UTC_TIMESTAMP(3) - INTERVAL 2 HOUR) -> ", \
		"wait sql SELECT COUNT(*) FROM process WHERE mark = 7 -> 0"

/* A worker over HTTP could not renew its lease while the database was away: it gets another chance. */
Test(reap, reaper_waits_after_a_standstill)
{
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_orders("R", 3);
	flow_steps("start X reap --every 1",
	           SWEPT,
	           "claim settle w lease=3 -> 201 task_id=1");
	proxy_stall(proxy, true);
	usleep(STANDSTILL_US);
	proxy_stall(proxy, false);
	flow_steps("wait task 1    -> open lease_until=~28",
	           "complete 1     -> 200 completed=3 lost=0",
	           "claim settle w -> 204",
	           "signal X TERM",
	           "end X          -> 0 ~event=leases_prolonged !freed");
	flow_end();
	proxy_close(proxy);
}

/* .. and no longer than that, although another connection has locked the row of another task. */
Test(reap, reaper_frees_after_its_grace)
{
	struct proxy *proxy;
	struct db    *stranger;

	flow_begin();
	stranger = scratch_connection(flow_scratch());
	proxy = proxy_open(flow_scratch());
	flow_orders("R", 3);
	flow_steps("start X reap --every 1",
	           SWEPT,
	           "claim settle w limit=1 lease=3 -> 201 task_id=1",
	           "claim settle v lease=3         -> 201 task_id=2");
	cr_assert_eq(db_text(stranger, "SET SESSION idle_transaction_timeout = 0", NULL, NULL), DB_OK);
	cr_assert_eq(db_text(stranger, "START TRANSACTION", NULL, NULL), DB_OK);
	cr_assert_eq(db_text(stranger, "UPDATE job_task SET mark = 7 WHERE task_id = 1", NULL, NULL), DB_OK);
	proxy_stall(proxy, true);
	usleep(STANDSTILL_US);
	proxy_stall(proxy, false);
	flow_steps("wait:5 task 2 -> open lease_until=~29",
	           "sql UPDATE job_task SET lease_until = lease_until"
	           " - INTERVAL 40 SECOND WHERE task_id = 2 -> ",
	           "wait:8 task 2 -> reaped",
	           "task 1        -> open");
	db_free(stranger);
	flow_steps("wait:8 task 1 -> reaped",
	           "signal X TERM",
	           "end X         -> 0 ~event=leases_prolonged");
	flow_end();
	proxy_close(proxy);
}

/* ---- clocks that are set right bit by bit */

static void orders_add(void *arg, const struct task *task, int64_t orders)
{
	(void)task;
	*(int64_t *)arg += orders;
}

/* Claims an order, and returns how many orders a reaper frees that had its last pass an hour ago, if the lease ran out
 * in between. Since that pass the database's clock has gained gained_ms. */
static int64_t freed_by_a_clock_that_gained(struct db *db, int64_t gained_ms)
{
	enum { HOUR_MS = 3600000 };
	struct reaper reaper = {.pause_ms = HOUR_MS, .attempts_max = 8};
	int64_t       freed = 0;

	flow_steps("claim settle w limit=1 lease=1 -> 201 orders=1",
	           "tick  2");
	reaper.looked_ms = reaper.ended_ms = clock_ms() - HOUR_MS;
	reaper.looked_at = trap_number("SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000") -
	                   HOUR_MS - gained_ms;
	cr_assert_eq(task_reap(db, &reaper, orders_add, &freed), DB_OK);
	return freed;
}

/* A clock that goes wrong by less than a hundredth has not jumped, however long the reaper's pause is. */
Test(reap, reaper_bears_a_clock_that_is_slewed)
{
	struct catalogue *c = catalogue_new();
	struct db        *db;

	flow_begin();
	db = scratch_connection(flow_scratch());
	past_watch(db_source(db), c);
	flow_orders("R", 4);
	cr_expect_eq(freed_by_a_clock_that_gained(db, 0), 1);
	cr_expect_eq(freed_by_a_clock_that_gained(db, 36000), 1);
	cr_expect_eq(freed_by_a_clock_that_gained(db, -36000), 1);
	cr_expect_eq(freed_by_a_clock_that_gained(db, 38000), 0);
	flow_step("task 4 -> open lease_until=~30");
	db_free(db);
	catalogue_free(c);
	flow_end();
}
