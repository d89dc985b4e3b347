-- Reservations: reads and changes.
--
-- Rows are locked by primary key, whatever the length of the list. C decides on rows that were read without a lock. The
-- state that the decision relied on, and `changed` and `attempts` as they were read, stand in the WHERE, and the count
-- is checked: a change that came between is seen, also where lines changed and the state did not, and so is a claim,
-- which moves `attempts` alone. {rows} of a change are (reservation_id, changed, attempts). SYSDATE, not UTC_TIMESTAMP:
-- the clock of a statement stands still while the statement waits for a lock. @t: the time of the transaction, @s its
-- stamp.

-- The columns of a reservation stand in reservation.def: {reservation_columns}.

-- piece: line_columns
-- As line_read has them.
l.sku_id, k.code, l.location_id, o.code, l.slot, l.qty, o.kind

-- piece: reservation_lines
-- A reservation without notes costs no look for them, and one without a key none for its name.
  LEFT JOIN reservation_note e ON r.noted & {texts} AND e.reservation_id = r.reservation_id
  LEFT JOIN api_key a ON a.key_id = r.key_id LEFT JOIN reservation_line l ON l.reservation_id = r.reservation_id
  LEFT JOIN sku k ON k.sku_id = l.sku_id LEFT JOIN location o ON o.location_id = l.location_id

-- piece: is_past_its_time
-- A held reservation: its time has passed by the clock of this moment.
state = {held} AND expires_at <= SYSDATE(3)

-- piece: is_kept
-- A held reservation: its time has not passed.
state = {held} AND expires_at > SYSDATE(3)

-- piece: is_free
-- No task has the reservation, nor is it put aside: a claim may take it, in its state, once it is due.
task_id IS NULL

-- piece: is_put_aside
-- Task 0 is no task: a hold that failed to expire, or a confirmed reservation that is not to be shipped yet. A claim
-- makes it free when it is due.
task_id = 0

-- piece: is_claimed
COALESCE(task_id, 0) > 0

-- piece: is_due
-- A hold is due when its time has passed, a confirmed reservation at once, both after a failure when their pause is
-- over.
due_at <= UTC_TIMESTAMP(3)

-- piece: waits_for_worker
-- The pause after a failure that no worker cuts short: a hold that did not expire is put aside meanwhile.
(state = {confirmed} AND {is_free}) OR (state = {held} AND {is_put_aside})

-- piece: as_read
-- The rows of a change, none of which was changed or claimed since it was read: a range of the primary key. The row of
-- zeroes is there because an UPDATE with one row alone would be a walk over all rows.
(reservation_id, changed, attempts) IN ((0, 0, 0), {rows})

-- piece: is_had_as_read
-- With {claimed} 0: rows that no task had when they were read. A claim of an order with attempts at the end of their
-- column moves nothing of as_read.
({claimed} = 1 OR NOT {is_claimed})

-- piece: told
-- Of a change that has an event: its stamp, and the row of events of this transaction (schema/028_history.sql). @w is
-- set when the connection gets its writer.
changed = @s, last_event = @w | @n

-- piece: version_stays
-- Of a change that no event tells, ahead of `changed = @s`: the order keeps its version (schema/022_change.sql). Values
-- are set from the left to the right.
version = IF(version_kept = changed, version, changed), version_kept = @s

-- piece: ships_at
-- The time from which the reservation may be shipped: as asked for, or the end of its hold where that is later
-- (on_hold.sql). All statements that make an order due read this one time.
IFNULL(ship_after, @t)

-- piece: put_aside_until
-- The task_id of a confirmed reservation that no task has: put aside until it may be shipped.
IF(ship_after > @t, 0, NULL)

-- piece: made_due
state = {confirmed}, {told}, task_id = {put_aside_until}, attempts = 0, due_at = GREATEST(@t, {ships_at})

-- piece: made_confirmed
-- What kept a hold from expiring is no error of the order.
{made_due}, confirmed_at = @t, last_error = NULL

