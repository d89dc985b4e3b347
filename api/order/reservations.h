/* reservations.h - the calls about reservations. */
#ifndef RESERVATIONS_H
#define RESERVATIONS_H

#include "engine/base/json.h"
#include "engine/op.h"

struct request;

#define SHIP_AFTER_MAX_MS                                                                           \
	INT64_C(34560000000) /* 400 days: no order is told to be shipped later, or held back longer \
	                      */

/* The answer of an operation on one order: the order, or its refusal. */
void reservation_answer_request(struct request *r);

/* Writes the members that a refusal adds to its code. */
void reservation_refusal_write(struct json_writer *w, struct op *op);

void post_reservation(struct request *r);
void post_reservations_batch(struct request *r);
void post_confirm(struct request *r);
void post_release(struct request *r);
void post_confirmations(struct request *r);
void post_releases(struct request *r);
void post_extend(struct request *r);
void post_kick(struct request *r);
void post_settle(struct request *r);
void post_settlements(struct request *r);
void get_reservation(struct request *r);
/* For request_start: answers with the reservation of the one operation, or with its refusal. */
void reservation_answer_request(struct request *r);

enum { TTL_MAX_S = 31 * 86400 };
extern const char *const reserve_modes[]; /* the words of enum reserve_mode */
/* An operation with the lines of the body, and room for `more` bytes of text; of a split no line names several
 * locations. The caller's, also after a fault of the reader. */
struct op *order_lines_read(struct json_reader *in, enum op_kind kind, size_t more) MUST_CHECK;

#endif
