-- Orders in parts: what a split, a replacement, a partial grant and a reference leave behind. The tables `lane` and
-- `task` become `writer` and `worker_task`: every transaction of an older service, worker or reaper writes one of the
-- two, or follows a read of one, so an older program that still runs commits no order from the first statement on. Its
-- commands `kick` and `purge` are the exception where they run already: the operator avoids them in that minute.

RENAME TABLE IF EXISTS lane TO writer, task TO worker_task;

-- stamp: the last stamp that this writer gave, in microseconds since 1970 by the database's clock.
ALTER TABLE writer
  RENAME COLUMN IF EXISTS lane_id TO writer_id,
  ADD COLUMN IF NOT EXISTS stamp BIGINT NOT NULL DEFAULT 0;

-- changed: the stamp of the last change of state, lines or due time; the next change names it. 0: no change since this
-- step. noted: 1 where reservation_note or reservation_short has rows of this reservation, so that nobody looks there
-- in vain.
ALTER TABLE reservation
  ADD COLUMN IF NOT EXISTS changed BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS noted TINYINT UNSIGNED NOT NULL DEFAULT 0;

-- reservation.confirmed_at is, from this step on, a time in the year 2000 for an order that was not confirmed; NULL in
-- older rows.

-- key_id: the key that made the movement; NULL where no key was asked for.
ALTER TABLE movement ADD COLUMN IF NOT EXISTS key_id INT UNSIGNED NULL;

-- The client's reference, and the order that replaced this one.
CREATE TABLE IF NOT EXISTS reservation_note (
  reservation_id BIGINT UNSIGNED NOT NULL,
  reference      VARBINARY(500) NULL,
  replaced_by    VARBINARY(64) NULL,
  PRIMARY KEY (reservation_id)
) ENGINE=InnoDB;

-- The lines of a partial grant that fell short, as they were asked for and granted: a split changes what could be
-- derived. line_no: the place of the line in the request as it was decided, from 0: sums of a sku at a location first,
-- lines that name several locations behind them.
CREATE TABLE IF NOT EXISTS reservation_short (
  reservation_id BIGINT UNSIGNED NOT NULL,
  line_no        SMALLINT UNSIGNED NOT NULL,
  sku_id         INT UNSIGNED NOT NULL,
  requested      BIGINT NOT NULL,
  granted        BIGINT NOT NULL,
  PRIMARY KEY (reservation_id, line_no)
) ENGINE=InnoDB;

-- Units that a split moved from the first reservation to a part. units_before: what the first had of this sku at this
-- location just before. Invariants add these up.
CREATE TABLE IF NOT EXISTS reservation_split (
  first_id     BIGINT UNSIGNED NOT NULL,
  part_id      BIGINT UNSIGNED NOT NULL,
  sku_id       INT UNSIGNED NOT NULL,
  location_id  INT UNSIGNED NOT NULL,
  units_before BIGINT NOT NULL,
  qty          BIGINT NOT NULL,
  PRIMARY KEY (first_id, part_id, sku_id, location_id),
  KEY part (part_id)
) ENGINE=InnoDB;

-- Orders that a split took from the task that had claimed them.
CREATE TABLE IF NOT EXISTS task_lost (
  task_id   BIGINT UNSIGNED NOT NULL,
  order_id  VARBINARY(64) NOT NULL,
  PRIMARY KEY (task_id, order_id)
) ENGINE=InnoDB;
