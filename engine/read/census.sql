-- The figures of a database, and counters of processes without /metrics, until a service takes them over.

-- name: reservation_counts
-- The number of reservations in each state, claimed and not, the number of those that are due, and the ms since the
-- first of them was due. The statement walks the index once, so it is run every few seconds at most.
SELECT state, {is_claimed}, COUNT(*), SUM({is_due}),
       GREATEST(0, TIMESTAMPDIFF(MICROSECOND, MIN(due_at), UTC_TIMESTAMP(3)) DIV 1000)
  FROM reservation FORCE INDEX (claim) GROUP BY state, {is_claimed};

-- name: brief_counts
-- As above, of buried orders their number, of all others only when the first was due: the heads of four stretches of
-- the index. So this may be asked every second.
SELECT state, 0, 0, 1, GREATEST(0, TIMESTAMPDIFF(MICROSECOND, due_at, UTC_TIMESTAMP(3)) DIV 1000) FROM (
  (SELECT state, due_at FROM reservation FORCE INDEX (claim)
    WHERE state = {held} AND {is_free} AND {is_due} ORDER BY due_at LIMIT 1)
  UNION ALL
  (SELECT state, due_at FROM reservation FORCE INDEX (claim)
    WHERE state = {held} AND {is_put_aside} AND {is_due} ORDER BY due_at LIMIT 1)
  UNION ALL
  (SELECT state, due_at FROM reservation FORCE INDEX (claim)
    WHERE state = {confirmed} AND {is_free} AND {is_due} ORDER BY due_at LIMIT 1)
  UNION ALL
  (SELECT state, due_at FROM reservation FORCE INDEX (claim)
    WHERE state = {confirmed} AND {is_put_aside} AND {is_due} ORDER BY due_at LIMIT 1)) first
UNION ALL
SELECT {buried}, 0, COUNT(*), 0, 0 FROM reservation FORCE INDEX (claim) WHERE state = {buried};

-- name: location_sums
-- Of each location with units: its number, the number of skus of which it has units, its units, and those of the
-- available ones of which the sale of the sku is stopped; in the order of the numbers. There is no index by location,
-- because every order would pay for it: this walks all slots, as stock_stats does. With two slots for each of a million
-- pairs of sku and location it took 2.6 to 3.4 s, and stock_stats 1.6 to 2.7, on two busy cores. Stopped skus are few:
-- to join every sku to its sums took three times as long.
SELECT location_id, SUM(skus), SUM(available), SUM(reserved), SUM(stopped)
  FROM (SELECT t.location_id, COUNT(*) AS skus, SUM(t.available) AS available, SUM(t.reserved) AS reserved,
               0 AS stopped
          FROM (SELECT sku_id, location_id, SUM(available) AS available, SUM(reserved) AS reserved
                  FROM stock_slot FORCE INDEX (PRIMARY)
                 GROUP BY sku_id, location_id HAVING SUM(available) > 0 OR SUM(reserved) > 0) t
         GROUP BY t.location_id
        UNION ALL
        SELECT s.location_id, 0, 0, 0, SUM(s.available)
          FROM sku k FORCE INDEX (PRIMARY) STRAIGHT_JOIN stock_slot s FORCE INDEX (PRIMARY) ON s.sku_id = k.sku_id
         WHERE k.for_sale = 0 GROUP BY s.location_id) parts
 GROUP BY location_id ORDER BY location_id;

-- name: task_figures
-- Open tasks, and the age in ms of the oldest. An age is never negative, whatever clock the task was made by.
SELECT COUNT(*), GREATEST(0, COALESCE(MAX(TIMESTAMPDIFF(MICROSECOND, created_at, UTC_TIMESTAMP(3)) DIV 1000), 0))
  FROM job_task FORCE INDEX (open_lease) WHERE state = {open};

-- name: webhook_figures
-- The age in ms of the oldest event that an active webhook has not taken, as far as its deliverer knows. 0: the
-- deliverer lives, and is not behind.
SELECT webhook_id, IF(behind = 0 AND due_at > UTC_TIMESTAMP(3), 0,
                      GREATEST(0, TIMESTAMPDIFF(MICROSECOND, waits_since, UTC_TIMESTAMP(3)) DIV 1000))
  FROM webhook FORCE INDEX (claim) WHERE state = {active} LIMIT {limit};

-- name: event_figures
-- Rows and bytes of the log of events, and the age in ms of the oldest: two looks by primary key for each writer, a
-- handful of rows, and what InnoDB knows of the table. A row that a clock has made that was ahead has no age: the first
-- one behind it has, of a thousand.
SELECT COALESCE(SUM(w.event_no - LEAST({floor}, w.event_no)), 0),
       (SELECT data_length FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'event'),
       GREATEST(0, COALESCE(MAX(TIMESTAMPDIFF(MICROSECOND, (
         SELECT e.at FROM event e FORCE INDEX (PRIMARY)
          WHERE e.writer_id = w.writer_id AND e.event_no > {floor} AND e.event_no <= {floor} + 1000
            AND e.at <= UTC_TIMESTAMP(3) + INTERVAL 1 HOUR
          ORDER BY e.event_no LIMIT 1), UTC_TIMESTAMP(3)) DIV 1000), 0))
  FROM log_writer w {floors};

-- name: counters_leave
-- Rows: (name, increase).
INSERT INTO counter (name, total) VALUES {rows} ON DUPLICATE KEY UPDATE total = total + VALUES(total);

-- name: counters_take
-- A handful of rows, each of which one service gets.
DELETE FROM counter WHERE name > '' RETURNING name, total;

-- name: levels_behind
-- How long ago the watcher last knew that nothing was left, in ms.
SELECT GREATEST(0, TIMESTAMPDIFF(MICROSECOND, looked_at, UTC_TIMESTAMP(3)) DIV 1000) FROM level_watch WHERE one = 1;

-- name: queue_figures
-- Skus at locations, and over all, that are low and out; lines in queues. A walk over each table.
SELECT COALESCE(SUM(level = 2), 0), COALESCE(SUM(level = 3), 0), (SELECT COUNT(*) FROM waiting_line) FROM level;

-- name: upkeep_figures
-- When the last good back-up began and the last good audit ended, in seconds since 1970, 0 where there was none;
-- whether the last audit failed. No row: neither was ever run.
SELECT COALESCE(TIMESTAMPDIFF(SECOND, '1970-01-01', backed_up_at), 0),
       COALESCE(TIMESTAMPDIFF(SECOND, '1970-01-01', audited_at), 0), audit_failed
  FROM upkeep WHERE one = 1;

-- name: census_clock
SELECT UTC_TIMESTAMP(3);
