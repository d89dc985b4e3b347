/* lane.h - private to the engine: what a lane is made of, and the steps that stock.c and reservation.c do for it.
 *
 * Everything of a lane belongs to its thread, but for the queue, which has a lock of its own. */
#ifndef LANE_H
#define LANE_H

#include "engine/lane/decide.h"
#include "engine/past.h"
#include "engine/rows.h"

#include <pthread.h>

enum { OP_MAGIC = 0x4f703031 };
enum op_stage { STAGE_QUEUED, STAGE_TAKEN, STAGE_CANCELLED };

/* ---- limits */
enum {
	QUEUE_OPS = 4096, /* one more is refused: BUSY */
	WAKE_OPS = 128,   /* as many are not kept waiting for more */
	SHARE_MIN = 16,   /* of those under way, in a batch: fewer are not divided */
	WAIT_MS = 10000,  /* how long a request waits for a database that is away */
	SILENCE_S = 12,   /* a connection on which a request waited in vain is given up soon after it */
	COUNT_S = 30,     /* the background reader's and the census': a large claim or a count takes its time */
	LOCKED_MS = 4000, /* how long it waits for a row that somebody outside holds */
	TRIES_MAX = 30,   /* conflicts that an operation survives */
	HINTS = 1 << 16,
	RECENTS = 1 << 15,
	IDLE_MS = 500,   /* how often an idle thread looks whether its connection is well */
	PARKED_MS = 100, /* how often a parked operation is tried again; the first time sooner: */
	PARKED_MIN_MS = 10,
	APART_MS = 400,  /* .. of one that is tried by itself at most */
	SPREAD_MS = 13,  /* lanes do not look at the same time, or each would see the others' looks */
	STUCK_MS = 500,  /* nobody of ours keeps a row as long */
	WARY_MS = 30000, /* after the last row that was stuck .. */
	SLOW_MS = 2000,  /* .. and after a round that only took as long */
	LOCK_WAIT_S = 2, /* for a lock, as db.c has it .. */
	WARY_WAIT_S = 1, /* .. and while lanes are wary */
	STUCK = 1 << 12,
	SWEPT = 1 << 12,
	DOUBT_ROUNDS = 8,
	HUNG_MS = 4000, /* the database does not answer: not ready */
	BALANCES_MAX = BATCH_LINES + 3000,
	MAP = 1 << 14,
	IDS = 1 << 12,
};
/* Additions that bring a total above this go alone, where the limit is exact. Below, lanes may add at the same moment:
 * a batch adds at most 5,000 lines of 1e9 units, which 200 lanes do not bring past 9e15. */
#define LIMIT_NEAR INT64_C(8000000000000000)

/* A bounded queue of operations. push and wake: any thread. Whoever waits to take is woken when the pusher has no more
 * for now, or has pushed a good batch: a batch of what came first alone costs as much as one of all. */
struct queue {
	pthread_mutex_t lock;
	pthread_cond_t  filled;
	struct op      *ring[QUEUE_OPS];
	size_t          head, count;
	size_t          held; /* taken, but parked: they count as if they were still here */
	bool            closed;
	_Atomic bool    news; /* pushed since the last wake */
};
void queue_init(struct queue *q);
void queue_fini(struct queue *q);
bool queue_push(struct queue *q, struct op *first, size_t count) MUST_CHECK;
void queue_wake(struct queue *q);
/* Moves up to `max` operations to `out`. With none there waits up to wait_ms, for ever if negative. */
size_t queue_take(struct queue *q, struct op **out, size_t max, int wait_ms);
/* So many of those that were taken are parked: as many fewer are let in. */
void   queue_hold(struct queue *q, size_t held);
void   queue_close(struct queue *q);
bool   queue_closed(struct queue *q);
size_t queue_depth(struct queue *q); /* those that are held, too */

/* What a lane remembers of a balance from its last batch. Direct-mapped: one that is pushed out is read again. */
struct hint {
	uint32_t sku_id, location_id;
	int64_t  own, total;
	uint32_t slots;
	bool     own_row, known;
};

