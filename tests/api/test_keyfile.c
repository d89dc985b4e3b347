/* test_keyfile.c - the file of keys: what is read, what is refused and how. */
#include "api/keyfile.h"
#include "engine/base/memory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define B "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

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

Test(keyfile, the_number_of_a_name_stays)
{
	static const char text[] = "shop order " A;

	cr_assert(reads(text, strlen(text)), "%s", why);
	cr_expect_eq(list.keys[0].key_id, 0x8d9001d3u, "it is %x, and stands in databases", list.keys[0].key_id);
	key_list_fini(&list);
}

/* Each is refused, and the reason names the line and nothing that stands in it. */
Test(keyfile, bad_lines)
{
	static const struct {
		const char *text, *line;
	} bad[] = {
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

	for (size_t i = 0; i < LENGTH(bad); i++) {
		cr_expect(!reads(bad[i].text, strlen(bad[i].text)), "read: %s", bad[i].text);
		cr_expect_eq(strncmp(why, bad[i].line, strlen(bad[i].line)), 0, "%s: %s", bad[i].text, why);
		cr_expect_null(strstr(why, "secret"), "%s", why);
	}
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
	static const char good[] = "shop order " A " rps=5\nops admin " B "\n";

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
