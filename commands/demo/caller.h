/* caller.h - a client of a service: JSON over HTTP/1.1, one call at a time over one kept connection. One thread. */
#ifndef CALLER_H
#define CALLER_H

#include "engine/base/json.h"

struct caller;
/* `url` is http://HOST:PORT or https://HOST:PORT, of a service or of a proxy before it. `key` NULL: calls bear none. */
struct caller *caller_open(const char *url, const char *key);
void           caller_close(struct caller *c);
/* The address that is called: `url` without a slash at its end. */
const char *caller_url(const struct caller *c);
/* Makes a call. `body` NULL: it has none. Returns the status of the answer; 0: none came. */
int caller_call(struct caller *c, const char *method, const char *path, const struct text *body);
/* The JSON of the last answer, which the next call frees; NULL: it was none. */
const void *caller_answer(const struct caller *c);
/* Adds a member of an object of an answer as it reads; nothing where there is none, or no object (NULL). */
void caller_text(struct text *to, const void *object, const char *name);
/* Why the last call was not answered with 2xx: the answer's `detail`, or what went wrong on the way. */
const char *caller_why(const struct caller *c);

#endif
