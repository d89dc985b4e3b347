/* cluster.c - see cluster.h.
 *
 * A prober for each host has a connection of its own, on which nothing takes longer than PROBE_S. The prober of the
 * host in use writes its row once a second. Trouble begins when that host refuses, or has not committed for MOVE_MS. In
 * trouble every prober writes, and the process moves to a host that commits: to the first of the list, if several
 * commit within GRACE_MS. If the host in use commits, the trouble is over, and the process stays: when any node dies,
 * all nodes stand still until the others agree that it is gone, and that is no reason to move. */
#include "jobs/cluster.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/base/thread.h"
#include "engine/db/db.h"
#include "jobs/stop.h"

#include <stdio.h>
#include <strings.h>

enum { PROBE_S = 2, CHOOSE_S = 3, BEAT_MS = 1000, TROUBLE_MS = 100, MOVE_MS = 2000, GRACE_MS = 200 };
enum { LOOK_MS = 5000, PAUSES = 60000 / LOOK_MS };

struct prober {
	struct cluster *cluster;
	size_t          host;
	struct db      *db;
	int64_t         mark;
	bool            beaten;                               /* the process's row is there */
	int64_t         ok_ms;                                /* the host's last commit in this trouble; 0: none */
	int64_t         look_ms;                              /* clock_ms of the next look at the node */
	int64_t         paused_ns[PAUSES], paused_at[PAUSES]; /* flow control at the last looks */
	size_t          looks;
	pthread_t       thread;
};

struct cluster {
	struct source  *source;
	struct stop     stop;
	pthread_mutex_t lock;     /* guards the fields below, and the probers' ok_ms and look_ms */
	int64_t         own_ms;   /* the last commit of the host in use */
	int64_t         found_ms; /* when the first host committed in this trouble; 0: none did */
	bool            trouble;
	bool            looking; /* the prober of the host in use looks at the node, and does not write meanwhile */
	struct prober   probers[DB_HOSTS_MAX];
	size_t          count;
};

/* ---- nodes */

struct look {
	struct node node;
	bool        on, ready;
	int64_t     paused_ns;
};

static void word_keep(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
	for (char *c = to; *c; c++)
		if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
			*c = '?';
}

static void variable_read(void *arg, const struct db_row *row)
{
	struct look *in = arg;
	const char  *name = db_word(row, 0), *value = db_word(row, 1);

	if (strcasecmp(name, "wsrep_on") == 0)
		in->on = strcasecmp(value, "ON") == 0;
	else if (strcasecmp(name, "wsrep_ready") == 0)
		in->ready = strcasecmp(value, "ON") == 0;
	else if (strcasecmp(name, "wsrep_node_name") == 0)
		word_keep(in->node.name, sizeof(in->node.name), value);
	else if (strcasecmp(name, "wsrep_local_state_comment") == 0)
		word_keep(in->node.state, sizeof(in->node.state), value);
	else if (strcasecmp(name, "wsrep_cluster_status") == 0)
		word_keep(in->node.status, sizeof(in->node.status), value);
	else if (strcasecmp(name, "wsrep_cluster_size") == 0)
		in->node.size = db_int(row, 1);
	else if (strcasecmp(name, "wsrep_flow_control_paused_ns") == 0)
		in->paused_ns = db_int(row, 1);
}

/* A server without Galera has an empty node. */
static bool node_look(struct db *db, struct look *in)
{
	*in = (struct look){0};
	if (db_ask(db, NODE_NAME, NULL, variable_read, in) != DB_OK)
		return false;
	if (!in->on) {
		in->node = (struct node){0};
		return true;
	}
	return db_ask(db, NODE_STATUS, NULL, variable_read, in) == DB_OK;
}

static bool node_serves(const struct look *in)
{
	return !in->on || (in->ready && strcmp(in->node.status, "Primary") == 0);
}

static void host_words(const struct db_target *t, struct text *to)
{
	bool brackets = strchr(t->host, ':') != NULL;

	if (*t->host)
		text_format(to, "%s%s%s:%u", brackets ? "[" : "", t->host, brackets ? "]" : "", t->port);
	else
		text_add(to, t->socket);
}

