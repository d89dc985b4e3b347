/* place.h - databases with much in them, made in bulk by SQL: skus, and reservations that came before. All that the
 * audit asks for is there. One thread. */
#ifndef PLACE_H
#define PLACE_H

#include "ledger.h"

enum { TREES = 4 };

/* A B-tree on disk, in pages of 16 KiB. */
struct tree {
	int64_t pages, leaves;
};

struct place {
	const char   *database;
	struct ledger ledger;       /* its skus: prefix, count and received are the maker's */
	int64_t       past;         /* reservations that came before: of one line each, nearly all settled long ago */
	int64_t       ready;        /* the last so many of them wait to be settled; not above past */
	struct tree   trees[TREES]; /* of its reservations, as they were made */
	bool          made;
};

/* From now on database_run, service_start and the like mean this database. */
void place_enter(struct bench *b, const struct place *p);
/* Makes it, once; enters it. False: it was said why. */
bool place_make(struct bench *b, struct place *p) MUST_CHECK;
/* Reads the index of order_ids into memory, as the orders of a day would do. */
bool place_warm(struct bench *b, const struct place *p) MUST_CHECK;
/* Units that reservations hold. */
bool place_reserved(struct bench *b, int64_t *units) MUST_CHECK;
/* Reports what a reservation takes on disk: bytes and pages of each table and index, on stdout and in a CSV file. */
void place_report(struct place *const *places, size_t count, const char *file);

#endif
