-- What must hold at any moment, also under load. Each block returns the rows that break it, so no row is good news.
-- The audit runs them in one consistent snapshot; {sku} narrows a block to one sku and is empty for all.

-- name: no_negative_slot
-- No slot is below zero.
SELECT k.code AS sku, s.location_id, s.slot, s.available, s.reserved
  FROM stock_slot s JOIN sku k USING (sku_id)
 WHERE (s.available < 0 OR s.reserved < 0) {sku};

-- name: reserved_is_promised
-- What a slot has in `reserved` is what the lines of live reservations (held, confirmed, buried) have in that slot.
SELECT k.code AS sku, d.location_id, d.slot, SUM(d.reserved) AS reserved, SUM(d.promised) AS promised
  FROM (SELECT s.sku_id, s.location_id, s.slot, s.reserved, 0 AS promised FROM stock_slot s
        UNION ALL
        SELECT l.sku_id, l.location_id, l.slot, 0, l.qty
          FROM reservation r JOIN reservation_line l USING (reservation_id) WHERE r.state IN (1, 2, 6)) d
  JOIN sku k USING (sku_id)
 WHERE TRUE {sku}
 GROUP BY k.code, d.location_id, d.slot HAVING SUM(d.reserved) <> SUM(d.promised);

-- name: on_hand_is_moved
-- Units in the house are the sum of the movements, for every sku and location.
SELECT k.code AS sku, d.location_id, SUM(d.on_hand) AS on_hand, SUM(d.moved) AS moved
  FROM (SELECT s.sku_id, s.location_id, s.available + s.reserved AS on_hand, 0 AS moved FROM stock_slot s
        UNION ALL
        SELECT m.sku_id, m.location_id, 0, m.qty FROM movement_line m) d
  JOIN sku k USING (sku_id)
 WHERE TRUE {sku}
 GROUP BY k.code, d.location_id HAVING SUM(d.on_hand) <> SUM(d.moved);

-- name: total_in_range
-- No total of a sku passes 9e15.
SELECT k.code AS sku, SUM(s.available + s.reserved) AS on_hand
  FROM stock_slot s JOIN sku k USING (sku_id)
 WHERE TRUE {sku}
 GROUP BY k.code HAVING SUM(s.available + s.reserved) > 9000000000000000;

-- name: line_is_positive
-- A reservation has lines, and each promises at least one unit.
SELECT r.order_id, l.sku_id, l.location_id, l.qty
  FROM reservation r LEFT JOIN reservation_line l USING (reservation_id) LEFT JOIN sku k USING (sku_id)
 WHERE (l.qty IS NULL OR l.qty < 1) {sku};

-- name: line_has_reservation
-- No line without its reservation.
SELECT l.reservation_id, k.code AS sku
  FROM reservation_line l LEFT JOIN reservation r USING (reservation_id) JOIN sku k USING (sku_id)
 WHERE r.reservation_id IS NULL {sku};

-- name: line_has_movement
-- No movement line without its movement.
SELECT m.movement_no, k.code AS sku
  FROM movement_line m LEFT JOIN movement h USING (movement_no) JOIN sku k USING (sku_id)
 WHERE h.movement_no IS NULL {sku};

-- name: names_exist
-- Every row of units names a sku and a location that exist.
SELECT d.sku_id, d.location_id, d.source
  FROM (SELECT sku_id, location_id, 'slot' AS source FROM stock_slot
        UNION ALL SELECT sku_id, location_id, 'movement' FROM movement_line
        UNION ALL SELECT sku_id, location_id, 'reservation' FROM reservation_line) d
  LEFT JOIN sku k USING (sku_id) LEFT JOIN location o USING (location_id)
 WHERE k.sku_id IS NULL OR o.location_id IS NULL
 LIMIT 1000;

-- name: resolved_once
-- Each reservation is resolved at most once, and its times agree with its state.
SELECT r.order_id, r.state, r.confirmed_at, r.released_at, r.settled_at
  FROM reservation r
 WHERE (r.state = 3) <> (r.settled_at IS NOT NULL)
    OR (r.state = 4) <> (r.released_at IS NOT NULL)
    OR (r.state IN (2, 3, 6) AND r.confirmed_at IS NULL)
    OR (r.state IN (1, 5) AND r.confirmed_at IS NOT NULL)
    OR r.state NOT BETWEEN 1 AND 6;

-- name: held_is_due_at_expiry
-- A held reservation becomes due when it expires.
SELECT r.order_id, r.due_at, r.expires_at FROM reservation r
 WHERE r.state = 1 AND r.task_id IS NULL AND r.attempts = 0 AND r.due_at <> r.expires_at;

-- name: claim_has_task
-- A claimed reservation names a task that was made for its kind, and has been charged an attempt.
SELECT r.order_id, r.state, r.task_id, r.attempts
  FROM reservation r LEFT JOIN task t ON t.task_id = r.task_id
 WHERE r.state IN (1, 2) AND r.task_id > 0
   AND (t.task_id IS NULL OR r.attempts = 0 OR t.kind <> IF(r.state = 2, 1, 2));

-- name: hold_of_key
-- What stands there as held with a key is what its reservation was made with and holds.
SELECT r.order_id, h.key_id, r.key_id AS made_with, h.units, SUM(l.qty) AS held
  FROM key_hold h JOIN reservation r ON r.reservation_id = h.reservation_id
  JOIN reservation_line l ON l.reservation_id = h.reservation_id
 GROUP BY h.reservation_id, r.order_id, h.key_id, r.key_id, h.units
HAVING h.units <> SUM(l.qty) OR r.key_id IS NULL OR h.key_id <> r.key_id;

-- name: task_counts
-- A task has completed and failed no more than it claimed, and settled reservations that name it are those it completed.
SELECT t.task_id, t.claimed, t.completed, t.failed, COUNT(r.reservation_id) AS settled
  FROM task t LEFT JOIN reservation r ON r.task_id = t.task_id AND r.state = 3
 WHERE t.kind = 1
 GROUP BY t.task_id HAVING t.completed + t.failed > t.claimed OR settled > t.completed;
