/* test_keyfile.c - the file of keys: what is read, what is refused and how. */
#include "api/keyfile.h"
#include "engine/base/memory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define B "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define C "abababababababababababababababababababababababababababababababab"

static struct key_list list;
static char            why[400];

static bool reads(const char *text, size_t len)
{
	why[0] = '\0';
	return key_list_read(&list, text, len, why, sizeof(why));
}

Test(keyfile, good_lines)
{
	static const char text[] = "# the shop\n"
				   "\n"
				   "shop order " A "\r\n"
				   " \t ops\tworker,admin  " B " held=9000000000000000 rps=1000000 \n"
				   "#shop order x\n"
				   "in.a_name:\"=' read AB" /* upper case, and no newline at the end */
				   "0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCD";

	cr_assert(reads(text, strlen(text)), "%s", why);
	cr_assert_eq(list.count, 3);
	cr_expect_str_eq(list.keys[0].name, "shop");
	cr_expect_eq(list.keys[0].roles, ROLE_ORDER);
	cr_expect_eq(list.keys[0].digest[1], 0x23);
	cr_expect_eq(list.keys[0].rps, 0);
	cr_expect_eq(list.keys[0].held, 0);
	cr_expect_eq(list.keys[1].roles, ROLE_ADMIN | ROLE_WORKER);
	cr_expect_eq(list.keys[1].rps, 1000000);
	cr_expect_eq(list.keys[1].held, QTY_MAX);
	cr_expect_eq(list.keys[1].number, 4);
	cr_expect_eq(list.keys[2].digest[0], 0xab);
	cr_expect_neq(list.keys[0].key_id, list.keys[1].key_id);
	cr_expect_eq(key_list_find(&list, "ops"), &list.keys[1]);
	cr_expect_null(key_list_find(&list, "op"));
	key_list_fini(&list);
}

Test(keyfile, times)
{
	static const char text[] = "shop order " A " expires=2027-03-31T02:00:00+02:00 rps=7\n"
				   "ops admin " B " old_until=2026-11-30T09:00:00.9Z held=1 old=" C "\n";
	struct text       line = {0};

	cr_assert(reads(text, strlen(text)), "%s", why);
	cr_expect_eq(list.keys[0].expires, INT64_C(1806451200000));
	cr_expect_eq(list.keys[0].old_until, TIME_NONE);
	cr_expect_eq(list.keys[0].rps, 7);
	cr_expect_eq(list.keys[1].expires, TIME_NONE);
	cr_expect_eq(list.keys[1].old_until, INT64_C(1796029200900));
	cr_expect_eq(list.keys[1].old[0], 0xab);
	key_line_write(&line, &list.keys[0]);
	cr_expect_str_eq(line.data, "shop order " A " rps=7 expires=2027-03-31T00:00:00Z");
	text_reset(&line);
	key_line_write(&line, &list.keys[1]);
	cr_expect_str_eq(line.data, "ops admin " B " held=1 old=" C " old_until=2026-11-30T09:00:00Z");
	text_fini(&line);
	key_list_fini(&list);
}

Test(keyfile, the_number_of_a_name_stays)
{
	static const char text[] = "shop order " A;

	cr_assert(reads(text, strlen(text)), "%s", why);
	cr_expect_eq(list.keys[0].key_id, 0x8d9001d3u, "it is %x, and stands in databases", list.keys[0].key_id);
	key_list_fini(&list);
}

struct bad_line {
	const char *text, *line;
};

static void lines_are_bad(const struct bad_line *bad, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		cr_expect(!reads(bad[i].text, strlen(bad[i].text)), "read: %s", bad[i].text);
		cr_expect_eq(strncmp(why, bad[i].line, strlen(bad[i].line)), 0, "%s: %s", bad[i].text, why);
		cr_expect_null(strstr(why, "secret"), "%s", why);
	}
}

