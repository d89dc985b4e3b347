-- What programs of the first version write, as the server's log has it: one block for each of their transactions, in
-- the rows of dump.sql, statement by statement. Numbers are those of the rows; a question mark's value stands in its
-- place. A program goes on while each statement does what it should, and sends COMMIT only then. Blocks that read first
-- end where the read fails.

-- name: a lane reserves
SET autocommit = 0;

UPDATE lane FORCE INDEX (PRIMARY) SET batch_no = 10, ops = ops + 1, batch_at = @t := UTC_TIMESTAMP(3) WHERE lane_id
    = 3 AND epoch = 1 AND batch_no = 9 AND LAST_INSERT_ID(UNIX_TIMESTAMP(UTC_TIMESTAMP(3)) * 1000) > 0;

INSERT INTO stock_slot (sku_id, location_id, slot, available, reserved) VALUES (1, 1, 0, 1, 1) ON DUPLICATE KEY
    UPDATE reserved = IF(available >= VALUES(available), reserved + VALUES(reserved), reserved), available =
    IF(available >= VALUES(available), available - VALUES(available), available);

INSERT INTO reservation (reservation_id, order_id, lines_hash, key_id, state, expires_at, due_at, attempts,
    created_at) VALUES (116, 'NEW', X'2280E41F65DB4A30D0B7B9C8D9A4E4A1', NULLIF(2375025107, 0), 1, @t + INTERVAL 900
    SECOND, expires_at, 0, @t);

INSERT INTO reservation_line (reservation_id, sku_id, location_id, slot, qty) VALUES (116, 1, 1, 0, 1);

INSERT INTO key_hold (reservation_id, key_id, units) VALUES (116,2375025107,1);

COMMIT;

-- name: a lane receives
SET autocommit = 0;

UPDATE lane FORCE INDEX (PRIMARY) SET batch_no = 12, ops = ops + 1, batch_at = @t := UTC_TIMESTAMP(3) WHERE lane_id
    = 4 AND epoch = 1 AND batch_no = 11 AND LAST_INSERT_ID(UNIX_TIMESTAMP(UTC_TIMESTAMP(3)) * 1000) > 0;

INSERT INTO stock_slot (sku_id, location_id, slot, available, reserved) VALUES (1,1,1,5,0) ON DUPLICATE KEY UPDATE
    available = available + VALUES(available);

SELECT COUNT(*) FROM ( SELECT 1 FROM stock_slot FORCE INDEX (PRIMARY) WHERE sku_id IN (1) GROUP BY sku_id HAVING
    SUM(available + reserved) > 8000000000000000) totals;

INSERT INTO movement (movement_no, movement_id, kind, lines_hash, created_at, reason, reference) VALUES
    (56,'M9',1,x'f970723e15e24d01c2d0129b9314c0cd',@t,NULL,NULL);

INSERT INTO movement_line (movement_no, sku_id, location_id, slot, qty) VALUES (56,1,1,1,5);

COMMIT;

-- name: a lane confirms
SET autocommit = 0;

UPDATE lane FORCE INDEX (PRIMARY) SET batch_no = 10, ops = ops + 1, batch_at = @t := UTC_TIMESTAMP(3) WHERE lane_id
    = 3 AND epoch = 1 AND batch_no = 9 AND LAST_INSERT_ID(UNIX_TIMESTAMP(UTC_TIMESTAMP(3)) * 1000) > 0;

UPDATE reservation FORCE INDEX (PRIMARY) SET state = 2, task_id = NULL, attempts = 0, due_at = @t, confirmed_at = @t
    WHERE reservation_id IN (107) AND state = 1 AND expires_at > SYSDATE(3);

COMMIT;

-- name: a lane extends
SET autocommit = 0;

UPDATE lane FORCE INDEX (PRIMARY) SET batch_no = 12, ops = ops + 1, batch_at = @t := UTC_TIMESTAMP(3) WHERE lane_id
    = 4 AND epoch = 1 AND batch_no = 11 AND LAST_INSERT_ID(UNIX_TIMESTAMP(UTC_TIMESTAMP(3)) * 1000) > 0;

