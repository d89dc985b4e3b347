-- Settings of every session, told while its connection is made, and the doctor's questions to the server.
--
-- A session fixes every setting on which a result or a promise rests, whatever the server's settings and an
-- init_connect make of it. Names and values are known to every supported version; DEFAULT would be the server's setting
-- for most of them.

-- name: session_letters
-- The character set goes first and by itself: it decides how the text of the next statement is read.
SET NAMES utf8mb4;

-- name: session_settings
SET SESSION
    sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION',
    time_zone = '+00:00',
    tx_isolation = 'READ-COMMITTED',
    tx_read_only = 0,
    completion_type = 0, -- COMMIT neither begins another transaction nor ends the connection; the next line may be one
    autocommit = 1,
    innodb_lock_wait_timeout = 2,
    lock_wait_timeout = 2,
    idle_transaction_timeout = 5, -- the two below would come first
    idle_write_transaction_timeout = 0,
    idle_readonly_transaction_timeout = 0,
    max_statement_time = 0,
    sql_select_limit = 18446744073709551615,
    sql_big_selects = 1,
    sql_safe_updates = 0,
    unique_checks = 1, -- an id has one effect
    check_constraint_checks = 1, -- no slot is negative
    join_cache_level = 0, -- a join follows the keys that it is told, and its rows come in the order of its first table
    optimizer_switch = 'mrr=off', -- rows of a range come in the order of its index
    in_predicate_conversion_threshold = 0, -- a list of keys is not made a table ..
    optimizer_max_sel_arg_weight = 32000; -- .. nor passed over, which would be a walk over all rows that locks them

-- name: session_newer
-- Settings that some supported versions do not know (error 1193). An account that may not set the clock finds it unset.
BEGIN NOT ATOMIC
  DECLARE CONTINUE HANDLER FOR 1193 BEGIN END;
  IF @@secure_timestamp = 'NO' THEN SET timestamp = DEFAULT; END IF;
  EXECUTE IMMEDIATE 'SET SESSION optimizer_max_sel_args = 16000'; -- as optimizer_max_sel_arg_weight
  EXECUTE IMMEDIATE 'SET SESSION innodb_snapshot_isolation = 0'; -- a row that is newer than a snapshot is no conflict
  EXECUTE IMMEDIATE 'SET SESSION wsrep_dirty_reads = 0'; -- 1 would undo the next line
  -- On a node of a cluster a SELECT and a START TRANSACTION wait until what others have committed is here.
  EXECUTE IMMEDIATE 'SET SESSION wsrep_sync_wait = IF(@@wsrep_on, 1, 0)';
END;

-- name: lock_wait
-- How long the session waits for a lock from now on, in seconds; 0: not at all.
SET SESSION innodb_lock_wait_timeout = {wait_s}, lock_wait_timeout = {wait_s};

-- name: schema_read
-- The newest version of the schema, and the newest that was begun, which stands below zero until it is complete. A
-- database in the making has its version both ways. One row.
SELECT GREATEST(COALESCE(MAX(version), 0), 0), COALESCE(-MIN(version), 0) FROM schema_version;

-- name: server_settings
-- The doctor's questions, about settings that no session can mend. The last column is 1 where SYSDATE is the time at
-- which a statement began.
SELECT @@version, @@innodb_flush_log_at_trx_commit, @@max_allowed_packet, @@log_bin, @@binlog_format, @@sync_binlog,
       @@global.read_only, @@innodb_deadlock_detect, @@max_prepared_stmt_count, @@global.wait_timeout,
       LENGTH(@@init_connect), @@innodb_use_native_aio AND @@version_compile_os LIKE '%linux%',
       SLEEP(0.002) * 0 + (SYSDATE(6) = UTC_TIMESTAMP(6));

-- name: server_cluster
-- Two columns, name and value, and no row on a server that knows no clusters.
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('wsrep_on', 'wsrep_provider_options', 'innodb_autoinc_lock_mode');

-- name: server_clock
SELECT UTC_TIMESTAMP(3);
