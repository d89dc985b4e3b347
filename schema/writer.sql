-- Writers: a row for each connection that changes orders or stock, of a lane, a worker, a reaper or a command. One
-- connection at a time has a writer, by its epoch and mark.

CREATE TABLE log_writer (
  writer_id  INT UNSIGNED NOT NULL AUTO_INCREMENT, -- given by event_log.writer_last
  slot       SMALLINT UNSIGNED NOT NULL,           -- the slot of a lane; 0 for others
  -- Drawn by chance: after a failover to a server that lacks the last writers their numbers are given again.
  mark       BIGINT UNSIGNED NOT NULL DEFAULT 0,
  epoch      INT UNSIGNED NOT NULL,                -- grows with each connection, which shuts out the one before
  batch_no   BIGINT UNSIGNED NOT NULL,             -- a lane's batch that was committed last: answers unknown outcomes
  batch_at   DATETIME(3) NOT NULL,                 -- the writer's last sign; after a minute of silence another takes it
  started_at DATETIME(3) NOT NULL,                 -- when the writer was made or taken
  ops        BIGINT UNSIGNED NOT NULL DEFAULT 0,   -- operations done: workers that settle make way while lanes are busy
  stamp      BIGINT NOT NULL DEFAULT 0,            -- the last stamp given, in microseconds since 1970
  -- The number of the last event row. A transaction counts it on under the lock of this row, so there is no hole.
  event_no   BIGINT UNSIGNED NOT NULL DEFAULT 0,
  ended      TINYINT UNSIGNED NOT NULL DEFAULT 0,  -- 1: no connection will have the writer again
  PRIMARY KEY (writer_id)
) ENGINE=InnoDB;
