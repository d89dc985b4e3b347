-- A claim bears a number made by chance. A worker that did not hear the result of its claim finds its task by this
-- number; it is unique, so that a claim that is sent again does not stand beside the first one.

ALTER TABLE task
  ADD COLUMN IF NOT EXISTS mark BIGINT UNSIGNED NULL,
  ADD UNIQUE KEY IF NOT EXISTS mark (mark);
