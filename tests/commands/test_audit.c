/* test_audit.c - the command audit: every invariant of schema/invariants.sql is broken by hand and named; a whole
 * database passes. */
#include "tests/lang/flow.h"
#include "tests/kit/drill.h"
#include "tests/kit/proxy.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WAITS_MENDED \
	"UPDATE waiting_line NATURAL JOIN reservation SET waits_since=confirmed_at, first_id=reservation_id, told=0"
/* RELEASED names the order that replaced it, HELD the one that it replaced. */
#define REPLACED(by, of)                                                                                       \
	"UPDATE reservation SET noted = noted | 1 WHERE order_id IN ('RELEASED', 'HELD'); "                    \
	"INSERT INTO reservation_note (reservation_id, replaced_by, replaces)"                                 \
	" SELECT reservation_id, IF(order_id = 'RELEASED', " by ", NULL), IF(order_id = 'HELD', " of ", NULL)" \
	" FROM reservation WHERE order_id IN ('RELEASED', 'HELD')"
#define REPLACED_MENDED                  \
	"DELETE FROM reservation_note; " \
	"UPDATE reservation SET noted = noted & ~1 WHERE order_id IN ('RELEASED', 'HELD')"

/* One way to break an invariant, and back. */
static const struct damage {
	const char *name;  /* of the invariant */
	const char *words; /* part of the row that is reported */
	bool        of_a;  /* about sku A, and so not found by --sku B */
	const char *broken, *mended;
} breaches[] = {
	{"no_negative_slot", "sku=A location=main slot=0 available=-", true,
         "UPDATE stock_slot SET available = available - 1000 WHERE sku_id = 1 AND location_id = 1 AND slot = 0",
         "UPDATE stock_slot SET available = available + 1000 WHERE sku_id = 1 AND location_id = 1 AND slot = 0"},
	{"no_negative_slot", "sku=A location=main slot=0 ", true,
         "UPDATE stock_slot SET available = available + 1000, reserved = reserved - 1000"
         " WHERE sku_id = 1 AND location_id = 1 AND slot = 0",
         "UPDATE stock_slot SET available = available - 1000, reserved = reserved + 1000"
         " WHERE sku_id = 1 AND location_id = 1 AND slot = 0"},
	{"slot_has_names", "sku=- sku_id=99 location=main location_id=1 slot=0", false,
         "INSERT INTO stock_slot VALUES (99, 1, 0, 0, 0)", "DELETE FROM stock_slot WHERE sku_id = 99"},
	{"slot_has_names", "sku=A sku_id=1 location=- location_id=99", true,
         "INSERT INTO stock_slot VALUES (1, 99, 0, 0, 0)", "DELETE FROM stock_slot WHERE location_id = 99"},
	{"waits_at_is_incoming", "location=main kind=1 waits_at=main kind_there=1", false,
         "UPDATE location SET waits_at = 1 WHERE location_id = 1",
         "UPDATE location SET waits_at = NULL WHERE location_id = 1"},
	{"waits_at_is_incoming", "location=po kind=3 waits_at=- kind_there=-", false,
         "UPDATE location SET waits_at = 99 WHERE code = 'po'",
         "UPDATE location SET waits_at = NULL WHERE code = 'po'"},
	{"reserved_is_promised", "sku=A location=main slot=0 reserved=3 promised=2", true,
         "UPDATE stock_slot SET available = available - 1, reserved = reserved + 1"
         " WHERE sku_id = 1 AND location_id = 1 AND slot = 0",
         "UPDATE stock_slot SET available = available + 1, reserved = reserved - 1"
         " WHERE sku_id = 1 AND location_id = 1 AND slot = 0"},
	{"reserved_is_promised", "sku=A location=main slot=1 reserved=0 promised=1", true,
         /* a line that names a wrong slot */
         "UPDATE reservation_line JOIN reservation USING (reservation_id) SET slot = slot + 1 WHERE order_id = 'HELD'",
         "UPDATE reservation_line JOIN reservation USING (reservation_id) SET slot = slot - 1 WHERE order_id = 'HELD'"},
	{"reserved_is_promised", "sku=A location=main ", true, /* settled, but its units never left */
         "UPDATE reservation SET state = 3, settled_at = UTC_TIMESTAMP(3) WHERE order_id = 'BURIED'",
         "UPDATE reservation SET state = 6, settled_at = NULL WHERE order_id = 'BURIED'"},
	{"reserved_is_promised", "sku=A location=main ", true, /* settled twice */
         "BEGIN NOT ATOMIC"
         "  INSERT INTO movement SELECT 99, 'twice', 5, '', UTC_TIMESTAMP(3), NULL, NULL, NULL, NULL, NULL;"
         "  INSERT INTO movement_line SELECT 99, 1, 1, 0, -1;"
         "  UPDATE stock_slot SET reserved = reserved - 1 WHERE sku_id = 1 AND location_id = 1 AND slot = 0; END",
         "BEGIN NOT ATOMIC DELETE FROM movement WHERE movement_no = 99; DELETE FROM movement_line WHERE movement_no = "
         "99;"
         "  UPDATE stock_slot SET reserved = reserved + 1 WHERE sku_id = 1 AND location_id = 1 AND slot = 0; END"},
	{"on_hand_is_moved", "sku=A location=main on_hand=10 moved=9", true,
         "UPDATE stock_slot SET available = available + 1 WHERE sku_id = 1 AND location_id = 1 AND slot = 0",
         "UPDATE stock_slot SET available = available - 1 WHERE sku_id = 1 AND location_id = 1 AND slot = 0"},
	{"on_hand_is_moved", "sku=A location=paris on_hand=5 moved=2", true, /* units that were not moved there */
         "INSERT INTO stock_slot VALUES (1, 2, 7, 3, 0)", "DELETE FROM stock_slot WHERE slot = 7"},
	{"on_hand_is_moved", "sku=A location=main ", true,
         "UPDATE movement_line SET qty = qty - 1 WHERE sku_id = 1 AND qty = 10",
         "UPDATE movement_line SET qty = qty + 1 WHERE sku_id = 1 AND qty = 9"},
	{"total_in_range", "sku=A on_hand=9", true,
         "UPDATE stock_slot SET available = available + 9000000000000000 WHERE sku_id = 1 AND location_id = 1 AND slot "
         "= 0",
         "UPDATE stock_slot SET available = available - 9000000000000000 WHERE sku_id = 1 AND location_id = 1 AND slot "
         "= 0"},
	{"line_has_movement", "sku=A sku_id=1 location=main location_id=1 slot=0 movement_no=99", true,
         "INSERT INTO movement_line VALUES (99, 1, 1, 0, 0)", "DELETE FROM movement_line WHERE movement_no = 99"},
	{"line_has_movement", "sku=- sku_id=9999 location=main", false,
         "INSERT INTO movement_line SELECT movement_no, 9999, 1, 0, 0 FROM movement LIMIT 1",
         "DELETE FROM movement_line WHERE sku_id = 9999"},
	{"line_has_movement", "sku=A sku_id=1 location=- location_id=99", true,
         "INSERT INTO movement_line SELECT movement_no, 1, 99, 0, 0 FROM movement LIMIT 1",
         "DELETE FROM movement_line WHERE location_id = 99"},
	{"movement_has_lines", "kind=count qty=- movement_id=empty", false,
         "INSERT INTO movement SELECT 99, 'empty', 4, '', UTC_TIMESTAMP(3), NULL, NULL, NULL, NULL, NULL",
         "DELETE FROM movement WHERE movement_no = 99"},
	{"movement_has_lines", "kind=settlement qty=1", false,
         "UPDATE movement_line JOIN movement USING (movement_no) SET qty = 1 WHERE kind = 5",
         "UPDATE movement_line JOIN movement USING (movement_no) SET qty = -1 WHERE kind = 5"},
	{"movement_has_lines", "kind=receipt qty=-10", false, "UPDATE movement_line SET qty = -10 WHERE qty = 10",
         "UPDATE movement_line SET qty = 10 WHERE qty = -10"},
	{"line_is_positive", "order_id=HELD sku=A location=main qty=0", true,
         "UPDATE reservation_line JOIN reservation USING (reservation_id) SET qty = 0 WHERE order_id = 'HELD'",
         "UPDATE reservation_line JOIN reservation USING (reservation_id) SET qty = 1 WHERE order_id = 'HELD'"},
	{"line_is_positive", "order_id=RELEASED sku=-", false,
         "CREATE OR REPLACE TEMPORARY TABLE saved AS SELECT l.* FROM reservation_line l JOIN reservation USING "
         "(reservation_id)"
         " WHERE order_id = 'RELEASED'; DELETE l FROM reservation_line l JOIN saved USING (reservation_id)",
         "INSERT INTO reservation_line SELECT * FROM saved"},
	{"line_is_live", "order_id=HELD sku=A location=main live=0", true,
         "UPDATE reservation_line JOIN reservation USING (reservation_id) SET live = 0 WHERE order_id = 'HELD'",
         "UPDATE reservation_line JOIN reservation USING (reservation_id) SET live = 1 WHERE order_id = 'HELD'"},
	{"line_has_reservation", "order_id=- sku=A sku_id=1 location=main location_id=1 slot=0 qty=1 reservation_id=99",
         true, "INSERT INTO reservation_line VALUES (99, 1, 1, 0, 1, 1)",
         "DELETE FROM reservation_line WHERE reservation_id = 99"},
	{"line_has_reservation",
         "order_id=- sku=A sku_id=1 location=main location_id=1 slot=0 qty=1 reservation_id=9223372036854775807",
         true, /* after the last one there is */
         "INSERT INTO reservation_line VALUES (9223372036854775807, 1, 1, 0, 1, 1)",
         "DELETE FROM reservation_line WHERE reservation_id = 9223372036854775807"},
	{"line_has_reservation", "order_id=RELEASED sku=- sku_id=9999", false,
         "INSERT INTO reservation_line SELECT reservation_id, 9999, 1, 0, 1, 0 FROM reservation"
         " WHERE order_id = 'RELEASED'",
         "DELETE FROM reservation_line WHERE sku_id = 9999"},
	{"resolved_once", "order_id=SETTLED state=settled ", true,
         "UPDATE reservation SET released_at = UTC_TIMESTAMP(3) WHERE order_id = 'SETTLED'",
         "UPDATE reservation SET released_at = NULL WHERE order_id = 'SETTLED'"},
	{"resolved_once", "order_id=HELD state=held ", true,
         "UPDATE reservation SET settled_at = UTC_TIMESTAMP(3) WHERE order_id = 'HELD'",
         "UPDATE reservation SET settled_at = NULL WHERE order_id = 'HELD'"},
	{"resolved_once", "order_id=BURIED state=buried confirmed_at=-", true,
         "UPDATE reservation SET confirmed_at = NULL WHERE order_id = 'BURIED'",
         "UPDATE reservation SET confirmed_at = created_at WHERE order_id = 'BURIED'"},
	{"resolved_once", "order_id=EXPIRED state=7 ", true,
         "UPDATE reservation SET state = 7 WHERE order_id = 'EXPIRED'",
         "UPDATE reservation SET state = 5 WHERE order_id = 'EXPIRED'"},
	{"held_is_due_at_expiry", "order_id=HELD due_at=2", true,
         "UPDATE reservation SET due_at = due_at + INTERVAL 1 SECOND WHERE order_id = 'HELD'",
         "UPDATE reservation SET due_at = expires_at WHERE order_id = 'HELD'"},
	{"due_within_a_pause", "order_id=CLAIMED state=confirmed due_at=2", false, /* 2 s, a tenth of it, a minute */
         "UPDATE reservation SET task_id = NULL, due_at = UTC_TIMESTAMP(3) + INTERVAL 90 SECOND"
         " WHERE order_id = 'CLAIMED'",
         "UPDATE reservation SET task_id = 3, due_at = confirmed_at WHERE order_id = 'CLAIMED'"},
	{"lease_within_an_hour", "task_id=3 worker=w created_at=2", false,
         "UPDATE job_task SET lease_until = UTC_TIMESTAMP(3) + INTERVAL 7200 SECOND WHERE task_id = 3",
         "UPDATE job_task SET lease_until = created_at + INTERVAL 30 SECOND WHERE task_id = 3"},
	{"waiting_is_promised", "order_id=WAITS sku=C location=po state=confirmed qty=2 held=-", false,
         "UPDATE waiting_line SET location_id = location_id + 1000",
         "UPDATE waiting_line SET location_id = location_id - 1000"},
	{"waiting_is_promised", "order_id=WAITS sku=C location=po state=confirmed qty=2 held=1", false,
         "UPDATE waiting_line SET held = 1", "UPDATE waiting_line SET held = 0"},
	{"waiting_is_promised", "order_id=- sku=C location=po", false, /* a line that is not in its order */
         "INSERT INTO waiting_line SELECT reservation_id + 1, sku_id, location_id, 0, waits_since, first_id, 0,"
         "  0, NULL FROM waiting_line",
         "DELETE FROM waiting_line WHERE reservation_id > first_id"},
	{"waiting_is_aside", "order_id=WAITS task_id=-", false, /* a claim would take it */
         "UPDATE reservation SET task_id = NULL WHERE order_id = 'WAITS'",
         "UPDATE reservation SET task_id = 0 WHERE order_id = 'WAITS'"},
	{"waiting_is_aside", "order_id=WAITS task_id=0 due_at=2", false,
         "UPDATE reservation SET due_at = confirmed_at WHERE order_id = 'WAITS'",
         "UPDATE reservation SET due_at = '9999-12-31 23:59:59.999' WHERE order_id = 'WAITS'"},
	{"claim_has_task", "order_id=CLAIMED state=confirmed task_id=99 attempts=1 kind=- task=-", false,
         /* a task that was never made */
         "UPDATE reservation SET task_id = 99 WHERE order_id = 'CLAIMED'",
         "UPDATE reservation SET task_id = 3 WHERE order_id = 'CLAIMED'"},
	{"claim_has_task", "order_id=CLAIMED state=confirmed task_id=3 attempts=0", false,
         "UPDATE reservation SET attempts = 0 WHERE order_id = 'CLAIMED'",
         "UPDATE reservation SET attempts = 1 WHERE order_id = 'CLAIMED'"},
	/* and the other end, too */
	{"transfer_has_both_ends", "movement_id=made-0 sku=A location=main moved=0 ends=-5", false,
         "INSERT INTO movement_transfer SELECT MIN(movement_no), 1, 1, 1000, 5, 0, 0 FROM movement",
         "DELETE FROM movement_transfer"},
	{"transfer_has_both_ends", "movement_id=made-0 sku=A location=main moved=10 ends=-2", false, /* an arrival */
         "BEGIN NOT ATOMIC UPDATE movement SET kind = 7 WHERE movement_id = 'made-0';"
         "  INSERT INTO movement_transfer SELECT movement_no, 1, 1, 2, 5, 1, 1 FROM movement WHERE kind = 7; END",
         "BEGIN NOT ATOMIC DELETE FROM movement_transfer; UPDATE movement SET kind = 1 WHERE kind = 7; END"},
	{"arrival_adds_up", "movement_id=made-0 sku=A from=main to=paris qty=5 filled=1 for_sale=1 open=-", false,
         "BEGIN NOT ATOMIC UPDATE movement SET kind = 7 WHERE movement_id = 'made-0';"
         "  INSERT INTO movement_transfer SELECT movement_no, 1, 1, 2, 5, 1, 1 FROM movement WHERE kind = 7; END",
         "BEGIN NOT ATOMIC DELETE FROM movement_transfer; UPDATE movement SET kind = 1 WHERE kind = 7; END"},
	{"arrival_adds_up", "movement_id=made-4 sku=A from=main to=paris qty=- filled=-", false,
         /* of no arrival */
         "INSERT INTO arrival_open SELECT MAX(movement_no), 1, 1, 2, 3, 0, UTC_TIMESTAMP(3) FROM movement",
         "DELETE FROM arrival_open"},
	{"backorder_is_moved", "movement_id=made-0 sku=A location=main side=from lost=4 moved=-10", false,
         "BEGIN NOT ATOMIC UPDATE movement SET kind = 2 WHERE movement_id = 'made-0';"
         "  INSERT INTO movement_backorder SELECT movement_no, 1, 1, 1, 2, 'R', 4 FROM movement"
         "   WHERE movement_id = 'made-0'; END",
         "BEGIN NOT ATOMIC DELETE FROM movement_backorder; UPDATE movement SET kind = 1 WHERE movement_id = 'made-0';"
         " END"},
	{"backorder_is_moved", "movement_id=made-0 sku=A location=paris side=to lost=4 moved=", false, /* of a count */
         "BEGIN NOT ATOMIC UPDATE movement SET kind = 4 WHERE movement_id = 'made-0';"
         "  INSERT INTO movement_backorder SELECT movement_no, 1, 1, 1, 2, 'R', 4 FROM movement"
         "   WHERE movement_id = 'made-0'; END",
         "BEGIN NOT ATOMIC DELETE FROM movement_backorder; UPDATE movement SET kind = 1 WHERE movement_id = 'made-0';"
         " END"},
	{"booked_is_promised", "sku=A location=main booked=0 open=3", true,
         "INSERT INTO arrival_open SELECT MAX(movement_no), 1, 1, 2, 3, 0, UTC_TIMESTAMP(3) FROM movement",
         "DELETE FROM arrival_open"},
	{"booked_is_promised", "sku=C location=po booked=9 open=9 promised=", false, /* more than there is */
         "BEGIN NOT ATOMIC INSERT INTO arrival_open SELECT MAX(m.movement_no), w.sku_id, w.location_id, 1, 9, 0,"
         "   UTC_TIMESTAMP(3) FROM movement m, waiting_line w;"
         "  UPDATE promise p JOIN waiting_line w USING (sku_id, location_id) SET p.booked = 9; END",
         "BEGIN NOT ATOMIC DELETE FROM arrival_open; UPDATE promise SET booked = 0; END"},
	{"shipped_after", "order_id=CLAIMED", false,
         "UPDATE reservation SET ship_after = due_at + INTERVAL 1 SECOND WHERE order_id = 'CLAIMED'",
         "UPDATE reservation SET ship_after = NULL WHERE order_id = 'CLAIMED'"},
	{"on_hold_is_kept", "order_id=CLAIMED state=confirmed noted=64 ship_after=- ends_at=9000",
         false, /* could be shipped */
         "BEGIN NOT ATOMIC UPDATE reservation SET noted = 64 WHERE order_id = 'CLAIMED';"
         "  INSERT INTO reservation_on_hold SELECT reservation_id, '9000-01-01', NULL, NULL FROM reservation"
         "   WHERE order_id = 'CLAIMED'; END",
         "BEGIN NOT ATOMIC UPDATE reservation SET noted = 0 WHERE order_id = 'CLAIMED';"
         "  DELETE FROM reservation_on_hold; END"},
	{"on_hold_is_kept", "order_id=HELD state=held noted=0 ship_after=2", false, /* the row is never read */
         "BEGIN NOT ATOMIC UPDATE reservation SET ship_after = due_at WHERE order_id = 'HELD';"
         "  INSERT INTO reservation_on_hold SELECT reservation_id, due_at, NULL, NULL FROM reservation"
         "   WHERE order_id = 'HELD'; END",
         "BEGIN NOT ATOMIC UPDATE reservation SET ship_after = NULL WHERE order_id = 'HELD';"
         "  DELETE FROM reservation_on_hold; END"},
	{"on_hold_is_kept", "order_id=RELEASED state=released noted=64", false, /* the order has ended */
         "BEGIN NOT ATOMIC UPDATE reservation SET noted = 64, ship_after = '9000-01-01' WHERE order_id = 'RELEASED';"
         "  INSERT INTO reservation_on_hold SELECT reservation_id, '9000-01-01', NULL, NULL FROM reservation"
         "   WHERE order_id = 'RELEASED'; END",
         "BEGIN NOT ATOMIC UPDATE reservation SET noted = 0, ship_after = NULL WHERE order_id = 'RELEASED';"
         "  DELETE FROM reservation_on_hold; END"},
	{"on_hold_is_kept", "order_id=- state=- noted=- ship_after=- ends_at=9000", false, /* of no order */
         "INSERT INTO reservation_on_hold VALUES (7, '9000-01-01', NULL, NULL)", "DELETE FROM reservation_on_hold"},
	{"on_hold_is_kept", "order_id=HELD state=held noted=64 ship_after=- ends_at=-", false, /* without a row */
         "UPDATE reservation SET noted = 64 WHERE order_id = 'HELD'",
         "UPDATE reservation SET noted = 0 WHERE order_id = 'HELD'"},
	{"hold_of_key", "order_id=HELD key_id=7 made_with=- units=1 held=1", false, /* no key made it */
         "INSERT INTO key_hold SELECT reservation_id, 7, 1 FROM reservation WHERE order_id = 'HELD'",
         "DELETE FROM key_hold"},
	{"hold_of_key", "order_id=HELD key_id=7 made_with=7 units=2 held=1", false, /* the order holds fewer */
         "UPDATE reservation SET key_id = 7 WHERE order_id = 'HELD'; "
         "INSERT INTO key_hold SELECT reservation_id, 7, 2 FROM reservation WHERE order_id = 'HELD'",
         "UPDATE reservation SET key_id = NULL WHERE order_id = 'HELD'; DELETE FROM key_hold"},
	{"claim_has_task", "order_id=CLAIMED state=confirmed task_id=3 attempts=1 kind=expire", false,
         "UPDATE job_task SET kind = 2 WHERE task_id = 3", "UPDATE job_task SET kind = 1 WHERE task_id = 3"},
	{"claim_has_task", "order_id=CLAIMED state=confirmed task_id=3 attempts=1 kind=settle task=done", false,
         "UPDATE job_task SET state = 2, ended_at = UTC_TIMESTAMP(3) WHERE task_id = 3",
         "UPDATE job_task SET state = 1, ended_at = NULL WHERE task_id = 3"},
	{"claim_has_task", "order_id=CLAIMED state=confirmed task_id=3 attempts=1 kind=settle task=reaped", false,
         /* and its orders were not freed */
         "UPDATE job_task SET state = 4, ended_at = UTC_TIMESTAMP(3) - INTERVAL 11 MINUTE WHERE task_id = 3",
         "UPDATE job_task SET state = 1, ended_at = NULL WHERE task_id = 3"},
	{"claim_has_task", "order_id=BURIED state=buried task_id=3", true, /* no kick would find it */
         "UPDATE reservation SET task_id = 3 WHERE order_id = 'BURIED'",
         "UPDATE reservation SET task_id = NULL WHERE order_id = 'BURIED'"},
	{"claim_has_task", "order_id=CLAIMED state=confirmed task_id=0", false, /* no claim would find it */
         "UPDATE reservation SET task_id = 0 WHERE order_id = 'CLAIMED'",
         "UPDATE reservation SET task_id = 3 WHERE order_id = 'CLAIMED'"},
	{"task_is_whole", "task_id=3 worker=w kind=1 state=1 claimed=0", false,
         "UPDATE job_task SET claimed = 0 WHERE task_id = 3", "UPDATE job_task SET claimed = 1 WHERE task_id = 3"},
	{"task_is_whole", "task_id=3 worker=w kind=1 state=4 claimed=1 ended_at=-", false,
         "UPDATE job_task SET state = 4 WHERE task_id = 3", "UPDATE job_task SET state = 1 WHERE task_id = 3"},
	{"task_counts", "task_id=1 kind=settle claimed=2 completed=0 failed=1 still=0 released=0 lost=0 resolved=1",
         false, "UPDATE job_task SET completed = 0 WHERE task_id = 1",
         "UPDATE job_task SET completed = 1 WHERE task_id = 1"},
	{"task_counts", "task_id=1 kind=settle claimed=2 completed=2 failed=1", false,
         "UPDATE job_task SET completed = 2 WHERE task_id = 1", "UPDATE job_task SET completed = 1 WHERE task_id = 1"},
	{"task_counts", "task_id=3 kind=settle claimed=1 completed=0 failed=0 still=2 ",
         false, /* more than it claimed */
         "UPDATE reservation SET state = 2, task_id = 3, attempts = 1 WHERE order_id = 'BURIED'",
         "UPDATE reservation SET state = 6, task_id = NULL WHERE order_id = 'BURIED'"},
	{"task_counts", "task_id=3 kind=settle claimed=1 completed=0 failed=0 still=1 released=1", false,
         "UPDATE reservation SET task_id = 3 WHERE order_id = 'RELEASED'",
         "UPDATE reservation SET task_id = NULL WHERE order_id = 'RELEASED'"},
	{"task_counts", "task_id=2 kind=expire claimed=1 completed=0 failed=0 still=0 released=0 lost=0 resolved=1",
         false, "UPDATE job_task SET completed = 0 WHERE task_id = 2",
         "UPDATE job_task SET completed = 1 WHERE task_id = 2"},
	{"task_counts", "task_id=2 kind=expire claimed=1 completed=1 failed=0 still=1", false,
         "UPDATE reservation SET task_id = 2, attempts = 1 WHERE order_id = 'HELD'",
         "UPDATE reservation SET task_id = NULL, attempts = 0 WHERE order_id = 'HELD'"},
	{"task_counts", "task_id=3 kind=settle claimed=1 completed=0 failed=0 still=1 released=0 lost=1", false,
         "INSERT INTO task_lost VALUES (3, 'LOST')", "DELETE FROM task_lost"},
	{"note_has_reservation", "reservation_id=7 order_id=- noted=-", false,
         "INSERT INTO reservation_note (reservation_id, reference) VALUES (7, 'of nobody')",
         "DELETE FROM reservation_note"},
	{"note_has_reservation", "reservation_id=7 order_id=- noted=-", false,
         "INSERT INTO reservation_short VALUES (7, 0, 1, 2, 1, 0)", "DELETE FROM reservation_short"},
	{"note_has_reservation", "reservation_id=", false, /* a reservation without the mark */
         "INSERT INTO reservation_short SELECT reservation_id, 0, 1, 2, 1, 0 FROM reservation WHERE order_id = 'HELD'",
         "DELETE FROM reservation_short"},
	{"returned_is_moved", "sku=A order_id=SETTLED ", true, /* more than the order has noted */
         "UPDATE movement_line JOIN movement USING (movement_no) SET qty = 2 WHERE kind = 3;"
         " UPDATE movement_line SET qty = 9 WHERE sku_id = 1 AND qty = 10",
         "UPDATE movement_line JOIN movement USING (movement_no) SET qty = 1 WHERE kind = 3;"
         " UPDATE movement_line SET qty = 10 WHERE sku_id = 1 AND qty = 9"},
	{"returned_is_moved", "sku=A order_id=SETTLED ", true, /* by a return that names no order */
         "UPDATE movement SET reservation_id = NULL WHERE kind = 3",
         "UPDATE movement SET reservation_id = (SELECT reservation_id FROM reservation WHERE order_id = 'SETTLED')"
         " WHERE kind = 3"},
	{"returned_was_settled", "order_id=SETTLED sku=A state=3 noted=4 returned=2 settled=1", true,
         "UPDATE reservation_returned SET units = 2", "UPDATE reservation_returned SET units = 1"},
	{"returned_was_settled", "order_id=SETTLED sku=A state=3 noted=0 returned=1 settled=1",
         true, /* the row is never read */
         "UPDATE reservation SET noted = 0 WHERE order_id = 'SETTLED'",
         "UPDATE reservation SET noted = 4 WHERE order_id = 'SETTLED'"},
	{"returned_was_settled", "order_id=HELD sku=A state=1 noted=4 returned=1 settled=1", true,
         "BEGIN NOT ATOMIC UPDATE reservation SET noted = 4 WHERE order_id = 'HELD';"
         "  INSERT INTO reservation_returned SELECT reservation_id, 1, 1 FROM reservation WHERE order_id = 'HELD';"
         " END",
         "BEGIN NOT ATOMIC UPDATE reservation SET noted = 0 WHERE order_id = 'HELD';"
         "  DELETE b FROM reservation_returned b JOIN reservation USING (reservation_id) WHERE state = 1; END"},
	{"returned_was_settled", "order_id=- sku=A state=- noted=- returned=1 settled=0 reservation_id=7",
         true, /* of no order */
         "INSERT INTO reservation_returned VALUES (7, 1, 1)",
         "DELETE FROM reservation_returned WHERE reservation_id = 7"},
	{"replaced_is_released", "order_id=HELD state=held replaced_by=NEXT", false,
         "BEGIN NOT ATOMIC UPDATE reservation SET noted = 1 WHERE order_id = 'HELD';"
         "  INSERT INTO reservation_note (reservation_id, replaced_by) SELECT reservation_id, 'NEXT' FROM reservation"
         "  WHERE order_id = 'HELD'; END",
         "BEGIN NOT ATOMIC UPDATE reservation SET noted = 0 WHERE order_id = 'HELD'; DELETE FROM reservation_note; "
         "END"},
	{"positions_have_units", "order_id=WAITS sku=C location=po", false, "UPDATE waiting_line SET units = 1",
         "UPDATE waiting_line SET units = NULL"},
	{"version_is_known", "order_id=HELD version=- version_kept=1", true,
         "UPDATE reservation SET version_kept = NULLIF(state = 1, 0)", "UPDATE reservation SET version_kept = NULL"},
	{"last_event_is_told", "order_id=HELD last_event=1099511", true, /* a row that was written later */
         "UPDATE reservation SET last_event = 1 << 40 | 900 WHERE order_id = 'HELD';"
         " INSERT INTO event SELECT 1, 900, changed + 1, created_at, '' FROM reservation WHERE order_id = 'HELD'",
         "UPDATE reservation SET last_event = NULL WHERE order_id = 'HELD';"
         " DELETE FROM event WHERE event_no = 900"},
	{"amend_has_reservation", "reservation_id=7 order_id=- noted=- changed=1", true,
         "INSERT INTO reservation_amend VALUES (7, 1, 1, 1, 0, 1)", "DELETE FROM reservation_amend"},
	{"amend_conserves", "order_id=HELD sku=A location=main loose=3", true,
         "UPDATE reservation SET noted = noted | 32 WHERE order_id = 'HELD'; INSERT INTO reservation_amend"
         " SELECT reservation_id, 1, 1, 1, 90, 1 FROM reservation WHERE order_id = 'HELD'",
         "UPDATE reservation SET noted = noted & ~32; DELETE FROM reservation_amend"},
	{"split_conserves", "order_id=HELD sku=A location=main units_before=3 parted=1 last=2 qty=1", true,
         "INSERT INTO reservation_part SELECT reservation_id, 1, 1, 1, 3, 1 FROM reservation WHERE order_id = 'HELD'",
         "DELETE FROM reservation_part"},
	{"part_has_its_units", "order_id=HELD sku=A location=main came=3 qty=1", true,
         "INSERT INTO reservation_part SELECT 1, reservation_id, 1, 1, 5, 3 FROM reservation WHERE order_id = 'HELD'",
         "DELETE FROM reservation_part"},
	{"settled_is_moved", "task_id=1 completed=1 settled=1 units=1 moved=2", false, /* twice, to the same sums */
         "BEGIN NOT ATOMIC UPDATE movement_line JOIN movement USING (movement_no) SET qty = -2 WHERE kind = 5;"
         "  UPDATE movement_line SET qty = 11 WHERE sku_id = 1 AND qty = 10; END",
         "BEGIN NOT ATOMIC UPDATE movement_line JOIN movement USING (movement_no) SET qty = -1 WHERE kind = 5;"
         "  UPDATE movement_line SET qty = 10 WHERE sku_id = 1 AND qty = 11; END"},
	{"settled_is_moved", "task_id=1 completed=1 settled=1 units=1 moved=0",
         false, /* by a movement of another task */
         "UPDATE movement SET movement_id = CONCAT('settlement/7/', movement_no) WHERE kind = 5",
         "UPDATE movement SET movement_id = (SELECT CONCAT('settlement/1/', reservation_id) FROM reservation"
         " WHERE order_id = 'SETTLED') WHERE kind = 5"},
	{"settled_by_id_is_moved", "order_id=SETTLED units=1 moved=0", false,
         "UPDATE reservation SET task_id = NULL WHERE order_id = 'SETTLED'",
         "UPDATE reservation SET task_id = 1 WHERE order_id = 'SETTLED'"},
	{"note_has_state", "order_id=BURIED state=buried noted_state=2", false,
         "BEGIN NOT ATOMIC UPDATE reservation SET noted = 1 WHERE order_id = 'BURIED';"
         "  INSERT INTO reservation_note (reservation_id, reference, order_state) SELECT reservation_id, 'r', 2"
         "  FROM reservation WHERE order_id = 'BURIED'; END",
         "BEGIN NOT ATOMIC UPDATE reservation SET noted = 0 WHERE order_id = 'BURIED'; DELETE FROM reservation_note; "
         "END"},
	{"customer_has_units", "customer=c sku=A units=1 in_orders=0", true,
         "INSERT INTO customer_units VALUES ('c', 1, 1)", "DELETE FROM customer_units"},
	{"customer_has_units", "customer=c sku=A units=0 in_orders=1", true,
         "BEGIN NOT ATOMIC UPDATE reservation SET noted = 1 WHERE order_id = 'BURIED';"
         "  INSERT INTO reservation_note (reservation_id, customer) SELECT reservation_id, 'c' FROM reservation"
         "  WHERE order_id = 'BURIED'; END",
         "BEGIN NOT ATOMIC UPDATE reservation SET noted = 0 WHERE order_id = 'BURIED'; DELETE FROM reservation_note; "
         "END"},
	{"customer_has_units", "customer=c sku=A units=1 in_orders=0", true, /* of what came back */
         "BEGIN NOT ATOMIC UPDATE reservation SET noted = 5 WHERE order_id = 'SETTLED';"
         "  INSERT INTO reservation_note (reservation_id, customer) SELECT reservation_id, 'c' FROM reservation"
         "  WHERE order_id = 'SETTLED'; INSERT INTO customer_units VALUES ('c', 1, 1); END",
         "BEGIN NOT ATOMIC UPDATE reservation SET noted = 4 WHERE order_id = 'SETTLED';"
         "  DELETE FROM reservation_note; DELETE FROM customer_units; END"},
	{"booked_is_promised", "sku=C location=po booked=0 open=0 promised=5 kept=0",
         false, /* no order would be served */
         "CREATE OR REPLACE TEMPORARY TABLE saved AS SELECT * FROM promise; DELETE FROM promise",
         "INSERT INTO promise SELECT * FROM saved"},
	{"aside_is_free", "sku=A location=paris slot=0 reserved=1", true,
         "UPDATE location SET kind = 2 WHERE code = 'paris'", "UPDATE location SET kind = 1 WHERE code = 'paris'"},
	{"counted_by_now", "sku=A location=main counted_at=2", true,
         "INSERT INTO stock_counted VALUES (1, 1, 1, UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE)",
         "DELETE FROM stock_counted"},
	{"limit_is_known", "sku=A per_customer=5 number=-", true, /* no service would ask for the customer */
         "UPDATE sku SET per_customer = 5 WHERE code = 'A'", "UPDATE sku SET per_customer = NULL WHERE code = 'A'"},
	{"limit_is_known", "sku=A per_customer=0 number=1", true,
         "INSERT INTO sku_limit VALUES (1, 1); UPDATE sku SET per_customer = 0 WHERE code = 'A'",
         "DELETE FROM sku_limit; UPDATE sku SET per_customer = NULL WHERE code = 'A'"},
	{"stop_is_known", "sku=A for_sale=0", true, "UPDATE sku SET for_sale = 0 WHERE code = 'A'",
         "UPDATE sku SET for_sale = 1 WHERE code = 'A'"},
	{"location_stop_is_whole", "location=main for_sale=1 stop_reason=x", false,
         "UPDATE location SET stop_reason = 'x' WHERE code = 'main'",
         "UPDATE location SET stop_reason = NULL WHERE code = 'main'"},
	{"barcode_names_its_sku", "sku=A sku_id=1 place=1", true, "INSERT INTO sku_barcode VALUES (1, 1, '4', 'B')",
         "DELETE FROM sku_barcode"},
	{"text_names_a_sku", "number=5 sku_id=99", false, "INSERT INTO sku_text VALUES (5, 99)",
         "DELETE FROM sku_text WHERE sku_id = 99"},
	{"level_is_whole", "sku=A location=- level=9 low=-", true, "INSERT INTO level VALUES (1, 99, 9, NULL, 0)",
         "DELETE FROM level WHERE location_id = 99"},
	{"level_is_whole", "sku=A location=- level=2 low=-5", true, "INSERT INTO level VALUES (1, 99, 2, -5, 0)",
         "DELETE FROM level WHERE location_id = 99"},
	{"arrival_adds_up", "movement_id=made-0 sku=A from=main to=paris qty=5 filled=1 for_sale=0 open=-", false,
         /* no transfer is handed out */
         "BEGIN NOT ATOMIC UPDATE movement SET kind = 6 WHERE movement_id = 'made-0';"
         "  INSERT INTO movement_transfer SELECT movement_no, 1, 1, 2, 5, 1, 0 FROM movement WHERE kind = 6; END",
         "BEGIN NOT ATOMIC DELETE FROM movement_transfer; UPDATE movement SET kind = 1 WHERE kind = 6; END"},
	{"arrival_taken_by_now", "movement_id=made-4 sku=A writer_id=9 due_at=2", false,
         "INSERT INTO arrival_open SELECT MAX(movement_no), 1, 1, 2, 3, 9, UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE"
         " FROM movement",
         "DELETE FROM arrival_open"},
	{"backorder_is_moved", "movement_id=made-0 sku=A location=paris side=to lost=4 moved=2", false,
         /* an adjustment brought fewer units there */
         "BEGIN NOT ATOMIC UPDATE movement SET kind = 2 WHERE movement_id = 'made-0';"
         "  INSERT INTO movement_backorder SELECT movement_no, 1, 1, 1, 2, 'R', 4 FROM movement"
         "   WHERE movement_id = 'made-0'; END",
         "BEGIN NOT ATOMIC DELETE FROM movement_backorder; UPDATE movement SET kind = 1 WHERE movement_id = 'made-0';"
         " END"},
	{"backorder_of_its_order", "movement_id=made-0 reservation_id=", false,
         "INSERT INTO movement_backorder SELECT movement_no, r.reservation_id, 1, 1, 2, 'OTHER', 1 FROM movement,"
         " reservation r WHERE movement_id = 'made-0' AND r.order_id = 'HELD'",
         "DELETE FROM movement_backorder"},
	{"shipped_after", "order_id=CLAIMED due_at=9000", false, /* beyond what can be asked for */
         "UPDATE reservation SET ship_after = '9000-01-01', due_at = '9000-01-01' WHERE order_id = 'CLAIMED'",
         "UPDATE reservation SET ship_after = NULL, due_at = confirmed_at WHERE order_id = 'CLAIMED'"},
	{"waits_in_its_place", "order_id=WAITS sku=C location=po waits_since=2016", false,
         "UPDATE waiting_line SET waits_since = '2016-01-01'", WAITS_MENDED},
	{"waits_in_its_place", "order_id=WAITS sku=C location=po waits_since=2", false, /* of a clock that was ahead */
         "UPDATE waiting_line SET told = 2, waits_since = UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE", WAITS_MENDED},
	{"waits_in_its_place", "order_id=WAITS sku=C location=po waits_since=2", false, /* was never split */
         "UPDATE waiting_line SET first_id = 1", WAITS_MENDED},
	{"waits_in_its_place", "order_id=WAITS sku=C location=po waits_since=2", false, /* no client gave the time */
         "UPDATE waiting_line SET told = 1", WAITS_MENDED},
	{"waits_in_its_place", "order_id=WAITS sku=C location=po waits_since=2", false, /* told at another time */
         "UPDATE waiting_line SET told = 1; UPDATE reservation SET noted = 1 WHERE order_id = 'WAITS';"
         " INSERT INTO reservation_note (reservation_id, waits_since) SELECT reservation_id, '2016-01-01'"
         " FROM waiting_line",
         "DELETE FROM reservation_note; UPDATE reservation SET noted = 0 WHERE order_id = 'WAITS'; " WAITS_MENDED},
	{"waits_in_its_place", "order_id=WAITS sku=C location=po waits_since=2", false, /* told, and taken for untold */
         "UPDATE reservation SET noted = 1 WHERE order_id = 'WAITS';"
         " INSERT INTO reservation_note (reservation_id, waits_since) SELECT reservation_id, waits_since"
         " FROM waiting_line",
         "DELETE FROM reservation_note; UPDATE reservation SET noted = 0 WHERE order_id = 'WAITS'"},
	{"hold_of_key", "order_id=- key_id=7 made_with=- units=1 held=- reservation_id=7", false, /* of no order */
         "INSERT INTO key_hold VALUES (7, 7, 1)", "DELETE FROM key_hold"},
	{"replaces_one_another", "order_id=HELD replaced_by=- replaces=RELEASED other=RELEASED other_replaced_by=-",
         false, REPLACED("NULL", "'RELEASED'"), REPLACED_MENDED},
	{"replaces_one_another", "order_id=HELD replaced_by=- replaces=RELEASED other=RELEASED other_replaced_by=NEXT",
         false, REPLACED("'NEXT'", "'RELEASED'"), REPLACED_MENDED},
	{"replaces_one_another",
         "order_id=RELEASED replaced_by=HELD replaces=- other=HELD other_replaced_by=-"
         " other_replaces=OTHER",
         false,
         "UPDATE reservation SET released_at = created_at + INTERVAL 1 MINUTE WHERE order_id = 'RELEASED'; " REPLACED(
		 "'HELD'", "'OTHER'"),
         REPLACED_MENDED},
	{"lost_of_a_task", "task_id=99 order_id=LOST", false, "INSERT INTO task_lost VALUES (99, 'LOST')",
         "DELETE FROM task_lost"},
	{"location_is_whole", "location=paris kind=9", false, "UPDATE location SET kind = 9 WHERE code = 'paris'",
         "UPDATE location SET kind = 1 WHERE code = 'paris'"},
	{"location_is_whole", "location=paris kind=1 expected_at=2", false,
         "UPDATE location SET expected_at = UTC_TIMESTAMP(3) WHERE code = 'paris'",
         "UPDATE location SET expected_at = NULL WHERE code = 'paris'"},
	{"job_is_there", "job=1 row_of=-", false, "DELETE FROM job WHERE job = 1",
         "INSERT INTO job (job, paused) VALUES (1, 0)"},
	{"job_is_there", "job=- row_of=7", false, "INSERT INTO job (job, paused) VALUES (7, 1)",
         "DELETE FROM job WHERE job = 7"},
	{"job_is_there", "job=2 row_of=2 paused=1 since=-", false, "UPDATE job SET paused = 1 WHERE job = 2",
         "UPDATE job SET paused = 0 WHERE job = 2"},
	{"webhook_leased_by_now", "webhook_id=w due_at=2", false,
         "INSERT INTO webhook (webhook_id, url, from_oldest, parallel, created_at, secret, due_at, place, waits_since)"
         " SELECT 'w', 'http://127.0.0.1:1/', 0, 1, UTC_TIMESTAMP(3), '', UTC_TIMESTAMP(3) + INTERVAL 1 DAY, '',"
         " UTC_TIMESTAMP(3)",
         "DELETE FROM webhook"},
};

