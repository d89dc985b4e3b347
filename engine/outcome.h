/* outcome.h - outcomes of an operation; outcome.def lists them in the order of their precedence. */
#ifndef OUTCOME_H
#define OUTCOME_H

#include <stdbool.h>

enum outcome {
#define X(name, code, class, detail) name,
#include "engine/outcome.def"
#undef X
	OUTCOMES
};
enum outcome_class {
	DONE,
	REPEATED,
	ENDED, /* a repeat, too; the order of the first call was released or has expired since */
	STRANGER,
	DENIED,
	IMPOSSIBLE,
	ABSENT,
	CONFLICT,
	GONE,
	MALFORMED,
	LIMITED,
	UNAVAILABLE
};
const char        *outcome_code(enum outcome o);   /* the stable code in answers and metrics; "" of a good outcome */
const char        *outcome_detail(enum outcome o); /* a sentence for people */
enum outcome_class outcome_class(enum outcome o);
/* True: the call was made before with the same content, and nothing is done a second time. */
bool outcome_is_repeat(enum outcome o);
/* True: the other order that a request names is in the way: it is not there, or not in the right state. */
bool outcome_is_of_other(enum outcome o);

#endif
