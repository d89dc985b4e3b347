/* database.c - see database.h. A command waits for its database, and refuses one whose schema is not its own. */
#include "jobs/commands/database.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/db/checks.h"
#include "engine/db/writer.h"
#include "jobs/options.h"
#include "schema/migrate.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { START_WAIT_MS = 30000 };

static bool password_read(struct db_target *target, const char *file)
{
	FILE *in = fopen(file, "re");
	bool  ok = in && fgets(target->password, sizeof(target->password), in);

	if (in)
		fclose(in);
	if (ok)
		option_secret_read(OPTION_db_password_file, file);
	target->password[strcspn(target->password, "\r\n")] = '\0';
	return ok;
}

static struct source *source_named(const char *url, const char *password_file)
{
	struct db_target target;
	struct source   *source = NULL;
	char             why[512];

	if (!db_target_parse(&target, url, why, sizeof(why)))
		say("--db: %s", why);
	else if (password_file && !password_read(&target, password_file))
		say("--db-password-file: cannot read %s", password_file);
	else
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
		database->source = source_named(url, option_text(OPTION_db_password_file));
		return database->source ? EXIT_DONE : EXIT_CONFIG;
	}
	status = embedded_open(&database->embedded, option_text(OPTION_data), use, why, sizeof(why));
	if (status != EXIT_DONE)
		return say_status(status, "%s", why);
	database->source = source_new(embedded_target(database->embedded));
	return EXIT_DONE;
}

/* The service blocks signals while it starts: a signal that came meanwhile is pending. */
static bool asked_to_end(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && (sigismember(&pending, SIGTERM) || sigismember(&pending, SIGINT));
}

static bool wait_for(struct db *db)
{
	int64_t until = clock_ms() + START_WAIT_MS;

	while (!db_connect(db)) {
		if (db_refused(db) || db_misfits(db) || clock_ms() > until || asked_to_end())
			return false;
		usleep(200000);
	}
	return true;
}

static int schema_look(struct database *database, struct db *db)
{
	struct db *own;
	char       why[512];
	int        status = EXIT_DONE;

	if (database->embedded && !schema_migrate(db, why, sizeof(why)))
		return say_status(EXIT_UNAVAILABLE, "%s", why);
	source_schema_set(database->source, schema_latest());
	own = db_new(database->source);
	if (!wait_for(own))
		status = db_misfits(own)
		                 ? say_status(EXIT_CONFIG, "%s", db_error(own))
		                 : say_status(EXIT_UNAVAILABLE, "the database is not there: %s", db_error(own));
	db_free(own);
	return status;
}

int database_open(struct database *database, enum embedded_use use, bool migrates)
{
	struct db *db;
	int        status;

	*database = (struct database){0};
	status = source_open(database, use);
	if (status != EXIT_DONE)
		return status;
	db = db_new(database->source);
	if (!wait_for(db)) {
		status = say_status(EXIT_UNAVAILABLE, "%s: %s",
		                    db_refused(db) ? "the database lets nobody in by these options"
		                                   : "the database is not there",
		                    db_error(db));
	} else {
		db_doctor(db, &database->findings);
		for (char *c = database->findings.data; c && (c = strchr(c, '\n'));)
			*c = '\0';
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
