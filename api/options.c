/* options.c - see options.h. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type { TEXT, NUMBER, MAYBE, FLAG }; /* MAYBE: a flag that may have a value behind = */

static const struct {
	const char *name;
	enum type   type;
	const char *arg, *standard;
	int         commands;
	const char *help;
} table[OPTIONS] = {
#define X(name, type, arg, standard, commands, help) {#name, type, arg, standard, commands, help},
#include "options.def"
#undef X
};

static char *values[OPTIONS]; /* NULL: not given; owned */

static void value_set(int option, const char *value)
{
	free(values[option]);
	values[option] = mem_copy(value);
}

void options_forget(void)
{
	for (int i = 0; i < OPTIONS; i++) {
		free(values[i]);
		values[i] = NULL;
	}
}

const struct command *command_find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

/* db_password_file -> --db-password-file */
static void flag_name(char *to, size_t size, const char *name)
{
	snprintf(to, size, "--%s", name);
	for (; *to; to++)
		if (*to == '_')
			*to = '-';
}

static void help_print(const struct command *command)
{
	char flag[64];

	printf("holdfast %s%s%s - %s\n\n", command->name, *command->operands ? " " : "", command->operands,
	       command->summary);
	for (int i = 0; i < OPTIONS; i++) {
		if (!(table[i].commands & command->mask))
			continue;
		flag_name(flag, sizeof(flag), table[i].name);
		if (table[i].type == MAYBE)
			snprintf(flag + strlen(flag), sizeof(flag) - strlen(flag), "[=%s]", table[i].arg);
		else if (table[i].arg)
			snprintf(flag + strlen(flag), sizeof(flag) - strlen(flag), " %s", table[i].arg);
		printf("  %-24s %s%s%s%s\n", flag, table[i].help, table[i].standard ? " (" : "",
		       table[i].standard ? table[i].standard : "", table[i].standard ? ")" : "");
	}
	printf("\nEvery flag may also be given by the environment (HOLDFAST_LISTEN for --listen) or by --config.\n\n%s",
	       command->examples);
}

static int usage(const struct command *command, const char *what, const char *which)
{
	say("%s %s; try `holdfast %s --help`", what, which, command->name);
	return EXIT_USAGE;
}

/* The option of this name (with - or _) that the command knows, or -1. */
static int option_find(const char *name, size_t len, int mask)
{
	for (int i = 0; i < OPTIONS; i++) {
		size_t k = 0;

		while (k < len && (table[i].name[k] == name[k] || (table[i].name[k] == '_' && name[k] == '-')))
			k++;
		if (k == len && !table[i].name[k] && (table[i].commands & mask))
			return i;
	}
	return -1;
}

/* In the environment and in a file a flag has a value, and may be off. */
static bool is_off(int option, const char *value)
{
	static const char *const words[] = {"0", "false", "no", "off"};

	for (size_t i = 0; table[option].type == FLAG && i < COUNT(words); i++)
		if (strcasecmp(value, words[i]) == 0)
			return true;
	return false;
}

static bool value_fits(int option, const char *value)
{
	return table[option].type != NUMBER ||
	       (*value && strspn(value, "0123456789") == strlen(value) && strlen(value) < 16);
}

/* ---- the three sources */

static int arguments_read(const struct command *command, int argc, char **argv, char **operands, int max)
{
	int n = 0;

	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i], *equals = strchr(arg, '=');
		int         option;

		if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
			help_print(command);
			exit(EXIT_DONE);
		}
		if (strncmp(arg, "--", 2) != 0) {
			if (n == max)
				return usage(command, "unexpected argument", arg);
			operands[n++] = argv[i];
			continue;
		}
		option = option_find(arg + 2, equals ? (size_t)(equals - arg - 2) : strlen(arg + 2), command->mask);
		if (option < 0)
			return usage(command, "unknown flag", arg);
		if (table[option].type == FLAG && equals)
			return usage(command, "no value belongs to", arg);
		if (equals)
			value_set(option, equals + 1);
		else if (table[option].type == FLAG || table[option].type == MAYBE)
			value_set(option, "");
		else if (i + 1 < argc)
			value_set(option, argv[++i]);
		else
			return usage(command, "a value is missing for", arg);
		if (!value_fits(option, values[option]))
			return usage(command, "not a number:", values[option]);
	}
	return EXIT_DONE;
}

