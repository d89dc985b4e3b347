/* stock_call.c - see stock_call.h. Each call is read, started, answered. */
#include "api/stock/stock_call.h"
#include "api/stock/arrivals.h"
#include "api/stock/availability.h"
#include "api/stock/losses_call.h"
#include "api/stock/sales_call.h"
#include "api/stock/sku_details_call.h"
#include "api/stock/sku_json.h"
#include "api/calls/page.h"
#include "api/request.h"
#include "engine/base/clock.h"
#include "engine/read/fold.h"
#include "engine/base/memory.h"
#include "engine/read/search.h"
#include "engine/catalogue/sku_limits.h"
#include "engine/rows_json.h"

#include <stdio.h>

#define NOWHERE_RULE "is required where the location has no waits_at"
#define AHEAD_RULE   "must be at most 35 days back, and not ahead of the database's clock"
enum { LINES_MAX = 1000, AGE_MAX_MS = 60000, LOCATIONS_INLINE = 64 };

/* ---- movements: answers */

/* Why a line was not counted. */
static void count_write(struct json_writer *w, const struct op *op, const struct line *line)
{
	const struct counted *count = line->count;

	if (op->outcome == COUNT_MISMATCH && count->counted_at) {
		json_put_time(w, "counted_at", count->counted_at);
	} else if (op->outcome == COUNT_MISMATCH) {
		json_put_int(w, "expected", count->expected);
		json_put_int(w, "on_hand", line->available + line->reserved + count->arriving - count->since);
	} else {
		json_put_int(w, "counted", line->qty);
		if (count->as_of)
			json_put_int(w, "since", count->since);
		json_put_int(w, "reserved", line->reserved);
	}
}

static bool ends_are_wrong(const struct op *op)
{
	return op->outcome == WRONG_KIND && op->move.transfers_count > 0;
}

static bool names_lines(enum outcome outcome)
{
	return outcome == COUNT_MISMATCH || outcome == SHORT || outcome == UNKNOWN_SKU || outcome == OVER_RETURNED ||
	       outcome == WRONG_KIND || outcome == LIMIT || outcome == LOSES_TOO_MANY || outcome == UNKNOWN_LOCATION;
}

/* True: the line may take units from orders, and names no location at which these would wait. */
static bool waits_nowhere(const struct line *line)
{
	return line->loss && !line->loss->to && !line->loss->to_code[0];
}

bool movement_faulty(const struct op *op, size_t i)
{
	if (op->outcome == INVALID)
		return (op_moves(op, COUNTED) && op->lines[i].count->ahead) || waits_nowhere(&op->lines[i]);
	return names_lines(op->outcome) && (ends_are_wrong(op) ? op->move.transfers[i].fault : op->lines[i].fault);
}

/* Writes the facts of a line for which a movement was refused. */
static void line_write(struct json_writer *w, const struct op *op, const struct line *line)
{
	const struct loss *loss = line->loss;

	json_put_string(w, "sku", line->sku_code);
	if (op->outcome == OVER_RETURNED) { /* counts over all locations */
		json_put_int(w, "requested", line->granted);
		json_put_int(w, "settled", line->available);
		json_put_int(w, "returned", line->returned);
		return;
	}
	json_put_string(w, "location", line->location_code);
	if (loss && loss->to_code[0] && (op->outcome == WRONG_KIND || (op->outcome == UNKNOWN_LOCATION && !loss->to)))
		json_put_string(w, "to", loss->to_code);
	if (op->outcome == LOSES_TOO_MANY)
		json_put_int(w, "backorderable", loss->found);
	if (op->outcome == INVALID && waits_nowhere(line))
		json_put_string(w, "to", NOWHERE_RULE);
	else if (op->outcome == INVALID)
		json_put_string(w, "as_of", AHEAD_RULE);
	if (op_moves(op, COUNTED) && (op->outcome == COUNT_MISMATCH || op->outcome == SHORT)) {
		count_write(w, op, line);
	} else if (op->outcome == COUNT_MISMATCH) {
		json_put_int(w, "expected", line->expected);
		json_put_int(w, "on_hand", line->available + line->reserved);
	} else if (op->outcome == SHORT) {
		json_put_int(w, "requested", line_takes(op, line));
		json_put_int(w, "available", line->available);
	}
}

