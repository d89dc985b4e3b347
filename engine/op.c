/* op.c - operations and the loops that start them; what engine.h says of outcomes, states and kinds. */
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"
#include "engine/lane/lane.h"
#include "engine/read/list.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const struct {
	const char *code, *detail;
	enum outcome_class class;
} outcomes[OUTCOMES] = {
#define X(name, code, class, detail) [name] = {code, detail, class},
#include "engine/outcome.def"
#undef X
};

const char *outcome_code(enum outcome o)
{
	return outcomes[o].code;
}

const char *outcome_detail(enum outcome o)
{
	return outcomes[o].detail;
}

enum outcome_class outcome_class(enum outcome o)
{
	return outcomes[o].class;
}

const char *reservation_state_name(enum reservation_state s)
{
	static const char *const names[STATES] = {
		"",
#define X(name, number, word) [number] = word,
#include "engine/reservation_states.def"
#undef X
	};

	assert(s < STATES);
	return names[s];
}

const char *movement_kind_name(enum movement_kind k)
{
	static const char *const names[KINDS] = {
		"",
#define X(name, number, word) [number] = word,
#include "engine/movement_kinds.def"
#undef X
	};

	assert(k < KINDS);
	return names[k];
}

enum reservation_state reservation_reads(const struct reservation *r)
{
	return r->state == HELD && r->expires_at <= r->read_at ? EXPIRED : r->state;
}

uint64_t id_make(struct ids *ids)
{
	enum { SET_BACK = 4000 }; /* a second: the clock was set, and the last id was made ahead of time */
	int64_t tick = (clock_us() + ids->clock_offset_ms * 1000) / 250;

	if (tick > ids->tick || tick < ids->tick - SET_BACK) {
		ids->tick = tick;
		ids->count = 0;
	} else if (++ids->count == 512) {
		ids->tick++;
		ids->count = 0;
	}
	return (uint64_t)ids->tick << 19 | (ids->owner & 1023) << 9 | ids->count;
}

/* ---- operations */

struct op *op_new(enum op_kind kind, size_t lines_max, size_t text_size)
{
	struct op *op = mem_try(sizeof(*op) + lines_max * sizeof(struct line) + text_size);

	if (!op)
		return NULL;
	op->magic = OP_MAGIC;
	op->kind = kind;
	op->lines_max = lines_max;
	op->text = (char *)(op->lines + lines_max);
	op->text_left = text_size;
	return op;
}

void op_forget(struct op *op)
{
	for (size_t i = 0; op->reservations && i < op->items; i++)
		reservation_free(op->reservations[i]);
	for (size_t i = 0; op->movements && i < op->items; i++)
		movement_free(op->movements[i]);
	free(op->reservations);
	free(op->movements);
	free(op->totals);
	free(op->totals_of);
	op->reservations = NULL;
	op->movements = NULL;
	op->totals = NULL;
	op->totals_of = NULL;
	op->items = 0;
}

