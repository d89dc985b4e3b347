/* bench.h - the parts of the benchmark and what they hand to each other. README.md says what is measured.
 *
 *   bench.c   the table of contenders, options        stage.c     the private database and the programs on it
 *   turns.c   the order of runs, and their cost       process.c   children and what /proc says of them
 *   report.c  the tables and the CSV files            orders.c    ids and sizes of orders, latencies
 *   goals.c   figures that are asked for              plot.c      the table as a drawing
 *
 *   sql.c        threads straight to the database     load.c      the HTTP loader, answer.c reads JSON for it
 *   sql_ways.c   how teams deduct stock in SQL        ledger.c    skus that are sold, and what must be left of them
 *   redis.c      the same in Lua                      sales.c     orders of a shop, read or made up
 *   constant.c   evhttp, which does nothing           holdfast.c  loads on Holdfast: plans for the loader
 *   memory.c     resident memory of the service       jobs.c      settle and expire a backlog
 *   readers.c    readers of the feed that wait                    events.c    one that reads, and webhooks
 *
 *   scale.c      make scale: lanes, skus, and a long past             place.c     databases made in bulk for it
 *   pairs.c      what an order costs, old and new program in turns    meter.c     reads it, preload/trips.c counts
 *   at.c         one round on services that others have started
 *
 * A contender is a row in bench.c; a kind of contender is a struct way; a load on Holdfast is a struct http_load. */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>
#include <sys/types.h>

#include "engine/db/db.h"

enum { TURNS_MAX = 50, SECONDS_MAX = 60, QTY_KINDS = 3, ORDER_LEN = 18, HOT_QTY = 1000000000 };
enum { PAIRS = 9 };       /* of neighbouring rounds */
enum { READERS = 10000 }; /* of the feed, that wait */
enum { PACED = 64 };      /* connections of the rows at half speed */
enum { LEAVE_S = 30 };    /* of the time for the run, to end it */

/* Latencies of one contender, all kept: a few bytes each, and the percentiles are exact. */
struct samples {
	uint32_t *us;
	size_t    count;
	size_t    cap;
};

/* The result of one round of one contender. Its run function fills it. */
struct round {
	double         seconds; /* the timed window */
	int64_t        timed;   /* orders answered inside the window: what the rate is made of */
	int64_t        orders;  /* orders acknowledged, those that came in after the window too */
	int64_t        units;   /* units of these orders: must equal what the stock lost */
	int64_t        wrong;   /* answers that were not what they must be, and stock that does not add up */
	double         cpu;     /* seconds of programs that began and ended within the round */
	double         beside;  /* orders a second of what ran beside it; 0: nothing did */
	struct samples samples; /* microseconds from the first call of an order to its last answer */
};

/* A program that we started. process.c's; lives as long as the benchmark. */
struct child {
	pid_t  pid;       /* 0: does not run */
	double cpu_ended; /* seconds, known when it has ended */
};

/* Everything that a run of the benchmark knows. One thread unless said. */
struct bench {
	/* options */
	int         seconds; /* of a round */
	int         turns;
	int         minutes;      /* for all of it; 0 until the options are read */
	bool        scale;        /* make scale instead of make bench */
	int         lanes;        /* 0: as the service decides */
	int64_t     buyers;       /* of the sell-out; a tenth of them can get a unit */
	int64_t     jobs;         /* orders that wait to be settled; 0: no jobs section */
	int64_t     reservations; /* of the memory section, 0: none; of scale: those that came before */
	int64_t     skus;         /* of the memory section, 0: none; of scale: of the larger stock */
	const char *orders;       /* a file of sales to be replayed; NULL: they are made up */
	const char *only;         /* contenders whose name holds this text, or "readers"; NULL: all */
	char        program[512]; /* holdfast */
	const char *against;      /* the old program that it is compared with, and nothing else is done; NULL: no */
	int         pairs;        /* rounds of either program; 0: as pairs.c decides */

	/* where things stand */
	int              turn;       /* from 1: each has a database of its own */
	uint64_t         order_next; /* number of the next order; no number is used twice */
	double           top_rate;   /* of single reservations in this run so far, orders a second .. */
	double           own_rate;   /* .. and over PACED connections alone */
	int64_t          begun_us;
	bool             broken;   /* the database or the service does not start: nothing goes on */
	struct db_target database; /* the private MariaDB */
	pid_t            server;   /* its process */
	const char      *data;     /* folder of a MariaDB that is the program's own; NULL: the one for all */
	const char      *trips;    /* file where the program's round trips are counted; NULL: they are not */
	struct child     service, second, redis, constant, worker, receiver;
	/* on 127.0.0.1; 0: does not run */
	unsigned port, second_port, third_port, redis_port, constant_port, receiver_port;
};

