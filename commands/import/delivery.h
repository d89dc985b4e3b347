/* delivery.h - a file as lines of movements of a kind, or as it may be read several times: what a row means, and what
 * is wrong with it. Whoever gets the rows sends them; nothing here knows a database.
 *
 * Rows are numbered, bad ones too, so that a number means the same row when a bad one was put right. Blank lines have
 * no number; a row of empty fields has one, and is passed over. */
#ifndef DELIVERY_H
#define DELIVERY_H

#include "commands/import/columns.h"
#include "commands/import/keyset.h"

struct delivery_row {
	int64_t     line;                /* the line of the file on which the row begins, from 1 */
	int64_t     number;              /* of the rows of the file, from 1 */
	const char *wrong;               /* the fault of the row; NULL: none, and the rest is valid */
	const char *sku, *location, *to; /* location: also the begin of a transfer; NULL: not given */
	int64_t     qty;                 /* also what was counted */
	int64_t     expected;            /* of a count; -1: none */
	int64_t     as_of;               /* of a count, ms; 0: none */
	bool        loses;               /* a count or an adjustment that takes promised units, too .. */
	const char *waits_at;            /* .. and where orders that lose them wait; NULL: waits_at of the location */
};

struct delivery {
	const char        *file;
	enum movement_kind kind;
	/* Is given each row, which lives until it returns. */
	void (*each)(void *arg, const struct delivery_row *row);
	void       *arg;
	EVP_MD_CTX *sha;   /* every byte of the file goes into its digest; NULL: none does */
	bool        tells; /* messages name what is passed over */
	/* ---- found */
	int64_t numbers; /* of rows: the last one's */
	/* ---- its own */
	struct table   table;
	struct columns columns;
	bool           headed;
	struct keyset  counted; /* the skus and locations that were counted */
};
/* Reads the file from its beginning to its end. false: the file cannot be read, is not CSV or has no fitting first
 * line; a message has said so, and the rows given so far are void. */
bool delivery_read(struct delivery *d) MUST_CHECK;

#endif
