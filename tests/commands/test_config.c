/* test_config.c - lines of the file of --config, read in this process; more of it: test_options.c. */
#include "commands/options.h"
#include "tests/kit/scratch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Reads `len` bytes as the configuration of `serve`; returns the exit status. The test looks at the option --slot. */
static int config_of(const char *bytes, size_t len)
{
	static const struct command serve = {.name = "serve", .mask = SERVE};

	char  file[300], config[] = "--config", command[] = "serve";
	char *argv[] = {command, config, file, NULL};
	FILE *out;

	snprintf(file, sizeof(file), "%s/options-XXXXXX", scratch_dir());
	out = fdopen(mkstemp(file), "w");
	cr_assert(out && fwrite(bytes, 1, len, out) == len && fclose(out) == 0);
	options_forget();
	return options_read(&serve, 3, argv);
}

Test(config, config_lines)
{
	static const struct {
		const char *text;
		int         status;
		const char *slot;
	} cases[] = {
		{"slot = 7\n", EXIT_DONE, "7"},
		{" \tslot=7 \r\n\n# slot = 8\n", EXIT_DONE, "7"},
		{"slot = 7", EXIT_DONE, "7"},
		{"slot = 7\nslot = 8\n", EXIT_DONE, "7"}, /* the first one counts */
		{"once = yes\n", EXIT_DONE, "0"},         /* another command's */
		{"", EXIT_DONE, "0"},
		{"slot = x\n", EXIT_CONFIG, NULL},
		{"slot\n", EXIT_CONFIG, NULL},
		{"= 7\n", EXIT_CONFIG, NULL},
		{"colour = red\n", EXIT_CONFIG, NULL},
		{"data = a\ndb = mariadb://u@h/d\n", EXIT_CONFIG, NULL},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		int status = config_of(cases[i].text, strlen(cases[i].text));

		cr_expect(status == cases[i].status, "%s: %d", cases[i].text, status);
		if (status == EXIT_DONE)
			cr_expect_str_eq(option_text(OPTION_slot), cases[i].slot);
	}
}

/* A line of any length is one line. Once a long line was cut, and its rest was read as another line. */
Test(config, long_config_line)
{
	char line[3000];
	int  len = snprintf(line, sizeof(line), "exec = %01500dslot = 9\nslot = 7\n", 0);

	cr_assert(config_of(line, (size_t)len) == EXIT_DONE);
	cr_assert_str_eq(option_text(OPTION_slot), "7");
	memset(line + strlen("exec = "), ' ', 1500); /* the rest is a valid line by itself */
	cr_assert(config_of(line, (size_t)len) == EXIT_DONE);
	cr_assert_str_eq(option_text(OPTION_slot), "7");
}

/* Text after a NUL was not read. */
Test(config, nul_in_config)
{
	static const char text[] = "slot = 7\0 8\n";

	cr_assert(config_of(text, sizeof(text) - 1) == EXIT_CONFIG);
}
