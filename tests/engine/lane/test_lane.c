/* test_lane.c - a lane in trouble: its statements are interrupted, its connection breaks at the worst time, its row is
 * changed or removed by another program. Each answer stays true, and a repeat finds it. */
#include "engine/base/clock.h"
#include "tests/kit/drill.h"
#include "tests/kit/patience.h"
#include "tests/kit/proxy.h"
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* ---- interrupts */

struct storm {
	pthread_t   thread;
	struct db  *db;
	atomic_bool ends;
	atomic_int  hits; /* interrupts that found their statement */
};

struct victims {
	int64_t id[64];
	size_t  count;
};

static void victim_add(void *arg, const struct db_row *row)
{
	struct victims *v = arg;

	if (v->count < LENGTH(v->id))
		v->id[v->count++] = db_int(row, 0);
}

static void *storm_run(void *arg)
{
	struct storm *s = arg;
	char          sql[64];

	while (!atomic_load(&s->ends)) {
		struct victims v = {.count = 0};

		if (db_text(s->db,
		            "SELECT id FROM information_schema.processlist WHERE db = DATABASE()"
		            " AND id <> CONNECTION_ID() AND command IN ('Query', 'Execute')",
		            victim_add, &v) != DB_OK)
			break;
		for (size_t i = 0; i < v.count; i++) {
			snprintf(sql, sizeof(sql), "KILL QUERY %lld", (long long)v.id[i]);
			atomic_fetch_add(&s->hits, db_text(s->db, sql, NULL, NULL) == DB_OK);
		}
		usleep(1000);
	}
	return NULL;
}

static void storm_begin(struct storm *s)
{
	struct db_target to = flow_scratch()->target;
	int              error;

	atomic_init(&s->ends, false);
	atomic_init(&s->hits, 0);
	snprintf(to.database, sizeof(to.database), "%s", flow_scratch()->name);
	s->db = db_new_alone(&to);
	cr_assert(db_connect(s->db), "%s", db_error(s->db));
	error = pthread_create(&s->thread, NULL, storm_run, s);
	cr_assert(error == 0);
}

static int storm_end(struct storm *s)
{
	atomic_store(&s->ends, true);
	pthread_join(s->thread, NULL);
	db_free(s->db);
	return atomic_load(&s->hits);
}

/* Every request again: what was acknowledged is a replay now, what was not is done now or was done then. */
static void repeat_all(const struct answer *then, const char *shape, const char *steps)
{
	struct race         *race = flow_race(shape, steps);
	int                  count, acknowledged = 0;
	const struct answer *now = race_finish(race, &count);

	for (int i = 0; i < count; i++) {
		acknowledged += then[i].status == 201;
		if (then[i].status != 201 && then[i].status != 503)
			flow_fail("call %d was answered %d %.500s", i, then[i].status, then[i].body.data);
		if (now[i].status != 200 && (now[i].status != 201 || then[i].status == 201))
			flow_fail("call %d was answered %d, and again %d %.500s", i, then[i].status, now[i].status,
			          now[i].body.data);
	}
	cr_expect(acknowledged > count / 2, "only %d of %d were acknowledged", acknowledged, count);
	race_free(race);
}

enum { ROUNDS_MAX = 8 };

/* Races in a storm of KILL QUERY, of `rounds` at most, until it has hit enough; and then all of it again in peace.
 * Returns the number of races. */
static int storm_over(const char *shape, const char *const *steps, int rounds)
{
	struct storm         storm;
	struct race         *race[ROUNDS_MAX];
	const struct answer *then[ROUNDS_MAX];
	int                  n = 0, hits;

	cr_assert(rounds <= ROUNDS_MAX);
	storm_begin(&storm);
	do {
		race[n] = flow_race(shape, steps[n]);
		then[n] = race_finish(race[n], NULL);
	} while (++n < rounds && atomic_load(&storm.hits) <= 20);
	hits = storm_end(&storm);
	cr_expect(hits > 20, "the storm has hit %d statements", hits);
	cr_expect(trap_number("SELECT MAX(epoch) FROM log_writer") > 1, "the storm has hit no lane");
	for (int i = 0; i < n; i++) {
		repeat_all(then[i], shape, steps[i]);
		race_free(race[i]);
	}
	return n;
}

