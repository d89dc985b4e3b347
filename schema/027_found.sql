-- Orders are found by their customer or their reference. Both stand in the notes, which a plain order does not have, so
-- a plain order writes no index for it.
--
-- order_state: as the order's own row has it. A list of one customer's orders in one state walks these orders alone,
-- whatever else the customer has. Each transaction that changes the state of an order with a note writes it here, too.

ALTER TABLE reservation_note ADD COLUMN IF NOT EXISTS order_state TINYINT UNSIGNED NOT NULL DEFAULT 0;

UPDATE reservation_note n STRAIGHT_JOIN reservation r FORCE INDEX (PRIMARY) ON r.reservation_id = n.reservation_id
   SET n.order_state = r.state;

ALTER TABLE reservation_note ADD KEY IF NOT EXISTS customer (customer, order_state),
                             ADD KEY IF NOT EXISTS reference (reference, order_state);
