/* keyring.h - keys of the tests: the key of NAME is a text made of that name, so that a flow needs to remember none. */
#ifndef TESTS_KEYRING_H
#define TESTS_KEYRING_H

#define BEARER "the-key-of-%s"

/* Writes the file of keys: `NAME ROLE [rps=N] [held=N] [expires=TIME] [old=NAME old_until=TIME] | ..`, where the old
 * secret is the key of another NAME. It may be wrong in what follows the name. */
void keyring_write(const char *file, const char *words);

#endif
