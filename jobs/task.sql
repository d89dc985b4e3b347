-- Claims and what becomes of them. Reservations are found by the claim index without a sort and changed by primary key; the
-- task's number stands in every WHERE: a worker that was reaped changes nothing. The task's row comes last in the order of locks.

-- name: task_claim
-- Takes up to {count} due reservations in {state} for {worker}, the oldest first, because the walk follows the index. What is due
-- is counted first without a lock: a claim for more would lock live holds that are not due yet. So are holds whose pause after a
-- failure is over, which wait under task 0. No task without orders.
-- A row that somebody else has locked is passed over, and those that are not due stay unlocked even then. The plain UPDATE is all
-- that there is where nothing is locked, and where claims meet: it waits for the other, which is a matter of milliseconds, and a
-- second at most. A lock that is still there then is no claim's: what is free is counted, and that many are picked with SKIP
-- LOCKED. {lapsed} 1: the claimer met such a lock a moment ago, and picks at once. Picking costs a fourth more of the server's time.
-- {rows}: the worker, a hex literal; {low}: due_at in the index before which nothing waits, milliseconds since 1970; {id}: the
-- mark by which an outcome that was not heard of is found again (task_of_mark). It is unique: of two claims with one mark one stands.
BEGIN NOT ATOMIC
  DECLARE t DATETIME(3);
  DECLARE due INT DEFAULT 0;
  DECLARE locked INT DEFAULT {lapsed};
  DECLARE token BIGINT UNSIGNED DEFAULT 0;
  DECLARE number BIGINT UNSIGNED DEFAULT NULL;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  SET t = UTC_TIMESTAMP(3);
  SELECT COUNT(*) INTO due FROM (
    SELECT 1 FROM reservation FORCE INDEX (claim)
     WHERE state = {state} AND task_id = 0 AND due_at <= t LIMIT {count}) again;
  IF due > 0 THEN
    UPDATE (
      SELECT reservation_id FROM reservation FORCE INDEX (claim)
       WHERE state = {state} AND task_id = 0 AND due_at <= t LIMIT due FOR UPDATE SKIP LOCKED) unlocked
      STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = unlocked.reservation_id
       SET r.task_id = NULL;
  END IF;
  SELECT COUNT(*) INTO due FROM (
    SELECT 1 FROM reservation FORCE INDEX (claim)
     WHERE state = {state} AND task_id IS NULL
       AND due_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {low} * 1000 MICROSECOND AND t LIMIT {count}) waiting;
  WHILE due > 0 AND token = 0 DO
    IF locked THEN
      SELECT COUNT(*) INTO due FROM (
        SELECT reservation_id FROM reservation FORCE INDEX (claim)
         WHERE state = {state} AND task_id IS NULL
           AND due_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {low} * 1000 MICROSECOND AND t
         LIMIT {count} FOR UPDATE SKIP LOCKED) unlocked;
    END IF;
    START TRANSACTION;
    INSERT INTO task (task_id, kind, worker, state, lease_until, claimed, completed, failed, created_at, mark)
    VALUES (number, {kind}, {rows}, 1, t + INTERVAL {lease} SECOND, 0, 0, 0, t, {id});
    SET token = IFNULL(number, LAST_INSERT_ID());
    IF locked THEN
      UPDATE (
        SELECT reservation_id FROM reservation FORCE INDEX (claim)
         WHERE state = {state} AND task_id IS NULL
           AND due_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {low} * 1000 MICROSECOND AND t
         LIMIT due FOR UPDATE SKIP LOCKED) unlocked
        STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = unlocked.reservation_id
         SET r.task_id = token, r.attempts = r.attempts + 1;
      SET due = ROW_COUNT();
    ELSE
      BEGIN
        DECLARE EXIT HANDLER FOR 1205 SET locked = 1, number = token, token = 0;
        SET STATEMENT innodb_lock_wait_timeout = 1 FOR
        UPDATE reservation FORCE INDEX (claim) SET task_id = token, attempts = attempts + 1
         WHERE state = {state} AND task_id IS NULL
           AND due_at BETWEEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {low} * 1000 MICROSECOND AND t LIMIT due;
        SET due = ROW_COUNT();
      END;
      IF token = 0 THEN
        ROLLBACK;
        SET t = UTC_TIMESTAMP(3);
      END IF;
    END IF;
  END WHILE;
  IF token > 0 AND due > 0 THEN
    UPDATE task SET claimed = due WHERE task_id = token;
    COMMIT;
  ELSE
    ROLLBACK;
    SET token = 0;
  END IF;
  SELECT token, due, t + INTERVAL {lease} SECOND, locked;