/* When a sku was looked at for expired holds. Direct-mapped: one that is pushed out is looked at anew. */
struct swept {
	uint32_t sku_id;
	int64_t  at_ms;      /* clock_ms when the last look began */
	int64_t  to_ms;      /* holds that were due by then (the database's clock) are given back; 0: not known */
	int64_t  clock;      /* the database's clock minus clock_ms at that time */
	int64_t  started_at; /* of the lane's row, as it read then */
	bool     follow;     /* it took several batches: one that follows at once goes on from to_ms */
};

/* A look for expired holds that is under way: through all of them in the order of the claim index, so many in each
 * batch, whoever asks. */
struct walk {
	struct values skus;        /* that are looked for; empty: none is under way */
	struct swept  look;        /* what will be known of them; it ends at look.to_ms */
	int64_t       from_ms, id; /* the next hold is behind this due_at and reservation_id */
	bool          left;        /* a hold stays: somebody else has it locked, or it cannot be given back */
	int64_t       told_ms;     /* clock_ms when the log last named one of the latter; 0: never */
};

/* A slot that was found locked, and a mark of what stood in it. Direct-mapped: one that is pushed out counts as new. */
struct stuck {
	uint32_t sku_id, location_id;
	uint32_t slot, mark;
	int64_t  seen_ms; /* clock_ms; 0: free place */
};

struct lane {
	struct engine    *engine;
	struct catalogue *catalogue;
	pthread_t         thread;
	struct queue      queue;
	unsigned          slot;
	struct db        *db;
	int64_t           lane_id, epoch, batch_no; /* 0: there is no row yet */
	int64_t           mark, committed_no;       /* of its row, by chance; the batch_no that it is known to have */
	unsigned          past;                     /* catalogue_past of what it remembers */
	struct ids        id_maker;
	_Atomic bool      connected;        /* for others to read */
	_Atomic int64_t   working_since_ms; /* likewise; 0: it waits for work */
	unsigned          failures;         /* in a row, of the database */
	struct batch      batch;
	struct op        *ops[BATCH_OPS];          /* batch.ops */
	uint32_t          map[MAP];                /* balance index + 1 by hash of sku and location */
	uint16_t          ids[IDS];                /* index in ops + 1 by hash of the id */
	struct op        *pending, **pending_last; /* taken, and to be taken again */
	size_t            pending_count;
	struct op        *answered, **answered_last; /* their loops are told together, before the lane waits */
	struct op        *parked;                    /* waiting for a row that somebody outside holds */
	int64_t           parked_ms;                 /* when the first of them is to be tried again */
	size_t            held;                      /* were parked and are not answered yet, wherever they are */
	size_t            last;                      /* how many the last batch has answered */
	size_t            limit;                     /* of the next batch; halved while conflicts go on */
	size_t            look_ups;                  /* ids looked up at once; halved where they have many lines */
	bool              careful;                   /* the last round failed */
	bool              hasty;                     /* this round waits for no lock */
	int               wait_s;                    /* how long the connection does */
	struct stuck      stuck[STUCK];
	uint64_t          recents[RECENTS]; /* hashes of ids written lately: likely replays */
	struct hint       hints[HINTS];
	struct swept      swept[SWEPT];
	struct walk       walk;
	struct txn        txn;
	struct txn_fence  fence; /* of its transactions */
	struct values     rows;  /* of a statement: scratch */
};

/* The engine's own view of itself; engine.c. */
struct engine {
	struct engine_options options;
	struct catalogue     *catalogue;
	struct lane         **lanes;
	struct reader        *reader;     /* lists and totals */
	struct reader        *background; /* what jobs have it run */
	struct reader        *census;     /* counts, one at a time */
	struct engine_figures figures;
	struct past           past;             /* which database it is */
	_Atomic int64_t       wary_until_ms;    /* clock_ms; when lanes stop to look for locked rows; 0: never begun */
	_Atomic int64_t       glimpse_until_ms; /* likewise of ids that somebody outside has written */
	_Atomic int64_t       clock_offset_ms;  /* the database's clock minus clock_ms, for new ids alone */
};