-- name: reservation_find
-- Reservations by order_id, with their lines, and the clock by which `held` is read. A reader that gets {limit} lines
-- does not know whether these are all.
SELECT {reservation_columns}, {line_columns}
  FROM reservation r FORCE INDEX (order_id) {reservation_lines}
 WHERE r.order_id IN ({list}) LIMIT {limit};

-- name: reservation_by_id
SELECT {reservation_columns}, {line_columns}
  FROM reservation r FORCE INDEX (PRIMARY) {reservation_lines}
 WHERE r.reservation_id IN ({list});

-- piece: not_yet
-- The confirmed_at of an order that was not confirmed. A NULL would take no room, and each confirmation would make its
-- row longer, for which InnoDB rearranges pages: half the cost of confirming.
TIMESTAMP'2000-01-01 00:00:00'

-- name: reservation_add (prepared, never_waits)
-- Held, or held and confirmed in one step. Values: (id, order_id, lines_hash, key_id or 0, state, seconds to live,
-- noted). @t is a text: created_at is read from it once, and the other times from created_at, which stands before them.
INSERT INTO reservation (reservation_id, order_id, lines_hash, key_id, state, created_at, expires_at, due_at,
                         confirmed_at, attempts, changed, last_event, noted)
VALUES (?, ?, ?, NULLIF(?, 0), ?, @t, created_at + INTERVAL ? SECOND, IF(state = {held}, expires_at, created_at),
        IF(state = {held}, {not_yet}, created_at), 0, @s, @w | @n, ?);

-- name: reservation_note_customer (prepared, never_waits)
-- A new order that has a customer and nothing else. Values: (reservation_id, customer, state).
INSERT INTO reservation_note (reservation_id, customer, order_state) VALUES (?, ?, ?);

-- name: reservation_note_add (never_waits)
-- Rows: (reservation_id, reference, replaced_by, customer, replaces, state). A replaced order may have a row already.
INSERT INTO reservation_note (reservation_id, reference, replaced_by, customer, replaces, order_state) VALUES {rows}
    ON DUPLICATE KEY UPDATE replaced_by = VALUES(replaced_by), order_state = VALUES(order_state);

-- name: note_states (never_waits)
-- The notes of orders that have another state since this transaction. It has locked the orders, so two never meet here.
UPDATE reservation_note n FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = n.reservation_id
   SET n.order_state = r.state
 WHERE n.reservation_id IN (0, {list});

-- name: reservation_ship_after (never_waits)
-- New reservations that no claim takes before a time, or before the end of a hold that they take over. Rows:
-- (reservation_id, ms since 1970).
UPDATE (SELECT id, TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ms * 1000 MICROSECOND AS ship_after
          FROM (SELECT 0 AS id, 0 AS ms UNION ALL VALUES {rows}) given) later
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = later.id
   SET r.ship_after = later.ship_after,
       r.task_id = IF(r.state = {confirmed} AND later.ship_after > @t, 0, NULL),
       r.due_at = IF(r.state = {confirmed}, GREATEST(r.due_at, later.ship_after), r.due_at);

-- name: reservation_short_add (never_waits)
-- Rows: (reservation_id, line_no, sku_id, requested, granted, limited).
INSERT INTO reservation_short (reservation_id, line_no, sku_id, requested, granted, limited) VALUES {rows};

-- name: reservation_short_find
SELECT reservation_id, line_no, granted, limited
  FROM reservation_short FORCE INDEX (PRIMARY) WHERE reservation_id IN ({list});

-- name: key_hold_add (never_waits)
-- Enters holds, in the transaction of their reservations. Rows: (reservation_id, key_id, units).
INSERT INTO key_hold (reservation_id, key_id, units) VALUES {rows};

-- name: key_hold_set
-- Enters holds with lines that a split has changed, whatever key_hold_enter reads at the same time. Rows: as
-- key_hold_add.
INSERT INTO key_hold (reservation_id, key_id, units) VALUES {rows} ON DUPLICATE KEY UPDATE units = VALUES(units);

