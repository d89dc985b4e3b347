/* fuzz_json.c - any bytes as a body, read as one object and as a batch.
 *
 * Beyond the sanitizers it holds that cJSON finds the same values in a text that passes the scan, and that what is said
 * of a fault can be written as JSON and read back. */
#include "engine/base/codes.h"
#include "input.h"
#include "engine/base/json.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void fault_check(const struct json_fault *fault)
{
	struct text        t = {0};
	struct json_writer w = {.to = &t};
	struct json_fault  none;
	struct json_doc   *doc;

	assert(fault->detail[0]);
	json_open_object(&w, NULL);
	json_put_string(&w, "field", fault->field);
	json_put_string(&w, "detail", fault->detail);
	json_close_object(&w);
	doc = json_parse(t.data, t.len, &none);
	assert(doc);
	json_free(doc);
	text_fini(&t);
}

/* {"a": code, "n": int, "s": string, "w": word, "b": bool, "o": [objects of the same], "c": [codes]}, all optional. */
static bool object_read(struct json_reader *in, int depth)
{
	static const char *const words[] = {"x", "y", NULL};
	const char              *s = "";
	const void              *element;
	size_t                   len = 0, count;
	int64_t                  n = 0;
	int                      word = 0;
	bool                     b = false;

	json_code(in, "a", JSON_OPTIONAL, 8, &s, &len);
	json_string(in, "s", JSON_OPTIONAL, &s, &len);
	assert(strlen(s) == len);
	json_int(in, "n", JSON_OPTIONAL, -QTY_MAX, QTY_MAX, &n);
	assert(-QTY_MAX <= n && n <= QTY_MAX);
	json_word(in, "w", JSON_OPTIONAL, words, &word);
	json_bool(in, "b", JSON_OPTIONAL, &b);
	count = json_has(in, "o") && depth < 4 ? json_array(in, "o", 1, 5, &element) : 0;
	for (size_t i = 0; i < count; i++) {
		struct json_reader object;

		element = json_array_object(in, "o", i, element, &object);
		(void)object_read(&object, depth + 1);
		json_leave(&object, in);
	}
	count = json_has(in, "c") ? json_array(in, "c", 1, 3, &element) : 0;
	for (size_t i = 0; i < count; i++)
		element = json_array_code(in, "c", i, element, 3, &s, &len);
	return json_end(in);
}

/* An empty array also stands for a number that is no integer. */
static void values_compare(const void *ours, const cJSON *theirs)
{
	struct text  text = {0};
	const cJSON *their_child = theirs->child;

	if (cJSON_IsNumber(theirs) && json_is_array(ours)) {
		assert(!json_first(ours));
		return;
	}
	assert(json_is_array(ours) == (bool)cJSON_IsArray(theirs));
	assert(json_is_object(ours) == (bool)cJSON_IsObject(theirs));
	assert(json_is_number(ours) == (bool)cJSON_IsNumber(theirs));
	json_text(&text, ours);
	if (cJSON_IsString(theirs))
		assert(strcmp(text.data, theirs->valuestring) == 0);
	else if (cJSON_IsNumber(theirs))
		assert((double)strtoll(text.data, NULL, 10) == theirs->valuedouble);
	else
		assert(strcmp(text.data, cJSON_IsTrue(theirs) ? "true" : cJSON_IsFalse(theirs) ? "false" : "") == 0);
	text_fini(&text);
	for (const void *n = json_first(ours); n; n = json_next(n), their_child = their_child->next) {
		assert(their_child && !json_name(n) == !their_child->string);
		assert(!json_name(n) || strcmp(json_name(n), their_child->string) == 0);
		values_compare(n, their_child);
	}
	assert(!their_child);
}

/* cJSON reads no number of more than 63 bytes, and takes no blank text for {}. */
static bool is_for_cjson(const uint8_t *data, size_t size)
{
	size_t number = 0, marks = 0;

	for (size_t i = 0; i < size && number < 60; i++) {
		number = isdigit(data[i]) || strchr("+-.eE", data[i]) ? number + 1 : 0;
		marks += !isspace(data[i]);
	}
	return number < 60 && marks > 0;
}

/* A doc with a flaw has other characters than its text. */
static void doc_compare(const struct json_doc *doc, const struct json_reader *in, const uint8_t *data, size_t size)
{
	cJSON *theirs;

	if (!is_for_cjson(data, size) || (in->failed && (json_is_object(json_root(doc)) || memchr(data, '\\', size))))
		return;
	theirs = cJSON_ParseWithLength((const char *)data, size);
	assert(theirs);
	values_compare(json_root(doc), theirs);
	cJSON_Delete(theirs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_fault  fault = {0};
	struct json_reader in, item;
	struct json_doc   *doc = json_parse((const char *)data, size, &fault);
	const char        *code = "";
	size_t             count, len = 0;

	if (!doc) {
		fault_check(&fault);
		return 0;
	}
	json_begin(&in, doc, &fault);
	doc_compare(doc, &in, data, size);
	if (!object_read(&in, 0))
		fault_check(&fault);
	count = json_begin_items(&in, doc, "o", 100, &fault);
	if (count == 0 || !json_end(&in)) {
		fault_check(&fault);
		count = 0;
	}
	for (size_t i = 0; i < count; i++) {
		json_item(&in, i, &item, &fault);
		(void)json_peek_id(&item, "a");
		if (!object_read(&item, 0))
			fault_check(&fault);
	}
	count = json_begin_items(&in, doc, "o", 100, &fault);
	for (size_t i = 0; i < count; i++)
		if (!json_item_id(&in, "o", i, &code, &len, &fault))
			fault_check(&fault);
	json_free(doc);
	return 0;
}
