/* fuzz_answers.c - any bytes as the output of a program that settles four orders. It does not matter how the output is
 * cut into pieces, every reason is UTF-8 of at most 500 bytes, and the name of any order is read as it was written. */
#include "input.h"
#include "engine/base/utf8.h"
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

/* The first bytes as the id of an order, which is answered. */
static void name_check(const uint8_t *data, size_t size)
{
	static struct reservation r;
	struct reservation       *orders[] = {&r};
	static struct answers     a;
	char                      name[ANSWER_NAME_SIZE];
	size_t                    len = size < ID_MAX ? size : ID_MAX;

	memcpy(r.order_id, data, len);
	r.order_id[len] = '\0';
	if (!id_valid(r.order_id, len, ID_MAX))
		return;
	answer_name(name, r.order_id);
	assert(strlen(name) < sizeof(name) && !strchr(name, ' '));
	answers_init(&a, orders, 1);
	assert(!answers_take(&a, name, strlen(name)) && answers_take(&a, " done\n", 6) && a.said[0] == SAID_DONE);
	answers_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct reservation r1 = {.order_id = "R1"}, r2 = {.order_id = "R-2"}, r3 = {.order_id = "done"};
	static struct reservation r4 = {.order_id = "50% a/b"};
	struct reservation       *orders[] = {&r1, &r2, &r3, &r4};
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
	assert(whole.strays == cut.strays && !whole.stray == (whole.strays == 0));
	if (whole.stray) {
		assert(strcmp(whole.stray, cut.stray) == 0);
		reason_check(whole.stray);
	}
	name_check(data, size);
	answers_fini(&whole);
	answers_fini(&cut);
	return 0;
}
