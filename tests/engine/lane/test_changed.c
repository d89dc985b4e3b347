/* test_changed.c - `changed`, the stamp of a reservation's last change: a change names the stamp that it has read. Here
 * another program takes a unit out of the order between a writer's look and its write, and the state stays. The write
 * is undone and done again from rows read anew, or it is told. A stamp is later than all before, whatever the clock. */
#include "tests/kit/proxy.h"
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"

#include <string.h>
#include <unistd.h>

/* ---- another change comes between */

struct writer {
	const char *name;
	const char *before[8]; /* steps; R1 has A=3 */
	const char *text;      /* in the write */
	const char *act;       /* a request, or `start W COMMAND` */
	const char *came;      /* the outcome of `act` */
	const char *after[5];  /* steps */
};

#define CHANGED "changed = @s"
#define AN_HOUR "3600000000"

/* A part of R1 with one unit, in the state of R1, by a clock that is an hour ahead. */
static int64_t part_made(void)
{
	trap_sql("BEGIN NOT ATOMIC"
	         " DECLARE later BIGINT; START TRANSACTION;"
	         " SELECT changed + " AN_HOUR " INTO later FROM reservation WHERE order_id = 'R1' FOR UPDATE;"
	         " INSERT INTO reservation (reservation_id, order_id, lines_hash, state, due_at, expires_at, attempts,"
	         "  created_at, confirmed_at, changed) SELECT 7, 'PART', lines_hash, state, due_at, expires_at, 0,"
	         "  created_at, confirmed_at, later FROM reservation WHERE order_id = 'R1';"
	         " INSERT INTO reservation_line SELECT 7, sku_id, location_id, slot, 1, 1 FROM reservation_line"
	         "  JOIN reservation USING (reservation_id) WHERE order_id = 'R1';"
	         " INSERT INTO waiting_line SELECT 7, sku_id, location_id, held, waits_since, 7, told, added, units"
	         "  FROM waiting_line JOIN reservation USING (reservation_id) WHERE order_id = 'R1';"
	         " UPDATE reservation_line JOIN reservation USING (reservation_id) SET qty = qty - 1, changed = later"
	         "  WHERE order_id = 'R1'; COMMIT; END");
	return trap_number("SELECT changed FROM reservation WHERE order_id = 'R1'");
}

static bool is_command(const struct writer *w)
{
	return strncmp(w->act, "start W ", 8) == 0;
}

static void act_end(const struct writer *w, struct race *race)
{
	if (race)
		trap_raced(race, w->came);
	else
		flow_step("end W -> %s", w->came);
}

/* `locks`: another transaction has the slot of A until the writer is done. */
static void writer_try(const struct writer *w, bool locks)
{
	struct proxy *proxy;
	struct race  *race;
	int64_t       later;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("serve   --lanes 1",
	           "receipt A +10 -> 201");
	flow_each(w->before);
	if (locks)
		trap_lock(SLOTS_OF("A"));
	proxy_arm(proxy, BREACH_WAIT, w->text);
	if (is_command(w))
		flow_step("%s", w->act);
	race = is_command(w) ? NULL : flow_race("1", w->act);
	cr_expect(proxy_struck(proxy), "%s: there is no %s", w->name, w->text);
	later = part_made();
	proxy_go_on(proxy);
	act_end(w, race);
	if (locks)
		trap_unlock();
	flow_each(w->after);
	cr_expect(trap_number("SELECT changed FROM reservation WHERE order_id = 'R1'") > later,
	          "%s: the stamp of the other change is gone", w->name);
	flow_step(BY_HAND);
	flow_end();
	proxy_close(proxy);
}

/* clang-format off */
#define HELD3      "reserve R1 A=3        -> 201"
#define LAPSED3    "reserve R1 A=3 ttl=60 -> 201", "tick 61"
#define CONFIRMED3 HELD3, "confirm R1 -> 200"
#define CLAIMED3   CONFIRMED3, "claim settle w -> 201 R1"
#define BURIED3    CLAIMED3, "fail 1 R1=bury -> buried=1"
#define WAITING3 \
	"raw PUT /v1/locations/po {'kind':'incoming'} -> 201", \
	"receipt A@po +3 -> 201", \
	"reserve R1 A@po=3 -> 201 lines[0].waiting=true"
