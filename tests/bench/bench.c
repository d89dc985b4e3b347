/* bench.c - the benchmark: the table of contenders, who take turns on one database, and its options. README.md. */
#include "bench.h"

#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* The first row is what the others are compared with. */
static const struct contender contenders[] = {
	{"classic slotted in one trip", 16, false, NULL, classic_open, classic_run, classic_taken},
	{"Holdfast reserve", 64, true, &plan_reserve, holdfast_open, holdfast_run, holdfast_taken},
	{"Holdfast reserve", 256, true, &plan_reserve, holdfast_open, holdfast_run, holdfast_taken},
	{"Holdfast reserve + confirm", 256, true, &plan_pair, holdfast_open, holdfast_run, holdfast_taken},
};

static const char usage[] = "usage: bench-holdfast [options], in the project's folder after make\n"
			    "  --seconds S        of one round (5)\n"
			    "  --turns N          rounds of each contender (3)\n"
			    "  --only TEXT        contenders whose name holds TEXT\n"
			    "  --lanes N          lanes of the service (its own default)\n"
			    "  --reservations N   of the memory section (1000000; 0: none)\n"
			    "  --skus N           of the memory section (100000; 0: none)\n"
			    "  --program PATH     the service (build/holdfast)\n"
			    "Exit status: 0, 1 if anything was wrong, 64 usage, 69 no database or no service.\n";

uint64_t number_spread(uint64_t number)
{
	number += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64, S. Vigna */
	number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
	return number ^ number >> 31;
}

void order_write(struct text *to, uint64_t number)
{
	uint64_t      spread = number_spread(number);
	unsigned char bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(spread >> (8 * i));
	text_bytes(to, "O-", 2);
	text_hex(to, bytes, sizeof(bytes));
}

int64_t order_qty(uint64_t number)
{
	return 1 + (int64_t)(number % QTY_KINDS);
}