struct contender;

/* A kind of contender. What may be NULL is not needed by every kind. */
struct way {
	bool (*open)(struct bench *b, const struct contender *c);  /* once a turn; false: it cannot take part */
	bool (*ready)(struct bench *b, const struct contender *c); /* before each round; not timed */
	void (*run)(struct bench *b, const struct contender *c, struct round *out);
	/* Units gone, before and after each round: the difference must be the round's units. False: it is off. NULL:
	 * the round has checked it. */
	bool (*taken)(struct bench *b, const struct contender *c, int64_t *units);
	size_t child;   /* offset in struct bench of the program with the CPU time of the service; 0: none */
	bool   audited; /* `holdfast audit` after each round */
};

/* One row of the table. */
struct contender {
	const char       *name;
	int               connections;
	const struct way *way;
	const void       *what; /* the way's own: which statement, which load */
};

/* A contender's place in the table: the sum of its rounds. */
struct standing {
	const struct contender *contender;
	bool                    absent; /* cannot take part */
	int                     rounds;
	double                  rate[TURNS_MAX];     /* of each turn */
	double                  median, least, most; /* of them; report_section */
	struct samples          samples;
	double                  p50_ms, p99_ms; /* report_section */
	int64_t                 orders;
	int64_t                 wrong;
	double                  cpu_service, cpu_database, cpu_load; /* seconds */
	double                  cpu_all, seconds; /* of the whole machine; and how long the rounds took */
	double                  beside;           /* the last round's */
};

/* Rows that take turns. */
struct section {
	const char             *title, *file; /* of the table, and of its CSV */
	const struct contender *contenders;
	struct standing        *standings;
	size_t                  count;
	int                     turns;
	double                  share; /* of the time for the run, that has passed when this section must be over */
	enum turns_of {
		TURNS_FRESH,   /* each turn has an empty database */
		TURNS_PAIRED,  /* too; each two rows are compared, and change places from turn to turn */
		TURNS_LASTING, /* databases outlive the turns; their maker has them audited */
	} kind;
};

/* The result of the memory section; kB as in /proc/PID/status. */
struct memory {
	int64_t skus, sku_rss_before, sku_rss_after;
	int64_t reservations, rss_before, hwm_before, rss_after, hwm_after;
	double  seconds; /* time that making the reservations took */
	/* readers that wait for an event and have it in the end, and the time until the last of them has it */
	int64_t waiting, waiting_rss_before, waiting_rss, waiting_rss_after;
	double  waiting_told_s;
};

/* ---- orders.c. order_write adds ORDER_LEN bytes: ids spread like random ones, as real order ids do. */
void     order_write(struct text *to, uint64_t number);
int64_t  order_qty(uint64_t number);                 /* 1 to QTY_KINDS */
uint64_t number_spread(uint64_t number);             /* a bijection that looks random */
void     samples_add(struct samples *s, int64_t us); /* not two threads at once */
void     samples_join(struct samples *to, const struct samples *from);
double   samples_ms(struct samples *s, double share); /* share 0.5 is the median; sorts */
double   median_of(double *values, int count);        /* sorts */
/* A wrong answer or a broken promise: told on stderr, after a few of them only noted. Once called, the exit status
 * is 1. Any thread. */
void bench_wrong(const char *format, ...) PRINTF(1, 2);
bool bench_was_wrong(void);
void bench_hush(void); /* from now on we cause all failures */

/* ---- turns.c */
void    section_run(struct bench *b, struct section *s);
int64_t bench_until_us(const struct bench *b, double share); /* the end of a share of the run's time */

/* ---- process.c. A child ends with us, and is ended before us. */
bool    child_start(struct child *c, char *const *argv) MUST_CHECK; /* its output goes to LOG */
bool    child_ended(struct child *c, int *status);                  /* true, too, if it does not run */
bool    child_wait(struct child *c, double seconds, int *status) MUST_CHECK;
bool    child_stop(struct child *c, double seconds) MUST_CHECK; /* SIGTERM, then SIGKILL; it ended with 0 */
void    children_end(bool for_good);                            /* kills; for good: none is started any more */
void    children_kill(void);                                    /* the same from a signal handler */
double  process_cpu(pid_t pid);                                 /* user and system seconds; 0: no process */
double  machine_cpu(void);                                      /* of all processes, since it was started */
int64_t process_kb(pid_t pid, const char *field);               /* VmRSS, VmHWM */
#define FOLDER "build/bench"
#define LOG    FOLDER "/service.log"

