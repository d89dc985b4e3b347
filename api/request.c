/* request.c - see request.h. Every answer of the service, whatever its call, goes through reply_as, and fields_make
 * lists its headers, but for those of the version of HTTP (http1.c) and 100 Continue (connection.c). */
#include "api/request.h"
#include "api/key_limit.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/busy.h"
#include "engine/shared.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <time.h>

enum { REQUEST_MAGIC = 0x48745265 };

/* A lane answers by itself before its request is given up, and a silent connection is closed after that. */
_Static_assert((int)WAIT_MS < (int)REQUEST_DEADLINE_MS && (int)REQUEST_DEADLINE_MS < SILENCE_S * 1000,
               "deadlines nest");

static struct request *request_cast(void *arg)
{
	struct request *r = arg;

	assert(r->magic == REQUEST_MAGIC);
	return r;
}

/* ---- birth */

static bool is_printable(const char *text)
{
	while (*text >= ' ' && *text <= '~')
		text++;
	return *text == '\0';
}

/* The service's own name for a request: a mark of this process and the number of the request, both in hexadecimal. */
static void request_number(struct request *r)
{
	enum { MARK = 12 };

	memcpy(r->id, process_mark(), MARK);
	r->id[MARK] = '-';
	hex_write(r->id + MARK + 1, ++r->all->named);
}

/* Takes the name that the client sent if it is printable ASCII of at most 128 bytes, otherwise the service's own. */
static void request_name(struct request *r, const char *sent)
{
	if (sent && *sent && strlen(sent) <= 128 && is_printable(sent))
		strcpy(r->id, sent);
	else
		request_number(r);
}

static struct request *request_born(struct requests *all, const struct handle *from)
{
	struct request *r = mem_alloc(sizeof(*r));

	r->magic = REQUEST_MAGIC;
	r->all = all;
	r->from = *from;
	r->route = ROUTE_NONE;
	r->began_us = clock_us();
	r->due_us = r->began_us + REQUEST_DEADLINE_MS * INT64_C(1000);
	all->count++;
	return r;
}

struct request *request_new(struct requests *all, const struct asked *asked)
{
	struct request *r = request_born(all, &asked->from);

	r->asked = asked;
	r->is_head = strcmp(asked->method, "HEAD") == 0;
	request_name(r, request_header(r, HEADER_X_REQUEST_ID));
	return r;
}

/* ---- reading */

const char *request_header(const struct request *r, enum header header)
{
	return r->asked->headers[header];
}

static bool body_is_json(struct request *r)
{
	const char *type = request_header(r, HEADER_CONTENT_TYPE), *charset;
	size_t      len = type ? strcspn(type, "; \t") : 0;

	if (len != strlen("application/json") || strncasecmp(type, "application/json", len) != 0)
		return false;
	charset = strcasestr(type + len, "charset=");
	if (!charset)
		return true;
	charset += strlen("charset=");
	len = *charset == '"' ? strcspn(++charset, "\"") : strcspn(charset, "; \t");
	return len == strlen("utf-8") && strncasecmp(charset, "utf-8", len) == 0;
}

bool read_body(struct request *r, struct json_reader *in, struct json_fault *fault)
{
	size_t      len = r->asked->body_len, len_max = r->all->common->body_max;
	const char *encoding = request_header(r, HEADER_CONTENT_ENCODING);
	char        detail[80];

	*fault = (struct json_fault){{0}, {0}};
	if (len > len_max) {
		snprintf(detail, sizeof(detail), BODY_RULE, len_max);
		return reply_problem(r, 413, "too_large", NULL, detail, NULL, NULL);
	}
	if (len > 0 && !body_is_json(r))
		return reply_problem(r, 415, "unsupported_media_type", NULL,
		                     "the body must be application/json, in UTF-8", NULL, NULL);
	if (len > 0 && encoding && strcasecmp(encoding, "identity") != 0)
		return reply_problem(r, 415, "unsupported_media_type", "Content-Encoding",
		                     "bodies are read as they are", NULL, NULL);
	r->body = json_parse(r->asked->body, len, fault);
	if (!r->body)
		return reply_invalid(r, fault->field, fault->detail);
	if (in)
		json_begin(in, r->body, fault);
	return true;
}

bool read_end(struct request *r, struct json_reader *in, struct json_fault *fault)
{
	return json_end(in) || reply_invalid(r, fault->field, fault->detail);
}

struct op *read_op(struct request *r, struct op *(*read)(struct request *r, struct json_reader *in))
{
	struct json_reader in;
	struct json_fault  fault;
	struct op         *op;

