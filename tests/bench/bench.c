/* bench.c - the benchmark: the table of contenders, which take turns on one database, and its options. README.md. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "ledger.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct contender contenders[] = {
	/* one after the other, while the database is fresh */
	{"Holdfast reserve", 1, &way_http, &load_reserve},
	{"one durable row", 1, &way_sql, &sql_single},
	/* one hot sku, by connections */
	{"ORM style", 16, &way_sql, &sql_orm},
	{"ORM style", 64, &way_sql, &sql_orm},
	{"ORM style", 256, &way_sql, &sql_orm},
	{"ORM style", 1000, &way_sql, &sql_orm},
	{"guarded update", 16, &way_sql, &sql_guarded},
	{"guarded update", 64, &way_sql, &sql_guarded},
	{"guarded update", 256, &way_sql, &sql_guarded},
	{"guarded update", 1000, &way_sql, &sql_guarded},
	{"classic slotted", 16, &way_sql, &sql_classic},
	{"classic slotted", 64, &way_sql, &sql_classic},
	{"classic slotted", 256, &way_sql, &sql_classic},
	{"classic slotted", 1000, &way_sql, &sql_classic},
	{"WooCommerce-like", 16, &way_sql, &sql_woo},
	{"WooCommerce-like", 64, &way_sql, &sql_woo},
	{"WooCommerce-like", 256, &way_sql, &sql_woo},
	{"WooCommerce-like", 1000, &way_sql, &sql_woo},
	{"Redis Lua", 16, &way_redis, NULL},
	{"Redis Lua", 64, &way_redis, NULL},
	{"Redis Lua", 256, &way_redis, NULL},
	{"Redis Lua", 1000, &way_redis, NULL},
	{"evhttp constant", 256, &way_constant, &constant_orders},
	{"Holdfast reserve", 16, &way_http, &load_reserve},
	{"Holdfast reserve", 64, &way_http, &load_reserve},
	{"Holdfast reserve", 256, &way_http, &load_reserve},
	{"Holdfast reserve", 1000, &way_http, &load_reserve},
	{"Holdfast batch of 500", 8, &way_http, &load_batch},
	{"Holdfast reserve, half speed", PACED, &way_http, &load_paced},
	{"Holdfast reserve, half of its own", PACED, &way_http, &load_paced_own},
	/* other loads */
	{"Holdfast reserve, settling beside", 256, &way_settle_beside, &load_reserve},
	{"Holdfast reserve, a reader beside", 256, &way_read_beside, &load_reserve},
	{"Holdfast events read", 1, &way_feed, NULL},
	{"Holdfast reserve, confirm: true", 256, &way_http, &load_confirmed},
	{"Holdfast reserve + confirm", 256, &way_http, &load_pair},
	{"Holdfast batch, reserve + confirm", 8, &way_http, &load_pairs},
	{"Holdfast baskets of 1 to 8 lines", 256, &way_http, &load_basket},
	{"Holdfast replayed sales", 256, &way_http, &load_sales},
	{"Holdfast batch, 3 lines", 8, &way_http, &load_three},
	{"Holdfast sell-out", 256, &way_http, &load_sellout},
	{"Holdfast mix, 80 % reads", 256, &way_http, &load_mix},
	{"Holdfast availability", 64, &way_http, &load_read},
	{"evhttp constant, GET", 64, &way_constant, &constant_readings},
};

static const struct contender deliveries[] = {
	{"deliveries to one webhook", 1, &way_deliver, &deliver_one},
	{"deliveries, 16 at once, 20 ms each", 16, &way_deliver, &deliver_parallel},
	{"deliveries to 19 webhooks", 19, &way_deliver, &deliver_many},
	{"deliveries to 20, one of which hangs", 20, &way_deliver, &deliver_beside},
};

static const struct contender jobs[] = {
	{"settle, order by order", 4, &way_settle_plain, NULL},
	{"work settle", 4, &way_settle, NULL},
	{"work expire", 4, &way_expire, NULL},
	{"orders served by an arrival", 1, &way_arrive, NULL},
};

/* Each two are compared, the second with the first. */
static const struct contender neighbours[] = {
	{"settle by tasks over HTTP", 4, &way_settle_asked, &load_task},
	{"settle by ids over HTTP", 4, &way_settle_asked, &load_settle},
	{"reservations, no customer", 256, &way_http, &load_reserve},
	{"reservations, 100,000 customers", 256, &way_http, &load_customers},
	{"reservations, no customer", 64, &way_http, &load_reserve},
	{"reservations, one customer", 64, &way_http, &load_customer},
	{"reservations, one place", 256, &way_http, &load_reserve},
	{"reservations, the last of three places", 256, &way_http, &load_places},
	{"reservations, a place without a line", 256, &way_http, &load_no_line},
	{"reservations, a place with a line", 256, &way_http, &load_line},
};

