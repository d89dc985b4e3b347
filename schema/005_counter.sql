-- Events counted for good, over all processes that ever worked on this database: engine/base/counters.def has the
-- names.

CREATE TABLE IF NOT EXISTS counter (
  name   VARBINARY(32) NOT NULL,
  total  BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (name)
) ENGINE=InnoDB;
