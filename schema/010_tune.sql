-- The command tune works in a database of its own. Older programs put their load among these tables, as orders tune/..
-- of the sku tune/sku in slots from 65000 on, and a killed one left it; the sku always stayed. All of it goes at once,
-- so that every invariant holds at every moment. No client had such an id: those programs refused a slash. A tune of an
-- older program is to end first; one that runs after this step puts the sku there again, and nothing hides it.

BEGIN NOT ATOMIC
  DECLARE scratch INT UNSIGNED DEFAULT (SELECT sku_id FROM sku WHERE code = 'tune/sku');
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  IF GET_LOCK(CONCAT('holdfast_tune_', MD5(DATABASE())), 0) <> 1 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a tune of an older program is at work: migrate again when it has ended';
  END IF;
  DELETE FROM lane WHERE slot >= 65000;
  START TRANSACTION;
  DELETE l, r FROM reservation r FORCE INDEX (order_id)
    STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = r.reservation_id
   WHERE r.order_id > 'tune/' AND r.order_id < 'tune0';
  DELETE FROM stock_slot WHERE sku_id = scratch;
  DELETE m, l FROM movement_line l FORCE INDEX (sku_history)
    STRAIGHT_JOIN movement m FORCE INDEX (PRIMARY) ON m.movement_no = l.movement_no WHERE l.sku_id = scratch;
  DELETE FROM sku WHERE sku_id = scratch;
  COMMIT;
  DO RELEASE_LOCK(CONCAT('holdfast_tune_', MD5(DATABASE())));
END;
