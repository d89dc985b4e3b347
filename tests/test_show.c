/* test_show.c - the command show: as people read it, and as the call says it. */
#include "tests/flow.h"

Test(show, what_there_is)
{
	flow("receipt  MUG@paris +10 MUG +5  -> 201",
	     "reserve  R1 MUG=2 MUG@paris=3 'reference=by hand' -> 201",
	     "run show sku MUG               -> 0 '~sku        MUG' '~available  10' '~on_hand    15'"
	     " '~  location  kind   available  reserved  on_hand' '~  paris     stock          7         3       10'",
	     "run show order R1              -> 0 '~order_id    R1' '~state       held' '~reference   by hand'"
	     " '~  MUG  paris       3'",
	     "run show sku MUG --json        -> 0 sku=MUG available=10 locations=2",
	     "run show order R1 --json       -> 0 order_id=R1 held lines=2",
	     "confirm  R1                    -> 200",
	     "claim    settle w              -> 201",
	     "run show task 1                -> 0 '~worker       w' '~claimed      1'",
	     "run show task 1 --json         -> 0 task_id=1 open claimed=1");
}

Test(show, what_there_is_not)
{
	flow("run show order R9   -> 1 '~there is no reservation for this order_id'",
	     "run show sku GHOST  -> 1 '~there is no such sku'",
	     "run show task 9     -> 1 '~there is no such task'",
	     "run show task first -> 64 '~must be an integer'",
	     "run show order '..' -> 64",
	     "run show order 'a?b#c/d%' --json -> 1",
	     "run show            -> 64 '~show sku SKU'",
	     "run show order      -> 64",
	     "run show shoe MUG   -> 64",
	     "run show sku A B    -> 64 '~unexpected argument B'");
}

/* What stands in the database is not let loose on a terminal. */
Test(show, control_characters_stand_as_escapes)
{
	flow("receipt  A +1                  -> 201",
	     "reserve  R1 A=1                -> 201",
	     "confirm  R1                    -> 200",
	     "claim    settle w              -> 201",
	     "raw POST /v1/tasks/1/fail {'orders':[{'order_id':'R1','retry':false,"
	     "'error':'red \\u001b[31m \\u202e \\u009b ü'}]} -> 200",
	     "run show order R1              -> 0 '~last_error    red \\u001b[31m \\u202e \\u009b ü'",
	     "get R1                         -> buried '~last_error:red \\u001b[31m'");
}
