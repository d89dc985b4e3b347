-- The end of a range of the audit: the last of the next {limit} keys after {after_id}, and their number.

-- name: audit_page_sku
SELECT MAX(id), COUNT(*) FROM (
  SELECT sku_id AS id FROM sku FORCE INDEX (PRIMARY) WHERE sku_id > {after_id} ORDER BY sku_id LIMIT {limit}) page;

-- name: audit_page_movement
SELECT MAX(id), COUNT(*) FROM (
  SELECT movement_no AS id FROM movement FORCE INDEX (PRIMARY)
   WHERE movement_no > {after_id} ORDER BY movement_no LIMIT {limit}) page;

-- name: audit_page_reservation
SELECT MAX(id), COUNT(*) FROM (
  SELECT reservation_id AS id FROM reservation FORCE INDEX (PRIMARY)
   WHERE reservation_id > {after_id} ORDER BY reservation_id LIMIT {limit}) page;

-- name: audit_page_task
SELECT MAX(id), COUNT(*) FROM (
  SELECT task_id AS id FROM job_task FORCE INDEX (PRIMARY)
   WHERE task_id > {after_id} ORDER BY task_id LIMIT {limit}) page;

-- Events against the tables: audit_events.c.

-- piece: microseconds
-- For a stamp: since 1970.
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at)

-- name: audited_reservations
-- Reservations of a range of keys that were changed at {stamp_min} or later, with their lines, one after the other.
SELECT r.order_id, r.state, r.changed, {microseconds}, r.reservation_id, l.sku_id, l.location_id, l.qty,
       r.expires_at, r.last_event
  FROM reservation r FORCE INDEX (PRIMARY)
  LEFT JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = r.reservation_id
 WHERE r.reservation_id > {after_id} AND r.reservation_id <= {until_id} AND r.changed >= {stamp_min};

-- name: audited_reservations_named
SELECT r.order_id, r.state, r.changed, {microseconds}, r.reservation_id, l.sku_id, l.location_id, l.qty,
       r.expires_at, r.last_event
  FROM reservation r FORCE INDEX (order_id)
  LEFT JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = r.reservation_id
 WHERE r.order_id IN ({list});

-- piece: moved_units
-- Units of line m of movement h; of an arrival the units of its ends, however many were handed out so far.
IF(h.kind <> {arrival}, m.qty,
   (SELECT SUM(IF(t.to_id = m.location_id, t.qty, -t.qty)) FROM movement_transfer t FORCE INDEX (PRIMARY)
     WHERE t.movement_no = m.movement_no AND t.sku_id = m.sku_id AND m.location_id IN (t.from_id, t.to_id)))

-- name: audited_movements
-- Movements of a range of keys, with their lines, one after the other.
SELECT h.movement_id, h.kind, 0, {microseconds}, h.movement_no, m.sku_id, m.location_id, {moved_units}
  FROM movement h FORCE INDEX (PRIMARY) LEFT JOIN movement_line m FORCE INDEX (PRIMARY) USING (movement_no)
 WHERE h.movement_no > {after_id} AND h.movement_no <= {until_id};

-- name: audited_movements_named
SELECT h.movement_id, h.kind, 0, {microseconds}, h.movement_no, m.sku_id, m.location_id, {moved_units}
  FROM movement h FORCE INDEX (movement_id) LEFT JOIN movement_line m FORCE INDEX (PRIMARY) USING (movement_no)
 WHERE h.movement_id IN ({list});
