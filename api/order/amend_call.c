/* amend_call.c - see amend_call.h. */
#include "api/order/amend_call.h"
#include "api/order/reservations.h"
#include "api/request.h"

#define VERSION_MAX ((INT64_C(1) << 53) - 1)

static struct op *read_amend(struct request *r, struct json_reader *in)
{
	int64_t    ttl_s = 0, if_version = -1;
	int        mode = ALL_OR_NOTHING;
	bool       force = false;
	struct op *op;

	json_int(in, "ttl_s", JSON_OPTIONAL, 1, TTL_MAX_S, &ttl_s);
	json_word(in, "mode", JSON_OPTIONAL, reserve_modes, &mode);
	json_int(in, "if_version", JSON_OPTIONAL, 0, VERSION_MAX, &if_version);
	json_bool(in, "force", JSON_OPTIONAL, &force);
	op = order_lines_read(in, OP_AMEND, 0);
	strcpy(op->id, r->param[0]);
	op->reserve.ttl_s = (uint32_t)ttl_s;
	op->reserve.mode = (enum reserve_mode)mode;
	op->reserve.if_version = if_version;
	op->reserve.force = force;
	op_seal(op, NULL);
	return op;
}

void put_reservation(struct request *r)
{
	struct op *op = read_op(r, read_amend);

	if (op)
		request_start(r, op, reservation_answer_request);
}
