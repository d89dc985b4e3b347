/* test_reap.c - the commands reap, kick, purge and stats, the jobs inside `serve`, and a clock that is off. */
#include "engine/base/clock.h"
#include "tests/flow.h"

#include <glob.h>
#include <stdlib.h>
#include <time.h>

/* clang-format off: the steps are tables */

#define STATES "sql SELECT state, COUNT(*) FROM reservation GROUP BY state -> "
#define TASKS  "sql SELECT state, COUNT(*) FROM task GROUP BY state -> "
#define THREE                                                                                              \
	"receipt A +10 -> 201", "reserve R1 A=1 -> 201", "reserve R2 A=1 -> 201", "reserve R3 A=1 -> 201", \
		"confirm R1 -> 200", "confirm R2 -> 200", "confirm R3 -> 200"

/* ---- reap */

Test(reap, reap)
{
	flow(THREE, "run      reap                 -> 0 '~nothing to free'",
	     "claim    settle a limit=2 lease=10 -> 201 orders=2", "claim    settle b limit=2 lease=50 -> 201 orders=1",
	     "reserve  H1 A=1 ttl=60        -> 201", "tick     61", "claim    expire c lease=10    -> 201 task_id=3",
	     "tick     11", "mark", "run      reap --stale-after 100 -> 0 '~nothing to free'",
	     "run      reap --dry-run --stale-after 100 -> 0 '~nothing to free'", "unchanged",
	     "run      reap --dry-run       -> 0 '~task 1 of a (settle): 2 orders would be freed'"
	     "                                   '~task 2 of b (settle): 1 orders would be freed'"
	     "                                   '~task 3 of c (expire): 1 orders would be freed'",
	     "unchanged", "run      reap --stale-after 40 -> 0 '~task 1 of a (settle): 2 orders freed'",
	     "task     1                    -> reaped", "task     2                    -> open",
	     "task     3                    -> open",
	     "run      reap --once          -> 0 '~task 2 of b (settle): 1 orders freed'"
	     "                                   '~task 3 of c (expire): 1 orders freed'",
	     "get      R1                   -> confirmed attempts=1 last_error=*",
	     "get      H1                   -> expired attempts=1", "tick     3", "work     settle               -> 0",
	     "work     expire               -> 0", STATES "3,3 5,1",
	     "sku      A                    -> available=7 on_hand=7");
}

/* For programs: an object for each task, or for all of it. */
Test(reap, prints_json)
{
	flow(THREE, "run      reap --json          -> 0 !task_id '!nothing'",
	     "claim    settle a limit=2 lease=1 -> 201", "tick 2",
	     "run      reap --json --dry-run --log-level warn -> 0 task_id=1 kind=settle worker=a orders=2 freed=false",
	     "run      reap --json --log-level warn -> 0 task_id=1 kind=settle worker=a orders=2 freed=true",
	     "claim    settle b            -> 201 task_id=2 orders=R3", "fail 2 R3=bury:x -> 200",
	     "run      kick R3 --json       -> 0 kicked=1", "run kick R3 --json -> 1 !kicked",
	     "run      kick --all --json    -> 0 kicked=0", "release  R1 -> 200", "tick 90000",
	     "run      purge --keep 1 --json -> 0 reservations=1 tasks=2");
}

/* The eighth time a worker goes silent over an order, it is buried. A hold is not. */
Test(reap, reap_buries)
{
	flow("receipt  A +10                -> 201", "reserve  H1 A=1 ttl=60        -> 201", "tick 61",
	     "reserve  R1 A=1               -> 201", "confirm R1 -> 200", "sql UPDATE reservation SET attempts = 7",
	     "claim    settle a lease=1     -> 201", "claim expire a lease=1 -> 201", "tick     2",
	     "run      reap                 -> 0", "get      R1                   -> buried attempts=8 last_error=*",
	     "get      H1                   -> expired attempts=8", "kick     R1                   -> confirmed",
	     "claim    settle a lease=1     -> 201 task_id=3", "tick 2", "run      reap --max-attempts 1 -> 0",
	     "get      R1                   -> buried attempts=1");
}

/* All that is overdue, however many. */
Test(reap, reap_of_many_tasks)
{
	flow_begin();
	flow_orders("R", 250);
	for (int i = 0; i < 250; i++)
		flow_step("claim settle w limit=1 lease=1 -> 201");
	flow_steps("tick 2", "run reap --dry-run -> 0 '~task 1 of w' '~task 250 of w'",
	           "sql UPDATE task SET state = 4, ended_at = UTC_TIMESTAMP(3)", /* and then their reaper died */
	           "run reap --dry-run -> 0 '~task 1 of w' '~task 101 of w' '~task 250 of w'", "run reap -> 0",
	           "run reap -> 0 '!task'", TASKS "4,250",
	           "sql SELECT COUNT(*) FROM reservation WHERE task_id IS NOT NULL -> 0");
	flow_end();
}

