-- What changes or reads units. All statements walk stock_slot by its primary key: without FORCE INDEX a small table is scanned
-- whole and every slot of it is locked. Rows come sorted by (sku, location, slot): the order in which locks are taken.

-- name: sku_find
-- Codes to numbers. {rows}: hex literals.
SELECT code, sku_id FROM sku FORCE INDEX (code) WHERE code IN ({rows});

-- name: sku_make
-- Committed by itself before the movement that needs it, so that no two movements wait for each other's new codes.
INSERT IGNORE INTO sku (code, created_at) VALUES {rows};

-- name: location_find
SELECT code, location_id FROM location FORCE INDEX (code) WHERE code IN ({rows});

-- name: location_make
INSERT IGNORE INTO location (code) VALUES {rows};

-- name: stock_balance
-- A lane's idea of the balances: in its own slot, in all, whether its own row is there, and how many slots there are.
-- {rows}: (sku, location).
WITH want(sku_id, location_id) AS (VALUES {rows})
SELECT s.sku_id, s.location_id, SUM(IF(s.slot = {slot}, s.available, 0)), SUM(s.available), MAX(s.slot = {slot}), COUNT(*)
  FROM want STRAIGHT_JOIN stock_slot s FORCE INDEX (PRIMARY)
    ON s.sku_id = want.sku_id AND s.location_id = want.location_id
 GROUP BY s.sku_id, s.location_id;

-- name: stock_totals
-- What a sku has, by location. {rows}: sku numbers.
SELECT s.sku_id, s.location_id, o.code, SUM(s.available), SUM(s.reserved)
  FROM stock_slot s FORCE INDEX (PRIMARY) STRAIGHT_JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = s.location_id
 WHERE s.sku_id IN ({rows})
 GROUP BY s.sku_id, s.location_id;

-- name: stock_every_slot
-- Every slot of these skus, locked, gaps too when the transaction reads repeatably. {rows}: sku numbers.
SELECT sku_id, location_id, slot, available, reserved
  FROM stock_slot FORCE INDEX (PRIMARY) WHERE sku_id IN ({rows})
 ORDER BY sku_id, location_id, slot FOR UPDATE;

-- name: slot_make
-- Own rows are made before they are gathered into, by a committed statement: made inside, two gathers would deadlock.
INSERT IGNORE INTO stock_slot (sku_id, location_id, slot, available, reserved) VALUES {rows};

-- name: stock_lock
-- Where several statements of a transaction write slots, all of them are locked here first, in order.
    SELECT COUNT(*) FROM (
      WITH want(sku_id, location_id, slot) AS (VALUES {rows})
      SELECT s.slot FROM want STRAIGHT_JOIN stock_slot s FORCE INDEX (PRIMARY)
          ON s.sku_id = want.sku_id AND s.location_id = want.location_id AND s.slot = want.slot FOR UPDATE) locked;

-- name: stock_probe
-- Which of these slots are not locked by somebody else right now. {rows}: (sku, location, slot).
SELECT sku_id, location_id, slot FROM stock_slot FORCE INDEX (PRIMARY)
 WHERE (sku_id, location_id, slot) IN ({rows}) FOR UPDATE SKIP LOCKED;

-- name: stock_look
-- The same where the slots have to be found, with a mark of each that changes when the slot does; those that nobody else has
-- locked come again, with NULL in its place. {rows}: (sku, location, 1), or 0 in the third place for slot {slot} alone.
WITH want(sku_id, location_id, every_slot) AS (VALUES {rows})
SELECT s.sku_id, s.location_id, s.slot, CRC32(CONCAT_WS(',', s.available, s.reserved))
  FROM want STRAIGHT_JOIN stock_slot s FORCE INDEX (PRIMARY)
    ON s.sku_id = want.sku_id AND s.location_id = want.location_id AND (want.every_slot OR s.slot = {slot})
UNION ALL
(SELECT s.sku_id, s.location_id, s.slot, NULL
   FROM want STRAIGHT_JOIN stock_slot s FORCE INDEX (PRIMARY)
     ON s.sku_id = want.sku_id AND s.location_id = want.location_id AND (want.every_slot OR s.slot = {slot})
    FOR UPDATE SKIP LOCKED);

-- name: stock_add
-- Units come in, into the own slot; the row appears when it is first needed. {rows}: (sku, location, slot, units, 0).
    INSERT INTO stock_slot (sku_id, location_id, slot, available, reserved) VALUES {rows}
        ON DUPLICATE KEY UPDATE available = available + VALUES(available);

-- name: stock_over_limit
-- How many totals pass {count}? Without a lock: what other lanes add at the same moment is bounded, see LIMIT_NEAR.
-- {rows}: sku numbers.
    SELECT COUNT(*) FROM (
      SELECT 1 FROM stock_slot FORCE INDEX (PRIMARY) WHERE sku_id IN ({rows})
       GROUP BY sku_id HAVING SUM(available + reserved) > {count}) totals;

-- name: stock_deduct_one
-- The guard of a batch that wants one sku at one location, which is the rule for a hot one. As stock_deduct below, but prepared:
-- (take, hold, sku, location, slot, take).
    INSERT INTO stock_slot (sku_id, location_id, slot, available, reserved)
      SELECT s.sku_id, s.location_id, s.slot, ?, ? FROM stock_slot s FORCE INDEX (PRIMARY)
       WHERE s.sku_id = ? AND s.location_id = ? AND s.slot = ?
      HAVING SUM(s.available) >= ? FOR UPDATE
      ON DUPLICATE KEY UPDATE available = stock_slot.available - VALUES(available),
                              reserved = stock_slot.reserved + VALUES(reserved);