static void node_words(const struct node *node, struct text *to)
{
	if (*node->name)
		text_format(to, ", node %s, %s, %s, %lld nodes", node->name, node->state, node->status,
		            (long long)node->size);
}

void cluster_words(struct source *source, struct text *to)
{
	struct node node;

	source_node(source, &node);
	host_words(source_target(source), to);
	node_words(&node, to);
}

void cluster_look(struct source *source, struct db *db)
{
	struct look in;

	if (node_look(db, &in))
		source_node_set(source, &in.node);
}

static bool host_answers(const struct db_target *t, struct look *in, struct text *why)
{
	struct db *db = db_new_alone(t);
	bool       ok;

	db_silence_set(db, CHOOSE_S);
	host_words(t, why);
	ok = db_connect(db) && node_look(db, in);
	if (ok)
		node_words(&in->node, why);
	ok = ok && node_serves(in) && db_ask(db, NODE_WAIT, NULL, NULL, NULL) == DB_OK;
	if (!ok)
		text_format(why, ": %s\n", db_connected(db) ? "it is not primary" : db_error(db));
	db_free(db);
	return ok;
}

bool cluster_choose(struct source *source, struct text *why)
{
	size_t count = source_hosts(source), first = source_at(source);

	for (size_t i = 0; i < count; i++) {
		size_t      host = (first + i) % count;
		struct look in;

		if (host_answers(source_host(source, host), &in, why)) {
			if (i > 0)
				source_move(source, host);
			source_node_set(source, &in.node);
			return true;
		}
	}
	return false;
}

/* ---- the rule; the caller holds the lock */

static void move(struct cluster *c, size_t to)
{
	struct text from = {0}, words = {0};

	host_words(source_target(c->source), &from);
	host_words(source_host(c->source, to), &words);
	log_event(LOG_WARN, "database_moved", "from=%s to=%s silent_ms=%lld", from.data, words.data,
	          (long long)(clock_ms() - c->own_ms));
	source_move(c->source, to);
	c->probers[to].look_ms = 0;
	c->own_ms = clock_ms();
	text_fini(&from);
	text_fini(&words);
}

static void trouble_end(struct cluster *c)
{
	c->trouble = false;
	c->found_ms = 0;
	for (size_t i = 0; i < c->count; i++)
		c->probers[i].ok_ms = 0;
}

/* `refused`: the host says that it does not serve. The caller holds the lock. */
static void heard(struct prober *p, bool ok, bool refused)
{
	struct cluster *c = p->cluster;
	int64_t         now_ms = clock_ms();

	if (p->host == source_at(c->source)) {
		if (ok) {
			c->own_ms = now_ms;
			trouble_end(c);
		} else if (refused) {
			c->trouble = true;
		}
		return;
	}
	if (!ok || !c->trouble)
		return;
	p->ok_ms = now_ms;
	if (c->found_ms == 0)
		c->found_ms = now_ms;
	if (now_ms - c->found_ms < GRACE_MS)
		return;
	for (size_t i = 0; i < c->count; i++)
		if (c->probers[i].ok_ms) {
			move(c, i);
			trouble_end(c);
			return;
		}
}

/* ---- probers */

/* The share of the last minute, or of the time since the first look, that flow control took. */
static double paused(struct prober *p, int64_t ns)
{
	size_t  at = p->looks % PAUSES, oldest = p->looks < PAUSES ? 0 : at;
	int64_t now_ms = clock_ms(), passed_ms = p->looks ? now_ms - p->paused_at[oldest] : 0;
	double  share = passed_ms > 0 ? (double)(ns - p->paused_ns[oldest]) / 1e6 / (double)passed_ms : 0;

	p->paused_ns[at] = ns;
	p->paused_at[at] = now_ms;
	p->looks++;
	return share < 0 ? 0 : share;
}

