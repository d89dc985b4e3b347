/* first.h - a database of the first version, and what programs of that version write: tests/schema/first_dump.sql and
 * writes.sql. Trouble ends the test. One thread. */
#ifndef TESTS_FIRST_H
#define TESTS_FIRST_H

#include "tests/kit/scratch.h"

/* Statements, each with its end cut off. */
struct pieces {
	char **item;
	size_t n;
};
/* Cuts a text at each semicolon before an empty line or the end. */
void pieces_cut(struct pieces *p, const char *text);
void pieces_fini(struct pieces *p);
/* The statements of the newest step of the schema that came after the first version. */
void pieces_of_step(struct pieces *p, const char *name);

/* Empties the database and loads the dump, its times moved to the present. */
void first_load(struct scratch *s);
/* Every row of every table that the first version has, in its own columns, whatever the table is called by now. */
void first_facts(struct scratch *s, struct text *out);

/* One transaction of a program of the first version, on a connection of its own, statement by statement. */
struct writer {
	const char   *name;
	struct db    *db;
	struct pieces statements;
	size_t        next;
	bool          failed; /* the program would give up: nothing more is sent */
};
enum { WRITERS_MAX = 20 };
/* Opens a writer for each block, and prepares its statements as far as the tables are there. */
size_t writers_open(struct scratch *s, struct writer *list);
void   writers_close(struct writer *list, size_t count);
/* The writer of that name. */
struct writer *writer_find(struct writer *list, size_t count, const char *name);
/* Does the next statement, also in two halves. */
void writer_step(struct writer *w);
void writer_send(struct writer *w);
void writer_answer(struct writer *w);
/* Does the rest. True: the transaction was committed. */
bool writer_run(struct writer *w);

#endif
