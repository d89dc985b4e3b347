/* reservation_list.c - see reservation_list.h. */
#include "api/calls/reservation_list.h"
#include "api/calls/page.h"
#include "api/request.h"
#include "engine/rows_json.h"

#include <stdio.h>
#include <string.h>

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

/* Reads the filter by holding: a sku, at a location or anywhere. The sku becomes the op's line. */
static bool query_holding(struct request *r, struct op *op)
{
	const char            *sku, *location;
	enum reservation_state state = op->query->page.state;

	if (!query_code(r, "sku", SKU_MAX, &sku) || !query_code(r, "location", LOCATION_MAX, &location))
		return false;
	if (!sku && location) {
		reply_invalid(r, "location", "is asked for with a sku only");
		return false;
	}
	if (sku && state && !reservation_is_live(state)) {
		reply_invalid(r, "state", "must be one of: held, confirmed, buried, where a sku is asked for");
		return false;
	}
	if (sku && location)
		op_line(op, sku, strlen(sku), location, strlen(location), 0);
	else if (sku)
		op_line(op, sku, strlen(sku), NULL, 0, 0)->location_code = NULL;
	return true;
}

/* What is held back is a list of its own, of any live state or of one. */
static bool query_on_hold(struct request *r, struct op *op)
{
	const char            *asked = query_text(r, "on_hold");
	enum reservation_state state = op->query->page.state;

	if (!asked)
		return true;
	op->query->page.on_hold = true;
	if (strcmp(asked, "true") != 0)
		reply_invalid(r, "on_hold", "must be true, or left out");
	else if (state && !reservation_is_live(state))
		reply_invalid(r, "state", "must be one of: held, confirmed, buried, where on_hold is asked for");
	else if (op->lines_count > 0)
		reply_invalid(r, "sku", "is asked for without on_hold only");
	else if (op->query->page.error)
		reply_invalid(r, "error", "is asked for without on_hold only");
	else
		return true;
	return false;
}

static bool query_error(struct request *r, struct query *q, struct op *op)
{
	const char *error = query_text(r, "error");

	if (!error)
		return true;
	if (q->page.state != BURIED || strlen(error) > NOTE_MAX) {
		reply_invalid(r, "error",
		              q->page.state == BURIED ? "may have at most 500 bytes"
		                                      : "is asked for with state=buried only");
		return false;
	}
	q->page.error = op_text(op, error, strlen(error));
	return true;
}

void get_reservations(struct request *r)
{
	struct op *op = page_op(r, OP_LIST_RESERVATIONS);

	if (!op)
		return;
	if (query_state(r, &op->query->page.state) && query_holding(r, op) && query_error(r, op->query, op) &&
	    query_on_hold(r, op))
		request_ask(r, op, items_write);
	else
		op_free(op);
}
