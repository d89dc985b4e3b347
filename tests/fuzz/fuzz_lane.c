/* fuzz_lane.c - any bytes as the answers of a database server to a lane, which writes. The first bytes say what is
 * asked of the lane, the next one how (hostile.h). Then come the answers. Whatever they are: no memory is hurt, no
 * assertion fails, and each operation comes back once, in time. */
#include "engine/base/clock.h"
#include "engine/lane/lane.h"
#include "engine/loop.h"
#include "engine/catalogue/past.h"
#include "hostile.h"
#include "input.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An operation arrives so long ago that it is given up ROUNDS_MS later where nothing comes of it. */
enum { OPS = 3, ROUNDS_MS = 20, PATIENCE_MS = 15000 };

static const char *const skus[] = {"A", "B"};

static void line_add(struct op *op, size_t sku, int64_t qty)
{
	op_line(op, skus[sku], 1, NULL, 0, qty);
}

static struct op *reserve(unsigned how)
{
	struct op *op = op_new(OP_RESERVE, 8, 2048);

	if (how & 16) {
		struct choice *choice;

		op_choices(op, 1);
		choice = op_choice(op, "A", 1, 2, how & 32);
		op_choice_add(op, choice, "main", 4);
		op_choice_add(op, choice, "B", 1);
	} else {
		line_add(op, 0, 2);
		line_add(op, 1, 3);
	}
	op->reserve.ttl_s = 60;
	op->reserve.mode = how & 8 ? BEST_EFFORT : ALL_OR_NOTHING;
	op->customer = how & 32 ? op_text(op, "c", 1) : NULL;
	op->other_id = how & 64 ? op_text(op, "R0", 2) : NULL;
	return op;
}

static struct op *move(unsigned how)
{
	static const enum movement_kind kinds[] = {RECEIPT, ADJUSTMENT, STOCKTAKE, RETURN, ADJUSTMENT, STOCKTAKE};
	unsigned                        kind = (how >> 3) % 6;
	struct op                      *op = op_new(OP_MOVE, 8, 2048);

	op->move.kind = kinds[kind];
	if (op->move.kind == STOCKTAKE)
		op_counts(op, 2);
	for (size_t i = 0; i < 2; i++) {
		op_line(op, skus[i], 1, NULL, 0, op->move.kind == ADJUSTMENT ? -2 : 2)->expected = -1;
		if (op->move.kind == STOCKTAKE)
			op_counted(op, -1, how & 64 ? 1795000000000 : 0);
		if (kind > 3)
			op_lose(op, NULL, 0);
	}
	op->other_id = op->move.kind == RETURN ? op_text(op, "R0", 2) : NULL;
	return op;
}

static struct op *change(enum op_kind kind, unsigned how)
{
	struct op *op = op_new(kind, 8, 2048);

	op->change.reacquire = how & 8;
	op->change.force = how & 16;
	op->change.ttl_s = 60;
	if (kind == OP_ON_HOLD && how & 8)
		op->change.hold_until = HOLD_NO_END;
	if (kind == OP_SPLIT) {
		line_add(op, 0, 1);
		op->other_id = op_text(op, "R0", 2);
	}
	return op;
}

static struct op *make(unsigned what, unsigned how)
{
	static const enum op_kind kinds[] = {OP_CONFIRM, OP_RELEASE, OP_EXTEND,   OP_KICK,
	                                     OP_SETTLE,  OP_ON_HOLD, OP_OFF_HOLD, OP_SPLIT};
	struct op                *op;

	what %= 2 + LENGTH(kinds);
	op = what == 0 ? reserve(how) : what == 1 ? move(how) : change(kinds[what - 2], how);
	snprintf(op->id, sizeof(op->id), "%s%u", op_trait(op)->of_movement ? "M" : "R", what);
	if (op_trait(op)->makes)
		op_seal(op, NULL);
	return op;
}

static void op_done(void *arg, struct op *op)
{
	--*(size_t *)arg;
	op_free(op);
}

/* The items of an atomic call, each about an order of its own. */
static struct op *make_item(size_t i, unsigned what, unsigned how)
{
	static const enum op_kind kinds[] = {OP_CONFIRM, OP_RELEASE, OP_SETTLE};
	struct op *op = what % 4 == 0 ? reserve(i == 0 ? how : how & ~64U) : change(kinds[what % 4 - 1], how);

	snprintf(op->id, sizeof(op->id), "R%zu", i + 1);
	if (op_trait(op)->makes)
		op_seal(op, NULL);
	op->atomic = true;
	op->more_follow = i + 1 < OPS;
	return op;
}

static void lane_ask(struct lane *l, struct loop *loop, const unsigned what[OPS], unsigned how)
{
	size_t     open = 0;
	int64_t    began_ms = clock_ms();
	bool       atomic = how & 128;
	struct op *ops[OPS];

	for (size_t i = 0; i < OPS; i++) {
		struct op *op = ops[i] = atomic ? make_item(i, what[i], how) : make(what[i], how);

		op->loop = loop;
		op->done = op_done;
		op->arg = &open;
		op->arrived_ms = began_ms - WAIT_MS + ROUNDS_MS;
		op->id_hash = op_id_hash(op_trait(op)->of_movement, op->id);
		open++;
		if (atomic && i > 0)
			ops[i - 1]->next = op;
		if (!atomic)
			assert(queue_push(lane_queue(l), op, 1));
	}
	if (atomic)
		assert(queue_push(lane_queue(l), ops[0], OPS));
	queue_wake(lane_queue(l));
	while (open > 0) {
		struct pollfd fd = {.fd = loop_fd(loop), .events = POLLIN};

		poll(&fd, 1, 1000);
		loop_run(loop);
		assert(clock_ms() - began_ms < PATIENCE_MS);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	hostile_open();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct shared *shared = calloc(1, sizeof(*shared));
	struct loop   *loop = loop_new();
	struct source *source;
	struct lane   *l;

	if (size >= 4) {
		source = hostile_begin(data[3], data + 4, size - 4);
		shared_init(shared, source);
		past_watch(source, shared->catalogue);
		l = lane_open(shared, 0);
		lane_ask(l, loop, (unsigned[OPS]){data[0], data[1], data[2]}, data[3]);
		lane_close(l);
		hostile_end(source);
		shared_fini(shared);
	}
	loop_free(loop);
	free(shared);
	return 0;
}
