/* table.h - a file of records, one after the other: CSV (RFC 4180, read by libcsv) separated by commas, semicolons or
 * tabs, in UTF-8 or UTF-16, with any ends of lines. It knows no column by its name. */
#ifndef TABLE_H
#define TABLE_H

#include "engine/base/text.h"

#include <openssl/evp.h>

struct record {
	int64_t line;    /* the line of the file on which it begins, from 1 */
	size_t  count;   /* number of fields */
	bool    empty;   /* every field is */
	size_t  raw_len; /* bytes in `whole` without the end of the line */
	/* ---- its own */
	struct text whole; /* the record as it stands in the file, in UTF-8 */
	struct text bytes; /* the fields, with a NUL behind each */
	size_t     *ends, ends_max;
};
/* Field i of them, and its length; a NUL stands behind it. */
const char *record_field(const struct record *r, size_t i, size_t *len);

struct table {
	const char *file;
	EVP_MD_CTX *sha; /* every byte of the file goes into its digest; NULL: none does */
	/* How well a name of a column is known, from 0; the separator that makes the first line the best known is
	 * taken. */
	int (*known)(void *arg, const char *name, size_t len);
	/* Is given each record, the first line too, which lives until it returns. false: the reading ends. */
	bool (*each)(void *arg, const struct record *r);
	void *arg;
	void (*read)(void *arg, int64_t bytes); /* may be NULL: is told how far the reading is */
	char separator;                         /* found: , ; or a tab; 0: none is known yet */
};
/* Reads the file from its beginning to its end. false: it cannot be read, or is not CSV, which a message has said; or
 * `each` has ended it, which said why. */
bool table_read(struct table *t) MUST_CHECK;
/* "commas", "semicolons" or "tabs". */
const char *table_separators(const struct table *t);

#endif
