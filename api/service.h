/* service.h - the service: its loop, its sockets, its requests, from opening to the drain. The main thread runs it. */
#ifndef SERVICE_H
#define SERVICE_H

#include "engine/base/text.h"

struct access;
struct engine;
struct keys;
struct listenings;
struct tls;
struct webhook_options;

struct service_options {
	struct listenings            *listen; /* bound; it listens from service_open to service_close */
	size_t                        body_max;
	size_t                        connections_max, buffered_max; /* see connection.h for these four */
	int64_t                       request_s, idle_s;
	struct keys                  *keys;                 /* NULL: every call is let in .. */
	const char                   *public_hosts;         /* .. by TCP under these names, too; NULL: no more */
	bool                          known_only;           /* movements make nothing unless they say so */
	struct tls                   *tls;                  /* NULL: plain text */
	const struct webhook_options *webhooks;             /* of calls about webhooks */
	struct access                *access;               /* lines about single requests */
	int64_t                       drain_delay_s;        /* time after SIGTERM in which calls are still taken */
	bool (*ready)(void *arg, struct text *checks_json); /* true: everything is well */
	bool (*hung_up)(void *arg);                         /* SIGHUP has come; true: something was read again */
	void *arg;
};

struct service;
/* Opens the service. NULL: another program listens on one of the addresses, `why` says which. */
struct service *service_open(const struct service_options *options, struct engine *e, char *why, size_t why_size);
/* Runs until SIGTERM or SIGINT, for drain_delay_s more unless one of them comes again, and until every client is
 * answered: by *drained_by_ms (clock_ms) at the latest. Exit status. */
int  service_run(struct service *s, int64_t *drained_by_ms);
void service_close(struct service *s); /* closes the sockets; the engine may still bring operations back */
void service_free(struct service *s);  /* frees the service; call after engine_close */

#endif
