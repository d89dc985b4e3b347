/* test_tune.c - the command tune: it tells what each number of slots is worth, and leaves nothing behind, whatever ends
 * it. The invariants hold beside it, after a kill, and at the end of every flow. */
#include "tests/flow.h"

/* What a tune has written: orders, lines, slots, movements, lanes. */
#define WRITTEN                                                                                                    \
	"sql SELECT (SELECT COUNT(*) FROM reservation WHERE order_id LIKE 'tune/%'),"                              \
	" (SELECT COUNT(*) FROM reservation_line JOIN sku USING (sku_id) WHERE code LIKE 'tune/%'),"               \
	" (SELECT COUNT(*) FROM stock_slot WHERE slot >= 65000),"                                                  \
	" (SELECT COUNT(*) FROM movement JOIN movement_line USING (movement_no) WHERE movement_id LIKE 'tune/%')," \
	" (SELECT COUNT(*) FROM lane WHERE slot >= 65000)"
#define NOTHING_WRITTEN WRITTEN " -> 0,0,0,0,0"
#define UNDER_WAY       "wait:16 sql SELECT COUNT(*) > 5000 FROM reservation WHERE order_id LIKE 'tune/%' -> 1"
/* clang-format off */
#define STOCK_OF_A \
	"receipt A +10               -> 201", \
	"reserve R1 A=3              -> 201"
/* clang-format on */

Test(tune, tells_and_leaves_nothing)
{
	flow(STOCK_OF_A,
	     "run tune --seconds 1        -> 0 ~reservations/s '~lock waits' '~holdfast serve --lanes'",
	     NOTHING_WRITTEN,
	     "run tune --seconds 1 --json -> 0 '~seconds:1,trials:[{slots:1,reservations_per_s:' ~slots:8 ~best:",
	     NOTHING_WRITTEN,
	     "sku A                       -> available=7 reserved=3",
	     "get R1                      -> held",
	     "list                        -> items=R1 end",
	     "skus                        -> items=A end",
	     "run stats                   -> 0 '~skus                     1'");
}

/* Lists and stock figures know nothing of the load; nobody can name what is its own. */
Test(tune, unseen_while_it_runs)
{
	flow(STOCK_OF_A,
	     "start T tune --seconds 60",
	     UNDER_WAY,
	     "run audit                   -> 0",
	     "skus                        -> items=A end",
	     "list                        -> items=R1 end",
	     "list state=held             -> items=R1 end",
	     "run stats --json            -> 0 ~skus:1, ~available:7,reserved:3,on_hand:10,",
	     "raw GET /v1/skus/tune%2Fsku -> 400 invalid_request",
	     "run tune --seconds 1        -> 1",
	     "run purge --keep 1          -> 0",
	     UNDER_WAY,
	     "reserve R2 A=7              -> 201",
	     "signal T TERM",
	     "end T                       -> 1",
	     NOTHING_WRITTEN,
	     "get R2                      -> held");
}

Test(tune, killed_and_purged)
{
	flow(STOCK_OF_A,
	     "start T tune --seconds 60",
	     UNDER_WAY,
	     "signal T KILL",
	     "end T              -> 137",
	     "run audit          -> 0",
	     "skus               -> items=A end",
	     "list               -> items=R1 end",
	     "run purge --keep 1 -> 0",
	     NOTHING_WRITTEN,
	     "run audit          -> 0",
	     "sku A              -> available=7 reserved=3",
	     "get R1             -> held");
}

/* A day later its holds are past their time: somebody may have swept some of them before they are removed. */
Test(tune, killed_and_tuned_again)
{
	flow(STOCK_OF_A,
	     "start T tune --seconds 60",
	     UNDER_WAY,
	     "signal T KILL",
	     "end T -> 137",
	     "tick 90000",
	     "run work expire --once --batch 100 -> 0",
	     "run audit -> 0",
	     "run tune --seconds 1 -> 0",
	     NOTHING_WRITTEN,
	     "sku A -> available=10 reserved=0");
}

Test(tune, usage)
{
	flow("run tune --seconds 0  -> 64",
	     "run tune --seconds 61 -> 64",
	     "run tune fast         -> 64",
	     "run tune --help       -> 0 '~--seconds S'");
}
