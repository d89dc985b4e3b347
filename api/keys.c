/* keys.c - see keys.h. The units that keys hold are in key_limit.c. */
#include "api/keys.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"

#include <openssl/crypto.h>
#include <sys/stat.h>

enum { TOKEN_MAX = 256, LOOK_MS = 400 };

#define DAY_MS  INT64_C(86400000)
#define SOON_MS (7 * DAY_MS) /* a key that expires within this time is told in the log, once a day */

/* ---- the set of keys */

static struct key *key_by_name(const struct keys *k, const char *name)
{
	for (size_t i = 0; i < k->count; i++)
		if (strcmp(k->all[i]->name, name) == 0)
			return k->all[i];
	return NULL;
}

static struct secret *secret_by_digest(const struct keys *k, const struct key *key, const uint8_t *digest)
{
	for (size_t i = 0; i < k->secrets_count; i++)
		if (k->secrets[i]->key == key && memcmp(k->secrets[i]->digest, digest, DIGEST_SIZE) == 0)
			return k->secrets[i];
	return NULL;
}

static void secret_take(struct keys *k, struct key *key, const uint8_t *digest, bool old, int64_t until)
{
	struct secret *s = secret_by_digest(k, key, digest);

	if (!s) {
		k->secrets = mem_reach(k->secrets, k->secrets_count, &k->secrets_max, sizeof(*k->secrets));
		s = k->secrets[k->secrets_count++] = mem_alloc(sizeof(*s));
		s->key = key;
		memcpy(s->digest, digest, DIGEST_SIZE);
	}
	assert(s->key == key);
	s->known = true;
	s->old = old;
	s->until = until == TIME_NONE ? INT64_MAX : until;
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
	if (key->line.expires != line->expires)
		key->told_at = 0, key->told_over = false;
	key->counted &= key->active && key->line.held > 0;
	key->line = *line;
	key->active = true;
	k->limited += line->held > 0;
	secret_take(k, key, line->digest, false, line->expires);
	if (line->old_until != TIME_NONE)
		secret_take(k, key, line->old, true, line->old_until);
}

static void list_take(struct keys *k, const struct key_list *list)
{
	for (size_t i = 0; i < k->count; i++)
		k->all[i]->active = key_list_find(list, k->all[i]->name) && k->all[i]->active;
	for (size_t i = 0; i < k->secrets_count; i++)
		k->secrets[i]->known = false;
	k->limited = 0;
	for (size_t i = 0; i < list->count; i++)
		key_take(k, &list->keys[i]);
	assert(k->limited <= k->count);
	k->reads++;
}

static struct key_stamp stamp_of(const char *file)
{
	struct stat st;

	if (stat(file, &st) != 0)
		return (struct key_stamp){0};
	return (struct key_stamp){.device = st.st_dev,
	                          .inode = st.st_ino,
	                          .size = st.st_size,
	                          .changed_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec,
	                          .marked_ns = st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec};
}

static bool stamps_equal(const struct key_stamp *a, const struct key_stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size && a->changed_ns == b->changed_ns &&
	       a->marked_ns == b->marked_ns;
}

static bool keys_read(struct keys *k, size_t *count, char *why, size_t why_size)
{
	struct key_list list;

	k->read = stamp_of(k->file); /* a change that comes from now on is another stamp */
	if (!key_file_read(&list, k->file, why, why_size))
		return false;
	pthread_mutex_lock(&k->lock);
	list_take(k, &list);
	pthread_mutex_unlock(&k->lock);
	*count = list.count;
	key_list_fini(&list);
	return true;
}

struct keys *keys_open(const char *file, char *why, size_t why_size)
{
	struct keys *k = mem_alloc(sizeof(*k));
	size_t       count;

	k->file = file;
	k->now = clock_wall_ms();
	pthread_mutex_init(&k->lock, NULL);
	if (keys_read(k, &count, why, why_size))
		return k;
	keys_free(k);
	return NULL;
}

