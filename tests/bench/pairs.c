/* pairs.c - what an order costs, an old program and a new one in turns; without an old one, what it costs that events
 * are written, or that pages of the console are open: the same program twice, first without them. Rates on a shared
 * machine waver by more than a change is worth; what the work of an order takes wavers less, and least from one round
 * to its neighbour: each pair of rounds gives a ratio, and the median of these is the figure.
 *
 * Each program has a MariaDB of its own, as it starts it, with the schema that it makes. A row begins with two empty
 * databases and ends with `holdfast audit` of both. While one works, the other has nothing to do. The old program's
 * first round, which only warms it up, takes as long as asked for; all others of the row are as many orders, the same
 * ones for both: what an order costs depends on how many rows there are, by the pages that are just being split. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "holdfast.h"
#include "meter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORK_CSV FOLDER "/work.csv"

enum { OLD, NEW, SIDES, SETTLED_PER_S = 20000, READY_CONNECTIONS = 256, PAST_CONNECTIONS = 8 };
/* Beside what meter.h counts, in us: the median of a round; the time of a round for each of its orders. */
enum { LATENCY = COSTS, WALL, FIGURES };

/* ---- what is told, and with an older program asked for: new / old, at most; 0: it is only told */
static const struct column {
	const char *name;
	double      most;
} columns[FIGURES] = {
	[COST_CPU] = {"CPU us", 1.05},
	[COST_SERVICE] = {"  service", 0},
	[COST_DATABASE] = {"  database", 0},
	[COST_REDO] = {"redo bytes", 1.08},
	[COST_HANDLERS] = {"handler calls", 1.01},
	[COST_TRIPS] = {"round trips", 1.01},
	[LATENCY] = {"median us", 0},
	[WALL] = {"wall us", 0},
};

/* ---- the rows */

struct row {
	const char             *name;
	int                     connections;
	const struct http_load *load;  /* the calls to the service */
	int64_t                 per_s; /* orders of a round, for each second that it is to take; 0: found out */
	/* Before the round, not measured; NULL: there is nothing to do. */
	bool (*prepare)(struct bench *b, const struct row *r, int64_t orders);
	/* One round of so many orders; of b->seconds: INT64_MAX. CPU time of what ended in it goes to out->cpu. */
	void (*run)(struct bench *b, const struct row *r, int64_t orders, struct round *out);
	/* Nothing is left over; after the round, not measured. NULL: nothing can be. */
	bool (*done)(struct bench *b);
	/* Of events against none; with `alone` the row is no other one's. */
	double events[FIGURES];
	bool   alone;
	bool   pages; /* of open pages against none, behind b->reservations orders; only where it is named */
};

static void asked_run(struct bench *b, const struct row *r, int64_t orders, struct round *out)
{
	visit_run(b, r->load, r->connections, orders, out);
}

/* Orders that wait to be settled. Made by the service, because a schema of another time is not to be written to. */
static bool ready_make(struct bench *b, const struct row *r, int64_t orders)
{
	struct round made;

	visit_run(b, r->load, READY_CONNECTIONS, orders, &made);
	free(made.samples.us);
	return made.wrong == 0 && made.orders == orders;
}

/* Beside the new side two pages are open. */
static bool has_pages(const struct bench *b);

static void paged_run(struct bench *b, const struct row *r, int64_t orders, struct round *out)
{
	bool beside = has_pages(b);

	if (beside)
		pages_open(b);
	asked_run(b, r, orders, out);
	if (beside)
		pages_close();
}

static void settled_run(struct bench *b, const struct row *r, int64_t orders, struct round *out)
{
	(void)r;
	work_all(b, "settle", out);
	out->orders = orders;
}

static bool settled_all(struct bench *b)
{
	return state_count(b, 2) == 0;
}

#define EVENTS_MOST                                     \
	{                                               \
		[COST_CPU] = 1.08, [COST_TRIPS] = 1.005 \
	} /* trips: 1.00, as it is printed */
#define PAGES_MOST                                   \
	{                                            \
		[COST_CPU] = 1.04, [WALL] = 1 / 0.95 \
	}
