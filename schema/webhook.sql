-- Webhooks: addresses to which events are delivered. A row is served by one deliverer at a time.

CREATE TABLE webhook (
  webhook_id    VARBINARY(64) NOT NULL,    -- the client's id
  url           VARBINARY(2000) NOT NULL,  -- as asked for, like the next three
  types         VARBINARY(1000) NULL,      -- of events; NULL: all
  from_oldest   TINYINT UNSIGNED NOT NULL, -- 1: from the oldest event that is kept; 0: from now on
  parallel      TINYINT UNSIGNED NOT NULL, -- deliveries at one time
  created_at    DATETIME(3) NOT NULL,      -- when the webhook was made
  secret        VARBINARY(200) NOT NULL,   -- plain words, or sealed by the key of --webhooks-key, as are the others
  secret_before VARBINARY(200) NULL,       -- signs beside `secret` for a day from rotated_at on
  rotated_at    DATETIME(3) NULL,          -- when the secret was changed last; NULL: never
  state         TINYINT UNSIGNED NOT NULL DEFAULT 1, -- jobs/webhooks/webhook_states.def
  due_at        DATETIME(3) NOT NULL,      -- the end of the lease; without a deliverer the time from which one may come
  task_id       BIGINT UNSIGNED NULL,      -- the number of the deliverer, drawn by chance; NULL: there is none
  -- Grows with each claim and each `enable`, and stands in every write of a deliverer: one that lost the row changes
  -- nothing.
  version       INT UNSIGNED NOT NULL DEFAULT 0,
  -- The cursor behind all that was delivered; events behind the oldest undelivered one may be delivered, too.
  place         MEDIUMBLOB NOT NULL,
  -- The time of the oldest undelivered event that is known; with behind 0 the time of the last look.
  waits_since   DATETIME(3) NOT NULL,
  behind        TINYINT UNSIGNED NOT NULL DEFAULT 0, -- 1: an undelivered event is known
  skip_event    VARBINARY(48) NULL,        -- the id of an event that is passed over; NULL: none is
  last_status   SMALLINT UNSIGNED NULL,    -- of the last answer; 0: none came; NULL: no try was made
  last_error    VARBINARY(200) NULL,       -- of the last try; NULL: it was fine
  failures      INT UNSIGNED NOT NULL DEFAULT 0, -- failed tries in a row, all of failed_event
  failed_event  VARBINARY(48) NULL,        -- the id of the event that failed; NULL: none failed
  failing_since DATETIME(3) NULL,          -- the time of the first of them
  retry_at      DATETIME(3) NULL,          -- the time of the next try
  -- Drawn by chance when the row is made, and named by every write that means this row: a webhook that was deleted and
  -- made again under its id is another one. 0 in rows older than schema 15.
  mark          BIGINT UNSIGNED NOT NULL DEFAULT 0,
  ahead         MEDIUMBLOB NULL,           -- ids of events behind `place` that were delivered, a space between; or NULL
  -- The secret that signed before the first of several rotations, and signs beside the others until oldest_until.
  secret_oldest VARBINARY(200) NULL,
  oldest_until  DATETIME(3) NULL,          -- NULL: there was never one
  asked_at      DATETIME(3) NULL,          -- when a client last asked for the attempts; NULL: never
  -- The last attempts, an array of JSON, as the deliverer tells them while clients ask; NULL: none were told.
  attempts      MEDIUMBLOB NULL,
  attempts_at   DATETIME(3) NULL,          -- when they were told
  attempts_by   VARBINARY(64) NULL,        -- the mark of the process that told them
  PRIMARY KEY (webhook_id),
  KEY claim (state, due_at),               -- webhooks that a deliverer may take
  KEY task (task_id)                       -- a deliverer's own ones
) ENGINE=InnoDB;
