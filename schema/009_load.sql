-- The number of operations that a run of a lane has done: workers that settle make way while the lanes are busy. The
-- column is written with batch_no, which counts only batches from this step on. A lane of an older program leaves the
-- column as it is, so newer workers do not see that load; a worker of an older program reads batch_no and rests less.
-- Either costs speed only.

ALTER TABLE lane ADD COLUMN IF NOT EXISTS ops BIGINT UNSIGNED NOT NULL DEFAULT 0;
