/* test_losses.c - promised units that are lost: a count or an adjustment with short: backorder takes them from the end
 * of the queue. An order that loses units waits for others, in its old position. */
#include "tests/kit/drill.h"
#include "tests/kit/proxy.h"
#include "tests/kit/http.h"
#include "tests/lang/trap.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { WIDE = 1000 }; /* the most lines that an order begins with */

#define BO "raw PUT /v1/locations/bo {'kind':'incoming'} -> 201"

Test(losses, go_from_the_end_of_the_line)
{
	flow("serve   --lanes 2",
	     BO,
	     "receipt A +10                                        -> 201",
	     "reserve C1 A=3 confirm=true                          -> 201",
	     "tick    2",
	     "reserve H1 A=2                                       -> 201",
	     "reserve C2 A=2 confirm=true                          -> 201",
	     "tick    2",
	     "reserve H2 A=1                                       -> 201",
	     "count   A=5                                          -> 409 short A counted=5 reserved=8",
	     "count   L1 A=4 short=backorder to=bo                 -> 201 kind=count lines=2 A@main=-6 A@bo=4"
	     " backordered=3 backordered[0].order_id=C2 backordered[0].sku=A backordered[0].qty=1"
	     " backordered[1].order_id=H1 backordered[1].qty=2 backordered[2].order_id=H2 backordered[2].qty=1",
	     "count   L1 A=4 short=backorder to=bo                 -> 200 replayed A@main=-6 A@bo=4 backordered=3"
	     " backordered[2].order_id=H2",
	     "count   L1 A=4                                       -> 422 movement_id_reused",
	     "movement L1                                          -> 200 backordered=3 backordered[0].order_id=C2",
	     "movements A                                          -> 200 items[0].backordered=3",
	     "sku     A -> available=0 reserved=4 on_hand=4 @bo reserved=4 @bo available=0",
	     "get     C1                                           -> confirmed A=3 !lines[0].waiting",
	     "get     C2                                           -> confirmed A@bo=1 A@main=1 lines[0].waiting=true",
	     "get     H1                                           -> held A@bo=2",
	     "raw GET /v1/skus/A/waiting                           -> 200 items=C2,H1,H2 end",
	     "claim   settle w                                     -> 201 orders=C1",
	     "complete 1                                           -> completed=1",
	     "claim   settle w                                     -> 204",
	     "events  types=reservation.backordered                -> 200 items[0].data.order_id=H2"
	     " items[0].data.cause=L1 items[0].data.lines[0].waiting=true items[2].data.order_id=C2"
	     " items[2].data.lines[1].qty=1",
	     "events  types=movement.count                         -> 200 items[0].data.lines[0].location=bo"
	     " items[0].data.lines[0].qty=4 !items[0].data.backordered",
	     "run     audit                                        -> 0",
	     "arrival A@bo>main=2                                  -> 201 lines[0].filled=2",
	     "get     C2                                           -> confirmed A=2",
	     "get     H1                                           -> held A@bo=1 A@main=1",
	     "claim   settle w                                     -> 201 orders=C2",
	     "confirm H2                                           -> 200 confirmed A@bo=1",
	     "arrival A@bo>main=1                                  -> 201 lines[0].filled=1",
	     "get     H2                                           -> confirmed A=1",
	     "adjust  A@bo -1                                      -> 409 short",
	     "release H1                                           -> 200 released",
	     "adjust  A@bo -1                                      -> 201",
	     "claim   settle w                                     -> 201 orders=H2",
	     "raw GET /metrics                                     -> 'holdfast_refusals_total{code=short}=2'",
	     "run     audit                                        -> 0");
}

