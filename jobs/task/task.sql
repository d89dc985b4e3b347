-- Claims and the changes of claimed orders. Reservations are found by the claim index without a sort and changed by
-- primary key. The task's number is in every WHERE: a worker that was reaped changes nothing. The task's row comes last
-- in the order of locks.

-- piece: waits
-- Orders that a claim may take: due by t. As far as the claimer knows, no order waits before {from_at}.
state = {state} AND {is_free} AND due_at BETWEEN {from_at} AND t

-- piece: task_columns
k.task_id, k.kind, k.worker, k.state, k.lease_until, k.claimed, k.completed, k.failed, k.created_at

-- name: task_claim
-- Takes up to {limit} due reservations in {state} for {worker}, the oldest first, because the walk follows the index.
-- Due reservations are first counted without a lock: a claim for more would lock live holds that are not due yet. Holds
-- that wait under task 0 after a failure, and whose pause is over, are counted in the same way. No task is made without
-- orders. Rows that other transactions have locked are skipped, and rows that are not due stay unlocked even then. The
-- plain UPDATE is enough where nothing is locked and where claims meet: it waits for the other claim, which takes
-- milliseconds, and for one second at most. A lock that is still there then is no claim's: free rows are counted, and
-- that many are picked with SKIP LOCKED. {met_lock} 1 picks at once. Picking costs a fourth more of the server's time.
-- A job that is paused hands out nothing: its row is read first, and again before the COMMIT. If the answer of the
-- claim is lost, {mark} finds the task again (task_of_mark). It is unique: of two claims with one mark, one is
-- committed.
BEGIN NOT ATOMIC
  DECLARE t DATETIME(3);
  DECLARE due INT DEFAULT 0;
  DECLARE stopped INT DEFAULT 0;
  DECLARE locked INT DEFAULT {met_lock};
  DECLARE token BIGINT UNSIGNED DEFAULT 0;
  DECLARE number BIGINT UNSIGNED DEFAULT NULL;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  SET t = UTC_TIMESTAMP(3);
  SELECT paused INTO stopped FROM job WHERE job = {kind};
  SELECT COUNT(*) INTO due FROM (
    SELECT 1 FROM reservation FORCE INDEX (claim)
     WHERE state = {state} AND {is_put_aside} AND due_at <= t LIMIT {limit}) again;
  IF due > 0 THEN
    UPDATE (
      SELECT reservation_id FROM reservation FORCE INDEX (claim)
       WHERE state = {state} AND {is_put_aside} AND due_at <= t LIMIT due FOR UPDATE SKIP LOCKED) unlocked
      STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = unlocked.reservation_id
       SET r.task_id = NULL;
  END IF;
  SELECT COUNT(*) INTO due FROM (SELECT 1 FROM reservation FORCE INDEX (claim) WHERE {waits} LIMIT {limit}) waiting;
  SET due = IF(stopped, 0, due);
  WHILE due > 0 AND token = 0 DO
    IF locked THEN
      SELECT COUNT(*) INTO due FROM (
        SELECT reservation_id FROM reservation FORCE INDEX (claim)
         WHERE {waits} LIMIT {limit} FOR UPDATE SKIP LOCKED) unlocked;
    END IF;
    START TRANSACTION;
    INSERT INTO job_task (task_id, kind, worker, state, lease_until, claimed, completed, failed, created_at, mark)
    VALUES (number, {kind}, {worker}, {open}, t + INTERVAL {lease_s} SECOND, 0, 0, 0, t, {mark});
    SET token = IFNULL(number, LAST_INSERT_ID());
    IF locked THEN
      UPDATE (
        SELECT reservation_id FROM reservation FORCE INDEX (claim)
         WHERE {waits} LIMIT due FOR UPDATE SKIP LOCKED) unlocked
        STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = unlocked.reservation_id
         SET r.task_id = token, r.attempts = {charged};
      SET due = ROW_COUNT();
    ELSE
      BEGIN
        DECLARE EXIT HANDLER FOR 1205 SET locked = 1, number = token, token = 0;
        SET STATEMENT innodb_lock_wait_timeout = 1 FOR
        UPDATE reservation FORCE INDEX (claim) SET task_id = token, attempts = {charged} WHERE {waits} LIMIT due;
        SET due = ROW_COUNT();
      END;
      IF token = 0 THEN
        ROLLBACK;
        SET t = UTC_TIMESTAMP(3);
      END IF;
    END IF;
  END WHILE;
  IF token > 0 AND due > 0 THEN
    SELECT paused INTO stopped FROM job WHERE job = {kind};
  END IF;
  IF token > 0 AND due > 0 AND NOT stopped THEN
    UPDATE job_task SET claimed = due WHERE task_id = token;
    COMMIT;
  ELSE
    ROLLBACK;
    SET token = 0;
  END IF;
  SELECT token, due, t + INTERVAL {lease_s} SECOND, locked, stopped;
