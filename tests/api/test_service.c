/* test_service.c - what holds for every call: paths, methods, types, queries, request ids; and livez, readyz, metrics,
 * the document. */
#include "tests/lang/flow.h"

#include <stdio.h>

Test(service, unknown_paths)
{
	flow("raw GET  /                       -> 303 Location:./console/",
	     "raw GET  /v1                     -> 404 not_found",
	     "raw GET  /v2/skus                -> 404 not_found '~did you mean /v1/skus?'",
	     "raw GET  /v1/skus/A/movement     -> 404 not_found '~did you mean /v1/skus/A/movements?'",
	     "raw POST /v1/reservations {'order_id':'R1','lines':[{'sku':'A','qty':1}],'mod':'x'} -> 400 field=mod"
	     " '~did you mean mode?'",
	     "raw GET  /v1/sku                 -> 404 not_found",
	     "raw GET  /V1/skus                -> 404 not_found",
	     "raw GET  /v1/skus/A/lines        -> 404 not_found",
	     "raw GET  /v1/skus/A/movements/1  -> 404 not_found",
	     "raw POST /v1/reservations/R1/ship {} -> 404 not_found",
	     "raw POST /v1/reservations/R1/confirm/now {} -> 404 not_found",
	     "raw GET  /livezz                 -> 404 not_found",
	     "raw GET  /openapi.json           -> 404 not_found",
	     "raw PUT  /nowhere                -> 404 not_found");
}

Test(service, wrong_methods)
{
	flow("receipt  A +10                      -> 201",
	     "reserve R1 A=1                      -> 201",
	     "mark",
	     "raw GET    /v1/movements            -> 405 method_not_allowed Allow:POST",
	     "raw PUT    /v1/movements {}         -> 405 method_not_allowed Allow:POST",
	     "raw POST   /v1/skus {}              -> 405 method_not_allowed Allow:GET",
	     "raw POST   /v1/skus/A {}            -> 405 method_not_allowed Allow:GET",
	     "raw DELETE /v1/skus/A               -> 405 method_not_allowed Allow:GET",
	     "raw PATCH  /v1/skus/A {}            -> 405 method_not_allowed Allow:GET",
	     "raw POST   /v1/skus/A/movements {}  -> 405 method_not_allowed Allow:GET",
	     "raw GET    /v1/availability         -> 405 method_not_allowed Allow:POST",
	     "raw PUT    /v1/reservations {}      -> 405 method_not_allowed Allow:GET Allow:POST",
	     "raw DELETE /v1/reservations         -> 405 method_not_allowed Allow:GET Allow:POST",
	     "raw PATCH  /v1/reservations/R1 {}   -> 405 method_not_allowed Allow:GET",
	     "raw DELETE /v1/reservations/R1      -> 405 method_not_allowed Allow:GET",
	     "raw GET    /v1/reservations/R1/confirm -> 405 method_not_allowed Allow:POST",
	     "raw GET    /v1/reservations/R1/release -> 405 method_not_allowed Allow:POST",
	     "raw HEAD   /v1/reservations/R1/extend -> 405 Allow:POST",
	     "raw POST   /livez                   -> 405 method_not_allowed Allow:GET",
	     "raw POST   /readyz                  -> 405 method_not_allowed Allow:GET",
	     "raw PUT    /metrics                 -> 405 method_not_allowed Allow:GET",
	     "raw DELETE /openapi.yaml            -> 405 method_not_allowed Allow:GET",
	     "raw OPTIONS /v1/skus                -> 405 method_not_allowed Allow:GET",
	     "raw TRACE  /v1/skus                 -> 405 method_not_allowed Allow:GET",
	     "unchanged");
}

#define RESERVE "raw POST /v1/reservations "
#define ORDER   " {'order_id':'X','lines':[{'sku':'A','qty':1}]} "