Test(lane, storm_over_reservations)
{
	static const char *const rounds[ROUNDS_MAX] = {
		"reserve P# A=2 B=1", "reserve Q# A=2 B=1", "reserve R# A=2 B=1", "reserve S# A=2 B=1",
		"reserve T# A=2 B=1", "reserve U# A=2 B=1", "reserve V# A=2 B=1", "reserve W# A=2 B=1",
	};
	int orders;

	flow_begin();
	flow_step("serve --lanes 2");
	flow_steps("receipt M1 A +20000 B +20000   -> 201",
	           "receipt M2 A +20000 B +20000   -> 201");
	orders = 1920 * storm_over("16*120", rounds, ROUNDS_MAX);
	flow_step("sku A -> available=%d reserved=%d", 40000 - 2 * orders, 2 * orders);
	flow_step("sku B -> available=%d reserved=%d", 40000 - orders, orders);
	cr_expect_eq(trap_number("SELECT COUNT(*) FROM reservation"), orders);
	cr_expect_eq(trap_number("SELECT COUNT(*) FROM reservation_line"), 2 * orders);
	flow_end();
}

/* Half a movement would be seen in the totals. Counts go alone, in transactions of several statements. */
Test(lane, storm_over_movements, DRILL)
{
	static const char *const round = "receipt M# A +3 B +1 || adjust M# B -1 A +1 || return M# A@l# +1 B +1"
					 " || count M# C@l#=2 C@m#=3";

	flow_begin();
	flow_step("serve --lanes 2");
	flow_steps("receipt A +1000 B +1000 C +1   -> 201");
	storm_over("16*40", &round, 1);
	flow_steps("sku A                          -> available=1800",
	           "sku B                          -> available=1160",
	           "sku C                          -> available=801 locations=321");
	flow_end();
}

/* Changes of state are not told apart by an id of their own, so each order is looked at. */
Test(lane, storm_over_changes)
{
	struct storm storm;
	int          extensions, all;

	flow_begin();
	flow_step("serve --lanes 2");
	flow_steps("receipt A +1000 B +2000                 -> 201",
	           "race 16*40 reserve R# A=1 B=2           -> 640x 201 held");
	storm_begin(&storm);
	for (int i = 0; i < 20 && atomic_load(&storm.hits) <= 10; i++)
		flow_step("race 16*40 extend R# ttl=600            -> *x 200 | *x 503");
	extensions = atomic_load(&storm.hits);
	flow_step("race 16*40 confirm R# || release R#     -> *x 200 | *x 503");
	all = storm_end(&storm);
	cr_expect(extensions > 10 && all > extensions, "the storm has hit %d statements of extensions, %d in all",
	          extensions, all);
	flow_steps("race 16*40 confirm R# || release R#     -> *x 200 | *x 200 replayed",
	           "race 16*40 confirm R# || release R#     -> 320x 200 confirmed replayed"
	           "                                         | 320x 200 released replayed",
	           "sku A                                   -> available=680 reserved=320",
	           "sku B                                   -> available=1360 reserved=640");
	flow_end();
}

/* ---- connections that break at the worst time */

/* The statement arrives when the lane has long done its work on another connection. Extending is what would show it:
 * it can be done twice, and the late one has the shorter time. */
Test(lane, late_statement_is_fenced)
{
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +10             -> 201",
	           "reserve  R1 A=1 ttl=600    -> 201");
	proxy_arm_lane(proxy, BREACH_LATE, "INTERVAL 60 SECOND");
	flow_steps("extend   R1 ttl=60         -> 200 held expires_at=~60",
	           "extend   R1 ttl=6000       -> 200 held expires_at=~6000");
	cr_assert(proxy_struck(proxy) && proxy_deliver(proxy));
	flow_steps("get      R1                -> held expires_at=~6000",
	           "extend   R1 ttl=60         -> 200 held expires_at=~60",
	           "confirm  R1                -> confirmed");
	flow_end();
	proxy_close(proxy);
}

