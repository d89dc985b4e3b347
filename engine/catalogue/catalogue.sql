-- What memory knows of skus and locations: is it of this database, which locations are there, what is said of skus.

-- name: past_read
-- The mark of this database, and the codes that the newest known sku and location have in it (number 0: none is known).
-- With them the version of the locations. One row.
SELECT mark, (SELECT code FROM sku WHERE sku_id = {sku}), (SELECT code FROM location WHERE location_id = {location}),
       ({locations_version})
  FROM identity WHERE one = 1;

-- piece: locations_version
-- Another number, and never 0, where a location has come or says anything else. CRC32 alone does not do: the same
-- change of two rows leaves the sum as it was.
SELECT (COUNT(*) << 32 | BIT_XOR(CRC32(MD5(CONCAT_WS(' ', location_id, code, kind, IFNULL(expected_at, ''),
                                                  IFNULL(waits_at, ''), for_sale))))) + 1
  FROM location FORCE INDEX (PRIMARY)

-- name: locations_version
{locations_version};

-- name: locations_read
-- All of them: they are few.
SELECT location_id, code, kind, expected_at, waits_at, for_sale FROM location FORCE INDEX (PRIMARY);

-- piece: stops
-- Rows as those of totals, without a location: the reason (4) of each of the skus {list} whose sale is stopped.
SELECT sku_id, NULL, 4, 0, NULL, stop_reason, 0 FROM sku FORCE INDEX (PRIMARY) WHERE sku_id IN ({list}) AND for_sale = 0

-- piece: details
-- Names (1), barcodes (2), thresholds (3) and reasons of stops (4) of the skus {list}. Texts stand in the
-- column of times, because each further column costs the reader 4 % of a GET.
SELECT sku_id, NULL, 1, 0, NULL, name, 0 FROM sku FORCE INDEX (PRIMARY)
 WHERE sku_id IN ({list}) AND name IS NOT NULL
UNION ALL
SELECT sku_id, NULL, 2, place, NULL, barcode, 0 FROM sku_barcode FORCE INDEX (PRIMARY) WHERE sku_id IN ({list})
UNION ALL
SELECT l.sku_id, NULL, 3, l.low, NULL, o.code, 0
  FROM level l FORCE INDEX (PRIMARY) LEFT JOIN location o FORCE INDEX (PRIMARY) ON o.location_id = l.location_id
 WHERE l.sku_id IN ({list}) AND l.low IS NOT NULL
UNION ALL
{stops}

-- name: sku_details
{details};
