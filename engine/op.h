/* op.h - an operation: a question to the engine, its answer, and its place on the way. An operation is one allocation
 * with its lines and texts. engine_start hands it over, `done` hands it back; in between only its lane or reader
 * touches it. */
#ifndef OP_H
#define OP_H

#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/log/event_type.h"
#include "engine/outcome.h"
#include "engine/rows.h"
#include "engine/catalogue/sku_details.h"

#include <stdatomic.h>

enum op_kind {
#define LANE(kind, ...)  kind,
#define ASKED(kind, ...) kind,
#include "engine/op_kinds.def"
#undef LANE
#undef ASKED
	OP_KINDS
};
/* The thread that answers a kind. BY_LANE: many in one transaction. BY_READER: totals, reservations, lists. BY_SEARCH:
 * skus by a part of their texts, which it has in memory. BY_CENSUS: counts, which walk an index. BY_BACKGROUND: jobs.
 * BY_FEED: events. Each has its own connection. */
enum answerer { BY_LANE, BY_READER, BY_SEARCH, BY_CENSUS, BY_BACKGROUND, BY_FEED, ANSWERERS };
/* The traits of a kind, by op_kinds.def. */
struct op_trait {
	enum answerer          by;
	size_t                 size;        /* of a payload that the union only points to; 0 otherwise */
	bool                   of_movement; /* its id is a movement's, not an order's */
	bool                   makes;       /* it makes the row of its id; false: it changes the one that is there */
	bool                   asks;        /* its lines are what the order is to have: it has a struct reserve */
	bool                   divides;     /* its lines are units of the other order's lines */
	enum reservation_state becomes;     /* its order, unless the operation says otherwise; 0: see op_state */
};
extern const struct op_trait op_traits[OP_KINDS];

#define LINE_UNITS_MAX INT64_C(1000000000000) /* one line of a request: a client may count grams */
/* A line of a movement that adds more goes alone: LIMIT_NEAR (stock.h) rests on it. */
#define SHARED_UNITS_MAX INT64_C(1000000000)

enum reserve_mode { ALL_OR_NOTHING, BEST_EFFORT };
struct reserve { /* OP_RESERVE; OP_AMEND */
	enum reserve_mode mode : 8;
	bool              limited;    /* the key has a limit of units .. */
	bool              force;      /* of an OP_AMEND: also where an open task has the order */
	uint32_t          ttl_s;      /* of an OP_AMEND 0: a hold ends when it did */
	int64_t           room;       /* .. and may hold so many more; 0 or more */
	int64_t           held_units; /* units that count against the key's limit until the answer; 0: none */
	union {
		int64_t ship_after; /* no claim takes it before; 0: at once */
		int64_t if_version; /* of an OP_AMEND: the version that the order must have; -1: any */
	};
	int64_t waits_since; /* given by an admin: the order's position in the queue; 0: none */
};

/* More of a line of a count. */
struct counted {
	int64_t  expected;  /* units; -1: none were given */
	int64_t  as_of;     /* ms; 0: now */
	unsigned sent;      /* the place of the line in the request */
	bool     ahead;     /* the lane's: as_of is a time that may not be */
	int64_t  arriving;  /* the lane's: units that have arrived there and are not handed out yet; of a promise fewer
	                       than 0: they have arrived elsewhere */
	int64_t since;      /* the lane's: units that movements behind as_of have added on balance */
	int64_t counted_at; /* the lane's: the time of the last count, as it is later than as_of; otherwise 0 */
};

/* More of a line that takes promised units, too, where too little is left. */
struct loss {
	char     to_code[LOCATION_MAX + 1]; /* where its orders wait; empty: at waits_at of its location */
	unsigned sent;                      /* the place of the line in the request */
	const struct location *to;          /* the lane's; NULL: there is none */
	int64_t                needed;      /* the lane's: promised units that are to go .. */
	int64_t                found;       /* .. and those of them which the orders have that may lose some */
};
/* An order that may lose units. */
struct loser {
	struct reservation *reservation; /* owned */
	bool                locked;      /* the lane's: it is as it was read, and stays so */
};
/* The units that one movement takes from orders. LOSERS_MAX: orders that lose units. LOST_MAX: lines of theirs that do.
 * All of it is one transaction of a lane: others waited 0.02 to 0.34 s for one of 4,000 to 5,000 lines, on two busy
 * cores. */