/* Does what the server does after 5 s of silence: closes the connection with an open transaction that does nothing. */
static void silent_give_up(void)
{
	int64_t from_ms = clock_ms(), id = 0;

	while (!id && !patience_is_over(from_ms, PATIENCE_MS / 2))
		id = trap_number(TRANSACTIONS("MAX(id)", "db = DATABASE() AND command = 'Sleep'"));
	cr_assert(id, "no transaction is silent after %d ms", (int)(clock_ms() - from_ms));
	trap_sql("KILL %lld", (long long)id);
}

/* COMMIT alone is late. The transaction that it would end holds the lane's row, so that the lane waits until the server
 * gives it up, after 5 s of silence, which all but the first transaction are spared; what comes then finds nothing to
 * commit. */
Test(lane, late_commit_finds_nothing)
{
	static const struct {
		const char *step, *made;
	} steps[] = {
		{"reserve R1 A=1", "1x 201 held created_at=~0"},
		{"reserve R2 A=2 B=1", "1x 201 held created_at=~0"},
		{"confirm R1", "1x 200 confirmed confirmed_at=~0"},
		{"release R1", "1x 200 released released_at=~0"},
		{"reserve R5 A=2 confirm=true", "1x 201 confirmed confirmed_at=~0"},
		{"split R5 S5 A=1 then=release", "1x 201 released released_at=~0"},
		{"reserve R6 A=2 replaces=R0", "1x 201 held created_at=~0"},
	};
	struct race  *race;
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +10 B +10       -> 201",
	           "reserve  R0 A=1            -> 201");
	for (size_t i = 0; i < LENGTH(steps); i++) {
		proxy_arm_lane(proxy, BREACH_LATE, "COMMIT");
		race = flow_race("1", steps[i].step);
		cr_expect(proxy_struck(proxy), "%s", steps[i].step);
		if (i > 0)
			silent_give_up();
		trap_raced(race, steps[i].made);
		cr_expect(proxy_deliver(proxy), "%s", steps[i].step);
	}
	cr_expect(trap_metric(0, "holdfast_unknown_outcomes_total") == LENGTH(steps));
	flow_steps("sku      A                 -> available=5 reserved=5",
	           "sku      B                 -> available=9 reserved=1");
	flow_end();
	proxy_close(proxy);
}

/* Done, and the answer is lost: the row of the lane says that it was done. */
Test(lane, answer_is_lost_after_the_commit)
{
	static const char *const steps[] = {
		"reserve R1 A=1 B=2  -> 201 held created_at=~0",
		"receipt  M1 A +5 B +1 -> 201 created_at=~0",
		"count   M2 C=7 expected=1 -> 201 C=6",
		"release R1 -> 200 released released_at=~0",
		"reserve R5 A=3 confirm=true -> 201 confirmed confirmed_at=~0",
		"split R5 S5 A=1 -> 201 confirmed confirmed_at=~0",
		"split R5 S6 A=1 then=release -> 201 released released_at=~0",
		"reserve R7 B=1 -> 201 held",
		"reserve R8 B=2 replaces=R7 -> 201 held created_at=~0",
	};
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +10 B +10 C +1  -> 201");
	for (size_t i = 0; i < LENGTH(steps); i++) {
		proxy_arm_lane(proxy, BREACH_MUTE, "COMMIT");
		flow_step("%s", steps[i]);
		cr_expect(proxy_struck(proxy), "%s", steps[i]);
	}
	cr_expect(trap_metric(0, "holdfast_unknown_outcomes_total") == LENGTH(steps));
	flow_steps("reserve  R1 A=1 B=2        -> 409 released replayed",
	           "receipt  M1 A +5 B +1      -> 200 replayed",
	           "count    M2 C=7 expected=1 -> 200 replayed C=6",
	           "split    R5 S6 A=1 then=release -> 200 released replayed",
	           "reserve  R8 B=2 replaces=R7 -> 200 held replayed",
	           "sku      A                 -> available=13 reserved=2",
	           "sku      B                 -> available=9 reserved=2");
	flow_end();
	proxy_close(proxy);
}

/* Answers of a node of a cluster that another node has overtaken, that has left, or that died: to any statement of a
 * batch, and to its COMMIT. A node that says so at COMMIT has committed, or has not. */