void op_free(struct op *op)
{
	if (!op)
		return;
	assert(op->magic == OP_MAGIC);
	op->magic = 0;
	reservation_free(op->reservation);
	reservation_free(op->found);
	movement_free(op->movement);
	movement_free(op->found_movement);
	op_forget(op);
	if (op->run_free)
		op->run_free(op->run_arg);
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

static int line_order(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int                order = strcmp(x->sku_code, y->sku_code);

	return order ? order : strcmp(x->location_code, y->location_code);
}

void lines_sort(struct line *lines, size_t count)
{
	qsort(lines, count, sizeof(lines[0]), line_order);
}

/* Equal neighbours become one; returns how many went. */
static size_t lines_sum(struct op *op)
{
	size_t kept = 0, all = op->lines_count;

	for (size_t i = 0; i < all; i++) {
		if (kept > 0 && line_order(&op->lines[kept - 1], &op->lines[i]) == 0)
			op->lines[kept - 1].qty += op->lines[i].qty;
		else
			op->lines[kept++] = op->lines[i];
	}
	op->lines_count = kept;
	return all - kept;
}

static void print_string(struct text *t, const char *s)
{
	if (s)
		text_bytes(t, s, strlen(s) + 1);
	else
		text_char(t, '\xff'); /* no string holds this byte */
}

/* SHA-256 of the lines in print, the same on every machine; a fingerprint that can be forged would let one body pass
 * for another. */
static bool lines_hash(struct op *op)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	struct text   print = {.tries = true};
	bool          done;

	if (op->kind == OP_MOVE) {
		print_string(&print, movement_kind_name(op->movement_kind));
		print_string(&print, op->reason);
		print_string(&print, op->reference);
	}
	for (size_t i = 0; i < op->lines_count; i++) {
		print_string(&print, op->lines[i].sku_code);
		print_string(&print, op->lines[i].location_code);
		text_int(&print, op->lines[i].qty);
		text_char(&print, ' ');
		text_int(&print, op->lines[i].expected);
		text_char(&print, ' ');
	}
	done = !print.failed && EVP_Digest(print.data, print.len, digest, NULL, EVP_sha256(), NULL);
	if (done)
		memcpy(op->lines_hash, digest, sizeof(op->lines_hash));
	text_fini(&print);
	return done;
}

/* A count has to see every slot. A sum of many equal lines is more than the margin below the limit of totals allows
 * for. */
static bool goes_alone(const struct op *op)
{
	for (size_t i = 0; op->kind == OP_MOVE && i < op->lines_count; i++)
		if (op->lines[i].qty > LINE_UNITS_MAX)
			return true;
	return op->movement_kind == STOCKTAKE;
}

bool op_seal(struct op *op, size_t *twins)
{
	size_t summed;

	lines_sort(op->lines, op->lines_count);
	summed = lines_sum(op);
	if (twins)
		*twins = summed;
	op->alone = goes_alone(op);
	return lines_hash(op);
}

uint64_t op_id_hash(bool movement, const char *id)
{
	return (hash_bytes(id, strlen(id)) ^ (movement ? UINT64_C(0x9e3779b97f4a7c15) : 0)) | 1;
}

bool op_cancel(struct op *op)
{
	int queued = STAGE_QUEUED;

	return atomic_compare_exchange_strong(&op->stage, &queued, STAGE_CANCELLED);
}

/* ---- loops */

struct loop {
	pthread_mutex_t lock;
	struct op      *first, **last;
	int             fd;
};

struct loop *loop_new(void)
{
	struct loop *l = mem_alloc(sizeof(*l));

	pthread_mutex_init(&l->lock, NULL);
	l->last = &l->first;
	l->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	assert(l->fd >= 0);
	return l;
}

int loop_fd(const struct loop *l)
{
	return l->fd;
}

/* The first of these and those after it that are of the same loop. Returns the rest. */
static struct op *loop_give_some(struct op *first)
{
	struct loop *l = first->loop;
	struct op   *last = first, *rest;
	bool         wake;

	while (last->next && last->next->loop == l)
		last = last->next;
	rest = last->next;
	last->next = NULL;
	pthread_mutex_lock(&l->lock);
	wake = !l->first;
	*l->last = first;
	l->last = &last->next;
	pthread_mutex_unlock(&l->lock);
	if (wake)
		eventfd_write(l->fd, 1);
	return rest;
}

/* One lock and one write wake a loop for however many. */
void loop_give_all(struct op *first)
{
	while (first)
		first = loop_give_some(first);
}

void loop_give(struct op *op)
{
	op->next = NULL;
	loop_give_all(op);
}

void loop_run(struct loop *l)
{
	eventfd_t  ignored;
	struct op *op, *next;

	eventfd_read(l->fd, &ignored);
	pthread_mutex_lock(&l->lock);
	op = l->first;
	l->first = NULL;
	l->last = &l->first;
	pthread_mutex_unlock(&l->lock);
	for (; op; op = next) {
		next = op->next;
		op->next = NULL;
		op->done(op->arg, op);
	}
}

void loop_free(struct loop *l)
{
	assert(!l->first);
	close(l->fd);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
