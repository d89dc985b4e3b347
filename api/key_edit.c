/* key_edit.c - see key_edit.h. */
#include "api/key_edit.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the lock */

/* Another command may have put a new file there while this one waited for its turn: the lock of the old file is none.
 */
static bool still_there(int fd, const char *file)
{
	struct stat locked, there;

	return fstat(fd, &locked) == 0 && stat(file, &there) == 0 && locked.st_dev == there.st_dev &&
	       locked.st_ino == there.st_ino;
}

/* Opens the file and locks it. -1: errno says why not. */
static int file_lock(const char *file, bool make)
{
	for (;;) {
		int  fd = open(file, O_RDWR | O_CLOEXEC | O_NONBLOCK | (make ? O_CREAT : 0), 0600);
		bool locked = fd >= 0 && flock(fd, LOCK_EX) == 0;
		int  error = errno;

		if (fd < 0 || (locked && still_there(fd, file)))
			return fd;
		close(fd);
		errno = error;
		if (!locked)
			return -1;
	}
}

static bool edit_read(struct key_edit *e, const char *file, char *why, size_t why_size)
{
	char what[200];

	e->text = key_text_read(e->fd, &e->len, file, why, why_size);
	if (!e->text)
		return false;
	return key_list_read(&e->list, e->text, e->len, what, sizeof(what))
	               ? true
	               : why_write(why, why_size, "%s: %s", file, what);
}

bool key_edit_begin(struct key_edit *e, const char *file, bool make, char *why, size_t why_size)
{
	bool ok;

	*e = (struct key_edit){.file = realpath(file, NULL)};
	if (!e->file)
		e->file = mem_copy(file);
	e->fd = file_lock(e->file, make);
	if (e->fd >= 0)
		ok = edit_read(e, file, why, why_size);
	else
		ok = why_write(why, why_size, "cannot open %s: %s", file, strerror(errno));
	if (!ok)
		key_edit_end(e);
	return ok;
}

void key_edit_end(struct key_edit *e)
{
	if (e->fd >= 0)
		close(e->fd);
	key_list_fini(&e->list);
	free(e->file);
	free(e->text);
	*e = (struct key_edit){.fd = -1};
}

/* ---- the new file */

static bool folder_sync(const char *file)
{
	char *path = mem_copy(file);
	int   fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool  ok = fd >= 0 && fsync(fd) == 0;

	if (fd >= 0)
		close(fd);
	free(path);
	return ok;
}

/* The name of the new file until it takes its place: hidden, beside the old one. The lock guards it; what a killed
 * command has left there goes. */
static void name_of_new(struct text *to, const char *file)
{
	const char *slash = strrchr(file, '/');
	size_t      folder = slash ? (size_t)(slash + 1 - file) : 0;

	text_bytes(to, file, folder);
	text_format(to, ".%s.holdfast-new", file + folder);
}

static bool bytes_write(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno != EINTR)
			return false;
		bytes += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* Owner and mode are those of the old file. Only root may give a file to others, and none but they may have it. */
static bool rights_take(int fd, int from)
{
	struct stat old, new;

	if (fstat(from, &old) != 0 || fstat(fd, &new) != 0)
		return false;
	if ((old.st_uid != new.st_uid || old.st_gid != new.st_gid) && fchown(fd, old.st_uid, old.st_gid) != 0)
		return false;
	return fchmod(fd, old.st_mode & 07777) == 0;
}

/* The new file is locked before it takes its place, so no other command comes between. */
static bool file_put(struct key_edit *e, const char *bytes, size_t len, char *why, size_t why_size)
{
	struct text name = {0};
	int         fd;
	bool        ok;

	name_of_new(&name, e->file);
	(void)unlink(name.data);
	fd = open(name.data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	ok = fd >= 0 && flock(fd, LOCK_EX) == 0 && rights_take(fd, e->fd) && bytes_write(fd, bytes, len) &&
	     fsync(fd) == 0 && rename(name.data, e->file) == 0;
	if (ok) {
		close(e->fd);
		e->fd = fd;
		if (!folder_sync(e->file))
			ok = why_write(why, why_size, "%s is replaced, but perhaps not on disk: %s", e->file,
			               strerror(errno));
	} else {
		(void)!why_write(why, why_size, "cannot replace %s: %s", e->file, strerror(errno));
		(void)unlink(name.data);
		if (fd >= 0)
			close(fd);
	}
	text_fini(&name);
	return ok;
}

/* ---- the lines */

/* The place of line `number`, from 1; the place of its newline, or the end, is *stop. */
static const char *line_find(const struct key_edit *e, int number, const char **stop)
{
	const char *at = e->text, *end = e->text + e->len;

	for (;; at = *stop + 1) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		*stop = newline ? newline : end;
		if (--number == 0)
			return at;
		assert(newline);
	}
}

static void text_edit(const struct key_edit *e, const struct key_line *from, const struct key_line *to,
                      struct text *out)
{
	const char *end = e->text + e->len, *at = end, *stop = end;
	bool        ends = e->len == 0 || end[-1] == '\n'; /* the last line has its newline */

	if (from)
		at = line_find(e, from->number, &stop);
	text_bytes(out, e->text, (size_t)(at - e->text));
	if (to) {
		if (!from && !ends)
			text_char(out, '\n');
		key_line_write(out, to);
		if (from && stop > at && stop[-1] == '\r')
			text_char(out, '\r');
		if (!from)
			text_char(out, '\n');
	} else if (stop < end) {
		stop++;
	}
	text_bytes(out, stop, (size_t)(end - stop));
}

bool key_edit_write(struct key_edit *e, const struct key_line *from, const struct key_line *to, char *why,
                    size_t why_size)
{
	struct text     out = {0};
	struct key_list list;
	bool            ok;

	assert(from || to);
	text_edit(e, from, to, &out);
	ok = key_list_read(&list, out.data, out.len, why, why_size);
	if (ok) {
		key_list_fini(&list);
		ok = file_put(e, out.data, out.len, why, why_size);
	}
	text_fini(&out);
	return ok;
}

bool key_edit_undo(struct key_edit *e, char *why, size_t why_size)
{
	return file_put(e, e->text, e->len, why, why_size);
}
