-- Units: reads and changes.
--
-- All statements walk stock_slot by its primary key: without FORCE INDEX a small table is scanned whole and every slot
-- of it is locked. Rows come sorted by (sku, location, slot): the order in which locks are taken.

-- name: sku_find
-- Codes to numbers.
SELECT code, sku_id FROM sku FORCE INDEX (code) WHERE code IN ({list});

-- name: sku_make
-- Committed by itself before the movement that needs it, so that no two movements wait for each other's new codes.
INSERT IGNORE INTO sku (code, created_at) VALUES {rows};

-- piece: sells
-- Units at location o are in the house and for sale, and so are units of the sum `available` of their sku, unless their
-- sale was stopped: in SQL what location_sells is in C.
o.kind = {stock}

-- piece: in_house
-- Units at location o are in the house, and in `on_hand` of their sku: location_in_house in C.
o.kind <> {incoming}

-- name: location_make
INSERT IGNORE INTO location (code) VALUES {rows};

-- piece: queue_waits
-- An order waits in the queue of a row of `want`.
EXISTS (SELECT 1 FROM waiting_line w FORCE INDEX (line)
         WHERE w.sku_id = want.sku_id AND w.location_id = want.waits_at)

-- piece: queue_asks
-- Units for which that queue asks: all that is reserved at its location.
(SELECT COALESCE(SUM(q.reserved), 0) FROM stock_slot q FORCE INDEX (PRIMARY)
  WHERE q.sku_id = want.sku_id AND q.location_id = want.waits_at)

-- piece: queue_finds
-- Units available for that queue at the location of the row and at those with smaller numbers. In this order the
-- locations of one queue keep units for it.
(SELECT COALESCE(SUM(f.available), 0)
   FROM stock_slot f FORCE INDEX (PRIMARY)
   STRAIGHT_JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = f.location_id
  WHERE f.sku_id = want.sku_id AND f.location_id <= want.location_id AND o.waits_at = want.waits_at
    AND {sells} AND o.for_sale = 1)

-- name: stock_balance
-- A lane's view of the balances: units in its own slot and in all slots, whether its own row exists, and the number of
-- slots; at a location with a queue how many units the location keeps for it, NULL if no order waits. Rows: (sku,
-- location, that of the queue or 0).
WITH want(sku_id, location_id, waits_at) AS (VALUES {rows})
SELECT s.sku_id, s.location_id, SUM(IF(s.slot = {slot}, s.available, 0)), SUM(s.available), MAX(s.slot = {slot}),
       COUNT(*), SUM(s.available) + MAX(IF(want.waits_at > 0 AND {queue_waits}, {queue_asks} - {queue_finds}, NULL))
  FROM want STRAIGHT_JOIN stock_slot s FORCE INDEX (PRIMARY)
    ON s.sku_id = want.sku_id AND s.location_id = want.location_id
 GROUP BY s.sku_id, s.location_id;

-- piece: location_says
-- The kind of location o, and 128 more where sales there are stopped: location_says in C.
o.kind + IF(o.for_sale, 0, 128)

-- piece: total_columns
-- Of each location what is said of it, and the location of its queue or 0. Where sales are stopped, no queue gets
-- units.
t.sku_id, t.location_id, t.available, t.reserved, {location_says}, o.expected_at,
       IF({sells} AND o.for_sale = 1 AND o.waits_at > 0
            AND (SELECT k.for_sale FROM sku k FORCE INDEX (PRIMARY) WHERE k.sku_id = t.sku_id), o.waits_at, 0)

-- piece: total_rows
  FROM (SELECT s.sku_id, s.location_id, SUM(s.available) AS available, SUM(s.reserved) AS reserved
          FROM stock_slot s FORCE INDEX (PRIMARY)
         WHERE s.sku_id IN ({list})
         GROUP BY s.sku_id, s.location_id) t
  LEFT JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = t.location_id

-- piece: total_rows_there
-- The same of the locations {places} (their numbers, with commas; NULL: all), {limit} rows at most. Where a location is
-- a queue or keeps units for one, its figures rest on others of these: all of them come along.
  FROM (SELECT s.sku_id, s.location_id, SUM(s.available) AS available, SUM(s.reserved) AS reserved
          FROM stock_slot s FORCE INDEX (PRIMARY)
         WHERE s.sku_id IN ({list})
           AND ({places} IS NULL OR FIND_IN_SET(s.location_id, {places})
                OR (SELECT q.waits_at > 0 OR q.kind = {incoming} FROM location q FORCE INDEX (PRIMARY)
                     WHERE q.location_id = s.location_id))
         GROUP BY s.sku_id, s.location_id LIMIT {limit}) t
  LEFT JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = t.location_id

