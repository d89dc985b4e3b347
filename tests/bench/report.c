/* report.c - the tables on stdout, and the same as CSV in build/bench. */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS_CSV "build/bench/rounds.csv"
#define MEMORY_CSV "build/bench/memory.csv"

/* A contender's line, computed once for both forms. */
struct line {
	double median, least, most; /* orders per second */
	double p50_ms, p99_ms;
	double service, database, load; /* CPU seconds per 1,000 orders */
	double others;                  /* cores that somebody else was busy on */
	double times;                   /* as many orders per second as the first row; 0: unknown */
};

static int rate_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct line line_make(struct standing *s, double first)
{
	double      per = s->orders ? 1000.0 / (double)s->orders : 0;
	struct line l = {.p50_ms = samples_ms(&s->samples, 0.5),
	                 .p99_ms = samples_ms(&s->samples, 0.99),
	                 .service = s->cpu_service * per,
	                 .database = s->cpu_database * per,
	                 .load = s->cpu_load * per};
	int         n = s->rounds;

	l.others = s->seconds > 0 ? (s->cpu_all - s->cpu_service - s->cpu_database - s->cpu_load) / s->seconds : 0;
	if (l.others < 0)
		l.others = 0; /* the kernel's ticks are coarse */
	qsort(s->rate, (size_t)n, sizeof(s->rate[0]), rate_compare);
	l.least = s->rate[0];
	l.most = s->rate[n - 1];
	l.median = (s->rate[(n - 1) / 2] + s->rate[n / 2]) / 2;
	l.times = first > 0 ? l.median / first : 0;
	return l;
}

static void line_print(const struct standing *s, const struct line *l, FILE *csv)
{
	printf("%-28s %5d %10.0f %8.0f %8.0f %8.2f %8.2f %9.4f %9.4f %9.4f %6.2f %7" PRId64, s->contender->name,
	       s->contender->connections, l->median, l->least, l->most, l->p50_ms, l->p99_ms, l->service, l->database,
	       l->load, l->others, s->wrong);
	if (l->times > 0)
		printf(" %7.2f", l->times);
	putchar('\n');
	if (!csv)
		return;
	fprintf(csv, "\"%s\",%d,%d,%.1f,%.1f,%.1f,%.3f,%.3f,%.5f,%.5f,%.5f,%.2f,%" PRId64 ",%" PRId64 ",",
	        s->contender->name, s->contender->connections, s->rounds, l->median, l->least, l->most, l->p50_ms,
	        l->p99_ms, l->service, l->database, l->load, l->others, s->orders, s->wrong);
	fprintf(csv, l->times > 0 ? "%.3f\n" : "\n", l->times);
}

static void memory_print(const struct memory *m, FILE *csv)
{
	double per_sku = m->skus ? (double)(m->sku_rss_after - m->sku_rss_before) * 1024 / (double)m->skus : 0;

	printf("\nResident memory of the service (a fresh process each)\n");
	if (m->skus)
		printf("  %" PRId64 " skus received and read: VmRSS %" PRId64 " -> %" PRId64
		       " kB = %.0f bytes per cached sku\n"
		       "    (code, number, last totals, hash tables with their spare room, and what the allocator "
		       "keeps)\n",
		       m->skus, m->sku_rss_before, m->sku_rss_after, per_sku);
	if (m->reservations)
		printf("  %" PRId64 " reservations made: VmRSS %" PRId64 " -> %" PRId64 " kB, VmHWM %" PRId64
		       " -> %" PRId64 " kB\n    (in batches of 500 over HTTP, after the warm-up %.1f s)\n",
		       m->reservations, m->rss_before, m->rss_after, m->hwm_before, m->hwm_after, m->seconds);
	if (csv)
		fprintf(csv,
		        "what,count,rss_before_kb,rss_after_kb,hwm_before_kb,hwm_after_kb,bytes_each\n"
		        "skus,%" PRId64 ",%" PRId64 ",%" PRId64 ",,,%.1f\n"
		        "reservations,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",\n",
		        m->skus, m->sku_rss_before, m->sku_rss_after, per_sku, m->reservations, m->rss_before,
		        m->rss_after, m->hwm_before, m->hwm_after);
}

static FILE *csv_open(const char *path)
{
	FILE *csv = fopen(path, "we");

	if (!csv)
		say("bench: %s cannot be written", path);
	return csv;
}

static void csv_close(FILE *csv)
{
	if (csv && fclose(csv))
		say("bench: a CSV file is not complete");
}

void report_rounds(struct bench *b, struct standing *standings, size_t count, const struct memory *memory)
{
	FILE  *csv = csv_open(ROUNDS_CSV);
	double first = 0;

	printf("\n%d s a round, up to %d turns. Orders per second: median, least and most of the turns. CPU seconds "
	       "per\n"
	       "1,000 orders: service, database, loader. others: cores busy with something else. times: median "
	       "against\n"
	       "the first row.\n\n",
	       b->seconds, b->turns);
	printf("%-28s %5s %10s %8s %8s %8s %8s %9s %9s %9s %6s %7s %7s\n", "contender", "conns", "per second", "least",
	       "most", "p50 ms", "p99 ms", "service", "database", "loader", "others", "wrong", "times");
	if (csv)
		fprintf(csv, "contender,connections,turns,per_s_median,per_s_min,per_s_max,p50_ms,p99_ms,"
		             "service_cpu_s_per_1000,database_cpu_s_per_1000,loader_cpu_s_per_1000,others_cores,"
		             "orders,wrong,times_first\n");
	for (size_t i = 0; i < count; i++) {
		struct line line;

		if (!standings[i].rounds)
			continue;
		line = line_make(&standings[i], first);
		if (i == 0) {
			first = line.median;
			line.times = first > 0 ? 1 : 0;
		}
		line_print(&standings[i], &line, csv);
	}
	csv_close(csv);
	remove(MEMORY_CSV); /* an earlier run's */
	if (memory->skus || memory->reservations) {
		csv = csv_open(MEMORY_CSV);
		memory_print(memory, csv);
		csv_close(csv);
	}
	fflush(stdout);
}
