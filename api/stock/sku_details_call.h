/* sku_details_call.h - the name, the barcodes and the thresholds of skus in requests and answers. */
#ifndef API_SKU_DETAILS_H
#define API_SKU_DETAILS_H

#include "engine/base/json.h"
#include "engine/catalogue/sku_details.h"

struct sku_put;

/* Takes the members `name` and `barcodes` of a PUT, where they are there. */
void sku_details_take(struct json_reader *in, struct sku_put *put);
/* The members of one sku that has them; of a sku in a list without its thresholds. */
void sku_details_write(struct json_writer *w, const struct sku_details *d, uint32_t sku_id, bool thresholds);

#endif
