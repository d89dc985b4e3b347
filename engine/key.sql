-- Keys and what those with a limit of units hold open. A reservation is held open while its state is held and its time has not
-- passed; it never comes back from there, so a row of key_hold that is over may be removed by anybody.

-- name: key_note
-- The names of keys. {rows}: (key_id, name, now). A name that stands there already stays.
INSERT IGNORE INTO api_key (key_id, name, created_at) VALUES {rows};

-- name: key_hold_add
-- With the reservations of the same transaction. {rows}: (reservation_id, key_id, units).
    INSERT INTO key_hold (reservation_id, key_id, units) VALUES {rows};

-- name: key_hold_enter
-- Open holds of the keys {rows} that were made before their key had a limit. Walks all open holds, so it is run at the start and
-- when the keys change. Reads without locks.
INSERT IGNORE INTO key_hold (reservation_id, key_id, units)
SELECT r.reservation_id, r.key_id, SUM(l.qty)
  FROM reservation r FORCE INDEX (claim)
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