/* A reservation in every state. The units of sku 1, A, lie in slot 0. */
static void database_begin(void)
{
	flow_begin();
	flow_steps("serve    --lanes 1",
	           "receipt  A +10 A@paris +2    -> 201",
	           "receipt  B +5                -> 201",
	           "reserve  SETTLED A=1         -> 201",
	           "confirm  SETTLED             -> 200",
	           "reserve  BURIED A=1          -> 201",
	           "confirm  BURIED              -> 200",
	           "claim    settle w            -> 201 task_id=1",
	           "complete 1 SETTLED           -> completed=1",
	           "fail     1 BURIED=bury       -> buried=1",
	           "return   A +1 order=SETTLED  -> 201",
	           "adjust   A -1                -> 201",
	           "reserve  EXPIRED A=1 ttl=60  -> 201",
	           "tick     61",
	           "work     expire",
	           "reserve  RELEASED A=2        -> 201",
	           "release  RELEASED            -> 200",
	           "reserve  HELD A=1            -> 201",
	           "reserve  CLAIMED B=1 A@paris=1 -> 201",
	           "confirm  CLAIMED             -> 200",
	           "claim    settle w            -> 201 task_id=3",
	           "sql SELECT sku_id, available, reserved FROM stock_slot WHERE location_id = 1 AND slot = 0"
	           " -> 1,7,2 3,4,1",
	           "raw PUT /v1/locations/po {'kind':'incoming'} -> 201",
	           "receipt  C@po +5             -> 201",
	           "reserve  WAITS C@po=2 confirm=true -> 201",
	           "run      audit               -> 0 '~all hold'");
}

