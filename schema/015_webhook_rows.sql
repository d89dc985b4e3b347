-- A webhook's row has an identity of its own, so that a webhook which was deleted and made anew under its id is another
-- one. Rows of before have 0, which no new row has.

-- mark: drawn by chance when the row is made, and stands in every write that means this row. ahead: the ids of events
-- behind `place` that were delivered, with spaces between; NULL: none. secret_oldest: the one that signed before the
-- first of several rotations, and signs beside the others until oldest_until.
ALTER TABLE webhook
  ADD COLUMN IF NOT EXISTS mark BIGINT UNSIGNED NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS ahead MEDIUMBLOB NULL,
  ADD COLUMN IF NOT EXISTS secret_oldest VARBINARY(200) NULL,
  ADD COLUMN IF NOT EXISTS oldest_until DATETIME(3) NULL;
