-- Jobs: paused, resumed, listed with what they have to do.

-- name: job_pause
-- A pause that goes on keeps its beginning. A row that is missing is made.
INSERT INTO job (job, paused, reason, by_name, since)
VALUES ({kind}, {paused}, {error}, {by}, IF({paused}, UTC_TIMESTAMP(3), NULL))
    ON DUPLICATE KEY UPDATE since = IF({paused}, IF(paused, since, UTC_TIMESTAMP(3)), NULL), paused = {paused},
                            reason = {error}, by_name = {by};

-- name: job_is_paused
SELECT paused FROM job WHERE job = {kind};

-- name: job_list
-- The three rows.
SELECT job, paused, reason, by_name, since FROM job WHERE job <= 3 ORDER BY job;

-- name: jobs_ready
-- Counts the work that is ready for each job, {limit} at most: due orders that no task has, and webhooks with events
-- that wait. Counts the webhooks that have a deliverer, too.
SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM reservation FORCE INDEX (claim)
                               WHERE state = {confirmed} AND {is_free} AND {is_due} LIMIT {limit}) settle),
       (SELECT COUNT(*) FROM (SELECT 1 FROM reservation FORCE INDEX (claim)
                               WHERE state = {held} AND {is_free} AND {is_due} LIMIT {limit}) expire),
       (SELECT COUNT(*) FROM (SELECT 1 FROM webhook FORCE INDEX (claim)
                               WHERE state = {active} AND behind LIMIT {limit}) deliver),
       (SELECT COUNT(*) FROM (SELECT 1 FROM webhook FORCE INDEX (claim)
                               WHERE state = {active} AND task_id IS NOT NULL LIMIT {limit}) served);

-- name: jobs_working
-- Open tasks by kind and worker, {limit} at most; few are open.
SELECT kind, worker, COUNT(*), COALESCE(SUM(claimed - completed - failed), 0)
  FROM job_task FORCE INDEX (open_lease) WHERE state = {open} GROUP BY kind, worker LIMIT {limit};
