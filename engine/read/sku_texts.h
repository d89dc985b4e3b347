/* sku_texts.h - the texts by which skus are found: code, name and barcodes of each, in one block of memory that a
 * search walks from its beginning to its end. 200,000 skus of 25 bytes of code and barcode and 30 of name take 13 MiB.
 * One thread. Pure. */
#ifndef SKU_TEXTS_H
#define SKU_TEXTS_H

#include "engine/base/base.h"

/* The texts of a sku as they stand in the database. Barcodes stand behind each other, BARCODE_GAP between them. A NUL
 * stands behind each. */
enum { BARCODE_GAP = 0xfe };
enum { TEXT_FOUND_MAX = 800 }; /* bytes of a text that is looked for */
struct sku_text {
	uint32_t    sku_id;
	const char *code, *name, *barcodes; /* name, barcodes: NULL: none */
	size_t      code_len, name_len, barcodes_len;
};

/* Zero-initialised is empty, with max set. */
struct sku_texts {
	size_t              max;   /* bytes that it may take */
	char               *bytes; /* records, one behind the other */
	size_t              used, size, dead;
	struct text_record *records; /* in the order of the bytes; a sku_id of 0: a later record has taken its place */
	size_t              records_count, records_max;
	uint32_t           *by_id; /* the places in `records` of those that live, by sku_id */
	size_t              count, by_id_max;
};
void sku_texts_fini(struct sku_texts *t); /* empty, and takes no memory */

/* Enters a sku, or its new texts. False: it would take more memory than it may. */
bool sku_texts_put(struct sku_texts *t, const struct sku_text *text) MUST_CHECK;
/* The code of a sku, which is no string; NULL: the sku is not there. */
const char *sku_texts_code(const struct sku_texts *t, uint32_t sku_id, size_t *len);
size_t      sku_texts_memory(const struct sku_texts *t); /* bytes */

/* A sku that a search has found. */
struct sku_found {
	uint32_t    sku_id;
	bool        exact; /* its code or a barcode is what was looked for, and not only contains it */
	size_t      len;   /* of its code .. */
	const char *code;  /* .. which is no string */
};
/* Writes the first `max` skus that contain `text` (folded, at least one byte) to `list`, and returns their number.
 * Exact ones come first, then the order is that of codes. `after` (NULL: none): begins behind it. */
size_t sku_texts_find(const struct sku_texts *t, const char *text, size_t len, const struct sku_found *after,
                      struct sku_found *list, size_t max);
/* Whether the sku would be exact; false also where it is not there. */
bool sku_texts_exact(const struct sku_texts *t, const char *text, size_t len, uint32_t sku_id);

#endif
