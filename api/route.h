/* route.h - the way from a request to its call (routes.def), and the caller's right to make it. */
#ifndef ROUTE_H
#define ROUTE_H

#include "engine/base/base.h"

struct asked;
struct common;
struct request;

/* Has the handler of the call run, or answers 401, 403, 404, 405, 413 or 429. */
void route_dispatch(struct request *r);
/* For the head of a request: the bytes of body that its call takes, with the bytes that chunks add; 0: dispatch the
 * request without its body: it is answered 401, 403, 404, 405 or 413. The caller's key is noted in asked->known. */
uint64_t route_takes(const struct common *common, struct asked *asked) MUST_CHECK;

#endif
