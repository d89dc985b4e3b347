/* hash.c - see hash.h. */
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"

#include <errno.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

void random_bytes(void *data, size_t len)
{
	if (getrandom(data, len, 0) != (ssize_t)len) {
		log_event(LOG_ERROR, "no_random", "errno=%d", errno);
		_exit(EXIT_TROUBLE);
	}
}

int64_t random_number(void)
{
	int64_t n;

	random_bytes(&n, sizeof(n));
	return n & INT64_MAX ? n & INT64_MAX : 1;
}

static uint64_t       hash_seed;
static EVP_MD        *sha256_method;
static pthread_key_t  sha256_context; /* an EVP_MD_CTX of each thread */
static char           mark[17];
static pthread_once_t hash_once = PTHREAD_ONCE_INIT;

static void context_free(void *context)
{
	EVP_MD_CTX_free(context);
}

static void hash_start(void)
{
	random_bytes(&hash_seed, sizeof(hash_seed));
	sha256_method = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (pthread_key_create(&sha256_context, context_free) != 0)
		mem_end();
	snprintf(mark, sizeof(mark), "%016llx", (unsigned long long)random_number());
}

const char *process_mark(void)
{
	pthread_once(&hash_once, hash_start);
	return mark;
}

uint64_t hash_bytes(const void *data, size_t len)
{
	const unsigned char *at = data;
	uint64_t             h;

	pthread_once(&hash_once, hash_start);
	h = 0xcbf29ce484222325u ^ hash_seed;
	for (size_t i = 0; i < len; i++)
		h = (h ^ at[i]) * 0x100000001b3u;
	return h ^ h >> 32;
}

uint32_t hash_stable(const void *data, size_t len)
{
	const unsigned char *at = data;
	uint32_t             h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ at[i]) * 16777619u;
	return h;
}

/* To look for the method at each call, as EVP_sha256() does, and to make a context for it, takes longer than the digest
 * of a short text. */
void sha256(const void *data, size_t len, unsigned char digest[SHA256_BYTES])
{
	EVP_MD_CTX *context;

	pthread_once(&hash_once, hash_start);
	assert(sha256_method);
	context = pthread_getspecific(sha256_context);
	if (!context) {
		context = EVP_MD_CTX_new();
		if (!context || pthread_setspecific(sha256_context, context) != 0)
			mem_end();
	}
	if (!EVP_DigestInit_ex(context, sha256_method, NULL) || !EVP_DigestUpdate(context, data, len) ||
	    !EVP_DigestFinal_ex(context, digest, NULL))
		mem_end();
}
