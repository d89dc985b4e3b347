/* parts.h - rows of a file on their way into the stock: a movement of up to 1,000 rows each, many under way.
 *
 * A part is 1,000 rows of the file that follow each other, good and bad ones, so a bad row that is put right changes no
 * other part. A movement_id is made of the delivery's name and the number of the part. Rows that stock refuses are
 * named in a message and left out, and the part is sent again without them. If the id was used already, the movement
 * under it is read: its rows are loaded, and the others go under the id with the next number at its end. So nothing is
 * kept about a file but its movements, and no row counts twice, even if a process was killed at any moment.
 *
 * Where the name may be that of another file, the file goes through twice. The first time looks for movements of the
 * delivery. If one of them has something that the rows of its part do not explain, the file is not that delivery, and
 * none of it is loaded. */
#ifndef PARTS_H
#define PARTS_H

#include "commands/import/delivery.h"

struct engine;
struct loop;

/* What was found of a part. */
struct seen {
	unsigned movements;
	bool     whole; /* they have all of its rows */
};
struct part;
struct parts {
	const char        *file, *name; /* the first part of every movement_id */
	enum movement_kind kind;
	struct engine     *engine;
	struct loop       *loop;
	bool               looks; /* the first time */
	bool               makes; /* skus that are not there are made */
	/* Closes the old engine, and opens one that remembers no sku. */
	struct engine *(*renew)(void *arg, struct engine *old);
	void            *renew_arg;
	struct forecast *forecast; /* of rows that are not loaded yet; NULL: nothing is foretold */
	/* ---- the outcome */
	int64_t movements, replayed, refused, rows; /* rows: of movements, and refused */
	bool    failed;                             /* a fault that is not of a row; a message has said so */
	/* ---- its own */
	struct seen  *seen;
	size_t        seen_count, seen_max;
	unsigned      count;        /* number of the last part that was begun */
	int           flying;       /* parts sent and not answered */
	struct part  *open;         /* takes rows */
	struct part  *again, *used; /* parts to be sent once more; parts with an id that was used already .. */
	struct part  *losing;       /* .. parts with a movement that takes promised units .. */
	struct part  *foretold;     /* .. and parts with rows to be looked at */
	struct keyset flying_keys;  /* of rows that apply in the order of the file */
};

/* Begins to take the rows, for the first time or for the second. */
void parts_begin(struct parts *p, bool looks);
/* Takes a row that is not wrong; may send a part, and wait until fewer are under way. */
void parts_row(struct parts *p, const struct delivery_row *row);
/* Sends the last part, and waits for all; the file has `numbers` rows. */
void parts_end(struct parts *p, int64_t numbers);
void parts_fini(struct parts *p);

#endif
