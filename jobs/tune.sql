-- The scratch sku of `tune`, and how everything that was made for it goes again. A slash is no letter of a client's
-- ids, so what is named tune/.. is ours alone; lists and stats leave it out.

-- name: tune_lock
-- One tune at a time on a database, and none that is cleaned away while it runs. Goes with the connection. One row: 1
-- or 0.
SELECT GET_LOCK(CONCAT('holdfast_tune_', MD5(DATABASE())), 0);

-- name: tune_unlock
SELECT RELEASE_LOCK(CONCAT('holdfast_tune_', MD5(DATABASE())));

-- name: tune_waits
-- Of the whole server, since it was started.
SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_%';

-- name: tune_lanes
-- Rows of lanes with slots that no service has: of a tune that was killed.
SELECT lane_id FROM lane WHERE slot >= {slot};

-- name: tune_fence
-- Waits for what such a lane still has under way; what comes later is not committed, because a lane commits nothing
-- without its row.
DELETE FROM lane WHERE lane_id IN ({list});

-- name: tune_sku_find
SELECT sku_id FROM sku FORCE INDEX (code) WHERE code = x'74756e652f736b75';

-- name: tune_page
SELECT reservation_id FROM reservation FORCE INDEX (order_id)
 WHERE order_id > x'74756e652f' AND order_id < x'74756e6530' ORDER BY order_id LIMIT {limit};

-- name: tune_give_back
-- Locks the reservations; then the units that those who live still have go back to their slots.
    SELECT COUNT(*) INTO @locked FROM (
      SELECT reservation_id FROM reservation FORCE INDEX (PRIMARY) WHERE reservation_id IN ({list}) FOR UPDATE) locked;
    UPDATE (SELECT l.sku_id, l.location_id, l.slot, SUM(l.qty) AS qty
              FROM reservation r FORCE INDEX (PRIMARY)
              STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = r.reservation_id
             WHERE r.reservation_id IN ({list}) AND r.state IN ({held}, {confirmed}, {buried})
             GROUP BY l.sku_id, l.location_id, l.slot) promised
      STRAIGHT_JOIN stock_slot s FORCE INDEX (PRIMARY)
        ON s.sku_id = promised.sku_id AND s.location_id = promised.location_id AND s.slot = promised.slot
       SET s.available = s.available + promised.qty, s.reserved = s.reserved - promised.qty;

-- name: tune_forget
    DELETE r FROM reservation r FORCE INDEX (PRIMARY) WHERE r.reservation_id IN ({list});

-- name: tune_empty
-- Unless something is reserved again, {verdict}: the sku's slots and movements go. The sku keeps its number, as every
-- sku does.
    SELECT COALESCE(SUM(reserved), 0) INTO @reserved FROM (
      SELECT reserved FROM stock_slot FORCE INDEX (PRIMARY) WHERE sku_id = {sku} FOR UPDATE) slots;
    IF @reserved > 0 THEN SET verdict = {verdict}; LEAVE work; END IF;
    DELETE s FROM stock_slot s FORCE INDEX (PRIMARY) WHERE s.sku_id = {sku};
    DELETE m, l FROM movement_line l FORCE INDEX (sku_history)
      STRAIGHT_JOIN movement m FORCE INDEX (PRIMARY) ON m.movement_no = l.movement_no WHERE l.sku_id = {sku};
