-- The writer of a connection: its row in table log_writer. The rows of location_kinds and event_log are locked before
-- it.

-- piece: writer_as_entered
-- As writer_read has it, one row; none where nothing was found. The columns were read in the transaction: after it, a
-- switch of the log may have raised the epoch, and what was read of the log would be of an older epoch.
SELECT number, age, batch, at, UTC_TIMESTAMP(3), logs, given FROM DUAL WHERE age IS NOT NULL

-- piece: writer_declare
DECLARE number INT UNSIGNED DEFAULT NULL;
  DECLARE age, batch BIGINT UNSIGNED DEFAULT NULL;
  DECLARE at DATETIME(3);
  DECLARE logs TINYINT;
  DECLARE given BIGINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END

-- piece: kinds_enter
-- A change of a kind comes before, and its kind is read afterwards, or comes behind and shuts this writer out.
UPDATE location_kinds SET entered = entered + 1 WHERE one = 1

-- name: writer_raise
-- A new connection shuts the old one out: raising the epoch waits for a transaction that still holds the row, and
-- fences one that comes late. The row of event_log is locked, so that a switch of the log comes before or after. No row
-- where this database has no writer of this number and mark, or it has ended.
BEGIN NOT ATOMIC
  {writer_declare};
  ROLLBACK;
  START TRANSACTION;
  {kinds_enter};
  SELECT keep_days > 0 INTO logs FROM event_log WHERE one = 1 LOCK IN SHARE MODE;
  UPDATE log_writer FORCE INDEX (PRIMARY) SET epoch = epoch + 1
   WHERE writer_id = {writer} AND mark = {mark} AND ended = 0;
  IF ROW_COUNT() = 1 THEN
    SELECT writer_id, epoch, batch_no, batch_at, stamp INTO number, age, batch, at, given
      FROM log_writer FORCE INDEX (PRIMARY) WHERE writer_id = {writer};
  END IF;
  COMMIT;
  SET @w = number << 40;
  {writer_as_entered};
END

-- name: writer_take
-- Takes a writer that was silent for a minute, or makes one. Numbers are given under the lock of the row of event_log,
-- so that a reader that has seen one has seen all below it.
BEGIN NOT ATOMIC
  {writer_declare};
  ROLLBACK;
  START TRANSACTION;
  {kinds_enter};
  SELECT keep_days > 0 INTO logs FROM event_log WHERE one = 1 FOR UPDATE;
  SET number = (SELECT writer_id FROM log_writer FORCE INDEX (PRIMARY)
                 WHERE ended = 0 AND batch_at <= UTC_TIMESTAMP(3) - INTERVAL 60 SECOND LIMIT 1 FOR UPDATE SKIP LOCKED);
  IF number IS NULL THEN
    UPDATE event_log SET writer_last = writer_last + 1 WHERE one = 1;
    SET number = (SELECT writer_last FROM event_log WHERE one = 1);
    INSERT INTO log_writer (writer_id, slot, mark, epoch, batch_no, batch_at, started_at)
    VALUES (number, {slot}, {mark}, 1, 0, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3));
  ELSE
    UPDATE log_writer FORCE INDEX (PRIMARY)
       SET slot = {slot}, mark = {mark}, epoch = epoch + 1, batch_no = 0, batch_at = UTC_TIMESTAMP(3),
           started_at = UTC_TIMESTAMP(3)
     WHERE writer_id = number;
  END IF;
  SELECT epoch, batch_no, batch_at, stamp INTO age, batch, at, given
    FROM log_writer FORCE INDEX (PRIMARY) WHERE writer_id = number;
  COMMIT;
  SET @w = number << 40;
  {writer_as_entered};
END

-- name: writer_touch
UPDATE log_writer FORCE INDEX (PRIMARY) SET batch_at = UTC_TIMESTAMP(3) WHERE writer_id = {writer} AND epoch = {epoch};

-- name: writer_leave
-- From now on the writer counts as silent.
UPDATE log_writer FORCE INDEX (PRIMARY) SET epoch = epoch + 1, batch_at = UTC_TIMESTAMP(3) - INTERVAL 60 SECOND
 WHERE writer_id = {writer} AND mark = {mark};

-- piece: writer_silent_s
-- How far its last sign lies from now: the sign of a clock that was ahead lies in the future.
ABS(TIMESTAMPDIFF(SECOND, batch_at, UTC_TIMESTAMP(3)))

-- name: writers_silent
-- Writers that were silent for an hour; where there are more than 64, for five minutes: every cursor of the feed names
-- them all. A plain read of a handful of rows.
SELECT writer_id FROM log_writer
 WHERE ended = 0
   AND {writer_silent_s} > IF((SELECT COUNT(*) FROM log_writer WHERE ended = 0) > 64, 300, 3600);

-- name: writers_end
-- Ends the writers of {list} that no connection has taken up since. batch_at becomes the time of the end.
UPDATE log_writer FORCE INDEX (PRIMARY) SET ended = 1, epoch = epoch + 1, batch_at = UTC_TIMESTAMP(3)
 WHERE writer_id IN ({list}) AND ended = 0 AND {writer_silent_s} > 300;

-- piece: floors
LEFT JOIN log_floor f FORCE INDEX (PRIMARY) ON f.writer_id = w.writer_id

-- piece: floor
COALESCE(f.floor_no, 0)

-- name: writer_purge
-- Removes writers that have ended, have no events left, and ended as long ago as events are kept, a day at least: a
-- younger cursor may have a place for one. What event_log.since says stays true without their floors.
BEGIN NOT ATOMIC
  DECLARE before_at DATETIME(3);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  START TRANSACTION;
  SELECT UTC_TIMESTAMP(3) - INTERVAL GREATEST(1, keep_days) DAY INTO before_at
    FROM event_log WHERE one = 1 FOR UPDATE;
  UPDATE event_log
     SET since = GREATEST(since, (SELECT COALESCE(MAX(f.floor_stamp), 0) FROM log_writer w {floors}
                                   WHERE w.ended = 1 AND {floor} = w.event_no AND w.batch_at < before_at))
   WHERE one = 1;
  DELETE w, f FROM log_writer w {floors} WHERE w.ended = 1 AND {floor} = w.event_no AND w.batch_at < before_at;
  COMMIT;
END