enum { LOSERS_MAX = 1000, LOST_MAX = 5000 };
struct losses {
	struct loser      *losers; /* from the end of the queue on, as they were picked; none at first */
	size_t             losers_count;
	struct relocation *lost; /* the lane's, in that order; those of one order stand together */
	size_t             lost_count, lost_max;
	bool               missed; /* some that the pick found had ended or were claimed when they were read */
	bool               passed; /* the lane's: some losers were passed over, were missed, or changed meanwhile */
	unsigned           looks;  /* how often orders were picked */
	struct loss        of[];   /* room for one of each line */
};

enum { PARTS_MAX = 100 }; /* parts_count has a byte */
struct move {             /* OP_MOVE; of OP_GET_MOVEMENT the answer */
	enum movement_kind kind : 8;
	bool               over_limit; /* the lane's: a total would pass 9e15, seen before new skus were made */
	bool               known_only; /* it makes no sku and no location */
	uint8_t            parts_count;
	uint32_t           transfers_count; /* 0: its kind has no ends */
	const char        *reason;          /* text of the op; NULL: none */
	struct movement   *found;           /* the lane's: the row that the look-up of its id gave */
	struct movement   *movement;        /* the answer: as it is now; owned */
	union {
		struct transfer *transfers; /* each adds to two lines; their `expected` is the units that leave */
		struct counted  *counted;   /* room for one of each line */
		char (*parts)[ID_MAX + 1];  /* a refused return: settled orders that were split off and have units of
		                             * its skus; PARTS_MAX of them at most; owned */
	};
};

struct has {                  /* OP_GET_CUSTOMER: the answer */
	int64_t per_customer; /* the sku's limit; 0: none */
	int64_t units;
};

struct change {          /* OP_CONFIRM, OP_RELEASE, OP_EXTEND, OP_KICK, OP_SETTLE, OP_SPLIT, OP_ON_HOLD */
	bool reacquire;  /* a confirmation that may acquire an expired reservation again */
	bool force;      /* settled also where an open task has the order, or while it is held back */
	bool if_held;    /* released only where it is held */
	bool reacquired; /* the answer: the reservation had expired */
	union {
		int64_t ttl_s;      /* an extension: the new time to live, from now */
		int64_t hold_until; /* OP_ON_HOLD: the end of the hold, ms; HOLD_NO_END: it has none */
	};
	const char *reason; /* OP_ON_HOLD: text of the op; NULL: none */
};

/* The open task that has an order. */
struct claim {
	uint64_t task_id;
	int64_t  lease_until; /* ms, by the database's clock */
	char     worker[ID_MAX + 1];
};

enum { KIN_MAX = 100 };
struct kin {                                 /* OP_GET: what its reservation has to do with others */
	char         split_from[ID_MAX + 1]; /* an order; empty: none */
	struct claim task;                   /* the task that has it, or settled or expired it; task_id 0: none */
	unsigned     task_state;             /* as stored */
	bool         was_split;              /* some parts were split off .. */
	size_t       parts_count;
	char (*parts)[ID_MAX + 1]; /* .. and those that are there, the first KIN_MAX; owned */
};

enum { CHOICE_MAX = 16, PLACES_MAX = CHOICE_MAX }; /* locations of a line that names several; of an OP_STOCK */
/* Lines of orders, or rows of skus at locations, that one answer of OP_FIND or OP_STOCK has at most. */
enum { ANSWER_ROWS_MAX = 20000 };

/* The text behind which a page begins: the longest is a note, behind a state and a number (list.c). */
enum { CURSOR_CODE_MAX = NOTE_MAX + 24 };

