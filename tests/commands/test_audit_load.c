/* test_audit_load.c - the audit beside a service, workers and commands that change what it reads. */
#include "tests/lang/flow.h"
#include "tests/kit/drill.h"

/* Operations in flight raise no false alarm. */
Test(audit, under_load, DRILL)
{
	struct race *race;

	flow_begin();
	flow_steps("serve --lanes 4",
	           "receipt A +2000 B +2000 -> 201");
	flow_orders("K", 2000);
	flow_steps("start W work settle --batch 20 --workers 2 --every 1",
	           "start V work expire --every 1",
	           "start X reap --every 1");
	race = flow_race("12*400", "reserve R# A=1 B=1 ttl=1 || reserve Q# B=1 || adjust A +1 || receipt B +1"
	                           " || claim settle idle limit=3 lease=1");
	for (int i = 0; i < 8; i++) {
		flow_step("run audit -> 0 '~all hold'");
		flow_steps("run purge --keep 0 -> 0",
		           "run kick --all -> 0");
	}
	race_finish(race, NULL);
	race_free(race);
	flow_steps("signal W TERM",
	           "signal V TERM",
	           "signal X TERM",
	           "end W -> 0",
	           "end V -> 0",
	           "end X -> 0",
	           "run audit -> 0");
	flow_end();
}