/* Free units go first; if there are enough of them, no order loses any. */
Test(losses, of_several_lines)
{
	flow("serve   --lanes 2",
	     BO,
	     "raw PUT /v1/locations/po {'kind':'incoming'}         -> 201",
	     "raw PUT /v1/locations/main {'waits_at':'po'}         -> 201",
	     "receipt A +5 A@west +4 B +4 C +9                     -> 201",
	     "reserve R1 A=2 A@west=2 B=3 confirm=true             -> 201",
	     "reserve R2 A@west=1 B=1                              -> 201",
	     "adjust  A -3 short=backorder                         -> 201 lines=1 !backordered",
	     "adjust  L2 A -1 short=backorder A@west -4 short=backorder to=po B -4 short=backorder C -1 -> 201 lines=6"
	     " A@main=-1 A@po=4 A@west=-4 B@main=-4 B@po=4 C=-1 backordered=4 backordered[0].order_id=R1"
	     " backordered[0].sku=A backordered[0].qty=3 backordered[1].sku=B backordered[1].qty=3"
	     " backordered[2].order_id=R2 backordered[2].qty=1",
	     "movement L2                                          -> 200 lines=6 A@po=4 backordered=4"
	     " backordered[0].qty=3",
	     "get     R1                                           -> confirmed A@main=1 A@po=3 B@po=3",
	     "get     R2                                           -> held A@po=1 B@po=1",
	     "receipt A +1                                         -> 201",
	     "wait get R1                                          -> confirmed A@main=2 A@po=2",
	     "split   R1 R1b A@main=2                              -> 201 confirmed",
	     "settle  R1b                                          -> 200 settled",
	     "release R1                                           -> released",
	     "run     audit                                        -> 0");
}

Test(losses, are_refused)
{
	flow(BO,
	     "raw PUT /v1/locations/qc {'kind':'aside'}            -> 201",
	     "receipt A +5 A@qc +5 A@bo +5                         -> 201",
	     "reserve R1 A=5 confirm=true                          -> 201",
	     "adjust  A -1 short=backorder                         -> 400 field=lines[0].to",
	     "count   A@west=1 A=1 short=backorder                 -> 400 field=lines[1].to",
	     "count   A=1 to=bo                                    -> 400 field=lines[0].to",
	     "count   A=1 short=other to=bo                        -> 400 field=lines[0].short",
	     "receipt A +1 short=backorder to=bo                   -> 400",
	     "adjust  A -1 short=backorder to=bo A -1              -> 400 field=lines",
	     "adjust  A -1 short=backorder to=none                 -> 422 unknown_location lines[0].to=none",
	     "adjust  A -1 short=backorder to=qc                   -> 422 wrong_kind lines[0].to=qc",
	     "adjust  A@qc -1 short=backorder to=bo                -> 422 wrong_kind lines[0].location=qc",
	     "adjust  A@bo -1 short=backorder to=bo                -> 422 wrong_kind lines[0].location=bo",
	     "adjust  GHOST -1 short=backorder to=bo               -> 422 unknown_sku",
	     "adjust  A@none -1 short=backorder to=bo              -> 409 short",
	     "adjust  A -6 short=backorder to=bo                   -> 409 short A requested=6 available=0",
	     "adjust  A -1 short=backorder to=bo A@qc -6           -> 409 short lines=1 lines[0].location=qc",
	     "claim   settle w                                     -> 201 orders=R1",
	     "adjust  A -1 short=backorder to=bo                   -> 409 short A requested=1 available=0",
	     "count   A=4 short=backorder to=bo expected=5         -> 409 short A counted=4 reserved=5",
	     "raw GET /metrics                                     -> 'holdfast_refusals_total{code=short}=5'",
	     "count   A=4 short=backorder to=bo expected=4         -> 409 count_mismatch",
	     "give-back 1                                          -> 200",
	     "count   A=4 short=backorder to=bo expected=5         -> 201 backordered=1",
	     "run     audit                                        -> 0");
}

/* An expired hold gives its units back first; buried orders, orders put aside and orders with a given waiting time keep
 * their positions. */
Test(losses, know_the_line)
{
	flow(BO,
	     "receipt A +20                                        -> 201",
	     "reserve R1 A=1 confirm=true                          -> 201",
	     "claim   settle w                                     -> 201 R1",
	     "fail    1 R1=bury                                    -> buried=1",
	     "tick    5",
	     "reserve R2 A=1 confirm=true ship_after=+900          -> 201",
	     "tick    5",
	     "reserve H0 A=5 ttl=60                                -> 201",
	     "tick    5",
	     "reserve R3 A=1 A@bo=1 confirm=true                   -> 409 short",
	     "receipt A@bo +1                                      -> 201",
	     "reserve R3 A=1 A@bo=1 confirm=true waits_since=-600  -> 201",
	     "reserve H1 A=1                                       -> 201",
	     "tick    61",
	     "count   A=4 short=backorder to=bo                    -> 201 A@main=-16 !backordered",
	     "get     H0                                           -> expired",
	     "count   A=3 short=backorder to=bo                    -> 201 backordered=1 backordered[0].order_id=H1",
	     "count   A=2 short=backorder to=bo                    -> 201 backordered=1 backordered[0].order_id=R2",
	     "count   A=1 short=backorder to=bo                    -> 201 backordered=1 backordered[0].order_id=R1",
	     "count   A=0 short=backorder to=bo                    -> 201 backordered=1 backordered[0].order_id=R3",
	     "get     R1                                           -> buried A@bo=1 lines[0].waiting=true",
	     "get     R3                                           -> confirmed A@bo=2",
	     "raw GET /v1/skus/A/waiting                           -> 200 items=R3,R1,R2,H1 end",
	     "arrival A@bo>main=5                                  -> 201 lines[0].filled=5",
	     "get     R1                                           -> buried A=1",
	     "claim   settle w                                     -> 201 orders=R3",
	     "tick    900",
	     "claim   settle w                                     -> 201 orders=R2",
	     "run     audit                                        -> 0");
}

