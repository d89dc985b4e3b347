-- Webhooks: the calls of clients, and the writes of deliverers. A webhook is one row, found by its id. Deliverers find
-- rows to claim by index claim, and their own rows by index task. A caller that has read a row writes it with its mark,
-- because a webhook that was deleted and made again with the same id is another one.

-- piece: webhook_columns
-- A secret that was replaced signs for a day. The age is that of the oldest undelivered event that the present
-- deliverer knows. A series of failures lasts as long as tries are made: it does not grow after a try is due that was
-- not made, because there was no deliverer or the clock was moved.
w.webhook_id, w.url, w.types, w.from_oldest, w.parallel, w.created_at, w.secret,
IF(w.rotated_at > UTC_TIMESTAMP(3) - INTERVAL 1 DAY, w.secret_before, NULL), w.rotated_at, w.state, w.version, w.place,
IF(w.behind = 0 AND w.due_at > UTC_TIMESTAMP(3), 0,
   GREATEST(0, TIMESTAMPDIFF(MICROSECOND, w.waits_since, UTC_TIMESTAMP(3)) DIV 1000)),
w.skip_event, w.last_status, w.last_error, w.failures, w.failed_event, w.failing_since, w.retry_at,
GREATEST(0, TIMESTAMPDIFF(MICROSECOND, w.failing_since, LEAST(w.retry_at, UTC_TIMESTAMP(3))) DIV 1000),
TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), w.retry_at) DIV 1000,
IF(w.oldest_until > UTC_TIMESTAMP(3), w.secret_oldest, NULL), w.mark & 9223372036854775807, w.ahead IS NOT NULL,
COALESCE(w.asked_at BETWEEN UTC_TIMESTAMP(3) - INTERVAL 10 SECOND AND UTC_TIMESTAMP(3) + INTERVAL 10 SECOND, 0)

-- piece: webhook_row
-- The row that was read. A mark has 63 bits; a larger one is damage.
webhook_id = {webhook} AND mark & 9223372036854775807 = {mark}

-- piece: webhook_next
-- The number of the next claim; after the largest value of the column comes 0.
(version + 1) % 4294967296

-- name: webhook_find
SELECT {webhook_columns} FROM webhook w WHERE w.webhook_id = {webhook};

-- name: webhook_list
SELECT {webhook_columns} FROM webhook w WHERE w.webhook_id > {after_code} ORDER BY w.webhook_id LIMIT {limit};

-- name: webhook_insert
-- Rows: (webhook_id, mark, url, types, from_oldest, parallel, secret, place, now, now, now), one.
INSERT INTO webhook
  (webhook_id, mark, url, types, from_oldest, parallel, secret, place, created_at, due_at, waits_since) VALUES {rows};

-- name: webhook_delete
DELETE FROM webhook WHERE webhook_id = {webhook};

-- name: webhook_enable
-- Takes the webhook from its deliverer. {moves}: its place is {cursor} from now on. {skip}: the event that failed is
-- skipped; a repeated call means the same event. A webhook that does not fail and does not move is not changed: its
-- running deliveries would be sent again.
UPDATE webhook
   SET skip_event = IF({skip}, COALESCE(failed_event, skip_event), IF({moves}, NULL, skip_event)),
       place = IF({moves}, {cursor}, place), ahead = IF({moves}, NULL, ahead),
       waits_since = IF({moves}, UTC_TIMESTAMP(3), waits_since),
       state = {active}, due_at = UTC_TIMESTAMP(3), task_id = NULL, version = {webhook_next},
       failures = 0, failed_event = NULL, failing_since = NULL, retry_at = NULL
 WHERE {webhook_row} AND (state <> {active} OR failures > 0 OR {moves});

-- name: webhook_rotate
-- The oldest of the signing secrets keeps its day, even if the call comes often: receivers may still use it.
UPDATE webhook
   SET secret_oldest = IF(oldest_until > UTC_TIMESTAMP(3), secret_oldest, secret_before),
       oldest_until = IF(oldest_until > UTC_TIMESTAMP(3), oldest_until, rotated_at + INTERVAL 1 DAY),
       secret_before = secret, secret = {secret}, rotated_at = UTC_TIMESTAMP(3)
 WHERE {webhook_row};

