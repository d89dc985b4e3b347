/* test_log.c - the log of events as the steps of a flow leave it: each change is told once, with its key, its cause,
 * and as GET says it right after. */
#include "engine/base/memory.h"
#include "engine/log/event_json.h"
#include "tests/lang/flow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The events that were not read before, in their order. */
struct told {
	struct catalogue   *catalogue;
	int64_t             stamp; /* of the last row that told something */
	struct feed_event **events;
	size_t              count, max;
	uint64_t            numbers[100]; /* of the last row of each writer */
};

static void sku_read(void *arg, const struct db_row *row)
{
	catalogue_sku_enter(arg, (uint32_t)db_int(row, 0), row->col[1], row->len[1]);
}

static void location_read(void *arg, const struct db_row *row)
{
	struct location location = {.location_id = (uint32_t)db_int(row, 0)};

	strcpy(location.code, row->col[1]);
	catalogue_locations_enter(arg, catalogue_locations_ask(arg), 1, &location, 1);
}

/* Levels are told by a service in its own time, behind what the steps have changed. */
static void row_read(void *arg, const struct db_row *row)
{
	struct told     *t = arg;
	struct values    skus = {0}, locations = {0};
	size_t           before = t->count;
	struct event_row r = {.writer_id = (uint32_t)db_int(row, 0),
	                      .event_no = (uint64_t)db_int(row, 1),
	                      .stamp = db_int(row, 2),
	                      .at = db_int(row, 3),
	                      .changes = row->col[4],
	                      .len = row->len[4]};

	if (r.event_no <= t->numbers[r.writer_id])
		return; /* read before */
	cr_expect_eq(r.event_no, ++t->numbers[r.writer_id], "writer %u has no hole", r.writer_id);
	cr_assert(event_decode(t->catalogue, &r, NULL, NULL, &t->events, &t->count, &t->max, &skus, &locations));
	cr_assert_eq(skus.count + locations.count, 0);
	if (event_trait(t->events[before]->type)->about == LEVEL) {
		while (t->count > before)
			feed_event_free(t->events[--t->count]);
		return;
	}
	cr_assert_gt(r.stamp, t->stamp);
	t->stamp = r.stamp;
}

/* Reads what was written since the last call. */
static void told_more(struct told *t)
{
	struct db *db = flow_scratch()->db;

	for (size_t i = 0; i < t->count; i++)
		feed_event_free(t->events[i]);
	t->count = 0;
	if (!t->catalogue)
		t->catalogue = catalogue_new();
	cr_assert(db_text(db, "SELECT sku_id, code FROM sku", sku_read, t->catalogue) == DB_OK);
	cr_assert(db_text(db, "SELECT location_id, code FROM location", location_read, t->catalogue) == DB_OK);
	cr_assert(db_text(db,
	                  "SELECT writer_id, event_no, stamp, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', at) DIV 1000,"
	                  " changes FROM event ORDER BY stamp, writer_id",
	                  row_read, t) == DB_OK,
	          "%s", db_error(db));
}

static void told_fini(struct told *t)
{
	for (size_t i = 0; i < t->count; i++)
		feed_event_free(t->events[i]);
	free(t->events);
	catalogue_free(t->catalogue);
}

static void lines_add(struct text *to, const struct line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++)
		text_format(to, " %s=%lld", lines[i].sku_code, (long long)lines[i].granted);
}

/* R1 held A=2 < R0 *: R1 is held, why, and that a key did it. Of a settlement the id is left out. */
static void event_add(struct text *to, const struct feed_event *e)
{
	const char *id = e->reservation ? e->reservation->order_id : e->movement->movement_id;
	const char *word = strchr(event_trait(e->type)->word, '.') + 1;

	if (to->len)
		text_add(to, " | ");
	text_format(to, "%s%s%s", e->type == EVENT_SETTLEMENT ? "" : id, e->type == EVENT_SETTLEMENT ? "" : " ", word);
	if (e->reservation)
		lines_add(to, e->reservation->lines, e->reservation->lines_count);
	else
		lines_add(to, e->movement->lines, e->movement->lines_count);
	if (e->cause[0])
		text_format(to, " < %s", e->cause);
	if (e->task_id)
		text_format(to, " < %llu", (unsigned long long)e->task_id);
	if (e->by_key)
		text_add(to, " *");
}

static void told_is(struct told *t, const char *step, const char *expected)
{
	struct text now = {0};

	told_more(t);
	for (size_t i = 0; i < t->count; i++)
		event_add(&now, t->events[i]);
	cr_expect_str_eq(now.data ? now.data : "", expected, "%s: %s, not %s", step, now.data ? now.data : "nothing",
	                 expected);
	text_fini(&now);
}

