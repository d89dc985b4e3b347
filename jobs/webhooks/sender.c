/* sender.c - see sender.h. An attempt has a transfer, an easy handle of libcurl with what it needs around. Transfers
 * are used again, and the connections belong to the multi handle. Nothing blocks: names are resolved in threads of
 * libcurl, and QUICK_EXIT leaves a resolver that hangs behind, instead of waiting for it. */
#include "jobs/webhooks/sender.h"
#include "engine/base/clock.h"
#include "engine/base/late_curl.h"
#include "engine/base/utf8.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/base/text.h"
#include "jobs/webhooks/address.h"

#include <pthread.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

enum { TIMEOUT_MS = 15000, ANSWER_MAX = 64 << 10, KEPT_S = 60, KEPT_MAX = 256, RETRY_AFTER_MAX_S = 3600, HEADS = 4 };

struct transfer {
	struct sender    *sender;
	CURL             *easy;
	void             *arg;
	bool              plain;      /* http */
	bool              head_whole; /* of the answer */
	const char       *refused;    /* why the last address was refused; NULL: none was */
	size_t            head_got, body_got;
	int64_t           at, began_ms;
	char              kept[BODY_KEPT]; /* of the answer's body */
	struct text       body, heads;     /* of the request; `heads` holds lines, each with its NUL */
	struct curl_slist head[HEADS];
	struct curl_slist resolve[8];
	char              error[CURL_ERROR_SIZE];
	const char       *flaw; /* why nothing was sent; NULL: it was */
	struct transfer  *next; /* of sender.idle or sender.unsent */
	struct transfer  *all;  /* of sender.all */
};

struct sender {
	CURLM                *multi;
	struct address_ranges allowed;
	struct sender_options options; /* without `allow` */
	struct transfer      *all, *idle, *unsent;
	size_t                busy;
	int                   wakes; /* sender_wake_by */
};

/* libcurl refuses none of these options, but it may run out of memory. */
#define SET(easy, option, value)                                       \
	do {                                                           \
		if (curl_easy_setopt(easy, option, value) != CURLE_OK) \
			mem_end();                                     \
	} while (0)

/* ---- URLs */

static bool scheme_is(const char *url, const char *scheme)
{
	size_t len = strlen(scheme);

	/* libcurl accepts a third slash, too. */
	return strncasecmp(url, scheme, len) == 0 && url[len] != '/';
}

/* Returns what is wrong with a URL by itself; NULL: nothing, and `u` holds it. */
static const char *url_flaw(CURLU *u, const char *url, bool *plain)
{
	size_t len = strlen(url);
	char  *host = NULL;

	*plain = scheme_is(url, "http://");
	if (!*plain && !scheme_is(url, "https://"))
		return "must begin with https:// and a host";
	if (len > WEBHOOK_URL_MAX)
		return "must have 2000 bytes at most";
	for (const char *at = url; *at; at++)
		if (*at <= ' ' || *at > '~' || *at == '\\')
			return "must be of printable ASCII without space and backslash";
	if (strchr(url, '#'))
		return "must have no fragment";
	if (curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK ||
	    curl_url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK)
		return "must be a URL with a host";
	curl_free(host);
	len = strcspn(url, ":") + strlen("://");
	if (memchr(url + len, '@', strcspn(url + len, "/?")))
		return "must have no user";
	return NULL;
}

/* Says why a host that is an address may not be reached; NULL: it may, or the host is a name. */
static const char *host_flaw(CURLU *u, const struct address_ranges *allowed, bool plain)
{
	struct sockaddr_storage to;
	char                   *host = NULL;
	size_t                  len;
	const char             *flaw = NULL;

	if (curl_url_get(u, CURLUPART_HOST, &host, CURLU_URLDECODE) != CURLUE_OK)
		mem_end();
	len = strlen(host);
	if (host[0] == '[') {
		host[len - 1] = '\0';
		host[1 + strcspn(host + 1, "%")] = '\0';
	}
	if (address_parse(&to, host[0] == '[' ? host + 1 : host))
		flaw = address_refused((struct sockaddr *)&to, allowed, plain);
	curl_free(host);
	return flaw;
}