bool keys_reload(struct keys *k)
{
	char   why[400];
	size_t count;

	if (!k)
		return false;
	if (keys_read(k, &count, why, sizeof(why)))
		log_event(LOG_INFO, "keys_read", "file=\"%s\" keys=%zu", k->file, count);
	else
		log_event(LOG_ERROR, "keys_kept", "why=\"%s\"", why);
	return true;
}

/* Reads the file when two looks have found it as it is now, and not as it was read: a program that writes it in pieces
 * has half a second for that. */
static void file_look(struct keys *k)
{
	struct key_stamp now = stamp_of(k->file);
	bool             settled = stamps_equal(&now, &k->seen);

	k->seen = now;
	if (settled && !stamps_equal(&now, &k->read))
		(void)!keys_reload(k);
}

static void expiry_tell(struct key *key, int64_t now)
{
	int64_t     expires = key->line.expires;
	struct text at = {0};

	if (!key->active || expires == TIME_NONE || expires - now > SOON_MS || key->told_over ||
	    (now < expires && now - key->told_at < DAY_MS))
		return;
	time_write(&at, expires);
	key->told_at = now;
	key->told_over = now >= expires;
	log_event(LOG_WARN, key->told_over ? "key_expired" : "key_expires", "key=%s at=%s hint=\"%s\"", key->name,
	          at.data, "`holdfast key rotate` gives it a new secret and another time");
	text_fini(&at);
}

void keys_tick(struct keys *k)
{
	int64_t now = clock_wall_ms();
	bool    looks = k && clock_due(&k->look_ms, LOOK_MS);

	if (!k)
		return;
	if (looks)
		file_look(k);
	pthread_mutex_lock(&k->lock);
	k->now = now;
	for (size_t i = 0; looks && i < k->count; i++)
		expiry_tell(k->all[i], now);
	pthread_mutex_unlock(&k->lock);
}

void keys_free(struct keys *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->secrets_count; i++)
		free(k->secrets[i]);
	free(k->secrets);
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

/* Finds the secret. Every secret is compared to its end, so the time does not tell how near a guess came. */
static struct secret *secret_of(const struct keys *k, const char *authorization)
{
	const char    *token = bearer(authorization);
	size_t         len = token ? strlen(token) : 0;
	uint8_t        digest[DIGEST_SIZE];
	struct secret *found = NULL;

	if (len == 0 || len > TOKEN_MAX)
		return NULL;
	key_digest(digest, token, len);
	for (size_t i = 0; i < k->secrets_count; i++)
		if (CRYPTO_memcmp(digest, k->secrets[i]->digest, DIGEST_SIZE) == 0 && k->secrets[i]->known)
			found = k->secrets[i];
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

/* Finds the secret and counts its use. OUTCOME_OK, UNAUTHORIZED or KEY_EXPIRED. */
static enum outcome secret_find(struct keys *k, const char *authorization, struct secret **secret)
{
	if (!*secret || !(*secret)->known)
		*secret = secret_of(k, authorization);
	if (!*secret)
		return UNAUTHORIZED;
	if ((*secret)->until <= k->now) {
		*secret = NULL;
		return KEY_EXPIRED;
	}
	(*secret)->used = (*secret)->key->used = k->now;
	return OUTCOME_OK;
}

enum outcome keys_verdict(struct keys *k, const char *authorization, enum callers callers, struct secret **secret,
                          unsigned *roles)
{
	enum outcome outcome;

	*roles = 0;
	if (callers == ANY_CALLER) {
		*secret = NULL;
		return OUTCOME_OK;
	}
	pthread_mutex_lock(&k->lock);
	outcome = secret_find(k, authorization, secret);
	if (*secret)
		*roles = (*secret)->key->line.roles;
	pthread_mutex_unlock(&k->lock);
	if (outcome != OUTCOME_OK)
		return outcome;
	return *roles & callers ? OUTCOME_OK : FORBIDDEN;
}

void keys_each(struct keys *k, void (*tell)(void *arg, const struct secret *secret), void *arg)
{
	if (!k)
		return;
	pthread_mutex_lock(&k->lock);
	for (size_t i = 0; i < k->secrets_count; i++)
		if (k->secrets[i]->known)
			tell(arg, k->secrets[i]);
	pthread_mutex_unlock(&k->lock);
}
