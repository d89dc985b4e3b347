-- Lines that the log has left out of an event: a handful of orders and movements have so many.

-- name: lines_of_orders
SELECT DISTINCT l.sku_id, l.location_id
  FROM reservation r FORCE INDEX (order_id)
  STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = r.reservation_id
 WHERE r.order_id IN ({list});

-- name: lines_of_movements
SELECT DISTINCT l.sku_id, l.location_id
  FROM movement m FORCE INDEX (movement_id)
  STRAIGHT_JOIN movement_line l FORCE INDEX (PRIMARY) ON l.movement_no = m.movement_no
 WHERE m.movement_id IN ({list});
