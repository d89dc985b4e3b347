/* storage.c - see storage.h. */
#include "engine/db/storage.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { PROBE_MS = 250, PROBE_BYTES = 8 << 20, LOW_PARTS = 10 };
/* Numbers of MariaDB. A file function has told the first one. */
enum { EE_DISK_FULL = 20, ER_DISK_FULL = 1021, ER_RECORD_FILE_FULL = 1114 };
#define LOW_BYTES (INT64_C(1) << 30) /* little: less than this, and less than that part of the file system */

/* ---- errors */

/* Errors of files tell the words of the system, or its number behind these, `(Errcode: 28 "No space left on device")`.
 */
static bool names_errno(const char *error)
{
	static const char *const before[] = {"rrcode: ", "rror "};
	static const int         no_room[] = {ENOSPC, EDQUOT, EROFS};

	for (size_t i = 0; i < LENGTH(no_room); i++)
		if (strstr(error, strerror(no_room[i])))
			return true;

	for (size_t i = 0; i < LENGTH(before); i++)
		for (const char *at = error; (at = strstr(at, before[i])) != NULL;) {
			long number;

			at += strlen(before[i]);
			number = strtol(at, NULL, 10);
			if (number == ENOSPC || number == EDQUOT || number == EROFS)
				return true;
		}
	return false;
}

bool storage_refused(unsigned code, const char *error)
{
	return code == ER_DISK_FULL || code == ER_RECORD_FILE_FULL || code == EE_DISK_FULL || names_errno(error);
}

/* ---- full, or not */

bool storage_fault(struct source *source, unsigned code, const char *error)
{
	if (!storage_refused(code, error))
		return false;
	if (!atomic_exchange(&source_storage(source)->full, true))
		log_event(LOG_ERROR, "storage_full", "why=\"%s\" hint=\"make room for the files of the database\"",
		          error);
	return true;
}

bool storage_is_full(struct source *source)
{
	return atomic_load_explicit(&source_storage(source)->full, memory_order_relaxed);
}

/* True: the folder takes a file of PROBE_BYTES, which has no name and is gone at once. A process of root may use space
 * that other users may not, so the space of other users must be enough, too. */
static bool folder_takes(const char *folder)
{
	int  fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	bool takes = storage_free(folder) >= PROBE_BYTES && (fd < 0 || posix_fallocate(fd, 0, PROBE_BYTES) == 0);

	if (fd >= 0)
		close(fd);
	return takes;
}

bool storage_probe_due(struct source *source)
{
	struct source_storage *s = source_storage(source);
	int64_t                due_ms = atomic_load(&s->probe_ms), now_ms = clock_ms();

	return storage_is_full(source) && now_ms >= due_ms &&
	       atomic_compare_exchange_strong(&s->probe_ms, &due_ms, now_ms + PROBE_MS) &&
	       (!*s->folder || folder_takes(s->folder));
}

void storage_recovered(struct source *source)
{
	if (atomic_exchange(&source_storage(source)->full, false))
		log_event(LOG_WARN, "storage_recovered", "hint=\"the database writes again\"");
}

/* ---- free bytes */

int64_t storage_free(const char *folder)
{
	struct statvfs fs;

	return *folder && statvfs(folder, &fs) == 0 ? (int64_t)(fs.f_bavail * fs.f_frsize) : -1;
}

void storage_watch(const char *folder, bool *low)
{
	struct statvfs fs;
	int64_t        free_bytes, part;
	bool           before = *low;

	if (statvfs(folder, &fs) != 0)
		return;
	free_bytes = (int64_t)(fs.f_bavail * fs.f_frsize);
	part = (int64_t)(fs.f_blocks * fs.f_frsize / LOW_PARTS);
	*low = free_bytes < LOW_BYTES && free_bytes < part;
	if (*low != before)
		log_event(LOG_WARN, *low ? "storage_low" : "storage_enough", "free_bytes=%lld dir=\"%s\"",
		          (long long)free_bytes, folder);
}
