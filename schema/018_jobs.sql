-- Jobs that an operator may pause.

-- job: 1 settle, 2 expire, 3 deliver. paused: 1: the job hands out nothing. reason, by_name (the name of the key),
-- since: of the pause; NULL: there is none, or nobody said. Claims look at their row, which the operator alone writes.
CREATE TABLE IF NOT EXISTS job (
  job     TINYINT UNSIGNED NOT NULL,
  paused  TINYINT UNSIGNED NOT NULL,
  reason  VARBINARY(500) NULL,
  by_name VARBINARY(64) NULL,
  since   DATETIME(3) NULL,
  PRIMARY KEY (job)
) ENGINE=InnoDB;

INSERT IGNORE INTO job (job, paused) VALUES (1, 0), (2, 0), (3, 0);
