-- Invariants, which hold at any time, also under load. Each block is one SELECT, which reads one snapshot, and returns
-- the rows that break the invariant, so no row is good news. `holdfast audit` runs the blocks (audit.c of
-- commands); they share nothing with the engine but words.
--
-- (by_TABLE) behind the name: the audit runs the block range by range over the keys of that table, from {from_id} to
-- {until_id}; (at_once): in one statement. {sku} is the sku of an audit of one sku, otherwise 0. A block that is not by
-- sku and has no {sku} is passed over when the audit is of one sku. A word in braces, of a state or a kind, is its
-- number, filled in when the program is built; of the pieces of reservation.sql those stand here which say what a claim
-- may take, and when, and those of ahead.sql, which say what time is too late to be right.

-- piece: is_of_sku
-- The range stands in the subquery, too, which otherwise walks all lines.
({sku} = 0 OR EXISTS (SELECT 1 FROM reservation_line l WHERE l.reservation_id = r.reservation_id AND l.sku_id = {sku}
                         AND l.reservation_id BETWEEN {from_id} AND {until_id}))

-- name: no_negative_slot (by_sku)
-- No slot is below zero.
SELECT k.code AS sku, o.code AS location, s.slot, s.available, s.reserved
  FROM stock_slot s FORCE INDEX (PRIMARY) LEFT JOIN sku k USING (sku_id) LEFT JOIN location o USING (location_id)
 WHERE (s.available < 0 OR s.reserved < 0) AND s.sku_id BETWEEN {from_id} AND {until_id};

-- name: slot_has_names (by_sku)
-- Units are of a sku and at a location that exist.
SELECT k.code AS sku, s.sku_id, o.code AS location, s.location_id, s.slot, s.available, s.reserved
  FROM stock_slot s FORCE INDEX (PRIMARY) LEFT JOIN sku k USING (sku_id) LEFT JOIN location o USING (location_id)
 WHERE (k.sku_id IS NULL OR o.location_id IS NULL) AND s.sku_id BETWEEN {from_id} AND {until_id};

-- name: on_hand_is_moved (by_sku)
-- Units on hand are the sum of the movements, for every sku and location.
SELECT k.code AS sku, o.code AS location, SUM(d.on_hand) AS on_hand, SUM(d.moved) AS moved
  FROM (SELECT s.sku_id, s.location_id, SUM(s.available + s.reserved) AS on_hand, 0 AS moved
          FROM stock_slot s FORCE INDEX (PRIMARY) WHERE s.sku_id BETWEEN {from_id} AND {until_id}
         GROUP BY s.sku_id, s.location_id
        UNION ALL
        SELECT m.sku_id, m.location_id, 0, SUM(m.qty)
          FROM movement_line m FORCE INDEX (sku_history) WHERE m.sku_id BETWEEN {from_id} AND {until_id}
         GROUP BY m.sku_id, m.location_id) d
  LEFT JOIN sku k USING (sku_id) LEFT JOIN location o USING (location_id)
 GROUP BY d.sku_id, d.location_id HAVING SUM(d.on_hand) <> SUM(d.moved);

-- name: returned_is_moved (by_sku)
-- The units of an order that came back are those of the returns that name it. What a purged order had is forgotten.
SELECT k.code AS sku, r.order_id, d.reservation_id, SUM(d.units) AS returned, SUM(d.moved) AS moved
  FROM (SELECT b.sku_id, b.reservation_id, b.units, 0 AS moved
          FROM reservation_returned b FORCE INDEX (of_sku) WHERE b.sku_id BETWEEN {from_id} AND {until_id}
        UNION ALL
        SELECT m.sku_id, h.reservation_id, 0, m.qty
          FROM movement_line m FORCE INDEX (sku_history)
          STRAIGHT_JOIN movement h FORCE INDEX (PRIMARY) ON h.movement_no = m.movement_no
          STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = h.reservation_id
         WHERE m.sku_id BETWEEN {from_id} AND {until_id}) d
  LEFT JOIN sku k USING (sku_id) LEFT JOIN reservation r FORCE INDEX (PRIMARY) USING (reservation_id)
 GROUP BY d.sku_id, d.reservation_id HAVING SUM(d.units) <> SUM(d.moved);

-- name: total_in_range (by_sku)
-- No total of a sku passes 9e15.
SELECT k.code AS sku, SUM(s.available + s.reserved) AS on_hand
  FROM stock_slot s FORCE INDEX (PRIMARY) LEFT JOIN sku k USING (sku_id)
 WHERE s.sku_id BETWEEN {from_id} AND {until_id}
 GROUP BY s.sku_id HAVING SUM(s.available + s.reserved) > 9000000000000000;

-- name: line_has_movement (by_sku)
-- A movement line belongs to a movement, a sku and a location.
SELECT k.code AS sku, m.sku_id, o.code AS location, m.location_id, m.slot, m.movement_no
  FROM movement_line m FORCE INDEX (sku_history)
  LEFT JOIN movement h USING (movement_no) LEFT JOIN sku k USING (sku_id) LEFT JOIN location o USING (location_id)
 WHERE (h.movement_no IS NULL OR k.sku_id IS NULL OR o.location_id IS NULL)
       AND m.sku_id BETWEEN {from_id} AND {until_id};

-- name: movement_has_lines (by_movement)
-- A movement has lines, and their signs are those of its kind: receipts and returns add units, settlements take them.
SELECT ELT(h.kind, {movement_kinds}) AS kind, m.qty, h.movement_id
  FROM movement h FORCE INDEX (PRIMARY) LEFT JOIN movement_line m USING (movement_no)
 WHERE (m.qty IS NULL OR h.kind NOT BETWEEN {receipt} AND {arrival}
        OR (h.kind IN ({receipt}, {return}) AND m.qty < 1)
        OR (h.kind = {settlement} AND m.qty > -1))
       AND h.movement_no BETWEEN {from_id} AND {until_id};

-- piece: has_moved
-- Units that row t of movement m has moved.
IF(m.kind = {arrival}, t.filled + t.for_sale, t.qty)

