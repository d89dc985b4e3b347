-- Skus are found by a part of their code, name or barcode. A process that is asked for it keeps these texts in memory.

-- A row for each sku that got a name or barcodes since this version: the number of its last change. A process that
-- knows all changes up to one number asks for those behind it. New skus have rising numbers of their own.
CREATE TABLE IF NOT EXISTS sku_text (
  number BIGINT NOT NULL,       -- grows with each change
  sku_id INT UNSIGNED NOT NULL, -- a sku has one row, that of its last change
  PRIMARY KEY (number),
  UNIQUE KEY sku (sku_id)
) ENGINE=InnoDB;
