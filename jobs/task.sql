-- Claims and what becomes of them. Reservations are found by the claim index without a sort and changed by primary key; the
-- task's number stands in every WHERE: a worker that was reaped changes nothing. The task's row comes last in the order of locks.

-- name: task_claim
-- Takes up to {count} due reservations in {state} for {worker}, the oldest first, because the walk follows the index. What is due
-- is counted first without a lock: a claim for more would lock live holds that are not due yet. So are holds whose pause after a
-- failure is over, which wait under task 0. No task without orders.
-- {rows}: the worker, a hex literal; {low}: due_at in the index before which nothing waits, milliseconds since 1970.
BEGIN NOT ATOMIC
  DECLARE verdict INT DEFAULT 0;
  DECLARE t DATETIME(3);
  DECLARE due INT DEFAULT 0;
  DECLARE token BIGINT UNSIGNED DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  SET t = UTC_TIMESTAMP(3);
  SELECT COUNT(*) INTO due FROM (
    SELECT 1 FROM reservation FORCE INDEX (claim)
     WHERE state = {state} AND task_id = 0 AND due_at <= t LIMIT {count}) again;
  IF due > 0 THEN
    UPDATE reservation FORCE INDEX (claim) SET task_id = NULL
     WHERE state = {state} AND task_id = 0 AND due_at <= t LIMIT due;
  END IF;
  SELECT COUNT(*) INTO due FROM (
    SELECT 1 FROM reservation FORCE INDEX (claim)
     WHERE state = {state} AND task_id IS NULL
       AND due_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {low} * 1000 MICROSECOND AND t LIMIT {count}) waiting;
  IF due > 0 THEN
    START TRANSACTION;
    INSERT INTO task (kind, worker, state, lease_until, claimed, completed, failed, created_at)
    VALUES ({kind}, {rows}, 1, t + INTERVAL {lease} SECOND, 0, 0, 0, t);
    SET token = LAST_INSERT_ID();
    UPDATE reservation FORCE INDEX (claim) SET task_id = token, attempts = attempts + 1
     WHERE state = {state} AND task_id IS NULL
       AND due_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {low} * 1000 MICROSECOND AND t LIMIT due;
    SET due = ROW_COUNT();
    IF due = 0 THEN
      ROLLBACK;
      SET token = 0;
    ELSE
      UPDATE task SET claimed = due WHERE task_id = token;
      COMMIT;
    END IF;
  END IF;
  SELECT token, due, t + INTERVAL {lease} SECOND;
END

-- name: task_rows
-- The reservations that a task has claimed and not resolved, with their lines; {state} as above.
SELECT r.order_id, r.reservation_id, r.lines_hash, r.state, r.expires_at, r.task_id, r.attempts, r.last_error,
       r.created_at, r.confirmed_at, r.released_at, r.settled_at, UTC_TIMESTAMP(3), r.due_at, r.key_id,
       l.sku_id, k.code, l.location_id, o.code, l.slot, l.qty
  FROM reservation r FORCE INDEX (claim)
  LEFT JOIN reservation_line l ON l.reservation_id = r.reservation_id
  LEFT JOIN sku k ON k.sku_id = l.sku_id LEFT JOIN location o ON o.location_id = l.location_id
 WHERE r.state = {state} AND r.task_id = {task};

-- name: task_read
SELECT task_id, kind, worker, state, lease_until, claimed, completed, failed, created_at,
       state = 1 AND lease_until < UTC_TIMESTAMP(3)
  FROM task WHERE task_id = {task};

-- name: task_list
-- Newest first.
SELECT task_id, kind, worker, state, lease_until, claimed, completed, failed, created_at,
       state = 1 AND lease_until < UTC_TIMESTAMP(3)
  FROM task WHERE task_id < {low} ORDER BY task_id DESC LIMIT {count};

-- name: task_settle_rows
-- The first write of a settlement is the fence: rows that are this task's no longer are missing from the count.
    UPDATE reservation FORCE INDEX (PRIMARY) SET state = 3, settled_at = @t
     WHERE reservation_id IN ({rows}) AND task_id = {task} AND state = 2;

-- name: task_expire_rows
    UPDATE reservation FORCE INDEX (PRIMARY) SET state = 5, attempts = 0
     WHERE reservation_id IN ({rows}) AND task_id = {task} AND state = 1 AND expires_at <= SYSDATE(3);

-- name: task_completed
-- Last: the task must still be open, otherwise all is undone. It is done when nothing is left of it.
    UPDATE task SET completed = completed + {count}, lease_until = GREATEST(lease_until, @t + INTERVAL {lease} SECOND),
           state = IF(EXISTS (SELECT 1 FROM reservation FORCE INDEX (claim) WHERE state = {state} AND task_id = {task}), 1, 2),
           ended_at = IF(state = 2, @t, NULL)
     WHERE task_id = {task} AND state = 1;

-- name: task_retry
-- One order goes back and waits {count} ms; {rows}: what went wrong, a hex literal or NULL.
    UPDATE reservation FORCE INDEX (PRIMARY)
       SET task_id = NULL, due_at = @t + INTERVAL {count} * 1000 MICROSECOND, last_error = {rows}
     WHERE reservation_id = {id} AND task_id = {task} AND state = {state};

-- name: task_retry_held
-- A hold that failed to expire waits under task 0, where an order that would be short finds it all the same; a claim brings it back.
    UPDATE reservation FORCE INDEX (PRIMARY)
       SET task_id = 0, due_at = @t + INTERVAL {count} * 1000 MICROSECOND, last_error = {rows}
     WHERE reservation_id = {id} AND task_id = {task} AND state = {state};

