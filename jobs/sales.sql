-- Stops of sales. The steps of a transaction stand in the order of locks: the mark under which changes of skus are
-- numbered, the row of kinds, that of the log, the own writer (txn_enter), all other writers, then skus.

-- name: sales_find
-- The skus of these codes: (code, number, 0 where sales are stopped, reason).
SELECT code, sku_id, for_sale, stop_reason FROM sku FORCE INDEX (code) WHERE code IN ({list});

-- name: sales_find_location
-- One location: (0 where sales there are stopped, reason).
SELECT for_sale, stop_reason FROM location FORCE INDEX (PRIMARY) WHERE location_id = {location};

-- name: sales_mark
    SELECT mark INTO @mark FROM identity WHERE one = 1 FOR UPDATE;

-- name: sales_turn
-- A writer that enters comes before, and is shut out, or comes behind, and reads what this transaction has written. The
-- chore of queues reads again what it may give, because the number is another one.
    UPDATE location_kinds SET n = n + 1 WHERE one = 1;

-- name: sales_log
-- No writer is made meanwhile.
    SELECT keep_days INTO @keep_days FROM event_log WHERE one = 1 FOR UPDATE;

-- name: sales_shut_out
-- All writers but the own one. Each of them has committed before, or commits nothing until it has entered again.
    UPDATE log_writer SET epoch = epoch + 1 WHERE ended = 0 AND writer_id <> {writer};

-- name: sales_skus
-- Rows: (sku, 0 where its sale was stopped when it was read); the row of no sku as in as_read. Each of them changes.
    UPDATE sku FORCE INDEX (PRIMARY) SET for_sale = {for_sale}, stop_reason = {reason}
     WHERE (sku_id, for_sale) IN ((0, 0), {rows});

-- name: sales_numbers
-- Numbers the changes, as sku_put does. Rows: (place in the list, from 1; sku).
    REPLACE INTO sku_limit (number, sku_id)
      WITH given(place, sku_id) AS (VALUES {rows})
      SELECT GREATEST((SELECT COALESCE(MAX(number), 0) FROM sku_limit), {clock_stamp}) + place, sku_id FROM given;

-- name: sales_details
-- What a PUT says of the sku beside, as sku_put does it.
    UPDATE sku FORCE INDEX (PRIMARY)
       SET per_customer = IF({per_customer} < 0, per_customer, NULLIF({per_customer}, 0)),
           name = IF({named}, {name}, name)
     WHERE sku_id = {sku};

-- name: sales_barcodes_drop
    DELETE FROM sku_barcode WHERE sku_id = {sku};

-- name: sales_barcodes_add
-- Rows: (sku, place, barcode, code).
    INSERT INTO sku_barcode (sku_id, place, barcode, code) VALUES {rows};

-- name: sales_text
-- Numbers the change of its name or barcodes, as sku_put does.
    REPLACE INTO sku_text (number, sku_id)
      SELECT GREATEST(COALESCE(MAX(number), 0) + 1, {clock_stamp}), {sku} FROM sku_text;

-- name: sales_location
-- {was_for_sale}: 0 where sales there were stopped when it was read.
    UPDATE location FORCE INDEX (PRIMARY) SET for_sale = {for_sale}, stop_reason = {reason}
     WHERE location_id = {location} AND for_sale = {was_for_sale};
