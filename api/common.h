/* common.h - what the process owns: all that its loops share. Each part never changes while loops run, has a lock of
 * its own, or is atomic. What a loop owns is struct requests (request.h); struct service_loop (service.c) adds its
 * sockets and events. */
#ifndef COMMON_H
#define COMMON_H

#include "engine/base/base.h"

#include <stdatomic.h>

struct activity;
struct counts;
struct engine;
struct key_limit;
struct keys;
struct request;
struct requests;
struct text;
struct tls;
struct told;
struct webhook_options;

struct common {
	/* ---- never changes while loops run */
	struct engine                *engine; /* takes operations from any thread */
	const struct webhook_options *webhooks;
	const char                   *public_hosts; /* see service.h */
	bool                          known_only;   /* see service.h, too */
	size_t                        body_max;
	struct requests              *loops;                /* the requests of the first loop, the others by ->other */
	bool (*ready)(void *arg, struct text *checks_json); /* true: everything is well. Any thread may ask. */
	void             *ready_arg;
	const struct tls *tls;   /* NULL: plain text */
	bool              notes; /* call access_asked for each request */
	/* Called with each answer that has a line (access.h), before the answer is sent; may be NULL. It takes
	 * access->lock. */
	void (*told)(void *arg, const struct request *r, const struct told *told);
	void *told_arg;
	/* ---- each with a lock of its own: no code holds two of them */
	struct keys      *keys;      /* keys->lock; NULL: every call is let in */
	struct key_limit *key_limit; /* keys->lock; NULL: without keys */
	struct counts    *counts;    /* counts->lock */
	struct activity  *activity;  /* activity->lock */
	/* ---- atomic */
	_Atomic bool leaving;  /* /readyz says 503, for the process is to end */
	_Atomic bool draining; /* the loops take no more clients, and each answer is the last of its connection */
};

#endif
