/* test_json.c - the readers and the writer, as tables of text; random round trips; texts cut short. */
#include "engine/base/codes.h"
#include "engine/base/memory.h"
#include "engine/base/json.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The order of a call that stands for all: every kind of member, nested ones too. Appends what was read. */
static bool order_read(struct json_reader *in, struct text *out)
{
	static const char *const modes[] = {"all_or_nothing", "best_effort", NULL};
	const char              *id = "", *note = "-", *tag;
	size_t                   id_len = 0, note_len = 1, tag_len, count;
	int64_t                  ttl_s = 900;
	int                      mode = 0;
	bool                     gift = false;
	const void              *element;

	json_id(in, "order_id", JSON_REQUIRED, &id, &id_len);
	json_int(in, "ttl_s", JSON_OPTIONAL, 1, 86400, &ttl_s);
	json_word(in, "mode", JSON_OPTIONAL, modes, &mode);
	json_bool(in, "gift", JSON_OPTIONAL, &gift);
	json_string(in, "note", JSON_OPTIONAL, &note, &note_len);
	text_format(out, "%.*s ttl=%d mode=%d gift=%d", (int)id_len, id, (int)ttl_s, mode, gift);
	text_format(out, " note=%.*s", (int)note_len, note);
	count = json_array(in, "lines", 1, 3, &element);
	for (size_t i = 0; i < count; i++) {
		struct json_reader line;
		const char        *sku = "";
		size_t             sku_len = 0;
		int64_t            qty = 0;

		element = json_array_object(in, "lines", i, element, &line);
		json_code(&line, "sku", JSON_REQUIRED, SKU_MAX, &sku, &sku_len);
		json_int(&line, "qty", JSON_REQUIRED, 1, 1000000000, &qty);
		if (qty == 13)
			json_refuse(&line, "qty", "brings bad luck");
		if (json_leave(&line, in))
			text_format(out, " %s=%d", sku, (int)qty);
	}
	if (json_has(in, "tags")) {
		count = json_array(in, "tags", 1, 2, &element);
		for (size_t i = 0; i < count; i++) {
			element = json_array_code(in, "tags", i, element, 4, &tag, &tag_len);
			text_format(out, " #%s", tag);
		}
	}
	return json_end(in);
}

/* Reads the body as an order: returns what was read, or "FIELD: DETAIL". */
static const char *order_of(const char *body, struct text *out)
{
	struct json_fault  fault = {0};
	struct json_reader in;
	struct json_doc   *doc = json_parse(body, strlen(body), &fault);
	bool               ok = false;

	text_reset(out);
	if (doc) {
		json_begin(&in, doc, &fault);
		ok = order_read(&in, out);
	}
	if (!ok) {
		text_reset(out);
		text_format(out, "%s: %s", fault.field, fault.detail);
	}
	json_free(doc);
	return out->data;
}

/* The same for a batch of orders, "; " between them. */
static const char *batch_of(const char *body, struct text *out)
{
	struct json_fault  fault = {0};
	struct json_reader items;
	struct json_doc   *doc = json_parse(body, strlen(body), &fault);
	size_t             count = 0;
	struct text        one = {0};

	text_reset(out);
	if (doc)
		count = json_begin_items(&items, doc, "orders", 3, &fault);
	if (!doc || !json_end(&items)) {
		text_format(out, "%s: %s", fault.field, fault.detail);
		count = 0;
	}
	for (size_t i = 0; i < count; i++) {
		struct json_reader item;
		const char        *id;

		text_reset(&one);
		json_item(&items, i, &item, &fault);
		id = json_peek_id(&item, "order_id");
		if (order_read(&item, &one))
			text_format(out, "%s; ", one.data);
		else
			text_format(out, "%s!%s: %s; ", id ? id : "?", fault.field, fault.detail);
	}
	json_free(doc);
	text_fini(&one);
	return out->data;
}

/* The same for a batch of codes. */
static const char *codes_of(const char *body, struct text *out)
{
	struct json_fault  fault = {0};
	struct json_reader items;
	struct json_doc   *doc = json_parse(body, strlen(body), &fault);
	size_t             count = json_begin_items(&items, doc, "ids", 10, &fault), len = 0;
	const char        *id = NULL;

	text_reset(out);
	cr_assert(json_end(&items));
	for (size_t i = 0; i < count; i++)
		if (json_item_id(&items, "ids", i, &id, &len, &fault))
			text_format(out, "%zu:%s; ", len, id);
		else
			text_format(out, "!%s: %s; ", fault.field, fault.detail);
	json_free(doc);
	return out->data;
}

