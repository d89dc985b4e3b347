-- Orders on hold: rows of reservation_on_hold. Only orders that say so (noted) send any of these. A transaction that
-- writes a row has locked its reservation, so two never meet here, and the order of locks does not name these rows.
-- `ship_after` of the reservation is the later of the time that was asked for and of the end of the hold (not before).

-- name: on_hold_find
-- What holds reservations of the list back, and the ship_after that they asked for. An end that has passed is none.
SELECT reservation_id, IF(ends_at > UTC_TIMESTAMP(3), ends_at, NULL), asked_ship_after, reason
  FROM reservation_on_hold FORCE INDEX (PRIMARY) WHERE reservation_id IN ({list});

-- piece: is_served
-- A confirmed reservation with its goods there: its due time is its own.
r.state = {confirmed} AND NOT {is_at_the_end}

-- piece: is_as_given
-- None of the rows was changed or claimed since it was read, and each has its units.
r.changed = given.read_changed AND r.attempts = given.read_attempts
AND (({is_kept}) OR r.state IN ({confirmed}, {buried}))

-- piece: given_times
-- Rows: (reservation_id, changed, attempts, not before in ms since 1970 or 0).
(SELECT id, read_changed, read_attempts,
        IF(ms > 0, TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ms * 1000 MICROSECOND, NULL) AS not_before
   FROM (SELECT 0 AS id, 0 AS read_changed, 0 AS read_attempts, 0 AS ms UNION ALL VALUES {rows}) listed) given

-- name: reservation_on_hold
-- Reservations that are held back. A confirmed one with its goods there is put aside until then, or waits for the end
-- of its pause after a failure where that is later. With {claimed} 1 it has the number of a task that has ended. Each
-- expression holds whether the columns before it have their old values or their new ones.
UPDATE {given_times} STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = given.id
   SET r.changed = @s, r.last_event = @w | @n, r.noted = r.noted | {on_hold}, r.ship_after = given.not_before,
       r.due_at = IF({is_served}, GREATEST(given.not_before, IF({is_free}, r.due_at, given.not_before)), r.due_at),
       r.task_id = IF({is_served},
                      IF(given.not_before > @t AND (NOT {is_free} OR given.not_before >= r.due_at), 0, NULL), r.task_id)
 WHERE {is_as_given} AND {is_had_as_read};

-- name: reservation_off_hold
-- Reservations that are held back no more. A confirmed one that was put aside is due, or is put aside until the time
-- that was asked for.
UPDATE {given_times} STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = given.id
   SET r.changed = @s, r.last_event = @w | @n, r.noted = r.noted & ~{on_hold}, r.ship_after = given.not_before,
       r.due_at = IF({is_served} AND {is_put_aside}, GREATEST(@t, IFNULL(given.not_before, @t)), r.due_at),
       r.task_id = IF({is_served} AND {is_put_aside}, IF(given.not_before > @t, 0, NULL), r.task_id)
 WHERE {is_as_given};

-- name: on_hold_add (never_waits)
-- Rows: (reservation_id, ms since 1970 of the end, of the ship_after that was asked for or 0, reason).
INSERT INTO reservation_on_hold (reservation_id, ends_at, asked_ship_after, reason)
  WITH given(id, ends_ms, asked_ms, reason) AS (VALUES {rows})
  SELECT id, TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ends_ms * 1000 MICROSECOND,
         IF(asked_ms > 0, TIMESTAMP'1970-01-01 00:00:00' + INTERVAL asked_ms * 1000 MICROSECOND, NULL), reason
    FROM given
    ON DUPLICATE KEY UPDATE ends_at = VALUES(ends_at), reason = VALUES(reason);

-- name: on_hold_end
-- Reservations that have ended just now: their ship_after is again what was asked for; on_hold_remove follows.
UPDATE reservation_on_hold h FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = h.reservation_id
   SET r.ship_after = h.asked_ship_after, r.noted = r.noted & ~{on_hold}
 WHERE h.reservation_id IN (0, {list});

-- name: on_hold_remove
DELETE h FROM reservation_on_hold h FORCE INDEX (PRIMARY) WHERE h.reservation_id IN (0, {list});
