/* delivery.h - lines of movements in a CSV file (RFC 4180, read by libcsv) with a header that names the columns of the
 * kind of movement, once each; a row is a line of it. Blank rows and other columns are skipped. */
#ifndef DELIVERY_H
#define DELIVERY_H

#include "engine/rows.h"

#include <openssl/evp.h>

struct delivery_row {
	int64_t     line;                /* the line of the file on which the row begins, from 1 */
	const char *wrong;               /* the fault of the row; NULL: none, and the rest is valid */
	bool        again;               /* the sku with a location of the row stood there since the last such row */
	const char *sku, *location, *to; /* location: also the begin of a transfer; NULL: not given */
	int64_t     qty;                 /* also what was counted */
	int64_t     expected;            /* of a count; -1: none */
	int64_t     as_of;               /* of a count, ms; 0: none */
	bool        loses;               /* a count or an adjustment that takes promised units, too .. */
	const char *waits_at;            /* .. and where orders that lose them wait; NULL: waits_at of the location */
};

/* Reads the file from its beginning to its end; `each` is given every row, which lives until it returns. With `sha`
 * every byte goes into its digest, and a message names the skipped columns; NULL: neither. false: the file cannot be
 * read, is not CSV or has no such header; a message has said so, and the rows given so far are void. */
bool delivery_read(const char *file, enum movement_kind kind, EVP_MD_CTX *sha,
                   void (*each)(void *arg, const struct delivery_row *row), void *arg) MUST_CHECK;

#endif
