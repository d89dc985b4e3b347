-- Lines that wait for units which are not in the house: rows of waiting_line. Only orders with a line that waits send
-- any of these. A transaction that writes a row has locked its reservation, so two never meet here, and the order of
-- locks does not name these rows.

-- piece: end_of_time
-- The due_at of a confirmed reservation that waits, under task 0: no claim takes it, and no call hastens it.
TIMESTAMP'9999-12-31 23:59:59.999'

-- piece: is_at_the_end
-- An order that is due at the end of time, or nearly then: times may have been set right by hand.
r.due_at > TIMESTAMP'9999-01-01 00:00:00'

-- piece: waits_for_goods
-- A line of reservation r waits.
EXISTS (SELECT 1 FROM waiting_line w FORCE INDEX (PRIMARY) WHERE w.reservation_id = r.reservation_id)

-- name: waiting_add (never_waits)
-- New lines. A line that was split off, or replaces another one, takes the position of the line it comes from, unless
-- this confirms it and the other one is held: the first confirmation counts. Rows: (reservation_id, sku, location,
-- held, given ms since 1970 or 0, reservation it comes from or 0).
INSERT INTO waiting_line (reservation_id, sku_id, location_id, held, waits_since, first_id, told)
  WITH want(id, sku_id, location_id, held, given_ms, old_id) AS (VALUES {rows})
  SELECT n.id, n.sku_id, n.location_id, n.held,
         CASE WHEN n.given_ms > 0 THEN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL n.given_ms * 1000 MICROSECOND
              WHEN w.told = 1 OR w.held = n.held THEN w.waits_since
              ELSE @t END,
         COALESCE(w.first_id, n.id), IF(n.given_ms > 0, 1, IF(w.told = 1 OR w.held = n.held, w.told, 0))
    FROM want n LEFT JOIN waiting_line w FORCE INDEX (PRIMARY)
      ON w.reservation_id = n.old_id AND w.sku_id = n.sku_id AND w.location_id = n.location_id AND w.added = 0;

-- piece: newer_of
-- Units of the positions of a line that stand behind that of row w.
SUM(w.units) OVER (PARTITION BY w.reservation_id, w.sku_id, w.location_id ORDER BY w.added DESC) - w.units

-- name: waiting_follow (never_waits)
-- Later positions of lines that were split off, or replaced: units leave a line from its first position on. Where this
-- confirms a hold, they wait from now on. Rows: (reservation_id, sku, location, held, reservation it comes from, units
-- of its line before, and behind it).
INSERT INTO waiting_line (reservation_id, sku_id, location_id, held, waits_since, first_id, told, added, units)
  WITH want(id, sku_id, location_id, held, old_id, before_qty, after_qty) AS (VALUES {rows}),
  had AS (
    SELECT n.id, n.held, w.sku_id, w.location_id, IF(w.told = 1 OR w.held = n.held, w.waits_since, @t) AS waits_since,
           w.first_id, w.added, w.units, n.before_qty, n.after_qty, {newer_of} AS newer
      FROM want n STRAIGHT_JOIN waiting_line w FORCE INDEX (PRIMARY)
        ON w.reservation_id = n.old_id AND w.sku_id = n.sku_id AND w.location_id = n.location_id AND w.added > 0),
  came AS (
    SELECT id, held, sku_id, location_id, waits_since, first_id, added,
           LEAST(units, GREATEST(before_qty - newer, 0)) - LEAST(units, GREATEST(after_qty - newer, 0)) AS units
      FROM had)
  SELECT id, sku_id, location_id, held, waits_since, first_id, 0, added, units FROM came WHERE units > 0;

-- name: waiting_more (never_waits)
-- Units that were added to waiting lines: they stand at the end of the queue. Rows: (reservation_id, sku, location,
-- held, units).
INSERT INTO waiting_line (reservation_id, sku_id, location_id, held, waits_since, first_id, told, added, units)
  WITH more(id, sku_id, location_id, held, units) AS (VALUES {rows})
  SELECT id, sku_id, location_id, held, @t, id, 0, @s, units FROM more;

