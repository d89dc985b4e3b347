-- What processes without /metrics counted, until a service takes it over.

-- name: counters_leave
-- Rows: (name, how much more).
INSERT INTO counter (name, total) VALUES {rows} ON DUPLICATE KEY UPDATE total = total + VALUES(total);

-- name: counters_take
-- A handful of rows, each of which one service gets.
DELETE FROM counter WHERE name > '' RETURNING name, total;
