/* test_purge.c - the command purge: old rows are deleted, in batches, and no call waits for that. */
#include "tests/lang/flow.h"
#include "tests/kit/proxy.h"
#include "tests/lang/steps.h"

#include <stdio.h>

Test(purge, tasks_and_orders)
{
	flow(THREE,
	     "reserve  R4 A=1               -> 201",
	     "release  R4                   -> 200",
	     "reserve  R5 A=1 ttl=60        -> 201",
	     "tick     61",
	     "work     expire               -> 0",
	     "reserve  H A=1 ttl=86400      -> 201",
	     "claim    settle w limit=2     -> 201 task_id=2",
	     "complete 2 R1                 -> 200",
	     "fail     2 R2=bury            -> 200",
	     "run      purge --keep 1       -> 0 '~0 reservations and 0 tasks'",
	     "tick     80000",
	     "work     settle               -> 0",
	     "get      R3                   -> settled",
	     "run      audit                -> 0",
	     "tick     6500",
	     "run      purge --keep 1       -> 0 '~3 reservations and 2 tasks'",
	     "get      R1                   -> 404 unknown_order",
	     "get      R4                   -> 404 unknown_order",
	     "get      R5                   -> 404 unknown_order",
	     "get      R3                   -> settled",
	     "get      R2                   -> buried",
	     "get      H                    -> expired",
	     "task     1                    -> 404 unknown_task",
	     "task     3                    -> done",
	     "run      audit                -> 0",
	     "movements A                   -> items=3",
	     "sku      A                    -> available=6 reserved=2 on_hand=8",
	     "sql SELECT COUNT(*) FROM reservation_line LEFT JOIN reservation USING (reservation_id)"
	     " WHERE order_id IS NULL -> 0",
	     "reserve  R1 A=2               -> 201 held",
	     "reserve  R4 A=3               -> 201 held",
	     "run      purge --keep 0       -> 0",
	     "get      R3                   -> 404 unknown_order",
	     "get      R1                   -> held",
	     "get      R2                   -> buried",
	     "run      audit                -> 0");
}

Test(purge, in_batches)
{
	flow_begin();
	flow_orders("R", 1200);
	flow_steps("work settle --batch 2                     -> 0",
	           STATES "3,1200",
	           TASKS "2,600",
	           "tick 90000",
	           "run purge --keep 1                        -> 0 '~1200 reservations and 600 tasks'",
	           "sql SELECT COUNT(*) FROM reservation      -> 0",
	           "sql SELECT COUNT(*) FROM reservation_line -> 0",
	           "sql SELECT COUNT(*) FROM movement WHERE kind = 5 -> 600",
	           "run audit                                 -> 0",
	           "sku A                                     -> on_hand=0");
	flow_end();
}

/* Rows that belong to a reservation go with it. If no key has a limit, only the purge takes away its units of a key. */
Test(purge, what_stands_beside_them)
{
	flow("keys shop order | boss admin",
	     "serve --lanes 2",
	     "key boss",
	     "receipt A +10                 -> 201",
	     "key shop",
	     "reserve R1 A=4 reference=cart -> 201",
	     "split R1 S1 A=1               -> 201 held",
	     "split R1 C1 A=1 then=confirm  -> 201 confirmed",
	     "reserve R2 A=1 replaces=R1    -> 201",
	     "reserve R3 A=9 mode=best_effort replaces=R2 -> 201 A=8",
	     "split S1 S2 A=1               -> 422 nothing_left",
	     "release S1                    -> released",
	     "tick 90000",
	     "run purge --keep 1            -> 0 '~3 reservations'",
	     "get C1                        -> confirmed A=1",
	     "get R3                        -> expired A=8",
	     "run audit                     -> 0",
	     "release C1                    -> released",
	     "run purge --keep 0            -> 0 '~1 reservations'",
	     "sql SELECT COUNT(*) FROM key_hold -> 0",
	     "sql SELECT COUNT(*) FROM reservation_part -> 0",
	     "sql SELECT replaces FROM reservation_note -> R2",
	     "sql SELECT COUNT(*) FROM reservation_short -> 1",
	     "reserve R1 A=2                -> 201 held !reference !replaced_by",
	     "split R1 S1 A=1               -> 201 held");
}

/* Rows of a deleted task go, too, even if a purge is killed half-way. */
Test(purge, of_what_a_task_lost)
{
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("receipt A +10               -> 201",
	           "reserve R1 A=4 confirm=true -> 201",
	           "claim settle W              -> 201 R1",
	           "split R1 S1 A=1             -> 201",
	           "complete 1                  -> lost=1 lost_orders[0]=R1",
	           "tick 90000");
	proxy_arm(proxy, BREACH_WAIT, "FROM task_lost");
	flow_step("start P purge --keep 1");
	cr_expect(proxy_struck(proxy));
	flow_steps("signal P KILL",
	           "end P -> 137");
	proxy_go_on(proxy);
	flow_steps("sql SELECT COUNT(*) FROM task_lost WHERE task_id NOT IN (SELECT task_id FROM job_task) -> 0",
	           "run purge --keep 1          -> 0",
	           "sql SELECT COUNT(*) FROM task_lost -> 0",
	           "task 1                      -> 404");
	flow_end();
	proxy_close(proxy);
}

/* Once the purge walked through all live orders, with locks, for every task that had ended: a service stood still for
 * half a minute. */
Test(purge, of_tasks_waits_for_no_live_order)
{
	struct scratch *s;
	struct db      *stranger;

	flow_begin();
	flow_steps("receipt  A +10                -> 201",
	           "reserve  R1 A=1               -> 201",
	           "reserve  R2 A=1               -> 201",
	           "confirm  R2                   -> confirmed",
	           "work     settle               -> 0",
	           "tick     100000");
	s = flow_scratch();
	stranger = scratch_connection(s);
	cr_assert(db_text(stranger, "SET SESSION idle_transaction_timeout = 0", NULL, NULL) == DB_OK);
	cr_assert_eq(db_text(stranger, "START TRANSACTION", NULL, NULL), DB_OK);
	cr_assert_eq(db_text(stranger, "SELECT 1 FROM reservation FORCE INDEX (claim) WHERE state = 1 FOR UPDATE", NULL,
	                     NULL),
	             DB_OK);
	flow_step("run purge --keep 1 -> 0 '~1 reservations and 1 tasks'");
	db_free(stranger);
	flow_step("run purge --keep 1 -> 0 '~0 reservations and 0 tasks'");
	flow_end();
}