/* Lost units wait in the position of their order, also where a change of its lines has put a line of it that waits in a
 * later one. Units that waited keep their own positions. */
Test(losses, wait_ahead_of_what_was_added)
{
	flow(BO,
	     "receipt A +20 A@bo +20                               -> 201",
	     "reserve R1 A=3 confirm=true                          -> 201",
	     "reserve R2 A=2 A@bo=1 confirm=true waits_since=-600  -> 201",
	     "tick    5",
	     "reserve R3 A@bo=1 confirm=true                       -> 201",
	     "tick    5",
	     "amend   R1 A=3 A@bo=2                                -> 200",
	     "amend   R1 A=3 A@bo=3                                -> 200",
	     "amend   R2 A=3                                       -> 200",
	     "amend   R2 A=3 A@bo=1                                -> 200",
	     "tick    5",
	     "reserve R4 A@bo=1 confirm=true                       -> 201",
	     "count   A=0 short=backorder to=bo                    -> 201",
	     "raw GET /v1/skus/A/waiting?location=bo               -> 200 items=R2,R1,R3,R1,R1,R2,R4",
	     "raw GET /v1/skus/A/waiting?location=bo               -> 200 items[0].qty=3 items[1].qty=3 items[3].qty=2"
	     " items[4].qty=1 items[5].qty=1",
	     "run     audit                                        -> 0",
	     "arrival A@bo>main=5                                  -> 201 lines[0].filled=5",
	     "get     R2                                           -> A@main=3 A@bo=1",
	     "get     R1                                           -> A@main=2 A@bo=4",
	     "adjust  A -1 short=backorder to=bo                   -> 201 backordered[0].order_id=R1",
	     "raw GET /v1/skus/A/waiting?location=bo               -> 200 items=R1,R3,R1,R1,R2,R4 items[0].qty=2",
	     "confirm R1                                           -> 200 replayed",
	     "run     audit                                        -> 0");
}

/* An order that is locked, or has changed since it was picked, is skipped, and others lose their units. */
Test(losses, pass_over_who_is_locked)
{
	flow_begin();
	flow_steps("serve   --lanes 2",
	           BO,
	           "receipt A +4                                  -> 201",
	           "reserve R1 A=1                                -> 201",
	           "reserve R2 A=1                                -> 201",
	           "reserve R3 A=1                                -> 201",
	           "reserve R4 A=1                                -> 201");
	trap_lock("SELECT 1 FROM reservation WHERE order_id = 'R4' FOR UPDATE");
	flow_step("count A=2 short=backorder to=bo -> 201 backordered=2 backordered[0].order_id=R2"
	          " backordered[1].order_id=R3");
	flow_step("count A=0 short=backorder to=bo -> 503 busy");
	trap_unlock();
	flow_steps("count   A=0 short=backorder to=bo             -> 201 backordered=2",
	           "sku     A -> available=0 reserved=0 on_hand=0 @bo reserved=4",
	           "run     audit                                 -> 0");
	flow_end();
}

/* If more orders would lose units than one movement may have, the answer says so, and the rest goes under another id.
 * An order counts once. */
Test(losses, of_many_orders)
{
	flow_begin();
	flow_steps("serve   --lanes 2",
	           BO);
	flow_orders("R", 1100);
	flow_steps("count   A=0 short=backorder to=bo             -> 409 limit lines=1 A backorderable=1000",
	           "adjust  A -1000 short=backorder to=bo         -> 201 backordered=1000 A@bo=1000",
	           "count   A=0 short=backorder to=bo             -> 201 backordered=100",
	           "raw GET /v1/skus/A/waiting?limit=2            -> 200 items=R0,R1",
	           "sku     A -> available=0 reserved=0 @bo reserved=1100",
	           "run     audit                                 -> 0");
	flow_end();
}

