/* test_found.c - faults that were found once, by reading and by attack; each of these failed before it was mended. */
#include "tests/flow.h"
#include "tests/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The second look-up left the lines of what it found without a balance of their own. */
Test(found, reacquiring_many_lines)
{
	flow("receipt  A +10 B +10 C +10    -> 201",
	     "reserve  R1 A=5 B=7 C=3 ttl=60 -> 201",
	     "tick     61",
	     "expire",
	     "wait get R1                   -> expired",
	     "wait sku B                    -> available=10",
	     "reserve  R2 B=4               -> 201",
	     "confirm  R1 reacquire         -> 409 short B requested=7 available=6",
	     "release  R2                   -> 200",
	     "confirm  R1 reacquire         -> 200 confirmed reacquired A=5 B=7 C=3",
	     "sku      A                    -> available=5 reserved=5",
	     "sku      B                    -> available=3 reserved=7",
	     "sku      C                    -> available=7 reserved=3");
}

/* Their lines, which nobody knew of when the batch was filled, overran it. */
Test(found, releases_of_very_long_orders_at_once)
{
	flow_begin();
	flow_steps("serve --lanes 1");
	flow_repeat("receipt M1", " S# +100", 1000, " -> 201");
	for (int i = 0; i < 12; i++) {
		char before[32];

		snprintf(before, sizeof(before), "reserve R%d", i);
		flow_repeat(before, " S#=1", 1000, " -> 201");
	}
	flow_steps("sku S7                   -> available=88 reserved=12",
	           "race 12 release R#       -> 12x 200 released",
	           "sku S7                   -> available=100 reserved=0");
	flow_end();
}

/* Its check is no secret, so a cursor may hold anything. */
Test(found, cursors_made_by_hand)
{
	flow("raw GET /v1/reservations?state=held&cursor=r.1.0.-5.0.562563c8  -> 400 invalid_request field=cursor",
	     "raw GET /v1/reservations?state=held&cursor=r.1.99.0.0.5b932e50  -> 400 invalid_request field=cursor",
	     "raw GET /v1/reservations?state=held&cursor=r.1.0.0.-7.b5d88d36  -> 400 invalid_request field=cursor",
	     "raw GET /livez                                                  -> 200");
}

/* The lane was chosen by a hash that was always odd. */
Test(found, every_lane_has_work)
{
	flow("serve    --lanes 4",
	     "receipt  A +100               -> 201",
	     "race 8*8 reserve R# A=1       -> 64x 201 held",
	     "sql SELECT COUNT(*) FROM lane WHERE batch_no > 0 -> 4");
}

/* One empty look for a sku kept the lane from looking for the others. */
Test(found, an_empty_sweep_is_of_its_sku_only)
{
	flow("serve    --lanes 1",
	     "receipt  A +1 B +1 C +1       -> 201",
	     "reserve  R1 A=1               -> 201",
	     "reserve  R2 B=1 ttl=60        -> 201",
	     "reserve  R3 C=1 ttl=60        -> 201",
	     "tick     61",
	     "reserve  Q1 A=1               -> 409 short",
	     "reserve  Q2 B=1               -> 201 held",
	     "reserve  Q3 A=1               -> 409 short",
	     "reserve  Q4 C=1               -> 201 held");
}

/* The id was looked up before the locks, and the twin came in between. */
Test(found, a_count_sent_twice_at_once)
{
	flow("second   --slot 1",
	     "receipt  A +5                 -> 201",
	     "race 8   count M1 A=7 expected=5 -> 1x 201 | 7x 200 replayed",
	     "sku      A                    -> on_hand=7");
}

/* Hints outlived what they were hints of. */
Test(found, a_gather_without_an_own_row_moves_nothing)
{
	flow("serve    --lanes 1 --slot 0",
	     "second   --lanes 1 --slot 1",
	     "receipt  A +10                -> 201",
	     "@2 receipt B +10              -> 201",
	     "@2 reserve R1 A=2             -> 201",
	     "sql DELETE FROM stock_slot WHERE slot = 1 AND available = 0 AND reserved = 0 -> ",
	     "@2 reserve R2 A=8             -> 201",
	     "sku      A                    -> available=0 reserved=10 on_hand=10");
}

