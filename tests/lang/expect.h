/* expect.h - checks of an answer: its form, which holds for every answer, and the words of one expectation.
 *
 * The words are explained at the top of flow.h. Pure: answers in, a verdict and a reason out. Any thread. */
#ifndef TESTS_EXPECT_H
#define TESTS_EXPECT_H

#include "engine/base/text.h"
#include "tests/kit/http.h"

/* The rules of api/openapi.yaml for every answer: the type of its body, the members of a problem, X-Request-Id,
 * Retry-After, numbers written as integers, times in RFC 3339 with milliseconds, on_hand = available + reserved. */
bool expect_form(const struct call *call, const struct answer *a, struct text *why);
/* One expectation. For a batch its parts, divided by `|`, are held against the results in their order. */
bool expect_words(const char *expectation, bool batch, const struct answer *a, struct text *why);

#endif
