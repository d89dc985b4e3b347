/* steps.h - steps that several tables share: counts in the tables of the database, and orders to begin with. */
#ifndef TESTS_STEPS_H
#define TESTS_STEPS_H

/* The number of reservations and tasks in each state, as rows STATE,COUNT; the number of open tasks. */
#define STATES "sql SELECT state, COUNT(*) FROM reservation GROUP BY state -> "
#define TASKS  "sql SELECT state, COUNT(*) FROM job_task GROUP BY state -> "
#define OPEN   "sql SELECT COUNT(*) FROM job_task WHERE state = 1 -> "
/* A unit goes out for each settled order: LEFT is the sum of the units that are left and these orders; MOVED is the sum
 * by the movements. */
#define LEFT                                                                                        \
	"sql SELECT SUM(available + reserved) + (SELECT COUNT(*) FROM reservation WHERE state = 3)" \
	" FROM stock_slot -> "
#define MOVED                                                                       \
	"sql SELECT -SUM(qty) = (SELECT COUNT(*) FROM reservation WHERE state = 3)" \
	" FROM movement JOIN movement_line USING (movement_no) WHERE kind = 5 -> "
/* A program that does `body` for every order of its batch, with the order's id in $id. The others are for formats. */
#define EACH(body)        "exec while read -r l; do id=${l#*:\\\"}; id=${id%%\\\"*}; " body "; done"
#define LOOP_FORMAT(body) "while read -r l; do id=${l#*:\\\"}; id=${id%%%%\\\"*}; " body "; done"
#define EACH_FORMAT(body) "exec " LOOP_FORMAT(body)
/* For a program, in a format: it waits for the file %s, which trap_gate makes (trap.h), a minute at most. */
#define GATE "n=0; while [ ! -e %s ] && [ $n -lt 1200 ]; do sleep 0.05; n=$((n+1)); done;"

/* The watcher of levels has nothing left to do: changes written before have their events now, or never get any. KEPT:
 * it has renewed its lease since, so it knows which events are wanted, and has stored its place. WISHED: a service
 * wants an event for every change of stock, and the watcher knows. */
#define LEVELS_WATCHED          \
	"raw GET /livez -> 200", \
		"wait:20 sql SELECT task_id IS NOT NULL AND place IS NOT NULL FROM level_watch -> 1"
#define LEVELS_KEPT                         \
	"sql SET @now = UTC_TIMESTAMP(3) -> ", \
		"wait sql SELECT task_id IS NOT NULL AND lease_until > @now + INTERVAL 5 SECOND FROM level_watch -> 1"
#define STOCK_WISHED "wait sql SELECT stock_until > UTC_TIMESTAMP(3) FROM level_watch -> 1", LEVELS_KEPT

/* At the end of a flow that changes rows by hand: they have no events, so the log is emptied. */
#define BY_HAND                                                                      \
	"sql BEGIN NOT ATOMIC DELETE FROM event;"                                    \
	" REPLACE INTO log_floor SELECT writer_id, event_no, stamp FROM log_writer;" \
	" UPDATE event_log SET since = 9000000000000000000; END -> "

/* clang-format off */
/* Confirmed orders for the units of STOCK. */
#define STOCK "receipt A +10 B +10       -> 201"
#define R1 \
	"reserve R1 A=2 B=1        -> 201", \
	"confirm R1                -> confirmed"
#define R2 \
	"reserve R2 A=3            -> 201", \
	"confirm R2                -> confirmed"
#define R3 \
	"reserve R3 B=4            -> 201", \
	"confirm R3                -> confirmed"
/* Three confirmed orders of one unit each. */
#define THREE \
	"receipt A +10             -> 201", \
	"reserve R1 A=1            -> 201", \
	"reserve R2 A=1            -> 201", \
	"reserve R3 A=1            -> 201", \
	"confirm R1                -> 200", \
	"confirm R2                -> 200", \
	"confirm R3                -> 200"
/* clang-format on */

#endif
