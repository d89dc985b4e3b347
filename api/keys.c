/* keys.c - see keys.h. What keys hold is in held.c. */
#include "api/keys.h"
#include "api/http.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/loop.h"

#include <openssl/crypto.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_WAIT_MS = 10000, POLL_MS = 100, TOKEN_MAX = 256 };

/* ---- the set of keys */

static struct key *key_by_name(const struct keys *k, const char *name)
{
	for (size_t i = 0; i < k->count; i++)
		if (strcmp(k->all[i]->line.name, name) == 0)
			return k->all[i];
	return NULL;
}

static void key_take(struct keys *k, const struct key_line *line)
{
	struct key *key = key_by_name(k, line->name);

	if (!key) {
		k->all = mem_reach(k->all, k->count, &k->max, sizeof(*k->all));
		key = k->all[k->count++] = mem_alloc(sizeof(*key));
	}
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
	for (size_t i = 0; i < k->count; i++)
		k->all[i]->active = key_list_find(&list, k->all[i]->line.name) && k->all[i]->active;
	k->limited = 0;
	for (size_t i = 0; i < list.count; i++)
		key_take(k, &list.keys[i]);
	k->anew = true;
	k->count_next_ms = 0;
	key_list_fini(&list);
	return true;
}

struct keys *keys_open(const char *file, char *why, size_t why_size)
{
	struct keys *k = mem_alloc(sizeof(*k));

	k->file = file;
	if (keys_read(k, why, why_size))
		return k;
	keys_free(k);
	return NULL;
}

void keys_start(struct keys *k, struct engine *e, struct loop *loop)
{
	int64_t until = clock_ms() + COUNT_WAIT_MS;

	if (!k)
		return;
	k->engine = e;
	k->loop = loop;
	held_count(k);
	while (k->counting && clock_ms() < until) {
		struct pollfd p = {.fd = loop_fd(loop), .events = POLLIN};

		poll(&p, 1, POLL_MS);
		loop_run(loop);
	}
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

void keys_tick(struct keys *k)
{
	if (k && (k->anew || k->limited) && clock_ms() >= k->count_next_ms)
		held_count(k);
}

void keys_free(struct keys *k)
{
	for (size_t i = 0; k && i < k->count; i++)
		free(k->all[i]);
	if (k)
		free(k->all);
	free(k);
}

/* ---- a request */

/* What follows `Bearer `; NULL: another scheme, or nothing. */
static const char *bearer(const char *authorization)
{
	static const char scheme[] = "Bearer ";

	if (!authorization || strncasecmp(authorization, scheme, strlen(scheme)) != 0)
		return NULL;
	authorization += strlen(scheme);
	return authorization + strspn(authorization, " ");
}

/* Every key is compared whole, so that the time says nothing of which one was close. */
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
static bool rate_allows(struct key *key)
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

static bool refuse(struct request *r, enum outcome outcome, const char *detail)
{
	refusal_count(r, outcome);
	reply_problem(r, outcome_status(outcome), outcome_code(outcome), NULL, detail, NULL, NULL);
	return false;
}

/* Asked for by a page that a browser shows, of another origin than this service: the browser says so itself (Fetch
 * Metadata), an older one names the page's origin (RFC 6454). */
static bool from_another_site(struct request *r)
{
	const char *site = request_header(r, HEADER_SEC_FETCH_SITE), *origin = request_header(r, HEADER_ORIGIN);
	const char *host = request_header(r, HEADER_HOST);

	if (site)
		return strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
	if (!origin)
		return false;
	origin = strstr(origin, "://");
	return !origin || !host || strcmp(origin + 3, host) != 0;
}

/* Whoever reaches the service may call it, but no page may use a person's browser to change something here. */
static bool admit_without_keys(struct request *r, enum callers callers)
{
	if (callers == ANYBODY || callers == READERS || !from_another_site(r))
		return true;
	return refuse(r, FORBIDDEN, "a page of another origin changes nothing here");
}

bool keys_admit(struct request *r, enum callers callers)
{
	struct keys *k = service_options(request_service(r))->keys;

	if (!k)
		return admit_without_keys(r, callers);
	if (callers == ANYBODY)
		return true;
	r->key = key_of(k, request_header(r, HEADER_AUTHORIZATION));
	if (!r->key) {
		reply_header(r, "WWW-Authenticate", "Bearer");
		return refuse(r, UNAUTHORIZED, outcome_detail(UNAUTHORIZED));
	}
	if (!(r->key->line.role & callers))
		return refuse(r, FORBIDDEN, outcome_detail(FORBIDDEN));
	if (!rate_allows(r->key))
		return refuse(r, TOO_FAST, outcome_detail(TOO_FAST));
	r->audited = r->key->line.role == ROLE_ADMIN && callers != READERS;
	return true;
}

void keys_answered(const struct request *r, int status)
{
	const char *id = r->ops_count > 0 && r->ops[0] ? r->ops[0]->id : r->param;

	if (r->audited)
		log_event(LOG_INFO, "admin", "key=%s route=\"%s\" id=%s status=%d", r->key->line.name,
		          route_name(r->route), id, status);
}