#define SAYS(code) "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = " code
static const struct {
	const char *sql;
	bool        at_commit; /* only there */
} answers_of_a_node[] = {
	{"BEGIN NOT ATOMIC ROLLBACK; " SAYS("1213") "; END", false},
	{SAYS("1047"), false},
	{SAYS("1205"), false},
	{"BEGIN NOT ATOMIC ROLLBACK; " SAYS("1180") "; END", false},
	{"BEGIN NOT ATOMIC ROLLBACK; KILL CONNECTION_ID(); END", false},
	{"BEGIN NOT ATOMIC COMMIT; " SAYS("1180") "; END", true},
	{"BEGIN NOT ATOMIC COMMIT; " SAYS("1047") "; END", true},
	{"BEGIN NOT ATOMIC COMMIT; KILL CONNECTION_ID(); END", true},
};

Test(lane, any_statement_is_answered_as_by_a_node_in_trouble)
{
	static const char *const steps[] = {"reserve R%d-%d A=1 B=2 -> 201 held", "receipt M%d-%d A +1 B +1 -> 201",
	                                    "release R%d-%d -> 200 released"};
	struct proxy            *proxy;
	int                      received = 0, struck = 0;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_step("serve --lanes 1");
	flow_step("receipt A +1000 B +1000 -> 201");
	for (int e = 0; e < (int)LENGTH(answers_of_a_node); e++) {
		bool again = true;

		for (int nth = answers_of_a_node[e].at_commit ? 0 : 1; again; nth++) {
			again = false;
			for (size_t i = 0; i < LENGTH(steps); i++) {
				bool hit;

				proxy_arm_other(proxy, (size_t)nth, answers_of_a_node[e].sql);
				flow_step(steps[i], e, nth);
				hit = proxy_disarm(proxy);
				struck += hit;
				again |= hit && !answers_of_a_node[e].at_commit;
				cr_expect(hit || !answers_of_a_node[e].at_commit, "%s", answers_of_a_node[e].sql);
			}
			received++;
		}
	}
	cr_expect(struck > 60, "%d statements were struck", struck);
	flow_step("sku A -> available=%d reserved=0", 1000 + received);
	flow_step("sku B -> available=%d reserved=0", 1000 + received);
	flow_end();
	proxy_close(proxy);
}

/* The same of what readers, lists, the feed and workers ask: it is asked again, and nothing is done twice. 1105 stands
 * for what a node refuses, once. */
Test(lane, whoever_else_asks_is_answered_as_by_a_node_in_trouble)
{
	static const char *const answers[] = {"BEGIN NOT ATOMIC ROLLBACK; " SAYS("1213") "; END",
	                                      SAYS("1047"),
	                                      SAYS("1205"),
	                                      "BEGIN NOT ATOMIC ROLLBACK; " SAYS("1180") "; END",
	                                      "BEGIN NOT ATOMIC ROLLBACK; KILL CONNECTION_ID(); END",
	                                      SAYS("1105")};
	static const struct {
		const char *step, *text; /* of one of its statements */
	} asked[] = {
		{"get R%d -> 200 confirmed", "FROM reservation"},
		{"list state=confirmed -> 200 items=*", "FROM reservation"},
		{"sku A max_age=0 -> 200 reserved=*", "stock_slot"},
		{"events limit=1 -> 200 items=*", "FROM event"},
		{"limit A 5 -> 200", "BEGIN NOT ATOMIC"},
		{"raw PUT /v1/skus/A/threshold {'low':1} -> 200", "BEGIN NOT ATOMIC"},
		{"raw PUT /v1/locations/q%d {'kind':'aside'} -> kind=aside", "location"},
		{"claim settle w limit=1 -> 201 orders=R%d", "BEGIN NOT ATOMIC"},
		{"heartbeat %d -> 200", "job_task"},
		{"fail %1$d R%1$d=bury:E -> buried=1", "BEGIN NOT ATOMIC"},
		{"raw POST /v1/kicks {'error':'E'} -> 200 kicked=1", "BEGIN NOT ATOMIC"},
		{"raw POST /v1/reservations/R%d/release {} -> 200 released", "BEGIN NOT ATOMIC"},
	};
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_step("serve --lanes 1");
	flow_step("receipt A +100 -> 201");
	for (int e = 1; e <= (int)LENGTH(answers); e++)
		flow_step("reserve R%d A=1 confirm=true -> 201", e);
	for (int e = 1; e <= (int)LENGTH(answers); e++)
		for (size_t i = 0; i < LENGTH(asked); i++) {
			proxy_arm_instead(proxy, asked[i].text, answers[e - 1]);
			flow_step(asked[i].step, e);
			cr_expect(proxy_disarm(proxy) || i == LENGTH(asked) - 1, "%s: %s", asked[i].step,
			          answers[e - 1]);
		}
	flow_step("sku A -> available=100 reserved=0");
	flow_end();
	proxy_close(proxy);
}

