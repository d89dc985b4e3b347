/* model.h - the answers that the service must give, in the simplest form: full tables in memory, one request at a time.
 *
 * Written from api/openapi.yaml and the documents alone and sharing nothing with the engine. There are no slots, no
 * lanes and no sweeps here: a hold gives its units back at the moment it expires. The service may sweep later, so only
 * the split of on_hand into available and reserved is uncertain by what is expired and perhaps not swept yet
 * (`unswept`); no decision is. Nothing happens in the background: an arrival is handed out in the call itself, and what
 * becomes free goes to the orders that wait at the end of the call. The service agrees once it has nothing left to hand
 * out. */
#ifndef TESTS_MODEL_H
#define TESTS_MODEL_H

#include "engine/base/base.h"

enum { MODEL_SKUS = 8, MODEL_CUSTOMERS = 3, MODEL_ENDS = 2, MODEL_IDS = 20000, MODEL_POSITIONS = 20000 };
/* Units can be promised at `po` and `bo`, and lie aside at `qc`; all other places sell what they have. */
enum place { MAIN, PARIS, PARIS_TOO, PO, BO, QC, MODEL_PLACES };
enum kind { STOCK, ASIDE, INCOMING, KINDS };
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

/* A line of a transfer or an arrival. */
struct end {
	int     sku, from, to;
	int64_t qty;
};

enum asked {
	ASK_RECEIPT,
	ASK_ADJUSTMENT,
	ASK_RETURN,
	ASK_COUNT,
	ASK_TRANSFER,
	ASK_ARRIVAL,
	ASK_RESERVE,
	ASK_SPLIT,
	ASK_CONFIRM,
	ASK_REACQUIRE,
	ASK_RELEASE,
	ASK_EXTEND,
	ASK_AMEND,
	ASK_KICK,
	ASK_SETTLE,
	ASK_HOLD,
	ASK_LET_GO,
	ASK_GET,
	ASKED
};

enum then { THEN_STAY, THEN_CONFIRMED, THEN_RELEASED, THEN_SETTLED };

/* One request. */
struct ask {
	enum asked   what;
	int          id;       /* of the order or movement */
	int          other;    /* 1 + the order to be replaced, split, or from which units come back; 0: none */
	enum then    then;     /* the state that the part of a split gets */
	bool         confirm;  /* held and confirmed in one step */
	bool         force;    /* settle or amend it, whichever task has it */
	struct cells lines;    /* asked for, moved or counted; equal lines are summed already */
	struct cells expected; /* of a count: named where the line gives `expected` */
	struct cells loses;    /* named where the line may take promised units; 1 + the place `to`; 0: left out */
	struct end   end[MODEL_ENDS];
	int          ends;
	struct wish  wish;          /* of a reservation */
	int          customer;      /* 1 + the customer of the order; 0: none */
	struct cells shown;         /* lines of the answer: the service chooses the place of a wish */
	int          reason;        /* 0: none */
	int          ttl_s, told_s; /* told_s: it waits since this many seconds; 0: not given */
	bool         best_effort;
	int          wrong; /* 0: well-formed; otherwise the fault of its body */
};

enum order_state {
	ORDER_NONE,
	ORDER_HELD,
	ORDER_CONFIRMED,
	ORDER_BURIED,
	ORDER_RELEASED,
	ORDER_EXPIRED,
	ORDER_SETTLED
};

/* A position in the queue for a sku at an incoming place. Confirmed orders stand before held ones, whatever it says. */
struct position {
	int     order, sku, place;
	int64_t since;
	int     first; /* the `nth` of the order from which the position came */
	bool    told;  /* the client gave `since` */
	int64_t added; /* grows from position to position of an order */
	int64_t units; /* 0: there is no position here any more */
};

