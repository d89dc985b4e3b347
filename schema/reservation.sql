-- Reservations: units promised to orders.

CREATE TABLE reservation (
  reservation_id BIGINT UNSIGNED NOT NULL,   -- stands for the order's id in all other tables; grows with time
  order_id     VARBINARY(64) NOT NULL,       -- the client's id, which has one effect
  lines_hash   BINARY(16) NOT NULL,          -- of the lines asked for: other lines under the same id are refused
  key_id       INT UNSIGNED NULL,            -- the key that made the reservation; NULL: no key was asked for
  state        TINYINT UNSIGNED NOT NULL,    -- engine/reservation_states.def
  -- When a job may act: expires_at while held, then the time of the confirmation or of the next attempt. The end of
  -- time for a confirmed order that waits for goods.
  due_at       DATETIME(3) NOT NULL,
  expires_at   DATETIME(3) NOT NULL,         -- the end of the hold, as the client was told
  -- NULL: no task has had the reservation yet. 0: it is put aside, after a hold that failed to expire or while it waits
  -- for goods. Otherwise the task that has it or had it last.
  task_id      BIGINT UNSIGNED NULL,
  attempts     SMALLINT UNSIGNED NOT NULL,   -- claims since the confirmation, or since the last kick
  last_error   VARBINARY(500) NULL,          -- the worker's words of the last attempt that failed; NULL: none
  created_at   DATETIME(3) NOT NULL,         -- when the order was made; a part of a split has the time of its first
  -- A time in the year 2000 for an order that was not confirmed; NULL in rows older than schema 11.
  confirmed_at DATETIME(3) NULL,
  released_at  DATETIME(3) NULL,             -- NULL: it was not released
  settled_at   DATETIME(3) NULL,             -- NULL: it is not settled
  -- The stamp of the last change of state, lines or due time, which the next change names: of two only one is done. 0:
  -- no change since schema 11.
  changed      BIGINT NOT NULL DEFAULT 0,
  noted        TINYINT UNSIGNED NOT NULL DEFAULT 0, -- bits of engine/notes.def: which tables below have rows of it
  -- No claim takes the confirmed order before this time; NULL: at once. The later of the time that its client asked for
  -- and, from schema 23 on, of the end of its hold (reservation_on_hold).
  ship_after   DATETIME(3) NULL,
  PRIMARY KEY (reservation_id),
  UNIQUE KEY order_id (order_id),
  -- One composite index serves claims and lists. It is the only one with these columns, so that no plan merges two.
  KEY claim (state, task_id, due_at)
) ENGINE=InnoDB;

-- A line names the slot that holds its units.
CREATE TABLE reservation_line (
  reservation_id BIGINT UNSIGNED NOT NULL, -- the reservation
  sku_id       INT UNSIGNED NOT NULL,      -- the sku that is promised
  location_id  INT UNSIGNED NOT NULL,      -- where its units are; an incoming one: the line waits
  slot         SMALLINT UNSIGNED NOT NULL, -- its units count in `reserved` of this slot
  qty          BIGINT NOT NULL,            -- units promised
  PRIMARY KEY (reservation_id, sku_id, location_id)
) ENGINE=InnoDB;

-- Texts and times that few orders have.
CREATE TABLE reservation_note (
  reservation_id BIGINT UNSIGNED NOT NULL, -- its `noted` says that there is a row
  reference      VARBINARY(500) NULL,      -- the client's reference; NULL: none
  replaced_by    VARBINARY(64) NULL,       -- the order_id of the order that replaced this one; NULL: none did
  customer       VARBINARY(64) NULL,       -- the code of the customer; NULL: none was named
  -- The order_id of the order that this one replaced; NULL: none, or this one is older than schema 16.
  replaces       VARBINARY(64) NULL,
  waits_since    DATETIME(3) NULL,         -- the client gave it as the order's position in the queue; NULL: none
  PRIMARY KEY (reservation_id)
) ENGINE=InnoDB;

-- The lines of a partial grant that fell short, as asked for and granted: after a split no other table tells.
CREATE TABLE reservation_short (
  reservation_id BIGINT UNSIGNED NOT NULL,            -- its `noted` says that there are rows
  -- The place of the line in the request as it was decided, from 0: sums of a sku at a location first, lines that name
  -- several locations behind them.
  line_no        SMALLINT UNSIGNED NOT NULL,
  sku_id         INT UNSIGNED NOT NULL,               -- the sku that fell short
  requested      BIGINT NOT NULL,                     -- units that the request asked for
  granted        BIGINT NOT NULL,                     -- units that the order got
  limited        TINYINT UNSIGNED NOT NULL DEFAULT 0, -- 1: the customer's limit is why the line fell short
  PRIMARY KEY (reservation_id, line_no)
) ENGINE=InnoDB;

-- Units that a split moved from the first reservation to a part. Invariants add these up.
CREATE TABLE reservation_part (
  first_id     BIGINT UNSIGNED NOT NULL, -- the reservation that was split
  part_id      BIGINT UNSIGNED NOT NULL, -- the reservation that the split made
  sku_id       INT UNSIGNED NOT NULL,    -- the sku that moved
  location_id  INT UNSIGNED NOT NULL,    -- the location of its units, which lie still
  units_before BIGINT NOT NULL,          -- units that the first had of this sku at this location just before
  qty          BIGINT NOT NULL,          -- units that the part got
  PRIMARY KEY (first_id, part_id, sku_id, location_id),
  KEY part (part_id)                     -- from a part to its first
) ENGINE=InnoDB;

-- The units of a settled order that came back, over all locations and movements.
CREATE TABLE reservation_returned (
  reservation_id BIGINT UNSIGNED NOT NULL, -- the settled order
  sku_id         INT UNSIGNED NOT NULL,    -- the sku that came back
  units          BIGINT NOT NULL,          -- the sum of its returns, never more than was settled
  PRIMARY KEY (reservation_id, sku_id),
  KEY of_sku (sku_id) -- the audit compares these units with the movements, sku by sku
) ENGINE=InnoDB;