Test(service, content_types)
{
	flow("receipt  A +10                                                   -> 201",
	     "mark",
	     RESERVE "Content-Type:" ORDER "-> 415 unsupported_media_type",
	     RESERVE "Content-Type:text/plain" ORDER "-> 415 unsupported_media_type",
	     RESERVE "Content-Type:application/jsonx" ORDER "-> 415 unsupported_media_type",
	     RESERVE "Content-Type:application/json;charset=utf-16" ORDER "-> 415 unsupported_media_type",
	     RESERVE "Content-Type:application/json;Charset=latin1" ORDER "-> 415 unsupported_media_type",
	     RESERVE "Content-Type:application/json;charset=" ORDER "-> 415 unsupported_media_type",
	     RESERVE "Content-Type:text/json" ORDER "-> 415 unsupported_media_type",
	     RESERVE "Content-Type:application/x-www-form-urlencoded order_id=X -> 415 unsupported_media_type",
	     "raw POST /v1/movements Content-Type:text/csv sku,qty             -> 415 unsupported_media_type",
	     "raw POST /v1/availability Content-Type:text/plain {'skus':['A']} -> 415 unsupported_media_type",
	     "raw POST /v1/reservations/batch Content-Type:text/plain {}       -> 415 unsupported_media_type",
	     "unchanged",
	     RESERVE "Content-Type:application/json;charset=utf-8" ORDER "-> 201 held",
	     RESERVE "content-type:Application/JSON" ORDER "-> 200 held replayed",
	     RESERVE "content-type:application/json;charset=\"UTF-8\" " ORDER "-> 200 held replayed",
	     "raw POST /v1/reservations/X/confirm                              -> 200 confirmed",
	     "raw POST /v1/reservations/X/release Content-Type:                -> 200 released");
}

Test(service, queries)
{
	flow("receipt  A +10                     -> 201",
	     "mark",
	     "raw GET /v1/skus/A?x=1             -> 400 invalid_request field=x",
	     "raw GET /v1/skus/A?max_age         -> 400 invalid_request field=max_age",
	     "raw GET /v1/skus/A?limit=1         -> 400 invalid_request field=limit",
	     "raw GET /v1/skus?x=1               -> 400 invalid_request field=x",
	     "raw GET /v1/skus/A/movements?x=1   -> 400 invalid_request field=x",
	     "raw GET /v1/reservations?x=1       -> 400 invalid_request field=x",
	     "raw GET /v1/reservations/R1?x=1    -> 400 invalid_request field=x",
	     "raw POST /v1/reservations?x=1" ORDER "-> 400 invalid_request field=x",
	     "raw POST /v1/reservations?order_id=X {} -> 400 invalid_request field=order_id",
	     "raw POST /v1/movements?x=1 {}      -> 400 invalid_request",
	     "raw POST /v1/availability?x=1 {'skus':['A']} -> 400 invalid_request field=x",
	     "raw POST /v1/reservations/R1/confirm?force=1 -> 400 invalid_request field=force",
	     "sku      A max_age=-1              -> 400 invalid_request field=max_age_ms",
	     "sku      A max_age=60001           -> 400 invalid_request field=max_age_ms",
	     "sku      A max_age=                -> 400 invalid_request field=max_age_ms",
	     "sku      A max_age=1s              -> 400 invalid_request field=max_age_ms",
	     "sku      A max_age=1.0             -> 400 invalid_request field=max_age_ms",
	     "sku      A max_age=18446744073709551616 -> 400 invalid_request field=max_age_ms",
	     "sku      A max_age=60000           -> 200",
	     "unchanged");
}

Test(service, paths_are_decoded_once)
{
#define SIXTY "012345678901234567890123456789012345678901234567890123456789"
	flow("receipt  A +10                     -> 201",
	     "reserve  R1 A=1                    -> 201",
	     "raw GET /v1/skus/%41               -> 200 sku=A",
	     "raw GET /v1/reservations/R%31      -> 200 order_id=R1",
	     "raw POST /v1/reservations/%521/confirm -> 200 confirmed",
	     "raw GET /v1/skus/%2541             -> 404 unknown_sku",
	     "raw GET /v1/skus/A%2FB             -> 404 unknown_sku",
	     "raw GET /v1/skus/A%00              -> 400 invalid_request",
	     "raw GET /v1/skus/%00               -> 400 invalid_request",
	     "raw GET /v1/skus/A%0A              -> 400 invalid_request",
	     "raw GET /v1/skus/%C3%A9            -> 404 unknown_sku",
	     "raw GET /v1/skus/%C3%28            -> 400 invalid_request",
	     "raw GET /v1/reservations/%C3%A9    -> 400 invalid_request",
	     "raw GET /v1/skus/%2E%2E            -> 400 invalid_request",
	     "raw GET /v1/skus/%                 -> 400 invalid_request",
	     "raw GET /v1/skus/A%4               -> 400 invalid_request",
	     "raw GET /v1/skus/%zz               -> 400 invalid_request",
	     "raw GET /v1/reservations/%GG       -> 400 invalid_request",
	     "raw POST /v1/reservations/a%20/release -> 400 invalid_request",
	     "raw GET /v1/reservations?state=%68eld -> 200 items= end",
	     "raw GET /v1/reservations?state=%zz -> 400 invalid_request",
	     "raw GET /v1/skus/" SIXTY SIXTY "01234567  -> 404 unknown_sku",
	     "raw GET /v1/skus/" SIXTY SIXTY "012345678 -> 400 invalid_request",
	     "raw GET /v1/reservations/" SIXTY "0123 -> 404 unknown_order",
	     "raw GET /v1/reservations/" SIXTY "01234 -> 400 invalid_request");
}