-- name: reservation_line_add (prepared, never_waits)
-- Values: (id, sku, location, slot, qty).
INSERT INTO reservation_line (reservation_id, sku_id, location_id, slot, qty) VALUES (?, ?, ?, ?, ?);

-- name: reservation_confirm
UPDATE reservation FORCE INDEX (PRIMARY) SET {made_confirmed}
 WHERE {as_read} AND {is_kept};

-- name: reservation_confirm_late
-- Revives a hold that is past its time and not swept yet; its units are still its own.
UPDATE reservation FORCE INDEX (PRIMARY) SET {made_confirmed}
 WHERE {as_read} AND state = {held};

-- name: reservation_reacquire
-- Revives a hold that expired and was swept; stock_deduct of the same transaction holds its units again, in the own
-- slot.
UPDATE reservation FORCE INDEX (PRIMARY) SET {made_confirmed}
 WHERE {as_read} AND state = {expired};

-- name: reservation_line_move
-- The lines are live again, and name the slot that holds their units now.
UPDATE reservation_line FORCE INDEX (PRIMARY) SET slot = {slot}, live = 1 WHERE reservation_id IN ({list});

-- name: reservation_line_end
-- The lines of reservations that have ended just now: no list of the holders of their sku walks over them any more.
UPDATE reservation_line FORCE INDEX (PRIMARY) SET live = 0 WHERE reservation_id IN ({list});

-- name: reservation_release_held
UPDATE reservation FORCE INDEX (PRIMARY) SET state = {released}, {told}, released_at = @t
 WHERE {as_read} AND {is_kept};

-- name: reservation_release_from
-- Releases from {state}, confirmed or buried, also while a worker has claimed the order: the task's number stays, and
-- the worker is given that the order is lost.
UPDATE reservation FORCE INDEX (PRIMARY) SET state = {released}, {told}, released_at = @t
 WHERE {as_read} AND state = {state};

-- name: reservation_settle_from
-- Settles by its id what is confirmed or buried, {state}. No task's number stays: a task that had it until now never
-- counts it (task_lose).
UPDATE reservation FORCE INDEX (PRIMARY) SET state = {settled}, {told}, settled_at = @t, task_id = NULL
 WHERE {as_read} AND state = {state} AND {is_had_as_read};

-- name: claims_open
-- The tasks of the list that are open, whatever their leases say.
SELECT task_id, worker, lease_until FROM job_task FORCE INDEX (PRIMARY)
 WHERE task_id IN ({list}) AND state = {open};

-- name: reservation_replace
-- A hold or a confirmed reservation gives way to the one that replaces it; reservation_note says which. The number of a
-- task that had it stays.
UPDATE reservation FORCE INDEX (PRIMARY) SET state = {released}, {told}, released_at = @t, noted = noted | {texts}
 WHERE {as_read} AND (({is_kept}) OR state = {confirmed}) AND {is_had_as_read};

-- name: reservation_take_turn (never_waits)
-- An order that replaces a confirmed one takes over its time of confirmation, and its turn among the claims. Rows: (id
-- of the new one, id of the replaced one).
UPDATE (SELECT 0 AS new_id, 0 AS old_id UNION ALL VALUES {rows}) turn
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = turn.new_id
  STRAIGHT_JOIN reservation o FORCE INDEX (PRIMARY) ON o.reservation_id = turn.old_id
   SET r.confirmed_at = o.confirmed_at, r.due_at = LEAST(o.due_at, @t);

-- name: reservation_lock
-- Locks rows in the order of their ids, before several statements change them.
SELECT COUNT(*) FROM (
  SELECT 1 FROM reservation FORCE INDEX (PRIMARY) WHERE reservation_id IN ({list})
   ORDER BY reservation_id FOR UPDATE) locked;

-- name: losers_lock
-- Locks the rows that may lose units: live ones of no task that are as they were read and not locked by others.
SELECT reservation_id FROM reservation FORCE INDEX (PRIMARY)
 WHERE {as_read} AND NOT {is_claimed} AND (({is_kept}) OR state IN ({confirmed}, {buried}))
 ORDER BY reservation_id FOR UPDATE SKIP LOCKED;