/* Orders of very many lines: a movement takes so few of them that other calls do not wait long for it. */
Test(losses, of_many_lines)
{
	flow_begin();
	flow_steps("serve   --lanes 2",
	           BO);
	flow_repeat("receipt", " S# +6", WIDE, " -> 201");
	for (int i = 0; i < 6; i++) {
		struct text step = {0};

		text_format(&step, "reserve W%d confirm=true", i);
		flow_repeat(step.data, " S#=1", WIDE, " -> 201");
		text_fini(&step);
	}
	flow_repeat("count", " S#=0 short=backorder to=bo", WIDE, " -> 409 limit lines=1000 S0 backorderable=5");
	flow_repeat("adjust", " S# -5 short=backorder to=bo", WIDE, " -> 201 lines=2000 S0@bo=5 S999@bo=5");
	flow_repeat("count", " S#=0 short=backorder to=bo", WIDE, " -> 201 lines=2000 S0@bo=1 S999@bo=1");
	flow_steps("get     W0                                    -> confirmed S0@bo=1 S999@bo=1",
	           "sku     S0 -> available=0 reserved=0 @bo reserved=6",
	           "run     audit                                 -> 0");
	flow_end();
}

/* Losses add lines to orders, without a bound: every call for an order works for the largest one, too. */
Test(losses, grow_orders_which_are_as_before, DRILL)
{
	flow_begin();
	flow_step("serve --lanes 2");
	flow_repeat("receipt", " S# +11", WIDE, " -> 201");
	flow_repeat("reserve R1", " S#=11", WIDE, " -> 201 held");
	for (int i = 0; i < 10; i++) {
		struct text piece = {0};

		flow_step("raw PUT /v1/locations/bo%d {'kind':'incoming'} -> 201", i);
		text_format(&piece, " S# -1 short=backorder to=bo%d", i);
		flow_repeat("adjust", piece.data, WIDE, " -> 201 lines=2000");
		text_fini(&piece);
	}
	flow_repeat("reserve R1", " S#=11", WIDE, " -> 200 replayed lines=11000 S0@main=1 S999@bo9=1");
	flow_steps("extend  R1 ttl=900                            -> 200 held",
	           "confirm R1                                    -> 200 confirmed",
	           "settle  R1                                    -> 409 waiting",
	           "return  S0 +1 order=R1                        -> 409 confirmed field=order_id",
	           "split   R1 P1 S0@main=1 S1@bo3=1              -> 201 confirmed lines=2",
	           "reserve R2 S0@bo0=99 replaces=R1 confirm=true -> 409 short");
	flow_repeat("reserve R3 replaces=R1 confirm=true", " S#=2", WIDE, " -> 409 short lines=1000");
	flow_steps("release R1                                    -> 200 released lines=10998",
	           "sku     S0 -> available=0 reserved=1",
	           "sku     S1 -> available=1 reserved=0 @bo3 reserved=1",
	           "run     audit                                 -> 0");
	flow_end();
}

/* ---- steps by chance, of few lines or of very many */

static uint32_t chance_seed;

static int chance(int n)
{
	chance_seed = chance_seed * UINT32_C(1664525) + UINT32_C(1013904223);
	return (int)((chance_seed >> 16) % (unsigned)n);
}

/* Any answer is right but a 5xx. */
static void wide_step(const char *before, const char *piece)
{
	static const int wide[] = {1, 7, 300, WIDE};

	flow_repeat(before, piece, wide[chance(LENGTH(wide))],
	            " -> *x 200 | *x 200 replayed | *x 201 | *x 404 | *x 409 | *x 422");
}

static void chance_step(int at)
{
	struct text before = {0}, piece = {0};
	int         order = chance(6), place = chance(3);

	text_add(&before, "race 1 ");
	switch (chance(6)) {
	case 0:
	case 1:
		text_add(&before, "adjust");
		text_format(&piece, " S# -%d short=backorder to=bo%d", 1 + chance(4), place);
		break;
	case 2:
		text_add(&before, "arrival");
		text_format(&piece, " S#@bo%d>main=1", place);
		break;
	case 3:
		text_format(&before, "split R%d P%d", order, at);
		text_add(&piece, " S#@main=1");
		break;
	case 4:
		text_format(&before, "reserve R%d replaces=R%d confirm=true", 6 + at, order);
		text_format(&piece, " S#=%d", 1 + chance(3));
		break;
	default:
		text_format(&before, "%s R%d", chance(2) ? "confirm" : "release", order);
	}
	wide_step(before.data, piece.len ? piece.data : "");
	text_fini(&before);
	text_fini(&piece);
}

