/* request.h - one request, from its last byte to its death: reading it, its operations, its answer.
 *
 * A handler reads the request with the read_* and query_* calls, which answer 400, 413 or 415 themselves, and then
 * either replies or starts operations; when all of those have ended, its `answer` function replies. A request that
 * waits for operations longer than its deadline is answered 503; the operations come back later, and their outcome is
 * dropped. A request is born when its bytes have come, and dies when it is answered and its operations have come back.
 * One thread: the loop's. */
#ifndef REQUEST_H
#define REQUEST_H

#include "api/common.h"
#include "api/http/message.h"
#include "api/http/uri.h"
#include "api/keys.h"
#include "api/metrics.h"
#include "engine/base/json.h"
#include "engine/op.h"

struct access_note;
struct connections;
struct event;

enum { REQUEST_DEADLINE_MS = 10500 }; /* a little longer than the lanes try by themselves */
#define BODY_RULE "a body may have %zu bytes"

enum { EXTRA_MAX = 8, FIELDS_MAX = 8 + EXTRA_MAX }; /* headers of an answer: of its handler; all */
struct request;
/* An answer that was given. */
struct told {
	int     status;
	size_t  bytes; /* of its body */
	int64_t took_us;
};

/* What a loop owns: its requests, and what they use. Other threads may read `metrics` alone. */
struct requests {
	struct common      *common;      /* what all loops share */
	struct requests    *other;       /* of the next loop; NULL: this one is the last */
	struct connections *connections; /* NULL: its calls come without sockets */
	struct loop        *loop;        /* the loop of their operations */
	struct event       *wake; /* made active by a start: operations begin after all sockets with bytes were served;
	                             NULL: the owner begins them */
	size_t   ops_bytes_max;   /* a request that is alone may pass it */
	uint64_t named;           /* number of the last request that the service named; no other loop comes to it */
	/* ---- private to request.c */
	struct waiting {
		struct request *oldest, *newest;
	} waiting[FOLLOW_S_MAX + 1]; /* requests that wait for operations, by wait_s, each in the order of due_us */
	size_t         waiting_count;
	size_t         count;            /* born and not dead */
	size_t         ops_bytes;        /* bytes of their operations and of what these will answer */
	struct text    location;         /* of the answer being made: the value of its Location .. */
	struct field   extra[EXTRA_MAX]; /* .. the headers of its handler .. */
	size_t         extra_count;
	struct field   fields[FIELDS_MAX]; /* .. and all headers */
	char           date[40];           /* the Date header, made at the last tick (RFC 9110, 6.6.1) */
	struct metrics metrics;
};

struct request {
	unsigned            magic;
	struct requests    *all;
	struct handle       from;  /* the way of the answer */
	const struct asked *asked; /* valid until the handler has returned; NULL: the bytes that came were no request */
	bool                answered;
	bool                last;    /* a connection that serves one request at a time ends with the answer */
	bool                is_head; /* HEAD */
	enum route          route;
	char                param[PATH_CODES][SKU_MAX + 1]; /* the codes in the path, decoded */
	char                id[132];                        /* X-Request-Id */
	struct key         *key;                            /* the caller's key; NULL: no key was needed */
	unsigned            roles;                          /* of the key, as they were when it was looked at */
	bool                audited; /* true: an admin key changes something, so the answer is logged */
	const char         *code;    /* of the problem that was answered; NULL: none */
	struct access_note *note;    /* facts for its lines (access.h), freed with it; NULL: none are kept */
	struct query_string query;   /* stands in the bytes of the request */
	struct json_doc    *body;
	int64_t             began_us;
	int64_t             due_us; /* answered at due_us + wait_s at the latest, whatever its operations do */
	/* ---- operations under way */
	struct op **ops; /* in the order of the call's items; owned */
	size_t      ops_count, ops_left;
	size_t      ops_bytes; /* as counted in all->ops_bytes */
	struct op  *last_op;   /* with a note: the operation that came back last, .. */
	int64_t     back_us;   /* .. and when */
	void (*answer)(struct request *r);
	void (*write)(struct json_writer *w, void *op); /* of request_ask */
	int             wait_s; /* the operations may take this much longer, and the client is watched meanwhile */
	struct request *next, *previous; /* neighbours in a list of requests that wait for operations */
	void           *more;            /* the handler's data, freed with the request .. */
	size_t          more_size;       /* .. and its bytes, which count as those of operations do */
};

