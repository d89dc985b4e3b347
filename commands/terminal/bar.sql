-- The progress of a command.

-- name: table_rows_about
-- How many rows a table of ours has, as InnoDB guesses: for a bar. Opens that table alone.
SELECT table_rows FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ({rows});