-- name: task_lose
-- The task that has claimed a reservation loses it by a split, or because another call revives, expires or settles it,
-- and can tell so. What HAVING leaves out stays locked: no claim comes between this and the change.
INSERT IGNORE INTO task_lost (task_id, order_id)
SELECT task_id, order_id FROM reservation FORCE INDEX (PRIMARY) WHERE {as_read} HAVING task_id > 0 FOR UPDATE;

-- name: split_first
-- The first reservation stays as it is but for its lines, and no task has claimed it any more. Its attempts stay.
UPDATE reservation FORCE INDEX (PRIMARY)
   SET {told}, noted = noted | {parts}, task_id = IF(state = {confirmed} AND {is_put_aside}, 0, NULL),
       due_at = IF(state = {held}, expires_at, due_at)
 WHERE {as_read} AND (({is_kept}) OR state = {confirmed}) AND {is_had_as_read};

-- name: split_line_take (never_waits)
-- Units leave lines of the first. Rows: (reservation_id, sku, location, slot, units).
INSERT INTO reservation_line (reservation_id, sku_id, location_id, slot, qty) VALUES {rows}
    ON DUPLICATE KEY UPDATE qty = qty - VALUES(qty);

-- name: split_line_drop (never_waits)
-- Lines that leave whole. Rows: (reservation_id, sku, location); the row of zeroes as in as_read.
DELETE l FROM reservation_line l FORCE INDEX (PRIMARY)
 WHERE (l.reservation_id, l.sku_id, l.location_id) IN ((0, 0, 0), {rows});

-- name: split_part_add (never_waits)
-- The part has the times of the first, and is due no later than now, or than it may be shipped, where it is confirmed:
-- it has failed at no attempt. A part that has ended takes over no hold. Rows: (id, order_id, lines_hash, state, id of
-- the first, noted).
INSERT INTO reservation (reservation_id, order_id, lines_hash, key_id, state, expires_at, due_at, ship_after, task_id,
                         noted, attempts, created_at, confirmed_at, released_at, settled_at, changed,
                         last_event)
  WITH part(id, order_id, lines_hash, state, first_id, noted) AS (VALUES {rows})
  SELECT p.id, p.order_id, p.lines_hash, r.key_id, p.state, r.expires_at,
         IF(p.state = {held}, r.expires_at, GREATEST(IF(r.state = {held}, @t, LEAST(r.due_at, @t)), {ships_at})),
         IF(h.reservation_id > 0 AND NOT p.noted & {on_hold}, h.asked_ship_after, r.ship_after),
         IF(p.state = {confirmed}, {put_aside_until}, NULL), p.noted, 0, r.created_at,
         IF(p.state = {confirmed} AND r.state = {held}, @t, r.confirmed_at), IF(p.state = {released}, @t, NULL),
         IF(p.state = {settled}, @t, NULL), @s, @w | @n
    FROM part p STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = p.first_id
    LEFT JOIN reservation_on_hold h FORCE INDEX (PRIMARY)
      ON r.noted & {on_hold} AND h.reservation_id = r.reservation_id;

-- name: split_add (never_waits)
-- Rows: (first_id, part_id, sku, location, units before, units).
INSERT INTO reservation_part (first_id, part_id, sku_id, location_id, units_before, qty) VALUES {rows};

-- name: parts_settled
-- The settled orders with units of a sku that were split off from an order, or from one of its parts. The walk follows
-- the splits of this sku by the primary key. Rows: (reservation_id of the first, sku).
WITH RECURSIVE asked(reservation_id, sku_id) AS (VALUES {rows}), parted(first_id, part_id, sku_id) AS (
  SELECT a.reservation_id, s.part_id, s.sku_id
    FROM asked a
    STRAIGHT_JOIN reservation_part s FORCE INDEX (PRIMARY) ON s.first_id = a.reservation_id AND s.sku_id = a.sku_id
  UNION
  SELECT p.first_id, s.part_id, s.sku_id
    FROM parted p
    STRAIGHT_JOIN reservation_part s FORCE INDEX (PRIMARY) ON s.first_id = p.part_id AND s.sku_id = p.sku_id)