-- name: stock_deduct
-- The guard. One slot, one row for each sku and location: `take` units leave available, `hold` of them are reserved. Rows with
-- too little are missing from the SELECT, so ROW_COUNT (2 for each row updated) tells. FOR UPDATE makes the read current
-- under READ COMMITTED; the candidate row holds magnitudes, because a negative one would fail the CHECK.
    INSERT INTO stock_slot (sku_id, location_id, slot, available, reserved)
      WITH want(sku_id, location_id, take, hold) AS (VALUES {rows})
      SELECT s.sku_id, s.location_id, s.slot, want.take, MIN(want.hold)
        FROM want STRAIGHT_JOIN stock_slot s FORCE INDEX (PRIMARY)
          ON s.sku_id = want.sku_id AND s.location_id = want.location_id AND s.slot = {slot}
       GROUP BY s.sku_id, s.location_id, s.slot, want.take
      HAVING SUM(s.available) >= want.take FOR UPDATE
      ON DUPLICATE KEY UPDATE available = stock_slot.available - VALUES(available),
                              reserved = stock_slot.reserved + VALUES(reserved);

-- name: stock_give_back
-- Promised units return to available, in the slots that the lines name. {rows}: (sku, location, slot, units, units).
    INSERT INTO stock_slot (sku_id, location_id, slot, available, reserved) VALUES {rows}
        ON DUPLICATE KEY UPDATE available = available + VALUES(available), reserved = reserved - VALUES(reserved);

-- name: stock_settle
-- Promised units leave the house, from the slots that the lines name. {rows}: (sku, location, slot, 0, units).
    INSERT INTO stock_slot (sku_id, location_id, slot, available, reserved) VALUES {rows}
        ON DUPLICATE KEY UPDATE reserved = reserved - VALUES(reserved);

-- name: stock_take_slots
-- Units leave named slots that this transaction has locked and read. {rows}: (sku, location, slot, units, 0).
    INSERT INTO stock_slot (sku_id, location_id, slot, available, reserved) VALUES {rows}
        ON DUPLICATE KEY UPDATE available = available - VALUES(available);

-- name: stock_gather
-- Moves what is needed, and a share of the rest, from the other slots into the own one, beginning with the slot after it. Every
-- row is locked, so absolute values are right; without an own row to receive them no units move; the CTE over stock_slot is named once, because named twice it runs twice
-- and loses units. {rows}: (sku, location, need).
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
                                 FOR UPDATE) c) d) e
       WHERE mine AND total >= need AND (take > 0 OR slot = {slot})
      ON DUPLICATE KEY UPDATE available = VALUES(available);

-- name: movement_find
-- Movements by their ids, with their lines. {rows}: hex literals.
SELECT m.movement_id, m.movement_no, m.lines_hash, m.kind, m.created_at, m.reason, m.reference,
       l.sku_id, k.code, l.location_id, o.code, l.slot, l.qty
  FROM movement m FORCE INDEX (movement_id) LEFT JOIN movement_line l ON l.movement_no = m.movement_no
  LEFT JOIN sku k ON k.sku_id = l.sku_id LEFT JOIN location o ON o.location_id = l.location_id
 WHERE m.movement_id IN ({rows});

-- name: movement_glimpse
-- Ids that are there, by a dirty read (glimpse): those too that somebody has written and not committed. {rows}: hex literals.
SELECT movement_id FROM movement FORCE INDEX (movement_id) WHERE movement_id IN ({rows});

-- name: movement_add
    INSERT INTO movement (movement_no, movement_id, kind, lines_hash, created_at, reason, reference) VALUES {rows};

-- name: movement_line_add
    INSERT INTO movement_line (movement_no, sku_id, location_id, slot, qty) VALUES {rows};

-- name: sku_list
-- A page of skus by code. {rows}: the code after which it begins, a hex literal.
SELECT code, sku_id FROM sku FORCE INDEX (code) WHERE code > {rows} ORDER BY code LIMIT {count};

-- name: movement_list
-- A page of the movements of a sku. {low}: the movement_no before which it begins. The page is the newest ones; inside
-- of it C puts them in order.
SELECT m.movement_id, m.movement_no, m.lines_hash, m.kind, m.created_at, m.reason, m.reference,
       l.sku_id, k.code, l.location_id, o.code, l.slot, l.qty
  FROM (SELECT DISTINCT movement_no FROM movement_line FORCE INDEX (sku_history)
         WHERE sku_id = {sku} AND movement_no < {low} ORDER BY movement_no DESC LIMIT {count}) p
  STRAIGHT_JOIN movement m FORCE INDEX (PRIMARY) ON m.movement_no = p.movement_no
  STRAIGHT_JOIN movement_line l FORCE INDEX (sku_history) ON l.sku_id = {sku} AND l.movement_no = p.movement_no
  STRAIGHT_JOIN sku k ON k.sku_id = l.sku_id STRAIGHT_JOIN location o ON o.location_id = l.location_id;

-- name: stock_stats
-- All stock in one row, for operators: a walk over the slots.
SELECT (SELECT COUNT(*) FROM sku), (SELECT COUNT(*) FROM location), COUNT(DISTINCT slot), COUNT(*),
       COALESCE(SUM(available), 0), COALESCE(SUM(reserved), 0)
  FROM stock_slot;