/* The tables write ' for ". */
static const char *quoted(const char *text)
{
	static char out[512];

	snprintf(out, sizeof(out), "%s", text);
	for (char *c = out; *c; c++)
		if (*c == '\'')
			*c = '"';
	return out;
}

/* ---- the readers */

#define CODE(max)                                                                                                      \
	"must be 1 to " #max " bytes of UTF-8 with no space at either end, without control and invisible characters, " \
	"and not . or .."
#define ID(max)           "must be 1 to " #max " bytes of printable ASCII with no space at either end, and not . or .."
#define INTEGER(min, max) "must be an integer from " #min " to " #max ", in plain digits"
#define LINE              "'lines':[{'sku':'A','qty':1}]"
#define READ              "R1 ttl=900 mode=0 gift=0 note=- A=1"
#define TEN               "0123456789"
#define TTL               INTEGER(1, 86400)

/* Bodies, and what is read of them or said of their first fault. */
static const struct {
	const char *body, *read;
} objects[] = {
	{"{'order_id':'R1'," LINE "}", READ},
	{"{'lines':[{'qty':1,'sku':'A'},{'sku':'B','qty':1000000000}],'mode':'best_effort','gift':true,"
         "'ttl_s':86400,'note':'\\u00e9\\n','order_id':'\\u0052~'}",
         "R~ ttl=86400 mode=1 gift=1 note=\xc3\xa9\n A=1 B=1000000000"},
	{"{'\\u006frder_id':'R1','lines':[{'s\\u006bu':'A','qty':1}],'note':''}", "R1 ttl=900 mode=0 gift=0 note= A=1"},
	{"{'order_id':'R1'," LINE ",'tags':['x','y']}", READ " #x #y"},
	/* missing, unknown */
	{"", "order_id: is missing"},
	{"{}", "order_id: is missing"},
	{"{'Order_id':'R1'}", "order_id: is missing"},
	{"{'order_id':'R1'}", "lines: is missing"},
	{"{'order_id':'R1','lines':[{'qty':1}]}", "lines[0].sku: is missing"},
	{"{'order_id':'R1'," LINE ",'x':1}", "x: is not a member that this call knows"},
	{"{'x\\n':1,'order_id':'R1'," LINE "}", "x\n: is not a member that this call knows"},
	{"{'order_id':'R1','lines':[{'sku':'A','qty':1,'Qty':2}]}",
         "lines[0].Qty: is not a member that this call knows"}, /* qty is there */
	{"{'order_id':'R1'," LINE ",'ttl':1}", "ttl: is not a member that this call knows; did you mean ttl_s?"},
	/* wrong types; null is one */
	{"{'order_id':1}", "order_id: must be a string"},
	{"{'order_id':null}", "order_id: must be a string"},
	{"{'order_id':'R1','ttl_s':null}", "ttl_s: " TTL},
	{"{'order_id':'R1','ttl_s':'5'}", "ttl_s: " TTL},
	{"{'order_id':'R1','ttl_s':true}", "ttl_s: " TTL},
	{"{'order_id':'R1','ttl_s':[5]}", "ttl_s: " TTL},
	{"{'order_id':'R1','mode':'BEST_EFFORT'}", "mode: must be one of: all_or_nothing, best_effort"},
	{"{'order_id':'R1','gift':1}", "gift: must be true or false"},
	{"{'order_id':'R1','note':{}}", "note: must be a string"},
	{"{'order_id':'R1','lines':{'a':1}}", "lines: must be an array of 1 to 3 elements"},
	{"{'order_id':'R1','lines':[]}", "lines: must be an array of 1 to 3 elements"},
	{"{'order_id':'R1','lines':[1,2,3,4]}", "lines: must be an array of 1 to 3 elements"},
	{"{'order_id':'R1','lines':[{'sku':'A','qty':1},7]}", "lines[1]: must be an object"},
	{"{'order_id':'R1','lines':[null]}", "lines[0]: must be an object"},
	{"{'order_id':'R1'," LINE ",'tags':'x'}", "tags: must be an array of 1 to 2 elements"},
	{"{'order_id':'R1'," LINE ",'tags':[]}", "tags: must be an array of 1 to 2 elements"},
	{"{'order_id':'R1'," LINE ",'tags':['x',1]}", "tags[1]: must be a string"},
	{"{'order_id':'R1'," LINE ",'tags':['x','12345']}", "tags[1]: " CODE(4)},
	/* codes */
	{"{'order_id':''}", "order_id: " ID(64)},
	{"{'order_id':'a '}", "order_id: " ID(64)},
	{"{'order_id':'..'}", "order_id: " ID(64)},
	{"{'order_id':' a'}", "order_id: " ID(64)},
	{"{'order_id':'# a/b? 50%'}", "lines: is missing"},
	{"{'order_id':'\xc3\xa9'}", "order_id: " ID(64)},
	{"{'order_id':'" TEN TEN TEN TEN TEN TEN "0123'}", "lines: is missing"},
	{"{'order_id':'" TEN TEN TEN TEN TEN TEN "01234'}", "order_id: " ID(64)},
	/* integers */
	{"{'order_id':'R1','ttl_s':0}", "ttl_s: " TTL},
	{"{'order_id':'R1','ttl_s':86401}", "ttl_s: " TTL},
	{"{'order_id':'R1','ttl_s':-9223372036854775808}", "ttl_s: " TTL},
	{"{'order_id':'R1','ttl_s':60.0}", "ttl_s: " TTL},
	{"{'order_id':'R1','ttl_s':6e1}", "ttl_s: " TTL},
	{"{'order_id':'R1','lines':[{'sku':'A','qty':13}]}", "lines[0].qty: brings bad luck"},
	/* flaws come before what the reader would say, the first fault before later ones */
	{"{'order_id':1,'ttl_s':1,'ttl_s':2}", "ttl_s: appears twice"},
	{"{'order_id':1,'ttl_s':1.0}", "order_id: must be a string"},
	{"{'order_id':1,'ttl_s':0}", "order_id: must be a string"},
	{"{'order_id':'R1','lines':[{'sku':'','qty':0},{'sku':1}]}", "lines[0].sku: " CODE(128)},
};

