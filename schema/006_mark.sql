-- The mark of this database, and of each lane. A process remembers numbers of skus, balances and its own lane's row;
-- all of this is worth nothing in another database, or in another past of this one. Numbers do not tell: another
-- server, or a restored one, gives them anew.

CREATE TABLE IF NOT EXISTS identity (
  one   TINYINT UNSIGNED NOT NULL,
  mark  BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (one)
) ENGINE=InnoDB;

-- Drawn by chance, 56 bits.
INSERT IGNORE INTO identity (one, mark) VALUES (1, CONV(HEX(RANDOM_BYTES(7)), 16, 10));

-- The mark of a lane, drawn by chance: after a failover to a server that lacks the last lanes its number may be given
-- again.
ALTER TABLE lane ADD COLUMN IF NOT EXISTS mark BIGINT UNSIGNED NOT NULL DEFAULT 0 AFTER slot;
