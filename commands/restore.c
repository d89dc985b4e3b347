/* restore.c - the command `restore`: a back-up becomes the private database of --data DIR.
 *
 * The database gets a new mark (table identity) before it is in place, so every program that remembers something of the
 * database sees that this is another past: also one that knows the very state of the back-up. */
#include "commands/restore.h"
#include "commands/backup/copy.h"
#include "commands/options.h"
#include "engine/base/log.h"
#include "engine/db/db.h"
#include "engine/server/embedded.h"
#include "engine/server/replace.h"
#include "schema/migrate.h"

#include <stdio.h>
#include <time.h>

static int mark_new(const char *home)
{
	struct embedded *e;
	struct db       *db;
	char             why[1024];
	int              status = embedded_open(&e, home, EMBEDDED_FIND, why, sizeof(why));

	if (status != EXIT_DONE)
		return say_status(status, "the back-up does not start: %s", why);
	db = db_new_alone(embedded_target(e));
	if (!db_connect(db) || db_ask(db, RESTORE_MARK, NULL, NULL, NULL) != DB_OK)
		status = say_status(EXIT_UNAVAILABLE, "the back-up got no new mark: %s", db_error(db));
	db_free(db);
	embedded_close(e);
	return status;
}

int restore_run(void)
{
	struct copy copy;
	char        from[PATH_MAX + 8], stamp[32], why[1024] = "";
	time_t      now = time(NULL);
	struct tm   utc;
	int         status;

	if (!operand(0))
		return say_status(EXIT_USAGE, "restore needs a back-up; try `holdfast restore --help`");
	if (option_text(OPTION_db))
		return say_status(EXIT_CONFIG,
		                  "restore makes a private database; docs/operator.md says how a server of "
		                  "yours is restored");
	if (!copy_find(&copy, operand(0)))
		return say_status(EXIT_CONFIG, "there is no back-up in %s", operand(0));
	if (!copy.private)
		return say_status(EXIT_CONFIG,
		                  "%s is a back-up of your server; docs/operator.md says how it is restored",
		                  copy.path);
	if (copy.schema > schema_latest())
		return say_status(EXIT_CONFIG, "%s has schema %lld, this program %d: restore it with a newer holdfast",
		                  copy.path, (long long)copy.schema, schema_latest());
	assert(copy.schema > 0);
	embedded_pool(option_count(OPTION_buffer_pool, 0));
	snprintf(from, sizeof(from), "%s/db", copy.path);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H%M%SZ", gmtime_r(&now, &utc));
	status = replace_run(&(struct replace){.dir = option_text(OPTION_data),
	                                       .from = from,
	                                       .stamp = stamp,
	                                       .aside = option_given(OPTION_aside),
	                                       .prepare = mark_new},
	                     why, sizeof(why));
	if (status != EXIT_DONE && *why)
		return say_status(status, "%s", why);
	if (status == EXIT_DONE)
		printf("%s is restored in %s\n", copy.path, option_text(OPTION_data));
	return status;
}
