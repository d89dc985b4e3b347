-- Units that become available at a location with waits_at go to the queue there.

-- name: pull_version
-- Changes if a location got another kind or another queue, and if sales were stopped or go on.
SELECT n FROM location_kinds WHERE one = 1;

-- name: pull_queues
-- Locations with a queue at which sales are not stopped: (location, location of its queue). They are few, and this is
-- asked when one has changed.
SELECT location_id, waits_at FROM location WHERE waits_at > 0 AND kind = {stock} AND for_sale = 1;

-- name: pull_ahead
-- The end of a part of the walk over the sums of promises that begins behind sku {from_id}: a sku {offset} further on.
-- No row: this is the last part.
SELECT sku_id FROM promise FORCE INDEX (PRIMARY) WHERE sku_id > {from_id} ORDER BY sku_id LIMIT 1 OFFSET {offset};

-- name: pull_find
-- Skus behind {from_id} up to {until_id} for which an order waits while a location of its queue has units available,
-- and whose sale is not stopped.
-- Rows: (location, location of its queue).
WITH seller(location_id, waits_at) AS (VALUES {rows})
SELECT p.sku_id, seller.location_id, p.location_id
  FROM promise p FORCE INDEX (PRIMARY) STRAIGHT_JOIN seller ON seller.waits_at = p.location_id
 WHERE p.sku_id > {from_id} AND p.sku_id <= {until_id}
   AND (SELECT 1 FROM waiting_line w FORCE INDEX (line)
         WHERE w.sku_id = p.sku_id AND w.location_id = p.location_id LIMIT 1)
   AND (SELECT 1 FROM stock_slot s FORCE INDEX (PRIMARY)
         WHERE s.sku_id = p.sku_id AND s.location_id = seller.location_id AND s.available > 0 LIMIT 1)
   AND COALESCE((SELECT k.for_sale FROM sku k FORCE INDEX (PRIMARY) WHERE k.sku_id = p.sku_id), 1) = 1
 ORDER BY p.sku_id LIMIT {limit};

-- name: pull_slots
-- Slots of {sku} at {location} that have units available.
SELECT slot, available FROM stock_slot FORCE INDEX (PRIMARY)
 WHERE sku_id = {sku} AND location_id = {location} AND available > 0 ORDER BY slot;
