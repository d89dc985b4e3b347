-- Levels: is a sku at a location sold out? One process at a time watches the log of events, and tells the levels that
-- were crossed.

-- A row for each sku and location with a level that was not always `above`. Without a row the level is `above`.
CREATE TABLE level (
  sku_id      INT UNSIGNED NOT NULL,     -- the sku that is watched
  location_id INT UNSIGNED NOT NULL,     -- 0: over all locations
  level       TINYINT UNSIGNED NOT NULL, -- 1 above, 2 low, 3 out
  low         BIGINT NULL,               -- at or below this threshold the level is `low`; NULL: there is none
  stamp       BIGINT NOT NULL,           -- of the event that told the level last, so that the next one comes later
  PRIMARY KEY (sku_id, location_id)
) ENGINE=InnoDB;

-- Spots of `level` that got a new threshold, until the watcher has looked at them.
CREATE TABLE level_asked (
  sku_id      INT UNSIGNED NOT NULL,    -- these two: the spot, a row of `level`
  location_id INT UNSIGNED NOT NULL,    -- 0: over all locations
  -- Grows with each time, so that a threshold which is set again during a look is looked at again.
  asked       BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (sku_id, location_id)
) ENGINE=InnoDB;

-- The watcher, one row.
CREATE TABLE level_watch (
  one         TINYINT UNSIGNED NOT NULL, -- always 1
  task_id     BIGINT UNSIGNED NULL,      -- the watcher's number, drawn by chance; NULL: there is none
  fence       INT UNSIGNED NOT NULL,     -- grows with each claim, and stands in every write of a watcher
  lease_until DATETIME(3) NOT NULL,      -- the watcher watches until then unless it renews this
  writes      BIGINT UNSIGNED NOT NULL,  -- counts the watcher's writes, so that each of them changes the row
  place       MEDIUMBLOB NULL,           -- the cursor behind all that was looked at; NULL: none yet
  looked_at   DATETIME(3) NOT NULL,      -- when the watcher last knew that nothing was left
  stock_until DATETIME(3) NOT NULL,      -- until then a service wants to hear of every change of stock
  PRIMARY KEY (one)
) ENGINE=InnoDB;

INSERT INTO level_watch (one, fence, lease_until, writes, looked_at, stock_until)
VALUES (1, 0, UTC_TIMESTAMP(3), 0, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3));