Test(losses, of_wide_orders_by_chance)
{
	enum { STEPS = 24 };

	chance_seed = 7;
	flow_begin();
	flow_step("serve --lanes 2 --jobs=expire");
	for (int i = 0; i < 3; i++)
		flow_step("raw PUT /v1/locations/bo%d {'kind':'incoming'} -> 201", i);
	flow_repeat("receipt", " S# +12", WIDE, " -> 201");
	for (int i = 0; i < 6; i++) {
		struct text step = {0};

		text_format(&step, "reserve R%d confirm=%s", i, i % 2 ? "true" : "false");
		flow_repeat(step.data, " S#=2", WIDE, " -> 201");
		text_fini(&step);
	}
	for (int i = 0; i < STEPS; i++)
		chance_step(i);
	flow_step("run audit -> 0");
	flow_end();
}

/* All calls for an order that loses units at that moment, through two services. */
Test(losses, races)
{
	struct race *one;

	flow_begin();
	flow_step("serve --lanes 2 --jobs=expire,settle,reap");
	flow_step("second --lanes 2 --slot 5 --jobs=expire,settle");
	flow_steps(BO,
	           "raw PUT /v1/locations/main {'waits_at':'bo'} -> 201",
	           "receipt A +400 A@west +100                   -> 201",
	           "race 4*50 reserve R# A=2 A@west=1 ttl=5      -> *x 201 | *x 409");
	one = flow_race("4*60", "adjust L# A -2 short=backorder || count A@west=60 short=backorder to=bo"
	                        " || adjust M# A -1 A@west -1 short=backorder to=bo || arrival N# A@bo>main=3");
	flow_step("race 8*200 confirm R# || release R# || split R# S# A=1 || reserve Q# A=2 replaces=R# confirm=true"
	          " || extend R# ttl=5 || raw POST /v1/reservations/R#/settle || confirm S#"
	          " || claim settle w limit=3 lease=1 -> *x 200 | *x 200 replayed | *x 201 | *x 204 | *x 404 | *x 409"
	          " | *x 422");
	trap_raced(one, "*x 201 | *x 409 | *x 503");
	flow_steps("run audit                                     -> 0",
	           "race 4*50 release R# || release S#            -> *x 200 | *x 200 replayed | *x 404 | *x 409",
	           "receipt A +800                                -> 201",
	           "wait:16 sql SELECT COUNT(*) FROM waiting_line -> 0",
	           "wait:16 sql SELECT COUNT(*) FROM reservation WHERE state = 2 -> 0",
	           "run audit                                     -> 0");
	flow_end();
}

/* A hold is confirmed at the instant in which it loses its unit: it waits, and no worker gets it before another came.
 */
Test(losses, a_confirmation_at_that_instant)
{
	enum { INSTANTS = 40 };

	flow_begin();
	flow_step("serve --lanes 2");
	flow_step("second --lanes 2 --slot 5");
	flow_step(BO);
	flow_step("receipt A@west +%d -> 201", INSTANTS);
	for (int i = 0; i < INSTANTS; i++) {
		flow_step("receipt A +1 -> 201");
		flow_step("reserve R%d A=1 A@west=1 -> 201 held", i);
		flow_step("race 2 confirm R%d || count A=0 short=backorder to=bo"
		          " -> 1x 200 confirmed | 1x 201 backordered=1",
		          i);
		flow_step("get R%d -> confirmed lines=2 A@bo=1 A@west=1", i);
	}
	flow_step("claim settle w limit=1000 -> 204");
	flow_end();
}

/* Replaces an order by the next one, again and again, until it is told to end. */
struct replacing {
	int         port;
	atomic_bool ends;
};
static void *replace_on(void *arg)
{
	struct replacing *r = arg;
	struct client     client;

	client_open(&client, r->port);
	for (int i = 0; !r->ends;) {
		struct answer answer = {0};
		char          body[160];

		snprintf(body, sizeof(body),
		         "{\"order_id\":\"C%d\",\"replaces\":\"C%d\",\"ttl_s\":9999,\"lines\":[{\"sku\":\"A\",\"qty\":"
		         "5}]}",
		         i + 1, i);
		client_ask(&client, "POST", "/v1/reservations", body, &answer);
		i += answer.status == 201;
		answer_fini(&answer);
	}
	client_close(&client);
	return NULL;
}