/* The data of the order's last event, without quotes and up to its cause, stands in what GET says. */
static void told_as_got(struct told *t, const char *order_id)
{
	struct text json = {0}, bare = {0};
	size_t      i = t->count;
	char       *from, *to;

	while (i-- > 0 && (!t->events[i]->reservation || strcmp(t->events[i]->reservation->order_id, order_id) != 0))
		cr_assert_gt(i, 0, "nothing is told of %s", order_id);
	event_json(&json, t->events[i]);
	from = strstr(json.data, "\"data\":{") + strlen("\"data\":{");
	to = strstr(from, ",\"cause\"");
	if (!to)
		to = json.data + json.len - 2;
	for (; from < to; from++)
		if (*from != '"')
			text_char(&bare, *from);
	flow_step("raw GET /v1/reservations/%s -> 200 '~%s'", order_id, bare.data);
	text_fini(&json);
	text_fini(&bare);
}

struct step {
	const char *step, *events;
};

static void told_steps(struct told *t, const struct step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		flow_step("%s", steps[i].step);
		told_is(t, steps[i].step, steps[i].events);
	}
}
#define TOLD(t, steps) told_steps(t, steps, LENGTH(steps))

/* ---- orders and movements */

Test(log, every_change_is_told_once)
{
	static const struct step steps[] = {
		{"receipt M1 A +10 B +5 C +5 -> 201", "M1 receipt A=10 B=5 C=5"},
		{"receipt M1 A +10 B +5 C +5 -> 200 replayed", ""},
		{"return M2 B +1 -> 201", "M2 return B=1"},
		{"adjust M3 A -1 B -1 -> 201", "M3 adjustment A=-1 B=-1"},
		{"adjust M3b A -1000 -> 409 short", ""},
		{"count M4 A=9 B=4 -> 201", "M4 count A=0 B=-1"},
		{"count M5 A=9 expected=8 -> 409 count_mismatch", ""},
		{"reserve R1 A=2 reference=gift -> 201", "R1 held A=2"},
		{"reserve R1 A=2 -> 200 replayed", ""},
		{"reserve R2 A=99 -> 409 short", ""},
		{"reserve R2 A=99 B=1 mode=best_effort -> 201", "R2 held A=7 B=1"},
		{"release R2 -> 200", "R2 released A=7 B=1"},
		{"release R2 -> 200 replayed", ""},
		{"extend R1 ttl=600 -> 200", "R1 extended A=2"},
		{"confirm R1 -> 200", "R1 confirmed A=2"},
		{"confirm R1 -> 200 replayed", ""},
		{"reserve R3 A=1 confirm=true -> 201 confirmed", "R3 held A=1 | R3 confirmed A=1"},
		{"reserve R4 A=1 B=2 -> 201", "R4 held A=1 B=2"},
		{"reserve R5 A=3 replaces=R4 -> 201", "R4 replaced A=1 B=2 < R5 | R5 held A=3 < R4"},
		{"split R5 R5b A=1 -> 201", "R5 split A=2 < R5b | R5b split A=1 < R5"},
		{"split R5 R5c A=1 then=confirm -> 201", "R5 split A=1 < R5c | R5c split A=1 < R5 | R5c confirmed A=1"},
		{"split R1 R1b A=1 then=release -> 201", "R1 split A=1 < R1b | R1b split A=1 < R1 | R1b released A=1"},
		{"split R1 R1b A=1 then=release -> 200 replayed", ""},
		{"reserve R6 B=2 C=1 -> 201", "R6 held B=2 C=1"},
		{"split R6 R6b B=2 -> 201", "R6 split C=1 < R6b | R6b split B=2 < R6"},
		{"reserve R7 C=1 confirm=true -> 201", "R7 held C=1 | R7 confirmed C=1"},
		{"split R7 R7b C=1 then=confirm -> 422 nothing_left", ""},
		{"reserve R8 C=2 confirm=true -> 201", "R8 held C=2 | R8 confirmed C=2"},
		{"split R8 R8b C=1 then=confirm -> 201", "R8 split C=1 < R8b | R8b split C=1 < R8"},
	};
	struct told t = {0};

	flow_begin();
	TOLD(&t, steps);
	told_fini(&t);
	flow_end();
}

