/* access.h - lines about single requests. Each request has a line in a file of its own (--access-log). The log has
 * lines for requests that took long (--slow-ms), were answered 5xx or 401, or changed something by an admin key. Any
 * loop. */
#ifndef ACCESS_H
#define ACCESS_H

#include "engine/base/base.h"

struct asked;
struct common;
struct request;

struct access_options {
	const char *file;    /* the access log; "-": stdout; NULL: none */
	int64_t     slow_ms; /* a request that took longer has a line in the log; 0: none has */
};
struct access;
/* NULL: `why` says why the file cannot be written. */
struct access *access_open(const struct access_options *options, char *why, size_t why_size) MUST_CHECK;
/* From now on the lines of requests are written. */
void access_watch(struct access *a, struct common *common);
/* Keeps the facts of a request that its lines will need. Call it where common->notes is set, before the route is
 * looked for. */
void access_asked(struct access *a, struct request *r, const struct asked *asked);
void access_tick(struct access *a); /* writes the lines of the last tenth of a second */
/* Opens the file again, as logrotate may have moved it away. false: there is no file. */
bool access_reopen(struct access *a) MUST_CHECK;
void access_slow_set(struct access *a, int64_t slow_ms); /* as in the options, from now on. The first loop's thread */
void access_close(struct access *a);

#endif