-- name: stock_totals
-- The totals of the skus {list}, by location.
SELECT {total_columns} {total_rows};

-- name: stock_totals_told
-- The same for readers: their answers say what is stopped.
SELECT {total_columns} {total_rows} UNION ALL {stops};

-- name: stock_totals_detailed
-- Both in one trip.
SELECT {total_columns} {total_rows} UNION ALL {details};

-- name: stock_totals_there
SELECT {total_columns} {total_rows_there} UNION ALL {details};

-- name: stock_every_slot
-- Every slot of the skus {list}, locked; gaps are locked too when the transaction reads repeatably.
SELECT sku_id, location_id, slot, available, reserved
  FROM stock_slot FORCE INDEX (PRIMARY) WHERE sku_id IN ({list})
 ORDER BY sku_id, location_id, slot FOR UPDATE;

-- name: counted_enter
-- Every count writes this before it locks a slot: the time for which the latest count of the location stands, its own
-- unless one of a later time was there. A count of now knows better than a clock that was ahead. A refused count undoes
-- it. Rows: (sku, location, ms since 1970; 0: now), sorted.
INSERT INTO stock_counted (sku_id, location_id, counts, counted_at)
  WITH given(sku_id, location_id, ms) AS (VALUES {rows})
  SELECT sku_id, location_id, 1, IF(ms = 0, @t, TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ms * 1000 MICROSECOND)
    FROM given
  ON DUPLICATE KEY UPDATE counts = stock_counted.counts + 1,
                          counted_at = IF(VALUES(counted_at) = @t AND stock_counted.counted_at > {soon}, @t,
                                          GREATEST(stock_counted.counted_at, VALUES(counted_at)))
  RETURNING sku_id, location_id, counted_at;

-- name: moved_since
-- The units that movements of the skus {list} have added at each location behind a time, up to another one; counts are
-- no movements of goods, but for what orders lose by them, which is promised elsewhere. Ids are made in the order of
-- time, so a place among them bounds the walk. An arrival has one line for each sku and location, which grows as it is
-- handed out: its ends are what has come. What was moved by a clock that was ahead had been moved before that clock was
-- set right, and so before the time of the count. A count may have lines in several slots: the first one tells.
SELECT l.sku_id, l.location_id,
       SUM(CASE m.kind
             WHEN {arrival} THEN
               (SELECT COALESCE(SUM(IF(t.to_id = l.location_id, t.qty, -t.qty)), 0)
                  FROM movement_transfer t FORCE INDEX (PRIMARY)
                 WHERE t.movement_no = l.movement_no AND t.sku_id = l.sku_id
                   AND l.location_id IN (t.from_id, t.to_id))
             WHEN {count} THEN
               IF(l.slot = (SELECT MIN(s.slot) FROM movement_line s FORCE INDEX (PRIMARY)
                             WHERE s.movement_no = l.movement_no AND s.sku_id = l.sku_id
                               AND s.location_id = l.location_id),
                  (SELECT COALESCE(SUM(b.qty), 0) FROM movement_backorder b FORCE INDEX (PRIMARY)
                    WHERE b.movement_no = l.movement_no AND b.sku_id = l.sku_id AND b.to_id = l.location_id), 0)
             ELSE l.qty END)
  FROM movement_line l FORCE INDEX (sku_history)
  STRAIGHT_JOIN movement m FORCE INDEX (PRIMARY) ON m.movement_no = l.movement_no
 WHERE l.sku_id IN ({list}) AND l.movement_no > {after_id} AND m.created_at > {after_at}
   AND m.created_at <= LEAST({until_at}, {soon})
 GROUP BY l.sku_id, l.location_id ORDER BY NULL;

-- name: slot_make
-- Own rows are made before they are gathered into, by a committed statement: made inside, two gathers would deadlock.
INSERT IGNORE INTO stock_slot (sku_id, location_id, slot, available, reserved) VALUES {rows};

