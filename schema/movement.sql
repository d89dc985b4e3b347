-- Movements: every change of on_hand, append-only.

CREATE TABLE movement (
  movement_no    BIGINT UNSIGNED NOT NULL,  -- stands for the id in all other tables; grows with time
  movement_id    VARBINARY(96) NOT NULL,    -- the client's id, which has one effect
  kind           TINYINT UNSIGNED NOT NULL, -- engine/movement_kinds.def
  lines_hash     BINARY(16) NOT NULL,       -- of the lines asked for: other lines under the same id are refused
  created_at     DATETIME(3) NOT NULL,      -- the time of the transaction
  reason         VARBINARY(500) NULL,       -- the client's words; NULL: none
  reference      VARBINARY(500) NULL,       -- the client's reference; NULL: none
  key_id         INT UNSIGNED NULL,         -- the key that made the movement; NULL: no key was asked for
  order_id       VARBINARY(64) NULL,        -- the order that a return names; NULL: it names none
  -- The row of that order: once the order is purged, another one may have its id.
  reservation_id BIGINT UNSIGNED NULL,
  PRIMARY KEY (movement_no),
  UNIQUE KEY movement_id (movement_id)
) ENGINE=InnoDB;

-- A row for each slot that a movement has changed.
CREATE TABLE movement_line (
  movement_no BIGINT UNSIGNED NOT NULL,   -- the movement
  sku_id      INT UNSIGNED NOT NULL,      -- the sku that moved
  location_id INT UNSIGNED NOT NULL,      -- the location of the slot
  slot        SMALLINT UNSIGNED NOT NULL, -- the slot that changed
  qty         BIGINT NOT NULL,            -- units that came; below zero: units that went
  PRIMARY KEY (movement_no, sku_id, location_id, slot),
  KEY sku_history (sku_id, movement_no)   -- the movements of a sku, the newest first
) ENGINE=InnoDB;

-- Both ends of a transfer or an arrival: the lines of the movement, summed by sku and location, do not tell them.
CREATE TABLE movement_transfer (
  movement_no BIGINT UNSIGNED NOT NULL,  -- the transfer or the arrival
  sku_id      INT UNSIGNED NOT NULL,     -- the sku that goes
  from_id     INT UNSIGNED NOT NULL,     -- the location that the units leave
  to_id       INT UNSIGNED NOT NULL,     -- the location to which they go
  qty         BIGINT NOT NULL,           -- units asked for; those of an arrival are filled or for sale bit by bit
  filled      BIGINT NOT NULL DEFAULT 0, -- units of an arrival that orders in the queue have had so far
  for_sale    BIGINT NOT NULL DEFAULT 0, -- units of an arrival that became available so far
  PRIMARY KEY (movement_no, sku_id, from_id, to_id)
) ENGINE=InnoDB;

-- Promised units that were lost by a movement, by the order that lost them.
CREATE TABLE movement_backorder (
  movement_no    BIGINT UNSIGNED NOT NULL, -- the count or the adjustment that took the units
  reservation_id BIGINT UNSIGNED NOT NULL, -- the reservation that lost them
  sku_id         INT UNSIGNED NOT NULL,    -- the sku that it lost
  location_id    INT UNSIGNED NOT NULL,    -- the location at which the units lay
  to_id          INT UNSIGNED NOT NULL,    -- the incoming location at which the order has waited for others since
  order_id       VARBINARY(64) NOT NULL,   -- stands here because orders are purged
  qty            BIGINT NOT NULL,          -- units that it lost there
  PRIMARY KEY (movement_no, reservation_id, sku_id, location_id)
) ENGINE=InnoDB;
