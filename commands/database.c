/* database.c - see database.h. A command waits for its database, and refuses a database with another schema than its
 * own. */
#include "commands/database.h"
#include "commands/options.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/db/checks.h"
#include "engine/db/writer.h"
#include "jobs/stop.h"
#include "schema/migrate.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* HOST_S: longest silence of a host, if there are several, while it is asked for its settings. */
enum { START_WAIT_MS = 30000, SILENT_MS = 5000, HOST_S = 3, NODES_APART_MS = 500 };

static struct source *source_named(const char *url)
{
	struct db_target target;
	struct source   *source = NULL;
	char             why[512];

	if (!db_target_parse(&target, url, why, sizeof(why)))
		say("--db: %s", why);
	else if (!option_text(OPTION_db_password_file) ||
	         option_secret_line(OPTION_db_password_file, target.password, sizeof(target.password)))
		source = source_new(&target);
	explicit_bzero(&target, sizeof(target));
	return source;
}

static int source_open(struct database *database, enum embedded_use use)
{
	const char *url = option_text(OPTION_db);
	char        why[512];
	int         status;

	if (url) {
		database->source = source_named(url);
		return database->source ? EXIT_DONE : EXIT_CONFIG;
	}
	embedded_pool(option_count(OPTION_buffer_pool, 0));
	status = embedded_open(&database->embedded, option_text(OPTION_data), use, why, sizeof(why));
	if (status != EXIT_DONE)
		return say_status(status, "%s", why);
	database->source = source_new(embedded_target(database->embedded));
	embedded_tells(database->embedded, database->source);
	snprintf(source_storage(database->source)->folder, sizeof(source_storage(database->source)->folder), "%s",
	         embedded_files(database->embedded));
	return EXIT_DONE;
}

/* ---- a silent database: a line in the log says once that the command waits for it */

struct silence {
	struct stop          over;
	const struct source *source;
	pthread_t            thread;
	bool                 watched;
};

static void *silence_tell(void *arg)
{
	struct silence *s = arg;
	struct text     hosts = {0};

	if (stop_wait(&s->over, SILENT_MS))
		return NULL;
	for (size_t i = 0; i < source_hosts(s->source); i++) {
		const struct db_target *t = source_host(s->source, i);

		text_add(&hosts, i ? "," : "");
		if (*t->host)
			text_format(&hosts, "%s:%u", t->host, t->port);
		else
			text_add(&hosts, t->socket);
	}
	log_event(LOG_WARN, "database_silent", "host=%s seconds=%d hint=\"it did not answer; it is waited for\"",
	          hosts.data, SILENT_MS / 1000);
	text_fini(&hosts);
	return NULL;
}

static void silence_begin(struct silence *s, const struct source *source)
{
	*s = (struct silence){.source = source};
	stop_init(&s->over);
	s->watched = pthread_create(&s->thread, NULL, silence_tell, s) == 0;
}

static void silence_end(struct silence *s)
{
	stop_now(&s->over);
	if (s->watched)
		pthread_join(s->thread, NULL);
	stop_fini(&s->over);
}

/* ---- waiting for it */

/* The service blocks signals while it starts: a signal that came meanwhile is pending. In workers and other commands a
 * thread takes the signals. */
static bool asked_to_end(void)
{
	sigset_t pending;

	return stop_was_signalled() ||
	       (sigpending(&pending) == 0 && (sigismember(&pending, SIGTERM) || sigismember(&pending, SIGINT)));
}

static bool wait_for(struct db *db)
{
	int64_t until = clock_ms() + START_WAIT_MS;

	while (!db_connect(db)) {
		if (db_refused(db) || db_misfits(db) || db_has_answered_other(db) || clock_ms() > until ||
		    asked_to_end())
			return false;
		usleep(200000);
	}
	return true;
}

/* Chooses the first host that serves, if there are several. A single host is connected to later. */
static bool host_choose(struct database *database)
{
	struct text why = {0};
	int64_t     until = clock_ms() + START_WAIT_MS;
	bool        found;

	if (source_hosts(database->source) == 1)
		return true;
	while (!(found = cluster_choose(database->source, &why)) && clock_ms() < until && !asked_to_end()) {
		text_reset(&why);
		usleep(200000);
	}
	if (!found)
		say("no host of the database serves:\n%.*s", (int)why.len - 1, why.data);
	text_fini(&why);
	return found;
}

void database_watch(struct database *database)
{
	database->cluster = cluster_open(database->source);
}

