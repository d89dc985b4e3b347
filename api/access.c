/* access.c - see access.h. Lines of the access log are kept for a tenth of a second, or up to 64 KiB, and written at
 * once. For a pipe with a slow reader up to 4 MiB of lines are kept. Further lines are dropped and counted. */
#include "api/access.h"
#include "api/request.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum {
	KEPT_BYTES = 64 << 10,
	KEPT_MAX = 4 << 20,
	CLOSE_MS = 1000,
	PATH_SHOWN = 500,
	CLIENT_SIZE = 64,
	TRACE_HEX = 32,
	STRANGERS_MS = 1000
};

struct access {
	struct access_options options;
	struct common        *common;           /* of access_watch */
	pthread_mutex_t       lock;             /* of all below */
	int                   fd;               /* -1: none */
	bool                  failed;           /* the last lines could not be written, and the log says so */
	struct text           kept;             /* lines that are not written yet */
	size_t                kept_due;         /* bytes kept at which they are written */
	int64_t               lost;             /* lines since the last one that was kept */
	int64_t               strangers_due_ms; /* the next line about 401 */
	int64_t               strangers;        /* answers 401 since the last one */
};

/* Facts of a request that its lines need: its bytes are gone when it is answered. */
struct access_note {
	char trace[TRACE_HEX + 1]; /* trace-id of traceparent; empty: none */
	char method[12];
	char path[PATH_SHOWN + 1];
};

/* ---- the file */

/* O_NONBLOCK: to open a FIFO without a reader fails at once. */
static bool file_open(struct access *a)
{
	a->fd = strcmp(a->options.file, "-") == 0
	                ? STDOUT_FILENO
	                : open(a->options.file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0640);
	return a->fd >= 0;
}

static const char *open_error(int error)
{
	return error == ENXIO ? "no program reads it" : strerror(error);
}

/* Gives up the lines that are kept. */
static void kept_lose(struct access *a)
{
	for (const char *c = a->kept.data, *end = c + a->kept.len; c < end; c++)
		a->lost += *c == '\n';
	text_reset(&a->kept);
}

/* Writes what is taken now. */
static void kept_write(struct access *a)
{
	size_t len = a->kept.len, done = len > 0 ? log_write(a->fd, a->kept.data, len) : 0;
	bool   failed = done < len && errno != EAGAIN;

	if (failed && !a->failed)
		log_event(LOG_ERROR, "access_log", "file=%s why=\"%s\"", a->options.file, strerror(errno));
	if (len > 0)
		a->failed = failed;
	a->kept.len -= done;
	if (done > 0)
		memmove(a->kept.data, a->kept.data + done, a->kept.len);
	if (failed)
		kept_lose(a);
	a->kept_due = a->kept.len + KEPT_BYTES;
}

void access_tick(struct access *a)
{
	pthread_mutex_lock(&a->lock);
	kept_write(a);
	pthread_mutex_unlock(&a->lock);
}

static void file_renew(struct access *a)
{
	int before = a->fd;

	kept_write(a);
	if (file_open(a)) {
		kept_lose(a);
		close(before);
		return;
	}
	log_event(LOG_ERROR, "access_log", "file=%s why=\"%s\"", a->options.file, open_error(errno));
	a->fd = before;
}

bool access_reopen(struct access *a)
{
	bool is_file;

	pthread_mutex_lock(&a->lock);
	is_file = a->fd > STDERR_FILENO;
	if (is_file)
		file_renew(a);
	pthread_mutex_unlock(&a->lock);
	return is_file;
}

struct access *access_open(const struct access_options *options, char *why, size_t why_size)
{
	struct access *a = mem_alloc(sizeof(*a));

	a->options = *options;
	a->fd = -1;
	pthread_mutex_init(&a->lock, NULL);
	if (!options->file || file_open(a))
		return a;
	(void)why_write(why, why_size, "--access-log: cannot write %s: %s", options->file, open_error(errno));
	free(a);
	return NULL;
}

