/* meets.h - compares answers with the model's verdict. Pure. */
#ifndef TESTS_MODEL_MEETS_H
#define TESTS_MODEL_MEETS_H

#include "tests/kit/http.h"
#include "tests/model/model.h"

/* The units in the lines of an answer, or of a result. */
void meets_shown(const cJSON *root, struct cells *to);
bool meets_answer(const struct answer *a, const struct ask *ask, const struct verdict *v, const struct model *m,
                  struct text *why);
bool meets_result(const cJSON *result, const struct ask *ask, const struct verdict *v, const struct model *m,
                  struct text *why);
/* A reservation of a list. *id: its number. */
bool meets_item(const cJSON *item, const struct model *m, int *id, struct text *why);
/* GET /v1/skus/{sku}, and one item of POST /v1/availability. `exactly`: no hold waits to be swept. */
bool meets_sku(const struct answer *a, struct model *m, int sku, bool exactly, struct text *why);
/* PUT /v1/skus/{sku} just now, and GET /v1/skus/{sku}/customers/{customer}. */
bool meets_limit(const struct answer *a, const struct model *m, int sku, int status, struct text *why);
bool meets_has(const struct answer *a, const struct model *m, int sku, int customer, struct text *why);
bool meets_availability(const cJSON *item, const struct model *m, int sku, struct text *why);
/* A page of GET /v1/skus/{sku}/waiting: all orders that wait, in their order. */
bool        meets_queue(const struct answer *a, const struct model *m, int sku, int place, struct text *why);
const char *meets_kind(enum kind kind);

#endif
