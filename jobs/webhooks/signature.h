/* signature.h - secrets and signatures of webhooks (Standard Webhooks 1.0, "Signature scheme"). Any thread. */
#ifndef SIGNATURE_H
#define SIGNATURE_H

#include "engine/base/text.h"

/* SECRET_SIZE: the longest secret and its NUL. SECRETS: that sign beside each other, at most. */
enum { SECRET_SIZE = 96, SECRETS = 3 };

/* A new secret: whsec_ and 32 random bytes in base64. */
void secret_make(char to[SECRET_SIZE]);

/* Adds the value of webhook-signature: a v1 for each secret that is there, divided by one space. `timestamp` is in
 * whole seconds, of the attempt. False, and nothing is added: there is no secret, or one of them is none. A secret is
 * whsec_ and 24 to 64 bytes in base64 (RFC 4648, section 4), written the one way that there is. */
bool signature_write(struct text *to, const char *const secrets[SECRETS], const char *id, int64_t timestamp,
                     const void *body, size_t len) MUST_CHECK;

#endif
