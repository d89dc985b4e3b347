/* test_clock.c - wrong clocks: a worker's machine an hour ahead or behind, a database with a clock that was ahead or is
 * set under a service. */
#include "tests/lang/flow.h"
#include "tests/kit/program.h"
#include "tests/kit/server.h"
#include "tests/lang/steps.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- the clock of the worker's machine is an hour off */

/* The sanitizers do not allow another library before them. */
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

/* Checks the hour in the log of a program with a clock that is off by `offset_s`: otherwise the test would test
 * nothing. */
static void wall_time(int offset_s, char *to, size_t size)
{
	time_t    then = time(NULL) + offset_s;
	struct tm utc;

	gmtime_r(&then, &utc);
	strftime(to, size, utc.tm_min == 59 ? "~time=%Y-%m-%dT" : "~time=%Y-%m-%dT%H:", &utc);
}

/* The database's clock decides which orders are due, when a lease ends, and which holds have expired. */
static void clock_off(const char *offset)
{
	char said[40];

	if (!clock_shift(NULL))
		cr_skip_test("needs libfaketime (apt-get install libfaketime), and a build without sanitizers");
	flow_begin();
	flow_steps("receipt  A +10               -> 201",
	           "reserve  RETRIED A=1         -> 201",
	           "confirm  RETRIED             -> 200",
	           "claim    settle w            -> 201",
	           "fail     1 RETRIED=retry     -> 200",
	           "sql UPDATE reservation SET attempts = 10, due_at = UTC_TIMESTAMP(3) + INTERVAL 650 SECOND",
	           "reserve  PAST A=1 ttl=60     -> 201",
	           "reserve  SOON A=1 ttl=600    -> 201",
	           "reserve  ALIVE A=1           -> 201",
	           "confirm  ALIVE               -> 200",
	           "claim    settle w lease=600  -> 201 task_id=2 orders=ALIVE",
	           "tick     61",
	           "reserve  DUE A=1             -> 201",
	           "confirm  DUE                 -> 200");
	clock_shift(offset);
	flow_steps("run      reap -> 0",
	           "work expire   -> 0");
	wall_time(offset[0] == '-' ? -3600 : 3600, said, sizeof(said));
	flow_step("work settle --log-level debug -> 0 ~event=worked %s", said);
	clock_shift(NULL);
	flow_steps("get      SOON                -> held",
	           "get      RETRIED             -> confirmed attempts=10",
	           "task     2                   -> open",
	           "get      DUE                 -> settled settled_at=~0",
	           "task     3                   -> done created_at=~0 lease_until=~30",
	           "list     state=expired       -> items=PAST",
	           "sku      A                   -> available=6 reserved=3",
	           "complete 2                   -> completed=1",
	           "movements A                  -> items[0].created_at=~0 items[1].created_at=~0");
	flow_end();
}

Test(clock, an_hour_ahead)
{
	clock_off("+1h");
}

Test(clock, an_hour_behind)
{
	clock_off("-1h");
}

/* A row that is old by one clock is not old by the other, and it is unknown which clock is right. */
Test(clock, nothing_is_purged_while_they_are_apart)
{
	if (!clock_shift(NULL))
		cr_skip_test("needs libfaketime (apt-get install libfaketime), and a build without sanitizers");
	flow_begin();
	flow_steps("receipt  A +10               -> 201",
	           "reserve  P A=1               -> 201",
	           "release  P                   -> 200",
	           "tick     61",
	           "mark");
	clock_shift("-6m");
	flow_step("run purge --keep 0 -> 1 '~s ahead of this machine' '~nothing was removed'");
	clock_shift("+6m");
	flow_steps("run purge --keep 0 --json -> 1 '~s behind this machine' '~nothing was removed'",
	           "unchanged",
	           "kill",
	           "wait raw GET /readyz?verbose -> 200 '~s behind this machine'");
	clock_shift("+4m");
	flow_steps("kill",
	           "wait raw GET /readyz?verbose -> 200 '!~this machine'",
	           "run purge --keep 0 --json -> 0 reservations=1",
	           "reserve  Q A=1            -> 201",
	           "release  Q                -> 200",
	           "tick 61");
	clock_shift("+1d");
	flow_step("run purge --keep 0 --force -> 0 '~1 reservations and'");
	clock_shift(NULL);
	flow_step("kill");
	flow_end();
}

