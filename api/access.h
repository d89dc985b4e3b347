/* access.h - what is written of single requests: a line for each in a file of its own (--access-log), and lines in the
 * log for those that took long (--slow-ms), that were answered 5xx or 401, or by which an admin key changed something.
 * One thread: the loop's. */
#ifndef ACCESS_H
#define ACCESS_H

#include "engine/base/base.h"

struct asked;
struct request;
struct requests;

struct access_options {
	const char *file;    /* of a line for each request; "-": stdout; NULL: none */
	int64_t     slow_ms; /* a request that took longer has a line in the log; 0: none has */
};
struct access;
/* NULL: `why` says why the file cannot be written. */
struct access *access_open(const struct access_options *options, char *why, size_t why_size) MUST_CHECK;
/* Has the lines written of the requests that come from now on. */
void access_watch(struct access *a, struct requests *all);
/* Keeps of a request that has come what its lines will say. For requests->notes, before its route is looked for. */
void access_asked(struct access *a, struct request *r, const struct asked *asked);
void access_tick(struct access *a); /* writes the lines of the last tenth of a second */
/* Opens the file anew: somebody may have moved it away. false: there is none. */
bool access_reopen(struct access *a) MUST_CHECK;
void access_close(struct access *a);

#endif