-- name: transfer_has_both_ends (by_movement)
-- The lines of a transfer are the sums of what it took from one location and brought to another; those of an arrival
-- are of what was handed out so far.
SELECT h.movement_id, k.code AS sku, o.code AS location, SUM(d.moved) AS moved, SUM(d.ends) AS ends
  FROM (SELECT t.movement_no, t.sku_id, t.from_id AS location_id, 0 AS moved, -{has_moved} AS ends
          FROM movement_transfer t FORCE INDEX (PRIMARY)
          LEFT JOIN movement m FORCE INDEX (PRIMARY) ON m.movement_no = t.movement_no
         WHERE t.movement_no BETWEEN {from_id} AND {until_id}
        UNION ALL
        SELECT t.movement_no, t.sku_id, t.to_id, 0, {has_moved}
          FROM movement_transfer t FORCE INDEX (PRIMARY)
          LEFT JOIN movement m FORCE INDEX (PRIMARY) ON m.movement_no = t.movement_no
         WHERE t.movement_no BETWEEN {from_id} AND {until_id}
        UNION ALL
        SELECT l.movement_no, l.sku_id, l.location_id, l.qty, 0
          FROM movement m FORCE INDEX (PRIMARY)
          STRAIGHT_JOIN movement_line l FORCE INDEX (PRIMARY) ON l.movement_no = m.movement_no
         WHERE m.kind IN ({transfer}, {arrival}) AND m.movement_no BETWEEN {from_id} AND {until_id}) d
  LEFT JOIN movement h USING (movement_no) LEFT JOIN sku k USING (sku_id) LEFT JOIN location o USING (location_id)
 GROUP BY d.movement_no, d.sku_id, d.location_id HAVING SUM(d.moved) <> SUM(d.ends);

-- name: arrival_adds_up (by_movement)
-- What an arrival has not handed out yet is open, and nothing else is. A transfer hands nothing out.
SELECT h.movement_id, k.code AS sku, f.code AS `from`, o.code AS `to`, d.qty, d.filled, d.for_sale, d.open
  FROM (SELECT t.movement_no, t.sku_id, t.from_id, t.to_id, t.qty, t.filled, t.for_sale, a.units AS open
          FROM movement_transfer t FORCE INDEX (PRIMARY)
          STRAIGHT_JOIN movement m FORCE INDEX (PRIMARY) ON m.movement_no = t.movement_no AND m.kind = {arrival}
          LEFT JOIN arrival_open a FORCE INDEX (PRIMARY)
            ON a.movement_no = t.movement_no AND a.sku_id = t.sku_id AND a.from_id = t.from_id AND a.to_id = t.to_id
         WHERE t.movement_no BETWEEN {from_id} AND {until_id}
           AND (t.qty <> t.filled + t.for_sale + COALESCE(a.units, 0) OR t.filled < 0 OR t.for_sale < 0 OR a.units < 1)
        UNION ALL
        SELECT t.movement_no, t.sku_id, t.from_id, t.to_id, t.qty, t.filled, t.for_sale, NULL
          FROM movement_transfer t FORCE INDEX (PRIMARY)
          STRAIGHT_JOIN movement m FORCE INDEX (PRIMARY) ON m.movement_no = t.movement_no AND m.kind <> {arrival}
         WHERE t.movement_no BETWEEN {from_id} AND {until_id} AND (t.filled <> 0 OR t.for_sale <> 0)
        UNION ALL
        SELECT a.movement_no, a.sku_id, a.from_id, a.to_id, NULL, NULL, NULL, a.units
          FROM arrival_open a FORCE INDEX (PRIMARY)
          LEFT JOIN movement_transfer t FORCE INDEX (PRIMARY)
            ON t.movement_no = a.movement_no AND t.sku_id = a.sku_id AND t.from_id = a.from_id AND t.to_id = a.to_id
         WHERE a.movement_no BETWEEN {from_id} AND {until_id} AND t.qty IS NULL) d
  LEFT JOIN movement h USING (movement_no) LEFT JOIN sku k USING (sku_id)
  LEFT JOIN location f ON f.location_id = d.from_id LEFT JOIN location o ON o.location_id = d.to_id;

-- name: arrival_taken_by_now (by_movement)
-- No writer has an arrival for itself beyond half a second from now: otherwise a clock was ahead. A writer that hands
-- out ignores a time in the future, and a reaper corrects it.
SELECT h.movement_id, k.code AS sku, a.writer_id, a.due_at
  FROM arrival_open a FORCE INDEX (PRIMARY)
  LEFT JOIN movement h USING (movement_no) LEFT JOIN sku k USING (sku_id)
 WHERE a.due_at > {soon} AND a.movement_no BETWEEN {from_id} AND {until_id};

-- name: backorder_is_moved (by_movement)
-- Units that orders lost by a count or an adjustment are among those that it took from their location, and were
-- promised again where these orders wait. An adjustment may have brought more there.
SELECT h.movement_id, k.code AS sku, o.code AS location, d.side, d.lost, d.moved
  FROM (SELECT b.movement_no, b.sku_id, b.location_id, 'from' AS side, SUM(b.qty) AS lost, MIN(b.qty) AS least,
               (SELECT -COALESCE(SUM(l.qty), 0) FROM movement_line l FORCE INDEX (PRIMARY)
                 WHERE l.movement_no = b.movement_no AND l.sku_id = b.sku_id AND l.location_id = b.location_id) AS moved
          FROM movement_backorder b FORCE INDEX (PRIMARY) WHERE b.movement_no BETWEEN {from_id} AND {until_id}
         GROUP BY b.movement_no, b.sku_id, b.location_id
        UNION ALL
        SELECT b.movement_no, b.sku_id, b.to_id, 'to', SUM(b.qty), MIN(b.qty),
               (SELECT COALESCE(SUM(l.qty), 0) FROM movement_line l FORCE INDEX (PRIMARY)
                 WHERE l.movement_no = b.movement_no AND l.sku_id = b.sku_id AND l.location_id = b.to_id)
          FROM movement_backorder b FORCE INDEX (PRIMARY) WHERE b.movement_no BETWEEN {from_id} AND {until_id}
         GROUP BY b.movement_no, b.sku_id, b.to_id) d
  LEFT JOIN movement h USING (movement_no) LEFT JOIN sku k USING (sku_id)
  LEFT JOIN location o ON o.location_id = d.location_id
 WHERE d.least < 1 OR (d.side = 'from' AND d.lost > d.moved) OR IFNULL(h.kind NOT IN ({adjustment}, {count}), TRUE)
    OR (d.side = 'to' AND IF(h.kind = {count}, d.lost <> d.moved, d.lost > d.moved));

-- name: backorder_of_its_order (by_movement)
-- The order that lost units is named by its id, as long as the order exists.
SELECT h.movement_id, b.reservation_id, b.order_id, r.order_id AS made_as
  FROM movement_backorder b FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = b.reservation_id
  LEFT JOIN movement h ON h.movement_no = b.movement_no
 WHERE r.order_id <> b.order_id AND b.movement_no BETWEEN {from_id} AND {until_id};