/* Returns the number of an invariant in the file, and how many invariants there are. */
static int invariant_number(const char *name, int *count)
{
	FILE *file = fopen("schema/invariants.sql", "r");
	char  line[300], found[100];
	int   number = -1;

	cr_assert(file);
	for (*count = 0; fgets(line, sizeof(line), file);)
		if (sscanf(line, "-- name: %99s", found) == 1) {
			number = name && strcmp(found, name) == 0 ? *count : number;
			++*count;
		}
	fclose(file);
	++*count; /* events_add_up, the last one: tests/commands/test_audit_events.c */
	return number;
}

/* Statements, divided by a semicolon outside of a compound. */
static void sql_run(const char *statements)
{
	struct db  *db = flow_scratch()->db;
	const char *end = strncmp(statements, "BEGIN", 5) == 0 ? NULL : strstr(statements, "; ");
	struct text first = {0};

	text_bytes(&first, statements, end ? (size_t)(end - statements) : strlen(statements));
	cr_assert_eq(db_text(db, first.data, NULL, NULL), DB_OK, "%s: %s", first.data, db_error(db));
	text_fini(&first);
	if (end)
		sql_run(end + 2);
}

Test(audit, names_what_is_broken, DRILL)
{
	database_begin();
	sql_run("SET SESSION check_constraint_checks = 0");
	for (size_t i = 0; i < LENGTH(breaches); i++) {
		const struct damage *b = &breaches[i];
		int                  count, number = invariant_number(b->name, &count);

		cr_assert(number >= 0, "there is no invariant %s", b->name);
		sql_run(b->broken);
		flow_step("run audit -> 1 '~%s: %s' '~%d invariants checked, not all hold'", b->name, b->words, count);
		flow_step(
			"run audit --json -> 1 whole=false invariants=%d invariants[%d].name=%s invariants[%d].broken=*"
			" invariants[%d].rows[0]=*",
			count, number, b->name, number, number);
		if (b->of_a)
			flow_steps("run audit --sku A -> 1",
			           "run audit --sku B -> 0");
		sql_run(b->mended);
	}
	flow_steps("run audit -> 0");
	flow_end();
}

