-- Places: the kinds of locations, and transfers between them.

-- kind: 1 stock, 2 aside, 3 incoming. expected_at: when what is promised at an incoming location is expected; NULL:
-- nobody said. waits_at: the incoming location whose waiting lines get what becomes available here; NULL: none.
ALTER TABLE location
  ADD COLUMN IF NOT EXISTS kind TINYINT UNSIGNED NOT NULL DEFAULT 1,
  ADD COLUMN IF NOT EXISTS expected_at DATETIME(3) NULL,
  ADD COLUMN IF NOT EXISTS waits_at INT UNSIGNED NULL, ALGORITHM=INSTANT;

-- The sums of promises: a row for each sku at an incoming location. Whatever changes the sum of its slots there changes
-- this row first (n), so that no two of them judge it by the same sum; reservations leave the sum as it is. booked:
-- units of it that have arrived and are not handed out yet.
CREATE TABLE IF NOT EXISTS promise (
  sku_id      INT UNSIGNED NOT NULL,
  location_id INT UNSIGNED NOT NULL,
  booked      BIGINT NOT NULL,
  n           BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (sku_id, location_id)
) ENGINE=InnoDB;

-- The lines of live reservations at incoming locations, which wait for their units, and nobody else's: one row a line.
-- Each stands in the line of its sku and location by key `line`. held: 1 held, 0 confirmed or buried. waits_since: the
-- time of the first confirmation, of a held one of its making, unless somebody told another (told). first_id: the
-- reservation from which the line came by splits and replacements, whose place it has.
CREATE TABLE IF NOT EXISTS waiting_line (
  reservation_id BIGINT UNSIGNED NOT NULL,
  sku_id         INT UNSIGNED NOT NULL,
  location_id    INT UNSIGNED NOT NULL,
  held           TINYINT UNSIGNED NOT NULL,
  waits_since    DATETIME(3) NOT NULL,
  first_id       BIGINT UNSIGNED NOT NULL,
  told           TINYINT UNSIGNED NOT NULL,
  PRIMARY KEY (reservation_id, sku_id, location_id),
  KEY line (sku_id, location_id, held, waits_since, first_id, reservation_id)
) ENGINE=InnoDB;

-- waits_since: the place in the line that was told for this reservation; NULL: none.
ALTER TABLE reservation_note ADD COLUMN IF NOT EXISTS waits_since DATETIME(3) NULL, ALGORITHM=INSTANT;

-- Both ends of a transfer or an arrival: its lines, summed by sku and location, do not tell them. filled, for_sale:
-- units of an arrival that were handed out so far, to orders that waited, and to whoever comes.
CREATE TABLE IF NOT EXISTS movement_transfer (
  movement_no BIGINT UNSIGNED NOT NULL,
  sku_id      INT UNSIGNED NOT NULL,
  from_id     INT UNSIGNED NOT NULL,
  to_id       INT UNSIGNED NOT NULL,
  qty         BIGINT NOT NULL,
  filled      BIGINT NOT NULL DEFAULT 0,
  for_sale    BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (movement_no, sku_id, from_id, to_id)
) ENGINE=InnoDB;

-- Arrivals that are not handed out whole: one row for each sku and pair of ends, until nothing is left. units: what is
-- left; the sum of a sku at from_id is what is booked of its promise. Until due_at the writer hands it out alone.
CREATE TABLE IF NOT EXISTS arrival_open (
  movement_no BIGINT UNSIGNED NOT NULL,
  sku_id      INT UNSIGNED NOT NULL,
  from_id     INT UNSIGNED NOT NULL,
  to_id       INT UNSIGNED NOT NULL,
  units       BIGINT NOT NULL,
  writer_id   INT UNSIGNED NOT NULL,
  due_at      DATETIME(3) NOT NULL,
  PRIMARY KEY (movement_no, sku_id, from_id, to_id),
  KEY of_sku (sku_id, to_id)
) ENGINE=InnoDB;

-- Promised units that were lost: which order lost how many by which movement, of what lay at location_id, and the
-- incoming location at which it has waited for others since. order_id stands here because orders are purged.
CREATE TABLE IF NOT EXISTS movement_backorder (
  movement_no    BIGINT UNSIGNED NOT NULL,
  reservation_id BIGINT UNSIGNED NOT NULL,
  sku_id         INT UNSIGNED NOT NULL,
  location_id    INT UNSIGNED NOT NULL,
  to_id          INT UNSIGNED NOT NULL,
  order_id       VARBINARY(64) NOT NULL,
  qty            BIGINT NOT NULL,
  PRIMARY KEY (movement_no, reservation_id, sku_id, location_id)
) ENGINE=InnoDB;

-- One row. n grows with each change of a kind, entered with each writer that is entered: whoever changes a kind and
-- whoever enters come one after the other, and each of them has changed the row.
CREATE TABLE IF NOT EXISTS location_kinds (
  one     TINYINT UNSIGNED NOT NULL,
  n       BIGINT UNSIGNED NOT NULL,
  entered BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (one)
) ENGINE=InnoDB;

INSERT IGNORE INTO location_kinds (one, n, entered) VALUES (1, 0, 0);

-- The last count of a sku at a location. counts grows with each count, so that two of them always write one row.
-- counted_at: the time for which the latest one stands.
CREATE TABLE IF NOT EXISTS stock_counted (
  sku_id      INT UNSIGNED NOT NULL,
  location_id INT UNSIGNED NOT NULL,
  counts      BIGINT UNSIGNED NOT NULL,
  counted_at  DATETIME(3) NOT NULL,
  PRIMARY KEY (sku_id, location_id)
) ENGINE=InnoDB;

-- Spots (014_levels.sql) whose threshold was set, until the watcher has looked at them. asked grows with each time, so
-- that what is set anew during a look is looked at again.
CREATE TABLE IF NOT EXISTS level_asked (
  sku_id      INT UNSIGNED NOT NULL,
  location_id INT UNSIGNED NOT NULL,
  asked       BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (sku_id, location_id)
) ENGINE=InnoDB;