END

-- name: task_take_up
-- A worker could not renew its lease, and its task {task} was reaped: makes a new task, with the orders that no other
-- worker has had since (task_take_up_orders). {mark}: as for a claim.
INSERT INTO job_task (kind, worker, state, lease_until, claimed, completed, failed, created_at, mark)
  SELECT kind, worker, {open}, @t + INTERVAL {lease_s} SECOND, {orders}, 0, 0, @t, {mark} FROM job_task
   WHERE task_id = {task} AND state = {reaped};

-- name: task_take_up_orders
-- Takes orders that still name the task, or that have become free or were buried since. A claim of another worker that
-- was reaped too has charged an attempt; after a kick the attempts are 0. This claim charges none. Rows:
-- (reservation_id, attempts, changed); `changed` is as read just before.
UPDATE (SELECT 0 AS id, 0 AS attempts, 0 AS changed UNION ALL VALUES {rows}) mine
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = mine.id
   SET r.version = IF(r.version_kept = r.changed, r.version, r.changed),
       r.version_kept = IF(r.state = {state}, @s, NULL),
       r.last_event = IF(r.state = {state}, r.last_event, @w | @n), r.state = {state}, r.changed = @s,
       r.task_id = LAST_INSERT_ID(), r.attempts = GREATEST(r.attempts, 1)
 WHERE r.changed = mine.changed AND r.attempts IN (mine.attempts, 0)
   AND IFNULL(r.task_id, 0) IN (0, {task}) AND r.state IN ({state}, {buried});

-- name: task_of_mark
-- Finds the task of a claim after its answer was lost; no row: that claim was not committed.
SELECT task_id, claimed, lease_until FROM job_task FORCE INDEX (mark) WHERE mark = {mark};

-- name: task_rows
-- The reservations that a task has in {state}, with their lines.
SELECT {reservation_columns}, {line_columns}
  FROM reservation r FORCE INDEX (claim) {reservation_lines}
 WHERE r.state = {state} AND r.task_id = {task};

-- name: task_read
SELECT {task_columns}, k.state = {open} AND k.lease_until < UTC_TIMESTAMP(3)
  FROM job_task k WHERE k.task_id = {task};

-- name: task_list
-- Newest first.
SELECT {task_columns}, k.state = {open} AND k.lease_until < UTC_TIMESTAMP(3)
  FROM job_task k WHERE k.task_id < {before_id} ORDER BY k.task_id DESC LIMIT {limit};

-- name: task_lost_find
-- Orders that were taken from the task, by a split for instance (task_lose).
SELECT order_id FROM task_lost FORCE INDEX (PRIMARY) WHERE task_id = {task};

-- name: task_lost_rows
-- The orders of task_lost_find that are in {state}, that no task has, and that are still charged by the task's claim.
SELECT {reservation_columns}, {line_columns}
  FROM task_lost t FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN reservation r FORCE INDEX (order_id) ON r.order_id = t.order_id {reservation_lines}
 WHERE t.task_id = {task} AND r.state = {state} AND r.task_id IS NULL AND r.attempts > 0;

-- name: task_uncharge
UPDATE reservation FORCE INDEX (PRIMARY) SET {version_stays}, changed = @s, attempts = {uncharged}
 WHERE {as_read} AND {is_free} AND state = {state};