Test(service, head_is_get)
{
	flow("receipt  A +10                     -> 201",
	     "raw HEAD /v1/skus/A                -> 200 Content-Type:application/json",
	     "raw HEAD /v1/skus                  -> 200",
	     "raw HEAD /v1/skus/GHOST            -> 404",
	     "raw HEAD /v1/skus/A?x=1            -> 400",
	     "raw HEAD /v1/reservations          -> 200",
	     "raw HEAD /livez                    -> 200",
	     "raw HEAD /metrics                  -> 200",
	     "sku      A                         -> available=10");
}

Test(service, request_ids)
{
	flow("raw GET  /v1/skus/A X-Request-Id:abc-123       -> 404 unknown_sku X-Request-Id:abc-123",
	     "raw GET  /livez X-Request-Id:7                 -> 200 X-Request-Id:7",
	     "raw POST /v1/movements x-request-id:me {}      -> 400 invalid_request X-Request-Id:me",
	     "raw GET  /nowhere X-Request-Id:lost            -> 404 not_found X-Request-Id:lost",
	     "receipt  A +1                                  -> 201 X-Request-Id:*");
}

Test(service, chunked_bodies)
{
	flow("raw POST /v1/movements Transfer-Encoding:chunked"
	     " 30\r\n{'movement_id':'M1','kind':'receipt','lines':[{'\r\n"
	     "13\r\nsku':'A','qty':7}]}\r\n0\r\n\r\n -> 201 A=7",
	     "sku      A                         -> available=7");
}

/* Two readers must not see two lengths. */
Test(service, frames_that_are_not_clear)
{
	flow("raw POST /v1/reservations/R1/release Transfer-Encoding:gzip {} -> 400",
	     "raw GET /livez Content-Length:4 abcd -> 200",
	     "raw POST /v1/reservations/R1/release Content-Encoding:gzip {} -> 415 unsupported_media_type",
	     "raw GET /livez                       -> 200");
}

Test(service, health)
{
	flow("raw GET /livez                     -> 200",
	     "raw GET /livez?verbose             -> 200",
	     "raw GET /readyz                    -> 200",
	     "raw GET /readyz?verbose            -> 200",
	     "run     migrate --check            -> 0",
	     "run     migrate                    -> 0",
	     "raw GET /readyz                    -> 200");
}

/* However many lanes there are, a start is a few lines; a lane that has to connect again is one. */
Test(service, says_little_when_it_starts)
{
	struct text said = {0};

	flow_begin();
	flow_steps("serve --lanes 4",
	           "receipt A +1 -> 201");
	flow_said(&said);
	cr_expect(strstr(said.data, "event=listening") && !strstr(said.data, "event=lane_connected") &&
	                  !strstr(said.data, "event=levels_watched"),
	          "%s", said.data);
	flow_steps("cut",
	           "wait receipt A +1 -> 201",
	           "restart");
	flow_said(&said);
	cr_expect(strstr(said.data, "event=lane_connected"), "%s", said.data);
	text_fini(&said);
	flow_end();
}

