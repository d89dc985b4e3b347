/* availability.c - see availability.h. */
#include "api/stock/availability.h"
#include "api/calls/page.h"
#include "engine/base/memory.h"

/* SKUS_MAX: different ones in a call. */
enum { SKUS_MAX = 1000, BASKETS_MAX = 100, BASKET_LINES_MAX = 100 };

/* Lines of equal skus, summed. */
struct basket_line {
	const char *sku; /* in the body until skus_number, then in the operation */
	size_t      sku_len;
	uint32_t    basket, line; /* indexes: of the basket; of the line of the operation that has the sku */
	int64_t     qty;
};

/* A basket's id; in the body until skus_number, then in the operation. */
struct basket {
	const char *id;
	size_t      id_len;
};

/* The data that a call keeps until its answer: r->more, one allocation. */
struct availability {
	struct within      within;
	size_t             baskets, lines;
	struct basket     *basket; /* stored after the lines */
	struct basket_line line[]; /* by basket, then by sku */
};

/* ---- sums */

static bool is_within(const struct within *within, const struct location *location)
{
	if (!within || within->count == 0)
		return true;
	for (size_t i = 0; i < within->count; i++)
		if (strcmp(within->code[i], location->code) == 0)
			return true;
	return false;
}

bool total_is_stopped(const struct sku *sku, const struct total *t)
{
	return (location_sells(t->location) || !location_in_house(t->location)) &&
	       (sku_stopped(sku) || location_stopped(t->location));
}

/* `named`: the caller has named the location. */
static void sum_add(struct sum *sum, const struct total *t, bool stopped, bool named)
{
	bool    in_house = location_in_house(t->location);
	int64_t available = stopped ? 0 : t->available, held_back = t->available - available;

	if (in_house && !location_sells(t->location)) {
		sum->aside += t->available + t->reserved;
		return;
	}
	if (!in_house) {
		sum->incoming += available;
		sum->incoming_stopped += held_back;
		sum->incoming_reserved += t->reserved;
		sum->promised += named ? t->available + t->reserved : 0;
	}
	if (in_house || named) {
		sum->available += available;
		sum->stopped += held_back;
		sum->reserved += t->reserved;
	}
}

struct sum sum_within(const struct sku *sku, const struct total *totals, size_t count, const struct within *within)
{
	bool       named = within && within->count > 0, any_stopped = false, any_open = !named;
	struct sum sum = {0};

	for (size_t i = 0; i < count; i++) {
		bool stopped = total_is_stopped(sku, &totals[i]);

		if (!is_within(within, totals[i].location))
			continue;
		any_stopped |= stopped;
		any_open |= !stopped;
		sum_add(&sum, &totals[i], stopped, named);
	}
	sum.for_sale = !sku_stopped(sku) && (any_open || !any_stopped);
	return sum;
}

void sum_write(struct json_writer *w, const struct sum *sum)
{
	json_put_int(w, "available", sum->available);
	json_put_int(w, "reserved", sum->reserved);
	json_put_int(w, "on_hand", sum->available + sum->reserved + sum->aside + sum->stopped - sum->promised);
	if (sum->aside > 0)
		json_put_int(w, "aside", sum->aside);
	if (sum->stopped > 0)
		json_put_int(w, "stopped", sum->stopped);
	if (!sum->for_sale)
		json_put_bool(w, "for_sale", false);
	if (sum->incoming + sum->incoming_reserved + sum->incoming_stopped == 0)
		return;
	json_open_object(w, "incoming");
	json_put_int(w, "available", sum->incoming);
	json_put_int(w, "reserved", sum->incoming_reserved);
	if (sum->incoming_stopped > 0)
		json_put_int(w, "stopped", sum->incoming_stopped);
	json_close_object(w);
}

/* ---- answers */

static void items_write(struct json_writer *w, void *arg)
{
	const struct request      *r = arg;
	const struct availability *a = r->more;
	const struct op           *op = r->ops[0];
	const struct total        *totals = op->query->totals;

	json_open_array(w, "items");
	for (size_t i = 0; i < op->lines_count; totals += op->query->totals_of[i++]) {
		struct sum sum = sum_within(op->lines[i].sku, totals, op->query->totals_of[i], &a->within);

		json_open_object(w, NULL);
		json_put_string(w, "sku", op->lines[i].sku_code);
		if (op->lines[i].sku)
			sum_write(w, &sum);
		else
			json_put_string(w, "code", outcome_code(NO_SKU));
		json_close_object(w);
	}
	json_close_array(w);
}

