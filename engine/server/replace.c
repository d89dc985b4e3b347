/* replace.c - see replace.h. users.lock is held exclusively throughout, so that no command starts a server. */
#include "engine/server/replace.h"
#include "engine/server/child.h"
#include "engine/base/log.h"
#include "engine/server/mariadbd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool there(const struct mariadbd *m, const char *name)
{
	return faccessat(m->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The folder stays root's own until the copy is complete: the server's user cannot put a link into it meanwhile. */
static bool data_copy(const struct mariadbd *m, const char *from, const char *home, char *why, size_t why_size)
{
	char owner[48], to[PATH_MAX];
	int  status;

	snprintf(to, sizeof(to), "%s/db", home);
	snprintf(owner, sizeof(owner), "%u:%u", (unsigned)m->uid, (unsigned)m->gid);
	status = child_run(&(struct child){
		.argv = (char *[]){"cp", "-r", "--reflink=auto", "--", (char *)from, to, NULL}, .out = -1});
	if (status == 0 && geteuid() == 0)
		status = child_run(&(struct child){
			.argv = (char *[]){"chown", "-R", "--no-dereference", owner, (char *)home, NULL}, .out = -1});
	return status == 0 || why_write(why, why_size, "cannot copy %s to %s", from, to);
}

/* One exchange of two names: DIR/db is the old data or the new ones at each moment. */
static bool names_exchange(const struct replace *r, const struct mariadbd *m, const char *home, char *why, size_t size)
{
	char new[64], old[64];
	bool made = there(m, "db");

	assert(!made || r->aside);
	snprintf(new, sizeof(new), "%s/db", strrchr(home, '/') + 1);
	snprintf(old, sizeof(old), "db.before-%s", r->stamp);
	if (syncfs(m->dir_fd) != 0 ||
	    renameat2(m->dir_fd, new, m->dir_fd, "db", made ? RENAME_EXCHANGE : RENAME_NOREPLACE) != 0)
		return why_write(why, size, "cannot put %s in place: %s", home, strerror(errno));
	if (made && renameat2(m->dir_fd, new, m->dir_fd, old, RENAME_NOREPLACE) != 0)
		return why_write(why, size, "the data are restored; those of before lie in %s/db: %s", home,
		                 strerror(errno));
	return fsync(m->dir_fd) == 0 || why_write(why, size, "cannot write %s: %s", m->dir, strerror(errno));
}

static int locked_run(const struct replace *r, const struct mariadbd *m, char *why, size_t why_size)
{
	char home[sizeof(m->dir) + 32];
	int  status = EXIT_UNAVAILABLE;

	if (there(m, "db") && !r->aside) {
		why_write(why, why_size,
		          "%s holds a database: --aside keeps it beside the restored one, as db.before-TIME", m->dir);
		return EXIT_TROUBLE;
	}
	snprintf(home, sizeof(home), "%s/restoring.XXXXXX", m->dir);
	if (!mkdtemp(home)) {
		why_write(why, why_size, "cannot make %s: %s", home, strerror(errno));
		return EXIT_UNAVAILABLE;
	}
	if (data_copy(m, r->from, home, why, why_size) && (status = r->prepare(home)) == EXIT_DONE &&
	    !names_exchange(r, m, home, why, why_size))
		return EXIT_UNAVAILABLE;
	/* Without a database of before in it, the folder is ours. */
	if (child_run(&(struct child){.argv = (char *[]){"rm", "-rf", "--", home, NULL}, .out = -1}) != 0)
		say("cannot remove %s", home);
	return status;
}

int replace_run(const struct replace *r, char *why, size_t why_size)
{
	struct mariadbd m;
	int             status = mariadbd_init(&m, r->dir, why, why_size), lock = -1;

	if (status == EXIT_DONE) {
		lock = mariadbd_file(&m, "users.lock");
		status = EXIT_TROUBLE;
		if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0 || mariadbd_find(&m))
			why_write(why, why_size,
			          "the database in %s is in use: stop its service and its commands first", m.dir);
		else
			status = locked_run(r, &m, why, why_size);
	}
	if (lock >= 0)
		close(lock);
	mariadbd_fini(&m);
	return status;
}
