/* hostile.h - a database server that answers with the bytes of a fuzz target's input (tests/kit/impostor.h). Each
 * answer begins with a byte that says what it is: rows of the columns that the statement has, of another number, too
 * many of them, none, two sets, a refusal, garbage, or the end of the connection. Values are NULL, a number or a word
 * at an edge, or bytes of the input. */
#ifndef FUZZ_HOSTILE_H
#define FUZZ_HOSTILE_H

#include "engine/db/source.h"

/* Bits of `how`. HOSTILE_PAST: the questions of a new connection are answered by the input, too, but for that of the
 * schema. HOSTILE_GOES_ON: statements behind the end of the input have no rows, or are done; otherwise they are
 * refused. HOSTILE_CLUSTER: the server is a node. */
enum { HOSTILE_PAST = 1, HOSTILE_GOES_ON = 2, HOSTILE_CLUSTER = 4 };

void hostile_open(void); /* once a process */
/* The source of connections to it. hostile_end frees it, behind its last connection. */
struct source *hostile_begin(unsigned how, const uint8_t *data, size_t size);
void           hostile_end(struct source *source);

#endif