static void ranges_read(struct address_ranges *to, const char *allow)
{
	char why[200];

	if (allow && !address_ranges_add(to, allow, why, sizeof(why)))
		assert(!"ranges that were not looked at");
}

static CURLU *url_new(void)
{
	CURLU *u = curl_url();

	if (!u)
		mem_end();
	return u;
}

bool webhook_url_valid(const char *url, const struct sender_options *o, const char **why)
{
	static _Thread_local char said[120];
	struct address_ranges     allowed = {0};
	CURLU                    *u = url_new();
	bool                      plain;
	const char               *flaw;

	ranges_read(&allowed, o->allow);
	*why = url_flaw(u, url, &plain);
	if (!*why && plain && !allowed.count)
		*why = "must begin with https://, as --webhooks-allow names nothing";
	if (!*why) {
		flaw = host_flaw(u, &allowed, plain);
		snprintf(said, sizeof(said), "must not lead to %s", flaw ? flaw : "");
		*why = flaw ? said : NULL;
	}
	curl_url_cleanup(u);
	address_ranges_fini(&allowed);
	return !*why;
}

/* ---- callbacks of libcurl */

static bool transfer_may(struct transfer *t, const struct sockaddr *to)
{
	t->refused = address_refused(to, &t->sender->allowed, t->plain);
	return !t->refused;
}

