/* quota.c - see quota.h. Lines of an order are sorted by sku, so those of one sku stand together, as a group. */
#include "engine/lane/quota.h"
#include "engine/base/memory.h"
#include "engine/write/batch.h"

/* ---- the quotas of a batch */

static int quota_order(const void *a, const void *b)
{
	const struct quota *x = a, *y = b;
	int                 order = strcmp(x->customer, y->customer);

	return order ? order : (x->sku_id > y->sku_id) - (x->sku_id < y->sku_id);
}

static struct quota quota_of(const char *customer, uint32_t sku_id)
{
	struct quota quota = {.sku_id = sku_id};

	if (customer)
		strcpy(quota.customer, customer);
	return quota;
}

struct quota *quota_find(const struct quotas *q, const char *customer, uint32_t sku_id)
{
	struct quota key;

	if (q->count == 0)
		return NULL;
	key = quota_of(customer, sku_id);
	return bsearch(&key, q->list, q->count, sizeof(key), quota_order);
}

void quota_enter(struct quotas *q, const char *customer, uint32_t sku_id)
{
	q->list = mem_reach(q->list, q->count, &q->max, sizeof(*q->list));
	q->list[q->count++] = quota_of(customer, sku_id);
}

/* Of equal ones the one that was read stays. */
static void quota_join(void *first, const void *other)
{
	if (((const struct quota *)other)->read_seq > 0)
		*(struct quota *)first = *(const struct quota *)other;
}

void quotas_sort(struct quotas *q)
{
	q->count = mem_join(q->list, q->count, sizeof(q->list[0]), quota_order, quota_join);
}

void quotas_begin(struct quotas *q)
{
	for (size_t i = 0; i < q->count; i++)
		q->list[i].left = q->list[i].limit - q->list[i].has;
}

/* True: the quota may keep an order from units. A quota that was not read yet does so until it is read. */
static bool binds(const struct quota *quota)
{
	return quota && (quota->limit > 0 || quota->read_seq == 0);
}

const char *quota_customer(const struct op *op)
{
	if (op->kind == OP_AMEND)
		return op->found ? op->found->customer : NULL;
	return op->customer;
}

/* ---- groups */

static size_t group_end(const struct line *lines, size_t count, size_t from)
{
	size_t end = from + 1;

	assert(from < count);
	while (end < count && lines[end].sku == lines[from].sku)
		end++;
	return end;
}

/* The units that the order asks for of a sku: its plain lines from `from` to `end`, and its choices. */
static int64_t units_asked(const struct op *op, size_t from, size_t end)
{
	int64_t units = lines_units(op->lines + from, end - from);

	for (size_t i = 0; i < op->choices_count; i++)
		if (op->lines[op->choices[i].line[0]].sku == op->lines[from].sku)
			units += op->choices[i].qty;
	return units;
}

static int64_t units_had(const struct reservation *r, uint32_t sku)
{
	int64_t units = 0;

	for (size_t i = 0; i < r->lines_count; i++)
		units += sku_id(r->lines[i].sku) == sku ? r->lines[i].qty : 0;
	return units;
}

/* Units of the sku that the replaced order, or the order itself, has, where it is of the same customer. */
static int64_t units_kept(const struct op *op, uint32_t sku)
{
	const struct reservation *old = op_replaced(op);

	if (!old || !old->customer || strcmp(old->customer, quota_customer(op)) != 0)
		return 0;
	return units_had(old, sku);
}

/* The units that an order may have if its customer has `kept` of them already: these at least. */
static int64_t room_of(const struct quota *quota, int64_t kept)
{
	return kept + (quota->left > 0 ? quota->left : 0);
}

/* The same for an expired order that is acquired again: nothing is kept, but its units count until they are swept. */
static int64_t room_again(const struct quota *quota, int64_t unswept)
{
	return quota->left + unswept > 0 ? quota->left + unswept : 0;
}

/* The first line of a group says why the order is refused: its limit, and what the customer has beside `kept`. */
static void group_refuse(struct line *first, const struct quota *quota, int64_t kept)
{
	first->fault = true;
	first->available = quota->limit;
	first->reserved = quota->limit - quota->left - kept;
}

/* ---- a new order */