/* ---- op.c */
void loop_give(struct op *op);        /* the op has its outcome; its loop is told, and owns it from here on */
void loop_give_all(struct op *first); /* a list of them, by `next` */

/* ---- lane.c */
struct lane *lane_open(struct engine *e, unsigned slot);
void         lane_close(struct lane *l); /* waits for the thread; the queue must be empty */
bool         lane_connected(struct lane *l);

/* ---- fence.c */
/* A statement by itself, outside of a transaction. */
enum db_result lane_ask(struct lane *l, enum statement name, const struct fill *fill,
                        void (*each)(void *arg, const struct db_row *row), void *arg) MUST_CHECK;
/* Connects and fences what an earlier connection may still do. */
bool lane_connect(struct lane *l) MUST_CHECK;
void lane_forget(struct lane *l); /* what it remembers, which is of one past and one connection */
void lane_leave(struct lane *l);  /* takes the lane's row away: it ends in order */
/* Ordered by time. After a clock was set back it may be one of before: a duplicate key, and a new id. */
uint64_t lane_new_id(struct lane *l);
/* Begins and ends l->txn behind the lane's fence; its steps are txn_run and so on. A lane that has just failed looks at
 * its row before it sends a step that would wait like it. */
void lane_begin(struct lane *l, enum txn_isolation isolation);
/* Whatever happens to the connection. As txn_commit; done at *now by the database's clock. */
enum db_result lane_commit(struct lane *l, enum txn_verdict *verdict, int64_t *now) MUST_CHECK;

/* ---- batch.c */
void batch_trim(struct lane *l);     /* puts back what does not fit after the look-up */
bool batch_take(struct lane *l);     /* waits a while, fills l->batch; false: the lane is closed and nothing is left */
void batch_put_back(struct lane *l); /* nothing was done for them: they are first in the next batch */
void batch_cut(struct lane *l, size_t count); /* the same for those behind the first `count` */
/* The same for those of which `waits` is true, and what stands behind them in their call. */
void batch_postpone(struct lane *l, bool (*waits)(const struct op *op, const struct batch *b));
void batch_park(struct lane *l, struct op *op); /* for a while, or it is told BUSY */
void batch_keep(struct lane *l, size_t count);  /* the first so many of the batch, after others were taken out */
void lane_answer(struct lane *l, struct op *op, enum outcome outcome); /* the lane is done with the op */
/* What is answered goes to its loops: before the lane waits for the database or the queue, and no sooner when there is
 * more to do, so that the database has the next batch before loops and clients want the cores. */
void lane_tell(struct lane *l);
/* The operation of the batch that has this id, or NULL. */
struct op *batch_find(struct lane *l, bool movement, const char *id);
uint64_t   op_id_hash(bool movement, const char *id); /* op.c; never 0 */

/* ---- blocked.c */
bool lane_is_wary(const struct lane *l);          /* has a row been met lately that somebody outside has locked? */
void lane_beware(struct lane *l, int64_t for_ms); /* one has been met: all lanes are wary for a while */
/* After decide(): parks the operations whose rows somebody outside has locked and decides anew on the others. */
enum db_result lane_look_out(struct lane *l) MUST_CHECK;
void           lane_set_aside(struct lane *l); /* a lock was not given in time */
void           lane_hurry(struct lane *l);     /* at the beginning of a round: how long it waits for locks */
/* A round in a hurry waits for no lock, but where SKIP LOCKED is asked: MariaDB 10.11 answers that with error 1180
 * where autocommit and innodb_lock_wait_timeout are 0 and a row is locked. */
void lane_rush(struct lane *l, bool rushes);

/* ---- lane.c */
void batch_retry(struct lane *l); /* put back, in smaller batches as it goes on */

