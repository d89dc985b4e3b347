/* goals.c - the figures that Holdfast is asked to reach, on 2 cores: nearly all are ratios of the same run, because
 * absolute figures differ from machine to machine. A figure that is missed is said and does not make the run fail. */
#include "engine/base/log.h"
#include "bench.h"

#include <stdio.h>

#define GOALS_CSV FOLDER "/goals.csv"

enum { READERS_MB = 60, READERS_S = 1 };

enum figure { RATE, P50, P99, PAIRED /* rates, turn by turn: the median of the ratios */ };

static const struct goal {
	const char *what;
	enum figure figure;
	const char *name; /* of the row; its connections: 0 for the fastest */
	int         connections;
	const char *against; /* NULL: the figure itself */
	int         against_connections;
	double      least, most; /* one of them; 0: none */
} goals[] = {
	{"hot sku, against classic at its best", RATE, "Holdfast reserve", 256, "classic slotted", 0, 7, 0},
	{"hot sku, against Redis Lua", RATE, "Holdfast reserve", 256, "Redis Lua", 256, 1.2, 0},
	{"hot sku, against ORM style at its best", RATE, "Holdfast reserve", 256, "ORM style", 0, 9, 0},
	{"hot sku, share of evhttp constant", RATE, "Holdfast reserve", 256, "evhttp constant", 256, 0.75, 0},
	{"batch call, against classic at its best", RATE, "Holdfast batch of 500", 0, "classic slotted", 0, 16, 0},
	{"batch of 3 lines, against classic", RATE, "Holdfast batch, 3 lines", 0, "classic slotted", 0, 8, 0},
	{"confirm: true, against reserve", RATE, "Holdfast reserve, confirm: true", 256, "Holdfast reserve", 256, 0.9,
         0},
	{"pairs in batch calls, against single", RATE, "Holdfast batch, reserve + confirm", 8,
         "Holdfast reserve + confirm", 256, 2.5, 0},
	{"sell-out, against single calls", RATE, "Holdfast sell-out", 256, "Holdfast reserve", 256, 1, 0},
	{"p99 in ms, 64 connections, half speed", P99, "Holdfast reserve, half speed", 64, NULL, 0, 0, 5},
	{"lone request, against one durable row", P50, "Holdfast reserve", 1, "one durable row", 1, 0, 2},
	{"availability, share of evhttp constant", RATE, "Holdfast availability", 64, "evhttp constant, GET", 64, 0.85,
         0},
	{"orders settled a second", RATE, "work settle", 4, NULL, 0, 15000, 0},
	{"holds expired a second", RATE, "work expire", 4, NULL, 0, 20000, 0},
	{"waiting orders served by arrivals, a second", RATE, "orders served by an arrival", 1, NULL, 0, 10000, 0},
	{"settling by ids, against tasks", PAIRED, "settle by ids over HTTP", 4, "settle by tasks over HTTP", 4, 0.7,
         0},
	{"customers with a limit, against none", PAIRED, "reservations, 100,000 customers", 256,
         "reservations, no customer", 256, 0.6, 0},
	{"one customer with a limit, against none", PAIRED, "reservations, one customer", 64,
         "reservations, no customer", 64, 0.5, 0},
	{"a line over three places, against one", PAIRED, "reservations, the last of three places", 256,
         "reservations, one place", 256, 0.8, 0},
	{"a place with a line, against none", PAIRED, "reservations, a place with a line", 256,
         "reservations, a place without a line", 256, 0.9, 0},
	{"events read a second by one reader", RATE, "Holdfast events read", 1, NULL, 0, 50000, 0},
	{"reservations with a reader beside", RATE, "Holdfast reserve, a reader beside", 256, "Holdfast reserve", 256,
         0.8, 0},
	{"deliveries a second to one webhook", RATE, "deliveries to one webhook", 1, NULL, 0, 2000, 0},
	{"deliveries, 16 at once, 20 ms each", RATE, "deliveries, 16 at once, 20 ms each", 16, NULL, 0, 600, 0},
	{"to 19 webhooks, with one that hangs", RATE, "deliveries to 20, one of which hangs", 20,
         "deliveries to 19 webhooks", 19, 0.9, 0},
	/* make scale */
	{"a million skus, against a tenth", RATE, "any sku of many", 256, "any sku of some", 256, 0.7, 0},
	{"long past, against a twentieth", RATE, "reserve, long past", 256, "reserve, short past", 256, 0.7, 0},
	{"the same, baskets", RATE, "baskets, long past", 256, "baskets, short past", 256, 0.7, 0},
	{"the same, reserve + confirm", RATE, "reserve + confirm, long past", 256, "reserve + confirm, short past", 256,
         0.7, 0},
	{"the same, settling", RATE, "work settle, long past", 4, "work settle, short past", 4, 0.7, 0},
	{"reservations with settling beside", RATE, "Holdfast reserve, settling beside", 256, "Holdfast reserve", 256,
         0.5, 0},
};

static double figure_of(const struct standing *s, enum figure figure)
{
	return figure == P50 ? s->p50_ms : figure == P99 ? s->p99_ms : s->median;
}

static double ratio_of(const struct standing *s, const struct standing *against, enum figure figure)
{
	double ratios[TURNS_MAX];
	int    turns = s->rounds < against->rounds ? s->rounds : against->rounds;

	if (figure != PAIRED)
		return figure_of(s, figure) / figure_of(against, figure);
	for (int i = 0; i < turns; i++)
		ratios[i] = s->rate[i] / against->rate[i];
	return median_of(ratios, turns);
}

/* One line on stdout and in the CSV file, below a head. */
static void goal_print(const char *what, double least, double most, double is, FILE *csv)
{
	static bool any;
	bool        reached = is >= least && (most == 0 || is <= most);
	int         digits = least >= 100 || most >= 10 ? 0 : 2;

	if (!any)
		printf("\n%-42s %10s %10s\n", "asked for", "required", "measured");
	any = true;
	printf("%-42s %3s %6.*f %10.*f%s\n", what, most > 0 ? "<=" : ">=", digits, least + most, digits, is,
	       reached ? "   reached" : "   MISSED");
	if (csv)
		fprintf(csv, "\"%s\",%g,%g,%.3f,%s\n", what, least, most, is, reached ? "reached" : "missed");
}

static void goal_judge(const struct goal *g, const struct section *sections, size_t count, FILE *csv)
{
	const struct standing *s = standing_find(sections, count, g->name, g->connections), *against = NULL;

	if (g->against)
		against = standing_find(sections, count, g->against, g->against_connections);
	if (s && (!g->against || (against && figure_of(against, g->figure) > 0))) /* measured in this run */
		goal_print(g->what, g->least, g->most,
		           against ? ratio_of(s, against, g->figure) : figure_of(s, g->figure), csv);
}

void goals_report(const struct section *sections, size_t count, const struct memory *memory)
{
	FILE *csv = fopen(GOALS_CSV, "we");

	if (csv)
		fprintf(csv, "what,least,most,measured,reached\n");
	for (size_t i = 0; i < LENGTH(goals); i++)
		goal_judge(&goals[i], sections, count, csv);
	if (memory && memory->waiting) {
		goal_print("MB that 10,000 waiting readers take", 0, READERS_MB,
		           (double)(memory->waiting_rss - memory->waiting_rss_before) / 1024, csv);
		goal_print("s until 10,000 readers have an event", 0, READERS_S, memory->waiting_told_s, csv);
	}
	if (csv && fclose(csv))
		say("bench: " GOALS_CSV " is not complete");
	fflush(stdout);
}