/* The last lines have a second to get through. */
void access_close(struct access *a)
{
	int64_t until_ms = clock_ms() + CLOSE_MS;

	if (!a)
		return;
	for (kept_write(a); a->kept.len > 0 && clock_ms() < until_ms; kept_write(a))
		(void)!poll(&(struct pollfd){a->fd, POLLOUT, 0}, 1, CLOSE_MS / 20);
	if (a->fd > STDERR_FILENO)
		close(a->fd);
	text_fini(&a->kept);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* ---- a request */

/* The trace-id of `00-TRACE-PARENT-FLAGS` (W3C Trace Context, 3.2). A value that is not valid counts as absent. */
static void trace_read(char trace[TRACE_HEX + 1], const char *traceparent)
{
	static const char hex[] = "0123456789abcdef";
	const char       *t = traceparent;

	if (t && strlen(t) >= 55 && strspn(t, hex) == 2 && strncmp(t, "ff", 2) != 0 && t[2] == '-' &&
	    strspn(t + 3, hex) == TRACE_HEX && strspn(t + 3, "0") < TRACE_HEX && t[35] == '-' &&
	    strspn(t + 36, hex) == 16 && strspn(t + 36, "0") < 16 && t[52] == '-' && strspn(t + 53, hex) == 2 &&
	    (t[55] == '\0' || (t[55] == '-' && strncmp(t, "00", 2) != 0)))
		memcpy(trace, t + 3, TRACE_HEX);
}

void access_asked(struct access *a, struct request *r, const struct asked *asked)
{
	assert(a->options.file || a->options.slow_ms);
	r->note = mem_alloc(sizeof(*r->note));
	snprintf(r->note->method, sizeof(r->note->method), "%s", asked->method);
	snprintf(r->note->path, sizeof(r->note->path), "%.*s", (int)strcspn(asked->target, "?"), asked->target);
	trace_read(r->note->trace, request_header(r, HEADER_TRACEPARENT));
}

/* The order that a call is about, by its body or its path; NULL: none, or several. */
static const char *order_of(const struct request *r)
{
	if (r->ops_count == 1 && r->ops[0] && r->ops[0]->id[0] && !op_trait(r->ops[0])->of_movement)
		return r->ops[0]->id;
	return strstr(route_label(r->route), "{order_id}") ? r->param[0] : NULL;
}

static const char *if_any(const char *text)
{
	return *text ? text : NULL;
}

/* A line of the access log. */
static void access_write(struct access *a, const struct request *r, const struct told *told, const char *client)
{
	const struct access_note *note = r->note;

	if (a->kept.len > KEPT_MAX) {
		a->lost++;
		return;
	}
	if (a->lost > 0)
		a->kept.len += log_line(text_room(&a->kept, LOG_LINE_MAX), "lines_lost=%lld", (long long)a->lost);
	a->lost = 0;
	a->kept.len += log_line(text_room(&a->kept, LOG_LINE_MAX),
	                        "client=%s key=%s method=%s path=%s status=%d code=%s order=%s bytes=%zu ms=%f id=%s "
	                        "trace=%s",
	                        client, r->key ? r->key->name : NULL, note->method, note->path, told->status, r->code,
	                        order_of(r), told->bytes, (double)told->took_us / 1e3, r->id, if_any(note->trace));
	if (a->kept.len > a->kept_due)
		kept_write(a);
}

/* ---- lines in the log */

/* Tells how the time divides: reading the request, waiting for its lane or reader, work there, and the answer. Of
 * several operations the last one that came back counts. */
static void slow_write(const struct request *r, const struct told *told)
{
	const struct op *op = r->last_op;
	int64_t          ended_us = r->began_us + told->took_us, arrived_us = op ? op->arrived_ms * 1000 : ended_us;
	int64_t          begun_us = op && op->queued_ms ? arrived_us + (op->queued_ms - 1) * INT64_C(1000) : arrived_us;
	int64_t          back_us = op ? r->back_us : ended_us;

	arrived_us = arrived_us < r->began_us ? r->began_us : arrived_us; /* arrived_ms has whole ms only */
	begun_us = begun_us < arrived_us ? arrived_us : begun_us;
	log_event(LOG_INFO, "slow",
	          "id=%s key=%s method=%s path=%s status=%d code=%s order=%s ms=%f read_ms=%f queue_ms=%f work_ms=%f "
	          "answer_ms=%f operations=%zu tries=%u locked=%s",
	          r->id, r->key ? r->key->name : NULL, r->note->method, r->note->path, told->status, r->code,
	          order_of(r), (double)told->took_us / 1e3, (double)(arrived_us - r->began_us) / 1e3,
	          (double)(begun_us - arrived_us) / 1e3, (double)(back_us - begun_us) / 1e3,
	          (double)(ended_us - back_us) / 1e3, r->ops_count, op ? op->tries : 0,
	          op && op->busy_since_ms ? "true" : NULL);
}

/* A caller that tries keys cannot fill the log: at most one line a second, with the number of answers 401. */
static void stranger_write(struct access *a, const struct request *r, const char *client)
{
	a->strangers++;
	if (!clock_due(&a->strangers_due_ms, STRANGERS_MS))
		return;
	log_event(LOG_INFO, "unauthorized", "client=%s route=\"%s\" id=%s count=%lld", client, route_label(r->route),
	          r->id, (long long)a->strangers);
	a->strangers = 0;
}

static void lines_write(struct access *a, const struct request *r, const struct told *told)
{
	const char *route = route_label(r->route);
	char        client[CLIENT_SIZE];

	r->from.calls->client(&r->from, client, sizeof(client));
	if (r->note && a->fd >= 0)
		access_write(a, r, told, client);
	if (r->note && a->options.slow_ms && told->took_us > (a->options.slow_ms + r->wait_s * INT64_C(1000)) * 1000)
		slow_write(r, told);
	if (told->status >= 500)
		log_event(LOG_INFO, "failed", "id=%s key=%s client=%s route=\"%s\" status=%d code=%s order=%s ms=%f",
		          r->id, r->key ? r->key->name : NULL, client, route, told->status, r->code, order_of(r),
		          (double)told->took_us / 1e3);
	if (told->status == 401)
		stranger_write(a, r, client);
	if (log_level >= LOG_DEBUG)
		log_event(LOG_DEBUG, "request", "id=%s route=%s status=%d us=%lld", r->id, route, told->status,
		          (long long)told->took_us);
	if (r->audited)
		log_event(LOG_INFO, "admin", "key=%s route=\"%s\" id=%s status=%d", r->key->name, route,
		          r->ops_count > 0 && r->ops[0] ? r->ops[0]->id : r->param[0], told->status);
}

/* Called for each answer of which a line is written (answer_note). */
static void answered(void *arg, const struct request *r, const struct told *told)
{
	struct access *a = arg;

	pthread_mutex_lock(&a->lock);
	lines_write(a, r, told);
	pthread_mutex_unlock(&a->lock);
}

void access_watch(struct access *a, struct common *common)
{
	a->common = common;
	common->told = answered;
	common->told_arg = a;
	common->notes = a->fd >= 0 || a->options.slow_ms;
}

void access_slow_set(struct access *a, int64_t slow_ms)
{
	pthread_mutex_lock(&a->lock);
	a->options.slow_ms = slow_ms;
	a->common->notes = a->fd >= 0 || slow_ms;
	pthread_mutex_unlock(&a->lock);
}