/* ---- balance.c: the batch's balances. What returns a db_result runs on the lane's connection. */
enum db_result balances_resolve(struct lane *l) MUST_CHECK; /* codes that the catalogue lacks: read */
enum db_result balances_make_codes(struct lane *l)
	MUST_CHECK;                                  /* new skus and locations of movements: made, committed */
bool            op_makes_codes(const struct op *op); /* will it need that, unless it is a replay? */
void            balances_find(struct lane *l);       /* the batch's balances, with what the hints know */
struct balance *balance_find(struct lane *l, uint32_t sku_id, uint32_t location_id); /* NULL: not in the batch */
void            balances_meet(struct lane *l); /* adds what found reservations need, after another look-up */
enum which { WANTED, DOUBTED };                /* wanted and not known; in doubt */
size_t op_found_lines(const struct op *op);    /* how many lines of the reservation it found it needs balances for */
enum db_result balances_load(struct lane *l, enum which which) MUST_CHECK; /* reads balances */
void           balances_learn(struct lane *l);  /* the batch is committed: the hints follow */
void           balances_forget(struct lane *l); /* a guard missed: the hints of the batch are void */

/* ---- stock.c: what a batch does to slots. */
/* Fills own slots that have too little: in a transaction of its own, or (commits false) only makes the rows ready for
 * the gather that stock_write puts before the deduction. */
enum db_result stock_gather(struct lane *l, bool commits) MUST_CHECK;
void           stock_write(struct lane *l, bool gather);
/* A row of stock_add, stock_give_back, stock_settle, stock_take_slots, slot_make. */
void stock_row(struct values *rows, uint32_t sku_id, uint32_t location_id, unsigned slot, int64_t available,
               int64_t reserved);

/* ---- movement.c */
enum db_result movement_look_up(struct lane *l) MUST_CHECK;
void           movement_insert(struct lane *l); /* writes the new movements and their lines */
/* One under locks on every slot of its skus: decided there, and written as lane_commit does. */
enum db_result movement_alone(struct lane *l, struct op *op, enum txn_verdict *verdict, int64_t *now) MUST_CHECK;
void           movement_answer(struct op *op, int64_t now); /* op->movement as it is after the commit at `now` */
void           movement_free(struct movement *m);
/* Reads rows of movement_find or movement_list into a growing list, as reservation_read does (rows.h). */
struct movement_reader {
	struct catalogue *catalogue;
	struct movement **list;
	size_t            count, max;
	size_t            lines_max;
};
void movement_read(void *arg, const struct db_row *row);
void movements_join(struct movement_reader *in); /* the newest first */

/* ---- reservation.c */
enum db_result reservation_look_up(struct lane *l) MUST_CHECK;
void           reservation_change(struct lane *l); /* writes the changes of state */
void           reservation_insert(struct lane *l); /* writes the new reservations and their lines */
/* Gives back expired holds on skus that fell short; balances are `swept` when that is done. Where there are very many
 * it goes on with the next batch (l->walk): a batch passes SWEEP_WALK of them at most. */
enum db_result reservation_sweep(struct lane *l) MUST_CHECK;
void           sweep_forget(struct lane *l);                   /* what was looked at: it may be another database */
void           reservation_answer(struct op *op, int64_t now); /* op->reservation as it is after the commit at `now` */
/* The columns sku_id, code, location_id, code, slot, qty from `first` on. */
void line_read(struct catalogue *c, struct line *line, const struct db_row *row, unsigned first);
void lines_sort(struct line *lines, size_t count); /* op.c */

/* ---- key.c */
void key_hold_insert(struct lane *l); /* writes the holds of keys with a limit */

/* ---- reader.c: a thread for what is no batch. */
struct reader *reader_open(struct engine *e, unsigned silence_s);
void           reader_close(struct reader *d);
bool           reader_connected(struct reader *d);
struct queue  *reader_queue(struct reader *d);

#endif