Test(audit, every_invariant_is_broken_once)
{
	int  count, known = 0;
	bool seen[100] = {0};

	for (size_t i = 0; i < LENGTH(breaches); i++) {
		int number = invariant_number(breaches[i].name, &count);

		cr_assert(number >= 0 && number < (int)LENGTH(seen), "%s", breaches[i].name);
		known += !seen[number];
		seen[number] = true;
	}
	cr_expect_eq(known, count - 1, "of %d invariants %d are broken by this test", count, known);
}

Test(audit, whole)
{
	database_begin();
	flow_steps("run audit --json             -> 0 whole=true invariants[0].broken=0 invariants[0].rows=0",
	           "run audit --sku A            -> 0 '~all hold'",
	           "run audit --sku B --json     -> 0 whole=true",
	           "run audit --sku GHOST        -> 1",
	           "run audit --sku a            -> 1",
	           "run audit --sku              -> 64",
	           "serve --lanes 4",
	           "run audit                    -> 0",
	           "kill",
	           "run audit                    -> 0");
	flow_end();
}

/* A row that one snapshot shows and the next does not, because a transaction was committed in between, is no finding. A
 * row that both show is one, even if its numbers have changed. */
Test(audit, looks_twice)
{
	static const struct {
		const char *broken, *between, *expects;
	} looks[] = {
		{"UPDATE stock_slot SET reserved = reserved + 1 WHERE sku_id = 1",
	         "UPDATE stock_slot SET reserved = reserved - 1 WHERE sku_id = 1", "0 '~all hold'"},
		{"UPDATE stock_slot SET reserved = reserved + 1 WHERE sku_id = 1",
	         "UPDATE stock_slot SET reserved = IF(sku_id = 1, reserved - 1, reserved + 1)", "0 '~all hold'"},
		{"UPDATE stock_slot SET reserved = reserved + 2 WHERE sku_id = 1",
	         "UPDATE stock_slot SET reserved = reserved - IF(sku_id = 1, 1, 1)",
	         "1 '~reserved_is_promised: sku=A location=main slot=0 reserved=3 promised=2'"},
	};
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("serve --lanes 1",
	           "receipt A +10 B +10 -> 201",
	           "reserve R1 A=2 B=2  -> 201");
	for (size_t i = 0; i < LENGTH(looks); i++) {
		proxy_arm(proxy, BREACH_WAIT, "SUM(d.promised)");
		flow_step("start L%zu audit", i);
		cr_assert(proxy_struck(proxy), "the first look");
		sql_run(looks[i].broken);
		proxy_arm(proxy, BREACH_WAIT, "SUM(d.promised)");
		proxy_go_on(proxy);
		cr_expect(proxy_struck(proxy), "there was no second look");
		sql_run(looks[i].between);
		proxy_go_on(proxy);
		flow_step("end L%zu -> %s", i, looks[i].expects);
		sql_run("UPDATE stock_slot SET reserved = 2, available = 8");
	}
	flow_end();
	proxy_close(proxy);
}

