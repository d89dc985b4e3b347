/* test_customer_crowd.c - many buyers that say that they are one customer, over two services: never more units than the
 * limit, and no order is refused that could have had some.
 *
 * A trigger writes down the customer's units behind each change, with the time, under the lock of the row. A value is
 * over at the commit of the next transaction that changes it, which is before the one behind that writes. */
#include "engine/base/memory.h"
#include "tests/lang/race.h"
#include "tests/lang/trap.h"
#include "tests/lang/verb.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUYERS = 64, LIMIT = 2, CROWD_S = 6, CROWD_MOST_S = 60, REFUSED_MAX = 100000 };

Test(customer_crowd, the_last_units)
{
	flow("serve   --lanes 2",
	     "second  --lanes 2 --slot 2",
	     "receipt A +1000 B +1000        -> 201",
	     "limit   A 2                    -> 200",
	     "race 64 reserve R# A=1 customer=c -> 2x 201 held | 62x 409 limit_reached A limit=2 has=2 requested=1",
	     "race 64 reserve R# A=1 customer=c -> 2x 200 held replayed | 62x 409 limit_reached",
	     "race 64 reserve S# A=2 B=1 customer=d || reserve S# B=1 A=2 customer=d -> 1x 201 | 63x 409 limit_reached",
	     "race 64 reserve T# A=9 customer=e mode=best_effort -> 1x 201 A=2 short A available=2 limit=true |"
	     " 63x 409 limit_reached A has=2 requested=9",
	     "race 64 reserve U# A=1 customer=f# -> 64x 201",
	     "race 64 reserve V# A=1         -> 64x 422 customer_required");
}

/* Rows of several customers and skus, in opposite order. */
Test(customer_crowd, opposite_orders)
{
	flow("serve   --lanes 2",
	     "second  --lanes 2 --slot 2",
	     "receipt A +1000 B +1000 C +1000 -> 201",
	     "limit   A 20                   -> 200",
	     "limit   C 30                   -> 200",
	     "race 64*5 reserve R# A=1 B=1 C=1 customer=c || reserve R# C=1 B=1 A=1 customer=d ||"
	     " reserve R# B=1 A=1 customer=c || reserve R# C=1 A=1 customer=d -> 40x 201 |"
	     " 280x 409 limit_reached A has=20",
	     "race 64*5 release R# -> 40x 200 released | 280x 404",
	     "has     A c                    -> has=0",
	     "has     C d                    -> has=0");
}

/* ---- buyers that go on */

struct refusal {
	int64_t began_us, ended_us;
	int     units;
};

struct crowd {
	atomic_bool    ends;
	atomic_int     granted, refusals, others;
	struct refusal refused[REFUSED_MAX];
};

struct buyer {
	struct crowd *crowd;
	pthread_t     thread;
	int           number, port, count;
	unsigned      seed;
};

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

/* The status of the answer; 0 where a form of words is no request. */
static int ask(struct client *c, const char *text)
{
	struct step   step;
	struct call   call = {0};
	struct answer answer = {0};
	int           status = 0;

	step_read(&step, text, -1);
	if (verb_write(&step, &call)) {
		client_call(c, &call, &answer);
		status = answer.status;
		if (answer.json && status == 409 && !strstr(answer.body.data, "limit_reached"))
			status = 0;
	}
	step_fini(&step);
	call_fini(&call);
	answer_fini(&answer);
	return status;
}

/* Goes on with an order that was granted: each way out, and on. */
static void follow(struct buyer *b, struct client *c, const char *id)
{
	static const char *const ways[] = {"release %s", "reserve %s-r A=2 customer=c replaces=%s", "confirm %s",
	                                   "reserve %s-o A=1 customer=other replaces=%s",
	                                   "split %s %s-s A=1 then=release"};
	const char              *way = ways[(unsigned)rand_r(&b->seed) % LENGTH(ways)];
	char                     text[200];

	if (rand_r(&b->seed) % 32 == 0)
		return; /* the order expires */
	snprintf(text, sizeof(text), way, id, id);
	ask(c, text);
	snprintf(text, sizeof(text), "releases %s %s-r %s-o", id, id, id);
	ask(c, text);
}

static void buy(struct buyer *b, struct client *c)
{
	struct refusal r = {.units = 1 + rand_r(&b->seed) % 2};
	char           text[200], id[40];
	int            status, place;

	snprintf(id, sizeof(id), "O%d-%d", b->number, b->count++);
	snprintf(text, sizeof(text), "reserve %s A=%d customer=c ttl=1", id, r.units);
	r.began_us = now_us();
	status = ask(c, text);
	r.ended_us = now_us();
	if (status == 201) {
		atomic_fetch_add(&b->crowd->granted, 1);
		follow(b, c, id);
	} else if (status == 409) {
		place = atomic_fetch_add(&b->crowd->refusals, 1);
		if (place < REFUSED_MAX)
			b->crowd->refused[place] = r;
	} else {
		atomic_fetch_add(&b->crowd->others, 1);
	}
}

static void *buyer_run(void *arg)
{
	struct buyer *b = arg;
	struct client c;

	client_open(&c, b->port);
	while (!atomic_load(&b->crowd->ends))
		buy(b, &c);
	client_close(&c);
	return NULL;
}

/* ---- what the customer had */

struct seen {
	int64_t at_us;
	int64_t units;
	int64_t stamp; /* of the transaction */
};

struct history {
	struct seen *list;
	size_t       count, max;
};

