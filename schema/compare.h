/* compare.h - are the tables of a database those that a file of the baseline makes? */
#ifndef COMPARE_H
#define COMPARE_H

#include "engine/db/db.h"
#include "schema/files.h"

/* Adds a line for each difference, and counts it (count): tables that are missing; of each table the columns by name,
 * with type, NULL and default, the keys with their columns in order, the CHECKs and the engine; and the keys of the
 * rows that the file puts in. The order of columns and AUTO_INCREMENT may be any, and tables that the file does not
 * know are not looked at. The expectation is what the server makes of the file's statements as a temporary table;
 * nothing else is written. false: the database did not do it. */
bool schema_compare(struct db *db, const struct schema_file *file, struct text *differences) MUST_CHECK;

#endif
