/* key_edit.h - an edit of the file of keys by a command. The file is locked from beginning to end, so edits of several
 * commands come one after the other. A new file takes the place of the old one (rename), with the same owner, group and
 * mode: a reader sees one or the other, whenever the command is killed. Other lines stay as they are. One thread. */
#ifndef KEY_EDIT_H
#define KEY_EDIT_H

#include "api/keyfile.h"

struct key_edit {
	char           *file; /* where links lead to */
	int             fd;   /* of that file, locked */
	char           *text; /* as it was */
	size_t          len;
	struct key_list list; /* as it was */
};

/* Locks the file and reads it; makes an empty one, mode 0600, if `make`. false: `why` says what is wrong. */
bool key_edit_begin(struct key_edit *e, const char *file, bool make, char *why, size_t why_size) MUST_CHECK;
/* Puts the line `to` (NULL: nothing) in the place of the key `from` of the list (NULL: at the end), on disk. false: the
 * file is as before, `why` says why. */
bool key_edit_write(struct key_edit *e, const struct key_line *from, const struct key_line *to, char *why,
                    size_t why_size) MUST_CHECK;
/* Puts the file back as it was. */
bool key_edit_undo(struct key_edit *e, char *why, size_t why_size) MUST_CHECK;
void key_edit_end(struct key_edit *e);

#endif