/* ---- stage.c */
bool stage_open(struct bench *b) MUST_CHECK;  /* the private database for all; the way out by signals */
bool stage_own(struct bench *b) MUST_CHECK;   /* the service with a database of its own, in b->data */
void folder_remove(const char *path);         /* with all that is in it */
bool stage_fresh(struct bench *b) MUST_CHECK; /* no program runs, and the database is empty */
void stage_check(void);                       /* does not return once the end has begun */
void stage_close(struct bench *b);            /* ends what was started, removes the database */
bool database_migrate(struct bench *b) MUST_CHECK;
bool service_start(struct bench *b) MUST_CHECK;  /* with b->lanes; migrates first */
bool service_second(struct bench *b) MUST_CHECK; /* another one on the same database, with the slots after these */
void service_stop(struct bench *b);              /* both; that they drain and exit with 0 is checked */
/* Runs `holdfast WORDS.. --db ..` to its end, for `seconds` at most, then asks it to end. The words end with NULL. */
bool command_run(struct bench *b, char *const *words, double seconds, double *cpu) MUST_CHECK;
bool command_start(struct bench *b, char *const *words) MUST_CHECK; /* as b->worker */
bool service_audit(struct bench *b);                                /* false, and said, unless every invariant holds */
bool database_run(struct bench *b, const char *sql) MUST_CHECK;
bool database_ints(struct bench *b, const char *sql, int64_t *to, unsigned count) MUST_CHECK; /* one row's columns */
unsigned program_port(struct child *c, long from); /* as it says in LOG, after `from`; 0: it does not listen */
long     log_size(void);

/* ---- contenders */
extern const struct way way_sql, way_redis, way_constant, way_http;
extern const struct way way_settle_beside, way_settle_plain, way_settle, way_settle_asked, way_expire, way_arrive;
extern const struct way way_feed, way_read_beside, way_deliver;
struct delivery;
extern const struct delivery deliver_one, deliver_parallel, deliver_many, deliver_beside;
struct sql_way;
extern const struct sql_way sql_classic, sql_orm, sql_guarded, sql_woo, sql_single, sql_settle;
struct load_plan;
extern const struct load_plan constant_orders, constant_readings;
struct http_load;
extern const struct http_load load_reserve, load_confirmed, load_pair, load_pairs, load_basket, load_three,
	load_sellout, load_mix, load_read, load_batch, load_paced, load_paced_own, load_sales, load_any, load_ready,
	load_waiting, load_settle, load_task, load_customers, load_customer, load_places, load_no_line, load_line;
/* Buyers for b->seconds, or until they have placed so many orders. */
void sql_round(struct bench *b, const char *database, const struct sql_way *way, int connections, int64_t orders,
               struct round *out);
int  constant_main(void); /* the program itself */
int  receiver_main(void); /* another one */
/* `work KIND` with 4 workers until nothing is ready; `state` is what the orders then are in. */
void    work_run(struct bench *b, char *kind, int state, struct round *out);
void    work_all(struct bench *b, char *kind, struct round *out); /* the same, not counted */
int64_t state_count(struct bench *b, int state);                  /* reservations; 0, and said: not known */

/* ---- at.c. A round on services that another program has started; returns the exit status. */
int at_main(int argc, char **argv);

/* ---- scale.c */
void scale_run(struct bench *b);

/* ---- pairs.c */
void pairs_run(struct bench *b);

/* ---- pages.c. Between the two calls pages of the console are open; a wrong answer is told. */
void pages_open(const struct bench *b);
void pages_close(void);

/* ---- memory.c, readers.c, report.c, goals.c, plot.c */
void  memory_run(struct bench *b, struct memory *out);
void  readers_run(struct bench *b, struct memory *out);
void  report_section(const struct bench *b, struct section *s, const struct section *all);
void  report_memory(const struct memory *memory);
FILE *csv_open(const char *path); /* NULL, and said: it cannot be written */
void  csv_close(FILE *csv);       /* NULL is fine */
/* The row of that name; connections 0: the fastest of them. NULL: it was not measured. */
const struct standing *standing_find(const struct section *sections, size_t count, const char *name, int connections);
void                   goals_report(const struct section *sections, size_t count, const struct memory *memory);
void                   plot_write(const struct section *s, const char *path);

#endif
