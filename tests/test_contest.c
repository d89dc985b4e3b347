/* test_contest.c - workers, clients and trouble at the same time: each order is resolved once, whoever comes first. */
#include "tests/flow.h"
#include "tests/proxy.h"

#include <stdio.h>
#include <unistd.h>

#define LEFT                                                                                        \
	"sql SELECT SUM(available + reserved) + (SELECT COUNT(*) FROM reservation WHERE state = 3)" \
	" FROM stock_slot -> "
#define MOVED                                                                       \
	"sql SELECT -SUM(qty) = (SELECT COUNT(*) FROM reservation WHERE state = 3)" \
	" FROM movement JOIN movement_line USING (movement_no) WHERE kind = 5 -> "
#define OPEN "sql SELECT COUNT(*) FROM task WHERE state = 1 -> "

Test(contest, settle_against_release)
{
	flow_begin();
	flow_steps("serve --lanes 4");
	flow_orders("R", 800);
	flow_steps("start W work settle --batch 7 --workers 4 --once",
	           "race 8*100 release R# -> *x 200 released | *x 409 settled",
	           "end W                 -> 0",
	           "work settle           -> 0",
	           "sql SELECT COUNT(*) FROM reservation WHERE state NOT IN (3, 4) -> 0",
	           OPEN "0",
	           LEFT "800",
	           MOVED "1",
	           "sku A                 -> reserved=0");
	flow_end();
}

/* Workers of another kind, over HTTP, beside ours: nobody gets an order twice. */
Test(contest, claims_over_http_beside_workers)
{
	flow_begin();
	flow_orders("R", 600);
	flow_steps("second",
	           "start W work settle --batch 5 --workers 2 --once",
	           "race 8*15 claim settle w# limit=5 -> *x 201 | *x 204",
	           "end W                 -> 0",
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 2 AND task_id IS NULL -> 0",
	           "sql SELECT COUNT(*) FROM reservation JOIN task USING (task_id) GROUP BY task_id"
	           " HAVING COUNT(*) <> MAX(claimed) -> ",
	           "sql SELECT SUM(claimed), MAX(claimed) FROM task -> 600,5",
	           "race 8*40 complete #  -> *x 200 lost=0 | *x 404 unknown_task",
	           "race 8*40 complete #  -> *x 200 lost=0 | *x 404 unknown_task",
	           LEFT "600",
	           MOVED "1",
	           "sku A                 -> on_hand=0",
	           OPEN "0");
	flow_end();
}

/* Many completions of one task at once, whole and in parts. */
Test(contest, one_task_completed_by_many)
{
	flow_begin();
	flow_orders("R", 64);
	flow_steps("second",
	           "claim settle w limit=64 -> 201 orders=64",
	           "race 32*4 complete 1 R3 R9 || complete 1 || complete 1 R3 GHOST || complete 1 R60 ->"
	           "    32x 200 completed=2 lost=0 | 32x 200 completed=64 lost=0 | 32x 200 completed=1 lost=1 "
	           "lost_orders=GHOST"
	           "    | 32x 200 completed=1 lost=0",
	           "task 1                  -> done completed=64",
	           LEFT "64",
	           MOVED "1",
	           "sku A                   -> on_hand=0");
	flow_end();
}

Test(contest, complete_against_fail_and_return)
{
	flow_begin();
	flow_orders("R", 30);
	flow_steps("second",
	           "claim settle w limit=30 -> 201 orders=30",
	           "race 24 complete 1 R1 R2 R3 || fail 1 R2=retry R3=bury || complete 1 R3 R4 || give-back 1 ->"
	           "    *x 200 completed=* | *x 200 retried=* | *x 200 task_id=1 | *x 409 lease_lost",
	           "sql SELECT state <> 1 FROM task -> 1",
	           "tick 10",
	           "work settle -> 0",
	           "run kick --all -> 0",
	           "work settle -> 0",
	           LEFT "30",
	           MOVED "1",
	           "sku A       -> on_hand=0",
	           OPEN "0");
	flow_end();
}

