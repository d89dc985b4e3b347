/* test_stats.c - the command stats. */
#include "tests/lang/flow.h"
#include "tests/lang/steps.h"

Test(stats, of_everything)
{
	flow(THREE,
	     "claim    settle w limit=1     -> 201",
	     "fail     1 R1=bury            -> 200",
	     "claim    settle w limit=1     -> 201",
	     "tick     10",
	     "run      stats --json         -> 0 confirmed=2 confirmed_claimed=1 buried=1 ready=1 tasks_open=1"
	     "                                   settled=0 on_hand=10 reserved=3 expired=0",
	     "reserve  H A=1 ttl=60         -> 201",
	     "tick     61",
	     "work     expire               -> 0",
	     "run      stats --json         -> 0 expired=1",
	     "run      purge --keep 0       -> 0",
	     "run      stats --json         -> 0 expired=0",
	     "run      stats                -> 0 ~oldest_confirmed_ms ~oldest_lease_ms");
}