/* A list: its filter and its cursor. A cursor is opaque text that the list makes. */
struct page {
	enum reservation_state state;    /* a reservation list: the state to show; 0: all (list.h) */
	bool                   on_hold;  /* .. of what is held back */
	const char            *error;    /* .. with this last error; here and below text of the op, NULL: any */
	const char            *customer; /* .. of this customer */
	const char            *reference; /* .. with this reference */
	bool                   by_time;  /* .. made from .. */
	int64_t                created_after, created_before; /* .. this ms on, before this one */
	const char            *customer_prefix;  /* .. with a customer that begins so .. */
	const char            *reference_prefix; /* .. with a reference that begins so .. */
	const char            *prefix;   /* .. or skus: the beginning of their ids or codes .. */
	const char            *location; /* .. where they were ever stocked .. */
	const char            *barcode;  /* .. that have it .. */
	const char            *text;     /* .. of which the code, the name or a barcode contains it; folded .. */
	bool                   low;      /* .. and are low or out */
	bool                   detailed; /* of skus: their details, too */
	const char           **ids;      /* OP_FIND: the orders, op_ids */
	size_t                 ids_count;
	const char            *places[PLACES_MAX]; /* OP_STOCK: the locations; none: all .. */
	size_t                 places_count;
	unsigned               limit;
	char cursor[2 * CURSOR_CODE_MAX + 16]; /* empty: from the beginning; in the answer: the cursor of the next page,
	                                          empty if there is none */
};

/* A sku that is low or out, at a location, or over all that sell (NULL). */
struct low {
	const struct location *location;
	int64_t                low; /* the threshold; 0: none */
	int64_t                available;
};

struct query { /* OP_FIND, OP_TOTALS, OP_STOCK and the lists; the query owns its findings */
	struct page          page;
	struct search       *search;       /* OP_SEARCH_SKUS: the memory of the thread that answers it */
	struct reservation **reservations; /* of OP_FIND one for each id; NULL: there is none */
	struct movement    **movements;
	size_t               items;     /* number of found items */
	struct total        *totals;    /* totals of the lines' skus, line after line. OP_LIST_SKUS makes the lines */
	size_t              *totals_of; /* number of totals of each line; 0 and no sku: unknown */
	struct low          *lows;      /* of a list of what is low, line after line */
	size_t              *lows_of;
	struct sku_details   details; /* sorted */
};

enum { WEBHOOKS_TOLD = 200 };
/* The number of reservations, and the age of the oldest due one, counted at one moment. */
enum ahead {
#define X(name, word, find, change, walks) name,
#include "engine/read/ahead.def"
#undef X
	AHEAD_KINDS
};

struct census {             /* OP_COUNTS */
	int64_t age_max_ms; /* asked: the last count will do where it is younger; 0: see census.c */
	bool    brief;      /* asked: oldest_ready_ms, buried orders, tasks and webhooks, and nothing else */
	struct {            /* as STOCK_STATS has them */
		int64_t skus, locations, slots, slot_rows, available, reserved, aside, incoming, incoming_reserved;
	} stock;
	int64_t by_state[STATES], claimed[STATES];
	int64_t ready[STATES];           /* held and confirmed ones that are due and not claimed */
	int64_t oldest_ready_ms[STATES]; /* age of the oldest due one; 0 when there is none */
	int64_t tasks_open, oldest_lease_ms;
	struct webhook_behind {
		char    webhook_id[ID_MAX + 1];
		int64_t undelivered_ms; /* how long the oldest event waits for it */
	} webhooks[WEBHOOKS_TOLD];      /* active ones */
	size_t  webhooks_count;
	int64_t event_rows, event_bytes, oldest_event_ms; /* the log of events; 0 ms when it is empty */
	int64_t levels_behind_ms;                         /* how long ago nothing was left to look at */
	int64_t low, out, queued; /* skus at locations, and over all, by their level; lines in queues */
	int64_t backed_up_s, audited_s, audit_failed; /* table upkeep: s since 1970, 0: never; 1: the last one failed */
	int64_t ahead[AHEAD_KINDS]; /* rows with a time of a clock that was ahead; a reaper brings them back */
	int64_t counted_ms;         /* clock_boot_ms when the count began .. */
	int64_t counted_at;         /* .. and ms since 1970 by the database's clock */
	int64_t took_ms;
};

/* JOB_ENDS: the op comes back. JOB_TAKEN: another thread has it and its arg, and gives it back by an outbox (loop.h).
 * JOB_AGAIN: it is run again at op->again_ms, or comes back as it is where the reader is to end. */