void movement_fault_write(struct json_writer *w, const struct op *op, size_t i)
{
	if (!ends_are_wrong(op)) {
		line_write(w, op, &op->lines[i]);
		return;
	}
	json_put_string(w, "sku", op->move.transfers[i].sku_code);
	json_put_string(w, "from", op->move.transfers[i].from_code);
	json_put_string(w, "to", op->move.transfers[i].to_code);
}

static void refused_write(struct json_writer *w, void *arg)
{
	const struct op *op = arg;
	size_t           count = ends_are_wrong(op) ? op->move.transfers_count : op->lines_count;

	if (!names_lines(op->outcome))
		return;
	json_open_array(w, "lines");
	for (size_t i = 0; i < count; i++)
		if (movement_faulty(op, i)) {
			json_open_object(w, NULL);
			movement_fault_write(w, op, i);
			json_close_object(w);
		}
	json_close_array(w);
	if (op->outcome != OVER_RETURNED || op->move.parts_count == 0)
		return;
	json_open_array(w, "parts");
	for (size_t i = 0; i < op->move.parts_count; i++)
		json_put_string(w, NULL, op->move.parts[i]);
	json_close_array(w);
}

static int code_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Writes each code once that the movement has made. */
static void made_write(struct json_writer *w, const char *key, const struct op *op, unsigned made)
{
	const char **codes = mem_alloc(op->lines_count * sizeof(*codes));
	size_t       count = 0;

	for (size_t i = 0; i < op->lines_count; i++)
		if (op->lines[i].made & made)
			codes[count++] = made == MADE_SKU ? op->lines[i].sku_code : op->lines[i].location_code;
	qsort(codes, count, sizeof(*codes), code_order);
	if (count > 0)
		json_open_array(w, key);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || strcmp(codes[i], codes[i - 1]) != 0)
			json_put_string(w, NULL, codes[i]);
	if (count > 0)
		json_close_array(w);
	free(codes);
}

static void moved_write(struct json_writer *w, void *arg)
{
	const struct op *op = arg;

	movement_json(w, op->move.movement);
	if (op->kind != OP_MOVE || op->outcome != OUTCOME_OK)
		return; /* a code is new in the first answer alone */
	made_write(w, "new_skus", op, MADE_SKU);
	made_write(w, "new_locations", op, MADE_LOCATION);
}

/* Answers 400: the time of a count is out of range, or a line takes units from orders and names no location for
 * them. */
static void reply_malformed(struct request *r, const struct op *op)
{
	char   field[32];
	size_t i = 0;

	while (!movement_faulty(op, i))
		i++;
	if (waits_nowhere(&op->lines[i])) {
		snprintf(field, sizeof(field), "lines[%u].to", op->lines[i].loss->sent);
		reply_invalid(r, field, NOWHERE_RULE);
	} else {
		snprintf(field, sizeof(field), "lines[%u].as_of", op->lines[i].count->sent);
		reply_invalid(r, field, AHEAD_RULE);
	}
}

static void movement_reply(struct request *r, const struct op *op, enum outcome outcome)
{
	if (outcome == OUTCOME_REPLAYED)
		reply_header(r, "Idempotent-Replayed", "true");
	if (outcome == OUTCOME_OK)
		reply_location(r, "movements/", op->id);
	if (outcome == OUTCOME_OK || outcome == OUTCOME_REPLAYED)
		reply_object(r, outcome == OUTCOME_OK ? 201 : 200, moved_write, (void *)op);
	else if (outcome == INVALID)
		reply_malformed(r, op);
	else
		reply_outcome(r, outcome, outcome_is_of_other(outcome) ? "order_id" : NULL, outcome_detail(outcome),
		              op->ended ? refused_write : NULL, (void *)op);
}

static void movement_answer_request(struct request *r)
{
	struct op   *op = r->ops[0];
	enum outcome outcome = request_outcome(r, 0);

	if (outcome == OUTCOME_OK && op_moves(op, BOOKS))
		arrival_wait(r, movement_reply);
	else if (!losses_go_on(r, outcome, movement_answer_request))
		movement_reply(r, op, outcome);
}

