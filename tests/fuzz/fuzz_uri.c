/* fuzz_uri.c - any bytes as the target of a request.
 *
 * A path fits a call's pattern exactly if the two are equal but for its codes; what is decoded and encoded again reads
 * the same; a query that was taken has no name twice, and everything it gives lies within its own text. */
#include "engine/base/text.h"
#include "input.h"
#include "api/http/uri.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const patterns[] = {
#define X(method, path, handler, callers) path,
#include "api/routes.def"
#undef X
	"/two/{first}/codes/{second}",
};

/* A text that is decoded, encoded and decoded again is the same. An encoded text is one segment that needs no encoding.
 */
static void segment_check(const char *from, size_t len)
{
	char        once[65], again[65];
	struct text encoded = {0};

	if (!percent_decode(once, sizeof(once), from, len))
		return;
	assert(strlen(once) <= len && strlen(once) < sizeof(once));
	percent_encode(&encoded, once);
	assert(percent_decode(again, sizeof(again), encoded.data, encoded.len));
	assert(encoded.data[strspn(encoded.data, "%-._~"
	                                         "0123456789"
	                                         "abcdefghijklmnopqrstuvwxyz"
	                                         "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0');
	assert(strcmp(once, again) == 0);
	text_fini(&encoded);
}

/* A path that fits is its pattern, with the codes in place of the names. */
static void path_check(const char *path)
{
	for (size_t i = 0; i < LENGTH(patterns); i++) {
		const char      *pattern = patterns[i], *at = path;
		struct path_code codes[PATH_CODES];
		size_t           n = 0;

		if (!path_fits(pattern, path, codes))
			continue;
		for (const char *brace; (brace = strchr(pattern, '{')) != NULL; pattern = strchr(brace, '}') + 1) {
			size_t before = (size_t)(brace - pattern);

			assert(n < PATH_CODES && strncmp(pattern, at, before) == 0 && codes[n].at == at + before);
			assert(codes[n].len > 0 && !memchr(codes[n].at, '/', codes[n].len));
			segment_check(codes[n].at, codes[n].len);
			at = codes[n].at + codes[n].len;
			n++;
		}
		assert(strcmp(pattern, at) == 0 && (n == PATH_CODES || !codes[n].at));
	}
}

static bool within(const char *text, size_t len, const char *s)
{
	return s >= text && s <= text + len && s + strlen(s) <= text + len;
}

static void query_check(char *text)
{
	struct query_string q, again;
	struct text         encoded = {0};
	size_t              len = strlen(text);
	const char         *wrong;

	if (!query_parse(&q, text, &wrong)) {
		assert(!*wrong || within(text, len, wrong));
		return;
	}
	assert(q.count <= QUERY_MAX);
	for (size_t i = 0; i < q.count; i++) {
		assert(within(text, len, q.name[i]) && within(text, len, q.value[i]) && !q.used[i]);
		for (size_t k = 0; k < i; k++)
			assert(strcmp(q.name[i], q.name[k]) != 0);
		text_add(&encoded, i ? "&" : "");
		percent_encode(&encoded, q.name[i]);
		text_add(&encoded, "=");
		percent_encode(&encoded, q.value[i]);
	}
	assert(query_parse(&again, encoded.data, &wrong) && again.count == q.count);
	for (size_t i = 0; i < q.count; i++)
		assert(strcmp(again.name[i], q.name[i]) == 0 && strcmp(again.value[i], q.value[i]) == 0);
	text_fini(&encoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *target = input_text(data, size), *path, *query;

	target_split(target, &path, &query);
	path_check(path);
	query_check(query ? query : path);
	free(target);
	return 0;
}
