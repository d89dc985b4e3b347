-- When the database was backed up and audited last: for /metrics.

-- At most one row, which the commands `backup` and `audit` write. A restored database has the row of the back-up: it
-- knows the back-up before it, so its age is never told too small.
CREATE TABLE IF NOT EXISTS upkeep (
  one           TINYINT UNSIGNED NOT NULL, -- always 1
  backed_up_at  DATETIME(3) NULL, -- when the last good back-up began; NULL: there was none
  audited_at    DATETIME(3) NULL, -- when the last audit ended that found nothing; NULL: there was none
  audit_failed  TINYINT UNSIGNED NOT NULL DEFAULT 0, -- 1: the last audit found rows that break an invariant
  PRIMARY KEY (one)
) ENGINE=InnoDB;