/* A clock that was ahead has claimed R1, which lives. */
#define LIVING3 \
	"reserve OLD A=1 ttl=60 -> 201", \
	"reserve R1 A=3 ttl=600 -> 201", \
	"tick 61", \
	"claim expire w -> 201 orders=OLD", \
	"sql UPDATE reservation SET task_id = 1, attempts = 1 -> ", \
	"sql UPDATE job_task SET claimed = 2 -> "
/* clang-format on */

static const struct writer lanes[] = {
	{"a confirmation",
         {HELD3},
         CHANGED,
         "confirm R1",
         "1x 200 confirmed A=2",
         {"get PART -> held A=1", "sku A -> available=7 reserved=3"}},
	{"a confirmation that comes late",
         {LAPSED3},
         CHANGED,
         "confirm R1 reacquire",
         "1x 200 confirmed A=2",
         {"get PART -> expired", "sku A -> available=7 reserved=3"}},
	{"a confirmation of what was swept",
         {LAPSED3, "work expire -> 0"},
         CHANGED,
         "confirm R1 reacquire",
         "1x 200 confirmed reacquired A=2",
         {"get PART -> expired", "sku A -> available=8 reserved=2"}},
	{"a release", {HELD3}, CHANGED, "release R1", "1x 200 released A=2", {"sku A -> available=9 reserved=1"}},
	{"a release of what is confirmed",
         {CONFIRMED3},
         CHANGED,
         "release R1",
         "1x 200 released A=2",
         {"sku A -> available=9 reserved=1"}},
	{"a release of what is buried",
         {BURIED3},
         CHANGED,
         "release R1",
         "1x 200 released A=2",
         {"sku A -> available=9 reserved=1"}},
	{"an extension",
         {HELD3},
         CHANGED,
         "extend R1 ttl=60",
         "1x 200 held A=2 expires_at=~60",
         {"get PART -> held expires_at=~900"}},
	{"other lines",
         {HELD3},
         CHANGED,
         "amend R1 A=4",
         "1x 200 held A=4",
         {"get PART -> held A=1", "sku A -> available=5 reserved=5"}},
	{"other lines of what is confirmed",
         {CONFIRMED3},
         CHANGED,
         "amend R1 A=1",
         "1x 200 confirmed A=1",
         {"get PART -> confirmed A=1", "sku A -> available=8 reserved=2"}},
	{"other lines of what waits",
         {WAITING3},
         CHANGED,
         "amend R1 A@po=1",
         "1x 200 held A@po=1",
         {"get PART -> held A@po=1", "sku A -> available=10 @po reserved=2"}},
	{"a loss",
         {"raw PUT /v1/locations/bo {'kind':'incoming'} -> 201", HELD3},
         "ORDER BY reservation_id FOR UPDATE SKIP LOCKED",
         "adjust A -8 short=backorder to=bo",
         "1x 201 backordered=1 backordered[0].order_id=R1 A@main=-8",
         {"get R1 -> held A@main=1 A@bo=1", "get PART -> held A=1", "sku A -> available=0 reserved=2"}},
	{"a confirmation of who waits",
         {WAITING3},
         CHANGED,
         "confirm R1",
         "1x 200 confirmed A@po=2 lines[0].waiting=true",
         {"get PART -> held A@po=1", "sku A -> available=10 @po reserved=3"}},
	{"a hand-out of what arrived",
         {WAITING3},
         "r.changed = @s",
         "arrival A@po>main=3",
         "1x 201 lines[0].filled=3",
         {"get R1 -> held lines=1 A=2", "get PART -> held lines=1 A=1", "sku A -> available=10 reserved=3"}},
	{"a hand-out of what is free",
         {WAITING3},
         "r.changed = @s",
         "raw PUT /v1/locations/main {'waits_at':'po'}",
         "1x 200 waits_at=po",
         {"wait get R1 -> held lines=1 A=2", "wait get PART -> held lines=1 A=1",
          "sku A -> available=7 reserved=3 @po available=3 @po reserved=0"}},
	{"a hold from shipping",
         {CONFIRMED3},
         CHANGED,
         "hold R1",
         "1x 200 confirmed A=2 on_hold.until=null",
         {"get PART -> confirmed A=1 !on_hold", "sql SELECT task_id FROM reservation WHERE order_id = 'R1' -> 0"}},
	{"the end of a hold from shipping",
         {HELD3, "hold R1 -> 200"},
         CHANGED,
         "off-hold R1",
         "1x 200 held A=2 !on_hold",
         {"get PART -> held A=1", "sql SELECT COUNT(*) FROM reservation_on_hold -> 0"}},
	{"a kick",
         {BURIED3},
         CHANGED,
         "kick R1",
         "1x 200 confirmed A=2 attempts=0",
         {"get PART -> 200", "sku A -> available=7 reserved=3"}},
	{"a sweep",
         {LAPSED3},
         CHANGED,
         "reserve R9 A=10",
         "1x 201 held A=10",
         {"get R1 -> expired A=2", "get PART -> expired", "sku A -> available=0 reserved=10"}},
};

