/* attack.h - attacks on the service: raw bytes on sockets that are held open, and beside them a decent client that
 * measures how long it waits. Loopback TCP. */
#ifndef TESTS_ATTACK_H
#define TESTS_ATTACK_H

#include "engine/base/text.h"
#include "engine/base/base.h"

/* Opens a connected socket. Ends the test if no server listens. */
int attack_open(int port);
/* Sends all of it, waiting for room 5 s at most. false: the other side is gone, or does not take it. */
bool attack_send(int fd, const void *bytes, size_t len);
bool attack_say(int fd, const char *text);
/* Sends as many bytes as are taken without waiting; returns their number. */
size_t attack_push(int fd, const void *bytes, size_t len);
/* Adds the bytes that come until the end, or for `wait_ms` at most. true: the stream ended. */
bool attack_hear(int fd, int wait_ms, struct text *out);
/* Adds the bytes that come until there are `count` answers, 10 s at most, and within 150 ms after that. true: the
 * stream ended. */
bool attack_hear_answers(int fd, int count, struct text *out);
/* Waits for the end, and drops the bytes before it. */
bool attack_ends(int fd, int wait_ms);
/* Closes so that the other side sees a reset. */
void attack_reset(int fd);
/* Counts the answers in the text; *status: of the last one. */
int attack_answers(const struct text *heard, int *status);
/* Makes `count` sockets possible: raises the soft limit. false: the hard limit is lower. */
bool attack_files(size_t count) MUST_CHECK;
/* Resident memory of a process in KiB; 0 under AddressSanitizer, which keeps freed memory. */
long attack_rss(int pid);

/* A thread that reserves a unit of A again and again on a connection of its own. */
struct decent;
struct decent *decent_start(int port); /* returns after the first reservation */
/* Goes on until a hundred reservations were made, for 20 s at most; fails the test if an answer was not 201. */
void decent_finish(struct decent *d, const char *beside);

#endif
