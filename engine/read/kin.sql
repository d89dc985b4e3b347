-- Other orders and a task, which are told with a single reservation. Only a GET of one order by its id pays for these,
-- and only where the order has any.

-- name: kin_find
-- Reservations of the list, a row each: what it was split from, whether it was split, and its task: an open one that
-- has it, or the one that settled or expired it. `changed` and the task are those of the row now.
SELECT r.reservation_id, r.changed,
       (SELECT f.order_id FROM reservation_part p FORCE INDEX (part)
         STRAIGHT_JOIN reservation f FORCE INDEX (PRIMARY) ON f.reservation_id = p.first_id
         WHERE p.part_id = r.reservation_id LIMIT 1),
       (SELECT p.first_id FROM reservation_part p FORCE INDEX (PRIMARY) WHERE p.first_id = r.reservation_id LIMIT 1),
       k.task_id, k.worker, k.state, k.lease_until
  FROM reservation r FORCE INDEX (PRIMARY)
  LEFT JOIN job_task k FORCE INDEX (PRIMARY)
    ON k.task_id = r.task_id
       AND (r.state IN ({settled}, {expired}) OR (r.state IN ({held}, {confirmed}) AND k.state = {open}))
 WHERE r.reservation_id IN ({list});

-- name: kin_parts
-- What was split off the one reservation of the list: the first {limit} of those that are there, of the first thousand.
-- Rows of a part stand together, one for each of its lines.
SELECT r.order_id
  FROM (SELECT DISTINCT part_id FROM reservation_part FORCE INDEX (PRIMARY)
         WHERE first_id IN ({list}) ORDER BY part_id LIMIT 1000) p
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = p.part_id
 ORDER BY p.part_id LIMIT {limit};
