/* main.c - finds the command, and runs it. */
#include "commands/audit.h"
#include "commands/backup.h"
#include "commands/restore.h"
#include "commands/commands.h"
#include "commands/demo.h"
#include "commands/events.h"
#include "commands/export.h"
#include "commands/import.h"
#include "commands/jobs_command.h"
#include "commands/key_command.h"
#include "commands/manual.h"
#include "commands/options.h"
#include "commands/serve.h"
#include "commands/show.h"
#include "commands/sku_command.h"
#include "commands/stats.h"
#include "commands/tune.h"
#include "commit.h"
#include "engine/base/log.h"
#include "engine/base/nearest.h"

#include <stdio.h>

static int help_run(void);
static int pages_run(void);
static int version_run(void);

/* Ends with an empty name. */
const struct command commands[] = {
#define COMMAND(name, bit, operands, most, summary, examples) \
	{#name, bit, operands, most, summary, examples, name##_run},
#include "commands/commands.def"
#undef COMMAND
	{"manual", 0, "man|bash|zsh|conf", 1,
         "prints the manual page, a shell's completion, or a file of options for the service",
         "  holdfast manual man | man -l -\n"
         "  holdfast manual bash > ~/.local/share/bash-completion/completions/holdfast\n"
         "  holdfast manual conf > holdfast.conf\n",
         pages_run},
	{"help", 0, "[COMMAND]", 1, "this, or the flags and examples of a command", "  holdfast help serve\n",
         help_run},
	{"version", 0, "", 0, "the version of this program", "  holdfast version\n", version_run},
	{0},
};

static const struct command *command_find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

/* The width of the longest command. */
static int usage_width(void)
{
	size_t width = 0;

	for (const struct command *c = commands; c->name; c++) {
		size_t len = strlen(c->name) + 1 + strlen(c->operands);

		width = len > width ? len : width;
	}
	return (int)width;
}

static int overview(FILE *to, int status)
{
	int width = usage_width();

	fprintf(to, "holdfast " HOLDFAST_VERSION " - reserves stock, never twice\n\n");
	for (const struct command *c = commands; c->name; c++)
		fprintf(to, "  holdfast %s %-*s  %s\n", c->name, width - (int)strlen(c->name) - 1, c->operands,
		        c->summary);
	fprintf(to, "\n`holdfast COMMAND --help` shows its flags and examples.\n");
	return status;
}

static const char *command_name(const void *arg, size_t i)
{
	(void)arg;
	return commands[i].name;
}

static int no_command(const char *name)
{
	const char *meant = nearest(name, strlen(name), LENGTH(commands) - 1, command_name, NULL);

	if (meant)
		return say_status(EXIT_USAGE, "there is no command %s; did you mean %s?", name, meant);
	say("there is no command %s", name);
	return overview(stderr, EXIT_USAGE);
}

static int help_run(void)
{
	if (!operand(0))
		return overview(stdout, EXIT_DONE);
	if (!command_find(operand(0)))
		return no_command(operand(0));
	options_help(command_find(operand(0)));
	return EXIT_DONE;
}

static int pages_run(void)
{
	return manual_run(commands);
}

static int version_run(void)
{
	puts("holdfast " HOLDFAST_VERSION " (" HOLDFAST_COMMIT ", " HOLDFAST_COMMITTED ")");
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *flag, *command;
	} flags[] = {{"--help", "help"}, {"-h", "help"}, {"--version", "version"}, {"-V", "version"}};
	const char           *name = argc > 1 ? argv[1] : NULL;
	const struct command *command;
	int                   status;

	if (!name)
		return overview(stderr, EXIT_USAGE);
	for (size_t i = 0; i < LENGTH(flags); i++)
		if (strcmp(name, flags[i].flag) == 0)
			name = flags[i].command;
	command = command_find(name);
	if (!command)
		return no_command(name);
	status = options_read(command, argc - 1, argv + 1);
	return status == EXIT_DONE ? command->run() : status;
}
