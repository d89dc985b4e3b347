-- Tasks: one batch of reservations claimed by one worker. The lease lives here, so that one row renews it for all of
-- its orders.

CREATE TABLE job_task (
  task_id     BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, -- the fencing token: a new one for every claim
  kind        TINYINT UNSIGNED NOT NULL,  -- 1 settle, 2 expire
  worker      VARBINARY(64) NOT NULL,     -- the name that the worker gave itself
  state       TINYINT UNSIGNED NOT NULL,  -- jobs/task/task_states.def
  lease_until DATETIME(3) NOT NULL,       -- from then on the reaper may free the orders
  claimed     INT UNSIGNED NOT NULL,      -- orders of the batch; all counts are of orders
  completed   INT UNSIGNED NOT NULL,      -- orders that the worker has done
  failed      INT UNSIGNED NOT NULL,      -- orders that the worker could not do
  created_at  DATETIME(3) NOT NULL,       -- the time of the claim
  ended_at    DATETIME(3) NULL,           -- NULL: the task is open
  -- Drawn by chance for the claim. A worker that did not hear the result of its claim finds its task by this number.
  mark        BIGINT UNSIGNED NULL,
  PRIMARY KEY (task_id),
  KEY open_lease (state, lease_until),    -- open tasks, the one that runs out first in front
  UNIQUE KEY mark (mark)                  -- a claim that is sent again does not stand beside the first one
) ENGINE=InnoDB;

-- Orders that a split took from the task that had claimed them.
CREATE TABLE task_lost (
  task_id   BIGINT UNSIGNED NOT NULL, -- the task that had claimed the order
  order_id  VARBINARY(64) NOT NULL,   -- its worker is told that this order is gone
  PRIMARY KEY (task_id, order_id)
) ENGINE=InnoDB;

-- The state of each job, as the operator set it. Claims read the row of their job; only the operator writes it.
CREATE TABLE job (
  job     TINYINT UNSIGNED NOT NULL, -- 1 settle, 2 expire, 3 deliver
  paused  TINYINT UNSIGNED NOT NULL, -- 1: the job hands out nothing
  reason  VARBINARY(500) NULL,       -- of the pause; NULL: there is none, or no reason was told
  by_name VARBINARY(64) NULL,        -- the name of the key that asked for the pause; NULL as above
  since   DATETIME(3) NULL,          -- of the pause; NULL: there is none
  PRIMARY KEY (job)
) ENGINE=InnoDB;

INSERT INTO job (job, paused) VALUES (1, 0), (2, 0), (3, 0);
