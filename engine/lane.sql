-- The lane's own row. {lane} {slot} {count} are numbers.

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

-- name: lanes_work
-- How much the lanes have done so far: batch_no grows by the operations of a batch. A lane that ends takes its share along. A walk
-- over all lanes, a handful of rows.
SELECT COALESCE(SUM(batch_no), 0) FROM lane;

-- name: lane_drop
-- A lane that ends in order takes its row along.
DELETE FROM lane WHERE lane_id = {lane};

-- name: lane_purge
-- Rows of lanes that wrote nothing for {count} days: their processes did not end in order. A lane that is only idle makes itself
-- a new row.
DELETE FROM lane WHERE batch_at < UTC_TIMESTAMP(3) - INTERVAL GREATEST(1, {count}) DAY;

-- name: lane_enter
-- The first write of every transaction of a lane. It locks the lane's row, checks the epoch, leaves the number of the batch behind
-- as proof of the commit, and tells @t, the time of the transaction; a lane that is fenced has no row in the answer.
-- Prepared: (batch, lane, epoch).
INSERT INTO lane (lane_id, slot, epoch, batch_no, batch_at, started_at)
SELECT lane_id, slot, epoch, ?, @t, started_at FROM lane WHERE lane_id = ? AND epoch = ? FOR UPDATE
    ON DUPLICATE KEY UPDATE batch_no = VALUES(batch_no), batch_at = VALUES(batch_at)
RETURNING batch_at;

-- name: lane_mark
-- The same in a compound (guard.sql): {count} is the number of the batch. No row is changed where the lane is fenced.
    UPDATE lane FORCE INDEX (PRIMARY) SET batch_no = {count}, batch_at = @t WHERE lane_id = {lane} AND epoch = {epoch};
