/* stats.c - the command `stats`: stock, reservations by state, slots, oldest waiting, tasks. */
#include "jobs/commands/stats.h"
#include "engine/base/json.h"
#include "engine/db/db.h"
#include "engine/read/census.h"
#include "jobs/commands/database.h"
#include "jobs/options.h"
#include "jobs/reap.h"

#include <stdio.h>
#include <string.h>

struct stock_row {
	int64_t skus, locations, slots, slot_rows, available, reserved, aside, incoming, incoming_reserved;
};

/* Rows whose time was given by a clock that was ahead; a reaper brings them back. */
struct ahead {
	int64_t orders, leases;
};

static void number_print(struct json_writer *w, bool json, const char *name, int64_t n)
{
	if (json)
		json_put_int(w, name, n);
	else
		printf("%-24s %lld\n", name, (long long)n);
}

static void stats_print(const struct stock_row *stock, const struct census *counts, const struct ahead *ahead,
                        bool json)
{
	struct text        out = {0};
	struct json_writer w = {.to = &out};
	char               name[48];

	json_open_object(&w, NULL);
	number_print(&w, json, "skus", stock->skus);
	number_print(&w, json, "locations", stock->locations);
	number_print(&w, json, "slots", stock->slots);
	number_print(&w, json, "slot_rows", stock->slot_rows);
	number_print(&w, json, "available", stock->available);
	number_print(&w, json, "reserved", stock->reserved);
	number_print(&w, json, "aside", stock->aside);
	number_print(&w, json, "on_hand", stock->available + stock->reserved + stock->aside);
	number_print(&w, json, "incoming", stock->incoming);
	number_print(&w, json, "incoming_reserved", stock->incoming_reserved);
	for (int s = HELD; s < STATES; s++) {
		number_print(&w, json, reservation_state_name((enum reservation_state)s), counts->by_state[s]);
		snprintf(name, sizeof(name), "%s_claimed", reservation_state_name((enum reservation_state)s));
		if (s == HELD || s == CONFIRMED)
			number_print(&w, json, name, counts->claimed[s]);
	}
	number_print(&w, json, "oldest_expired_ms", counts->oldest_ready_ms[HELD]);
	number_print(&w, json, "oldest_confirmed_ms", counts->oldest_ready_ms[CONFIRMED]);
	number_print(&w, json, "ready", counts->ready[CONFIRMED]);
	number_print(&w, json, "ready_to_expire", counts->ready[HELD]);
	number_print(&w, json, "tasks_open", counts->tasks_open);
	number_print(&w, json, "oldest_lease_ms", counts->oldest_lease_ms);
	number_print(&w, json, "event_rows", counts->event_rows);
	number_print(&w, json, "event_bytes", counts->event_bytes);
	number_print(&w, json, "oldest_event_ms", counts->oldest_event_ms);
	number_print(&w, json, "orders_ahead", ahead->orders);
	number_print(&w, json, "leases_ahead", ahead->leases);
	json_close_object(&w);
	if (json)
		printf("%s\n", out.data);
	text_fini(&out);
}

static int stats_act(struct db *db, void *arg)
{
	struct stock_row stock = {0};
	struct census    counts;
	struct ahead     ahead;

	(void)arg;
	if (db_ask(db, STOCK_STATS, NULL, db_ints, &stock) != DB_OK || !census_read(db, &counts) ||
	    task_ahead(db, &ahead.orders, &ahead.leases) != DB_OK)
		return EXIT_UNAVAILABLE;
	stats_print(&stock, &counts, &ahead, option_given(OPTION_json));
	return EXIT_DONE;
}

int stats_run(void)
{
	return database_run(EMBEDDED_FIND, false, stats_act, NULL);
}
