/* options.h - the command line, the environment and the configuration file, as one set of values. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "engine/base/base.h"

enum option {
#define X(name, type, arg, standard, commands, help) OPTION_##name,
#include "commands/options.def"
#undef X
	OPTIONS
};
enum {
#define COMMAND(name, bit, ...) NUMBER_##bit,
#include "commands/commands.def"
#undef COMMAND
	COMMANDS
};
enum {
#define COMMAND(name, bit, ...) bit = 1 << NUMBER_##bit,
#include "commands/commands.def"
#undef COMMAND
	ALL = (1 << COMMANDS) - 1,
	ON_DATABASE = ALL & ~DEMO,
	SERVE_KEY = SERVE | KEY,
	PRINTS = JOBS | SKU | AUDIT | STATS | SHOW | IMPORT | REAP | KICK | PURGE | TUNE | KEY | BACKUP,
	PURGE_BACKUP = PURGE | BACKUP,
	WORK_REAP = WORK | REAP,
	REAP_IMPORT = REAP | IMPORT,
	SERVE_WORK = SERVE | WORK
};

/* What options.def says of an option. */
enum option_type { IS_TEXT, IS_LIST, IS_NUMBER, IS_MAYBE, IS_FLAG }; /* MAYBE: a flag that may have a value after = */
struct option_row {
	const char      *name;
	enum option_type type;
	int64_t          min, max; /* the range of a number */
	const char      *arg, *standard;
	int              commands;
	const char      *help;
};
extern const struct option_row option_rows[OPTIONS];
enum { FLAG_SIZE = 64 };
/* db_password_file -> --db-password-file. Returns `to`. */
const char *flag_name(char to[FLAG_SIZE], const char *name);

struct command {
	const char *name;
	int         mask;         /* the command's bit, SERVE ..: options.def says which options it knows */
	const char *operands;     /* the usage text after the name; may be "" */
	int         operands_max; /* 3 at most */
	const char *summary;
	const char *examples; /* lines */
	int (*run)(void);     /* after options_read; returns an exit status */
};

/* Reads argv[1..] into the options and operands. Every number is in its range (options.def). EXIT_DONE, or after saying
 * why EXIT_USAGE or EXIT_CONFIG. --help prints and ends the process with 0. */
int options_read(const struct command *command, int argc, char **argv);
/* Reads the file of --config again, and takes these options of `serve` from it, where neither the command line nor the
 * environment says them. The log tells of others that have changed: they wait for a restart. false: there is no file,
 * or the log says what is wrong with it, and nothing has changed. */
bool  options_read_again(const enum option *again, size_t count);
void  options_help(const struct command *command); /* the text of --help */
void  options_forget(void);                        /* for tests, which read options again: forgets all values */
char *operand(int n);                              /* a word that is no flag, from 0; NULL: there is none */
/* Says that `word` (NULL: what is wrong is not the word) is none of `words`, with the nearest of them, otherwise the
 * rule; returns EXIT_USAGE. */
int         operand_wrong(const char *word, const char *const *words, size_t count, const char *rule);
const char *option_text(enum option o); /* NULL: neither given nor standard; a LIST's are divided by commas */
bool        option_given(enum option o);
int64_t     option_count(enum option o, int64_t standard);
/* The option names a file of secrets: where others than its owner can read it, a warning says so. The process leaves no
 * core from now on. Then as option_file_read. */
void option_secret_read(enum option o, const char *file);
/* Reads the first line of the file of secrets that the option names. False: it cannot be read; a message says so. */
bool option_secret_line(enum option o, char *to, size_t size) MUST_CHECK;
/* The option names a file that decides what the process does: where others can write it, a warning says so. */
void option_file_read(enum option o, const char *file);

#endif
