-- Keys and what those with a limit of units hold open. A reservation is held open while its state is held and its time has not
-- passed. A row of key_hold that is over may be removed by anybody. A hold that was over by a clock that was ahead is open again
-- when the clock is back; it is entered again by the walk over open holds.

-- name: key_note
-- The names of keys. {rows}: (key_id, name, now). A name that stands there already stays.
INSERT IGNORE INTO api_key (key_id, name, created_at) VALUES {rows};

-- name: key_hold_add
-- With the reservations of the same transaction. {rows}: (reservation_id, key_id, units).
    INSERT INTO key_hold (reservation_id, key_id, units) VALUES {rows};

-- name: key_hold_page
-- Where a page of {count} open holds ends: the time and the number of the next one, no row if there is none. {low}, {id}: time, in
-- milliseconds since 1970, and number of the first one.
SELECT due_at, reservation_id FROM reservation FORCE INDEX (claim)
 WHERE state = 1 AND task_id IS NULL AND due_at > UTC_TIMESTAMP(3)
   AND due_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {low} * 1000 MICROSECOND
   AND (due_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {low} * 1000 MICROSECOND OR reservation_id >= {id})
 ORDER BY due_at, reservation_id LIMIT 1 OFFSET {count};

-- name: key_hold_enter
-- What such a page has of the keys {rows} and is missing: made before the key had a limit, or over for a while. {count} of those that
-- are claimed are looked at, too: they may have been over when they were, and are given back then. Reads without locks.
INSERT IGNORE INTO key_hold (reservation_id, key_id, units)
SELECT r.reservation_id, r.key_id, SUM(l.qty)
  FROM ((SELECT reservation_id FROM reservation FORCE INDEX (claim)
          WHERE state = 1 AND task_id IS NULL AND due_at > UTC_TIMESTAMP(3)
            AND due_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {low} * 1000 MICROSECOND
            AND (due_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {low} * 1000 MICROSECOND OR reservation_id >= {id})
          ORDER BY due_at, reservation_id LIMIT {count})
        UNION ALL
        (SELECT reservation_id FROM reservation FORCE INDEX (claim) WHERE state = 1 AND task_id >= 0 LIMIT {count})) page
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = page.reservation_id
  STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = r.reservation_id
  LEFT JOIN key_hold h ON h.reservation_id = r.reservation_id
 WHERE r.state = 1 AND r.expires_at > UTC_TIMESTAMP(3) AND r.key_id IN ({rows}) AND h.reservation_id IS NULL
 GROUP BY r.reservation_id, r.key_id;

-- name: key_hold_count
-- Units that the keys {rows} hold open.
SELECT h.key_id, SUM(h.units)
  FROM key_hold h FORCE INDEX (owner)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = h.reservation_id
 WHERE h.key_id IN ({rows}) AND r.state = 1 AND r.expires_at > UTC_TIMESTAMP(3)
 GROUP BY h.key_id;

-- name: key_hold_over
-- A page of those that are over, the oldest first, whatever their key.
SELECT h.reservation_id
  FROM key_hold h FORCE INDEX (PRIMARY)
  LEFT JOIN reservation r ON r.reservation_id = h.reservation_id
 WHERE h.reservation_id > 0 AND (r.state IS NULL OR r.state <> 1 OR r.expires_at <= UTC_TIMESTAMP(3))
 LIMIT {count};

-- name: key_hold_remove
DELETE FROM key_hold WHERE reservation_id IN ({rows});
