/* find.c - see find.h. */
#include "api/order/find.h"
#include "api/request.h"
#include "engine/rows_json.h"

enum { FIND_MAX = 1000 };

static void found_write(struct json_writer *w, void *arg)
{
	const struct query *q = ((struct op *)arg)->query;

	assert(q->items == q->page.ids_count);
	json_open_array(w, "items");
	for (size_t i = 0; i < q->items; i++) {
		if (!q->reservations[i]) {
			json_put_null(w, NULL);
			continue;
		}
		json_open_object(w, NULL);
		reservation_json(w, q->reservations[i]);
		json_close_object(w);
	}
	json_close_array(w);
}

void post_reservations_find(struct request *r)
{
	struct json_reader in;
	struct json_fault  fault;
	const char        *id = "";
	size_t             len = 0, count;
	const void        *element;
	struct op         *op;

	if (!read_body(r, &in, &fault))
		return;
	count = json_array(&in, "order_ids", 1, FIND_MAX, &element);
	op = op_new(OP_FIND, 0, count * (sizeof(char *) + ID_MAX + 1));
	op_ids(op, count);
	for (size_t i = 0; i < count && !in.failed; i++) {
		element = json_array_id(&in, "order_ids", i, element, &id, &len);
		if (!in.failed)
			op_ids_add(op, id, len);
	}
	if (read_end(r, &in, &fault))
		request_ask(r, op, found_write);
	else
		op_free(op);
}
