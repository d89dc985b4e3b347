/* reservations.c - see reservations.h. Each call is read, started, answered. */
#include "api/order/reservations.h"
#include "api/order/atomic.h"
#include "api/order/kin_json.h"
#include "api/calls/page.h"
#include "api/request.h"
#include "engine/base/memory.h"
#include "engine/rows_json.h"

#include <stdio.h>
#include <time.h>

enum { LINES_MAX = 1000, BATCH_MAX = 1000, TTL_S = 900 };

/* ---- answers */

static void units_write(struct json_writer *w, int64_t qty, int64_t available, bool limited, enum outcome why)
{
	if (why != SHORT && why != NOT_IN_ORDER)
		return;
	json_put_int(w, "requested", qty);
	json_put_int(w, why == NOT_IN_ORDER ? "in_order" : "available", available);
	if (limited)
		json_put_bool(w, "limit", true);
}

static void choice_write(struct json_writer *w, const struct choice *choice, enum outcome why)
{
	json_open_object(w, NULL);
	json_put_string(w, "sku", choice->sku_code);
	json_open_array(w, "locations");
	for (size_t i = 0; i < choice->count; i++)
		json_put_string(w, NULL, choice->location_code[i]);
	json_close_array(w);
	units_write(w, choice->qty, choice->available, choice->limited, why);
	json_close_object(w);
}

/* The lines that an answer is about: the op's or, for a confirmation or settlement, the order's. */
static size_t lines_told(const struct op *op, const struct line **lines)
{
	bool stored = op->kind == OP_CONFIRM || op->kind == OP_SETTLE;

	*lines = stored ? op->reservation->lines : op->lines;
	return stored ? op->reservation->lines_count : op->lines_count;
}

/* A row for each sku of which the customer would have too many. */
static void limits_write(struct json_writer *w, const struct op *op)
{
	const struct line *lines;
	size_t             count = lines_told(op, &lines);

	json_open_array(w, "lines");
	for (size_t i = 0; i < count; i++) {
		int64_t requested = 0;

		if (!lines[i].fault)
			continue;
		for (size_t k = 0; k < count; k++)
			requested += lines[k].sku == lines[i].sku ? lines[k].qty : 0;
		for (size_t k = 0; k < op->choices_count; k++)
			requested += lines[op->choices[k].line[0]].sku == lines[i].sku ? op->choices[k].qty : 0;
		json_open_object(w, NULL);
		json_put_string(w, "sku", lines[i].sku_code);
		json_put_int(w, "limit", lines[i].available);
		json_put_int(w, "has", lines[i].reserved);
		json_put_int(w, "requested", requested);
		json_close_object(w);
	}
	json_close_array(w);
}

/* Every line that is at fault: it fell short, names an unknown sku or location or a sku that needs a customer, or is
 * not in the order that is to be split. */
static void faults_write(struct json_writer *w, const char *key, const struct op *op, enum outcome why)
{
	const struct line *lines;
	size_t             count = lines_told(op, &lines);

	json_open_array(w, key);
	for (size_t i = 0; i < count; i++) {
		if (!lines[i].fault || lines[i].qty == 0) /* 0: a location of choices alone */
			continue;
		json_open_object(w, NULL);
		json_put_string(w, "sku", lines[i].sku_code);
		json_put_string(w, "location", lines[i].location_code);
		units_write(w, lines[i].qty, lines[i].available, lines[i].limited, why);
		json_close_object(w);
	}
	for (size_t i = 0; i < op->choices_count; i++)
		if (op->choices[i].fault)
			choice_write(w, &op->choices[i], why);
	json_close_array(w);
}

/* The members of a good answer. */
static void good_write(struct json_writer *w, void *arg)
{
	const struct op *op = arg;

	reservation_json(w, op->reservation);
	if (op->kind == OP_GET)
		kin_write(w, op);
	if (op_asks(op) && op_has_faults(op))
		faults_write(w, "short", op, SHORT);
	if (op->kind == OP_CONFIRM && op->change.reacquired && op->outcome == OUTCOME_OK)
		json_put_bool(w, "reacquired", true);
}