/* The rows that matter most come first: the last ones are left out where no time is left. */
static const struct row rows[] = {
	{"single calls", 64, &load_reserve, 0, NULL, asked_run, NULL, {0}, false, false},
	{"single calls", 256, &load_reserve, 0, NULL, asked_run, NULL, EVENTS_MOST, false, false},
	{"batch calls of 1 line", 8, &load_batch, 0, NULL, asked_run, NULL, EVENTS_MOST, false, false},
	{"batch calls of 3 lines", 8, &load_three, 0, NULL, asked_run, NULL, {0}, false, false},
	{"settlement",
         4,
         &load_ready,
         SETTLED_PER_S,
         ready_make,
         settled_run,
         settled_all,
         {[COST_CPU] = 1.08},
         false,
         false},
	{"lone calls", 1, &load_reserve, 0, NULL, asked_run, NULL, {[LATENCY] = 1.15}, true, false},
	{"two pages open", 256, &load_reserve, 0, NULL, paged_run, NULL, PAGES_MOST, true, true},
};

/* ---- a program with all that is its own */

struct side {
	struct bench  bench;
	struct ledger ledger; /* of the row's load, while the other one is at work */
	struct meter  meter;
	double        costs[LENGTH(rows)][TURNS_MAX][FIGURES]; /* an order's, of each round */
	bool          silent;                                  /* writes no events */
};

static struct side sides[SIDES];

static bool has_pages(const struct bench *b)
{
	return b == &sides[NEW].bench;
}

/* Fills the side's ledger in, and takes it back. */
static void ledger_swap(struct side *s, const struct row *r)
{
	struct ledger other = *r->load->ledger;

	*r->load->ledger = s->ledger;
	s->ledger = other;
}

static bool side_open(struct bench *b, struct side *s, const char *program, const char *data)
{
	if (access(program, X_OK)) {
		say("bench: %s: %s", program, strerror(errno));
		return false;
	}
	s->bench = *b;
	s->bench.data = data;
	if (!b->against && !b->only)
		s->bench.seconds = 1; /* of many minutes */
	snprintf(s->bench.program, sizeof(s->bench.program), "%s", program);
	return meter_init(&s->meter, &s->bench) && stage_own(&s->bench) && meter_open(&s->meter);
}

static bool sides_open(struct bench *b)
{
	const char *old = b->against ? b->against : b->program;

	return side_open(b, &sides[OLD], old, FOLDER "/data-old") &&
	       side_open(b, &sides[NEW], b->program, FOLDER "/data-new");
}

static void sides_close(void)
{
	for (int i = 0; i < SIDES; i++) {
		service_stop(&sides[i].bench);
		meter_fini(&sides[i].meter);
	}
}

/* ---- a row */

static bool costs_share(const struct row *r, const double before[COSTS], const double after[COSTS], int64_t orders,
                        double each[COSTS])
{
	for (int i = 0; i < COSTS; i++) {
		each[i] = (after[i] - before[i]) / (double)orders;
		if (each[i] <= 0) {
			bench_wrong("%s: %s: nothing was counted", r->name, columns[i].name);
			return false;
		}
	}
	return true;
}

/* From one quiet point to the next. What was done is in `out`; false: something was wrong. */
static bool round_measure(struct side *s, const struct row *r, int64_t orders, struct round *out, double each[FIGURES])
{
	double before[COSTS], after[COSTS];
	bool   read;

	if (r->prepare && !r->prepare(&s->bench, r, orders))
		return false;
	read = meter_read(&s->meter, before);
	if (read)
		r->run(&s->bench, r, orders, out);
	stage_check();
	read = read && meter_read(&s->meter, after);
	each[LATENCY] = 1000 * samples_ms(&out->samples, 0.5);
	each[WALL] = out->timed > 0 ? 1e6 * out->seconds / (double)out->timed : 0;
	free(out->samples.us);
	if (read && r->done && !r->done(&s->bench)) {
		bench_wrong("%s: not everything was done", r->name);
		return false;
	}
	if (!read || out->wrong || out->orders == 0 || (orders < INT64_MAX && out->orders != orders))
		return false;
	after[COST_SERVICE] += out->cpu * 1e6;
	after[COST_CPU] += out->cpu * 1e6;
	return costs_share(r, before, after, out->orders, each);
}

/* Returns how many orders it were; 0: something was wrong. */
static int64_t side_round(struct side *s, const struct row *r, int64_t orders, double each[FIGURES])
{
	struct round out = {0};
	bool         right;

	ledger_swap(s, r);
	right = round_measure(s, r, orders, &out, each);
	ledger_swap(s, r);
	if (!right)
		return 0;
	fprintf(stderr,
	        "%-24s %4d  %s %8" PRId64 " in %4.1f s  %6.1f us  %6.0f bytes  %6.2f calls  %7.4f trips  %.0f us\n",
	        r->name, r->connections, s == &sides[OLD] ? "old" : "new", out.orders, out.seconds, each[COST_CPU],
	        each[COST_REDO], each[COST_HANDLERS], each[COST_TRIPS], each[LATENCY]);
	return out.orders;
}