/* The server knows nothing of the break: its transaction waits for a row, gets it, and lands. */
Test(lane, given_up_while_it_waits_for_a_row)
{
	struct proxy *proxy;
	struct race  *race;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +10 B +10       -> 201",
	           "reserve  R9 A=1 B=1        -> 201");
	trap_lock(SLOTS_OF("B"));
	proxy_arm_lane(proxy, BREACH_DEAF, "R0"); /* the step behind the deduction, which waits */
	race = flow_race("1", "reserve R# A=1 B=1");
	cr_expect(proxy_struck(proxy));
	trap_waiter();
	trap_unlock();
	trap_raced(race, "1x 201 held A=1 B=1");
	flow_steps("reserve  R0 A=1 B=1        -> 200 held replayed",
	           "sku      A                 -> available=8 reserved=2",
	           "sku      B                 -> available=8 reserved=2");
	flow_end();
	proxy_close(proxy);
}

/* The connection that waits for a row is killed on the server. */
static void killed_while_it_waits(const char *how, const char *step, const char *expectation)
{
	struct race *race;

	trap_lock(SLOTS_OF("A"));
	race = flow_race("1", step);
	trap_sql("%s %lld", how, (long long)trap_waiter());
	usleep(200000);
	trap_unlock();
	trap_raced(race, expectation);
}

Test(lane, killed_while_it_waits_for_a_row)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +10             -> 201",
	           "reserve  R9 A=1            -> 201");
	killed_while_it_waits("KILL", "reserve R1 A=1", "1x 201 held A=1");
	killed_while_it_waits("KILL QUERY", "reserve R2 A=1", "1x 201 held A=1");
	killed_while_it_waits("KILL", "adjust M1 A -1", "1x 201 A=-1");
	killed_while_it_waits("KILL QUERY", "release R9", "1x 200 released");
	flow_steps("sku      A                 -> available=7 reserved=2",
	           "reserve  R1 A=1            -> 200 held replayed",
	           "reserve  R2 A=1            -> 200 held replayed");
	flow_end();
}

/* A count waits before it has written anything, so there is nothing unknown about it. */
Test(lane, count_killed_while_it_waits_for_a_row)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +10             -> 201");
	killed_while_it_waits("KILL", "count M1 A=9", "1x 201 A=-1");
	killed_while_it_waits("KILL QUERY", "count M2 A=8", "1x 201 A=-1");
	flow_steps("sku      A                 -> available=8 on_hand=8");
	flow_end();
}

/* The connection is gone at the commit, and for ten seconds there is no new one: the outcome is not known, and the
 * answer says so. */
Test(lane, outcome_stays_unknown)
{
	struct proxy *proxy;
	struct race  *race;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +10             -> 201",
	           "reserve  R9 A=1            -> 201");
	proxy_arm_lane(proxy, BREACH_LATE, "COMMIT");
	proxy_shut_behind(proxy);
	race = flow_race("1", "adjust M# A -1");
	cr_assert(proxy_struck(proxy));
	flow_step("cut");
	trap_raced(race, "1x 503 unknown_outcome Retry-After:*");
	proxy_let_in(proxy);
	flow_steps("wait adjust   M0 A -1      -> 201",
	           "sku      A                 -> available=8 reserved=1");
	flow_end();
	proxy_close(proxy);
}

