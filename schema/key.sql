-- Keys of clients: their names, and the units that keys with a limit hold open.

CREATE TABLE api_key (
  key_id      INT UNSIGNED NOT NULL,  -- follows from the name, so no process has to ask for it
  name        VARBINARY(64) NOT NULL, -- stands here for readers of the tables
  created_at  DATETIME(3) NOT NULL,   -- when the name was noted here
  PRIMARY KEY (key_id)
) ENGINE=InnoDB;

-- The holds of keys with a limit. Each row is written with its reservation and taken away some seconds after the
-- reservation is no longer held (and entered again if a clock that was ahead was the cause). So the units that a key
-- holds open are counted by a walk over open holds only.
CREATE TABLE key_hold (
  reservation_id BIGINT UNSIGNED NOT NULL, -- the hold
  key_id         INT UNSIGNED NOT NULL,    -- the key that made it
  units          BIGINT NOT NULL,          -- of all its lines, so that counting reads no line
  PRIMARY KEY (reservation_id),
  KEY owner (key_id, units) -- the sum of a key's units, by the index alone
) ENGINE=InnoDB;