-- name: booked_is_promised (by_sku)
-- Units that are booked of a promise are those of open arrivals, and the promise has them still. If something is
-- promised, there is the row of the promise: a search for orders that wait walks these rows.
SELECT k.code AS sku, o.code AS location, SUM(d.booked) AS booked, SUM(d.open) AS open, SUM(d.lie) AS promised,
       SUM(d.kept) AS kept
  FROM (SELECT p.sku_id, p.location_id, 1 AS kept, p.booked, 0 AS open, 0 AS lie
          FROM promise p FORCE INDEX (PRIMARY) WHERE p.sku_id BETWEEN {from_id} AND {until_id}
        UNION ALL
        SELECT a.sku_id, a.from_id, 0, 0, a.units, 0
          FROM arrival_open a FORCE INDEX (of_sku) WHERE a.sku_id BETWEEN {from_id} AND {until_id}
        UNION ALL
        SELECT s.sku_id, s.location_id, 0, 0, 0, s.available + s.reserved
          FROM stock_slot s FORCE INDEX (PRIMARY)
          STRAIGHT_JOIN location i FORCE INDEX (PRIMARY) ON i.location_id = s.location_id AND i.kind = {incoming}
         WHERE s.sku_id BETWEEN {from_id} AND {until_id}) d
  LEFT JOIN sku k USING (sku_id) LEFT JOIN location o USING (location_id)
 GROUP BY d.sku_id, d.location_id
HAVING SUM(d.booked) <> SUM(d.open) OR SUM(d.booked) > SUM(d.lie) OR (SUM(d.lie) > 0 AND SUM(d.kept) = 0);

-- name: aside_is_free (by_sku)
-- No order has units that lie aside.
SELECT k.code AS sku, o.code AS location, s.slot, s.reserved
  FROM stock_slot s FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = s.location_id AND o.kind = {aside}
  LEFT JOIN sku k ON k.sku_id = s.sku_id
 WHERE s.reserved <> 0 AND s.sku_id BETWEEN {from_id} AND {until_id};

-- name: counted_by_now (by_sku)
-- No count stands for a time to come: otherwise a clock was ahead, and a reaper brings it back.
SELECT k.code AS sku, o.code AS location, c.counted_at
  FROM stock_counted c FORCE INDEX (PRIMARY) LEFT JOIN sku k USING (sku_id) LEFT JOIN location o USING (location_id)
 WHERE c.counted_at > {soon} AND c.sku_id BETWEEN {from_id} AND {until_id};

-- name: limit_is_known (by_sku)
-- A limit of units per customer is 1 at least, and stands among the changes of limits, by which services know of it.
SELECT k.code AS sku, k.per_customer, c.number
  FROM sku k FORCE INDEX (PRIMARY) LEFT JOIN sku_limit c FORCE INDEX (sku) ON c.sku_id = k.sku_id
 WHERE (k.per_customer < 1 OR (k.per_customer IS NOT NULL AND c.number IS NULL))
       AND k.sku_id BETWEEN {from_id} AND {until_id};

-- name: stop_is_known (by_sku)
-- A sku whose sale is stopped stands among the changes by which services know of it. A reason goes with a stop.
SELECT k.code AS sku, k.for_sale, k.stop_reason, c.number
  FROM sku k FORCE INDEX (PRIMARY) LEFT JOIN sku_limit c FORCE INDEX (sku) ON c.sku_id = k.sku_id
 WHERE (k.for_sale > 1 OR (k.for_sale = 0 AND c.number IS NULL) OR (k.for_sale = 1 AND k.stop_reason IS NOT NULL))
       AND k.sku_id BETWEEN {from_id} AND {until_id};

-- name: location_stop_is_whole (at_once)
-- Sales at a location are stopped or not. A reason goes with a stop.
SELECT o.code AS location, o.for_sale, o.stop_reason FROM location o
 WHERE o.for_sale > 1 OR (o.for_sale = 1 AND o.stop_reason IS NOT NULL);

-- name: barcode_names_its_sku (by_sku)
-- A barcode has the code of its sku beside it, by which lists are in order.
SELECT k.code AS sku, b.sku_id, b.place
  FROM sku_barcode b FORCE INDEX (PRIMARY) LEFT JOIN sku k USING (sku_id)
 WHERE NOT (b.code <=> k.code) AND b.sku_id BETWEEN {from_id} AND {until_id};

-- name: text_names_a_sku (by_sku)
-- A change of a name or of barcodes is of a sku, so that processes which search find it.
SELECT t.number, t.sku_id
  FROM sku_text t FORCE INDEX (sku) LEFT JOIN sku k USING (sku_id)
 WHERE k.sku_id IS NULL AND t.sku_id BETWEEN {from_id} AND {until_id};

-- name: level_is_whole (by_sku)
-- A level is one of three, and its threshold is not below zero.
SELECT k.code AS sku, o.code AS location, v.level, v.low
  FROM level v FORCE INDEX (PRIMARY) LEFT JOIN sku k USING (sku_id) LEFT JOIN location o USING (location_id)
 WHERE (v.level NOT BETWEEN 1 AND 3 OR v.low < 0) AND v.sku_id BETWEEN {from_id} AND {until_id};

-- name: reserved_is_promised (at_once)
-- The units that a slot has in `reserved` are the sum of the lines of live reservations (held, confirmed, buried) in
-- that slot. This is one walk over the live ones, summed by slot.
SELECT k.code AS sku, o.code AS location, d.slot, SUM(d.reserved) AS reserved, SUM(d.promised) AS promised
  FROM (SELECT s.sku_id, s.location_id, s.slot, s.reserved, 0 AS promised
          FROM stock_slot s FORCE INDEX (PRIMARY) WHERE ({sku} = 0 OR s.sku_id = {sku})
        UNION ALL
        SELECT l.sku_id, l.location_id, l.slot, 0, SUM(l.qty)
          FROM reservation r FORCE INDEX (claim)
          STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = r.reservation_id
         WHERE r.state IN ({held}, {confirmed}, {buried}) AND ({sku} = 0 OR l.sku_id = {sku})
         GROUP BY l.sku_id, l.location_id, l.slot) d
  LEFT JOIN sku k USING (sku_id) LEFT JOIN location o USING (location_id)
 GROUP BY d.sku_id, d.location_id, d.slot HAVING SUM(d.reserved) <> SUM(d.promised);

-- name: line_is_positive (by_reservation)
-- A reservation has lines, and each promises at least one unit.
SELECT r.order_id, k.code AS sku, o.code AS location, l.qty
  FROM reservation r FORCE INDEX (PRIMARY) LEFT JOIN reservation_line l USING (reservation_id)
  LEFT JOIN sku k USING (sku_id) LEFT JOIN location o USING (location_id)
 WHERE (l.qty IS NULL OR l.qty < 1) AND r.reservation_id BETWEEN {from_id} AND {until_id}
       AND ({sku} = 0 OR l.sku_id = {sku});

