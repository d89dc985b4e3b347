/* keys.c - see keys.h. The units that keys hold are in key_limit.c. */
#include "api/keys.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_MAX = 256 };

/* ---- the set of keys */

static struct key *key_by_name(const struct keys *k, const char *name)
{
	for (size_t i = 0; i < k->count; i++)
		if (strcmp(k->all[i]->name, name) == 0)
			return k->all[i];
	return NULL;
}

static void key_take(struct keys *k, const struct key_line *line)
{
	struct key *key = key_by_name(k, line->name);

	if (!key) {
		k->all = mem_reach(k->all, k->count, &k->max, sizeof(*k->all));
		key = k->all[k->count++] = mem_alloc(sizeof(*key));
		strcpy(key->name, line->name);
		key->key_id = line->key_id;
	}
	assert(key->key_id == line->key_id);
	key->counted &= key->active && key->line.held > 0;
	key->line = *line;
	key->active = true;
	k->limited += line->held > 0;
}

static bool keys_read(struct keys *k, char *why, size_t why_size)
{
	struct key_list list;

	if (!key_file_read(&list, k->file, why, why_size))
		return false;
	pthread_mutex_lock(&k->lock);
	for (size_t i = 0; i < k->count; i++)
		k->all[i]->active = key_list_find(&list, k->all[i]->name) && k->all[i]->active;
	k->limited = 0;
	for (size_t i = 0; i < list.count; i++)
		key_take(k, &list.keys[i]);
	assert(k->limited <= k->count);
	k->reads++;
	pthread_mutex_unlock(&k->lock);
	key_list_fini(&list);
	return true;
}

struct keys *keys_open(const char *file, char *why, size_t why_size)
{
	struct keys *k = mem_alloc(sizeof(*k));

	k->file = file;
	pthread_mutex_init(&k->lock, NULL);
	if (keys_read(k, why, why_size))
		return k;
	keys_free(k);
	return NULL;
}

bool keys_reload(struct keys *k)
{
	char why[400];

	if (!k)
		return false;
	if (keys_read(k, why, sizeof(why)))
		log_event(LOG_INFO, "keys_read", "file=\"%s\"", k->file);
	else
		log_event(LOG_ERROR, "keys_kept", "why=\"%s\"", why);
	return true;
}

void keys_free(struct keys *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->count; i++)
		free(k->all[i]);
	free(k->all);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

/* ---- a request */

/* The text behind `Bearer `; NULL: another scheme, or nothing. */
static const char *bearer(const char *authorization)
{
	static const char scheme[] = "Bearer ";

	if (!authorization || strncasecmp(authorization, scheme, strlen(scheme)) != 0)
		return NULL;
	authorization += strlen(scheme);
	return authorization + strspn(authorization, " ");
}

/* Finds the key. Every key is compared to its end, so the time does not tell how near a guess came. */
static struct key *key_of(const struct keys *k, const char *authorization)
{
	const char *token = bearer(authorization);
	size_t      len = token ? strlen(token) : 0;
	uint8_t     digest[DIGEST_SIZE];
	struct key *found = NULL;

	if (len == 0 || len > TOKEN_MAX)
		return NULL;
	key_digest(digest, token, len);
	for (size_t i = 0; i < k->count; i++)
		if (CRYPTO_memcmp(digest, k->all[i]->line.digest, DIGEST_SIZE) == 0 && k->all[i]->active)
			found = k->all[i];
	return found;
}

/* A bucket of rps tokens that fills in a second, kept as the time at which it is full: each request takes the time of
 * one token. */
static bool turn_take(struct key *key)
{
	int64_t now_ns = clock_us() * 1000, token_ns;

	if (key->line.rps == 0)
		return true;
	token_ns = INT64_C(1000000000) / key->line.rps;
	if (key->next_ns < now_ns)
		key->next_ns = now_ns;
	if (key->next_ns - now_ns > token_ns * (key->line.rps - 1))
		return false;
	key->next_ns += token_ns;
	return true;
}

bool key_takes_turn(struct keys *k, struct key *key)
{
	bool takes;

	pthread_mutex_lock(&k->lock);
	takes = turn_take(key);
	pthread_mutex_unlock(&k->lock);
	return takes;
}

enum outcome keys_verdict(struct keys *k, const char *authorization, enum callers callers, struct key **key,
                          unsigned *roles)
{
	*roles = 0;
	if (callers == ANYBODY) {
		*key = NULL;
		return OUTCOME_OK;
	}
	pthread_mutex_lock(&k->lock);
	if (!*key || !(*key)->active)
		*key = key_of(k, authorization);
	if (*key)
		*roles = (*key)->line.roles;
	pthread_mutex_unlock(&k->lock);
	if (!*key)
		return UNAUTHORIZED;
	return *roles & callers ? OUTCOME_OK : FORBIDDEN;
}
