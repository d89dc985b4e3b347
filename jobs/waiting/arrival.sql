-- Arrivals: promised units that have come and were booked (engine/write/movement.c). They are handed out in batches,
-- from the front of the queue on.

-- piece: of_arrival
movement_no = {movement} AND sku_id = {sku} AND from_id = {location} AND to_id = {to}

-- name: arrivals_open
-- Arrivals of the movements {from_id} to {until_id} that are not handed out whole, without the {offset} oldest, the
-- oldest first. With {taken} 0 those that another writer hands out just now are left out. A due_at far in the future
-- was given by a clock that was ahead, and keeps no writer away. An arrival of a sku whose sale is stopped, or at a
-- location where sales are, is left out until they go on.
SELECT a.movement_no, a.sku_id, a.from_id, a.to_id, a.units, m.movement_id, k.code
  FROM arrival_open a FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN movement m FORCE INDEX (PRIMARY) ON m.movement_no = a.movement_no
  STRAIGHT_JOIN sku k FORCE INDEX (PRIMARY) ON k.sku_id = a.sku_id AND k.for_sale = 1
  LEFT JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = a.to_id
 WHERE a.movement_no BETWEEN {from_id} AND {until_id} AND COALESCE(o.for_sale, 1) = 1
   AND ({taken} = 1 OR a.writer_id = {writer} OR a.due_at <= UTC_TIMESTAMP(3) OR a.due_at > {soon})
 ORDER BY a.movement_no, a.sku_id, a.from_id, a.to_id LIMIT {limit} OFFSET {offset};

-- name: promise_lower
-- Guard: units that leave the sum of promises were booked.
UPDATE promise FORCE INDEX (PRIMARY) SET booked = booked - {units}, n = n + 1
 WHERE sku_id = {sku} AND location_id = {location} AND booked >= {units};

-- name: arrival_lower
-- Guard: no other writer has handed out units of this arrival since it was read. This writer then has the arrival to
-- itself for half a second.
UPDATE arrival_open FORCE INDEX (PRIMARY)
   SET units = units - {units}, writer_id = {writer}, due_at = @t + INTERVAL 500000 MICROSECOND
 WHERE {of_arrival} AND units = {left};

-- name: arrival_close
DELETE FROM arrival_open WHERE {of_arrival} AND units = 0;

-- name: arrival_move
-- The movement has had a line for each end since it was booked.
UPDATE movement_line FORCE INDEX (PRIMARY) SET qty = qty + IF(location_id = {location}, -{units}, {units})
 WHERE movement_no = {movement} AND sku_id = {sku} AND location_id IN ({location}, {to});

-- name: arrival_tell
UPDATE movement_transfer FORCE INDEX (PRIMARY)
   SET filled = filled + {filled}, for_sale = for_sale + {units} - {filled}
 WHERE {of_arrival};

-- name: promise_slots
-- Slots that have units of a promise which no order has.
SELECT slot, available FROM stock_slot FORCE INDEX (PRIMARY)
 WHERE sku_id = {sku} AND location_id = {location} AND available > 0 ORDER BY slot;

-- name: slots_raise
-- With slots_lower: locks and changes every slot of a location. So a reservation there is ordered before or after this
-- transaction, on whichever node it runs.
UPDATE stock_slot FORCE INDEX (PRIMARY) SET available = available + {touch}
 WHERE sku_id = {sku} AND location_id = {location};

-- name: slots_lower
-- A slot that was made since keeps what it has.
UPDATE stock_slot FORCE INDEX (PRIMARY) SET available = available - {touch}
 WHERE sku_id = {sku} AND location_id = {location} AND available >= {touch};

-- name: promise_unwaited
-- Guard, after all slots are locked: no order waits.
UPDATE promise FORCE INDEX (PRIMARY) SET n = n + 1
 WHERE sku_id = {sku} AND location_id = {location}
   AND NOT EXISTS (SELECT 1 FROM waiting_line w FORCE INDEX (line)
                    WHERE w.sku_id = {sku} AND w.location_id = {location});