Test(json, reads_an_object)
{
	struct text out = {0};

	for (size_t i = 0; i < LENGTH(objects); i++)
		cr_expect_str_eq(order_of(quoted(objects[i].body), &out), objects[i].read, "%s: %s", objects[i].body,
		                 out.data);
	text_fini(&out);
}

Test(json, judges_items_one_by_one)
{
#define GOOD(id) "{'order_id':'" id "'," LINE "}"
#define DONE(id) id " ttl=900 mode=0 gift=0 note=- A=1; "
	static const struct {
		const char *body, *read;
	} rows[] = {
		{"{'orders':[" GOOD("R1") "," GOOD("R2") "]}", DONE("R1") DONE("R2")},
		{"{'orders':[" GOOD("R1") ",{'order_id':'R2','lines':[{'sku':'A','qty':1.5}]}," GOOD("R3") "]}",
	         DONE("R1") "R2!lines[0].qty: " INTEGER(1, 1000000000) "; " DONE("R3")},
		{"{'orders':[{'order_id':'R1','ttl_s':12345678901234567890,'x':1.0}," GOOD("R2") "]}",
	         "R1!ttl_s: " TTL "; " DONE("R2")},
		{"{'orders':[" GOOD("R1") ",{'order_id':'R2','lines':[],'lines':[]}]}",
	         DONE("R1") "R2!lines: appears twice; "},
		{"{'orders':[1.0,null,[1.0]]}",
	         "?!: must be an object; ?!: must be an object; ?!: must be an object; "},
		{"{'orders':[{},{'order_id':7},{'order_id':'R3','y':1,'lines':[{'sku':'A','qty':1}]}]}",
	         "?!order_id: is missing; ?!order_id: must be a string; R3!y: is not a member that this call knows; "},
		/* the call itself */
		{"", "orders: is missing"},
		{"[]", ": must be an object"},
		{"{'orders':[]}", "orders: must be an array of 1 to 3 elements"},
		{"{'orders':[1,2,3,4]}", "orders: must be an array of 1 to 3 elements"},
		{"{'orders':[" GOOD("R1") "],'x':1}", "x: is not a member that this call knows"},
		{"{'orders':[" GOOD("R1") "],'x':1.0}", "x: is not a member that this call knows"},
		{"{'orders':[1],'orders':[2]}", "orders: appears twice"},
		{"{'x':[1.0,1.0],'orders':[" GOOD("R1") "]}", "x: is not a member that this call knows"},
		{"{'orders':[" GOOD("R1") ",{'order_id':'R2}]}",
	         "orders[1].order_id: is not JSON: the text ends too early, at byte 78"},
	};
	struct text out = {0};

	for (size_t i = 0; i < LENGTH(rows); i++)
		cr_expect_str_eq(batch_of(quoted(rows[i].body), &out), rows[i].read, "%s: %s", rows[i].body, out.data);
	text_fini(&out);
}

