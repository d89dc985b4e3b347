/* exec_output.h - the output of a program that settles, line by line: `ORDER_ID done`, `ORDER_ID retry REASON` or
 * `ORDER_ID bury REASON`. Other lines are passed over. Pure. */
#ifndef EXEC_OUTPUT_H
#define EXEC_OUTPUT_H

#include "engine/rows.h"

enum said { SILENT, SAID_DONE, SAID_RETRY, SAID_BURY, WRITTEN };
enum { ANSWER_LINE_MAX = 4096, ANSWER_REASON_MAX = 500 };

struct answers {
	struct reservation **orders; /* orders of the task, which are the caller's */
	size_t               count;
	enum said *said; /* the answer for each order; owned. The first answer counts; WRITTEN: the database has it */
	char     **reasons; /* the reason for each order; owned. UTF-8 of at most ANSWER_REASON_MAX bytes; NULL: none */
	char       line[ANSWER_LINE_MAX];
	size_t     line_len;
};

void answers_init(struct answers *a, struct reservation **orders, size_t count);
void answers_fini(struct answers *a);
/* Takes bytes of the program's output, cut anywhere. The beginning of an overlong line counts. True: an answer was
 * among them. */
bool answers_take(struct answers *a, const char *bytes, size_t len);

#endif