Test(reap, many_reapers_at_once)
{
	flow_begin();
	flow_orders("R", 400);
	for (int i = 0; i < 40; i++)
		flow_step("claim settle w limit=10 lease=1 -> 201");
	flow_steps("tick 2", "start A reap", "start B reap", "start C reap", "start D reap", "end A -> 0", "end B -> 0",
	           "end C -> 0", "end D -> 0", TASKS "4,40",
	           "sql SELECT COUNT(*), MIN(attempts), MAX(attempts) FROM reservation WHERE task_id IS NULL"
	           " -> 400,1,1",
	           "sql SELECT MAX(due_at) < UTC_TIMESTAMP(3) + INTERVAL 2200 * 1000 MICROSECOND FROM reservation -> 1",
	           "tick 3", "work settle -> 0", STATES "3,400");
	flow_end();
}

/* Marked, and then the reaper died; or a worker's return was cut in half. */
Test(reap, reap_finishes_what_another_began)
{
	flow(THREE, "claim    settle a limit=1     -> 201", "claim    settle b limit=1     -> 201",
	     "claim    settle c limit=1     -> 201", "reserve  H1 A=1 ttl=60        -> 201", "tick 61",
	     "claim    expire d             -> 201 task_id=4",
	     "sql UPDATE task SET state = 4, ended_at = UTC_TIMESTAMP(3) WHERE task_id IN (1, 4)",
	     "heartbeat 2                   -> open", "heartbeat 3 -> open",
	     "run      reap --dry-run       -> 0 '~task 1 of a (settle): 1 orders would be freed'"
	     "                                   '~task 4 of d (expire): 1 orders would be freed'",
	     "run      reap                 -> 0 '~task 1 of a (settle): 1 orders freed'"
	     "                                   '~task 4 of d (expire): 1 orders freed'",
	     "get      R1                   -> confirmed attempts=1", "task     2                    -> open",
	     "complete 2                    -> completed=1", "complete 3                    -> completed=1",
	     "tick     3", "work     settle               -> 0", "work     expire               -> 0",
	     STATES "3,3 5,1");
}

/* ---- kick and purge */

Test(reap, kick)
{
	flow_begin();
	flow_orders("R", 1200);
	flow_steps("exec cat > /dev/null", "work settle --max-attempts 1 --batch 5000 -> 0", STATES "6,1200",
	           "run kick R7                -> 0 '~R7 is confirmed again'",
	           "get R7                     -> confirmed attempts=0 last_error=*",
	           "run kick R7                -> 1 '~R7 is confirmed'", "run kick GHOST             -> 1 ~GHOST",
	           "release R8                 -> released", "run kick R8                -> 1 '~R8 is released'",
	           STATES "2,1 4,1 6,1198", "run kick --all             -> 0 '~1198 reservations'",
	           "run kick --all             -> 0 '~0 reservations'", "exec", "work settle -> 0",
	           STATES "3,1199 4,1");
	flow_end();
}

Test(reap, purge)
{
	flow(THREE, "reserve  R4 A=1               -> 201", "release R4 -> 200", "reserve  R5 A=1 ttl=60        -> 201",
	     "tick     61", "work expire -> 0", "reserve  H A=1 ttl=86400      -> 201",
	     "claim    settle w limit=2     -> 201 task_id=2", "complete 2 R1 -> 200", "fail 2 R2=bury -> 200",
	     "run      purge --keep 1       -> 0 '~0 reservations and 0 tasks'", "tick     80000",
	     "work     settle               -> 0", "get      R3                   -> settled",
	     "run      audit                -> 0", "tick     6500",
	     "run      purge --keep 1       -> 0 '~3 reservations and 2 tasks'",
	     "get      R1                   -> 404 unknown_order", "get      R4                   -> 404 unknown_order",
	     "get      R5                   -> 404 unknown_order", "get      R3                   -> settled",
	     "get      R2                   -> buried", "get      H                    -> expired",
	     "task     1                    -> 404 unknown_task", "task     3                    -> done",
	     "run      audit                -> 0", "movements A                   -> items=3",
	     "sku      A                    -> available=6 reserved=2 on_hand=8",
	     "sql SELECT COUNT(*) FROM reservation_line LEFT JOIN reservation USING (reservation_id)"
	     " WHERE order_id IS NULL -> 0",
	     "reserve  R1 A=2               -> 201 held", "reserve  R4 A=3               -> 201 held",
	     "run      purge --keep 0       -> 0", "get      R3                   -> 404 unknown_order",
	     "get      R1                   -> held", "get      R2                   -> buried",
	     "run      audit                -> 0");
}

