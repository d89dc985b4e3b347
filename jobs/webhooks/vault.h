/* vault.h - seals the secrets of webhooks before they go into the database, if there is a key.
 *
 * Sealing is AES-256-GCM with the webhook's id as additional data, so a secret that was moved to another row does not
 * open there. The key protects against readers of the table, a dump or a replica, but not of the host itself. Without a
 * key secrets stand in the table in plain words. Any thread. */
#ifndef VAULT_H
#define VAULT_H

#include "engine/base/text.h"
#include "jobs/webhooks/signature.h"

enum { VAULT_KEY_BYTES = 32, VAULT_KEYS_MAX = 4 };

struct vault {
	size_t        count;                                 /* 0: secrets are kept in plain words */
	unsigned char keys[VAULT_KEYS_MAX][VAULT_KEY_BYTES]; /* the first key seals, each of them opens */
};

/* Reads one more key: the file's first line is 32 bytes in base64. false: `why` says what is wrong. */
bool vault_read(struct vault *v, const char *file, char *why, size_t why_size) MUST_CHECK;
void vault_fini(struct vault *v);
/* Appends the text that is kept in the database. */
void vault_seal(const struct vault *v, const char *webhook_id, const char *secret, struct text *to);
/* false: the secret was sealed by another key or for another webhook, or there is no key here. */
bool vault_open(const struct vault *v, const char *webhook_id, const char *kept, char to[SECRET_SIZE]) MUST_CHECK;

#endif