/* Holds that run out while they are confirmed, extended, released and swept. */
Test(contest, expiry_against_everybody)
{
	flow_begin();
	flow_steps("serve --lanes 4 --jobs=expire",
	           "second --lanes 2 --slot 4",
	           "receipt A +300                  -> 201",
	           "race 10*30 reserve R# A=1 ttl=1 -> 300x 201",
	           "start V work expire --batch 3 --workers 3");
	usleep(600000);
	flow_steps("race 16*75 confirm R# || extend R# ttl=1 || confirm R# reacquire || release R# ->"
	           " *x 200 | *x 200 replayed | *x 409 | *x 404 unknown_order");
	for (int i = 0; i < 3; i++)
		flow_steps("race 16*20 confirm R# || confirm R# reacquire || extend R# ttl=60 ->"
		           " *x 200 | *x 200 replayed | *x 409 | *x 404 unknown_order");
	flow_steps("race 10*30 release R#   -> *x 200 released | *x 200 released replayed | *x 409 expired",
	           "wait sku A              -> available=300 reserved=0 on_hand=300",
	           "signal V TERM",
	           "end V                   -> 0",
	           OPEN "0");
	flow_end();
}

/* ---- trouble with the database */

/* Connections die in the middle of claims and completions: what is unknown is looked up. */
Test(contest, connections_cut)
{
	flow_begin();
	flow_orders("R", 1000);
	flow_steps("start W work settle --batch 5 --workers 3 --lease 1",
	           "start X reap --every 1");
	for (int i = 0; i < 15; i++) {
		usleep(20000);
		flow_step("cut");
	}
	flow_steps("wait:20 sql SELECT COUNT(*) FROM reservation WHERE state = 2 -> 0",
	           "wait:5 " OPEN "0",
	           "signal W TERM",
	           "end W -> 0",
	           "signal X TERM",
	           "end X -> 0",
	           LEFT "1000",
	           MOVED "1",
	           "sku A -> on_hand=0",
	           "run audit -> 0");
	flow_end();
}

Test(contest, database_away)
{
	flow_begin();
	flow_orders("R", 10);
	flow_steps("exec sleep 0.5; while read -r l; do id=${l#*:\\\"}; id=${id%%\\\"*}; echo $id done; done",
	           "start W work settle --batch 10",
	           "start V work expire",
	           "start X reap --every 1",
	           "wait task 1             -> open",
	           "away");
	usleep(1200000);
	flow_steps("back",
	           "wait get R9 -> settled",
	           "task 1 -> done completed=10",
	           "exec",
	           "signal W TERM",
	           "signal V TERM",
	           "signal X TERM",
	           "end W -> 0",
	           "end V -> 0",
	           "end X -> 0");
	flow_end();
}

