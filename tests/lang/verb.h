/* verb.h - the verbs of the flow language that are requests: words in, one HTTP call out. Pure; any thread. */
#ifndef TESTS_VERB_H
#define TESTS_VERB_H

#include "tests/kit/http.h"

/* A step, cut up. */
struct step {
	char       *text; /* the step; rest and expectation point into it */
	char       *cut;  /* another copy; the words point into it */
	char      **word; /* the words before the arrow; word[0] is the verb */
	size_t      words;
	const char *rest;        /* everything before the arrow, from the verb on, unchanged */
	const char *expectation; /* after the arrow; NULL: none */
	const char *cursor;      /* for `next`; NULL: there was none */
};
/* The next word, cut off in place; NULL: there is none. '..' keeps spaces together. */
char *word_next(char **rest);
/* Cuts at the arrow and at spaces. `number` (if not negative) takes the place of every #. */
void step_read(struct step *s, const char *text, int64_t number);
void step_fini(struct step *s);

/* Writes the request. false: the verb is not a request, or its words make no sense. */
bool verb_write(const struct step *s, struct call *to);

#endif
