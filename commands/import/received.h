/* received.h - rows of a file found again in a movement: what was loaded before does not go again.
 *
 * A movement says how many units of a sku at a location went; a file may have several rows of them. So the rows of a
 * movement are some of those that a part of the file has, with the same sum: which ones does not matter, because units
 * of a sku at a location are alike. */
#ifndef RECEIVED_H
#define RECEIVED_H

#include "commands/import/delivery.h"

struct op;

/* A row waits for its movement, stands in one, was refused, or has no units, so that it only makes its sku. */
enum row_is { WAITS, FOUND, REFUSED, EMPTY };

struct row {
	struct delivery_row said; /* its texts point to the arrays below */
	char                sku[SKU_MAX + 1], location[LOCATION_MAX + 1], to[LOCATION_MAX + 1];
	char                waits_at[LOCATION_MAX + 1];
	enum row_is         is;
	unsigned            wave; /* rows of one sku and location go one after the other: of a lower wave first */
};
const char *row_location(const struct row *row); /* where it is: main if the row does not say */

/* A movement of this kind of the rows that are `is`, at least one; of a wave, or of all (ALL_WAVES). */
#define ALL_WAVES UINT32_MAX
struct op *rows_movement(enum movement_kind kind, const struct row *rows, size_t count, enum row_is is,
                         unsigned wave) MUST_CHECK;
size_t     rows_that(const struct row *rows, size_t count, enum row_is is, unsigned wave);

/* Marks as FOUND the waiting rows that the movement has. false: the movement is of another kind, or has units of no
 * waiting row; then no row is marked. */
bool rows_find(enum movement_kind kind, struct row *rows, size_t count, const struct movement *m) MUST_CHECK;

#endif
