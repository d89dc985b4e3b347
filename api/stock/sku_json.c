/* sku_json.c - see sku_json.h. */
#include "api/stock/sku_json.h"
#include "api/stock/availability.h"
#include "api/stock/sku_details_call.h"

static int total_order(const void *a, const void *b)
{
	return strcmp(((const struct total *)a)->location->code, ((const struct total *)b)->location->code);
}

void sku_limit_write(struct json_writer *w, int64_t per_customer)
{
	if (per_customer > 0)
		json_put_int(w, "per_customer", per_customer);
}

void sku_total_write(struct json_writer *w, const struct sku *sku, const struct total *t)
{
	bool stopped = t->available > 0 && total_is_stopped(sku, t);

	json_open_object(w, NULL);
	json_put_string(w, "location", t->location->code);
	json_put_string(w, "kind", location_kind_name(location_kind(t->location)));
	json_put_int(w, "available", stopped ? 0 : t->available);
	json_put_int(w, "reserved", t->reserved);
	json_put_int(w, "on_hand", location_in_house(t->location) ? t->available + t->reserved : 0);
	if (stopped)
		json_put_int(w, "stopped", t->available);
	if (location_stopped(t->location))
		json_put_bool(w, "for_sale", false);
	if (t->location->expected_at > 0)
		json_put_time(w, "expected_at", t->location->expected_at);
	json_close_object(w);
}

void sku_answer_write(struct json_writer *w, void *answer)
{
	const struct sku_answer *a = answer;
	struct sum               sum = sum_within(a->sku, a->totals, a->count, NULL);

	assert(a->count == 0 || a->totals);
	if (a->count > 1)
		qsort(a->totals, a->count, sizeof(*a->totals), total_order);
	json_put_string(w, "sku", sku_code(a->sku));
	sum_write(w, &sum);
	json_open_array(w, "locations");
	for (size_t i = 0; i < a->count; i++)
		sku_total_write(w, a->sku, &a->totals[i]);
	json_close_array(w);
	sku_limit_write(w, sku_per_customer(a->sku));
	if (a->details)
		sku_details_write(w, a->details, sku_id(a->sku), true);
}
