-- The log of events, read. engine/log/event.h knows what a row holds, schema/event.sql the tables.

-- name: feed_log
-- One row. A number of a writer that was read before a snapshot began is of a writer that the snapshot has.
SELECT l.writer_last, l.keep_days, l.era, i.mark
  FROM event_log l STRAIGHT_JOIN identity i ON i.one = l.one WHERE l.one = 1;

-- name: feed_snapshot
START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;

-- name: feed_writers
SELECT w.writer_id, w.event_no, {floor}, COALESCE(f.floor_stamp, 0), w.stamp, w.ended
  FROM log_writer w FORCE INDEX (PRIMARY) {floors} WHERE w.writer_id > 0 ORDER BY w.writer_id;

-- name: feed_look
-- Grows with each row of the log. Changes, too, when the log is switched on or off and when writers come, end and go:
-- no reader stays at a place that names a removed writer.
SELECT COUNT(*), SUM(event_no), SUM(IF(ended, 0, writer_id)), (SELECT era FROM event_log WHERE one = 1)
  FROM log_writer FORCE INDEX (PRIMARY) WHERE writer_id > 0;

-- name: feed_stamps
-- Rows: (writer_id, event_no).
SELECT writer_id, event_no, stamp FROM event FORCE INDEX (PRIMARY)
 WHERE (writer_id, event_no) IN ({rows}) ORDER BY writer_id, event_no;

-- name: feed_rows
-- Rows: (writer_id, event_no).
SELECT writer_id, event_no, at, changes FROM event FORCE INDEX (PRIMARY)
 WHERE (writer_id, event_no) IN ({rows}) ORDER BY writer_id, event_no;

-- name: feed_range
-- For readers of all rows: a range costs a tenth of its keys.
SELECT event_no, stamp, at, changes FROM event FORCE INDEX (PRIMARY)
 WHERE writer_id = {writer} AND event_no > {after_id} AND event_no <= {until_id} ORDER BY event_no;

-- name: feed_is_durable
-- Whether all that was committed is on disk: InnoDB shows a commit before its redo log is written. One row: 0 or 1.
SELECT MAX(IF(variable_name = 'INNODB_LSN_FLUSHED', variable_value + 0, 0))
    >= MAX(IF(variable_name = 'INNODB_LSN_CURRENT', variable_value + 0, 0))
  FROM information_schema.global_status
 WHERE variable_name IN ('INNODB_LSN_FLUSHED', 'INNODB_LSN_CURRENT');

-- name: feed_flush
-- A commit brings all redo log before its own to disk. Each reader has a row of its own: one that several nodes of a
-- cluster write is undone again and again.
INSERT INTO process (mark, n, at) VALUES ({mark}, 1, UTC_TIMESTAMP(3))
    ON DUPLICATE KEY UPDATE n = n + 1, at = VALUES(at);

-- name: sku_names
SELECT sku_id, code FROM sku FORCE INDEX (PRIMARY) WHERE sku_id IN ({list});

-- name: key_names
SELECT key_id, name FROM api_key FORCE INDEX (PRIMARY) WHERE key_id IN ({list});

-- name: history_last
-- The row of an order's last event. One id.
SELECT last_event FROM reservation FORCE INDEX (order_id) WHERE order_id IN ({list});

-- name: history_row
SELECT writer_id, event_no, stamp, at, changes FROM event FORCE INDEX (PRIMARY)
 WHERE writer_id = {writer} AND event_no = {from_id};
