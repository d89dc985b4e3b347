-- Levels, and the process that watches them. schema/level.sql has the tables.

-- name: level_look
-- One look at the spots {rows}, (sku, location; 0: the sum over all that sell): their units over all slots, the levels
-- that were told last, and whether they have a level. A location that is not for sale has none; a sum has one only with
-- a threshold.
WITH want(sku_id, location_id) AS (VALUES {rows})
SELECT want.sku_id, want.location_id,
       COALESCE(IF(want.location_id = 0,
                   (SELECT SUM(s.available) FROM stock_slot s FORCE INDEX (PRIMARY)
                      STRAIGHT_JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = s.location_id
                     WHERE s.sku_id = want.sku_id AND {sells}),
                   (SELECT SUM(s.available) FROM stock_slot s FORCE INDEX (PRIMARY)
                     WHERE s.sku_id = want.sku_id AND s.location_id = want.location_id)), 0),
       l.level, COALESCE(l.low, -1), l.stamp, IF(want.location_id = 0, l.low IS NOT NULL, COALESCE({sells}, 1))
  FROM want LEFT JOIN level l FORCE INDEX (PRIMARY)
    ON l.sku_id = want.sku_id AND l.location_id = want.location_id
  LEFT JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = want.location_id;

-- name: level_make
-- The first level that is told of a spot. Rows: (sku, location, level).
    INSERT INTO level (sku_id, location_id, level, stamp)
    WITH told(sku_id, location_id, level) AS (VALUES {rows}) SELECT sku_id, location_id, level, @s FROM told;

-- name: level_cross
-- A row with another stamp stays as it is, and the count tells: 2 for each that has changed. Rows: (sku, location,
-- level, stamp as read).
    INSERT INTO level (sku_id, location_id, level, stamp) VALUES {rows} ON DUPLICATE KEY UPDATE
      level = IF(stamp = VALUES(stamp), VALUES(level), level), stamp = IF(stamp = VALUES(stamp), @s, stamp);

-- name: level_list
-- A page of the spots that have a row in `level`, behind ({sku}, {location}).
SELECT sku_id, location_id, 1 FROM level FORCE INDEX (PRIMARY)
 WHERE sku_id > {sku} OR (sku_id = {sku} AND location_id > {location})
 ORDER BY sku_id, location_id LIMIT {limit};

-- name: level_list_out
-- A page of all spots behind ({sku}, {location}), with 1 where nothing is left.
SELECT sku_id, location_id, SUM(available) <= 0 FROM stock_slot FORCE INDEX (PRIMARY)
 WHERE sku_id > {sku} OR (sku_id = {sku} AND location_id > {location})
 GROUP BY sku_id, location_id ORDER BY sku_id, location_id LIMIT {limit};

-- name: level_list_all
-- A page of the skus behind {sku} that have a threshold over all locations.
SELECT sku_id FROM level FORCE INDEX (PRIMARY)
 WHERE sku_id > {sku} AND location_id = 0 AND low IS NOT NULL ORDER BY sku_id LIMIT {limit};

-- name: level_asked
-- A page of the spots that got a new threshold. The next page is read when these are done.
SELECT sku_id, location_id, asked FROM level_asked FORCE INDEX (PRIMARY)
 WHERE sku_id > 0 ORDER BY sku_id, location_id LIMIT {limit};

-- name: level_answered
-- Removes the requests that the watcher has looked at, unless the threshold was set again meanwhile, or another process
-- is the watcher now. Rows: (sku, location, asked).
DELETE FROM level_asked
 WHERE (sku_id, location_id, asked) IN ({rows})
   AND EXISTS (SELECT 1 FROM level_watch WHERE one = 1 AND task_id = {task} AND fence = {fence});

-- name: threshold_put
-- Sets the threshold of the sku {code} at a location, or over all, and asks for a look. The level that was told last
-- stays as it is. One row: whether the sku exists, whether the location exists, and its kind. Nothing is set if one of
-- them is missing or the location does not sell.
BEGIN NOT ATOMIC
  DECLARE of_sku INT UNSIGNED DEFAULT NULL;
  DECLARE of_location INT UNSIGNED DEFAULT IF({at} IS NULL, 0, NULL);
  DECLARE of_kind TINYINT UNSIGNED DEFAULT {stock};
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  START TRANSACTION;
  SELECT sku_id INTO of_sku FROM sku FORCE INDEX (code) WHERE code = {code};
  SELECT location_id, kind INTO of_location, of_kind FROM location FORCE INDEX (code) WHERE code = {at};
  IF of_sku IS NOT NULL AND of_location IS NOT NULL AND of_kind = {stock} THEN
    INSERT INTO level (sku_id, location_id, level, low, stamp)
      VALUES (of_sku, of_location, 1, IF({low} < 0, NULL, {low}), 0) ON DUPLICATE KEY UPDATE low = VALUES(low);
    INSERT INTO level_asked (sku_id, location_id, asked) VALUES (of_sku, of_location, 1)
      ON DUPLICATE KEY UPDATE asked = asked + 1;
  END IF;
  COMMIT;
  SELECT of_sku IS NOT NULL, of_location IS NOT NULL, of_kind;