-- name: stock_lock
-- Locks all slots of a transaction first, in order, where several of its statements write slots.
SELECT COUNT(*) FROM (
  WITH want(sku_id, location_id, slot) AS (VALUES {rows})
  SELECT s.slot FROM want STRAIGHT_JOIN stock_slot s FORCE INDEX (PRIMARY)
      ON s.sku_id = want.sku_id AND s.location_id = want.location_id AND s.slot = want.slot FOR UPDATE) locked;

-- name: stock_look
-- The slots that another transaction has locked right now, with a mark of each that changes when the slot does. HAVING,
-- not WHERE: there it would lock slots that are not asked for. Rows: (sku, location, 1), or 0 in the third place for
-- slot {slot} only.
WITH want(sku_id, location_id, every_slot) AS (VALUES {rows})
SELECT s.sku_id, s.location_id, s.slot, CRC32(CONCAT_WS(',', s.available, s.reserved)),
       (SELECT f.slot FROM stock_slot f FORCE INDEX (PRIMARY)
         WHERE f.sku_id = s.sku_id AND f.location_id = s.location_id AND f.slot = s.slot
           FOR UPDATE SKIP LOCKED) AS unlocked
  FROM want STRAIGHT_JOIN stock_slot s FORCE INDEX (PRIMARY)
    ON s.sku_id = want.sku_id AND s.location_id = want.location_id AND (want.every_slot OR s.slot = {slot})
HAVING unlocked IS NULL;

-- piece: slot_rows
INSERT INTO stock_slot (sku_id, location_id, slot, available, reserved) VALUES {rows} ON DUPLICATE KEY UPDATE

-- name: stock_add
-- Adds units to the own slot; the row appears when it is first needed. Rows: (sku, location, slot, units, 0).
{slot_rows} available = available + VALUES(available);

-- name: promise_enter
-- Locks the sums of promises, in the order of locks before reservations and slots. Rows: (sku, location, 0, 1).
INSERT INTO promise (sku_id, location_id, booked, n) VALUES {rows} ON DUPLICATE KEY UPDATE n = n + 1;

-- name: promise_read
-- Units of these sums that are booked. Rows: (sku, location); the row of zeroes as in as_read.
SELECT sku_id, location_id, booked FROM promise FORCE INDEX (PRIMARY)
 WHERE (sku_id, location_id) IN ((0, 0), {rows}) FOR UPDATE;

-- name: promise_book
-- Units of these sums have arrived. Rows: (sku, location, units, 1).
INSERT INTO promise (sku_id, location_id, booked, n) VALUES {rows}
    ON DUPLICATE KEY UPDATE booked = booked + VALUES(booked), n = n + 1;

-- name: arrival_open_add (never_waits)
-- For own_s seconds the arrivals are left to the call that has booked them: its answer waits for one second at most,
-- and two writers would meet in the rows of the same orders. Rows: (movement_no, sku, from, to, units, own_s).
INSERT INTO arrival_open (movement_no, sku_id, from_id, to_id, units, writer_id, due_at)
  WITH given(movement_no, sku_id, from_id, to_id, units, own_s) AS (VALUES {rows})
SELECT movement_no, sku_id, from_id, to_id, units, 0, @t + INTERVAL own_s SECOND FROM given;

-- name: arriving
-- Units of the skus {list} that have arrived at each location and are not handed out.
SELECT sku_id, to_id, SUM(units) FROM arrival_open FORCE INDEX (of_sku)
 WHERE sku_id IN ({list}) GROUP BY sku_id, to_id;

-- name: stock_over_limit
-- The number of totals of the skus {list} that pass {total_max}. The statement takes no lock: additions of other lanes
-- meanwhile are bounded, see LIMIT_NEAR.
SELECT COUNT(*) FROM (
  SELECT 1 FROM stock_slot FORCE INDEX (PRIMARY) WHERE sku_id IN ({list})
   GROUP BY sku_id HAVING SUM(available + reserved) > {total_max}) totals;

-- name: stock_waited (never_waits)
-- Whether an order waits that comes before those of the batch: a row is one too many. Behind the deduction, so that a
-- unit that became free is seen with every order that waited at that moment. Rows: (sku, location of the queue).
WITH want(sku_id, location_id) AS (VALUES {rows})
SELECT 1 FROM want STRAIGHT_JOIN waiting_line w FORCE INDEX (line)
    ON w.sku_id = want.sku_id AND w.location_id = want.location_id LIMIT 1;

