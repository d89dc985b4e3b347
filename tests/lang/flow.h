/* flow.h - the language of the tests: steps of the form "verb words -> expectation", run over HTTP against the real
 * program on a real MariaDB, in a database of the test's own, by an account that may only read and write rows. At the
 * end the program gets SIGTERM and must end with 0, and schema/invariants.sql must hold. A step that is not as expected
 * is printed with the answer; the flow goes on.
 *
 * Words are cut at spaces; '..' keeps spaces together, in steps, commands and expectations. Ids are sent as they stand:
 * escaped in a body, percent-encoded in a path.
 *
 * Requests                                             LINE is SKU=QTY or SKU@LOCATION=QTY
 *                                                      to reserve also SKU@X,Y=QTY, a list (of one: SKU@X,=QTY), and
 *                                                      SKU@X+Y=QTY, a list that may be split
 *   receipt|adjust|return [ID] SKU +N [expected=N] [short=backorder] [to=L] .. [reason=R] [order=ID] [create=false]
 *                                                      a movement, of SKU or SKU@LOCATION; ID may be left out
 *   transfer [ID] SKU@FROM>TO=N ..                     units of a SKU go from a location to another
 *   count [ID] LINE [expected=N] [as_of=-S] [short=backorder] [to=L] ..
 *                                                      the same with `counted`; S seconds ago
 *   reserve ID LINE .. [ttl=S] [mode=best_effort] [confirm=true] [replaces=ID] [reference=TEXT]
 *                                                      [customer=ID] [ship_after=+S] [waits_since=-S]
 *   amend ID LINE .. [ttl=S] [mode=best_effort] [if_version=N] [force=true]
 *                                                      the order gets these lines
 *   batch [atomic] RESERVATION | RESERVATION ..        several in one call
 *   split FIRST ID LINE .. [then=confirm|release|settle]
 *   confirmations [atomic] ID .. [reacquire]    releases [atomic] ID .. [if=held]    settlements [atomic] ID ..
 *                                                      several in one call, expected like a batch
 *   confirm ID [reacquire]    release ID [if=held]    extend ID ttl=S    get ID
 *   hold ID [until=+S] [reason=TEXT]    off-hold ID    held back from shipping; without `until` without end
 *   sku SKU [max_age=MS]      availability SKU ..      has SKU CUSTOMER
 *   limit SKU [N|none]        the most units of it that one customer may have
 *   movement ID               list|skus|locations|movements SKU [state=S] [sku=SKU] [location=L] [limit=N] [next]
 *                                                      `next`: with the cursor of the last list
 *   events [after=..] [types=..] [limit=N] [wait_s=S] [next]     items are called by their types
 *   claim KIND [WORKER] [limit=N] [lease=S]            a task; N below is its number
 *   task N    tasks [limit=N] [next]    heartbeat N [lease=S]    give-back N    kick ID
 *   complete N [ID ..]    fail N ID=retry[:ERROR] ID=bury[:ERROR] ..
 *   raw METHOD PATH [Header:value ..] [BODY]           as it stands, except that ' in BODY is sent as "
 * Surroundings
 *   keys NAME ROLE [rps=N] [held=N] [expires=TIME] [old=NAME old_until=TIME] | ..
 *                       writes the file of keys, for programs that start from now on
 *   key NAME            requests bear the key of NAME from now on; key alone: none
 *   hangup              SIGHUP to the program
 *   serve [OPTIONS]     the program again, with these options (as the first step: instead of --lanes 2)
 *   second [OPTIONS]    a second one on the same database; steps that begin with @2 go to it
 *   restart, kill       SIGTERM or kill -9, and the program again as before
 *   ended N             the program ends by itself, within 30 s, with exit status N; the next request starts it
 *   expire              the program again with --jobs=expire: due holds are swept from now on; `wait` for it
 *   tick S              S seconds pass: every stored time is shifted
 *   lock, unlock        every row of the database is locked by another transaction
 *   cut; away, back     the program loses its connections to the database; and gets no new ones until `back`
 *   mark, unchanged     nothing that is stored has changed since `mark`
 *   run COMMAND         holdfast COMMAND --db URL; the expectation is its exit status (0 where none is said) and words
 *                       that hold for what it printed; no JSON of it has a member twice
 *   work KIND [OPTIONS] the same as run work KIND [OPTIONS] --once
 *   alone COMMAND       the same without --db URL
 *   start W COMMAND     the same beside the flow, W being its name;  signal W TERM|INT|KILL|STOP|CONT
 *                       (it has come when the step ends)
 *   end W               it ends by itself, within 30 s; the expectation is like that of run
 *   exec CMD            workers from now on have this program (work --exec CMD); exec alone: none
 *   sql STATEMENT       in the test's database; the expectation is all that it gives: A,B C,D are two rows
 *   wait STEP           repeats it for 10 s at most until it is as expected;  wait:16 STEP for 16 s. These are seconds
 *                       of a quiet machine (kit/patience.h), as all limits of the steps are
 *   race SHAPE STEP [|| STEP]     from many threads at once, in turn to the programs that run and from the steps given.
 *                       SHAPE is THREADS or THREADS*CALLS; # in a step is the number of the call, from 0
 *
 * An expectation begins with the status, 2xx where none is said. Then words, all of which must hold:
 *   held, open ..       the state                        replayed     the header Idempotent-Replayed; must be said
 *   short, expired ..   the code of a problem            more, end    next_cursor is a string, is null
 *   available=10        a member, also lines[0].qty=4    expires_at=~60    a time, 60 s from now, give or take 5
 *   field=*             it is there                      !short       it is not there; !~text
 *   A=4 A@paris=4       a line, of `reservation`, too    lines=2      so many elements
 *   items=R2,R1         these, by their ids (T7: task 7) set=R1,R2    items in any order
 *   A requested=7       in the row of A: a line of a refusal, of `short`, an item;  @paris available=4   a location
 *   GHOST               after unknown_sku: it is named   Age-Ms:0     a header, or an element of it; * is any
 *   reacquired          reacquired: true                 lost         no answer came
 *   ~text '~two words'  somewhere in a text (metrics, the document), where " is left out;  NAME=VALUE  a metric
 * A batch expects one such list per result, divided by |; `| ...` at the end: and so on for the rest. Where the call is
 * refused as a whole, the first list is that of the call, and those of its results may follow. A race expects
 * `COUNTx words | COUNTx words`, where each answer counts for the first alternative it meets, and * is any COUNT. Every
 * answer is held against expect_form (expect.h), too. */
