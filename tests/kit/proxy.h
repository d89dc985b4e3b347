/* proxy.h - stands between the program and its database and breaks or stops a connection, or a statement, of the test's
 * choice.
 *
 *   service ──▶ proxy ──▶ MariaDB      the statement is known by a text that stands in it; it has to be in one packet
 *
 * A thread of its own; the functions below are for the test's thread. */
#ifndef TESTS_PROXY_H
#define TESTS_PROXY_H

#include "tests/kit/scratch.h"

/* What becomes of the statement and its connection. */
enum breach {
	BREACH_WAIT,  /* it is kept back until proxy_go_on; the client waits and notices nothing */
	BREACH_LATE,  /* it is kept back until proxy_deliver; the client loses the connection at once */
	BREACH_DEAF,  /* the server gets it, and notices nothing until it wants to answer; the client likewise */
	BREACH_MUTE,  /* the server gets it, and answers; only then is the connection gone, and the answer with it */
	BREACH_TORN,  /* the same after the first kB of the answer, and nobody gets in any more until proxy_let_in */
	BREACH_WRONG, /* the server gets something that it refuses, as if it had been interrupted; twice */
	BREACH_OTHER, /* the server gets another statement: proxy_arm_other */
	BREACH_ROWS,  /* .. that gives other rows: proxy_arm_hostile */
};

struct proxy;

/* From here on the way to the database leads through the proxy: before any program is started. */
struct proxy *proxy_open(struct scratch *s);
void          proxy_close(struct proxy *p);
/* Nothing passes any more, in either direction, and nobody gets in, as if the server stood still; until `stalls` is
 * false again. */
void proxy_stall(struct proxy *p, bool stalls);
/* Lies in wait for one statement. */
void proxy_arm(struct proxy *p, enum breach breach, const char *text);
/* The same for a statement of a lane, where other threads of the program send such ones, too. */
void proxy_arm_lane(struct proxy *p, enum breach breach, const char *text);
/* The server gets `sql` instead of the `nth` statement that a lane sends from here on, from 1, or of its next COMMIT
 * (0).
 */
void proxy_arm_other(struct proxy *p, size_t nth, const char *sql);
/* The same instead of the next statement with this text that no lane sends. */
void proxy_arm_instead(struct proxy *p, const char *text, const char *sql);
/* Until proxy_disarm every statement that begins so, of lanes or of everybody else, is answered by other rows: of
 * `more` columns more than it has, with this value in each, as many as `from` has (SQL; empty: one). The first `skips`
 * of them are answered rightly, and so are those by which a new connection begins. */
void proxy_arm_hostile(struct proxy *p, bool lanes, const char *begins, unsigned skips, const char *value, int more,
                       const char *from);
/* Lies in wait for nothing any more. Did it strike? */
bool proxy_disarm(struct proxy *p) MUST_CHECK;
/* Behind the statement for which it lies in wait nobody gets in any more, until proxy_let_in. */
void proxy_shut_behind(struct proxy *p);
void proxy_let_in(struct proxy *p);
/* Waits 10 s at most until it came. */
bool proxy_struck(struct proxy *p) MUST_CHECK;
/* Sends what BREACH_LATE kept back, and waits until the server has answered it, or closed the connection long ago.
 * false: nothing was kept. */
bool proxy_deliver(struct proxy *p) MUST_CHECK;
/* Sends what BREACH_WAIT kept back. */
void proxy_go_on(struct proxy *p);

#endif
