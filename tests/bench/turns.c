/* turns.c - the order of runs: every contender once, then every one again, so that a change on the machine meets them
 * all. Each turn begins with an empty database and ends with an audit. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

int64_t bench_until_us(const struct bench *b, double share)
{
	return b->begun_us + (int64_t)(share * ((double)b->minutes * 60 - LEAVE_S) * 1e6);
}

static double own_cpu(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

/* CPU seconds so far. */
struct costs {
	double service, database, own, all;
};

static struct costs costs_read(const struct bench *b, const struct way *way)
{
	const struct child *program = way->child ? (const void *)((const char *)b + way->child) : NULL;

	return (struct costs){process_cpu(program ? program->pid : 0), process_cpu(b->server), own_cpu(),
	                      machine_cpu()};
}

static bool units_read(struct bench *b, const struct contender *c, int64_t *units, struct round *r)
{
	*units = 0;
	if (!c->way->taken || c->way->taken(b, c, units))
		return true;
	r->wrong++;
	return false;
}

static void stock_check(struct bench *b, const struct contender *c, int64_t before, struct round *r)
{
	int64_t after;

	if (units_read(b, c, &after, r) && c->way->taken && after - before != r->units) {
		bench_wrong("%s: %" PRId64 " units acknowledged, %" PRId64 " gone from the stock", c->name, r->units,
		            after - before);
		r->wrong++;
	}
	if (c->way->audited && !service_audit(b))
		r->wrong++;
}

static void round_run(struct bench *b, struct standing *s)
{
	const struct contender *c = s->contender;
	struct round            r = {0};
	struct costs            before, after;
	int64_t                 units, begun_us;

	if (c->way->ready && !c->way->ready(b, c)) {
		bench_wrong("%s, %d: it was not made ready", c->name, c->connections);
		s->wrong++;
		return;
	}
	units_read(b, c, &units, &r);
	before = costs_read(b, c->way);
	begun_us = clock_us();
	c->way->run(b, c, &r);
	stage_check();
	after = costs_read(b, c->way);
	s->seconds += (double)(clock_us() - begun_us) / 1e6;
	s->cpu_service += after.service - before.service + r.cpu;
	s->cpu_database += after.database - before.database;
	s->cpu_load += after.own - before.own;
	s->cpu_all += after.all - before.all;
	stock_check(b, c, units, &r);
	s->rate[s->rounds++] = r.seconds > 0 ? (double)r.timed / r.seconds : 0;
	s->orders += r.orders;
	s->wrong += r.wrong;
	s->beside = r.beside;
	samples_join(&s->samples, &r.samples);
	fprintf(stderr, "%-36s %5d %10.0f/s  p50 %.2f ms%s\n", c->name, c->connections, s->rate[s->rounds - 1],
	        samples_ms(&r.samples, 0.5), r.wrong ? "  WRONG" : "");
	free(r.samples.us);
}

static bool turn_open(struct bench *b, struct section *s)
{
	bool any = false;

	for (size_t i = 0; i < s->count; i++) {
		const struct contender *c = &s->contenders[i];

		s->standings[i].contender = c;
		s->standings[i].absent |= b->only && !strstr(c->name, b->only);
		if (s->standings[i].absent)
			continue;
		if (!any && s->kind != TURNS_LASTING && !stage_fresh(b))
			b->broken = true;
		any = true;
		if (!b->broken && c->way->open && !c->way->open(b, c))
			s->standings[i].absent = true;
		if (b->broken)
			return false;
	}
	return any;
}

static void turn_audit(struct bench *b, const struct section *s)
{
	int64_t begun_us = clock_us();

	if (service_audit(b))
		fprintf(stderr, "%-36s       every invariant holds (%.1f s)\n", "holdfast audit",
		        (double)(clock_us() - begun_us) / 1e6);
	else
		s->standings[0].wrong++;
}

static void turn_close(struct bench *b, const struct section *s)
{
	if (b->service.pid && s->kind != TURNS_LASTING)
		turn_audit(b, s);
	service_stop(b);
}

void section_run(struct bench *b, struct section *s)
{
	int64_t round_us = (int64_t)b->seconds * 1000000, until_us = bench_until_us(b, s->share);
	bool    time = true;

	for (int turn = 1; turn <= s->turns && time; turn++) {
		b->turn++;
		if (!turn_open(b, s))
			return;
		for (size_t i = 0; i < s->count && !b->broken && time; i++) {
			struct standing *next = &s->standings[s->kind == TURNS_PAIRED && turn % 2 == 0 ? i ^ 1 : i];

			time = clock_us() + round_us < until_us;
			if (time && !next->absent)
				round_run(b, next);
		}
		if (!time)
			say("bench: no time is left for the rest of turn %d", turn);
		turn_close(b, s);
	}
}
