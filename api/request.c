/* request.c - reading requests and writing answers, above the transport: bodies, queries, problems, operations. */
#include "api/http.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEM_SIZE = 400 };

/* ---- the name of a request */

/* Printable ASCII, at most 128 bytes; another one is replaced by ours. */
static bool id_valid(const char *id)
{
	size_t len = strlen(id);

	for (size_t i = 0; i < len; i++)
		if (id[i] < ' ' || id[i] > '~')
			return false;
	return len > 0 && len <= 128;
}

void request_id_make(char *id, size_t size)
{
	static uint64_t prefix, count;

	if (!prefix)
		random_bytes(&prefix, sizeof(prefix));
	snprintf(id, size, "%012llx-%llx", (unsigned long long)(prefix >> 16), (unsigned long long)++count);
}

void request_name(struct request *r)
{
	const char *sent = request_header(r, HEADER_X_REQUEST_ID);

	if (sent && id_valid(sent))
		strcpy(r->id, sent);
	else
		request_id_make(r->id, sizeof(r->id));
}

/* ---- answering */

const char *status_reason(int status)
{
	static const struct {
		int         status;
		const char *reason;
	} reasons[] = {{200, "OK"},
	               {201, "Created"},
	               {204, "No Content"},
	               {400, "Bad Request"},
	               {401, "Unauthorized"},
	               {403, "Forbidden"},
	               {404, "Not Found"},
	               {405, "Method Not Allowed"},
	               {409, "Conflict"},
	               {413, "Content Too Large"},
	               {415, "Unsupported Media Type"},
	               {417, "Expectation Failed"},
	               {422, "Unprocessable Content"},
	               {429, "Too Many Requests"},
	               {503, "Service Unavailable"}};

	for (size_t i = 0; i < LENGTH(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "";
}

void reply_plainly(struct request *r, int status, const char *code, const char *detail)
{
	char body[PROBLEM_SIZE];
	int  len =
		snprintf(body, sizeof(body),
	                 "{\"type\":\"/problems/%s\",\"title\":\"%s\",\"status\":%d,\"detail\":\"%s\",\"code\":\"%s\"}",
	                 code, status_reason(status), status, detail, code);

	if (status == 503)
		reply_header(r, "Retry-After", "1");
	reply_as(r, status, "application/problem+json", body, (size_t)len);
}

static bool only_reads(const struct op *op)
{
	return op->kind >= OP_GET && op->kind < OP_RUN;
}

void reply_lost(struct request *r)
{
	bool done = r->ops && !(r->ops_count == 1 && only_reads(r->ops[0]));

	if (done)
		reply_plainly(r, 503, outcome_code(OUTCOME_UNKNOWN),
		              "no memory for the answer; repeat the call with the same id");
	else
		reply_no_memory(r);
}

void reply(struct request *r, int status, const struct text *body)
{
	if (body->failed)
		reply_lost(r);
	else
		reply_as(r, status, "application/json", body->data ? body->data : "", body->len);
}

void reply_object(struct request *r, int status, void (*write)(struct json_writer *w, void *arg), void *arg)
{
	struct text        body = {.tries = true};
	struct json_writer w = {.to = &body};

	json_open_object(&w, NULL);
	write(&w, arg);
	json_close_object(&w);
	reply(r, status, &body);
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

void reply_problem(struct request *r, int status, const char *code, const char *field, const char *detail,
                   void (*members)(struct json_writer *w, void *arg), void *arg)
{
	struct text        body = {.tries = true};
	struct json_writer w = {.to = &body};

	json_open_object(&w, NULL);
	problem_write(&w, status, code, field, detail);
	if (members)
		members(&w, arg);
	json_close_object(&w);
	if (body.failed) {
		reply_lost(r);
		return;
	}
	if (status == 503 || status == 429)
		reply_header(r, "Retry-After", "1");
	reply_as(r, status, "application/problem+json", body.data, body.len);
	text_fini(&body);
}

void reply_invalid(struct request *r, const char *field, const char *detail)
{
	for (const char *c = field; c && *c && field; c++)
		if (*c < ' ' || *c > '~')
			field = NULL; /* the name of a query parameter may be anything */
	refusal_count(r, INVALID);
	reply_problem(r, 400, outcome_code(INVALID), field, detail, NULL, NULL);
}

void reply_no_memory(struct request *r)
{
	reply_plainly(r, 503, outcome_code(NO_MEMORY), outcome_detail(NO_MEMORY));
}

int outcome_status(enum outcome outcome)
{
	static const int by_class[] = {
		[DONE] = 200,   [REPEATED] = 200, [STRANGER] = 401,  [DENIED] = 403,  [IMPOSSIBLE] = 422,
		[ABSENT] = 404, [CONFLICT] = 409, [MALFORMED] = 400, [LIMITED] = 429, [UNAVAILABLE] = 503,
	};

	return by_class[outcome_class(outcome)];
}

void reply_refused(struct request *r, enum outcome outcome, void (*members)(struct json_writer *w, void *arg),
                   void *arg)
{
	reply_problem(r, outcome_status(outcome), outcome_code(outcome), outcome == BAD_CURSOR ? "cursor" : NULL,
	              outcome_detail(outcome), members, arg);
}

/* ---- reading */

static bool body_is_json(struct request *r)
{
	const char *type = request_header(r, HEADER_CONTENT_TYPE);
	size_t      len = type ? strcspn(type, "; \t") : 0;

	return len == strlen("application/json") && strncasecmp(type, "application/json", len) == 0;
}

bool read_body(struct request *r, struct json_reader *in, struct json_fault *fault)
{
	size_t      len, len_max = service_options(r->service)->body_max;
	const char *text = request_body(r, &len);
	char        detail[80];

	*fault = (struct json_fault){{0}, {0}};
	if (len > len_max) {
		snprintf(detail, sizeof(detail), "a body may have %zu bytes", len_max);
		reply_problem(r, 413, "too_large", NULL, detail, NULL, NULL);
		return false;
	}
	if (len > 0 && !body_is_json(r)) {
		reply_problem(r, 415, "unsupported_media_type", NULL, "the body must be application/json", NULL, NULL);
		return false;
	}
	if (len > 0 && request_header(r, HEADER_CONTENT_ENCODING) &&
	    strcasecmp(request_header(r, HEADER_CONTENT_ENCODING), "identity") != 0) {
		reply_problem(r, 415, "unsupported_media_type", "Content-Encoding", "bodies are read as they are", NULL,
		              NULL);
		return false;
	}
	r->body = json_parse(text, len, fault);
	if (!r->body) {
		if (strcmp(fault->detail, JSON_NO_MEMORY) == 0)
			reply_no_memory(r);
		else
			reply_invalid(r, fault->field, fault->detail);
		return false;
	}
	if (in)
		json_begin(in, r->body, fault);
	return true;
}

bool read_end(struct request *r, struct json_reader *in, struct json_fault *fault)
{
	if (json_end(in))
		return query_end(r);
	reply_invalid(r, fault->field, fault->detail);
	return false;
}

const char *query_text(struct request *r, const char *name)
{
	for (size_t i = 0; r->query && i < r->query->count; i++)
		if (strcmp(r->query->name[i], name) == 0) {
			r->query->used[i] = true;
			return r->query->value[i];
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
	reply_invalid(r, name, detail);
	return false;
}

bool query_end(struct request *r)
{
	for (size_t i = 0; r->query && i < r->query->count; i++)
		if (!r->query->used[i]) {
			reply_invalid(r, r->query->name[i], "is not a query parameter that this call knows");
			return false;
		}
	return true;
}

/* ---- operations */

/* What the operations came to is told: the refusals of those that do more than read are counted. */
static void request_answer(struct request *r)
{
	for (size_t i = 0; i < r->ops_count; i++)
		if (r->ops[i] && op_answerer(r->ops[i]) == BY_LANE)
			refusal_count(r, request_outcome(r, i));
	r->answer(r);
}

static void request_op_done(void *arg, struct op *op)
{
	struct request *r = arg;

	assert(r->magic == REQUEST_MAGIC);
	op->ended = true;
	held_end(r, op);
	r->ops_left--;
	if (r->ops_left > 0)
		return;
	if (r->answered) {
		request_free(r);
		return;
	}
	request_waits(r, false);
	request_answer(r);
}

enum outcome request_outcome(struct request *r, size_t i)
{
	return r->ops[i]->ended ? r->ops[i]->outcome : r->ops[i]->given_up;
}

static void request_begin(struct request *r, struct op *first, void (*answer)(struct request *r))
{
	r->answer = answer;
	json_free(r->body); /* nothing points into it any more */
	r->body = NULL;
	if (r->ops_left == 0) {
		request_answer(r);
		return;
	}
	held_begin(r, first);
	if (engine_start_batch(request_engine(r), first, r->ops_left, request_loop(r), request_op_done, r)) {
		request_waits(r, true);
		return;
	}
	r->ops_left = 0;
	for (; first; first = first->next) {
		first->outcome = BUSY;
		refusal_count(r, BUSY);
		held_end(r, first);
	}
	reply_refused(r, BUSY, NULL, NULL);
}

void request_start(struct request *r, struct op *op, void (*answer)(struct request *r))
{
	r->ops = mem_try(sizeof(*r->ops));
	if (!r->ops) {
		op_free(op);
		reply_no_memory(r);
		return;
	}
	r->ops[0] = op;
	r->ops_count = r->ops_left = 1;
	op->next = NULL;
	request_begin(r, op, answer);
}

void request_read_and_start(struct request *r, struct op *(*read)(struct json_reader *in, bool *no_memory),
                            void (*answer)(struct request *r))
{
	struct json_reader in;
	struct json_fault  fault;
	struct op         *op;
	bool               no_memory;

	if (!read_body(r, &in, &fault))
		return;
	op = read(&in, &no_memory);
	if (no_memory)
		reply_no_memory(r);
	else if (!op)
		reply_invalid(r, fault.field, fault.detail);
	else if (query_end(r))
		request_start(r, op, answer);
	else
		op_free(op);
}

void request_start_batch(struct request *r, void (*answer)(struct request *r))
{
	struct op *first = NULL, **last = &first;

	for (size_t i = 0; i < r->ops_count; i++)
		if (r->ops[i] && !r->ops[i]->ended) {
			*last = r->ops[i];
			last = &r->ops[i]->next;
			r->ops_left++;
		}
	request_begin(r, first, answer);
}

void request_give_up(struct request *r)
{
	request_waits(r, false);
	for (size_t i = 0; i < r->ops_count; i++) {
		struct op *op = r->ops[i];

		if (op && !op->ended)
			op->given_up = op_cancel(op) || only_reads(op) ? DATABASE_AWAY : OUTCOME_UNKNOWN;
	}
	request_answer(r);
}
