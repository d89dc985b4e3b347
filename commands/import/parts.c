/* parts.c - see parts.h. */
#include "commands/import/parts.h"
#include "api/stock/stock_call.h"
#include "commands/terminal/bar.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/engine.h"
#include "engine/loop.h"
#include "jobs/waiting/loss.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART_ROWS = 1000, FLYING_MAX = 16, PICK_MS = 1000 };

/* A row waits for its movement, stands in one, or was refused. */
enum row_is { WAITS, FOUND, REFUSED };

struct row {
	struct delivery_row said; /* its texts point to the arrays below */
	char                sku[SKU_MAX + 1], location[LOCATION_MAX + 1], to[LOCATION_MAX + 1];
	char                waits_at[LOCATION_MAX + 1];
	enum row_is         is;
};

struct part {
	struct parts *parts;
	struct part  *next;
	unsigned      number, attempt; /* the id has the attempt from 2 on */
	size_t        count;
	/* ---- while orders are picked that lose units by the movement */
	struct op       *losing; /* the movement to try again; NULL: none */
	struct loss_pick pick;
	bool             more; /* true: the pick is not at its end */
	struct row       rows[PART_ROWS];
};

/* ---- operations */

static size_t rows_that(const struct part *part, enum row_is is)
{
	size_t count = 0;

	for (size_t i = 0; i < part->count; i++)
		count += part->rows[i].is == is;
	return count;
}

static void row_add(struct op *op, const struct row *row)
{
	const char *location = row->said.location ? row->location : NULL;

	if (op_moves(op, HAS_ENDS)) {
		op_transfer(op, &(struct transfer){row->sku, row->location, row->to, .qty = row->said.qty});
		return;
	}
	op_line(op, row->sku, strlen(row->sku), location, location ? strlen(location) : 0, row->said.qty);
	if (op_moves(op, COUNTED))
		op_counted(op, row->said.expected, row->said.as_of);
	if (row->said.loses)
		op_lose(op, row->said.waits_at ? row->waits_at : NULL, strlen(row->waits_at));
}

/* Makes a movement of the rows of a part that are `is`, at least one. */
static struct op *movement_of(const struct part *part, enum row_is is)
{
	struct op *op = movement_new(part->parts->kind, rows_that(part, is), 0);

	for (size_t i = 0; i < part->count; i++)
		if (part->rows[i].is == is)
			row_add(op, &part->rows[i]);
	op->move.reason = "import";
	op_seal(op, NULL);
	return op;
}

static void part_start(struct part *part, struct op *op, void (*done)(void *arg, struct op *op))
{
	struct parts *p = part->parts;
	struct pollfd ready = {loop_fd(p->loop), POLLIN, 0};

	if (part->attempt == 1)
		snprintf(op->id, sizeof(op->id), "%s-%u", p->name, part->number);
	else
		snprintf(op->id, sizeof(op->id), "%s-%u-%u", p->name, part->number, part->attempt);
	while (!engine_start(p->engine, op, p->loop, done, part)) {
		poll(&ready, 1, 1000);
		loop_run(p->loop);
	}
	engine_wake(p->engine);
}

/* ---- answers */

static void part_free(struct part *part)
{
	struct parts *p = part->parts;

	p->flying--;
	p->rows += (int64_t)part->count;
	bar_set(p->rows);
	op_free(part->losing);
	loss_pick_fini(&part->pick);
	free(part);
}

/* Adds the part at the end of the list. The `done` functions start no operation: the runner of the loop does
 * (parts_wait). */
static void part_put(struct part **list, struct part *part)
{
	while (*list)
		list = &(*list)->next;
	part->next = NULL;
	*list = part;
}

static void part_again(struct part *part)
{
	if (rows_that(part, WAITS) == 0) {
		part_free(part);
		return;
	}
	part_put(&part->parts->again, part);
}

