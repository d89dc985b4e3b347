/* fuzz_call.c - any call, well framed: the first line of the input is `METHOD TARGET`, the rest is the body. There is
 * exactly one answer; its length is right; what it calls JSON is JSON by our own strict reading; a refusal has a code.
 */
#include "input.h"
#include "service.h"
#include "engine/base/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	service_start();
	return 0;
}

static void json_check(const char *body, size_t len, bool refusal)
{
	struct json_fault  fault;
	struct json_reader in;
	struct json_doc   *doc = json_parse(body, len, &fault);

	assert(doc);
	json_begin(&in, doc, &fault);
	assert(!refusal || json_has(&in, "code"));
	json_free(doc);
}

static void answer_check(const struct text *answer, bool head)
{
	const char *body = answer->data ? strstr(answer->data, "\r\n\r\n") : NULL, *length;
	size_t      len;

	assert(body);
	body += 4;
	len = answer->len - (size_t)(body - answer->data);
	length = strcasestr(answer->data, "\r\nContent-Length: ");
	assert(!length || head || strtoul(length + strlen("\r\nContent-Length: "), NULL, 10) == len);
	if (len == 0 || !length || length > body)
		return;
	if (strstr(answer->data, "\r\nContent-Type: application/json\r\n"))
		json_check(body, len, false);
	else if (strstr(answer->data, "\r\nContent-Type: application/problem+json\r\n"))
		json_check(body, len, true);
}

static bool starts(const uint8_t *data, size_t size, const char *with)
{
	return size >= strlen(with) && memcmp(data, with, strlen(with)) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line_end = memchr(data, '\n', size);
	size_t         line = line_end ? (size_t)(line_end - data) : size, body = line_end ? size - line - 1 : 0;
	struct text    call = {0}, answer = {0};

	if (line == 0 || memchr(data, '\r', line) || memchr(data, '\0', line))
		return 0;
	text_bytes(&call, data, line);
	text_format(&call,
	            " HTTP/1.1\r\nHost: fuzz\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: "
	            "%zu\r\n\r\n",
	            body);
	if (body > 0)
		text_bytes(&call, line_end + 1, body);
	service_exchange(call.data, call.len, false, &answer);
	service_check_statuses(&answer);
	answer_check(&answer, starts(data, size, "HEAD "));
	text_fini(&call);
	text_fini(&answer);
	return 0;
}
