-- Stock: skus, locations, and the units of each sku at each location. Codes and ids are bytes (VARBINARY): they are
-- compared byte by byte, whatever the collation of the database.

CREATE TABLE sku (
  sku_id       INT UNSIGNED NOT NULL AUTO_INCREMENT, -- stands for the code in all other tables
  code         VARBINARY(64) NOT NULL,               -- the shop's name of the sku
  created_at   DATETIME(3) NOT NULL,                 -- when the code was first named
  per_customer BIGINT NULL,                          -- the most units that one customer may have; NULL: no limit
  PRIMARY KEY (sku_id),
  UNIQUE KEY code (code)
) ENGINE=InnoDB;

-- Locations of units, in the house or not: a location of a supplier has what was promised and is yet to come.
CREATE TABLE location (
  location_id INT UNSIGNED NOT NULL AUTO_INCREMENT, -- stands for the code in all other tables
  code        VARBINARY(32) NOT NULL,               -- the shop's name of the location
  kind        TINYINT UNSIGNED NOT NULL DEFAULT 1,  -- engine/catalogue/location_kinds.def
  -- Of an incoming location: when its units are expected; NULL: no time was told.
  expected_at DATETIME(3) NULL,
  -- The units that become available here go to the queue of this incoming location; NULL: no queue gets them.
  waits_at    INT UNSIGNED NULL,
  PRIMARY KEY (location_id),
  UNIQUE KEY code (code)
) ENGINE=InnoDB;

-- One row, which keeps changes of a kind and new writers in line: both change the row, so each of them sees the other.
CREATE TABLE location_kinds (
  one     TINYINT UNSIGNED NOT NULL, -- always 1
  n       BIGINT UNSIGNED NOT NULL,  -- grows with each change of a kind
  entered BIGINT UNSIGNED NOT NULL,  -- grows with each writer that is entered
  PRIMARY KEY (one)
) ENGINE=InnoDB;

INSERT INTO location_kinds (one, n, entered) VALUES (1, 0, 0);

-- Units live here and nowhere else. The quantity of a sku at a location lies in several slots, one for each lane, so
-- that two lanes sell the same sku and do not wait for each other. No slot is ever negative, so a deduction looks at a
-- single slot.
CREATE TABLE stock_slot (
  sku_id      INT UNSIGNED NOT NULL,      -- the sku of the units
  location_id INT UNSIGNED NOT NULL,      -- the location of the units
  slot        SMALLINT UNSIGNED NOT NULL, -- the lane of this number deducts here
  available   BIGINT NOT NULL,            -- units that may be promised
  reserved    BIGINT NOT NULL,            -- units that are promised and have not left
  PRIMARY KEY (sku_id, location_id, slot),
  CONSTRAINT available_not_negative CHECK (available >= 0),
  CONSTRAINT reserved_not_negative CHECK (reserved >= 0)
) ENGINE=InnoDB;

-- The last count of a sku at a location.
CREATE TABLE stock_counted (
  sku_id      INT UNSIGNED NOT NULL,    -- the sku that was counted
  location_id INT UNSIGNED NOT NULL,    -- the location that was counted
  counts      BIGINT UNSIGNED NOT NULL, -- grows with each count, so that two counts always write one row
  counted_at  DATETIME(3) NOT NULL,     -- the time for which the latest count stands
  PRIMARY KEY (sku_id, location_id)
) ENGINE=InnoDB;
