/* parts.h - rows of a file on their way into the stock: a movement of up to 1,000 rows each, many under way.
 *
 * A movement_id is made of the delivery's name and the number of the part. Rows that stock refuses are named in a
 * message and left out, and the part is sent again without them. If the id was used already, the movement under it is
 * read: its rows are booked, and the others go under the id with the next number at its end. So nothing is kept about a
 * file but its movements, and no row counts twice, even if a process was killed at any moment. */
#ifndef PARTS_H
#define PARTS_H

#include "commands/import/delivery.h"

struct engine;
struct loop;

struct part;
struct parts {
	const char        *file, *name; /* the first part of every movement_id */
	enum movement_kind kind;
	struct engine     *engine;
	struct loop       *loop;
	/* ---- the outcome */
	int64_t movements, replayed, refused, rows; /* rows: of movements, and refused */
	bool    failed;                             /* a fault that is not of a row; a message has said so */
	/* ---- its own */
	unsigned     count;
	int          flying;       /* parts sent and not answered */
	struct part *open;         /* takes rows */
	struct part *again, *used; /* parts to be sent once more; parts with an id that was used already .. */
	struct part *losing;       /* .. and parts with a movement that takes promised units */
};

/* Takes a row that is not wrong; may send a part, and wait until fewer are under way. */
void parts_row(struct parts *p, const struct delivery_row *row);
void parts_end(struct parts *p); /* sends the last part, and waits for all */

#endif
