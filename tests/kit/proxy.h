/* proxy.h - stands between the program and its database and breaks or stops a connection, or a statement, of the test's
 * choice.
 *
 * service ──▶ proxy ──▶ MariaDB the statement is known by a text in it, which has to be in one packet
 *
 * The proxy has a thread of its own; the functions below are for the test's thread. */
#ifndef TESTS_PROXY_H
#define TESTS_PROXY_H

#include "tests/kit/scratch.h"

/* Faults of a statement and its connection. */
enum breach {
	BREACH_WAIT, /* the statement is kept back until proxy_go_on; the client waits and notices nothing */
	BREACH_LATE, /* the statement is kept back until proxy_deliver; the client loses the connection at once */
	BREACH_DEAF, /* the server gets it; neither side notices that the connection is cut before the server answers */
	BREACH_MUTE, /* the server gets it, and answers; then the connection is cut, and the answer is lost */
	BREACH_TORN, /* as MUTE, after the first kB of the answer; no client gets in before proxy_let_in */
	BREACH_WRONG, /* the server gets a text that it refuses, as if it had been interrupted; twice */
	BREACH_OTHER, /* the server gets another statement: proxy_arm_other */
	BREACH_ROWS,  /* .. that gives other rows: proxy_arm_hostile */
};

struct proxy;

/* From here on the way to the database leads through the proxy. Call it before any program is started. */
struct proxy *proxy_open(struct scratch *s);
void          proxy_close(struct proxy *p);
/* While `stalls` is true no byte passes, in either direction, and no client gets in, as if the server stood still. */
void proxy_stall(struct proxy *p, bool stalls);
/* Waits for one statement with this text, and breaks it. */
void proxy_arm(struct proxy *p, enum breach breach, const char *text);
/* As proxy_arm, for a statement of a lane only: other threads of the program send the same text, too. */
void proxy_arm_lane(struct proxy *p, enum breach breach, const char *text);
/* The server gets `sql` instead of the `nth` statement that a lane sends from here on, from 1, or of its next COMMIT
 * (0).
 */
void proxy_arm_other(struct proxy *p, size_t nth, const char *sql);
/* The server gets `sql` instead of the next statement with this text that is sent by another connection than a
 * lane's. */
void proxy_arm_instead(struct proxy *p, const char *text, const char *sql);
/* Until proxy_disarm every statement that begins with `begins`, of lanes or of all others, is answered by other rows:
 * they have `more` columns more, and this value in each; there are as many as `from` has (SQL; empty: one). The first
 * `skips` of these statements get the right answer, and so do the first statements of a new connection. */
void proxy_arm_hostile(struct proxy *p, bool lanes, const char *begins, unsigned skips, const char *value, int more,
                       const char *from);
/* Ends the wait for a statement. True: the breach has happened. */
bool proxy_disarm(struct proxy *p) MUST_CHECK;
/* After the awaited statement no client gets in before proxy_let_in. */
void proxy_shut_behind(struct proxy *p);
void proxy_let_in(struct proxy *p);
/* Waits 10 s at most until the breach has happened. */
bool proxy_struck(struct proxy *p) MUST_CHECK;
/* Sends the statement that BREACH_LATE kept back, and waits until the server has answered it, or closed the connection.
 * false: nothing was kept. */
bool proxy_deliver(struct proxy *p) MUST_CHECK;
/* Sends the statement that BREACH_WAIT kept back. */
void proxy_go_on(struct proxy *p);

#endif
