/* rows_json.h - reservations and movements as members of a JSON object, once for answers, workers and events. Pure; any
 * thread. */
#ifndef ROWS_JSON_H
#define ROWS_JSON_H

#include "engine/base/json.h"
#include "engine/rows.h"

/* An object of an array: `qty` units of the line's sku at its location. */
void line_json(struct json_writer *w, const struct line *line, int64_t qty);
/* The same of an order's line. A line that waits says so, and when its units are expected, while the promise of them
 * lives. */
void promised_json(struct json_writer *w, const struct line *line, bool lives);
void transfer_json(struct json_writer *w, enum movement_kind kind,
                   const struct transfer *t); /* an object of an array, too */
/* The member `lines`, each line with its `qty`. */
void lines_json(struct json_writer *w, const struct line *lines, size_t count);

/* The members that every answer has that shows one. A movement's lines have `granted` units. */
void reservation_json(struct json_writer *w, const struct reservation *r);
void movement_json(struct json_writer *w, const struct movement *m);
/* The same of an event: `by` (NULL: none) stands for the record's own, and the first `lines` lines for all. */
void reservation_json_part(struct json_writer *w, const struct reservation *r, const char *by, size_t lines);
void movement_json_part(struct json_writer *w, const struct movement *m, const char *by, size_t lines);

#endif
