-- Codes of skus have up to 128 bytes, those of locations up to 64. Both columns stay below 256 bytes, so the server
-- changes their description alone and writes no row again. A sku may have a name, and barcodes.

ALTER TABLE sku MODIFY code VARBINARY(128) NOT NULL;

ALTER TABLE location MODIFY code VARBINARY(64) NOT NULL;

-- name: what people call the sku, 200 characters of UTF-8; NULL: nothing was said.

ALTER TABLE sku ADD COLUMN IF NOT EXISTS name VARBINARY(800) NULL;

-- What is printed on the goods. Two skus may have the same barcode. The code of the sku stands here because lists are
-- in the order of codes, which never change.

CREATE TABLE IF NOT EXISTS sku_barcode (
  sku_id  INT UNSIGNED NOT NULL,     -- the sku
  place   TINYINT UNSIGNED NOT NULL, -- from 1, in the order in which the shop named them
  barcode VARBINARY(64) NOT NULL,    -- a sku has it once
  code    VARBINARY(128) NOT NULL,   -- of the sku
  PRIMARY KEY (sku_id, place),
  KEY barcode (barcode, code)        -- whose goods these are, by code
) ENGINE=InnoDB;