-- name: task_bury
    UPDATE reservation FORCE INDEX (PRIMARY) SET task_id = NULL, state = 6, last_error = {rows}
     WHERE reservation_id = {id} AND task_id = {task} AND state = 2;

-- name: task_failed
    UPDATE task SET failed = failed + {count},
           state = IF(EXISTS (SELECT 1 FROM reservation FORCE INDEX (claim) WHERE state = {state} AND task_id = {task}), 1, 2),
           ended_at = IF(state = 2, @t, NULL)
     WHERE task_id = {task} AND state = 1;

-- name: task_give_back
-- The orders go back at once, the attempt is not charged.
    UPDATE reservation FORCE INDEX (PRIMARY) SET task_id = NULL, attempts = attempts - 1
     WHERE reservation_id IN ({rows}) AND task_id = {task} AND state = {state};

-- name: task_mark_returned
    UPDATE task SET state = 3, ended_at = @t WHERE task_id = {task} AND state = 1;

-- name: task_heartbeat
    UPDATE task SET lease_until = @t + INTERVAL {lease} SECOND WHERE task_id = {task} AND state = 1;

-- name: task_overdue
-- Open tasks whose lease ran out {lease} seconds ago, the longest first; {rows} and {low}: the lease and number of the last one
-- seen before.
SELECT task_id, kind, worker, state, lease_until, claimed, completed, failed, created_at, 1
  FROM task FORCE INDEX (open_lease)
 WHERE state = 1 AND lease_until < UTC_TIMESTAMP(3) - INTERVAL {lease} SECOND AND lease_until >= {rows}
   AND (lease_until > {rows} OR task_id > {low})
 ORDER BY lease_until, task_id LIMIT {count};

-- name: task_reap
-- Of several reapers one gets it.
UPDATE task SET state = 4, ended_at = UTC_TIMESTAMP(3)
 WHERE task_id = {task} AND state = 1 AND lease_until < UTC_TIMESTAMP(3) - INTERVAL {lease} SECOND;

-- name: task_orphans
-- Tasks after {low} that ended and still have orders: a reaper died half-way. Walks what is claimed, which is little, in the order
-- of the index.
SELECT r.task_id, k.kind, k.worker, k.state, k.lease_until, k.claimed, k.completed, k.failed, k.created_at, 1
  FROM reservation r FORCE INDEX (claim) STRAIGHT_JOIN task k FORCE INDEX (PRIMARY) ON k.task_id = r.task_id
 WHERE r.state = {state} AND r.task_id > {low} AND k.state <> 1 AND k.kind = {kind}
 GROUP BY r.task_id ORDER BY r.task_id LIMIT {count};

-- name: task_figures
-- Open tasks, and the age in ms of the oldest.
SELECT COUNT(*), COALESCE(MAX(TIMESTAMPDIFF(MICROSECOND, created_at, UTC_TIMESTAMP(3)) DIV 1000), 0)
  FROM task FORCE INDEX (open_lease) WHERE state = 1;

-- name: buried_page
SELECT reservation_id FROM reservation FORCE INDEX (claim) WHERE state = 6 AND task_id IS NULL LIMIT {count};

-- name: buried_kick
UPDATE reservation FORCE INDEX (PRIMARY)
   SET state = 2, task_id = NULL, attempts = 0, due_at = UTC_TIMESTAMP(3) WHERE reservation_id IN ({rows}) AND state = 6;

-- name: purge_page
-- A walk over the primary key: {count} ids from {low} on, and which of them were resolved more than {lease} days ago.
SELECT reservation_id, state IN (3, 4, 5) AND COALESCE(settled_at, released_at, expires_at)
                       < UTC_TIMESTAMP(3) - INTERVAL {lease} DAY
  FROM reservation FORCE INDEX (PRIMARY) WHERE reservation_id > {low} ORDER BY reservation_id LIMIT {count};

-- name: purge_rows
    DELETE r FROM reservation r FORCE INDEX (PRIMARY) WHERE r.reservation_id IN ({rows}) AND r.state IN (3, 4, 5);

-- name: purge_lines
    DELETE l FROM reservation_line l FORCE INDEX (PRIMARY) WHERE l.reservation_id IN ({rows});

-- name: purge_tasks_page
-- A walk like purge_page: {count} tasks from {low} on, and which of them ended more than {lease} days ago and are named by no order
-- that is held or confirmed. A question for each state: for a list of states the claim index would be walked through all live
-- orders, for every task. A plain read, which locks none of them.
SELECT task_id, state <> 1 AND ended_at < UTC_TIMESTAMP(3) - INTERVAL {lease} DAY
       AND NOT EXISTS (SELECT 1 FROM reservation r FORCE INDEX (claim) WHERE r.state = 1 AND r.task_id = task.task_id)
       AND NOT EXISTS (SELECT 1 FROM reservation r FORCE INDEX (claim) WHERE r.state = 2 AND r.task_id = task.task_id)
  FROM task FORCE INDEX (PRIMARY) WHERE task_id > {low} ORDER BY task_id LIMIT {count};

-- name: purge_tasks
-- A task that has ended claims nothing any more, so no order has come to name it since.
DELETE task FROM task FORCE INDEX (PRIMARY) WHERE task_id IN ({rows}) AND state <> 1;
