/* stock_bulk.c - see stock_bulk.h. */
#include "api/stock/stock_bulk.h"
#include "api/calls/page.h"
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

static struct op *read_stock(struct request *r, struct json_reader *in)
{
	struct op   *op = read_skus(in, OP_STOCK, PLACES_MAX * (LOCATION_MAX + 1));
	struct page *page = &op->query->page;
	const char  *code[PLACES_MAX];
	size_t       len[PLACES_MAX];

	(void)r;
	page->places_count = read_locations(in, PLACES_MAX, code, len);
	for (size_t i = 0; i < page->places_count; i++)
		page->places[i] = op_text(op, code[i], len[i]);
	return op;
}

void post_stock(struct request *r)
{
	struct op *op = read_op(r, read_stock);

	if (op)
		request_ask(r, op, stock_write);
}
