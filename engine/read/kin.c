/* kin.c - see kin.h. */
#include "engine/read/kin.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"

#include <stdio.h>

struct kin_reader {
	struct op **ops;
	size_t      count;
};

static void code_read(char to[ID_MAX + 1], const struct db_row *row, unsigned column)
{
	snprintf(to, ID_MAX + 1, "%s", row->col[column] ? row->col[column] : "");
}

/* A task that has come or gone since the reservation was read does not fit what is told of it. */
static void task_read(struct kin *kin, const struct reservation *r, const struct db_row *row)
{
	if (!row->col[4] || (uint64_t)db_int(row, 4) != r->task_id || db_int(row, 1) != r->changed)
		return;
	kin->task.task_id = r->task_id;
	code_read(kin->task.worker, row, 5);
	kin->task_state = (unsigned)db_int(row, 6);
	kin->task.lease_until = time_parse(row->col[7]);
}

/* Several may ask for one order. */
static void kin_read(void *arg, const struct db_row *row)
{
	const struct kin_reader *in = arg;

	for (size_t i = 0; i < in->count; i++) {
		struct op *op = in->ops[i];

		if (!op->reservation || op->kin || op->reservation->reservation_id != (uint64_t)db_int(row, 0))
			continue;
		op->kin = mem_alloc(sizeof(*op->kin));
		code_read(op->kin->split_from, row, 2);
		op->kin->was_split = row->col[3] != NULL;
		task_read(op->kin, op->reservation, row);
	}
}

static void part_read(void *arg, const struct db_row *row)
{
	struct kin *kin = arg;

	assert(kin->parts_count <= KIN_MAX);
	if (kin->parts_count < KIN_MAX)
		code_read(kin->parts[kin->parts_count++], row, 0);
}

static enum db_result parts_look(struct db *db, const struct op *op)
{
	struct values  id = {0};
	enum db_result result;

	op->kin->parts = mem_alloc(KIN_MAX * sizeof(*op->kin->parts));
	values_row(&id, V_INT(op->reservation->reservation_id));
	result = db_ask(db, KIN_PARTS, &(struct fill){.rows = &id, .limit = KIN_MAX}, part_read, op->kin);
	values_fini(&id);
	return result;
}

static bool has_kin(const struct reservation *r)
{
	return r && (r->task_id > 0 || r->noted & NOTED_PARTS);
}

enum db_result kin_look(struct db *db, struct op **ops, size_t count)
{
	struct kin_reader in = {ops, count};
	struct values     ids = {0};
	enum db_result    result = DB_OK;

	for (size_t i = 0; i < count; i++)
		if (has_kin(ops[i]->reservation))
			values_row(&ids, V_INT(ops[i]->reservation->reservation_id));
	if (ids.count > 0)
		result = db_ask(db, KIN_FIND, &(struct fill){.rows = &ids}, kin_read, &in);
	values_fini(&ids);
	for (size_t i = 0; result == DB_OK && i < count; i++)
		if (ops[i]->kin && ops[i]->kin->was_split)
			result = parts_look(db, ops[i]);
	return result;
}