Test(service, document)
{
	flow("raw GET /openapi.yaml              -> 200 '~openapi: 3.1' ~/v1/movements: ~/v1/skus: ~/v1/skus/{sku}:"
	     " ~/v1/skus/{sku}/movements: ~/v1/availability: ~/v1/reservations: ~/v1/reservations/batch:"
	     " ~/v1/reservations/{order_id}: ~/v1/reservations/{order_id}/confirm:"
	     " ~/v1/confirmations: ~/v1/releases:"
	     " ~/v1/reservations/{order_id}/release: ~/v1/reservations/{order_id}/extend: ~/livez: ~/readyz: ~/metrics:"
	     " ~invalid_request ~count_mismatch");
}

Test(service, metrics)
{
	flow("receipt  A +10                     -> 201",
	     "reserve  R1 A=4                    -> 201",
	     "reserve  R1 A=4                    -> 200 held replayed",
	     "reserve  R2 A=7                    -> 409 short",
	     "reserve  R2 A=8                    -> 409 short",
	     "reserve  R2 GHOST=1                -> 422 unknown_sku",
	     "raw GET /metrics                   -> 200 Content-Type:text/plain Content-Type:version=0.0.4"
	     "  '~# TYPE holdfast_requests_total counter'    ~holdfast_requests_total{route="
	     "  '~# TYPE holdfast_request_seconds histogram' ~holdfast_request_seconds_bucket{"
	     "  ~holdfast_request_seconds_sum{ ~holdfast_request_seconds_count{ ~le=+Inf"
	     "  '~# TYPE holdfast_queue_depth gauge' holdfast_queue_depth{lane=0}=0 holdfast_queue_depth{lane=1}=0"
	     "  '~# TYPE holdfast_batch_requests histogram'  ~holdfast_batch_requests_count"
	     "  '~# TYPE holdfast_batch_seconds '            ~\nholdfast_gathers_total"
	     "  holdfast_replays_total=1 holdfast_refusals_total{code=short}=2"
	     "  holdfast_refusals_total{code=unknown_sku}=1"
	     "  '~# TYPE holdfast_reservations gauge'        ~holdfast_reservations{state=held,scope=database}"
	     "  holdfast_deadlocks_total=0 ~\nholdfast_retries_total holdfast_unknown_outcomes_total=0");
}

/* Refusals are counted as callers were told them, not as operations ended after another answer. */
Test(service, refusals_are_counted_as_they_were_told)
{
	flow("receipt  A +10               -> 201",
	     "reserve  R1 A=0              -> 400 invalid_request",
	     "raw POST /v1/movements {}    -> 400 invalid_request",
	     "raw GET /v1/skus?limit=0     -> 400 invalid_request",
	     "batch    R2 A=1 | R3 A=0 | R4 A=10 -> 201 | 400 | 409 short",
	     "release  R9                  -> 404 unknown_order",
	     "raw GET /metrics             -> holdfast_refusals_total{code=invalid_request}=4"
	     " holdfast_refusals_total{code=short}=1 holdfast_refusals_total{code=unknown_order}=1"
	     " holdfast_refusals_total{code=busy}=0");
}

Test(service, metrics_name_a_sample_once)
{
	flow("reserve  R1 GHOST=1           -> 422 unknown_sku GHOST",
	     "sku      GHOST                -> 404 unknown_sku",
	     "raw GET /metrics              -> 200 holdfast_refusals_total{code=unknown_sku}=1");
}

/* Figures that must be counted in the database may be 15 s old. */
Test(service, counted_gauges)
{
	flow("receipt  A +10                     -> 201",
	     "reserve  R1 A=4                    -> 201",
	     "reserve  R2 A=1                    -> 201",
	     "confirm  R2                        -> confirmed",
	     "wait:16 raw GET /metrics           -> holdfast_reservations{state=held,scope=database}=1"
	     "                                      holdfast_reservations{state=confirmed,scope=database}=1");
}

/* Every process tells the figures of the database alike, and says so. One process tells everything else, also the
 * counts of processes that tell nothing themselves. So sums over processes are right. */
