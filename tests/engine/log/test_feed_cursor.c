/* test_feed_cursor.c - the text of a place in the log: read back as it was written, one for each place, short. */
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/log/feed_cursor.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void round_trip(const struct feed_place *p, const char *named)
{
	struct feed_place found = {0};
	char             *text = feed_place_write(p), numbers[200] = "";

	cr_assert(feed_place_read(text, &found), "%s", text);
	cr_expect(found.mark == p->mark && found.era == p->era && found.known == p->known && found.stamp == p->stamp &&
	          found.writer_id == p->writer_id && found.event_no == p->event_no && found.part == p->part &&
	          found.part_writer == p->part_writer);
	for (size_t i = 0; i < found.count; i++) {
		const struct feed_writer *w = &found.writers[i], *was = feed_place_find(p, w->writer_id);

		cr_assert(was && w->event_no == was->event_no && w->check == was->check);
		snprintf(numbers + strlen(numbers), sizeof(numbers) - strlen(numbers), "%u ", w->writer_id);
	}
	cr_expect(!named || strcmp(numbers, named) == 0, "%s", numbers);
	free(text);
	feed_place_fini(&found);
}

/* Writers 1 to 5 with ten rows each, behind the first five. */
static struct feed_place place_of_five(void)
{
	struct feed_place p = {.mark = 77, .era = 3, .known = 9};

	for (uint32_t id = 1; id <= 5; id++) {
		struct feed_writer *w = feed_place_add(&p, id);

		w->event_no = 5;
		w->last = 10;
		w->check = feed_check(5, id);
	}
	return p;
}

Test(feed_cursor, round_trips)
{
	struct feed_place empty = {0}, five = place_of_five();
	struct feed_place most = {.mark = UINT64_MAX >> 8,
	                          .era = UINT32_MAX,
	                          .known = UINT32_MAX,
	                          .stamp = INT64_MAX - 1,
	                          .writer_id = UINT32_MAX,
	                          .event_no = INT64_MAX};

	round_trip(&empty, "");
	round_trip(&five, "1 2 3 4 5 ");
	feed_place_add(&most, UINT32_MAX)->event_no = INT64_MAX;
	most.part = UINT32_MAX;
	most.part_writer = UINT32_MAX;
	round_trip(&most, "4294967295 ");
	feed_place_fini(&five);
	feed_place_fini(&most);
}

Test(feed_cursor, names_of_ended_writers)
{
	struct feed_place p = place_of_five();

	p.writers[0].ended = true; /* named by an earlier cursor, and not read to its end */
	p.writers[1].ended = true; /* found by the merge */
	p.writers[1].found_from = INT64_MIN;
	p.writers[2].ended = true; /* read to its end */
	p.writers[2].event_no = 10;
	round_trip(&p, "1 4 5 ");
	p.part_writer = 2;
	p.part = 7;
	round_trip(&p, "1 2 4 5 ");
	p.part_writer = p.part = 0;
	p.writers[1].found_from =
		100; /* rows up to this stamp are gone: a merge before it looks like one that missed them */
	p.stamp = 100;
	round_trip(&p, "1 2 4 5 ");
	p.stamp = 101;
	round_trip(&p, "1 4 5 ");
	feed_place_fini(&p);
}

Test(feed_cursor, a_row_that_is_passed)
{
	struct feed_place p = place_of_five();

	feed_place_pass(&p, 2, 6, 500, 0);
	cr_expect(p.stamp == 500 && p.writer_id == 3 && p.event_no == 6 && p.writers[2].event_no == 6);
	cr_expect_eq(p.writers[2].check, feed_check(6, 500));
	cr_expect(feed_place_behind(&p, 3) == 501 && feed_place_behind(&p, 2) == 501 &&
	          feed_place_behind(&p, 4) == 500);
	feed_place_pass(&p, 0, 6, 400, 4); /* late */
	cr_expect(p.stamp == 500 && p.writer_id == 3 && p.writers[0].event_no == 5 && p.part == 4 &&
	          p.part_writer == 1);
	feed_place_pass(&p, 0, 6, 400, 0);
	cr_expect(p.stamp == 500 && p.writers[0].event_no == 6 && p.part == 0 && p.part_writer == 0);
	feed_place_pass(&p, 3, 6, 500, 0);
	cr_expect(p.stamp == 500 && p.writer_id == 4);
	feed_place_fini(&p);
}

/* Every text that is read is the one that is written for its place: a byte more, less or other is none. */
Test(feed_cursor, one_text_for_a_place)
{
	struct feed_place p = place_of_five(), found = {0};
	char             *text = feed_place_write(&p);
	size_t            len = strlen(text);

	for (size_t i = 0; i < len; i++)
		for (int c = 1; c < 128; c++) {
			char *other = mem_copy(text);

			other[i] = (char)c;
			cr_expect_eq(feed_place_read(other, &found), other[i] == text[i], "%s", other);
			feed_place_fini(&found);
			free(other);
		}
	text = mem_resize(text, len + 2);
	strcpy(text + len, "A");
	cr_expect_not(feed_place_read(text, &found));
	feed_place_fini(&found);
	feed_place_fini(&p);
	free(text);
}

static const struct {
	const char *text;
	int64_t     us; /* -1: no time */
} times[] = {
	{"1970-01-01T00:00:00Z", 0},
	{"2026-11-22T08:00:00Z", INT64_C(1795334400000000)},
	{"2026-11-22t08:00:00z", INT64_C(1795334400000000)},
	{"2026-11-22T08:00:00.5Z", INT64_C(1795334400500000)},
	{"2026-11-22T08:00:00.1234567Z", INT64_C(1795334400123456)},
	{"2026-11-22T10:30:00+02:30", INT64_C(1795334400000000)},
	{"2026-11-22T00:00:00-08:00", INT64_C(1795334400000000)},
	{"2024-02-29T00:00:00Z", INT64_C(1709164800000000)},
	{"2016-12-31T23:59:60Z", INT64_C(1483228800000000)},
	{"2025-02-29T00:00:00Z", -1},
	{"2026-11-31T00:00:00Z", -1},
	{"2026-13-01T00:00:00Z", -1},
	{"2026-11-22T24:00:00Z", -1},
	{"2026-11-22T08:60:00Z", -1},
	{"2026-11-22T08:00:61Z", -1},
	{"2026-11-22T08:00:00.Z", -1},
	{"2026-11-22T08:00:00", -1},
	{"2026-11-22T08:00:00Zx", -1},
	{"2026-11-22T08:00:00+2:30", -1},
	{"2026-11-22T08:00:00+24:00", -1},
	{"2026-11-22 08:00:00Z", -1},
	{"2026-11-22", -1},
	{"1970-01-01T00:00:00+00:01", -1},
	{"1969-12-31T23:59:59Z", -1},
	{"26-11-22T08:00:00Z", -1},
	{"", -1},
	{"2026-11-22T08:00:00.99999999999999999999999999Z", INT64_C(1795334400999999)},
};

Test(feed_cursor, times)
{
	for (size_t i = 0; i < LENGTH(times); i++) {
		int64_t us = -1;
		bool    ok = time_read(times[i].text, &us);

		cr_expect_eq(ok, times[i].us >= 0, "%s", times[i].text);
		cr_expect(!ok || us == times[i].us, "%s: %lld", times[i].text, (long long)us);
	}
}