/* A lane begins anew when another program has raised or removed its row, and no client notices. */
Test(lane, lane_is_fenced_from_outside)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +10             -> 201");
	trap_sql("UPDATE log_writer SET epoch = epoch + 1");
	flow_steps("reserve  R1 A=1            -> 201");
	trap_sql("DELETE FROM log_writer");
	flow_steps("reserve  R2 A=1            -> 201");
	trap_sql("DELETE FROM log_writer");
	flow_steps("count    A=9               -> 201 A=-1");
	trap_sql("UPDATE log_writer SET epoch = epoch + 1");
	flow_steps("count    A=8               -> 201 A=-1",
	           "sku      A                 -> available=6 reserved=2");
	trap_sql("UPDATE log_writer SET epoch = epoch + 1");
	flow_steps("receipt  A +4              -> 201");
	trap_sql("DELETE FROM log_writer");
	flow_steps("batch    S1 A=1 | S2 A=1 | S3 A=1 | S4 A=1 | S5 A=1 | S6 A=1 | S7 A=1 | S8 A=1 | S9 A=1"
	           " -> 201 | 201 | 201 | 201 | 201 | 201 | 201 | 201 | 201",
	           "sku      A                 -> available=1 reserved=11");
	flow_step(BY_HAND);
	flow_end();
}

/* The COMMIT never arrives, and the row that says whether it did is gone: it counts as not done. */
Test(lane, lane_row_is_gone_when_the_outcome_is_looked_up)
{
	struct proxy *proxy;
	struct race  *race;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +10             -> 201");
	proxy_arm_lane(proxy, BREACH_LATE, "COMMIT");
	proxy_shut_behind(proxy);
	race = flow_race("1", "adjust M# A -1");
	cr_assert(proxy_struck(proxy));
	flow_step("cut");
	trap_sql("DELETE FROM log_writer");
	proxy_let_in(proxy);
	trap_raced(race, "1x 201 created_at=~0");
	flow_steps("adjust   M0 A -1           -> 200 replayed",
	           "sku      A                 -> available=9 reserved=0");
	flow_step(BY_HAND);
	flow_end();
	proxy_close(proxy);
}

/* Where what begins a transaction is interrupted time and again, nothing of the transaction stands by itself. */
Test(lane, what_begins_a_transaction_is_interrupted)
{
	static const char *const steps[] = {
		"release  R1                -> 200 released",
		"adjust   A -1              -> 201",
		"confirm  R2                -> 200 confirmed",
		"reserve  R3 A=1            -> 201 held",
	};
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_step("serve --lanes 1");
	flow_steps("receipt  A +10             -> 201",
	           "reserve  R1 A=2            -> 201",
	           "reserve  R2 A=3            -> 201");
	for (size_t i = 0; i < LENGTH(steps); i++) {
		flow_step("cut");
		flow_step("release  R9 -> 404"); /* a new connection, which has not begun anything yet */
		proxy_arm_lane(proxy, BREACH_WRONG, "SET autocommit = 0");
		flow_step("%s", steps[i]);
		cr_expect(proxy_struck(proxy), "%s", steps[i]);
	}
	flow_step("sku      A                 -> available=5 reserved=4");
	flow_end();
	proxy_close(proxy);
}

/* A new row of the lane has number 0, and so had the lane by then. */
Test(lane, lane_row_is_removed)
{
	flow("serve    --lanes 1",
	     "receipt  A +10                -> 201",
	     "sql DELETE FROM log_writer          -> ",
	     "reserve  R1 A=1               -> 201 held",
	     "sql DELETE FROM log_writer          -> ",
	     "cut",
	     "reserve  R2 A=1               -> 201 held created_at=~0",
	     "get      R2                   -> held",
	     "sku      A                    -> available=8 reserved=2",
	     BY_HAND);
}

/* The lane was chosen by a hash that was always odd. */
Test(lane, every_lane_has_work)
{
	flow("serve    --lanes 4",
	     "receipt  A +100               -> 201",
	     "race 8*8 reserve R# A=1       -> 64x 201 held",
	     "sql SELECT COUNT(*) FROM log_writer WHERE batch_no > 0 -> 4");
}