	if (!read_body(r, &in, &fault))
		return NULL;
	op = read(r, &in);
	if (read_end(r, &in, &fault))
		return op;
	op_free(op);
	return NULL;
}

const char *query_text(struct request *r, const char *name)
{
	assert(r->asked);
	for (size_t i = 0; i < r->query.count; i++)
		if (strcmp(r->query.name[i], name) == 0) {
			r->query.used[i] = true;
			return r->query.value[i];
		}
	return NULL;
}

bool query_int(struct request *r, const char *name, int64_t min, int64_t max, int64_t *out)
{
	const char *value = query_text(r, name);
	char        detail[100], *end;
	long long   n;

	if (!value)
		return true;
	errno = 0;
	n = strtoll(value, &end, 10);
	if (errno == 0 && *end == '\0' && strspn(value, "0123456789") == strlen(value) && *value && n >= min &&
	    n <= max && (*value != '0' || value[1] == '\0')) {
		*out = n;
		return true;
	}
	snprintf(detail, sizeof(detail), INTEGER_RULE, (long long)min, (long long)max);
	return reply_invalid(r, name, detail);
}

bool query_end(struct request *r)
{
	for (size_t i = 0; i < r->query.count; i++)
		if (!r->query.used[i])
			return reply_invalid(r, r->query.name[i], "is not a query parameter that this call knows");
	return true;
}

/* ---- operations */

static void waiting_leave(struct request *r)
{
	struct waiting *all = &r->all->waiting[r->wait_s];

	*(r->previous ? &r->previous->next : &all->oldest) = r->next;
	*(r->next ? &r->next->previous : &all->newest) = r->previous;
	r->next = r->previous = NULL;
	r->all->waiting_count--;
}

/* The client has gone while its request waits: there is no answer, and the operations are not begun, or end soon. */
static void request_left(void *arg)
{
	struct request *r = request_cast(arg);

	if (r->answered)
		return;
	waiting_leave(r);
	r->answered = true;
	for (size_t i = 0; i < r->ops_count; i++)
		(void)op_cancel(r->ops[i]);
}

/* The list is in the order of due_us. A request that goes on with another operation may be due before later ones. */
static void waiting_join(struct request *r)
{
	struct waiting *all = &r->all->waiting[r->wait_s];
	struct request *before = all->newest;

	if (r->all->wake)
		event_active(r->all->wake, 0, 0);
	r->all->waiting_count++;
	r->asked = NULL; /* the bytes of the request are gone */
	while (before && before->due_us > r->due_us)
		before = before->previous;
	r->previous = before;
	r->next = before ? before->next : all->oldest;
	*(r->next ? &r->next->previous : &all->newest) = r;
	*(before ? &before->next : &all->oldest) = r;
	if (r->wait_s > 0 && r->from.calls->watch)
		r->from.calls->watch(&r->from, request_left, r);
}

/* The death of a request. */
static void request_free(struct request *r)
{
	assert(r->answered && r->ops_left == 0 && r->all->count > 0 && r->all->ops_bytes >= r->ops_bytes);
	r->all->count--;
	r->all->ops_bytes -= r->ops_bytes;
	for (size_t i = 0; i < r->ops_count; i++)
		op_free(r->ops[i]);
	free(r->ops);
	free(r->more);
	free(r->note);
	json_free(r->body);
	r->magic = 0;
	free(r);
}

enum outcome request_outcome(struct request *r, size_t i)
{
	return r->ops[i]->ended ? r->ops[i]->outcome : r->ops[i]->given_up;
}

/* Refusals of operations that only read are not counted. A movement that is short of units and may take them from
 * orders is counted in losses_call.c, as it is tried again before it is answered. */
static void request_answer(struct request *r)
{
	for (size_t i = 0; i < r->ops_count; i++)
		if (r->ops[i] && op_trait(r->ops[i])->by == BY_LANE) {
			enum outcome outcome = request_outcome(r, i);

			if (outcome != SHORT || !r->ops[i]->losses)
				metrics_refused(&r->all->metrics, outcome);
			metrics_ended(&r->all->metrics, r->ops[i], outcome);
		}
	r->answer(r);
}

static void request_op_done(void *arg, struct op *op)
{
	struct request *r = request_cast(arg);

	assert(!op->ended && r->ops_left > 0);
	op->ended = true;
	if (r->key)
		key_limit_end(r->all->common->key_limit, r->key, op);
	r->ops_left--;
	if (r->ops_left > 0)
		return;
	if (r->note) {
		r->last_op = op;
		r->back_us = clock_us();
	}
	if (r->answered) {
		request_free(r);
		return;
	}
	waiting_leave(r);
	request_answer(r);
}