Test(reap, purge_in_batches)
{
	flow_begin();
	flow_orders("R", 1200);
	flow_steps("work settle --batch 2        -> 0", STATES "3,1200", TASKS "2,600", "tick 90000",
	           "run purge --keep 1           -> 0 '~1200 reservations and 600 tasks'",
	           "sql SELECT COUNT(*) FROM reservation -> 0", "sql SELECT COUNT(*) FROM reservation_line -> 0",
	           "sql SELECT COUNT(*) FROM movement WHERE kind = 5 -> 600", "run audit -> 0", "sku A -> on_hand=0");
	flow_end();
}

/* ---- inside serve */

/* Back within 2 s of its end, which is 1 s away. */
Test(reap, serve_expires)
{
	int64_t since;

	flow_begin();
	flow_steps("serve --lanes 2 --jobs=expire", "receipt A +10 -> 201", "reserve KEEP A=1 -> 201",
	           "reserve R1 A=4 ttl=1 -> 201");
	since = clock_ms();
	flow_steps("wait sku A -> available=9 reserved=1", "list state=expired -> items=R1");
	cr_expect_leq(clock_ms() - since, 3000);
	flow_end();
}

/* ... whatever else has expired before it. */
Test(reap, serve_expires_behind_a_backlog)
{
	int64_t since;

	flow_begin();
	flow_orders("R", 10000);
	flow_steps("sql UPDATE reservation SET state = 1, confirmed_at = NULL, due_at = UTC_TIMESTAMP(3)"
	           " - INTERVAL 9 SECOND, expires_at = due_at",
	           "serve --lanes 2 --jobs=expire", "receipt B +1 -> 201", "reserve LAST B=1 ttl=1 -> 201");
	since = clock_ms();
	flow_steps("wait sku B -> available=1 reserved=0");
	cr_expect_leq(clock_ms() - since, 3000);
	flow_steps("wait:20 sku A -> available=10000 reserved=0", "sql SELECT SUM(completed) FROM task -> 10001");
	flow_end();
}

Test(reap, serve_does_everything)
{
	flow(THREE, "claim    settle gone limit=1 lease=1 -> 201", "reserve  H A=1 ttl=60         -> 201",
	     "tick     61", "serve    --lanes 1 --jobs", "wait:4 get R2                 -> settled",
	     "wait:12 get R1                -> settled attempts=2", "wait:4 list state=expired     -> items=H",
	     "wait:4 sku A                  -> available=7 reserved=0 on_hand=7",
	     "raw GET /metrics              -> holdfast_reaped_tasks_total=1");
}

/* ---- stats */

Test(reap, stats)
{
	flow(THREE, "claim    settle w limit=1     -> 201", "fail     1 R1=bury            -> 200",
	     "claim    settle w limit=1     -> 201", "tick     10",
	     "run      stats --json         -> 0 confirmed=2 confirmed_claimed=1 buried=1 ready=1 tasks_open=1"
	     "                                   settled=0 on_hand=10 reserved=3 expired=0",
	     "reserve  H A=1 ttl=60         -> 201", "tick     61", "work     expire              -> 0",
	     "run      stats --json         -> 0 expired=1", "run purge --keep 0         -> 0",
	     "run      stats --json         -> 0 expired=0",
	     "run      stats                -> 0 ~oldest_confirmed_ms ~oldest_lease_ms");
}

/* ---- the clock of the worker's machine is an hour off */

/* The sanitizers do not bear another library before them. */
#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#else
enum { SANITIZED = 0 };
#endif

static bool clock_shift(const char *offset)
{
	glob_t found;
	bool   ok = !SANITIZED && glob("/usr/lib/*/faketime/libfaketime.so.1", 0, NULL, &found) == 0;

	if (ok && offset) {
		setenv("LD_PRELOAD", found.gl_pathv[0], 1);
		setenv("FAKETIME", offset, 1);
		setenv("DONT_FAKE_MONOTONIC", "1", 1);
	} else {
		unsetenv("LD_PRELOAD");
	}
	if (ok)
		globfree(&found);
	return ok;
}

/* What the log of a program whose clock is off by `offset_s` says the hour is: the test is of nothing otherwise. */
static void wall_time(int offset_s, char *to, size_t size)
{
	time_t    then = time(NULL) + offset_s;
	struct tm utc;

	gmtime_r(&then, &utc);
	strftime(to, size, utc.tm_min == 59 ? "~time=%Y-%m-%dT" : "~time=%Y-%m-%dT%H:", &utc);
}