UPDATE reservation FORCE INDEX (PRIMARY) SET expires_at = @t + INTERVAL 86000 SECOND, due_at = expires_at, task_id =
    NULL, attempts = 0 WHERE reservation_id IN (106) AND state = 1 AND expires_at > SYSDATE(3);

COMMIT;

-- name: a lane releases
SET autocommit = 0;

UPDATE lane FORCE INDEX (PRIMARY) SET batch_no = 10, ops = ops + 1, batch_at = @t := UTC_TIMESTAMP(3) WHERE lane_id
    = 3 AND epoch = 1 AND batch_no = 9 AND LAST_INSERT_ID(UNIX_TIMESTAMP(UTC_TIMESTAMP(3)) * 1000) > 0;

UPDATE reservation FORCE INDEX (PRIMARY) SET state = 4, released_at = @t WHERE reservation_id IN (108) AND state = 1
    AND expires_at > SYSDATE(3);

INSERT INTO stock_slot (sku_id, location_id, slot, available, reserved) VALUES (1,1,0,2,2) ON DUPLICATE KEY UPDATE
    available = available + VALUES(available), reserved = reserved - VALUES(reserved);

COMMIT;

-- name: a lane sweeps
SELECT EXISTS (SELECT 1 FROM reservation FORCE INDEX (claim) WHERE state = 1 AND task_id IS NULL AND due_at <=
    UTC_TIMESTAMP(3)) OR EXISTS (SELECT 1 FROM reservation FORCE INDEX (claim) WHERE state = 1 AND task_id >= 0 AND
    expires_at <= UTC_TIMESTAMP(3)), UTC_TIMESTAMP(3), (SELECT started_at FROM lane WHERE lane_id = 3);

BEGIN NOT ATOMIC DECLARE verdict INT DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK;
  RESIGNAL;
  END;
  ROLLBACK;
  SET @t = UTC_TIMESTAMP(3);
  START TRANSACTION;
  work: BEGIN UPDATE reservation FORCE INDEX (PRIMARY) SET state = 5, task_id = NULLIF(0, 0), attempts = 0 WHERE
    reservation_id IN (115) AND (0 = 0 OR task_id = 0) AND state = 1 AND expires_at <= SYSDATE(3);
  IF ROW_COUNT() <> 1 THEN SET verdict = 2;
  LEAVE work;
  END IF;
  INSERT INTO stock_slot (sku_id, location_id, slot, available, reserved) VALUES (1,1,0,2,2) ON DUPLICATE KEY UPDATE
    available = available + VALUES(available), reserved = reserved - VALUES(reserved);
  IF ROW_COUNT() <> 2 THEN SET verdict = 6;
  LEAVE work;
  END IF;
  END work;
  IF verdict = 0 THEN COMMIT;
  ELSE ROLLBACK;
  END IF;
  SELECT verdict;
  END;

-- name: a lane connects anew
UPDATE lane SET epoch = epoch + 1 WHERE lane_id = 3 AND mark = 7291398648042314671;

-- name: a lane begins
INSERT INTO lane (slot, mark, epoch, batch_no, batch_at, started_at) VALUES (0, 7, 1, 0, UTC_TIMESTAMP(3),
    UTC_TIMESTAMP(3)) RETURNING lane_id, UTC_TIMESTAMP(3);