-- name: webhook_claim
-- Takes up to {limit} webhooks without a deliverer, or with one that has gone silent, for {task}. {task} renews its own
-- ones, and does not take webhooks with the secrets {list}, which it cannot open. A lease is an hour at most: a later
-- end was given by a clock that was ahead. The attempts of the deliverer before are deleted.
UPDATE webhook FORCE INDEX (claim)
   SET task_id = {task}, version = {webhook_next}, due_at = UTC_TIMESTAMP(3) + INTERVAL {lease_s} SECOND,
       attempts = NULL
 WHERE state = {active} AND (due_at <= UTC_TIMESTAMP(3) OR due_at > {latest_lease})
   AND (task_id IS NULL OR task_id <> {task}) AND secret NOT IN ({list}) LIMIT {limit};

-- name: webhook_mine
SELECT {webhook_columns} FROM webhook w FORCE INDEX (task) WHERE w.task_id = {task} AND w.state = {active};

-- name: webhook_is_mine
-- No row: another deliverer has the webhook now, or it was deleted.
SELECT 1 FROM webhook WHERE {webhook_row} AND task_id = {task} AND version = {version} AND state = {active};

-- name: webhook_ahead
SELECT ahead FROM webhook WHERE {webhook_row};

-- name: webhook_renew
-- Renews the lease of all webhooks of {task}. If no event waits, this counts as a look.
UPDATE webhook FORCE INDEX (task)
   SET waits_since = IF(behind, waits_since, UTC_TIMESTAMP(3)), due_at = UTC_TIMESTAMP(3) + INTERVAL {lease_s} SECOND
 WHERE task_id = {task} AND state = {active};

-- name: webhook_return
UPDATE webhook FORCE INDEX (task) SET due_at = UTC_TIMESTAMP(3), task_id = NULL
 WHERE task_id = {task} AND state = {active};

-- name: webhook_save
-- Writes the state of a delivery. No row: another deliverer has the webhook now, or it was enabled or deleted.
UPDATE webhook
   SET state = {state}, place = {cursor}, ahead = {ahead}, behind = {behind},
       waits_since = IF({behind}, {from_at}, UTC_TIMESTAMP(3)),
       due_at = UTC_TIMESTAMP(3) + INTERVAL {lease_s} SECOND, last_status = NULLIF({status}, -1), last_error = {error},
       failures = {failures}, failed_event = {event},
       failing_since = IF({failures}, UTC_TIMESTAMP(3) - INTERVAL {failing_ms} * 1000 MICROSECOND, NULL),
       retry_at = IF({failures}, UTC_TIMESTAMP(3) + INTERVAL {pause_ms} * 1000 MICROSECOND, NULL)
 WHERE {webhook_row} AND task_id = {task} AND version = {version} AND state = {active};

-- name: webhook_attempts_save
-- No row: another deliverer has the webhook now. A webhook that was switched off keeps its last list.
UPDATE webhook SET attempts = {attempts}, attempts_at = UTC_TIMESTAMP(3), attempts_by = {instance}
 WHERE {webhook_row} AND task_id = {task} AND version = {version};

-- name: webhook_attempts
-- Answers no list of a deliverer that is gone. A present one writes a list every 2 s, so a list is old after 3 s.
SELECT IF(state = {active} AND (task_id IS NULL OR due_at <= UTC_TIMESTAMP(3)), NULL, attempts), attempts_at,
       attempts_by,
       state = {active} AND task_id IS NOT NULL AND due_at > UTC_TIMESTAMP(3)
       AND (attempts IS NULL OR attempts_at < UTC_TIMESTAMP(3) - INTERVAL 3 SECOND)
  FROM webhook WHERE webhook_id = {webhook};

-- name: webhook_ask
-- Notes that a client asks for the attempts, once a second at most.
UPDATE webhook SET asked_at = UTC_TIMESTAMP(3)
 WHERE webhook_id = {webhook}
   AND (asked_at IS NULL OR asked_at NOT BETWEEN UTC_TIMESTAMP(3) - INTERVAL 1 SECOND AND UTC_TIMESTAMP(3));

-- name: webhook_pass
-- Leaves the webhook to another deliverer.
UPDATE webhook SET task_id = NULL, due_at = UTC_TIMESTAMP(3)
 WHERE {webhook_row} AND task_id = {task};
