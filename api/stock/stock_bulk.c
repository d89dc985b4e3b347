/* stock_bulk.c - see stock_bulk.h. */
#include "api/stock/stock_bulk.h"
#include "api/stock/availability.h"
#include "api/stock/sku_json.h"

static void stock_write(struct json_writer *w, void *arg)
{
	const struct op *op = arg;
	struct total    *totals = op->query->totals;

	json_open_array(w, "items");
	for (size_t i = 0; i < op->lines_count; totals += op->query->totals_of[i++]) {
		struct sku_answer answer = {op->lines[i].sku, totals, op->query->totals_of[i], &op->query->details};

		json_open_object(w, NULL);
		if (answer.sku) {
			sku_answer_write(w, &answer);
		} else {
			json_put_string(w, "sku", op->lines[i].sku_code);
			json_put_string(w, "code", outcome_code(NO_SKU));
		}
		json_close_object(w);
	}
	json_close_array(w);
}

static void read_places(struct json_reader *in, struct op *op)
{
	struct page *page = &op->query->page;
	const char  *code = "";
	size_t       len = 0, count;
	const void  *element;

	if (!json_has(in, "locations"))
		return;
	count = json_array(in, "locations", 1, PLACES_MAX, &element);
	for (size_t i = 0; i < count && !in->failed; i++) {
		element = json_array_code(in, "locations", i, element, LOCATION_MAX, &code, &len);
		for (size_t k = 0; k < i && !in->failed; k++)
			if (strlen(page->places[k]) == len && memcmp(page->places[k], code, len) == 0)
				json_refuse(in, "locations", "must name each location once");
		if (!in->failed)
			page->places[page->places_count++] = op_text(op, code, len);
	}
}

static struct op *read_stock(struct request *r, struct json_reader *in)
{
	struct op *op = read_skus(in, OP_STOCK, PLACES_MAX * (LOCATION_MAX + 1));

	(void)r;
	read_places(in, op);
	return op;
}

void post_stock(struct request *r)
{
	struct op *op = read_op(r, read_stock);

	if (op)
		request_ask(r, op, stock_write);
}