/* The log is switched off while no program runs that believes something else. */
static bool side_start(struct side *s)
{
	if (!service_start(&s->bench) || !s->silent)
		return s->bench.port > 0;
	service_stop(&s->bench);
	return database_run(&s->bench, "UPDATE event_log SET keep_days = 0, era = era + 1") &&
	       database_run(&s->bench, "UPDATE log_writer SET epoch = epoch + 1") && service_start(&s->bench);
}

/* Each side writes what it is to write. */
static bool events_right(struct side *s)
{
	int64_t count;
	bool    read = database_ints(&s->bench, "SELECT COUNT(*) FROM (SELECT 1 FROM event LIMIT 1) e", &count, 1);

	if (read && s->silent == (count > 0))
		bench_wrong("events are %swritten", s->silent ? "" : "not ");
	return read && s->silent == (count == 0);
}

/* Orders that were there before. */
static bool past_make(struct bench *b)
{
	struct round made = {0};

	visit_run(b, &load_batch, PAST_CONNECTIONS, b->reservations, &made);
	free(made.samples.us);
	return made.wrong == 0 && made.orders == b->reservations;
}

/* An empty database, the stock, and a round that is not counted. */
static int64_t side_begin(struct side *s, const struct row *r, int64_t orders)
{
	double warm[FIGURES];
	bool   received;

	s->bench.turn++;
	s->ledger = *r->load->ledger; /* empty as it is; what it gets is the side's own */
	ledger_swap(s, r);
	received = side_start(s) && ledger_receive(&s->bench, r->load->ledger) && (!r->pages || past_make(&s->bench));
	ledger_swap(s, r);
	return received ? side_round(s, r, orders, warm) : 0;
}

static bool side_end(struct side *s, const struct row *r)
{
	int64_t units;
	bool    right;

	ledger_swap(s, r);
	/* settled units are no longer on hand: there the audit judges */
	right = r->done || ledger_check(&s->bench, r->load->ledger, &units);
	ledger_fini(r->load->ledger);
	ledger_swap(s, r);
	if (!s->bench.against)
		right = events_right(s) && right;
	right = service_audit(&s->bench) && right;
	service_stop(&s->bench);
	return right;
}

static bool time_is_left(const struct bench *b)
{
	return clock_us() < bench_until_us(b, 0.78);
}

/* Neighbours change places from pair to pair, so that neither is always the first. *measured: how many pairs there
 * were, fewer than asked for where no time is left. False: something was wrong. */
static bool pairs_measure(const struct row *r, int64_t orders, int pairs, int *measured)
{
	for (*measured = 0; *measured < pairs; ++*measured)
		for (int k = 0; k < SIDES; k++) {
			struct side *s = &sides[(*measured + k) % SIDES];

			if (!time_is_left(&sides[NEW].bench)) {
				say("bench: no time is left: %s, %d connections, stops after %d of %d pairs", r->name,
				    r->connections, *measured, pairs);
				return true;
			}
			if (!side_round(s, r, orders, s->costs[r - rows][*measured]))
				return false;
		}
	return true;
}

static bool sides_fresh(void)
{
	bool fresh = true;

	for (int i = 0; i < SIDES; i++)
		service_stop(&sides[i].bench);
	for (int i = 0; i < SIDES; i++)
		fresh = fresh && stage_fresh(&sides[i].bench);
	return fresh;
}

static int row_measure(const struct row *r, int pairs)
{
	int64_t orders = r->per_s ? r->per_s * sides[OLD].bench.seconds : INT64_MAX;
	int     measured = 0;
	bool    begun, right;

	if (!time_is_left(&sides[NEW].bench)) {
		say("bench: no time is left: %s, %d connections, is left out", r->name, r->connections);
		return 0;
	}
	ledger_fini(r->load->ledger); /* another section's */
	sides[OLD].silent = !sides[OLD].bench.against && !r->pages;
	orders = sides_fresh() ? side_begin(&sides[OLD], r, orders) : 0;
	begun = orders > 0 && side_begin(&sides[NEW], r, orders);
	right = begun && pairs_measure(r, orders, pairs, &measured);
	for (int i = 0; i < SIDES; i++)
		right = begun && side_end(&sides[i], r) && right;
	if (!right)
		bench_wrong("%s: %d of %d pairs", r->name, measured, pairs);
	return measured;
}

