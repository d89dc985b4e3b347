/* fuzz_answers.c - any bytes as the output of a program that settles three orders. It does not matter how the output is
 * cut into pieces, and every reason is UTF-8 of at most 500 bytes. */
#include "input.h"
#include "engine/base/escape.h"
#include "jobs/exec_output.h"

#include <stdlib.h>
#include <string.h>

static void reason_check(const char *reason)
{
	assert(strlen(reason) <= ANSWER_REASON_MAX);
	while (*reason) {
		size_t len = (unsigned char)*reason < 0x80 ? 1 : utf8_length(reason);

		assert(len > 0);
		reason += len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct reservation r1 = {.order_id = "R1"}, r2 = {.order_id = "R-2"}, r3 = {.order_id = "done"};
	struct reservation       *orders[] = {&r1, &r2, &r3};
	static struct answers     whole, cut;
	bool                      answered, answered_cut = false;

	answers_init(&whole, orders, LENGTH(orders));
	answers_init(&cut, orders, LENGTH(orders));
	answered = answers_take(&whole, (const char *)data, size);
	for (size_t at = 0, len; at < size; at += len) {
		len = 1 + data[at] % 7u;
		len = len > size - at ? size - at : len;
		answered_cut |= answers_take(&cut, (const char *)data + at, len);
	}
	assert(answered == answered_cut);
	for (size_t i = 0; i < LENGTH(orders); i++) {
		assert(whole.said[i] == cut.said[i] && !whole.reasons[i] == !cut.reasons[i]);
		assert(!whole.reasons[i] || whole.said[i] == SAID_RETRY || whole.said[i] == SAID_BURY);
		if (!whole.reasons[i])
			continue;
		assert(strcmp(whole.reasons[i], cut.reasons[i]) == 0);
		reason_check(whole.reasons[i]);
	}
	answers_fini(&whole);
	answers_fini(&cut);
	return 0;
}
