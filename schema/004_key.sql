-- Keys: who made a reservation, and what keys with a limit of units hold open. reservation.key_id is NULL where no key
-- was asked for. The number follows from the name, so no process has to ask for it; the names stand here for whoever
-- reads the tables.

CREATE TABLE IF NOT EXISTS api_key (
  key_id      INT UNSIGNED NOT NULL,
  name        VARBINARY(64) NOT NULL,
  created_at  DATETIME(3) NOT NULL,
  PRIMARY KEY (key_id)
) ENGINE=InnoDB;

-- The holds of keys with a limit, each written with its reservation and taken away some seconds after it is no longer
-- held (and entered again if that came of a clock that was ahead). So what a key holds open is counted by a walk that
-- is as short as what is open.
CREATE TABLE IF NOT EXISTS key_hold (
  reservation_id BIGINT UNSIGNED NOT NULL,
  key_id         INT UNSIGNED NOT NULL,
  units          BIGINT NOT NULL,
  PRIMARY KEY (reservation_id),
  KEY owner (key_id, units)
) ENGINE=InnoDB;
