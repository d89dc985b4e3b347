/* basket.c - see basket.h. */
#include "commands/demo/basket.h"
#include "commands/demo/goods.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIRST_ID = 10001, CUSTOMERS = 400 };

/* Locations in the order in which the shop ships from them. */
static const struct {
	const char *locations[2];
	bool        may_split;
} ways[] = {
	[FROM_MAIN] = {{MAIN}, false},
	[FROM_STORE] = {{HARBOUR, MAIN}, false},
	[BACKORDER] = {{MAIN, LORRY}, true},
	[PREORDER] = {{SUPPLIER}, false},
};

void order_id_write(char *to, size_t size, int64_t number)
{
	snprintf(to, size, "S-%lld", (long long)(FIRST_ID + number));
}

int64_t order_number(const char *id)
{
	char *end;
	long  n;

	if (id[0] != 'S' || id[1] != '-')
		return -1;
	n = strtol(id + 2, &end, 10);
	return *end || n < FIRST_ID ? -1 : n - FIRST_ID;
}

struct basket basket_fill(int64_t number, enum way way)
{
	struct chance c = chance_for("basket", number);
	struct basket b = {.lines = 1};

	assert(number >= 0);
	order_id_write(b.id, sizeof(b.id), number);
	snprintf(b.customer, sizeof(b.customer), "C-%04d", chance_below(&c, CUSTOMERS) + 1);
	b.line[0].qty = 2 + chance_below(&c, 2);
	b.line[0].good = good_scarce(number);
	if (way == BACKORDER || way == PREORDER)
		return b;
	b.lines += chance_below(&c, BASKET_LINES);
	for (int i = 0; i < b.lines; i++) {
		b.line[i].good = good_any(&c);
		b.line[i].qty = 1 + (i == 0) + chance_below(&c, 2);
	}
	return b;
}

void basket_write(struct json_writer *w, const struct basket *b, enum way way)
{
	const char *const *at = ways[way].locations;

	json_put_string(w, "order_id", b->id);
	json_put_string(w, "customer", b->customer);
	json_open_array(w, "lines");
	for (int i = 0; i < b->lines; i++) {
		struct good good = good_make(b->line[i].good);

		json_open_object(w, NULL);
		json_put_string(w, "sku", good.sku);
		json_put_int(w, "qty", b->line[i].qty);
		json_open_array(w, "locations");
		for (size_t k = 0; k < LENGTH(ways[way].locations) && at[k]; k++)
			json_put_string(w, NULL, at[k]);
		json_close_array(w);
		if (ways[way].may_split)
			json_put_bool(w, "may_split", true);
		json_close_object(w);
	}
	json_close_array(w);
}
