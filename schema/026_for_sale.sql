-- Sales may be stopped: of a sku, or at a location. Units that orders have stay theirs.
--
-- for_sale: 0: no order gets units that it does not have. Each stop and each start of a sku has a new number in
-- sku_limit, so that processes which keep skus in memory learn it.
-- stop_reason: why, for people; NULL: no reason was given, or the sku or the location is for sale.

ALTER TABLE sku ADD COLUMN IF NOT EXISTS for_sale TINYINT UNSIGNED NOT NULL DEFAULT 1,
                ADD COLUMN IF NOT EXISTS stop_reason VARBINARY(500) NULL;

ALTER TABLE location ADD COLUMN IF NOT EXISTS for_sale TINYINT UNSIGNED NOT NULL DEFAULT 1,
                     ADD COLUMN IF NOT EXISTS stop_reason VARBINARY(500) NULL;
