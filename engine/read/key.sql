-- Keys, and the reservations that keys with a limit of units hold open. A reservation is held open while its state is
-- held and its time has not passed. Any process may remove a row of key_hold that is over. A hold that was over by a
-- clock that was ahead is open again when the clock is back; the walk over open holds enters it again.

-- name: key_note
-- The names of keys. Rows: (key_id, name, now). A name that stands there already stays.
INSERT IGNORE INTO api_key (key_id, name, created_at) VALUES {rows};

-- name: key_used
-- The keys were used just now. Rows: (key_id, now). A chore that comes again: a row that another process has written
-- meanwhile is as good.
INSERT INTO api_key_use (key_id, used_at) VALUES {rows} ON DUPLICATE KEY UPDATE used_at = VALUES(used_at);

-- name: key_uses
-- When the keys {list} were used last.
SELECT key_id, used_at FROM api_key_use FORCE INDEX (PRIMARY) WHERE key_id IN ({list});

-- piece: open_from
-- Open holds without a claim, at ({from_at}, {from_id}) in the claim index or behind it.
state = {held} AND {is_free} AND due_at > UTC_TIMESTAMP(3)
AND due_at >= {from_at} AND (due_at > {from_at} OR reservation_id >= {from_id})

-- name: key_hold_page
-- The end of a page of {offset} open holds: the time and the number of the next one, no row if there is none.
SELECT due_at, reservation_id FROM reservation FORCE INDEX (claim)
 WHERE {open_from} ORDER BY due_at, reservation_id LIMIT 1 OFFSET {offset};

-- name: key_hold_enter
-- Enters the holds of the keys {list} that a page of {limit} has and key_hold lacks: holds made before the key had a
-- limit, or over for a while. {limit} claimed holds are looked at, too: they may have been over when they were claimed,
-- and are given back then. The statement reads without locks.
INSERT IGNORE INTO key_hold (reservation_id, key_id, units)
SELECT r.reservation_id, r.key_id, SUM(l.qty)
  FROM ((SELECT reservation_id FROM reservation FORCE INDEX (claim)
          WHERE {open_from} ORDER BY due_at, reservation_id LIMIT {limit})
        UNION ALL
        (SELECT reservation_id FROM reservation FORCE INDEX (claim)
          WHERE state = {held} AND task_id >= 0 LIMIT {limit})) page
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = page.reservation_id
  STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = r.reservation_id
  LEFT JOIN key_hold h ON h.reservation_id = r.reservation_id
 WHERE r.state = {held} AND r.expires_at > UTC_TIMESTAMP(3) AND r.key_id IN ({list}) AND h.reservation_id IS NULL
 GROUP BY r.reservation_id, r.key_id;

-- name: key_hold_count
-- Units that the keys {list} hold open.
SELECT h.key_id, SUM(h.units)
  FROM key_hold h FORCE INDEX (owner)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = h.reservation_id
 WHERE h.key_id IN ({list}) AND r.state = {held} AND r.expires_at > UTC_TIMESTAMP(3)
 GROUP BY h.key_id;

-- name: key_hold_over
-- A page of rows that are over, the oldest first, whatever their key.
SELECT h.reservation_id
  FROM key_hold h FORCE INDEX (PRIMARY)
  LEFT JOIN reservation r ON r.reservation_id = h.reservation_id
 WHERE h.reservation_id > 0 AND (r.state IS NULL OR r.state <> {held} OR r.expires_at <= UTC_TIMESTAMP(3))
 LIMIT {limit};

-- name: key_hold_remove
DELETE FROM key_hold WHERE reservation_id IN ({list});
