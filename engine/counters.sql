-- Counters that outlive processes.

-- name: counters_add
-- {rows}: (name, how much more).
INSERT INTO counter (name, total) VALUES {rows} ON DUPLICATE KEY UPDATE total = total + VALUES(total);

-- name: counters_all
-- A handful of rows.
SELECT name, total FROM counter FORCE INDEX (PRIMARY) WHERE name > '';
