/* sku_details.h - what a shop says of a sku beside its units: its name, its barcodes, its thresholds, and why its sale
 * is stopped. A list that one answer has, of one sku or of many. Zero-initialised is empty. */
#ifndef SKU_DETAILS_H
#define SKU_DETAILS_H

#include "engine/db/row.h"

/* SKU_NAME_MAX: characters of a name; SKU_NAME_BYTES: and bytes. BARCODES_MAX: barcodes of a sku. */
enum { SKU_NAME_MAX = 200, SKU_NAME_BYTES = 4 * SKU_NAME_MAX, BARCODES_MAX = 20, BARCODE_MAX = 64 };

/* In the order in which those of a sku stand; the numbers are those of stock.sql. */
enum sku_detail_kind { DETAIL_NAME = 1, DETAIL_BARCODE = 2, DETAIL_THRESHOLD = 3, DETAIL_STOP = 4 };
struct sku_detail {
	uint32_t             sku_id;
	enum sku_detail_kind kind : 8;
	int64_t              number; /* the place of a barcode; the units of a threshold */
	char *text; /* the name, the barcode, the location of a threshold (NULL: over all), or the reason of a stop
	               (NULL: none was given); owned */
};
struct sku_details {
	struct sku_detail *list;
	size_t             count, max;
};
void sku_details_reset(struct sku_details *d); /* frees what is in it; the memory stays */
void sku_details_fini(struct sku_details *d);

/* Adds a row of statement sku_details. */
void sku_details_read(struct sku_details *d, const struct db_row *row);
/* Sorts by sku, kind, then by place or by location. Before the next two. */
void sku_details_sort(struct sku_details *d);
/* Those of one sku, a range of the list. */
const struct sku_detail *sku_details_of(const struct sku_details *d, uint32_t sku_id, size_t *count);
/* True: the sale of this sku is stopped. */
bool sku_details_stopped(const struct sku_details *d, uint32_t sku_id);
/* Adds copies of those of one sku behind what is in `to`. */
void sku_details_copy(struct sku_details *to, const struct sku_details *from, uint32_t sku_id);

#endif