/* Writes what a refusal adds to its problem. If the call is a repeat and its order has ended, that is the order. */
static void refused_write(struct json_writer *w, void *arg)
{
	const struct op *op = arg;

	if (outcome_is_repeat(op->outcome)) {
		if (op->reservation->replaced_by)
			json_put_string(w, "replaced_by", op->reservation->replaced_by);
		json_open_object(w, "reservation");
		good_write(w, arg);
		json_close_object(w);
	}
	if (op->outcome == SHORT || op->outcome == UNKNOWN_SKU || op->outcome == UNKNOWN_LOCATION ||
	    op->outcome == NOT_FOR_SALE || op->outcome == NOT_IN_ORDER || op->outcome == CUSTOMER_REQUIRED ||
	    op->outcome == IS_WAITING)
		faults_write(w, "lines", op, op->outcome);
	if (op->outcome == LIMIT_REACHED)
		limits_write(w, op);
	if (op->outcome == IS_CLAIMED) {
		json_put_int(w, "task_id", (int64_t)op->claim->task_id);
		json_put_string(w, "worker", op->claim->worker);
		json_put_time(w, "lease_until", op->claim->lease_until);
	}
}

void reservation_refusal_write(struct json_writer *w, struct op *op)
{
	refused_write(w, op);
}

static bool is_good(enum outcome outcome)
{
	return outcome == OUTCOME_OK || outcome == OUTCOME_REPLAYED;
}

/* The member that is at fault: the customer that is missing, or the order to be replaced where the fault lies with that
 * order. */
static const char *refused_field(const struct op *op, enum outcome outcome)
{
	if (outcome == CUSTOMER_REQUIRED)
		return "customer";
	return outcome_is_of_other(outcome) && op->kind == OP_RESERVE ? "replaces" : NULL;
}

static const char *refused_detail(const struct op *op, enum outcome outcome)
{
	return outcome == IS_HELD && op->becomes == SETTLED ? "the reservation is held: confirm it first"
	                                                    : outcome_detail(outcome);
}

/* A new reservation is 201, anything else that went well 200. */
static int good_status(const struct op *op)
{
	return op_trait(op)->makes && op->outcome == OUTCOME_OK ? 201 : 200;
}

void reservation_answer_request(struct request *r)
{
	enum outcome outcome = request_outcome(r, 0);
	struct op   *op = r->ops[0];

	if (outcome != OUTCOME_OK && outcome_is_repeat(outcome))
		reply_header(r, "Idempotent-Replayed", "true");
	if (!is_good(outcome)) {
		reply_outcome(r, outcome, refused_field(op, outcome), refused_detail(op, outcome),
		              op->ended ? refused_write : NULL, op);
		return;
	}
	if (good_status(op) == 201)
		reply_location(r, op_trait(op)->divides ? "../" : "reservations/", op->id);
	reply_object(r, good_status(op), good_write, op);
}

/* ---- making one */

const char *const reserve_modes[] = {"all_or_nothing", "best_effort", NULL};

/* Counts the locations that `count` lines name, and the lines that have a list of them. */
static void lists_count(struct json_reader *in, const void *element, size_t count, size_t *named, size_t *lists)
{
	struct json_reader line;
	const void        *first;

	for (size_t i = 0; i < count && !in->failed; i++) {
		element = json_array_object(in, "lines", i, element, &line);
		*named += 1;
		if (json_has(&line, "locations")) {
			*named += json_array(&line, "locations", 1, CHOICE_MAX, &first) - 1;
			*lists += 1;
		} else if (json_has(&line, "may_split")) {
			json_refuse(&line, "may_split", "needs locations beside it");
		}
		in->failed |= line.failed;
	}
	if (*named > LINES_MAX)
		json_refuse(in, "lines", "must name at most 1000 locations in all");
}

/* The line's `locations`. A list of one is a plain line. */
static void read_list(struct json_reader *line, struct op *op, const char *sku, size_t sku_len, int64_t qty)
{
	const char    *code[CHOICE_MAX];
	size_t         len[CHOICE_MAX];
	size_t         count;
	bool           may_split = false;
	struct choice *choice;

	json_bool(line, "may_split", JSON_OPTIONAL, &may_split);
	count = read_locations(line, CHOICE_MAX, code, len);
	if (json_has(line, "location"))
		json_refuse(line, "location", "may not stand beside locations");
	if (line->failed)
		return;
	if (count == 1) {
		op_line(op, sku, sku_len, code[0], len[0], qty);
		return;
	}
	choice = op_choice(op, sku, sku_len, qty, may_split);
	for (size_t i = 0; i < count; i++)
		op_choice_add(op, choice, code[i], len[i]);
}

/* The line's `location`. */
static void read_location(struct json_reader *line, struct op *op, const char *sku, size_t sku_len, int64_t qty)
{
	const char *location = NULL;
	size_t      len = 0;

	if (json_code(line, "location", JSON_OPTIONAL, LOCATION_MAX, &location, &len) && !line->failed)
		op_line(op, sku, sku_len, location, len, qty);
}

