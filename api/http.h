/* http.h - requests and answers, without a word of sockets: those are connection.c's.
 *
 * A handler reads the request with the read_* and query_* calls, which answer 400, 413 or 415 themselves, and then
 * either replies or starts operations; when all of those have ended, its `answer` function replies. One thread: the
 * loop's. A request is born in http.c when the last byte of it has come, and dies there when it is answered and its
 * operations have come back. */
#ifndef HTTP_H
#define HTTP_H

#include "api/http/connection.h"
#include "api/http/listen.h"
#include "api/http/tls.h"
#include "api/http/uri.h"
#include "api/keys.h"
#include "engine/base/json.h"
#include "engine/engine.h"

struct service;

enum route {
#define X(method, path, handler, callers) ROUTE_##handler,
#include "api/routes.def"
#undef X
	ROUTE_NONE,
	ROUTES
};

struct request {
	unsigned             magic;
	struct service      *service;
	struct ticket        from;  /* where the answer goes */
	const struct asked  *asked; /* until the handler has returned */
	bool                 answered;
	bool                 last;           /* the connection ends with the answer */
	bool                 is_10, is_head; /* HTTP/1.0; HEAD */
	enum route           route;
	char                 param[SKU_MAX + 1]; /* of the path, decoded */
	char                 id[132];            /* X-Request-Id */
	struct key          *key;                /* who asks; NULL: nobody had to say */
	bool                 audited;            /* an admin key changes something: its answer is logged */
	struct query_string *query;
	struct json_doc     *body;
	int64_t              began_us;
	/* ---- operations under way */
	struct op **ops; /* in the order of the call; owned */
	size_t      ops_count, ops_left;
	void (*answer)(struct request *r);
	struct request *next, *previous; /* among those that wait for operations, the oldest first */
	void           *more;            /* the handler's own, freed with the request */
};

/* ---- reading. false: already answered. */
bool read_body(struct request *r, struct json_reader *in, struct json_fault *fault) MUST_CHECK;
/* The body has been read to its end, the query has nothing that nobody asked for; otherwise 400, naming the field. */
bool read_end(struct request *r, struct json_reader *in, struct json_fault *fault) MUST_CHECK;
bool query_int(struct request *r, const char *name, int64_t min, int64_t max, int64_t *out) MUST_CHECK;
/* NULL when it is not there. Lives as long as the request. */
const char *query_text(struct request *r, const char *name);
bool        query_end(struct request *r) MUST_CHECK;

/* ---- operations. The request owns `op` from here on; the engine has it until r->answer is called. */
void request_start(struct request *r, struct op *op, void (*answer)(struct request *r));
/* Reads the body into an operation and starts it; answers what is wrong. `read` gives NULL after a fault or without
 * memory. */
void request_read_and_start(struct request *r, struct op *(*read)(struct json_reader *in, bool *no_memory),
                            void (*answer)(struct request *r));
/* Many, in one go, in r->ops; those that are NULL count as ended. */
void           request_start_batch(struct request *r, void (*answer)(struct request *r));
struct engine *request_engine(struct request *r);
/* What became of operation `i`: op->outcome, unless it did not come back in time. */
enum outcome request_outcome(struct request *r, size_t i);

/* ---- answering: exactly once, and after that nothing of the request is read any more: its bytes may be gone. */
void reply_header(struct request *r, const char *name, const char *value);
/* The body is sent as JSON; it stays the caller's. */
void reply(struct request *r, int status, const struct text *body);
/* The same, an object whose members `write` puts. */
void reply_object(struct request *r, int status, void (*write)(struct json_writer *w, void *arg), void *arg);
void reply_as(struct request *r, int status, const char *content_type, const void *body, size_t len);
/* application/problem+json. field and detail may be NULL; `members` writes more members, or is NULL. */
void reply_problem(struct request *r, int status, const char *code, const char *field, const char *detail,
                   void (*members)(struct json_writer *w, void *arg), void *arg);
void reply_invalid(struct request *r, const char *field, const char *detail); /* 400 invalid_request */
void reply_refused(struct request *r, enum outcome outcome, void (*members)(struct json_writer *w, void *arg),
                   void *arg);
void reply_no_memory(struct request *r);
void reply_lost(struct request *r); /* the same, when something may have been done: 503 unknown_outcome */
int  outcome_status(enum outcome outcome);
/* The members of a problem, without the braces: for results of a batch call too. */
void problem_write(struct json_writer *w, int status, const char *code, const char *field, const char *detail);

/* ---- between http.c, route.c and request.c */
void route_dispatch(struct request *r); /* has it handled by the call that it means, or answers that there is none */
enum { REQUEST_MAGIC = 0x48745265 };
const char  *request_header(const struct request *r, enum header header); /* NULL when it is not there */
const char  *request_body(const struct request *r, size_t *len);          /* once */
struct loop *request_loop(struct request *r);
const char  *status_reason(int status);
void         request_waits(struct request *r, bool waits); /* joins or leaves those that have a deadline */
/* Past the deadline: what had not begun never will, of the rest nobody knows. The operations come back later. */
void request_give_up(struct request *r);
void request_free(struct request *r);
void request_name(struct request *r);        /* r->id, as sent or made */
void request_id_make(char *id, size_t size); /* one that was not sent */
/* One operation or request was refused; a good outcome is not counted. */
void refusal_count(struct request *r, enum outcome outcome);
/* A problem, without asking for memory; `code` and `detail` are plain words. */
void reply_plainly(struct request *r, int status, const char *code, const char *detail);

/* ---- the service, for serve.c */
struct service_options {
	struct listenings *listen; /* bound; it listens from service_open to service_close */
	size_t             body_max;
	size_t             connections_max, buffered_max; /* see connection.h, also for what follows */
	int64_t            request_s, idle_s;
	struct keys       *keys;                            /* NULL: every call is let in */
	struct tls        *tls;                             /* NULL: plain text */
	bool (*ready)(void *arg, struct text *checks_json); /* is everything well? */
	void *arg;
};
/* NULL: another program listens on one of the addresses, `why` says which. */
struct service *service_open(const struct service_options *options, struct engine *e, char *why, size_t why_size);
/* Until SIGTERM or SIGINT, and everything is answered: at *drained_by_ms (clock_ms) at the latest. Exit status. */
int  service_run(struct service *s, int64_t *drained_by_ms);
void service_close(struct service *s); /* the doors; the engine may still bring operations back */
void service_free(struct service *s);  /* after engine_close */
bool service_is_draining(const struct service *s);

/* ---- figures: of each route, by status, and how long they took. Read and written on the loop's thread alone. */
enum { LATENCY_BUCKETS = 14, STATUSES = 20 };
struct route_figures {
	int64_t by_status[STATUSES];
	int64_t latency[LATENCY_BUCKETS + 1];
	int64_t latency_us;
};
void                          figures_count(struct route_figures *f, int status, int64_t took_us); /* status.c */
const struct route_figures   *service_figures(const struct service *s);
const char                   *route_name(enum route route);
const int64_t                *service_refusals(const struct service *s); /* by outcome */
struct service               *request_service(struct request *r);
struct connections           *service_connections(const struct service *s);
const struct service_options *service_options(const struct service *s);

/* ---- handlers */
#define X(method, path, handler, callers) void handler(struct request *r);
#include "api/routes.def"
#undef X

#endif
