-- The log of events: what every transaction has changed, written in that transaction, one row for all of it.

-- An older program that still runs changes nothing that nobody is told of: a worker or a reaper writes this table, or
-- follows a read of it, and a lane has to take up its writer anew, and finds another schema. The commands `kick` and
-- `purge` are the exception where they run already: the operator avoids them in that minute.
RENAME TABLE IF EXISTS worker_task TO claimed_task;

UPDATE writer SET epoch = epoch + 1000000;

-- What the log follows, one row. writer_last: the number of the newest writer, given under this row's lock, so numbers
-- are seen in their order. keep_days: how long events are kept; 0: none are written. era: grows when the log is
-- switched on or off; a cursor of another era is void. since: a stamp; every change with a later one is an event row,
-- as far as no writer's floor says otherwise.
CREATE TABLE IF NOT EXISTS event_log (
  one         TINYINT UNSIGNED NOT NULL,
  writer_last INT UNSIGNED NOT NULL,
  keep_days   SMALLINT UNSIGNED NOT NULL,
  era         INT UNSIGNED NOT NULL,
  since       BIGINT NOT NULL,
  PRIMARY KEY (one)
) ENGINE=InnoDB;

INSERT IGNORE INTO event_log (one, writer_last, keep_days, era, since)
SELECT 1, COALESCE(MAX(writer_id), 0), 7, 1,
       GREATEST(COALESCE(MAX(stamp), 0), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
  FROM writer;

-- One row, which a reader of events changes to bring the commits that it has seen to disk.
CREATE TABLE IF NOT EXISTS event_flush (
  one TINYINT UNSIGNED NOT NULL,
  n   BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (one)
) ENGINE=InnoDB;

INSERT IGNORE INTO event_flush (one, n) VALUES (1, 0);

-- A writer is a lane's connection, or one of a worker, a reaper or a command. One connection at a time has it, by its
-- epoch and mark. event_no: the number of its last event row; a transaction counts it on under the writer's lock, so
-- there is no hole. floor_no, floor_stamp: the last event row that was removed. ended: nobody will have it again.
ALTER TABLE writer
  ADD COLUMN IF NOT EXISTS event_no BIGINT UNSIGNED NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS floor_no BIGINT UNSIGNED NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS floor_stamp BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS ended TINYINT UNSIGNED NOT NULL DEFAULT 0;

-- A row for each transaction that has changed something. stamp: that of the transaction, in microseconds; grows with
-- event_no, and merges the writers into one order. at: the time of the transaction. changes: engine/log/event.h.
CREATE TABLE IF NOT EXISTS event (
  writer_id INT UNSIGNED NOT NULL,
  event_no  BIGINT UNSIGNED NOT NULL,
  stamp     BIGINT NOT NULL,
  at        DATETIME(3) NOT NULL,
  changes   MEDIUMBLOB NOT NULL,
  PRIMARY KEY (writer_id, event_no)
) ENGINE=InnoDB;


UPDATE event_log
   SET since = (SELECT GREATEST(COALESCE(MAX(stamp), 0),
                                TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))) FROM writer)
 WHERE one = 1;
