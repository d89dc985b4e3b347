/* test_kin.c - what the GET of one order says beyond the order: its task, its next attempt, and the orders that it
 * replaces, was split from and into. */
#include "tests/kit/proxy.h"
#include "tests/lang/trap.h"

Test(kin, replacements)
{
	flow("receipt A +20                                        -> 201",
	     "reserve R1 A=1                                       -> 201 held",
	     "get     R1                                           -> held !replaces !split_from !split_into !task"
	     " !next_attempt_at",
	     "sql SELECT COUNT(*) FROM reservation_note            -> 0",
	     "reserve R2 A=2 replaces=R1                           -> 201 held !replaces",
	     "get     R1                                           -> released replaced_by=R2 !replaces",
	     "get     R2                                           -> held replaces=R1 !replaced_by",
	     "reserve R3 A=3 replaces=R2 customer=c reference=till -> 201 held",
	     "get     R2                                           -> released replaces=R1 replaced_by=R3",
	     "get     R3                                           -> held replaces=R2 customer=c reference=till",
	     "reserve R4 A=1 replaces=R3 customer=c confirm=true   -> 201 confirmed",
	     "get     R4                                           -> confirmed replaces=R3 customer=c",
	     "batch   R5 A=1 replaces=R4 confirm=true | R6 A=1 replaces=R5 confirm=true -> 201 | 201",
	     "get     R5                                           -> released replaces=R4 replaced_by=R6",
	     "get     R6                                           -> confirmed replaces=R5 !replaced_by",
	     "reserve R6 A=1 replaces=R5 confirm=true              -> 200 confirmed replayed !replaces",
	     "list                                                 -> 200 R6 !~replaces",
	     "race 8*20 get R2                                     -> 160x released replaces=R1",
	     "run audit                                            -> 0");
}

Test(kin, splits)
{
	flow("receipt A +20 B +20                       -> 201",
	     "reserve R A=10 B=2 confirm=true           -> 201 confirmed",
	     "split   R S1 A=3 B=1                      -> 201 confirmed !split_from",
	     "split   R S2 A=1 then=release             -> 201 released",
	     "split   R S3 A=2                          -> 201 confirmed",
	     "split   S1 S1-a A=1                       -> 201 confirmed",
	     "get     R                                 -> confirmed split_into=3 split_into[0]=S1 split_into[1]=S2"
	     " split_into[2]=S3 !split_from",
	     "get     S1                                -> confirmed split_from=R split_into=1 split_into[0]=S1-a",
	     "get     S1-a                              -> confirmed split_from=S1 !split_into",
	     "get     S2                                -> released split_from=R",
	     "reserve N A=2 replaces=S1-a confirm=true  -> 201 confirmed",
	     "split   N N1 A=1                          -> 201 confirmed",
	     "get     S1-a                              -> released split_from=S1 replaced_by=N",
	     "get     N                                 -> confirmed replaces=S1-a split_into=1 split_into[0]=N1"
	     " !split_from",
	     "get     N1                                -> confirmed split_from=N !replaces",
	     "list                                      -> 200 N1 !~split_",
	     "race 8*20 get N || get N1 || get R        -> 54x replaces=S1-a | 53x split_from=N | *x split_into=3");
}

Test(kin, more_parts_than_are_told)
{
	flow_begin();
	flow_steps("receipt A +200                  -> 201",
	           "reserve R A=200 confirm=true    -> 201");
	for (int i = 0; i < 105; i++)
		flow_step("split R P%03d A=1 -> 201", i);
	flow_step("get R -> confirmed split_into=100 split_into[0]=P000 split_into[99]=P099");
	flow_end();
}

