/* test_between.c - one process stands still between its look-up and its write while another one splits the order, or
 * changes the order that is to be split. What comes late is decided anew, and each unit is resolved once. */
#include "tests/kit/proxy.h"
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"

#include <stdio.h>
#include <unistd.h>

static struct proxy *proxy;

static void begin(void)
{
	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("serve --lanes 1 -> ",
	           "second --lanes 1 --slot 8 -> ",
	           "receipt A +100 -> 201");
}

static void end(void)
{
	flow_end();
	proxy_close(proxy);
}

/* The first program stops before `statement` of `step`, and goes on when `between` is over. */
static void late(const char *statement, const char *step, const char *between, const char *expectation)
{
	struct race *race;

	proxy_arm(proxy, BREACH_WAIT, statement);
	race = flow_race("1", step);
	if (!proxy_struck(proxy))
		flow_fail("%s: nothing was kept back", step);
	else
		flow_step("%s", between);
	proxy_go_on(proxy);
	trap_raced(race, expectation);
}

#define CONFIRM "state = 2, changed = @s"
#define RELEASE "state = 4, changed = @s"
#define EXTEND  "last_event = @w | @n, expires_at"
#define AMEND   "last_event = @w | @n, noted = noted & ~"
#define HOLD    "r.noted = r.noted | "
#define SWEEP   "state = 5, changed = @s"
#define SETTLE  "settled_at = @t"
#define BURY    "last_error = failed.error"
#define SPLIT   "AND task_id = 0, 0, NULL), due_at"
#define ROWS    "AND r.task_id = "
/* The clock, for one order: the stopped program may have rows locked that `tick` shifts. */
#define SHIFT(id, by)                                                                                        \
	"sql UPDATE reservation SET expires_at = expires_at " by " INTERVAL 100 SECOND, due_at = expires_at" \
	" WHERE order_id IN ('" id "') -> "

Test(between, confirmation)
{
	begin();
	flow_step("reserve R1 A=4 -> 201");
	late(CONFIRM, "confirm R1", "@2 split R1 S1 A=1 -> 201 held", "1x 200 confirmed A=3");
	flow_steps("get S1 -> held A=1",
	           "release S1 -> released",
	           "work settle",
	           "sku A -> available=97 reserved=0");
	end();
}

Test(between, release)
{
	begin();
	flow_step("reserve R1 A=4 -> 201");
	late(RELEASE, "release R1", "@2 split R1 S1 A=1 -> 201 held", "1x 200 released A=3");
	flow_step("sku A -> available=99 reserved=1");
	late(RELEASE, "release S1", "@2 confirm S1 -> 200", "1x 200 released");
	flow_step("reserve R2 A=4 confirm=true -> 201");
	late(RELEASE, "release R2", "@2 split R2 S2 A=3 then=release -> 201", "1x 200 released A=1");
	flow_step("reserve R3 A=4 confirm=true -> 201");
	late(RELEASE, "release R3", "@2 claim settle W -> 201", "1x 200 released attempts=1");
	flow_steps("get R3 -> released attempts=1",
	           "raw GET /v1/events?types=reservation.released -> 200 items[4].data.order_id=R3"
	           " items[4].data.attempts=1",
	           "complete 1 -> lost=1 lost_orders[0]=R3",
	           "sku A -> available=100 reserved=0");
	end();
}

Test(between, extension)
{
	begin();
	flow_step("reserve R1 A=4 ttl=60 -> 201");
	late(EXTEND, "extend R1 ttl=6000", "@2 split R1 S1 A=1 -> 201 held", "1x 200 held A=3 expires_at=~6000");
	flow_step("get S1 -> held A=1 expires_at=~60");
	end();
}

Test(between, replacement)
{
	begin();
	flow_step("reserve R1 A=4 -> 201");
	late(RELEASE, "reserve R2 A=6 replaces=R1", "@2 split R1 S1 A=1 -> 201 held", "1x 201 held A=6");
	flow_steps("get R1 -> released A=3 replaced_by=R2",
	           "sku A -> available=93 reserved=7");
	late(RELEASE, "reserve R3 A=96 replaces=R2", "@2 split R2 S2 A=4 -> 201 held",
	     "1x 409 short A requested=96 available=95");
	flow_step("get R2 -> held A=2 !replaced_by");
	late(RELEASE, "reserve R3 A=1 replaces=R2", "@2 confirm R2 -> 200", "1x 409 confirmed field=replaces");
	late(RELEASE, "reserve R4 A=1 replaces=S1", "@2 reserve R5 A=1 replaces=S1 -> 201",
	     "1x 409 released field=replaces");
	flow_step("sku A -> available=93 reserved=7");
	end();
}

