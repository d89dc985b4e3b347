/* test_sku_texts.c - the block of texts that a search walks: against a search that looks at each sku by itself. */
#include "engine/read/sku_texts.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKUS = 400, MEMORY = 1 << 20, LIST = 50 };

/* What the skus have, in lower case; a code that is empty: there is none. */
static char codes[SKUS + 1][16], names[SKUS + 1][16], barcodes[SKUS + 1][16];

static void word(char *to, unsigned max)
{
	size_t len = (size_t)rand() % max;

	for (size_t i = 0; i < len; i++)
		to[i] = "ab"[rand() % 2];
	to[len] = '\0';
}

static void sku_make(struct sku_texts *t, uint32_t id)
{
	if (!codes[id][0])
		snprintf(codes[id], sizeof(codes[id]), "%c%03u", "ab"[rand() % 2], (unsigned)rand() % 900 + id % 100);
	word(names[id], 12);
	word(barcodes[id], 5);
	cr_assert(sku_texts_put(t, &(struct sku_text){id, codes[id], names[id], barcodes[id], strlen(codes[id]),
	                                              strlen(names[id]), strlen(barcodes[id])}));
}

static bool is_exact(uint32_t id, const char *text)
{
	return strcmp(codes[id], text) == 0 || strcmp(barcodes[id], text) == 0;
}

static bool contains(uint32_t id, const char *text)
{
	return codes[id][0] && (strstr(codes[id], text) || strstr(names[id], text) || strstr(barcodes[id], text));
}

static int sku_order(uint32_t a, uint32_t b, const char *text)
{
	int order = is_exact(b, text) - is_exact(a, text);

	return order ? order : strcmp(codes[a], codes[b]);
}

/* The page behind `after`, by the book. Codes are unequal in what they are asked for here only by chance: equal ones
 * count as one place. */
static void found_same(const struct sku_texts *t, const char *text)
{
	struct sku_found list[LIST], after = {0};
	size_t           count, seen = 0, all = 0;
	bool             first = true;

	for (uint32_t id = 1; id <= SKUS; id++)
		all += contains(id, text);
	do {
		count = sku_texts_find(t, text, strlen(text), first ? NULL : &after, list, LIST);
		for (size_t i = 0; i < count; i++) {
			cr_assert(contains(list[i].sku_id, text), "%s: %u", text, list[i].sku_id);
			cr_expect(list[i].exact == is_exact(list[i].sku_id, text), "%s: %u", text, list[i].sku_id);
			cr_expect(list[i].exact == sku_texts_exact(t, text, strlen(text), list[i].sku_id));
			cr_expect(list[i].len == strlen(codes[list[i].sku_id]) &&
			          memcmp(list[i].code, codes[list[i].sku_id], list[i].len) == 0);
			if (seen > 0)
				cr_expect(sku_order(after.sku_id, list[i].sku_id, text) < 0, "%s: %u", text,
				          list[i].sku_id);
			after = list[i];
			seen++;
		}
		first = false;
	} while (count == LIST);
	cr_expect(seen == all, "%s: %zu of %zu", text, seen, all);
}

Test(sku_texts, finds_what_a_look_at_each_finds)
{
	struct sku_texts t = {.max = MEMORY};
	char             text[16];

	srand(7);
	for (uint32_t id = 1; id <= SKUS; id++) {
		snprintf(codes[id], sizeof(codes[id]), "%c%03u", "ab"[rand() % 2], (id * 37) % 1000);
		sku_make(&t, id);
	}
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 100; i++)
			sku_make(&t, 1 + (uint32_t)rand() % SKUS);
		do
			word(text, 6);
		while (!text[0]);
		found_same(&t, text);
		snprintf(text, sizeof(text), "%02d", round);
		found_same(&t, text);
		found_same(&t, codes[1 + round]);
	}
	cr_expect(sku_texts_memory(&t) < (size_t)SKUS * 60 + 150000, "%zu", sku_texts_memory(&t));
	sku_texts_fini(&t);
}

/* Skus that come in any order of their numbers are found by them. */
Test(sku_texts, numbers_in_any_order)
{
	static const uint32_t ids[] = {7, 3, 9, 1, 4294967295, 8, 3};
	struct sku_texts      t = {.max = MEMORY};
	size_t                len;
	char                  code[8];

	for (size_t i = 0; i < LENGTH(ids); i++) {
		snprintf(code, sizeof(code), "C%zu", i);
		cr_assert(sku_texts_put(&t, &(struct sku_text){.sku_id = ids[i], .code = code, .code_len = 2}));
	}
	cr_expect(strncmp(sku_texts_code(&t, 7, &len), "C0", 2) == 0 && len == 2);
	cr_expect(strncmp(sku_texts_code(&t, 3, &len), "C6", 2) == 0);
	cr_expect(strncmp(sku_texts_code(&t, 4294967295, &len), "C4", 2) == 0);
	cr_expect_null(sku_texts_code(&t, 2, &len));
	cr_expect_null(sku_texts_code(&t, 10, &len));
	cr_expect_not(sku_texts_exact(&t, "c0", 2, 2));
	cr_expect(sku_texts_exact(&t, "c0", 2, 7));
	sku_texts_fini(&t);
}

/* A text does not reach from one field into the next, and a name is never exact. */
Test(sku_texts, fields_end)
{
	static const struct {
		const char *text;
		size_t      found;
		bool        exact;
	} cases[] = {
		{"ab", 1, true}, {"cup", 1, false},  {"abc", 0, false}, {"bcup", 0, false}, {"up1", 0, false},
		{"12", 1, true}, {"1234", 0, false}, {"34", 1, true},   {"3", 1, false},    {"big cup", 1, false},
	};
	struct sku_texts t = {.max = MEMORY};
	struct sku_found found;

	cr_assert(sku_texts_put(&t, &(struct sku_text){1, "Ab", "Big CUP",
	                                               "12\xfe"
	                                               "34",
	                                               2, 7, 5}));
	for (size_t i = 0; i < LENGTH(cases); i++) {
		cr_expect(sku_texts_find(&t, cases[i].text, strlen(cases[i].text), NULL, &found, 1) == cases[i].found,
		          "%s", cases[i].text);
		if (cases[i].found)
			cr_expect(found.exact == cases[i].exact, "%s", cases[i].text);
	}
	sku_texts_fini(&t);
}

/* The memory has an end. Names that change again and again do not reach it. */
Test(sku_texts, memory_is_bounded)
{
	struct sku_texts t = {.max = 400000};
	char             code[24], name[24];
	uint32_t         id = 0;

	for (int i = 0; i < 50000; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		cr_assert(sku_texts_put(&t,
		                        &(struct sku_text){1 + (uint32_t)i % 5, "C", name, NULL, 1, strlen(name), 0}));
	}
	do
		snprintf(code, sizeof(code), "C-%u", ++id);
	while (sku_texts_put(&t, &(struct sku_text){.sku_id = 5 + id, .code = code, .code_len = strlen(code)}));
	cr_expect(id > 5000 && id < 30000, "%u", id);
	cr_expect(sku_texts_memory(&t) <= t.max + t.max / 4, "%zu", sku_texts_memory(&t));
	sku_texts_fini(&t);
	cr_expect(sku_texts_memory(&t) == 0);
}
