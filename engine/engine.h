/* engine.h - what api and jobs may ask of the engine.
 *
 *   loop thread                        lane thread, one per slot              MariaDB
 *   op_new, fill, engine_start ─▶ queue ─▶ take from it ─▶ decide ─▶ one transaction
 *   done(arg, op), op_free     ◀─ eventfd ◀── answer each  ◀─ verdict ◀─
 *
 * An operation (struct op) is one allocation with its lines and texts. engine_start hands it over, to be
 * begun when engine_wake is called; `done` hands it back, once, on the thread of the op's loop, never before
 * engine_start has returned. In between nobody else may touch it. */
#ifndef ENGINE_H
#define ENGINE_H

#include "engine/catalogue.h"
#include "engine/db/db.h"

#include <stdatomic.h>

enum outcome {
#define X(name, code, class, detail) name,
#include "engine/outcome.def"
#undef X
	OUTCOMES
};
enum outcome_class { DONE, REPEATED, STRANGER, DENIED, IMPOSSIBLE, ABSENT, CONFLICT, MALFORMED, LIMITED, UNAVAILABLE };
const char        *outcome_code(enum outcome o);
const char        *outcome_detail(enum outcome o);
enum outcome_class outcome_class(enum outcome o);

enum reservation_state {
#define X(name, number, word) name = number,
#include "engine/reservation_states.def"
#undef X
	STATES
};
const char *reservation_state_name(enum reservation_state s);
enum movement_kind {
#define X(name, number, word) name = number,
#include "engine/movement_kinds.def"
#undef X
	KINDS
};
const char *movement_kind_name(enum movement_kind k);

/* One sku at one location, with a number of units. Of an operation: sorted by sku code and location code, equal ones
 * summed. */
struct line {
	const char            *sku_code, *location_code; /* in the op's own text */
	const struct sku      *sku;                      /* NULL: not known to the catalogue yet */
	const struct location *location;                 /* NULL likewise */
	int64_t                qty;                      /* asked for; of a movement signed; of a stocktake: counted */
	int64_t                expected;                 /* of a stocktake; -1: none was given */
	int64_t                granted;                  /* held, or moved (signed) */
	int64_t                available;                /* a refusal: what there was. of a stocktake: on_hand */
	int64_t                reserved;                 /* a refused stocktake: what was reserved */
	uint32_t               balance;                  /* the lane's: which balance of the batch */
	uint16_t               slot;                     /* of a stored line: the slot that holds or got the units */
	bool                   fault;                    /* this line is why the operation was refused */
};

/* A reservation as it stands in the database. One allocation. */
struct reservation {
	uint64_t reservation_id;
	int64_t  created_at, expires_at, confirmed_at, released_at, settled_at, due_at; /* ms, or TIME_NONE */
	int64_t  read_at;             /* the database's clock when the row was read */
	uint64_t task_id;             /* 0: none */
	uint32_t key_id;              /* whose key made it; 0: none */
	enum reservation_state state; /* as stored; a held one past expires_at reads EXPIRED by reservation_reads */
	unsigned               attempts;
	uint8_t                lines_hash[16];
	char                   order_id[ID_MAX + 1];
	char                  *last_error; /* NULL: none */
	size_t                 lines_count;
	struct line            lines[];
};
enum reservation_state reservation_reads(const struct reservation *r);

struct movement {
	uint64_t           movement_no;
	int64_t            created_at;
	enum movement_kind kind;
	uint8_t            lines_hash[16];
	char               movement_id[ID_MAX + 33];
	char              *reason, *reference; /* NULL: none */
	size_t             lines_count;
	struct line        lines[];
};

/* What a list is asked for, and how it goes on. A cursor is opaque text of a list's own making. */
struct page {
	enum reservation_state state; /* of a reservation list; 0: all */
	unsigned               limit;
	char cursor[256]; /* empty: from the beginning; at the end of the op: of the next page, empty if there is none
	                   */
};

