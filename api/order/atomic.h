/* atomic.h - calls on several orders with "atomic": true. All of their items are done, in one transaction, or none. */
#ifndef ATOMIC_H
#define ATOMIC_H

#include "engine/base/json.h"
#include "engine/outcome.h"

struct request;

/* False: so many items are too many, and the call is answered. */
bool atomic_fits(struct request *r, size_t items) MUST_CHECK;
/* Answers the call for its malformed item `i`. `within` is the field inside of the item, may be empty, and follows
 * NAME[i]. */
void atomic_refuse(struct request *r, const char *name, size_t i, enum outcome why, const char *within,
                   const char *detail);
/* False: the items that were read have too many lines together, and the call is answered. */
bool atomic_has_room(struct request *r) MUST_CHECK;
/* Starts the operations of the call, all of which are read. `results` writes the results of a request. */
void atomic_start(struct request *r, const char *name, void (*results)(struct json_writer *w, void *request));

#endif