-- name: a worker claims confirmed orders
BEGIN NOT ATOMIC DECLARE t DATETIME(3);
  DECLARE due INT DEFAULT 0;
  DECLARE locked INT DEFAULT 0;
  DECLARE token BIGINT UNSIGNED DEFAULT 0;
  DECLARE number BIGINT UNSIGNED DEFAULT NULL;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK;
  RESIGNAL;
  END;
  ROLLBACK;
  SET t = UTC_TIMESTAMP(3);
  SELECT COUNT(*) INTO due FROM ( SELECT 1 FROM reservation FORCE INDEX (claim) WHERE state = 2 AND task_id = 0 AND
    due_at <= t LIMIT 500) again;
  IF due > 0 THEN UPDATE ( SELECT reservation_id FROM reservation FORCE INDEX (claim) WHERE state = 2 AND task_id =
    0 AND due_at <= t LIMIT due FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY)
    ON r.reservation_id = unlocked.reservation_id SET r.task_id = NULL;
  END IF;
  SELECT COUNT(*) INTO due FROM (SELECT 1 FROM reservation FORCE INDEX (claim) WHERE state = 2 AND task_id IS NULL
    AND due_at BETWEEN TIMESTAMP'1970-01-01T00:00:00.000' AND t LIMIT 500) waiting;
  WHILE due > 0 AND token = 0 DO IF locked THEN SELECT COUNT(*) INTO due FROM ( SELECT reservation_id FROM
    reservation FORCE INDEX (claim) WHERE state = 2 AND task_id IS NULL AND due_at BETWEEN
    TIMESTAMP'1970-01-01T00:00:00.000' AND t LIMIT 500 FOR UPDATE SKIP LOCKED) unlocked;
  END IF;
  START TRANSACTION;
  INSERT INTO task (task_id, kind, worker, state, lease_until, claimed, completed, failed, created_at, mark) VALUES
    (number, 1, x'766d2e31313037322e30', 1, t + INTERVAL 30 SECOND, 0, 0, 0, t, 2770080541545697067);
  SET token = IFNULL(number, LAST_INSERT_ID());
  IF locked THEN UPDATE ( SELECT reservation_id FROM reservation FORCE INDEX (claim) WHERE state = 2 AND task_id IS
    NULL AND due_at BETWEEN TIMESTAMP'1970-01-01T00:00:00.000' AND t LIMIT due FOR UPDATE SKIP LOCKED) unlocked
    STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = unlocked.reservation_id SET r.task_id =
    token, r.attempts = r.attempts + 1;
  SET due = ROW_COUNT();
  ELSE BEGIN DECLARE EXIT HANDLER FOR 1205 SET locked = 1, number = token, token = 0;
  SET STATEMENT innodb_lock_wait_timeout = 1 FOR UPDATE reservation FORCE INDEX (claim) SET task_id = token,
    attempts = attempts + 1 WHERE state = 2 AND task_id IS NULL AND due_at BETWEEN
    TIMESTAMP'1970-01-01T00:00:00.000' AND t LIMIT due;
  SET due = ROW_COUNT();
  END;
  IF token = 0 THEN ROLLBACK;
  SET t = UTC_TIMESTAMP(3);
  END IF;
  END IF;
  END WHILE;
  IF token > 0 AND due > 0 THEN UPDATE task SET claimed = due WHERE task_id = token;
  COMMIT;
  ELSE ROLLBACK;
  SET token = 0;
  END IF;
  SELECT token, due, t + INTERVAL 30 SECOND, locked;
  END;

