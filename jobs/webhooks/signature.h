/* signature.h - secrets and signatures of webhooks (Standard Webhooks 1.0, "Signature scheme"). Any thread. */
#ifndef SIGNATURE_H
#define SIGNATURE_H

#include "engine/base/text.h"

/* SECRET_SIZE: the longest secret and its NUL. SECRETS: the most secrets that sign one delivery. */
enum { SECRET_SIZE = 96, SECRETS = 3 };

/* A new secret: whsec_ and 32 random bytes in base64. */
void secret_make(char to[SECRET_SIZE]);

/* Appends the value of webhook-signature: one v1 for each secret that is not NULL, divided by one space. `timestamp` is
 * the time of the attempt in whole seconds. False, and nothing is added: there is no secret, or one is not valid. A
 * secret is whsec_ and 24 to 64 bytes in base64 (RFC 4648, section 4), in its one canonical form. */
bool signature_write(struct text *to, const char *const secrets[SECRETS], const char *id, int64_t timestamp,
                     const void *body, size_t len) MUST_CHECK;

#endif
