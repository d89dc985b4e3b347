/* model.h - what the service has to answer, in the simplest words: full tables in memory, one request after the other.
 *
 * Written from api/openapi.yaml alone and sharing nothing with the engine. There are no slots, no lanes and no sweeps
 * here: a hold gives its units back at the moment it expires. The service may sweep later, so only the split of on_hand
 * into available and reserved is uncertain by what is expired and perhaps not swept yet (`unswept`); no decision is. */
#ifndef TESTS_MODEL_H
#define TESTS_MODEL_H

#include "engine/base/base.h"

enum { MODEL_SKUS = 8, MODEL_PLACES = 3, MODEL_CUSTOMERS = 3, MODEL_IDS = 20000 };
#define MODEL_TOTAL_MAX INT64_C(9000000000000000)

/* A number for each sku and location, and whether a line names it. */
struct cells {
	int64_t qty[MODEL_SKUS][MODEL_PLACES];
	bool    named[MODEL_SKUS][MODEL_PLACES];
};
#define EACH_CELL(s, p)                      \
	for (int s = 0; s < MODEL_SKUS; s++) \
		for (int p = 0; p < MODEL_PLACES; p++)

/* A line that names several places, in the order in which units are looked for; one at most in an order. */
struct wish {
	int     sku, places, place[MODEL_PLACES]; /* places: 0: there is no such line */
	bool    may_split;
	int64_t qty;
};

enum asked {
	ASK_RECEIPT,
	ASK_ADJUSTMENT,
	ASK_RETURN,
	ASK_COUNT,
	ASK_RESERVE,
	ASK_SPLIT,
	ASK_CONFIRM,
	ASK_REACQUIRE,
	ASK_RELEASE,
	ASK_EXTEND,
	ASK_KICK,
	ASK_SETTLE,
	ASK_GET,
	ASKED
};

enum then { THEN_STAY, THEN_CONFIRMED, THEN_RELEASED, THEN_SETTLED };

/* One request. */
struct ask {
	enum asked   what;
	int          id;       /* of the order or movement */
	int          other;    /* 1 + the order to be replaced, split, or from which units come back; 0: none */
	enum then    then;     /* what becomes of the part of a split */
	bool         confirm;  /* held and confirmed in one step */
	bool         force;    /* settled whoever has it: here nobody has */
	struct cells lines;    /* asked for, moved or counted; equal lines are summed already */
	struct cells expected; /* of a count: named where the line gives `expected` */
	struct wish  wish;     /* of a reservation */
	int          customer; /* 1 + who the order is for; 0: not said */
	struct cells shown;    /* the lines of the answer: which place a wish was granted at is the service's to say */
	int          reason;   /* 0: none */
	int          ttl_s;
	bool         best_effort;
	int          wrong; /* 0: well-formed; otherwise which fault its body has */
};

enum order_state { ORDER_NONE, ORDER_HELD, ORDER_CONFIRMED, ORDER_RELEASED, ORDER_EXPIRED, ORDER_SETTLED };

struct order {
	enum order_state state;
	struct ask       ask; /* what made it */
	struct cells     held;
	int              customer;      /* as of ask; that of a part is its first order's */
	struct cells     fault, second; /* the rows of `short`, told again to whoever repeats the call */
	struct cells     limited;       /* named where the row says `limit` */
	bool             wish_short, wish_limited;
	int64_t          wish_available;
	int64_t          expires_s;   /* by the model's clock */
	bool             confirmed;   /* at any time */
	bool             unswept;     /* expired, and its units may still be in `reserved` */
	int              replaced_by; /* 1 + the order that took its place; 0: none */
	int64_t          returned[MODEL_SKUS];
};

struct moved {
	bool         made;
	struct ask   ask;
	struct cells lines; /* what it changed */
};

struct model {
	int64_t      now_s; /* the sum of all ticks; the run itself takes no time */
	bool         known[MODEL_SKUS];
	int64_t      available[MODEL_SKUS][MODEL_PLACES], reserved[MODEL_SKUS][MODEL_PLACES];
	int64_t      unswept[MODEL_SKUS][MODEL_PLACES]; /* of `available`: perhaps still in `reserved` */
	int64_t      limit[MODEL_SKUS];                 /* of each customer; 0: none */
	int64_t      has[1 + MODEL_CUSTOMERS][MODEL_SKUS], has_unswept[1 + MODEL_CUSTOMERS][MODEL_SKUS];
	struct order order[MODEL_IDS];
	struct moved moved[MODEL_IDS];
};

/* What has to come back. */
struct verdict {
	int                 status;
	const char         *code; /* of a refusal; otherwise NULL */
	bool                replayed, reacquired;
	const struct order *order;  /* NULL: the answer shows none */
	const struct moved *moved;  /* likewise */
	struct cells        fault;  /* the rows of a refusal, or of `short`; the first number of each */
	struct cells        second; /* their second number */
	struct cells        slack;  /* by how much the second number may be more */
	const char         *first_name, *second_name; /* NULL: the rows have no numbers */
	struct cells        limited;                  /* named where the row says `limit` */
	const char         *third_name;               /* not NULL: rows are by sku, in the first place, with .. */
	struct cells        third;                    /* .. this number, too */
	const struct order *over;                     /* of which too much would come back */
	const struct wish  *wish;                     /* the wish that is at fault; NULL: none is */
	int64_t             wish_available;
	bool                wish_limited;
};

/* Decides and does it. */
void model_do(struct model *m, const struct ask *ask, struct verdict *out);
/* What each customer may have of a sku; 0: as much as he likes. true: the sku is new. */
bool model_limit(struct model *m, int sku, int64_t limit);
/* True: `part` was split off from `first`, or from what was, and has left with units of one of these skus. */
bool model_parted(const struct model *m, int first, int part, const struct cells *of) MUST_CHECK;
/* Time passes. */
void model_tick(struct model *m, int64_t seconds);
/* The service showed so many units available at this place. false: that cannot be. */
bool        model_sees(struct model *m, int sku, int place, int64_t available) MUST_CHECK;
const char *order_state_name(enum order_state state);

#endif
