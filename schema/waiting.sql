-- Waiting: units that are promised but not in the house yet, and the orders that wait for them.

-- The sums of promises: a row for each sku at an incoming location.
CREATE TABLE promise (
  sku_id      INT UNSIGNED NOT NULL,    -- the sku that is promised
  location_id INT UNSIGNED NOT NULL,    -- the incoming location at which its units lie
  booked      BIGINT NOT NULL,          -- units of the sum that have arrived and are not handed out yet
  -- Every change of the sum of the slots there changes this first, so that no two changes judge the same sum;
  -- reservations leave the sum as it is.
  n           BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (sku_id, location_id)
) ENGINE=InnoDB;

-- The lines of live reservations at incoming locations, one row per line, and no other lines.
CREATE TABLE waiting_line (
  reservation_id BIGINT UNSIGNED NOT NULL,  -- the reservation that has the line
  sku_id         INT UNSIGNED NOT NULL,     -- the sku that the line waits for
  location_id    INT UNSIGNED NOT NULL,     -- the incoming location
  held           TINYINT UNSIGNED NOT NULL, -- 1: the reservation is held; 0: it is confirmed or buried
  -- The time of the first confirmation; for a held reservation the time it was made; or a time that the client gave.
  waits_since    DATETIME(3) NOT NULL,
  -- The reservation from which the line came by splits and replacements: the line keeps its position in the queue.
  first_id       BIGINT UNSIGNED NOT NULL,
  -- 1: the client gave waits_since; 2: a reaper has set it, because a clock that was ahead had given it; 0: neither.
  told           TINYINT UNSIGNED NOT NULL,
  PRIMARY KEY (reservation_id, sku_id, location_id),
  -- The order in which the lines of a sku at a location are served: confirmed ones before held ones.
  KEY line (sku_id, location_id, held, waits_since, first_id, reservation_id)
) ENGINE=InnoDB;

-- Arrivals that are not handed out whole: one row for each sku and pair of ends, until nothing is left.
CREATE TABLE arrival_open (
  movement_no BIGINT UNSIGNED NOT NULL, -- the arrival
  sku_id      INT UNSIGNED NOT NULL,    -- the sku that has arrived
  from_id     INT UNSIGNED NOT NULL,    -- the incoming location: its queue gets the units
  to_id       INT UNSIGNED NOT NULL,    -- the location at which the units are
  units       BIGINT NOT NULL,          -- units left; summed by sku and from_id this is `booked` of the promise
  writer_id   INT UNSIGNED NOT NULL,    -- until due_at this writer alone hands it out; 0: the call that booked it does
  due_at      DATETIME(3) NOT NULL,     -- from then on any writer may hand it out
  PRIMARY KEY (movement_no, sku_id, from_id, to_id),
  KEY of_sku (sku_id, to_id)            -- the units left for a sku at a location
) ENGINE=InnoDB;
