/* metrics.h - metrics of a service: numbers in memory, of each call and of refusals, and the text of /metrics, which
 * also has the metrics of the engine, of the connections and of the database. Each loop has numbers of its own. It
 * alone counts there, and any thread may read. */
#ifndef METRICS_H
#define METRICS_H

#include "api/http/connection.h"
#include "api/keys.h"
#include "engine/engine.h"

/* The calls, each by its handler's name. */
enum route {
#define X(method, path, handler, callers) ROUTE_##handler,
#include "api/routes.def"
#undef X
	ROUTE_NONE, /* the request fits no call */
	ROUTES
};
/* `GET /v1/skus/{sku}`, the label of the call; `none`. */
const char *route_label(enum route route);

enum { LATENCY_BUCKETS = 17, STATUS_MIN = 200, STATUS_END = 504 };
struct route_metrics {
	_Atomic int64_t by_status[STATUS_END - STATUS_MIN];
	_Atomic int64_t latency[LATENCY_BUCKETS + 1]; /* the last one: slower than all bounds */
	_Atomic int64_t latency_us;
};
/* ORDERS_STEPS: four for each doubling of the time, from 64 us to 4 s. */
enum { ORDERS_STEPS = 64 };
struct metrics {
	struct route_metrics routes[ROUTES];
	_Atomic int64_t      refusals[OUTCOMES];
	/* ---- counts of orders, each order of a batch by itself; activity.c takes their differences */
	_Atomic int64_t granted, settled, orders_refused[OUTCOMES];
	_Atomic int64_t orders_us[ORDERS_STEPS]; /* calls that make reservations, by the time that they took */
};

/* Counts a request that was answered. */
void metrics_answered(struct metrics *m, enum route route, int status, int64_t took_us);
/* Counts the outcome of an operation or a request, if it is a refusal. */
void metrics_refused(struct metrics *m, enum outcome outcome);
/* Counts the outcome of an operation that a call has started, if it made, refused or settled an order. */
void metrics_ended(struct metrics *m, const struct op *op, enum outcome outcome);
/* Counts an order of a batch that was malformed, beside its refusal. */
void metrics_malformed(struct metrics *m, enum outcome why);
/* Adds the numbers of a loop. */
void metrics_add(struct metrics *sum, const struct metrics *of);
/* How the process stands. */
struct process_state {
	bool         ready, draining;
	int64_t      certificate_until; /* ms since 1970; TIME_NONE: there is none */
	struct keys *keys;              /* NULL: it has none */
};
/* Adds the text of /metrics. `m`, `connections`: the sums of all loops. `census` NULL: the database did not answer, and
 * its metrics are left out. */
void metrics_write(struct text *to, const struct metrics *m, struct engine *e, struct connection_metrics connections,
                   const struct process_state *state, const struct census *census);

#endif
