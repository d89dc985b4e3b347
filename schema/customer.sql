-- Customers: limits of units of a sku, and the units that count for them.

-- The skus with a limit that was set, changed or removed, each with the number of its last change.
CREATE TABLE sku_limit (
  number BIGINT NOT NULL, -- grows with each change: a process that knows all changes up to one asks for those behind it
  sku_id INT UNSIGNED NOT NULL, -- a sku has one row, that of its last change
  PRIMARY KEY (number),
  UNIQUE KEY sku (sku_id)
) ENGINE=InnoDB;

-- The units of a sku that a customer has: in orders that are held, confirmed, buried or settled, less those that came
-- back. An order that names a customer writes this table whether the sku has a limit or not, so that a limit counts
-- from the moment in which it is set.
CREATE TABLE customer_units (
  customer VARBINARY(64) NOT NULL, -- the code that orders name
  sku_id   INT UNSIGNED NOT NULL,  -- a limit is of one sku, over all locations
  units    BIGINT NOT NULL,        -- their sum, so that an order looks at one row
  PRIMARY KEY (customer, sku_id)
) ENGINE=InnoDB;
