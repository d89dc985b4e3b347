-- Stored times that the present clock cannot have given (ahead.def): a clock that was ahead has given them. A statement
-- that meets one of these times takes it for none, as far as it can tell; a reaper brings it back.

-- piece: soon
-- A time no later than this may be given by the present clock: the minute is for clocks that are set right bit by bit.
UTC_TIMESTAMP(3) + INTERVAL 60 SECOND

-- piece: latest_lease
-- The end of the longest lease, an hour, and that minute.
UTC_TIMESTAMP(3) + INTERVAL 3660 SECOND

-- piece: latest_due
-- No pause ends later: 2^attempts seconds, 600 at most, give or take a tenth. The minute is for clocks.
UTC_TIMESTAMP(3) + INTERVAL 60000000 + 1100000 * LEAST(600, 1 << LEAST(attempts, 10)) MICROSECOND

-- piece: latest_shipping
-- No order was told to be shipped later: 400 days, by the clock of a service, and a day for that clock.
UTC_TIMESTAMP(3) + INTERVAL 401 DAY

-- piece: clock_was_ahead
-- A writer's stamps never go back. So those of a writer that has stored a time beyond {soon} lie ahead as well, until
-- that time is reached; the writers are a handful of rows. Without one nothing need be walked.
EXISTS (SELECT 1 FROM log_writer g FORCE INDEX (PRIMARY)
         WHERE g.writer_id > 0 AND g.stamp > {clock_stamp} + 60000000)

-- name: leases_ahead
-- Open tasks that were made, or whose lease was renewed, by a clock that was ahead.
SELECT task_id FROM job_task FORCE INDEX (open_lease)
 WHERE state = {open} AND lease_until > {soon} AND (created_at > {soon} OR lease_until > {latest_lease})
 LIMIT {limit};

-- name: leases_bring_back
-- Shortens a lease. A lease made ahead of now is as long as it was, from now on. A lease renewed ahead of now lasts a
-- minute: its length is not known. A lease that ends before it was made has been renewed by the present clock.
UPDATE job_task FORCE INDEX (PRIMARY)
   SET lease_until = CASE
         WHEN created_at > {soon} AND lease_until > created_at
         THEN UTC_TIMESTAMP(3)
              + INTERVAL LEAST(TIMESTAMPDIFF(MICROSECOND, created_at, lease_until), 3600000000) MICROSECOND
         WHEN lease_until > {latest_lease} THEN {soon}
         ELSE lease_until END,
       created_at = LEAST(created_at, UTC_TIMESTAMP(3))
 WHERE task_id IN ({list}) AND state = {open} AND (created_at > {soon} OR lease_until > {latest_lease});

-- name: orders_ahead
-- Confirmed orders, and holds that failed to expire, that wait for a time beyond any that the present clock gives. The
-- farthest of each, {limit} at most: an order as near as a pause may be is due soon.
SELECT reservation_id, changed, attempts FROM (
  (SELECT reservation_id, changed, attempts, due_at FROM reservation FORCE INDEX (claim)
    WHERE state = {confirmed} AND {is_free} AND due_at > {soon}
    ORDER BY due_at DESC LIMIT {limit})
  UNION ALL
  (SELECT reservation_id, changed, attempts, due_at FROM reservation FORCE INDEX (claim)
    WHERE state = {held} AND {is_put_aside} AND due_at > {soon}
    ORDER BY due_at DESC LIMIT {limit})) late
 WHERE due_at > {latest_due};

-- name: orders_bring_back
-- Makes these orders due now, or when they may be shipped.
UPDATE reservation FORCE INDEX (PRIMARY)
   SET version = IF(version_kept = changed, version, changed),
       changed = GREATEST(changed + 1, {clock_stamp}), version_kept = changed,
       task_id = IF(state = {confirmed} AND ship_after > UTC_TIMESTAMP(3), 0, task_id),
       due_at = IF(state = {confirmed} AND ship_after > UTC_TIMESTAMP(3), ship_after, UTC_TIMESTAMP(3))
 WHERE {as_read} AND ({waits_for_worker})
   AND due_at > {soon};

-- name: arrivals_ahead
-- Arrivals that a writer has, for half a second, by a clock that was ahead. Few are open.
SELECT movement_no, sku_id, from_id, to_id FROM arrival_open FORCE INDEX (PRIMARY)
 WHERE movement_no > 0 AND due_at > {soon} LIMIT {limit};

-- name: arrivals_bring_back
UPDATE arrival_open FORCE INDEX (PRIMARY) SET due_at = UTC_TIMESTAMP(3)
 WHERE (movement_no, sku_id, from_id, to_id) IN ((0, 0, 0, 0), {rows}) AND due_at > {soon};

-- name: webhooks_ahead
-- Webhooks with a lease that is longer than any may be: their deliverer may have ended, and no other can claim them.
SELECT mark & 9223372036854775807 FROM webhook FORCE INDEX (claim)
 WHERE state = {active} AND due_at > {latest_lease} LIMIT {limit};

-- name: webhooks_bring_back
UPDATE webhook FORCE INDEX (claim) SET due_at = {soon}
 WHERE state = {active} AND due_at > {latest_lease} AND mark & 9223372036854775807 IN ({list});

-- name: waiting_ahead
-- Positions in a queue that lie ahead: orders that come later stand before them.
SELECT reservation_id FROM waiting_line FORCE INDEX (line)
 WHERE {clock_was_ahead} AND sku_id > 0 AND waits_since > {soon} LIMIT {limit};

-- name: waiting_bring_back
-- These lines wait since now; among themselves they keep their order, by first_id. A transaction that writes a row of
-- the queue has locked its reservation, so a locked reservation is left to the next pass. {limit} is more than there
-- are; without a LIMIT the SKIP LOCKED would be merged away.
UPDATE (SELECT reservation_id FROM reservation FORCE INDEX (PRIMARY)
         WHERE reservation_id IN (0, {list}) LIMIT {limit} FOR UPDATE SKIP LOCKED) unlocked
  STRAIGHT_JOIN waiting_line w FORCE INDEX (PRIMARY) ON w.reservation_id = unlocked.reservation_id
   SET w.waits_since = UTC_TIMESTAMP(3), w.told = 2
 WHERE w.waits_since > {soon};

-- name: counts_ahead
-- Counts that stand for a time to come: each count as of an earlier time would be a mismatch.
SELECT sku_id, location_id FROM stock_counted FORCE INDEX (PRIMARY)
 WHERE {clock_was_ahead} AND sku_id > 0 AND counted_at > {soon} LIMIT {limit};

-- name: counts_bring_back
-- They were made by now.
UPDATE stock_counted FORCE INDEX (PRIMARY) SET counts = counts + 1, counted_at = UTC_TIMESTAMP(3)
 WHERE (sku_id, location_id) IN ((0, 0), {rows}) AND counted_at > {soon};
