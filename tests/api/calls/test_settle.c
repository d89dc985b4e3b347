/* test_settle.c - an order settled by its id, without a task: from which states, against a task that has it, as the
 * part of a split, many at once; its movement and its events. */
#include "tests/lang/trap.h"

#include <stdio.h>

Test(settle, one)
{
	flow("receipt A +10 B +5             -> 201",
	     "reserve R1 A=4 B=2 confirm=true -> 201 confirmed",
	     "settle  R1                      -> settled settled_at=* confirmed_at=* A=4 B=2 !released_at attempts=0",
	     "settle  R1                      -> 200 settled replayed",
	     "settle  R1 force=true           -> 200 settled replayed",
	     "sku     A                       -> available=6 reserved=0 on_hand=6",
	     "sku     B                       -> available=3 reserved=0 on_hand=3",
	     "get     R1                      -> settled settled_at=*",
	     "movements A                     -> 200 items[0].kind=settlement items[0].reference=R1 "
	     "items[0].lines[0].qty=-4",
	     "claim   settle w1               -> 204",
	     "release R1                      -> 409 settled",
	     "confirm R1                      -> 200 settled replayed",
	     "reserve R2 A=7                  -> 409 short A available=6");
}

Test(settle, every_state)
{
	flow("receipt A +10                  -> 201",
	     "settle  R0                      -> 404 unknown_order",
	     "reserve H A=1 ttl=60            -> 201 held",
	     "settle  H                       -> 409 held '~confirm it first'",
	     "settle  H force=true            -> 409 held",
	     "reserve R A=1                   -> 201 held",
	     "release R                       -> released",
	     "settle  R                       -> 409 released",
	     "reserve B A=1 confirm=true      -> 201 confirmed",
	     "claim   settle w1               -> 201 task_id=1",
	     "fail    1 B=bury:e              -> buried=1",
	     "get     B                       -> buried",
	     "settle  B                       -> settled settled_at=* last_error=*",
	     "kick    B                       -> 409 settled",
	     "tick    61",
	     "settle  H                       -> 409 expired",
	     "sku     A                       -> on_hand=9");
}

/* An open task keeps the order, whatever its lease says; what a task that is over still names is free. */
Test(settle, what_a_task_has)
{
	flow("receipt A +10                  -> 201",
	     "reserve R1 A=1 confirm=true     -> 201",
	     "reserve R2 A=2 confirm=true     -> 201",
	     "reserve R3 A=3 confirm=true     -> 201",
	     "claim   settle w1 lease=60      -> 201 task_id=1 orders=3",
	     "settle  R1                      -> 409 claimed task_id=1 worker=w1 lease_until=~60",
	     "settle  R1 force=true           -> settled",
	     "complete 1 R1 R2                -> completed=1 lost=1 lost_orders=R1",
	     "sku     A                       -> on_hand=7 reserved=3",
	     "tick    61",
	     "settle  R3                      -> 409 claimed",
	     "run     reap                    -> 0",
	     "settle  R3                      -> settled",
	     "complete 1                      -> 409 lease_lost",
	     "sku     A                       -> on_hand=4 reserved=0");
}

Test(settle, a_part)
{
	flow("receipt A +10 B +10                   -> 201",
	     "reserve R1 A=5 B=1 ttl=600             -> 201 held",
	     "split   R1 S1 A=3 then=settle          -> 409 held",
	     "confirm R1                             -> confirmed",
	     "split   R1 S1 A=3 then=settle          -> 201 settled A=3 settled_at=* confirmed_at=*",
	     "split   R1 S1 A=3 then=settle          -> 200 settled replayed",
	     "split   R1 S1 A=3                      -> 422 order_id_reused",
	     "get     R1                             -> confirmed A=2 B=1",
	     "sku     A                              -> available=5 reserved=2 on_hand=7",
	     "split   R1 S2 A=3 then=settle          -> 422 not_in_order",
	     "split   R1 S2 A=2 B=1 then=settle      -> 422 nothing_left",
	     "claim   settle w1                      -> 201 task_id=1",
	     "split   R1 S2 A=2 then=settle          -> 409 claimed task_id=1",
	     "split   R1 S2 A=2 then=settle force=true -> 201 settled A=2",
	     "complete 1 R1                          -> completed=0 lost=1 lost_orders=R1",
	     "get     R1                             -> confirmed B=1",
	     "settle  R1                             -> settled",
	     "sku     A                              -> on_hand=5 reserved=0",
	     "sku     B                              -> on_hand=9 reserved=0");
}

