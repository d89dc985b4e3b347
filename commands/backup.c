/* backup.c - the command `backup`: a full copy of the database while the service runs, by mariadb-backup.
 *
 * The copy is made in a folder `NAME.unfinished`. It gets its name by one rename, after it was prepared and is on
 * disk. So a copy that was cut off, by a kill or a full disk, never has the name of a good one. Each copy is a new
 * folder, so a failed back-up costs none that was there. */
#include "commands/backup.h"
#include "commands/backup/copy.h"
#include "commands/database.h"
#include "commands/options.h"
#include "commands/upkeep.h"
#include "engine/server/child.h"
#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "schema/migrate.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

struct backup {
	char    dir[PATH_MAX];       /* the folder of back-ups */
	char    name[32];            /* the time, of digits that sort */
	char    made[PATH_MAX + 64]; /* the folder while it is unfinished .. */
	char    path[PATH_MAX + 64]; /* .. and when it is whole */
	char    data[PATH_MAX + 80]; /* made/db */
	int64_t began_ms, ended_ms;  /* by this machine's clock */
	int64_t schema, bytes;
	char    lsn[32]; /* the redo log's position up to which it has all; empty: unknown */
	bool private;
};

/* ---- mariadb-backup */

static int mariadb_backup(const struct backup *b, char *const argv[], const char *password)
{
	char path[PATH_MAX + 96];
	int  log, status;

	snprintf(path, sizeof(path), "%s/backup.log", b->made);
	log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (log < 0)
		return say_status(EXIT_UNAVAILABLE, "cannot write %s: %s", path, strerror(errno));
	status = child_run(&(struct child){.argv = argv, .password = password, .out = log});
	close(log);
	if (status == 127)
		return say_status(EXIT_CONFIG, "mariadb-backup was not found: apt-get install mariadb-backup");
	if (status != 0)
		return say_status(EXIT_UNAVAILABLE, "mariadb-backup failed (%d): see %s", status, path);
	return EXIT_DONE;
}

/* The socket's folder is named by a descriptor of ours: a socket address holds 107 bytes, and mariadb-backup leaves the
 * folder that it was started in. */
static int data_copy(struct backup *b, const struct db_target *from)
{
	char        socket[160], user[200], target[PATH_MAX + 100], folder[sizeof(from->socket)];
	char *const copy[] = {"mariadb-backup", "--no-defaults", "--backup", user, socket, target, NULL};
	char *const prepare[] = {"mariadb-backup", "--no-defaults", "--prepare", target, NULL};
	char       *slash;
	int         fd, status;

	snprintf(folder, sizeof(folder), "%s", from->socket);
	slash = strrchr(folder, '/');
	assert(slash); /* url.c takes absolute paths alone */
	snprintf(user, sizeof(user), "--user=%s", from->user);
	snprintf(target, sizeof(target), "--target-dir=%s", b->data);
	*slash = '\0';
	fd = open(*folder ? folder : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return say_status(EXIT_UNAVAILABLE, "cannot open %s: %s", folder, strerror(errno));
	snprintf(socket, sizeof(socket), "--socket=/proc/%ld/fd/%d/%.80s", (long)getpid(), fd, slash + 1);
	status = mariadb_backup(b, copy, from->password);
	close(fd);
	return status == EXIT_DONE ? mariadb_backup(b, prepare, NULL) : status;
}

/* ---- what it is */

static int64_t bytes_sum; /* nftw passes nothing on */

static int bytes_add(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)path;
	(void)at;
	bytes_sum += type == FTW_F ? st->st_size : 0;
	return 0;
}

static void lsn_read(struct backup *b)
{
	char  path[PATH_MAX + 112], line[256];
	FILE *in;

	snprintf(path, sizeof(path), "%s/xtrabackup_checkpoints", b->data);
	in = fopen(path, "re");
	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "last_lsn = %31[0-9]", b->lsn) == 1)
			break;
	if (in)
		fclose(in);
}

static void time_put(struct json_writer *w, const char *name, int64_t ms)
{
	struct text time = {0};

	time_write(&time, ms);
	json_put_string(w, name, time.data);
	text_fini(&time);
}

