/* test_lane_batch.c - a batch that fails as a whole: a deadlock, ids that collide, one order among many that cannot be
 * stored. The others of the batch are done. */
#include "tests/lang/trap.h"

#include <unistd.h>

/* The deduction meets a deadlock, which undoes its transaction; the rows of its orders were sent behind it all the
 * same. The holder is not the victim, because it has changed more. */
Test(lane_batch, deadlock_in_the_midst_of_the_steps)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +100                     -> 201");
	trap_sql("CREATE TABLE heavy (n INT) ENGINE=InnoDB SELECT seq AS n FROM seq_1_to_1000");
	trap_lock("UPDATE heavy SET n = n + 1");
	trap_lock("SELECT available FROM stock_slot FOR UPDATE");
	race = trap_race_of_waiters("40", "reserve X# A=1");
	trap_waiter();
	trap_lock("SELECT writer_id FROM log_writer FOR UPDATE");
	trap_unlock();
	trap_raced(race, "40x 201 held");
	flow_steps("sku     A                          -> available=60 reserved=40");
	cr_expect_geq(trap_metric(0, "holdfast_deadlocks_total"), 1);
	trap_sql("DROP TABLE heavy");
	flow_end();
}

/* ---- ids that collide */

/* Numbers of reservations and movements are made by the lanes themselves. Lanes make the same numbers all the time if
 * their own numbers differ by 1,024. */
Test(lane_batch, primary_keys_collide)
{
	flow_begin();
	flow_step("serve --lanes 1");
	trap_sql("UPDATE event_log SET writer_last = writer_last + 1023");
	flow_step("second --lanes 1 --slot 1");
	cr_assert(trap_number("SELECT COUNT(DISTINCT writer_id & 1023) FROM log_writer") == 1);
	flow_steps("receipt A +2000                    -> 201",
	           "race 32*40 reserve R# A=1          -> 1280x 201 held",
	           "race 32*40 reserve R# A=1          -> 1280x 200 held replayed",
	           "race 32*20 receipt M# B +1         -> 640x 201",
	           "race 32*20 receipt M# B +1         -> 640x 200 replayed",
	           "sku A                              -> available=720 reserved=1280",
	           "sku B                              -> available=640");
	cr_expect(trap_metric(0, "holdfast_retries_total") + trap_metric(1, "holdfast_retries_total") > 0,
	          "no number came up twice");
	flow_end();
}

/* ---- one order among many that cannot be stored */

static void refuse_order(const char *pattern)
{
	trap_sql("CREATE TRIGGER refuse BEFORE INSERT ON reservation FOR EACH ROW"
	         " IF NEW.order_id LIKE '%s' THEN"
	         " SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused by the test'; END IF",
	         pattern);
}

Test(lane_batch, one_culprit_in_a_call)
{
	struct text step = {0};

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +5000                    -> 201");
	refuse_order("R123");
	for (int i = 0; i < 300; i++)
		text_format(&step, "%s R%d A=1", i ? " |" : "batch", i);
	for (int i = 0; i < 300; i++)
		text_format(&step, "%s %s", i ? " |" : " ->", i == 123 ? "503 busy order_id=R123" : "201 held");
	flow_repeat(step.data, "", 0, "");
	flow_steps("get     R123                       -> 404 unknown_order",
	           "sku     A                          -> available=4701 reserved=299");
	text_fini(&step);
	flow_end();
}

Test(lane_batch, one_culprit_among_many_callers)
{
	flow_begin();
	flow_step("serve --lanes 2");
	flow_steps("receipt A +5000                    -> 201");
	refuse_order("R77");
	flow_steps("race 32*8 reserve R# A=1           -> 255x 201 held | 1x 503 busy Retry-After:*",
	           "get     R77                        -> 404 unknown_order",
	           "sku     A                          -> available=4745 reserved=255");
	trap_sql("DROP TRIGGER refuse");
	flow_steps("reserve R77 A=1                    -> 201");
	flow_end();
}

/* The next batch is on its way before those of the last are told, and may wait long: here a stranger has taken the
 * lane's row between the two. They are told before it gives the row back, and before the lane gives up waiting for it.
 */
Test(lane_batch, answers_do_not_wait_for_the_next_batch)
{
	struct race *first, *next;
	struct db   *stranger;
	int64_t      retries;

	flow_begin();
	flow_steps("serve --lanes 1",
	           "receipt A +100 -> 201",
	           "reserve W A=1  -> 201");
	retries = trap_metric(0, "holdfast_retries_total");
	stranger = flow_scratch()->db;
	trap_lock("SELECT writer_id FROM log_writer FOR UPDATE");
	first = flow_race("1", "reserve F A=1");
	trap_waiter();
	trap_sql("START TRANSACTION");
	cr_assert(db_send(stranger, "SELECT writer_id FROM log_writer FOR UPDATE", DB_ANY_COLUMNS) == DB_OK);
	next = flow_race("8", "reserve R# A=1");
	usleep(300000);
	trap_unlock();
	trap_raced(first, "1x 201 held");
	cr_expect(retries == 0 && trap_metric(0, "holdfast_retries_total") == 0);
	cr_assert(db_answer(stranger, NULL, NULL) == DB_OK);
	trap_sql("COMMIT");
	trap_raced(next, "8x 201 held");
	flow_end();
}

/* Ten of them, spread over batches of half a hundred. */
Test(lane_batch, several_culprits_in_a_batch)
{
	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +5000                    -> 201");
	refuse_order("R%7");
	trap_raced(trap_race_of_waiters("100", "reserve R# A=1"), "90x 201 held | 10x 503 busy Retry-After:*");
	flow_steps("sku     A                          -> available=4910 reserved=90");
	flow_end();
}