/* The lines of an order where a line has a member that plain lines have not. */
static struct op *read_any_lines(struct json_reader *in, enum op_kind kind, const void *element, size_t count,
                                 size_t more)
{
	const char        *sku = "";
	size_t             sku_len = 0, named = 0, lists = 0;
	int64_t            qty = 0;
	struct json_reader line;
	struct op         *op;

	lists_count(in, element, count, &named, &lists);
	if (in->failed)
		count = named = lists = 0;
	op = op_new(kind, named,
	            lists * sizeof(struct choice) + count * (SKU_MAX + 1) + named * (LOCATION_MAX + 1) + more);
	op_choices(op, lists);
	for (size_t i = 0; i < count && !in->failed; i++) {
		element = json_array_object(in, "lines", i, element, &line);
		json_code(&line, "sku", JSON_REQUIRED, SKU_MAX, &sku, &sku_len);
		json_int(&line, "qty", JSON_REQUIRED, 1, LINE_UNITS_MAX, &qty);
		if (json_has(&line, "locations"))
			read_list(&line, op, sku, sku_len, qty);
		else
			read_location(&line, op, sku, sku_len, qty);
		json_leave(&line, in);
	}
	return op;
}

struct op *order_lines_read(struct json_reader *in, enum op_kind kind, size_t more)
{
	const char        *sku = "", *location;
	size_t             sku_len = 0, location_len;
	int64_t            qty = 0;
	const void        *element, *first;
	struct json_reader line;
	size_t             count = json_array(in, "lines", 1, LINES_MAX, &first);
	struct op         *op = op_new(kind, count, count * (SKU_MAX + LOCATION_MAX + 2) + more);

	element = first;
	for (size_t i = 0; i < count && !in->failed; i++) {
		element = json_array_object(in, "lines", i, element, &line);
		location = NULL;
		location_len = 0;
		json_code(&line, "sku", JSON_REQUIRED, SKU_MAX, &sku, &sku_len);
		json_int(&line, "qty", JSON_REQUIRED, 1, LINE_UNITS_MAX, &qty);
		json_code(&line, "location", JSON_OPTIONAL, LOCATION_MAX, &location, &location_len);
		if (kind != OP_SPLIT && json_has_more(&line)) {
			op_free(op);
			return read_any_lines(in, kind, first, count, more);
		}
		if (json_leave(&line, in))
			op_line(op, sku, sku_len, location, location_len, qty);
	}
	return op;
}

/* The clock of this machine judges how far ahead the time is: a bound against typing errors. */
static int64_t read_ship_after(struct json_reader *in)
{
	int64_t ms = 0;

	if (json_time(in, "ship_after", JSON_OPTIONAL, &ms) && ms > (int64_t)time(NULL) * 1000 + SHIP_AFTER_MAX_MS)
		json_refuse(in, "ship_after", "must be at most 400 days ahead");
	return ms;
}

/* A position in the queue that another system gave: the clock of this machine judges that the time has passed. */
static int64_t read_waits_since(struct json_reader *in)
{
	int64_t ms = 0;

	if (json_has(in, "waits_since") && json_time(in, "waits_since", JSON_REQUIRED, &ms) &&
	    (ms > (int64_t)time(NULL) * 1000 + 1000 || ms <= 0))
		json_refuse(in, "waits_since", "must have passed");
	return ms;
}

/* May the key give a position in the queue? */
static bool may_give(const struct request *r)
{
	return !r->key || r->roles & ADMINS;
}

/* The object of one reservation. */
static struct op *read_reservation(struct request *r, struct json_reader *in)
{
	const char *order_id = "", *other = NULL, *reference, *customer = NULL;
	size_t      id_len = 0, other_len = 0, reference_len = 0, customer_len = 0;
	int64_t     ttl_s = TTL_S, ship_after, waits_since;
	bool        confirm = false;
	int         mode = ALL_OR_NOTHING;
	struct op  *op;