-- piece: touch
-- More units than a slot may have. A transaction that has touched a slot finds so many there, and none in a slot that
-- another transaction has made since.
4611686018427387904

-- name: slots_touch
-- With slots_untouch: locks and changes every slot of these skus at these locations. So whatever takes units there is
-- ordered before or after this transaction, on whichever node it runs. Rows: (sku, location), sorted.
UPDATE (SELECT 0 AS sku_id, 0 AS location_id UNION ALL VALUES {rows}) want
  STRAIGHT_JOIN stock_slot s FORCE INDEX (PRIMARY) ON s.sku_id = want.sku_id AND s.location_id = want.location_id
   SET s.available = s.available + {touch};

-- name: slots_untouch (never_waits)
UPDATE (SELECT 0 AS sku_id, 0 AS location_id UNION ALL VALUES {rows}) want
  STRAIGHT_JOIN stock_slot s FORCE INDEX (PRIMARY) ON s.sku_id = want.sku_id AND s.location_id = want.location_id
   SET s.available = s.available - {touch}
 WHERE s.available >= {touch};

-- name: stock_kept (never_waits)
-- Whether too few units are left for the queue: a row is one too many. Behind the deduction, with all slots locked that
-- it reads but those of the queue. So it sees every unit that another transaction has taken, and every order that
-- waited at that moment. Rows: (sku, location, location of the queue).
WITH want(sku_id, location_id, waits_at) AS (VALUES {rows})
SELECT 1 FROM want WHERE {queue_asks} > {queue_finds} LIMIT 1;

-- piece: guard
-- What is left of a slot is not negative, or the slot stays as it is. Every row is locked, so absolute values are
-- right.
HAVING rest >= 0 FOR UPDATE
    ON DUPLICATE KEY UPDATE available = VALUES(available), reserved = VALUES(reserved)

-- name: stock_deduct (prepared)
-- The guard, INSERT INTO stock_slot .. SELECT .. HAVING: units leave `available` of one slot, and some of them are
-- reserved. The count tells: 2 for the slot, 0 where it has too little or is not there. Values: (take, hold, sku,
-- location, slot).
INSERT INTO stock_slot (sku_id, location_id, slot, available, reserved)
  SELECT s.sku_id, s.location_id, s.slot, s.available - ? AS rest, s.reserved + ?
    FROM stock_slot s FORCE INDEX (PRIMARY)
   WHERE s.sku_id = ? AND s.location_id = ? AND s.slot = ?
  {guard};

-- name: stock_deduct_many (prepared)
-- The guard over several slots, in one execution because INSERT .. SELECT cannot be run in bulk. The count is 2 for
-- each slot that has changed. Value: [[take,hold,sku,location,slot],..], a slot once, sorted by (sku, location, slot).
INSERT INTO stock_slot (sku_id, location_id, slot, available, reserved)
  SELECT s.sku_id, s.location_id, s.slot, s.available - want.take AS rest, s.reserved + want.hold
    FROM JSON_TABLE(?, '$[*]' COLUMNS (take BIGINT PATH '$[0]', hold BIGINT PATH '$[1]',
                                       sku_id INT UNSIGNED PATH '$[2]', location_id INT UNSIGNED PATH '$[3]',
                                       slot SMALLINT UNSIGNED PATH '$[4]')) want
    STRAIGHT_JOIN stock_slot s FORCE INDEX (PRIMARY)
      ON s.sku_id = want.sku_id AND s.location_id = want.location_id AND s.slot = want.slot
  {guard};

-- name: stock_give_back
-- Promised units return to available, in the slots that the lines name; those of a replaced order may only leave one
-- slot, to be promised in another. Rows: (sku, location, slot, units to available, units from reserved).
{slot_rows} available = available + VALUES(available), reserved = reserved - VALUES(reserved);

-- name: stock_settle
-- Promised units leave the stock, from the slots that the lines name. Rows: (sku, location, slot, 0, units).
{slot_rows} reserved = reserved - VALUES(reserved);

-- name: stock_reserve
-- Units are promised that were not in the slot before. Rows: (sku, location, slot, 0, units).
{slot_rows} reserved = reserved + VALUES(reserved);

