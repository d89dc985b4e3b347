-- The row of upkeep. A command that is cut off leaves it as it was.

-- name: upkeep_backed_up
INSERT INTO upkeep (one, backed_up_at) VALUES (1, {began_at})
    ON DUPLICATE KEY UPDATE backed_up_at = VALUES(backed_up_at);

-- name: upkeep_audited
INSERT INTO upkeep (one, audited_at, audit_failed) VALUES (1, UTC_TIMESTAMP(3), 0)
    ON DUPLICATE KEY UPDATE audited_at = VALUES(audited_at), audit_failed = 0;

-- name: upkeep_audit_failed
-- The time of the last good audit stays.
INSERT INTO upkeep (one, audit_failed) VALUES (1, 1) ON DUPLICATE KEY UPDATE audit_failed = 1;