/* ---- movements: reading */

#define OWN(...)
static const char *const kinds[] = {
#define X(name, number, word, traits) word,
#include "engine/movement_kinds.def"
#undef X
	NULL};
#define OWN(...)
static const enum movement_kind kind_of[] = {
#define X(name, ...) name,
#include "engine/movement_kinds.def"
#undef X
};

/* True: the line takes promised units, too, if too few others are left. */
static bool read_loss(struct json_reader *line, const char **to, size_t *to_len)
{
	static const char *const words[] = {"backorder", NULL};
	int                      word = -1;

	json_word(line, "short", JSON_OPTIONAL, words, &word);
	json_code(line, "to", JSON_OPTIONAL, LOCATION_MAX, to, to_len);
	if (*to && word < 0)
		json_refuse(line, "to", "goes with short: backorder alone");
	return word == 0;
}

static void read_line(struct json_reader *line, struct op *op, enum movement_kind kind)
{
	const char *sku = "", *location = NULL, *to = NULL;
	size_t      sku_len = 0, location_len = 0, to_len = 0;
	int64_t     qty = 0, expected = -1, as_of = TIME_NONE;
	bool        counted = movement_is(kind, COUNTED), loses = false;

	json_code(line, "sku", JSON_REQUIRED, SKU_MAX, &sku, &sku_len);
	json_code(line, "location", JSON_OPTIONAL, LOCATION_MAX, &location, &location_len);
	if (movement_is(kind, MAY_LOSE))
		loses = read_loss(line, &to, &to_len);
	if (counted) {
		json_int(line, "counted", JSON_REQUIRED, 0, QTY_MAX, &qty);
		json_int(line, "expected", JSON_OPTIONAL, 0, QTY_MAX, &expected);
		json_time(line, "as_of", JSON_OPTIONAL, &as_of);
	} else {
		bool is_signed = movement_is(kind, SIGNED);

		json_int(line, "qty", JSON_REQUIRED, is_signed ? -LINE_UNITS_MAX : 1, LINE_UNITS_MAX, &qty);
		if (is_signed && qty == 0)
			json_refuse(line, "qty", "must not be 0");
		if (is_signed)
			json_int(line, "expected", JSON_OPTIONAL, 0, QTY_MAX, &expected);
	}
	if (line->failed)
		return;
	op_line(op, sku, sku_len, location, location_len, qty);
	if (counted)
		op_counted(op, expected, as_of == TIME_NONE ? 0 : as_of ? as_of : -1);
	else if (movement_is(kind, SIGNED))
		op_expect(op, expected);
	if (loses)
		op_lose(op, to, to_len);
}

/* A line of a transfer, of which the operation makes two. */
static void read_transfer(struct json_reader *line, struct op *op)
{
	static const char *const ends[] = {"from", "to"};
	char                     code[2][LOCATION_MAX + 1], sku[SKU_MAX + 1];
	const char              *text = "";
	size_t                   len = 0;
	int64_t                  qty = 0;

	json_code(line, "sku", JSON_REQUIRED, SKU_MAX, &text, &len);
	snprintf(sku, sizeof(sku), "%.*s", (int)len, text);
	for (int i = 0; i < 2; i++) {
		len = 0;
		json_code(line, ends[i], JSON_REQUIRED, LOCATION_MAX, &text, &len);
		snprintf(code[i], sizeof(code[i]), "%.*s", (int)len, text);
	}
	json_int(line, "qty", JSON_REQUIRED, 1, LINE_UNITS_MAX, &qty);
	if (!line->failed && strcmp(code[0], code[1]) == 0)
		json_refuse(line, "to", "must be another location than from");
	if (!line->failed)
		op_transfer(op, &(struct transfer){sku, code[0], code[1], .qty = qty});
}

struct op *movement_new(enum movement_kind kind, size_t count, size_t more)
{
	bool       has_ends = movement_is(kind, HAS_ENDS), counted = movement_is(kind, COUNTED);
	size_t     lines = has_ends ? 2 * count : count;
	size_t     row = has_ends ? sizeof(struct transfer) : counted ? sizeof(struct counted) : 0;
	struct op *op =
		op_new(OP_MOVE, lines, lines * (SKU_MAX + LOCATION_MAX + 2) + 2 * (NOTE_MAX + 1) + more + count * row);

