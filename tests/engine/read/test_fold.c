/* test_fold.c - which letters are one letter in two cases. */
#include "engine/read/fold.h"

#include <criterion/criterion.h>
#include <string.h>

Test(fold, letters_of_both_cases_are_one)
{
	static const char *const cases[][2] = {
		{"", ""},
		{"ABCXYZ abcxyz 019 @[`{", "abcxyz abcxyz 019 @[`{"},
		{"GRÖSSE weiß ÀÖØÞ×÷ÿŸ", "grösse weiß àöøþ×÷ÿÿ"},
		{"ĀāĮį ĲĶ ĸ ĹŇň ŉ ŊŶ ŹŻŽ ſ", "āāįį ĳķ ĸ ĺňň ŉ ŋŷ źżž s"},
		{"İıI", "İıi"}, /* the dotless and the dotted one are letters of their own */
		{"ẞẠỿẛ", "ßạỿṡ"},
		{"ΑΩΆΌΣς Μµ", "αωάόσσ μμ"},
		{"АЯЁЖҐ", "аяёжґ"},
		{"KÅ", "kå"}, /* KELVIN and ANGSTROM SIGN */
		{"日本 👕", "日本 👕"},
		{"a\xc3", "a?"},
		{"\xff\xc0\x80\xed\xa0\x80Z", "??????z"},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		char folded[100];

		*text_fold(folded, cases[i][0], strlen(cases[i][0])) = '\0';
		cr_expect_str_eq(folded, cases[i][1], "%s", cases[i][0]);
		cr_expect(strlen(folded) <= strlen(cases[i][0]));
	}
}

/* What is folded stays as it is, and no character becomes one that takes more bytes. */
Test(fold, folded_text_is_folded)
{
	for (uint32_t c = 0; c < 0x11000; c++) {
		uint32_t folded = character_fold(c);

		cr_assert(character_fold(folded) == folded, "%x", c);
		cr_assert(folded < 0x80 || (folded < 0x800 && c >= 0x80) || c >= 0x800, "%x", c);
	}
}