-- name: line_is_live (by_reservation)
-- A line is live while its reservation is held, confirmed or buried: the list of orders that hold a sku walks over live
-- lines only. A line that is still live after the end costs that list a look, and changes no answer.
SELECT r.order_id, k.code AS sku, o.code AS location, l.live
  FROM reservation r FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = r.reservation_id
  LEFT JOIN sku k ON k.sku_id = l.sku_id LEFT JOIN location o ON o.location_id = l.location_id
 WHERE l.live = 0 AND r.state IN ({held}, {confirmed}, {buried})
       AND r.reservation_id BETWEEN {from_id} AND {until_id} AND ({sku} = 0 OR l.sku_id = {sku});

-- name: line_has_reservation (by_reservation)
-- A line belongs to a reservation, a sku and a location.
SELECT r.order_id, k.code AS sku, l.sku_id, o.code AS location, l.location_id, l.slot, l.qty, l.reservation_id
  FROM reservation_line l FORCE INDEX (PRIMARY)
  LEFT JOIN reservation r USING (reservation_id) LEFT JOIN sku k USING (sku_id) LEFT JOIN location o USING (location_id)
 WHERE (r.reservation_id IS NULL OR k.sku_id IS NULL OR o.location_id IS NULL)
       AND l.reservation_id BETWEEN {from_id} AND {until_id} AND ({sku} = 0 OR l.sku_id = {sku});

-- name: resolved_once (by_reservation)
-- Each reservation is resolved at most once, and its times agree with its state.
SELECT r.order_id,
       IFNULL(ELT(r.state, {reservation_states}), r.state) AS state,
       r.confirmed_at, r.released_at, r.settled_at
  FROM reservation r FORCE INDEX (PRIMARY)
 WHERE ((r.state = {settled}) <> (r.settled_at IS NOT NULL)
     OR (r.state = {released}) <> (r.released_at IS NOT NULL)
     OR (r.state IN ({confirmed}, {settled}, {buried}) AND IFNULL(r.confirmed_at < '2001-01-01', TRUE))
     OR (r.state IN ({held}, {expired}) AND r.confirmed_at > '2001-01-01')
     OR r.state NOT BETWEEN {held} AND {buried})
       AND r.reservation_id BETWEEN {from_id} AND {until_id} AND {is_of_sku};

-- name: held_is_due_at_expiry (by_reservation)
-- A held reservation becomes due when it expires.
SELECT r.order_id, r.due_at, r.expires_at FROM reservation r FORCE INDEX (PRIMARY)
 WHERE r.state = {held} AND {is_free} AND r.attempts = 0 AND r.due_at <> r.expires_at
       AND r.reservation_id BETWEEN {from_id} AND {until_id} AND {is_of_sku};

-- name: due_within_a_pause (by_reservation)
-- A reservation that waits for a worker is due at once, or after a failure when its pause is over. A later due time was
-- given by a clock that was ahead, and a reaper brings it back.
SELECT r.order_id, IF(r.state = {confirmed}, 'confirmed', 'held') AS state, r.due_at, r.attempts
  FROM reservation r FORCE INDEX (PRIMARY)
 WHERE ({waits_for_worker}) AND r.due_at > {latest_due}
       AND r.reservation_id BETWEEN {from_id} AND {until_id} AND {is_of_sku};

-- name: shipped_after (by_reservation)
-- No confirmed reservation is due before it may be shipped, and that is within the time that can be asked for, or never
-- while it is held back without end.
SELECT r.order_id, r.due_at, r.ship_after FROM reservation r FORCE INDEX (PRIMARY)
 WHERE ((r.state = {confirmed} AND r.due_at < r.ship_after)
     OR (r.state IN ({held}, {confirmed}, {buried}) AND r.ship_after > {latest_shipping}
         AND NOT (r.noted & {on_hold} AND r.ship_after > TIMESTAMP'8000-01-01 00:00:00')))
       AND r.reservation_id BETWEEN {from_id} AND {until_id} AND {is_of_sku};

-- name: on_hold_is_kept (by_reservation)
-- A row of an order that was held back belongs to one that says so, and has not ended for good. Its hold and the time
-- that was asked for are one time, before which nothing ships it.
SELECT r.order_id, IFNULL(ELT(r.state, {reservation_states}), r.state) AS state, r.noted, r.ship_after, h.ends_at,
       h.asked_ship_after, h.reservation_id
  FROM reservation_on_hold h FORCE INDEX (PRIMARY)
  LEFT JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = h.reservation_id
 WHERE h.reservation_id BETWEEN {from_id} AND {until_id}
   AND IFNULL(r.state NOT IN ({held}, {confirmed}, {buried}, {expired}) OR r.noted & {on_hold} = 0
              OR NOT r.ship_after <=> GREATEST(h.ends_at, IFNULL(h.asked_ship_after, h.ends_at)), TRUE)
UNION ALL
SELECT r.order_id, IFNULL(ELT(r.state, {reservation_states}), r.state), r.noted, r.ship_after, NULL, NULL,
       r.reservation_id
  FROM reservation r FORCE INDEX (PRIMARY)
 WHERE r.noted & {on_hold} AND r.reservation_id BETWEEN {from_id} AND {until_id}
   AND NOT EXISTS (SELECT 1 FROM reservation_on_hold h FORCE INDEX (PRIMARY)
                    WHERE h.reservation_id = r.reservation_id);

-- name: note_has_state (by_reservation)
-- The note of an order says the order's state, by which orders of a customer are found.
SELECT r.order_id, IFNULL(ELT(r.state, {reservation_states}), r.state) AS state, n.order_state AS noted_state
  FROM reservation_note n FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = n.reservation_id
 WHERE n.order_state <> r.state AND n.reservation_id BETWEEN {from_id} AND {until_id};

-- name: lease_within_an_hour (by_task)
-- No lease is longer than an hour, and no task was made later than now: otherwise a clock was ahead, and a reaper
-- brings it back.
SELECT t.task_id, t.worker, t.created_at, t.lease_until FROM job_task t FORCE INDEX (PRIMARY)
 WHERE t.state = {open} AND t.lease_until > {soon} AND (t.created_at > {soon} OR t.lease_until > {latest_lease})
       AND t.task_id BETWEEN {from_id} AND {until_id};

-- name: claim_has_task (by_reservation)
-- A claimed reservation has been charged an attempt and names a task that was made for its kind and is open; the orders
-- of a reaped task are free again soon after. A reservation that waits to be settled or kicked names no task, or no
-- claim would find it, unless it is put aside until it may be shipped, or until its goods come.
SELECT r.order_id,
       IFNULL(ELT(r.state, {reservation_states}), r.state) AS state,
       r.task_id, r.attempts, ELT(t.kind, {kinds}) AS kind,
       ELT(t.state, {task_states}) AS task, t.ended_at
  FROM reservation r FORCE INDEX (PRIMARY) LEFT JOIN job_task t FORCE INDEX (PRIMARY) ON t.task_id = r.task_id
 WHERE ((r.state IN ({held}, {confirmed}) AND r.task_id > 0
         AND (t.task_id IS NULL OR r.attempts = 0 OR t.kind <> IF(r.state = {confirmed}, {settle}, {expire})
              OR t.state IN ({done}, {returned})
              OR (t.state = {reaped} AND t.ended_at < UTC_TIMESTAMP(3) - INTERVAL 10 MINUTE)))
     OR (r.state = {confirmed} AND r.task_id = 0 AND IFNULL(r.due_at <> r.ship_after, TRUE) AND NOT {waits_for_goods})
     OR (r.state = {buried} AND r.task_id IS NOT NULL))
       AND r.reservation_id BETWEEN {from_id} AND {until_id} AND {is_of_sku};

