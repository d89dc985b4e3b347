/* report.c - the tables on stdout, and the same as CSV in build/bench. */
#include "engine/base/log.h"
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_CSV FOLDER "/memory.csv"

/* Medians and percentiles, for all readers of standings. */
static void section_sum(struct section *section)
{
	for (size_t i = 0; i < section->count; i++) {
		struct standing *s = &section->standings[i];
		int              n = s->rounds;
		double           rate[TURNS_MAX];

		if (n == 0)
			continue;
		memcpy(rate, s->rate, sizeof(rate));
		s->median = median_of(rate, n);
		s->least = rate[0];
		s->most = rate[n - 1];
		s->p50_ms = samples_ms(&s->samples, 0.5);
		s->p99_ms = samples_ms(&s->samples, 0.99);
	}
}

const struct standing *standing_find(const struct section *sections, size_t count, const char *name, int connections)
{
	const struct standing *found = NULL;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < sections[i].count; k++) {
			const struct standing *s = &sections[i].standings[k];

			if (s->rounds && strcmp(s->contender->name, name) == 0 &&
			    (connections == 0 || connections == s->contender->connections) &&
			    (!found || s->median > found->median))
				found = s;
		}
	return found;
}

FILE *csv_open(const char *path)
{
	FILE *csv = fopen(path, "we");

	if (!csv)
		say("bench: %s cannot be written", path);
	return csv;
}

void csv_close(FILE *csv)
{
	if (csv && fclose(csv))
		say("bench: a CSV file is not complete");
}

/* ---- rows */

static void line_print(const struct standing *s, double classic, FILE *csv)
{
	double per = s->orders ? 1000.0 / (double)s->orders : 0, others = 0;

	if (s->seconds > 0)
		others = (s->cpu_all - s->cpu_service - s->cpu_database - s->cpu_load) / s->seconds;
	if (others < 0)
		others = 0; /* the kernel's ticks are coarse */
	printf("%-34s %5d %10.0f %8.0f %8.0f", s->contender->name, s->contender->connections, s->median, s->least,
	       s->most);
	if (s->samples.count)
		printf(" %8.2f %8.2f", s->p50_ms, s->p99_ms);
	else
		printf(" %8s %8s", "-", "-");
	printf(" %8.4f %8.4f %8.4f %6.2f %6" PRId64, s->cpu_service * per, s->cpu_database * per, s->cpu_load * per,
	       others, s->wrong);
	if (classic > 0)
		printf(" %7.2f", s->median / classic);
	if (s->beside > 0)
		printf("  (beside it %.0f a second)", s->beside);
	putchar('\n');
	if (!csv)
		return;
	fprintf(csv, "\"%s\",%d,%d,%.1f,%.1f,%.1f,%.3f,%.3f,%.5f,%.5f,%.5f,%.2f,%" PRId64 ",%" PRId64 ",",
	        s->contender->name, s->contender->connections, s->rounds, s->median, s->least, s->most, s->p50_ms,
	        s->p99_ms, s->cpu_service * per, s->cpu_database * per, s->cpu_load * per, others, s->orders, s->wrong);
	fprintf(csv, classic > 0 ? "%.3f," : ",", s->median / classic);
	fprintf(csv, s->beside > 0 ? "%.1f\n" : "\n", s->beside);
}

static bool section_empty(const struct section *section)
{
	for (size_t i = 0; i < section->count; i++)
		if (section->standings[i].rounds)
			return false;
	return true;
}

void report_section(const struct bench *b, struct section *section, const struct section *all)
{
	const struct standing *classic;
	FILE                  *csv;

	remove(section->file); /* an earlier run's */
	if (section_empty(section))
		return;
	section_sum(section);
	classic = standing_find(all, 1, "classic slotted", 0);
	csv = csv_open(section->file);
	printf("\n%s: %d s a round, %d turn%s. Orders per second: median, least and most of the turns. Milliseconds: "
	       "all turns together.\nCPU seconds per 1,000 orders: service, database, loader. others: cores busy with "
	       "something else. times: median against the\nclassic statement at its best.\n\n",
	       section->title, b->seconds, section->turns, section->turns > 1 ? "s" : "");
	printf("%-34s %5s %10s %8s %8s %8s %8s %8s %8s %8s %6s %6s %7s\n", "contender", "conns", "per second", "least",
	       "most", "p50 ms", "p99 ms", "service", "database", "loader", "others", "wrong", "times");
	if (csv)
		fprintf(csv, "contender,connections,turns,per_s_median,per_s_min,per_s_max,p50_ms,p99_ms,"
		             "service_cpu_s_per_1000,database_cpu_s_per_1000,loader_cpu_s_per_1000,others_cores,"
		             "orders,wrong,times_classic,beside_per_s\n");
	for (size_t i = 0; i < section->count; i++)
		if (section->standings[i].rounds)
			line_print(&section->standings[i], classic ? classic->median : 0, csv);
	csv_close(csv);
	fflush(stdout);
}

/* ---- memory */

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
	if (m->waiting)
		printf("  %" PRId64 " readers that wait for an event: VmRSS %" PRId64 " -> %" PRId64 " kB, %" PRId64
		       " kB when all have it, after %.3f s\n",
		       m->waiting, m->waiting_rss_before, m->waiting_rss, m->waiting_rss_after, m->waiting_told_s);
	if (csv)
		fprintf(csv,
		        "what,count,rss_before_kb,rss_after_kb,hwm_before_kb,hwm_after_kb,bytes_each\n"
		        "skus,%" PRId64 ",%" PRId64 ",%" PRId64 ",,,%.1f\n"
		        "reservations,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",\n"
		        "readers,%" PRId64 ",%" PRId64 ",%" PRId64 ",,,\n",
		        m->skus, m->sku_rss_before, m->sku_rss_after, per_sku, m->reservations, m->rss_before,
		        m->rss_after, m->hwm_before, m->hwm_after, m->waiting, m->waiting_rss_before,
		        m->waiting_rss_after);
}

void report_memory(const struct memory *memory)
{
	FILE *csv;

	remove(MEMORY_CSV); /* an earlier run's */
	if (!memory->skus && !memory->reservations && !memory->waiting)
		return;
	csv = csv_open(MEMORY_CSV);
	memory_print(memory, csv);
	csv_close(csv);
	fflush(stdout);
}