/* Counts the bytes of the request's operations, as many again for their answers, which also have the lines, and the
 * bytes that the handler keeps. False: other requests wait, and there is no room for this one. */
static bool ops_fit(struct request *r)
{
	r->ops_bytes = r->more_size;
	for (size_t i = 0; i < r->ops_count; i++)
		r->ops_bytes += r->ops[i] ? 2 * (size_t)r->ops[i]->size : 0;
	r->all->ops_bytes += r->ops_bytes;
	return r->all->ops_bytes <= r->all->ops_bytes_max || r->all->ops_bytes == r->ops_bytes;
}

/* Refuses operations for which there is no room: in their queue (`fit`), or in the memory for operations. None was
 * begun. */
static void ops_busy(struct request *r, struct op *first, bool fit)
{
	for (struct op *op = first; op; op = op->next) {
		enum busy_cause full = op_trait(op)->by == BY_LANE ? BUSY_QUEUE_FULL : BUSY_READER_FULL;

		op->outcome = BUSY;
		op->ended = true;
		r->ops_left--;
		busy_count(fit ? full : BUSY_BUFFERS_FULL, op->id[0] ? op->id : r->id);
		if (r->key)
			key_limit_end(r->all->common->key_limit, r->key, op);
	}
}

static void request_busy(struct request *r, struct op *first, bool fit)
{
	ops_busy(r, first, fit);
	for (struct op *op = first; op; op = op->next)
		metrics_refused(&r->all->metrics, BUSY), metrics_ended(&r->all->metrics, op, BUSY);
	reply_refused(r, BUSY, NULL, NULL);
}

/* Makes the request ready to wait for its operations. False: it has none, or no room for them, and is answered. */
static bool request_opened(struct request *r, struct op *first, void (*answer)(struct request *r))
{
	r->answer = answer;
	json_free(r->body); /* nothing points into it any more */
	r->body = NULL;
	if (!first) {
		request_answer(r);
		return false;
	}
	if (r->key)
		key_limit_begin(r->all->common->key_limit, r->key, first);
	if (ops_fit(r))
		return true;
	request_busy(r, first, false);
	return false;
}

void request_start(struct request *r, struct op *op, void (*answer)(struct request *r))
{
	r->ops = mem_alloc(sizeof(*r->ops));
	r->ops[0] = op;
	r->ops_count = 1;
	if (query_end(r))
		request_start_batch(r, answer);
}

static void asked_answer(struct request *r)
{
	if (request_outcome(r, 0) == OUTCOME_OK)
		reply_object(r, 200, r->write, r->ops[0]);
	else
		reply_refused(r, request_outcome(r, 0), NULL, NULL);
}

void request_ask(struct request *r, struct op *op, void (*write)(struct json_writer *w, void *op))
{
	r->write = write;
	request_start(r, op, asked_answer);
}

/* Links the operations of the call, in their order, and counts them. */
static struct op *request_list(struct request *r)
{
	struct op *first = NULL, **last = &first;

	for (size_t i = 0; i < r->ops_count; i++)
		if (r->ops[i] && !r->ops[i]->ended) {
			*last = r->ops[i];
			last = &r->ops[i]->next;
			r->ops_left++;
		}
	return first;
}

void request_start_batch(struct request *r, void (*answer)(struct request *r))
{
	struct op *first = request_list(r);

	if (!request_opened(r, first, answer))
		return;
	if (engine_start_batch(r->all->common->engine, first, r->ops_left, r->all->loop, request_op_done, r))
		waiting_join(r);
	else
		request_busy(r, first, true);
}

void request_go_on(struct request *r, struct op *op, void (*answer)(struct request *r))
{
	bool fit;

	assert(r->ops_count == 1 && r->ops_left == 0 && !r->answered);
	r->all->ops_bytes -= r->ops_bytes;
	r->ops[0] = op;
	r->answer = answer;
	(void)request_list(r);
	fit = ops_fit(r);
	if (fit && engine_start_batch(r->all->common->engine, op, 1, r->all->loop, request_op_done, r)) {
		waiting_join(r);
	} else {
		ops_busy(r, op, fit);
		answer(r);
	}
}

void request_start_each(struct request *r, void (*answer)(struct request *r))
{
	struct op *first = request_list(r);

	if (!request_opened(r, first, answer))
		return;
	ops_busy(r, engine_start_each(r->all->common->engine, first, r->all->loop, request_op_done, r), true);
	if (r->ops_left > 0)
		waiting_join(r);
	else
		request_answer(r);
}