-- name: waiting_less
-- Units that a change has taken from waiting lines: those go first that stand last. Rows: (reservation_id, sku,
-- location, units).
UPDATE (
  WITH less(id, sku_id, location_id, units) AS (VALUES {rows}),
  had AS (
    SELECT w.reservation_id, w.sku_id, w.location_id, w.added, w.units, less.units AS taken, {newer_of} AS newer
      FROM less STRAIGHT_JOIN waiting_line w FORCE INDEX (PRIMARY)
        ON w.reservation_id = less.id AND w.sku_id = less.sku_id AND w.location_id = less.location_id AND w.added > 0)
  SELECT reservation_id, sku_id, location_id, added,
         LEAST(units, GREATEST(units + newer - taken, 0)) AS units FROM had) kept
  STRAIGHT_JOIN waiting_line w FORCE INDEX (PRIMARY)
     ON w.reservation_id = kept.reservation_id AND w.sku_id = kept.sku_id AND w.location_id = kept.location_id
        AND w.added = kept.added
   SET w.units = kept.units;

-- name: waiting_trim
-- Removes positions of which no units are left: the line has as many as stand behind them, or fewer.
DELETE w
  FROM (SELECT reservation_id, sku_id, location_id, added
          FROM (SELECT w.reservation_id, w.sku_id, w.location_id, w.added, COALESCE(w.units, l.qty) AS units,
                       l.qty + COALESCE(w.units, 0)
                       - SUM(COALESCE(w.units, 0)) OVER (PARTITION BY w.reservation_id, w.sku_id, w.location_id
                                                         ORDER BY w.added DESC) AS left_here
                  FROM waiting_line w FORCE INDEX (PRIMARY)
                  STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY)
                     ON l.reservation_id = w.reservation_id AND l.sku_id = w.sku_id AND l.location_id = w.location_id
                 WHERE w.reservation_id IN ({list})) had
         WHERE left_here < 1 OR units < 1) gone
  STRAIGHT_JOIN waiting_line w FORCE INDEX (PRIMARY)
     ON w.reservation_id = gone.reservation_id AND w.sku_id = gone.sku_id AND w.location_id = gone.location_id
        AND w.added = gone.added;

-- name: waiting_raise
-- Where the first position of a line is gone, the next one is the first.
UPDATE (SELECT reservation_id, sku_id, location_id, MIN(added) AS added
          FROM waiting_line FORCE INDEX (PRIMARY) WHERE reservation_id IN ({list})
         GROUP BY reservation_id, sku_id, location_id HAVING MIN(added) > 0) first
  STRAIGHT_JOIN waiting_line w FORCE INDEX (PRIMARY)
     ON w.reservation_id = first.reservation_id AND w.sku_id = first.sku_id AND w.location_id = first.location_id
        AND w.added = first.added
   SET w.added = 0, w.units = NULL;

-- name: waiting_join
-- Positions that are no later than the first one of their line are one with it, as behind a confirmation.
DELETE w FROM waiting_line w FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN waiting_line first FORCE INDEX (PRIMARY)
     ON first.reservation_id = w.reservation_id AND first.sku_id = w.sku_id AND first.location_id = w.location_id
        AND first.added = 0
 WHERE w.reservation_id IN ({list}) AND w.added > 0 AND w.waits_since <= first.waits_since;

-- piece: lost_position
-- The position in which reservation r, whose note is e, waits for units that it has lost.
COALESCE(e.waits_since, IF(r.state = {held}, r.created_at, r.confirmed_at))

-- name: waiting_lose_ahead
-- Lines that a change of their order has put where lost units are to wait, in a later position than that of these: what
-- has waited gets a position behind the first one, which waiting_lose adds. Rows: (reservation_id, sku, location, lost
-- units).
UPDATE (
  WITH given(id, sku_id, location_id, units) AS (VALUES {rows}),
  lost AS (SELECT id, sku_id, location_id, SUM(units) AS units FROM given GROUP BY id, sku_id, location_id)
  SELECT w.reservation_id, w.sku_id, w.location_id, l.qty - lost.units - {newer} AS units,
         COALESCE((SELECT MIN(n.added) FROM waiting_line n FORCE INDEX (PRIMARY)
                    WHERE n.reservation_id = w.reservation_id AND n.sku_id = w.sku_id
                      AND n.location_id = w.location_id AND n.added > 0), @s) - 1 AS ahead_of_all
    FROM lost
    STRAIGHT_JOIN waiting_line w FORCE INDEX (PRIMARY)
       ON w.reservation_id = lost.id AND w.sku_id = lost.sku_id AND w.location_id = lost.location_id AND w.added = 0
    STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY)
       ON l.reservation_id = lost.id AND l.sku_id = lost.sku_id AND l.location_id = lost.location_id
    STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = lost.id
    LEFT JOIN reservation_note e FORCE INDEX (PRIMARY) ON r.noted & {texts} AND e.reservation_id = r.reservation_id
   WHERE w.waits_since > {lost_position} AND l.qty - lost.units - {newer} > 0) later
  STRAIGHT_JOIN waiting_line w FORCE INDEX (PRIMARY)
     ON w.reservation_id = later.reservation_id AND w.sku_id = later.sku_id AND w.location_id = later.location_id
        AND w.added = 0
   SET w.added = later.ahead_of_all, w.units = later.units;