static void part_fail(struct part *part, const struct op *op, enum outcome outcome)
{
	say("part %s was refused: %s", op->id, outcome_detail(outcome));
	part->parts->failed = true;
	part_free(part);
}

static bool row_is_at(const struct row *row, const char *sku, const char *location, const char *to)
{
	const char *own = row->said.location ? row->location : "main";

	if (strcmp(row->sku, sku) != 0)
		return false;
	if (to)
		return strcmp(own, location) == 0 && strcmp(row->to, to) == 0;
	return strcmp(own, location) == 0 || (row->said.to && strcmp(row->to, location) == 0);
}

/* Marks the rows that wait and stand at this location of the sku or, with `to`, between the two. Returns how many. */
static size_t rows_mark(struct part *part, enum row_is is, const char *sku, const char *location, const char *to,
                        const char *why)
{
	size_t count = 0;

	for (size_t i = 0; i < part->count; i++) {
		struct row *row = &part->rows[i];

		if (row->is != WAITS || !row_is_at(row, sku, location, to))
			continue;
		row->is = is;
		count++;
		if (why)
			say("%s, line %lld: %s", part->parts->file, (long long)row->said.line, why);
	}
	return count;
}

static size_t fault_mark(struct part *part, const struct op *op, const char *sku, const char *location, const char *to,
                         size_t i)
{
	struct text        why = {0};
	struct json_writer w = {.to = &why};
	size_t             count;

	text_format(&why, "%s ", outcome_code(op->outcome));
	json_open_object(&w, NULL);
	movement_fault_write(&w, op, i);
	json_close_object(&w);
	count = rows_mark(part, REFUSED, sku, location, to, why.data);
	text_fini(&why);
	return count;
}

/* Names and leaves out the rows for which a movement was refused. Returns how many. */
static size_t faults_mark(struct part *part, const struct op *op)
{
	size_t count = 0;

	if (op->outcome == WRONG_KIND && op->move.transfers_count > 0) {
		for (size_t i = 0; i < op->move.transfers_count; i++) {
			const struct transfer *t = &op->move.transfers[i];

			if (t->fault)
				count += fault_mark(part, op, t->sku_code, t->from_code, t->to_code, i);
		}
		return count;
	}
	for (size_t i = 0; i < op->lines_count; i++)
		if (movement_faulty(op, i))
			count += fault_mark(part, op, op->lines[i].sku_code, op->lines[i].location_code, NULL, i);
	return count;
}

static void part_done(void *arg, struct op *op)
{
	struct part *part = arg;
	size_t       refused;

	if (op->outcome == OUTCOME_OK || op->outcome == OUTCOME_REPLAYED) {
		part->parts->movements++;
		part->parts->replayed += op->outcome == OUTCOME_REPLAYED;
		part_free(part);
	} else if (op->outcome == MOVEMENT_ID_REUSED) {
		part_put(&part->parts->used, part);
	} else if (loss_pick_begin(&part->pick, op)) {
		part->losing = op;
		part->more = true;
		part_put(&part->parts->losing, part);
		return;
	} else if ((refused = faults_mark(part, op)) > 0) {
		part->parts->refused += (int64_t)refused;
		part_again(part);
	} else {
		part_fail(part, op, op->outcome);
	}
	op_free(op);
}

/* Marks the rows that the found movement has by their skus and locations. True: the movement consists of these rows, by
 * the fingerprint. */
static bool rows_found(struct part *part, const struct movement *m)
{
	struct op *op;
	bool       same;

	for (size_t i = 0; i < m->transfers_count; i++)
		rows_mark(part, FOUND, m->transfers[i].sku_code, m->transfers[i].from_code, m->transfers[i].to_code,
		          NULL);
	for (size_t i = 0; m->transfers_count == 0 && i < m->lines_count; i++)
		rows_mark(part, FOUND, m->lines[i].sku_code, m->lines[i].location_code, NULL, NULL);
	if (rows_that(part, FOUND) == 0)
		return false;
	op = movement_of(part, FOUND);
	same = memcmp(op->lines_hash, m->lines_hash, sizeof(op->lines_hash)) == 0;
	op_free(op);
	return same;
}

