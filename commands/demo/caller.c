/* caller.c - see caller.h. */
#include "commands/demo/caller.h"
#include "engine/base/late_curl.h"
#include "engine/base/memory.h"

#include <stdlib.h>

enum { CONNECT_MS = 5000, CALL_MS = 30000 };

struct caller {
	CURL              *curl;
	struct curl_slist *head;
	char              *url;
	struct text        target, answer, why;
	struct json_doc   *doc;
	char               error[CURL_ERROR_SIZE];
};

/* libcurl refuses none of these options, but it may run out of memory. */
#define SET(c, option, value)                                               \
	do {                                                                \
		if (curl_easy_setopt((c)->curl, option, value) != CURLE_OK) \
			mem_end();                                          \
	} while (0)

static void head_add(struct caller *c, const char *line)
{
	c->head = curl_slist_append(c->head, line);
	if (!c->head)
		mem_end();
}

static size_t body_came(char *data, size_t one, size_t n, void *to)
{
	text_bytes(to, data, one * n);
	return one * n;
}

static void options_set(struct caller *c)
{
	const char *ca_file = getenv("SSL_CERT_FILE");

	SET(c, CURLOPT_PROTOCOLS_STR, "http,https");
	SET(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(c, CURLOPT_NOSIGNAL, 1L);
	SET(c, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	SET(c, CURLOPT_TIMEOUT_MS, (long)CALL_MS);
	SET(c, CURLOPT_USERAGENT, "holdfast/" HOLDFAST_VERSION);
	SET(c, CURLOPT_HTTPHEADER, c->head);
	SET(c, CURLOPT_WRITEFUNCTION, body_came);
	SET(c, CURLOPT_WRITEDATA, &c->answer);
	SET(c, CURLOPT_ERRORBUFFER, c->error);
	if (ca_file)
		SET(c, CURLOPT_CAINFO, ca_file);
}

struct caller *caller_open(const char *url, const char *key)
{
	struct caller *c = mem_alloc(sizeof(*c));
	struct text    bearer = {0};
	size_t         len = strlen(url);

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		mem_end();
	c->curl = curl_easy_init();
	if (!c->curl)
		mem_end();
	c->url = mem_copy(url);
	while (len > 0 && c->url[len - 1] == '/')
		c->url[--len] = '\0';
	head_add(c, "Content-Type: application/json");
	head_add(c, "Expect:");
	if (key) {
		text_format(&bearer, "Authorization: Bearer %s", key);
		head_add(c, bearer.data);
		explicit_bzero(bearer.data, bearer.len);
		text_fini(&bearer);
	}
	options_set(c);
	return c;
}

const char *caller_url(const struct caller *c)
{
	return c->url;
}

void caller_close(struct caller *c)
{
	curl_easy_cleanup(c->curl);
	curl_slist_free_all(c->head);
	json_free(c->doc);
	text_fini(&c->target);
	text_fini(&c->answer);
	text_fini(&c->why);
	free(c->url);
	free(c);
}

void caller_text(struct text *to, const void *object, const char *name)
{
	const void *n = object ? json_member(object, name) : NULL;

	if (n)
		json_text(to, n);
}

static void answer_read(struct caller *c, int status, const char *error)
{
	struct json_fault fault = {0};

	c->doc = json_parse(c->answer.data ? c->answer.data : "", c->answer.len, &fault);
	text_reset(&c->why);
	if (status == 0)
		text_add(&c->why, error);
	else
		caller_text(&c->why, caller_answer(c), "detail");
	if (c->why.len == 0)
		text_format(&c->why, "answered %d", status);
}

int caller_call(struct caller *c, const char *method, const char *path, const struct text *body)
{
	CURLcode rc;
	long     status = 0;

	assert(path[0] == '/');
	json_free(c->doc);
	text_reset(&c->target);
	text_reset(&c->answer);
	text_format(&c->target, "%s%s", c->url, path);
	c->error[0] = '\0';
	SET(c, CURLOPT_URL, c->target.data);
	SET(c, CURLOPT_HTTPGET, 1L);
	if (body) {
		SET(c, CURLOPT_POSTFIELDS, body->data);
		SET(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
	}
	SET(c, CURLOPT_CUSTOMREQUEST, method);
	rc = curl_easy_perform(c->curl);
	if (rc == CURLE_OK)
		curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	answer_read(c, (int)status, *c->error ? c->error : curl_easy_strerror(rc));
	return (int)status;
}

const void *caller_answer(const struct caller *c)
{
	return c->doc ? json_root(c->doc) : NULL;
}

const char *caller_why(const struct caller *c)
{
	return c->why.data;
}