Test(kin, a_task)
{
	flow("receipt A +20                -> 201",
	     "reserve R A=1 confirm=true   -> 201",
	     "claim   settle w1 lease=60   -> 201 task_id=1",
	     "get     R                    -> confirmed task.task_id=1 task.worker=w1 task.state=open"
	     " task.lease_until=~60 !next_attempt_at",
	     "list                         -> 200 R !~task !~lease_until",
	     "fail    1 R=retry:late       -> retried=1",
	     "get     R                    -> confirmed !task next_attempt_at=~2 last_error=late attempts=1",
	     "list                         -> 200 R !~next_attempt_at",
	     "tick    5",
	     "get     R                    -> confirmed !task !next_attempt_at",
	     "claim   settle w2            -> 201 task_id=2",
	     "give-back 2                  -> 200",
	     "get     R                    -> confirmed !task !next_attempt_at attempts=1",
	     "claim   settle w2            -> 201 task_id=3",
	     "complete 3                   -> completed=1",
	     "get     R                    -> settled task.task_id=3 task.worker=w2 task.state=done",
	     "reserve L A=1 confirm=true   -> 201",
	     "claim   settle w3 lease=1    -> 201 task_id=4",
	     "release L                    -> released",
	     "get     L                    -> released !task",
	     "reserve P A=1 confirm=true   -> 201",
	     "claim   settle w3 lease=1    -> 201 task_id=5",
	     "tick    3",
	     "get     P                    -> confirmed task.task_id=5 task.state=open task.lease_until=~-2",
	     "run     reap                 -> 0",
	     "get     P                    -> confirmed !task next_attempt_at=~2 '~the lease of worker w3 ran out'",
	     "tick    5",
	     "claim   settle w4            -> 201 task_id=6",
	     "fail    6 P=bury:e           -> buried=1",
	     "get     P                    -> buried !task !next_attempt_at",
	     "settle  P                    -> settled",
	     "get     P                    -> settled !task");
}

Test(kin, the_next_attempt)
{
	flow("receipt A +20                              -> 201",
	     "reserve S A=1 ship_after=+600               -> 201 held",
	     "get     S                                  -> held !next_attempt_at",
	     "confirm S                                  -> confirmed !next_attempt_at",
	     "get     S                                  -> confirmed next_attempt_at=~600 ship_after=~600",
	     "tick    601",
	     "get     S                                  -> confirmed !next_attempt_at ship_after=*",
	     "raw PUT /v1/locations/ship {'kind':'incoming'} -> 201",
	     "receipt A@ship +5                          -> 201",
	     "reserve W A@ship=2 confirm=true            -> 201 confirmed",
	     "get     W                                  -> confirmed lines[0].waiting=true !next_attempt_at",
	     "reserve H A=1 ttl=5                        -> 201 held",
	     "tick    6",
	     "get     H                                  -> expired !next_attempt_at !task",
	     "claim   expire w                           -> 201 task_id=1",
	     "get     H                                  -> expired task.task_id=1 task.state=open !next_attempt_at",
	     "fail    1 H=retry:e                        -> retried=1",
	     "get     H                                  -> expired !task next_attempt_at=~2 last_error=e",
	     "tick    5",
	     "claim   expire w                           -> 201 task_id=2",
	     "complete 2                                 -> completed=1",
	     "get     H                                  -> expired task.task_id=2 task.state=done !next_attempt_at");
}

Test(kin, what_was_purged)
{
	flow("receipt A +20                     -> 201",
	     "reserve R A=6 confirm=true        -> 201",
	     "split   R S1 A=1                  -> 201",
	     "split   R S2 A=2                  -> 201",
	     "release S1                        -> released",
	     "reserve O A=1                     -> 201",
	     "reserve N A=1 replaces=O confirm=true -> 201 confirmed",
	     "tick    90000",
	     "run     purge --keep 1            -> 0 '~2 reservations'",
	     "get     R                         -> confirmed split_into=1 split_into[0]=S2",
	     "get     O                         -> 404",
	     "get     N                         -> confirmed replaces=O",
	     "release R                         -> released",
	     "tick    90000",
	     "run     purge --keep 1            -> 0 '~1 reservation'",
	     "get     S2                        -> confirmed !split_from",
	     "release N                         -> released",
	     "tick    90000",
	     "run     purge --keep 1            -> 0",
	     "sql SELECT COUNT(*) FROM reservation_note -> 0");
}

/* An order is told as of one moment, although it is read twice. */
Test(kin, a_task_that_ends_between)
{
	struct proxy *proxy;
	struct race  *race;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("receipt A +10              -> 201",
	           "reserve R A=1 confirm=true -> 201",
	           "claim settle w             -> 201 task_id=1");
	proxy_arm(proxy, BREACH_WAIT, "k.lease_until");
	race = flow_race("1", "get R");
	cr_expect(proxy_struck(proxy));
	flow_step("complete 1 -> completed=1");
	proxy_go_on(proxy);
	trap_raced(race, "1x 200 confirmed !task");
	flow_step("get R -> settled task.state=done");
	flow_end();
	proxy_close(proxy);
}
