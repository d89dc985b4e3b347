/* losses_call.c - see losses_call.h. */
#include "api/stock/losses_call.h"
#include "api/request.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "jobs/waiting/loss.h"

/* PICK_MS: no pick begins later. TURN_MS: no turn takes longer while other work of the background waits. */
enum { PICK_MS = 6000, TURN_MS = 250 };

struct loss_call {
	struct op       *movement;
	struct loss_pick pick;
	bool             more;
	void (*answer)(struct request *r);
};

static void call_free(void *arg)
{
	struct loss_call *call = arg;

	if (!call)
		return;
	op_free(call->movement);
	loss_pick_fini(&call->pick);
	free(call);
}

static enum db_result call_run(struct db *db, void *arg)
{
	struct loss_call *call = arg;

	return loss_pick_run(db, &call->pick, TURN_MS, &call->more);
}

static void pick(struct request *r, struct loss_call *call);

/* Tries the movement again, now with the orders that may lose units. */
static void movement_retry(struct request *r, struct loss_call *call)
{
	struct op *movement = call->movement;

	assert(movement && !call->more);
	call->movement = NULL;
	loss_pick_give(&call->pick, movement);
	request_go_on(r, movement, call->answer);
}

static void picked(struct request *r)
{
	struct op        *op = r->ops[0];
	struct loss_call *call = op->job.arg;

	if (request_outcome(r, 0) != OUTCOME_OK) { /* the movement has done nothing, whatever the pick still does */
		reply_refused(r, op->ended ? op->outcome : BUSY, NULL, NULL);
		return;
	}
	op->job.arg = NULL;
	op_free(op);
	if (call->more) {
		pick(r, call);
		return;
	}
	movement_retry(r, call);
	call_free(call);
}

static void pick(struct request *r, struct loss_call *call)
{
	struct op *op = op_new(OP_RUN, 0, 0);

	op->job = (struct job){.run = call_run, .run_free = call_free, .arg = call};
	request_go_on(r, op, picked);
}

bool losses_go_on(struct request *r, enum outcome outcome, void (*answer)(struct request *r))
{
	struct op        *op = r->ops[0];
	struct loss_call *call;

	if (!op->ended || outcome != SHORT || !op->losses)
		return false;
	call = mem_alloc(sizeof(*call));
	call->answer = answer;
	if (clock_us() - r->began_us < INT64_C(1000) * PICK_MS && loss_pick_begin(&call->pick, op)) {
		call->movement = op;
		pick(r, call);
		return true;
	}
	call_free(call);
	metrics_refused(&r->all->metrics, op->losses->passed ? BUSY : SHORT);
	if (!op->losses->passed)
		return false;
	reply_refused(r, BUSY, NULL, NULL); /* the orders that were skipped (locked) may have the units */
	return true;
}