-- piece: open_or_done
-- The task's state after its orders in {state} are counted again: done when no order is left.
state = IF(EXISTS (SELECT 1 FROM reservation FORCE INDEX (claim) WHERE state = {state} AND task_id = {task}),
           {open}, {done}),
ended_at = IF(state = {done}, @t, NULL)

-- name: task_completed
-- The last step: if the task is not open any more, the transaction is undone.
UPDATE job_task SET completed = completed + {orders}, {open_or_done},
       lease_until = GREATEST(lease_until, @t + INTERVAL {lease_s} SECOND)
 WHERE task_id = {task} AND state = {open};

-- name: task_failed
UPDATE job_task SET failed = failed + {orders}, {open_or_done} WHERE task_id = {task} AND state = {open};

-- piece: charged
-- One attempt more or less, within the range of the column.
LEAST(attempts + 1, 65535)

-- piece: uncharged
GREATEST(attempts, 1) - 1

-- piece: its_orders
{as_read} AND task_id = {task} AND state = {state}

-- name: task_fail
-- Orders go back and wait, or are buried. A hold that failed to expire waits under task 0, where an order that lacks
-- units still finds it; a claim brings it back. Rows: (reservation_id, changed as read, pause_ms, error). An order that
-- is to be buried has no pause_ms.
UPDATE (SELECT 0 AS id, 0 AS changed, 0 AS pause_ms, '' AS error UNION ALL VALUES {rows}) failed
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = failed.id
   SET r.version = IF(r.version_kept = r.changed, r.version, r.changed),
       r.version_kept = IF(failed.pause_ms IS NULL, NULL, @s), r.changed = @s,
       r.last_event = IF(failed.pause_ms IS NULL, @w | @n, r.last_event),
       r.state = IF(failed.pause_ms IS NULL, {buried}, {state}),
       r.task_id = IF({state} = {held} OR r.ship_after > @t + INTERVAL failed.pause_ms * 1000 MICROSECOND, 0, NULL),
       r.last_error = failed.error,
       r.due_at = IFNULL(GREATEST(@t + INTERVAL failed.pause_ms * 1000 MICROSECOND,
                                  IF({state} = {held}, @t, {ships_at})), r.due_at)
 WHERE r.changed = failed.changed AND r.task_id = {task} AND r.state = {state};

-- name: task_give_back
-- Gives the orders back at once; the attempt is not charged.
UPDATE reservation FORCE INDEX (PRIMARY)
   SET {version_stays}, changed = @s, task_id = NULL, attempts = {uncharged}
 WHERE {its_orders};

-- name: task_put_off
-- Orders that other transactions keep locked are due again in 10 s; the attempt is not charged. Holds wait under task
-- 0, as after a failure.
UPDATE reservation FORCE INDEX (PRIMARY)
   SET {version_stays}, changed = @s,
       task_id = IF({state} = {held} OR ship_after > @t + INTERVAL 10 SECOND, 0, NULL),
       attempts = {uncharged},
       due_at = GREATEST(@t + INTERVAL 10 SECOND, IF({state} = {held}, @t, {ships_at})), last_error = {error}
 WHERE {its_orders};

-- name: task_give_back_held
-- Gives back holds of an expiry that are not past their time: a clock that was ahead has claimed them. They are due at
-- their end.
UPDATE reservation FORCE INDEX (PRIMARY)
   SET {version_stays}, changed = @s, task_id = NULL, attempts = {uncharged}, due_at = expires_at
 WHERE {its_orders};

-- name: task_mark_returned
UPDATE job_task SET state = {returned}, ended_at = @t WHERE task_id = {task} AND state = {open};

-- name: task_heartbeat
UPDATE job_task SET lease_until = @t + INTERVAL {lease_s} SECOND
 WHERE task_id = {task} AND state = {open} AND kind IN ({settle}, {expire});

-- name: task_clock
SELECT UTC_TIMESTAMP(3);

