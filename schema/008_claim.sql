-- A claim bears a number made by chance. Whoever did not hear what became of his claim finds his task by it; it is
-- unique, so that a claim that is sent again does not stand beside the first one.

ALTER TABLE task
  ADD COLUMN IF NOT EXISTS mark BIGINT UNSIGNED NULL,
  ADD UNIQUE KEY IF NOT EXISTS mark (mark);
