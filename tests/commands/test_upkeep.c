/* test_upkeep.c - /metrics says when the database was audited last. test_backup.c: when it was backed up. */
#include "tests/lang/flow.h"

/* A process counts in the database when it is first asked. An audit that finds something leaves the time of the last
 * good one. An account that may only read can audit, too. */
Test(upkeep, of_an_audit)
{
	flow("receipt A +10             -> 201",
	     "raw GET /metrics          -> holdfast_last_audit_timestamp_seconds{scope=database}=0"
	     "  holdfast_last_audit_failed{scope=database}=0 holdfast_last_backup_timestamp_seconds{scope=database}=0",
	     "run audit --sku A         -> 0",
	     "sql SELECT COUNT(*) FROM upkeep -> 0",
	     "sql EXECUTE IMMEDIATE CONCAT('REVOKE INSERT ON ', DATABASE(), '.* FROM ', DATABASE(), '@localhost')",
	     "run audit                 -> 0 '~all hold' '~/metrics will not know of this'",
	     "sql SELECT COUNT(*) FROM upkeep -> 0",
	     "sql EXECUTE IMMEDIATE CONCAT('GRANT INSERT ON ', DATABASE(), '.* TO ', DATABASE(), '@localhost')",
	     "run audit                 -> 0 '~all hold' !~/metrics",
	     "sql SELECT audited_at > UTC_TIMESTAMP(3) - INTERVAL 60 SECOND, audit_failed FROM upkeep -> 1,0",
	     "tick 100",
	     "sql UPDATE stock_slot SET available = available + 1",
	     "run audit                 -> 1 '~not all hold'",
	     "sql SELECT audited_at < UTC_TIMESTAMP(3) - INTERVAL 99 SECOND, audit_failed FROM upkeep -> 1,1",
	     "restart",
	     "raw GET /metrics          -> holdfast_last_audit_failed{scope=database}=1"
	     "  ~holdfast_last_audit_timestamp_seconds{scope=database}"
	     "  '!~last_audit_timestamp_seconds{scope=database} 0'",
	     "sql UPDATE stock_slot SET available = available - 1",
	     "run audit                 -> 0",
	     "sql SELECT audited_at > UTC_TIMESTAMP(3) - INTERVAL 60 SECOND, audit_failed FROM upkeep -> 1,0");
}
