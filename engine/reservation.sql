-- What changes or reads reservations. Rows are locked by primary key, whatever the length of the list. Decisions are taken in C on
-- rows that were read without a lock; the state that the decision relied on stands in the WHERE, and the count is checked.
-- SYSDATE, not UTC_TIMESTAMP: the clock of a statement stands still while it waits for a lock. @t: the time of a
-- lane's transaction.

-- name: reservation_find
-- By order_id, with their lines, and the clock that `held` is read by. {rows}: hex literals. {count}: lines at most; who gets as many
-- does not know whether they are all.
SELECT r.order_id, r.reservation_id, r.lines_hash, r.state, r.expires_at, r.task_id, r.attempts, r.last_error,
       r.created_at, r.confirmed_at, r.released_at, r.settled_at, UTC_TIMESTAMP(3), r.due_at, r.key_id,
       l.sku_id, k.code, l.location_id, o.code, l.slot, l.qty
  FROM reservation r FORCE INDEX (order_id)
  LEFT JOIN reservation_line l ON l.reservation_id = r.reservation_id
  LEFT JOIN sku k ON k.sku_id = l.sku_id LEFT JOIN location o ON o.location_id = l.location_id
 WHERE r.order_id IN ({rows}) LIMIT {count};

-- name: reservation_by_id
-- The same by reservation_id.
SELECT r.order_id, r.reservation_id, r.lines_hash, r.state, r.expires_at, r.task_id, r.attempts, r.last_error,
       r.created_at, r.confirmed_at, r.released_at, r.settled_at, UTC_TIMESTAMP(3), r.due_at, r.key_id,
       l.sku_id, k.code, l.location_id, o.code, l.slot, l.qty
  FROM reservation r FORCE INDEX (PRIMARY)
  LEFT JOIN reservation_line l ON l.reservation_id = r.reservation_id
  LEFT JOIN sku k ON k.sku_id = l.sku_id LEFT JOIN location o ON o.location_id = l.location_id
 WHERE r.reservation_id IN ({rows});

-- name: reservation_add
-- Prepared: (id, order_id, lines_hash, key_id or 0, state, seconds to live).
    INSERT INTO reservation (reservation_id, order_id, lines_hash, key_id, state, expires_at, due_at, attempts, created_at)
    VALUES (?, ?, ?, NULLIF(?, 0), ?, @t + INTERVAL ? SECOND, expires_at, 0, @t);

-- name: reservation_line_add
-- Prepared: (id, sku, location, slot, qty).
    INSERT INTO reservation_line (reservation_id, sku_id, location_id, slot, qty) VALUES (?, ?, ?, ?, ?);

-- name: reservation_confirm
-- Held and not expired by the clock.
    UPDATE reservation FORCE INDEX (PRIMARY)
       SET state = 2, task_id = NULL, attempts = 0, confirmed_at = @t, due_at = @t
     WHERE reservation_id IN ({rows}) AND state = 1 AND expires_at > SYSDATE(3);

-- name: reservation_confirm_late
-- Past its time, not swept yet, and wanted all the same: its units are still its own.
    UPDATE reservation FORCE INDEX (PRIMARY)
       SET state = 2, task_id = NULL, attempts = 0, confirmed_at = @t, due_at = @t
     WHERE reservation_id IN ({rows}) AND state = 1;

-- name: reservation_reacquire
-- Expired and swept; stock_deduct of the same transaction holds its units anew, in the own slot.
    UPDATE reservation FORCE INDEX (PRIMARY)
       SET state = 2, task_id = NULL, attempts = 0, confirmed_at = @t, due_at = @t
     WHERE reservation_id IN ({rows}) AND state = 5;

-- name: reservation_line_move
-- The lines name the slot that holds their units now.
    UPDATE reservation_line FORCE INDEX (PRIMARY) SET slot = {slot} WHERE reservation_id IN ({rows});

-- name: reservation_release_held
    UPDATE reservation FORCE INDEX (PRIMARY) SET state = 4, released_at = @t
     WHERE reservation_id IN ({rows}) AND state = 1 AND expires_at > SYSDATE(3);

-- name: reservation_release_from
-- From {state}, confirmed or buried, also while a worker has claimed it: the task's number stays, and the worker is told that
-- the order is lost.
    UPDATE reservation FORCE INDEX (PRIMARY) SET state = 4, released_at = @t
     WHERE reservation_id IN ({rows}) AND state = {state};

-- name: reservation_extend
-- From now; due_at moves along.
    UPDATE reservation FORCE INDEX (PRIMARY)
       SET expires_at = @t + INTERVAL {count} SECOND, due_at = expires_at, task_id = NULL, attempts = 0
     WHERE reservation_id IN ({rows}) AND state = 1 AND expires_at > SYSDATE(3);

-- name: reservation_kick
    UPDATE reservation FORCE INDEX (PRIMARY) SET state = 2, task_id = NULL, attempts = 0, due_at = @t
     WHERE reservation_id IN ({rows}) AND state = 6;

