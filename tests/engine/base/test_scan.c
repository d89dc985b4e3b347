/* test_scan.c - what json_parse and the strict scan in it take, refuse and find flawed, as tables of text. */
#include "engine/base/utf8.h"
#include "engine/base/json.h"
#include "engine/base/scan.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fault of a text: "" if it is readable, otherwise "FIELD: DETAIL". */
static const char *said_of(const char *text, size_t len)
{
	static char       said[sizeof(struct json_fault) + 8];
	struct json_fault fault = {0};
	struct json_doc  *doc = json_parse(text, len, &fault);

	if (doc)
		said[0] = '\0';
	else
		snprintf(said, sizeof(said), "%s: %s", fault.field, fault.detail);
	json_free(doc);
	return said;
}

/* The same for a body that is to be one object, whatever its members. */
static const char *flaw_of(const char *text)
{
	static char        said[sizeof(struct json_fault) + 8];
	struct json_fault  fault = {0};
	struct json_reader in;
	struct json_doc   *doc = json_parse(text, strlen(text), &fault);

	if (doc)
		json_begin(&in, doc, &fault);
	if (doc && !in.failed)
		said[0] = '\0';
	else
		snprintf(said, sizeof(said), "%s: %s", fault.field, fault.detail);
	json_free(doc);
	return said;
}

#define TEXT(literal) literal, sizeof(literal) - 1

Test(scan, reads_what_is_json)
{
	static const struct {
		const char *text;
		size_t      len;
	} rows[] = {
		{TEXT("")},
		{TEXT(" ")},
		{TEXT("\r\n\t ")},
		{TEXT("{}")},
		{TEXT(" { } ")},
		{TEXT("[]")},
		{TEXT("[ ]")},
		{TEXT("0")},
		{TEXT("-1")},
		{TEXT("true")},
		{TEXT("false")},
		{TEXT("null")},
		{TEXT("\"\"")},
		{TEXT("\"a\"")},
		{TEXT("[1,2,3]")},
		{TEXT("\t[\n1 ,\r2\t]\n")},
		{TEXT("{\"a\":1,\"b\":[{}]}")},
		{TEXT("{\"\":1}")},
		{TEXT("[0.5,-0,1e5,1E+05,2.5e-3]")},
		{TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"")},
		{TEXT("\"\\u0001\\uFFFF\\uabCD\"")},
		{TEXT("\"\\uDBFF\\uDFFF\"")},
		{TEXT("\"\x7f\"")},
		{TEXT("\"\xc2\x80\"")},
		{TEXT("\"\xdf\xbf\"")},
		{TEXT("\"\xe0\xa0\x80\"")},
		{TEXT("\"\xed\x9f\xbf\"")},
		{TEXT("\"\xee\x80\x80\"")},
		{TEXT("\"\xf0\x90\x80\x80\"")},
		{TEXT("\"\xf4\x8f\xbf\xbf\"")},
		{TEXT("[[[[[[[[]]]]]]]]")},
		{TEXT("[[[[[[[{\"a\":1}]]]]]]]")},
		{TEXT("{\"a\":1,\"A\":2}")},
		{TEXT("[9223372036854775808]")},
		{TEXT("[1e400,-1e400]")},
	};

	for (size_t i = 0; i < LENGTH(rows); i++)
		cr_expect_str_eq(said_of(rows[i].text, rows[i].len), "", "%s: %s", rows[i].text,
		                 said_of(rows[i].text, rows[i].len));
}

