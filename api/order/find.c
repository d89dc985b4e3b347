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

static struct op *read_ids(struct request *r, struct json_reader *in)
{
	const char *id = "";
	const void *element;
	size_t      len = 0, count = json_array(in, "order_ids", 1, FIND_MAX, &element);
	struct op  *op = op_new(OP_FIND, 0, count * (sizeof(char *) + ID_MAX + 1));

	(void)r;
	op_ids(op, count);
	for (size_t i = 0; i < count && !in->failed; i++) {
		element = json_array_id(in, "order_ids", i, element, &id, &len);
		if (!in->failed)
			op_ids_add(op, id, len);
	}
	return op;
}

void post_reservations_find(struct request *r)
{
	struct op *op = read_op(r, read_ids);

	if (op)
		request_ask(r, op, found_write);
}