enum onward { JOB_ENDS, JOB_TAKEN, JOB_AGAIN };
struct op;

/* OP_RUN, OP_TALLY: called on the thread and with the connection of the background reader or the census. After any
 * other result than DB_OK it is called again for WAIT_MS (shared.h), after DB_ERROR RETRY_ERRORS times in all
 * (retry.h): it must bear repeating. */
struct job {
	enum db_result (*run)(struct db *db, void *arg);
	void (*run_free)(void *arg);                     /* frees arg along with the op; may be NULL */
	enum onward (*onward)(void *arg, struct op *op); /* behind a run that came to DB_OK; NULL: JOB_ENDS */
	/* Before jobs run that came together: may do at once what they have in common. What is left undone, their runs
	 * do. NULL: they have nothing in common. Of OP_RUN alone, and one function for all. */
	void (*together)(struct db *db, void *const *args, size_t count);
	void *arg;
};

enum { FOLLOW_S_MAX = 30 };
struct follow {                        /* OP_FOLLOW: events behind a place of the log */
	char               *after;     /* a cursor, or whatever else feed_read takes; NULL: the oldest kept; owned */
	struct event_filter filter;    /* the types that are asked for */
	unsigned            limit;     /* at most so many events */
	int                 wait_s;    /* at the end of the log: time to wait for an event; up to FOLLOW_S_MAX */
	struct text_shared *page;      /* the answer, in JSON; with OUTCOME_OK only */
	bool                gives_way; /* the answer: the wait ended because another reader needs the place */
};

/* A line of a reservation that names several locations. Each of them is also a line of the op, with the units that
 * plain lines ask for there: 0 where there are none. */
struct choice {
	const char *sku_code;                  /* text of the op */
	const char *location_code[CHOICE_MAX]; /* text of the op, in the order in which units are looked for */
	int64_t     qty;                       /* units asked for */
	int64_t     wanted;                    /* the lane's: units that the limit of a customer leaves, qty at most */
	int64_t     granted;                   /* units held, wherever */
	int64_t     available;                 /* the most at one location, or the sum where the line may be split */
	uint16_t    line[CHOICE_MAX];          /* op_seal: the lines of the locations */
	uint8_t     count;                     /* locations */
	bool        may_split;                 /* piece by piece; otherwise all units are of one location */
	bool        fault;                     /* this line is why the operation was refused */
	bool        limited;                   /* the limit of a customer is why less was granted */
};

struct loop;