SELECT p.first_id, r.order_id
  FROM parted p
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = p.part_id AND r.state = {settled}
  STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = p.part_id AND l.sku_id = p.sku_id;

-- name: returned_find
-- What came back of settled orders that say so (noted): reservation, sku, units.
SELECT reservation_id, sku_id, units FROM reservation_returned FORCE INDEX (PRIMARY) WHERE reservation_id IN ({list});

-- name: returned_note (never_waits)
-- Orders of which the first units come back. `changed` stays: state, lines and due time do, and the event is that of
-- the movement.
UPDATE reservation FORCE INDEX (PRIMARY) SET noted = noted | {returns} WHERE reservation_id IN ({list});

-- piece: back
-- Units that come back: (reservation_id, sku, units).
WITH back(reservation_id, sku_id, units) AS (VALUES {rows})

-- name: returned_make (never_waits)
-- Makes the rows that returned_add raises, each by itself: it would count 1 for a new row and 2 for one that was there,
-- and two returns, one of them refused, would count as much as two that are new. A transaction that writes these rows
-- has locked their reservation.
INSERT INTO reservation_returned (reservation_id, sku_id, units)
  {back} SELECT reservation_id, sku_id, 0 FROM back
    ON DUPLICATE KEY UPDATE units = reservation_returned.units;

-- name: returned_add (never_waits)
-- The guard of returned units: no more than were settled of this sku, over all locations, and of an order that is
-- settled and there. Judged here by what stands under the lock, so two returns of one order queue, and neither is
-- undone where both fit. The count is 2 for each row that was raised, 0 for one that may not be.
INSERT INTO reservation_returned (reservation_id, sku_id, units)
  {back}
  SELECT b.reservation_id, b.sku_id, o.units + b.units
    FROM back b
    STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = b.reservation_id AND r.state = {settled}
    STRAIGHT_JOIN reservation_returned o FORCE INDEX (PRIMARY)
       ON o.reservation_id = b.reservation_id AND o.sku_id = b.sku_id
   WHERE o.units + b.units <= (SELECT SUM(l.qty) FROM reservation_line l FORCE INDEX (PRIMARY)
                                WHERE l.reservation_id = b.reservation_id AND l.sku_id = b.sku_id) FOR UPDATE
      ON DUPLICATE KEY UPDATE units = VALUES(units);

-- name: reservation_extend
-- A hold lives {ttl_s} from now; due_at moves along.
UPDATE reservation FORCE INDEX (PRIMARY)
   SET {told}, expires_at = @t + INTERVAL {ttl_s} SECOND, due_at = expires_at, task_id = NULL, attempts = 0
 WHERE {as_read} AND {is_kept};

-- name: reservation_kick
UPDATE reservation FORCE INDEX (PRIMARY) SET {made_due} WHERE {as_read} AND state = {buried};

-- name: reservation_settle
-- The first write of a settlement is its fence: rows that are no longer this task's are missing from the count.
UPDATE reservation FORCE INDEX (PRIMARY) SET state = {settled}, {told}, settled_at = @t
 WHERE {as_read} AND task_id = {task} AND state = {confirmed};

-- name: reservation_expire
-- Expires the holds of {task}; its number stays. Task 0: holds that no task has, or with {claimed} 1 those of any task,
-- which loses them (task_lose); no number stays.
UPDATE reservation FORCE INDEX (PRIMARY) SET state = {expired}, {told}, task_id = NULLIF({task}, 0), attempts = 0
 WHERE {as_read} AND ({claimed} = 1 OR IFNULL(task_id, 0) = {task}) AND {is_past_its_time};

