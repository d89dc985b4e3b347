/* files.h - the .sql files of schema/ that are built into the program, and their statements.
 *
 * The baseline is all files with names that begin with a letter. Together they make the tables of schema
 * SCHEMA_BASELINE in an empty database, by CREATE TABLE and INSERT alone, in any order. A later change is a step: a
 * file NNN_name.sql with the next number, which may be run again from each of its statements on. A semicolon before an
 * empty line, or at the end, ends a statement. */
#ifndef FILES_H
#define FILES_H

#include "engine/base/text.h"

/* ADOPTED: the version that has the same tables as the baseline, made by the steps 1 to 19 of older programs. The
 * baseline has a number of its own, so an older program finds a newer schema and runs no step over it. */
enum { SCHEMA_ADOPTED = 19, SCHEMA_BASELINE = 20 };

struct schema_file {
	const char *name, *text;
};
struct schema_files {
	const struct schema_file *list; /* the steps in their order */
	size_t                    count;
};
extern const struct schema_files schema_files;

int schema_step(const struct schema_file *file);           /* the number of a step; 0: it is of the baseline */
int schema_files_latest(const struct schema_files *files); /* the version that all of them make */
/* Cuts the next statement off *text, without its semicolon. false: there is none left. */
bool schema_statement(const char **text, struct text *statement) MUST_CHECK;
#define SCHEMA_CREATE "CREATE TABLE "
#define SCHEMA_INSERT "INSERT INTO "
enum { SCHEMA_NAME_MAX = 64 };
/* Of a statement that begins with these words: writes the name of its table, and gives what follows the name. NULL: the
 * statement begins otherwise. */
const char *schema_statement_of(const char *statement, const char *words, char table[SCHEMA_NAME_MAX + 1]);

#endif
