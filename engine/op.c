/* op.c - see op.h. */
#include "engine/op.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"

enum { OP_MAGIC = 0x4f703031 };
enum op_stage { STAGE_QUEUED, STAGE_TAKEN, STAGE_CANCELLED };

enum { OF_ORDER, OF_MOVEMENT };
enum { CHANGES, MAKES };
enum { NO_LINES, ASKED_FOR, MOVED, OF_OTHER };
const struct op_trait op_traits[OP_KINDS] = {
#define ASKED(kind, thread, bytes) [kind] = {.by = thread, .size = bytes},
#define LANE(kind, noun, id, effect, lines, state) \
	[kind] = {BY_LANE,                         \
	          .of_movement = OF_##id,          \
	          .makes = effect,                 \
	          .asks = (lines) == ASKED_FOR,    \
	          .divides = (lines) == OF_OTHER,  \
	          .becomes = state},
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
	op->text_left = (uint32_t)text_size;
	return op;
}

void op_forget(struct op *op)
{
	const struct op_trait *of = op_trait(op);
	bool                   lists = (of->by == BY_READER && of->size > 0) || of->by == BY_SEARCH;
	struct query          *q = lists ? op->query : NULL;

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
	sku_details_fini(&q->details);
	*q = (struct query){.page = q->page, .search = q->search};
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
	losses_free(op->losses);
	if (op_trait(op)->of_movement) {
		movement_free(op->move.movement);
		if (movement_is(op->move.kind, NAMES_ORDER))
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
	op->text_left -= (uint32_t)len + 1;
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
	op->text_left -= (uint32_t)size;
	return room;
}

void op_transfers(struct op *op, size_t max)
{
	assert(op_moves(op, HAS_ENDS));
	op->move.transfers = op_room(op, max * sizeof(struct transfer));
}

void op_transfer(struct op *op, const struct transfer *transfer)
{
	struct transfer *added = &op->move.transfers[op->move.transfers_count++];
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
	assert(op_moves(op, COUNTED));
	op->move.counted = op_room(op, max * sizeof(struct counted));
}

void op_counted(struct op *op, int64_t expected, int64_t as_of)
{
	unsigned        sent = op->lines_count - 1;
	struct counted *count = &op->move.counted[sent];

	*count = (struct counted){.expected = expected, .as_of = as_of, .sent = sent};
	op->lines[sent].count = count;
}

void op_expect(struct op *op, int64_t expected)
{
	assert(op_moves(op, SIGNED));
	op->lines[op->lines_count - 1].expected = expected;
}

void op_lose(struct op *op, const char *to, size_t to_len)
{
	unsigned     sent = op->lines_count - 1;
	struct loss *loss;

	assert(op_moves(op, MAY_LOSE));
	if (!op->losses)
		op->losses = mem_alloc(sizeof(struct losses) + op->lines_max * sizeof(*loss));
	loss = &op->losses->of[sent];
	loss->sent = sent;
	if (to)
		memcpy(loss->to_code, to, to_len);
	op->lines[sent].loss = loss;
}

void op_unread(struct op *op)
{
	reservation_free(op->found);
	reservation_free(op->other);
	free(op->claim);
	op->found = op->other = NULL;
	op->claim = NULL;
	if (op_trait(op)->of_movement) {
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

void op_ids(struct op *op, size_t max)
{
	assert(op->kind == OP_FIND);
	op->query->page.ids = op_room(op, max * sizeof(*op->query->page.ids));
}

void op_ids_add(struct op *op, const char *id, size_t len)
{
	struct page *page = &op->query->page;

	page->ids[page->ids_count++] = op_text(op, id, len);
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
	return op->move.transfers_count > 0 ? line->expected : -line->qty;
}

bool op_expects(const struct op *op)
{
	for (size_t i = 0; op_moves(op, SIGNED) && i < op->lines_count; i++)
		if (line_expects(op, &op->lines[i]))
			return true;
	return false;
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
static void line_sum(struct line *sum, const struct line *line, bool has_ends)
{
	if (sum->qty == 0 || (line->qty != 0 && line->sku_code < sum->sku_code))
		sum->sku_code = line->sku_code;
	sum->qty += line->qty;
	if (has_ends)
		sum->expected += line->expected;
}

static bool op_has_ends(const struct op *op)
{
	return op->kind == OP_MOVE && op->move.transfers_count > 0;
}

/* Merges equal neighbours; returns how many lines went. */
static size_t lines_sum(struct op *op)
{
	size_t kept = 0, all = op->lines_count;
	bool   has_ends = op_has_ends(op);

	for (size_t i = 0; i < all; i++) {
		if (kept > 0 && line_order(&op->lines[kept - 1], &op->lines[i]) == 0)
			line_sum(&op->lines[kept - 1], &op->lines[i], has_ends);
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

/* The place of the line that was made of these codes. */
static uint32_t line_place(const struct op *op, const char *sku, const char *location)
{
	struct line        key = {.sku_code = sku, .location_code = location};
	const struct line *line = bsearch(&key, op->lines, op->lines_count, sizeof(key), line_order);

	return (uint32_t)(line - op->lines);
}

static void choices_seal(struct op *op)
{
	qsort(op->choices, op->choices_count, sizeof(op->choices[0]), choice_order);
	for (size_t i = 0; i < op->choices_count; i++)
		for (size_t k = 0; k < op->choices[i].count; k++) {
			struct choice *choice = &op->choices[i];

			choice->line[k] = (uint16_t)line_place(op, choice->sku_code, choice->location_code[k]);
		}
}

static void transfer_add(void *sum, const void *one)
{
	((struct transfer *)sum)->qty += ((const struct transfer *)one)->qty;
}

/* Equal sku and ends are one. */
static void transfers_seal(struct op *op)
{
	struct transfer *list = op->move.transfers;

	op->move.transfers_count =
		(uint32_t)mem_join(list, op->move.transfers_count, sizeof(*list), transfer_order, transfer_add);
	for (size_t i = 0; i < op->move.transfers_count; i++) {
		list[i].from_line = line_place(op, list[i].sku_code, list[i].from_code);
		list[i].to_line = line_place(op, list[i].sku_code, list[i].to_code);
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

static void print_lines(struct text *t, const struct op *op)
{
	bool counted = op_moves(op, COUNTED);

	for (size_t i = 0; i < op->lines_count; i++) {
		const struct line *line = &op->lines[i];
		int64_t            expected = counted ? line->count->expected : line->expected;

		if (op->choices_count > 0 && line->qty == 0)
			continue; /* a place of choices alone */
		print_string(t, line->sku_code);
		print_string(t, line->location_code);
		text_int(t, line->qty);
		if (expected == -1) { /* nearly always */
			text_bytes(t, " -1 ", 4);
			continue;
		}
		text_char(t, ' ');
		text_int(t, expected);
		text_char(t, ' ');
	}
	for (size_t i = 0; i < op->choices_count; i++)
		print_choice(t, &op->choices[i]);
}

/* Prints what the lines of a movement carry. */
static void print_carried(struct text *t, const struct op *op)
{
	for (size_t i = 0; i < op->move.transfers_count; i++) {
		print_string(t, op->move.transfers[i].sku_code);
		print_string(t, op->move.transfers[i].from_code);
		print_other(t, "to", op->move.transfers[i].to_code);
		text_int(t, op->move.transfers[i].qty);
	}
	for (size_t i = 0; op_moves(op, COUNTED) && i < op->lines_count; i++)
		if (op->lines[i].count->as_of) {
			print_other(t, "as of", op->lines[i].sku_code);
			print_string(t, op->lines[i].location_code);
			text_int(t, op->lines[i].count->as_of);
		}
	for (size_t i = 0; op->losses && i < op->lines_count; i++)
		if (op->lines[i].loss) {
			print_other(t, "backorder", op->lines[i].sku_code);
			print_string(t, op->lines[i].location_code);
			print_string(t, op->lines[i].loss->to_code);
		}
}

static void print_move(struct text *t, const struct op *op)
{
	print_string(t, movement_kind_name(op->move.kind));
	print_string(t, op->move.reason);
	print_string(t, op->reference);
	print_lines(t, op);
	print_carried(t, op);
	if (op->other_id)
		print_other(t, "returns", op->other_id);
}

static void print_reserve(struct text *t, const struct op *op)
{
	print_lines(t, op);
	if (op->other_id)
		print_other(t, "replaces", op->other_id);
	if (op->customer)
		print_other(t, "customer", op->customer);
}

static void print_split(struct text *t, const struct op *op)
{
	static const char *const words[STATES] = {"split", [CONFIRMED] = "split and confirm",
	                                          [RELEASED] = "split and release", [SETTLED] = "split and settle"};

	print_other(t, words[op->becomes], op->other_id);
	print_lines(t, op);
}

/* SHA-256 of the lines in print, the same on every machine. A fingerprint that can be forged would let one body pass
 * for another. */
static void lines_hash(struct op *op)
{
	static void (*const prints[OP_KINDS])(struct text * t, const struct op *op) = {[OP_RESERVE] = print_reserve,
	                                                                               [OP_MOVE] = print_move,
	                                                                               [OP_AMEND] = print_lines,
	                                                                               [OP_SPLIT] = print_split};
	unsigned char digest[SHA256_BYTES];
	struct text   print = {0};

	prints[op->kind](&print, op);
	sha256(print.data, print.len, digest);
	memcpy(op->lines_hash, digest, sizeof(op->lines_hash));
	text_fini(&print);
}

/* An exclusive movement is a batch of its own. A count has to see every slot, and so has an adjustment that says how
 * many units there are; an arrival has to see every promise, and a movement that takes promised units both. The units
 * that a location gives in a transfer have to be there before it gets any. A line of very many units exceeds the margin
 * below the limit of totals. */
static bool is_exclusive(const struct op *op)
{
	bool has_ends = op_has_ends(op);

	if (!op_trait(op)->of_movement)
		return false;
	for (size_t i = 0; i < op->lines_count; i++) {
		const struct line *line = &op->lines[i];

		if (line->qty > SHARED_UNITS_MAX || (has_ends && line->expected > 0 && line->qty + line->expected > 0))
			return true;
	}
	return op_moves(op, EXCLUSIVE) || op->losses || op_expects(op);
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
	if (op_has_ends(op))
		transfers_seal(op);
	op->exclusive = is_exclusive(op);
	lines_hash(op);
}

/* A confirmation is known by its time, which the order keeps when it is released. */
static bool op_was_done(const struct op *op)
{
	const struct reservation *r = op->found ? op->found : op->reservation;

	if (outcome_is_repeat(op->outcome))
		return true;
	return op->kind == OP_CONFIRM && op->outcome == IS_RELEASED && r && r->confirmed_at != TIME_NONE;
}

bool ops_granted(struct op *const *ops, size_t count)
{
	bool each = true, before = true;

	for (size_t i = 0; i < count; i++) {
		each &= ops[i]->outcome == OUTCOME_OK || outcome_is_repeat(ops[i]->outcome);
		before &= op_was_done(ops[i]);
	}
	return each || before;
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
	uint8_t taken = STAGE_TAKEN;

	atomic_compare_exchange_strong(&op->stage, &taken, STAGE_QUEUED);
}

bool op_take(struct op *op)
{
	uint8_t queued = STAGE_QUEUED;

	assert(op->magic == OP_MAGIC);
	return atomic_compare_exchange_strong(&op->stage, &queued, STAGE_TAKEN);
}

bool op_cancelled(const struct op *op)
{
	return atomic_load(&op->stage) == STAGE_CANCELLED;
}

bool op_cancel(struct op *op)
{
	uint8_t queued = STAGE_QUEUED;

	return atomic_compare_exchange_strong(&op->stage, &queued, STAGE_CANCELLED);
}