-- name: expired_exists
-- Tells whether any hold is past its time and not swept. Claimed holds count too: their worker may be dead. One row: 0
-- or 1, the clock, the time at which the lane took its writer, which shows whether the times of the tables were set,
-- and the writer's epoch.
SELECT EXISTS (SELECT 1 FROM reservation FORCE INDEX (claim)
                WHERE state = {held} AND {is_free} AND {is_due})
    OR EXISTS (SELECT 1 FROM reservation FORCE INDEX (claim)
                WHERE state = {held} AND task_id >= 0 AND expires_at <= UTC_TIMESTAMP(3)),
       UTC_TIMESTAMP(3), (SELECT started_at FROM log_writer WHERE writer_id = {writer}),
       (SELECT epoch FROM log_writer WHERE writer_id = {writer});

-- piece: stands_behind
-- A place in the claim index behind ({after_at}, {after_id}). The first condition is the range, the second filters
-- inside it.
r.due_at >= {after_at} AND (r.due_at > {after_at} OR r.reservation_id > {after_id})

-- name: expired_ahead
-- The place {offset} holds further on in the index, among holds due by {until_at}; no row where fewer are due.
SELECT r.due_at, r.reservation_id FROM reservation r FORCE INDEX (claim)
 WHERE state = {held} AND {is_free} AND due_at <= {until_at} AND {stands_behind}
 ORDER BY r.due_at, r.reservation_id LIMIT {offset}, 1;

-- name: expired_of_skus
-- Expired holds that occupy the skus {list}: the waiting ones up to ({until_at}, {until_id}), and the claimed ones. A
-- worker claims 5,000 at most.
(SELECT DISTINCT r.reservation_id FROM reservation r FORCE INDEX (claim)
   STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY)
      ON l.reservation_id = r.reservation_id AND l.sku_id IN ({list})
  WHERE state = {held} AND {is_free} AND due_at <= {until_at}
    AND (r.due_at < {until_at} OR r.reservation_id <= {until_id}) AND {stands_behind}
  LIMIT {limit})
UNION
(SELECT DISTINCT r.reservation_id FROM reservation r FORCE INDEX (claim)
   STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY)
      ON l.reservation_id = r.reservation_id AND l.sku_id IN ({list})
  WHERE r.state = {held} AND r.task_id >= 0 AND r.expires_at <= UTC_TIMESTAMP(3) LIMIT {limit});

-- piece: has_error
-- The last error is {error}; where that is NULL, whatever it is, or with {unnamed} none.
({error} IS NULL AND NOT {unnamed} OR r.last_error <=> {error})

-- piece: is_of_the_list
-- A held row belongs to the holds past their time ({lapsed} 1) or to the others (0); a row in another state always
-- belongs. With {error} only rows with that last error.
{has_error} AND ({state} <> {held} OR (r.expires_at <= UTC_TIMESTAMP(3)) = {lapsed})

-- name: reservation_list
-- A walk over {limit} ids, newest first, and whether each belongs to the list.
SELECT reservation_id, 0, due_at, 1 FROM reservation FORCE INDEX (PRIMARY)
 WHERE reservation_id < {before_id} ORDER BY reservation_id DESC LIMIT {limit};

-- name: reservation_list_waiting
-- A walk over {limit} ids in {state} that no task has, in the order of the index. A hold is not due before expires_at,
-- so the walk ends at the present or begins there, and never passes holds of the other kind.
SELECT r.reservation_id, 0, r.due_at, {is_of_the_list}
  FROM reservation r FORCE INDEX (claim)
 WHERE state = {state} AND {is_free} AND {stands_behind}
   AND r.due_at > IF({state} = {held} AND {lapsed} = 0, UTC_TIMESTAMP(3), TIMESTAMP'1000-01-01 00:00:00')
   AND r.due_at <= IF({state} = {held} AND {lapsed} = 1, UTC_TIMESTAMP(3), TIMESTAMP'9999-12-31 23:59:59.999')
 ORDER BY r.due_at, r.reservation_id LIMIT {limit};

