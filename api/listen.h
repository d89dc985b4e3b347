/* listen.h - the socket that the service listens on. */
#ifndef LISTEN_H
#define LISTEN_H

#include "engine/base.h"

struct event_base;
struct evconnlistener;

struct listening {
	char address[160];   /* as clients may use it: 127.0.0.1:8080, unix:PATH */
	char unix_path[108]; /* to be unlinked at the end; empty for TCP */
	bool open;           /* other machines may come in */
};

/* Listens on ADDR:PORT (without keys a loopback address) or unix:PATH, a socket of mode 0660. NULL: `why` says why
 * not. */
struct evconnlistener *listen_open(struct event_base *base, const char *where, bool keyed, struct listening *at,
                                   char *why, size_t why_size) MUST_CHECK;

#endif
