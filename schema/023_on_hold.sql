-- Orders that are held back, and when each may go on.
--
-- Every statement that makes an order due reads `ship_after` of its reservation alone: the later of the time that its
-- client asked for and the end of its hold. So a program that does not know this table keeps an order back, too.

CREATE TABLE IF NOT EXISTS reservation_on_hold (
  reservation_id   BIGINT UNSIGNED NOT NULL, -- its `noted` says that there is a row; an order that has ended has none
  -- The end of the hold. The year 9000 for a hold without end, which is nearer than the end of time: that is the
  -- due_at of orders that wait for goods, and a hand-out makes these due.
  ends_at          DATETIME(3) NOT NULL,
  asked_ship_after DATETIME(3) NULL,         -- the ship_after that the client asked for; NULL: none
  reason           VARBINARY(500) NULL,      -- the words of the last call that held the order back; NULL: none
  PRIMARY KEY (reservation_id)
) ENGINE=InnoDB;
