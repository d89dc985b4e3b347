-- The log as those read it who check it.

-- name: walk_log
-- One row: whether events are written, the era, and the stamp after which every change has its event.
SELECT keep_days > 0, era, GREATEST(since, (SELECT COALESCE(MAX(floor_stamp), 0) FROM writer))
  FROM event_log WHERE one = 1;

-- name: walk_heads
-- The writers, a handful of rows: the last row of each, and the last one that was removed.
SELECT writer_id, event_no, floor_no FROM writer;

-- name: walk_page
-- The next {limit} event rows of {writer} behind {after_id}, up to {until_id}.
SELECT event_no, stamp, at, changes FROM event FORCE INDEX (PRIMARY)
 WHERE writer_id = {writer} AND event_no > {after_id} AND event_no <= {until_id} ORDER BY event_no LIMIT {limit};
