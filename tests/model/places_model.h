/* places_model.h - what the service has to answer about places, in the simplest words: where units lie, who waits for
 * them and in which turn. Tables in memory, one call after the other.
 *
 * Written from the contract and from docs/shop.md alone and sharing nothing with the engine. There are no slots, no
 * batches and nothing in the background here: an arrival is handed out, and what becomes free goes to those who wait,
 * in the call itself. So the service agrees once it has nothing left to hand out. Calls and expectations are words of
 * the flow's language (flow.h). */
#ifndef TESTS_PLACES_MODEL_H
#define TESTS_PLACES_MODEL_H

#include "engine/base/text.h"

/* Places in the order of their codes, as the lines of an answer. */
enum { PM_SKUS = 3, PM_ORDERS = 1000, PM_ENDS = 3 };
enum pm_place { BO, MAIN, PO, QC, WEST, PM_PLACES };
#define EACH_SPOT(s, p)                   \
	for (int s = 0; s < PM_SKUS; s++) \
		for (int p = 0; p < PM_PLACES; p++)

enum pm_kind { PM_STOCK, PM_ASIDE, PM_INCOMING };
enum pm_state { PM_NONE, PM_HELD, PM_CONFIRMED, PM_BURIED, PM_RELEASED, PM_EXPIRED, PM_SETTLED };

enum pm_call {
	PM_RESERVE,
	PM_SPLIT,
	PM_CONFIRM,
	PM_REACQUIRE,
	PM_RELEASE,
	PM_EXTEND,
	PM_SETTLE,
	PM_KICK,
	PM_RECEIPT,
	PM_ADJUST,
	PM_RETURN,
	PM_COUNT,
	PM_TRANSFER,
	PM_ARRIVAL
};

/* A line that names two places, one of them incoming. What is taken from which hangs on what the service knows; but
 * what the first one has goes to whoever waits at the second, and so it ends the same. */
struct pm_choice {
	int     sku, first, second;
	int64_t qty; /* 0: there is no such line */
	bool    may_split;
};

struct pm_ask {
	enum pm_call     call;
	int              id, other; /* other: the order that is replaced or split; -1: none */
	bool             confirm, best_effort, force;
	int              then; /* of a split: a state, 0: none */
	bool             named[PM_SKUS][PM_PLACES];
	int64_t          qty[PM_SKUS][PM_PLACES];
	bool             may_lose[PM_SKUS][PM_PLACES]; /* short: backorder .. */
	int              lost_to[PM_SKUS][PM_PLACES];  /* .. to this place; -1: left out */
	struct pm_choice choice;
	struct pm_end {
		int     sku, from, to;
		int64_t qty;
	} end[PM_ENDS];
	int ends, ttl_s, told_s; /* told_s: waits since so many seconds; 0: not said */
};

/* A place in a line. Confirmed orders stand before held ones, whatever these say. */
struct pm_turn {
	int64_t since;
	int     first; /* the order that it came from */
	bool    told;  /* `since` was told */
};

struct pm_order {
	enum pm_state  state;
	int64_t        units[PM_SKUS][PM_PLACES];
	struct pm_turn turn[PM_SKUS][PM_PLACES]; /* where it waits */
	int64_t        made, confirmed, expires_s;
	int64_t        told; /* since when it waits, as was told; 0: it was not */
	bool           claimed, served, chose;
	int            losses; /* movements that took units of it */
};

struct pm {
	int64_t         now_s, calls;
	enum pm_kind    kind[PM_PLACES];
	int             waits_at[PM_PLACES]; /* -1: at none */
	int64_t         available[PM_SKUS][PM_PLACES], reserved[PM_SKUS][PM_PLACES];
	struct pm_order order[PM_ORDERS];
};

void pm_open(struct pm *m);
/* Decides and does it; adds what has to come back. */
void pm_do(struct pm *m, const struct pm_ask *ask, struct text *expectation);
/* PUT of a location's kind; false: it is in use. */
bool pm_in_use(const struct pm *m, int place, enum pm_kind kind);
void pm_kind_set(struct pm *m, int place, enum pm_kind kind);
void pm_waits_at(struct pm *m, int place, int at);
void pm_tick(struct pm *m, int seconds);
/* A task takes what is ready; how many. Its end: what becomes of those that it still has; how many. */
int pm_claim(struct pm *m);
int pm_task_end(struct pm *m, enum pm_state state);

bool pm_lives(const struct pm_order *o);
bool pm_waits(const struct pm *m, const struct pm_order *o);
/* The orders that wait for a sku, the first of the line first; how many. */
int pm_line(const struct pm *m, int s, int p, int *ids);

#endif