END

-- name: task_take_up
-- A worker whose task {task} was reaped while it could not renew its lease goes on under a new one, with the orders that nobody
-- else has had since: they still name the task, or wait again or are buried with the reaper's words (jobs/reap.c has them). A
-- claim of another that was lost, too, has charged an attempt and left other words; after a kick it is 0. This one charges none.
-- {rows}: reservation_id and attempts of each; {id}: as above.
BEGIN NOT ATOMIC
  DECLARE taken INT DEFAULT 0;
  DECLARE token BIGINT UNSIGNED DEFAULT 0;
  DECLARE t DATETIME(3);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  SET t = UTC_TIMESTAMP(3);
  START TRANSACTION;
  INSERT INTO task (kind, worker, state, lease_until, claimed, completed, failed, created_at, mark)
    SELECT kind, worker, 1, t + INTERVAL {lease} SECOND, 0, 0, 0, t, {id} FROM task WHERE task_id = {task} AND state = 4;
  IF ROW_COUNT() = 1 THEN
    SET token = LAST_INSERT_ID();
    UPDATE (SELECT 0 AS id, 0 AS attempts UNION ALL VALUES {rows}) mine
      STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = mine.id
       SET r.state = {state}, r.task_id = token, r.attempts = GREATEST(r.attempts, 1)
     WHERE r.attempts IN (mine.attempts, 0)
       AND ((r.state = {state} AND r.task_id = {task})
         OR ((r.state = 6 OR (r.state = {state} AND IFNULL(r.task_id, 0) = 0))
           AND r.last_error = (SELECT CONCAT('the lease of worker ', worker, ' ran out') FROM task WHERE task_id = {task})));
    SET taken = ROW_COUNT();
  END IF;
  IF taken > 0 THEN
    UPDATE task SET claimed = taken WHERE task_id = token;
    COMMIT;
  ELSE
    ROLLBACK;
    SET token = 0;
  END IF;
  SELECT token, taken, t + INTERVAL {lease} SECOND;
END

-- name: task_of_mark
-- The task of a claim whose answer was lost; none: that claim was not committed.
SELECT task_id, claimed, lease_until FROM task FORCE INDEX (mark) WHERE mark = {id};

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

-- name: task_put_off
-- Orders that somebody else keeps locked wait a while; the attempt is not charged. Holds wait under task 0, as after a failure.
    UPDATE reservation FORCE INDEX (PRIMARY)
       SET task_id = IF({state} = 1, 0, NULL), attempts = attempts - 1, due_at = @t + INTERVAL 10 SECOND,
           last_error = 'locked by somebody else'
     WHERE reservation_id IN ({rows}) AND task_id = {task} AND state = {state};

-- name: task_give_back_held
-- Holds of an expiry that are not past their time go back: a clock that was ahead has claimed them. They are due at their end.
    UPDATE reservation FORCE INDEX (PRIMARY) SET task_id = NULL, attempts = attempts - 1, due_at = expires_at
     WHERE reservation_id IN ({rows}) AND task_id = {task} AND state = 1;

-- name: task_mark_returned
    UPDATE task SET state = 3, ended_at = @t WHERE task_id = {task} AND state = 1;

-- name: task_heartbeat
    UPDATE task SET lease_until = @t + INTERVAL {lease} SECOND WHERE task_id = {task} AND state = 1;

-- name: task_clock
SELECT UTC_TIMESTAMP(3);

-- name: task_prolong
-- Leases that ran out since {rows}, while the database was away or its clock jumped: {lease} seconds more. {count}: more than there
-- are, without which SKIP LOCKED would be merged away.
UPDATE (
  SELECT task_id FROM task FORCE INDEX (open_lease)
   WHERE state = 1 AND lease_until >= {rows} AND lease_until < UTC_TIMESTAMP(3) LIMIT {count} FOR UPDATE SKIP LOCKED) unlocked
  STRAIGHT_JOIN task t FORCE INDEX (PRIMARY) ON t.task_id = unlocked.task_id
   SET t.lease_until = UTC_TIMESTAMP(3) + INTERVAL {lease} SECOND;

-- name: task_leases_ahead
-- Open tasks that were made, or whose lease was renewed, by a clock that was ahead: made later than now, or with a lease longer
-- than the longest (an hour). A minute is for clocks that are set right bit by bit.
SELECT task_id FROM task FORCE INDEX (open_lease)
 WHERE state = 1 AND lease_until > UTC_TIMESTAMP(3) + INTERVAL 60 SECOND
   AND (created_at > UTC_TIMESTAMP(3) + INTERVAL 60 SECOND OR lease_until > UTC_TIMESTAMP(3) + INTERVAL 3660 SECOND)
 LIMIT {count};