-- name: a worker claims holds
BEGIN NOT ATOMIC DECLARE t DATETIME(3);
  DECLARE due INT DEFAULT 0;
  DECLARE locked INT DEFAULT 0;
  DECLARE token BIGINT UNSIGNED DEFAULT 0;
  DECLARE number BIGINT UNSIGNED DEFAULT NULL;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK;
  RESIGNAL;
  END;
  ROLLBACK;
  SET t = UTC_TIMESTAMP(3);
  SELECT COUNT(*) INTO due FROM ( SELECT 1 FROM reservation FORCE INDEX (claim) WHERE state = 1 AND task_id = 0 AND
    due_at <= t LIMIT 500) again;
  IF due > 0 THEN UPDATE ( SELECT reservation_id FROM reservation FORCE INDEX (claim) WHERE state = 1 AND task_id =
    0 AND due_at <= t LIMIT due FOR UPDATE SKIP LOCKED) unlocked STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY)
    ON r.reservation_id = unlocked.reservation_id SET r.task_id = NULL;
  END IF;
  SELECT COUNT(*) INTO due FROM (SELECT 1 FROM reservation FORCE INDEX (claim) WHERE state = 1 AND task_id IS NULL
    AND due_at BETWEEN TIMESTAMP'1970-01-01T00:00:00.000' AND t LIMIT 500) waiting;
  WHILE due > 0 AND token = 0 DO IF locked THEN SELECT COUNT(*) INTO due FROM ( SELECT reservation_id FROM
    reservation FORCE INDEX (claim) WHERE state = 1 AND task_id IS NULL AND due_at BETWEEN
    TIMESTAMP'1970-01-01T00:00:00.000' AND t LIMIT 500 FOR UPDATE SKIP LOCKED) unlocked;
  END IF;
  START TRANSACTION;
  INSERT INTO task (task_id, kind, worker, state, lease_until, claimed, completed, failed, created_at, mark) VALUES
    (number, 2, x'766d2e31313034342e30', 1, t + INTERVAL 30 SECOND, 0, 0, 0, t, 1508757032188829466);
  SET token = IFNULL(number, LAST_INSERT_ID());
  IF locked THEN UPDATE ( SELECT reservation_id FROM reservation FORCE INDEX (claim) WHERE state = 1 AND task_id IS
    NULL AND due_at BETWEEN TIMESTAMP'1970-01-01T00:00:00.000' AND t LIMIT due FOR UPDATE SKIP LOCKED) unlocked
    STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = unlocked.reservation_id SET r.task_id =
    token, r.attempts = r.attempts + 1;
  SET due = ROW_COUNT();
  ELSE BEGIN DECLARE EXIT HANDLER FOR 1205 SET locked = 1, number = token, token = 0;
  SET STATEMENT innodb_lock_wait_timeout = 1 FOR UPDATE reservation FORCE INDEX (claim) SET task_id = token,
    attempts = attempts + 1 WHERE state = 1 AND task_id IS NULL AND due_at BETWEEN
    TIMESTAMP'1970-01-01T00:00:00.000' AND t LIMIT due;
  SET due = ROW_COUNT();
  END;
  IF token = 0 THEN ROLLBACK;
  SET t = UTC_TIMESTAMP(3);
  END IF;
  END IF;
  END WHILE;
  IF token > 0 AND due > 0 THEN UPDATE task SET claimed = due WHERE task_id = token;
  COMMIT;
  ELSE ROLLBACK;
  SET token = 0;
  END IF;
  SELECT token, due, t + INTERVAL 30 SECOND, locked;
  END;

-- name: a worker completes
BEGIN NOT ATOMIC DECLARE verdict INT DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK;
  RESIGNAL;
  END;
  ROLLBACK;
  SET @t = UTC_TIMESTAMP(3);
  START TRANSACTION;
  work: BEGIN UPDATE reservation FORCE INDEX (PRIMARY) SET state = 3, settled_at = @t WHERE reservation_id IN
    (111,112,113) AND task_id = 5 AND state = 2;
  IF ROW_COUNT() <> 3 THEN SET verdict = 2;
  LEAVE work;
  END IF;
  INSERT INTO stock_slot (sku_id, location_id, slot, available, reserved) VALUES (2,1,0,0,3),(2,1,1,0,3) ON
    DUPLICATE KEY UPDATE reserved = reserved - VALUES(reserved);
  IF ROW_COUNT() <> 4 THEN SET verdict = 6;
  LEAVE work;
  END IF;
  INSERT INTO movement (movement_no, movement_id, kind, lines_hash, created_at, reason, reference) VALUES
    (56,'settlement/5/111',5,x'00000000000000000000000000000000',@t,NULL,'5');
  INSERT INTO movement_line (movement_no, sku_id, location_id, slot, qty) VALUES (56,2,1,0,-3),(56,2,1,1,-3);
  UPDATE task SET completed = completed + 3, state = IF(EXISTS (SELECT 1 FROM reservation FORCE INDEX (claim) WHERE
    state = 2 AND task_id = 5), 1, 2), ended_at = IF(state = 2, @t, NULL), lease_until = GREATEST(lease_until, @t +
    INTERVAL 30 SECOND) WHERE task_id = 5 AND state = 1;
  IF ROW_COUNT() <> 1 THEN SET verdict = 5;
  LEAVE work;
  END IF;
  END work;
  IF verdict = 0 THEN COMMIT;
  ELSE ROLLBACK;
  END IF;
  SELECT verdict;
  END;

