/* goals.c - the figures that Holdfast is asked to reach, on 2 cores: nearly all are ratios of the same run, because
 * absolute figures differ from machine to machine. A figure that is missed is said and does not make the run fail. */
#include "engine/base/log.h"
#include "bench.h"

#include <stdio.h>

#define GOALS_CSV FOLDER "/goals.csv"

enum figure { RATE, P50, P99 };

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
	return figure == RATE ? s->median : figure == P50 ? s->p50_ms : s->p99_ms;
}

void goals_report(const struct section *sections, size_t count)
{
	FILE *csv = fopen(GOALS_CSV, "we");
	bool  any = false;

	if (csv)
		fprintf(csv, "what,least,most,measured,reached\n");
	for (size_t i = 0; i < LENGTH(goals); i++) {
		const struct goal     *g = &goals[i];
		const struct standing *s = standing_find(sections, count, g->name, g->connections), *against = NULL;
		double                 is;
		bool                   reached;

		if (g->against)
			against = standing_find(sections, count, g->against, g->against_connections);
		if (!s || (g->against && (!against || figure_of(against, g->figure) == 0)))
			continue; /* not measured in this run */
		is = figure_of(s, g->figure) / (against ? figure_of(against, g->figure) : 1);
		reached = is >= g->least && (g->most == 0 || is <= g->most);
		if (!any)
			printf("\n%-42s %10s %10s\n", "asked for", "required", "measured");
		any = true;
		printf("%-42s %3s %6.*f %10.*f%s\n", g->what, g->most > 0 ? "<=" : ">=", g->least >= 100 ? 0 : 2,
		       g->least + g->most, g->least >= 100 ? 0 : 2, is, reached ? "   reached" : "   MISSED");
		if (csv)
			fprintf(csv, "\"%s\",%g,%g,%.3f,%s\n", g->what, g->least, g->most, is,
			        reached ? "reached" : "missed");
	}
	if (csv && fclose(csv))
		say("bench: " GOALS_CSV " is not complete");
	fflush(stdout);
}
