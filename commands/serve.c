/* serve.c - the command `serve`: opens the database, the engine, the jobs and the sockets, and closes them in reverse
 * order. */
#include "commands/serve.h"
#include "api/access.h"
#include "api/http/listen.h"
#include "api/http/tls.h"
#include "api/keys.h"
#include "api/notify.h"
#include "api/service.h"
#include "commands/database.h"
#include "commands/options.h"
#include "commands/terminal/bar.h"
#include "commands/webhook_options.h"
#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/db/storage.h"
#include "engine/engine.h"
#include "engine/log/keeping.h"
#include "jobs/jobs.h"
#include "jobs/levels/watch.h"
#include "jobs/pause.h"
#include "jobs/stop.h"
#include "jobs/waiting/arrival.h"
#include "jobs/waiting/pull.h"
#include "jobs/webhooks/ping.h"
#include "schema/migrate.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define PAUSED_MAX 0.1 /* share of a minute that flow control may take */

#define CREATE_ALWAYS "always" /* words of --create */
#define CREATE_NEVER  "never"

enum { LANES_WAIT_MS = 5000, CLOSE_MS = 1000 };

struct serve {
	struct database   database;
	struct engine    *engine;
	struct jobs      *jobs;
	struct watch     *watch;    /* a chore of the background thread */
	struct pull      *pull;     /* another one */
	struct arrivals  *arrivals; /* another one */
	struct keys      *keys;     /* NULL: without keys */
	struct tls       *tls;      /* NULL: plain text */
	struct listenings listen;
	struct access    *access;
	struct service   *service;
	int64_t           drained_by_ms; /* time by which every client was answered */

	struct background     *background;
	struct webhook_options webhooks;
};

static void check_write(struct json_writer *w, const char *name, bool ok, const char *detail)
{
	json_open_object(w, NULL);
	json_put_string(w, "name", name);
	json_put_string(w, "status", ok ? "ok" : "failed");
	if (detail)
		json_put_string(w, "detail", detail);
	json_close_object(w);
}

/* Findings at the start do not make the service unready: an operator has to mend them. */
static bool serve_ready(void *arg, struct text *checks)
{
	struct serve      *s = arg;
	struct json_writer w = {.to = checks};
	bool               ready = engine_ready(s->engine), full = storage_is_full(s->database.source);
	char               name[20];
	struct text        words = {0};
	struct node        node;

	source_node(s->database.source, &node);
	if (s->database.cluster)
		cluster_words(s->database.source, &words);
	json_open_array(&w, NULL);
	check_write(&w, "database", ready, ready ? words.data : "a lane has no connection");
	text_fini(&words);
	check_write(&w, "storage", !full, full ? "the database has no room to write" : NULL);
	if (*node.name)
		check_write(&w, "flow_control", node.paused <= PAUSED_MAX,
		            node.paused <= PAUSED_MAX ? NULL
		                                      : "a node that is behind has stopped all writes too often");
	for (const char *line = NULL; (line = database_finding(&s->database, line));)
		check_write(&w, "setting", false, line);
	for (enum job_name j = JOB_SETTLE; j < JOB_NAMES; j++)
		if (pause_known(j)) { /* the admin's words are for GET /v1/jobs: this call needs no key */
			snprintf(name, sizeof(name), "job %s", job_word(j));
			check_write(&w, name, true, "paused");
		}
	json_close_array(&w);
	return ready && !full;
}

static unsigned lanes_standard(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	return cores < 4 ? 1 : cores > 16 ? 8 : (unsigned)(cores / 2);
}

/* What runs inside. */
static const char *jobs_list(void)
{
	return option_given(OPTION_jobs) ? option_text(OPTION_jobs) : JOBS_NONE;
}

