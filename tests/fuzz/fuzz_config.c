/* fuzz_config.c - any bytes as the file of --config, for each command. A file that is taken has numbers where numbers
 * belong; one that is refused is EXIT_CONFIG. What the command line says stands, whatever the file says. */
#include "input.h"
#include "commands/options.h"

#include <string.h>

static void command_check(const struct command *command, char *file)
{
	char  mine[] = "--db-password-file=mine", config[] = "--config";
	char *argv[] = {(char *)(uintptr_t)command->name, mine, config, file, NULL};
	int   status = options_read(command, 4, argv);

	assert(status == EXIT_DONE || status == EXIT_CONFIG);
	assert(strcmp(option_text(OPTION_db_password_file), "mine") == 0);
	assert(strcmp(option_text(OPTION_config), file) == 0);
	if (status == EXIT_DONE) {
		assert(!(option_given(OPTION_data) && option_given(OPTION_db)));
		assert(option_count(OPTION_slot, 0) >= 0 && option_count(OPTION_lanes, 1) >= 0);
		assert((command->mask & SERVE) || !option_given(OPTION_listen));
	}
	options_forget();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct command asked[] = {
		{.name = "serve", .mask = SERVE}, {.name = "work", .mask = WORK}, {.name = "purge", .mask = PURGE}};

	char *file = (char *)(uintptr_t)input_file(data, size);

	for (size_t i = 0; i < LENGTH(asked); i++)
		command_check(&asked[i], file);
	return 0;
}