/* ---- the database's clock was ahead: what it left behind is seen, and comes back */

Test(clock, orders_of_a_clock_that_was_ahead)
{
	flow("receipt  A +10               -> 201",
	     "reserve  C1 A=1              -> 201",
	     "confirm  C1                  -> 200",
	     "reserve  C2 A=1              -> 201",
	     "confirm  C2                  -> 200",
	     "reserve  C3 A=1              -> 201",
	     "confirm  C3                  -> 200",
	     "reserve  H1 A=1 ttl=60       -> 201",
	     "tick     61",
	     "claim    settle w limit=2    -> 201 orders=C1,C2",
	     "fail     1 C2=retry          -> retried=1",
	     "complete 1                   -> completed=1",
	     "claim    expire w            -> 201 orders=H1",
	     "fail     2 H1=retry          -> retried=1",
	     "sql UPDATE reservation SET due_at = due_at + INTERVAL 1 DAY WHERE state < 3 -> ",
	     "work     settle              -> 0",
	     "work     expire              -> 0",
	     "claim    settle w            -> 204",
	     "run      stats --json        -> 0 orders_ahead=3 leases_ahead=0",
	     "run      audit               -> 1 '~due_within_a_pause: order_id=C2' ~order_id=C3 ~order_id=H1",
	     "run      reap --dry-run      -> 0 !clock_was_ahead",
	     "run      reap                -> 0 '~event=clock_was_ahead rows=3 orders=3 leases=0 '",
	     "run      audit               -> 0",
	     "run      stats --json        -> 0 orders_ahead=0",
	     "work     settle              -> 0",
	     "work     expire              -> 0",
	     "get      C2                  -> settled",
	     "get      C3                  -> settled",
	     "sku      A                   -> available=7 reserved=0");
}

Test(clock, leases_of_a_clock_that_was_ahead)
{
	flow(THREE,
	     "claim    settle a limit=1 lease=5 -> 201",
	     "claim    settle b limit=1 lease=3600 -> 201",
	     "sql UPDATE job_task SET created_at = created_at + INTERVAL 1 DAY, lease_until = lease_until +"
	     " INTERVAL 1 DAY WHERE task_id = 1 -> ",
	     "sql UPDATE job_task SET lease_until = lease_until + INTERVAL 1 DAY WHERE task_id = 2 -> ",
	     "claim    settle c limit=1 lease=3600 -> 201 task_id=3",
	     "run      stats --json        -> 0 leases_ahead=2 orders_ahead=0 !-",
	     "run      audit               -> 1 '~lease_within_an_hour: task_id=1' '~lease_within_an_hour: task_id=2'",
	     "run      reap                -> 0 !freed '~event=clock_was_ahead rows=2 orders=0 leases=2 '",
	     "task     1                   -> open lease_until=~5 created_at=~0",
	     "task     2                   -> open lease_until=~60",
	     "task     3                   -> open lease_until=~3600",
	     "heartbeat 1 lease=3600       -> 200",
	     "run      reap                -> 0 !clock_was_ahead",
	     "task     1                   -> lease_until=~3600",
	     "run      audit               -> 0",
	     "run      stats --json        -> 0 leases_ahead=0");
}

/* A lease was given by a clock that was ahead, and renewed by the right clock before the reaper comes: it counts. */
Test(clock, leases_of_a_clock_that_was_ahead_renewed_since)
{
	flow(THREE,
	     "claim    settle a lease=5    -> 201",
	     "sql UPDATE job_task SET created_at = created_at + INTERVAL 1 DAY, lease_until = lease_until +"
	     " INTERVAL 1 DAY -> ",
	     "heartbeat 1 lease=300        -> 200",
	     "run      reap                -> 0 !freed '~event=clock_was_ahead rows=1 orders=0 leases=1 '",
	     "task     1                   -> open lease_until=~300 created_at=~0",
	     "complete 1                   -> completed=3");
}