/* Writes a basket with these lines. `available` is by line of the operation; -1: the sku is unknown. */
static void basket_write(struct json_writer *w, const char *id, const struct basket_line *lines, size_t count,
                         const int64_t *available)
{
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < count; i++) {
		int64_t times = available[lines[i].line] < 0 ? -1 : available[lines[i].line] / lines[i].qty;

		least = times < least ? times : least;
	}
	json_open_object(w, NULL);
	json_put_string(w, "id", id);
	if (least < 0) {
		json_put_string(w, "code", outcome_code(NO_SKU));
		json_close_object(w);
		return;
	}
	json_put_int(w, "available", least);
	json_open_array(w, "limited_by");
	for (size_t i = 0; i < count; i++)
		if (available[lines[i].line] / lines[i].qty == least)
			json_put_string(w, NULL, lines[i].sku);
	json_close_array(w);
	json_close_object(w);
}

static void baskets_write(struct json_writer *w, void *arg)
{
	const struct request      *r = arg;
	const struct availability *a = r->more;
	const struct op           *op = r->ops[0];
	const struct total        *totals = op->query->totals;
	int64_t                   *available = mem_alloc(op->lines_count * sizeof(*available));

	for (size_t i = 0; i < op->lines_count; totals += op->query->totals_of[i++])
		available[i] =
			op->lines[i].sku
				? sum_within(op->lines[i].sku, totals, op->query->totals_of[i], &a->within).available
				: -1;
	json_open_array(w, "baskets");
	for (size_t i = 0, from = 0, end; i < a->baskets; i++, from = end) {
		for (end = from; end < a->lines && a->line[end].basket == i; end++)
			continue;
		basket_write(w, a->basket[i].id, a->line + from, end - from, available);
	}
	json_close_array(w);
	free(available);
}

static void availability_answer_request(struct request *r)
{
	const struct availability *a = r->more;

	if (request_outcome(r, 0) == OUTCOME_OK)
		reply_object(r, 200, a->baskets > 0 ? baskets_write : items_write, r);
	else
		reply_refused(r, request_outcome(r, 0), NULL, NULL);
}

/* ---- reading */

static void read_within(struct json_reader *in, struct within *within)
{
	const char *code[CHOICE_MAX];
	size_t      len[CHOICE_MAX];

	within->count = read_locations(in, CHOICE_MAX, code, len);
	for (size_t i = 0; i < within->count; i++)
		memcpy(within->code[i], code[i], len[i]);
}

struct op *read_skus(struct json_reader *in, enum op_kind kind, size_t more)
{
	const char *sku = "";
	size_t      len = 0;
	const void *element;
	size_t      count = json_array(in, "skus", 1, SKUS_MAX, &element);
	struct op  *op = op_new(kind, count, count * (SKU_MAX + 1) + more);

	for (size_t i = 0; i < count && !in->failed; i++) {
		element = json_array_code(in, "skus", i, element, SKU_MAX, &sku, &len);
		if (!in->failed)
			op_line(op, sku, len, NULL, 0, 0);
	}
	return op;
}

static void read_basket(struct json_reader *basket, struct availability *a, uint32_t number)
{
	size_t             count;
	const void        *element;
	struct json_reader line;

	json_id(basket, "id", JSON_REQUIRED, &a->basket[number].id, &a->basket[number].id_len);
	count = json_array(basket, "lines", 1, BASKET_LINES_MAX, &element);
	for (size_t i = 0; i < count && !basket->failed; i++) {
		struct basket_line *to = &a->line[a->lines++];

		*to = (struct basket_line){.basket = number};
		element = json_array_object(basket, "lines", i, element, &line);
		json_code(&line, "sku", JSON_REQUIRED, SKU_MAX, &to->sku, &to->sku_len);
		json_int(&line, "qty", JSON_REQUIRED, 1, LINE_UNITS_MAX, &to->qty);
		json_leave(&line, basket);
	}
}