static int environment_read(int mask)
{
	for (int i = 0; i < OPTIONS; i++) {
		char        name[64];
		const char *value;

		snprintf(name, sizeof(name), "HOLDFAST_%s", table[i].name);
		for (char *c = name; *c; c++)
			*c = (char)toupper((unsigned char)*c);
		value = getenv(name);
		if (values[i] || !value || !(table[i].commands & mask) || is_off(i, value))
			continue;
		if (!value_fits(i, value)) {
			say("%s is not a number: %s", name, value);
			return EXIT_CONFIG;
		}
		value_set(i, value);
	}
	return EXIT_DONE;
}

static char *trimmed(char *s)
{
	char *end;

	s += strspn(s, " \t");
	end = s + strlen(s);
	while (end > s && strchr(" \t\r\n", end[-1]))
		*--end = '\0';
	return s;
}

/* Ends the line at a # that begins a word, outside of quotes. */
static void comment_cut(char *line)
{
	bool quoted = false;

	for (char *c = line; *c; c++) {
		quoted ^= *c == '"';
		if (*c == '#' && !quoted && (c == line || strchr(" \t", c[-1])))
			*c = '\0';
	}
}

/* Without the quotes, if the whole of it is in quotes. */
static char *unquoted(char *value)
{
	size_t len = strlen(value);

	if (len < 2 || value[0] != '"' || strchr(value + 1, '"') != value + len - 1)
		return value;
	value[len - 1] = '\0';
	return value + 1;
}

static int config_line(const char *file, int number, char *line, int mask)
{
	char *equals, *name, *value;
	int   option;

	comment_cut(line);
	equals = strchr(line, '=');
	if (equals)
		*equals = '\0';
	name = trimmed(line);
	if (!*name && !equals)
		return EXIT_DONE;
	value = equals ? unquoted(trimmed(equals + 1)) : "";
	option = option_find(name, strlen(name), ALL);
	if (option < 0 || !value_fits(option, value)) {
		say("%s, line %d: %s %s", file, number,
		    option < 0 ? "there is no option" : "not a number:", option < 0 ? name : value);
		return EXIT_CONFIG;
	}
	if (!values[option] && (table[option].commands & mask) && !is_off(option, value))
		value_set(option, value);
	return EXIT_DONE;
}

static int config_read(const char *file, int mask)
{
	FILE   *in = fopen(file, "re");
	char   *line = NULL;
	size_t  room = 0;
	ssize_t len;
	int     status = EXIT_DONE;

	if (!in) {
		say("cannot read %s: %s", file, strerror(errno));
		return EXIT_CONFIG;
	}
	for (int number = 1; status == EXIT_DONE && (len = getline(&line, &room, in)) >= 0; number++)
		if (strlen(line) == (size_t)len) {
			status = config_line(file, number, line, mask);
		} else {
			say("%s, line %d: a NUL is not text", file, number);
			status = EXIT_CONFIG;
		}
	if (ferror(in)) {
		say("cannot read %s: %s", file, strerror(errno));
		status = EXIT_CONFIG;
	}
	free(line);
	fclose(in);
	return status;
}

int options_read(const struct command *command, int argc, char **argv, char **operands, int max)
{
	int status = arguments_read(command, argc, argv, operands, max);

	if (status == EXIT_DONE)
		status = environment_read(command->mask);
	if (status == EXIT_DONE && option_text(OPTION_config))
		status = config_read(option_text(OPTION_config), command->mask);
	if (status == EXIT_DONE && option_given(OPTION_data) && option_given(OPTION_db)) {
		say("--data and --db do not go together");
		status = EXIT_CONFIG;
	}
	if (status == EXIT_DONE && !log_level_set(option_text(OPTION_log_level))) {
		say("there is no log level %s", option_text(OPTION_log_level));
		status = EXIT_CONFIG;
	}
	return status;
}

const char *option_text(enum option o)
{
	return values[o] ? values[o] : table[o].standard;
}

const char *option_name(enum option o)
{
	return table[o].name;
}

bool option_given(enum option o)
{
	return values[o] != NULL;
}

int64_t option_count(enum option o, int64_t standard)
{
	return option_text(o) ? strtoll(option_text(o), NULL, 10) : standard;
}

struct house_options option_house(void)
{
	return (struct house_options){
		.data = option_text(OPTION_data),
		.db = option_text(OPTION_db),
		.password_file = option_text(OPTION_db_password_file),
	};
}
