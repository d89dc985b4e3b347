/* stats.c - the command `stats`: stock, reservations by state, slots, oldest waiting, tasks. */
#include "commands/stats.h"
#include "commands/database.h"
#include "commands/options.h"
#include "commands/terminal/stats_watch.h"
#include "engine/base/codes.h"
#include "engine/base/json.h"
#include "engine/base/log.h"
#include "engine/db/db.h"
#include "engine/read/census.h"

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

static void object_print(const struct census *counts, const struct node *node)
{
	struct text        out = {0};
	struct json_writer w = {.to = &out};

	json_open_object(&w, NULL);
	census_tell(counts, figure_json, &w);
	if (node && *node->name) {
		json_put_string(&w, "node", node->name);
		json_put_string(&w, "node_state", node->state);
		json_put_string(&w, "cluster_status", node->status);
		json_put_int(&w, "cluster_size", node->size);
	}
	json_close_object(&w);
	puts(out.data);
	text_fini(&out);
}

static void stats_json(const struct census *counts)
{
	object_print(counts, NULL);
}

static void stats_print(const struct census *counts, const struct node *node)
{
	census_tell(counts, figure_print, NULL);
	if (*node->name)
		printf("%-24s %s\n%-24s %s\n%-24s %s\n%-24s %lld\n", "node", node->name, "node_state", node->state,
		       "cluster_status", node->status, "cluster_size", (long long)node->size);
}

static int stats_act(struct db *db, void *arg)
{
	struct census  counts;
	const int64_t *watch_s = arg; /* 0: one look */
	struct node    node;          /* node.name is empty without a cluster */

	if (*watch_s)
		return stats_watch(db, *watch_s, option_given(OPTION_json) ? stats_json : NULL);
	if (!census_read(db, false, &counts))
		return EXIT_UNAVAILABLE;
	source_node(db_source(db), &node);
	if (option_given(OPTION_json))
		object_print(&counts, &node);
	else
		stats_print(&counts, &node);
	return EXIT_DONE;
}

int stats_run(void)
{
	const char *watch = option_text(OPTION_watch), *s = operand(0) ? operand(0) : watch && *watch ? watch : "2";
	bool        digits = strlen(s) <= 4 && strspn(s, "0123456789") == strlen(s);
	int64_t     watch_s = watch && digits ? strtoll(s, NULL, 10) : 0;

	if (operand(0) && (!watch || *watch))
		return say_status(EXIT_USAGE, "unexpected argument %s; try `holdfast stats --help`", operand(0));
	if (watch && (watch_s < 1 || watch_s > 3600))
		return say_status(EXIT_USAGE, "--watch " INTEGER_RULE, 1LL, 3600LL);
	return database_run(EMBEDDED_FIND, false, stats_act, &watch_s);
}