	op->move.kind = kind;
	if (has_ends)
		op_transfers(op, count);
	if (counted)
		op_counts(op, count);
	return op;
}

static struct op *read_movement(struct request *r, struct json_reader *in)
{
	bool               create = !r->all->common->known_only, expects;
	const char        *id = "", *reason, *reference, *order_id = NULL;
	size_t             id_len = 0, reason_len = 0, reference_len = 0, order_len = 0, count, twins;
	int                kind = 0;
	const void        *element;
	struct json_reader line;
	struct op         *op;

	json_id(in, "movement_id", JSON_REQUIRED, &id, &id_len);
	if (code_is_of_jobs(id))
		json_refuse(in, "movement_id", OF_JOBS_RULE);
	json_word(in, "kind", JSON_REQUIRED, kinds, &kind);
	reason = json_note(in, "reason", &reason_len);
	reference = json_note(in, "reference", &reference_len);
	if (movement_is(kind_of[kind], NAMES_ORDER))
		json_id(in, "order_id", JSON_OPTIONAL, &order_id, &order_len);
	json_bool(in, "create", JSON_OPTIONAL, &create);
	count = json_array(in, "lines", 1, LINES_MAX, &element);
	op = movement_new(kind_of[kind], count, order_len + 1);
	for (size_t i = 0; i < count && !in->failed; i++) {
		element = json_array_object(in, "lines", i, element, &line);
		if (op_moves(op, HAS_ENDS))
			read_transfer(&line, op);
		else
			read_line(&line, op, op->move.kind);
		json_leave(&line, in);
	}
	if (!in->failed) {
		memcpy(op->id, id, id_len);
		op->move.known_only = !create;
		op->move.reason = reason ? op_text(op, reason, reason_len) : NULL;
		op->reference = reference ? op_text(op, reference, reference_len) : NULL;
		op->other_id = order_id ? op_text(op, order_id, order_len) : NULL;
		expects = op_expects(op);
		op_seal(op, &twins);
		if (twins > 0 && op_moves(op, COUNTED))
			json_refuse(in, "lines", "names a sku and location twice: each is counted once");
		else if (twins > 0 && op->losses)
			json_refuse(in, "lines", "names a sku and location twice, and one of them may be short");
		else if (twins > 0 && expects)
			json_refuse(in, "lines", "names a sku and location twice, and one of them has expected");
	}
	return op;
}

/* A return that names its order brings back units of that order, so callers for orders may book it. */
void post_movement(struct request *r)
{
	struct op *op = read_op(r, read_movement);

	if (!op)
		return;
	if (request_permits(r, op->other_id ? ORDERS : ADMINS))
		request_start(r, op, movement_answer_request);
	else
		op_free(op);
}

void get_movement(struct request *r)
{
	struct op *op = op_new(OP_GET_MOVEMENT, 0, 0);

	strcpy(op->id, r->param[0]);
	request_ask(r, op, moved_write);
}

/* ---- totals */

static void reply_sku(struct request *r, struct sku_answer *a, int64_t age_ms)
{
	char age[24];

	snprintf(age, sizeof(age), "%lld", (long long)age_ms);
	reply_header(r, "Age-Ms", age);
	reply_object(r, 200, sku_answer_write, a);
}

static void sku_answer_request(struct request *r)
{
	struct op    *op = r->ops[0];
	struct query *q = op->query;

	if (request_outcome(r, 0) != OUTCOME_OK)
		reply_refused(r, request_outcome(r, 0), NULL, NULL);
	else if (!op->lines[0].sku)
		reply_refused(r, NO_SKU, NULL, NULL);
	else
		reply_sku(r,
		          &(struct sku_answer){op->lines[0].sku, q->totals, q->totals_of[0],
		                               q->page.detailed ? &q->details : NULL},
		          0);
}