/* The id was used already: rows that stand in its movement leave the part, and the rest goes under the next id. */
static void found_done(void *arg, struct op *op)
{
	struct part *part = arg;
	size_t       left = 0;

	if (op->outcome != OUTCOME_OK || !rows_found(part, op->move.movement)) {
		part_fail(part, op, op->outcome == OUTCOME_OK ? MOVEMENT_ID_REUSED : op->outcome);
		op_free(op);
		return;
	}
	part->parts->movements++;
	part->parts->replayed++;
	part->attempt++;
	for (size_t i = 0; i < part->count; i++)
		if (part->rows[i].is == WAITS)
			part->rows[left++] = part->rows[i];
	part->parts->rows += (int64_t)(part->count - left);
	part->count = left;
	op_free(op);
	part_again(part);
}

/* ---- orders that lose units */

static enum db_result pick_run(struct db *db, struct catalogue *c, void *arg)
{
	struct part *part = arg;

	return loss_pick_run(db, c, &part->pick, PICK_MS, &part->more);
}

static void pick_done(void *arg, struct op *op)
{
	struct part *part = arg;

	if (op->outcome == OUTCOME_OK)
		part_put(&part->parts->losing, part);
	else
		part_fail(part, op, op->outcome);
	op_free(op);
}

/* Picks orders that lose units or, when they are picked, tries the movement with them. */
static void part_lose(struct part *part)
{
	struct op *op = part->losing;

	if (part->more) {
		op = op_new(OP_RUN, 0, 0);
		op->job = (struct job){.run = pick_run, .arg = part};
		part_start(part, op, pick_done);
		return;
	}
	part->losing = NULL;
	loss_pick_give(&part->pick, op);
	part_start(part, op, part_done);
}

/* ---- sending */

static struct part *part_take(struct part **list)
{
	struct part *part = *list;

	if (part)
		*list = part->next;
	return part;
}

/* Waits until `most` parts are under way. */
static void parts_wait(struct parts *p, int most)
{
	struct pollfd ready = {loop_fd(p->loop), POLLIN, 0};
	struct part  *part;

	while (p->flying > most) {
		if ((part = part_take(&p->again))) {
			part_start(part, movement_of(part, WAITS), part_done);
		} else if ((part = part_take(&p->used))) {
			part_start(part, op_new(OP_GET_MOVEMENT, 0, 0), found_done);
		} else if ((part = part_take(&p->losing))) {
			part_lose(part);
		} else {
			poll(&ready, 1, 1000);
			loop_run(p->loop);
		}
	}
}

static void part_send(struct parts *p)
{
	struct part *part = p->open;

	p->open = NULL;
	if (!part)
		return;
	if (p->failed) {
		free(part);
		return;
	}
	parts_wait(p, FLYING_MAX - 1);
	part->parts = p;
	part->number = ++p->count;
	part->attempt = 1;
	p->flying++;
	part_start(part, movement_of(part, WAITS), part_done);
}

void parts_row(struct parts *p, const struct delivery_row *said)
{
	struct row *row;

	if (said->again) { /* a part that is sent once more would come after the parts that it meets */
		part_send(p);
		parts_wait(p, 0);
	}
	if (!p->open)
		p->open = mem_alloc(sizeof(*p->open));
	row = &p->open->rows[p->open->count++];
	row->said = *said;
	strcpy(row->sku, said->sku);
	strcpy(row->location, said->location ? said->location : "");
	strcpy(row->to, said->to ? said->to : "");
	strcpy(row->waits_at, said->waits_at ? said->waits_at : "");
	if (p->open->count == PART_ROWS)
		part_send(p);
}

void parts_end(struct parts *p)
{
	part_send(p);
	parts_wait(p, 0);
}