-- name: waiting_lose (never_waits)
-- Lines that wait from now on for units that were lost, each in the position that it would have had; a line that waits
-- there already in an earlier one keeps its own. Rows: as waiting_lose_ahead.
INSERT INTO waiting_line (reservation_id, sku_id, location_id, held, waits_since, first_id, told)
  SELECT r.reservation_id, lost.sku_id, lost.location_id, r.state = {held}, {lost_position}, r.reservation_id,
         e.waits_since IS NOT NULL
    FROM (SELECT 0 AS id, 0 AS sku_id, 0 AS location_id, 0 AS units UNION ALL VALUES {rows}) lost
    STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = lost.id
    LEFT JOIN reservation_note e FORCE INDEX (PRIMARY) ON r.noted & {texts} AND e.reservation_id = r.reservation_id
      ON DUPLICATE KEY UPDATE first_id = waiting_line.first_id;

-- name: waiting_confirm
-- The lines of holds of {list} that were confirmed just now.
UPDATE waiting_line w FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = w.reservation_id AND r.state = {confirmed}
   SET w.held = 0, w.waits_since = IF(w.told = 1, w.waits_since, @t)
 WHERE w.reservation_id IN ({list}) AND w.held = 1;

-- name: waiting_end
-- Removes the lines that are none any more: their reservation has ended, or they have left it. Rows: (reservation_id).
DELETE w FROM (SELECT 0 AS id UNION ALL VALUES {rows}) touched
  STRAIGHT_JOIN waiting_line w FORCE INDEX (PRIMARY) ON w.reservation_id = touched.id
 WHERE NOT EXISTS (
   SELECT 1 FROM reservation r FORCE INDEX (PRIMARY)
     STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY)
        ON l.reservation_id = w.reservation_id AND l.sku_id = w.sku_id AND l.location_id = w.location_id
    WHERE r.reservation_id = w.reservation_id AND r.state IN ({held}, {confirmed}, {buried}));

-- name: reservation_wait
-- Confirmed reservations of {list} with a line that waits are put aside to the end of time; those that waited and do so
-- no more are due. The same transaction has left its stamp in them.
UPDATE reservation r FORCE INDEX (PRIMARY)
   SET r.task_id = IF({waits_for_goods}, 0, IF({is_at_the_end}, {put_aside_until}, r.task_id)),
       r.due_at = IF({waits_for_goods}, {end_of_time},
                     IF({is_at_the_end}, GREATEST(@t, {ships_at}), r.due_at))
 WHERE r.reservation_id IN (0, {list}) AND r.state = {confirmed};

-- name: waits_since_add (never_waits)
-- The time that was given for a reservation's position in the queue. Rows: (reservation_id, ms since 1970).
INSERT INTO reservation_note (reservation_id, waits_since)
  WITH given(id, ms) AS (VALUES {rows})
  SELECT id, TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ms * 1000 MICROSECOND FROM given
    ON DUPLICATE KEY UPDATE waits_since = VALUES(waits_since);

-- piece: newer
-- The same, for few rows.
COALESCE((SELECT SUM(n.units) FROM waiting_line n FORCE INDEX (PRIMARY)
           WHERE n.reservation_id = w.reservation_id AND n.sku_id = w.sku_id AND n.location_id = w.location_id
             AND n.added > w.added), 0)

