/* at.c - one round on services that another program has started, for tests/fault/drills_speed.py:
 *
 *   bench-holdfast at PORT[,PORT[,PORT]] reserve|waiting|claims CONNECTIONS SECONDS    services on 127.0.0.1, in turns
 *   bench-holdfast at mariadb://.. classic CONNECTIONS SECONDS                         a database, for SQL
 *
 * The skus are there. Prints one line of JSON; 0 if no answer was wrong. */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "holdfast.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CLAIMED = 20 };

static const struct {
	const char             *name;
	const struct http_load *load;
	int                     per_call; /* 0: as the load has it */
} loads[] = {
	{"reserve", &load_reserve, 0},
	{"waiting", &load_waiting, 0},
	{"claims", &load_task, CLAIMED},
};

static bool ports_read(struct bench *b, const char *text)
{
	return sscanf(text, "%u,%u,%u", &b->port, &b->second_port, &b->third_port) >= 1;
}

static bool sql_at(struct bench *b, const char *url, int connections, struct round *out)
{
	const struct contender c = {"classic slotted", connections, &way_sql, &sql_classic};
	char                   why[300];

	if (!db_target_parse(&b->database, url, why, sizeof(why))) {
		say("bench: %s: %s", url, why);
		return false;
	}
	if (!way_sql.open(b, &c))
		return false;
	way_sql.run(b, &c, out);
	return true;
}

static bool http_at(struct bench *b, const char *ports, const char *name, int connections, struct round *out)
{
	for (size_t i = 0; i < LENGTH(loads) && ports_read(b, ports); i++)
		if (strcmp(loads[i].name, name) == 0) {
			struct http_load load = *loads[i].load;

			if (loads[i].per_call)
				load.per_call = loads[i].per_call;
			ledger_open(load.ledger);
			visit_run(b, &load, connections, INT64_MAX, out);
			ledger_fini(load.ledger);
			return true;
		}
	return false;
}

int at_main(int argc, char **argv)
{
	static struct bench b;
	struct round        r = {0};
	int                 connections = argc == 6 ? atoi(argv[4]) : 0;
	bool                done;

	b.seconds = argc == 6 ? atoi(argv[5]) : 0;
	if (connections < 1 || b.seconds < 1 || b.seconds > SECONDS_MAX)
		return EXIT_USAGE;
	b.order_next = 1000 * (uint64_t)clock_wall_ms(); /* no round before this one has used so many */
	done = strcmp(argv[3], "classic") == 0 ? sql_at(&b, argv[2], connections, &r)
	                                       : http_at(&b, argv[2], argv[3], connections, &r);
	if (!done)
		return EXIT_USAGE;
	printf("{\"rate\":%.1f,\"orders\":%" PRId64 ",\"units\":%" PRId64 ",\"wrong\":%" PRId64
	       ",\"p50_ms\":%.2f,\"p99_ms\":%.2f}\n",
	       r.seconds > 0 ? (double)r.timed / r.seconds : 0, r.orders, r.units, r.wrong, samples_ms(&r.samples, 0.5),
	       samples_ms(&r.samples, 0.99));
	free(r.samples.us);
	return bench_was_wrong() ? EXIT_TROUBLE : EXIT_DONE;
}