static const struct {
	const char *text;
	size_t      len;
	const char *said;
} refused[] = {
	/* values */
	{TEXT("\0"), ": is not JSON: a value is expected, at byte 1"},
	{TEXT("{\"a\":1}\0"), ": is not JSON: nothing may follow the value, at byte 8"},
	{TEXT("\v"), ": is not JSON: a value is expected, at byte 1"},
	{TEXT("\xef\xbb\xbf{}"), ": is not JSON: a value is expected, at byte 1"},
	{TEXT("{} {}"), ": is not JSON: nothing may follow the value, at byte 4"},
	{TEXT("[1]]"), ": is not JSON: nothing may follow the value, at byte 4"},
	{TEXT("{}//"), ": is not JSON: nothing may follow the value, at byte 3"},
	{TEXT("tru"), ": is not JSON: the text ends too early, at byte 4"},
	{TEXT("trUe"), ": is not JSON: a value is expected, at byte 3"},
	{TEXT("nullx"), ": is not JSON: nothing may follow the value, at byte 5"},
	{TEXT("NaN"), ": is not JSON: a value is expected, at byte 1"},
	{TEXT("'a'"), ": is not JSON: a value is expected, at byte 1"},
	/* arrays and objects */
	{TEXT("["), "[0]: is not JSON: the text ends too early, at byte 2"},
	{TEXT("[1,]"), "[1]: is not JSON: a value is expected, at byte 4"},
	{TEXT("[,1]"), "[0]: is not JSON: a value is expected, at byte 2"},
	{TEXT("[1 2]"), ": is not JSON: ',' or ']' is expected, at byte 4"},
	{TEXT("[1}"), ": is not JSON: ',' or ']' is expected, at byte 3"},
	{TEXT("{\"a\":1,}"), ": is not JSON: a member's name in double quotes is expected, at byte 8"},
	{TEXT("{a:1}"), ": is not JSON: a member's name in double quotes is expected, at byte 2"},
	{TEXT("{\"a\"}"), ": is not JSON: ':' is expected, at byte 5"},
	{TEXT("{\"a\":}"), "a: is not JSON: a value is expected, at byte 6"},
	{TEXT("{\"a\":1 \"b\":2}"), ": is not JSON: ',' or '}' is expected, at byte 8"},
	{TEXT("{\"a\":1]"), ": is not JSON: ',' or '}' is expected, at byte 7"},
	{TEXT("{\"lines\":[{\"qty\":x}]}"), "lines[0].qty: is not JSON: a value is expected, at byte 18"},
	{TEXT("{\"lines\":[{},{\"sku\":\"A\",\"qty\":}]}"),
         "lines[1].qty: is not JSON: a value is expected, at byte 31"},
	{TEXT("[[0],[1,x]]"), "[1][1]: is not JSON: a value is expected, at byte 9"},
	/* numbers */
	{TEXT("01"), ": is not JSON: a number does not start with 0, at byte 1"},
	{TEXT("[-01]"), "[0]: is not JSON: a number does not start with 0, at byte 3"},
	{TEXT("[-]"), "[0]: is not JSON: a digit is expected, at byte 3"},
	{TEXT("[+1]"), "[0]: is not JSON: a value is expected, at byte 2"},
	{TEXT("[.5]"), "[0]: is not JSON: a value is expected, at byte 2"},
	{TEXT("[1.]"), "[0]: is not JSON: a digit is expected, at byte 4"},
	{TEXT("[1.e1]"), "[0]: is not JSON: a digit is expected, at byte 4"},
	{TEXT("[1e]"), "[0]: is not JSON: a digit is expected, at byte 4"},
	{TEXT("[1e+]"), "[0]: is not JSON: a digit is expected, at byte 5"},
	{TEXT("[1-2]"), ": is not JSON: ',' or ']' is expected, at byte 3"},
	{TEXT("[0x1]"), ": is not JSON: ',' or ']' is expected, at byte 3"},
	/* strings */
	{TEXT("\"a"), ": is not JSON: the text ends too early, at byte 3"},
	{TEXT("\"a\nb\""), ": holds a control character that is not escaped, at byte 3"},
	{TEXT("\"\0\""), ": holds a control character that is not escaped, at byte 2"},
	{TEXT("\"\x1f\""), ": holds a control character that is not escaped, at byte 2"},
	{TEXT("\"\\x41\""), ": is not JSON: there is no such escape, at byte 2"},
	{TEXT("\"\\\0\""), ": is not JSON: there is no such escape, at byte 2"},
	{TEXT("\"\\U0041\""), ": is not JSON: there is no such escape, at byte 2"},
	{TEXT("\"\\u004\""), ": is not JSON: \\u takes four hexadecimal digits, at byte 2"},
	{TEXT("\"\\u00g0\""), ": is not JSON: \\u takes four hexadecimal digits, at byte 2"},
	/* UTF-8 */
	{TEXT("\"\x80\""), ": is not UTF-8, at byte 2"},
	{TEXT("\"\xc0\x80\""), ": is not UTF-8, at byte 2"},
	{TEXT("\"\xc1\xbf\""), ": is not UTF-8, at byte 2"},
	{TEXT("\"\xc3\""), ": is not UTF-8, at byte 2"},
	{TEXT("\"\xe0\x9f\xbf\""), ": is not UTF-8, at byte 2"},
	{TEXT("\"\xe2\x82\""), ": is not UTF-8, at byte 2"},
	{TEXT("\"\xed\xa0\x80\""), ": is not UTF-8, at byte 2"},
	{TEXT("\"\xf0\x8f\xbf\xbf\""), ": is not UTF-8, at byte 2"},
	{TEXT("\"\xf4\x90\x80\x80\""), ": is not UTF-8, at byte 2"},
	{TEXT("\"\xf5\x80\x80\x80\""), ": is not UTF-8, at byte 2"},
	{TEXT("\"\xff\""), ": is not UTF-8, at byte 2"},
	{TEXT("{\"k\":\"\xfe\"}"), "k: is not UTF-8, at byte 7"},
	{TEXT("\xc3\xa9"), ": is not JSON: a value is expected, at byte 1"},
	/* depth */
	{TEXT("[[[[[[[[[]]]]]]]]]"), "[0][0][0][0][0][0][0][0]: is nested more than 8 deep, at byte 9"},
	{TEXT("{\"a\":[[[[[[[{}]]]]]]]}"), "a[0][0][0][0][0][0][0]: is nested more than 8 deep, at byte 13"},
};