static void seen_read(void *arg, const struct db_row *row)
{
	struct history *h = arg;
	struct seen    *last = h->count ? &h->list[h->count - 1] : NULL;

	if (last && last->stamp == db_int(row, 2)) { /* lowered and raised in one */
		last->units = db_int(row, 1);
		return;
	}
	h->list = mem_reach(h->list, h->count, &h->max, sizeof(*h->list));
	h->list[h->count++] = (struct seen){db_int(row, 0), db_int(row, 1), db_int(row, 2)};
}

/* True: at some moment of the call so many units more would have been beyond the limit. */
static bool is_right(const struct history *h, const struct refusal *r)
{
	for (size_t i = 0; i < h->count; i++) {
		int64_t until_us = i + 2 < h->count ? h->list[i + 2].at_us : INT64_MAX;

		if (h->list[i].units + r->units > LIMIT && h->list[i].at_us <= r->ended_us && until_us >= r->began_us)
			return true;
	}
	return false;
}

static bool crowd_is_enough(const struct crowd *crowd)
{
	return crowd->granted > 50 && crowd->refusals > 50;
}

static void crowd_judge(const struct crowd *crowd, const struct history *h)
{
	int wrong = 0, refusals = crowd->refusals < REFUSED_MAX ? crowd->refusals : REFUSED_MAX;

	for (size_t i = 0; i < h->count; i++)
		cr_expect(h->list[i].units >= 0 && h->list[i].units <= LIMIT, "the customer had %lld",
		          (long long)h->list[i].units);
	for (int i = 0; i < refusals; i++)
		wrong += !is_right(h, &crowd->refused[i]);
	cr_expect_eq(wrong, 0, "%d of %d refusals were wrong", wrong, refusals);
	cr_expect_eq(crowd->others, 0, "%d calls had another answer", crowd->others);
	cr_expect(crowd_is_enough(crowd));
	printf("crowd: %d granted, %d refused, %zu changes\n", crowd->granted, refusals, h->count);
}

/* All that count for the limit, by the orders themselves. Two looks, because one may see an order without another that
 * ended before it. */
static void orders_judge(void)
{
	static const char sum[] = "SELECT COALESCE(SUM(l.qty), 0) FROM reservation r JOIN reservation_note e USING"
				  " (reservation_id) JOIN reservation_line l USING (reservation_id)"
				  " WHERE e.customer = 'c' AND r.state IN (1, 2, 3, 6)";

	cr_expect(trap_number("%s", sum) <= LIMIT || trap_number("%s", sum) <= LIMIT || trap_number("%s", sum) <= LIMIT,
	          "more than the limit is held");
}

Test(customer_crowd, never_beyond_the_limit_and_never_refused_below)
{
	static struct crowd crowd;
	static struct buyer buyers[BUYERS];
	struct history      h = {0};

	flow_begin();
	flow_steps("serve   --lanes 2 --jobs=expire",
	           "second  --lanes 2 --slot 2",
	           "receipt A +100000              -> 201",
	           "limit   A 2                    -> 200",
	           "reserve R0 A=1 customer=other  -> 201",
	           "wait:2 @2 reserve R1 A=200000  -> 422", /* short, until the service knows the limit */
	           "sql CREATE TABLE seen (n BIGINT AUTO_INCREMENT PRIMARY KEY, at DATETIME(6), units BIGINT,"
	           " stamp BIGINT) -> ",
	           "sql CREATE TRIGGER was AFTER UPDATE ON customer_units FOR EACH ROW IF NEW.customer = 'c' AND"
	           " NEW.units <> OLD.units THEN INSERT INTO seen (at, units, stamp)"
	           " VALUES (SYSDATE(6), NEW.units, @s);"
	           " END IF -> ");
	for (int i = 0; i < BUYERS; i++) {
		buyers[i] = (struct buyer){.crowd = &crowd, .number = i, .port = flow_port(i % 2), .seed = (unsigned)i};
		cr_assert_eq(pthread_create(&buyers[i].thread, NULL, buyer_run, &buyers[i]), 0);
	}
	for (int64_t from_us = now_us(), s = 0; s < CROWD_S || (!crowd_is_enough(&crowd) && s < CROWD_MOST_S);
	     s = (now_us() - from_us) / 1000000)
		orders_judge();
	atomic_store(&crowd.ends, true);
	for (int i = 0; i < BUYERS; i++)
		pthread_join(buyers[i].thread, NULL);
	cr_assert_eq(db_text(flow_scratch()->db,
	                     "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', at), units, stamp FROM seen ORDER BY n",
	                     seen_read, &h),
	             DB_OK);
	crowd_judge(&crowd, &h);
	free(h.list);
	flow_steps("sql DROP TABLE seen -> ",
	           "sql DROP TRIGGER was -> ",
	           "run audit -> 0");
	flow_end();
}

/* One row for all of them, and no call is told to come again. */
Test(customer_crowd, nobody_is_busy_over_a_hot_customer)
{
	flow("serve   --lanes 2",
	     "second  --lanes 2 --slot 2",
	     "receipt A +1000000             -> 201",
	     "limit   A 1000000              -> 200",
	     "race 64*40 reserve R# A=1 customer=c -> 2560x 201",
	     "race 64*20 release R# || reserve S# A=2 customer=c -> 640x 200 released | 640x 201",
	     "has     A c                    -> has=3200",
	     "raw GET /metrics               -> 'holdfast_busy_total{cause=conflicts}=0'"
	     " 'holdfast_busy_total{cause=row_locked}=0'");
}
