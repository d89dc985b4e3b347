/* sku_json.h - one sku as answers have it: its units, by location, and what is said of it. */
#ifndef SKU_JSON_H
#define SKU_JSON_H

#include "engine/base/json.h"
#include "engine/op.h"

/* A sku, its limit, its units by location, and its details. */
struct sku_answer {
	const struct sku         *sku;
	struct total             *totals; /* in any order; they are sorted */
	size_t                    count;
	const struct sku_details *details; /* NULL: they were not asked for */
};
/* Puts the members of GET /v1/skus/{sku}: of a struct sku_answer. */
void sku_answer_write(struct json_writer *w, void *answer);
/* An element of `locations`. */
void sku_total_write(struct json_writer *w, const struct sku *sku, const struct total *t);
/* The member per_customer; 0: there is no limit. */
void sku_limit_write(struct json_writer *w, int64_t per_customer);

#endif
