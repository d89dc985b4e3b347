/* options.c - see options.h. */
#include "commands/options.h"
#include "engine/base/codes.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/base/nearest.h"
#include "engine/base/text.h"
#include "engine/log/keeping.h"
#include "jobs/task/claim.h"
#include "jobs/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIGITS_MAX = 15, RULE_SIZE = 160 };
#define MANY INT64_C(999999999999999) /* the largest number of DIGITS_MAX digits */

#define TEXT             IS_TEXT, 0, 0
#define LIST             IS_LIST, 0, 0
#define NUMBER(min, max) IS_NUMBER, min, max
#define MAYBE            IS_MAYBE, 0, 0
#define FLAG             IS_FLAG, 0, 0

const struct option_row option_rows[OPTIONS] = {
#define X(name, type, arg, standard, commands, help) {#name, type, arg, standard, commands, help},
#include "commands/options.def"
#undef X
};

enum { OPERANDS_MAX = 3 };

static char *operands[OPERANDS_MAX];
static char *values[OPTIONS]; /* NULL: not given; owned */
static bool  filed[OPTIONS];  /* the file of --config gave the value */

static void value_set(int option, const char *value)
{
	free(values[option]);
	values[option] = mem_copy(value);
}

/* Appends another value of a LIST, after a comma. */
static void value_add(int option, const char *value)
{
	struct text all = {0};

	text_format(&all, "%s,%s", values[option], value);
	value_set(option, all.data);
	text_fini(&all);
}

void options_forget(void)
{
	for (int i = 0; i < OPTIONS; i++) {
		free(values[i]);
		values[i] = NULL;
		filed[i] = false;
	}
}

const char *flag_name(char to[FLAG_SIZE], const char *name)
{
	snprintf(to, FLAG_SIZE, "--%s", name);
	for (char *c = to; *c; c++)
		if (*c == '_')
			*c = '-';
	return to;
}

void options_help(const struct command *command)
{
	char flag[FLAG_SIZE];

	printf("holdfast %s%s%s - %s\n\n", command->name, *command->operands ? " " : "", command->operands,
	       command->summary);
	for (int i = 0; i < OPTIONS; i++) {
		if (!(option_rows[i].commands & command->mask))
			continue;
		flag_name(flag, option_rows[i].name);
		if (option_rows[i].type == IS_MAYBE)
			snprintf(flag + strlen(flag), sizeof(flag) - strlen(flag), "[=%s]", option_rows[i].arg);
		else if (option_rows[i].arg)
			snprintf(flag + strlen(flag), sizeof(flag) - strlen(flag), " %s", option_rows[i].arg);
		printf("  %-24s %s%s%s%s\n", flag, option_rows[i].help, option_rows[i].standard ? " (" : "",
		       option_rows[i].standard ? option_rows[i].standard : "", option_rows[i].standard ? ")" : "");
	}
	if (command->mask)
		printf("\nEvery flag may also be given by the environment (HOLDFAST_LISTEN for --listen) or by "
		       "--config.\n\n");
	printf("%s", command->examples);
}

static int usage(const struct command *command, const char *what, const char *which)
{
	return say_status(EXIT_USAGE, "%s%s%s; try `holdfast %s --help`", what, *which ? " " : "", which,
	                  command->name);
}

/* The option of this name (with - or _) that the command knows, or -1. */
static int option_find(const char *name, size_t len, int mask)
{
	for (int i = 0; i < OPTIONS; i++) {
		size_t k = 0;

		while (k < len &&
		       (option_rows[i].name[k] == name[k] || (option_rows[i].name[k] == '_' && name[k] == '-')))
			k++;
		if (k == len && !option_rows[i].name[k] && (option_rows[i].commands & mask))
			return i;
	}
	return -1;
}

/* ---- what was mistyped */

static int names_mask; /* mask of the command; option_nth names its options */

static const char *option_nth(const void *arg, size_t i)
{
	(void)arg;
	return option_rows[i].commands & names_mask ? option_rows[i].name : NULL;
}

static const char *const *words_known;
static const char        *word_nth(const void *arg, size_t i)
{
	(void)arg;
	return words_known[i];
}