Test(scan, refuses_what_is_not_json)
{
	for (size_t i = 0; i < LENGTH(refused); i++)
		cr_expect_str_eq(said_of(refused[i].text, refused[i].len), refused[i].said, "%s: %s", refused[i].text,
		                 said_of(refused[i].text, refused[i].len));
}

#define TWICE "appears twice"
#define HALF  "holds half of a surrogate pair"

Test(scan, finds_flaws)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
		/* the same name however it is spelled */
		{"{\"a\":1,\"a\":1}", "a: " TWICE},
		{"{\"a\":1,\"b\":2,\"a\":1}", "a: " TWICE},
		{"{\"\\u0061\":1,\"a\":1}", "a: " TWICE},
		{"{\"a\":1,\"\\u0061\":1}", "a: " TWICE},
		{"{\"\":1,\"\":1}", ": " TWICE},
		{"{\"\xc3\xa9\":1,\"\\u00E9\":1}", "\xc3\xa9: " TWICE},
		{"{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":1}", "\xf0\x9f\x98\x80: " TWICE},
		{"{\"\\/\":1,\"/\":1}", "/: " TWICE},
		{"{\"\\u000a\":1,\"\\n\":1}", "\\n: " TWICE},
		{"{\"\\u0022\":1,\"\\\"\":1}", "\\\": " TWICE},
		{"{\"\\u005C\":1,\"\\\\\":1}", "\\\\: " TWICE},
		{"{\"\\u001F\":1,\"\\u001f\":1}", "\\u001f: " TWICE},
		{"{\"\\u0001x\\u0001\":1,\"\\u0001x\\u0001\":1}", "\\u0001x\\u0001: " TWICE},
		/* not the same */
		{"{\"a\":1,\"A\":1}", ""},
		{"{\"a\":1,\"aa\":1}", ""},
		{"{\"a\":{\"a\":1}}", ""},
		{"{\"a\":[{\"b\":1},{\"b\":1}]}", ""},
		{"{\"\\\\n\":1,\"\\n\":1}", ""},
		{"{\"\\\\u0061\":1,\"a\":1}", ""},
		{"{\"e\xcc\x81\":1,\"\xc3\xa9\":1}", ""},
		/* where, and which first */
		{"{\"lines\":[{\"qty\":1},{\"qty\":1,\"qty\":2}]}", "lines[1].qty: " TWICE},
		{"{\"lines\":[{\"qty\":1.5,\"qty\":1}]}", "lines[0].qty: " TWICE},
		{"{\"lines\":[{\"qty\":1,\"qty\":1.5}]}", "lines[0].qty: " TWICE},
		{"{\"skus\":[\"A\",{\"a\":1,\"a\":1}]}", "skus[1].a: " TWICE},
		{"{\"x\":[[{\"a\":1,\"a\":1}]]}", "x[0][0].a: " TWICE},
		{"{\"a\":{\"b\":[1,{\"c\":1,\"c\":2}]}}", "a.b[1].c: " TWICE},
		{"{\"a\":{\"b\":1,\"b\":2},\"b\":3,\"b\":4}", "a.b: " TWICE},
		{"{\"a\":[{\"b\":1,\"b\":2}],\"b\":[{\"c\":1,\"c\":2}]}", "a[0].b: " TWICE},
		{"{\"a\":1.0,\"b\":-0}", ""},
		/* escapes of no character */
		{"{\"a\":\"\\u0000\"}", "a: holds \\u0000"},
		{"{\"a\":\"x\\u0000\",\"b\":\"\\ud800\"}", "a: holds \\u0000"},
		{"{\"a\":[{\"b\":\"\\ud800\"}]}", "a[0].b: " HALF},
		{"{\"a\":[\"\\ud800\\ud800\"]}", "a[0]: " HALF},
		{"{\"a\":\"\\ud800\\u0041\"}", "a: " HALF},
		{"{\"a\":\"\\ud800\\n\"}", "a: " HALF},
		{"{\"a\":\"\\udc00\\ud800\"}", "a: " HALF},
		{"{\"a\":1,\"\\ud800\":1}", ": " HALF},
		{"{\"a\":[{\"\\u0000\":1}]}", "a[0]: holds \\u0000"},
		/* a body that is no object */
		{"[]", ": must be an object"},
		{"1.0", ": must be an object"},
		{"null", ": must be an object"},
		{"\"{}\"", ": must be an object"},
		{"", ""},
		{" \n", ""},
	};

	for (size_t i = 0; i < LENGTH(rows); i++)
		cr_expect_str_eq(flaw_of(rows[i].text), rows[i].said, "%s: %s", rows[i].text, flaw_of(rows[i].text));
}