struct op {
	unsigned     magic;
	enum op_kind kind : 8;
	/* ---- the question and the answer */
	char                   id[ID_MAX + 1]; /* order_id, movement_id or, of OP_GET_CUSTOMER, a customer */
	uint8_t                lines_hash[16]; /* op_seal makes it */
	enum reservation_state becomes : 8;    /* the state that its order is to have; 0: see op_state */
	enum outcome           outcome : 8;
	uint32_t               key_id;      /* the key that asks; 0: none */
	uint32_t               size;        /* bytes of the operation's allocation */
	struct reservation    *reservation; /* the answer of a reservation's kinds: as it is now; owned */
	const char *other_id; /* the order that is replaced (OP_RESERVE) or split, or from which units come back
	                         (OP_MOVE); text of the op; NULL: none */
	const char    *reference, *customer; /* text of the op; NULL: none */
	const char    *by;                   /* the name of the key that asks, which outlives the op; NULL: none */
	struct losses *losses;               /* of a movement: what its lines take from orders; NULL: nothing; owned */
	union {                              /* the payload, by kind */
		struct reserve reserve;
		struct move    move;
		struct change  change;
		struct has     has;
		struct job     job;
		struct kin    *kin;    /* owned; NULL: none was read */
		struct query  *query;  /* in the op's allocation */
		struct census *census; /* in the op's allocation */
		struct follow *follow; /* in the op's allocation */
	};
	/* ---- its way */
	struct loop *loop;
	void (*done)(void *arg, struct op *op);
	void           *arg;
	struct op      *next;       /* the next operation of its list, whichever that is */
	int64_t         arrived_ms; /* clock_ms */
	uint64_t        id_hash;
	_Atomic uint8_t stage;           /* see op_take */
	bool            more_follow : 1; /* the op behind this one was started together with it */
	bool            atomic : 1;      /* .. and none of them is done without the others: see op_unit */
	bool            ended;           /* the starter's: the op came back */
	enum outcome    given_up : 8;    /* the starter's: the outcome told when the op did not come back in time */
	uint16_t        queued_ms;       /* from arrived_ms to op_begun, and 1; 0: not yet */
	/* ---- its lane's */
	bool                lookup_due;    /* the id is to be looked up before the batch is decided */
	bool                may_exist;     /* the id may exist: the look-up comes before anything is sent */
	bool                exclusive;     /* a batch of its own, decided under locks */
	bool                writes;        /* decided: something is written for it */
	bool                row_locked;    /* blocked.c: another program has a row of it; slots: struct balance */
	bool                suspects_lock; /* the op's batch waited in vain for a lock that no look finds */
	bool                tried_alone;   /* that lock, or many conflicts, kept it waiting: it is a batch of its own */
	uint8_t             errors;        /* rounds of the op by itself that the database refused */
	uint16_t            guard_misses;  /* of the rounds that failed (tries): because a slot had too little */
	unsigned            past;          /* catalogue_past when its lines found their numbers; 0: they have none */
	unsigned            lookup_seq;    /* read_seq of the batch when its id was looked up; 0: it was not */
	uint16_t            looks;         /* looks at this batch's balances since the op's first refusal in it */
	uint16_t            tries;         /* rounds that failed */
	unsigned            needs;         /* NEEDS_.. of engine/write/batch.h */
	uint64_t            new_id;
	struct reservation *found, *other; /* the rows that the look-ups of its id and of other_id gave; owned */
	struct claim       *claim;         /* the claim of the order to settle or replace; NULL: no open task; owned */
	int64_t             other_before;  /* `changed` of the other order, or of the one that is amended, at the
	                                      look-up before; -1: it was not there */
	int64_t  busy_since_ms;            /* first time at which it was parked; 0: never */
	int64_t  again_ms;                 /* parked: when it is to be tried again */
	uint64_t turn;                     /* its place in the order in which its lane took operations from the queue */
	/* ---- */
	uint32_t       lines_count, lines_max;
	struct choice *choices; /* judged behind the plain lines, in the order of op_seal */
	uint32_t       choices_count;
	uint32_t       text_left; /* bytes from .. */
	char          *text;      /* .. the place of the next text byte */
	struct line    lines[];
};
_Static_assert(sizeof(struct op) + sizeof(struct line) <= 450, "a reservation of one line is small");

/* One operation with room for `lines_max` lines and `text_size` bytes of text (codes, reasons). */
struct op *op_new(enum op_kind kind, size_t lines_max, size_t text_size) MUST_CHECK;
/* The state of its order behind it: a part that is split off stays in that of the first, which was looked up. */
enum reservation_state op_state(const struct op *op);
/* A NUL-terminated copy in the op's own text. It takes len + 1 of the text_size: there must be room. */
const char *op_text(struct op *op, const char *bytes, size_t len);
/* Adds a line, one of lines_max, with its codes by op_text; location NULL is `main` and takes no text. */
struct line *op_line(struct op *op, const char *sku, size_t sku_len, const char *location, size_t location_len,
                     int64_t qty);
/* Room for so many transfers, of text_size: sizeof(struct transfer) each. Before the first text. Then each, which takes
 * two of lines_max. */
void op_transfers(struct op *op, size_t max);
void op_transfer(struct op *op, const struct transfer *transfer);
/* The same of a count: room for sizeof(struct counted) each, and more of the line that was added last. */
void op_counts(struct op *op, size_t max);
void op_counted(struct op *op, int64_t expected, int64_t as_of);
/* The line that was added last of a movement that is SIGNED is for this many units there; -1: for any. */
void op_expect(struct op *op, int64_t expected);
/* The line that was added last takes promised units where too little is left; their orders wait at `to`, or with NULL
 * at waits_at of its location. No line of a movement that may lose has the sku and location of another one. */
