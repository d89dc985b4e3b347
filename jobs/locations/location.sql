-- Locations: read one by one or page by page, made, and given another kind. engine/stock.sql has those of lanes.

-- piece: location_columns
location_id, code, kind, expected_at

-- name: location_find
SELECT {location_columns} FROM location FORCE INDEX (code) WHERE code = {code};

-- name: location_list
SELECT {location_columns} FROM location FORCE INDEX (code)
 WHERE code > {after_code} ORDER BY code LIMIT {limit};

-- name: location_count
SELECT COUNT(*) FROM location FORCE INDEX (code);

-- name: location_put
-- A new location, or the row that is there: nothing changes then.
INSERT IGNORE INTO location (code, kind) VALUES ({code}, {kind});

-- name: location_expect
-- When what is promised there is expected, {until_at}; 0: nobody said. Nothing is decided by it, so no writer is shut
-- out. A location that got another kind meanwhile stays as it is.
UPDATE location FORCE INDEX (PRIMARY)
   SET expected_at = IF({until_at} > TIMESTAMP'1970-01-01 00:00:00', {until_at}, NULL)
 WHERE location_id = {location} AND (kind = {incoming} OR expected_at IS NOT NULL);

-- piece: lies_there
-- Units or promises lie at {location}, or have arrived there and are not handed out. There is no index by location,
-- which every order would pay for: this walks all slots.
EXISTS (SELECT 1 FROM stock_slot FORCE INDEX (PRIMARY)
         WHERE location_id = {location} AND (available <> 0 OR reserved <> 0))
OR EXISTS (SELECT 1 FROM arrival_open WHERE to_id = {location})

-- name: location_in_use
-- A look beforehand, which shuts nobody out.
SELECT ({lies_there});

-- name: location_turn
-- Gives {location} another kind, {kind}, where nothing lies there. Every writer is shut out before the look, so that no
-- lane that knows the old kind has put anything there since or will: it enters anew, and reads the kinds behind this
-- commit. One row: whether something lies there.
BEGIN NOT ATOMIC
  DECLARE lies INT DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  START TRANSACTION;
  UPDATE location_kinds SET n = n + 1 WHERE one = 1;
  SELECT keep_days INTO lies FROM event_log WHERE one = 1 FOR UPDATE;
  UPDATE log_writer SET epoch = epoch + 1 WHERE ended = 0;
  SET lies = ({lies_there});
  IF lies THEN
    ROLLBACK;
  ELSE
    UPDATE location FORCE INDEX (PRIMARY) SET kind = {kind}, expected_at = NULL WHERE location_id = {location};
    COMMIT;
  END IF;
  SELECT lies;
END
