/* farewell.h - the last answer on a connection whose bytes are no request, or that has to go for another reason. */
#ifndef FAREWELL_H
#define FAREWELL_H

struct bufferevent;

struct last_words {
	int         status;
	const char *code, *detail; /* of the problem */
	const char *id;            /* X-Request-Id */
};

/* Sends the answer, ends the sending side, and throws away what still comes, because closing at once could take the
 * answer away from a client that is still sending. `ended`, a callback of the bufferevent, is called when the client is
 * gone; the bufferevent stays the caller's. One thread: the loop's. */
void farewell(struct bufferevent *bev, const struct last_words                    *words,
              void (*ended)(struct bufferevent *bev, short what, void *arg), void *arg);

#endif
