/* on_hold_call.c - see on_hold_call.h. */
#include "api/order/on_hold_call.h"
#include "api/order/reservations.h"
#include "api/request.h"

#include <time.h>

/* The clock of this machine judges whether the time lies ahead, and how far: a bound for slips of the pen. */
static int64_t read_until(struct json_reader *in)
{
	int64_t ms = 0, now_ms = (int64_t)time(NULL) * 1000;

	if (json_null(in, "until"))
		return HOLD_NO_END;
	if (json_time(in, "until", JSON_REQUIRED, &ms) && !in->failed && ms <= now_ms)
		json_refuse(in, "until", "must lie ahead");
	if (ms > now_ms + SHIP_AFTER_MAX_MS)
		json_refuse(in, "until", "must be at most 400 days ahead, or null for a hold without end");
	return ms;
}

/* The operation of this kind on the order in the path, with this reason; NULL: none. */
static struct op *hold_op(const struct request *r, enum op_kind kind, const char *reason, size_t len)
{
	struct op *op = op_new(kind, 0, reason ? len + 1 : 0);

	strcpy(op->id, r->param[0]);
	op->change.reason = reason ? op_text(op, reason, len) : NULL;
	return op;
}

static struct op *read_hold(struct request *r, struct json_reader *in)
{
	size_t      len = 0;
	int64_t     until = read_until(in);
	const char *reason = json_note(in, "reason", &len);
	struct op  *op = hold_op(r, OP_ON_HOLD, reason, len);

	op->change.hold_until = until;
	return op;
}

void put_hold(struct request *r)
{
	struct op *op = read_op(r, read_hold);

	if (op)
		request_start(r, op, reservation_answer_request);
}

void delete_hold(struct request *r)
{
	request_start(r, hold_op(r, OP_OFF_HOLD, NULL, 0), reservation_answer_request);
}