enum { AS_INT, AS_STRING, AS_BOOL, AS_WORD, AS_ARRAY, READERS };

/* Whether the member `a` is taken for what the reader wants. */
static bool member_taken(struct json_reader *in, int reader)
{
	static const char *const words[] = {"x", NULL};
	const char              *text;
	const void              *first;
	size_t                   len;
	int64_t                  n;
	bool                     b;
	int                      word;

	switch (reader) {
	case AS_INT:
		return json_int(in, "a", JSON_REQUIRED, -JSON_INT_MAX, JSON_INT_MAX, &n) && json_end(in);
	case AS_STRING:
		return json_string(in, "a", JSON_REQUIRED, &text, &len);
	case AS_BOOL:
		return json_bool(in, "a", JSON_REQUIRED, &b);
	case AS_WORD:
		return json_word(in, "a", JSON_REQUIRED, words, &word);
	default:
		return json_array(in, "a", 1, 9, &first) > 0;
	}
}

/* The fault of these digits where an integer is wanted; no other reader may take them. */
static const char *number_of(const char *digits)
{
	static char said[sizeof(struct json_fault) + 8];
	char        body[200];

	snprintf(body, sizeof(body), "{\"a\":%s}", digits);
	said[0] = '\0';
	for (int reader = AS_INT; reader < READERS; reader++) {
		struct json_fault  fault = {0};
		struct json_reader in;
		struct json_doc   *doc = json_parse(body, strlen(body), &fault);
		bool               taken;

		cr_assert(doc, "%s: %s", body, fault.detail);
		json_begin(&in, doc, &fault);
		taken = member_taken(&in, reader);
		cr_expect(reader == AS_INT || !taken, "%s is taken by reader %d", digits, reader);
		if (reader == AS_INT && !taken)
			snprintf(said, sizeof(said), "%s: %s", fault.field, fault.detail);
		json_free(doc);
	}
	return said;
}

/* One sentence says how a number must be, whether it is written wrong or too large. */
Test(scan, leaves_numbers_to_their_reader)
{
	static const char *const good[] = {"0", "-1", "10", "9007199254740991", "-9007199254740991"};
	static const char *const bad[] = {
		"9007199254740992",
		"9223372036854775807",
		"-9223372036854775808",
		"9223372036854775808",
		"-9223372036854775809",
		"18446744073709551616",
		"10000000000000000000",
		"1234567890123456789012345678901234567890123456789012345678901234567890",
		"1.0",
		"1e0",
		"1E5",
		"1e-1",
		"-0",
		"0.0",
		"1e99999999999999999999",
		"0.00000000000000000000000000000000000000000000000000000000000000000000001",
	};

	for (size_t i = 0; i < LENGTH(good); i++)
		cr_expect_str_empty(number_of(good[i]), "%s: %s", good[i], number_of(good[i]));
	for (size_t i = 0; i < LENGTH(bad); i++)
		cr_expect_str_eq(number_of(bad[i]),
		                 "a: must be an integer from -9007199254740991 to 9007199254740991, in plain digits",
		                 "%s: %s", bad[i], number_of(bad[i]));
}

