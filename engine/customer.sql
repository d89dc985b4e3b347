-- The units that customers have of skus: table customer_units. Rows are locked by (customer, sku), behind all slots.

-- name: customer_has
-- The limit of the sku {code}, and the units that {customer} has of it. No row: there is no such sku.
SELECT k.per_customer, u.units
  FROM sku k FORCE INDEX (code)
  LEFT JOIN customer_units u FORCE INDEX (PRIMARY) ON u.customer = {customer} AND u.sku_id = k.sku_id
 WHERE k.code = {code};

-- name: customer_lock (prepared)
-- Makes or locks the rows whose units the next statements of the transaction raise or lower. Values: (customer, sku).
INSERT INTO customer_units (customer, sku_id, units) VALUES (?, ?, 0) ON DUPLICATE KEY UPDATE units = units;

-- name: customer_raise (prepared, never_waits)
-- The count is 1 for each row. Values: (units, customer, sku).
UPDATE customer_units FORCE INDEX (PRIMARY) SET units = units + ? WHERE customer = ? AND sku_id = ?;

-- piece: customer_lower
-- Whatever there is. Rows: (customer, sku, units below zero).
INSERT INTO customer_units (customer, sku_id, units) VALUES {rows} ON DUPLICATE KEY UPDATE units = units + VALUES(units)

-- name: customer_lower
{customer_lower};

-- name: customer_lower_locked (never_waits)
-- Behind customer_lock.
{customer_lower};