Test(audit, of_nothing)
{
	flow("run audit                      -> 0 '~all hold'",
	     "run audit --json               -> 0 whole=true");
}

/* Twenty rows of each invariant are shown. */
Test(audit, of_much)
{
	int count, number = invariant_number("line_has_reservation", &count);

	flow_begin();
	flow_orders("R", 50);
	flow_steps("sql INSERT INTO reservation_line SELECT seq, 1, 1, 0, 1, 1 FROM seq_1_to_45",
	           "run audit                  -> 1 '~line_has_reservation: order_id=- sku=A sku_id=1 location=main'"
	           " '~line_has_reservation: and 25 more rows'");
	flow_step("run audit --json            -> 1 invariants[%d].rows=20 invariants[%d].broken=45"
	          " invariants[%d].rows[0].reservation_id=1 invariants[%d].rows[0].order_id=null"
	          " invariants[%d].rows[0].sku=A invariants[%d].rows[0].location=main",
	          number, number, number, number, number, number);
	flow_steps("sql DELETE FROM reservation_line WHERE reservation_id <= 45",
	           "run audit -> 0");
	flow_end();
}

/* Rows of more than one range: each row is seen once, also at the ends of ranges. Ranges have 500 keys, then 1,000,
 * then 2,000. */
Test(audit, range_by_range)
{
	int count, bad = invariant_number("line_is_positive", &count),
		   moved = invariant_number("on_hand_is_moved", &count);
	int whole = invariant_number("task_is_whole", &count), lines = invariant_number("movement_has_lines", &count);

	flow_begin();
	flow_step("receipt A +1 -> 201");
	sql_run("DELETE FROM movement_line; DELETE FROM movement; DELETE FROM stock_slot; DELETE FROM sku; "
	        "DELETE FROM event; REPLACE INTO log_floor SELECT writer_id, event_no, stamp FROM log_writer; "
	        "INSERT INTO sku (sku_id, code, created_at)"
	        " SELECT seq, CONCAT('S', seq), UTC_TIMESTAMP(3) FROM seq_1_to_4000; "
	        "INSERT INTO reservation (" RESERVATION_COLUMNS
	        ") SELECT seq, CONCAT('R', seq), '', NULL, 3, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3),"
	        " 0, 0, NULL, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), NULL, UTC_TIMESTAMP(3), 0, 0, NULL"
	        " FROM seq_1_to_4000; INSERT INTO reservation_line SELECT seq, seq, 1, 0, 1, 1 FROM seq_1_to_4000; "
	        "INSERT INTO movement SELECT seq, CONCAT('M', seq), 1, '', UTC_TIMESTAMP(3), NULL, NULL, NULL, NULL,"
	        " NULL FROM seq_1_to_4000; "
	        "INSERT INTO movement_line SELECT seq, seq, 1, 0, 1 FROM seq_1_to_4000; "
	        "INSERT INTO stock_slot SELECT seq, 1, 0, 1, 0 FROM seq_1_to_4000; "
	        "INSERT INTO job_task SELECT seq, 1, 'w', 2, UTC_TIMESTAMP(3), 1, 0, 1, UTC_TIMESTAMP(3),"
	        " UTC_TIMESTAMP(3), NULL FROM seq_1_to_4000");
	flow_step("run audit -> 0");
	sql_run("UPDATE reservation_line SET qty = 0 WHERE reservation_id IN (1, 500, 501, 1500, 1501, 4000); "
	        "UPDATE job_task SET claimed = 0, failed = 0 WHERE task_id IN (1, 500, 501, 1500, 1501, 4000); "
	        "UPDATE stock_slot SET available = 2 WHERE sku_id IN (1, 500, 501, 1500, 1501, 4000); "
	        "UPDATE movement SET kind = 5 WHERE movement_no IN (1, 500, 501, 1500, 1501, 4000)");
	flow_step("run audit --json -> 1 invariants[%d].broken=6 invariants[%d].broken=6 invariants[%d].broken=6"
	          " invariants[%d].broken=6",
	          bad, whole, moved, lines);
	flow_step("run audit --sku S501 --json -> 1 whole=false invariants[%d].broken=1"
	          " invariants[%d].rows[0].sku=S501",
	          moved, moved);
	flow_step("run audit --sku S502 -> 0");
	sql_run("UPDATE reservation_line SET qty = 1; UPDATE job_task SET claimed = 1; "
	        "UPDATE stock_slot SET available = 1; UPDATE movement SET kind = 1");
	flow_end();
}