-- name: stock_take
-- Units leave `available` of slots that have them; a slot that has too little stays as it is, and the count tells: 2
-- for each that has changed. Rows: (sku, location, slot, units, 0).
{slot_rows} available = IF(available < VALUES(available), available, available - VALUES(available));

-- name: stock_gather
-- Moves the needed units, and a share of the rest, from the other slots into the own one, beginning with the slot after
-- it. Every row is locked, so absolute values are right. Without an own row to receive them no units move. The CTE over
-- stock_slot is named once: named twice it runs twice and loses units. Rows: (sku, location, need).
INSERT INTO stock_slot (sku_id, location_id, slot, available, reserved)
  WITH want(sku_id, location_id, need) AS (VALUES {rows})
  SELECT sku_id, location_id, slot, IF(slot = {slot}, available + got, available - take), 0
    FROM (SELECT d.*, SUM(take) OVER (PARTITION BY sku_id, location_id) AS got
            FROM (SELECT c.*, IF(slot = {slot}, 0, LEAST(available, GREATEST(0,
                           GREATEST(0, need - own) + IF(own >= need, 0, (total - need) DIV GREATEST(8, slots))
                           - (SUM(IF(slot = {slot}, 0, available)) OVER
                               (PARTITION BY sku_id, location_id ORDER BY slot <= {slot}, slot) - available)))) AS take
                    FROM (SELECT s.sku_id, s.location_id, s.slot, s.available, want.need,
                                 SUM(s.available) OVER (PARTITION BY s.sku_id, s.location_id) AS total,
                                 COUNT(*)         OVER (PARTITION BY s.sku_id, s.location_id) AS slots,
                                 SUM(IF(s.slot = {slot}, s.available, 0))
                                                  OVER (PARTITION BY s.sku_id, s.location_id) AS own,
                                 MAX(s.slot = {slot})
                                                  OVER (PARTITION BY s.sku_id, s.location_id) AS mine
                            FROM want STRAIGHT_JOIN stock_slot s FORCE INDEX (PRIMARY)
                              ON s.sku_id = want.sku_id AND s.location_id = want.location_id
                             FOR UPDATE) c
           HAVING mine AND total >= need) d) e
   WHERE take > 0 OR slot = {slot}
  ON DUPLICATE KEY UPDATE available = VALUES(available);

-- name: movement_find
-- Movements by their ids, with their lines.
SELECT {movement_columns}, {line_columns}
  FROM movement m FORCE INDEX (movement_id) LEFT JOIN api_key a ON a.key_id = m.key_id
  LEFT JOIN movement_line l ON l.movement_no = m.movement_no
  LEFT JOIN sku k ON k.sku_id = l.sku_id LEFT JOIN location o ON o.location_id = l.location_id
 WHERE m.movement_id IN ({list});

-- name: transfers_find
-- Both ends of transfers and arrivals, the newest first; {sku} 0: of every sku.
SELECT t.movement_no, t.sku_id, k.code, t.from_id, t.to_id, t.qty, t.filled, t.for_sale
  FROM movement_transfer t FORCE INDEX (PRIMARY) LEFT JOIN sku k FORCE INDEX (PRIMARY) ON k.sku_id = t.sku_id
 WHERE t.movement_no IN ({list}) AND ({sku} = 0 OR t.sku_id = {sku}) ORDER BY t.movement_no DESC;

-- name: movement_transfer_add (never_waits)
-- Rows: (movement_no, sku, from, to, units).
INSERT INTO movement_transfer (movement_no, sku_id, from_id, to_id, qty) VALUES {rows};

-- name: movement_backorder_add (never_waits)
-- Rows: (movement_no, reservation_id, sku, location, the location where it waits, order_id, units).
INSERT INTO movement_backorder (movement_no, reservation_id, sku_id, location_id, to_id, order_id, qty) VALUES {rows};

-- name: backorders_find
-- Orders that lost units by the movements {list}; {sku} 0: of every sku.
SELECT b.movement_no, b.sku_id, k.code, b.order_id, b.qty
  FROM movement_backorder b FORCE INDEX (PRIMARY) LEFT JOIN sku k FORCE INDEX (PRIMARY) ON k.sku_id = b.sku_id
 WHERE b.movement_no IN ({list}) AND ({sku} = 0 OR b.sku_id = {sku});

