-- Limits: the most units of a sku that one customer may have; and stops of the sale of a sku. Both stand in the sku's
-- row; table sku_limit says which of them have changed, for processes that keep them in memory.

-- name: limits_read
-- The last change of all, then the skus that changed behind number {after_id}, {limit} at most, a range of the primary
-- key. Rows: (number, sku_id, code, limit or NULL, 0: its sale is stopped).
SELECT COALESCE(MAX(number), 0), NULL, NULL, NULL, NULL FROM sku_limit
UNION ALL
(SELECT c.number, k.sku_id, k.code, k.per_customer, k.for_sale
   FROM sku_limit c FORCE INDEX (PRIMARY) STRAIGHT_JOIN sku k FORCE INDEX (PRIMARY) ON k.sku_id = c.sku_id
  WHERE c.number > {after_id} ORDER BY c.number LIMIT {limit});

-- name: customer_has
-- The limit of the sku {code}, and the units that {customer} has of it. No row: the sku does not exist.
SELECT k.per_customer, u.units
  FROM sku k FORCE INDEX (code)
  LEFT JOIN customer_units u FORCE INDEX (PRIMARY) ON u.customer = {customer} AND u.sku_id = k.sku_id
 WHERE k.code = {code};

-- name: sku_put
-- Makes the sku {code} where it is not there, and sets its limit: to {per_customer}, to none (0), or leaves it (-1).
-- With {named} it gets the name {name}, with {barcoded} the barcodes of {rows}: (place, barcode); place 0 is none.
-- Changes are numbered under the lock of one row, so that a lower number is never committed behind a higher one; a
-- number is no less than the clock, so that a restored database does not give the same again. One row: 1 where the sku
-- is new; its limit or NULL; its number.
BEGIN NOT ATOMIC
  DECLARE id INT UNSIGNED DEFAULT NULL;
  DECLARE made TINYINT DEFAULT 0;
  DECLARE most BIGINT DEFAULT NULL;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  ROLLBACK;
  START TRANSACTION;
  SELECT mark INTO @mark FROM identity WHERE one = 1 FOR UPDATE;
  SELECT sku_id, per_customer INTO id, most FROM sku FORCE INDEX (code) WHERE code = {code};
  IF id IS NULL THEN
    INSERT IGNORE INTO sku (code, created_at) VALUES ({code}, UTC_TIMESTAMP(3));
    SET made = ROW_COUNT();
    SELECT sku_id, per_customer INTO id, most FROM sku FORCE INDEX (code) WHERE code = {code};
  END IF;
  IF {per_customer} >= 0 AND NOT (most <=> NULLIF({per_customer}, 0)) THEN
    SET most = NULLIF({per_customer}, 0);
    UPDATE sku FORCE INDEX (PRIMARY) SET per_customer = most WHERE sku_id = id;
    REPLACE INTO sku_limit (number, sku_id)
      SELECT GREATEST(COALESCE(MAX(number), 0) + 1, {clock_stamp}), id FROM sku_limit;
  END IF;
  IF {named} THEN
    UPDATE sku FORCE INDEX (PRIMARY) SET name = {name} WHERE sku_id = id;
  END IF;
  IF {barcoded} THEN
    DELETE FROM sku_barcode WHERE sku_id = id;
    INSERT INTO sku_barcode (sku_id, place, barcode, code)
      WITH given(place, barcode) AS (VALUES {rows}) SELECT id, place, barcode, {code} FROM given WHERE place > 0;
  END IF;
  IF {named} OR {barcoded} THEN
    REPLACE INTO sku_text (number, sku_id)
      SELECT GREATEST(COALESCE(MAX(number), 0) + 1, {clock_stamp}), id FROM sku_text;
  END IF;
  COMMIT;
  SELECT made, most, id;
END