Test(json, judges_codes_one_by_one)
{
	struct text out = {0};

	cr_expect_str_eq(
		codes_of(quoted("{'ids':['R1','',7,'R22','R1',1.5,{'a':1,'a':1},'\\u00e9','" TEN TEN TEN TEN TEN TEN
	                        "01234','\\u0000']}"),
	                 &out),
		"2:R1; !ids[1]: " ID(64) "; !ids[2]: must be a string; 3:R22; 2:R1; "
					 "!ids[5]: must be a string; !ids[6]: must be a string; !ids[7]: " ID(
						 64) "; !ids[8]: " ID(64) "; !ids[9]: holds \\u0000; ");
	text_fini(&out);
}

Test(json, reads_integers_exactly)
{
	static const struct {
		const char *digits;
		int64_t     min, max, value;
		bool        good;
	} rows[] = {
		{"9000000000000000", 0, QTY_MAX, QTY_MAX, true},
		{"9000000000000001", 0, QTY_MAX, 0, false},
		{"8999999999999999", 0, QTY_MAX, QTY_MAX - 1, true},
		{"-9000000000000000", -QTY_MAX, QTY_MAX, -QTY_MAX, true},
		{"-9000000000000001", -QTY_MAX, QTY_MAX, 0, false},
		{"9007199254740991", 0, JSON_INT_MAX, JSON_INT_MAX, true},
		{"9007199254740992", 0, JSON_INT_MAX, 0, false},
		{"9007199254740993", 0, JSON_INT_MAX, 0, false},
		{"-9007199254740993", -JSON_INT_MAX, 0, 0, false},
		{"9223372036854775807", 0, JSON_INT_MAX, 0, false},
		{"-9223372036854775808", -JSON_INT_MAX, 0, 0, false},
		{"0", 0, 0, 0, true},
		{"1", 0, 0, 0, false},
		{"2147483648", 0, QTY_MAX, INT64_C(2147483648), true},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct json_fault  fault;
		struct json_reader in;
		struct json_doc   *doc;
		char               body[64];
		int64_t            n = 0;

		snprintf(body, sizeof(body), "{\"n\":%s}", rows[i].digits);
		doc = json_parse(body, strlen(body), &fault);
		json_begin(&in, doc, &fault);
		cr_expect_eq(json_int(&in, "n", JSON_REQUIRED, rows[i].min, rows[i].max, &n), rows[i].good, "%s", body);
		cr_expect_eq(n, rows[i].value, "%s", body);
		json_free(doc);
	}
}

/* ---- the writer */

Test(json, writes)
{
	static const struct {
		const char *bytes;
		size_t      len;
		const char *json;
	} rows[] = {
		{"", 0, "\"\""},
		{"a/b", 3, "\"a/b\""},
		{"\"\\", 2, "\"\\\"\\\\\""},
		{"\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\""},
		{"\x01\x1f\x7f", 3, "\"\\u0001\\u001f\x7f\""},
		{"a\0b", 3, "\"a\\u0000b\""},
		{"\xc3\xa9\xf0\x9f\x98\x80", 6, "\"\xc3\xa9\xf0\x9f\x98\x80\""},
		{"a\xff\xc3", 3, "\"a\xef\xbf\xbd\xef\xbf\xbd\""},
		{"\xf0\x9f\x98", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
		{"\xed\xa0\x80\"", 4, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\\\"\""},
	};
	struct text        t = {0};
	struct json_writer w = {.to = &t};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		text_reset(&t);
		w.comma = false;
		json_put_bytes(&w, NULL, rows[i].bytes, rows[i].len);
		cr_expect_str_eq(t.data, rows[i].json);
	}
	text_reset(&t);
	w.comma = false;
	json_open_object(&w, NULL);
	json_put_string(&w, "s", "x");
	json_put_int(&w, "min", INT64_MIN);
	json_put_int(&w, "max", INT64_MAX);
	json_open_array(&w, "a");
	json_close_array(&w);
	json_open_array(&w, "b");
	json_open_object(&w, NULL);
	json_close_object(&w);
	json_put_int(&w, NULL, 0);
	json_put_bool(&w, NULL, true);
	json_close_array(&w);
	json_put_bool(&w, "f", false);
	json_put_null(&w, "n");
	json_put_time(&w, "t", 1);
	json_close_object(&w);
	cr_expect_str_eq(t.data, "{\"s\":\"x\",\"min\":-9223372036854775808,\"max\":9223372036854775807,"
	                         "\"a\":[],\"b\":[{},0,true],\"f\":false,\"n\":null,"
	                         "\"t\":\"1970-01-01T00:00:00.001Z\"}");
	text_fini(&t);
}

