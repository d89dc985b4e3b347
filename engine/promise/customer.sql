-- The units that customers have of skus: table customer_units. Rows are locked by (customer, sku), behind all slots.

-- name: customer_quotas
-- The units that customers have of skus, and the limits. Rows: (number, customer, sku); '' is no customer.
WITH want(number, customer, sku_id) AS (VALUES {rows})
SELECT w.number, COALESCE(k.per_customer, 0), COALESCE(u.units, 0)
  FROM want w STRAIGHT_JOIN sku k FORCE INDEX (PRIMARY) ON k.sku_id = w.sku_id
  LEFT JOIN customer_units u FORCE INDEX (PRIMARY) ON u.customer = w.customer AND u.sku_id = w.sku_id;

-- name: customer_look
-- The rows that another transaction has locked right now, with a mark of each that changes when the row does, as
-- stock_look does it. Rows: (customer, sku).
WITH want(customer, sku_id) AS (VALUES {rows})
SELECT u.customer, u.sku_id, CRC32(u.units),
       (SELECT f.sku_id FROM customer_units f FORCE INDEX (PRIMARY)
         WHERE f.customer = u.customer AND f.sku_id = u.sku_id FOR UPDATE SKIP LOCKED) AS unlocked
  FROM want STRAIGHT_JOIN customer_units u FORCE INDEX (PRIMARY)
    ON u.customer = want.customer AND u.sku_id = want.sku_id
HAVING unlocked IS NULL;

-- name: customer_lock (prepared)
-- Makes or locks the rows of units that the next statements of the transaction raise or lower. Values: (customer, sku).
INSERT INTO customer_units (customer, sku_id, units) VALUES (?, ?, 0) ON DUPLICATE KEY UPDATE units = units;

-- name: customer_raise (never_waits)
-- The guard, INSERT INTO customer_units .. SELECT .. HAVING: units stay within the limit that the sku has in this
-- transaction, or the row stays as it is. The count is 2 for each row that was raised. FOR UPDATE makes the read
-- current; the sku's row is only read, so that customers of one sku do not wait for each other. As an UPDATE with
-- question marks, in bulk, the same took 36 us a row, this takes 10. Rows: (customer, sku, units).
INSERT INTO customer_units (customer, sku_id, units)
  WITH want(customer, sku_id, more) AS (VALUES {rows})
  SELECT u.customer, u.sku_id, u.units + w.more AS rest
    FROM want w STRAIGHT_JOIN customer_units u FORCE INDEX (PRIMARY)
      ON u.customer = w.customer AND u.sku_id = w.sku_id
  HAVING NOT IFNULL(rest > (SELECT k.per_customer FROM sku k FORCE INDEX (PRIMARY) WHERE k.sku_id = u.sku_id), FALSE)
     FOR UPDATE
      ON DUPLICATE KEY UPDATE units = VALUES(units);

-- piece: customer_lower
-- Whatever there is. Rows: (customer, sku, units below zero).
INSERT INTO customer_units (customer, sku_id, units) VALUES {rows} ON DUPLICATE KEY UPDATE units = units + VALUES(units)

-- name: customer_lower
{customer_lower};

-- name: customer_lower_locked (never_waits)
-- Behind customer_lock.
{customer_lower};
