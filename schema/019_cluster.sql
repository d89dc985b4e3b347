-- Several nodes: processes that look whether theirs commits; rows that only one of them writes.

-- A row for each look of a process at a host (mark: drawn by chance), written once a second where --db names several,
-- and for each process that has the log flushed for readers of the feed. n counts; rows that were not written for an
-- hour are swept.
CREATE TABLE IF NOT EXISTS process (
  mark BIGINT UNSIGNED NOT NULL,
  n    BIGINT UNSIGNED NOT NULL,
  at   DATETIME(3) NOT NULL,
  PRIMARY KEY (mark)
) ENGINE=InnoDB;

-- The last event row of each writer that was removed; no row: none was. A table of its own: the owner of a writer
-- writes its row in log_writer for every transaction, and whoever removes events may do so on another node.
CREATE TABLE IF NOT EXISTS log_floor (
  writer_id   INT UNSIGNED NOT NULL,
  floor_no    BIGINT UNSIGNED NOT NULL,
  floor_stamp BIGINT NOT NULL,
  PRIMARY KEY (writer_id)
) ENGINE=InnoDB;

BEGIN NOT ATOMIC
  IF EXISTS (SELECT 1 FROM information_schema.columns
              WHERE table_schema = DATABASE() AND table_name = 'log_writer' AND column_name = 'floor_no') THEN
    INSERT IGNORE INTO log_floor SELECT writer_id, floor_no, floor_stamp FROM log_writer WHERE floor_no > 0;
  END IF;
END;

ALTER TABLE log_writer DROP COLUMN IF EXISTS floor_no, DROP COLUMN IF EXISTS floor_stamp, ALGORITHM=INSTANT;
