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
  SELECT task_id AS id FROM worker_task FORCE INDEX (PRIMARY)
   WHERE task_id > {after_id} ORDER BY task_id LIMIT {limit}) page;