-- name: waiting_front
-- The first positions in the queue for {sku} at {location}: their reservations, their units (-1: all that are left of
-- the line), and units of the line that stand behind them.
SELECT w.reservation_id, IFNULL(w.units, -1), {newer}
  FROM waiting_line w FORCE INDEX (line)
 WHERE w.sku_id = {sku} AND w.location_id = {location}
 ORDER BY w.held, w.waits_since, w.first_id, w.reservation_id LIMIT {limit};

-- piece: served
-- Reservations that get units: (reservation_id, changed, attempts) as in as_read, sorted. They are joined, since a
-- thousand rows of a list cost the optimizer more than the rest of the hand-out.
(SELECT 0 AS id, 0 AS read_changed, 0 AS read_attempts UNION ALL VALUES {rows}) mine
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = mine.id

-- piece: served_as_read
r.changed = mine.read_changed AND r.attempts = mine.read_attempts

-- name: reservation_serve
-- Reservations that get units, and wait on, or are not for a claim: a hold past its time gets none.
UPDATE {served} SET r.changed = @s, r.last_event = @w | @n, r.noted = r.noted | {relocated}
 WHERE {served_as_read} AND (({is_kept}) OR r.state IN ({confirmed}, {buried}));

-- name: reservation_serve_last
-- Confirmed ones that get the last units they have waited for: they are due.
UPDATE {served}
   SET r.changed = @s, r.last_event = @w | @n, r.noted = r.noted | {relocated}, r.task_id = {put_aside_until},
       r.due_at = GREATEST(@t, {ships_at})
 WHERE {served_as_read} AND r.state = {confirmed};

-- name: waiting_served
-- Lines of {sku} that leave {location} whole, and their positions in the queue: the count is 2 for each. Rows:
-- (reservation_id), sorted.
DELETE l, w FROM (SELECT 0 AS id UNION ALL VALUES {rows}) mine
  STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY)
     ON l.reservation_id = mine.id AND l.sku_id = {sku} AND l.location_id = {location}
  STRAIGHT_JOIN waiting_line w FORCE INDEX (PRIMARY)
     ON w.reservation_id = mine.id AND w.sku_id = {sku} AND w.location_id = {location};

-- name: waiting_served_more
-- Later positions of lines of {sku} that leave {location} whole, ahead of waiting_served.
DELETE w FROM waiting_line w FORCE INDEX (PRIMARY)
 WHERE w.reservation_id IN ({list}) AND w.sku_id = {sku} AND w.location_id = {location} AND w.added > 0;

-- name: reservation_line_arrive
-- Units of lines that are at another location from now on. Rows: (reservation_id, sku, location, slot, units).
INSERT INTO reservation_line (reservation_id, sku_id, location_id, slot, qty) VALUES {rows}
    ON DUPLICATE KEY UPDATE qty = qty + VALUES(qty);

-- name: waiting_list
-- A page of the queues for {sku} at the locations {from_id} to {until_id}, behind a line of the first of them. Each
-- alternative names its position in the index whole, or a page would walk over all before it. A hold past its time
-- waits no more.
SELECT w.location_id, w.held, w.waits_since, w.first_id, w.reservation_id, r.order_id,
       LEAST(COALESCE(w.units, l.qty), l.qty - {newer}), r.state, o.code
  FROM waiting_line w FORCE INDEX (line)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = w.reservation_id
  STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY)
     ON l.reservation_id = w.reservation_id AND l.sku_id = w.sku_id AND l.location_id = w.location_id
  STRAIGHT_JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = w.location_id
 WHERE w.sku_id = {sku} AND w.location_id BETWEEN {from_id} AND {until_id} AND NOT ({is_past_its_time})
   AND (w.location_id > {from_id}
        OR (w.location_id = {from_id} AND w.held > {after_held})
        OR (w.location_id = {from_id} AND w.held = {after_held} AND w.waits_since > {after_at})
        OR (w.location_id = {from_id} AND w.held = {after_held} AND w.waits_since = {after_at}
            AND w.first_id > {after_first})
        OR (w.location_id = {from_id} AND w.held = {after_held} AND w.waits_since = {after_at}
            AND w.first_id = {after_first} AND w.reservation_id > {after_id}))
 ORDER BY w.location_id, w.held, w.waits_since, w.first_id, w.reservation_id LIMIT {limit};