Test(changed, lanes_write_what_they_have_read)
{
	for (size_t i = 0; i < LENGTH(lanes); i++)
		writer_try(&lanes[i], false);
}

static const struct writer tasks[] = {
	{"a settlement",
         {CLAIMED3},
         CHANGED,
         "complete 1",
         "1x 200 completed=1 lost=0",
         {"get R1 -> settled A=2", "sku A -> available=7 reserved=1"}},
	{"a settlement by name",
         {CLAIMED3},
         CHANGED,
         "complete 1 R1",
         "1x 200 completed=1 lost=0",
         {"get R1 -> settled A=2", "sku A -> available=7 reserved=1"}},
	{"a failure",
         {CLAIMED3},
         CHANGED,
         "fail 1 R1=retry",
         "1x 200 retried=1",
         {"get R1 -> confirmed A=2 attempts=1"}},
	{"a failure for good",
         {CLAIMED3},
         CHANGED,
         "fail 1 R1=bury",
         "1x 200 buried=1",
         {"list state=buried -> items=R1"}},
	{"a return",
         {CLAIMED3},
         CHANGED,
         "give-back 1",
         "1x 200",
         {"get R1 -> confirmed A=2 attempts=0", "task 1 -> returned"}},
	{"an expiry",
         {LAPSED3, "claim expire w -> 201 R1"},
         CHANGED,
         "complete 1",
         "1x 200 completed=1 lost=0",
         {"get R1 -> expired A=2", "sku A -> available=9 reserved=1"}},
	{"a failure to expire",
         {LAPSED3, "claim expire w -> 201 R1"},
         CHANGED,
         "fail 1 R1=retry",
         "1x 200 retried=1",
         {"sql SELECT task_id, state FROM reservation WHERE order_id = 'R1' -> 0,1"}},
	{"a hold that lives and goes back",
         {LIVING3},
         CHANGED,
         "complete 1",
         "1x 200 completed=1 lost=1 lost_orders=R1",
         {"get R1 -> held A=2 attempts=0", "get OLD -> expired", "sku A -> available=7 reserved=3"}},
};

Test(changed, reports_write_what_they_have_read)
{
	for (size_t i = 0; i < LENGTH(tasks); i++)
		writer_try(&tasks[i], false);
}

