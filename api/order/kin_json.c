/* kin_json.c - see kin_json.h. */
#include "api/order/kin_json.h"
#include "engine/base/clock.h"
#include "jobs/task/task.h"

static void task_write(struct json_writer *w, const struct kin *kin)
{
	json_open_object(w, "task");
	json_put_int(w, "task_id", (int64_t)kin->task.task_id);
	json_put_string(w, "worker", kin->task.worker);
	json_put_string(w, "state", task_state_name((enum task_state)kin->task_state));
	if (kin->task.lease_until != TIME_NONE)
		json_put_time(w, "lease_until", kin->task.lease_until);
	json_close_object(w);
}

/* The time from which a claim will take an order that no claim takes now: a confirmed one, or a hold that is over and
 * not expired yet. 0: the order waits for units, or is held back without end. */
static int64_t next_attempt(const struct reservation *r)
{
	enum reservation_state reads = reservation_reads(r);
	bool                   waits = lines_wait(r->lines, r->lines_count) || !hold_has_end(r->hold_until);
	bool                   may_come = reads == CONFIRMED ? !waits : reads == EXPIRED && r->state == HELD;

	return may_come && r->task_id == 0 && r->due_at > r->read_at ? r->due_at : TIME_NONE;
}

void kin_write(struct json_writer *w, const struct op *op)
{
	const struct kin *kin = op->kin;
	int64_t           next = next_attempt(op->reservation);

	assert(!kin || kin->parts_count <= KIN_MAX);
	if (next != TIME_NONE)
		json_put_time(w, "next_attempt_at", next);
	if (op->reservation->replaces)
		json_put_string(w, "replaces", op->reservation->replaces);
	if (!kin)
		return;
	if (kin->task.task_id > 0)
		task_write(w, kin);
	if (kin->split_from[0])
		json_put_string(w, "split_from", kin->split_from);
	if (kin->parts_count == 0)
		return;
	json_open_array(w, "split_into");
	for (size_t i = 0; i < kin->parts_count; i++)
		json_put_string(w, NULL, kin->parts[i]);
	json_close_array(w);
}
