/* op.h - an operation: what is asked, what came of it, and where it is on its way.
 *
 * An operation is one allocation with its lines and texts. engine_start hands it over, `done` hands it back; in between
 * nobody but its lane or reader touches it. */
#ifndef OP_H
#define OP_H

#include "engine/outcome.h"
#include "engine/rows.h"

#include <stdatomic.h>

enum op_kind {
	OP_RESERVE,
	OP_MOVE,
	OP_CONFIRM,
	OP_RELEASE,
	OP_EXTEND,
	OP_KICK,
	OP_GET,
	OP_TOTALS,
	OP_LIST_SKUS,
	OP_LIST_MOVEMENTS,
	OP_LIST_RESERVATIONS,
	OP_COUNTS,
	OP_TALLY,
	OP_RUN,
	OP_KINDS
};
/* Who answers a kind. BY_LANE: many in one transaction. BY_READER: totals, reservations, lists. BY_CENSUS: counts,
 * which walk an index. BY_BACKGROUND: jobs. Each has a connection of its own. */
enum answerer { BY_LANE, BY_READER, BY_CENSUS, BY_BACKGROUND, ANSWERERS };

#define LINE_UNITS_MAX INT64_C(1000000000) /* of one line of a request */

enum reserve_mode { ALL_OR_NOTHING, BEST_EFFORT };
struct reserve { /* OP_RESERVE */
	enum reserve_mode mode;
	uint32_t          key_id; /* whose key asks; 0: none */
	int64_t           ttl_s;
	int64_t           held_units; /* so many count against the limit of that key; 0: it has none */
	bool              over_held;  /* that limit is reached: a replay is answered, nothing is made */
};

struct move { /* OP_MOVE */
	enum movement_kind kind;
	bool               over_limit;         /* the lane's: a total would pass 9e15, seen before new skus were made */
	const char        *reason, *reference; /* in the op's own text; NULL: none */
	struct movement   *found;              /* the lane's: what the look-up of its id gave */
	struct movement   *movement;           /* the answer: as it is now; owned */
};

struct change {             /* OP_CONFIRM, OP_RELEASE, OP_EXTEND, OP_KICK */
	bool    reacquire;  /* a confirmation: also when it has expired */
	bool    reacquired; /* the answer: it had */
	int64_t ttl_s;      /* an extension: from now */
};

/* What a list is asked for, and how it goes on. A cursor is opaque text of a list's own making. */
struct page {
	enum reservation_state state; /* of a reservation list; 0: all */
	unsigned               limit;
	char cursor[256]; /* empty: from the beginning; in the answer: of the next page, empty if there is none */
};

struct query { /* OP_TOTALS and the lists; what it found is owned */
	struct page          page;
	struct reservation **reservations;
	struct movement    **movements;
	size_t               items;     /* how many of these */
	struct total        *totals;    /* of each line's sku, one after the other. OP_LIST_SKUS makes the lines */
	size_t              *totals_of; /* how many belong to each line; 0 and no sku: unknown */
};

/* How many reservations there are, and since when the oldest waits; counted at one moment. */
struct census { /* OP_COUNTS */
	int64_t by_state[STATES], claimed[STATES];
	int64_t ready[STATES];           /* of held and confirmed: due and not claimed */
	int64_t oldest_ready_ms[STATES]; /* how long the oldest of these has been due; 0 when there is none */
	int64_t tasks_open, oldest_lease_ms;
	int64_t counted_ms; /* clock_boot_ms */
};

/* OP_RUN, OP_TALLY: called on the thread and with the connection of the background reader or the census. After any
 * other result than DB_OK it is called again for WAIT_MS (shared.h), after DB_ERROR RETRY_ERRORS times in all
 * (retry.h): it must bear repeating. */
struct job {
	enum db_result (*run)(struct db *db, struct catalogue *c, void *arg);
	void (*run_free)(void *arg); /* frees arg along with the op; may be NULL */
	void *arg;
};

struct loop;

