-- Skus by a part of their texts: what a process that keeps the texts in memory reads.

-- piece: text_columns
-- The texts of sku k. The barcodes have a byte between them that no text has.
k.sku_id, k.code, k.name,
(SELECT GROUP_CONCAT(b.barcode SEPARATOR 0xFE) FROM sku_barcode b FORCE INDEX (PRIMARY) WHERE b.sku_id = k.sku_id)

-- name: texts_read
-- The number of the last change of all (0), then, of one moment: the skus that changed behind number {after_id} (1),
-- the skus from {sku} on (2), {limit} of each at most, and those of the skus {list} that are there (3): ranges and rows
-- of primary keys.
SELECT 0, COALESCE(MAX(number), 0), NULL, NULL, NULL, NULL FROM sku_text
UNION ALL
(SELECT 1, t.number, {text_columns}
   FROM sku_text t FORCE INDEX (PRIMARY) STRAIGHT_JOIN sku k FORCE INDEX (PRIMARY) ON k.sku_id = t.sku_id
  WHERE t.number > {after_id} ORDER BY t.number LIMIT {limit})
UNION ALL
(SELECT 2, 0, {text_columns} FROM sku k FORCE INDEX (PRIMARY) WHERE k.sku_id >= {sku} ORDER BY k.sku_id LIMIT {limit})
UNION ALL
(SELECT 3, 0, {text_columns} FROM sku k FORCE INDEX (PRIMARY) WHERE k.sku_id IN ({list}));
