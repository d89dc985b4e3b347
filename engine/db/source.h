/* source.h - the owner of the database in a process: where it is, which schema the program needs there, and which past
 * of which database it turned out to be. Every connection of the process comes from its source (db_new), so that what
 * is decided about the database is decided once. Any thread. */
#ifndef SOURCE_H
#define SOURCE_H

#include "engine/db/url.h"

#include <stdatomic.h>

struct db;
struct source;
struct source *source_new(const struct db_target *target); /* target is copied; any schema is fine */
void           source_free(struct source *s);              /* after its last connection; NULL is fine */

/* The host that the process uses now, of those that its target names. The struct stays until source_free. */
const struct db_target *source_target(const struct source *s);

/* ---- several hosts. Only one thread moves. */
size_t                  source_hosts(const struct source *s); /* at least 1 */
const struct db_target *source_host(const struct source *s, size_t i);
size_t                  source_at(const struct source *s);
/* From now on all connections are made to host `i`, and those that are open are shut down. */
void source_move(struct source *s, size_t i);
/* A connection that is made asks for the count of moves first, and enters when it is open: false where the process has
 * moved meanwhile. *kept is a descriptor of the socket that stays when the client library closes its own, -1 where
 * there is one host; the connection hands it to source_leave at its end. For db.c alone. */
unsigned source_moves(const struct source *s);
bool     source_enter(struct source *s, unsigned moves, int fd, int *kept) MUST_CHECK;
void     source_leave(struct source *s, int kept);

/* The node behind the host, as it was seen last. */
struct node {
	char    name[64], state[32], status[32]; /* of Galera; name empty: the server is no node of a cluster */
	int64_t size;                            /* of the cluster */
	int64_t commit_us, wait_us;              /* a commit; the wait for the changes of others; 0: not measured */
	double  paused;                          /* the share of the last minute that flow control took */
};
void                source_node_set(struct source *s, const struct node *node);
void                source_node(struct source *s, struct node *node);
const _Atomic bool *source_cluster(const struct source *s); /* true: some node was seen */

/* The room for the database's files, as far as it is known: storage.h. */
struct source_storage {
	_Atomic bool    full;
	_Atomic int64_t probe_ms;    /* clock_ms of the next try */
	char            folder[512]; /* of the files; empty: it is not known. Set at the start */
};
struct source_storage *source_storage(struct source *s);

/* From now on a connection is refused unless the schema has this version; 0: any. Call it while no other thread has a
 * connection. */
void source_schema_set(struct source *s, int version);
int  source_schema(const struct source *s);
/* The error (db_error) of the first connection that found another schema; NULL: none did. A database without any schema
 * does not count: it may be restored just now. The words stay, for no program changes the schema that it needs while it
 * runs. */
const char *source_other_schema(const struct source *s);
void        source_other_schema_set(struct source *s, const char *words); /* for db.c alone */

/* A memory of rows of the database. Before a new connection is used, `compare` says whether the memory still holds;
 * false gives the connection up. One at a time; set it while no other thread has a connection. */
struct source_memory {
	bool (*compare)(void *arg, struct db *db); /* on the connection's thread; NULL: there is no memory */
	void *arg;
};
void                 source_memory_set(struct source *s, struct source_memory memory);
struct source_memory source_memory(const struct source *s);

/* Sets the mark of the database (table identity) as a connection has just read it. Returns the one that was known
 * before; 0: none was. */
uint64_t source_mark_swap(struct source *s, uint64_t mark);

#endif