-- name: task_lease_cut
-- A lease made ahead of now is as long as it was, from now on; of one that was renewed then nobody knows how long: a minute. One
-- that ends before it was made has been renewed by a clock of now.
UPDATE task FORCE INDEX (PRIMARY)
   SET lease_until = CASE
         WHEN created_at > UTC_TIMESTAMP(3) + INTERVAL 60 SECOND AND lease_until > created_at
         THEN UTC_TIMESTAMP(3) + INTERVAL LEAST(TIMESTAMPDIFF(MICROSECOND, created_at, lease_until), 3600000000) MICROSECOND
         WHEN lease_until > UTC_TIMESTAMP(3) + INTERVAL 3660 SECOND THEN UTC_TIMESTAMP(3) + INTERVAL 60 SECOND
         ELSE lease_until END,
       created_at = LEAST(created_at, UTC_TIMESTAMP(3))
 WHERE task_id IN ({rows}) AND state = 1
   AND (created_at > UTC_TIMESTAMP(3) + INTERVAL 60 SECOND OR lease_until > UTC_TIMESTAMP(3) + INTERVAL 3660 SECOND);

-- name: task_orders_ahead
-- Confirmed orders, and holds that failed to expire, that wait for a time which a clock of now would not have given: a
-- confirmation and a kick are due at once, after a failure the pause is 2^attempts seconds, 600 at most, give or take a tenth.
-- The farthest of each, {count} at most: what is as near as a pause may be is due soon.
SELECT reservation_id FROM (
  (SELECT reservation_id, attempts, due_at FROM reservation FORCE INDEX (claim)
    WHERE state = 2 AND task_id IS NULL AND due_at > UTC_TIMESTAMP(3) + INTERVAL 60 SECOND
    ORDER BY due_at DESC LIMIT {count})
  UNION ALL
  (SELECT reservation_id, attempts, due_at FROM reservation FORCE INDEX (claim)
    WHERE state = 1 AND task_id = 0 AND due_at > UTC_TIMESTAMP(3) + INTERVAL 60 SECOND
    ORDER BY due_at DESC LIMIT {count})) late
 WHERE due_at > UTC_TIMESTAMP(3) + INTERVAL 60000000 + 1100000 * LEAST(600, 1 << LEAST(attempts, 10)) MICROSECOND;

-- name: task_orders_hasten
-- They are due now.
UPDATE reservation FORCE INDEX (PRIMARY) SET due_at = UTC_TIMESTAMP(3)
 WHERE reservation_id IN ({rows}) AND ((state = 2 AND task_id IS NULL) OR (state = 1 AND task_id = 0))
   AND due_at > UTC_TIMESTAMP(3) + INTERVAL 60 SECOND;

-- name: task_overdue
-- Open tasks whose lease had run out {lease} seconds before {id} (milliseconds since 1970), the longest first; {rows} and {low}:
-- the lease and number of the last one seen before. {id} is when the reaper looked at the clock: what runs out while the
-- database keeps it waiting is none of this pass.
SELECT task_id, kind, worker, state, lease_until, claimed, completed, failed, created_at, 1
  FROM task FORCE INDEX (open_lease)
 WHERE state = 1 AND lease_until >= {rows}
   AND lease_until < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {id} * 1000 MICROSECOND - INTERVAL {lease} SECOND
   AND (lease_until > {rows} OR task_id > {low})
 ORDER BY lease_until, task_id LIMIT {count};

-- name: task_reap
-- Of several reapers one gets it. {id}: as above.
UPDATE task SET state = 4, ended_at = UTC_TIMESTAMP(3)
 WHERE task_id = {task} AND state = 1
   AND lease_until < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL {id} * 1000 MICROSECOND - INTERVAL {lease} SECOND;

-- name: task_orphans
-- Tasks after {low} that ended and still have orders: a reaper died half-way. Walks what is claimed, which is little, in the order
-- of the index.
SELECT r.task_id, k.kind, k.worker, k.state, k.lease_until, k.claimed, k.completed, k.failed, k.created_at, 1
  FROM reservation r FORCE INDEX (claim) STRAIGHT_JOIN task k FORCE INDEX (PRIMARY) ON k.task_id = r.task_id
 WHERE r.state = {state} AND r.task_id > {low} AND k.state <> 1 AND k.kind = {kind}
 GROUP BY r.task_id ORDER BY r.task_id LIMIT {count};

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
