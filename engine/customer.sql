-- The units that customers have of skus: table customer_units.

-- name: customer_has
-- The limit of the sku {code}, and the units that {customer} has of it. No row: there is no such sku.
SELECT k.per_customer, u.units
  FROM sku k FORCE INDEX (code)
  LEFT JOIN customer_units u FORCE INDEX (PRIMARY) ON u.customer = {customer} AND u.sku_id = k.sku_id
 WHERE k.code = {code};