enum op_kind {
	/* by a lane, many in one transaction */
	OP_RESERVE,
	OP_MOVE,
	OP_CONFIRM,
	OP_RELEASE,
	OP_EXTEND,
	OP_KICK,
	/* by the reader, on a connection of its own */
	OP_GET,
	OP_TOTALS,
	OP_LIST_SKUS,
	OP_LIST_MOVEMENTS,
	OP_LIST_RESERVATIONS,
	/* by the census, on another connection, one at a time: they walk an index. OP_TALLY: in op->run */
	OP_COUNTS,
	OP_TALLY,
	/* by the background reader, on a third; what the caller brings along in op->run */
	OP_RUN,
	OP_KINDS
};
/* How many reservations there are, and since when the oldest waits; counted at one moment. */
struct counts {
	int64_t by_state[STATES], claimed[STATES];
	int64_t ready[STATES];           /* of held and confirmed: due and not claimed */
	int64_t oldest_ready_ms[STATES]; /* how long the oldest of these has been due; 0 when there is none */
	int64_t tasks_open, oldest_lease_ms;
	int64_t counted_ms; /* clock_boot_ms */
};

#define LINE_UNITS_MAX INT64_C(1000000000) /* of one line of a request */

enum mode { ALL_OR_NOTHING, BEST_EFFORT };

struct engine;
struct loop;

struct op {
	unsigned     magic;
	enum op_kind kind;
	unsigned     past; /* catalogue_past when its lines found their numbers; 0: they have none */
	/* ---- what is asked, filled by the caller */
	char               id[ID_MAX + 1]; /* order_id or movement_id */
	uint8_t            lines_hash[16]; /* op_seal makes it */
	enum mode          mode;
	int64_t            ttl_s;
	bool               reacquire;
	uint32_t           key_id;     /* of a new reservation: whose key asks; 0: none */
	int64_t            held_units; /* likewise: so many count against the limit of that key; 0: it has none */
	bool               over_held;  /* likewise: that limit is reached, so only what is there already is answered */
	enum movement_kind movement_kind;
	const char        *reason, *reference; /* in the op's own text; NULL: none */
	struct page        page;
	/* ---- what came of it */
	enum outcome         outcome;
	bool                 reacquired;
	int64_t              created_at;   /* of a new reservation or movement, by the database's clock */
	struct reservation  *reservation;  /* as it is now; owned by the op */
	struct movement     *movement;     /* likewise */
	struct reservation **reservations; /* of a list, owned */
	struct movement    **movements;
	size_t               items;  /* how many of these */
	struct counts        counts; /* OP_COUNTS */
	struct total        *totals; /* of each line's sku, one after the other: owned. OP_LIST_SKUS makes the lines */
	size_t              *totals_of; /* how many belong to each line; 0 and no sku: unknown */
	/* ---- OP_RUN, OP_TALLY: called on the background reader's or the census' thread with its connection, again
	 * after DB_RETRY, DB_LOCKED, DB_AWAY and DB_UNKNOWN, so it must bear repeating. run_arg is the op's and freed
	 * with it by run_free. */
	enum db_result (*run)(struct db *db, struct catalogue *c, void *arg);
	void (*run_free)(void *arg);
	void *run_arg;
	/* ---- its way */
	struct loop *loop;
	void (*done)(void *arg, struct op *op);
	void       *arg;
	int64_t     arrived_ms; /* clock_ms */
	_Atomic int stage;      /* enum op_stage in lane.h */
	struct op  *next;       /* in whichever list it waits */
	bool        goes_on;    /* the one behind it was started along with it */
	/* ---- the lane's scratch */
	struct reservation *found; /* what the look-up of its id gave */
	struct movement    *found_movement;
	uint64_t            new_id;
	int64_t             busy_since_ms; /* when a row of it was first seen locked from outside; 0: never */
	int64_t             again_ms;      /* parked: when it is to be tried again */
	unsigned            tries;
	unsigned            shorts; /* how many of them because a slot had too little */
	uint64_t            id_hash;
	unsigned            looked_at; /* the moment of the batch when its id was looked up; 0: it was not */
	unsigned            looks;     /* at the balances of this batch, since it was first refused in it */
	bool                suspect;   /* its id may exist: look it up before anything is sent */
	bool                look_up;   /* now */
	bool                alone, writes, locked;
	bool                unsure;     /* a lock that none of the looks finds kept its batch waiting in vain */
	bool                apart;      /* it is the one that such a lock kept waiting: tried by itself */
	bool                over_limit; /* a total would pass 9e15, seen before new skus were made */
	/* ---- the starter's own */
	bool         ended;    /* it came back */
	enum outcome given_up; /* what was said of it when it did not come back in time */
	/* ---- */
	size_t      lines_count, lines_max;
	char       *text; /* where op_text puts the next bytes */
	size_t      text_left;
	struct line lines[];
};

