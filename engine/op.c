/* op.c - see op.h. */
#include "engine/op.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

enum { OP_MAGIC = 0x4f703031 };
enum op_stage { STAGE_QUEUED, STAGE_TAKEN, STAGE_CANCELLED };

enum { OF_ORDER, OF_MOVEMENT };
enum { CHANGES, MAKES };
enum { OF_STOCK, OF_OTHER };
const struct op_trait op_traits[OP_KINDS] = {
#define ASKED(kind, thread, bytes) [kind] = {.by = thread, .size = bytes},
#define LANE(kind, noun, id, effect, lines_of, state) \
	[kind] = {BY_LANE, .of_movement = OF_##id, .makes = effect, .divides = OF_##lines_of, .becomes = state},
#include "engine/op_kinds.def"
#undef LANE
#undef ASKED
};

struct op *op_new(enum op_kind kind, size_t lines_max, size_t text_size)
{
	size_t     size = op_traits[kind].size;
	size_t     whole = sizeof(struct op) + lines_max * sizeof(struct line) + size + text_size;
	struct op *op = mem_alloc(whole);

	op->magic = OP_MAGIC;
	op->kind = kind;
	op->becomes = op_traits[kind].becomes;
	op->size = (uint32_t)whole;
	op->lines_max = (uint32_t)lines_max;
	op->text = (char *)(op->lines + lines_max);
	if (size > 0)
		op->query = (struct query *)(void *)op->text; /* the union has the same place for the others */
	op->text += size;
	op->text_left = text_size;
	return op;
}

void op_forget(struct op *op)
{
	const struct op_trait *of = &op_traits[op->kind];
	struct query          *q = of->by == BY_READER && of->size > 0 ? op->query : NULL;

	reservation_free(op->reservation);
	op->reservation = NULL;
	if (op->kind == OP_GET_MOVEMENT) {
		movement_free(op->move.movement);
		op->move.movement = NULL;
	}
	if (op->kind == OP_GET && op->kin) {
		free(op->kin->parts);
		free(op->kin);
		op->kin = NULL;
	}
	if (!q)
		return;
	for (size_t i = 0; q->reservations && i < q->items; i++)
		reservation_free(q->reservations[i]);
	for (size_t i = 0; q->movements && i < q->items; i++)
		movement_free(q->movements[i]);
	free(q->reservations);
	free(q->movements);
	free(q->totals);
	free(q->totals_of);
	free(q->lows);
	free(q->lows_of);
	*q = (struct query){.page = q->page};
}

void losses_forget(struct losses *losses)
{
	for (size_t i = 0; i < losses->losers_count; i++)
		reservation_free(losses->losers[i].reservation);
	losses->losers_count = losses->lost_count = 0;
}

static void losses_free(struct losses *losses)
{
	if (!losses)
		return;
	losses_forget(losses);
	free(losses->losers);
	free(losses->lost);
	free(losses->list);
	free(losses);
}

void op_free(struct op *op)
{
	if (!op)
		return;
	assert(op->magic == OP_MAGIC);
	op->magic = 0;
	op_unread(op);
	op_forget(op);
	if (op->kind == OP_MOVE || op->kind == OP_GET_MOVEMENT) {
		movement_free(op->move.movement);
		losses_free(op->move.losses);
		if (op->move.kind == RETURN)
			free(op->move.parts);
	}
	if ((op->kind == OP_RUN || op->kind == OP_TALLY) && op->job.run_free)
		op->job.run_free(op->job.arg);
	if (op->kind == OP_FOLLOW) {
		free(op->follow->after);
		text_leave(op->follow->page);
	}
	free(op);
}

const char *op_text(struct op *op, const char *bytes, size_t len)
{
	char *copy = op->text;

	assert(len < op->text_left);
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	op->text += len + 1;
	op->text_left -= len + 1;
	return copy;
}

struct line *op_line(struct op *op, const char *sku, size_t sku_len, const char *location, size_t location_len,
                     int64_t qty)
{
	struct line *line = &op->lines[op->lines_count++];

	assert(op->lines_count <= op->lines_max);
	line->sku_code = op_text(op, sku, sku_len);
	line->location_code = location ? op_text(op, location, location_len) : "main";
	line->qty = qty;
	line->expected = -1;
	return line;
}

static void *op_room(struct op *op, size_t size)
{
	void *room = op->text;

	assert(size <= op->text_left);
	op->text += size;
	op->text_left -= size;
	return room;
}

void op_transfers(struct op *op, size_t max)
{
	assert(movement_has_ends(op->move.kind));
	op->move.transfers = op_room(op, max * sizeof(struct transfer));
}

void op_transfer(struct op *op, const struct transfer *transfer)
{
	struct transfer *added = &op->move.transfers[op->move.parts_count++];
	struct line     *from = op_line(op, transfer->sku_code, strlen(transfer->sku_code), transfer->from_code,
	                                strlen(transfer->from_code), -transfer->qty);
	struct line     *to = op_line(op, transfer->sku_code, strlen(transfer->sku_code), transfer->to_code,
	                              strlen(transfer->to_code), transfer->qty);

	from->expected = transfer->qty;
	to->expected = 0;
	*added = (struct transfer){from->sku_code, from->location_code, to->location_code, .qty = transfer->qty};
}

void op_counts(struct op *op, size_t max)
{
	assert(op->move.kind == STOCKTAKE);
	op->move.counted = op_room(op, max * sizeof(struct counted));
}

void op_counted(struct op *op, int64_t as_of)
{
	const struct line *line = &op->lines[op->lines_count - 1];

	op->move.counted[op->move.parts_count++] = (struct counted){
		.sku_code = line->sku_code,
		.location_code = line->location_code,
		.as_of = as_of,
		.sent = op->lines_count - 1,
	};
}

void op_lose(struct op *op, const char *to, size_t to_len)
{
	const struct line *line = &op->lines[op->lines_count - 1];
	struct losses     *losses = op->move.losses;
	struct loss       *added;

	assert(op->move.kind == STOCKTAKE || op->move.kind == ADJUSTMENT);
	if (!losses)
		losses = op->move.losses = mem_alloc(sizeof(*losses));
	losses->list = mem_reach(losses->list, losses->count, &losses->max, sizeof(*losses->list));
	added = &losses->list[losses->count++];
	*added = (struct loss){
		.sku_code = line->sku_code, .location_code = line->location_code, .sent = op->lines_count - 1};
	if (to)
		memcpy(added->to_code, to, to_len);
}

static int loss_order(const void *a, const void *b)
{
	const struct loss *x = a, *y = b;
	int                order = strcmp(x->sku_code, y->sku_code);

	return order ? order : strcmp(x->location_code, y->location_code);
}

struct loss *line_loss(const struct op *op, const struct line *line)
{
	const struct losses *losses = op->kind == OP_MOVE ? op->move.losses : NULL;
	const struct loss    key = {.sku_code = line->sku_code, .location_code = line->location_code};

	return losses ? bsearch(&key, losses->list, losses->count, sizeof(key), loss_order) : NULL;
}

void op_unread(struct op *op)
{
	reservation_free(op->found);
	reservation_free(op->other);
	free(op->claim);
	op->found = op->other = NULL;
	op->claim = NULL;
	if (op->kind == OP_MOVE || op->kind == OP_GET_MOVEMENT) {
		movement_free(op->move.found);
		op->move.found = NULL;
	}
}

void op_renew(struct op *op)
{
	op_unread(op);
	op->outcome = OUTCOME_OK;
	op->ended = op->row_locked = op->suspects_lock = op->tried_alone = false;
	op->lookup_seq = op->guard_misses = op->looks = op->tries = op->errors = 0;
	op->busy_since_ms = op->again_ms = 0;
	op->next = NULL;
	atomic_store(&op->stage, 0);
}

void op_choices(struct op *op, size_t max)
{
	op->choices = op_room(op, max * sizeof(struct choice));
}

struct choice *op_choice(struct op *op, const char *sku, size_t sku_len, int64_t qty, bool may_split)
{
	struct choice *choice = &op->choices[op->choices_count++];

	choice->sku_code = op_text(op, sku, sku_len);
	choice->qty = qty;
	choice->may_split = may_split;
	return choice;
}

void op_choice_add(struct op *op, struct choice *choice, const char *location, size_t location_len)
{
	struct line *line = &op->lines[op->lines_count++];

	assert(op->lines_count <= op->lines_max && choice->count < CHOICE_MAX);
	line->sku_code = choice->sku_code;
	line->location_code = choice->location_code[choice->count++] = op_text(op, location, location_len);
	line->expected = -1;
}

int64_t op_units(const struct op *op)
{
	int64_t units = lines_units(op->lines, op->lines_count);

	for (size_t i = 0; i < op->choices_count; i++)
		units += op->choices[i].qty;
	return units;
}

int64_t line_takes(const struct op *op, const struct line *line)
{
	return movement_has_ends(op->move.kind) ? line->expected : -line->qty;
}

bool op_has_faults(const struct op *op)
{
	for (size_t i = 0; i < op->lines_count; i++)
		if (op->lines[i].fault)
			return true;
	for (size_t i = 0; i < op->choices_count; i++)
		if (op->choices[i].fault)
			return true;
	return false;
}

/* A sum stands where the first of its lines with units was sent: its code stands there in the text. */
static void line_sum(struct line *sum, const struct line *line)
{
	if (sum->qty == 0 || (line->qty != 0 && line->sku_code < sum->sku_code))
		sum->sku_code = line->sku_code;
	sum->qty += line->qty;
	if (line->expected > 0) /* of a transfer; nothing else that is expected is summed */
		sum->expected += line->expected;
}

/* Merges equal neighbours; returns how many lines went. */
static size_t lines_sum(struct op *op)
{
	size_t kept = 0, all = op->lines_count;

	for (size_t i = 0; i < all; i++) {
		if (kept > 0 && line_order(&op->lines[kept - 1], &op->lines[i]) == 0)
			line_sum(&op->lines[kept - 1], &op->lines[i]);
		else
			op->lines[kept++] = op->lines[i];
	}
	op->lines_count = kept;
	return all - kept;
}

/* By sku. The text of an op grows, so a sku that stands further on was named later. */
static int choice_order(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;
	int                  order = strcmp(x->sku_code, y->sku_code);

	return order ? order : (x->sku_code > y->sku_code) - (x->sku_code < y->sku_code);
}

/* Equal sku and ends are one. */
static void transfers_seal(struct op *op)
{
	struct transfer *list = op->move.transfers;
	unsigned         kept = 0;

	qsort(list, op->move.parts_count, sizeof(*list), transfer_order);
	for (unsigned i = 0; i < op->move.parts_count; i++) {
		if (kept > 0 && transfer_order(&list[kept - 1], &list[i]) == 0)
			list[kept - 1].qty += list[i].qty;
		else
			list[kept++] = list[i];
	}
	op->move.parts_count = kept;
}

static int counted_order(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;
	int                   order = strcmp(x->sku_code, y->sku_code);

	return order ? order : strcmp(x->location_code, y->location_code);
}

static void choices_seal(struct op *op)
{
	qsort(op->choices, op->choices_count, sizeof(op->choices[0]), choice_order);
	for (size_t i = 0; i < op->choices_count; i++)
		for (size_t k = 0; k < op->choices[i].count; k++) {
			struct choice *choice = &op->choices[i];
			struct line    key = {.sku_code = choice->sku_code, .location_code = choice->location_code[k]};
			const struct line *line = bsearch(&key, op->lines, op->lines_count, sizeof(key), line_order);

			choice->line[k] = (uint16_t)(line - op->lines);
		}
}

static void print_string(struct text *t, const char *s)
{
	if (s)
		text_bytes(t, s, strlen(s) + 1);
	else
		text_char(t, '\xff'); /* 0xff: no string holds this byte */
}

/* A word, and the other order or the customer. No code has the byte before the word, so nothing else prints alike. */
static void print_other(struct text *t, const char *word, const char *code)
{
	print_string(t, NULL);
	print_string(t, word);
	print_string(t, code);
}

/* No code has the byte before the word, so that no line prints alike and the locations of a choice end there. */
static void print_choice(struct text *t, const struct choice *choice)
{
	print_string(t, NULL);
	print_string(t, choice->may_split ? "may split" : "choice");
	print_string(t, choice->sku_code);
	text_int(t, choice->qty);
	text_char(t, ' ');
	for (size_t i = 0; i < choice->count; i++)
		print_string(t, choice->location_code[i]);
}

/* SHA-256 of the lines in print, the same on every machine. A fingerprint that can be forged would let one body pass
 * for another. */
static void lines_hash(struct op *op)
{
	static const char *const splits[STATES] = {"split", [CONFIRMED] = "split and confirm",
	                                           [RELEASED] = "split and release", [SETTLED] = "split and settle"};
	unsigned char            digest[EVP_MAX_MD_SIZE];
	struct text              print = {0};

	if (op->kind == OP_SPLIT)
		print_other(&print, splits[op->becomes], op->other_id);
	if (op->kind == OP_MOVE) {
		print_string(&print, movement_kind_name(op->move.kind));
		print_string(&print, op->move.reason);
		print_string(&print, op->move.reference);
	}
	for (size_t i = 0; i < op->lines_count; i++) {
		if (op->choices_count > 0 && op->lines[i].qty == 0)
			continue; /* a location of choices alone */
		print_string(&print, op->lines[i].sku_code);
		print_string(&print, op->lines[i].location_code);
		text_int(&print, op->lines[i].qty);
		text_char(&print, ' ');
		text_int(&print, op->lines[i].expected);
		text_char(&print, ' ');
	}
	for (size_t i = 0; i < op->choices_count; i++)
		print_choice(&print, &op->choices[i]);
	for (size_t i = 0; op->kind == OP_MOVE && movement_has_ends(op->move.kind) && i < op->move.parts_count; i++) {
		print_string(&print, op->move.transfers[i].sku_code);
		print_string(&print, op->move.transfers[i].from_code);
		print_other(&print, "to", op->move.transfers[i].to_code);
		text_int(&print, op->move.transfers[i].qty);
	}
	for (size_t i = 0; op->kind == OP_MOVE && op->move.kind == STOCKTAKE && i < op->move.parts_count; i++)
		if (op->move.counted[i].as_of) {
			print_other(&print, "as of", op->move.counted[i].sku_code);
			print_string(&print, op->move.counted[i].location_code);
			text_int(&print, op->move.counted[i].as_of);
		}
	for (size_t i = 0; op->kind == OP_MOVE && op->move.losses && i < op->move.losses->count; i++) {
		print_other(&print, "backorder", op->move.losses->list[i].sku_code);
		print_string(&print, op->move.losses->list[i].location_code);
		print_string(&print, op->move.losses->list[i].to_code);
	}
	if (op->other_id && (op->kind == OP_RESERVE || op->kind == OP_MOVE))
		print_other(&print, op->kind == OP_MOVE ? "returns" : "replaces", op->other_id);
	if (op->kind == OP_RESERVE && op->reserve.customer)
		print_other(&print, "customer", op->reserve.customer);
	if (!EVP_Digest(print.data, print.len, digest, NULL, EVP_sha256(), NULL))
		mem_end();
	memcpy(op->lines_hash, digest, sizeof(op->lines_hash));
	text_fini(&print);
}

/* An exclusive operation is a batch of its own. A stocktake has to see every slot, an arrival every promise, and who
 * takes promised units both. What a
 * location gives in a transfer has to be there before it gets any. A sum of many equal lines exceeds the margin below
 * the limit of totals. */
static bool is_exclusive(const struct op *op)
{
	for (size_t i = 0; op->kind == OP_MOVE && i < op->lines_count; i++)
		if (op->lines[i].qty > LINE_UNITS_MAX || (op->move.kind == TRANSFER && op->lines[i].expected > 0 &&
		                                          op->lines[i].qty + op->lines[i].expected > 0))
			return true;
	return op->kind == OP_MOVE && (op->move.kind == STOCKTAKE || op->move.kind == ARRIVAL || op->move.losses);
}

void op_seal(struct op *op, size_t *twins)
{
	size_t summed;

	if (op->lines_count > 1)
		lines_sort(op->lines, op->lines_count);
	summed = lines_sum(op);
	if (twins)
		*twins = summed;
	if (op->choices_count > 0)
		choices_seal(op);
	if (op->kind == OP_MOVE && movement_has_ends(op->move.kind))
		transfers_seal(op);
	if (op->kind == OP_MOVE && op->move.kind == STOCKTAKE && op->move.parts_count > 1)
		qsort(op->move.counted, op->move.parts_count, sizeof(struct counted), counted_order);
	if (op->kind == OP_MOVE && op->move.losses && op->move.losses->count > 1)
		qsort(op->move.losses->list, op->move.losses->count, sizeof(struct loss), loss_order);
	op->exclusive = is_exclusive(op);
	lines_hash(op);
}

enum reservation_state op_state(const struct op *op)
{
	return op->becomes || !op->other ? op->becomes : op->other->state;
}

void op_begun(struct op *op, int64_t now_ms)
{
	int64_t queued_ms = now_ms - op->arrived_ms + 1;

	if (op->queued_ms == 0)
		op->queued_ms = queued_ms < UINT16_MAX ? (uint16_t)queued_ms : UINT16_MAX;
}

uint64_t op_id_hash(bool movement, const char *id)
{
	return (hash_bytes(id, strlen(id)) ^ (movement ? UINT64_C(0x9e3779b97f4a7c15) : 0)) | 1;
}

void op_queue(struct op *op)
{
	int taken = STAGE_TAKEN;

	atomic_compare_exchange_strong(&op->stage, &taken, STAGE_QUEUED);
}

bool op_take(struct op *op)
{
	int queued = STAGE_QUEUED;

	assert(op->magic == OP_MAGIC);
	return atomic_compare_exchange_strong(&op->stage, &queued, STAGE_TAKEN);
}

bool op_cancelled(const struct op *op)
{
	return atomic_load(&op->stage) == STAGE_CANCELLED;
}

bool op_cancel(struct op *op)
{
	int queued = STAGE_QUEUED;

	return atomic_compare_exchange_strong(&op->stage, &queued, STAGE_CANCELLED);
}