Test(between, another_split)
{
	begin();
	flow_step("reserve R1 A=9 -> 201");
	late(SPLIT, "split R1 S1 A=3", "@2 split R1 S2 A=2 -> 201", "1x 201 held A=3");
	flow_step("get R1 -> held A=4");
	late(SPLIT, "split R1 S3 A=3", "@2 split R1 S4 A=2 -> 201", "1x 422 not_in_order A requested=3 in_order=2");
	late(SPLIT, "split R1 S3 A=1", "@2 split R1 S3 A=1 -> 201", "1x 200 held replayed A=1");
	late(SPLIT, "split S1 S5 A=2", "@2 split S1 S6 A=1 -> 201", "1x 422 nothing_left");
	flow_step("sku A -> available=91 reserved=9");
	end();
}

/* The split is the late one. */
Test(between, whatever_becomes_of_what_is_split)
{
	begin();
	flow_steps("race 1*9 reserve R# A=4 ttl=60 -> 9x 201");
	late(SPLIT, "split R0 S0 A=1", "@2 confirm R0 -> 200", "1x 201 confirmed A=1 confirmed_at=*");
	late(SPLIT, "split R1 S1 A=1", "@2 release R1 -> 200", "1x 409 released");
	late(SPLIT, "split R2 S2 A=1", "@2 extend R2 ttl=6000 -> 200", "1x 201 held expires_at=~6000");
	late(SPLIT, "split R3 S3 A=1", "@2 reserve N3 A=5 replaces=R3 -> 201", "1x 409 released");
	late(SPLIT, "split R4 S4 A=1 then=confirm", "@2 confirm R4 -> 200", "1x 201 confirmed");
	late(SPLIT, "split R5 S5 A=1 then=release", SHIFT("R5", "-"), "1x 409 expired");
	flow_step(SHIFT("R5", "+"));
	flow_steps("sku A -> available=67 reserved=33",
	           "get S0 -> confirmed A=1 attempts=0");
	late(SPLIT, "split R4 T4 A=1", "@2 claim settle W -> 201", "1x 201 confirmed");
	flow_step("complete 1 -> lost=1 lost_orders[0]=R4");
	flow_step("reserve R9 A=4 confirm=true -> 201");
	late(SPLIT, "split R9 S9 A=1", "work settle", "1x 409 settled");
	end();
}

/* By a clock that was ahead the hold had expired, and it expires again. */
Test(between, sweep)
{
	begin();
	flow_steps("receipt B +4 -> 201",
	           "reserve R1 B=4 ttl=60 -> 201",
	           SHIFT("R1", "-"));
	proxy_arm(proxy, BREACH_WAIT, SWEEP);
	struct race *race = flow_race("1", "reserve X B=2");

	cr_expect(proxy_struck(proxy));
	flow_steps(SHIFT("R1", "+"),
	           "@2 split R1 S1 B=1 -> 201 held",
	           SHIFT("R1','S1", "-"));
	proxy_go_on(proxy);
	trap_raced(race, "1x 201 held B=2");
	flow_steps("get R1 -> expired B=3",
	           "sku B -> available=2 reserved=2");
	end();
}

Test(between, confirmation_of_what_has_expired)
{
	begin();
	flow_steps("reserve R1 A=4 ttl=60 -> 201",
	           SHIFT("R1", "-"));
	proxy_arm(proxy, BREACH_WAIT, CONFIRM);
	struct race *race = flow_race("1", "confirm R1 reacquire");

	cr_expect(proxy_struck(proxy));
	flow_steps(SHIFT("R1", "+"),
	           "@2 split R1 S1 A=1 -> 201 held",
	           SHIFT("R1", "-"));
	proxy_go_on(proxy);
	trap_raced(race, "1x 200 confirmed reacquired A=3");
	end();
}

/* The decision is right, and comes too late: the time of the hold has passed when its row is written. */
Test(between, end_of_the_time)
{
	begin();
	flow_step("race 1*6 reserve R# A=4 ttl=60 -> 6x 201");
	late(CONFIRM, "confirm R0", SHIFT("R0", "-"), "1x 409 expired");
	late(RELEASE, "release R1", SHIFT("R1", "-"), "1x 409 expired");
	late(EXTEND, "extend R2 ttl=60", SHIFT("R2", "-"), "1x 409 expired");
	late(RELEASE, "reserve N A=4 replaces=R3", SHIFT("R3", "-"), "1x 409 expired field=replaces");
	late(AMEND, "amend R4 A=5", SHIFT("R4", "-"), "1x 409 expired");
	late(HOLD, "hold R5", SHIFT("R5", "-"), "1x 409 expired");
	flow_step("sku A -> available=76 reserved=24");
	flow_step(SHIFT("R0', 'R1', 'R2', 'R3', 'R4', 'R5", "+"));
	end();
}

