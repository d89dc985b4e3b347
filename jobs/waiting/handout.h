/* handout.h - units for those who wait for a sku at an incoming place: the front of the line is read, what each gets is
 * decided, and that is written as steps of a transaction of whoever has the units. Background threads.
 *
 * Whoever waits further in front comes first, piece by piece: a line that gets less than it asks for stands as two. An
 * order that somebody else has locked holds up those behind it, or is passed over: then its units are kept for it, and
 * those behind it get theirs. What was decided is written as it was read (`changed`), or all is undone: read anew then.
 */
#ifndef JOBS_HANDOUT_H
#define JOBS_HANDOUT_H

#include "engine/shares.h"

enum { HANDOUT_FIRST = 500, HANDOUT_MAX = 1000, HANDOUT_MIN = 16 };

/* What one line gets. */
struct served {
	struct reservation   *reservation;
	const struct line    *line;   /* that waits .. */
	const struct line    *beside; /* .. and the one of this sku that is at the other place already; NULL: none */
	const struct handout *handout;
	int64_t               qty;
};

/* Zero-initialised but for what is asked. One thread. */
struct handout {
	/* ---- asked */
	uint32_t sku_id, from_id, to_id; /* the line; the place where the units are */
	int64_t  units;                  /* to give, at most; 1 or more */
	size_t   limit;                  /* orders at most; 0: HANDOUT_FIRST. Grows and falls by handout_done */
	bool     passes;                 /* who is locked is passed over; false: those behind him wait, too */
	/* ---- found by handout_read */
	size_t                 waiting; /* lines that were looked at; 0: nobody waits */
	struct values          front;   /* their reservations, in the order of the line */
	struct served         *list;    /* who gets something, in the order of the line */
	struct served        **by_id;   /* the same, in the order of locks */
	size_t                 count;
	int64_t                given;     /* units of all of them */
	int64_t                stamp_min; /* for txn_enter */
	struct shares          at_from;   /* units that leave `reserved`, by slot .. */
	struct shares          at_to;     /* .. and those that come to `reserved` */
	const struct location *to;
	struct reservation   **lapsed; /* holds past their time that stood among them */
	size_t                 lapsed_count;
	struct reservation   **read; /* what list and lapsed point to; owned, by the first of several */
	size_t                 read_count;
};
void handout_fini(struct handout *h);

/* Reads the front of the line, and decides. What was found before is freed. Locks nothing. */
enum db_result handout_read(struct db *db, struct catalogue *c, struct handout *h) MUST_CHECK;
/* Several of other skus each, sorted by them, that are written together. Whoever waits for some of the skus is read,
 * written and told once. They end together (handout_fini). */
enum db_result handouts_read(struct db *db, struct catalogue *c, struct handout *list, size_t count) MUST_CHECK;
/* Steps of a transaction that has entered (txn_enter with stamp_min, logs): the orders, their lines, their places in
 * the line, and the slots. The units leave `reserved` at `from`, for good (STOCK_SETTLE), or to `available` there
 * (STOCK_GIVE_BACK). `taken` (summed; NULL: none): units that leave `available` at `to`, TXN_SHORT where a slot lacks
 * them. Appends an event for each order, of this cause (NULL: none). Behind it come movements and txn_log. */
void handout_write(struct txn *t, const struct handout *h, enum statement from, const struct shares *taken,
                   const char *cause, struct text *changes);
/* The same of several, one of which at least gives something, without `taken`. */
void handouts_write(struct txn *t, const struct handout *list, size_t count, enum statement from, const char *cause,
                    struct text *changes);
/* Tells what became of the transaction: more or fewer orders are read next. */
void handout_done(struct handout *h, bool committed);
/* Expires the holds that stood in the line past their time, in a transaction of their own. Undone: read anew. */
enum db_result handout_sweep(struct db *db, const struct handout *h) MUST_CHECK;

#endif
