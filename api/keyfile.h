/* keyfile.h - the file of keys: a line `NAME ROLE[,ROLE] SHA256 [rps=N] [held=N] [expires=TIME]` for each. A line of a
 * key that was rotated also has `old=SHA256 old_until=TIME`: its secret before that, and how long it is valid. A TIME
 * is of RFC 3339. Blank lines and lines that begin with # are skipped. The file holds fingerprints only, so a reader of
 * the file has no key. It is read as a whole or not at all. A message names a wrong line by its number and never quotes
 * it: the line may contain a key by mistake. Any thread. */
#ifndef KEYFILE_H
#define KEYFILE_H

#include "engine/base/clock.h"
#include "engine/base/codes.h"
#include "engine/base/text.h"

enum role { ROLE_ORDER = 1, ROLE_WORKER = 2, ROLE_READ = 4, ROLE_ADMIN = 8 };
enum { KEYS_MAX = 1000, DIGEST_SIZE = 32 };

struct key_line {
	char     name[ID_MAX + 1];
	uint32_t key_id;              /* number made from the name; never 0 */
	unsigned roles;               /* of enum role, one at least */
	uint8_t  digest[DIGEST_SIZE]; /* SHA-256 of the key */
	int64_t  rps;                 /* limit of requests a second; 0: none */
	int64_t  held;                /* limit of units held open; 0: none */
	int64_t  expires;          /* time from which the key is not valid, ms since 1970; TIME_NONE: it stays valid */
	uint8_t  old[DIGEST_SIZE]; /* SHA-256 of the secret before the last rotation, .. */
	int64_t  old_until;        /* .. which is valid until then; TIME_NONE: there is none */
	int      number;           /* the key's line in the file */
};

struct key_list {
	struct key_line *keys;
	size_t           count;
};

/* Reads a text, which may be without keys. false: `why` names the line. The list is the caller's. */
bool key_list_read(struct key_list *to, const char *text, size_t len, char *why, size_t why_size) MUST_CHECK;
/* Reads the text of a regular file of at most 1 MiB, from `fd`, which stays the caller's, as the text is. NULL: `why`
 * says why not, with the name. */
char *key_text_read(int fd, size_t *len, const char *name, char *why, size_t why_size) MUST_CHECK;
/* Reads the file of this name. A file without any key is wrong, too. */
bool key_file_read(struct key_list *to, const char *name, char *why, size_t why_size) MUST_CHECK;
void key_list_fini(struct key_list *list);
/* The key of this name, or NULL. */
const struct key_line *key_list_find(const struct key_list *list, const char *name);

/* ROLES_RULE is what a list of roles is, for messages. */
#define ROLES_RULE "must be one of: order, worker, read, admin; several with a comma between them"
bool roles_read(unsigned *to, const char *list) MUST_CHECK;
void roles_write(struct text *to, unsigned roles);
void key_digest(uint8_t to[DIGEST_SIZE], const char *key, size_t len);
/* Adds the line of this key, without a newline. Its times are written in whole seconds. */
void key_line_write(struct text *to, const struct key_line *line);

#endif