/* One line, which copy_read reads again. */
static void facts_write(const struct backup *b, struct text *out)
{
	struct json_writer w = {.to = out};

	json_open_object(&w, NULL);
	time_put(&w, "began_at", b->began_ms);
	time_put(&w, "ended_at", b->ended_ms);
	json_put_int(&w, "schema", b->schema);
	json_put_string(&w, "program", HOLDFAST_VERSION);
	json_put_string(&w, "database", b->private ? "private" : "yours");
	json_put_int(&w, "bytes", b->bytes);
	json_put_string(&w, "lsn", b->lsn);
	json_close_object(&w);
}

static bool facts_store(struct backup *b)
{
	struct text out = {0};
	char        path[PATH_MAX + 96];
	FILE       *to;
	bool        ok;

	bytes_sum = 0;
	if (nftw(b->data, bytes_add, 16, FTW_PHYS) != 0)
		return false;
	b->bytes = bytes_sum;
	b->ended_ms = clock_wall_ms();
	lsn_read(b);
	facts_write(b, &out);
	snprintf(path, sizeof(path), "%s/backup.json", b->made);
	to = fopen(path, "we");
	ok = to && fprintf(to, "%s\n", out.data) > 0;
	ok = to && fclose(to) == 0 && ok;
	text_fini(&out);
	return ok;
}

