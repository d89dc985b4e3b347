-- What operators ask of jobs: that they pause, and what deliverers do.

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

-- Attempts of webhooks, as long as somebody looks at them.

-- asked_at: the last time that somebody did. attempts: the last ones, an array of JSON, of who serves the webhook, as
-- of attempts_at; NULL: none were told. attempts_by: the mark of that process.
ALTER TABLE webhook
  ADD COLUMN IF NOT EXISTS asked_at DATETIME(3) NULL,
  ADD COLUMN IF NOT EXISTS attempts MEDIUMBLOB NULL,
  ADD COLUMN IF NOT EXISTS attempts_at DATETIME(3) NULL,
  ADD COLUMN IF NOT EXISTS attempts_by VARBINARY(64) NULL;
