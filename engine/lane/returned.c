/* returned.c - see returned.h. */
#include "engine/lane/returned.h"

/* The units that the lines from *at on have of the sku, and what came back of them; *at stands behind them then. */
static struct line sku_sum(const struct line *lines, size_t count, const char *sku, size_t *at)
{
	struct line sum = {0};

	while (*at < count && strcmp(lines[*at].sku_code, sku) < 0)
		++*at;
	for (; *at < count && strcmp(lines[*at].sku_code, sku) == 0; ++*at) {
		sum.qty += lines[*at].qty;
		sum.returned += lines[*at].returned;
	}
	return sum;
}

/* May these units come back from the order? Its locations do not matter: the first line of a sku tells for all of them.
 */
enum outcome returned_decide(struct op *op)
{
	const struct reservation *r = op->other;
	enum outcome              out = OUTCOME_OK;

	assert(r);
	for (size_t i = 0, at = 0; i < op->lines_count;) {
		struct line *line = &op->lines[i];
		struct line  asked = sku_sum(op->lines, op->lines_count, line->sku_code, &i);
		struct line  settled = sku_sum(r->lines, r->lines_count, line->sku_code, &at);

		line->granted = asked.qty;
		line->available = settled.qty;
		line->returned = settled.returned;
		line->fault = asked.qty > settled.qty - settled.returned;
		if (line->fault)
			out = OVER_RETURNED;
	}
	return out;
}
