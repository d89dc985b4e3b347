/* test_pause.c - jobs that an operator pauses: claims hand out nothing, deliverers begin nothing, and every caller is
 * told. */
#include "tests/lang/flow.h"
#include "tests/kit/inbox.h"
#include "tests/lang/steps.h"

#define ALLOW       "--webhooks-allow 127.0.0.0/8"
#define PAUSE(job)  "raw PUT /v1/jobs/" job " {'paused':true,'reason':'carrier down'} -> "
#define RESUME(job) "raw PUT /v1/jobs/" job " {'paused':false} -> "

Test(pause, claims_hand_out_nothing)
{
	flow(THREE,
	     "claim    settle w limit=1        -> 201",
	     PAUSE("settle") "200 job=settle paused=true '~carrier down' since=~0 !by !ready",
	     "claim    settle w                -> 204 Retry-After:5",
	     "raw GET /v1/jobs                 -> 200 items=3 items[0].job=settle items[0].paused=true items[0].ready=2"
	     " items[0].open=1 items[0].workers=1 items[0].workers[0].worker=w items[0].workers[0].tasks=1"
	     " items[1].job=expire items[1].paused=false items[2].job=deliver !items[1].since",
	     "complete 1                       -> completed=1",
	     "reserve  H A=1 ttl=60            -> 201",
	     "tick     61",
	     "claim    expire w                -> 201 orders=H",
	     RESUME("settle") "200 paused=false !reason !since",
	     "claim    settle w                -> 201 orders=2",
	     "raw PUT /v1/jobs/reap {'paused':true}   -> 404 unknown_job",
	     "raw PUT /v1/jobs/settle          -> 400 field=paused",
	     "raw PUT /v1/jobs/settle {'paused':true,'why':1} -> 400 field=why",
	     "raw GET /v1/jobs?x=1             -> 400 field=x");
}

/* A pause that goes on keeps its beginning. */
Test(pause, said_again)
{
	flow(PAUSE("expire") "200 since=~0",
	     "tick     100",
	     PAUSE("expire") "200 since=~-100 paused=true",
	     RESUME("expire") "200 !since",
	     RESUME("expire") "200 !since",
	     PAUSE("expire") "200 since=~0");
}

/* The row of a job may be missing, as in a database that was restored in part. */
Test(pause, whose_row_is_missing)
{
	flow(THREE,
	     "sql      DELETE FROM job -> ",
	     PAUSE("settle") "200 paused=true since=~0",
	     "run      work settle --once      -> 0 ~paused",
	     STATES "2,3",
	     RESUME("settle") "200 paused=false !since",
	     PAUSE("expire") "200 paused=true",
	     "run      work settle --once      -> 0",
	     STATES "3,3",
	     "run      audit                   -> 1 '~job_is_there: job=3 row_of=-'",
	     RESUME("deliver") "200 paused=false",
	     "run      audit                   -> 0");
}

Test(pause, of_workers)
{
	flow(THREE,
	     PAUSE("settle") "200",
	     "run      work settle --once      -> 0 ~paused",
	     STATES "2,3",
	     "start    W work settle",
	     "wait raw GET /readyz?verbose     -> 200 '~job settle' '~paused' '!~carrier'",
	     "wait raw GET /metrics            -> 200 ~holdfast_job_paused{job=settle,scope=database} '~} 1'",
	     RESUME("settle") "200",
	     "wait:16 sql SELECT COUNT(*) FROM reservation WHERE state = 3 -> 3",
	     "signal   W TERM",
	     "end      W                       -> 0 ~event=paused ~event=resumed");
}

/* A reason is an admin's text. In the log it moves nothing on the terminal of a reader. */
Test(pause, odd_reasons_are_escaped_in_the_log)
{
	struct text said = {0};

	flow_begin();
	flow_steps("raw PUT /v1/jobs/expire {'paused':true,'reason':'a\\u009b31m \\u202e\\u2067 \\u007f \\u00e9 z'}"
	           " -> 200",
	           "wait raw GET /readyz?verbose -> 200 '~job expire'");
	flow_said(&said);
	cr_expect(strstr(said.data, "a\\u009b31m \\u202e\\u2067 \\u007f \xc3\xa9 z"), "%s", said.data);
	flow_end();
	text_fini(&said);
}

Test(pause, of_deliverers)
{
	int port = inbox_open();

	flow_begin();
	flow_step("serve --lanes 2 " ALLOW);
	flow_step("raw POST /v1/webhooks {'webhook_id':'W','url':'http://127.0.0.1:%d/W'} -> 201", port);
	flow_steps(PAUSE("deliver") "200 paused=true",
	           "receipt A +10              -> 201",
	           "start D work deliver " ALLOW,
	           "wait:16 raw GET /v1/webhooks/W -> cursor_age_s=2 !last_status",
	           "raw GET /v1/jobs           -> items[2].ready=1 items[2].open=1",
	           RESUME("deliver") "200");
	cr_expect(inbox_waits("/W", 200, 1, 10000));
	flow_steps(PAUSE("deliver") "200",
	           "run work deliver --once " ALLOW " -> 0 ~event=paused",
	           "signal D TERM",
	           "end D                      -> 0 ~event=paused ~event=resumed");
	flow_end();
}

Test(pause, by_the_command)
{
	flow(THREE,
	     "run      jobs                    -> 0 ~settle ~runs '~ready 3'",
	     "run      jobs pause settle --reason late -> 0 ~paused ~late",
	     "raw GET /v1/jobs                 -> 200 items[0].reason=late",
	     "claim    settle w                -> 204 Retry-After:5",
	     "run      jobs --json             -> 0 items=3 items[0].paused=true",
	     "run      jobs resume settle      -> 0 !~paused",
	     "claim    settle w                -> 201",
	     "run      jobs                    -> 0 '~  w  tasks 1'",
	     "run      jobs pause settle --reason late\xff -> 64 '~not UTF-8'",
	     "raw PUT /v1/jobs/settle {'paused':true,'reason':'\\u001b[31m\\u202ered'} -> 200",
	     "run      jobs                    -> 0 '~\\u001b[31m\\u202ered' '!~\033'",
	     "run      jobs pause reap         -> 64",
	     "run      jobs pause              -> 64",
	     "run      jobs hold settle        -> 64");
}

Test(pause, roles)
{
	flow("keys eye read | boss admin",
	     "restart",
	     "key eye",
	     "raw GET /v1/jobs                 -> 200 items=3",
	     PAUSE("settle") "403 forbidden",
	     "key boss",
	     PAUSE("settle") "200 by=boss",
	     "run      jobs                    -> 0 '~by boss  carrier down'");
}
