-- Exports: pages in the order of a primary key or of the codes, each a read of its own. Rows of one thing stand
-- together, and C sums those of one location.

-- name: export_stock
-- A page of skus by code, each with its slots: (sku, location, kind, available, reserved). A sku that was never stocked
-- has one row without a location.
SELECT k.code, o.code, o.kind, s.available, s.reserved
  FROM (SELECT code, sku_id FROM sku FORCE INDEX (code)
         WHERE code > {after_code} ORDER BY code LIMIT {limit}) k
  LEFT JOIN stock_slot s FORCE INDEX (PRIMARY) ON s.sku_id = k.sku_id
  LEFT JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = s.location_id
 ORDER BY k.code, s.location_id;

-- name: export_movements
-- A page of movements, each with its lines; of a transfer or an arrival both ends of each.
SELECT m.movement_no, m.movement_id, m.kind, m.created_at, m.reason, m.reference, k.code, o.code, f.code, g.code,
       COALESCE(t.qty, l.qty)
  FROM (SELECT movement_no FROM movement FORCE INDEX (PRIMARY)
         WHERE movement_no > {after_id} ORDER BY movement_no LIMIT {limit}) p
  STRAIGHT_JOIN movement m FORCE INDEX (PRIMARY) ON m.movement_no = p.movement_no
  LEFT JOIN movement_transfer t FORCE INDEX (PRIMARY)
         ON m.kind IN ({transfer}, {arrival}) AND t.movement_no = m.movement_no
  LEFT JOIN movement_line l FORCE INDEX (PRIMARY)
         ON m.kind NOT IN ({transfer}, {arrival}) AND l.movement_no = m.movement_no
  LEFT JOIN sku k FORCE INDEX (PRIMARY) ON k.sku_id = COALESCE(t.sku_id, l.sku_id)
  LEFT JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = l.location_id
  LEFT JOIN location f FORCE INDEX (PRIMARY) ON f.location_id = t.from_id
  LEFT JOIN location g FORCE INDEX (PRIMARY) ON g.location_id = t.to_id
 ORDER BY m.movement_no, COALESCE(t.sku_id, l.sku_id), l.location_id, t.from_id, t.to_id;

-- name: export_reservations
-- A page of reservations, each with its lines, in the state that an answer would have.
SELECT r.reservation_id, r.order_id, IF({is_past_its_time}, {expired}, r.state), r.created_at, r.expires_at,
       e.reference, e.customer, k.code, o.code, l.qty
  FROM (SELECT reservation_id FROM reservation FORCE INDEX (PRIMARY)
         WHERE reservation_id > {after_id} ORDER BY reservation_id LIMIT {limit}) p
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = p.reservation_id
  LEFT JOIN reservation_note e FORCE INDEX (PRIMARY) ON r.noted & {texts} AND e.reservation_id = r.reservation_id
  STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = r.reservation_id
  LEFT JOIN sku k FORCE INDEX (PRIMARY) ON k.sku_id = l.sku_id
  LEFT JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = l.location_id
 ORDER BY r.reservation_id, l.sku_id, l.location_id;