int operand_wrong(const char *word, const char *const *words, size_t count, const char *rule)
{
	const char *near;

	words_known = words;
	near = word ? nearest(word, strlen(word), count, word_nth, NULL) : NULL;
	return near ? say_status(EXIT_USAGE, "there is no %s here; did you mean %s?", word, near)
	            : say_status(EXIT_USAGE, "%s", rule);
}

/* "; did you mean --jobs?", or nothing; in a file the name stands without dashes. */
static const char *meant_write(char meant[80], const char *name, size_t len, int mask, bool flag)
{
	const char *near;
	char        as[FLAG_SIZE];

	names_mask = mask;
	near = nearest(name, len, OPTIONS, option_nth, NULL);
	*meant = '\0';
	if (!near)
		return meant;
	flag_name(as, near);
	snprintf(meant, 80, "; did you mean %s?", flag ? as : as + 2);
	return meant;
}

/* A flag has a value in the environment and in a file, and may be off there. */
static bool is_off(int option, const char *value)
{
	static const char *const words[] = {"0", "false", "no", "off"};

	for (size_t i = 0; option_rows[option].type == IS_FLAG && i < LENGTH(words); i++)
		if (strcasecmp(value, words[i]) == 0)
			return true;
	return false;
}

/* False: the option needs a number and has none. `rule` says so; `name` is the option's name in its source. */
static bool value_fits(int option, const char *name, const char *value, char rule[RULE_SIZE])
{
	return option_rows[option].type != IS_NUMBER ||
	       (*value && strspn(value, "0123456789") == strlen(value) && strlen(value) <= DIGITS_MAX) ||
	       why_write(rule, RULE_SIZE, "%s " INTEGER_RULE, name, (long long)option_rows[option].min,
	                 (long long)option_rows[option].max);
}

/* ---- the three sources */

/* Reads argv[0] and perhaps its value after it; *used: number of arguments read. */
static int argument_read(const struct command *command, char **argv, int left, int *used)
{
	const char *arg = argv[0], *equals = strchr(arg, '='), *value = "";
	char        rule[RULE_SIZE], flag[FLAG_SIZE], meant[80];
	size_t      len = equals ? (size_t)(equals - arg - 2) : strlen(arg + 2);
	int         option = option_find(arg + 2, len, command->mask);

	*used = 1;
	if (option < 0)
		return say_status(EXIT_USAGE, "unknown flag %s%s; try `holdfast %s --help`", arg,
		                  meant_write(meant, arg + 2, len, command->mask, true), command->name);
	if (option_rows[option].type == IS_FLAG && equals)
		return usage(command, "no value belongs to", arg);
	if (equals)
		value = equals + 1;
	else if (option_rows[option].type != IS_FLAG && option_rows[option].type != IS_MAYBE) {
		if (left < 2)
			return usage(command, "a value is missing for", arg);
		value = argv[1];
		*used = 2;
	}
	flag_name(flag, option_rows[option].name);
	if (!value_fits(option, flag, value, rule))
		return usage(command, rule, "");
	if (values[option] && option_rows[option].type == IS_LIST)
		value_add(option, value);
	else
		value_set(option, value);
	return EXIT_DONE;
}

static int arguments_read(const struct command *command, int argc, char **argv)
{
	int n = 0, status = EXIT_DONE;

	for (int i = 1, used = 1; i < argc && status == EXIT_DONE; i += used) {
		const char *arg = argv[i];

		used = 1;
		if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
			options_help(command);
			exit(EXIT_DONE);
		}
		if (strncmp(arg, "--", 2) == 0)
			status = argument_read(command, argv + i, argc - i, &used);
		else if (n == command->operands_max)
			status = usage(command, "unexpected argument", arg);
		else
			operands[n++] = argv[i];
	}
	return status;
}

static int environment_read(int mask)
{
	for (int i = 0; i < OPTIONS; i++) {
		char        name[64], rule[RULE_SIZE];
		const char *value;

		snprintf(name, sizeof(name), "HOLDFAST_%s", option_rows[i].name);
		for (char *c = name; *c; c++)
			*c = (char)toupper((unsigned char)*c);
		value = getenv(name);
		if (values[i] || !value || !(option_rows[i].commands & mask) || is_off(i, value))
			continue;
		if (!value_fits(i, name, value, rule))
			return say_status(EXIT_CONFIG, "%s", rule);
		value_set(i, value);
	}
	return EXIT_DONE;
}

