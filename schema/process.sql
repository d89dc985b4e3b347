-- Processes, the database that they share, and what they count.

-- The mark of this database, one row. A process remembers numbers of skus, balances and its writer's row; in another
-- database, or in another past of this one, all of it is void. Numbers do not tell: another server, or a restored one,
-- gives the same numbers again.
CREATE TABLE identity (
  one   TINYINT UNSIGNED NOT NULL, -- always 1
  mark  BIGINT UNSIGNED NOT NULL,  -- drawn by chance, 56 bits
  PRIMARY KEY (one)
) ENGINE=InnoDB;

INSERT INTO identity (one, mark) VALUES (1, CONV(HEX(RANDOM_BYTES(7)), 16, 10));

-- A row for each look of a process at a host, written once a second where --db names several, and for each process that
-- has the log flushed for readers of the feed. Rows that were not written for an hour are swept.
CREATE TABLE process (
  mark BIGINT UNSIGNED NOT NULL, -- drawn by chance
  n    BIGINT UNSIGNED NOT NULL, -- grows with each write, so that each of them changes the row
  at   DATETIME(3) NOT NULL,     -- the time of the last write
  PRIMARY KEY (mark)
) ENGINE=InnoDB;

-- Totals of processes without /metrics, until a service takes them over.
CREATE TABLE counter (
  name   VARBINARY(32) NOT NULL,   -- engine/base/counters.def
  total  BIGINT UNSIGNED NOT NULL, -- the part that no service has taken over yet
  PRIMARY KEY (name)
) ENGINE=InnoDB;