-- name: reservation_expire
-- Held, past its time by the clock of this moment.
    UPDATE reservation FORCE INDEX (PRIMARY) SET state = 5, task_id = NULL, attempts = 0
     WHERE reservation_id IN ({rows}) AND state = 1 AND expires_at <= SYSDATE(3);

-- name: expired_exists
-- Is any hold past its time and not swept? Claimed ones too: their worker may be dead. One row: 0 or 1, the clock, and since when the
-- lane runs, which shows whether somebody has set the times of the tables.
SELECT EXISTS (SELECT 1 FROM reservation FORCE INDEX (claim)
                WHERE state = 1 AND task_id IS NULL AND due_at <= UTC_TIMESTAMP(3))
    OR EXISTS (SELECT 1 FROM reservation FORCE INDEX (claim)
                WHERE state = 1 AND task_id >= 0 AND expires_at <= UTC_TIMESTAMP(3)),
       UTC_TIMESTAMP(3), (SELECT started_at FROM lane WHERE lane_id = {lane});

-- name: expired_ahead
-- The place {count} holds further on in the index, behind ({low}, {id}), among those due by {high}: no row where there are not so many.
-- Times are ms since 1970.
SELECT due_at, reservation_id FROM reservation FORCE INDEX (claim)
 WHERE state = 1 AND task_id IS NULL AND due_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {high}000 MICROSECOND
   AND due_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {low}000 MICROSECOND
   AND (due_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {low}000 MICROSECOND OR reservation_id > {id})
 ORDER BY due_at, reservation_id LIMIT {count}, 1;

-- name: expired_of_skus
-- Expired holds that occupy these skus: behind ({low}, {id}) up to ({high}, {last}), and claimed ones, of which a worker has 5,000 at
-- most. {rows}: sku numbers.
(SELECT DISTINCT r.reservation_id FROM reservation r FORCE INDEX (claim)
   STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = r.reservation_id AND l.sku_id IN ({rows})
  WHERE r.state = 1 AND r.task_id IS NULL
    AND r.due_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {high}000 MICROSECOND
    AND (r.due_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {high}000 MICROSECOND OR r.reservation_id <= {last})
    AND r.due_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {low}000 MICROSECOND
    AND (r.due_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {low}000 MICROSECOND OR r.reservation_id > {id})
  LIMIT {count})
UNION
(SELECT DISTINCT r.reservation_id FROM reservation r FORCE INDEX (claim)
   STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = r.reservation_id AND l.sku_id IN ({rows})
  WHERE r.state = 1 AND r.task_id >= 0 AND r.expires_at <= UTC_TIMESTAMP(3) LIMIT {count});

-- name: reservation_list
-- A walk over {count} ids, newest first, and whether each belongs to the list. {low}: the id before which it begins.
SELECT reservation_id, 0, due_at, 1 FROM reservation FORCE INDEX (PRIMARY)
 WHERE reservation_id < {low} ORDER BY reservation_id DESC LIMIT {count};

-- name: reservation_list_waiting
-- The same for ids in {state} that no task has, in the order of the index. {rows}: the due_at after which it begins; {low}: the id
-- at that very due_at. A held one belongs to those past their time ({lapsed} 1) or to the others (0): it is not due before
-- expires_at, so the index is walked up to this moment or from it on, and never through the other kind.
SELECT reservation_id, 0, due_at, {state} <> 1 OR (expires_at <= UTC_TIMESTAMP(3)) = {lapsed}
  FROM reservation FORCE INDEX (claim)
 WHERE state = {state} AND task_id IS NULL AND due_at >= {rows} AND (due_at > {rows} OR reservation_id > {low})
   AND due_at > IF({state} = 1 AND {lapsed} = 0, UTC_TIMESTAMP(3), TIMESTAMP'1000-01-01 00:00:00')
   AND due_at <= IF({state} = 1 AND {lapsed} = 1, UTC_TIMESTAMP(3), TIMESTAMP'9999-12-31 23:59:59.999')
 ORDER BY due_at, reservation_id LIMIT {count};

-- name: reservation_list_tasked
-- The same for those that a task has or had; {task}: the task of the last row before the page.
SELECT reservation_id, task_id, due_at, {state} <> 1 OR (expires_at <= UTC_TIMESTAMP(3)) = {lapsed}
  FROM reservation FORCE INDEX (claim)
 WHERE state = {state} AND task_id >= {task}
   AND (task_id > {task} OR due_at > {rows} OR (due_at = {rows} AND reservation_id > {low}))
 ORDER BY task_id, due_at, reservation_id LIMIT {count};

-- name: reservation_probe
-- Which of these rows nobody else has locked right now.
SELECT reservation_id, order_id FROM reservation FORCE INDEX (PRIMARY) WHERE reservation_id IN ({rows}) FOR UPDATE SKIP LOCKED;

-- name: reservation_glimpse
-- Ids that are there, by a dirty read (glimpse): those too that somebody has written and not committed. {rows}: hex literals.
SELECT order_id FROM reservation FORCE INDEX (order_id) WHERE order_id IN ({rows});
