-- Levels: is a sku at a location sold out? One process at a time watches the log of events, and says what has crossed.

-- A row for each sku and location whose level was not always `above`; without a row it is. location_id 0: over all.
-- level: 1 above, 2 low, 3 out. low: at or below it the level is `low`; NULL: there is no threshold. stamp: of
-- the event that told the level last, so that the next one comes later.
CREATE TABLE IF NOT EXISTS level (
  sku_id      INT UNSIGNED NOT NULL,
  location_id INT UNSIGNED NOT NULL,
  level       TINYINT UNSIGNED NOT NULL,
  low         BIGINT NULL,
  stamp       BIGINT NOT NULL,
  PRIMARY KEY (sku_id, location_id)
) ENGINE=InnoDB;

-- Who watches, one row. task_id: the watcher's number, drawn by chance; it watches until lease_until unless it renews
-- that. fence grows with each claim, and stands in every write of a watcher. writes: counts them, so that each changes
-- the row. place: the cursor behind all that was looked at; NULL: nothing was yet. looked_at: when the watcher last
-- knew that nothing was left. stock_until: until then some service wants to hear of every change of stock.
CREATE TABLE IF NOT EXISTS level_watch (
  one         TINYINT UNSIGNED NOT NULL,
  task_id     BIGINT UNSIGNED NULL,
  fence       INT UNSIGNED NOT NULL,
  lease_until DATETIME(3) NOT NULL,
  writes      BIGINT UNSIGNED NOT NULL,
  place       MEDIUMBLOB NULL,
  looked_at   DATETIME(3) NOT NULL,
  stock_until DATETIME(3) NOT NULL,
  PRIMARY KEY (one)
) ENGINE=InnoDB;

INSERT IGNORE INTO level_watch (one, fence, lease_until, writes, looked_at, stock_until)
VALUES (1, 0, UTC_TIMESTAMP(3), 0, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3));