/* The database's clock rules: what is due, when a lease ends, what has expired. */
static void clock_off(const char *offset)
{
	char said[40];

	if (!clock_shift(NULL))
		cr_skip_test("needs libfaketime (apt-get install libfaketime), and a build without sanitizers");
	flow_begin();
	flow_steps("receipt  A +10               -> 201", "reserve  RETRIED A=1         -> 201",
	           "confirm RETRIED -> 200", "claim    settle w            -> 201", "fail 1 RETRIED=retry -> 200",
	           "sql UPDATE reservation SET attempts = 10, due_at = UTC_TIMESTAMP(3) + INTERVAL 650 SECOND",
	           "reserve  PAST A=1 ttl=60     -> 201", "reserve  SOON A=1 ttl=600    -> 201",
	           "reserve  ALIVE A=1           -> 201", "confirm ALIVE -> 200",
	           "claim    settle w lease=600  -> 201 task_id=2 orders=ALIVE", "tick     61",
	           "reserve  DUE A=1             -> 201", "confirm DUE -> 200");
	clock_shift(offset);
	flow_steps("run      reap                -> 0", "work expire -> 0");
	wall_time(offset[0] == '-' ? -3600 : 3600, said, sizeof(said));
	flow_step("work settle --log-level debug -> 0 ~event=worked %s", said);
	clock_shift(NULL);
	flow_steps("get      SOON                -> held", "get      RETRIED             -> confirmed attempts=10",
	           "task     2                   -> open", "get      DUE                 -> settled settled_at=~0",
	           "task     3                   -> done created_at=~0 lease_until=~30",
	           "list     state=expired       -> items=PAST",
	           "sku      A                   -> available=6 reserved=3",
	           "complete 2                   -> completed=1",
	           "movements A                  -> items[0].created_at=~0 items[1].created_at=~0");
	flow_end();
}

Test(reap, clock_an_hour_ahead)
{
	clock_off("+1h");
}

Test(reap, clock_an_hour_behind)
{
	clock_off("-1h");
}

/* What is old by one clock is not by the other: nobody knows which is right. */
Test(reap, nothing_is_purged_while_clocks_are_apart)
{
	if (!clock_shift(NULL))
		cr_skip_test("needs libfaketime (apt-get install libfaketime), and a build without sanitizers");
	flow_begin();
	flow_steps("receipt  A +10               -> 201", "reserve  P A=1               -> 201",
	           "release  P                   -> 200", "tick     61", "mark");
	clock_shift("-6m");
	flow_step("run purge --keep 0 -> 1 '~s ahead of this machine' '~nothing was removed'");
	clock_shift("+6m");
	flow_steps("run purge --keep 0 --json -> 1 '~s behind this machine' '~nothing was removed'", "unchanged",
	           "kill", "raw GET /readyz?verbose -> 200 '~s behind this machine'");
	clock_shift("+4m");
	flow_steps("kill", "raw GET /readyz?verbose -> 200 '!~this machine'",
	           "run purge --keep 0 --json -> 0 reservations=1", "reserve  Q A=1 -> 201", "release  Q -> 200",
	           "tick 61");
	clock_shift("+1d");
	flow_step("run purge --keep 0 --force -> 0 '~1 reservations and'");
	clock_shift(NULL);
	flow_step("kill");
	flow_end();
}

/* ---- the database's clock was ahead: what it left behind is seen, and comes back */

Test(reap, orders_of_a_clock_that_was_ahead)
{
	flow("receipt  A +10               -> 201", "reserve  C1 A=1 -> 201", "confirm C1 -> 200",
	     "reserve  C2 A=1              -> 201", "confirm C2 -> 200", "reserve  C3 A=1 -> 201", "confirm C3 -> 200",
	     "reserve  H1 A=1 ttl=60       -> 201", "tick     61", "claim    settle w limit=2     -> 201 orders=C1,C2",
	     "fail     1 C2=retry          -> retried=1", "complete 1 -> completed=1",
	     "claim    expire w            -> 201 orders=H1", "fail 2 H1=retry -> retried=1",
	     "sql UPDATE reservation SET due_at = due_at + INTERVAL 1 DAY WHERE state < 3 -> ",
	     "work     settle              -> 0", "work     expire              -> 0",
	     "claim    settle w            -> 204", "run stats --json -> 0 orders_ahead=3 leases_ahead=0",
	     "run      audit               -> 1 '~due_within_a_pause: order_id=C2' ~order_id=C3 ~order_id=H1",
	     "run      reap --dry-run      -> 0 !clock_was_ahead",
	     "run      reap                -> 0 '~event=clock_was_ahead leases=0 orders=3'",
	     "run      audit               -> 0", "run stats --json -> 0 orders_ahead=0", "work settle -> 0",
	     "work     expire              -> 0", "get      C2                  -> settled", "get C3 -> settled",
	     "sku      A                   -> available=7 reserved=0");
}