-- name: waiting_is_promised (by_reservation)
-- Exactly the lines of live reservations at incoming locations wait, each among those of its kind: held, or confirmed
-- and buried.
SELECT r.order_id, k.code AS sku, o.code AS location,
       IFNULL(ELT(r.state, {reservation_states}), r.state) AS state, d.qty,
       d.held, d.reservation_id
  FROM (SELECT l.reservation_id, l.sku_id, l.location_id, l.qty, w.held
          FROM reservation_line l FORCE INDEX (PRIMARY)
          STRAIGHT_JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = l.location_id AND o.kind = {incoming}
          STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY)
             ON r.reservation_id = l.reservation_id AND r.state IN ({held}, {confirmed}, {buried})
          LEFT JOIN waiting_line w FORCE INDEX (PRIMARY)
            ON w.reservation_id = l.reservation_id AND w.sku_id = l.sku_id AND w.location_id = l.location_id
         WHERE l.reservation_id BETWEEN {from_id} AND {until_id} AND IFNULL(w.held <> (r.state = {held}), TRUE)
        UNION ALL
        SELECT w.reservation_id, w.sku_id, w.location_id, l.qty, w.held
          FROM waiting_line w FORCE INDEX (PRIMARY)
          LEFT JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = w.location_id AND o.kind = {incoming}
          LEFT JOIN reservation r FORCE INDEX (PRIMARY)
            ON r.reservation_id = w.reservation_id AND r.state IN ({held}, {confirmed}, {buried})
          LEFT JOIN reservation_line l FORCE INDEX (PRIMARY)
            ON l.reservation_id = w.reservation_id AND l.sku_id = w.sku_id AND l.location_id = w.location_id
         WHERE w.reservation_id BETWEEN {from_id} AND {until_id}
           AND (o.kind IS NULL OR r.state IS NULL OR l.qty IS NULL)) d
  LEFT JOIN reservation r FORCE INDEX (PRIMARY) USING (reservation_id)
  LEFT JOIN sku k USING (sku_id) LEFT JOIN location o ON o.location_id = d.location_id
 WHERE ({sku} = 0 OR d.sku_id = {sku});

-- name: waiting_is_aside (by_reservation)
-- No claim takes a confirmed reservation that waits.
SELECT r.order_id, r.task_id, r.due_at FROM reservation r FORCE INDEX (PRIMARY)
 WHERE r.state = {confirmed} AND {waits_for_goods} AND IFNULL(r.task_id <> 0 OR NOT {is_at_the_end}, TRUE)
       AND r.reservation_id BETWEEN {from_id} AND {until_id} AND {is_of_sku};

-- name: waits_in_its_place (by_reservation)
-- A line waits since the time that was given for its order, otherwise since the confirmation, a held one since it was
-- made. A line that replaces another one, or was split off, may have the position of the line it comes from: `first_id`
-- says which. A replacement that is older than notes of given times has none. Of a time that a reaper has set,
-- because a clock was ahead, nothing more is known, nor of one that a change of the order's lines has set.
SELECT r.order_id, k.code AS sku, o.code AS location, w.waits_since, w.first_id, w.told, e.waits_since AS place_told,
       w.reservation_id
  FROM waiting_line w FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = w.reservation_id
  LEFT JOIN reservation_note e FORCE INDEX (PRIMARY) ON e.reservation_id = w.reservation_id
  LEFT JOIN sku k USING (sku_id) LEFT JOIN location o USING (location_id)
 WHERE w.reservation_id BETWEEN {from_id} AND {until_id} AND ({sku} = 0 OR w.sku_id = {sku})
   AND (w.waits_since > {soon} OR w.told > 2 OR w.first_id > w.reservation_id
        OR (w.told = 1 AND e.waits_since <> w.waits_since)
        OR (e.replaces IS NULL AND NOT r.noted & {parts} AND NOT r.noted & {amended}
            AND (w.first_id <> w.reservation_id OR w.told = (e.waits_since IS NULL)
                 OR (w.told = 0 AND w.waits_since <> IF(r.state = {held}, r.created_at, r.confirmed_at)))));

-- name: positions_have_units (by_reservation)
-- A waiting line that has several positions in the queue has units at each of them: the line has more than those of all
-- later ones. Only orders of which the lines were changed, and what came from these, have several positions.
SELECT r.order_id, k.code AS sku, o.code AS location, d.qty, d.added_units, d.least, d.firsts, r.noted
  FROM (SELECT w.reservation_id, w.sku_id, w.location_id, MAX(l.qty) AS qty, COALESCE(SUM(w.units), 0) AS added_units,
               MIN(w.units) AS least, SUM(w.added = 0 AND w.units IS NULL) AS firsts, COUNT(*) AS positions
          FROM waiting_line w FORCE INDEX (PRIMARY)
          LEFT JOIN reservation_line l FORCE INDEX (PRIMARY)
            ON l.reservation_id = w.reservation_id AND l.sku_id = w.sku_id AND l.location_id = w.location_id
         WHERE w.reservation_id BETWEEN {from_id} AND {until_id} AND ({sku} = 0 OR w.sku_id = {sku})
         GROUP BY w.reservation_id, w.sku_id, w.location_id) d
  LEFT JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = d.reservation_id
  LEFT JOIN sku k ON k.sku_id = d.sku_id LEFT JOIN location o ON o.location_id = d.location_id
 WHERE d.firsts <> 1 OR d.least < 1 OR (d.positions > 1 AND (d.qty <= d.added_units OR NOT r.noted & {amended}));

-- name: version_is_known (by_reservation)
-- A version that a change has left behind is older than that change.
SELECT r.order_id, r.version, r.version_kept, r.changed FROM reservation r FORCE INDEX (PRIMARY)
 WHERE (r.version_kept > r.changed OR r.version >= r.version_kept OR (r.version_kept IS NOT NULL AND r.version IS NULL))
       AND r.reservation_id BETWEEN {from_id} AND {until_id} AND {is_of_sku};

