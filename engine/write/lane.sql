-- The statements of a lane on its writer, and beside its batches.

-- name: storage_probe
-- Needs new space, and leaves nothing behind: three rows that together are larger than a page. An update, or a row that
-- fits into a page, would prove nothing. The rows stand behind all that this writer will ever log. They are not larger:
-- MariaDB 10.11 may end where the disk is full and it has to take back what it has put outside of a page.
BEGIN NOT ATOMIC
  DECLARE n INT DEFAULT 3;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  START TRANSACTION;
  WHILE n > 0 DO
    INSERT INTO event ({event_columns})
    VALUES ({writer}, 9000000000000000000 + n, 0, UTC_TIMESTAMP(3), REPEAT('x', 7000));
    SET n = n - 1;
  END WHILE;
  ROLLBACK;
END;

-- name: lanes_work
-- The number of operations that the lanes have done so far. A lane that ends takes its share along. The statement walks
-- all lanes, a handful of rows.
SELECT COALESCE(SUM(ops), 0) FROM log_writer;

-- piece: entered_at
-- Ms since 1970, behind them in 20 bits how many microseconds later the stamp is; the largest number: that or more.
{clock_stamp} DIV 1000 << 20 | LEAST(stamp - {clock_stamp} DIV 1000 * 1000, 1048575)

-- name: lane_enter (prepared, never_waits)
-- The fence, the first write of every transaction of a lane. The statement locks the lane's writer, checks the epoch,
-- leaves the number of the batch behind as proof of the commit, tells @t, the time of the transaction, makes @s, its
-- stamp: later than any stamp of this writer, and no less than the least one asked for; and @n, the number of its event
-- row, where there is one. @t and @s are also its LAST_INSERT_ID (entered_at), which the server gives back with the
-- count.
-- The fence changes no row where the lane is shut out, or where the row does not say what was committed last: the
-- database is in another past. Values: (operations of the batch, event rows, least stamp, batch, writer, epoch, batch
-- that was committed last).
UPDATE log_writer FORCE INDEX (PRIMARY)
   SET ops = ops + ?, event_no = @n := event_no + ?, batch_at = @t := UTC_TIMESTAMP(3),
       stamp = @s := GREATEST(stamp + 1, ?, {clock_stamp}), batch_no = IF(LAST_INSERT_ID({entered_at}) > 0, ?, NULL)
 WHERE writer_id = ? AND epoch = ? AND batch_no = ?;

-- name: lane_stamp
-- The stamp of the transaction, where LAST_INSERT_ID has no room for it.
SELECT @s;

-- name: lane_logs (never_waits)
-- A transaction that began without an event row has one after all.
UPDATE log_writer FORCE INDEX (PRIMARY) SET event_no = @n := event_no + 1 WHERE writer_id = {writer};
