/* job.h - a call that jobs/ does, on the background reader's connection or the census's. The noun's own struct carries
 * the input of a call and its answer, begins with a struct job_call, and belongs to an operation. */
#ifndef API_JOB_H
#define API_JOB_H

#include "engine/op.h"

struct json_reader;
struct json_writer;
struct request;

struct job_noun {
	void *(*make)(struct request *r); /* a new call, from the path and the query; NULL: already answered */
	void (*fini)(void *call);         /* NULL: the call owns nothing but its list */
};

/* A call for a page of a list. */
struct job_page {
	/* Reads the cursor (NULL: from the beginning); false: it is not of this list. */
	bool (*begin)(void *call, const char *cursor);
	/* ---- the usual answer, for a kind without `write` */
	size_t size; /* of an item of job_call.list */
	void (*put)(struct json_writer *w, const void *item);
	void (*mark)(const void *call, const void *item, char *cursor); /* writes the cursor behind the item */
};

/* A call, by its name in routes.def. */
struct job_kind {
	const struct job_noun *noun;
	void (*read)(struct json_reader *in, void *call); /* takes the members of the body; NULL: there are none */
	/* The work, on the reader's thread. It may be run again, as struct job of op.h says. */
	enum db_result (*run)(struct db *db, void *call);
	void (*write)(struct json_writer *w, void *call); /* puts the members of the answer */
	const struct job_page *page;                      /* NULL: the call is about one thing */
};

struct job_call {
	const struct job_kind *kind;
	bool                   counts;                    /* set by `make`: the census does it, as it walks a table */
	enum onward (*onward)(void *call, struct op *op); /* of struct job; NULL: there is none */
	/* ---- set by `run` */
	enum outcome outcome;             /* OUTCOME_OK, OUTCOME_REPLAYED, or why the call is refused */
	const char  *field;               /* a refusal is about this member of the body; NULL: about none */
	bool         empty;               /* the answer is 204 .. */
	bool         later;               /* .. with Retry-After: 5 */
	const char  *made;                /* the answer is 201 and this way, "tasks/", leads to .. ; NULL: 200 */
	char         made_id[ID_MAX + 1]; /* .. what was made */
	size_t       limit, count;        /* items of a page at most; items found, limit + 1 at most, */
	void        *list;                /* .. which the work writes here: room for limit + 1 */
};

/* The usual answer of a page, for a `write` that puts more behind it. */
void job_page_write(struct json_writer *w, void *call);

void job_handle(struct request *r, const struct job_kind *kind);

#endif
