/* attack.h - what a decent client never does: raw bytes on sockets that are held open, and a decent client by the side
 * that measures how long it waits meanwhile. Loopback TCP. */
#ifndef TESTS_ATTACK_H
#define TESTS_ATTACK_H

#include "engine/base/text.h"
#include "engine/base/base.h"

/* A connected socket. Ends the test if nobody listens. */
int attack_open(int port);
/* Sends all of it, waiting for room 5 s at most. false: the other side is gone, or does not take it. */
bool attack_send(int fd, const void *bytes, size_t len);
bool attack_say(int fd, const char *text);
/* As much as is taken without waiting. */
size_t attack_push(int fd, const void *bytes, size_t len);
/* Adds what comes until the end, or for `wait_ms` at most. true: it ended. */
bool attack_hear(int fd, int wait_ms, struct text *out);
/* Adds what comes until there are so many answers, 10 s at most, and what follows within 150 ms. true: it ended. */
bool attack_hear_answers(int fd, int count, struct text *out);
/* Waits for the end without keeping what comes before it. */
bool attack_ends(int fd, int wait_ms);
/* Closes so that the other side sees a reset. */
void attack_reset(int fd);
/* How many answers stand in it; *status is that of the last. */
int attack_answers(const struct text *heard, int *status);
/* As many sockets as there are: raises the soft limit. false: the hard limit is lower. */
bool attack_files(size_t count) MUST_CHECK;
/* Resident memory of a process in KiB; 0 under AddressSanitizer, which keeps what was freed. */
long attack_rss(int pid);

/* A thread that reserves a unit of A again and again on a connection of its own. */
struct decent;
struct decent *decent_start(int port); /* returns when the first is done */
/* Goes on until there were a hundred, for 20 s at most, and fails the test if an answer was not 201. */
void decent_finish(struct decent *d, const char *beside);

#endif
