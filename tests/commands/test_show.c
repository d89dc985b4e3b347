/* test_show.c - the command show: as people read it, and as the call says it. */
#include "tests/lang/flow.h"

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

Test(show, what_an_order_has_to_do_with)
{
	flow("receipt  A +10                 -> 201",
	     "reserve  R1 A=2                -> 201",
	     "reserve  R2 A=6 replaces=R1 confirm=true -> 201",
	     "split    R2 S1 A=1             -> 201",
	     "split    R2 S2 A=1             -> 201",
	     "claim    settle w lease=60     -> 201 task_id=1",
	     "run show order R1              -> 0 '~replaced_by  R2'",
	     "run show order R2              -> 0 '~replaces      R1' '~split_into    S1, S2'"
	     " '~task          task_id 1, worker w, state open, lease_until 20'",
	     "run show order S1              -> 0 '~split_from    R2'",
	     "fail     1 S1=retry:late       -> 200",
	     "run show order S1              -> 0 '~next_attempt_at  20' '~last_error       late' !~task",
	     "run show order S1 --json       -> 0 split_from=R2 next_attempt_at=~2 !task");
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

/* Text of the database does not reach a terminal unescaped. */
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

Test(show, buried)
{
	flow("run show buried                -> 1 '~no order is buried'",
	     "receipt  A +100                -> 201",
	     "batch    R1 A=1 confirm=true | R2 A=2 confirm=true | R3 A=3 confirm=true -> 201 | ...",
	     "claim    settle w              -> 201",
	     "raw POST /v1/tasks/1/fail {'orders':[{'order_id':'R1','error':'carrier down','retry':false},"
	     "{'order_id':'R2','error':'carrier down','retry':false},"
	     "{'order_id':'R3','error':'no label','retry':false}]} -> 200",
	     "run show buried                -> 0 '~counted  3' '~  error         orders  oldest'"
	     " '~  carrier down       2  20' '~  no label           1  20' '!~cursor'",
	     "run show buried --json         -> 0 counted=3 items=2 end",
	     "run show buried --error 'no label' -> 0 '~  R3        buried' '~A main 3' !~R1",
	     "run show buried --error 'carrier down' --json -> 0 items=2",
	     "run show buried --error 'carrier' -> 1 '~no order is buried with this error'",
	     "run show buried R1             -> 64",
	     "run show order R1 --error x    -> 64");
}

/* All pages are printed, one after the other. */
Test(show, many_buried)
{
	flow_begin();
	flow_orders("R", 1100);
	flow_steps("exec n=0; while read -r l; do echo \"R$n bury late\"; n=$((n+1)); done",
	           "work settle --batch 5000           -> 0",
	           "exec",
	           "run show buried                    -> 0 '~counted  1100'",
	           "run show buried --error late       -> 0 '~  R0 ' '~  R1099 '",
	           "run show buried --error late --json -> 0 items=1000 ~order_id:R0, ~order_id:R1099,");
	flow_end();
}
