/* signature.c - see signature.h. */
#include "jobs/webhooks/signature.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#define PREFIX "whsec_"
/* 88 characters of base64 are 66 bytes before their padding is taken off. */
enum { KEY_NEW = 32, KEY_MIN = 24, KEY_MAX = 64, BASE64_MAX = 88, KEY_ROOM = 66, SHA256_SIZE = 32 };
_Static_assert(sizeof(PREFIX) + BASE64_MAX <= SECRET_SIZE, "");

void secret_make(char to[SECRET_SIZE])
{
	unsigned char key[KEY_NEW];

	random_bytes(key, sizeof(key));
	memcpy(to, PREFIX, sizeof(PREFIX));
	EVP_EncodeBlock((unsigned char *)to + strlen(PREFIX), key, sizeof(key));
	OPENSSL_cleanse(key, sizeof(key));
}

/* The length of the key; 0: the text is not a valid secret. */
static size_t key_read(unsigned char key[KEY_ROOM], const char *secret)
{
	unsigned char again[BASE64_MAX + 1];
	const char   *text;
	size_t        len;
	int           n;

	if (strncmp(secret, PREFIX, strlen(PREFIX)) != 0)
		return 0;
	text = secret + strlen(PREFIX);
	len = strlen(text);
	if (!len || len % 4 || len > BASE64_MAX)
		return 0;
	/* EVP_DecodeBlock counts padding, and skips white space at both ends. */
	n = EVP_DecodeBlock(key, (const unsigned char *)text, (int)len);
	n -= (text[len - 1] == '=') + (text[len - 2] == '=');
	if (n < KEY_MIN || n > KEY_MAX)
		return 0;
	EVP_EncodeBlock(again, key, n);
	return CRYPTO_memcmp(again, text, len) == 0 ? (size_t)n : 0;
}

static void signature_add(struct text *to, const unsigned char *key, size_t key_len, const struct text *content)
{
	unsigned char mac[SHA256_SIZE];

	if (!HMAC(EVP_sha256(), key, (int)key_len, (unsigned char *)content->data, content->len, mac, NULL))
		mem_end();
	text_add(to, "v1,");
	to->len += (size_t)EVP_EncodeBlock((unsigned char *)text_room(to, 2 * sizeof(mac)), mac, sizeof(mac));
}

bool signature_write(struct text *to, const char *const secrets[SECRETS], const char *id, int64_t timestamp,
                     const void *body, size_t len)
{
	size_t        before = to->len;
	struct text   content = {0};
	unsigned char key[KEY_ROOM];
	size_t        n = 0;

	text_format(&content, "%s.%lld.", id, (long long)timestamp);
	text_bytes(&content, body, len);
	for (int i = 0; i < SECRETS; i++) {
		if (!secrets[i])
			continue;
		n = key_read(key, secrets[i]);
		if (!n)
			break;
		if (to->len > before)
			text_char(to, ' ');
		signature_add(to, key, n, &content);
	}
	if (!n && to->data) {
		to->len = before;
		to->data[before] = '\0';
	}
	OPENSSL_cleanse(key, sizeof(key));
	text_fini(&content);
	return n != 0;
}