/* ---- birth, by the service. Both are answered with 4xx or 503 or by a handler, once. */
struct request *request_new(struct requests *all, const struct asked *asked);
/* Refuses bytes that were no request, or for which there was no room: connection_options.refused. */
void request_refused(void *requests, const struct handle *from, int status, const char *detail);
/* Ten times a second: answers the requests that have waited for too long. */
void requests_tick(struct requests *all);
/* Cuts waiting requests off from their clients; their operations come back to the loop. */
void requests_close(struct requests *all);
void requests_fini(struct requests *all); /* call after loop_free */

/* ---- reading. false, or NULL of read_op: already answered. */
const char *request_header(const struct request *r, enum header header); /* NULL: the header is missing */
bool        read_body(struct request *r, struct json_reader *in, struct json_fault *fault) MUST_CHECK;
/* Ends the reading of the body; 400, naming the field, where something is left or wrong. */
bool read_end(struct request *r, struct json_reader *in, struct json_fault *fault) MUST_CHECK;
/* The operation that `read` makes of the body. `read` may return NULL after a fault of the reader. */
struct op *read_op(struct request *r, struct op *(*read)(struct request *r, struct json_reader *in)) MUST_CHECK;
bool       query_int(struct request *r, const char *name, int64_t min, int64_t max, int64_t *out) MUST_CHECK;
/* A parameter of the query; NULL when absent. For the handler, until it has returned. */
const char *query_text(struct request *r, const char *name);
/* Ends the reading of the query; 400 if it has a parameter that the call does not know. */
bool query_end(struct request *r) MUST_CHECK;

/* ---- operations. The request owns `op` from here on; the engine has it until r->answer is called. A parameter of the
 * query that the call does not know is answered 400 instead. */
void request_start(struct request *r, struct op *op, void (*answer)(struct request *r));
/* The one operation of the request has ended, and is the caller's from here on: another one follows it. If there is no
 * room for it, it is BUSY. */
void request_go_on(struct request *r, struct op *op, void (*answer)(struct request *r));
/* As request_start, with the usual answer: 200 and the members of the operation that `write` puts, or its refusal. */
void request_ask(struct request *r, struct op *op, void (*write)(struct json_writer *w, void *op));
/* Many, in one go. The caller has called query_end, and has set r->ops and r->ops_count; a NULL counts as ended. */
void request_start_batch(struct request *r, void (*answer)(struct request *r));
/* Many, each in the lane of its own id, otherwise as request_start_batch: where the queue of a lane is full, only its
 * operations are BUSY. */
void request_start_each(struct request *r, void (*answer)(struct request *r));
/* The outcome of operation `i`: op->outcome, unless the operation did not come back in time. */
enum outcome request_outcome(struct request *r, size_t i);

/* ---- answering: exactly once, and after that nothing of the request is read any more: it may be gone. */
/* Call in the turn of the loop in which the answer is given, before it: all requests share the list. Both texts live
 * until the answer is given. */
void reply_header(struct request *r, const char *name, const char *value);
/* The Location of a 201, at the time of a reply_header: `before` is the way from the call's path, `id` is
 * percent-encoded here. */
void reply_location(struct request *r, const char *before, const char *id);
/* The body is copied. */
void reply_as(struct request *r, int status, const char *content_type, const void *body, size_t len);
/* Answers with an object of JSON; `write` puts its members. */
void reply_object(struct request *r, int status, void (*write)(struct json_writer *w, void *arg), void *arg);
/* application/problem+json. field and detail may be NULL; `members` writes more members, or is NULL. These return
 * false: already answered. */
bool reply_problem(struct request *r, int status, const char *code, const char *field, const char *detail,
                   void (*members)(struct json_writer *w, void *arg), void *arg);
bool reply_outcome(struct request *r, enum outcome outcome, const char *field, const char *detail,
                   void (*members)(struct json_writer *w, void *arg), void *arg);
bool reply_refused(struct request *r, enum outcome outcome, void (*members)(struct json_writer *w, void *arg),
                   void *arg);
bool reply_invalid(struct request *r, const char *field, const char *detail); /* 400 invalid_request */
/* The handler refuses the call for this member or parameter; the refusal is counted. */
bool reply_field(struct request *r, enum outcome outcome, const char *field, const char *detail);
/* For a call with roles that depend on its body. false: the request is answered. */
bool request_permits(struct request *r, enum callers callers) MUST_CHECK;
int  outcome_status(enum outcome outcome);
/* Writes the members of a problem, without the braces: for results of a batch call too. */
void problem_write(struct json_writer *w, int status, const char *code, const char *field, const char *detail);

#endif