void                                 op_lose(struct op *op, const char *to, size_t to_len);
static inline const struct op_trait *op_trait(const struct op *op)
{
	return &op_traits[op->kind];
}
/* True: its lines are units that the order is to have, now or instead of those that it has. */
static inline bool op_asks(const struct op *op)
{
	return op_traits[op->kind].asks;
}
/* True: it is of this kind, and was decided to be done. */
static inline bool op_writes(const struct op *op, enum op_kind kind)
{
	return op->writes && op->kind == kind;
}
/* True: a movement of a kind that has one of the traits. */
static inline bool op_moves(const struct op *op, unsigned traits)
{
	return op->kind == OP_MOVE && movement_is(op->move.kind, traits);
}
/* Frees the orders that were picked, and the losses. */
void losses_forget(struct losses *losses);
/* Frees what a lane has read for the operation. */
void op_unread(struct op *op);
/* The operation came back refused, and is started again. */
void op_renew(struct op *op);
/* Room for so many ids of an OP_FIND, of text_size: sizeof(char *) each. Before the first text. Then each. */
void op_ids(struct op *op, size_t max);
void op_ids_add(struct op *op, const char *id, size_t len);
/* Room for so many choices, of text_size: sizeof(struct choice) each. Before the first text. */
void op_choices(struct op *op, size_t max);
/* Adds a choice and, with op_choice_add, its locations, each of which takes one of lines_max. */
struct choice *op_choice(struct op *op, const char *sku, size_t sku_len, int64_t qty, bool may_split);
void           op_choice_add(struct op *op, struct choice *choice, const char *location, size_t location_len);
/* Sorts the lines, sums equal ones, sorts choices by sku, takes the fingerprint. Before engine_start of a reservation
 * or movement. *twins (may be NULL): how many lines named a sku and location that stood there before. */
void op_seal(struct op *op, size_t *twins);
/* The units asked for by all lines and choices. */
int64_t op_units(const struct op *op);
/* Units of a movement's line that have to be available before it; below 0: it adds units. */
int64_t line_takes(const struct op *op, const struct line *line);
/* True: the line of an adjustment says how many units are there. */
static inline bool line_expects(const struct op *op, const struct line *line)
{
	return op_moves(op, SIGNED) && line->expected >= 0;
}
bool op_expects(const struct op *op); /* true: one of its lines does */
/* True: a line or a choice is at fault. */
bool op_has_faults(const struct op *op);
void op_forget(struct op *op); /* frees what a query found, before the query is tried again */
void op_free(struct op *op);   /* NULL is fine */

void op_begun(struct op *op, int64_t now_ms); /* its lane or reader took it up, perhaps not for the first time */

uint64_t op_id_hash(bool movement, const char *id); /* never 0 */

/* The most items of an atomic call, and the most lines that they may write: their own, and those of the orders that
 * they change. */
enum { ITEMS_MAX = 100, ITEMS_LINES_MAX = 5000 };
/* The operations of an atomic call, its items, stand together and in their order wherever they are: in the queue of
 * their lane, among those that it has taken, put back or parked, in a batch. They are one unit: taken, parked, decided,
 * tried again and answered together. Every other operation is a unit by itself. The number of operations of the unit
 * that begins at the first of `count`: */
static inline size_t op_unit(struct op *const *ops, size_t count)
{
	size_t size = 1;

	while (ops[size - 1]->atomic && ops[size - 1]->more_follow && size < count)
		size++;
	return size;
}
/* True: the items of an atomic call are granted: each of them, or all of them were done before, whatever became of
 * their orders since. Also when they are answered. */
bool ops_granted(struct op *const *ops, size_t count);

/* op_take: an operation is queued, then taken; a cancelled one is not taken any more. op_take and op_cancel return
 * false when the operation was in another state. */
void op_queue(struct op *op); /* the first state, also of an op that was taken in vain; a cancelled op stays so */
bool op_take(struct op *op) MUST_CHECK;
bool op_cancelled(const struct op *op);
/* For an op that takes too long, of an atomic call for its first item: true when it had not begun and now never will
 * (it comes back by `done` all the same, with DATABASE_AWAY, or BUSY from a lane that is connected: nothing was done);
 * false when it is in the database and its outcome is not known yet. */
bool op_cancel(struct op *op);

#endif
