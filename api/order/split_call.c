/* split_call.c - see split_call.h. */
#include "api/order/split_call.h"
#include "api/order/reservations.h"
#include "api/request.h"

static struct op *read_split(struct request *r, struct json_reader *in)
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
	memcpy(op->id, order_id, id_len);
	op->other_id = op_text(op, r->param[0], strlen(r->param[0]));
	if (json_end(in) && strcmp(op->id, op->other_id) == 0)
		json_refuse(in, "order_id", "must be another order than the one that is split");
	if (then >= 0)
		op->becomes = becomes[then];
	op->change.force = force;
	op_seal(op, NULL);
	return op;
}

void post_split(struct request *r)
{
	struct op *op = read_op(r, read_split);

	if (!op)
		return;
	if (request_permits(r, op->becomes == SETTLED ? WORKERS : ORDERS))
		request_start(r, op, reservation_answer_request);
	else
		op_free(op);
}
