/* delivery.h - a delivery of stock in a CSV file (RFC 4180, read by libcsv) with a header that names the columns sku,
 * qty and perhaps location, once each, and a line of a receipt in each row. Blank rows and other columns are passed
 * over. */
#ifndef DELIVERY_H
#define DELIVERY_H

#include "engine/base/base.h"

#include <openssl/evp.h>

struct delivery_row {
	int64_t     line;           /* the line of the file on which the row begins, from 1 */
	const char *wrong;          /* the fault of the row; NULL: none, and the rest is valid */
	const char *sku, *location; /* location: NULL where none is given */
	int64_t     qty;            /* 1 to 1,000,000,000 */
};

/* Reads the file from its beginning to its end; `each` is given every row, which lives until it returns. `sha` takes in
 * every byte, for its digest, and other columns are told; NULL: neither. false: the file cannot be read, is not CSV or
 * has no such header, which was told; the rows given so far are void. */
bool delivery_read(const char *file, EVP_MD_CTX *sha, void (*each)(void *arg, const struct delivery_row *row),
                   void *arg) MUST_CHECK;

#endif