-- name: task_prolong
-- Gives leases that ran out since {from_at}, while the database was away or its clock jumped, {lease_s} from now.
-- {limit} is more than there are: without a LIMIT the server would merge the subquery, and lose SKIP LOCKED.
UPDATE (
  SELECT task_id FROM job_task FORCE INDEX (open_lease)
   WHERE state = {open} AND lease_until >= {from_at} AND lease_until < UTC_TIMESTAMP(3)
   LIMIT {limit} FOR UPDATE SKIP LOCKED) unlocked
  STRAIGHT_JOIN job_task t FORCE INDEX (PRIMARY) ON t.task_id = unlocked.task_id
   SET t.lease_until = UTC_TIMESTAMP(3) + INTERVAL {lease_s} SECOND;

-- name: task_overdue
-- Open tasks with a lease that had run out {stale_s} before {looked_at}, the longest first, behind ({after_at},
-- {after_id}): lease and number of the last task seen before. A lease that runs out while the reaper waits for the
-- database is not overdue in this pass.
SELECT {task_columns}, 1
  FROM job_task k FORCE INDEX (open_lease)
 WHERE k.state = {open} AND k.lease_until >= {after_at} AND k.lease_until < {looked_at} - INTERVAL {stale_s} SECOND
   AND (k.lease_until > {after_at} OR k.task_id > {after_id})
 ORDER BY k.lease_until, k.task_id LIMIT {limit};

-- name: task_reap
-- Marks a task as reaped; only one of several reapers succeeds.
UPDATE job_task SET state = {reaped}, ended_at = UTC_TIMESTAMP(3)
 WHERE task_id = {task} AND state = {open} AND lease_until < {looked_at} - INTERVAL {stale_s} SECOND;

-- name: task_orphans
-- Tasks after {after_id} that ended and still have orders, because a reaper died between its two steps. The statement
-- walks claimed rows, which are few, in the order of the index.
SELECT r.task_id, k.kind, k.worker, k.state, k.lease_until, k.claimed, k.completed, k.failed, k.created_at, 1
  FROM reservation r FORCE INDEX (claim) STRAIGHT_JOIN job_task k FORCE INDEX (PRIMARY) ON k.task_id = r.task_id
 WHERE r.state = {state} AND r.task_id > {after_id} AND k.state IN ({done}, {returned}, {reaped})
   AND k.kind = {kind}
 GROUP BY r.task_id ORDER BY r.task_id LIMIT {limit};

-- name: buried_groups
-- Groups {limit} buried orders behind a place of the claim index by their last error, with the last place of each group
-- in a form that sorts.
SELECT last_error, COUNT(*), MIN(due_at), MAX(CONCAT(due_at, ' ', LPAD(reservation_id, 20, '0')))
  FROM (SELECT r.last_error, r.due_at, r.reservation_id FROM reservation r FORCE INDEX (claim)
         WHERE state = {buried} AND {is_free} AND {stands_behind}
         ORDER BY r.due_at, r.reservation_id LIMIT {limit}) page
 GROUP BY last_error;

-- name: buried_walked
-- Walks over {limit} buried orders behind a place, and says which of them have the error.
SELECT r.reservation_id, r.due_at, {has_error} FROM reservation r FORCE INDEX (claim)
 WHERE state = {buried} AND {is_free} AND {stands_behind}
 ORDER BY r.due_at, r.reservation_id LIMIT {limit};

-- name: buried_page
SELECT reservation_id FROM reservation FORCE INDEX (claim)
 WHERE state = {buried} AND task_id IS NULL LIMIT {limit};

-- name: purge_page
-- Walks over the primary key: {limit} ids behind {after_id}, and which of them were resolved more than {keep_days} ago.
SELECT reservation_id, state IN ({settled}, {released}, {expired})
                       AND COALESCE(settled_at, released_at, expires_at) < UTC_TIMESTAMP(3) - INTERVAL {keep_days} DAY
  FROM reservation FORCE INDEX (PRIMARY) WHERE reservation_id > {after_id} ORDER BY reservation_id LIMIT {limit};

-- name: purge_rows
DELETE r FROM reservation r FORCE INDEX (PRIMARY)
 WHERE r.reservation_id IN ({list}) AND r.state IN ({settled}, {released}, {expired});

