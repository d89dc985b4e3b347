-- Lines of orders that become others under the orders' own ids: amend.c.

-- name: amend_order
-- The order stays as it is but for its lines, no task has claimed it any more, and a best effort was short of nothing.
-- Its attempts stay.
UPDATE reservation FORCE INDEX (PRIMARY)
   SET {told}, noted = noted & ~{shorts} | {amended},
       task_id = IF(state = {confirmed} AND {is_put_aside}, 0, NULL), due_at = IF(state = {held}, expires_at, due_at)
 WHERE {as_read} AND (({is_kept}) OR state = {confirmed}) AND {is_had_as_read};

-- name: amend_ttl
-- Gives each hold a new time to live. Rows: (reservation_id, seconds to live).
UPDATE (SELECT 0 AS id, 0 AS ttl_s UNION ALL VALUES {rows}) given
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = given.id
   SET r.expires_at = @t + INTERVAL given.ttl_s SECOND, r.due_at = @t + INTERVAL given.ttl_s SECOND
 WHERE r.state = {held};

-- name: amend_shorts_drop
-- What was short of lines that are no more. Rows: (reservation_id).
DELETE s FROM (SELECT 0 AS id UNION ALL VALUES {rows}) amended
  STRAIGHT_JOIN reservation_short s FORCE INDEX (PRIMARY) ON s.reservation_id = amended.id;

-- name: amend_line_set (never_waits)
-- Lines as they are from now on. Rows: (reservation_id, sku, location, slot, units).
INSERT INTO reservation_line (reservation_id, sku_id, location_id, slot, qty) VALUES {rows}
    ON DUPLICATE KEY UPDATE slot = VALUES(slot), qty = VALUES(qty);

-- name: amend_add (never_waits)
-- The differences. Rows: (reservation_id, sku, location, units before, units more or less).
INSERT INTO reservation_amend (reservation_id, changed, sku_id, location_id, units_before, qty)
  WITH differs(id, sku_id, location_id, units_before, qty) AS (VALUES {rows})
  SELECT id, @s, sku_id, location_id, units_before, qty FROM differs;
