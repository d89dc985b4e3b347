/* exec_output.h - the output of a program that settles, line by line: `ANSWER done`, `ANSWER retry REASON` or
 * `ANSWER bury REASON`, ANSWER being an order's id with % and space percent-encoded. In an answer %XX is decoded once,
 * and any other byte stands for itself. A line with such a verb that names no order is kept as astray; other lines are
 * passed over. Pure. */
#ifndef EXEC_OUTPUT_H
#define EXEC_OUTPUT_H

#include "engine/base/codes.h"
#include "engine/rows.h"

enum said { SILENT, SAID_DONE, SAID_RETRY, SAID_BURY, WRITTEN };
enum { ANSWER_LINE_MAX = 4096, ANSWER_REASON_MAX = 500, ANSWER_NAME_SIZE = 3 * ID_MAX + 1 };

struct answers {
	struct reservation **orders; /* orders of the task, which are the caller's */
	size_t               count;
	enum said *said; /* the answer for each order; owned. The first answer counts; WRITTEN: the database has it */
	char     **reasons; /* the reason for each order; owned. UTF-8 of at most ANSWER_REASON_MAX bytes; NULL: none */
	char      *stray;   /* the first line that names no order, as a reason; NULL: none. Owned */
	int64_t    strays;  /* such lines */
	char       line[ANSWER_LINE_MAX];
	size_t     line_len;
};

/* Writes the name of an order in an answer; `to` has ANSWER_NAME_SIZE bytes. */
void answer_name(char *to, const char *order_id);

void answers_init(struct answers *a, struct reservation **orders, size_t count);
void answers_fini(struct answers *a);
/* Takes bytes of the program's output, cut anywhere. The beginning of an overlong line counts. True: an answer was
 * among them. */
bool answers_take(struct answers *a, const char *bytes, size_t len);

#endif