static enum outcome quotas_require(const struct quotas *q, struct op *op)
{
	enum outcome out = OUTCOME_OK;

	for (size_t i = 0, end; i < op->lines_count; i = end) {
		uint32_t sku = sku_id(op->lines[i].sku);
		bool     binding = binds(quota_find(q, NULL, sku));

		end = group_end(op->lines, op->lines_count, i);
		if (op->kind == OP_AMEND) /* units that it has already stay its own */
			binding &= units_asked(op, i, end) > units_had(op->found, sku);
		for (size_t k = i; k < end; k++)
			op->lines[k].fault = binding;
		if (binding)
			out = CUSTOMER_REQUIRED;
	}
	for (size_t i = 0; i < op->choices_count; i++)
		op->choices[i].fault = op->lines[op->choices[i].line[0]].fault;
	return out;
}

enum outcome quotas_judge(struct quotas *q, struct op *op)
{
	enum outcome out = OUTCOME_OK;

	if (q->count == 0)
		return OUTCOME_OK;
	if (!quota_customer(op))
		return quotas_require(q, op);
	for (size_t i = 0, end; i < op->lines_count; i = end) {
		uint32_t      sku = sku_id(op->lines[i].sku);
		struct quota *quota = quota_find(q, quota_customer(op), sku);
		int64_t       kept = units_kept(op, sku);

		end = group_end(op->lines, op->lines_count, i);
		if (!binds(quota))
			continue;
		quota->room = room_of(quota, kept);
		if (op->reserve.mode == BEST_EFFORT || units_asked(op, i, end) <= quota->room)
			continue;
		group_refuse(&op->lines[i], quota, kept);
		out = LIMIT_REACHED;
	}
	return out;
}

/* ---- a best effort */

static struct quota *quota_bound(const struct quotas *q, const struct op *op, const struct line *line)
{
	struct quota *quota;

	if (q->count == 0 || op->reserve.mode != BEST_EFFORT || !quota_customer(op))
		return NULL;
	quota = quota_find(q, quota_customer(op), sku_id(line->sku));
	return binds(quota) ? quota : NULL;
}

/* The line of the group that was sent next after `last`: the text of an op grows, so it stands further on. */
static struct line *sent_next(struct op *op, size_t from, size_t end, const char *last)
{
	struct line *next = NULL;

	for (size_t i = from; i < end; i++) {
		struct line *line = &op->lines[i];

		if (line->qty > 0 && (!last || line->sku_code > last) && (!next || line->sku_code < next->sku_code))
			next = line;
	}
	return next;
}

static void group_cap(struct quota *quota, struct op *op, size_t from, size_t end)
{
	const char *last = NULL;

	for (struct line *line; (line = sent_next(op, from, end, last)); last = line->sku_code) {
		line->limited = quota->room < line->qty && quota->room <= line->granted;
		if (line->limited) {
			line->fault = true;
			line->granted = line->available = quota->room;
		}
		quota->room -= line->granted;
	}
}

void quotas_cap(struct quotas *q, struct op *op)
{
	for (size_t i = 0, end; i < op->lines_count; i = end) {
		struct quota *quota = quota_bound(q, op, &op->lines[i]);

		end = group_end(op->lines, op->lines_count, i);
		if (quota)
			group_cap(quota, op, i, end);
	}
}

int64_t quota_wanted(struct quotas *q, const struct op *op, const struct choice *choice)
{
	const struct quota *quota = quota_bound(q, op, &op->lines[choice->line[0]]);

	return quota && quota->room < choice->qty ? quota->room : choice->qty;
}

void quota_counted(struct quotas *q, const struct op *op, struct choice *choice)
{
	struct quota *quota = quota_bound(q, op, &op->lines[choice->line[0]]);

	if (!quota)
		return;
	choice->limited = quota->room < choice->qty && choice->granted == quota->room;
	if (choice->limited)
		choice->available = choice->granted;
	quota->room -= choice->granted;
}