/* Prints four lines for a new user at a terminal; elsewhere the output is a log. The examples use the first address. */
static void banner(const struct serve *s)
{
	const char *at = s->listen.at[0].address, *scheme = s->tls ? "https" : "http";
	const char *bearer = s->keys ? " -H 'Authorization: Bearer KEY'" : "";
	bool        by_path = strncmp(at, "unix:", 5) == 0;
	struct text url = {0};

	if (!isatty(STDOUT_FILENO) ||
	    (option_given(OPTION_access_log) && strcmp(option_text(OPTION_access_log), "-") == 0))
		return; /* stdout is for other lines alone */
	if (by_path)
		text_format(&url, "--unix-socket %s ", at + 5);
	text_format(&url, "%s://%s", scheme, by_path ? "localhost" : at);
	printf("Holdfast reserves stock, never twice: units come in, orders hold them, confirm or release them.\n"
	       "  listening  ");
	for (size_t i = 0; i < s->listen.count; i++)
		printf("%s%s%s", i ? ", " : "", by_path || i ? "" : url.data,
		       by_path || i ? s->listen.at[i].address : "");
	printf("%s   database  %s   expiry  %s   stop with Ctrl-C\n"
	       "  receive    curl -s -w '\\n' %s/v1/movements%s --json "
	       "'{\"movement_id\":\"M1\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"MUG\",\"qty\":10}]}'\n"
	       "  reserve    curl -s -w '\\n' %s/v1/reservations%s --json "
	       "'{\"order_id\":\"R1\",\"lines\":[{\"sku\":\"MUG\",\"qty\":3}]}'\n",
	       by_path ? "" : " (a browser shows the console)",
	       s->database.embedded ? option_text(OPTION_data) : "yours", jobs_list_works(jobs_list()) ? "on" : "off",
	       url.data, bearer, url.data, bearer);
	fflush(stdout);
	text_fini(&url);
}

static void jobs_tell(void)
{
	if (jobs_list_settles(jobs_list()))
		log_event(
			LOG_WARN, "settles_unshipped",
			"hint=\"paid orders leave the stock as soon as they are due, whether they were shipped or not: "
			"`holdfast work settle --exec CMD` asks a program first\"");
	if (!jobs_list_works(jobs_list()))
		log_event(LOG_WARN, "no_expiry",
		          "hint=\"expired holds keep their units until an order needs them: serve --jobs=expire "
		          "somewhere\"");
}

/* Options that a running service takes over. */
static bool serve_hung_up(void *arg)
{
	static const enum option again[] = {OPTION_log_level, OPTION_slow_ms, OPTION_jobs};

	struct serve *s = arg;

	if (!options_read_again(again, LENGTH(again)))
		return option_text(OPTION_config) != NULL;
	if (!jobs_list_valid(jobs_list()) || !log_level_set(option_text(OPTION_log_level))) {
		log_event(LOG_ERROR, "reload_failed", "why=\"jobs or log_level has a value that is none\"");
		return true;
	}
	access_slow_set(s->access, option_count(OPTION_slow_ms, 0));
	jobs_set(s->jobs, jobs_list());
	jobs_tell();
	log_event(LOG_INFO, "options", "log_level=%s slow_ms=%lld jobs=%s", option_text(OPTION_log_level),
	          (long long)option_count(OPTION_slow_ms, 0), *jobs_list() ? jobs_list() : JOBS_STANDARD);
	return true;
}

static void listening_tell(const struct serve *s)
{
	const char *jobs = *jobs_list() ? jobs_list() : JOBS_STANDARD;

	for (const struct listening *at = s->listen.at; at < s->listen.at + s->listen.count; at++) {
		struct text console = {0};

		if (!at->unix_path[0])
			text_format(&console, "%s://%s/console/", s->tls ? "https" : "http", at->address);
		log_event(LOG_INFO, "listening", "address=%s lanes=%u slot=%lld jobs=%s console=%s passed=%s",
		          at->address, engine_lanes(s->engine), (long long)option_count(OPTION_slot, 0), jobs,
		          console.data, at->passed);
		text_fini(&console);
	}
}

/* A signal that comes while the database and the lanes are being opened waits until it can be answered by a drain. */
static void signals_block(bool block)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

