-- What every session is told while its connection is made, and what the doctor reads of the server. A session fixes all that a
-- result or a promise rests on, whatever the server's settings and an init_connect make of it. Names and values are those that
-- every supported version knows; DEFAULT would be the server's setting for most of them.

-- name: session_settings
SET NAMES utf8mb4,
    SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION',
    time_zone = '+00:00',
    tx_isolation = 'READ-COMMITTED',
    tx_read_only = 0,
    autocommit = 1,
    completion_type = 0, -- COMMIT neither begins another transaction nor ends the connection
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
    in_predicate_conversion_threshold = 0;

-- name: session_clock
-- For whoever is not allowed to set it, nobody has set it.
IF @@secure_timestamp = 'NO' THEN SET timestamp = DEFAULT; END IF;
