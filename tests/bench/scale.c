/* scale.c - `make scale`: what lanes, processes, skus and a long past do to the throughput. Every row has its own
 * service on a database of its size (place.c), started for the round and warmed up; rows that are compared stand side
 * by side and take turns. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "holdfast.h"
#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEWER_SKUS = 10, FEWER_BEFORE = 20, READY_MOST = 100000 };

static struct place place_one = {.database = "one_sku"}, place_some = {.database = "some_skus"},
		    place_many = {.database = "many_skus"}, place_short = {.database = "short_past"},
		    place_long = {.database = "long_past"};

/* A row: which load, where, and which services. */
struct setting {
	struct place           *place;
	const struct http_load *like;  /* its ledger is the place's; NULL: `work settle` */
	int                     lanes; /* of each process; 0: as the service decides */
	bool                    two;   /* two processes */
};

static const struct way way_scale, way_scale_settle;

/* clang-format off */
#define ROW(name, connections, place, like, lanes, two) \
	{name, connections, &way_scale, &(const struct setting){&place, like, lanes, two}}

static const struct contender size_rows[] = {
	ROW("reserve, 1 lane", 256, place_one, &load_reserve, 1, false),
	ROW("reserve, 2 lanes", 256, place_one, &load_reserve, 2, false),
	ROW("reserve, 4 lanes", 256, place_one, &load_reserve, 4, false),
	ROW("reserve, 2 processes of 1 lane", 256, place_one, &load_reserve, 1, true),
	ROW("batch of 500, 1 lane", 8, place_one, &load_batch, 1, false),
	ROW("batch of 500, 2 lanes", 8, place_one, &load_batch, 2, false),
	ROW("batch of 500, 4 lanes", 8, place_one, &load_batch, 4, false),
	ROW("batch of 500, 2 processes of 1 lane", 8, place_one, &load_batch, 1, true),
	ROW("any sku of one", 256, place_one, &load_any, 0, false),
	ROW("any sku of some", 256, place_some, &load_any, 0, false),
	ROW("any sku of many", 256, place_many, &load_any, 0, false),
};

static const struct contender past_rows[] = {
	ROW("reserve, short past", 256, place_short, &load_reserve, 0, false),
	ROW("reserve, long past", 256, place_long, &load_reserve, 0, false),
	ROW("baskets, short past", 256, place_short, &load_basket, 0, false),
	ROW("baskets, long past", 256, place_long, &load_basket, 0, false),
	ROW("reserve + confirm, short past", 256, place_short, &load_pair, 0, false),
	ROW("reserve + confirm, long past", 256, place_long, &load_pair, 0, false),
};

static const struct contender job_rows[] = {
	{"work settle, short past", 4, &way_scale_settle, &(const struct setting){&place_short, NULL, 0, false}},
	{"work settle, long past", 4, &way_scale_settle, &(const struct setting){&place_long, NULL, 0, false}},
};

/* clang-format on */

static struct standing size_standings[LENGTH(size_rows)], past_standings[LENGTH(past_rows)],
	job_standings[LENGTH(job_rows)];

static struct section sections[] = {
	{"Lanes, processes, skus", FOLDER "/scale_sizes.csv", size_rows, size_standings, LENGTH(size_rows), 3, 0.35,
         TURNS_LASTING},
	{"A long past", FOLDER "/scale_past.csv", past_rows, past_standings, LENGTH(past_rows), 3, 0.7, TURNS_LASTING},
	{"Jobs in a long past", FOLDER "/scale_jobs.csv", job_rows, job_standings, LENGTH(job_rows), 1, 0.75,
         TURNS_LASTING},
};

static struct place *const places[] = {&place_one, &place_some, &place_many, &place_short, &place_long};

/* ---- a round */

static bool scale_open(struct bench *b, const struct contender *c)
{
	const struct setting *s = c->what;

	return place_make(b, s->place);
}

/* The load, sent to the place's own skus. */
static void setting_run(struct bench *b, const struct contender *c, struct round *out)
{
	const struct setting *s = c->what;
	struct http_load      load = *s->like;

	load.ledger = &s->place->ledger;
	visit_run(b, &load, c->connections, INT64_MAX, out);
}