enum { TURNS_SECTION, DELIVERIES_SECTION, JOBS_SECTION, NEIGHBOURS_SECTION, SECTIONS };

static struct standing contender_standings[LENGTH(contenders)], delivery_standings[LENGTH(deliveries)],
	job_standings[LENGTH(jobs)], neighbour_standings[LENGTH(neighbours)];

static struct section sections[SECTIONS] = {
	{"Reservations", FOLDER "/rounds.csv", contenders, contender_standings, LENGTH(contenders), 3, 0.6,
         TURNS_FRESH},
	{"Deliveries", FOLDER "/deliveries.csv", deliveries, delivery_standings, LENGTH(deliveries), 1, 0.65,
         TURNS_FRESH},
	{"Jobs", FOLDER "/jobs.csv", jobs, job_standings, LENGTH(jobs), 1, 0.8, TURNS_FRESH},
	{"Neighbours", FOLDER "/neighbours.csv", neighbours, neighbour_standings, LENGTH(neighbours), PAIRS, 0.85,
         TURNS_PAIRED},
};

static const char usage[] =
	"usage: bench-holdfast [options], in the project's folder after make\n"
	"  --seconds S        of one round (3)\n"
	"  --turns N          rounds of each contender (3)\n"
	"  --orders FILE.csv  sales to be replayed: InvoiceNo, StockCode, Quantity (made up)\n"
	"  --only TEXT        contenders whose name holds TEXT (or readers); no memory section\n"
	"  --against PATH     what an order costs this program and that one, in turns, and nothing else\n"
	"  --pairs N          rounds of either of the two (9); without --against: without and with events\n"
	"  --scale            lanes, skus and a long past instead (make scale)\n"
	"  --quick            a look at everything: one short turn, small sizes\n"
	"  --minutes N        for all of it, at most (20; --scale and --against 25)\n"
	"  --lanes N          lanes of the service (its own default)\n"
	"  --buyers N         of the sell-out (100000)\n"
	"  --jobs N           orders that wait to be settled (1000000; 0: no jobs section)\n"
	"  --reservations N   of the memory section (1000000; 0: none); of --scale: before (20000000)\n"
	"  --skus N           of the memory section (100000; 0: none); of --scale: many (1000000)\n"
	"  --program PATH     the service (holdfast, beside this program)\n"
	"Exit status: 0, 1 if anything was wrong, 64 usage, 69 no database or no service.\n";

/* ---- options */

/* Options that are a number. What each is where it is not given: of the bench, with --quick, of --scale, of both. */
static const struct number {
	const char *name;
	size_t      at; /* in struct bench */
	bool        wide;
	int64_t     least, most, usual[4];
} numbers[] = {
	{"seconds", offsetof(struct bench, seconds), false, 1, SECONDS_MAX, {3, 1, 3, 1}},
	{"turns", offsetof(struct bench, turns), false, 1, TURNS_MAX, {3, 1, 3, 1}},
	{"pairs", offsetof(struct bench, pairs), false, 1, TURNS_MAX, {0, 0, 0, 0}},
	{"minutes", offsetof(struct bench, minutes), false, 1, 600, {0, 0, 0, 0}},
	{"lanes", offsetof(struct bench, lanes), false, 1, 64, {0, 0, 0, 0}},
	{"buyers", offsetof(struct bench, buyers), true, 10, 10000000, {100000, 20000, 0, 0}},
	{"jobs", offsetof(struct bench, jobs), true, 0, 10000000, {1000000, 60000, 0, 0}},
	{"reservations", offsetof(struct bench, reservations), true, 0, 100000000, {1000000, 100000, 20000000, 400000}},
	{"skus", offsetof(struct bench, skus), true, 0, 10000000, {100000, 20000, 1000000, 20000}},
};

static void number_set(struct bench *b, const struct number *n, int64_t value)
{
	void *at = (char *)b + n->at;

	if (n->wide)
		*(int64_t *)at = value;
	else
		*(int *)at = (int)value;
}

static bool number_read(struct bench *b, const struct number *n)
{
	char   *end;
	int64_t value = strtoll(optarg, &end, 10);

	number_set(b, n, value);
	if (*optarg && !*end && value >= n->least && value <= n->most)
		return true;
	say("bench: --%s is %lld to %lld", n->name, (long long)n->least, (long long)n->most);
	return false;
}