/* Answers from memory, if the totals there are young enough for the caller. */
static bool sku_from_memory(struct request *r, int64_t max_age_ms)
{
	struct catalogue *c = engine_catalogue(r->all->common->engine);
	struct sku       *sku = max_age_ms > 0 ? catalogue_sku(c, r->param[0]) : NULL;
	struct total      totals[LOCATIONS_INLINE] UNZEROED;
	size_t            count;
	int64_t           age_ms;

	if (!sku || !catalogue_totals_get(c, sku, max_age_ms, totals, LENGTH(totals), &count, &age_ms) ||
	    count > LENGTH(totals))
		return false;
	reply_sku(r, &(struct sku_answer){sku, totals, count, NULL}, age_ms);
	return true;
}

void get_sku(struct request *r)
{
	int64_t    max_age_ms = 0;
	struct op *op;

	if (!query_int(r, "max_age_ms", 0, AGE_MAX_MS, &max_age_ms) || !query_end(r) || sku_from_memory(r, max_age_ms))
		return;
	op = op_new(OP_TOTALS, 1, SKU_MAX + 1);
	op_line(op, r->param[0], strlen(r->param[0]), NULL, 0, 0);
	op->query->page.detailed = max_age_ms == 0; /* memory has none */
	request_start(r, op, sku_answer_request);
}

/* ---- lists */

static void lows_write(struct json_writer *w, const struct low *lows, size_t count)
{
	json_open_array(w, "low");
	for (size_t i = 0; i < count; i++) {
		json_open_object(w, NULL);
		if (lows[i].location)
			json_put_string(w, "location", lows[i].location->code);
		json_put_int(w, "low", lows[i].low);
		json_put_int(w, "available", lows[i].available);
		json_close_object(w);
	}
	json_close_array(w);
}

/* The units at the location by which the list is filtered. */
static void total_there_write(struct json_writer *w, const struct sku *sku, const struct total *totals, size_t count,
                              const char *location)
{
	json_open_array(w, "locations");
	for (size_t i = 0; i < count; i++)
		if (strcmp(totals[i].location->code, location) == 0)
			sku_total_write(w, sku, &totals[i]);
	json_close_array(w);
}

static void skus_write(struct json_writer *w, void *arg)
{
	const struct op    *op = arg;
	const struct total *totals = op->query->totals;
	const struct low   *lows = op->query->lows;

	json_open_array(w, "items");
	for (size_t i = 0; i < op->lines_count; totals += op->query->totals_of[i++]) {
		struct sum sum = sum_within(op->lines[i].sku, totals, op->query->totals_of[i], NULL);

		json_open_object(w, NULL);
		json_put_string(w, "sku", op->lines[i].sku_code);
		sku_details_write(w, &op->query->details, sku_id(op->lines[i].sku), false);
		sum_write(w, &sum);
		if (op->query->page.location)
			total_there_write(w, op->lines[i].sku, totals, op->query->totals_of[i],
			                  op->query->page.location);
		if (op->query->page.low) {
			lows_write(w, lows, op->query->lows_of[i]);
			lows += op->query->lows_of[i];
		}
		json_close_object(w);
	}
	json_close_array(w);
	page_end(w, op->query->page.cursor);
}

/* False: it is no text that skus are found by, or stands beside a filter that it does not go with, and the request is
 * answered. */
static bool search_text_read(struct request *r, const char **text)
{
	const char *beside = query_text(r, "prefix") ? "prefix" : query_text(r, "barcode") ? "barcode" : NULL;

	*text = query_text(r, "q");
	if (*text && !search_fits(*text))
		return reply_invalid(r, "q", "must be 2 to 200 characters of UTF-8 without control characters");
	return !*text || !beside || reply_field(r, SEARCH_FILTER, beside, outcome_detail(SEARCH_FILTER));
}

static const char *folded_text(struct op *op, const char *text)
{
	char folded[SEARCH_BYTES] UNZEROED;

	return op_text(op, folded, (size_t)(text_fold(folded, text, strlen(text)) - folded));
}

