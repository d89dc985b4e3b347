/* key_command.h - the command `key`: new, list, rotate, revoke. */
#ifndef KEY_COMMAND_H
#define KEY_COMMAND_H

/* Makes, lists, rotates or revokes keys of the file of keys. A secret is printed once. An exit status. */
int key_run(void);

#endif
