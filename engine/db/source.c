/* source.c - see source.h. Its parts are set before there are threads, or are atomic. */
#include "engine/db/source.h"
#include "engine/base/memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

struct source {
	struct db_target     hosts[DB_HOSTS_MAX];
	size_t               count;
	_Atomic size_t       at;
	_Atomic unsigned     moves;
	_Atomic bool         is_cluster;
	pthread_mutex_t      lock;    /* of what follows up to node */
	int                 *sockets; /* of open connections, where there are several hosts */
	size_t               sockets_count, sockets_max;
	struct node          node;
	int                  schema; /* 0: any */
	struct source_memory memory;
	_Atomic(char *)      other_schema;
	_Atomic uint64_t     mark;

	struct source_storage storage;
};

struct source *source_new(const struct db_target *target)
{
	struct source *s = mem_alloc(sizeof(*s));

	pthread_mutex_init(&s->lock, NULL);
	s->count = target->hosts_count ? target->hosts_count : 1;
	for (size_t i = 0; i < s->count; i++) {
		const struct db_host *host = &target->hosts[i];

		s->hosts[i] = *target;
		s->hosts[i].hosts_count = 0;
		if (s->count == 1)
			break;
		memcpy(s->hosts[i].host, host->name, sizeof(host->name));
		s->hosts[i].port = host->port;
		if (host->port == target->port && strcmp(host->name, target->host) == 0)
			s->at = i;
	}
	return s;
}

void source_free(struct source *s)
{
	if (!s)
		return;
	assert(s->sockets_count == 0);
	free(s->sockets);
	free(s->other_schema);
	pthread_mutex_destroy(&s->lock);
	explicit_bzero(s->hosts, sizeof(s->hosts)); /* the password */
	free(s);
}

const struct db_target *source_target(const struct source *s)
{
	return &s->hosts[atomic_load(&s->at)];
}

/* ---- several hosts */

size_t source_hosts(const struct source *s)
{
	return s->count;
}

const struct db_target *source_host(const struct source *s, size_t i)
{
	assert(i < s->count);
	return &s->hosts[i];
}

size_t source_at(const struct source *s)
{
	return atomic_load(&s->at);
}

void source_move(struct source *s, size_t i)
{
	assert(i < s->count);
	pthread_mutex_lock(&s->lock);
	atomic_store(&s->at, i);
	atomic_fetch_add(&s->moves, 1);
	for (size_t k = 0; k < s->sockets_count; k++)
		shutdown(s->sockets[k], SHUT_RDWR);
	pthread_mutex_unlock(&s->lock);
}

unsigned source_moves(const struct source *s)
{
	return atomic_load(&s->moves);
}

bool source_enter(struct source *s, unsigned moves, int fd, int *kept)
{
	*kept = -1;
	if (s->count == 1)
		return true;
	pthread_mutex_lock(&s->lock);
	if (moves == s->moves)
		*kept = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (*kept >= 0) {
		s->sockets = mem_reach(s->sockets, s->sockets_count, &s->sockets_max, sizeof(*s->sockets));
		s->sockets[s->sockets_count++] = *kept;
	}
	pthread_mutex_unlock(&s->lock);
	return *kept >= 0;
}

void source_leave(struct source *s, int kept)
{
	if (kept < 0)
		return;
	pthread_mutex_lock(&s->lock);
	for (size_t k = 0; k < s->sockets_count; k++)
		if (s->sockets[k] == kept)
			s->sockets[k--] = s->sockets[--s->sockets_count];
	close(kept);
	pthread_mutex_unlock(&s->lock);
}

void source_node_set(struct source *s, const struct node *node)
{
	pthread_mutex_lock(&s->lock);
	s->node = *node;
	if (*node->name)
		atomic_store(&s->is_cluster, true);
	pthread_mutex_unlock(&s->lock);
}

void source_node(struct source *s, struct node *node)
{
	pthread_mutex_lock(&s->lock);
	*node = s->node;
	pthread_mutex_unlock(&s->lock);
}

const _Atomic bool *source_cluster(const struct source *s)
{
	return &s->is_cluster;
}

struct source_storage *source_storage(struct source *s)
{
	return &s->storage;
}

/* ---- its schema, its past */

void source_schema_set(struct source *s, int version)
{
	s->schema = version;
}

int source_schema(const struct source *s)
{
	return s->schema;
}

const char *source_other_schema(const struct source *s)
{
	return atomic_load(&s->other_schema);
}

void source_other_schema_set(struct source *s, const char *words)
{
	char *none = NULL, *copy = mem_copy(words);

	if (!atomic_compare_exchange_strong(&s->other_schema, &none, copy))
		free(copy);
}

void source_memory_set(struct source *s, struct source_memory memory)
{
	assert(!memory.compare || !s->memory.compare);
	s->memory = memory;
}

struct source_memory source_memory(const struct source *s)
{
	return s->memory;
}

uint64_t source_mark_swap(struct source *s, uint64_t mark)
{
	return atomic_exchange(&s->mark, mark);
}
