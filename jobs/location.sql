-- Locations: read one by one or page by page, made, and given another kind. engine/stock.sql has those of lanes.

-- piece: location_columns
o.location_id, o.code, o.kind, o.expected_at, o.waits_at,
       (SELECT w.code FROM location w FORCE INDEX (PRIMARY) WHERE w.location_id = o.waits_at), o.for_sale, o.stop_reason

-- name: location_find
SELECT {location_columns} FROM location o FORCE INDEX (code) WHERE o.code = {code};

-- name: location_list
SELECT {location_columns} FROM location o FORCE INDEX (code)
 WHERE o.code > {after_code} ORDER BY o.code LIMIT {limit};

-- name: location_count
SELECT COUNT(*) FROM location FORCE INDEX (code);

-- name: location_put
-- Makes the location; a row that exists stays as it is.
INSERT IGNORE INTO location (code, kind) VALUES ({code}, {kind});

-- name: location_expect
-- Sets the time at which the promised units are expected, {until_at}; 0: no time was told. No decision depends on it,
-- so no writer is fenced off. A location that got another kind meanwhile stays as it is.
UPDATE location FORCE INDEX (PRIMARY)
   SET expected_at = IF({until_at} > TIMESTAMP'1970-01-01 00:00:00', {until_at}, NULL)
 WHERE location_id = {location} AND (kind = {incoming} OR expected_at IS NOT NULL);

-- piece: lies_there
-- Units or promises lie at {location}, or have arrived there and are not handed out, or another location waits at it.
-- There is no index by location, because every order would pay for it: this walks all slots.
EXISTS (SELECT 1 FROM location WHERE waits_at = {location}) OR
EXISTS (SELECT 1 FROM stock_slot FORCE INDEX (PRIMARY)
         WHERE location_id = {location} AND (available <> 0 OR reserved <> 0))
OR EXISTS (SELECT 1 FROM arrival_open WHERE to_id = {location})

-- name: location_in_use
-- A look before location_turn, which fences no writer off.
SELECT ({lies_there});

-- name: location_turn
-- Gives {location} another kind, {kind}, if nothing lies there, or another queue, that of {waits_at} (0: none), an
-- incoming location. All writers are fenced off before the look: a lane that knows the old kind or queue has put
-- nothing there since, and cannot. It has to enter again, and then reads the kinds as of this commit. Answers one row:
-- 1: something lies there; 2: {waits_at} is not incoming any more; 0: done.
BEGIN NOT ATOMIC
  DECLARE lies INT DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  START TRANSACTION;
  UPDATE location_kinds SET n = n + 1 WHERE one = 1;
  SELECT keep_days INTO lies FROM event_log WHERE one = 1 FOR UPDATE;
  UPDATE log_writer SET epoch = epoch + 1 WHERE ended = 0;
  SET lies = CASE WHEN (SELECT kind FROM location FORCE INDEX (PRIMARY) WHERE location_id = {location}) <> {kind}
                       AND ({lies_there}) THEN 1
                  WHEN {waits_at} > 0 AND NOT EXISTS (SELECT 1 FROM location FORCE INDEX (PRIMARY)
                                                       WHERE location_id = {waits_at} AND kind = {incoming}) THEN 2
                  ELSE 0 END;
  IF lies THEN
    ROLLBACK;
  ELSE
    UPDATE location FORCE INDEX (PRIMARY)
       SET expected_at = IF(kind = {kind}, expected_at, NULL), waits_at = NULLIF({waits_at}, 0), kind = {kind}
     WHERE location_id = {location};
    COMMIT;
  END IF;
  SELECT lies;
END
