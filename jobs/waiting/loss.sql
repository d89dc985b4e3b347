-- Finds the orders that may lose units, by a walk over all live ones. There is no index by sku, because every order
-- would pay for it.

-- piece: loss_part
-- A part of the walk, behind ({after_at}, {after_id}): the reservations, with promised units or without. There is
-- one row per line that the reservation has among {rows}, or one row with NULLs if it has none. Rows: (sku, location).
SELECT p.due_at, p.reservation_id, p.since, l.sku_id, l.location_id, l.qty FROM (
  SELECT r.reservation_id, r.due_at,
         COALESCE(e.waits_since, IF(r.state = {held}, r.created_at, r.confirmed_at)) AS since
    FROM reservation r FORCE INDEX (claim)
    LEFT JOIN reservation_note e FORCE INDEX (PRIMARY) ON r.noted & {texts} AND e.reservation_id = r.reservation_id

-- piece: loss_part_end
     AND (r.due_at > {after_at} OR (r.due_at = {after_at} AND r.reservation_id > {after_id}))
     AND r.due_at > IF({state} = {held}, UTC_TIMESTAMP(3), TIMESTAMP'1000-01-01 00:00:00')
   ORDER BY r.due_at, r.reservation_id LIMIT {limit}) p
  LEFT JOIN reservation_line l FORCE INDEX (PRIMARY)
    ON l.reservation_id = p.reservation_id AND (l.sku_id, l.location_id) IN ((0, 0), {rows})
 ORDER BY NULL

-- name: losers_walk
-- Reservations in {state} that no task has.
{loss_part}
   WHERE r.state = {state} AND {is_free}
{loss_part_end};

-- name: losers_walk_aside
-- Reservations in {state} that are put aside: they are not to be shipped yet, or some of their lines wait.
{loss_part}
   WHERE r.state = {state} AND {is_put_aside}
{loss_part_end};