Test(reap, leases_of_a_clock_that_was_ahead)
{
	flow(THREE, "claim    settle a limit=1 lease=5 -> 201", "claim    settle b limit=1 lease=3600 -> 201",
	     "sql UPDATE task SET created_at = created_at + INTERVAL 1 DAY, lease_until = lease_until + INTERVAL 1 DAY"
	     " WHERE task_id = 1 -> ",
	     "sql UPDATE task SET lease_until = lease_until + INTERVAL 1 DAY WHERE task_id = 2 -> ",
	     "claim    settle c limit=1 lease=3600 -> 201 task_id=3",
	     "run      stats --json        -> 0 leases_ahead=2 orders_ahead=0 !-",
	     "run      audit               -> 1 '~lease_within_an_hour: task_id=1' '~lease_within_an_hour: task_id=2'",
	     "run      reap                -> 0 !freed '~event=clock_was_ahead leases=2 orders=0'",
	     "task     1                   -> open lease_until=~5 created_at=~0", "task 2 -> open lease_until=~60",
	     "task     3                   -> open lease_until=~3600", "heartbeat 1 lease=3600 -> 200",
	     "run      reap                -> 0 !clock_was_ahead", "task 1 -> lease_until=~3600",
	     "run      audit               -> 0", "run stats --json -> 0 leases_ahead=0");
}

/* Made ahead, and renewed by the right clock before the reaper comes: that lease counts. */
Test(reap, leases_of_a_clock_that_was_ahead_renewed_since)
{
	flow(THREE, "claim    settle a lease=5    -> 201",
	     "sql UPDATE task SET created_at = created_at + INTERVAL 1 DAY, lease_until = lease_until + INTERVAL 1 DAY "
	     "-> ",
	     "heartbeat 1 lease=300        -> 200",
	     "run      reap                -> 0 !freed '~event=clock_was_ahead leases=1 orders=0'",
	     "task     1                   -> open lease_until=~300 created_at=~0", "complete 1 -> completed=3");
}

/* The longest pauses that there are raise no alarm. */
Test(reap, pauses_are_no_clock_that_was_ahead)
{
	flow(THREE, "claim    settle w limit=2     -> 201",
	     "sql UPDATE reservation SET attempts = 7 WHERE task_id = 1 -> ",
	     "fail     1 R1=retry           -> retried=1",
	     "sql UPDATE reservation SET attempts = 40, task_id = NULL, due_at = UTC_TIMESTAMP(3) + INTERVAL 660 SECOND"
	     " WHERE task_id = 1 -> ",
	     "run      audit                -> 0", "run stats --json -> 0 orders_ahead=0",
	     "run      reap                 -> 0 !clock_was_ahead",
	     "sql SELECT due_at > UTC_TIMESTAMP(3) + INTERVAL 600 SECOND FROM reservation WHERE order_id = 'R2' -> 1");
}

/* A clock that was ahead has claimed a hold that lives: it goes back, and the others expire. */
Test(reap, expiry_of_a_hold_that_lives)
{
	flow("receipt  A +10               -> 201", "reserve  OLD A=1 ttl=60      -> 201",
	     "reserve  NEW A=1 ttl=600     -> 201", "reserve NEWER A=1 ttl=900 -> 201", "tick 61",
	     "claim    expire w            -> 201 orders=OLD",
	     "sql UPDATE reservation SET task_id = 1, attempts = 1 -> ", "sql UPDATE task SET claimed = 3 -> ",
	     "complete 1 NEWER             -> 200 completed=0 lost=1 lost_orders=NEWER", "task 1 -> open",
	     "complete 1                   -> 200 completed=1 lost=1 lost_orders=NEW",
	     "task     1                   -> done completed=1", "get NEW -> held attempts=0",
	     "sql SELECT COUNT(*) FROM reservation WHERE task_id IS NULL AND due_at = expires_at -> 2",
	     "get      OLD                 -> expired", "sku A -> available=8 reserved=2",
	     "complete 1 OLD NEW           -> 200 completed=1 lost=1", "tick 600", "work expire -> 0",
	     "sku      A                   -> available=9 reserved=1");
}