-- name: reservation_list_tasked
-- A walk over {limit} ids in {state} that a task has or had.
SELECT r.reservation_id, r.task_id, r.due_at, {is_of_the_list}
  FROM reservation r FORCE INDEX (claim)
 WHERE r.state = {state} AND r.task_id >= {after_task}
   AND (r.task_id > {after_task} OR r.due_at > {after_at} OR (r.due_at = {after_at} AND r.reservation_id > {after_id}))
 ORDER BY r.task_id, r.due_at, r.reservation_id LIMIT {limit};

-- name: reservation_list_holders
-- A walk over {limit} lines of live reservations that hold {sku}, the newest first, and whether each belongs to the
-- list: it lies at {location} (0: anywhere), and its reservation is no hold past its time. Where no unit of the sku is
-- promised at the location, there is nothing to walk over.
SELECT l.reservation_id, l.location_id, r.due_at,
       ({location} = 0 OR l.location_id = {location}) AND NOT (r.state = {held} AND r.expires_at <= UTC_TIMESTAMP(3))
  FROM reservation_line l FORCE INDEX (holder)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = l.reservation_id
 WHERE l.sku_id = {sku} AND l.live = 1 AND l.reservation_id <= {before_id}
   AND (l.reservation_id < {before_id} OR l.location_id < {before_location})
   AND ({location} = 0 OR EXISTS (SELECT 1 FROM stock_slot s FORCE INDEX (PRIMARY)
                                   WHERE s.sku_id = {sku} AND s.location_id = {location} AND s.reserved > 0))
 ORDER BY l.reservation_id DESC, l.location_id DESC LIMIT {limit};

-- name: reservation_list_on_hold
-- A walk over {limit} reservations that were held back, newest first, and whether each belongs to the list: it is held
-- back still, in {state} (0: any), and no hold past its time.
SELECT h.reservation_id, 0, r.due_at,
       h.ends_at > UTC_TIMESTAMP(3) AND r.state IN ({held}, {confirmed}, {buried})
       AND ({state} = 0 OR r.state = {state}) AND NOT (r.state = {held} AND r.expires_at <= UTC_TIMESTAMP(3))
  FROM reservation_on_hold h FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = h.reservation_id
 WHERE h.reservation_id < {before_id} ORDER BY h.reservation_id DESC LIMIT {limit};

-- piece: reads_so
-- An order in {state} as it stands: any ({lapsed} 2), or a hold past its time (1) or not (0); other states always.
({lapsed} = 2 OR {state} <> {held} OR (r.expires_at <= UTC_TIMESTAMP(3)) = {lapsed})

-- piece: reads
-- The state that an order reads: a hold past its time is expired.
IF(r.state = {held} AND r.expires_at <= UTC_TIMESTAMP(3), {expired}, r.state)

-- name: reservation_list_customer
-- A walk over {limit} reservations of {customer} in {state}, the newest first, and whether each belongs to the list.
SELECT n.reservation_id, 0, r.due_at, {reads_so}
  FROM reservation_note n FORCE INDEX (customer)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = n.reservation_id
 WHERE n.customer = {customer} AND n.order_state = {state} AND n.reservation_id < {before_id}
 ORDER BY n.reservation_id DESC LIMIT {limit};

-- name: reservation_list_reference
-- The same with {reference}.
SELECT n.reservation_id, 0, r.due_at, {reads_so}
  FROM reservation_note n FORCE INDEX (reference)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = n.reservation_id
 WHERE n.reference = {reference} AND n.order_state = {state} AND n.reservation_id < {before_id}
 ORDER BY n.reservation_id DESC LIMIT {limit};

-- name: reservation_list_prefix
-- A walk over {limit} reservations by their order_id, which begins with {prefix}: behind it no id has a byte 255.
SELECT reservation_id, 0, due_at, 1, order_id FROM reservation FORCE INDEX (order_id)
 WHERE order_id > {after_code} AND order_id >= {prefix} AND order_id < CONCAT({prefix}, 0xFF)
 ORDER BY order_id LIMIT {limit};