/* The longest pauses that there are raise no alarm. */
Test(clock, pauses_are_no_clock_that_was_ahead)
{
	flow(THREE,
	     "claim    settle w limit=2     -> 201",
	     "sql UPDATE reservation SET attempts = 7 WHERE task_id = 1 -> ",
	     "fail     1 R1=retry           -> retried=1",
	     "sql UPDATE reservation SET attempts = 40, task_id = NULL, due_at = UTC_TIMESTAMP(3) + INTERVAL 660 SECOND"
	     " WHERE task_id = 1 -> ",
	     "run      audit                -> 0",
	     "run      stats --json         -> 0 orders_ahead=0",
	     "run      reap                 -> 0 !clock_was_ahead",
	     "sql SELECT due_at > UTC_TIMESTAMP(3) + INTERVAL 600 SECOND FROM reservation WHERE order_id = 'R2' -> 1");
}

/* A clock that was ahead has claimed a live hold: it goes back, and the others expire. */
Test(clock, expiry_of_a_hold_that_lives)
{
	flow("receipt  A +10               -> 201",
	     "reserve  OLD A=1 ttl=60      -> 201",
	     "reserve  NEW A=1 ttl=600     -> 201",
	     "reserve NEWER A=1 ttl=900    -> 201",
	     "tick 61",
	     "claim    expire w            -> 201 orders=OLD",
	     "sql UPDATE reservation SET task_id = 1, attempts = 1 -> ",
	     "sql UPDATE job_task SET claimed = 3 -> ",
	     "complete 1 NEWER             -> 200 completed=0 lost=1 lost_orders=NEWER",
	     "task 1                       -> open",
	     "complete 1                   -> 200 completed=1 lost=1 lost_orders=NEW",
	     "task     1                   -> done completed=1",
	     "get NEW                      -> held attempts=0",
	     "sql SELECT COUNT(*) FROM reservation WHERE task_id IS NULL AND due_at = expires_at -> 2",
	     "get      OLD                 -> expired",
	     "sku A                        -> available=8 reserved=2",
	     "complete 1 OLD NEW           -> 200 completed=1 lost=1",
	     "tick 600",
	     "work expire                  -> 0",
	     "sku      A                   -> available=9 reserved=1");
}

/* A deliverer claimed a webhook by a clock that was ahead. */
Test(clock, webhooks_of_a_clock_that_was_ahead)
{
	flow("sql INSERT INTO webhook (webhook_id, url, from_oldest, parallel, created_at, secret, due_at, place,"
	     " waits_since, mark) VALUES ('w', 'http://127.0.0.1:1/', 0, 1, UTC_TIMESTAMP(3), '', UTC_TIMESTAMP(3) +"
	     " INTERVAL 1 DAY, '', UTC_TIMESTAMP(3), 7) -> ",
	     "run      stats --json        -> 0 webhooks_ahead=1",
	     "run      audit               -> 1 '~webhook_leased_by_now: webhook_id=w'",
	     "run      reap                -> 0 '~event=clock_was_ahead' '~webhooks=1'",
	     "run      audit               -> 0",
	     "run      stats --json        -> 0 webhooks_ahead=0");
}

/* ---- the database's clock is set while a service runs */

static struct server server;

/* The clock of `server` is so many seconds ahead from now on. */
static void server_clock_set(int ahead_s)
{
	char  path[120], next[140];
	FILE *file;

	snprintf(path, sizeof(path), "%s/clock", server.dir);
	snprintf(next, sizeof(next), "%s.next", path);
	cr_assert_not_null(file = fopen(next, "we"));
	fprintf(file, "%+d\n", ahead_s);
	cr_assert(fclose(file) == 0 && rename(next, path) == 0);
}

/* False: there is no library for that. */
static bool server_with_a_clock(void)
{
	static const char *const words[] = {
		"LD_PRELOAD",   "FAKETIME_TIMESTAMP_FILE",      "FAKETIME_NO_CACHE",
		"NO_FAKE_STAT", "FAKETIME_DONT_FAKE_MONOTONIC", "FAKETIME_FORCE_MONOTONIC_FIX"};
	const char *values[] = {NULL, NULL, "1", "1", "1", "0"};
	char        path[120];
	glob_t      found;

	if (glob("/usr/lib/*/faketime/libfaketimeMT.so.1", 0, NULL, &found) != 0)
		return false;
	server_make(&server, NULL);
	server_clock_set(0);
	snprintf(path, sizeof(path), "%s/clock", server.dir);
	values[0] = found.gl_pathv[0];
	values[1] = path;
	for (size_t i = 0; i < LENGTH(words); i++)
		setenv(words[i], values[i], 1);
	server_start(&server, (const char *const[]){NULL});
	for (size_t i = 0; i < LENGTH(words); i++)
		unsetenv(words[i]);
	globfree(&found);
	server_use(&server);
	return true;
}