/* A new row of the lane has number 0, and so had the lane by then. */
Test(found, a_lane_whose_row_was_removed)
{
	flow("serve    --lanes 1",
	     "receipt  A +10                -> 201",
	     "sql DELETE FROM lane          -> ",
	     "reserve  R1 A=1               -> 201 held",
	     "sql DELETE FROM lane          -> ",
	     "cut",
	     "reserve  R2 A=1               -> 201 held created_at=~0",
	     "get      R2                   -> held",
	     "sku      A                    -> available=8 reserved=2");
}

/* What was refused has received nothing. */
Test(found, a_refused_receipt_makes_no_sku)
{
	flow("receipt  A +1                 -> 201",
	     "count    A=9000000000000000   -> 201",
	     "receipt  M1 NEW +1 A +1       -> 409 limit",
	     "sku      NEW                  -> 404 unknown_sku",
	     "reserve  R1 NEW=1             -> 422 unknown_sku NEW");
}

/* A count says a total, not an addition; only a receipt has to be asked before it makes a sku. */
Test(found, a_count_at_a_new_location_is_no_addition)
{
	flow("receipt  A +5                 -> 201",
	     "receipt  B +5                 -> 201",
	     "count    A=9000000000000000 B@Paris=3 expected=1 -> 409 count_mismatch",
	     "count    A=8999999999999999 A@Paris=1 -> 201");
}

/* Two readers must not see two lengths. */
Test(found, frames_that_are_not_clear)
{
	flow("raw POST /v1/reservations/R1/release Transfer-Encoding:gzip {} -> 400",
	     "raw GET /livez Content-Length:4 abcd -> 200",
	     "raw POST /v1/reservations/R1/release Content-Encoding:gzip {} -> 415 unsupported_media_type",
	     "raw GET /livez                       -> 200");
}

/* What callers were told, and nothing else: not what was done after they had been told something else. */
Test(found, refusals_are_counted_as_they_were_told)
{
	flow("receipt  A +10               -> 201",
	     "reserve  R1 A=0              -> 400 invalid_request",
	     "raw POST /v1/movements {}    -> 400 invalid_request",
	     "raw GET /v1/skus?limit=0     -> 400 invalid_request",
	     "batch    R2 A=1 | R3 A=0 | R4 A=10 -> 201 | 400 | 409 short",
	     "release  R9                  -> 404 unknown_order",
	     "raw GET /metrics             -> holdfast_refusals_total{code=invalid_request}=4"
	     " holdfast_refusals_total{code=short}=1 holdfast_refusals_total{code=unknown_order}=1"
	     " holdfast_refusals_total{code=busy}=0");
}

Test(found, metrics_name_a_sample_once)
{
	flow("reserve  R1 GHOST=1           -> 422 unknown_sku GHOST",
	     "sku      GHOST                -> 404 unknown_sku",
	     "raw GET /metrics              -> 200 holdfast_refusals_total{code=unknown_sku}=1");
}

/* A server that refuses to write has done nothing: that is no unknown outcome, and nobody has to look it up. */
Test(found, a_database_that_is_read_only)
{
	flow("receipt  A +5                 -> 201",
	     "sql CREATE TRIGGER read_only BEFORE UPDATE ON lane FOR EACH ROW SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO "
	     "= 1290"
	     " -> ",
	     "reserve  R1 A=1               -> 503 unavailable Retry-After:*",
	     "wait raw GET /readyz          -> 503 unavailable",
	     "raw GET /metrics              -> holdfast_unknown_outcomes_total=0",
	     "sql DROP TRIGGER read_only    -> ",
	     "wait raw GET /readyz          -> 200",
	     "reserve  R1 A=1               -> 201 held",
	     "sku      A                    -> available=4 reserved=1");
}

