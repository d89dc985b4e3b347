/* forecast.h - what would come of rows, by the stock as it is now: what is new, what changes, what would be refused. */
#ifndef FORECAST_H
#define FORECAST_H

#include "commands/import/received.h"
#include "engine/op.h"

/* Zero-initialised but for the first line, it has seen no row. */
struct forecast {
	const char        *file;
	enum movement_kind kind;
	bool               makes; /* skus that are unknown would be made */
	/* ---- found */
	int64_t     rows, units; /* that are not loaded yet */
	int64_t     new_skus, new_locations;
	int64_t     changed, up, down;         /* of counts: rows that change a number of units, and by how many */
	int64_t     refused;                   /* rows, which messages have named */
	struct text sku_names, location_names; /* the first new ones */
	/* ---- its own */
	struct keyset skus, locations;
};
void forecast_fini(struct forecast *f);
/* A question for the totals of the rows that wait, at least one. */
struct op *forecast_ask(const struct row *rows, size_t count) MUST_CHECK;
/* Takes the answer. */
void forecast_take(struct forecast *f, struct catalogue *c, const struct row *rows, size_t count, const struct op *op);
/* Prints it. */
void forecast_tell(const struct forecast *f);

#endif