END

-- name: threshold_delete
-- Removes the threshold, and asks for a look if there was one. One row: whether sku and location exist.
BEGIN NOT ATOMIC
  DECLARE of_sku INT UNSIGNED DEFAULT NULL;
  DECLARE of_location INT UNSIGNED DEFAULT IF({at} IS NULL, 0, NULL);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  START TRANSACTION;
  SELECT sku_id INTO of_sku FROM sku FORCE INDEX (code) WHERE code = {code};
  SELECT location_id INTO of_location FROM location FORCE INDEX (code) WHERE code = {at};
  UPDATE level FORCE INDEX (PRIMARY) SET low = NULL
   WHERE sku_id = of_sku AND location_id = of_location AND low IS NOT NULL;
  IF ROW_COUNT() > 0 THEN
    INSERT INTO level_asked (sku_id, location_id, asked) VALUES (of_sku, of_location, 1)
      ON DUPLICATE KEY UPDATE asked = asked + 1;
  END IF;
  COMMIT;
  SELECT of_sku IS NOT NULL, of_location IS NOT NULL;
END

-- name: threshold_list
-- A row of NULLs if there is a sku {code}, then a page of its thresholds at locations behind {after_id}, by number; 0
-- is over all.
SELECT NULL, NULL, NULL FROM sku FORCE INDEX (code) WHERE code = {code}
UNION ALL
(SELECT l.location_id, o.code, l.low
   FROM level l FORCE INDEX (PRIMARY) LEFT JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = l.location_id
  WHERE l.sku_id = (SELECT sku_id FROM sku FORCE INDEX (code) WHERE code = {code})
    AND l.location_id > {after_id} AND l.low IS NOT NULL
  ORDER BY l.location_id LIMIT {limit});

-- name: units_look
-- The units of the skus {list}: available and reserved over all locations that are for sale, on hand over all that are
-- in the house. Where sales are stopped nothing is available.
SELECT s.sku_id, SUM(IF({sells} AND o.for_sale = 1 AND k.for_sale = 1, s.available, 0)),
       SUM(IF({sells}, s.reserved, 0)),
       SUM(IF({in_house}, s.available + s.reserved, 0))
  FROM stock_slot s FORCE INDEX (PRIMARY) LEFT JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = s.location_id
  LEFT JOIN sku k FORCE INDEX (PRIMARY) ON k.sku_id = s.sku_id
 WHERE s.sku_id IN ({list}) GROUP BY s.sku_id;

-- piece: watch_lease
lease_until = UTC_TIMESTAMP(3) + INTERVAL {lease_s} SECOND, writes = writes + 1

-- name: watch_claim
-- Succeeds if there is no watcher, or if its lease has run out. A lease far in the future was given by a clock that was
-- ahead, and does not count.
UPDATE level_watch SET task_id = {task}, fence = fence + 1, {watch_lease}
 WHERE one = 1 AND (task_id IS NULL OR task_id = {task} OR lease_until <= UTC_TIMESTAMP(3)
                    OR lease_until > UTC_TIMESTAMP(3) + INTERVAL 2 * {lease_s} SECOND) LIMIT 1;

-- name: watch_read
-- The watcher's own row: its fence, its place, whether a service wants every change of stock now, and whether one did
-- within the last hour.
SELECT fence, place, stock_until > UTC_TIMESTAMP(3), stock_until > UTC_TIMESTAMP(3) - INTERVAL 1 HOUR
  FROM level_watch WHERE one = 1 AND task_id = {task};

-- name: watch_keep
-- Renews the lease. {place}: the new place in the log, NULL: as before; {looked}: nothing is left to look at. No row:
-- another process is the watcher now. This is also a step of every transaction of a watcher.
UPDATE level_watch
   SET place = COALESCE({place}, place), looked_at = IF({looked}, UTC_TIMESTAMP(3), looked_at), {watch_lease}
 WHERE one = 1 AND task_id = {task} AND fence = {fence};

-- name: watch_leave
UPDATE level_watch SET task_id = NULL WHERE one = 1 AND task_id = {task} AND fence = {fence};

-- name: watch_wish
-- A service wants every change of stock for {wish_s} seconds.
UPDATE level_watch SET stock_until = UTC_TIMESTAMP(3) + INTERVAL {wish_s} SECOND WHERE one = 1;
