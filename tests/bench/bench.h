/* bench.h - the parts of the benchmark and what they hand to each other. README.md says what is measured.
 *
 *   bench.c     options, the table of contenders, the turns        stage.c    the private database and the service
 *   classic.c   the contender in plain SQL                         load.c     the HTTP loader
 *   holdfast.c  Holdfast over HTTP: plans for the loader           memory.c   resident memory of the service
 *   answer.c    reads JSON answers                                 report.c   the tables and the CSV files
 *
 * A new contender is a row in bench.c with a function that runs one round; a new load on Holdfast is a load_plan. */
#ifndef BENCH_H
#define BENCH_H

#include <sys/types.h>

#include "engine/db.h"

enum { TURNS_MAX = 50, SECONDS_MAX = 60, QTY_KINDS = 3, ORDER_LEN = 18 };

/* Latencies of one contender, all kept: a few bytes each, and the percentiles are exact. */
struct samples {
	uint32_t *us;
	size_t    count;
	size_t    cap;
};

/* What one round of one contender gave. Filled by its run function. */
struct round {
	double         seconds;     /* the timed window */
	int64_t        timed;       /* orders answered inside the window: what the rate is made of */
	int64_t        orders;      /* orders acknowledged, those that came in after the window too */
	int64_t        units;       /* units of these orders: must equal what the stock lost */
	int64_t        wrong;       /* answers that were not what they must be, and stock that does not add up */
	struct samples samples;     /* microseconds from the first call of an order to its last answer */
};

/* Everything that a run of the benchmark knows. One thread unless said. */
struct bench {
	int              seconds;           /* of a round */
	int              turns;
	int              lanes;             /* 0: as the service decides */
	int64_t          reservations;      /* of the memory section; 0: none */
	int64_t          skus;              /* of the memory section; 0: none */
	const char      *only;              /* contenders whose name holds this text; NULL: all */
	const char      *program;           /* the service */
	int64_t          deadline_us;       /* nothing new begins later (clock_us) */
	struct db_target database;          /* the private MariaDB */
	pid_t            server;            /* its process */
	pid_t            service;           /* 0: not running */
	unsigned         port;              /* of the service */
	uint64_t         order_next;        /* number of the next order; no number is used twice */
};

struct load_plan;

/* One row of the table. `taken` is asked before and after each round: the difference must be the round's units. */
struct contender {
	const char             *name;
	int                     connections;
	bool                    service;    /* meets Holdfast: the service is started for it */
	const struct load_plan *plan;       /* what the loader sends; NULL where there is no HTTP */
	bool (*open)(struct bench *b, const struct contender *c);                   /* once; NULL: nothing to do */
	void (*run)(struct bench *b, const struct contender *c, struct round *out);
	bool (*taken)(struct bench *b, const struct contender *c, int64_t *units);  /* false: not known, or it is off */
};

/* A contender's place in the table: the sum of its rounds. */
struct standing {
	const struct contender *contender;
	int                     rounds;
	double                  rate[TURNS_MAX];
	struct samples          samples;
	int64_t                 orders;
	int64_t                 wrong;
	double                  cpu_service, cpu_database, cpu_load;    /* seconds */
	double                  cpu_all, seconds;       /* of the whole machine; and how long the rounds took */
};

/* What the memory section found; kB as in /proc/PID/status. */
struct memory {
	int64_t skus, sku_rss_before, sku_rss_after;
	int64_t reservations, rss_before, hwm_before, rss_after, hwm_after;
	double  seconds;                    /* that making the reservations took */
};

/* ---- bench.c. order_write adds ORDER_LEN bytes: ids spread like random ones, as real order ids do. */
void order_write(struct text *to, uint64_t number);
int64_t order_qty(uint64_t number);                            /* 1 to QTY_KINDS */
uint64_t number_spread(uint64_t number);                       /* a bijection that looks random */
void samples_add(struct samples *s, int64_t us);               /* not two threads at once */
void samples_join(struct samples *to, const struct samples *from);
double samples_ms(struct samples *s, double share);            /* share 0.5 is the median; sorts */
/* A wrong answer or a broken promise: told on stderr, after a few of them only noted. Once called, the exit status
 * is 1. Any thread. */
void bench_wrong(const char *format, ...) PRINTF(1, 2);
void bench_hush(void);                                         /* what fails from now on is our own doing */

/* ---- stage.c */
bool stage_open(struct bench *b) MUST_CHECK;                   /* the private database; the way out by signals */
void stage_check(void);                                        /* does not return once the end has begun */
void stage_close(void);                                        /* ends what was started, removes the database */
bool service_start(struct bench *b) MUST_CHECK;
void service_stop(struct bench *b);                            /* that it drains and exits with 0 is checked */
bool database_run(struct bench *b, const char *sql) MUST_CHECK;
double process_cpu(pid_t pid);                                 /* user and system seconds; 0 for no process */
double machine_cpu(void);                                      /* of everybody, since it was started */
int64_t process_kb(pid_t pid, const char *field);              /* VmRSS, VmHWM */

/* ---- contenders */
bool classic_open(struct bench *b, const struct contender *c);
void classic_run(struct bench *b, const struct contender *c, struct round *out);
bool classic_taken(struct bench *b, const struct contender *c, int64_t *units);
extern const struct load_plan plan_reserve, plan_pair;
bool holdfast_open(struct bench *b, const struct contender *c);
void holdfast_run(struct bench *b, const struct contender *c, struct round *out);
bool holdfast_taken(struct bench *b, const struct contender *c, int64_t *units);

bool sku_receive(struct bench *b, const char *movement_id, const char *sku, int64_t qty);

/* ---- memory.c, report.c */
void memory_run(struct bench *b, struct memory *out);
void report_rounds(struct bench *b, struct standing *standings, size_t count, const struct memory *memory);

#endif