/* No space left: the same. */
Test(found, a_database_that_is_full)
{
	flow("receipt  A +5                 -> 201",
	     "sql CREATE TRIGGER full BEFORE INSERT ON reservation_line FOR EACH ROW SIGNAL SQLSTATE 'HY000'"
	     " SET MYSQL_ERRNO = 1114 -> ",
	     "reserve  R1 A=1               -> 503 unavailable Retry-After:*",
	     "raw GET /metrics              -> holdfast_unknown_outcomes_total=0",
	     "sql DROP TRIGGER full         -> ",
	     "sku      A                    -> available=5 reserved=0",
	     "reserve  R1 A=1               -> 201 held");
}

/* It was told `busy`, as if it were only a matter of trying again. */
Test(found, a_table_that_is_missing)
{
	flow("receipt  A +5                 -> 201",
	     "reserve  R0 A=1               -> 201",
	     "sql RENAME TABLE reservation_line TO elsewhere -> ",
	     "race 3 reserve R1 A=1 || sku A || list -> 2x 503 unavailable | 1x 200 available=4",
	     "sql RENAME TABLE elsewhere TO reservation_line -> ",
	     "reserve  R1 A=1               -> 201 held");
}

/* MariaDB is installed by halves: its own program said what it lacks, and was passed on as if it gave no reason. */
Test(found, a_private_database_that_cannot_be_made)
{
	char        home[300], path[1000], log[340], command[340];
	struct text said = {0};
	FILE       *maker;

	snprintf(home, sizeof(home), "%s/half-XXXXXX", scratch_dir());
	cr_assert(mkdtemp(home) && chmod(home, 0755) == 0);
	snprintf(path, sizeof(path), "%s/mariadb-install-db", home);
	maker = fopen(path, "w");
	cr_assert(maker && fputs("#!/bin/sh\necho; echo 'FATAL ERROR: Could not find it'; exit 1\n", maker) > 0);
	cr_assert(fclose(maker) == 0 && chmod(path, 0755) == 0);
	snprintf(path, sizeof(path), "%s:%s", home, getenv("PATH"));
	setenv("PATH", path, 1);
	snprintf(log, sizeof(log), "%s/log", home);
	snprintf(command, sizeof(command), "migrate --data %s/var", home);
	cr_expect_eq(program_run(log, NULL, command), 69);
	program_log_all(log, &said);
	cr_expect(strstr(said.data, "failed (status 1): Could not find it (see"), "%s", said.data);
	text_fini(&said);
}

/* For every task that ended it walked through all live orders, with locks: a service stood still for half a minute. */
Test(found, purging_tasks_waits_for_no_live_order)
{
	struct scratch  *s;
	struct db_target target;
	struct db       *stranger;

	flow_begin();
	flow_steps("receipt  A +10                -> 201",
	           "reserve  R1 A=1               -> 201",
	           "reserve  R2 A=1               -> 201",
	           "confirm  R2                   -> confirmed",
	           "work     settle               -> 0",
	           "tick     100000");
	s = flow_scratch();
	target = s->target;
	snprintf(target.database, sizeof(target.database), "%s", s->name);
	stranger = db_new(&target);
	cr_assert(db_connect(stranger) &&
	          db_text(stranger, "SET SESSION idle_transaction_timeout = 0", NULL, NULL) == DB_OK);
	cr_assert_eq(db_text(stranger, "START TRANSACTION", NULL, NULL), DB_OK);
	cr_assert_eq(db_text(stranger, "SELECT 1 FROM reservation FORCE INDEX (claim) WHERE state = 1 FOR UPDATE", NULL,
	                     NULL),
	             DB_OK);
	flow_step("run purge --keep 1 -> 0 '~1 reservations and 1 tasks'");
	db_free(stranger);
	flow_step("run purge --keep 1 -> 0 '~0 reservations and 0 tasks'");
	flow_end();
}