-- name: a worker fails
BEGIN NOT ATOMIC DECLARE verdict INT DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK;
  RESIGNAL;
  END;
  ROLLBACK;
  SET @t = UTC_TIMESTAMP(3);
  START TRANSACTION;
  work: BEGIN UPDATE reservation FORCE INDEX (PRIMARY) SET task_id = NULL, due_at = @t + INTERVAL 2120 * 1000
    MICROSECOND, last_error = x'6c617465' WHERE reservation_id = 112 AND task_id = 5 AND state = 2;
  IF ROW_COUNT() <> 1 THEN SET verdict = 2;
  LEAVE work;
  END IF;
  UPDATE task SET failed = failed + 1, state = IF(EXISTS (SELECT 1 FROM reservation FORCE INDEX (claim) WHERE state
    = 2 AND task_id = 5), 1, 2), ended_at = IF(state = 2, @t, NULL) WHERE task_id = 5 AND state = 1;
  IF ROW_COUNT() <> 1 THEN SET verdict = 5;
  LEAVE work;
  END IF;
  END work;
  IF verdict = 0 THEN COMMIT;
  ELSE ROLLBACK;
  END IF;
  SELECT verdict;
  END;

-- name: a worker renews its lease
BEGIN NOT ATOMIC DECLARE verdict INT DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK;
  RESIGNAL;
  END;
  ROLLBACK;
  SET @t = UTC_TIMESTAMP(3);
  START TRANSACTION;
  work: BEGIN UPDATE task SET lease_until = @t + INTERVAL 60 SECOND WHERE task_id = 5 AND state = 1;
  END work;
  IF verdict = 0 THEN COMMIT;
  ELSE ROLLBACK;
  END IF;
  SELECT verdict;
  END;

-- name: a worker gives back
BEGIN NOT ATOMIC DECLARE verdict INT DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK;
  RESIGNAL;
  END;
  ROLLBACK;
  SET @t = UTC_TIMESTAMP(3);
  START TRANSACTION;
  work: BEGIN UPDATE reservation FORCE INDEX (PRIMARY) SET task_id = NULL, attempts = attempts - 1 WHERE
    reservation_id IN (111,112,113) AND task_id = 5 AND state = 2;
  IF ROW_COUNT() <> 3 THEN SET verdict = 2;
  LEAVE work;
  END IF;
  UPDATE task SET state = 3, ended_at = @t WHERE task_id = 5 AND state = 1;
  IF ROW_COUNT() <> 1 THEN SET verdict = 5;
  LEAVE work;
  END IF;
  END work;
  IF verdict = 0 THEN COMMIT;
  ELSE ROLLBACK;
  END IF;
  SELECT verdict;
  END;

-- name: a reaper frees
SELECT k.task_id, k.kind, k.worker, k.state, k.lease_until, k.claimed, k.completed, k.failed, k.created_at, 1 FROM
    task k FORCE INDEX (open_lease) WHERE k.state = 1 AND k.lease_until >= TIMESTAMP'1970-01-01T00:00:00.000' AND
    k.lease_until < UTC_TIMESTAMP(3) - INTERVAL 0 SECOND AND (k.lease_until > TIMESTAMP'1970-01-01T00:00:00.000' OR
    k.task_id > 0) ORDER BY k.lease_until, k.task_id LIMIT 100;

UPDATE task SET state = 4, ended_at = UTC_TIMESTAMP(3) WHERE task_id = 6 AND state = 1 AND lease_until <
    UTC_TIMESTAMP(3) - INTERVAL 0 SECOND;

BEGIN NOT ATOMIC DECLARE verdict INT DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK;
  RESIGNAL;
  END;
  ROLLBACK;
  SET @t = UTC_TIMESTAMP(3);
  START TRANSACTION;
  work: BEGIN UPDATE reservation FORCE INDEX (PRIMARY) SET task_id = NULL, due_at = @t + INTERVAL 2072 * 1000
    MICROSECOND, last_error = x'746865206c65617365206f6620776f726b657220676f6e652072616e206f7574' WHERE
    reservation_id = 114 AND task_id = 6 AND state = 2;
  IF ROW_COUNT() <> 1 THEN SET verdict = 2;
  LEAVE work;
  END IF;
  END work;
  IF verdict = 0 THEN COMMIT;
  ELSE ROLLBACK;
  END IF;
  SELECT verdict;
  END;
