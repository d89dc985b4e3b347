/* ping.c - see ping.h. */
#include "jobs/webhooks/ping.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"
#include "engine/busy.h"
#include "engine/loop.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <stdio.h>

enum { LOOK_MS = 100, PING_ID_SIZE = 40 };

static struct ping {
	bool           taken, begun; /* taken: the place is in use; begun: its thread must be joined */
	char           webhook_id[ID_MAX + 1];
	pthread_t      thread;
	struct op     *op;
	struct sender *sender;
	char           id[PING_ID_SIZE];
	char          *url;
	char           secrets[SECRETS][SECRET_SIZE];
	struct text    body;
	struct posted  posted;
} pings[PINGS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards taken, webhook_id, begun and thread */
static _Atomic bool    stopping;

/* ---- places */

struct ping *ping_take(const char *webhook_id)
{
	struct ping *free_one = NULL;
	bool         same = false;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < PINGS; i++) {
		if (!pings[i].taken)
			free_one = &pings[i];
		else
			same |= strcmp(pings[i].webhook_id, webhook_id) == 0;
	}
	if (same)
		free_one = NULL;
	if (free_one) {
		*free_one = (struct ping){.taken = true};
		strcpy(free_one->webhook_id, webhook_id);
	}
	pthread_mutex_unlock(&lock);
	return free_one;
}

/* ping_begin holds the lock while it begins the thread, because the operation may be back before pthread_create is. */
static void thread_join(struct ping *p)
{
	bool      begun;
	pthread_t thread;

	pthread_mutex_lock(&lock);
	begun = p->begun;
	thread = p->thread;
	p->begun = false;
	pthread_mutex_unlock(&lock);
	if (begun)
		pthread_join(thread, NULL);
}

void ping_leave(struct ping *p)
{
	if (!p)
		return;
	assert(p->taken);
	thread_join(p);
	free(p->url);
	text_fini(&p->body);
	pthread_mutex_lock(&lock);
	p->taken = false;
	pthread_mutex_unlock(&lock);
}

/* ---- a ping */

static void body_write(struct ping *p, const char *by)
{
	struct json_writer w = {&p->body, false};

	snprintf(p->id, sizeof(p->id), "ping-%llx", (unsigned long long)random_number());
	json_open_object(&w, NULL);
	json_put_string(&w, "id", p->id);
	json_put_string(&w, "type", "webhook.ping");
	json_put_time(&w, "at", clock_wall_ms());
	if (*by)
		json_put_string(&w, "by", by);
	json_open_object(&w, "data");
	json_put_string(&w, "webhook_id", p->webhook_id);
	json_close_object(&w);
	json_close_object(&w);
}

/* The earlier secrets may be sealed by a key that is gone: then the others sign. */
static bool secrets_open(struct ping *p, const struct vault *v, const struct webhook *row)
{
	for (int i = 0; i < SECRETS; i++)
		if (row->secrets[i] && !vault_open(v, row->webhook_id, row->secrets[i], p->secrets[i])) {
			p->secrets[i][0] = '\0';
			if (i == 0)
				return false;
		}
	return true;
}

static void *ping_main(void *arg)
{
	struct ping  *p = arg;
	struct outbox outbox;

	outbox_init(&outbox);
	sender_post(p->sender, &(struct post){.url = p->url,
	                                      .id = p->id,
	                                      .body = p->body.data,
	                                      .len = p->body.len,
	                                      .secrets = {p->secrets[0], *p->secrets[1] ? p->secrets[1] : NULL,
	                                                  *p->secrets[2] ? p->secrets[2] : NULL}});
	while (sender_wait(p->sender, LOOK_MS, &p->posted, 1) == 0 && !atomic_load(&stopping))
		;
	if (!p->posted.status && !*p->posted.why)
		strcpy(p->posted.why, "the service ends");
	sender_free(p->sender);
	OPENSSL_cleanse(p->secrets, sizeof(p->secrets));
	outbox_put(&outbox, p->op);
	outbox_send(&outbox);
	return NULL;
}

enum outcome ping_begin(struct ping *p, const struct webhook_options *o, const struct webhook *row, const char *by,
                        struct op *op)
{
	struct sender_options options = o->sender;
	int                   error;

	if (!secrets_open(p, &o->vault, row))
		return NO_KEY_HERE;
	options.timeout_ms = PING_MS;
	p->op = op;
	p->url = mem_copy(row->url);
	p->sender = sender_new(&options);
	body_write(p, by);
	pthread_mutex_lock(&lock);
	error = pthread_create(&p->thread, NULL, ping_main, p);
	p->begun = error == 0;
	pthread_mutex_unlock(&lock);
	if (!error)
		return OUTCOME_OK;
	busy_count(BUSY_NO_THREAD, op->id);
	sender_free(p->sender);
	OPENSSL_cleanse(p->secrets, sizeof(p->secrets));
	return BUSY;
}

void ping_json(struct json_writer *w, const struct ping *p)
{
	if (p->posted.status)
		posted_json(w, &p->posted);
	else
		json_put_string(w, "error", p->posted.why);
}

void pings_stop(void)
{
	atomic_store(&stopping, true);
	for (size_t i = 0; i < PINGS; i++)
		thread_join(&pings[i]);
}