-- name: movement_line_more (never_waits)
-- Units that a movement adds beside those of its lines. Rows: as movement_line_add.
INSERT INTO movement_line (movement_no, sku_id, location_id, slot, qty) VALUES {rows}
    ON DUPLICATE KEY UPDATE qty = qty + VALUES(qty);

-- name: movement_hash
-- The fingerprints of movements by their ids.
SELECT lines_hash FROM movement FORCE INDEX (movement_id) WHERE movement_id IN ({list});

-- name: movement_dirty_read
-- The ids of the list that exist, by a dirty read (dirty_read): another transaction may have written them and not
-- committed.
SELECT movement_id FROM movement FORCE INDEX (movement_id) WHERE movement_id IN ({list});

-- name: movement_add (never_waits)
INSERT INTO movement (movement_no, movement_id, kind, lines_hash, created_at, reason, reference, key_id, order_id,
                      reservation_id) VALUES {rows};

-- name: movement_line_add (never_waits)
INSERT INTO movement_line (movement_no, sku_id, location_id, slot, qty) VALUES {rows};

-- name: sku_list
-- A page of skus by code; of those that begin with {prefix}, behind which no code has a byte 255.
SELECT code, sku_id FROM sku FORCE INDEX (code)
 WHERE code > {after_code} AND code >= {prefix} AND code < CONCAT({prefix}, 0xFF) ORDER BY code LIMIT {limit};

-- name: sku_list_barcode
-- The same of the skus that have {barcode}.
SELECT code, sku_id FROM sku_barcode FORCE INDEX (barcode)
 WHERE barcode = {barcode} AND code > {after_code} AND code >= {prefix} AND code < CONCAT({prefix}, 0xFF)
 ORDER BY code LIMIT {limit};

-- name: levels_of_skus
-- The levels of the skus {list}, as level.sql has them: the threshold, and whether units were there within 30 days: the
-- level is not `out`, or became so since then.
SELECT sku_id, location_id, low, level < 3 OR stamp > {clock_stamp} - 30 * 86400000000 FROM level FORCE INDEX (PRIMARY)
 WHERE sku_id IN ({list}) ORDER BY sku_id, location_id;

-- name: moved_lately
-- Of each of these places, whether its units have moved behind movement {after_id}. Rows: (sku, location).
WITH want(sku_id, location_id) AS (VALUES {rows})
SELECT want.sku_id, want.location_id,
       IF(EXISTS (SELECT 1 FROM movement_line m FORCE INDEX (sku_history)
                   WHERE m.sku_id = want.sku_id AND m.movement_no > {after_id}
                     AND m.location_id = want.location_id), 1, 0)
  FROM want;

-- name: movement_list
-- A page of the movements of a sku. The page is the newest ones; inside of it C puts them in order.
SELECT {movement_columns}, {line_columns}
  FROM (SELECT DISTINCT movement_no FROM movement_line FORCE INDEX (sku_history)
         WHERE sku_id = {sku} AND movement_no < {before_id} ORDER BY movement_no DESC LIMIT {limit}) p
  STRAIGHT_JOIN movement m FORCE INDEX (PRIMARY) ON m.movement_no = p.movement_no
  LEFT JOIN api_key a ON a.key_id = m.key_id
  STRAIGHT_JOIN movement_line l FORCE INDEX (sku_history) ON l.sku_id = {sku} AND l.movement_no = p.movement_no
  STRAIGHT_JOIN sku k ON k.sku_id = l.sku_id STRAIGHT_JOIN location o ON o.location_id = l.location_id;

-- name: stock_stats
-- All stock in one row, for operators: a walk over the slots. Units in the house that are not for sale come behind what
-- is for sale, then promises: those that are free, and those that orders have.
SELECT (SELECT COUNT(*) FROM sku), (SELECT COUNT(*) FROM location), COUNT(DISTINCT slot), COUNT(*),
       COALESCE(SUM(IF({sells}, available, 0)), 0), COALESCE(SUM(IF({sells}, reserved, 0)), 0),
       COALESCE(SUM(IF({sells} OR NOT {in_house}, 0, available + reserved)), 0),
       COALESCE(SUM(IF({in_house}, 0, available)), 0), COALESCE(SUM(IF({in_house}, 0, reserved)), 0)
  FROM stock_slot s LEFT JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = s.location_id;
