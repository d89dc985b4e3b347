/* load.h - a loader: one thread, epoll, keep-alive connections with one call in flight each, as wrk does it. It speaks
 * HTTP/1.1, or what a plan has a `frame` for. It shares the cores with what it measures, so it does little: no copy of
 * an answer, no tree. */
#ifndef LOAD_H
#define LOAD_H

#include "bench.h"

/* Some bytes of an answer. A value is kept as it stands in the JSON: strings with their quotes. */
struct span {
	const char *at;
	size_t      len;
};

/* Where a connection is in its order: several calls may make one order. The loader's; plans read and set it. */
struct load_call {
	int      step;       /* 0: a new order begins */
	int      count;      /* orders in this call: 1, unless next() says more; the same in all steps */
	uint64_t number;     /* of the order, or of the first */
	int64_t  started_us; /* when the order began; paced: when it should have begun */
};

struct load_answer {
	int         status;
	struct span head, body;
	int64_t     now_us;
};

enum load_verdict {
	LOAD_DONE,  /* the order is complete and right */
	LOAD_MORE,  /* right so far; check() has set the next step */
	LOAD_WRONG, /* counted as wrong; a new order begins */
};

/* The requests of a load, and the judgement of answers. */
struct load_plan {
	/* Writes one whole request (load_request); false: nothing is left. */
	bool (*next)(void *arg, struct load_call *call, struct text *request);
	enum load_verdict (*check)(void *arg, struct load_call *call, const struct load_answer *answer);
	/* Finds where the answer in `in` ends. Not all of its head is there yet: head.len stays 0. False: this is no
	 * answer. NULL: HTTP. */
	bool (*frame)(const struct text *in, struct load_answer *answer);
};

struct load {
	unsigned                port;    /* on 127.0.0.1 */
	unsigned                more[2]; /* ports that connections go to in turns with it; 0: none */
	int                     connections;
	int64_t                 until_us; /* no order begins later; those begun are finished */
	double                  rate;     /* orders begun a second, at even distances; 0: as fast as answers come */
	const struct load_plan *plan;
	void                   *arg; /* the plan's */

	/* results, as in struct round */
	double         seconds;
	int64_t        timed, orders, wrong;
	struct samples samples;

	/* the loader's own */
	int           epoll, busy; /* its poller, calls in flight */
	int64_t       now_us, begun_us;
	int64_t       paced; /* orders begun so far */
	struct conn **idle;  /* connections that wait for the next paced order */
	int           idle_count;
};

void load_run(struct load *l);
void load_request(struct text *to, const char *method, const char *path, const char *body, size_t len);
/* One call on a connection of its own; its answer's body is added to `answer`. Returns the status, 0: no answer. */
int load_once(unsigned port, const char *method, const char *path, const struct text *body, struct text *answer);

/* ---- answer.c: as much JSON as the checks need. Spans point into what was given. */
/* Finds members of an object by name, in one pass; missing ones get at = NULL. False: not an object. */
bool answer_members(struct span object, const char *const *names, struct span *values, int count);
/* The items of an array: *at begins as 0. False: no more, or not an array. */
bool    answer_item(struct span array, size_t *at, struct span *item);
bool    answer_is(struct span value, const char *string, size_t len); /* value is that string, in quotes */
int64_t answer_int(struct span value);                                /* -1: no natural number */

#endif