static int doors_open(struct serve *s)
{
	struct service_options options = {.listen = &s->listen,
	                                  .body_max = (size_t)option_count(OPTION_max_body, 0),
	                                  .keys = s->keys,
	                                  .public_hosts = option_text(OPTION_public_host),
	                                  .known_only = strcmp(option_text(OPTION_create), CREATE_NEVER) == 0,
	                                  .tls = s->tls,
	                                  .webhooks = &s->webhooks,
	                                  .access = s->access,
	                                  .drain_delay_s = option_count(OPTION_drain_delay, 0),
	                                  .connections_max = (size_t)option_count(OPTION_max_connections, 0),
	                                  .buffered_max = (size_t)option_count(OPTION_max_buffered, 0),
	                                  .request_s = option_count(OPTION_request_timeout, 0),
	                                  .idle_s = option_count(OPTION_idle_timeout, 0),
	                                  .ready = serve_ready,
	                                  .hung_up = serve_hung_up,
	                                  .arg = s};
	char                   why[512];
	int                    status;

	s->service = service_open(&options, s->engine, why, sizeof(why));
	s->drained_by_ms = clock_ms() + LANES_WAIT_MS; /* for a service that did not open */
	if (!s->service)                               /* another program came first, after the addresses were bound */
		return say_status(EXIT_UNAVAILABLE, "%s", why);
	listening_tell(s);
	jobs_tell();
	banner(s);
	notify_ready();
	signals_block(false);
	status = service_run(s->service, &s->drained_by_ms);
	service_close(s->service);
	return status;
}

static bool access_configure(struct serve *s)
{
	struct access_options options = {.file = option_text(OPTION_access_log),
	                                 .slow_ms = option_count(OPTION_slow_ms, 0)};
	char                  why[512];

	s->access = access_open(&options, why, sizeof(why));
	if (!s->access)
		say("%s", why);
	return s->access != NULL;
}

static bool keys_configure(struct serve *s)
{
	char why[512];

	if (!option_text(OPTION_keys))
		return true;
	s->keys = keys_open(option_text(OPTION_keys), why, sizeof(why));
	if (s->keys)
		option_file_read(OPTION_keys, option_text(OPTION_keys));
	else
		say("%s", why);
	return s->keys != NULL;
}

static bool tls_configure(struct serve *s)
{
	const char *cert = option_text(OPTION_tls_cert), *key = option_text(OPTION_tls_key);
	char        why[1024] = "--tls-cert and --tls-key go together";

	if (!cert && !key)
		return true;
	if (cert && key)
		s->tls = tls_open(cert, key, why, sizeof(why));
	if (s->tls)
		option_secret_read(OPTION_tls_key, key);
	else
		say("%s", why);
	return s->tls != NULL;
}

/* True: names of hosts, with commas between. */
static bool names_valid(const char *names)
{
	return !names ||
	       names[strspn(names, ",-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")] == '\0';
}

struct closing {
	struct stop closed;
	int64_t     until_ms;
};

/* Ends the process with the engine still open, when every client has been answered. It does not wait for a database
 * that hangs: as after a kill -9, a transaction under way is committed as a whole or not at all. The next command takes
 * over a private server. */
static void *end_anyway(void *arg)
{
	struct closing *c = arg;

	if (stop_wait(&c->closed, c->until_ms - clock_ms()))
		return NULL;
	log_event(LOG_WARN, "ended", "status=%d why=\"the database hangs\"", EXIT_UNAVAILABLE);
	_exit(EXIT_UNAVAILABLE);
}

static void work_close(struct serve *s)
{
	struct closing closing = {.until_ms = s->drained_by_ms + CLOSE_MS};
	pthread_t      thread;
	bool           guarded;

	assert(s->engine);
	stop_init(&closing.closed);
	guarded = pthread_create(&thread, NULL, end_anyway, &closing) == 0; /* else a hung database delays the end */
	jobs_close(s->jobs);
	background_close(s->background);
	watch_free(s->watch);
	pull_free(s->pull);
	arrivals_free(s->arrivals);
	engine_close(s->engine);
	pings_stop();
	stop_now(&closing.closed);
	if (guarded)
		pthread_join(thread, NULL);
	stop_fini(&closing.closed);
}

/* Checks options before a database is made or started: a wrong option is reported at once, and leaves nothing
 * behind. */
static int serve_configure(struct serve *s)
{
	char why[512], served[512];
	int  status;

	if (option_given(OPTION_jobs) && !jobs_list_valid(option_text(OPTION_jobs)))
		return say_status(EXIT_CONFIG, "--jobs knows expire, settle, reap and deliver, or none");
	if (!names_valid(option_text(OPTION_public_host)))
		return say_status(EXIT_CONFIG, "--public-host takes names, without a scheme and a port");
	if (strcmp(option_text(OPTION_create), CREATE_ALWAYS) != 0 &&
	    strcmp(option_text(OPTION_create), CREATE_NEVER) != 0)
		return say_status(EXIT_CONFIG, "--create takes " CREATE_ALWAYS " or " CREATE_NEVER);
	if (!access_configure(s) || !keys_configure(s) || !tls_configure(s) ||
	    webhook_options_read(&s->webhooks) != EXIT_DONE)
		return EXIT_CONFIG;
	status = listen_bind(&s->listen, option_text(OPTION_listen), s->keys != NULL, why, sizeof(why));
	if (status == EXIT_DONE)
		return status;
	if (status == EXIT_UNAVAILABLE && !option_given(OPTION_db) &&
	    embedded_is_served(option_text(OPTION_data), served, sizeof(served)))
		say("%s", served); /* a running service is the reason why the port is in use, too */
	else
		say("%s", why);
	return status;
}

