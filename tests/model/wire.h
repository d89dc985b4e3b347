/* wire.h - what the model was asked as an HTTP request, and what came back held against the model's verdict. Pure. */
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
void        wire_limit(struct call *to, int sku, int64_t limit, bool left_out);
void        wire_has(struct call *to, int sku, int customer);

/* The units that the lines of an answer, or of a result, show. */
void wire_shown(const cJSON *root, struct cells *to);
bool wire_meets(const struct answer *a, const struct ask *ask, const struct verdict *v, const struct model *m,
                struct text *why);
bool wire_result_meets(const cJSON *result, const struct ask *ask, const struct verdict *v, const struct model *m,
                       struct text *why);
/* A reservation of a list. *id: which it is. */
bool wire_item_meets(const cJSON *item, const struct model *m, int *id, struct text *why);
/* GET /v1/skus/{sku}, and one item of POST /v1/availability. `exactly`: nothing waits to be swept. */
bool wire_sku_meets(const struct answer *a, struct model *m, int sku, bool exactly, struct text *why);
/* PUT /v1/skus/{sku} just now, and GET /v1/skus/{sku}/customers/{customer}. */
bool wire_limit_meets(const struct answer *a, const struct model *m, int sku, int status, struct text *why);
bool wire_has_meets(const struct answer *a, const struct model *m, int sku, int customer, struct text *why);
bool wire_availability_meets(const cJSON *item, const struct model *m, int sku, struct text *why);

#endif
