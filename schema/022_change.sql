-- The version of an order: the stamp of its last change that has an event, which answers and events tell. It is
-- `changed`, unless a change that nobody is told of has moved that: a task gave the order back, or its attempt failed.
-- Such a change keeps the version here. NULL in all other rows, so a plain order pays nothing.
-- version_kept: `changed` as that change has left it. Where `changed` is another one by now, `version` says nothing.

ALTER TABLE reservation ADD COLUMN IF NOT EXISTS version BIGINT NULL,
                        ADD COLUMN IF NOT EXISTS version_kept BIGINT NULL;
