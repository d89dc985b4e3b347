/* key_limit.h - the limit of units that reservations of a key may hold open (held=N in the file of keys). One thread:
 * the loop's. */
#ifndef KEY_LIMIT_H
#define KEY_LIMIT_H

#include "api/keys.h"
#include "engine/engine.h"

struct key_limit;

/* Counts the units of all keys with a limit, and waits for that: 10 s at most. */
struct key_limit *key_limit_open(struct keys *k, struct engine *e, struct loop *loop);
/* Call some times a second: counts again when it is time, and has the database note which keys were used. NULL is fine,
 * here and below: no keys. */
void key_limit_tick(struct key_limit *l);
void key_limit_free(struct key_limit *l); /* after loop_free */

/* Call before operations of this key, a list by op->next, are started: reservations and movements get the key's number
 * and name, reservations learn how many units the key may hold on top. */
void key_limit_begin(struct key_limit *l, struct key *key, struct op *first);
/* Call when an operation has come back with its outcome, or never began: BUSY. */
void key_limit_end(struct key_limit *l, struct key *key, const struct op *op);

#endif
