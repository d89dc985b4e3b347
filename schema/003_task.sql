-- Tasks: one batch of reservations claimed by one worker. task_id is the fencing token: made anew for every claim.
-- kind: 1 settle, 2 expire. state: 1 open, 2 done, 3 returned, 4 reaped. The lease lives here, so that one row renews
-- it for all orders.

CREATE TABLE IF NOT EXISTS task (
  task_id     BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  kind        TINYINT UNSIGNED NOT NULL,
  worker      VARBINARY(64) NOT NULL,
  state       TINYINT UNSIGNED NOT NULL,
  lease_until DATETIME(3) NOT NULL,
  claimed     INT UNSIGNED NOT NULL,
  completed   INT UNSIGNED NOT NULL,
  failed      INT UNSIGNED NOT NULL,
  created_at  DATETIME(3) NOT NULL,
  ended_at    DATETIME(3) NULL,
  PRIMARY KEY (task_id),
  KEY open_lease (state, lease_until)
) ENGINE=InnoDB;
