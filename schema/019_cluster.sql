-- Several nodes: processes that look whether theirs commits.

-- A row for each look of a process at a host (mark: drawn by chance), written once a second where --db names several,
-- and for each process that has the log flushed for readers of the feed. n counts; rows that were not written for an
-- hour are swept.
CREATE TABLE IF NOT EXISTS process (
  mark BIGINT UNSIGNED NOT NULL,
  n    BIGINT UNSIGNED NOT NULL,
  at   DATETIME(3) NOT NULL,
  PRIMARY KEY (mark)
) ENGINE=InnoDB;
