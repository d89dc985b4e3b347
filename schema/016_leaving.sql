-- Orders that leave: units per customer, returns that name their order, orders that are not to be shipped before a
-- time, skus that are made with nothing in stock.

-- Every transaction of an older program that changes orders or stock names one of these tables: of a service, a
-- reaper, `kick` and `import` writer, of a worker claimed_task, of `purge` reservation_split. None of them commits
-- anything from this statement on.
RENAME TABLE IF EXISTS writer TO log_writer, claimed_task TO job_task, reservation_split TO reservation_part;

-- ship_after: no claim takes the confirmed order before this time; NULL: at once.
ALTER TABLE reservation ADD COLUMN IF NOT EXISTS ship_after DATETIME(3) NULL, ALGORITHM=INSTANT;

-- customer: the code of whoever ordered; NULL: nobody was named. replaces: the order_id of the order that this one took
-- the place of; NULL: of none, or it was made before this step.
ALTER TABLE reservation_note
  ADD COLUMN IF NOT EXISTS customer VARBINARY(64) NULL,
  ADD COLUMN IF NOT EXISTS replaces VARBINARY(64) NULL, ALGORITHM=INSTANT;

-- limited: 1 where the limit of the customer is why the line fell short.
ALTER TABLE reservation_short ADD COLUMN IF NOT EXISTS limited TINYINT UNSIGNED NOT NULL DEFAULT 0, ALGORITHM=INSTANT;

-- order_id: the order that a return names; NULL: none. reservation_id: its row, because another order may have the id
-- once this one was purged.
ALTER TABLE movement
  ADD COLUMN IF NOT EXISTS order_id VARBINARY(64) NULL,
  ADD COLUMN IF NOT EXISTS reservation_id BIGINT UNSIGNED NULL, ALGORITHM=INSTANT;

-- per_customer: the most units that one customer may have; NULL: no limit.
ALTER TABLE sku ADD COLUMN IF NOT EXISTS per_customer BIGINT NULL, ALGORITHM=INSTANT;

-- The skus whose limit was set, changed or removed, each with the number of its last change. Numbers grow, so whoever
-- knows all limits up to one asks for those behind it.
CREATE TABLE IF NOT EXISTS sku_limit (
  number BIGINT NOT NULL,
  sku_id INT UNSIGNED NOT NULL,
  PRIMARY KEY (number),
  UNIQUE KEY sku (sku_id)
) ENGINE=InnoDB;

-- The units of a sku that a customer has: in orders that are held, confirmed, buried or settled, less what came back.
-- Orders that named a customer write it whether the sku has a limit or not, so that a limit counts from the moment in
-- which it is set.
CREATE TABLE IF NOT EXISTS customer_units (
  customer VARBINARY(64) NOT NULL,
  sku_id   INT UNSIGNED NOT NULL,
  units    BIGINT NOT NULL,
  PRIMARY KEY (customer, sku_id)
) ENGINE=InnoDB;

-- The units of a settled order that came back, over all places and movements. The index is for the audit, which
-- compares them with the movements sku by sku.
CREATE TABLE IF NOT EXISTS reservation_returned (
  reservation_id BIGINT UNSIGNED NOT NULL,
  sku_id         INT UNSIGNED NOT NULL,
  units          BIGINT NOT NULL,
  PRIMARY KEY (reservation_id, sku_id),
  KEY of_sku (sku_id)
) ENGINE=InnoDB;
