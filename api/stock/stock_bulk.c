/* stock_bulk.c - see stock_bulk.h. */
#include "api/stock/stock_bulk.h"
#include "api/request.h"
#include "api/stock/sku_json.h"

#include <string.h>

enum { SKUS_MAX = 1000 };

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

void post_stock(struct request *r)
{
	struct json_reader in;
	struct json_fault  fault;
	const char        *sku = "";
	size_t             len = 0, count;
	const void        *element;
	struct op         *op;

	if (!read_body(r, &in, &fault))
		return;
	count = json_array(&in, "skus", 1, SKUS_MAX, &element);
	op = op_new(OP_STOCK, count, count * (SKU_MAX + 1) + PLACES_MAX * (LOCATION_MAX + 1));
	for (size_t i = 0; i < count && !in.failed; i++) {
		element = json_array_code(&in, "skus", i, element, SKU_MAX, &sku, &len);
		if (!in.failed)
			op_line(op, sku, len, NULL, 0, 0);
	}
	read_places(&in, op);
	if (read_end(r, &in, &fault))
		request_ask(r, op, stock_write);
	else
		op_free(op);
}