/* A variable HOLDFAST_.. that no command knows is a typing error, as in a file. */
static int environment_check(void)
{
	static const char prefix[] = "HOLDFAST_";
	char              name[64], meant[80];

	for (char **e = environ; *e; e++) {
		size_t len = strcspn(*e, "="), k = 0;

		if (strncmp(*e, prefix, strlen(prefix)) != 0)
			continue;
		for (const char *c = *e + strlen(prefix); c < *e + len && k < sizeof(name) - 1; c++)
			name[k++] = (char)tolower((unsigned char)*c);
		name[k] = '\0';
		if (option_find(name, k, ALL) < 0)
			return say_status(EXIT_CONFIG, "the environment has %.*s, but there is no such option%s",
			                  (int)len, *e, meant_write(meant, name, k, ALL, true));
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

/* Strips the quotes of a value that is quoted as a whole. */
static char *unquoted(char *value)
{
	size_t len = strlen(value);

	if (len < 2 || value[0] != '"' || strchr(value + 1, '"') != value + len - 1)
		return value;
	value[len - 1] = '\0';
	return value + 1;
}

/* The first line of an option counts; for a LIST every line counts. A value from the command line or the environment
 * replaces them all. */
static void config_take(int option, const char *value, int mask)
{
	if (!(option_rows[option].commands & mask) || is_off(option, value))
		return;
	if (!values[option]) {
		value_set(option, value);
		filed[option] = true;
	} else if (filed[option] && option_rows[option].type == IS_LIST) {
		value_add(option, value);
	}
}

static int config_line(const char *file, int number, char *line, int mask)
{
	char *equals, *name, *value, rule[RULE_SIZE], meant[80];
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
	if (option < 0)
		return say_status(EXIT_CONFIG, "%s, line %d: there is no option %s%s", file, number, name,
		                  meant_write(meant, name, strlen(name), ALL, false));
	if (!value_fits(option, name, value, rule))
		return say_status(EXIT_CONFIG, "%s, line %d: %s", file, number, rule);
	config_take(option, value, mask);
	return EXIT_DONE;
}

static int config_read(const char *file, int mask)
{
	FILE   *in = fopen(file, "re");
	char   *line = NULL;
	size_t  room = 0;
	ssize_t len;
	int     status = EXIT_DONE;

	if (!in)
		return say_status(EXIT_CONFIG, "cannot read %s: %s", file, strerror(errno));
	for (int number = 1; status == EXIT_DONE && (len = getline(&line, &room, in)) >= 0; number++)
		if (strlen(line) == (size_t)len)
			status = config_line(file, number, line, mask);
		else
			status = say_status(EXIT_CONFIG, "%s, line %d: a NUL is not text", file, number);
	if (ferror(in))
		status = say_status(EXIT_CONFIG, "cannot read %s: %s", file, strerror(errno));
	free(line);
	fclose(in);
	return status;
}

/* Checks every number, whatever its source. */
static int ranges_check(int mask)
{
	char flag[FLAG_SIZE];

	for (int i = 0; i < OPTIONS; i++) {
		int64_t n = values[i] && option_rows[i].type == IS_NUMBER ? strtoll(values[i], NULL, 10) : 0;

		if (!values[i] || option_rows[i].type != IS_NUMBER ||
		    (n >= option_rows[i].min && n <= option_rows[i].max))
			continue;
		flag_name(flag, option_rows[i].name);
		return say_status(mask == SERVE ? EXIT_CONFIG : EXIT_USAGE, "%s " INTEGER_RULE, flag,
		                  (long long)option_rows[i].min, (long long)option_rows[i].max);
	}
	return EXIT_DONE;
}

/* Goes back to the old value of an option. */
static void value_restore(int option, char *old, bool was_filed, bool tell)
{
	if (tell && !texts_equal(old, values[option]))
		log_event(LOG_WARN, "option_waits", "option=%s hint=\"a restart takes it over\"",
		          option_rows[option].name);
	free(values[option]);
	values[option] = old;
	filed[option] = was_filed;
}

bool options_read_again(const enum option *again, size_t count)
{
	char *old[OPTIONS];
	bool  was_filed[OPTIONS], fine;

	if (!option_text(OPTION_config))
		return false;
	memcpy(was_filed, filed, sizeof(filed));
	for (int i = 0; i < OPTIONS; i++) {
		old[i] = values[i];
		if (filed[i])
			values[i] = NULL;
	}
	memset(filed, 0, sizeof(filed));
	fine = config_read(option_text(OPTION_config), SERVE) == EXIT_DONE && ranges_check(SERVE) == EXIT_DONE;
	for (int i = 0; i < OPTIONS; i++) {
		bool take = false;

		for (size_t k = 0; k < count; k++)
			take |= (int)again[k] == i;
		if (take && fine && (was_filed[i] || filed[i]))
			free(old[i]);
		else if (was_filed[i] || filed[i])
			value_restore(i, old[i], was_filed[i], fine);
	}
	return fine;
}

int options_read(const struct command *command, int argc, char **argv)
{
	int status;

	if (command->mask == SERVE)
		log_never_wait();
	status = arguments_read(command, argc, argv);
	if (status == EXIT_DONE && command->mask)
		status = environment_check();
	if (status == EXIT_DONE)
		status = environment_read(command->mask);
	if (status == EXIT_DONE && option_text(OPTION_config))
		status = config_read(option_text(OPTION_config), command->mask);
	if (status == EXIT_DONE)
		status = ranges_check(command->mask);
	if (status == EXIT_DONE && option_given(OPTION_data) && option_given(OPTION_db))
		status = say_status(EXIT_CONFIG, "--data and --db do not go together");
	if (status == EXIT_DONE && !log_level_set(option_text(OPTION_log_level)))
		status = say_status(EXIT_CONFIG, "there is no log level %s", option_text(OPTION_log_level));
	if (status == EXIT_DONE && !log_format_set(option_text(OPTION_log_format)))
		status = say_status(EXIT_CONFIG, "there is no log format %s", option_text(OPTION_log_format));
	if (status == EXIT_DONE && option_text(OPTION_config))
		option_file_read(OPTION_config, option_text(OPTION_config));
	return status;
}

char *operand(int n)
{
	assert(n < OPERANDS_MAX);
	return operands[n];
}

const char *option_text(enum option o)
{
	return values[o] ? values[o] : option_rows[o].standard;
}

bool option_given(enum option o)
{
	return values[o] != NULL;
}

int64_t option_count(enum option o, int64_t standard)
{
	return option_text(o) ? strtoll(option_text(o), NULL, 10) : standard;
}

/* A credential of systemd is protected by an ACL, which shows as bits of the group. */
static bool is_credential(const char *file)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");

	return folder && *folder && strncmp(file, folder, strlen(folder)) == 0;
}

/* Warns if one of these mode bits is set, which give others a right to the file that they should not have. */
static void mode_warn(enum option o, const char *file, unsigned bits, const char *event, const char *hint)
{
	struct stat st;
	char        mode[8], flag[FLAG_SIZE];

	if (stat(file, &st) != 0 || !(st.st_mode & bits) || !S_ISREG(st.st_mode) || is_credential(file))
		return;
	flag_name(flag, option_rows[o].name);
	snprintf(mode, sizeof(mode), "%04o", st.st_mode & 07777U);
	log_event(LOG_WARN, event, "option=%s file=%s mode=%s hint=\"%s\"", flag, file, mode, hint);
}

void option_file_read(enum option o, const char *file)
{
	mode_warn(o, file, S_IWGRP | S_IWOTH, "file_open", "others can write it: chmod go-w");
}

void option_secret_read(enum option o, const char *file)
{
	static const struct rlimit none = {0, 0};

	(void)setrlimit(RLIMIT_CORE, &none);
	mode_warn(o, file, S_IRGRP | S_IROTH, "secret_open", "others can read it: chmod 600");
	option_file_read(o, file);
}

bool option_secret_line(enum option o, char *to, size_t size)
{
	const char *file = option_text(o);
	FILE       *in = fopen(file, "re");
	bool        ok = in && fgets(to, (int)size, in);
	char        flag[FLAG_SIZE];

	if (in)
		fclose(in);
	if (ok) {
		option_secret_read(o, file);
		to[strcspn(to, "\r\n")] = '\0';
		return true;
	}
	flag_name(flag, option_rows[o].name);
	say("%s: cannot read %s", flag, file);
	return false;
}