Test(log, expiry_is_told_when_it_is_swept)
{
	static const struct step steps[] = {
		{"receipt M1 A +10 -> 201", "M1 receipt A=10"},
		{"reserve R1 A=6 ttl=60 -> 201", "R1 held A=6"},
		{"reserve R2 A=1 ttl=60 -> 201", "R2 held A=1"},
		{"reserve R3 A=1 ttl=60 -> 201", "R3 held A=1"},
		{"tick 61", ""},
		{"confirm R2 reacquire -> 200 reacquired", "R2 confirmed A=1 < reacquired"},
		{"work expire -> 0", "R1 expired A=6 < 1 | R3 expired A=1 < 1"},
		{"confirm R1 reacquire -> 200 reacquired", "R1 confirmed A=6 < reacquired"},
		{"reserve R4 A=3 ttl=60 -> 201", "R4 held A=3"},
		{"tick 61", ""},
		{"reserve R5 A=3 -> 201", "R4 expired A=3 | R5 held A=3"},
		{"purge", ""},
	};
	struct told t = {0};

	flow_begin();
	told_steps(&t, steps, LENGTH(steps) - 1);
	flow_step("run purge --keep 0 -> 0");
	told_is(&t, "purge", "");
	told_fini(&t);
	flow_end();
}

Test(log, settlement_and_burial_are_told)
{
	static const struct step steps[] = {
		{"receipt M1 A +10 B +10 -> 201", "M1 receipt A=10 B=10"},
		{"batch R1 A=2 B=1 confirm=true | R2 A=1 confirm=true | R3 A=1 confirm=true -> 201 | 201 | 201",
	         "R1 held A=2 B=1 | R1 confirmed A=2 B=1 | R2 held A=1 | R2 confirmed A=1 | R3 held A=1 | R3 confirmed "
	         "A=1"},
		{"claim settle w -> 201 orders=R1,R2,R3", ""},
		{"complete 1 R1 R2 -> completed=2",
	         "R1 settled A=2 B=1 < 1 | R2 settled A=1 < 1 | settlement A=-3 B=-1 < 1"},
		{"complete 1 R1 R2 -> completed=2", ""},
		{"fail 1 R3=retry:later -> retried=1", ""},
		{"tick 10", ""},
		{"claim settle w -> 201 R3", ""},
		{"fail 2 R3=bury:broken -> buried=1", "R3 buried A=1 < 2"},
		{"kick R3 -> 200", "R3 kicked A=1"},
		{"claim settle w lease=1 -> 201 R3", ""},
		{"tick 5", ""},
		{"run reap --max-attempts 1 -> 0", "R3 buried A=1 < 3"},
		{"run kick --all -> 0", "R3 kicked A=1"},
		{"work settle -> 0", "R3 settled A=1 < 4 | settlement A=-1 < 4"},
	};
	struct told t = {0};

	flow_begin();
	TOLD(&t, steps);
	told_fini(&t);
	flow_end();
}

Test(log, is_what_get_says)
{
	static const struct {
		const char *step, *order_id;
	} steps[] = {
		{"reserve R1 A=3 B=1 reference=gift -> 201", "R1"},
		{"extend R1 ttl=600 -> 200", "R1"},
		{"confirm R1 -> 200", "R1"},
		{"release R1 -> 200", "R1"},
		{"reserve R2 B=1 ttl=60 -> 201", "R2"},
		{"tick 61", NULL},
		{"work expire -> 0", "R2"},
		{"confirm R2 reacquire -> 200", "R2"},
		{"claim settle w -> 201 R2", NULL},
		{"fail 2 R2=bury:broken -> buried=1", "R2"},
		{"kick R2 -> 200", "R2"},
		{"reserve R4 A=4 -> 201", "R4"},
		{"split R4 R5 A=1 then=confirm -> 201", "R4"},
		{"split R4 R6 A=1 then=confirm -> 201", "R6"},
		{"reserve R7 A=2 replaces=R4 -> 201", "R7"},
		{"reserve R8 A=2 replaces=R7 -> 201", "R7"},
		{"work settle -> 0", "R2"},
	};
	struct told t = {0};

	flow_begin();
	flow_step("receipt A +10 B +5 -> 201");
	for (size_t i = 0; i < LENGTH(steps); i++) {
		flow_step("%s", steps[i].step);
		told_more(&t);
		if (steps[i].order_id)
			told_as_got(&t, steps[i].order_id);
	}
	told_fini(&t);
	flow_end();
}

/* The key that did it, not the key that made the order. */
Test(log, names_the_key)
{
	static const struct step steps[] = {
		{"receipt M1 A +10 -> 201", "M1 receipt A=10 *"},
		{"reserve R1 A=2 -> 201", "R1 held A=2 *"},
		{"confirm R1 -> 200", "R1 confirmed A=2 *"},
		{"claim settle w -> 201 R1", ""},
		{"fail 1 R1=bury -> buried=1", "R1 buried A=2 < 1 *"},
		{"kick R1 -> 200", "R1 kicked A=2 *"},
		{"work settle -> 0", "R1 settled A=2 < 2 | settlement A=-2 < 2"},
	};
	struct told t = {0};

	flow_begin();
	flow_steps("keys boss admin",
	           "serve --lanes 2",
	           "key boss");
	told_steps(&t, steps, LENGTH(steps) - 1);
	flow_end();
	told_fini(&t);
}
