-- The log, as its checks read it.

-- name: walk_log
-- One row: whether events are written, the era, and the stamp after which every change has its event.
SELECT keep_days > 0, era, GREATEST(since, (SELECT COALESCE(MAX(floor_stamp), 0) FROM log_floor))
  FROM event_log WHERE one = 1;

-- name: walk_behind
-- The next event row of {writer} behind {after_id}.
SELECT event_no FROM event FORCE INDEX (PRIMARY)
 WHERE writer_id = {writer} AND event_no > {after_id} ORDER BY event_no LIMIT 1;
