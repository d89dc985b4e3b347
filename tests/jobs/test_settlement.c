/* test_settlement.c - one order that the database will not have settled, or expired: it alone fails, with the reason.
 */
#include "tests/lang/flow.h"
#include "tests/lang/steps.h"
#include "tests/kit/drill.h"

#include <stdio.h>

/* clang-format off */
#define TEN \
	"serve    --lanes 1", \
	"receipt  A +100 B +10         -> 201", \
	"batch R0 A=1 confirm=true | R1 A=1 confirm=true | R2 A=1 confirm=true |" \
	" R3 A=1 confirm=true | BAD B=2 confirm=true | R5 A=1 confirm=true | R6 A=1 confirm=true |" \
	" R7 A=1 confirm=true | R8 A=1 confirm=true | R9 A=1 confirm=true -> 201 | ..."
/* clang-format on */
#define DAMAGE "sql UPDATE stock_slot SET reserved = 0 WHERE sku_id = 2 -> "
#define REPAIR "sql UPDATE stock_slot SET reserved = 2 WHERE sku_id = 2 AND available = 8 -> "

Test(settlement, of_a_damaged_slot)
{
	flow(TEN,
	     DAMAGE,
	     "work     settle              -> 1 '~event=order_refused task=1 order=BAD buried=1'",
	     STATES "3,9 6,1",
	     "get      BAD                 -> buried attempts=1 '~last_error:the database refused it: CONSTRAINT'",
	     "task     1                   -> done claimed=10 completed=9 failed=1",
	     REPAIR,
	     "kick     BAD                 -> confirmed",
	     "work     settle              -> 0",
	     STATES "3,10",
	     "sku      A                   -> on_hand=91",
	     "sku      B                   -> on_hand=8");
}

Test(settlement, of_a_damaged_slot_over_http)
{
	flow(TEN,
	     DAMAGE,
	     "claim    settle w            -> 201 orders=10",
	     "complete 1                   -> 200 completed=9 lost=1 lost_orders=BAD",
	     "get BAD                      -> buried last_error=*",
	     "complete 1 R0 BAD            -> 200 completed=1 lost=1 lost_orders=BAD",
	     "raw GET /metrics             -> holdfast_fenced_total=1",
	     REPAIR,
	     "release BAD                  -> released");
}

Test(settlement, by_a_program_of_a_damaged_slot)
{
	flow(TEN,
	     DAMAGE,
	     "exec while read -r l; do id=${l#*:\\\"}; echo ${id%%\\\"*} done; done",
	     "work     settle              -> 1 ~event=order_refused",
	     STATES "3,9 6,1",
	     REPAIR);
}

/* A slot is missing: no constraint refuses that, but the number of changed rows shows it. */
Test(settlement, without_a_slot)
{
	flow(TEN,
	     "sql UPDATE stock_slot SET slot = slot + 40 WHERE sku_id = 2 -> ",
	     "work     settle                                             -> 1 ~event=order_refused",
	     STATES "3,9 6,1",
	     "get      BAD -> buried '~last_error:the database refused it: its units are not'",
	     "sql UPDATE stock_slot SET slot = slot - 40 WHERE sku_id = 2 -> ");
}

/* The units of an order that has lost its lines are unknown. */
Test(settlement, without_lines)
{
	flow(TEN,
	     "sql CREATE TABLE kept SELECT * FROM reservation_line WHERE sku_id = 2 -> ",
	     "sql DELETE FROM reservation_line WHERE sku_id = 2                     -> ",
	     "sql UPDATE reservation SET due_at = due_at + INTERVAL 9 SECOND WHERE order_id <> 'BAD' -> ",
	     "work     settle                                                       -> 1 ~event=order_refused",
	     STATES "2,9 6,1",
	     "get      BAD -> buried '~last_error:the database refused it: its units are not'",
	     "sql INSERT INTO reservation_line SELECT * FROM kept                   -> ",
	     "sql DROP TABLE kept                                                   -> ",
	     BY_HAND);
}