/* One operation with room for `lines_max` lines and `text_size` bytes of text (codes, reasons). NULL: no memory. */
struct op *op_new(enum op_kind kind, size_t lines_max, size_t text_size) MUST_CHECK;
/* A NUL-terminated copy in the op's own text. */
const char *op_text(struct op *op, const char *bytes, size_t len);
/* Adds a line; location NULL is `main`. */
struct line *op_line(struct op *op, const char *sku, size_t sku_len, const char *location, size_t location_len,
                     int64_t qty);
/* Sorts the lines, sums equal ones, takes the fingerprint. Before engine_start of a reservation or movement. *twins
 * (may be NULL): how many lines named a sku and location that stood there before. false: no memory. */
bool op_seal(struct op *op, size_t *twins) MUST_CHECK;
void op_free(struct op *op); /* NULL is fine */

/* ---- a loop: a thread that starts operations and is told of their end. */
struct loop *loop_new(void);                /* a thread that has called it before may call it again for another loop */
int          loop_fd(const struct loop *l); /* readable when loop_run has something to do */
void         loop_run(struct loop *l);      /* calls `done` of everything that ended; on the loop's own thread */
void         loop_free(struct loop *l);     /* nothing may be under way */

/* ---- the engine */
struct engine_options {
	struct db_target target;
	unsigned         lanes; /* 1 to 64 */
	unsigned         slot;  /* the slot of the first lane */
};
struct engine    *engine_open(const struct engine_options *options);
void              engine_close(struct engine *e); /* everything started must have ended */
struct catalogue *engine_catalogue(struct engine *e);

/* Hands `op` over, to be begun at the next engine_wake or before. false: the queue is full, the op is still the
 * caller's. Any thread that has a loop. */
bool engine_start(struct engine *e, struct op *op, struct loop *loop, void (*done)(void *arg, struct op *op),
                  void *arg) MUST_CHECK;
/* The same for many at once, all or none, to one lane in their order. The ops are linked by `next`. */
bool engine_start_batch(struct engine *e, struct op *first, size_t count, struct loop *loop,
                        void (*done)(void *arg, struct op *op), void *arg) MUST_CHECK;
/* What was handed over is begun, as one batch where it can be: before a loop waits. Any thread. */
void engine_wake(struct engine *e);
/* For an op that takes too long: true when it had not begun and now never will (it comes back by `done` all the same,
 * with DATABASE_AWAY, nothing was done); false when it is in the database and nobody knows what comes of it. */
bool op_cancel(struct op *op);

/* Counts by walking the claim index once. On a connection of the caller's, which waits for it. */
bool engine_count(struct db *db, struct counts *out) MUST_CHECK;

bool engine_ready(struct engine *e); /* every lane and the reader have a connection */

/* ---- figures for /metrics and stats; each may be read at any moment by any thread */
struct engine_figures {
	_Atomic int64_t gathers, replays, unknown_outcomes;
	_Atomic int64_t batch_count, batch_requests, batch_us;
	_Atomic int64_t batch_requests_bucket[12]; /* up to 1, 2, 4 .. 2048 */
};
const struct engine_figures *engine_figures(struct engine *e);
unsigned                     engine_lanes(struct engine *e);
size_t                       engine_queue_depth(struct engine *e, unsigned lane);

#endif