	json_id(in, "order_id", JSON_REQUIRED, &order_id, &id_len);
	json_int(in, "ttl_s", JSON_OPTIONAL, 1, TTL_MAX_S, &ttl_s);
	json_word(in, "mode", JSON_OPTIONAL, reserve_modes, &mode);
	json_bool(in, "confirm", JSON_OPTIONAL, &confirm);
	json_id(in, "replaces", JSON_OPTIONAL, &other, &other_len);
	reference = json_note(in, "reference", &reference_len);
	json_id(in, "customer", JSON_OPTIONAL, &customer, &customer_len);
	ship_after = read_ship_after(in);
	waits_since = read_waits_since(in);
	if (other && other_len == id_len && memcmp(other, order_id, id_len) == 0)
		json_refuse(in, "replaces", "must be another order");
	op = order_lines_read(in, OP_RESERVE,
	                      (other ? other_len + 1 : 0) + (reference ? reference_len + 1 : 0) +
	                              (customer ? customer_len + 1 : 0));
	(void)r;
	memcpy(op->id, order_id, id_len);
	op->other_id = other ? op_text(op, other, other_len) : NULL;
	op->reference = reference ? op_text(op, reference, reference_len) : NULL;
	op->customer = customer ? op_text(op, customer, customer_len) : NULL;
	op->reserve.ship_after = ship_after;
	op->reserve.waits_since = waits_since;
	op->reserve.ttl_s = (uint32_t)ttl_s;
	op->reserve.mode = (enum reserve_mode)mode;
	op->becomes = confirm ? CONFIRMED : HELD;
	op_seal(op, NULL);
	return op;
}

#define NOT_TOLD "a place in the line is told by a key of role admin"

void post_reservation(struct request *r)
{
	struct op *op = read_op(r, read_reservation);

	if (!op)
		return;
	if (op->reserve.waits_since && !may_give(r)) {
		op_free(op);
		reply_field(r, FORBIDDEN, "waits_since", NOT_TOLD);
	} else {
		request_start(r, op, reservation_answer_request);
	}
}

/* ---- many at once */

/* A malformed item, or one that its key may not send: it has no operation. */
struct malformed {
	enum outcome      why;
	struct json_fault fault;
	char              order_id[ID_MAX + 1];
};

static void malformed_write(struct json_writer *w, const struct malformed *m)
{
	if (m->order_id[0])
		json_put_string(w, "order_id", m->order_id);
	problem_write(w, outcome_status(m->why), outcome_code(m->why), m->fault.field, m->fault.detail);
}

static void result_write(struct json_writer *w, struct request *r, size_t i)
{
	const struct malformed *malformed = r->more;
	enum outcome            outcome;

	json_open_object(w, NULL);
	if (!r->ops[i]) {
		malformed_write(w, &malformed[i]);
		json_close_object(w);
		return;
	}
	outcome = request_outcome(r, i);
	if (is_good(outcome)) {
		json_put_int(w, "status", good_status(r->ops[i]));
	} else {
		json_put_string(w, "order_id", r->ops[i]->id);
		problem_write(w, outcome_status(outcome), outcome_code(outcome), refused_field(r->ops[i], outcome),
		              refused_detail(r->ops[i], outcome));
	}
	if (outcome_is_repeat(outcome))
		json_put_bool(w, "replayed", true);
	if (is_good(outcome))
		good_write(w, r->ops[i]);
	else if (r->ops[i]->ended)
		refused_write(w, r->ops[i]);
	json_close_object(w);
}

static void results_write(struct json_writer *w, void *arg)
{
	struct request *r = arg;

	json_open_array(w, "results");
	for (size_t i = 0; i < r->ops_count; i++)
		result_write(w, r, i);
	json_close_array(w);
}

static void batch_answer_request(struct request *r)
{
	reply_object(r, 200, results_write, r);
}

/* Element i of r->more, an array that the first malformed item makes. */
static void malformed_keep(struct request *r, size_t i, const struct malformed *m)
{
	struct malformed *malformed;

	assert(i < r->ops_count);
	if (!r->more)
		r->more = mem_alloc(r->ops_count * sizeof(*malformed));
	malformed = r->more;
	malformed[i] = *m;
	metrics_malformed(&r->all->metrics, m->why);
}

/* NULL: the item is malformed, as `m` says. */
static struct op *read_item(struct request *r, struct json_reader *items, size_t i, struct malformed *m)
{
	struct json_reader in;
	const char        *order_id;
	struct op         *op;

	json_item(items, i, &in, &m->fault);
	order_id = json_peek_id(&in, "order_id");
	if (order_id)
		snprintf(m->order_id, sizeof(m->order_id), "%s", order_id);
	op = read_reservation(r, &in);
	if (json_end(&in) && (!op->reserve.waits_since || may_give(r)))
		return op;
	if (!in.failed) {
		*m = (struct malformed){.why = FORBIDDEN, .fault = {.field = "waits_since", .detail = NOT_TOLD}};
		strcpy(m->order_id, op->id);
	}
	op_free(op);
	return NULL;
}

/* ---- one that is there */

static struct op *op_of_path(struct request *r, enum op_kind kind)
{
	struct op *op = op_new(kind, 0, 0);

	strcpy(op->id, r->param[0]);
	return op;
}

void get_reservation(struct request *r)
{
	request_start(r, op_of_path(r, OP_GET), reservation_answer_request);
}

