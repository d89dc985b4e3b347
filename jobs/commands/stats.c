/* stats.c - the command `stats`: stock, reservations by state, slots, oldest waiting, tasks. */
#include "jobs/commands/stats.h"
#include "engine/base/json.h"
#include "engine/db/db.h"
#include "engine/read/census.h"
#include "jobs/commands/database.h"
#include "jobs/options.h"

#include <stdio.h>

static void figure_json(void *arg, const char *name, int64_t n)
{
	json_put_int(arg, name, n);
}

static void figure_print(void *arg, const char *name, int64_t n)
{
	(void)arg;
	printf("%-24s %lld\n", name, (long long)n);
}

static void stats_json(const struct census *counts)
{
	struct text        out = {0};
	struct json_writer w = {.to = &out};

	json_open_object(&w, NULL);
	census_tell(counts, figure_json, &w);
	json_close_object(&w);
	puts(out.data);
	text_fini(&out);
}

static int stats_act(struct db *db, void *arg)
{
	struct census counts;

	(void)arg;
	if (!census_read(db, &counts))
		return EXIT_UNAVAILABLE;
	if (option_given(OPTION_json))
		stats_json(&counts);
	else
		census_tell(&counts, figure_print, NULL);
	return EXIT_DONE;
}

int stats_run(void)
{
	return database_run(EMBEDDED_FIND, false, stats_act, NULL);
}
