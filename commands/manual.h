/* manual.h - the command `manual`: what a package has beside the program, written from the same tables as --help: the
 * manual page, the completions of bash and zsh, and the file of options of the service. */
#ifndef MANUAL_H
#define MANUAL_H

struct command;
/* Prints what the operand names: man, bash, zsh or conf. The commands end with an empty name. An exit status. */
int manual_run(const struct command *commands);

#endif
