/* test_tune.c - the command tune: it tells what each number of slots is worth, in a database of its own beside the live
 * one, and leaves nothing behind, whatever ends it. */
#include "tests/lang/flow.h"
#include "tests/kit/program.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* clang-format off: the steps are tables */

/* The program's account is named as the test's database, and may only read and write rows there. */
#define MAY_MAKE "sql EXECUTE IMMEDIATE CONCAT('GRANT ALL ON ', DATABASE(), '_tune.* TO ', DATABASE(), '@localhost')"
#define MADE     "sql EXECUTE IMMEDIATE CONCAT('CREATE DATABASE ', DATABASE(), '_tune')"
#define DROPPED  "sql EXECUTE IMMEDIATE CONCAT('DROP DATABASE ', DATABASE(), '_tune')"
#define THERE    "sql SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = CONCAT(DATABASE(), '_tune')"
#define TABLES   "sql SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = CONCAT(DATABASE(), '_tune')"
#define UNDER_WAY                                                                                    \
	"wait:16 sql BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1146 SELECT 0; EXECUTE IMMEDIATE" \
	" CONCAT('SELECT COUNT(*) > 500 FROM ', DATABASE(), '_tune.reservation'); END -> 1"
#define STOCK_OF_A "receipt A +10 -> 201", "reserve R1 A=3 -> 201"

Test(tune, tells_and_leaves_nothing)
{
	flow(STOCK_OF_A,
	     MAY_MAKE,
	     "mark",
	     "run tune --seconds 1        -> 0 ~reservations/s '~lock waits' '~holdfast serve --lanes'",
	     THERE " -> 0",
	     "unchanged",
	     "sku A                       -> available=7 reserved=3",
	     "run stats                   -> 0 '~skus                     1'");
}

/* The live tables are not touched by the load. */
Test(tune, beside_a_service)
{
	flow(STOCK_OF_A,
	     MAY_MAKE,
	     "mark",
	     "start T tune --seconds 60",
	     UNDER_WAY,
	     "skus                 -> items=A end",
	     "list                 -> items=R1 end",
	     "run stats --json     -> 0 ~skus:1, ~available:7,reserved:3,aside:0,on_hand:10,",
	     "run tune --seconds 1 -> 1 '~another tune'",
	     "run purge --keep 1   -> 0",
	     "unchanged",
	     "run audit            -> 0", /* notes its time */
	     "reserve R2 A=7       -> 201",
	     "signal T TERM",
	     "end T                -> 1",
	     THERE " -> 0",
	     "start T tune --seconds 60",
	     UNDER_WAY,
	     "signal T INT",
	     "end T                -> 1",
	     THERE " -> 0",
	     "get R2               -> held");
}

Test(tune, killed_and_tuned_again)
{
	flow(STOCK_OF_A,
	     MAY_MAKE,
	     "mark",
	     "start T tune --seconds 60",
	     UNDER_WAY,
	     "signal T KILL",
	     "end T                       -> 137",
	     THERE " -> 1",
	     "run tune --seconds 1 --json -> 0 '~seconds:1,trials:[{slots:1,reservations_per_s:' ~slots:8 ~best:",
	     THERE " -> 0",
	     "unchanged");
}

/* ---- a database that an administrator has made */

Test(tune, made_by_an_administrator)
{
	flow(STOCK_OF_A,
	     MADE,
	     MAY_MAKE,
	     "start T tune --seconds 60",
	     UNDER_WAY,
	     "signal T KILL",
	     "end T                -> 137",
	     "run tune --seconds 1 -> 0 ~reservations/s",
	     TABLES " -> 0",
	     THERE " -> 1",
	     DROPPED);
}

Test(tune, tables_of_others_stay)
{
	flow(MADE,
	     MAY_MAKE,
	     "sql EXECUTE IMMEDIATE CONCAT('CREATE TABLE ', DATABASE(), '_tune.theirs (n INT)')",
	     "run tune --seconds 1 -> 78 '~tables that tune did not make'",
	     TABLES " -> 1",
	     DROPPED);
}

/* ---- an account that may not make it */

/* The lines of `said` that are SQL, run by an administrator. */
static int lines_run(char *said)
{
	int lines = 0;

	for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n"))
		if (line[strlen(line) - 1] == ';' && strncmp(line, "holdfast", 8) != 0) {
			line[strlen(line) - 1] = '\0';
			cr_expect(db_text(flow_scratch()->db, line, NULL, NULL) == DB_OK, "%s", line);
			lines++;
		}
	return lines;
}

Test(tune, asks_an_administrator)
{
	char        log[300];
	struct text said = {0};

	flow_begin();
	snprintf(log, sizeof(log), "%s/%s.said", scratch_dir(), flow_scratch()->name);
	cr_expect_eq(program_run(log, flow_scratch()->url, "tune --seconds 1"), 78);
	program_log_all(log, &said);
	cr_assert_eq(lines_run(said.data), 2);
	flow_steps(THERE " -> 1",
	           "run tune --seconds 1 -> 0 ~reservations/s",
	           TABLES " -> 0",
	           DROPPED);
	flow_end();
	unlink(log);
	text_fini(&said);
}

Test(tune, usage)
{
	flow("run tune --seconds 0  -> 64",
	     "run tune --seconds 61 -> 64",
	     "run tune fast         -> 64",
	     "run tune --help       -> 0 '~--seconds S' ~_tune");
}