static int sku_order(const struct basket_line *a, const struct basket_line *b)
{
	int order = memcmp(a->sku, b->sku, a->sku_len < b->sku_len ? a->sku_len : b->sku_len);

	return order ? order : (a->sku_len > b->sku_len) - (a->sku_len < b->sku_len);
}

static int by_sku(const void *a, const void *b)
{
	const struct basket_line *x = a, *y = b;
	int                       order = sku_order(x, y);

	return order ? order : (x->basket > y->basket) - (x->basket < y->basket);
}

static int by_basket(const void *a, const void *b)
{
	const struct basket_line *x = a, *y = b;

	return x->basket != y->basket ? (x->basket > y->basket) - (x->basket < y->basket)
	                              : (x->line > y->line) - (x->line < y->line);
}

/* An operation with a line for each different sku, to which the baskets' lines point from now on. */
static struct op *skus_number(struct json_reader *in, struct availability *a)
{
	size_t     skus = 0, kept = 0;
	struct op *op;

	qsort(a->line, a->lines, sizeof(a->line[0]), by_sku);
	for (size_t i = 0; i < a->lines; i++)
		skus += i == 0 || sku_order(&a->line[i - 1], &a->line[i]) != 0;
	if (skus > SKUS_MAX)
		json_refuse(in, "baskets", "must name at most 1000 different skus");
	if (in->failed)
		return NULL;
	op = op_new(OP_TOTALS, skus, skus * (SKU_MAX + 1) + a->baskets * (ID_MAX + 1));
	for (size_t i = 0; i < a->lines; i++) {
		struct basket_line line = a->line[i];
		bool               is_new = kept == 0 || sku_order(&a->line[kept - 1], &line) != 0;

		if (is_new)
			op_line(op, line.sku, line.sku_len, NULL, 0, 0);
		line.line = (uint32_t)(op->lines_count - 1);
		if (!is_new && a->line[kept - 1].basket == line.basket)
			a->line[kept - 1].qty += line.qty;
		else
			a->line[kept++] = line;
	}
	for (size_t i = 0; i < kept; i++)
		a->line[i].sku = op->lines[a->line[i].line].sku_code;
	for (size_t i = 0; i < a->baskets; i++)
		a->basket[i].id = op_text(op, a->basket[i].id, a->basket[i].id_len);
	qsort(a->line, kept, sizeof(a->line[0]), by_basket);
	a->lines = kept;
	return op;
}

/* *size: bytes of the returned allocation. */
static struct availability *read_baskets(struct json_reader *in, size_t *size)
{
	const void          *first, *element;
	size_t               count = json_array(in, "baskets", 1, BASKETS_MAX, &first), lines = 0;
	struct availability *a;
	struct json_reader   basket;

	element = first;
	for (size_t i = 0; i < count && !in->failed; i++) {
		const void *line;

		element = json_array_object(in, "baskets", i, element, &basket);
		lines += json_array(&basket, "lines", 1, BASKET_LINES_MAX, &line);
		in->failed |= basket.failed;
	}
	if (json_has(in, "skus"))
		json_refuse(in, "skus", "may not stand beside baskets");
	*size = sizeof(*a) + lines * sizeof(a->line[0]) + count * sizeof(a->basket[0]);
	a = mem_alloc(*size);
	a->basket = (struct basket *)(void *)(a->line + lines);
	element = first;
	for (size_t i = 0; i < count && !in->failed; i++) {
		element = json_array_object(in, "baskets", i, element, &basket);
		read_basket(&basket, a, (uint32_t)i);
		json_leave(&basket, in);
	}
	a->baskets = count;
	return a;
}

static struct op *read_availability(struct request *r, struct json_reader *in)
{
	struct availability *a = json_has(in, "baskets") ? read_baskets(in, &r->more_size) : mem_alloc(sizeof(*a));

	r->more = a;
	read_within(in, &a->within);
	if (a->baskets == 0)
		return read_skus(in, OP_TOTALS, 0);
	return in->failed ? NULL : skus_number(in, a);
}

void post_availability(struct request *r)
{
	struct op *op = read_op(r, read_availability);

	if (op)
		request_start(r, op, availability_answer_request);
}