-- name: last_event_is_told (by_reservation)
-- The row of events that an order names as that of its last event, where it is kept, is no later than the order's last
-- change that has an event. The audit of events compares the rows with each other.
SELECT r.order_id, r.last_event, e.stamp, r.changed, r.version FROM reservation r FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN event e FORCE INDEX (PRIMARY)
             ON e.writer_id = r.last_event >> 40 AND e.event_no = r.last_event & 0xFFFFFFFFFF
 WHERE e.stamp > IF(r.version_kept = r.changed, r.version, r.changed)
   AND r.reservation_id BETWEEN {from_id} AND {until_id} AND {is_of_sku};

-- name: hold_of_key (by_reservation)
-- A row of held units agrees with its reservation, which is there: the key, and the units of its lines.
SELECT r.order_id, h.key_id, r.key_id AS made_with, h.units, SUM(l.qty) AS held, h.reservation_id
  FROM key_hold h FORCE INDEX (PRIMARY)
  LEFT JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = h.reservation_id
  LEFT JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = h.reservation_id
 WHERE h.reservation_id BETWEEN {from_id} AND {until_id}
 GROUP BY h.reservation_id, r.order_id, h.key_id, r.key_id, h.units
HAVING h.units <> SUM(l.qty) OR r.key_id IS NULL OR h.key_id <> r.key_id;

-- name: note_has_reservation (by_reservation)
-- Notes and short lines belong to a reservation that says that there are some.
SELECT n.reservation_id, r.order_id, r.noted
  FROM (SELECT e.reservation_id FROM reservation_note e FORCE INDEX (PRIMARY)
         WHERE e.reservation_id BETWEEN {from_id} AND {until_id}
        UNION
        SELECT s.reservation_id FROM reservation_short s FORCE INDEX (PRIMARY)
         WHERE s.reservation_id BETWEEN {from_id} AND {until_id}) n
  LEFT JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = n.reservation_id
 WHERE r.reservation_id IS NULL OR r.noted & ({texts} | {shorts}) = 0;

-- name: returned_was_settled (by_reservation)
-- What came back is of a settled order that says so, and no more than was settled of the sku.
SELECT d.* FROM (
  SELECT r.order_id, k.code AS sku, r.state, r.noted, b.units AS returned,
         (SELECT COALESCE(SUM(l.qty), 0) FROM reservation_line l FORCE INDEX (PRIMARY)
           WHERE l.reservation_id = b.reservation_id AND l.sku_id = b.sku_id) AS settled, b.reservation_id
    FROM reservation_returned b FORCE INDEX (PRIMARY)
    LEFT JOIN reservation r FORCE INDEX (PRIMARY) USING (reservation_id) LEFT JOIN sku k USING (sku_id)
   WHERE b.reservation_id BETWEEN {from_id} AND {until_id} AND ({sku} = 0 OR b.sku_id = {sku})) d
 WHERE d.returned NOT BETWEEN 1 AND d.settled OR IFNULL(d.state <> {settled} OR d.noted & {returns} = 0, TRUE);

-- name: replaced_is_released (by_reservation)
-- An order that was replaced is released, so it and its replacement never hold at once.
SELECT r.order_id,
       IFNULL(ELT(r.state, {reservation_states}), r.state) AS state,
       e.replaced_by
  FROM reservation_note e FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = e.reservation_id
 WHERE e.replaced_by IS NOT NULL AND r.state <> {released} AND e.reservation_id BETWEEN {from_id} AND {until_id};

-- name: replaces_one_another (by_reservation)
-- An order that was replaced and the one that replaced it name each other, as far as both are there and old ones told.
-- Once an order is purged, another one may have its id: that is a younger one.
SELECT r.order_id, e.replaced_by, e.replaces, o.order_id AS other, n.replaced_by AS other_replaced_by,
       n.replaces AS other_replaces
  FROM reservation_note e FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = e.reservation_id
  STRAIGHT_JOIN reservation o FORCE INDEX (order_id) ON o.order_id = e.replaced_by
  LEFT JOIN reservation_note n FORCE INDEX (PRIMARY) ON n.reservation_id = o.reservation_id
 WHERE e.reservation_id BETWEEN {from_id} AND {until_id} AND e.replaced_by IS NOT NULL AND n.replaces <> r.order_id
       AND o.created_at <= r.released_at
UNION ALL
SELECT r.order_id, e.replaced_by, e.replaces, o.order_id, n.replaced_by, n.replaces
  FROM reservation_note e FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = e.reservation_id
  STRAIGHT_JOIN reservation o FORCE INDEX (order_id) ON o.order_id = e.replaces
  LEFT JOIN reservation_note n FORCE INDEX (PRIMARY) ON n.reservation_id = o.reservation_id
 WHERE e.reservation_id BETWEEN {from_id} AND {until_id} AND e.replaces IS NOT NULL
       AND o.reservation_id < e.reservation_id AND NOT n.replaced_by <=> r.order_id;

-- name: split_conserves (by_reservation)
-- A reservation that was split has, of each sku at each location, what it had before less all that left it. If its
-- lines have gone to other locations since, it is not known where a split has found them. amend_conserves is for a
-- reservation whose lines were changed.
SELECT r.order_id, k.code AS sku, o.code AS location, MAX(s.units_before) AS units_before, SUM(s.qty) AS parted,
       MIN(s.units_before - s.qty) AS last, COALESCE(MAX(l.qty), 0) AS qty
  FROM reservation_part s FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = s.first_id
  LEFT JOIN reservation_line l FORCE INDEX (PRIMARY)
    ON l.reservation_id = s.first_id AND l.sku_id = s.sku_id AND l.location_id = s.location_id
  LEFT JOIN sku k ON k.sku_id = s.sku_id LEFT JOIN location o ON o.location_id = s.location_id
 WHERE s.first_id BETWEEN {from_id} AND {until_id} AND ({sku} = 0 OR s.sku_id = {sku})
       AND NOT r.noted & {relocated} AND NOT r.noted & {amended}
 GROUP BY s.first_id, s.sku_id, s.location_id
HAVING MAX(s.units_before) - SUM(s.qty) <> COALESCE(MAX(l.qty), 0)
    OR MIN(s.units_before - s.qty) <> COALESCE(MAX(l.qty), 0);

-- piece: steps_of
-- The steps of order r, of each sku at each location: splits that took units, and changes of its lines.
(SELECT s.first_id AS reservation_id, s.sku_id, s.location_id, s.units_before, s.units_before - s.qty AS units_behind
   FROM reservation_part s FORCE INDEX (PRIMARY) WHERE s.first_id BETWEEN {from_id} AND {until_id}
 UNION ALL
 SELECT a.reservation_id, a.sku_id, a.location_id, a.units_before, a.units_before + a.qty
   FROM reservation_amend a FORCE INDEX (PRIMARY) WHERE a.reservation_id BETWEEN {from_id} AND {until_id})

