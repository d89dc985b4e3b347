/* copy.c - see copy.h. */
#include "commands/backup/copy.h"
#include "engine/server/child.h"
#include "engine/base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool ends_unfinished(const char *name)
{
	size_t len = strlen(name), tail = strlen(COPY_UNFINISHED);

	return len >= tail && strcmp(name + len - tail, COPY_UNFINISHED) == 0;
}

/* backup.json is written by backup.c alone, on one line. */
bool copy_read(struct copy *copy, const char *path)
{
	char  file[PATH_MAX + 16], line[1024];
	FILE *in;
	char *schema = NULL;

	if (!realpath(path, copy->path) || ends_unfinished(copy->path))
		return false;
	snprintf(file, sizeof(file), "%s/backup.json", copy->path);
	in = fopen(file, "re");
	if (in && fgets(line, sizeof(line), in))
		schema = strstr(line, "\"schema\":");
	if (in)
		fclose(in);
	if (!schema)
		return false;
	copy->schema = strtoll(schema + strlen("\"schema\":"), NULL, 10);
	copy->private = strstr(line, "\"database\":\"private\"") != NULL;
	return copy->schema > 0;
}

static int is_named(const struct dirent *entry)
{
	return entry->d_name[0] >= '0' && entry->d_name[0] <= '9' && !ends_unfinished(entry->d_name);
}

static int is_unfinished(const struct dirent *entry)
{
	return ends_unfinished(entry->d_name);
}

bool copy_find(struct copy *copy, const char *path)
{
	struct dirent **names = NULL;
	char            newest[PATH_MAX + 256];
	bool            found = copy_read(copy, path);
	int             count = found ? 0 : scandir(path, &names, is_named, alphasort);

	for (int i = count - 1; i >= 0; i--) {
		snprintf(newest, sizeof(newest), "%s/%s", path, names[i]->d_name);
		found = found || copy_read(copy, newest);
		free(names[i]);
	}
	free(names);
	return found;
}

bool copy_remove(const char *path)
{
	return child_run(&(struct child){.argv = (char *[]){"rm", "-rf", "--", (char *)path, NULL}, .out = -1}) == 0;
}

static bool unfinished_remove(const char *dir)
{
	struct dirent **names = NULL;
	char            path[PATH_MAX + 256];
	int             count = scandir(dir, &names, is_unfinished, alphasort);
	bool            ok = count >= 0;

	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		ok = copy_remove(path) && ok;
		free(names[i]);
	}
	free(names);
	return ok;
}

int copy_folder_lock(const char *dir)
{
	char path[PATH_MAX + 16];
	int  lock = -1;

	snprintf(path, sizeof(path), "%s/backup.lock", dir);
	if ((mkdir(dir, 0700) != 0 && errno != EEXIST) ||
	    (lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) < 0)
		say("cannot write in %s: %s", dir, strerror(errno));
	else if (flock(lock, LOCK_EX | LOCK_NB) != 0)
		say("another command is at work in %s", dir);
	else if (!unfinished_remove(dir))
		say("cannot remove an unfinished back-up in %s", dir);
	else
		return lock;
	if (lock >= 0)
		close(lock);
	return -1;
}

static bool copy_drop(const char *dir, const char *name)
{
	char path[PATH_MAX + 256], gone[PATH_MAX + 300];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(gone, sizeof(gone), "%s" COPY_UNFINISHED, path);
	return rename(path, gone) == 0 && copy_remove(gone);
}

bool copy_keep(const char *dir, int64_t keep)
{
	struct dirent **names = NULL;
	struct copy     copy;
	char            path[PATH_MAX + 256];
	int             count = scandir(dir, &names, is_named, alphasort);
	int64_t         kept = 0;
	bool            ok = count >= 0;

	assert(keep > 0); /* the newest one stays */
	for (int i = count - 1; i >= 0; i--) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		if (copy_read(&copy, path) && ++kept > keep)
			ok = copy_drop(dir, names[i]->d_name) && ok;
		free(names[i]);
	}
	free(names);
	return ok;
}
