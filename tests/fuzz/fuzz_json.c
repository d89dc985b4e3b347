/* fuzz_json.c - any bytes as a body, read as one object and as a batch.
 *
 * Beyond the sanitizers it holds that cJSON reads whatever passes the scan (json_parse asserts that),
 * and that what is said of a fault can be written as JSON and read back. */
#include "engine/base/codes.h"
#include "input.h"
#include "engine/base/json.h"

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
	if (!object_read(&in, 0))
		fault_check(&fault);
	count = json_begin_items(&in, doc, "o", 100, &fault);
	if (count == 0 || !json_end(&in)) {
		fault_check(&fault);
		count = 0;
	}
	for (size_t i = 0; i < count; i++) {
		json_item(&in, i, &item, &fault);
		(void)json_peek_code(&item, "a", 8);
		if (!object_read(&item, 0))
			fault_check(&fault);
	}
	count = json_begin_items(&in, doc, "o", 100, &fault);
	for (size_t i = 0; i < count; i++)
		if (!json_item_code(&in, "o", i, 8, &code, &len, &fault))
			fault_check(&fault);
	json_free(doc);
	return 0;
}