/* A service that has just begun knows no sku, and its lanes have no units in their slots. */
static bool scale_ready(struct bench *b, const struct contender *c)
{
	const struct setting *s = c->what;
	struct round          warm = {0};
	int                   seconds = b->seconds, lanes = b->lanes;
	bool                  started;

	service_stop(b);
	place_enter(b, s->place);
	b->lanes = s->lanes;
	started = place_warm(b, s->place) && service_start(b) && (!s->two || service_second(b));
	b->lanes = lanes;
	b->seconds = 1;
	if (started)
		setting_run(b, c, &warm);
	b->seconds = seconds;
	free(warm.samples.us);
	return started && warm.wrong == 0;
}

static void scale_round(struct bench *b, const struct contender *c, struct round *out)
{
	double second = process_cpu(b->second.pid);

	setting_run(b, c, out);
	out->cpu = process_cpu(b->second.pid) - second;
}

static bool scale_taken(struct bench *b, const struct contender *c, int64_t *units)
{
	(void)c;
	return place_reserved(b, units);
}

static const struct way way_scale = {.open = scale_open,
                                     .ready = scale_ready,
                                     .run = scale_round,
                                     .taken = scale_taken,
                                     .child = offsetof(struct bench, service)};

/* ---- settling what waits */

static bool settle_ready(struct bench *b, const struct contender *c)
{
	const struct setting *s = c->what;

	service_stop(b);
	place_enter(b, s->place);
	return true;
}

static void settle_round(struct bench *b, const struct contender *c, struct round *out)
{
	const struct setting *s = c->what;

	work_run(b, "settle", 3, out);
	if (out->orders < s->place->ready) {
		bench_wrong("%s: not all that waited was settled", c->name);
		out->wrong++;
	}
}

static const struct way way_scale_settle = {.open = scale_open, .ready = settle_ready, .run = settle_round};

/* ---- the run */

static void sizes_set(const struct bench *b)
{
	static const struct ledger one = {.prefix = "ONE", .count = 1, .received = HOT_QTY};
	static const struct ledger many = {.prefix = "MANY", .received = HOT_QTY};
	static const struct ledger shop = {.prefix = "SHOP", .count = SHOP_SKUS, .received = HOT_QTY};

	place_one.ledger = one;
	place_some.ledger = place_many.ledger = many;
	place_many.ledger.count = (int)b->skus;
	place_some.ledger.count = (int)(b->skus / FEWER_SKUS);
	place_short.ledger = place_long.ledger = shop;
	place_long.past = b->reservations;
	place_short.past = b->reservations / FEWER_BEFORE;
	place_short.ready = place_long.ready = place_short.past / 10 < READY_MOST ? place_short.past / 10 : READY_MOST;
	printf("some skus: %d, many: %d; a short past: %lld reservations, a long one: %lld\n", place_some.ledger.count,
	       place_many.ledger.count, (long long)place_short.past, (long long)place_long.past);
}

/* All that was done to the places so far must add up. */
static void places_audit(struct bench *b, struct place *const *first, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int64_t begun_us = clock_us();

		if (!first[i]->made)
			continue;
		if (begun_us > bench_until_us(b, 0.85)) {
			say("bench: no time is left for the audit of %s", first[i]->database);
			continue;
		}
		place_enter(b, first[i]);
		if (service_audit(b))
			fprintf(stderr, "%-36s       every invariant holds (%.1f s)\n", first[i]->database,
			        (double)(clock_us() - begun_us) / 1e6);
	}
}

static void places_close(void)
{
	for (size_t i = 0; i < LENGTH(places); i++)
		ledger_fini(&places[i]->ledger);
	for (size_t i = 0; i < LENGTH(sections); i++)
		for (size_t k = 0; k < sections[i].count; k++)
			free(sections[i].standings[k].samples.us);
}

void scale_run(struct bench *b)
{
	sizes_set(b);
	sections[0].turns = sections[1].turns = b->turns;
	for (size_t i = 0; i < LENGTH(sections) && !b->broken; i++) {
		section_run(b, &sections[i]);
		report_section(b, &sections[i], sections);
	}
	stage_check();
	if (!b->broken) {
		place_report(places + 3, 2, FOLDER "/scale_disk.csv");
		goals_report(sections, LENGTH(sections), NULL);
		places_audit(b, places, LENGTH(places));
	}
	places_close();
}
