/* command.h - the steps of a flow that are not requests: commands of the program, in front of the flow or beside it,
 * and SQL in the test's database. The words are explained at the top of flow.h. Main thread only. */
#ifndef TESTS_COMMAND_H
#define TESTS_COMMAND_H

#include "tests/kit/scratch.h"
#include "tests/lang/verb.h"

#include <sys/types.h>

enum { COMMANDS_BESIDE = 8 };

struct commands {
	const char *log; /* log of the flow; the output of a command goes to a file beside it, and then to the end of
	                    the log */
	struct scratch *scratch;
	struct beside {
		char  name[16];
		pid_t pid; /* 0: the place is free */
	} beside[COMMANDS_BESIDE];
};

/* True: the step is one of these. */
bool command_knows(const struct step *s);
/* Does the step. `why` stays empty if all was as expected. */
void command_step(struct commands *c, const struct step *s, struct text *why);
/* Ends the commands that still run beside the flow, with SIGKILL. */
void commands_end(struct commands *c);

#endif
