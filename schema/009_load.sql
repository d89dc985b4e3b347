-- How many operations a run of a lane has done: workers that settle make way while the lanes are busy. The column is
-- written with batch_no, which from here on counts batches alone. A lane of an older program leaves it as it is, so
-- newer workers do not see that load; a worker of an older program reads batch_no and rests less. Either costs speed
-- only.

ALTER TABLE lane ADD COLUMN IF NOT EXISTS ops BIGINT UNSIGNED NOT NULL DEFAULT 0;
