/* key_command.h - the command `key new`. */
#ifndef KEY_COMMAND_H
#define KEY_COMMAND_H

/* Makes a key, adds its line to the file of keys, prints the key once. An exit status. */
int key_run(void);

#endif
