/* delivery.h - reads a file, as often as its caller asks, as lines of movements of one kind. It says of each row what
 * the row means, or what is wrong with it. The caller sends the rows; delivery.c knows no database.
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
	bool        idle;                /* a good row that is only there: it says no number of units */
	const char *raw;                 /* the row as it stands in the file, in UTF-8 .. */
	size_t      raw_len;             /* .. without the end of the line */
	const char *sku, *location, *to; /* location: also the begin of a transfer; NULL: not given */
	int64_t     qty;                 /* also what was counted */
	int64_t     expected;            /* of a count or an adjustment; -1: none */
	int64_t     as_of;               /* of a count, ms; 0: none */
	bool        loses;               /* a count or an adjustment that takes promised units, too .. */
	const char *waits_at;            /* .. and where orders that lose them wait; NULL: waits_at of the location */
	/* ---- of an order */
	const char *order_id, *customer;     /* customer: NULL: none */
	bool        held;                    /* otherwise it is confirmed */
	int64_t     waits_since, ship_after; /* ms; 0: none */
};

/* Rows that are neither loaded nor bad, and rows that are not loaded as they stand. */
struct passed {
	int64_t empty;            /* all of their fields are */
	int64_t no_sku, no_units; /* of a shop system's export: goods without a sku, or without a number of units */
	int64_t below, at_zero;   /* .. below 0, which is 0; at 0 in a list of what is received */
	int64_t ended;            /* of orders that are not open any more */
	int64_t summed;           /* added to an earlier row for the same sku and location */
};

struct delivery {
	const char   *file;
	struct naming naming; /* the kind of the list, and the names of its columns */
	bool          sums;   /* rows of a count for one sku and location are added up */
	bool          makes;  /* a receipt may have rows of 0 units, which make their skus */
	/* Is given each row, which lives until it returns. */
	void (*each)(void *arg, const struct delivery_row *row);
	void       *arg;
	EVP_MD_CTX *sha;                        /* every byte of the file goes into its digest; NULL: none does */
	bool        tells;                      /* messages name what is passed over */
	void (*read)(void *arg, int64_t bytes); /* is told how far the reading is; NULL: it is not */
	/* ---- found */
	int64_t       numbers; /* of rows: the last one's */
	struct passed passed;
	struct text   head, names; /* the first line, and which columns of it hold what */
	/* ---- its own */
	struct table   table;
	struct columns columns;
	bool           headed;
	struct text   *places;  /* the locations that have a column of units each */
	struct keyset  counted; /* the skus and locations that were counted. With `sums` what was counted in all, n, or
	                         -1 - n: every second reading turns each from one to the other with its first row */
	unsigned      readings;
	char          order_id[ID_MAX + 1], customer[ID_MAX + 1]; /* of the order under way, by its first row */
	int           order_rows;                                 /* of it, so far */
	bool          held;
	int64_t       waits_since, ship_after;
	struct keyset orders;     /* those that have had a row */
	struct keyset bad_orders; /* those that a reading found a bad row of: it is kept for the next reading */
};
/* Reads the file from its beginning to its end. With `sums` the first reading gives each row as it stands, and every
 * later one gives the first row of a sku and location with the sum. false: the file cannot be read, is not CSV or has
 * no fitting first line; a message has said so, and the rows given so far are void. */
bool delivery_read(struct delivery *d) MUST_CHECK;
void delivery_fini(struct delivery *d);

#endif
