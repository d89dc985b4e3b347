-- Stock: units by sku, location and slot, and every change of them. Codes and ids are bytes (VARBINARY): compared byte
-- by byte, whatever the collation of the database.

CREATE TABLE IF NOT EXISTS sku (
  sku_id      INT UNSIGNED NOT NULL AUTO_INCREMENT,
  code        VARBINARY(64) NOT NULL,
  created_at  DATETIME(3) NOT NULL,
  PRIMARY KEY (sku_id),
  UNIQUE KEY code (code)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS location (
  location_id INT UNSIGNED NOT NULL AUTO_INCREMENT,
  code        VARBINARY(32) NOT NULL,
  PRIMARY KEY (location_id),
  UNIQUE KEY code (code)
) ENGINE=InnoDB;

-- Units live here and nowhere else. No slot is ever negative, so a deduction looks at a single slot.
CREATE TABLE IF NOT EXISTS stock_slot (
  sku_id      INT UNSIGNED NOT NULL,
  location_id INT UNSIGNED NOT NULL,
  slot        SMALLINT UNSIGNED NOT NULL,
  available   BIGINT NOT NULL,
  reserved    BIGINT NOT NULL,
  PRIMARY KEY (sku_id, location_id, slot),
  CONSTRAINT available_not_negative CHECK (available >= 0),
  CONSTRAINT reserved_not_negative CHECK (reserved >= 0)
) ENGINE=InnoDB;

-- Every change of on_hand, append-only. kind: 1 receipt, 2 adjustment, 3 return, 4 count, 5 settlement.
CREATE TABLE IF NOT EXISTS movement (
  movement_no BIGINT UNSIGNED NOT NULL,
  movement_id VARBINARY(96) NOT NULL,
  kind        TINYINT UNSIGNED NOT NULL,
  lines_hash  BINARY(16) NOT NULL,
  created_at  DATETIME(3) NOT NULL,
  reason      VARBINARY(500) NULL,
  reference   VARBINARY(500) NULL,
  PRIMARY KEY (movement_no),
  UNIQUE KEY movement_id (movement_id)
) ENGINE=InnoDB;

CREATE TABLE IF NOT EXISTS movement_line (
  movement_no BIGINT UNSIGNED NOT NULL,
  sku_id      INT UNSIGNED NOT NULL,
  location_id INT UNSIGNED NOT NULL,
  slot        SMALLINT UNSIGNED NOT NULL,
  qty         BIGINT NOT NULL,
  PRIMARY KEY (movement_no, sku_id, location_id, slot),
  KEY sku_history (sku_id, movement_no)
) ENGINE=InnoDB;

-- A row for each run of a lane. Its lock keeps the lane's transactions in line, its epoch shuts out a connection that
-- was given up, and batch_no says which batch was committed last: that answers every unknown outcome.
CREATE TABLE IF NOT EXISTS lane (
  lane_id     INT UNSIGNED NOT NULL AUTO_INCREMENT,
  slot        SMALLINT UNSIGNED NOT NULL,
  epoch       INT UNSIGNED NOT NULL,
  batch_no    BIGINT UNSIGNED NOT NULL,
  batch_at    DATETIME(3) NOT NULL,
  started_at  DATETIME(3) NOT NULL,
  PRIMARY KEY (lane_id)
) ENGINE=InnoDB;
