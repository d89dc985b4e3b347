/* vault.c - see vault.h. A sealed secret is kept as SEALED and, in base64, the nonce, the secret and the tag. */
#include "jobs/webhooks/vault.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>

#define SEALED "sealed:"
enum { NONCE = 12, TAG = 16, SEALED_MAX = NONCE + SECRET_SIZE + TAG, LINE_BYTES = 100, KEY_LETTERS = 44 };

bool vault_read(struct vault *v, const char *file, char *why, size_t why_size)
{
	char          line[LINE_BYTES] = "";
	unsigned char bytes[LINE_BYTES];
	bool          ok;
	FILE         *in;

	if (v->count == VAULT_KEYS_MAX)
		return why_write(why, why_size, "%s is one too many: %d at most", file, VAULT_KEYS_MAX);
	in = fopen(file, "re");
	if (!in)
		return why_write(why, why_size, "cannot read %s: %s", file, strerror(errno));
	if (!fgets(line, sizeof(line), in))
		line[0] = '\0';
	fclose(in);
	line[strcspn(line, "\r\n")] = '\0';
	/* 44 letters with one = at the end are 32 bytes. EVP_DecodeBlock counts a byte for the =, too. */
	ok = strlen(line) == KEY_LETTERS && line[KEY_LETTERS - 1] == '=' && line[KEY_LETTERS - 2] != '=' &&
	     EVP_DecodeBlock(bytes, (unsigned char *)line, KEY_LETTERS) == VAULT_KEY_BYTES + 1;
	if (ok)
		memcpy(v->keys[v->count++], bytes, VAULT_KEY_BYTES);
	OPENSSL_cleanse(bytes, sizeof(bytes));
	OPENSSL_cleanse(line, sizeof(line));
	return ok || why_write(why, why_size, "the first line of %s is not 32 bytes in base64: openssl rand -base64 32",
	                       file);
}

void vault_fini(struct vault *v)
{
	OPENSSL_cleanse(v, sizeof(*v));
}

static EVP_CIPHER_CTX *cipher_new(void)
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();

	if (!c)
		mem_end();
	return c;
}

void vault_seal(const struct vault *v, const char *webhook_id, const char *secret, struct text *to)
{
	unsigned char   sealed[SEALED_MAX], *tag;
	int             len = (int)strlen(secret), n;
	EVP_CIPHER_CTX *c;
	bool            ok;

	if (v->count == 0) {
		text_add(to, secret);
		return;
	}
	assert(len < SECRET_SIZE);
	c = cipher_new();
	random_bytes(sealed, NONCE);
	tag = sealed + NONCE + len;
	ok = EVP_EncryptInit_ex(c, EVP_aes_256_gcm(), NULL, v->keys[0], sealed) == 1 &&
	     EVP_EncryptUpdate(c, NULL, &n, (const unsigned char *)webhook_id, (int)strlen(webhook_id)) == 1 &&
	     EVP_EncryptUpdate(c, sealed + NONCE, &n, (const unsigned char *)secret, len) == 1 &&
	     EVP_EncryptFinal_ex(c, tag, &n) == 1 && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG, tag) == 1;
	assert(ok);
	EVP_CIPHER_CTX_free(c);
	text_add(to, SEALED);
	text_room(to, 4 * SEALED_MAX / 3 + 4);
	to->len += (size_t)EVP_EncodeBlock((unsigned char *)to->data + to->len, sealed, NONCE + len + TAG);
}

/* `sealed`: the nonce, the secret of len bytes, the tag. */
static bool unseal(const unsigned char *key, const char *webhook_id, unsigned char *sealed, int len, char *to)
{
	EVP_CIPHER_CTX *c = cipher_new();
	int             n;
	bool            ok;

	ok = EVP_DecryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, sealed) == 1 &&
	     EVP_DecryptUpdate(c, NULL, &n, (const unsigned char *)webhook_id, (int)strlen(webhook_id)) == 1 &&
	     EVP_DecryptUpdate(c, (unsigned char *)to, &n, sealed + NONCE, len) == 1 &&
	     EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, TAG, sealed + NONCE + len) == 1 &&
	     EVP_DecryptFinal_ex(c, (unsigned char *)to + n, &n) == 1;
	to[ok ? len : 0] = '\0';
	EVP_CIPHER_CTX_free(c);
	return ok;
}

bool vault_open(const struct vault *v, const char *webhook_id, const char *kept, char to[SECRET_SIZE])
{
	unsigned char sealed[4 * SEALED_MAX];
	const char   *text = kept + strlen(SEALED);
	size_t        letters;
	int           len;
	bool          open = false;

	if (strncmp(kept, SEALED, strlen(SEALED)) != 0) {
		snprintf(to, SECRET_SIZE, "%s", kept);
		return true;
	}
	letters = strlen(text);
	if (letters < 4 || letters > sizeof(sealed))
		return false;
	len = EVP_DecodeBlock(sealed, (const unsigned char *)text, (int)letters) - NONCE - TAG;
	len -= (text[letters - 1] == '=') + (text[letters - 2] == '=');
	for (size_t i = 0; !open && len > 0 && len < SECRET_SIZE && i < v->count; i++)
		open = unseal(v->keys[i], webhook_id, sealed, len, to);
	return open;
}
