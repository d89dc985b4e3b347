/* bulk.c - see bulk.h. */
#include "tests/model/bulk.h"
#include "tests/model/meets.h"
#include "tests/model/wire.h"

#include <stdio.h>

static void post(struct call *to, const char *path)
{
	snprintf(to->method, sizeof(to->method), "POST");
	text_add(&to->path, path);
}

static const cJSON *items_of(const struct answer *a)
{
	return cJSON_GetObjectItemCaseSensitive(a->json, "items");
}

void bulk_stock(struct call *to)
{
	post(to, "/v1/stock");
	for (int s = 0; s < MODEL_SKUS; s++)
		text_format(&to->body, "%s\"%s\"", s ? "," : "{\"skus\":[", wire_sku(s));
	text_add(&to->body, "]}");
}

bool bulk_stock_meets(const struct answer *a, struct model *m, struct text *why)
{
	const cJSON *item;
	int          s = 0;

	cJSON_ArrayForEach(item, items_of(a))
	{
		struct answer one = {.status = cJSON_HasObjectItem(item, "code") ? 404 : 200, .json = (cJSON *)item};

		if (s == MODEL_SKUS || !meets_sku(&one, m, s, true, why))
			return false;
		s++;
	}
	return s == MODEL_SKUS;
}

static int end_of(const struct model *m, int first)
{
	return m->ids - first < BULK_MAX ? m->ids : first + BULK_MAX;
}

void bulk_find(struct call *to, const struct model *m, int first)
{
	post(to, "/v1/reservations/find");
	for (int id = first; id < end_of(m, first); id++)
		text_format(&to->body, "%s\"O%d\"", id > first ? "," : "{\"order_ids\":[", id);
	text_add(&to->body, "]}");
}

bool bulk_find_meets(const struct answer *a, const struct model *m, int first, struct text *why)
{
	const cJSON *item;
	int          id = first, shown = -1;

	cJSON_ArrayForEach(item, items_of(a))
	{
		bool none = id == end_of(m, first) || m->order[id].state == ORDER_NONE;

		if (cJSON_IsNull(item) != none || (!none && !(meets_item(item, m, &shown, why) && shown == id)))
			return false;
		id++;
	}
	return id == end_of(m, first);
}