/* Lists go by the ids. A batch that is written while the clock is set gets ids of the right clock. */
Test(clock, orders_of_a_clock_that_is_set)
{
	if (!server_with_a_clock())
		cr_skip_test("needs libfaketime (apt-get install libfaketime)");
	flow_begin();
	flow_steps("serve --lanes 1",
	           "receipt  M1 A +10     -> 201",
	           "reserve  RIGHT A=1    -> 201");
	server_clock_set(3600);
	flow_steps("reserve  AHEAD A=1    -> 201",
	           "receipt  M2 A +10     -> 201");
	server_clock_set(0);
	flow_steps("reserve  FIRST A=1    -> 201",
	           "reserve  SECOND A=1   -> 201",
	           "list                  -> items=AHEAD,SECOND,FIRST,RIGHT");
	server_clock_set(3600);
	flow_step("reserve   AGAIN A=1    -> 201");
	server_clock_set(0);
	flow_steps("receipt  M3 A +10     -> 201",
	           "receipt  M4 A +10     -> 201",
	           "movements A           -> items=M2,M4,M3,M1",
	           "confirm  FIRST        -> 200");
	server_clock_set(-3600);
	flow_steps("reserve  BEHIND A=1   -> 201",
	           "list                  -> items=AGAIN,AHEAD,SECOND,FIRST,RIGHT,BEHIND");
	server_clock_set(0);
	flow_end();
	server_remove(&server);
}

/* Counts of a clock that was ahead do not affect counts of now, and an order that came then keeps its position before
 * later ones. */
Test(clock, counts_and_places_of_a_clock_that_is_set)
{
	if (!server_with_a_clock())
		cr_skip_test("needs libfaketime (apt-get install libfaketime)");
	flow_begin();
	flow_steps("serve --lanes 1",
	           "raw PUT /v1/locations/po {'kind':'incoming'} -> 201",
	           "receipt  A +10 A@po +100     -> 201");
	server_clock_set(86400);
	flow_steps("count    A=9                 -> 201 A=-1",
	           "receipt  A +1                -> 201",
	           "reserve  AHEAD A@po=1 confirm=true -> 201",
	           "reserve  HOLD A@po=1 ttl=600 -> 201");
	server_clock_set(0);
	flow_steps("reserve  RIGHT A@po=1 confirm=true -> 201",
	           "run      stats --json        -> 0 orders_ahead=0 leases_ahead=0 waiting_ahead=2 counts_ahead=1",
	           "run      audit               -> 1 '~counted_by_now: sku=A location=main' '~waits_in_its_place:"
	           " order_id=AHEAD' '~waits_in_its_place: order_id=HOLD'",
	           "count    A=10 as_of=-1       -> 409 count_mismatch",
	           "run      reap --dry-run      -> 0 !clock_was_ahead",
	           "run      reap                -> 0 '~event=clock_was_ahead rows=3 orders=0 leases=0 arrivals=0"
	           " webhooks=0 waiting=2 counts=1'",
	           "run      audit               -> 0",
	           "run      stats --json        -> 0 waiting_ahead=0 counts_ahead=0",
	           "count    A=10 as_of=-0       -> 201 A=0",
	           "reserve  LATE A@po=1 confirm=true -> 201",
	           "raw GET /v1/skus/A/waiting   -> 200 items=RIGHT,AHEAD,LATE,HOLD end",
	           "confirm  HOLD                -> confirmed",
	           "raw GET /v1/skus/A/waiting   -> 200 items=RIGHT,AHEAD,LATE,HOLD end",
	           "run      audit               -> 0");
	server_clock_set(86400);
	flow_step("count     A=10                -> 201 A=0");
	server_clock_set(0);
	flow_steps("count    A=10 as_of=-1       -> 409 count_mismatch",
	           "count    A=10                -> 201 A=0",
	           "count    A=10 as_of=-0       -> 201 A=0",
	           "run      reap                -> 0 !clock_was_ahead",
	           "run      audit               -> 0");
	flow_end();
	server_remove(&server);
}