-- name: amend_conserves (by_reservation)
-- The steps of an order whose lines were changed are a chain, of each sku at each location: each step begins with the
-- units that another one has left, but for the first, and the order has now what the last one left. So of the numbers
-- that steps begin with, and the present one, exactly one is not left by a step.
SELECT r.order_id, k.code AS sku, o.code AS location, d.loose
  FROM (SELECT n.reservation_id, n.sku_id, n.location_id, SUM(ABS(n.net)) AS loose
          FROM (SELECT u.reservation_id, u.sku_id, u.location_id, u.units, SUM(u.sign) AS net
                  FROM (SELECT b.reservation_id, b.sku_id, b.location_id, b.units_before AS units, 1 AS sign
                          FROM {steps_of} b
                        UNION ALL
                        SELECT b.reservation_id, b.sku_id, b.location_id, b.units_behind, -1 FROM {steps_of} b
                        UNION ALL
                        SELECT b.reservation_id, b.sku_id, b.location_id,
                               (SELECT COALESCE(SUM(l.qty), 0) FROM reservation_line l FORCE INDEX (PRIMARY)
                                 WHERE l.reservation_id = b.reservation_id AND l.sku_id = b.sku_id
                                   AND l.location_id = b.location_id), 1
                          FROM (SELECT DISTINCT reservation_id, sku_id, location_id FROM {steps_of} c) b) u
                 GROUP BY u.reservation_id, u.sku_id, u.location_id, u.units) n
         GROUP BY n.reservation_id, n.sku_id, n.location_id) d
  STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = d.reservation_id
  LEFT JOIN sku k ON k.sku_id = d.sku_id LEFT JOIN location o ON o.location_id = d.location_id
 WHERE d.loose <> 1 AND r.noted & {amended} AND NOT r.noted & {relocated} AND ({sku} = 0 OR d.sku_id = {sku});

-- name: amend_has_reservation (by_reservation)
-- Differences are of an order that says that there are some; none is of nothing, and none leaves less than nothing.
SELECT a.reservation_id, r.order_id, r.noted, a.changed, r.changed AS last, a.units_before, a.qty
  FROM reservation_amend a FORCE INDEX (PRIMARY)
  LEFT JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = a.reservation_id
 WHERE (r.reservation_id IS NULL OR NOT r.noted & {amended} OR a.changed > r.changed OR a.qty = 0 OR a.units_before < 0
        OR a.units_before + a.qty < 0)
       AND a.reservation_id BETWEEN {from_id} AND {until_id} AND ({sku} = 0 OR a.sku_id = {sku});

-- name: part_has_its_units (by_reservation)
-- A part has, of each sku at each location, what came with the split less what left it by further ones, and what
-- changes of its lines added or took. If its lines have gone to other locations since, only the sum over all locations
-- is compared.
SELECT p.order_id, k.code AS sku, o.code AS location, s.qty AS came, COALESCE(l.qty, 0) AS qty
  FROM reservation_part s FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN reservation p FORCE INDEX (PRIMARY) ON p.reservation_id = s.part_id AND NOT p.noted & {relocated}
  LEFT JOIN reservation_line l FORCE INDEX (PRIMARY)
    ON l.reservation_id = s.part_id AND l.sku_id = s.sku_id AND l.location_id = s.location_id
  LEFT JOIN sku k ON k.sku_id = s.sku_id LEFT JOIN location o ON o.location_id = s.location_id
 WHERE s.qty <> COALESCE(l.qty, 0) + (SELECT COALESCE(SUM(f.qty), 0) FROM reservation_part f FORCE INDEX (PRIMARY)
                                       WHERE f.first_id = s.part_id AND f.sku_id = s.sku_id
                                         AND f.location_id = s.location_id)
                - (SELECT COALESCE(SUM(a.qty), 0) FROM reservation_amend a FORCE INDEX (PRIMARY)
                    WHERE a.reservation_id = s.part_id AND a.sku_id = s.sku_id AND a.location_id = s.location_id)
       AND s.first_id BETWEEN {from_id} AND {until_id} AND ({sku} = 0 OR s.sku_id = {sku})
UNION ALL
SELECT p.order_id, k.code AS sku, NULL, d.came, d.qty
  FROM (SELECT s.part_id, s.sku_id, SUM(s.qty) AS came,
               (SELECT COALESCE(SUM(l.qty), 0) FROM reservation_line l FORCE INDEX (PRIMARY)
                 WHERE l.reservation_id = s.part_id AND l.sku_id = s.sku_id) +
               (SELECT COALESCE(SUM(f.qty), 0) FROM reservation_part f FORCE INDEX (PRIMARY)
                 WHERE f.first_id = s.part_id AND f.sku_id = s.sku_id) -
               (SELECT COALESCE(SUM(a.qty), 0) FROM reservation_amend a FORCE INDEX (PRIMARY)
                 WHERE a.reservation_id = s.part_id AND a.sku_id = s.sku_id) AS qty
          FROM reservation_part s FORCE INDEX (PRIMARY)
          STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = s.part_id AND r.noted & {relocated}
         WHERE s.first_id BETWEEN {from_id} AND {until_id} AND ({sku} = 0 OR s.sku_id = {sku})
         GROUP BY s.part_id, s.sku_id) d
  LEFT JOIN reservation p FORCE INDEX (PRIMARY) ON p.reservation_id = d.part_id LEFT JOIN sku k ON k.sku_id = d.sku_id
 WHERE d.came <> d.qty;

-- name: task_is_whole (by_task)
-- A task has a kind and a state, claimed something, and has ended when it is not open.
SELECT t.task_id, t.worker, t.kind, t.state, t.claimed, t.ended_at FROM job_task t FORCE INDEX (PRIMARY)
 WHERE (t.kind NOT BETWEEN {settle} AND {expire} OR t.state NOT BETWEEN {open} AND {reaped} OR t.claimed = 0
     OR (t.state = {open}) <> (t.ended_at IS NULL)) AND t.task_id BETWEEN {from_id} AND {until_id};

-- name: task_counts (by_task)
-- A task's completed, failed and present orders, and those released or lost while the task had them, are no more than
-- it claimed; orders that name it as settled or expired are no more than it completed (fewer: expired ones may be held
-- again, old ones are purged).
SELECT d.* FROM (
  SELECT t.task_id, ELT(t.kind, {kinds}) AS kind, t.claimed, t.completed, t.failed,
         (SELECT COUNT(*) FROM reservation r FORCE INDEX (claim)
           WHERE r.state = IF(t.kind = {settle}, {confirmed}, {held}) AND r.task_id = t.task_id) AS still,
         (SELECT COUNT(*) FROM reservation r FORCE INDEX (claim)
           WHERE r.state = {released} AND r.task_id = t.task_id) AS released,
         (SELECT COUNT(*) FROM task_lost x FORCE INDEX (PRIMARY) WHERE x.task_id = t.task_id) AS lost,
         (SELECT COUNT(*) FROM reservation r FORCE INDEX (claim)
           WHERE r.state = IF(t.kind = {settle}, {settled}, {expired}) AND r.task_id = t.task_id) AS resolved
    FROM job_task t FORCE INDEX (PRIMARY) WHERE t.task_id BETWEEN {from_id} AND {until_id}) d
 WHERE d.completed + d.failed + d.still + d.released + d.lost > d.claimed OR d.resolved > d.completed;

