-- Which database this is, and which lane: what a process remembers (numbers of skus, balances, its own lane's row) is
-- worth nothing in another one, or in another past of this one. Numbers alone do not tell: another server, or a
-- restored one, gives them anew.

CREATE TABLE IF NOT EXISTS identity (
  one   TINYINT UNSIGNED NOT NULL,
  mark  BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (one)
) ENGINE=InnoDB;

-- By chance, 56 bits.
INSERT IGNORE INTO identity (one, mark) VALUES (1, CONV(HEX(RANDOM_BYTES(7)), 16, 10));

-- A lane's own, by chance: after a failover to a server that lacks the last lanes its number may be given again.
ALTER TABLE lane ADD COLUMN IF NOT EXISTS mark BIGINT UNSIGNED NOT NULL DEFAULT 0 AFTER slot;
