/* wire.h - a call of the model as an HTTP request. Pure. */
#ifndef TESTS_WIRE_H
#define TESTS_WIRE_H

#include "tests/kit/http.h"
#include "tests/model/model.h"

enum { WIRE_WRONGS = 4 }; /* faults that a body can have, 1 to this */

/* Chance that can be repeated: the whole run hangs on one seed. */
unsigned chance_of(uint64_t *chance, unsigned n); /* 0 to n - 1 */
/* A number of the environment: a seed, a length. */
uint64_t number_from(const char *name, uint64_t otherwise);

/* Lines go in any order and perhaps in two parts, because that makes no difference. */
void wire_ask(struct call *to, const struct ask *ask, uint64_t *chance);
/* Reservations in one call; confirmations or releases, all as the first is. */
void        wire_batch(struct call *to, const struct ask *asks, int count, uint64_t *chance);
void        wire_changes(struct call *to, const struct ask *asks, int count);
const char *wire_sku(int sku);
const char *wire_place(int place);
const char *wire_customer(int customer);
void        wire_limit(struct call *to, int sku, int64_t limit, bool left_out);
void        wire_has(struct call *to, int sku, int customer);
void        wire_queue(struct call *to, int sku, int place); /* the orders that wait */

#endif