void get_skus(struct request *r)
{
	const char *prefix, *barcode, *text, *low = query_text(r, "low"), *location;
	struct op  *op;

	if (!search_text_read(r, &text) || !query_word(r, "prefix", QUERY_CODE_BEGIN, SKU_MAX, &prefix) ||
	    !query_word(r, "barcode", QUERY_ID, BARCODE_MAX, &barcode))
		return;
	if (low && strcmp(low, "true") != 0)
		reply_invalid(r, "low", "must be true, or left out");
	else if (query_word(r, "location", QUERY_CODE, LOCATION_MAX, &location) &&
	         (op = page_op(r, text ? OP_SEARCH_SKUS : OP_LIST_SKUS))) {
		op->query->page.prefix = prefix ? op_text(op, prefix, strlen(prefix)) : NULL;
		op->query->page.location = location ? op_text(op, location, strlen(location)) : NULL;
		op->query->page.barcode = barcode ? op_text(op, barcode, strlen(barcode)) : NULL;
		op->query->page.text = text ? folded_text(op, text) : NULL;
		op->query->page.low = low != NULL;
		request_ask(r, op, skus_write);
	}
}

static void movement_write(struct json_writer *w, const void *item)
{
	movement_json(w, *(const struct movement *const *)item);
}

static void movements_write(struct json_writer *w, void *arg)
{
	const struct query *q = ((struct op *)arg)->query;

	page_write(w, q->movements, q->items, sizeof(struct movement *), movement_write, q->page.cursor);
}

void get_sku_movements(struct request *r)
{
	struct op *op = page_op(r, OP_LIST_MOVEMENTS);

	if (!op)
		return;
	op_line(op, r->param[0], strlen(r->param[0]), NULL, 0, 0);
	request_ask(r, op, movements_write);
}

/* ---- what is said of a sku, and limits of customers */

static void put_write(struct json_writer *w, void *arg)
{
	const struct sku_put *put = arg;

	json_put_string(w, "sku", put->sku);
	sku_limit_write(w, put->per_customer);
	if (sku_details_stopped(&put->details, put->sku_id))
		json_put_bool(w, "for_sale", false);
	sku_details_write(w, &put->details, put->sku_id, false);
}

static void put_answer_request(struct request *r)
{
	enum outcome    outcome = request_outcome(r, 0);
	struct sku_put *put = r->ops[0]->job.arg; /* the work may be under way still unless it went well */

	if (outcome != OUTCOME_OK) {
		reply_refused(r, outcome, NULL, NULL);
		return;
	}
	if (put->made)
		reply_location(r, "", put->sku);
	reply_object(r, put->made ? 201 : 200, put_write, put);
}

static struct op *read_sku(struct request *r, struct json_reader *in)
{
	struct sales_wish sales = {0};
	struct sku_put   *put = mem_alloc(sizeof(*put));
	struct op        *op = op_new(OP_RUN, 0, 0);

	strcpy(put->sku, r->param[0]);
	put->wish = -1;
	if (json_null(in, "per_customer"))
		put->wish = 0;
	else
		json_int(in, "per_customer", JSON_OPTIONAL, 1, LINE_UNITS_MAX, &put->wish);
	sku_details_take(in, put);
	put->sales = sales_take(in, JSON_OPTIONAL, &sales);
	put->for_sale = sales.for_sale;
	strcpy(put->reason, sales.reason);
	put->by = r->key ? r->key->line.key_id : 0;
	op->job = (struct job){.run = sales_put, .run_free = sku_put_free, .together = sales_put_together, .arg = put};
	return op;
}

void put_sku(struct request *r)
{
	struct op *op = read_op(r, read_sku);

	if (op)
		request_start(r, op, put_answer_request);
}

static void customer_write(struct json_writer *w, void *arg)
{
	const struct op *op = arg;

	json_put_string(w, "sku", op->lines[0].sku_code);
	json_put_string(w, "customer", op->id);
	sku_limit_write(w, op->has.per_customer);
	json_put_int(w, "has", op->has.units);
}

void get_customer(struct request *r)
{
	struct op *op = op_new(OP_GET_CUSTOMER, 1, SKU_MAX + 1);

	op_line(op, r->param[0], strlen(r->param[0]), NULL, 0, 0);
	strcpy(op->id, r->param[1]);
	request_ask(r, op, customer_write);
}
