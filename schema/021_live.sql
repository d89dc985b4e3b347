-- The orders that hold a sku are found by an index of their lines. The marks come before the index.
-- live: 1 while the reservation is held, confirmed or buried, 0 once it has ended. A walk over one sku's live lines in
-- the index is in the order of the primary key, by reservation.

ALTER TABLE reservation_line ADD COLUMN IF NOT EXISTS live TINYINT UNSIGNED NOT NULL DEFAULT 1;

UPDATE reservation r STRAIGHT_JOIN reservation_line l FORCE INDEX (PRIMARY) ON l.reservation_id = r.reservation_id
   SET l.live = 0 WHERE r.state NOT IN (1, 2, 6);

ALTER TABLE reservation_line ADD KEY IF NOT EXISTS holder (sku_id, live);