-- name: reservation_list_customer_prefix
-- A walk over {limit} reservations by their customer, which begins with {prefix}, then by their state and number; and
-- whether each belongs to the list: it reads as {state} (0: any).
SELECT n.reservation_id, n.order_state, r.due_at, {state} IN (0, {reads}), n.customer
  FROM reservation_note n FORCE INDEX (customer)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = n.reservation_id
 WHERE n.customer >= {prefix} AND n.customer < CONCAT({prefix}, 0xFF) AND n.customer >= {after_code}
   AND (n.customer > {after_code} OR n.order_state > {after_state}
        OR (n.order_state = {after_state} AND n.reservation_id > {after_id}))
 ORDER BY n.customer, n.order_state, n.reservation_id LIMIT {limit};

-- name: reservation_list_reference_prefix
-- The same by their reference. It is UTF-8, so it has no byte 255 either.
SELECT n.reservation_id, n.order_state, r.due_at, {state} IN (0, {reads}), n.reference
  FROM reservation_note n FORCE INDEX (reference)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = n.reservation_id
 WHERE n.reference >= {prefix} AND n.reference < CONCAT({prefix}, 0xFF) AND n.reference >= {after_code}
   AND (n.reference > {after_code} OR n.order_state > {after_state}
        OR (n.order_state = {after_state} AND n.reservation_id > {after_id}))
 ORDER BY n.reference, n.order_state, n.reservation_id LIMIT {limit};

-- name: reservation_list_created
-- {limit} ids from {from_id} on, newest first, that were made at {from_at} or later, and before {until_at}. What is
-- passed over lies at both ends, within two seconds.
SELECT reservation_id, 0, due_at, 1
  FROM reservation FORCE INDEX (PRIMARY)
 WHERE reservation_id < {before_id} AND reservation_id >= {from_id}
   AND created_at >= {from_at} AND created_at < {until_at}
 ORDER BY reservation_id DESC LIMIT {limit};

-- name: reservation_made
-- The first reservation from {from_id} on, and when it was made. A part of a split has the time of its first.
SELECT r.reservation_id, r.created_at FROM reservation r FORCE INDEX (PRIMARY)
 WHERE r.reservation_id >= {from_id}
   AND (NOT r.noted & {parts} OR (SELECT p.first_id FROM reservation_part p FORCE INDEX (part)
                                   WHERE p.part_id = r.reservation_id LIMIT 1) IS NULL)
 ORDER BY r.reservation_id LIMIT 1;

-- name: reservation_probe
-- The rows of the list that no other transaction has locked right now.
SELECT reservation_id FROM reservation FORCE INDEX (PRIMARY)
 WHERE reservation_id IN ({list}) FOR UPDATE SKIP LOCKED;

-- name: reservation_skus
-- The skus of the lines of reservations. Rows: (reservation_id).
SELECT l.sku_id FROM (SELECT 0 AS id UNION ALL VALUES {rows}) mine
  STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = mine.id;

-- name: reservation_await
-- Waits until no other transaction has a row of the list locked. A read-only server answers this and the next one, too.
SELECT COUNT(*) FROM (
  SELECT 1 FROM reservation FORCE INDEX (PRIMARY) WHERE reservation_id IN ({list})
   ORDER BY reservation_id LOCK IN SHARE MODE) shared;

-- name: reservation_unlocked
-- The rows of the list that no other transaction has locked right now.
SELECT reservation_id FROM reservation FORCE INDEX (PRIMARY)
 WHERE reservation_id IN ({list}) LOCK IN SHARE MODE SKIP LOCKED;

-- name: dirty_read
-- The next transaction also reads uncommitted rows.
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;

-- name: reservation_dirty_read
-- The ids of the list that exist, by a dirty read (dirty_read): another transaction may have written them and not
-- committed.
SELECT order_id FROM reservation FORCE INDEX (order_id) WHERE order_id IN ({list});