Test(service, metrics_of_two_processes)
{
	flow("receipt  A +10                     -> 201",
	     "reserve  R1 A=1                    -> 201",
	     "confirm  R1                        -> 200",
	     "reserve  R2 A=1 ttl=60             -> 201",
	     "claim    settle w lease=1          -> 201",
	     "tick     61",
	     "run      reap                      -> 0",
	     "tick     5",
	     "work     expire",
	     "second",
	     "@2 reserve R9 GHOST=1              -> 422",
	     "@2 raw GET /metrics                -> holdfast_reaped_tasks_total=1 holdfast_expired_total=1"
	     "  holdfast_refusals_total{code=unknown_sku}=1 holdfast_refusals_total{code=lease_lost}=0"
	     "  holdfast_reservations{state=confirmed,scope=database}=1 holdfast_tasks_open{scope=database}=0"
	     "  holdfast_ready{kind=settle,scope=database}=1 holdfast_claimed{kind=settle,scope=database}=0"
	     "  ~holdfast_oldest_ready_age_seconds{kind=expire,scope=database}"
	     "  ~holdfast_oldest_lease_age_seconds{scope=database}",
	     "complete 1                         -> 409 lease_lost",
	     "raw GET /metrics                   -> holdfast_reaped_tasks_total=0 holdfast_expired_total=0"
	     "  holdfast_fenced_total=1 holdfast_refusals_total{code=unknown_sku}=0"
	     "  holdfast_reservations{state=confirmed,scope=database}=1 holdfast_tasks_open{scope=database}=0",
	     "@2 raw GET /metrics                -> holdfast_fenced_total=0 holdfast_reaped_tasks_total=1",
	     "sql SELECT COUNT(*) FROM counter   -> 0");
}

/* A lease that was given by a clock that was ahead has no age yet. */
Test(service, no_age_is_negative)
{
	flow("receipt  A +10                     -> 201",
	     "reserve  R1 A=1                    -> 201",
	     "confirm  R1                        -> 200",
	     "claim    settle w                  -> 201",
	     "tick     -3600                     ",
	     "raw GET /metrics                   -> holdfast_oldest_lease_age_seconds{scope=database}=0.000"
	     "  holdfast_oldest_ready_age_seconds{kind=settle,scope=database}=0"
	     "  holdfast_oldest_ready_age_seconds{kind=expire,scope=database}=0",
	     "tick     3600");
}

/* ---- counts. No statement reads a table that another program has locked whole, so a count of reservations waits. */

#define WAITS                                                                               \
	"sql SELECT COUNT(*) > 0 FROM information_schema.processlist WHERE db = DATABASE()" \
	" AND state LIKE 'Waiting for table metadata lock' -> "

/* A count that waits gives up after 10 s: others are answered before, while it waits. */
static void count_waits(const char *other)
{
	flow_steps("wait " WAITS "1",
	           "heartbeat 1 lease=60               -> 200 open",
	           "task 1                             -> open",
	           "sku A                              -> 200",
	           other,
	           "raw GET /readyz                    -> 200",
	           WAITS "1");
}

static struct db *reservations_lock(void)
{
	struct db *db = scratch_connection(flow_scratch());

	cr_assert(db_text(db, "LOCK TABLES reservation WRITE", NULL, NULL) == DB_OK, "%s", db_error(db));
	return db;
}

Test(service, nobody_waits_behind_a_count)
{
	struct race *race;
	struct db   *db;
	int          count;

	flow_begin();
	flow_steps("receipt  A +10                 -> 201",
	           "reserve  R1 A=1                -> 201",
	           "confirm  R1                    -> 200",
	           "claim    settle w              -> 201");
	db = reservations_lock();
	race = flow_race("3*3", "raw GET /metrics");
	count_waits("availability A -> 200");
	db_free(db);
	cr_expect(race_finish(race, &count) && count == 9);
	race_free(race);
	flow_steps("raw GET /metrics -> holdfast_reservations{state=confirmed,scope=database}=1");
	flow_end();
}

/* The units that keys hold are counted every two seconds. */
Test(service, nobody_waits_behind_a_count_of_keys)
{
	struct db *db;

	flow_begin();
	flow_steps("keys bot order held=10 | boss admin",
	           "serve --lanes 1",
	           "key boss",
	           "receipt A +10  -> 201",
	           "reserve R1 A=1 -> 201",
	           "confirm R1     -> 200",
	           "claim settle w -> 201");
	db = reservations_lock();
	count_waits("movements A -> 200");
	db_free(db);
	flow_steps("key bot",
	           "wait reserve R2 A=1 -> 201");
	flow_end();
}
