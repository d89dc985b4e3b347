/* exec_output.h - the output of a program that settles, line by line: `ANSWER done`, `ANSWER retry REASON` or `ANSWER
 * bury REASON`. ANSWER is an order's id with % and space percent-encoded. %XX in an answer is decoded once, and any
 * other byte stands for itself. A line with one of these verbs and no order is counted as astray; other lines are
 * ignored. Pure. */
#ifndef EXEC_OUTPUT_H
#define EXEC_OUTPUT_H

#include "engine/base/codes.h"
#include "engine/rows.h"

enum said { SILENT, SAID_DONE, SAID_RETRY, SAID_BURY, WRITTEN };
enum { ANSWER_LINE_MAX = 4096, ANSWER_REASON_MAX = 500, ANSWER_NAME_SIZE = 3 * ID_MAX + 1 };

struct answers {
	struct reservation **orders; /* the orders of the task; the caller's */
	size_t               count;
	enum said *said; /* the answer for each order; owned. The first answer counts. WRITTEN: it is in the database */
	char     **reasons; /* the reason for each order; owned. UTF-8 of at most ANSWER_REASON_MAX bytes; NULL: none */
	char      *stray;   /* the first line that names no order, as a reason; NULL: none. Owned */
	int64_t    strays;  /* lines that name no order */
	char       line[ANSWER_LINE_MAX];
	size_t     line_len;
};

/* Writes the name of an order in an answer; `to` has ANSWER_NAME_SIZE bytes. */
void answer_name(char *to, const char *order_id);

void answers_init(struct answers *a, struct reservation **orders, size_t count);
void answers_fini(struct answers *a);
/* Takes bytes of the program's output, cut anywhere. Of an overlong line only the beginning is read. True: the bytes
 * completed an answer. */
bool answers_take(struct answers *a, const char *bytes, size_t len);

#endif
