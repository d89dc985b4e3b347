-- The writer of a connection: its row in table writer. The row of event_log is locked before it.

-- piece: writer_columns
-- As writer_read has them. One row.
writer_id, epoch, batch_no, batch_at, UTC_TIMESTAMP(3), @logs

-- name: writer_raise
-- A new connection shuts the old one out: raising the epoch waits for a transaction that still holds the row, and
-- fences one that comes late. The row of event_log is locked, so that a switch of the log comes before or after. No row
-- where this database has no such writer, or somebody else has it.
BEGIN NOT ATOMIC
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  START TRANSACTION;
  SELECT keep_days > 0 INTO @logs FROM event_log WHERE one = 1 LOCK IN SHARE MODE;
  UPDATE writer FORCE INDEX (PRIMARY) SET epoch = epoch + 1 WHERE writer_id = {writer} AND mark = {mark};
  COMMIT;
  SELECT {writer_columns} FROM writer FORCE INDEX (PRIMARY) WHERE writer_id = {writer} AND mark = {mark};
END

-- name: writer_take
-- Takes a writer that was silent for a minute, or makes one. Numbers are given under the lock of the row of event_log,
-- so that a reader who has seen one has seen all below it.
BEGIN NOT ATOMIC
  DECLARE number INT UNSIGNED DEFAULT NULL;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  START TRANSACTION;
  SELECT keep_days > 0 INTO @logs FROM event_log WHERE one = 1 FOR UPDATE;
  SET number = (SELECT writer_id FROM writer FORCE INDEX (PRIMARY)
                 WHERE ended = 0 AND batch_at <= UTC_TIMESTAMP(3) - INTERVAL 60 SECOND LIMIT 1 FOR UPDATE SKIP LOCKED);
  IF number IS NULL THEN
    UPDATE event_log SET writer_last = writer_last + 1 WHERE one = 1;
    SET number = (SELECT writer_last FROM event_log WHERE one = 1);
    INSERT INTO writer (writer_id, slot, mark, epoch, batch_no, batch_at, started_at)
    VALUES (number, {slot}, {mark}, 1, 0, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3));
  ELSE
    UPDATE writer FORCE INDEX (PRIMARY)
       SET slot = {slot}, mark = {mark}, epoch = epoch + 1, batch_no = 0, batch_at = UTC_TIMESTAMP(3),
           started_at = UTC_TIMESTAMP(3)
     WHERE writer_id = number;
  END IF;
  COMMIT;
  SELECT {writer_columns} FROM writer FORCE INDEX (PRIMARY) WHERE writer_id = number AND mark = {mark};
END

-- name: writer_touch
UPDATE writer FORCE INDEX (PRIMARY) SET batch_at = UTC_TIMESTAMP(3) WHERE writer_id = {writer} AND epoch = {epoch};

-- name: writer_leave
-- From now on the writer counts as silent.
UPDATE writer FORCE INDEX (PRIMARY) SET epoch = epoch + 1, batch_at = UTC_TIMESTAMP(3) - INTERVAL 60 SECOND
 WHERE writer_id = {writer} AND mark = {mark};

-- name: writer_purge
-- Writers that nobody will have again, and whose events are gone.
DELETE FROM writer
 WHERE ended = 1 AND floor_no = event_no AND batch_at < UTC_TIMESTAMP(3) - INTERVAL GREATEST(1, {keep_days}) DAY;
