-- Reservations: units promised to orders. state: 1 held, 2 confirmed, 3 settled, 4 released, 5 expired, 6 buried.
-- due_at is when a job may act: expires_at while held, then the time of the confirmation or of the next attempt.
-- task_id is NULL while nobody has it, 0 for a hold that failed to expire and waits, otherwise the task that has or had
-- it. One composite index serves claims and lists; it is the only one with these columns, so that no plan merges two.

CREATE TABLE IF NOT EXISTS reservation (
  reservation_id BIGINT UNSIGNED NOT NULL,
  order_id     VARBINARY(64) NOT NULL,
  lines_hash   BINARY(16) NOT NULL,
  key_id       INT UNSIGNED NULL,
  state        TINYINT UNSIGNED NOT NULL,
  due_at       DATETIME(3) NOT NULL,
  expires_at   DATETIME(3) NOT NULL,
  task_id      BIGINT UNSIGNED NULL,
  attempts     SMALLINT UNSIGNED NOT NULL,
  last_error   VARBINARY(500) NULL,
  created_at   DATETIME(3) NOT NULL,
  confirmed_at DATETIME(3) NULL,
  released_at  DATETIME(3) NULL,
  settled_at   DATETIME(3) NULL,
  PRIMARY KEY (reservation_id),
  UNIQUE KEY order_id (order_id),
  KEY claim (state, task_id, due_at)
) ENGINE=InnoDB;

-- A line names the slot that holds its units.
CREATE TABLE IF NOT EXISTS reservation_line (
  reservation_id BIGINT UNSIGNED NOT NULL,
  sku_id       INT UNSIGNED NOT NULL,
  location_id  INT UNSIGNED NOT NULL,
  slot         SMALLINT UNSIGNED NOT NULL,
  qty          BIGINT NOT NULL,
  PRIMARY KEY (reservation_id, sku_id, location_id)
) ENGINE=InnoDB;
