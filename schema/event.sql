-- The log of events: what every transaction has changed, written in that transaction, one row for all of it.

CREATE TABLE event (
  writer_id INT UNSIGNED NOT NULL,    -- the writer of the transaction
  event_no  BIGINT UNSIGNED NOT NULL, -- counts the writer's rows, without a hole
  -- Of the transaction, in microseconds since 1970; grows with event_no, and merges the writers into one order.
  stamp     BIGINT NOT NULL,
  at        DATETIME(3) NOT NULL,     -- the time of the transaction
  changes   MEDIUMBLOB NOT NULL,      -- engine/log/event.h
  PRIMARY KEY (writer_id, event_no)
) ENGINE=InnoDB;

-- The settings of the log, one row.
CREATE TABLE event_log (
  one         TINYINT UNSIGNED NOT NULL,  -- always 1
  -- The number of the newest writer, given under this row's lock, so that numbers are seen in their order.
  writer_last INT UNSIGNED NOT NULL,
  keep_days   SMALLINT UNSIGNED NOT NULL, -- how long events are kept; 0: none are written
  -- Grows when the log is switched on or off: a cursor of another era is void.
  era         INT UNSIGNED NOT NULL,
  -- A stamp: every change with a later one is an event row, as far as no row of log_floor says otherwise.
  since       BIGINT NOT NULL,
  PRIMARY KEY (one)
) ENGINE=InnoDB;

INSERT INTO event_log (one, writer_last, keep_days, era, since)
VALUES (1, 0, 7, 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)));

-- The last event row of each writer that was removed; no row: none was. A table of its own: the owner of a writer
-- writes its row in log_writer for every transaction, and events may be removed on another node.
CREATE TABLE log_floor (
  writer_id   INT UNSIGNED NOT NULL,    -- the writer of the removed rows
  floor_no    BIGINT UNSIGNED NOT NULL, -- event_no of that row
  floor_stamp BIGINT NOT NULL,          -- stamp of that row
  PRIMARY KEY (writer_id)
) ENGINE=InnoDB;

-- One row, which a reader of events changes to bring the commits that it has seen to disk.
CREATE TABLE event_flush (
  one TINYINT UNSIGNED NOT NULL, -- always 1
  n   BIGINT UNSIGNED NOT NULL,  -- grows with each flush
  PRIMARY KEY (one)
) ENGINE=InnoDB;

INSERT INTO event_flush (one, n) VALUES (1, 0);