/* An expiry is never buried. */
Test(settlement, expiry_of_a_damaged_slot)
{
	flow("serve    --lanes 1",
	     "receipt  A +10 B +10         -> 201",
	     "reserve  H1 A=1 ttl=60       -> 201",
	     "reserve  BAD B=2 ttl=60      -> 201",
	     "reserve  H2 A=1 ttl=60       -> 201",
	     "reserve  H3 A=1 ttl=60       -> 201",
	     "tick     61",
	     DAMAGE,
	     "work     expire              -> 1 '~event=order_refused task=1 order=BAD buried=0'",
	     "sku      A                   -> available=10 reserved=0",
	     "task     1                   -> done completed=3 failed=1",
	     "get      BAD                 -> expired attempts=1 last_error=*",
	     REPAIR,
	     "tick     10",
	     "work     expire              -> 0",
	     "sku      B                   -> available=10 reserved=0");
}

/* An error that the database gives for all orders is not their fault: none is buried. */
Test(settlement, several_that_the_database_refuses)
{
	flow(TEN,
	     "sql CREATE TRIGGER refuse BEFORE INSERT ON movement FOR EACH ROW SIGNAL SQLSTATE '45000' -> ",
	     "work     settle         -> 1 ~event=job_failed !order_refused",
	     STATES "2,10",
	     "sql SELECT COUNT(*) FROM reservation WHERE last_error IS NOT NULL -> 0",
	     "sql DROP TRIGGER refuse -> ",
	     "tick 40",
	     "run reap                -> 0",
	     "tick 10",
	     "work settle             -> 0",
	     STATES "3,10");
}

/* An error that the database gives for one order only buries that order, whatever the reason is. */
Test(settlement, that_the_database_refuses)
{
	flow(TEN,
	     "sql CREATE TRIGGER refuse BEFORE UPDATE ON reservation FOR EACH ROW BEGIN"
	     " IF NEW.state = 3 AND NEW.order_id = 'R0' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not today';"
	     " END IF; END -> ",
	     "work     settle              -> 1 '~event=order_refused task=1 order=R0 buried=1'",
	     STATES "3,9 6,1",
	     "get      R0                  -> buried '~last_error:the database refused it: not today'",
	     "sql DROP TRIGGER refuse      -> ");
}

/* No order was completed since, so the database may be to blame: the order is tried again. */
Test(settlement, that_the_database_refuses_in_the_end)
{
	flow(TEN,
	     "sql CREATE TRIGGER refuse BEFORE UPDATE ON reservation FOR EACH ROW BEGIN"
	     " IF NEW.state = 3 AND NEW.order_id = 'R9' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not today';"
	     " END IF; END -> ",
	     "work     settle         -> 1 !order_refused ~event=job_failed",
	     STATES "2,1 3,9",
	     "sql DROP TRIGGER refuse -> ",
	     "tick 40",
	     "run reap                -> 0",
	     "tick 10",
	     "work settle             -> 0",
	     STATES "3,10");
}

/* Another connection keeps a slot locked: the orders that need it wait, and the others are settled. */
Test(settlement, of_a_locked_slot)
{
	struct db *stranger;

	flow_begin();
	flow_steps(TEN);
	stranger = scratch_connection(flow_scratch());
	cr_assert_eq(db_text(stranger, "SET SESSION idle_transaction_timeout = 0", NULL, NULL), DB_OK);
	cr_assert_eq(db_text(stranger, "START TRANSACTION", NULL, NULL), DB_OK);
	cr_assert_eq(db_text(stranger, "UPDATE stock_slot SET reserved = reserved + 1 WHERE sku_id = 2", NULL, NULL),
	             DB_OK);
	flow_steps("start    W work settle --once",
	           "wait:60 " STATES "2,1 3,9",
	           "wait:20 get BAD              -> confirmed attempts=0 '~last_error:locked by another transaction'");
	db_free(stranger);
	flow_steps("end      W                   -> 0 '~event=orders_put_off task=1 orders=1'",
	           "tick 11",
	           "work     settle              -> 0",
	           STATES "3,10",
	           "get BAD                      -> settled attempts=1");
	flow_end();
}