/* On disk under its unfinished name first, then renamed. */
static int whole_name(struct backup *b)
{
	int  fd = open(b->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = fd >= 0 && facts_store(b) && syncfs(fd) == 0 && rename(b->made, b->path) == 0 && fsync(fd) == 0;

	if (!ok)
		say("cannot write %s: %s", b->path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return ok ? EXIT_DONE : EXIT_UNAVAILABLE;
}

/* ---- the command */

static int database_copy(struct backup *b, struct database *database)
{
	const struct db_target *from =
		database->embedded ? embedded_target(database->embedded) : source_target(database->source);
	struct db *db;
	bool       known;

	if (!*from->socket)
		return say_status(EXIT_CONFIG, "backup reads the files of the server, which must be on this machine: "
		                               "name its socket in --db, mariadb://USER@localhost/DB?socket=PATH");
	db = database_connect(database);
	if (!db)
		return EXIT_UNAVAILABLE;
	known = schema_version(db, &b->schema);
	db_free(db);
	if (!known)
		return say_status(EXIT_UNAVAILABLE, "the database did not say its schema");
	b->private = database->embedded != NULL;
	b->began_ms = clock_wall_ms();
	if (mkdir(b->made, 0700) != 0 || mkdir(b->data, 0700) != 0)
		return say_status(EXIT_UNAVAILABLE, "cannot make %s: %s", b->data, strerror(errno));
	return data_copy(b, from);
}

/* A program of its own runs the audit, as a person would. What the environment says is not for it. */
static int audit_copy(const char *data, bool quiet)
{
	int null = quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1, status;

	unsetenv("HOLDFAST_DB");
	unsetenv("HOLDFAST_CONFIG");
	unsetenv("HOLDFAST_JSON");
	unsetenv("HOLDFAST_SKU");
	status = child_run(&(struct child){.argv = (char *[]){"/proc/self/exe", "audit", "--data", (char *)data, NULL},
	                                   .out = null});
	if (null >= 0)
		close(null);
	return status;
}

/* Audits a copy of the back-up: a server that starts on files changes them. */
static int copy_verify(const struct copy *copy)
{
	char scratch[PATH_MAX + 32];
	int  status = EXIT_UNAVAILABLE;

	if (!copy->private)
		return say_status(EXIT_CONFIG, "--verify starts the back-up of a private database, not of yours");
	snprintf(scratch, sizeof(scratch), "%s.verify" COPY_UNFINISHED, copy->path);
	if (mkdir(scratch, 0700) == 0) {
		char data[PATH_MAX + 8];

		snprintf(data, sizeof(data), "%s/db", copy->path);
		if (child_run(&(struct child){
			    .argv = (char *[]){"cp", "-r", "--reflink=auto", "--", data, scratch, NULL}, .out = -1}) ==
		    0)
			status = audit_copy(scratch, option_given(OPTION_json));
	}
	if (!copy_remove(scratch))
		say("cannot remove %s", scratch);
	if (status != EXIT_DONE)
		return say_status(status, "%s did not pass the audit", copy->path);
	return EXIT_DONE;
}

/* A back-up that did not pass the audit is no good one, and says that the database would not pass it either. */
static void result_note(const struct backup *b, const struct database *database, int status)
{
	struct db *db;

	if ((status != EXIT_DONE && status != EXIT_TROUBLE) || b->schema < UPKEEP_SCHEMA)
		return;
	db = database_connect(database);
	if (!db)
		return;
	if (status == EXIT_DONE)
		upkeep_note(db, UPKEEP_BACKED_UP, b->began_ms);
	if (option_given(OPTION_verify))
		upkeep_note(db, status == EXIT_DONE ? UPKEEP_AUDITED : UPKEEP_AUDIT_FAILED, 0);
	db_free(db);
}

static int backup_make(struct backup *b)
{
	struct database database;
	struct copy     copy;
	int             status = database_open(&database, EMBEDDED_FIND, true);

	if (status != EXIT_DONE)
		return status;
	status = database_copy(b, &database);
	if (status == EXIT_DONE)
		status = whole_name(b);
	if (status == EXIT_DONE && option_given(OPTION_verify))
		status = copy_read(&copy, b->path) ? copy_verify(&copy) : EXIT_UNAVAILABLE;
	result_note(b, &database, status);
	status = database_close(&database, status);
	if (status == EXIT_DONE && option_given(OPTION_keep) && !copy_keep(b->dir, option_count(OPTION_keep, 1)))
		status = say_status(EXIT_UNAVAILABLE, "cannot remove an old back-up in %s", b->dir);
	return status;
}

static void result_print(const struct backup *b)
{
	struct text out = {0};

	if (option_given(OPTION_json)) {
		facts_write(b, &out);
		printf("%s\n", out.data);
	} else {
		printf("%s: %lld bytes, schema %lld%s\n", b->path, (long long)b->bytes, (long long)b->schema,
		       option_given(OPTION_verify) ? ", verified" : "");
	}
	text_fini(&out);
}

static int backup_new(struct backup *b)
{
	time_t    now = time(NULL);
	struct tm utc;
	int       lock = copy_folder_lock(operand(0)), status = EXIT_UNAVAILABLE;

	if (lock < 0 || !realpath(operand(0), b->dir))
		return EXIT_UNAVAILABLE;
	strftime(b->name, sizeof(b->name), "%Y-%m-%dT%H%M%SZ", gmtime_r(&now, &utc));
	snprintf(b->path, sizeof(b->path), "%.4000s/%s", b->dir, b->name);
	snprintf(b->made, sizeof(b->made), "%.4080s" COPY_UNFINISHED, b->path);
	snprintf(b->data, sizeof(b->data), "%s/db", b->made);
	if (access(b->path, F_OK) == 0)
		say("%s is there already: one back-up a second", b->path);
	else
		status = backup_make(b);
	close(lock);
	if (status == EXIT_DONE)
		result_print(b);
	return status;
}

int backup_run(void)
{
	static struct backup backup;
	struct copy          copy;
	char                 above[PATH_MAX];
	int                  lock, status;

	if (!operand(0))
		return say_status(EXIT_USAGE, "backup needs a folder; try `holdfast backup --help`");
	if (option_given(OPTION_keep) && option_count(OPTION_keep, 1) < 1)
		return say_status(EXIT_USAGE, "--keep of a back-up is at least 1");
	if (!copy_read(&copy, operand(0)))
		return backup_new(&backup);
	if (!option_given(OPTION_verify))
		return say_status(EXIT_USAGE, "%s is a back-up: name the folder above it, or --verify", copy.path);
	snprintf(above, sizeof(above), "%s", copy.path);
	*strrchr(above, '/') = '\0';
	lock = copy_folder_lock(above);
	if (lock < 0)
		return EXIT_UNAVAILABLE;
	status = copy_verify(&copy);
	close(lock);
	return status;
}
