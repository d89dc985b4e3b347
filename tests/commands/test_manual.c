/* test_manual.c - what the command `manual` prints knows every command and every option that --help shows: manual.sh.
 */
#include "tests/kit/program.h"
#include "tests/kit/scratch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(name)                                                                                              \
	Test(manual, name)                                                                                       \
	{                                                                                                        \
		char command[600], at[300];                                                                      \
                                                                                                                 \
		scratch_folder(at, sizeof(at));                                                                  \
		snprintf(command, sizeof(command), "tests/commands/manual.sh %s %s " #name, program_path(), at); \
		cr_expect_eq(system(command), 0);                                                                \
	}

CHECK(bash_offers_what_help_shows)
CHECK(page_and_zsh_name_what_help_shows)
CHECK(file_has_the_options_of_serve)
CHECK(needs_a_word)
