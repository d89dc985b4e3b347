/* bulk.h - reads of many skus and orders in one call, for the model (model.h). Pure. */
#ifndef TESTS_MODEL_BULK_H
#define TESTS_MODEL_BULK_H

#include "tests/kit/http.h"
#include "tests/model/model.h"

enum { BULK_MAX = 1000 }; /* orders of a call */

/* POST /v1/stock of every sku: each item is the answer of the single read. */
void bulk_stock(struct call *to);
bool bulk_stock_meets(const struct answer *a, struct model *m, struct text *why);
/* POST /v1/reservations/find of the orders from `first` on; null for an order that was not made. */
void bulk_find(struct call *to, const struct model *m, int first);
bool bulk_find_meets(const struct answer *a, const struct model *m, int first, struct text *why);

#endif