struct op {
	unsigned     magic;
	enum op_kind kind;
	/* ---- what is asked, and what came of it */
	char                id[ID_MAX + 1]; /* order_id or movement_id */
	uint8_t             lines_hash[16]; /* op_seal makes it */
	enum outcome        outcome;
	struct reservation *reservation; /* the answer of a reservation's kinds: as it is now; owned */
	union {                          /* by kind */
		struct reserve reserve;
		struct move    move;
		struct change  change;
		struct job     job;
		struct query  *query;  /* in the op's allocation */
		struct census *census; /* likewise */
	};
	/* ---- its way */
	struct loop *loop;
	void (*done)(void *arg, struct op *op);
	void        *arg;
	struct op   *next;       /* in whichever list it waits */
	int64_t      arrived_ms; /* clock_ms */
	uint64_t     id_hash;
	_Atomic int  stage;       /* see op_take */
	enum outcome given_up;    /* the starter's: what was told when it did not come back in time */
	bool         more_follow; /* the one behind it was started along with it */
	bool         ended;       /* the starter's: it came back */
	/* ---- its lane's */
	bool                lookup_due; /* its id is to be looked up before the batch is decided */
	bool                may_exist;  /* its id may exist: look it up before anything is sent */
	bool                exclusive;  /* a batch of its own, decided under locks */
	bool                writes;     /* decided: something is written for it */
	bool                locked;     /* somebody outside has a row of it */
	bool                unsure;     /* a lock that no look finds kept its batch waiting in vain */
	bool                apart;      /* that lock kept waiting this one: tried by itself */
	unsigned            past;       /* catalogue_past when its lines found their numbers; 0: they have none */
	unsigned            lookup_seq; /* read_seq of the batch when its id was looked up; 0: it was not */
	uint16_t            looks;      /* at the balances of this batch, since it was first refused in it */
	uint16_t            tries, guard_misses; /* rounds that failed; of these, because a slot had too little */
	uint64_t            new_id;
	struct reservation *found;         /* what the look-up of its id gave; owned */
	int64_t             busy_since_ms; /* when a row of it was first seen locked from outside; 0: never */
	int64_t             again_ms;      /* parked: when it is to be tried again */
	/* ---- */
	uint32_t    lines_count, lines_max;
	char       *text; /* where op_text puts the next bytes */
	size_t      text_left;
	struct line lines[];
};
_Static_assert(sizeof(struct op) + sizeof(struct line) <= 450, "a reservation of one line is small");

/* One operation with room for `lines_max` lines and `text_size` bytes of text (codes, reasons). */
struct op *op_new(enum op_kind kind, size_t lines_max, size_t text_size) MUST_CHECK;
/* A NUL-terminated copy in the op's own text, of whose text_size it takes len + 1: there must be room. */
const char *op_text(struct op *op, const char *bytes, size_t len);
/* Adds a line, one of lines_max, with its codes by op_text; location NULL is `main` and takes no text. */
struct line *op_line(struct op *op, const char *sku, size_t sku_len, const char *location, size_t location_len,
                     int64_t qty);
/* Sorts the lines, sums equal ones, takes the fingerprint. Before engine_start of a reservation or movement. *twins
 * (may be NULL): how many lines named a sku and location that stood there before. */
void op_seal(struct op *op, size_t *twins);
void op_forget(struct op *op); /* what a query found so far, before it is tried again */
void op_free(struct op *op);   /* NULL is fine */

enum answerer op_answerer(const struct op *op);
uint64_t      op_id_hash(bool movement, const char *id); /* never 0 */

/* An operation is queued, then taken; a cancelled one is taken no more. Each gives false when it was otherwise. */
void op_queue(struct op *op); /* at the beginning, and when it was taken in vain: a cancelled one stays so */
bool op_take(struct op *op) MUST_CHECK;
/* For an op that takes too long: true when it had not begun and now never will (it comes back by `done` all the same,
 * with DATABASE_AWAY, or BUSY from a lane that is connected: nothing was done); false when it is in the database and
 * nobody knows what comes of it. */
bool op_cancel(struct op *op);

#endif