/* Stores --events-keep in the database, for all processes. */
static int events_keep(const struct database *database)
{
	struct db     *db;
	enum db_result result;

	if (!option_given(OPTION_events_keep))
		return EXIT_DONE;
	db = database_connect(database);
	if (!db)
		return EXIT_UNAVAILABLE;
	result = keeping_set(db, option_count(OPTION_events_keep, 0));
	if (result != DB_OK)
		say("--events-keep: %s", db_error(db));
	db_free(db);
	return result == DB_OK ? EXIT_DONE : EXIT_UNAVAILABLE;
}

/* Runs with the database open: the engine, the jobs and the sockets, until SIGTERM. */
static int serve_work(struct serve *s)
{
	struct engine_options options = {.source = s->database.source,
	                                 .lanes = (unsigned)option_count(OPTION_lanes, lanes_standard()),
	                                 .slot = (unsigned)option_count(OPTION_slot, 0),
	                                 .waiting_max = (size_t)option_count(OPTION_max_connections, 0)};
	int                   status;

	for (const char *line = NULL; (line = database_finding(&s->database, line));)
		log_event(LOG_WARN, "setting", "found=\"%s\"", line);
	status = events_keep(&s->database);
	if (status != EXIT_DONE)
		return status;
	database_watch(&s->database);
	s->engine = engine_open(&options);
	(void)!engine_wait(s->engine, LANES_WAIT_MS); /* late lanes connect after the start */
	s->jobs = jobs_open(jobs_list(), s->database.source, &s->webhooks);
	s->watch = watch_new(engine_catalogue(s->engine), option_given(OPTION_stock_changed));
	s->arrivals = arrivals_new();
	s->pull = pull_new();
	s->background = background_open(
		s->database.source,
		(struct chore[]){watch_chore(s->watch), pause_chore(), arrival_chore(s->arrivals), pull_chore(s->pull)},
		4);
	status = doors_open(s);
	work_close(s);
	if (s->service)
		service_free(s->service);
	return source_other_schema(s->database.source) ? EXIT_CONFIG : status;
}

int serve_run(void)
{
	struct serve s = {0};
	int          status;

	mem_return_large();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN); /* ignored while no service is there to hear it */
	signals_block(true);
	status = serve_configure(&s);
	if (status == EXIT_DONE) {
		notify_open();
		status = database_open(&s.database, EMBEDDED_SERVE, false);
		if (status == EXIT_DONE) {
			status = serve_work(&s);
			status = database_close(&s.database, status);
			log_event(LOG_INFO, "ended", "status=%d", status);
		}
	}
	listen_end(&s.listen);
	access_close(s.access);
	keys_free(s.keys);
	tls_close(s.tls);
	vault_fini(&s.webhooks.vault);
	return status;
}

static int migrate_act(struct db *db, void *arg)
{
	char    why[512];
	int64_t version;

	(void)arg;
	if (!schema_version(db, &version))
		return EXIT_UNAVAILABLE;
	if (option_given(OPTION_check) || version > schema_latest()) {
		say("the schema has version %lld, this program's is %d", (long long)version, schema_latest());
		return version == schema_latest() ? EXIT_DONE : version < schema_latest() ? EXIT_TROUBLE : EXIT_CONFIG;
	}
	bar_begin("steps", schema_parts(version));
	schema_watch(bar_set);
	if (schema_migrate(db, why, sizeof(why))) {
		bar_end();
		return EXIT_DONE;
	}
	bar_end();
	return say_status(schema_refused() ? EXIT_CONFIG : EXIT_TROUBLE, "%s", why);
}

int migrate_run(void)
{
	return database_run(option_given(OPTION_check) ? EMBEDDED_FIND : EMBEDDED_MAKE, true, migrate_act, NULL);
}