/* More slots than one statement should name: 80 orders of 800 lines, no two of them of one slot. Large numbers make
 * long rows. */
Test(settlement, of_very_many_slots, DRILL)
{
	flow("receipt  A +1                -> 201",
	     "sql INSERT INTO sku (sku_id, code, created_at) SELECT 4000000000 + seq, CONCAT('S', seq),"
	     " UTC_TIMESTAMP(3) FROM seq_1_to_800 -> ",
	     "sql INSERT INTO location (location_id, code) SELECT 10 + seq, CONCAT('L', seq) FROM seq_1_to_80 -> ",
	     "sql INSERT INTO stock_slot SELECT 4000000000 + s.seq, 10 + l.seq, 60000, 0, 1"
	     " FROM seq_1_to_800 s, seq_1_to_80 l -> ",
	     "sql INSERT INTO movement SELECT 7, 'M7', 1, '', UTC_TIMESTAMP(3), NULL, NULL, NULL, NULL, NULL -> ",
	     "sql INSERT INTO movement_line SELECT 7, sku_id, location_id, slot, 1 FROM stock_slot"
	     " WHERE sku_id > 10 -> ",
	     "sql INSERT INTO reservation (reservation_id, order_id, lines_hash, state, due_at, expires_at, attempts,"
	     " created_at, confirmed_at) SELECT seq, CONCAT('R', seq), '', 2, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), 0,"
	     " UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) FROM seq_1_to_80 -> ",
	     "sql INSERT INTO reservation_line SELECT location_id - 10, sku_id, location_id, slot, 1, 1 FROM stock_slot"
	     " WHERE sku_id > 10 -> ",
	     "work     settle              -> 0",
	     STATES "3,80",
	     "sql SELECT COUNT(*) > 1 FROM movement WHERE kind = 5 -> 1",
	     "sku      S7                  -> on_hand=0");
}

/* The order cannot be divided, and is settled all the same. */
Test(settlement, of_one_order_in_very_many_slots, DRILL)
{
	flow("receipt  A +1                -> 201",
	     "sql INSERT INTO sku (sku_id, code, created_at) SELECT 4000000000 + seq, CONCAT('S', seq),"
	     " UTC_TIMESTAMP(3) FROM seq_1_to_800 -> ",
	     "sql INSERT INTO location (location_id, code) SELECT 10 + seq, CONCAT('L', seq) FROM seq_1_to_80 -> ",
	     "sql INSERT INTO stock_slot SELECT 4000000000 + s.seq, 10 + l.seq, 60000, 0, 1"
	     " FROM seq_1_to_800 s, seq_1_to_80 l -> ",
	     "sql INSERT INTO movement SELECT 7, 'M7', 1, '', UTC_TIMESTAMP(3), NULL, NULL, NULL, NULL, NULL -> ",
	     "sql INSERT INTO movement_line SELECT 7, sku_id, location_id, slot, 1 FROM stock_slot"
	     " WHERE sku_id > 10 -> ",
	     "sql INSERT INTO reservation (reservation_id, order_id, lines_hash, state, due_at, expires_at, attempts,"
	     " created_at, confirmed_at) SELECT seq, CONCAT('R', seq), '', 2, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), 0,"
	     " UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) FROM seq_1_to_1 -> ",
	     "sql INSERT INTO reservation_line SELECT 1, sku_id, location_id, slot, 1, 1 FROM stock_slot"
	     " WHERE sku_id > 10 -> ",
	     "work     settle              -> 0",
	     STATES "3,1",
	     "sql SELECT COUNT(*) FROM movement WHERE kind = 5 -> 1",
	     "sku      S7                  -> on_hand=0");
}
