-- The frame of every transaction of a lane, and the lane's own row.
-- {lane} {epoch} {batch} {slot} {count} {verdict} are numbers, {rows} is a list of rows made by row_*().

-- name: lane_make
-- A row for this run of the lane. An INSERT .. RETURNING reads its number in the same trip.
INSERT INTO lane (slot, epoch, batch_no, batch_at, started_at) VALUES ({slot}, 1, 0, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))
RETURNING lane_id, UTC_TIMESTAMP(3);

-- name: lane_raise
-- A new connection shuts the old one out: this waits for a transaction that still holds the row, and fences a late one.
UPDATE lane SET epoch = epoch + 1 WHERE lane_id = {lane};

-- name: lane_read
-- What the lane's last committed batch was. One row.
SELECT epoch, batch_no, batch_at, UTC_TIMESTAMP(3) FROM lane WHERE lane_id = {lane};

-- name: lane_drop
-- A lane that ends in order takes its row along.
DELETE FROM lane WHERE lane_id = {lane};

-- name: lane_purge
-- Rows of lanes that wrote nothing for {count} days: their processes did not end in order. A lane that is only idle makes itself
-- a new row.
DELETE FROM lane WHERE batch_at < UTC_TIMESTAMP(3) - INTERVAL GREATEST(1, {count}) DAY;

-- name: lane_begin
-- The leading ROLLBACK: an interrupt between two inner statements leaves the compound without its handler and the
-- transaction open, and the next START TRANSACTION would commit half a batch. The UPDATE locks the lane's row, checks the
-- epoch, and leaves the number of the batch behind as proof of the commit.
BEGIN NOT ATOMIC
  DECLARE verdict INT DEFAULT 0;
  DECLARE t DATETIME(3);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  START TRANSACTION;
  work: BEGIN
    UPDATE lane SET batch_no = {batch}, batch_at = SYSDATE(3) WHERE lane_id = {lane} AND epoch = {epoch};
    IF ROW_COUNT() <> 1 THEN SET verdict = 1; LEAVE work; END IF;
    SELECT batch_at INTO t FROM lane WHERE lane_id = {lane};

-- name: lane_expect
-- A guarded write changes exactly the rows it expects, or all of it is undone and the verdict says why.
    IF ROW_COUNT() <> {count} THEN SET verdict = {verdict}; LEAVE work; END IF;

-- name: lane_end
  END work;
  IF verdict = 0 THEN COMMIT; ELSE ROLLBACK; END IF;
  SELECT verdict, t;
END

-- name: lane_open
-- The one kind of transaction that a lane keeps open while C thinks: a movement that must see every slot of its skus.
-- Repeatable read, so that the ranges it read are locked too and no slot row appears in them. One row: the verdict.
BEGIN NOT ATOMIC
  DECLARE verdict INT DEFAULT 0;
  ROLLBACK;
  SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
  START TRANSACTION;
  UPDATE lane SET batch_no = {batch}, batch_at = SYSDATE(3) WHERE lane_id = {lane} AND epoch = {epoch};
  IF ROW_COUNT() <> 1 THEN ROLLBACK; SET verdict = 1; END IF;
  SELECT verdict;
END

-- name: lane_continue
-- The writes of a transaction that lane_open began, in the frame of lane_end.
BEGIN NOT ATOMIC
  DECLARE verdict INT DEFAULT 0;
  DECLARE t DATETIME(3);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  work: BEGIN
    SELECT batch_at INTO t FROM lane WHERE lane_id = {lane};


-- name: free_begin
-- The same frame for a transaction that belongs to no lane. A late one must be harmless by its own guards.
BEGIN NOT ATOMIC
  DECLARE verdict INT DEFAULT 0;
  DECLARE t DATETIME(3) DEFAULT UTC_TIMESTAMP(3);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  START TRANSACTION;
  work: BEGIN
