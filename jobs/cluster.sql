-- Processes and the nodes of a cluster. schema/process.sql has the table.

-- name: process_beat
-- A process writes its own row to see whether its node commits: one look by primary key. Two processes never write the
-- same row, so they do not wait for each other.
INSERT INTO process (mark, n, at) VALUES ({mark}, 1, UTC_TIMESTAMP(3))
    ON DUPLICATE KEY UPDATE n = n + 1, at = VALUES(at);

-- name: process_leave
DELETE FROM process WHERE mark = {mark};

-- name: process_sweep
-- Removes rows of processes that ended without a word: a walk over a handful of rows.
DELETE FROM process WHERE mark > 0 AND at < UTC_TIMESTAMP(3) - INTERVAL 1 HOUR;

-- name: node_wait
-- Where reads are causal, waits until the node has applied all that any node had committed when this statement came.
SELECT 1;

-- name: node_name
-- Two columns, name and value, as node_status. A server that knows no clusters answers no row.
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('wsrep_on', 'wsrep_node_name');

-- name: node_status
SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_local_state_comment', 'wsrep_cluster_status', 'wsrep_cluster_size',
  'wsrep_ready', 'wsrep_flow_control_paused_ns');