/* ---- chance */

static uint64_t random_state;

static uint64_t random_below(uint64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % n;
}

/* A character of any length, awkward ones often. */
static uint32_t random_character(void)
{
	static const uint32_t edges[] = {1,     8,     '\n',   31,     '"',    '\\',   '/',     127,     0x80,
	                                 0x7ff, 0x800, 0xd7ff, 0xe000, 0xfffd, 0xffff, 0x10000, 0x10ffff};

	switch (random_below(4)) {
	case 0:
		return edges[random_below(LENGTH(edges))];
	case 1:
		return 0xa0 + (uint32_t)random_below(0xd000);
	default:
		return 'a' + (uint32_t)random_below(26);
	}
}

static void character_put(struct text *t, uint32_t c)
{
	char     utf8[5] = {0};
	uint32_t third = 0x80 | (c >> 6 & 63), last = 0x80 | (c & 63);

	if (c < 0x80)
		utf8[0] = (char)c;
	else if (c < 0x800)
		snprintf(utf8, sizeof(utf8), "%c%c", 0xc0 | c >> 6, last);
	else if (c < 0x10000)
		snprintf(utf8, sizeof(utf8), "%c%c%c", 0xe0 | c >> 12, third, last);
	else
		snprintf(utf8, sizeof(utf8), "%c%c%c%c", 0xf0 | c >> 18, 0x80 | (c >> 12 & 63), third, last);
	text_add(t, utf8);
}

/* One of the ways in which JSON may spell a character. */
static void character_spell(struct text *t, uint32_t c)
{
	static const char letters[] = "bfnrt", means[] = "\b\f\n\r\t";
	const char       *upper = random_below(2) ? "\\u%04X" : "\\u%04x";
	const char       *letter = c < ' ' ? strchr(means, (int)c) : NULL;

	if (letter && random_below(2))
		text_format(t, "\\%c", letters[letter - means]);
	else if ((c == '"' || c == '\\' || c == '/') && random_below(2))
		text_format(t, "\\%c", (int)c);
	else if (c >= 0x10000 && random_below(2))
		for (int half = 0; half < 2; half++)
			text_format(t, upper, half ? 0xdc00 + (c & 0x3ff) : 0xd800 + ((c - 0x10000) >> 10));
	else if (c < 0x10000 && (c < ' ' || c == '"' || c == '\\' || random_below(3) == 0))
		text_format(t, upper, c);
	else
		character_put(t, c);
}

static void space_put(struct text *t)
{
	while (random_below(3) == 0)
		text_char(t, " \t\n\r"[random_below(4)]);
}

/* The fault that json_begin finds in a body. */
static const char *flaw_of(const struct text *json)
{
	static char        said[sizeof(struct json_fault) + 8];
	struct json_fault  fault = {0};
	struct json_reader in;
	struct json_doc   *doc = json_parse(json->data, json->len, &fault);

	if (doc)
		json_begin(&in, doc, &fault);
	snprintf(said, sizeof(said), "%s: %s", fault.field, fault.detail);
	json_free(doc);
	return said;
}

