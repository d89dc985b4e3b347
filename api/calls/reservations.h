/* reservations.h - the calls about reservations. */
#ifndef RESERVATIONS_H
#define RESERVATIONS_H

#include "engine/base/json.h"
#include "engine/rows.h"

struct request;

void post_reservation(struct request *r);
void post_reservations_batch(struct request *r);
void post_confirm(struct request *r);
void post_release(struct request *r);
void post_confirmations(struct request *r);
void post_releases(struct request *r);
void post_extend(struct request *r);
void post_split(struct request *r);
void post_kick(struct request *r);
void get_reservation(struct request *r);
void get_reservations(struct request *r);

/* Writes the member `lines`, as every answer has it that shows an order. */
void lines_write(struct json_writer *w, const struct line *lines, size_t count);

#endif
