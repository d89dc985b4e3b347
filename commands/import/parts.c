/* parts.c - see parts.h. */
#include "commands/import/parts.h"
#include "api/stock/stock_call.h"
#include "commands/import/forecast.h"
#include "commands/terminal/bar.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/engine.h"
#include "engine/known_movement.h"
#include "engine/loop.h"
#include "engine/new_skus.h"
#include "jobs/waiting/loss.h"

#include <poll.h>
#include <stdio.h>

/* SKUS_KEPT: an engine never forgets a sku, and a file may have millions of them. TRIES_MAX: each of them waits for
 * seconds, in the engine. FLYING_KEYS: keys of rows that are remembered before all parts are waited for. */
enum { SKUS_KEPT = 100000, TRIES_MAX = 12, PART_ROWS = 1000, FLYING_MAX = 16, PICK_MS = 1000, FLYING_KEYS = 100000 };

struct part {
	struct parts *parts;
	struct part  *next;
	unsigned      number, attempt; /* the id has the attempt from 2 on */
	size_t        count, total;    /* rows that are left; rows at first */
	int64_t       first, last;     /* lines of the file on which its rows begin; 0: it has none */
	unsigned      wave;            /* of the movement under way */
	unsigned      tries;           /* operations that came back because the database was busy or away */
	struct keyset waves;           /* by sku and location: the next wave */
	struct op    *movement;        /* to be started, looked for already; NULL: none */
	bool          loaded;          /* the look has found it */
	bool          made;            /* the skus of the part are there */
	/* ---- while orders are picked that lose units by the movement */
	struct op       *losing; /* the movement to try again; NULL: none */
	struct loss_pick pick;
	bool             more; /* true: the pick is not at its end */
	struct row       rows[PART_ROWS];
};

/* ---- operations */

static size_t rows_waiting(const struct part *part, unsigned wave)
{
	return rows_that(part->rows, part->count, WAITS, wave);
}

static void id_write(const struct part *part, struct op *op)
{
	if (part->attempt == 1)
		snprintf(op->id, sizeof(op->id), "%s-%u", part->parts->name, part->number);
	else
		snprintf(op->id, sizeof(op->id), "%s-%u-%u", part->parts->name, part->number, part->attempt);
}

/* The rows of the part's next wave, at least one. */
static struct op *part_movement(struct part *part)
{
	struct op *op;

	part->wave = ALL_WAVES;
	for (size_t i = 0; i < part->count; i++)
		if (part->rows[i].is == WAITS && part->rows[i].wave < part->wave)
			part->wave = part->rows[i].wave;
	op = rows_movement(part->parts->kind, part->rows, part->count, WAITS, part->wave);
	id_write(part, op);
	return op;
}

static void part_start(struct part *part, struct op *op, void (*done)(void *arg, struct op *op))
{
	struct parts *p = part->parts;
	struct pollfd ready = {loop_fd(p->loop), POLLIN, 0};

	id_write(part, op);
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
	p->rows += (int64_t)part->total;
	bar_set(p->rows);
	op_free(part->losing);
	op_free(part->movement);
	loss_pick_fini(&part->pick);
	keys_fini(&part->waves);
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
	if (rows_waiting(part, ALL_WAVES) == 0)
		part_free(part);
	else
		part_put(&part->parts->again, part);
}

static void part_fail(struct part *part, const struct op *op, enum outcome outcome)
{
	say("part %s was refused: %s", op->id, outcome_detail(outcome));
	part->parts->failed = true;
	part_free(part);
}

/* A movement of the delivery has something that the rows of the part are not. */
static void part_differs(struct part *part, const struct op *op)
{
	const char *file = part->parts->file;

	if (part->total > 0)
		say("%s, lines %lld to %lld: movement %s was made of other rows, so this is not the file that was "
		    "loaded as %s, put right line by line; another delivery needs another --id",
		    file, (long long)part->first, (long long)part->last, op->id, part->parts->name);
	else
		say("%s: movement %s was made of rows that the file does not have, so this is not the file that was "
		    "loaded as %s, put right line by line; another delivery needs another --id",
		    file, op->id, part->parts->name);
	part->parts->failed = true;
	part_free(part);
}

