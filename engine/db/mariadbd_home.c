/* mariadbd_home.c - the folder of a private server and the user it runs as; see mariadbd.h. */
#include "engine/base/log.h"
#include "engine/db/mariadbd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A folder that we take over is shut to everybody else: that is not done to one that holds something of somebody. */
static bool folder_free(const struct mariadbd *m)
{
	DIR           *dir = opendir(m->dir);
	struct dirent *entry;
	bool           strange = false, ours = false;

	while (dir && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, "users.lock") == 0)
			ours = true;
		else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		         strcmp(entry->d_name, "lost+found") != 0)
			strange = true;
	}
	if (dir)
		closedir(dir);
	return dir && (ours || !strange);
}

bool mariadbd_become(const struct mariadbd *m)
{
	if (geteuid() != 0 || m->uid == 0)
		return true;
	return setgroups(1, &m->gid) == 0 && setgid(m->gid) == 0 && setuid(m->uid) == 0;
}

/* Only trying tells whether the user gets through all the folders above. */
static bool user_enters(const struct mariadbd *m)
{
	pid_t pid = fork();
	int   status = 1;

	if (pid == 0)
		_exit(mariadbd_become(m) && access(m->dir, W_OK | X_OK) == 0 ? 0 : 1);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && status == 0;
}

/* The user of a root's server: whoever owns the data directory; mysql or, where only the server's program is installed,
 * holdfast for a new one; root where that cannot be. */
static void user_choose(struct mariadbd *m)
{
	const struct passwd *mysql = getpwnam("mysql"), *user = mysql ? mysql : getpwnam("holdfast");
	struct stat          data;
	bool                 made = fstatat(m->dir_fd, "db", &data, 0) == 0;

	m->uid = made ? data.st_uid : user ? user->pw_uid : 0;
	m->gid = made ? data.st_gid : user ? user->pw_gid : 0;
	if (m->uid == 0) {
		m->why_root = made ? "the data directory belongs to root"
		                   : "there is no user mysql or holdfast: adduser --system --group holdfast";
	} else if (fchown(m->dir_fd, m->uid, m->gid) != 0) {
		m->why_root = "the folder cannot be given to another user";
		m->uid = m->gid = 0;
	} else if (!user_enters(m)) {
		m->why_root = "the server's own user cannot enter the folder: one above is shut to it";
		m->uid = m->gid = 0;
		/* For good: from now on there will be files of root in it. */
		if (made && fchownat(m->dir_fd, "db", 0, 0, 0) != 0)
			log_event(LOG_WARN, "data_not_owned", "dir=\"%s\" errno=%d", m->dir, errno);
	}
}

bool mariadbd_is_home(const char *dir)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/users.lock", dir);
	return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool mariadbd_init(struct mariadbd *m, const char *dir, char *why, size_t why_size)
{
	char        path[PATH_MAX];
	struct stat st;
	int         lock;

	*m = MARIADBD_NONE;
	m->uid = geteuid();
	m->gid = getegid();
	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return why_write(why, why_size, "cannot make the folder %s: %s", dir, strerror(errno));
	if (!realpath(dir, path) || stat(path, &st) != 0)
		return why_write(why, why_size, "cannot open the folder %s: %s", dir, strerror(errno));
	if (strlen(path) >= sizeof(m->dir))
		return why_write(why, why_size, "the path %.60s.. has %zu bytes; MariaDB can work with %zu", path,
		                 strlen(path), sizeof(m->dir) - 1);
	if (m->uid != 0 && st.st_uid != m->uid)
		return why_write(why, why_size, "%s belongs to another user (uid %u): run this as that user or as root",
		                 path, (unsigned)st.st_uid);
	memcpy(m->dir, path, strlen(path) + 1);
	m->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->dir_fd < 0)
		return why_write(why, why_size, "cannot open the folder %s: %s", path, strerror(errno));
	if (!folder_free(m))
		return why_write(why, why_size, "%s holds other files: give the database a folder of its own", path);
	if (m->uid == 0)
		user_choose(m);
	lock = mariadbd_file(m, "users.lock"); /* the first file: by it folder_free knows what is ours */
	if (lock < 0 || close(lock) != 0 || fchmod(m->dir_fd, 0700) != 0 ||
	    (geteuid() == 0 && fchown(m->dir_fd, m->uid, m->gid) != 0))
		return why_write(why, why_size, "cannot take over the folder %s: %s", path, strerror(errno));
	return true;
}

void mariadbd_fini(struct mariadbd *m)
{
	mariadbd_leave(m);
	if (m->dir_fd >= 0)
		close(m->dir_fd);
	m->dir_fd = -1;
}

/* The server's user may write in DIR: what it could have put there, a link to a file of root, is not touched. */
int mariadbd_file(const struct mariadbd *m, const char *name)
{
	int         fd = openat(m->dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1) {
		close(fd);
		errno = EMLINK;
		return -1;
	}
	if (st.st_uid != m->uid && fchown(fd, m->uid, m->gid) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}
