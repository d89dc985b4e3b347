-- The lane's own row, in the table of writers.

-- name: lane_wait
-- Sets the lock wait of the lane's connection in seconds; 0: no wait at all.
SET SESSION innodb_lock_wait_timeout = {wait_s}, lock_wait_timeout = {wait_s};

-- name: glimpse
-- The next transaction also reads uncommitted rows.
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;

-- name: looks_end
ROLLBACK;

-- name: lane_make
-- A row for this run of the lane. An INSERT .. RETURNING reads its number in the same trip.
INSERT INTO writer (slot, mark, epoch, batch_no, batch_at, started_at)
VALUES ({slot}, {mark}, 1, 0, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))
RETURNING writer_id, UTC_TIMESTAMP(3);

-- name: lane_raise
-- A new connection shuts the old one out: raising the epoch waits for a transaction that still holds the row, and
-- fences one that comes late.
UPDATE writer SET epoch = epoch + 1 WHERE writer_id = {lane} AND mark = {mark};

-- name: lane_read
-- The lane's last committed batch. One row; none where this database never had this lane.
SELECT epoch, batch_no, batch_at, UTC_TIMESTAMP(3) FROM writer WHERE writer_id = {lane} AND mark = {mark};

-- name: past_read
-- The mark of this database, and the codes that the newest known sku and location have in it (number 0: none is known).
-- One row.
SELECT mark, (SELECT code FROM sku WHERE sku_id = {sku}), (SELECT code FROM location WHERE location_id = {location})
  FROM identity WHERE one = 1;

-- name: lanes_work
-- The number of operations that the lanes have done so far. A lane that ends takes its share along. The statement walks
-- all lanes, a handful of rows.
SELECT COALESCE(SUM(ops), 0) FROM writer;

-- name: lane_drop
-- A lane that ends in order takes its row along.
DELETE FROM writer WHERE writer_id = {lane} AND mark = {mark};

-- name: lane_purge
-- Rows of lanes that wrote nothing for {keep_days}: their processes did not end in order. A lane that is only idle
-- makes itself a new row.
DELETE FROM writer WHERE batch_at < UTC_TIMESTAMP(3) - INTERVAL GREATEST(1, {keep_days}) DAY;

-- name: lane_enter (prepared, never_waits)
-- The fence, the first write of every transaction of a lane. The statement locks the lane's row, checks the epoch,
-- leaves the number of the batch behind as proof of the commit, tells @t, the time of the transaction, and makes @s,
-- its stamp: later than any stamp of this lane, and no less than the least one asked for. @t in ms since 1970 is also
-- its LAST_INSERT_ID, which the server gives back with the count. The fence changes no row where the lane is shut out,
-- or where the row does not say what was committed last: the database is in another past. Values: (batch, operations of
-- it, least stamp, lane, epoch, batch committed last).
UPDATE writer FORCE INDEX (PRIMARY)
   SET batch_no = ?, ops = ops + ?, batch_at = @t := UTC_TIMESTAMP(3),
       stamp = @s := GREATEST(stamp + 1, ?, {clock_stamp})
 WHERE writer_id = ? AND epoch = ? AND batch_no = ? AND LAST_INSERT_ID(UNIX_TIMESTAMP(UTC_TIMESTAMP(3)) * 1000) > 0;