/* ---- the table */

/* True: it is not above what is asked for, as far as it is told. */
static bool figure_print(const struct row *r, int cost, int pairs, double most, FILE *csv)
{
	const struct column *c = &columns[cost];
	double               old[TURNS_MAX], new[TURNS_MAX], ratios[TURNS_MAX], old_is, new_is, is;
	bool                 reached;
	int                  digits = cost == COST_TRIPS ? 4 : 2;

	for (int i = 0; i < pairs; i++) {
		old[i] = sides[OLD].costs[r - rows][i][cost];
		new[i] = sides[NEW].costs[r - rows][i][cost];
		ratios[i] = new[i] / old[i];
	}
	old_is = median_of(old, pairs);
	new_is = median_of(new, pairs);
	is = median_of(ratios, pairs);
	reached = most == 0 || is <= most;
	printf("%-24s %5d %-14s %10.*f %10.*f %7.3f %7.3f %7.3f", r->name, r->connections, c->name, digits, old_is,
	       digits, new_is, is, ratios[0], ratios[pairs - 1]);
	if (most > 0)
		printf(" %7.2f  %s", most, reached ? "reached" : "OVER");
	printf("\n");
	if (csv)
		fprintf(csv, "\"%s\",%d,%s,%d,%.4f,%.4f,%.4f,%.4f,%.4f,%g\n", r->name, r->connections,
		        c->name + strspn(c->name, " "), pairs, old_is, new_is, is, ratios[0], ratios[pairs - 1], most);
	return reached;
}

static void head_print(const struct bench *b, int pairs, bool with_pages, FILE *csv)
{
	printf("\nWork an order, %d pair%s of %d s. old: %s, new: %s%s.\nWhat one order takes of the service (and the "
	       "worker) and of its database. old and new: medians. ratio: new / old, the median of\nthe pairs, with "
	       "the least and the most.\n\n",
	       pairs, pairs > 1 ? "s" : "", sides[OLD].bench.seconds, sides[OLD].bench.program,
	       sides[NEW].bench.program,
	       b->against   ? ""
	       : with_pages ? " (the same program: beside the new one two pages are open)"
	                    : " (the same program: the old one writes no events, the new one does)");
	printf("%-24s %5s %-14s %10s %10s %7s %7s %7s %7s\n", "row", "conns", "an order's", "old", "new", "ratio",
	       "least", "most", "at most");
	if (csv)
		fprintf(csv, "row,connections,what,pairs,old,new,ratio,ratio_least,ratio_most,asked_at_most\n");
}

static bool events_asked(const struct row *r)
{
	for (int i = 0; i < FIGURES; i++)
		if (r->events[i] > 0)
			return true;
	return false;
}

static bool row_is_wanted(const struct bench *b, const struct row *r)
{
	bool rows_of_it = b->against ? !r->alone : r->pages ? b->only != NULL : events_asked(r);

	return rows_of_it && (!b->only || strstr(r->name, b->only));
}

static void rows_run(struct bench *b, int pairs)
{
	static int measured[LENGTH(rows)];
	FILE      *csv = csv_open(WORK_CSV);
	int        over = 0;
	bool       with_pages = false;

	for (size_t i = 0; i < LENGTH(rows); i++) {
		measured[i] = row_is_wanted(b, &rows[i]) ? row_measure(&rows[i], pairs) : 0;
		with_pages |= measured[i] > 0 && rows[i].pages;
	}
	head_print(b, pairs, with_pages, csv);
	for (size_t i = 0; i < LENGTH(rows); i++)
		for (int cost = 0; cost < FIGURES && measured[i] > 0; cost++)
			if (sides[OLD].costs[i][0][cost] > 0)
				over += !figure_print(&rows[i], cost, measured[i],
				                      b->against ? columns[cost].most : rows[i].events[cost], csv);
	csv_close(csv);
	if (over > 0 && b->against)
		bench_wrong("%d figures are over what is asked for", over);
	fflush(stdout);
}

void pairs_run(struct bench *b)
{
	int wanted = 0;

	for (size_t i = 0; i < LENGTH(rows); i++)
		wanted += row_is_wanted(b, &rows[i]);
	remove(WORK_CSV); /* an earlier run's */
	if (wanted == 0)
		return;
	if (!time_is_left(b))
		say("bench: no time is left: the work of an order, side by side, is left out");
	else if (sides_open(b))
		rows_run(b, b->pairs ? b->pairs : PAIRS);
	else
		b->broken = true;
	sides_close();
}
