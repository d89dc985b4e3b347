-- What changes of orders need: versions, and lines that become others under one id.
--
-- The version of an order: the stamp of its last change that has an event, which answers and events tell. It is
-- `changed`, unless a change without an event has moved that: a task gave the order back, or its attempt failed.
-- A change without an event keeps the version here. NULL in all other rows, so a plain order pays nothing.
-- version_kept: `changed` as this change has left it. Where `changed` is another one by now, `version` says nothing.

ALTER TABLE reservation ADD COLUMN IF NOT EXISTS version BIGINT NULL,
                        ADD COLUMN IF NOT EXISTS version_kept BIGINT NULL;

-- What the lines of an order had more or less behind a change under the order's own id. Invariants add these up.
CREATE TABLE IF NOT EXISTS reservation_amend (
  reservation_id BIGINT UNSIGNED NOT NULL, -- the order
  changed      BIGINT NOT NULL,            -- the stamp of the change
  sku_id       INT UNSIGNED NOT NULL,      -- the sku of the line
  location_id  INT UNSIGNED NOT NULL,      -- where its units are
  units_before BIGINT NOT NULL,            -- what the order had of this sku at this location just before
  qty          BIGINT NOT NULL,            -- units that came; below 0: that left
  PRIMARY KEY (reservation_id, changed, sku_id, location_id)
) ENGINE=InnoDB;

-- A waiting line has several positions in the queue where a change has added units to it. The row with `added` 0 is of
-- the units that are left beside those of the other rows. Units leave the line from its first position on when they
-- are handed out, and from its last one on when a change takes them: `units` of a row are those at the end of the line,
-- behind which only the units of later rows stand.
-- added: the stamp of the change that added the units, or of the loss that put lost units ahead of them, or a number
-- just below these: the rows of a line are in the order of `added`.  units: how many they are; NULL where `added` is 0.
ALTER TABLE waiting_line ADD COLUMN IF NOT EXISTS added BIGINT NOT NULL DEFAULT 0,
                         ADD COLUMN IF NOT EXISTS units BIGINT NULL,
                         DROP PRIMARY KEY, ADD PRIMARY KEY (reservation_id, sku_id, location_id, added);