/* The program that was built with this one. */
static void program_find(struct bench *b)
{
	ssize_t len = readlink("/proc/self/exe", b->program, sizeof(b->program) - sizeof("holdfast"));

	b->program[len > 0 ? len : 0] = '\0';
	strcpy(strrchr(b->program, '/') ? strrchr(b->program, '/') + 1 : b->program, "holdfast");
}

static bool is_said(int argc, char **argv, const char *flag)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], flag) == 0)
			return true;
	return false;
}

static bool options_read(struct bench *b, int argc, char **argv)
{
	enum { ONLY = LENGTH(numbers), ORDERS, QUICK, SCALE, PROGRAM, AGAINST, HELP };
	bool          quick = is_said(argc, argv, "--quick");
	struct option options[LENGTH(numbers) + 8] = {
		[ONLY] = {"only", 1, NULL, ONLY},          [ORDERS] = {"orders", 1, NULL, ORDERS},
		[QUICK] = {"quick", 0, NULL, QUICK},       [SCALE] = {"scale", 0, NULL, SCALE},
		[PROGRAM] = {"program", 1, NULL, PROGRAM}, [AGAINST] = {"against", 1, NULL, AGAINST},
		[HELP] = {"help", 0, NULL, HELP},
	};

	program_find(b);
	b->scale = is_said(argc, argv, "--scale");
	for (int i = 0; i < (int)LENGTH(numbers); i++) {
		options[i] = (struct option){numbers[i].name, 1, NULL, i};
		number_set(b, &numbers[i], numbers[i].usual[2 * b->scale + quick]);
	}
	for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;)
		if (o >= 0 && o < ONLY) {
			if (!number_read(b, &numbers[o]))
				return false;
		} else if (o == ONLY) {
			b->only = optarg;
		} else if (o == ORDERS) {
			b->orders = *optarg ? optarg : NULL;
		} else if (o == PROGRAM) {
			snprintf(b->program, sizeof(b->program), "%s", optarg);
		} else if (o == AGAINST) {
			b->against = *optarg ? optarg : NULL;
		} else if (o == HELP) {
			fputs(usage, stdout);
			exit(EXIT_DONE);
		} else if (o != QUICK && o != SCALE) {
			return false;
		}
	if (!b->minutes)
		b->minutes = b->against || (b->scale && !quick) ? 25 : 20;
	if (optind < argc)
		say("bench: an argument too many: %s", argv[optind]);
	return optind == argc;
}

/* ---- the run */

/* Each table is printed as soon as it is there: what comes later may run out of time. */
static void bench_run(struct bench *b)
{
	struct memory memory = {0};

	sections[TURNS_SECTION].turns = b->turns;
	sections[DELIVERIES_SECTION].turns = 1;
	sections[JOBS_SECTION].turns = b->jobs > 0;
	sections[NEIGHBOURS_SECTION].turns = b->pairs ? b->pairs : b->turns > 1 ? PAIRS : 1;
	for (size_t i = 0; i < SECTIONS && !b->broken; i++) {
		section_run(b, &sections[i]);
		report_section(b, &sections[i], sections);
	}
	if (!b->only && !b->broken)
		memory_run(b, &memory);
	if (!b->broken && (!b->only || strcmp(b->only, "readers") == 0))
		readers_run(b, &memory);
	stage_check();
	if (b->broken)
		return;
	report_memory(&memory);
	pairs_run(b);
	goals_report(sections, SECTIONS, &memory);
	plot_write(&sections[TURNS_SECTION], FOLDER "/rounds.svg");
	printf("\nThe plot is " FOLDER "/rounds.svg\n");
}

int main(int argc, char **argv)
{
	static struct bench b;

	if (argc == 2 && strcmp(argv[1], "constant") == 0)
		return constant_main();
	if (argc == 2 && strcmp(argv[1], "receiver") == 0)
		return receiver_main();
	if (argc > 1 && strcmp(argv[1], "at") == 0)
		return at_main(argc, argv);
	if (!options_read(&b, argc, argv)) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!b.scale && !b.against && !sales_open(&ledger_sales, b.orders))
		return EXIT_USAGE;
	if (stage_open(&b))
		(b.scale ? scale_run : b.against ? pairs_run : bench_run)(&b);
	else
		b.broken = true;
	stage_check();
	if (!b.broken)
		printf("\n%.0f s. The tables are in " FOLDER "/*.csv\n", (double)(clock_us() - b.begun_us) / 1e6);
	stage_close(&b);
	sales_close(&ledger_sales);
	for (size_t i = 0; i < SECTIONS; i++)
		for (size_t k = 0; k < sections[i].count; k++)
			free(sections[i].standings[k].samples.us);
	return b.broken ? EXIT_UNAVAILABLE : bench_was_wrong() ? EXIT_TROUBLE : EXIT_DONE;
}