#ifndef TESTS_FLOW_H
#define TESTS_FLOW_H

#include "tests/lang/race.h"
#include "tests/kit/scratch.h"

#include <criterion/criterion.h>

struct server;

/* A test is one call of flow(..), or flow_begin, any number of the others, flow_end. All on the test's main thread. */
#define flow(...) flow_run((const char *const[]){__VA_ARGS__, NULL})
void flow_run(const char *const *steps);
void flow_begin(void);
void flow_end(void);
#define flow_steps(...) flow_each((const char *const[]){__VA_ARGS__, NULL})
void flow_each(const char *const *steps);
void flow_step(const char *format, ...) PRINTF(1, 2);
/* The step takes `statements` statements (0: any number) on this server, which logs them (server.h); `of` of them have
 * these words. */
void flow_costs(const struct server *server, const char *step, int statements, const char *words, int of);
/* Steps made of a piece repeated `n` times, # being its number: flow_repeat("reserve R1", " S#=1", 1000, " -> 201"). */
void flow_repeat(const char *before, const char *piece, int n, const char *after);
/* Adds n units of A, and makes n confirmed orders NAME0, NAME1 .. of one A each, the oldest first. */
void flow_orders(const char *name, int n);

/* A race that goes on while the test does something else: race_finish and race_free follow (race.h). */
struct race *flow_race(const char *shape, const char *steps);

/* The test's database, for checks that the language has no words for. */
struct scratch *flow_scratch(void);
/* The port of program 0 or 1; it changes with a restart. */
int flow_port(int program);
/* Adds all messages of the programs so far. */
void flow_said(struct text *to);
/* The same, when these words are among them: waits for that, half of PATIENCE_MS at most. `to` is emptied before. */
void flow_said_wait(const char *words, struct text *to);
int  flow_pid(int program);
/* SIGTERM to program 0, without waiting; `restart` or flow_end goes on from there. */
void flow_terminate(void);
/* Sends another signal to program 0, which goes on; the signal has come when this returns. */
void flow_signal(int sig);
/* Marks the test as failed and goes on. */
void flow_fail(const char *format, ...) PRINTF(1, 2);
bool flow_failed(void);

#endif