/* Settings and clocks of every host. */
static void hosts_examine(struct database *database, struct db *db)
{
	struct text *all = &database->findings;
	int64_t      least_ms = INT64_MAX, most_ms = INT64_MIN;

	if (source_hosts(database->source) == 1) {
		db_doctor(db, all);
		return;
	}
	for (size_t i = 0; i < source_hosts(database->source); i++) {
		const struct db_target *t = source_host(database->source, i);
		struct db              *one = db_new_alone(t);
		struct text             found = {0};
		int64_t                 ahead_ms = 0;

		db_silence_set(one, HOST_S);
		if (!db_connect(one)) {
			text_format(all, "%s:%u could not be asked for its settings: %s\n", t->host, t->port,
			            db_error(one));
		} else {
			db_doctor(one, &found);
			for (char *line = found.data, *end; line && *line; line = end + 1) {
				end = strchr(line, '\n');
				text_format(all, "%s:%u: %.*s\n", t->host, t->port, (int)(end - line), line);
			}
			if (db_clock_ahead(one, &ahead_ms) == DB_OK) {
				least_ms = ahead_ms < least_ms ? ahead_ms : least_ms;
				most_ms = ahead_ms > most_ms ? ahead_ms : most_ms;
			}
		}
		text_fini(&found);
		db_free(one);
	}
	if (most_ms > least_ms && most_ms - least_ms > NODES_APART_MS)
		text_format(all,
		            "the clocks of the nodes are %lld ms apart; they should be within %d ms, for leases and "
		            "holds are timed by them\n",
		            (long long)(most_ms - least_ms), NODES_APART_MS);
}

static int not_there(const struct db *db)
{
	if (db_has_answered_other(db))
		return say_status(EXIT_UNAVAILABLE, "%s", db_error(db));
	return say_status(EXIT_UNAVAILABLE, "the database is not there: %s", db_error(db));
}

static int schema_look(struct database *database, struct db *db)
{
	struct db *own;
	char       why[512];
	int        status = EXIT_DONE;

	if (database->embedded && !schema_migrate(db, why, sizeof(why)))
		return say_status(schema_refused() ? EXIT_CONFIG : EXIT_UNAVAILABLE, "%s", why);
	source_schema_set(database->source, schema_latest());
	own = db_new(database->source);
	if (!wait_for(own))
		status = db_misfits(own) ? say_status(EXIT_CONFIG, "%s", db_error(own)) : not_there(own);
	db_free(own);
	return status;
}

/* Chooses the host and connects. */
static bool reached(struct database *database, struct db **db)
{
	struct silence silence;
	bool           reached;

	*db = NULL;
	silence_begin(&silence, database->source);
	reached = host_choose(database);
	if (reached) {
		*db = db_new(database->source);
		reached = wait_for(*db);
	}
	silence_end(&silence);
	return reached;
}

int database_open(struct database *database, enum embedded_use use, bool migrates)
{
	struct db *db;
	int        status;

	*database = (struct database){0};
	status = source_open(database, use);
	if (status != EXIT_DONE)
		return status;
	if (!reached(database, &db) && !db)
		return database_close(database, EXIT_UNAVAILABLE);
	if (!db_connected(db)) {
		status = say_status(EXIT_UNAVAILABLE, "%s: %s",
		                    db_refused(db) ? "the database refuses the user of these options"
		                                   : "the database is not there",
		                    db_error(db));
	} else {
		cluster_look(database->source, db);
		hosts_examine(database, db);
		for (size_t i = 0; i < database->findings.len; i++)
			if (database->findings.data[i] == '\n')
				database->findings.data[i] = '\0';
		status = migrates ? EXIT_DONE : schema_look(database, db);
	}
	db_free(db);
	return status == EXIT_DONE ? EXIT_DONE : database_close(database, status);
}

const char *database_finding(const struct database *database, const char *before)
{
	const struct text *all = &database->findings;
	const char        *next = before ? before + strlen(before) + 1 : all->data;

	return all->len > 0 && next < all->data + all->len ? next : NULL;
}

int database_close(struct database *database, int status)
{
	const char *other_schema = source_other_schema(database->source);

	cluster_close(database->cluster);
	if (other_schema && status != EXIT_DONE && status != EXIT_CONFIG)
		status = say_status(EXIT_CONFIG, "%s", other_schema);
	if (database->embedded)
		embedded_close(database->embedded);
	source_free(database->source);
	text_fini(&database->findings);
	*database = (struct database){0};
	return status;
}

struct db *database_connect(const struct database *database)
{
	struct db *db = db_new(database->source);

	if (db_connect(db))
		return db;
	if (!db_other_schema(db))
		say("the database is not there: %s", db_error(db));
	db_free(db);
	return NULL;
}

int database_run(enum embedded_use use, bool migrates, int (*act)(struct db *db, void *arg), void *arg)
{
	struct database database;
	struct db      *db;
	int             status = database_open(&database, use, migrates);

	if (status != EXIT_DONE)
		return status;
	db = database_connect(&database);
	if (!db)
		return database_close(&database, EXIT_UNAVAILABLE);
	status = act(db, arg);
	if (status == EXIT_UNAVAILABLE && !db_other_schema(db))
		say("the database did not do it: %s", db_error(db));
	writer_leave(db);
	db_free(db);
	return database_close(&database, status);
}