/* Each is refused, and the reason names the line and nothing that stands in it. */
Test(keyfile, bad_lines)
{
	static const struct bad_line bad[] = {
		{"secret", "line 1:"},
		{"secret order", "line 1:"},
		{"\nsecret order " A " rps=1 held=1 rps=1", "line 2:"},
		{"secret order " A " held=1 held=1", "line 1:"},
		{"secret order " A " secret", "line 1:"},
		{"secret order " A " rps=0", "line 1:"},
		{"secret order " A " rps=1000001", "line 1:"},
		{"secret order " A " rps=-1", "line 1:"},
		{"secret order " A " rps=1e3", "line 1:"},
		{"secret order " A " rps= 1", "line 1:"},
		{"secret order " A " rps=18446744073709551617", "line 1:"},
		{"secret order " A " held=9000000000000001", "line 1:"},
		{"secret order " A " held=0", "line 1:"},
		{"secret order " A " HELD=1", "line 1:"},
		{"secret orders " A, "line 1:"},
		{"secret Order " A, "line 1:"},
		{"secret order,secret " A, "line 1:"},
		{"secret order,order " A, "line 1:"},
		{"secret order, " A, "line 1:"},
		{"secret ,order " A, "line 1:"},
		{"secret order,,read " A, "line 1:"},
		{"secret order secret", "line 1:"},
		{"secret order " A "0", "line 1:"},
		{"secret order 0x23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "line 1:"},
		{"sec/ret order " A, "line 1:"},
		{"sec%%ret order " A, "line 1:"},
		{"secr\xc3\xa4t order " A, "line 1:"},
		{"\xef\xbb\xbfsecret order " A, "line 1:"},
		{".. order " A, "line 1:"},
		{"secret\vorder " A, "line 1:"},
		{"secret order " A "\rsecret order " B, "line 1:"},
		{"secret order " A "\nsecret read " B, "line 2: line 1 has the same name"},
		{"secret order " A "\nother read " A, "line 2: line 1 has the same key"},
	};

	lines_are_bad(bad, LENGTH(bad));
}

/* So are times that are none, and secrets that two keys have, or one has twice. */
Test(keyfile, bad_times)
{
	static const struct bad_line bad[] = {
		{"secret order " A " expires=", "line 1:"},
		{"secret order " A " expires=never", "line 1:"},
		{"secret order " A " expires=2026-11-30", "line 1:"},
		{"secret order " A " expires=2026-11-30T09:00:00", "line 1:"},
		{"secret order " A " expires=1969-11-30T09:00:00Z", "line 1:"},
		{"secret order " A " expires=2026-11-30T09:00:00Zsecret", "line 1:"},
		{"secret order " A " expires=2026-11-30T09:00:00Z expires=2026-11-30T09:00:00Z", "line 1:"},
		{"secret order " A " old=" B, "line 1:"},
		{"secret order " A " old_until=2026-11-30T09:00:00Z", "line 1:"},
		{"secret order " A " old=" B " old=" C " old_until=2026-11-30T09:00:00Z", "line 1:"},
		{"secret order " A " old=" B "0 old_until=2026-11-30T09:00:00Z", "line 1:"},
		{"secret order " A " old=" A " old_until=2026-11-30T09:00:00Z", "line 1: the old key"},
		{"secret order " A "\nother read " B " old=" A " old_until=2026-11-30T09:00:00Z", "line 2: line 1"},
		{"secret order " A " old=" B " old_until=2026-11-30T09:00:00Z\nother read " B, "line 2: line 1"},
		{"secret order " A " old=" C " old_until=2026-11-30T09:00:00Z\nother read " B " old=" C
	         " old_until=2026-11-30T09:00:00Z",
	         "line 2: line 1"},
	};

	lines_are_bad(bad, LENGTH(bad));
}

Test(keyfile, hostile_bytes)
{
	static const char nul[] = "shop order " A "\0 rps=1\n";
	char              longer[5000], *many = mem_alloc((KEYS_MAX + 1) * 100);
	size_t            len = 0;

	cr_expect(!reads(nul, sizeof(nul) - 1));
	memset(longer, 'x', sizeof(longer));
	cr_expect(!reads(longer, sizeof(longer)));
	memset(longer, ' ', sizeof(longer));
	cr_expect(!reads(longer, sizeof(longer)));
	memset(longer, '\n', sizeof(longer));
	cr_expect(reads(longer, sizeof(longer)), "%s", why);
	cr_expect_eq(list.count, 0);
	key_list_fini(&list);
	for (int i = 0; i <= KEYS_MAX; i++)
		len += (size_t)sprintf(many + len, "k%d read %064x\n", i, i);
	cr_expect(!reads(many, len));
	cr_expect_eq(strncmp(why, "line 1001:", 10), 0, "%s", why);
	free(many);
}

/* No byte of any kind at any place makes it read beyond the text, nor what it reads longer than it may be. */
Test(keyfile, every_byte_at_every_place)
{
	static const char good[] = "shop order " A " rps=5 expires=2026-11-30T09:00:00Z\n"
				   "ops admin " B " old=" C " old_until=2026-11-30T09:00:00+01:00\n";

	for (size_t at = 0; at < strlen(good); at++)
		for (int byte = 0; byte < 256; byte++) {
			char *text = memcpy(mem_alloc(strlen(good)), good, strlen(good));

			text[at] = (char)byte;
			if (reads(text, strlen(good))) {
				cr_assert_leq(list.count, 2);
				key_list_fini(&list);
			} else {
				cr_assert_eq(strncmp(why, "line ", 5), 0, "%s", why);
			}
			free(text);
		}
}