/* Rows are locked by somebody for a while: the worker waits and goes on. */
Test(contest, rows_locked)
{
	flow_begin();
	flow_orders("R", 20);
	flow_steps("lock",
	           "start W work settle --once",
	           "start X reap");
	usleep(2500000);
	flow_steps("unlock",
	           "end W -> 0",
	           "end X -> 0",
	           "work settle -> 0",
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 3 -> 20");
	flow_end();
}

/* SIGTERM to a service with jobs inside: what was claimed is completed. */
Test(contest, serve_with_jobs_ends)
{
	flow_begin();
	flow_orders("R", 4000);
	flow_step("serve --lanes 2 --jobs");
	usleep(30000);
	flow_steps("serve --lanes 1",
	           OPEN "0",
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 2 AND task_id > 0 -> 0",
	           LEFT "4000",
	           "kill",
	           "run audit -> 0");
	flow_step("serve --lanes 2 --jobs");
	usleep(30000);
	flow_steps("kill",
	           "tick 40",
	           "wait:15 sql SELECT COUNT(*) FROM reservation WHERE state = 2 -> 0",
	           LEFT "4000",
	           MOVED "1");
	flow_end();
}

/* ---- a program that settles, and trouble with the database meanwhile: what it answered is not done again */

/* Workers have a program from now on that takes `pause` seconds for each order, and writes down what it has done. */
static void exec_that_notes(const char *pause)
{
	flow_step("exec while read -r l; do id=${l#*:\\\"}; id=${id%%%%\\\"*}; sleep %s; echo $id >> %s/%s.done;"
	          " echo $id done; done",
	          pause, scratch_dir(), flow_scratch()->name);
}

/* How often the program did anything, and how many orders that were. */
static void notes_are(int lines, int orders)
{
	char  path[300], id[64], seen[100] = "";
	FILE *file;
	int   all = 0, different = 0, n;

	snprintf(path, sizeof(path), "%s/%s.done", scratch_dir(), flow_scratch()->name);
	file = fopen(path, "r");
	cr_assert(file, "the program did nothing");
	while (fscanf(file, " R%63[0-9]", id) == 1 && sscanf(id, "%d", &n) == 1 && n < 100) {
		all++;
		different += !seen[n];
		seen[n] = 1;
	}
	fclose(file);
	cr_expect_eq(all, lines, "done %d times", all);
	cr_expect_eq(different, orders, "%d orders were done", different);
}

Test(contest, exec_connects_anew)
{
	flow_begin();
	flow_orders("R", 8);
	exec_that_notes("0.5");
	flow_steps("start X reap --every 1",
	           "start W work settle --once --lease 2",
	           "wait task 1 -> open");
	usleep(800000);
	flow_steps("cut",
	           "end W -> 0 !orders_lost !exec_killed",
	           "task 1 -> done completed=8 failed=0",
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 3 AND attempts = 1 -> 8",
	           "signal X TERM",
	           "end X -> 0");
	notes_are(8, 8);
	flow_end();
}

/* Twice as long as the lease, for the worker and for a reaper beside it. */
Test(contest, exec_while_the_database_stands_still)
{
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_orders("R", 10);
	exec_that_notes("0.5");
	flow_steps("start X reap --every 1",
	           "start W work settle --once --lease 2",
	           "wait task 1 -> open");
	usleep(800000);
	proxy_stall(proxy, true);
	usleep(4000000);
	proxy_stall(proxy, false);
	flow_steps("end W -> 0 !orders_lost !exec_killed",
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 3 AND attempts = 1 -> 10",
	           "signal X TERM",
	           "end X -> 0");
	notes_are(10, 10);
	flow_end();
	proxy_close(proxy);
}

/* It has ended and said all, and the database is away for longer than anybody waits elsewhere. */
Test(contest, exec_waits_for_the_database)
{
	flow_begin();
	flow_orders("R", 5);
	exec_that_notes("0.2");
	flow_steps("start W work settle --once --lease 2",
	           "wait task 1 -> open",
	           "away");
	usleep(13000000);
	flow_steps("back",
	           "end W  -> 0",
	           "task 1 -> done completed=5");
	notes_are(5, 5);
	flow_end();
}

/* A reaper has freed its orders, although it works: they are its own again, as long as nobody else has had them. */
Test(contest, exec_takes_up_what_was_reaped)
{
	flow_begin();
	flow_orders("R", 8);
	exec_that_notes("0.4");
	flow_steps("start W work settle --once --lease 3",
	           "wait task 1 -> open");
	usleep(600000);
	flow_steps("signal W STOP",
	           "tick 100",
	           "run reap --max-attempts 1 -> 0 '~8 orders freed'",
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 6 -> 8",
	           "signal W CONT",
	           "end W  -> 0 ~event=task_taken_up !orders_lost !exec_killed",
	           "task 1 -> reaped completed=0",
	           "task 2 -> done claimed=8 completed=8",
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 3 AND attempts = 1 -> 8",
	           LEFT "8",
	           MOVED "1");
	notes_are(8, 8);
	flow_end();
}

/* Somebody else has begun some of them: what the program may be at work on is not its own any more, so it is ended. */
Test(contest, exec_gives_up_what_others_have)
{
	flow_begin();
	flow_orders("R", 8);
	exec_that_notes("0.4");
	flow_steps("start W work settle --once --lease 3",
	           "wait task 1 -> open");
	usleep(600000);
	flow_steps("signal W STOP",
	           "tick 100",
	           "run reap                            -> 0 '~8 orders freed'",
	           "tick 3",
	           "claim settle other limit=7 lease=60 -> 201 task_id=2 orders=7",
	           "signal W CONT",
	           "end W -> 0 '~event=orders_lost task=1 lost=7 lease_lost=1' ~exec_killed",
	           "task 3                              -> done claimed=1",
	           "complete 2                          -> completed=7 lost=0",
	           "exec",
	           "tick 10",
	           "work settle                         -> 0",
	           "sql SELECT COUNT(*) FROM reservation WHERE state = 3 -> 8",
	           LEFT "8",
	           MOVED "1");
	flow_end();
}

/* A worker that renews its lease hears nothing of the database from then on; its program goes on. */
static struct proxy *exec_without_news(const char *pause)
{
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_orders("R", 8);
	exec_that_notes(pause);
	proxy_arm(proxy, BREACH_WAIT, "UPDATE task SET lease_until");
	flow_steps("start W work settle --once --lease 3",
	           "wait task 1 -> open");
	cr_assert(proxy_struck(proxy));
	flow_steps("tick 100",
	           "run reap -> 0 '~orders freed'");
	return proxy;
}

/* What the program says meanwhile waits in the pipe: it is heard before anything is given up. Somebody else has had one
 * of the orders, and lost it, too: it is not this worker's any more. */
Test(contest, exec_hears_what_waits_in_the_pipe)
{
	struct proxy *proxy = exec_without_news("0.4");

	flow_steps("tick 3",
	           "claim settle other limit=1 lease=1 -> 201 task_id=2 orders=1",
	           "tick 2",
	           "run reap                           -> 0 '~task 2 of other (settle): 1 orders freed'",
	           "sql UPDATE reservation SET due_at = due_at + INTERVAL 60 SECOND WHERE attempts = 2 -> ");
	usleep(3500000);
	proxy_go_on(proxy);
	flow_steps("end W       -> 0 ~event=task_taken_up '~event=orders_lost task=1 lost=1' !exec_killed",
	           "sql SELECT state, COUNT(*), MAX(attempts) FROM reservation GROUP BY state -> 2,1,2 3,7,1",
	           "exec",
	           "tick 80",
	           "work settle -> 0",
	           LEFT "8",
	           MOVED "1");
	notes_are(8, 8);
	flow_end();
	proxy_close(proxy);
}

/* Nobody else is at work on an order that was released: the program goes on. */
Test(contest, exec_goes_on_without_what_was_released)
{
	struct proxy *proxy = exec_without_news("0.6");

	flow_step("release R7 -> released");
	proxy_go_on(proxy);
	flow_steps("end W -> 0 ~event=task_taken_up '~event=orders_lost task=1 lost=1' !exec_killed",
	           "sql SELECT state, COUNT(*) FROM reservation GROUP BY state -> 3,7 4,1");
	notes_are(8, 8);
	flow_end();
	proxy_close(proxy);
}

/* The database refuses for a while what was answered: it is held, and written then. */
Test(contest, exec_waits_while_the_database_refuses)
{
	flow_begin();
	flow_orders("R", 3);
	exec_that_notes("0.1");
	flow_steps("sql CREATE TRIGGER refuse BEFORE INSERT ON movement FOR EACH ROW SIGNAL SQLSTATE '45000' -> ",
	           "start W work settle --once --lease 3",
	           "wait task 1 -> open");
	usleep(5000000);
	flow_steps("run reap                -> 0 !freed",
	           "sql DROP TRIGGER refuse -> ",
	           "end W                   -> 0 !answer_lost",
	           "task 1                  -> done completed=3");
	notes_are(3, 3);
	flow_end();
}

/* What is not its own any more when it is answered is told to whoever reads the log. */
Test(contest, exec_tells_what_is_lost)
{
	flow_begin();
	flow_orders("R", 3);
	exec_that_notes("0.5");
	flow_steps("start W work settle --once --lease 60",
	           "wait task 1 -> open",
	           "release R2  -> released",
	           "end W       -> 0 '~event=orders_lost task=1 lost=1 lease_lost=0'");
	flow_orders("S", 2);
	flow_steps("start W work settle --once --lease 60",
	           "wait task 2 -> open",
	           "give-back 2 -> 200",
	           "end W       -> 0 '~event=orders_lost task=2 lost=2 lease_lost=1'");
	flow_end();
}

/* All is answered, so nothing is left that a lease could lose. */
Test(contest, exec_tidies_up)
{
	char path[300];

	flow_begin();
	flow_orders("R", 5);
	snprintf(path, sizeof(path), "%s/%s.tidied", scratch_dir(), flow_scratch()->name);
	flow_step("exec while read -r l; do id=${l#*:\\\"}; echo ${id%%%%\\\"*} done; done; sleep 2; touch %s", path);
	flow_steps("work settle --lease 3 -> 0 !orders_lost !exec_killed",
	           "task 1                -> done completed=5");
	cr_expect_eq(access(path, F_OK), 0, "the program was ended before it was through");
	flow_end();
}

/* A worker that speaks HTTP could not renew its lease while nobody saw the database: it gets another chance. */
Test(contest, reaper_waits_after_a_standstill)
{
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_orders("R", 3);
	flow_steps("claim settle w lease=2 -> 201 task_id=1",
	           "start X reap --every 1");
	usleep(1200000);
	proxy_stall(proxy, true);
	usleep(4000000);
	proxy_stall(proxy, false);
	usleep(2500000);
	flow_steps("task 1         -> open lease_until=~28",
	           "complete 1     -> 200 completed=3 lost=0",
	           "claim settle w -> 204",
	           "signal X TERM",
	           "end X          -> 0 ~event=leases_prolonged !freed");
	flow_end();
	proxy_close(proxy);
}

/* ... and no more than that, though a stranger has locked the row of another one. */
Test(contest, reaper_frees_after_its_grace)
{
	struct proxy    *proxy;
	struct db_target target;
	struct db       *stranger;

	flow_begin();
	target = flow_scratch()->target;
	snprintf(target.database, sizeof(target.database), "%s", flow_scratch()->name);
	stranger = db_new(&target);
	cr_assert(db_connect(stranger), "%s", db_error(stranger));
	proxy = proxy_open(flow_scratch());
	flow_orders("R", 3);
	flow_steps("claim settle w limit=1 lease=2 -> 201 task_id=1",
	           "claim settle v lease=2         -> 201 task_id=2",
	           "start X reap --every 1");
	usleep(1200000);
	cr_assert_eq(db_text(stranger, "SET SESSION idle_transaction_timeout = 0", NULL, NULL), DB_OK);
	cr_assert_eq(db_text(stranger, "START TRANSACTION", NULL, NULL), DB_OK);
	cr_assert_eq(db_text(stranger, "UPDATE task SET mark = 7 WHERE task_id = 1", NULL, NULL), DB_OK);
	proxy_stall(proxy, true);
	usleep(4000000);
	proxy_stall(proxy, false);
	flow_steps("wait:5 task 2 -> open lease_until=~29",
	           "sql UPDATE task SET lease_until = lease_until"
	           " - INTERVAL 40 SECOND WHERE task_id = 2 -> ",
	           "wait:8 task 2 -> reaped",
	           "task 1        -> open");
	db_free(stranger);
	flow_steps("wait:8 task 1 -> reaped",
	           "signal X TERM",
	           "end X         -> 0 ~event=leases_prolonged");
	flow_end();
	proxy_close(proxy);
}

/* ---- a claim whose answer is lost */

#define CLAIM "INSERT INTO task (task_id, kind"
#define ROWS  "FROM reservation r FORCE INDEX (claim)"

static void claim_is_lost(enum breach breach, const char *text)
{
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_orders("R", 5);
	proxy_arm(proxy, breach, text);
	flow_step("claim settle w limit=3 -> 201 task_id=1 orders=3");
	cr_expect(proxy_struck(proxy));
	if (breach == BREACH_LATE)
		cr_expect(proxy_deliver(proxy));
	flow_steps("tasks      -> items=T1 end",
	           "complete 1 -> completed=3");
	proxy_arm(proxy, breach, text);
	flow_step("work settle -> 0");
	cr_expect(proxy_struck(proxy));
	if (breach == BREACH_LATE)
		cr_expect(proxy_deliver(proxy));
	flow_steps("sql SELECT COUNT(*), MAX(attempts) FROM reservation WHERE state = 3 -> 5,1",
	           "sql SELECT COUNT(*) FROM task -> 2",
	           OPEN "0");
	flow_end();
	proxy_close(proxy);
}

Test(contest, claim_whose_answer_is_lost)
{
	claim_is_lost(BREACH_MUTE, CLAIM);
}

Test(contest, claim_that_comes_late)
{
	claim_is_lost(BREACH_LATE, CLAIM);
}

Test(contest, claim_whose_rows_are_lost)
{
	claim_is_lost(BREACH_MUTE, ROWS);
}