static curl_socket_t socket_open(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
	if (purpose != CURLSOCKTYPE_IPCXN || !transfer_may(arg, &to->addr))
		return CURL_SOCKET_BAD;
	return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* socket_open is not asked for a kept connection. */
static int request_begins(void *arg, char *peer, char *own, int peer_port, int own_port)
{
	struct sockaddr_storage to;

	(void)own, (void)peer_port, (void)own_port;
	return address_parse(&to, peer) && transfer_may(arg, (struct sockaddr *)&to) ? CURL_PREREQFUNC_OK
	                                                                             : CURL_PREREQFUNC_ABORT;
}

/* 0 breaks the transfer off. */
static size_t part_came(size_t *got, size_t n)
{
	*got += n;
	return *got > ANSWER_MAX ? 0 : n;
}

/* Gets one line at a time, also of trailers: a complete head stays complete until the next one begins. libcurl reports
 * no error if the connection ends inside a head. */
static size_t head_came(char *data, size_t one, size_t n, void *arg)
{
	static const char begins[] = "HTTP/";
	struct transfer  *t = arg;

	if (one * n >= strlen(begins) && memcmp(data, begins, strlen(begins)) == 0)
		t->head_whole = false;
	else
		t->head_whole |= data[0] == '\r' || data[0] == '\n';
	return part_came(&t->head_got, one * n);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t body_came(char *data, size_t one, size_t n, void *arg)
{
	struct transfer *t = arg;

	if (t->body_got < BODY_KEPT)
		memcpy(t->kept + t->body_got, data, smaller(one * n, BODY_KEPT - t->body_got));
	return part_came(&t->body_got, one * n);
}

/* ---- transfers */

static void transfer_options(struct transfer *t)
{
	SET(t->easy, CURLOPT_OPENSOCKETFUNCTION, socket_open);
	SET(t->easy, CURLOPT_OPENSOCKETDATA, t);
	SET(t->easy, CURLOPT_PREREQFUNCTION, request_begins);
	SET(t->easy, CURLOPT_PREREQDATA, t);
	SET(t->easy, CURLOPT_MAXLIFETIME_CONN, (long)KEPT_S);
	SET(t->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	SET(t->easy, CURLOPT_PROXY, ""); /* no proxy of the environment either: it would hide the address */
	SET(t->easy, CURLOPT_NOSIGNAL, 1L);
	SET(t->easy, CURLOPT_QUICK_EXIT, 1L);
	SET(t->easy, CURLOPT_TIMEOUT_MS, (long)t->sender->options.timeout_ms);
	SET(t->easy, CURLOPT_HEADERFUNCTION, head_came);
	SET(t->easy, CURLOPT_HEADERDATA, t);
	SET(t->easy, CURLOPT_WRITEFUNCTION, body_came);
	SET(t->easy, CURLOPT_WRITEDATA, t);
	SET(t->easy, CURLOPT_ERRORBUFFER, t->error);
	SET(t->easy, CURLOPT_FOLLOWLOCATION, 0L);
}

static void tls_options(struct transfer *t)
{
	const char *ca_file = t->sender->options.ca_file;

	SET(t->easy, CURLOPT_SSL_VERIFYPEER, 1L);
	SET(t->easy, CURLOPT_SSL_VERIFYHOST, 2L);
	SET(t->easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (!ca_file)
		ca_file = getenv("SSL_CERT_FILE");
	if (ca_file)
		SET(t->easy, CURLOPT_CAINFO, ca_file);
	/* With a folder libcurl would read the file again for each connection. */
	SET(t->easy, CURLOPT_CAPATH, t->sender->options.ca_file ? NULL : getenv("SSL_CERT_DIR"));
}

/* Makes a new handle for each attempt: a handle counts the kept connections that died under it, and would give up at
 * the sixth. */
static void transfer_reset(struct transfer *t)
{
	t->refused = NULL;
	t->head_got = t->body_got = 0;
	t->at = clock_wall_ms();
	t->began_ms = clock_ms();
	t->head_whole = false;
	t->error[0] = '\0';
	curl_easy_reset(t->easy);
	SET(t->easy, CURLOPT_PRIVATE, t);
	/* Over TLS the default is HTTP/2, where a server may rightly refuse a POST: one in a thousand was. */
	SET(t->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(t->easy, CURLOPT_POST, 1L);
	SET(t->easy, CURLOPT_USERAGENT, "holdfast/" HOLDFAST_VERSION);
	transfer_options(t);
	tls_options(t);
}

static struct transfer *transfer_new(struct sender *s)
{
	struct transfer *t = mem_alloc(sizeof(*t));

	t->sender = s;
	t->easy = curl_easy_init();
	if (!t->easy)
		mem_end();
	t->all = s->all;
	s->all = t;
	return t;
}

static void transfer_free(struct transfer *t)
{
	curl_easy_cleanup(t->easy);
	text_fini(&t->body);
	text_fini(&t->heads);
	free(t);
}

/* An id has no dot, because id, time and body are signed with dots between them. */
static bool id_valid(const char *id)
{
	for (const char *at = id; *at; at++)
		if (*at <= ' ' || *at > '~' || *at == '.')
			return false;
	return *id != '\0';
}

/* The texts of the list as a list of libcurl, owned by the transfer. */
static struct curl_slist *list_of(struct curl_slist *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		list[i].next = i + 1 < count ? &list[i + 1] : NULL;
	return count ? list : NULL;
}

/* False: a secret is not valid. */
static bool heads_write(struct transfer *t, const struct post *p)
{
	int64_t now = time(NULL);
	char   *line;

	text_reset(&t->heads);
	text_format(&t->heads,
	            "Content-Type: application/json%cwebhook-id: %s%cwebhook-timestamp: %lld%cwebhook-signature: ",
	            '\0', p->id, '\0', (long long)now, '\0');
	if (!signature_write(&t->heads, p->secrets, p->id, now, p->body, p->len))
		return false;
	line = t->heads.data;
	for (int i = 0; i < HEADS; i++, line += strlen(line) + 1)
		t->head[i].data = line;
	return true;
}

static void names_resolve(struct transfer *t, const char *const *resolve)
{
	size_t n = 0;

	for (; resolve && resolve[n] && n < LENGTH(t->resolve); n++)
		t->resolve[n].data = (char *)(uintptr_t)resolve[n];
	SET(t->easy, CURLOPT_RESOLVE, list_of(t->resolve, n));
}

/* Fills the transfer from the post. Returns what is wrong with the post; NULL: nothing. */
static const char *transfer_fill(struct transfer *t, const struct post *p)
{
	CURLU      *u = url_new();
	const char *flaw = url_flaw(u, p->url, &t->plain);

	curl_url_cleanup(u);
	if (flaw)
		return flaw;
	if (!id_valid(p->id))
		return "the id of the event is no word without a dot";
	if (!heads_write(t, p))
		return "there is no secret to sign with";
	text_reset(&t->body);
	text_bytes(&t->body, p->body, p->len);
	SET(t->easy, CURLOPT_URL, p->url);
	SET(t->easy, CURLOPT_HTTPHEADER, list_of(t->head, HEADS));
	SET(t->easy, CURLOPT_POSTFIELDS, t->body.data);
	SET(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)p->len);
	names_resolve(t, t->sender->options.resolve);
	return NULL;
}

void sender_post(struct sender *s, const struct post *p)
{
	struct transfer *t = s->idle;

	if (t)
		s->idle = t->next;
	else
		t = transfer_new(s);
	t->arg = p->arg;
	transfer_reset(t);
	t->flaw = transfer_fill(t, p);
	s->busy++;
	if (t->flaw) {
		t->next = s->unsent;
		s->unsent = t;
	} else if (curl_multi_add_handle(s->multi, t->easy) != CURLM_OK)
		mem_end();
}

/* ---- the end of a transfer */

/* libcurl takes a number that it cannot hold as none; strtoll gives the largest. */
static int64_t retry_after(CURL *easy)
{
	struct curl_header *line;
	curl_off_t          s = 0;

	curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &s);
	if (s == 0 && curl_easy_header(easy, "Retry-After", 0, CURLH_HEADER, -1, &line) == CURLHE_OK &&
	    !line->value[strspn(line->value, "0123456789")])
		s = strtoll(line->value, NULL, 10);
	return s <= 0 ? -1 : s > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : s;
}

static void answer_judge(struct transfer *t, struct posted *p)
{
	long status = 0;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	p->status = (int)status;
	p->delivered = status >= 200 && status <= 299;
	p->gone = status == 410;
	if (p->delivered)
		return;
	p->retry_after_s = retry_after(t->easy);
	why_write(p->why, sizeof(p->why), "answered %ld", status);
}

/* The texts of libcurl may contain bytes of the receiver. */
static void why_clean(char *why)
{
	for (; *why; why++)
		if (*why < ' ' || *why > '~')
			*why = '?';
}

/* A status alone is not enough: a transfer that was broken off may have one. */
static void transfer_judge(struct transfer *t, CURLcode rc, struct posted *p)
{
	*p = (struct posted){.arg = t->arg, .retry_after_s = -1};
	if (t->flaw)
		why_write(p->why, sizeof(p->why), "not sent: %s", t->flaw);
	else if (rc == CURLE_OK && !t->head_whole)
		why_write(p->why, sizeof(p->why), "the head of the answer did not come whole");
	else if (rc == CURLE_OK || (rc == CURLE_WRITE_ERROR && t->body_got > ANSWER_MAX))
		answer_judge(t, p);
	else if (t->refused)
		why_write(p->why, sizeof(p->why), "refused: %s", t->refused);
	else if (t->head_got > ANSWER_MAX || rc == CURLE_OUT_OF_MEMORY) /* libcurl's error for a line without an end */
		why_write(p->why, sizeof(p->why), "the head of the answer is longer than %d bytes", ANSWER_MAX);
	else
		why_write(p->why, sizeof(p->why), "%s", t->error[0] ? t->error : curl_easy_strerror(rc));
	why_clean(p->why);
}

static void transfer_end(struct transfer *t, CURLcode rc, struct posted *p)
{
	struct sender *s = t->sender;

	transfer_judge(t, rc, p);
	p->at = t->at;
	p->ms = clock_ms() - t->began_ms;
	p->body_len = p->status ? smaller(t->body_got, BODY_KEPT) : 0;
	memcpy(p->body, t->kept, p->body_len);
	t->next = s->idle;
	s->idle = t;
	s->busy--;
}

static size_t ends_take(struct sender *s, struct posted *done, size_t max)
{
	size_t   n = 0;
	CURLMsg *m;
	int      left;

	while (n < max && s->unsent) {
		struct transfer *t = s->unsent;

		s->unsent = t->next;
		transfer_end(t, CURLE_OK, &done[n++]);
	}
	while (n < max && (m = curl_multi_info_read(s->multi, &left))) {
		struct transfer *t;
		CURLcode         rc = m->data.result;

		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t);
		curl_multi_remove_handle(s->multi, t->easy);
		transfer_end(t, rc, &done[n++]);
	}
	return n;
}

size_t sender_wait(struct sender *s, int wait_ms, struct posted *done, size_t max)
{
	struct curl_waitfd wakes = {.fd = s->wakes, .events = CURL_WAIT_POLLIN};
	int64_t            until = clock_ms() + wait_ms, left;
	int                running;
	size_t             n;

	for (;;) {
		if (curl_multi_perform(s->multi, &running) != CURLM_OK)
			mem_end();
		n = ends_take(s, done, max);
		left = until - clock_ms();
		if (n || left <= 0 || wakes.revents)
			return n;
		if (curl_multi_poll(s->multi, &wakes, s->wakes >= 0, (int)left, NULL) != CURLM_OK)
			mem_end();
	}
}

void sender_wake_by(struct sender *s, int fd)
{
	s->wakes = fd;
}

size_t sender_busy(const struct sender *s)
{
	return s->busy;
}

/* Leaves out a character that is cut at the end. */
static void body_json(struct json_writer *w, const char *body, size_t len)
{
	char        padded[BODY_KEPT + 4] = ""; /* for utf8_length */
	struct text text = {0};

	memcpy(padded, body, len);
	for (size_t i = 0, n; i < len; i += n) {
		bool ascii = (unsigned char)padded[i] < 0x80;

		n = ascii ? 1 : utf8_length(padded + i);
		if (n > 0)
			text_bytes(&text, padded + i, n);
		else if (len < BODY_KEPT || i + 3 < len)
			text_add(&text, "\xef\xbf\xbd");
		n += n == 0;
	}
	json_put_bytes(w, "body", text.data ? text.data : "", text.len);
	text_fini(&text);
}

void posted_json(struct json_writer *w, const struct posted *p)
{
	if (p->status)
		json_put_int(w, "status", p->status);
	else
		json_put_string(w, "error", p->why);
	json_put_int(w, "ms", p->ms);
	body_json(w, p->body, p->body_len);
}

/* ---- the sender */

static void curl_start(void)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		mem_end();
}

void sender_allow(struct sender *s, const char *allow)
{
	address_ranges_fini(&s->allowed);
	ranges_read(&s->allowed, allow);
}

struct sender *sender_new(const struct sender_options *o)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sender        *s = mem_alloc(sizeof(*s));

	pthread_once(&once, curl_start);
	s->options = *o;
	s->wakes = -1;
	if (!o->timeout_ms)
		s->options.timeout_ms = TIMEOUT_MS;
	sender_allow(s, o->allow);
	s->multi = curl_multi_init();
	if (!s->multi || curl_multi_setopt(s->multi, CURLMOPT_MAXCONNECTS, (long)KEPT_MAX) != CURLM_OK)
		mem_end();
	return s;
}

void sender_free(struct sender *s)
{
	while (s->all) {
		struct transfer *t = s->all;

		s->all = t->all;
		curl_multi_remove_handle(s->multi, t->easy);
		transfer_free(t);
	}
	curl_multi_cleanup(s->multi);
	address_ranges_fini(&s->allowed);
	free(s);
}