Test(settle, many_each_judged_by_itself)
{
	flow("receipt A +10                  -> 201",
	     "reserve R1 A=1 confirm=true     -> 201",
	     "reserve R2 A=2                  -> 201",
	     "reserve R3 A=3 confirm=true     -> 201",
	     "settlements R1 R2 R9 R3 R1      -> 200 settled | 409 held | 404 unknown_order | 200 settled | "
	     "200 settled replayed",
	     "sku     A                       -> available=4 reserved=2 on_hand=6");
}

/* The units leave the slots that the lines name, which another service's lane may have. */
Test(settle, through_another_service)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_step("second --lanes 1 --slot 5");
	flow_steps("receipt A +5                    -> 201",
	           "@2 receipt A +5                 -> 201",
	           "reserve R1 A=8 confirm=true     -> 201",
	           "@2 settle R1                    -> settled",
	           "@2 reserve R2 A=2 confirm=true  -> 201",
	           "settlements R2 R1               -> 200 settled | 200 settled replayed",
	           "sku     A                       -> available=0 reserved=0 on_hand=0");
	flow_end();
}

/* A claim comes between the look and the write; the order's attempts are at the end of their column, which a claim does
 * not move then. */
Test(settle, sees_a_claim_that_came_between)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +10                   -> 201",
	           "reserve R1 A=1 confirm=true     -> 201");
	trap_sql("UPDATE reservation SET attempts = 65535");
	trap_lock("UPDATE reservation SET task_id = 7");
	trap_lock("INSERT INTO job_task (task_id, kind, worker, state, lease_until, claimed, completed, failed,"
	          " created_at) VALUES"
	          " (7, 1, 'W', 1, UTC_TIMESTAMP(3) + INTERVAL 60 SECOND, 1, 0, 0, UTC_TIMESTAMP(3))");
	race = flow_race("1", "settle R1");
	trap_waiter();
	trap_unlock();
	trap_raced(race, "1x 409 claimed");
	flow_steps("get     R1                      -> confirmed",
	           "settle  R1 force=true           -> settled",
	           "sku     A                       -> on_hand=9");
	flow_end();
}

/* One order after the other is settled through two services while others do something else to it: each unit leaves once
 * or comes back once, and the audit says so. */
static void settled_against(const char *other)
{
	char steps[200];

	flow_begin();
	flow_step("serve --lanes 2");
	flow_step("second --lanes 2 --slot 2");
	flow_step("race 4 receipt A +200 -> 4x 201");
	for (int round = 0; round < 12; round++) {
		const struct answer *answer;
		struct race         *race;
		int                  count;

		flow_step("reserve R%d A=4 confirm=true -> 201", round);
		snprintf(steps, sizeof(steps), other, round, round, round);
		race = flow_race("8", steps);
		answer = race_finish(race, &count);
		for (int i = 0; i < count; i++)
			if (answer[i].status >= 500 || answer[i].status == 400)
				flow_fail("%s: %d %.300s", steps, answer[i].status, answer[i].body.data);
		race_free(race);
	}
	flow_step("work settle");
	flow_step("run audit -> 0");
	flow_end();
}

Test(settle, against_release)
{
	settled_against("settle R%d || release R%d");
}

Test(settle, against_a_split)
{
	settled_against("settle R%d || split R%d S%d-# A=1");
}

Test(settle, parts_against_the_whole)
{
	settled_against("settle R%d || split R%d S%d-# A=1 then=settle");
}

Test(settle, against_a_claim)
{
	settled_against("settle R%d || claim settle w# || settle R%d force=true");
}

Test(settle, many_against_each_other)
{
	settled_against("settlements R%d R1 R2 || settlements R2 R1 R%d");
}