static bool row_is_at(const struct row *row, const char *sku, const char *location, const char *to)
{
	const char *own = row_location(row);

	if (strcmp(row->sku, sku) != 0)
		return false;
	if (to)
		return strcmp(own, location) == 0 && strcmp(row->to, to) == 0;
	return strcmp(own, location) == 0 || (row->said.to && strcmp(row->to, location) == 0);
}

/* Leaves out and names the rows of the wave at this location of the sku or, with `to`, between the two. Returns how
 * many. */
static size_t rows_refuse(struct part *part, const char *sku, const char *location, const char *to, const char *why)
{
	size_t count = 0;

	for (size_t i = 0; i < part->count; i++) {
		struct row *row = &part->rows[i];

		if (row->is != WAITS || row->wave != part->wave || !row_is_at(row, sku, location, to))
			continue;
		row->is = REFUSED;
		count++;
		if (row->said.line > 0)
			say("%s, line %lld: %s", part->parts->file, (long long)row->said.line, why);
		else
			say("%s lacks a row: %s", part->parts->file, why);
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
	count = rows_refuse(part, sku, location, to, why.data);
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

/* The rows that are `is` leave the part: of the wave, or all. */
static void rows_leave(struct part *part, enum row_is is, unsigned wave)
{
	size_t left = 0;

	for (size_t i = 0; i < part->count; i++)
		if (part->rows[i].is != is || (wave != ALL_WAVES && part->rows[i].wave != wave)) {
			if (left < i)
				part->rows[left] = part->rows[i];
			left++;
		}
	part->count = left;
}

/* The movement of the wave is there. */
static void part_loaded(struct part *part, bool before)
{
	part->parts->movements++;
	part->parts->replayed += before;
	rows_leave(part, WAITS, part->wave);
	part->attempt++;
	part_again(part);
}

static void part_done(void *arg, struct op *op)
{
	struct part *part = arg;
	size_t       refused;

	if (op->outcome == OUTCOME_OK || op->outcome == OUTCOME_REPLAYED) {
		part_loaded(part, op->outcome == OUTCOME_REPLAYED);
	} else if (op->outcome == MOVEMENT_ID_REUSED) {
		part_put(&part->parts->used, part);
	} else if (loss_pick_begin(&part->pick, op)) {
		part->losing = op;
		part->more = true;
		part_put(&part->parts->losing, part);
		return;
	} else if (outcome_class(op->outcome) == UNAVAILABLE && ++part->tries < TRIES_MAX) {
		part_again(part); /* under the same id: what became of it does not matter */
	} else if ((refused = faults_mark(part, op)) > 0) {
		part->parts->refused += (int64_t)refused;
		part_again(part);
	} else {
		part_fail(part, op, op->outcome);
	}
	op_free(op);
}

/* The end of the look at a part: no further movement has rows of it. */
static void part_seen(struct part *part)
{
	struct parts *p = part->parts;

	while (p->seen_count < part->number) {
		p->seen = mem_reach(p->seen, p->seen_count, &p->seen_max, sizeof(*p->seen));
		p->seen[p->seen_count++] = (struct seen){0};
	}
	p->seen[part->number - 1] = (struct seen){part->attempt - 1, rows_waiting(part, ALL_WAVES) == 0};
	if (p->forecast && part->count > 0)
		part_put(&p->foretold, part);
	else
		part_free(part);
}

static void forecast_done(void *arg, struct op *op)
{
	struct part  *part = arg;
	struct parts *p = part->parts;

	if (op->outcome != OUTCOME_OK) {
		part_fail(part, op, op->outcome);
	} else {
		forecast_take(p->forecast, engine_catalogue(p->engine), part->rows, part->count, op);
		part_free(part);
	}
	op_free(op);
}

/* A part goes on: nothing of it was seen, some of it, or all. */
static void part_ready(struct part *part)
{
	struct parts      *p = part->parts;
	const struct seen *seen = part->number <= p->seen_count ? &p->seen[part->number - 1] : NULL;

	if (seen && seen->whole) {
		p->movements += seen->movements;
		p->replayed += seen->movements;
		part_free(part);
	} else if (seen && seen->movements > 0) {
		part_put(&p->used, part);
	} else {
		part_again(part);
	}
}

/* ---- what was loaded before */

static enum db_result look_run(struct db *db, void *arg)
{
	struct part *part = arg;

	return known_movement(db, part->movement, &part->loaded);
}

static void look_done(void *arg, struct op *op)
{
	struct part *part = arg;

	if (op->outcome != OUTCOME_OK) {
		part_fail(part, op, op->outcome);
	} else if (part->loaded) {
		op_free(part->movement);
		part->movement = NULL;
		part_loaded(part, true);
	} else {
		part_put(&part->parts->again, part);
	}
	op_free(op);
}

/* Looks for the movement of the part by its id and its fingerprint, which costs a thousandth of sending it again. */
static void part_look(struct part *part)
{
	struct op *op = op_new(OP_RUN, 0, 0);

	part->movement = part_movement(part);
	op->job = (struct job){.run = look_run, .arg = part};
	part_start(part, op, look_done);
}

/* ---- new skus */

static enum db_result make_run(struct db *db, void *arg)
{
	struct part *part = arg;
	const char  *skus[PART_ROWS];

	for (size_t i = 0; i < part->count; i++)
		skus[i] = part->rows[i].sku;
	return new_skus_make(db, skus, part->count);
}

static void made_done(void *arg, struct op *op)
{
	((struct part *)arg)->made = true;
	if (op->outcome == OUTCOME_OK)
		part_ready(arg);
	else
		part_fail(arg, op, op->outcome);
	op_free(op);
}

static void part_make(struct part *part)
{
	struct op *op = op_new(OP_RUN, 0, 0);

	op->job = (struct job){.run = make_run, .arg = part};
	part_start(part, op, made_done);
}

/* The id was used already, or may have been: rows that stand in its movement leave the part, and the rest is looked for
 * under the next id, or goes under it. */
static void found_done(void *arg, struct op *op)
{
	struct part  *part = arg;
	struct parts *p = part->parts;

	if (op->outcome == NO_MOVEMENT && p->looks) {
		part_seen(part);
	} else if (op->outcome != OUTCOME_OK) {
		part_fail(part, op, op->outcome);
	} else if (!rows_find(p->kind, part->rows, part->count, op->move.movement)) {
		part_differs(part, op);
	} else {
		rows_leave(part, FOUND, ALL_WAVES);
		part->attempt++;
		if (p->looks) {
			part_put(&p->used, part);
		} else {
			p->movements++;
			p->replayed++;
			part_again(part);
		}
	}
	op_free(op);
}

/* ---- orders that lose units */

static enum db_result pick_run(struct db *db, void *arg)
{
	struct part *part = arg;

	return loss_pick_run(db, &part->pick, PICK_MS, &part->more);
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

/* A part with rows: its movement is looked for, then skus are made that it lacks, then it goes. */
static void part_go_on(struct part *part)
{
	struct op *op = part->movement;

	if (!op) {
		part_look(part);
	} else if (part->parts->makes && !part->made) {
		part_make(part);
	} else {
		part->movement = NULL;
		part_start(part, op, part_done);
	}
}

/* Starts a part that waits for its next operation. False: none does. */
static bool part_next(struct parts *p)
{
	struct part *part;

	if ((part = part_take(&p->again)))
		part_go_on(part);
	else if ((part = part_take(&p->used)))
		part_start(part, op_new(OP_GET_MOVEMENT, 0, 0), found_done);
	else if ((part = part_take(&p->foretold)))
		part_start(part, forecast_ask(part->rows, part->count), forecast_done);
	else if ((part = part_take(&p->losing)))
		part_lose(part);
	return part != NULL;
}

/* Waits until `most` parts are under way. */
static void parts_wait(struct parts *p, int most)
{
	struct pollfd ready = {loop_fd(p->loop), POLLIN, 0};

	while (p->flying > most) {
		if (part_next(p))
			continue;
		poll(&ready, 1, 1000);
		loop_run(p->loop);
	}
}

/* Rows for one sku and location apply in the order of the file, in movements one after the other. A receipt adds, in
 * any order, and a count names each of them once. */
static bool is_ordered(const struct parts *p)
{
	return p->kind != RECEIPT && !movement_is(p->kind, COUNTED);
}

static uint64_t row_key(const struct row *row, bool to)
{
	return key_of(row->sku, to ? row->to : row_location(row));
}

/* A part waits for those before it that have a sku and location of its own: one that is sent once more would come
 * after it. */
static void part_wait(struct part *part)
{
	struct parts *p = part->parts;
	bool          meets = p->flying_keys.count > FLYING_KEYS;

	for (size_t i = 0; i < part->count && !meets; i++)
		meets = keys_has(&p->flying_keys, row_key(&part->rows[i], false)) ||
		        (part->rows[i].said.to && keys_has(&p->flying_keys, row_key(&part->rows[i], true)));
	if (meets) {
		parts_wait(p, 0);
		keys_reset(&p->flying_keys);
	}
	for (size_t i = 0; i < part->count; i++) {
		(void)keys_add(&p->flying_keys, row_key(&part->rows[i], false));
		if (part->rows[i].said.to)
			(void)keys_add(&p->flying_keys, row_key(&part->rows[i], true));
	}
}

static void part_send(struct parts *p, struct part *part)
{
	if (p->failed) {
		keys_fini(&part->waves);
		free(part);
		return;
	}
	if (!p->looks && is_ordered(p))
		part_wait(part);
	parts_wait(p, FLYING_MAX - 1);
	if (catalogue_skus(engine_catalogue(p->engine)) > SKUS_KEPT) {
		parts_wait(p, 0);
		p->engine = p->renew(p->renew_arg, p->engine);
	}
	p->flying++;
	if (p->looks)
		part_put(&p->used, part);
	else if (p->makes && (part->number <= p->seen_count || rows_waiting(part, ALL_WAVES) == 0))
		part_make(part);
	else
		part_ready(part);
	while (part_next(p))
		;
}

static struct part *part_new(struct parts *p, unsigned number)
{
	struct part *part = mem_alloc(sizeof(*part));

	part->parts = p;
	part->number = number;
	part->attempt = 1;
	return part;
}

/* Sends the open part. Looks for movements of the parts up to `number`, which have no good row. */
static void parts_reach(struct parts *p, unsigned number)
{
	if (p->open)
		part_send(p, p->open);
	p->open = NULL;
	for (p->count++; p->count < number && p->looks && !p->failed; p->count++)
		part_send(p, part_new(p, p->count));
	p->count = number;
}

static void row_keep(struct part *part, const struct delivery_row *said)
{
	struct row *row = &part->rows[part->count++];

	assert(part->count <= PART_ROWS);
	row->said = *said;
	row->is = movement_is(part->parts->kind, COUNTED) || said->qty != 0 ? WAITS : EMPTY;
	strcpy(row->sku, said->sku);
	strcpy(row->location, said->location ? said->location : "");
	strcpy(row->to, said->to ? said->to : "");
	strcpy(row->waits_at, said->waits_at ? said->waits_at : "");
	part->total = part->count;
	part->first = part->first ? part->first : said->line;
	part->last = said->line;
}

/* The wave of the row that came last. */
static void wave_find(struct part *part)
{
	struct row *row = &part->rows[part->count - 1];
	int64_t     wave = *keys_number(&part->waves, row_key(row, false), true), at_end = 0;

	if (row->said.to)
		at_end = *keys_number(&part->waves, row_key(row, true), true);
	row->wave = (unsigned)(wave > at_end ? wave : at_end);
	*keys_number(&part->waves, row_key(row, false), true) = row->wave + 1;
	if (row->said.to)
		*keys_number(&part->waves, row_key(row, true), true) = row->wave + 1;
}

void parts_begin(struct parts *p, bool looks)
{
	p->looks = looks;
	p->count = 0;
	p->rows = 0;
}

void parts_row(struct parts *p, const struct delivery_row *said)
{
	unsigned number = (unsigned)((said->number - 1) / PART_ROWS + 1);

	if (number != p->count) {
		parts_reach(p, number);
		p->open = part_new(p, number);
	}
	row_keep(p->open, said);
	if (is_ordered(p) && !p->looks)
		wave_find(p->open);
}

/* A process that was killed may have left the last parts that were under way, and not those before them. */
void parts_end(struct parts *p, int64_t numbers)
{
	parts_reach(p, (unsigned)((numbers + PART_ROWS - 1) / PART_ROWS) + FLYING_MAX + 1);
	parts_wait(p, 0);
	keys_fini(&p->flying_keys);
}

void parts_fini(struct parts *p)
{
	free(p->seen);
}