bool quotas_left_nothing(struct quotas *q, struct op *op)
{
	bool alone = q->count > 0;

	for (size_t i = 0; i < op->lines_count; i++)
		alone &= op->lines[i].qty == 0 || op->lines[i].limited;
	for (size_t i = 0; i < op->choices_count; i++)
		alone &= op->choices[i].limited;
	for (size_t i = 0, end; alone && i < op->lines_count; i = end) {
		uint32_t sku = sku_id(op->lines[i].sku);

		end = group_end(op->lines, op->lines_count, i);
		for (size_t k = i; k < end; k++)
			op->lines[k].fault = false;
		group_refuse(&op->lines[i], quota_bound(q, op, &op->lines[i]), units_kept(op, sku));
	}
	return alone;
}

/* ---- what is granted, and given back */

void quotas_take(struct quotas *q, const struct op *op)
{
	const char               *customer = quota_customer(op);
	const struct reservation *old = op_replaced(op);

	if (old)
		quotas_give(q, old, old->lines, old->lines_count);
	for (size_t i = 0; q->count > 0 && customer && i < op->lines_count; i++) {
		struct quota *quota = quota_find(q, customer, sku_id(op->lines[i].sku));

		if (quota)
			quota->left -= op->lines[i].granted;
	}
}

enum outcome quotas_judge_again(struct quotas *q, struct reservation *r)
{
	enum outcome out = OUTCOME_OK;

	if (q->count == 0 || !r->customer)
		return OUTCOME_OK;
	for (size_t i = 0, end; i < r->lines_count; i = end) {
		struct quota *quota = quota_find(q, r->customer, sku_id(r->lines[i].sku));
		int64_t       units, unswept;

		end = group_end(r->lines, r->lines_count, i);
		for (size_t k = i; k < end; k++)
			r->lines[k].fault = false;
		units = lines_units(r->lines + i, end - i);
		unswept = r->state == HELD ? units : 0;
		if (!binds(quota) || units <= room_again(quota, unswept))
			continue;
		group_refuse(&r->lines[i], quota, unswept);
		out = LIMIT_REACHED;
	}
	return out;
}

void quotas_take_again(struct quotas *q, const struct reservation *r)
{
	for (size_t i = 0; q->count > 0 && r->customer && i < r->lines_count; i++) {
		struct quota *quota = quota_find(q, r->customer, sku_id(r->lines[i].sku));

		if (quota)
			quota->left -= r->lines[i].qty;
	}
}

void quotas_give(struct quotas *q, const struct reservation *of, const struct line *lines, size_t count)
{
	for (size_t i = 0; q->count > 0 && of->customer && i < count; i++) {
		struct quota *quota = quota_find(q, of->customer, sku_id(lines[i].sku));

		if (quota)
			quota->left += lines[i].qty;
	}
}

void quotas_mark(struct quotas *q)
{
	for (size_t i = 0; i < q->count; i++)
		q->list[i].mark = q->list[i].left;
}

void quotas_give_up(struct quotas *q)
{
	for (size_t i = 0; i < q->count; i++)
		q->list[i].left = q->list[i].mark;
}

/* ---- refusals */

struct at_fault {
	const struct quotas *quotas;
	const char          *customer;
	void (*each)(struct quota *quota, void *arg);
	void *arg;
};

static void line_at_fault(const struct at_fault *f, const struct line *line, bool is_at_fault)
{
	struct quota *quota = is_at_fault && line->sku ? quota_find(f->quotas, f->customer, sku_id(line->sku)) : NULL;

	if (quota)
		f->each(quota, f->arg);
}

void quotas_at_fault(const struct quotas *q, const struct op *op, void (*each)(struct quota *quota, void *arg),
                     void *arg)
{
	struct at_fault f = {q, NULL, each, arg};
	bool            whole = op->outcome == LIMIT_REACHED || op->outcome == CUSTOMER_REQUIRED;

	if (q->count == 0)
		return;
	if (op->kind == OP_CONFIRM && op->found && whole) {
		f.customer = op->found->customer;
		for (size_t i = 0; i < op->found->lines_count; i++)
			line_at_fault(&f, &op->found->lines[i], op->found->lines[i].fault);
	}
	if (!op_asks(op))
		return;
	f.customer = quota_customer(op);
	for (size_t i = 0; i < op->lines_count; i++)
		line_at_fault(&f, &op->lines[i], whole ? op->lines[i].fault : op->lines[i].limited);
	for (size_t i = 0; i < op->choices_count; i++)
		line_at_fault(&f, &op->lines[op->choices[i].line[0]], !whole && op->choices[i].limited);
}