/* A change of the order in the path; `read` (NULL: nothing) takes the members of the body. */
static void post_change(struct request *r, enum op_kind kind,
                        void (*read)(struct json_reader *in, struct change *change))
{
	struct json_reader in;
	struct json_fault  fault;
	struct op         *op;

	if (!read_body(r, &in, &fault))
		return;
	op = op_of_path(r, kind);
	if (read)
		read(&in, &op->change);
	if (read_end(r, &in, &fault))
		request_start(r, op, reservation_answer_request);
	else
		op_free(op);
}

static void read_reacquire(struct json_reader *in, struct change *change)
{
	static const char *const if_expired[] = {"reacquire", NULL};
	int                      word = -1;

	json_word(in, "if_expired", JSON_OPTIONAL, if_expired, &word);
	change->reacquire = word == 0;
}

static void read_if_state(struct json_reader *in, struct change *change)
{
	static const char *const states[] = {"held", NULL};
	int                      word = -1;

	json_word(in, "if_state", JSON_OPTIONAL, states, &word);
	change->if_held = word == 0;
}

static void read_force(struct json_reader *in, struct change *change)
{
	json_bool(in, "force", JSON_OPTIONAL, &change->force);
}

static void read_ttl(struct json_reader *in, struct change *change)
{
	json_int(in, "ttl_s", JSON_REQUIRED, 1, TTL_MAX_S, &change->ttl_s);
}

void post_confirm(struct request *r)
{
	post_change(r, OP_CONFIRM, read_reacquire);
}

void post_release(struct request *r)
{
	post_change(r, OP_RELEASE, read_if_state);
}

void post_kick(struct request *r)
{
	post_change(r, OP_KICK, NULL);
}

void post_settle(struct request *r)
{
	post_change(r, OP_SETTLE, read_force);
}

void post_extend(struct request *r)
{
	post_change(r, OP_EXTEND, read_ttl);
}

/* ---- many calls in one */

/* NULL: the id is malformed, as `m` says. */
static struct op *read_order_id(struct json_reader *items, size_t i, enum op_kind kind, const struct change *change,
                                struct malformed *m)
{
	const char *order_id = "";
	size_t      len = 0;
	struct op  *op;

	if (!json_item_id(items, "order_ids", i, &order_id, &len, &m->fault))
		return NULL;
	op = op_new(kind, 0, 0);
	memcpy(op->id, order_id, len);
	op->change = *change;
	return op;
}

/* New reservations, or changes of orders by their ids. Unless the call is atomic, each order goes to the lane of its
 * own id, as other calls about that order do; new ones go to one lane. `read` (NULL: nothing) takes the members of the
 * call that are of all orders. */
static void post_many(struct request *r, enum op_kind kind, void (*read)(struct json_reader *in, struct change *change))
{
	const bool         makes = kind == OP_RESERVE;
	const char        *name = makes ? "reservations" : "order_ids";
	struct json_reader items;
	struct json_fault  fault;
	struct change      change = {0};
	bool               atomic = false;
	size_t             count;

	if (!read_body(r, NULL, &fault) || !query_end(r))
		return;
	count = json_begin_items(&items, r->body, name, BATCH_MAX, &fault);
	json_bool(&items, "atomic", JSON_OPTIONAL, &atomic);
	if (read)
		read(&items, &change);
	if (!read_end(r, &items, &fault) || (atomic && !atomic_fits(r, count)))
		return;
	r->ops = mem_alloc(count * sizeof(*r->ops));
	r->ops_count = count;
	for (size_t i = 0; i < count; i++) {
		struct malformed m = {.why = INVALID};

		r->ops[i] = makes ? read_item(r, &items, i, &m) : read_order_id(&items, i, kind, &change, &m);
		if (!r->ops[i] && atomic) {
			atomic_refuse(r, name, i, m.why, makes ? m.fault.field : "", m.fault.detail);
			return;
		}
		if (!r->ops[i])
			malformed_keep(r, i, &m);
		if (atomic && !atomic_has_room(r))
			return;
	}
	if (atomic)
		atomic_start(r, name, results_write);
	else
		(makes ? request_start_batch : request_start_each)(r, batch_answer_request);
}

void post_reservations_batch(struct request *r)
{
	post_many(r, OP_RESERVE, NULL);
}

void post_confirmations(struct request *r)
{
	post_many(r, OP_CONFIRM, read_reacquire);
}

void post_releases(struct request *r)
{
	post_many(r, OP_RELEASE, read_if_state);
}

void post_settlements(struct request *r)
{
	post_many(r, OP_SETTLE, NULL);
}
