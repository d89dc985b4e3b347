-- The database of a back-up, before it takes the place of another one.

-- name: restore_mark
-- guard: the one row. A service, a cursor and a webhook that know the old mark see that this is another past.
UPDATE identity SET mark = CONV(HEX(RANDOM_BYTES(7)), 16, 10) WHERE one = 1;