/* Reads {name: value, "n": n} as it was meant. */
static void expect_read(const struct text *json, const char *name, const struct text *value, int64_t n)
{
	struct json_fault  fault = {0};
	struct json_reader in;
	struct json_doc   *doc = json_parse(json->data, json->len, &fault);
	const char        *got = "";
	size_t             len = 0;
	int64_t            number = 0;

	cr_assert(doc, "%s: %s: %s", json->data, fault.field, fault.detail);
	json_begin(&in, doc, &fault);
	json_string(&in, name, JSON_REQUIRED, &got, &len);
	json_int(&in, "n", JSON_REQUIRED, -JSON_INT_MAX, JSON_INT_MAX, &number);
	cr_assert(json_end(&in), "%s: %s: %s", json->data, fault.field, fault.detail);
	cr_assert(len == value->len && memcmp(got, value->data, len) == 0, "%s", json->data);
	cr_assert_eq(number, n, "%s", json->data);
	json_free(doc);
}

/* A random name and string, spelled at random, are read as they were meant; so they are as the writer wrote them; and
 * the name once more, spelled in another way, is found to be there twice. */
Test(json, round_trips)
{
	struct text name = {0}, value = {0}, json = {0}, twice = {0};

	random_state = 20261120;
	for (int round = 0; round < 3000; round++) {
		struct json_writer w = {.to = &json};
		int64_t            n = (int64_t)random_below(2 * (uint64_t)JSON_INT_MAX + 1) - JSON_INT_MAX;

		text_reset(&name);
		text_reset(&value);
		text_reset(&json);
		text_reset(&twice);
		text_add(&json, "{\"");
		text_add(&twice, "{\"");
		for (uint64_t i = 0, len = 2 + random_below(9); i < len; i++) {
			uint32_t c = random_character();

			character_put(&name, c);
			character_spell(&json, c);
			character_spell(&twice, c);
		}
		text_add(&twice, "\":0,");
		text_bytes(&twice, json.data + 1, json.len - 1);
		text_add(&twice, "\":0}");
		cr_assert(strstr(flaw_of(&twice), ": appears twice"), "%s: %s", twice.data, flaw_of(&twice));

		text_char(&json, '"');
		space_put(&json);
		text_char(&json, ':');
		space_put(&json);
		text_char(&json, '"');
		for (uint64_t i = 0, len = random_below(30); i < len; i++) {
			uint32_t c = random_character();

			character_put(&value, c);
			character_spell(&json, c);
		}
		text_char(&json, '"');
		space_put(&json);
		text_format(&json, ",\"n\":%lld", (long long)n);
		space_put(&json);
		text_char(&json, '}');
		expect_read(&json, name.data, &value, n);

		text_reset(&json);
		json_open_object(&w, NULL);
		json_put_bytes(&w, "s", value.data, value.len);
		json_put_int(&w, "n", n);
		json_close_object(&w);
		expect_read(&json, "s", &value, n);
	}
	text_fini(&name);
	text_fini(&value);
	text_fini(&json);
	text_fini(&twice);
}

/* A text cut short anywhere is a fault; with any one byte changed it is read or refused, and nothing worse. The
 * sanitizers see to the latter, as every text is in a block of its own size. */
Test(json, survives_damage)
{
	static const char *const texts[] = {
		"{\"order_id\":\"R1\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}",
		"[-1.5e+1,true,null,{\"\\u00e9\\ud83d\\ude00\\n\":\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"},[[]]]",
		"{\"orders\":[{\"a\":1.0},{\"\\u0061\":1,\"a\":1},{\"lines\":[{\"qty\":9223372036854775808}]}]}",
	};
	struct json_fault fault;
	struct text       out = {0};

	for (size_t i = 0; i < LENGTH(texts); i++)
		for (size_t len = 1; len < strlen(texts[i]); len++) {
			char *copy = memcpy(mem_alloc(len), texts[i], len);

			fault = (struct json_fault){0};
			cr_assert_null(json_parse(copy, len, &fault), "%.*s", (int)len, copy);
			cr_assert(fault.detail[0]);
			free(copy);
		}
	for (size_t i = 0; i < LENGTH(texts); i++)
		for (size_t at = 0; at < strlen(texts[i]); at++)
			for (int byte = 0; byte < 256; byte += 1 + (byte >= 128) * 7) {
				char *copy = mem_copy(texts[i]);

				copy[at] = (char)byte;
				order_of(copy, &out);
				batch_of(copy, &out);
				free(copy);
			}
	text_fini(&out);
}