struct order {
	enum order_state state;
	int              nth; /* its number among all orders, from 1 */
	struct ask       ask; /* the call that made it */
	struct cells     held;
	int              customer;      /* as in `ask`; a part has that of its first order */
	struct cells     fault, second; /* the rows of `short`, repeated if the call is */
	struct cells     limited;       /* named where the row says `limit` */
	bool             wish_short, wish_limited;
	int64_t          wish_available;
	int64_t          expires_s;                 /* by the model's clock */
	int64_t          made, confirmed, told;     /* moments (model_now); 0: never. told: given waiting time */
	bool             claimed, tried;            /* a task has it; a task had it at any time */
	bool             on_hold;                   /* held back from shipping, without end */
	bool             served;                    /* units for which it waited have come */
	int              losses, lost_in, lost_sku; /* movements that took units of it; the last one, and its sku */
	bool             unswept;                   /* expired, and its units may still be in `reserved` */
	int              replaced_by;               /* 1 + the order that took its place; 0: none */
	int64_t          returned[MODEL_SKUS];
};

struct moved {
	bool         made;
	struct ask   ask;
	struct cells lines;              /* the units that it changed */
	int64_t      filled[MODEL_ENDS]; /* of an arrival: units of each line that went to orders */
	int          backordered;        /* orders that lost units, each counted for each sku */
};

struct model {
	int64_t         now_s, calls; /* the sum of all ticks; the run itself takes no time */
	int             orders, ids;  /* made so far; no order has this number or a greater one */
	bool            known[MODEL_SKUS];
	enum kind       kind[MODEL_PLACES];
	int             waits_at[MODEL_PLACES]; /* 1 + the place that gets the units available here; 0: none */
	int64_t         available[MODEL_SKUS][MODEL_PLACES], reserved[MODEL_SKUS][MODEL_PLACES];
	int64_t         unswept[MODEL_SKUS][MODEL_PLACES]; /* of `available`: perhaps still in `reserved` */
	int64_t         limit[MODEL_SKUS];                 /* of each customer; 0: none */
	bool            stopped_sku[MODEL_SKUS], stopped_place[MODEL_PLACES]; /* their sales are */
	int64_t         has[1 + MODEL_CUSTOMERS][MODEL_SKUS], has_unswept[1 + MODEL_CUSTOMERS][MODEL_SKUS];
	int             positions; /* no position stands behind so many */
	struct position position[MODEL_POSITIONS];
	struct order    order[MODEL_IDS];
	struct moved    moved[MODEL_IDS];
};

/* The answer that must come back. */
struct verdict {
	int                 status;
	const char         *code;  /* of a refusal; otherwise NULL */
	const char         *field; /* the field at fault; NULL: any */
	bool                replayed, reacquired;
	bool                ended;  /* a repeat when its order is over; the answer shows it under `reservation` */
	const struct order *order;  /* NULL: the answer shows none */
	const struct moved *moved;  /* NULL: the answer shows none */
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
/* After a call: gives the available units to the orders that wait for them. */
void model_settle(struct model *m);
/* Sets how many units of a sku each customer may have; 0: no limit. true: the sku is new. */
bool model_limit(struct model *m, int sku, int64_t limit);
/* Sales of the sku, or at the place, are stopped: no order gets units there that it does not have. */
bool model_stopped(const struct model *m, int sku, int place);
/* A stop keeps an arrival open, which the model hands out in its call: such a call is not made. */
bool model_stays_open(const struct model *m, const struct ask *ask);
/* Time passes. */
void model_tick(struct model *m, int64_t seconds);
/* All that has expired is swept. */
void model_sweep(struct model *m);
/* The service showed that this many units are available at this place. false: that is impossible. */
bool model_sees(struct model *m, int sku, int place, int64_t available) MUST_CHECK;
/* The place cannot change its kind: units or promises lie there, or a place waits at it. */
bool model_in_use(const struct model *m, int place, enum kind kind) MUST_CHECK;
/* A task claims all orders that are ready. The end of the task, and the new state of its orders. Both return how many
 * orders there are. */
int model_claim(struct model *m);
int model_task_end(struct model *m, enum order_state state);

#endif
