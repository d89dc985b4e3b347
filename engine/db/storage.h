/* storage.h - the room that the database has for its files. What is known of it stands in the source, so that all
 * connections of the process know it. Any thread. */
#ifndef STORAGE_H
#define STORAGE_H

#include "engine/db/source.h"

/* True: the server could not write its files: no space is left, a quota is used up, or the file system is read-only. */
bool storage_refused(unsigned code, const char *error);
/* storage_refused; a fault is noted, too, and the log says it once. For the connection whose statement failed. */
bool storage_fault(struct source *source, unsigned code, const char *error);
/* True: a write has failed for lack of space, and since then none has succeeded that needs new space. */
bool storage_is_full(struct source *source);
/* True: the caller is to try a write that needs new space now, one thread at a time. Where the folder of the files is
 * known, there is space again in it. */
bool storage_probe_due(struct source *source);
void storage_recovered(struct source *source); /* the write has succeeded */

/* Bytes that are free for files in the folder; -1: it is not known. */
int64_t storage_free(const char *folder);
/* Says in the log that little is left there, and later that there is enough again. *low is the last word of it. */
void storage_watch(const char *folder, bool *low);

#endif