/* The units are there all the time, in an order that is being replaced: a loss takes them, or the answer is that the
 * order is busy, but never that they are not there. */
Test(losses, of_an_order_that_is_replaced_all_the_time, DRILL)
{
	struct replacing r = {.ends = false};
	pthread_t        thread;

	flow_begin();
	flow_steps("serve    --lanes 2",
	           BO,
	           "receipt  A +5                                 -> 201",
	           "reserve  C0 A=5 ttl=9999                      -> 201");
	r.port = flow_port(0);
	cr_assert(pthread_create(&thread, NULL, replace_on, &r) == 0);
	for (int i = 0; i < 25; i++) {
		flow_step("race 1 adjust L%d A -1 short=backorder to=bo   -> *x 201 | *x 503 busy", i);
		flow_step("race 1 arrival M%d A@bo>main=1                 -> *x 201 | *x 409 short", i);
	}
	r.ends = true;
	pthread_join(thread, NULL);
	flow_step("run audit -> 0");
	flow_end();
}

/* Holds the movement at the statement with this text, until the steps are done through another service. */
static void loss_between(const char *text, const char *loss, const char *const *steps, const char *came)
{
	struct proxy *proxy;
	struct race  *race;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("serve    --lanes 1",
	           "second   --lanes 1 --slot 5",
	           BO,
	           "receipt  A +3                                 -> 201",
	           "reserve  R1 A=1 confirm=true                  -> 201",
	           "reserve  R2 A=1 confirm=true                  -> 201",
	           "reserve  R3 A=1                               -> 201");
	proxy_arm(proxy, BREACH_WAIT, text);
	race = flow_race("1", loss);
	cr_expect(proxy_struck(proxy), "there is no %s", text);
	flow_each(steps);
	proxy_go_on(proxy);
	trap_raced(race, came);
	flow_step("run audit -> 0");
	flow_end();
	proxy_close(proxy);
}

#define LOCKS "ORDER BY reservation_id FOR UPDATE SKIP LOCKED"

/* An order that changes at that moment is skipped. */
Test(losses, of_who_was_confirmed_meanwhile)
{
	static const char *const steps[] = {"@2 confirm R3 -> 200 confirmed", NULL};

	loss_between(LOCKS, "count L1 A=2 short=backorder to=bo", steps,
	             "1x 201 backordered=1 backordered[0].order_id=R2");
}

Test(losses, of_who_was_claimed_meanwhile)
{
	static const char *const steps[] = {"@2 claim settle w -> 201 orders=R1,R2", NULL};

	loss_between(LOCKS, "count L1 A=1 short=backorder to=bo", steps, "1x 409 short A counted=1 reserved=3");
}

/* The units of an order that was released are free, and go first. */
Test(losses, of_who_was_released_meanwhile)
{
	static const char *const steps[] = {"@2 release R3 -> 200 released", NULL};

	loss_between(LOCKS, "count L1 A=2 short=backorder to=bo", steps, "1x 201 A@main=-1 !backordered");
}

/* A service is killed in the middle of it: nothing was done; and right behind the COMMIT: all was. */
Test(losses, of_a_service_that_is_killed)
{
	struct proxy *proxy;
	struct race  *race;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("serve    --lanes 1",
	           BO,
	           "receipt  A +3                                   -> 201",
	           "reserve  R1 A=3 confirm=true                    -> 201");
	proxy_arm(proxy, BREACH_WAIT, "INSERT INTO movement_backorder");
	race = flow_race("1", "count L1 A=1 short=backorder to=bo");
	cr_expect(proxy_struck(proxy));
	flow_step("kill");
	proxy_go_on(proxy);
	trap_raced(race, "1x lost");
	flow_steps("movement L1                                     -> 404",
	           "get      R1                                      -> confirmed A=3",
	           "run      audit                                   -> 0",
	           "count    L1 A=1 short=backorder to=bo            -> 201 backordered=1 backordered[0].qty=2",
	           "kill",
	           "count    L1 A=1 short=backorder to=bo            -> 200 replayed backordered=1 A@bo=2",
	           "get      R1                                      -> confirmed A@bo=2 A@main=1",
	           "run      audit                                   -> 0");
	flow_end();
	proxy_close(proxy);
}
