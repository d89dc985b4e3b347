/* cluster.h - which host of several a process uses, and what it knows of the node there. */
#ifndef CLUSTER_H
#define CLUSTER_H

#include "engine/base/text.h"
#include "engine/db/source.h"

/* Looks at the hosts from the present one on, and moves the source to the first that answers a causal read and is
 * primary. false: none is; `why` has a line with the state of each. Any thread, while nobody else moves it. */
bool cluster_choose(struct source *source, struct text *why) MUST_CHECK;
/* Learns the node behind a connection of the source. */
void cluster_look(struct source *source, struct db *db);
/* "HOST:PORT, node NAME, STATE of SIZE nodes", of the host that the process uses. */
void cluster_words(struct source *source, struct text *to);

/* Looks once a second whether the host commits, and moves the source when it does not and another one does; see
 * cluster.c for the rule. Threads of its own: one for each host; none where there is one host, and that is no node of a
 * cluster (NULL). */
struct cluster *cluster_open(struct source *source);
void            cluster_close(struct cluster *c); /* NULL is fine */

#endif
