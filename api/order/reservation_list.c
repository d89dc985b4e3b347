/* reservation_list.c - see reservation_list.h. */
#include "api/order/reservation_list.h"
#include "api/calls/page.h"
#include "api/request.h"
#include "engine/base/clock.h"
#include "engine/rows_json.h"

#include <stdio.h>

static void item_write(struct json_writer *w, const void *item)
{
	reservation_json(w, *(const struct reservation *const *)item);
}

static void items_write(struct json_writer *w, void *arg)
{
	const struct query *q = ((struct op *)arg)->query;

	page_write(w, q->reservations, q->items, sizeof(struct reservation *), item_write, q->page.cursor);
}

static bool query_state(struct request *r, enum reservation_state *state)
{
	const char *asked = query_text(r, "state");
	struct text rule = {0};

	*state = 0;
	if (!asked)
		return true;
	for (enum reservation_state s = HELD; s < STATES; s++)
		if (strcmp(asked, reservation_state_name(s)) == 0) {
			*state = s;
			return true;
		}
	for (enum reservation_state s = HELD; s < STATES; s++)
		text_format(&rule, "%s%s", s > HELD ? ", " : "must be one of: ", reservation_state_name(s));
	reply_invalid(r, "state", rule.data);
	text_fini(&rule);
	return false;
}

/* The filters of the list, of which a call names one. */
static const struct filter {
	const char *name, *beside; /* a second parameter, or NULL .. */
	bool        needs_beside;  /* .. without which the first says nothing */
	bool        any_state;     /* a state may stand beside it, whatever it is */
	bool        live_state;    /* .. held, confirmed or buried */
} filters[] = {
	{"on_hold", NULL, false, false, true},
	{"sku", "location", false, false, false},
	{"error", NULL, false, false, true},
	{"customer", NULL, false, true, true},
	{"reference", NULL, false, true, true},
	{"customer_prefix", NULL, false, true, true},
	{"reference_prefix", NULL, false, true, true},
	{"prefix", NULL, false, false, false},
	{"created_after", "created_before", true, false, false},
};

static bool refuse_filter(struct request *r, const char *field)
{
	return reply_field(r, UNSUPPORTED_FILTER, field, outcome_detail(UNSUPPORTED_FILTER));
}

/* True: an index serves all that the call asks for. */
static bool filters_are_served(struct request *r, enum reservation_state state)
{
	const struct filter *asked = NULL;

	for (size_t i = 0; i < LENGTH(filters); i++) {
		const struct filter *f = &filters[i];
		bool                 has = query_text(r, f->name), beside = f->beside && query_text(r, f->beside);

		if (!has && !beside)
			continue;
		if (asked || !has)
			return refuse_filter(r, has ? f->name : f->beside);
		if (f->needs_beside && !beside)
			return refuse_filter(r, f->name);
		asked = f;
	}
	if (query_text(r, "error") && state != BURIED)
		return refuse_filter(r, "error");
	if (asked && state && !asked->any_state && !(asked->live_state && reservation_is_live(state)))
		return refuse_filter(r, "state");
	return true;
}

/* Reads the filter by holding: a sku, at a location or anywhere. The sku becomes the op's line. */
static bool query_holding(struct request *r, struct op *op)
{
	const char *sku, *location;

	if (!query_word(r, "sku", QUERY_CODE, SKU_MAX, &sku) ||
	    !query_word(r, "location", QUERY_CODE, LOCATION_MAX, &location))
		return false;
	if (sku && location)
		op_line(op, sku, strlen(sku), location, strlen(location), 0);
	else if (sku)
		op_line(op, sku, strlen(sku), NULL, 0, 0)->location_code = NULL;
	return true;
}

/* What is held back is a list of its own, of any live state or of one. */
static bool query_on_hold(struct request *r, struct op *op)
{
	const char *asked = query_text(r, "on_hold");

	op->query->page.on_hold = asked;
	return !asked || strcmp(asked, "true") == 0 || reply_invalid(r, "on_hold", "must be true, or left out");
}

static bool query_note(struct request *r, struct op *op, const char *name, const char **to)
{
	const char *text = query_text(r, name);

	if (text && (!*text || strlen(text) > NOTE_MAX))
		return reply_invalid(r, name, "must be 1 to 500 bytes");
	*to = text ? op_text(op, text, strlen(text)) : NULL;
	return true;
}

/* A parameter of this form, for the page. */
static bool query_kept(struct request *r, struct op *op, const char *name, enum query_form form, const char **to)
{
	const char *text;

	if (!query_word(r, name, form, ID_MAX, &text))
		return false;
	*to = text ? op_text(op, text, strlen(text)) : NULL;
	return true;
}

/* The first ms that is not before the time. */
static bool query_time(struct request *r, struct page *page, const char *name, int64_t *ms)
{
	const char *text = query_text(r, name);
	int64_t     us;

	if (!text)
		return true;
	if (!time_read(text, &us))
		return reply_invalid(r, name, "must be a time of RFC 3339: 2026-11-20T08:47:00Z");
	*ms = (us + 999) / 1000;
	page->by_time = true;
	return true;
}

void get_reservations(struct request *r)
{
	struct op   *op = page_op(r, OP_LIST_RESERVATIONS);
	struct page *page;

	if (!op)
		return;
	page = &op->query->page;
	if (query_state(r, &page->state) && query_holding(r, op) && query_note(r, op, "error", &page->error) &&
	    query_note(r, op, "reference", &page->reference) &&
	    query_note(r, op, "reference_prefix", &page->reference_prefix) &&
	    query_kept(r, op, "customer", QUERY_ID, &page->customer) &&
	    query_kept(r, op, "customer_prefix", QUERY_ID_BEGIN, &page->customer_prefix) &&
	    query_kept(r, op, "prefix", QUERY_ID_BEGIN, &page->prefix) &&
	    query_time(r, page, "created_after", &page->created_after) &&
	    query_time(r, page, "created_before", &page->created_before) && query_on_hold(r, op) &&
	    filters_are_served(r, page->state))
		request_ask(r, op, items_write);
	else
		op_free(op);
}

/* The list of GET /v1/reservations?sku=, in a path of its own. */
void get_sku_holds(struct request *r)
{
	struct op  *op = page_op(r, OP_LIST_RESERVATIONS);
	const char *location;

	if (!op)
		return;
	if (query_word(r, "location", QUERY_CODE, LOCATION_MAX, &location)) {
		op_line(op, r->param[0], strlen(r->param[0]), location, location ? strlen(location) : 0, 0);
		if (!location)
			op->lines[0].location_code = NULL;
		request_ask(r, op, items_write);
	} else {
		op_free(op);
	}
}
