/* sales_call.c - see sales_call.h. */
#include "api/stock/sales_call.h"
#include "api/request.h"
#include "engine/base/memory.h"

struct sales_call {
	struct job_call   job;
	struct sales_wish wish;
	size_t            count;
	char (*asked)[SKU_MAX + 1]; /* the skus, in the order of the call; owned */
	struct sales_sku *skus;     /* the same, sorted by code; owned */
};

static void *call_new(struct request *r)
{
	struct sales_call *call = mem_alloc(sizeof(*call));

	call->wish.by = r->key ? r->key->line.key_id : 0;
	return call;
}

static void call_fini(void *arg)
{
	struct sales_call *call = arg;

	free(call->asked);
	free(call->skus);
}

static const struct job_noun noun = {call_new, call_fini};

bool sales_take(struct json_reader *in, enum json_need need, struct sales_wish *wish)
{
	bool        given = json_has(in, "for_sale");
	const char *reason;
	size_t      len = 0;

	json_bool(in, "for_sale", need, &wish->for_sale);
	reason = json_note(in, "reason", &len);
	if (reason && !in->failed && (!given || wish->for_sale))
		json_refuse(in, "reason", "goes with for_sale: false alone");
	if (reason && !in->failed)
		memcpy(wish->reason, reason, len);
	return given;
}

static int code_order(const void *a, const void *b)
{
	return strcmp(((const struct sales_sku *)a)->code, ((const struct sales_sku *)b)->code);
}

static void read_post(struct json_reader *in, void *arg)
{
	struct sales_call *call = arg;
	const char        *code = "";
	size_t             len = 0, count;
	const void        *element;

	sales_take(in, JSON_REQUIRED, &call->wish);
	count = json_array(in, "skus", 1, SALES_SKUS_MAX, &element);
	call->asked = mem_alloc((count + 1) * sizeof(*call->asked));
	call->skus = mem_alloc((count + 1) * sizeof(*call->skus));
	for (size_t i = 0; i < count && !in->failed; i++) {
		element = json_array_code(in, "skus", i, element, SKU_MAX, &code, &len);
		memcpy(call->asked[i], code, len);
		memcpy(call->skus[i].code, code, len);
		call->count = i + 1;
	}
	qsort(call->skus, call->count, sizeof(*call->skus), code_order);
	for (size_t i = 1; i < call->count; i++)
		if (code_order(&call->skus[i - 1], &call->skus[i]) == 0)
			json_refuse(in, "skus", "must name each sku once");
}

static enum db_result run_post(struct db *db, void *arg)
{
	struct sales_call *call = arg;

	return sales_of_skus(db, &call->wish, call->skus, call->count);
}

static void items_write(struct json_writer *w, void *arg)
{
	const struct sales_call *call = arg;
	struct sales_sku         key;

	json_open_array(w, "items");
	for (size_t i = 0; i < call->count; i++) {
		const struct sales_sku *sku;

		strcpy(key.code, call->asked[i]);
		sku = bsearch(&key, call->skus, call->count, sizeof(key), code_order);
		json_open_object(w, NULL);
		json_put_string(w, "sku", call->asked[i]);
		if (sku && sku->sku_id)
			json_put_bool(w, "for_sale", call->wish.for_sale);
		else
			json_put_string(w, "code", outcome_code(NO_SKU));
		json_close_object(w);
	}
	json_close_array(w);
}

const struct job_kind post_skus_for_sale = {&noun, read_post, run_post, items_write, NULL};