void samples_add(struct samples *s, int64_t us)
{
	if (s->count == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 1 << 16;
		s->us = mem_resize(s->us, s->cap * sizeof(*s->us));
	}
	s->us[s->count++] = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

void samples_join(struct samples *to, const struct samples *from)
{
	for (size_t i = 0; i < from->count; i++)
		samples_add(to, from->us[i]);
}

static int us_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

double samples_ms(struct samples *s, double share)
{
	if (!s->count)
		return 0;
	qsort(s->us, s->count, sizeof(*s->us), us_compare);
	return s->us[(size_t)(share * (double)(s->count - 1))] / 1000.0;
}

enum { WRONGS_TOLD = 20 };

static atomic_int wrongs;

void bench_hush(void)
{
	atomic_store(&wrongs, WRONGS_TOLD);
}

void bench_wrong(const char *format, ...)
{
	char    line[1024];
	va_list ap;

	if (atomic_fetch_add(&wrongs, 1) >= WRONGS_TOLD)
		return;
	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	say("bench: wrong: %s", line);
}

static double own_cpu(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

static void round_run(struct bench *b, struct standing *s)
{
	const struct contender *c = s->contender;
	struct round            r = {0};
	int64_t                 before = 0, after = 0;
	double                  service, database, own, all;
	int64_t                 begun_us;

	if (!c->taken(b, c, &before))
		r.wrong++;
	service = process_cpu(b->service);
	database = process_cpu(b->server);
	own = own_cpu();
	all = machine_cpu();
	begun_us = clock_us();
	c->run(b, c, &r);
	stage_check();
	s->cpu_service += process_cpu(b->service) - service;
	s->cpu_database += process_cpu(b->server) - database;
	s->cpu_load += own_cpu() - own;
	s->cpu_all += machine_cpu() - all;
	s->seconds += (double)(clock_us() - begun_us) / 1e6;
	if (!c->taken(b, c, &after))
		r.wrong++;
	if (after - before != r.units) {
		bench_wrong("%s: %" PRId64 " units acknowledged, %" PRId64 " gone from the stock", c->name, r.units,
		            after - before);
		r.wrong++;
	}
	s->rate[s->rounds++] = r.seconds > 0 ? (double)r.timed / r.seconds : 0;
	s->orders += r.orders;
	s->wrong += r.wrong;
	samples_join(&s->samples, &r.samples);
	free(r.samples.us);
	fprintf(stderr, "%-36s %5d  %10.0f/s\n", c->name, c->connections, s->rate[s->rounds - 1]);
}

static bool contender_picked(const struct bench *b, const struct contender *c)
{
	return !b->only || strstr(c->name, b->only);
}

/* Everyone who is picked is ready: the service runs if somebody needs it. */
static bool contenders_open(struct bench *b)
{
	for (size_t i = 0; i < COUNT(contenders); i++) {
		const struct contender *c = &contenders[i];

		if (!contender_picked(b, c))
			continue;
		if (c->service && !b->service && !service_start(b))
			return false;
		if (c->open && !c->open(b, c))
			return false;
	}
	return true;
}

/* In turns, so that whatever changes on the machine meanwhile meets everybody. */
static void turns_run(struct bench *b, struct standing *standings)
{
	for (int turn = 0; turn < b->turns; turn++)
		for (size_t i = 0; i < COUNT(contenders); i++) {
			standings[i].contender = &contenders[i];
			if (!contender_picked(b, &contenders[i]))
				continue;
			if (clock_us() + (int64_t)b->seconds * 1000000 > b->deadline_us) {
				say("bench: no time is left for turn %d", turn + 1);
				return;
			}
			round_run(b, &standings[i]);
		}
}

static bool number_read(int64_t *to, int64_t least, int64_t most)
{
	char *end;

	*to = strtoll(optarg, &end, 10);
	return *optarg && !*end && *to >= least && *to <= most;
}

static bool options_read(struct bench *b, int argc, char **argv)
{
	static const struct option options[] = {
		{"seconds", 1, NULL, 's'}, {"turns", 1, NULL, 't'},        {"only", 1, NULL, 'o'},
		{"lanes", 1, NULL, 'l'},   {"reservations", 1, NULL, 'r'}, {"skus", 1, NULL, 'k'},
		{"program", 1, NULL, 'p'}, {"help", 0, NULL, 'h'},         {0},
	};
	int64_t n = 0;
	bool    right = true;

	for (int o; right && (o = getopt_long(argc, argv, "", options, NULL)) != -1;)
		switch (o) {
		case 's':
			right = number_read(&n, 1, SECONDS_MAX);
			b->seconds = (int)n;
			break;
		case 't':
			right = number_read(&n, 1, TURNS_MAX);
			b->turns = (int)n;
			break;
		case 'l':
			right = number_read(&n, 1, 64);
			b->lanes = (int)n;
			break;
		case 'r':
			right = number_read(&b->reservations, 0, 10000000);
			break;
		case 'k':
			right = number_read(&b->skus, 0, 1000000);
			break;
		case 'o':
			b->only = optarg;
			break;
		case 'p':
			b->program = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(EXIT_DONE);
		default:
			return false;
		}
	if (!right || optind < argc)
		say("bench: a number is out of range, or an argument too many");
	return right && optind == argc;
}

int main(int argc, char **argv)
{
	static struct standing standings[COUNT(contenders)];
	struct memory          memory = {0};
	struct bench           b = {.seconds = 5, .turns = 3, .reservations = 1000000, .skus = 100000};

	b.program = "build/holdfast";

	if (!options_read(&b, argc, argv)) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!stage_open(&b) || !contenders_open(&b)) {
		stage_check();
		stage_close();
		return EXIT_UNAVAILABLE;
	}
	turns_run(&b, standings);
	if (b.service)
		memory_run(&b, &memory);
	stage_check();
	report_rounds(&b, standings, COUNT(contenders), &memory);
	stage_close();
	for (size_t i = 0; i < COUNT(contenders); i++)
		free(standings[i].samples.us);
	return atomic_load(&wrongs) ? EXIT_TROUBLE : EXIT_DONE;
}
