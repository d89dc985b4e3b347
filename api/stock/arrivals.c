/* arrivals.c - see arrivals.h. The hand-out goes on in short operations, between which other calls of the background
 * have their turns; if it fails here, the arrival is booked all the same, and every service hands it out. */
#include "api/stock/arrivals.h"
#include "api/request.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/catalogue/past.h"
#include "jobs/waiting/arrival.h"

/* ANSWER_MS: the answer waits no longer. TURN_MS: no turn takes longer, unless it waits for rows or the database. */
enum { ANSWER_MS = 1000, TURN_MS = 250 };

struct arrival_call {
	struct op *booked;
	void (*reply)(struct request *r, const struct op *op, enum outcome outcome);
	int64_t until_ms; /* no turn begins later */
	/* ---- of the operation that hands out */
	bool             more;
	struct movement *movement; /* as it is after the hand-out */
};

static void call_free(void *arg)
{
	struct arrival_call *call = arg;

	if (!call)
		return;
	op_free(call->booked);
	movement_free(call->movement);
	free(call);
}

static enum db_result movement_read(struct db *db, struct arrival_call *call)
{
	struct movement_reader in = {.catalogue = past_catalogue(db)};
	struct values          ids = {0};
	enum db_result         result;

	values_row(&ids, V_TEXT(call->booked->id));
	result = movements_ask(db, MOVEMENT_FIND, &(struct fill){.rows = &ids}, &in);
	values_fini(&ids);
	for (size_t i = 0; i < in.count; i++) {
		movement_free(call->movement);
		call->movement = in.list[i];
	}
	free(in.list);
	return result;
}

static enum db_result call_run(struct db *db, void *arg)
{
	struct arrival_call *call = arg;
	enum db_result       result = arrivals_run(db, call->booked->move.movement->movement_no, TURN_MS, &call->more);

	return result == DB_OK ? movement_read(db, call) : result;
}

static void hand_out(struct request *r, struct arrival_call *call);

static void handed_out(struct request *r)
{
	struct op           *op = r->ops[0];
	struct arrival_call *call = op->job.arg;

	if (op->ended && call->movement) {
		movement_free(call->booked->move.movement);
		call->booked->move.movement = call->movement;
		call->movement = NULL;
	}
	if (op->ended && op->outcome == OUTCOME_OK && call->more && clock_ms() < call->until_ms) {
		op->job.arg = NULL;
		op_free(op);
		hand_out(r, call);
		return;
	}
	call->reply(r, call->booked, OUTCOME_OK);
}

static void hand_out(struct request *r, struct arrival_call *call)
{
	struct op *op = op_new(OP_RUN, 0, 0);

	op->job = (struct job){.run = call_run, .run_free = call_free, .arg = call};
	request_go_on(r, op, handed_out);
}

void arrival_wait(struct request *r, void (*reply)(struct request *r, const struct op *op, enum outcome outcome))
{
	struct arrival_call *call = mem_alloc(sizeof(*call));
	int64_t              due_us = clock_us() + ANSWER_MS * INT64_C(1000);

	assert(r->ops_count == 1 && r->ops[0]->move.movement);
	*call = (struct arrival_call){.booked = r->ops[0], .reply = reply, .until_ms = due_us / 1000 - TURN_MS};
	if (due_us < r->due_us)
		r->due_us = due_us;
	hand_out(r, call);
}