Test(between, completion)
{
	begin();
	flow_steps("reserve R1 A=4 confirm=true -> 201",
	           "claim settle W -> 201 orders=1");
	late(SETTLE, "complete 1", "@2 split R1 S1 A=1 -> 201", "1x 200 completed=0 lost=1 lost_orders[0]=R1");
	flow_step("claim settle W -> 201 orders=2");
	late(SETTLE, "complete 2 R1 S1", "@2 split R1 S2 A=1 then=release -> 201",
	     "1x 200 completed=1 lost=1 lost_orders[0]=R1");
	flow_step("claim settle W -> 201 orders=1");
	late(BURY, "fail 3 R1=bury", "@2 split R1 S3 A=1 -> 201", "1x 200 buried=0 retried=0 lost=1");
	flow_steps("get R1 -> confirmed A=1 !last_error",
	           "work settle",
	           "sku A -> available=97 reserved=0 on_hand=97");
	end();
}

/* Orders leave a claim before they are read. */
Test(between, claim)
{
	begin();
	flow_step("reserve R1 A=4 confirm=true -> 201");
	late(ROWS, "claim settle W", "@2 release R1 -> 200", "1x 204");
	flow_steps("task 1 -> returned claimed=1 completed=0",
	           "complete 1 -> 200 completed=0 lost=1 lost_orders[0]=R1",
	           "reserve R2 A=4 confirm=true -> 201",
	           "reserve R3 A=4 confirm=true -> 201");
	late(ROWS, "claim settle W limit=1", "@2 release R2 -> 200", "1x 201 task_id=3 orders=R3");
	flow_steps("reserve R4 A=4 confirm=true -> 201",
	           "reserve R5 A=4 confirm=true -> 201");
	late(ROWS, "claim settle W", "@2 release R4 -> 200", "1x 201 task_id=4 orders=R5");
	flow_steps("complete 3 -> completed=1 lost=0",
	           "complete 4 -> completed=1 lost=1 lost_orders[0]=R4",
	           OPEN "0",
	           "sku A -> available=92 reserved=0");
	end();
}

/* A claim charges an attempt for what it hands out, not for what a split takes away before. */
Test(between, claim_charges_what_it_hands_out)
{
	struct race *race;

	begin();
	flow_step("reserve R1 A=4 confirm=true -> 201");
	late(ROWS, "claim settle W", "@2 split R1 S1 A=1 -> 201",
	     "1x 201 task_id=2 orders=2 orders[0].attempts=1 orders[1].attempts=1");
	flow_steps("complete 2 -> completed=2",
	           "reserve R2 A=4 confirm=true -> 201",
	           "reserve R3 A=4 confirm=true -> 201",
	           "claim settle W -> 201 task_id=3 orders=2",
	           "fail 3 R2=retry R3=retry -> retried=2",
	           "tick 10");
	late(ROWS, "claim settle W", "@2 split R2 S2 A=1 -> 201", "1x 201 task_id=4 orders=R3 orders[0].attempts=2");
	flow_steps("get R2 -> confirmed attempts=1",
	           "claim settle W -> 201 task_id=5 orders=2 orders[0].attempts=2 orders[1].attempts=1",
	           "complete 5 -> completed=2",
	           "complete 4 -> completed=1 lost=1 lost_orders[0]=R2",
	           "reserve R4 A=4 confirm=true -> 201",
	           "reserve R5 A=4 confirm=true -> 201");
	proxy_arm(proxy, BREACH_WAIT, ROWS);
	race = flow_race("1", "claim settle W");
	cr_expect(proxy_struck(proxy));
	flow_step("@2 split R4 S4 A=1 -> 201");
	proxy_arm(proxy, BREACH_WAIT, "FROM task_lost");
	proxy_go_on(proxy);
	cr_expect(proxy_struck(proxy));
	flow_step("@2 split R5 S5 A=1 -> 201");
	proxy_go_on(proxy);
	trap_raced(race, "1x 201 task_id=6 orders=R5");
	flow_steps("get R4 -> confirmed attempts=0",
	           "get R5 -> confirmed attempts=1",
	           "complete 6 -> completed=0 lost=2");
	end();
}

