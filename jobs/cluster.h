/* cluster.h - which of several hosts a process uses, and what it knows of the node there. */
#ifndef CLUSTER_H
#define CLUSTER_H

#include "engine/base/text.h"
#include "engine/db/source.h"

/* Looks at the hosts from the present one on, and moves the source to the first that answers a causal read and is
 * primary. false: there is none; `why` has a line with the state of each. Any thread, while no other one moves the
 * source. */
bool cluster_choose(struct source *source, struct text *why) MUST_CHECK;
/* Reads the node behind a connection of the source. */
void cluster_look(struct source *source, struct db *db);
/* "HOST:PORT, node NAME, STATE of SIZE nodes", of the host that the process uses. */
void cluster_words(struct source *source, struct text *to);

/* Looks once a second whether the host commits, and moves the source when it does not and another host does; see
 * cluster.c for the rule. It has a thread for each host. NULL: there is one host, which is no node of a cluster, and so
 * no thread. */
struct cluster *cluster_open(struct source *source);
void            cluster_close(struct cluster *c); /* NULL is fine */

#endif