static const struct writer commands[] = {
	{"a kick of one",
         {BURIED3},
         CHANGED,
         "start W kick R1",
         "0 '~R1 is confirmed again'",
         {"get R1 -> confirmed A=2 attempts=0", "list state=buried -> items=PART"}},
	{"a kick of all", {BURIED3}, CHANGED, "start W kick --all", "0 '~2 reservations'", {STATES "2,2"}},
	{"a reaper",
         {CLAIMED3, "tick 100"},
         CHANGED,
         "start W reap",
         "0 '~1 orders freed'",
         {"get R1 -> confirmed attempts=1"}},
	{"a worker that settles",
         {CONFIRMED3},
         CHANGED,
         "start W work settle --once",
         "0",
         {"get R1 -> settled A=2", "get PART -> settled", "sku A -> available=7 reserved=0"}},
	{"a worker that expires",
         {LAPSED3},
         CHANGED,
         "start W work expire --once",
         "0",
         {"get R1 -> expired A=2", "get PART -> expired", "sku A -> available=10 reserved=0"}},
	{"a worker whose order is refused",
         {CONFIRMED3, "sql UPDATE reservation_line SET slot = 9 -> "},
         "last_error = ",
         "start W work settle --once",
         "1 ~event=order_refused",
         {STATES "6,2", "sql UPDATE reservation_line SET slot = 0 -> "}},
	/* a pass that comes too late changes nothing; the next one does */
	{"a reaper of times that are ahead",
         {CONFIRMED3, "sql UPDATE reservation SET due_at = due_at + INTERVAL 1 DAY -> "},
         "changed = GREATEST(",
         "start W reap",
         "0 !clock_was_ahead",
         {"run audit -> 1 ~order_id=R1", "run reap -> 0 '~event=clock_was_ahead rows=2 orders=2 leases=0'", BY_HAND,
          "run audit -> 0"}},
};

Test(changed, commands_write_what_they_have_read)
{
	for (size_t i = 0; i < LENGTH(commands); i++)
		writer_try(&commands[i], false);
}

Test(changed, worker_puts_off_what_it_has_read)
{
	writer_try(&(const struct writer){"a worker whose order is locked",
	                                  {CONFIRMED3},
	                                  "INTERVAL 10 SECOND",
	                                  "start W work settle --once",
	                                  "0 ~event=orders_put_off",
	                                  {"get R1 -> confirmed A=2 attempts=0 last_error=*", STATES "2,2"}},
	           true);
}

/* The worker of a task that was reaped takes up no order that was changed since it looked; the order waits. */
Test(changed, take_up_takes_what_it_has_read)
{
	struct proxy *proxy;
	int64_t       later;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("serve --lanes 1",
	           "receipt A +10 -> 201",
	           CONFIRMED3);
	trap_exec("while read -r l; do sleep 2; done");
	flow_step("start W work settle --once --lease 3");
	trap_begun();
	usleep(200000); /* until the worker listens to its program, which ends after 2 s */
	flow_steps("signal W STOP",
	           "tick 100",
	           "run reap --max-attempts 1 -> 0 '~1 orders freed'");
	proxy_arm(proxy, BREACH_WAIT, CHANGED);
	flow_step("signal W CONT");
	cr_expect(proxy_struck(proxy));
	later = part_made();
	proxy_go_on(proxy);
	flow_steps("end W -> 0 '~event=orders_lost task=1 lost=1' !task_taken_up",
	           "get R1 -> A=2 attempts=1 last_error=*",
	           STATES "6,2");
	cr_expect_eq(trap_number("SELECT changed FROM reservation WHERE order_id = 'R1'"), later);
	flow_step(BY_HAND);
	flow_end();
	proxy_close(proxy);
}

/* ---- stamps grow */

enum moves { GROWS, STAYS };

struct stamped {
	const char *step;
	enum moves  moves;
};

