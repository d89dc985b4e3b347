/* inbox.c - see inbox.h. */
#include "tests/kit/inbox.h"
#include "tests/kit/patience.h"
#include "engine/base/clock.h"
#include "engine/base/memory.h"

#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATHS = 40, REQUEST_MAX = 64 << 10, PAUSE_US = 5000 };

struct place {
	char          path[64];
	struct manner manner;
	int           now, most; /* requests under way */
};

static struct {
	pthread_mutex_t  lock;
	struct place     places[PATHS];
	size_t           places_count;
	struct received *list;
	size_t           count, max;
} r = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Call under the lock. */
static struct place *place_of(const char *path)
{
	for (size_t i = 0; i < r.places_count; i++)
		if (strcmp(r.places[i].path, path) == 0)
			return &r.places[i];
	assert(r.places_count < PATHS);
	snprintf(r.places[r.places_count].path, sizeof(r.places[0].path), "%s", path);
	r.places[r.places_count].manner.status = 200;
	return &r.places[r.places_count++];
}

static void header_read(const char *head, const char *name, char *to, size_t size)
{
	const char *at = strcasestr(head, name);

	*to = '\0';
	if (!at)
		return;
	at += strlen(name) + strspn(at + strlen(name), " ");
	snprintf(to, size, "%.*s", (int)strcspn(at, "\r\n"), at);
}

/* Notes a request; returns its number. *m: how it is to be answered. */
static size_t request_note(const char *head, const char *body, size_t len, struct manner *m)
{
	struct received in = {.at_ms = clock_ms(), .len = len};
	struct place   *place;
	size_t          number;

	if (sscanf(head, "POST %63s", in.path) != 1)
		snprintf(in.path, sizeof(in.path), "not a POST");
	header_read(head, "webhook-id:", in.id, sizeof(in.id));
	header_read(head, "webhook-signature:", in.signature, sizeof(in.signature));
	header_read(head, "webhook-timestamp:", in.timestamp, sizeof(in.timestamp));
	in.body = mem_alloc(len + 1);
	memcpy(in.body, body, len);
	pthread_mutex_lock(&r.lock);
	place = place_of(in.path);
	place->most = ++place->now > place->most ? place->now : place->most;
	*m = place->manner;
	if (place->manner.times > 0 && --place->manner.times == 0)
		place->manner = (struct manner){.status = 200};
	r.list = mem_reach(r.list, r.count, &r.max, sizeof(*r.list));
	number = r.count++;
	r.list[number] = in;
	pthread_mutex_unlock(&r.lock);
	return number;
}

static void request_end(size_t number, int status)
{
	pthread_mutex_lock(&r.lock);
	place_of(r.list[number].path)->now--;
	r.list[number].status = status;
	pthread_mutex_unlock(&r.lock);
}

/* Answers one request; false: the connection ends. */
static bool request_answer(int fd, const char *head, const char *body, size_t len)
{
	struct manner m;
	size_t        number = request_note(head, body, len, &m);
	const char   *said;
	char          answer[1200], asks[60] = "";
	bool          sent;

	usleep((useconds_t)m.delay_ms * 1000);
	while (m.status == 0)
		pause();
	request_end(number, m.status);
	if (m.retry_after_s)
		snprintf(asks, sizeof(asks), "Retry-After: %d\r\n", m.retry_after_s);
	said = m.body ? m.body : "";
	snprintf(answer, sizeof(answer), "HTTP/1.1 %d Said\r\n%sContent-Length: %zu\r\n\r\n%s", m.status, asks,
	         strlen(said), said);
	sent = send(fd, answer, strlen(answer), MSG_NOSIGNAL) == (ssize_t)strlen(answer);
	return sent;
}

static void *connection_main(void *arg)
{
	int    fd = (int)(intptr_t)arg;
	char  *bytes = mem_alloc(REQUEST_MAX + 1), *end, text[32];
	size_t len = 0, head, whole;

	for (;;) {
		ssize_t n;

		bytes[len] = '\0';
		end = strstr(bytes, "\r\n\r\n");
		head = end ? (size_t)(end - bytes) + 4 : 0;
		if (end)
			header_read(bytes, "content-length:", text, sizeof(text));
		whole = end ? head + strtoul(text, NULL, 10) : 0;
		if (end && len >= whole) {
			char *copy = mem_alloc(head + 1);

			memcpy(copy, bytes, head);
			if (!request_answer(fd, copy, bytes + head, whole - head)) {
				free(copy);
				break;
			}
			free(copy);
			memmove(bytes, bytes + whole, len - whole);
			len -= whole;
			continue;
		}
		n = recv(fd, bytes + len, REQUEST_MAX - len, 0);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	free(bytes);
	return NULL;
}

static void *inbox_main(void *arg)
{
	int listening = (int)(intptr_t)arg, yes = 1;

	for (;;) {
		pthread_t thread;
		int       fd = accept(listening, NULL, NULL);

		if (fd < 0)
			continue;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
		assert(pthread_create(&thread, NULL, connection_main, (void *)(intptr_t)fd) == 0);
		pthread_detach(thread);
	}
	return NULL;
}

int inbox_open(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t          size = sizeof(at);
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pthread_t          thread;

	cr_assert(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 1000) == 0 &&
	          getsockname(fd, (struct sockaddr *)&at, &size) == 0);
	cr_assert(pthread_create(&thread, NULL, inbox_main, (void *)(intptr_t)fd) == 0);
	pthread_detach(thread);
	return ntohs(at.sin_port);
}

void inbox_answers(const char *path, struct manner m)
{
	pthread_mutex_lock(&r.lock);
	place_of(path)->manner = m;
	pthread_mutex_unlock(&r.lock);
}

size_t inbox_count(const char *path, int status)
{
	size_t count = 0;

	pthread_mutex_lock(&r.lock);
	for (size_t i = 0; i < r.count; i++)
		count += strcmp(r.list[i].path, path) == 0 && (!status || r.list[i].status == status);
	pthread_mutex_unlock(&r.lock);
	return count;
}

struct received inbox_get(const char *path, size_t n)
{
	struct received out = {.body = NULL};

	pthread_mutex_lock(&r.lock);
	for (size_t i = 0; i < r.count; i++)
		if (strcmp(r.list[i].path, path) == 0 && n-- == 0) {
			out = r.list[i];
			break;
		}
	pthread_mutex_unlock(&r.lock);
	cr_assert(out.body, "so many requests did not come to %s", path);
	return out;
}

bool inbox_waits(const char *path, int status, size_t count, int wait_ms)
{
	int64_t from_ms = clock_ms();

	while (inbox_count(path, status) < count && !patience_is_over(from_ms, wait_ms))
		usleep(PAUSE_US);
	return inbox_count(path, status) >= count;
}

int inbox_at_once(const char *path)
{
	int most;

	pthread_mutex_lock(&r.lock);
	most = place_of(path)->most;
	pthread_mutex_unlock(&r.lock);
	return most;
}

const char *received_member(const struct received *in, const char *member)
{
	static char value[200];
	cJSON      *json = cJSON_ParseWithLength(in->body, in->len), *at = json;
	char        names[100], *rest = names;

	snprintf(names, sizeof(names), "%s", member);
	for (char *name = strsep(&rest, "."); name; name = strsep(&rest, "."))
		at = cJSON_GetObjectItemCaseSensitive(at, name);
	snprintf(value, sizeof(value), "%s", cJSON_IsString(at) ? at->valuestring : "");
	cJSON_Delete(json);
	return value;
}
