/* page.c - see page.h. */
#include "api/calls/page.h"
#include "api/request.h"
#include "engine/read/cursor.h"

#include <stdio.h>

enum { PAGE_STANDARD = 100, PAGE_MAX = 1000 };

bool page_read(struct request *r, int64_t *limit, const char **cursor)
{
	*limit = PAGE_STANDARD;
	*cursor = query_text(r, "cursor");
	if (!query_int(r, "limit", 1, PAGE_MAX, limit))
		return false;
	return !*cursor || (**cursor && strlen(*cursor) < CURSOR_SIZE) || reply_refused(r, BAD_CURSOR, NULL, NULL);
}

bool query_word(struct request *r, const char *name, enum query_form form, size_t max, const char **text)
{
	static const struct {
		bool (*fits)(const char *text, size_t len, size_t max);
		const char *rule;
	} forms[] = {[QUERY_CODE] = {code_valid, CODE_RULE},
	             [QUERY_CODE_BEGIN] = {code_begins, PREFIX_RULE},
	             [QUERY_ID] = {id_valid, ID_RULE},
	             [QUERY_ID_BEGIN] = {id_begins, ID_PREFIX_RULE}};
	char rule[CODE_RULE_SIZE];

	*text = query_text(r, name);
	if (!*text || forms[form].fits(*text, strlen(*text), max))
		return true;
	snprintf(rule, sizeof(rule), forms[form].rule, max);
	return reply_invalid(r, name, rule);
}

size_t read_locations(struct json_reader *in, size_t max, const char **code, size_t *len)
{
	const void *element = NULL;
	size_t      count = json_has(in, "locations") ? json_array(in, "locations", 1, max, &element) : 0;

	for (size_t i = 0; i < count; i++) {
		element = json_array_code(in, "locations", i, element, LOCATION_MAX, &code[i], &len[i]);
		for (size_t k = 0; k < i; k++)
			if (len[k] == len[i] && memcmp(code[k], code[i], len[i]) == 0)
				json_refuse(in, "locations", "must name each location once");
	}
	return in->failed ? 0 : count;
}

struct op *page_op(struct request *r, enum op_kind kind)
{
	const char *cursor;
	int64_t     limit;
	struct op  *op;

	if (!page_read(r, &limit, &cursor))
		return NULL;
	assert(limit >= 1 && limit <= PAGE_MAX);
	op = op_new(kind, kind == OP_LIST_SKUS || kind == OP_SEARCH_SKUS ? (size_t)limit + 1 : 1,
	            SKU_MAX + LOCATION_MAX + 3 * (NOTE_MAX + ID_MAX) + 8);
	op->query->page.limit = (unsigned)limit;
	if (cursor)
		strcpy(op->query->page.cursor, cursor);
	return op;
}

void page_end(struct json_writer *w, const char *cursor)
{
	if (*cursor)
		json_put_string(w, "next_cursor", cursor);
	else
		json_put_null(w, "next_cursor");
}

void page_write(struct json_writer *w, const void *items, size_t count, size_t size,
                void (*put)(struct json_writer *w, const void *item), const char *cursor)
{
	json_open_array(w, "items");
	for (size_t i = 0; i < count; i++) {
		json_open_object(w, NULL);
		put(w, (const char *)items + i * size);
		json_close_object(w);
	}
	json_close_array(w);
	page_end(w, cursor);
}
