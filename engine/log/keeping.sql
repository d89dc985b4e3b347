-- How long events are kept, and the removal of older ones.

-- name: keep_read
-- One row: the days that events are kept.
SELECT keep_days FROM event_log WHERE one = 1;

-- name: keep_set
-- Keeps events for {keep_days}. Switching the log on or off raises the epoch of every writer: each process takes its
-- writers up again, and learns of the switch. A log that is switched on is empty, so that no reader passes over a gap.
-- One row: the days of before, and 1 where events of before are left and nothing was done.
BEGIN NOT ATOMIC
  DECLARE days SMALLINT UNSIGNED;
  DECLARE kept TINYINT UNSIGNED DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  START TRANSACTION;
  SELECT keep_days INTO days FROM event_log WHERE one = 1 FOR UPDATE;
  IF days = 0 AND {keep_days} > 0 THEN
    SET kept = EXISTS (SELECT 1 FROM log_writer w {floors} WHERE {floor} < w.event_no);
  END IF;
  IF kept THEN
    ROLLBACK;
  ELSE
    UPDATE event_log SET keep_days = {keep_days} WHERE one = 1;
    IF (days > 0) <> ({keep_days} > 0) THEN
      UPDATE log_writer SET epoch = epoch + 1 WHERE ended = 0;
      UPDATE event_log
         SET era = era + 1, since = (SELECT GREATEST(COALESCE(MAX(stamp), 0), {clock_stamp}) FROM log_writer)
       WHERE one = 1;
    END IF;
    COMMIT;
  END IF;
  SELECT days, kept;
END

-- piece: is_old
-- A row that may go. Both its times say so: a clock that was wrong for a while has made one of them. The stamp of a
-- clock that was ahead says nothing.
(days = 0 OR (at < UTC_TIMESTAMP(3) - INTERVAL days DAY
              AND (stamp < {clock_stamp} - days * 86400000000 OR stamp > {clock_stamp} + 3600000000)))

-- piece: is_ahead
-- A clock that was ahead has made the row: how old it is, the rows behind it say.
at > UTC_TIMESTAMP(3) + INTERVAL 1 HOUR

-- name: keep_page
-- Writers with an oldest event that may go, or that a clock ahead has made: two looks by primary key for each.
SELECT w.writer_id
  FROM (SELECT keep_days AS days FROM event_log WHERE one = 1) l
  STRAIGHT_JOIN log_writer w {floors}
 WHERE {floor} < w.event_no
   AND COALESCE((SELECT {is_old} OR {is_ahead} FROM event e FORCE INDEX (PRIMARY)
                  WHERE e.writer_id = w.writer_id AND e.event_no > {floor} ORDER BY e.event_no LIMIT 1), days = 0);

-- name: keep_piece
-- Removes up to {limit} of the oldest events of {writer} and moves its floor. The last one that may go is looked for by
-- halves, from the end on. A row that is missing is like the next one; a row of a clock that was ahead like one further
-- on, which is looked for in growing steps, and where there is none, as old as the writer's last sign. event_no is read
-- before keep_days: where that is 0, all these are of before the log was switched off. The writer's row is not written:
-- its owner needs it for every transaction, perhaps on another node. One row: the number of events that are gone.
BEGIN NOT ATOMIC
  DECLARE low, gone, mid, above, last, newest, seen, step BIGINT UNSIGNED;
  DECLARE sign_at DATETIME(3);
  DECLARE days INT;
  DECLARE goes TINYINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  SELECT {floor}, w.event_no, LEAST(w.event_no, {floor} + {limit}), w.batch_at INTO low, newest, mid, sign_at
    FROM log_writer w FORCE INDEX (PRIMARY) {floors} WHERE w.writer_id = {writer};
  SELECT keep_days INTO days FROM event_log WHERE one = 1;
  SET gone = low, above = mid + 1;
  WHILE above - gone > 1 DO
    SET goes = NULL, seen = mid, step = 1;
    WHILE goes IS NULL AND seen <= newest DO
      SET goes = (SELECT IF({is_ahead}, NULL, {is_old}) FROM event FORCE INDEX (PRIMARY)
                   WHERE writer_id = {writer} AND event_no >= seen ORDER BY event_no LIMIT 1);
      SET seen = seen + step, step = 2 * step;
    END WHILE;
    IF COALESCE(goes, days = 0 OR sign_at < UTC_TIMESTAMP(3) - INTERVAL days DAY) THEN
      SET gone = mid;
    ELSE
      SET above = mid;
    END IF;
    SET mid = (gone + above) DIV 2;
  END WHILE;
  IF gone > low THEN
    START TRANSACTION;
    SELECT stamp INTO last FROM event FORCE INDEX (PRIMARY)
     WHERE writer_id = {writer} AND event_no > low AND event_no <= gone ORDER BY event_no DESC LIMIT 1;
    DELETE e FROM event e FORCE INDEX (PRIMARY)
     WHERE e.writer_id = {writer} AND e.event_no > low AND e.event_no <= gone;
    INSERT INTO log_floor (writer_id, floor_no, floor_stamp) VALUES ({writer}, gone, COALESCE(last, 0))
        ON DUPLICATE KEY UPDATE
          floor_stamp = IF(floor_no = low, GREATEST(floor_stamp, VALUES(floor_stamp)), floor_stamp),
          floor_no = IF(floor_no = low, gone, floor_no);
    IF ROW_COUNT() > 0 THEN
      COMMIT;
    ELSE
      ROLLBACK;
      SET gone = low;
    END IF;
  END IF;
  SELECT gone - low;
END
