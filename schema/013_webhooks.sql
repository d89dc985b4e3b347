-- Webhooks: addresses to which events are delivered. A row is served by one deliverer at a time: task_id is its number,
-- drawn by chance, due_at the end of its lease; of one that nobody serves, the time from which somebody may. version
-- grows with each claim and each `enable`, and stands in every write of a deliverer: who lost the row changes nothing.

-- url, types (NULL: all), from_oldest, parallel: as asked for. secret, secret_before: plain words, or sealed by the key
-- of --webhooks-key; the one before signs for a day from rotated_at on. state: webhook_states.def of jobs/webhooks.
-- place: the cursor behind all that was delivered; events that lie behind the oldest undelivered one may be delivered,
-- too. waits_since: the time of the oldest undelivered event that is known; with behind 0 there is none, and it is the
-- time of the last look. failures: failed tries in a row, of failed_event from failing_since on, which is tried again
-- at retry_at. last_status: of the last answer (0: there was none), with last_error. skip_event: is passed over.
CREATE TABLE IF NOT EXISTS webhook (
  webhook_id    VARBINARY(64) NOT NULL,
  url           VARBINARY(2000) NOT NULL,
  types         VARBINARY(1000) NULL,
  from_oldest   TINYINT UNSIGNED NOT NULL,
  parallel      TINYINT UNSIGNED NOT NULL,
  created_at    DATETIME(3) NOT NULL,
  secret        VARBINARY(200) NOT NULL,
  secret_before VARBINARY(200) NULL,
  rotated_at    DATETIME(3) NULL,
  state         TINYINT UNSIGNED NOT NULL DEFAULT 1,
  due_at        DATETIME(3) NOT NULL,
  task_id       BIGINT UNSIGNED NULL,
  version       INT UNSIGNED NOT NULL DEFAULT 0,
  place         MEDIUMBLOB NOT NULL,
  waits_since   DATETIME(3) NOT NULL,
  behind        TINYINT UNSIGNED NOT NULL DEFAULT 0,
  skip_event    VARBINARY(48) NULL,
  last_status   SMALLINT UNSIGNED NULL,
  last_error    VARBINARY(200) NULL,
  failures      INT UNSIGNED NOT NULL DEFAULT 0,
  failed_event  VARBINARY(48) NULL,
  failing_since DATETIME(3) NULL,
  retry_at      DATETIME(3) NULL,
  PRIMARY KEY (webhook_id),
  KEY claim (state, due_at),
  KEY task (task_id)
) ENGINE=InnoDB;