/* BEFORE, then `part` n times with commas between (%d is the index), then AFTER. */
static void text_repeat(struct text *t, const char *before, const char *part, int n, const char *after)
{
	text_reset(t);
	text_add(t, before);
	for (int i = 0; i < n; i++) {
		if (i > 0)
			text_char(t, ',');
		text_format(t, part, i);
	}
	text_add(t, after);
}

Test(scan, has_limits)
{
	struct text t = {0}, lines = {0};

	text_repeat(&t, "{", "\"m%d\":1", 64, "}");
	cr_expect_str_eq(said_of(t.data, t.len), "");
	text_repeat(&t, "{\"a\":{", "\"m%d\":1", 65, "}}");
	cr_expect_str_eq(said_of(t.data, t.len), "a: has more than 64 members, at byte 509");
	text_repeat(&t, "[", "%d", SCAN_VALUES_MAX - 1, "]");
	cr_expect_str_eq(said_of(t.data, t.len), "");
	text_repeat(&t, "[[", "0", SCAN_VALUES_MAX - 1, "]]");
	cr_expect_str_eq(said_of(t.data, t.len), ": has more than 400000 values, at byte 799999");

	/* the call that the limits are made for */
	text_repeat(&lines, "[", "{\"sku\":\"A%d\",\"location\":\"main\",\"qty\":1}", 50, "]");
	text_reset(&t);
	text_add(&t, "{\"reservations\":[");
	for (int i = 0; i < 1000; i++)
		text_format(&t, "%s{\"order_id\":\"R%d\",\"ttl_s\":60,\"mode\":\"best_effort\",\"lines\":%s}",
		            i > 0 ? "," : "", i, lines.data);
	text_add(&t, "]}");
	cr_expect_str_eq(said_of(t.data, t.len), "");
	text_fini(&t);
	text_fini(&lines);
}

/* A name of 200 characters of two bytes, cut at 191 or fewer bytes, never inside of a character. */
Test(scan, cuts_long_paths)
{
	char        path[12] = "";
	struct text t = {0};

	text_add(&t, "{\"a\":{\"");
	for (int twin = 0; twin < 2; twin++) {
		for (int i = 0; i < 200; i++)
			text_add(&t, "\xc3\xa9");
		text_add(&t, twin == 0 ? "\":1,\"" : "\":1}}");
	}
	cr_expect_eq(strlen(flaw_of(t.data)), 190 + strlen(": " TWICE));
	cr_expect_str_eq(strstr(flaw_of(t.data), ": "), ": " TWICE);
	text_fini(&t);

	path_add_name(path, sizeof(path), "lines", 5);
	path_add_index(path, sizeof(path), 7);
	path_add_name(path, sizeof(path), "\xc3\xa9\xc3\xa9", 4);
	cr_expect_str_eq(path, "lines[7].\xc3\xa9");
	path_add_name(path, sizeof(path), "x", 1);
	path_add_index(path, sizeof(path), 1);
	cr_expect_str_eq(path, "lines[7].\xc3\xa9");
}

/* Every sequence of two and three bytes, and of four as far as they differ, against the definition by code points. */
Test(scan, knows_utf8)
{
	static const unsigned char fourths[] = {0x00, 0x7f, 0x80, 0xbf, 0xc0};
	size_t                     accepted[5] = {0};

	for (unsigned i = 0x80 << 16; i < 1 << 24; i++) {
		unsigned lead = i >> 16, second = i >> 8 & 255, third = i & 255;
		char     at[5] = {(char)lead, (char)second, (char)third, 0, 0};

		if (lead < 0xf0) {
			accepted[utf8_length(at)]++;
			continue;
		}
		for (size_t f = 0; f < LENGTH(fourths) && (third & 0x3f) == 0; f++) {
			at[3] = (char)fourths[f];
			accepted[utf8_length(at)]++;
		}
	}
	cr_expect_eq(accepted[2], (0x800 - 0x80) * 256);
	cr_expect_eq(accepted[3], 0x10000 - 0x800 - 2048);
	cr_expect_eq(accepted[4], (0x110000 - 0x10000) / 64 / 64 * 2);
}