/* A claim comes between the look at a hold that is past its time and what becomes of the hold. */
Test(between, claim_of_what_has_expired)
{
	begin();
	flow_steps("receipt B +4 -> 201",
	           "reserve R1 A=4 ttl=60 -> 201",
	           "tick 61");
	late(CONFIRM, "confirm R1 reacquire", "@2 claim expire W -> 201 orders=R1", "1x 200 confirmed reacquired");
	flow_steps("reserve R2 B=4 ttl=60 -> 201",
	           "tick 61");
	late(SWEEP, "reserve R3 B=2", "@2 claim expire W -> 201 orders=R2", "1x 201 held");
	flow_steps("complete 1 -> completed=0 lost=1 lost_orders[0]=R1",
	           "complete 2 -> completed=0 lost=1 lost_orders[0]=R2",
	           "reserve R4 A=4 ttl=60 -> 201",
	           "tick 61");
	late(CONFIRM, "confirm R4 reacquire", "@2 claim expire W -> 201 orders=R4", "1x 200 confirmed reacquired");
	flow_steps("complete 3 -> completed=0 lost=1 lost_orders[0]=R4",
	           OPEN "0",
	           "get R2 -> expired");
	end();
}

/* A worker of its own: it finds the order lost, and settles both parts with its next claim. */
Test(between, worker)
{
	begin();
	flow_step("reserve R1 A=4 confirm=true -> 201");
	proxy_arm(proxy, BREACH_WAIT, SETTLE);
	flow_step("start W work settle --once");
	cr_expect(proxy_struck(proxy));
	flow_step("@2 split R1 S1 A=1 -> 201 confirmed");
	proxy_go_on(proxy);
	flow_steps("end W -> 0",
	           "get R1 -> settled A=3",
	           "get S1 -> settled A=1",
	           "sql SELECT claimed, completed FROM job_task -> 1,0 2,2",
	           "sku A -> available=96 reserved=0");
	end();
}

/* A partial grant counts the units of the order that it replaces. They leave that order between the read of the
 * balances and the look-up behind it: they are in neither, and the grant is not told by that. */
Test(between, looks_at_a_replaced_order)
{
	struct race *race;

	begin();
	flow_steps("receipt B +5 -> 201",
	           "reserve R1 B=5 -> 201");
	proxy_arm(proxy, BREACH_WAIT, "started_at FROM log_writer");
	race = flow_race("1", "reserve R2 B=6 mode=best_effort replaces=R1");
	cr_expect(proxy_struck(proxy));
	proxy_arm(proxy, BREACH_WAIT, "x'5232'");
	proxy_go_on(proxy);
	cr_expect(proxy_struck(proxy));
	flow_step("@2 split R1 S1 B=2 then=release -> 201 released");
	proxy_go_on(proxy);
	trap_raced(race, "1x 201 B=5 short[0].requested=6 short[0].available=5");
	end();
}

/* Changes of just before the end of a hold, committed behind it. Meanwhile the hold is told as it stood, and other
 * changes of it wait. A lock alone keeps no hold from its end. */
Test(between, end_of_a_hold)
{
	static const struct {
		const char *step, *made, *other, *then;
	} ends[] = {
		{"extend R0 ttl=60", "1x 200 held expires_at=~60", "confirm R0", "200 confirmed"},
		{"confirm R1", "1x 200 confirmed", "extend R1 ttl=60", "409 confirmed"},
		{"release R2", "1x 200 released", "confirm R2", "409 released"},
		{"reserve N3 A=4 replaces=R3", "1x 201 held", "split R3 S3 A=1", "409 released"},
	};
	struct race *race, *other;
	char         then[100];

	begin();
	for (size_t i = 0; i < LENGTH(ends); i++) {
		flow_step("reserve R%zu A=4 ttl=2 -> 201", i);
		proxy_arm_lane(proxy, BREACH_WAIT, "COMMIT");
		race = flow_race("1", ends[i].step);
		cr_expect(proxy_struck(proxy));
		usleep(2100000);
		flow_step("get R%zu -> held", i);
		snprintf(then, sizeof(then), "1x %s", ends[i].then);
		other = flow_race("1", ends[i].other);
		usleep(300000);
		proxy_go_on(proxy);
		trap_raced(race, ends[i].made);
		trap_raced(other, then);
	}
	flow_steps("reserve R8 A=4 ttl=1 -> 201",
	           "reserve R9 A=4 ttl=1 -> 201");
	usleep(1100000);
	trap_lock("SELECT 1 FROM reservation WHERE order_id = 'R8' FOR UPDATE");
	flow_steps("get R8 -> expired",
	           "get R9 -> expired",
	           "raw GET /v1/reservations?state=expired -> 200 items=2",
	           "confirm R9 -> 409 expired");
	trap_unlock();
	flow_step("confirm R8 -> 409 expired");
	end();
}