/* The request is past its deadline. Operations that have not begun are cancelled, those of an atomic call by the first
 * of them; the outcome of the others is unknown. All of them come back later. */
static void request_give_up(struct request *r)
{
	waiting_leave(r);
	for (size_t i = 0; i < r->ops_count; i++) {
		struct op    *op = r->ops[i];
		enum answerer by = op ? op_trait(op)->by : BY_READER;

		if (op && op->atomic && i > 0)
			op->given_up = r->ops[0]->given_up;
		else if (op && !op->ended) /* a read has changed nothing */
			op->given_up = op_cancel(op) || (by != BY_LANE && by != BY_BACKGROUND) ? DATABASE_AWAY
			                                                                       : OUTCOME_UNKNOWN;
	}
	request_answer(r);
}

/* ---- answering */

static const char *status_reason(int status)
{
	static const struct {
		int         status;
		const char *reason;
	} reasons[] = {{200, "OK"},
	               {201, "Created"},
	               {204, "No Content"},
	               {303, "See Other"},
	               {304, "Not Modified"},
	               {400, "Bad Request"},
	               {401, "Unauthorized"},
	               {403, "Forbidden"},
	               {404, "Not Found"},
	               {405, "Method Not Allowed"},
	               {409, "Conflict"},
	               {410, "Gone"},
	               {413, "Content Too Large"},
	               {415, "Unsupported Media Type"},
	               {417, "Expectation Failed"},
	               {422, "Unprocessable Content"},
	               {424, "Failed Dependency"},
	               {429, "Too Many Requests"},
	               {503, "Service Unavailable"}};

	for (size_t i = 0; i < LENGTH(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "";
}

static struct field field(const char *name, const char *value)
{
	return (struct field){name, value, strlen(name), strlen(value)};
}

void reply_header(struct request *r, const char *name, const char *value)
{
	struct requests *all = r->all;

	assert(all->extra_count < EXTRA_MAX);
	all->extra[all->extra_count++] = field(name, value);
}

void reply_location(struct request *r, const char *before, const char *id)
{
	struct text *to = &r->all->location;

	text_reset(to);
	text_add(to, before);
	percent_encode(to, id);
	reply_header(r, "Location", to->data);
}

/* The headers of every answer, and those of its handler. `length`: the length of the body, in digits. */
static size_t fields_make(struct request *r, int status, const char *content_type, const char *length)
{
	struct requests *all = r->all;
	struct field    *to = all->fields;

	*to++ = field("X-Content-Type-Options", "nosniff");
	*to++ = r->route == ROUTE_get_console && status < 400 ? field("Cache-Control", "no-cache")
	                                                      : field("Cache-Control", "no-store");
	*to++ = field("Date", all->date);
	if (status != 204 && status != 304) {
		*to++ = field("Content-Type", content_type);
		*to++ = field("Content-Length", length);
	}
	*to++ = field("X-Request-Id", r->id);
	if (status == 503 || status == 429)
		*to++ = field("Retry-After", "1");
	for (size_t i = 0; i < all->extra_count; i++)
		*to++ = all->extra[i];
	all->extra_count = 0;
	return (size_t)(to - all->fields);
}

/* Counts the answer in the metrics, and tells access.c if the answer has a line. */
static void answer_note(const struct request *r, int status, size_t bytes)
{
	struct told          told = {status, bytes, clock_us() - r->began_us};
	const struct common *common = r->all->common;

	metrics_answered(&r->all->metrics, r->route, status, told.took_us);
	if ((r->note || r->audited || status >= 500 || status == 401 || log_level >= LOG_DEBUG) && common->told)
		common->told(common->told_arg, r, &told);
}

void reply_as(struct request *r, int status, const char *content_type, const void *body, size_t len)
{
	char         length[NUMBER_SIZE];
	struct reply answer = {.status = status,
	                       .reason = status_reason(status),
	                       .fields = r->all->fields,
	                       .body = body,
	                       .len = len,
	                       .bare = r->is_head,
	                       .last = r->last};

	assert(!r->answered);
	r->answered = true;
	(void)decimal_write(length, len);
	answer.fields_count = fields_make(r, status, content_type, length);
	answer_note(r, status, r->is_head ? 0 : len);
	r->from.calls->answer(&r->from, &answer);
	if (r->ops_left == 0)
		request_free(r);
}

void reply_object(struct request *r, int status, void (*write)(struct json_writer *w, void *arg), void *arg)
{
	struct text        body = {0};
	struct json_writer w = {.to = &body};

	json_open_object(&w, NULL);
	write(&w, arg);
	json_close_object(&w);
	reply_as(r, status, "application/json", body.data, body.len);
	text_fini(&body);
}

void problem_write(struct json_writer *w, int status, const char *code, const char *field, const char *detail)
{
	char type[80];

	snprintf(type, sizeof(type), "/problems/%s", code);
	json_put_string(w, "type", type);
	json_put_string(w, "title", status_reason(status));
	json_put_int(w, "status", status);
	json_put_string(w, "detail", detail ? detail : "");
	json_put_string(w, "code", code);
	if (field && *field)
		json_put_string(w, "field", field);
}

bool reply_problem(struct request *r, int status, const char *code, const char *field, const char *detail,
                   void (*members)(struct json_writer *w, void *arg), void *arg)
{
	struct text        body = {0};
	struct json_writer w = {.to = &body};

	r->code = code;
	json_open_object(&w, NULL);
	problem_write(&w, status, code, field, detail);
	if (members)
		members(&w, arg);
	json_close_object(&w);
	reply_as(r, status, "application/problem+json", body.data, body.len);
	text_fini(&body);
	return false;
}

int outcome_status(enum outcome outcome)
{
	static const int by_class[] = {
		[DONE] = 200,       [REPEATED] = 200, [ENDED] = 409,       [STRANGER] = 401,  [DENIED] = 403,
		[IMPOSSIBLE] = 422, [ABSENT] = 404,   [CONFLICT] = 409,    [DEPENDENT] = 424, [GONE] = 410,
		[MALFORMED] = 400,  [LIMITED] = 429,  [UNAVAILABLE] = 503,
	};

	return by_class[outcome_class(outcome)];
}

bool reply_outcome(struct request *r, enum outcome outcome, const char *field, const char *detail,
                   void (*members)(struct json_writer *w, void *arg), void *arg)
{
	return reply_problem(r, outcome_status(outcome), outcome_code(outcome), field, detail, members, arg);
}

bool reply_refused(struct request *r, enum outcome outcome, void (*members)(struct json_writer *w, void *arg),
                   void *arg)
{
	return reply_outcome(r, outcome, outcome == BAD_CURSOR ? "cursor" : NULL, outcome_detail(outcome), members,
	                     arg);
}

bool reply_field(struct request *r, enum outcome outcome, const char *field, const char *detail)
{
	metrics_refused(&r->all->metrics, outcome);
	return reply_outcome(r, outcome, field, detail, NULL, NULL);
}

bool reply_invalid(struct request *r, const char *field, const char *detail)
{
	/* the name of a query parameter may be anything */
	return reply_field(r, INVALID, field && is_printable(field) ? field : NULL, detail);
}

bool request_permits(struct request *r, enum callers callers)
{
	return !r->key || r->roles & callers || reply_field(r, FORBIDDEN, NULL, outcome_detail(FORBIDDEN));
}

/* No handler sees this request: its bytes cannot be read, or there is no room for them. */
void request_refused(void *requests, const struct handle *from, int status, const char *detail)
{
	struct request *r = request_born(requests, from);
	const char     *code = status == 413   ? "too_large"
	                       : status == 417 ? "expectation_failed"
	                                       : outcome_code(status == 503 ? BUSY : INVALID);

	request_name(r, NULL);
	if (status == 503)
		busy_count(BUSY_BUFFERS_FULL, r->id);
	reply_problem(r, status, code, NULL, detail, NULL, NULL);
}

/* ---- all requests */

void requests_tick(struct requests *all)
{
	time_t    now = time(NULL);
	struct tm tm;
	int64_t   now_us = clock_us();

	strftime(all->date, sizeof(all->date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &tm));
	for (int wait_s = 0; wait_s <= FOLLOW_S_MAX; wait_s++) {
		int64_t         due_us = now_us - wait_s * INT64_C(1000000);
		struct request *r;

		while ((r = all->waiting[wait_s].oldest) && r->due_us < due_us)
			request_give_up(r);
	}
}

void requests_close(struct requests *all)
{
	for (int wait_s = 0; wait_s <= FOLLOW_S_MAX; wait_s++) {
		struct request *r;

		while ((r = all->waiting[wait_s].oldest)) {
			waiting_leave(r);
			r->answered = true;
		}
	}
}

void requests_fini(struct requests *all)
{
	text_fini(&all->location);
}