static const struct stamped life[] = {
	{"extend R1 ttl=60 -> 200", GROWS},
	{"@2 extend R1 ttl=60 -> 200", GROWS},
	{"extend R1 ttl=60 -> 200", GROWS},
	{"get R1 -> held", STAYS},
	{"amend R1 A=2 -> 200", GROWS},
	{"@2 amend R1 A=2 -> 200 replayed", STAYS},
	{"@2 amend R1 A=1 -> 200", GROWS},
	{"@2 confirm R1 -> 200", GROWS},
	{"confirm R1 -> 200 replayed", STAYS},
	{"claim settle w -> 201 R1", STAYS},
	{"heartbeat 1 -> 200", STAYS},
	{"@2 give-back 1 -> 200", GROWS},
	{"@2 claim settle w -> 201 R1", STAYS},
	{"fail 2 R1=retry -> retried=1", GROWS},
	{"tick 10", STAYS},
	{"claim settle w -> 201 R1", STAYS},
	{"@2 fail 3 R1=bury -> buried=1", GROWS},
	{"hold R1 -> 200", GROWS},
	{"hold R1 -> 200 replayed", STAYS},
	{"kick R1 -> 200", GROWS},
	{"@2 off-hold R1 -> 200", GROWS},
	{"off-hold R1 -> 200 replayed", STAYS},
	{"claim settle w -> 201 R1", STAYS},
	{"fail 4 R1=bury -> buried=1", GROWS},
	{"run kick R1 -> 0", GROWS},
	{"claim settle w -> 201 R1", STAYS},
	{"fail 5 R1=bury -> buried=1", GROWS},
	{"run kick --all -> 0", GROWS},
	{"claim settle w -> 201 R1", STAYS},
	{"tick 100", STAYS},
	{"run reap -> 0 '~1 orders freed'", GROWS},
	{"tick 10", STAYS},
	{"claim settle w -> 201 R1", STAYS},
	{"@2 complete 7 -> completed=1", GROWS},
	{"reserve R1 A=1 -> 200 replayed", STAYS},
};

static const struct stamped lapse[] = {
	{"tick 61", STAYS},
	{"claim expire w -> 201 R1", STAYS},
	{"@2 fail 1 R1=retry -> retried=1", GROWS},
	{"tick 10", STAYS},
	{"claim expire w -> 201 R1", STAYS},
	{"complete 2 -> completed=1", GROWS},
	{"@2 confirm R1 reacquire -> 200 reacquired", GROWS},
	{"release R1 -> released", GROWS},
	{"reserve R2 A=1 ttl=60 -> 201", STAYS},
};

static int64_t stamp_of(const char *order_id)
{
	return trap_number("SELECT changed FROM reservation WHERE order_id = '%s'", order_id);
}

/* `ahead`: before each step, the last change was made by a clock that was an hour ahead. */
static void life_try(const char *ttl, const struct stamped *steps, size_t count, bool ahead)
{
	int64_t last, now;

	flow_begin();
	flow_steps("serve --lanes 1",
	           "second --lanes 1 --slot 1",
	           "receipt A +10 -> 201");
	flow_step("reserve R1 A=1 %s -> 201", ttl);
	cr_expect_gt(stamp_of("R1"), trap_number("SELECT (UNIX_TIMESTAMP() - 60) * 1000000"));
	for (size_t i = 0; i < count; i++) {
		if (ahead)
			trap_sql("UPDATE reservation SET changed = changed + " AN_HOUR);
		last = stamp_of("R1");
		flow_step("%s", steps[i].step);
		now = stamp_of("R1");
		cr_expect(steps[i].moves == STAYS ? now == last : now > last, "%s: %lld, before that %lld",
		          steps[i].step, (long long)now, (long long)last);
	}
	if (ahead)
		flow_step(BY_HAND);
	flow_end();
}

Test(changed, stamps_grow)
{
	life_try("", life, LENGTH(life), false);
	life_try("ttl=60", lapse, LENGTH(lapse), false);
}

Test(changed, stamps_grow_when_a_clock_was_ahead)
{
	life_try("", life, LENGTH(life), true);
	life_try("ttl=60", lapse, LENGTH(lapse), true);
}

/* A lane remembers its last stamp in its own row: what is new has read no other. */
Test(changed, stamps_of_new_orders_grow)
{
	int64_t last = 0;

	flow_begin();
	flow_steps("serve --lanes 1",
	           "receipt A +10 -> 201");
	for (int i = 0; i < 4; i++) {
		char id[8] = {'R', (char)('0' + i), '\0'};

		trap_sql("UPDATE log_writer SET stamp = stamp + " AN_HOUR);
		flow_step("reserve %s A=1 -> 201", id);
		cr_expect_gt(stamp_of(id), last + INT64_C(3600000000));
		cr_expect_eq(stamp_of(id), trap_number("SELECT stamp FROM log_writer"));
		last = stamp_of(id);
	}
	flow_end();
}