-- name: purge_customers
-- Takes the units of the list's settled orders, less those that came back, from the customers' units. The reservations
-- are locked before the customers' rows, and the customers' rows in their order, even where nothing changes, because
-- purge_nothing_had comes next. FOR UPDATE holds for one SELECT of a union, so each has its own: no unit can come back
-- after it was read.
INSERT INTO customer_units (customer, sku_id, units)
  SELECT customer, sku_id, -SUM(units)
    FROM ((SELECT e.customer, l.sku_id, IF(r.state = {settled}, l.qty, 0) AS units
             FROM reservation r FORCE INDEX (PRIMARY)
             STRAIGHT_JOIN reservation_note e FORCE INDEX (PRIMARY)
                ON e.reservation_id = r.reservation_id AND e.customer IS NOT NULL
             STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = r.reservation_id
            WHERE r.reservation_id IN ({list})
              FOR UPDATE)
          UNION ALL
          (SELECT e.customer, t.sku_id, -t.units
             FROM reservation_returned t FORCE INDEX (PRIMARY)
             STRAIGHT_JOIN reservation_note e FORCE INDEX (PRIMARY)
                ON e.reservation_id = t.reservation_id AND e.customer IS NOT NULL
            WHERE t.reservation_id IN ({list})
              FOR UPDATE)) had
   GROUP BY customer, sku_id ORDER BY customer, sku_id
  ON DUPLICATE KEY UPDATE units = customer_units.units + VALUES(units);

-- name: purge_nothing_had
-- Deletes rows of the list's customers and skus that have no units left in any order.
DELETE u
  FROM reservation_note e FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = e.reservation_id
  STRAIGHT_JOIN customer_units u FORCE INDEX (PRIMARY) ON u.customer = e.customer AND u.sku_id = l.sku_id
 WHERE e.reservation_id IN ({list}) AND u.units = 0;

-- name: purge_lines
DELETE l FROM reservation_line l FORCE INDEX (PRIMARY) WHERE l.reservation_id IN ({list});

-- name: purge_notes
DELETE e FROM reservation_note e FORCE INDEX (PRIMARY) WHERE e.reservation_id IN ({list});

-- name: purge_shorts
DELETE s FROM reservation_short s FORCE INDEX (PRIMARY) WHERE s.reservation_id IN ({list});

-- name: purge_holds
DELETE h FROM key_hold h FORCE INDEX (PRIMARY) WHERE h.reservation_id IN ({list});

-- name: purge_returned
DELETE b FROM reservation_returned b FORCE INDEX (PRIMARY) WHERE b.reservation_id IN ({list});

-- name: purge_splits
-- The parts of a reservation are known as long as the reservation itself.
DELETE s FROM reservation_part s FORCE INDEX (PRIMARY) WHERE s.first_id IN ({list});

-- name: purge_amends
DELETE a FROM reservation_amend a FORCE INDEX (PRIMARY) WHERE a.reservation_id IN ({list});

-- name: purge_tasks_page
-- Walks like purge_page: {limit} tasks behind {after_id}, and which of them ended more than {keep_days} ago and are
-- named by no order that is held or confirmed. Each state has a subquery of its own: for a list of states the server
-- would walk the claim index through all live orders, for every task. The read is plain, so it locks none of them.
SELECT k.task_id, k.state <> {open} AND k.ended_at < UTC_TIMESTAMP(3) - INTERVAL {keep_days} DAY
       AND NOT EXISTS (SELECT 1 FROM reservation r FORCE INDEX (claim) WHERE r.state = {held} AND r.task_id = k.task_id)
       AND NOT EXISTS (SELECT 1 FROM reservation r FORCE INDEX (claim)
                        WHERE r.state = {confirmed} AND r.task_id = k.task_id)
  FROM job_task k FORCE INDEX (PRIMARY) WHERE task_id > {after_id} ORDER BY task_id LIMIT {limit};

-- name: purge_tasks_lost
-- Runs before purge_tasks: no later purge would find the rows of a task that is gone.
DELETE l FROM task_lost l FORCE INDEX (PRIMARY) WHERE l.task_id IN ({list});

-- name: purge_tasks
-- A task that has ended claims nothing, so no order has come to name it since.
DELETE job_task FROM job_task FORCE INDEX (PRIMARY) WHERE task_id IN ({list}) AND state <> {open};
