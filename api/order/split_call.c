/* split_call.c - see split_call.h. */
#include "api/order/split_call.h"
#include "api/order/reservations.h"
#include "api/request.h"

#include <string.h>

static struct op *read_split(struct json_reader *in)
{
	static const char *const            thens[] = {"confirm", "release", "settle", NULL};
	static const enum reservation_state becomes[] = {CONFIRMED, RELEASED, SETTLED};
	const char                         *order_id = "";
	size_t                              id_len = 0;
	int                                 then = -1;
	bool                                force = false;
	struct op                          *op;

	json_id(in, "order_id", JSON_REQUIRED, &order_id, &id_len);
	json_word(in, "then", JSON_OPTIONAL, thens, &then);
	json_bool(in, "force", JSON_OPTIONAL, &force);
	op = order_lines_read(in, OP_SPLIT, ID_MAX + 1);
	if (!json_end(in)) {
		op_free(op);
		return NULL;
	}
	memcpy(op->id, order_id, id_len);
	if (then >= 0)
		op->becomes = becomes[then];
	op->change.force = force;
	return op;
}

void post_split(struct request *r)
{
	struct json_reader in;
	struct json_fault  fault;
	struct op         *op;

	if (!read_body(r, &in, &fault))
		return;
	op = read_split(&in);
	if (!op) {
		reply_invalid(r, fault.field, fault.detail);
		return;
	}
	if (strcmp(op->id, r->param[0]) == 0) {
		op_free(op);
		reply_invalid(r, "order_id", "must be another order than the one that is split");
		return;
	}
	if (!request_permits(r, op->becomes == SETTLED ? WORKERS : ORDERS)) {
		op_free(op);
		return;
	}
	op->other_id = op_text(op, r->param[0], strlen(r->param[0]));
	op_seal(op, NULL);
	request_start(r, op, reservation_answer_request);
}