static void node_see(struct prober *p, int64_t commit_us)
{
	struct look in;
	int64_t     asked_us = clock_us();

	if (db_ask(p->db, NODE_WAIT, NULL, NULL, NULL) != DB_OK || !node_look(p->db, &in))
		return;
	in.node.commit_us = commit_us;
	in.node.wait_us = clock_us() - asked_us;
	in.node.paused = paused(p, in.paused_ns);
	if (p->host == source_at(p->cluster->source))
		source_node_set(p->cluster->source, &in.node);
}

/* True: the account may not write the row. The process then cannot know whether its host commits, and stays. */
static bool probe(struct prober *p)
{
	struct cluster *c = p->cluster;
	int64_t         began_us = clock_us();
	bool            ok, looks;

	ok = (db_connected(p->db) || db_connect(p->db)) &&
	     db_ask(p->db, PROCESS_BEAT, &(struct fill){.mark = p->mark}, NULL, NULL) == DB_OK;
	if (!ok && db_connected(p->db) && db_denied(p->db))
		return true;
	p->beaten |= ok;
	pthread_mutex_lock(&c->lock);
	heard(p, ok, !ok && db_not_serving(p->db));
	looks = ok && p->host == source_at(c->source) && clock_due(&p->look_ms, LOOK_MS);
	c->looking |= looks;
	pthread_mutex_unlock(&c->lock);
	if (looks) {
		node_see(p, clock_us() - began_us);
		pthread_mutex_lock(&c->lock);
		c->looking = false;
		c->own_ms = clock_ms();
		pthread_mutex_unlock(&c->lock);
	}
	if (!ok)
		db_close(p->db);
	return false;
}

static void *prober_main(void *arg)
{
	struct prober  *p = arg;
	struct cluster *c = p->cluster;
	int64_t         pause_ms = 0;

	while (!stop_wait(&c->stop, pause_ms)) {
		bool own = p->host == source_at(c->source), trouble;

		pthread_mutex_lock(&c->lock);
		c->trouble |= !c->looking && clock_ms() - c->own_ms >= MOVE_MS;
		trouble = c->trouble;
		pthread_mutex_unlock(&c->lock);
		pause_ms = own && !trouble ? BEAT_MS : TROUBLE_MS;
		if (own || trouble) {
			if (probe(p))
				break;
		} else {
			db_close(p->db);
		}
	}
	if (p->beaten && (db_connected(p->db) || p->host == source_at(c->source)) &&
	    db_ask(p->db, PROCESS_LEAVE, &(struct fill){.mark = p->mark}, NULL, NULL) != DB_OK)
		log_event(LOG_DEBUG, "process_stays", "why=\"%s\"", db_error(p->db)); /* a sweep removes the row */
	return NULL;
}

struct cluster *cluster_open(struct source *source)
{
	struct cluster *c;
	struct node     node;
	struct text     words = {0};

	source_node(source, &node);
	if (source_hosts(source) == 1 && !*node.name)
		return NULL;
	c = mem_alloc(sizeof(*c));
	cluster_words(source, &words);
	log_event(LOG_INFO, "database", "host=\"%s\"", words.data);
	text_fini(&words);
	c->source = source;
	c->own_ms = clock_ms();
	stop_init(&c->stop);
	pthread_mutex_init(&c->lock, NULL);
	for (; c->count < source_hosts(source); c->count++) {
		struct prober *p = &c->probers[c->count];

		p->cluster = c;
		p->host = c->count;
		p->mark = random_number();
		p->db = db_new_alone(source_host(source, p->host));
		db_silence_set(p->db, PROBE_S);
		thread_start(&p->thread, prober_main, p);
	}
	return c;
}

void cluster_close(struct cluster *c)
{
	if (!c)
		return;
	stop_now(&c->stop);
	for (size_t i = 0; i < c->count; i++) {
		pthread_join(c->probers[i].thread, NULL);
		db_free(c->probers[i].db);
	}
	pthread_mutex_destroy(&c->lock);
	stop_fini(&c->stop);
	free(c);
}