-- name: lost_of_a_task (by_task)
-- Orders that were taken from a task are told with that task.
SELECT x.task_id, x.order_id
  FROM task_lost x FORCE INDEX (PRIMARY) LEFT JOIN job_task t FORCE INDEX (PRIMARY) ON t.task_id = x.task_id
 WHERE t.task_id IS NULL AND x.task_id BETWEEN {from_id} AND {until_id};

-- name: settled_is_moved (by_task)
-- The units of the orders that a task settled left the stock once: its settlements took as many. Each settlement names
-- its task and its first order. Tasks with purged orders are skipped.
SELECT d.* FROM (
  SELECT t.task_id, t.completed,
         (SELECT COUNT(*) FROM reservation r FORCE INDEX (claim)
           WHERE r.state = {settled} AND r.task_id = t.task_id) AS settled,
         (SELECT COALESCE(SUM(l.qty), 0)
            FROM reservation r FORCE INDEX (claim)
            STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = r.reservation_id
           WHERE r.state = {settled} AND r.task_id = t.task_id) AS units,
         (SELECT COALESCE(-SUM(m.qty), 0)
            FROM reservation r FORCE INDEX (claim)
            STRAIGHT_JOIN movement h FORCE INDEX (movement_id)
               ON h.movement_id = CONCAT('settlement/', r.task_id, '/', r.reservation_id)
            STRAIGHT_JOIN movement_line m FORCE INDEX (PRIMARY) ON m.movement_no = h.movement_no
           WHERE r.state = {settled} AND r.task_id = t.task_id) AS moved
    FROM job_task t FORCE INDEX (PRIMARY) WHERE t.kind = {settle} AND t.task_id BETWEEN {from_id} AND {until_id}) d
 WHERE d.settled = d.completed AND d.units <> d.moved;

-- name: settled_by_id_is_moved (by_reservation)
-- The units of an order that was settled by its id left the stock once: the movement that is named by it took as many.
SELECT d.* FROM (
  SELECT r.order_id,
         (SELECT COALESCE(SUM(l.qty), 0) FROM reservation_line l FORCE INDEX (PRIMARY)
           WHERE l.reservation_id = r.reservation_id) AS units,
         (SELECT COALESCE(-SUM(m.qty), 0)
            FROM movement h FORCE INDEX (movement_id)
            STRAIGHT_JOIN movement_line m FORCE INDEX (PRIMARY) ON m.movement_no = h.movement_no
           WHERE h.movement_id = CONCAT('settlement/', r.reservation_id)) AS moved
    FROM reservation r FORCE INDEX (PRIMARY)
   WHERE r.state = {settled} AND r.task_id IS NULL AND r.reservation_id BETWEEN {from_id} AND {until_id}) d
 WHERE d.units <> d.moved;

-- name: customer_has_units (at_once)
-- The units of a sku that a customer has are those of the lines of his orders that are held, confirmed, buried or
-- settled, less what came back of them. Orders have no index by customer, which every order with one would pay for:
-- this is one walk over the notes.
SELECT d.customer, k.code AS sku, SUM(d.units) AS units, SUM(d.in_orders) AS in_orders
  FROM (SELECT u.customer, u.sku_id, u.units, 0 AS in_orders
          FROM customer_units u FORCE INDEX (PRIMARY) WHERE ({sku} = 0 OR u.sku_id = {sku})
        UNION ALL
        SELECT e.customer, l.sku_id, 0, SUM(l.qty)
          FROM reservation_note e FORCE INDEX (PRIMARY)
          STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = e.reservation_id
          STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = e.reservation_id
         WHERE e.customer IS NOT NULL AND r.state IN ({held}, {confirmed}, {buried}, {settled})
               AND ({sku} = 0 OR l.sku_id = {sku})
         GROUP BY e.customer, l.sku_id
        UNION ALL
        SELECT e.customer, t.sku_id, 0, -SUM(t.units)
          FROM reservation_returned t FORCE INDEX (PRIMARY)
          STRAIGHT_JOIN reservation_note e FORCE INDEX (PRIMARY) ON e.reservation_id = t.reservation_id
         WHERE e.customer IS NOT NULL AND ({sku} = 0 OR t.sku_id = {sku})
         GROUP BY e.customer, t.sku_id) d
  LEFT JOIN sku k USING (sku_id)
 GROUP BY d.customer, d.sku_id HAVING SUM(d.units) <> SUM(d.in_orders);

-- name: waits_at_is_incoming (at_once)
-- A location waits at one that is incoming, and is not incoming itself.
SELECT o.code AS location, o.kind, q.code AS waits_at, q.kind AS kind_there
  FROM location o LEFT JOIN location q ON q.location_id = o.waits_at
 WHERE o.waits_at IS NOT NULL AND IFNULL(q.kind <> {incoming} OR o.kind = {incoming}, TRUE);

-- name: location_is_whole (at_once)
-- A location is of a kind that there is, and an incoming one alone expects something.
SELECT o.code AS location, o.kind, o.expected_at
  FROM location o
 WHERE o.kind NOT BETWEEN {stock} AND {incoming} OR (o.kind <> {incoming} AND o.expected_at IS NOT NULL);

-- name: job_is_there (at_once)
-- Each job has its row, which claims look at, and no other has one: settle, expire, deliver. What is paused is so since
-- some time.
SELECT known.job, j.job AS row_of, j.paused, j.since
  FROM (SELECT {settle} AS job UNION ALL SELECT {expire} UNION ALL SELECT 3) known LEFT JOIN job j ON j.job = known.job
 WHERE j.job IS NULL OR j.paused > 1 OR (j.paused = 1) <> (j.since IS NOT NULL)
UNION ALL
SELECT NULL, j.job, j.paused, j.since FROM job j WHERE j.job NOT IN ({settle}, {expire}, 3);

-- name: webhook_leased_by_now (at_once)
-- No deliverer has a webhook for longer than an hour: otherwise a clock was ahead. Another one may take it then, and a
-- reaper brings it back.
SELECT w.webhook_id, w.due_at FROM webhook w FORCE INDEX (claim)
 WHERE w.state = {active} AND w.due_at > {latest_lease};
