/* test_version.c - the version of an order: it rises with each change that has an event, stays where nothing changes
 * that is told, and is the same in the answer to the change, in later answers and in the event. */
#include "tests/kit/proxy.h"
#include "tests/lang/steps.h"
#include "tests/lang/trap.h"
#include "tests/lang/verb.h"

#include <stdio.h>
#include <string.h>

/* ---- what is told */

static int64_t number_of(const cJSON *object, const char *name)
{
	const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);

	return cJSON_IsNumber(member) ? (int64_t)member->valuedouble : -1;
}

/* Sends the step to program 0, which has to answer with `status`; -1: the answer has no version. */
static int64_t version_told(const char *text, int status)
{
	struct step   step;
	struct call   call = {0};
	struct answer answer = {0};
	struct client client;
	int64_t       version;

	step_read(&step, text, -1);
	cr_assert(verb_write(&step, &call), "%s", text);
	client_open(&client, flow_port(0));
	client_call(&client, &call, &answer);
	cr_expect(answer.status == status, "%s: %d %s", text, answer.status, answer.body.data);
	version = number_of(answer.json, "version");
	client_close(&client);
	answer_fini(&answer);
	call_fini(&call);
	step_fini(&step);
	return version;
}

static int64_t version_of(const char *order_id)
{
	char step[100];

	snprintf(step, sizeof(step), "get %s", order_id);
	return version_told(step, 200);
}

/* The version in the last event of the order. */
static int64_t version_in_events(const char *order_id)
{
	struct client client;
	struct answer answer = {0};
	const cJSON  *item;
	int64_t       version = -1;

	client_open(&client, flow_port(0));
	client_ask(&client, "GET", "/v1/events?limit=1000", "", &answer);
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(answer.json, "items"))
	{
		const cJSON *data = cJSON_GetObjectItemCaseSensitive(item, "data");
		const cJSON *id = cJSON_GetObjectItemCaseSensitive(data, "order_id");

		if (cJSON_IsString(id) && strcmp(id->valuestring, order_id) == 0 && number_of(data, "version") >= 0) {
			cr_expect(number_of(data, "version") >= version, "%s: an event has an older version", order_id);
			version = number_of(data, "version");
		}
	}
	client_close(&client);
	answer_fini(&answer);
	return version;
}

/* The step changes the order: its answer has a later version, which a look and the event have, too. Returns it. */
static int64_t rises(int64_t before, const char *order_id, const char *text, int status)
{
	int64_t told = version_told(text, status);

	cr_expect(told > before, "%s: version %lld behind %lld", text, (long long)told, (long long)before);
	cr_expect(version_of(order_id) == told, "%s: a look tells another version than the answer", text);
	cr_expect(version_in_events(order_id) == told, "%s: the event tells another version", text);
	return told;
}

/* Checks that a change by another program raised the version. */
static int64_t rose(int64_t before, const char *order_id, const char *what)
{
	int64_t now = version_of(order_id);

	cr_expect(now > before, "%s: version %lld behind %lld", what, (long long)now, (long long)before);
	cr_expect(version_in_events(order_id) == now, "%s: the event tells another version", what);
	return now;
}

static void stays(int64_t version, const char *order_id, const char *what)
{
	cr_expect(version_of(order_id) == version, "%s moves the version", what);
	cr_expect(version_in_events(order_id) == version, "%s: its event tells another version", what);
}

/* ---- tests */

Test(version, rises_with_each_change)
{
	int64_t v;

	flow_begin();
	flow_step("receipt A +20 -> 201");
	v = rises(0, "R1", "reserve R1 A=5", 201);
	v = rises(v, "R1", "extend R1 ttl=60", 200);
	v = rises(v, "R1", "extend R1 ttl=60", 200);
	rises(v, "P1", "split R1 P1 A=1", 201);
	v = rose(v, "R1", "a split");
	v = rises(v, "R1", "confirm R1", 200);
	flow_steps("claim settle w limit=2 -> 201 orders=R1",
	           "fail  1 R1=bury -> buried=1");
	v = rose(v, "R1", "an order that is buried");
	v = rises(v, "R1", "kick R1", 200);
	v = rises(v, "R1", "settle R1", 200);
	stays(v, "R1", "nothing");
	rises(0, "R2", "reserve R2 A=2 confirm=true", 201);
	v = version_of("R2");
	rises(v, "R3", "reserve R3 A=1 confirm=true replaces=R2", 201);
	v = rose(v, "R2", "a replacement");
	cr_expect(version_of("R3") == v, "one step, one version");
	v = rises(version_of("R3"), "R3", "release R3", 200);
	v = rises(0, "R4", "reserve R4 A=1 ttl=60", 201);
	flow_step("tick 61");
	stays(v, "R4", "the passing of time");
	flow_step("work expire -> 0");
	v = rose(v, "R4", "a sweep");
	v = rises(v, "R4", "confirm R4 reacquire", 200);
	flow_steps("claim settle w -> 201 orders=R4",
	           "complete 3 R4 -> 200 completed=1");
	rose(v, "R4", "a worker");
	flow_end();
}

Test(version, stays_where_nothing_is_told)
{
	int64_t v, held;

	flow_begin();
	flow_step("receipt A +20 -> 201");
	v = rises(0, "R1", "reserve R1 A=5 confirm=true", 201);
	held = rises(0, "R2", "reserve R2 A=1", 201);
	cr_expect(version_told("reserve R1 A=5", 200) == v && version_told("confirm R1", 200) == v,
	          "a repeat moves the version");
	flow_step("reserve R1 A=4 -> 422 order_id_reused");
	flow_step("claim settle w -> 201 R1 attempts=1");
	stays(v, "R1", "a claim");
	flow_step("heartbeat 1 -> 200");
	stays(v, "R1", "a heartbeat");
	flow_step("give-back 1 -> 200");
	stays(v, "R1", "a claim that is given back");
	flow_steps("claim settle w -> 201 R1",
	           "fail  2 R1=retry -> 200");
	stays(v, "R1", "an attempt that failed");
	flow_steps("tick  5",
	           "claim settle w -> 201 R1",
	           "fail  3 R1=retry -> 200",
	           "tick  5");
	stays(v, "R1", "a second one");
	flow_step("extend R1 ttl=60 -> 409 confirmed");
	stays(v, "R1", "a refusal");
	v = rises(v, "R1", "release R1", 200);
	cr_expect(version_told("release R1", 200) == v, "a repeat moves the version");
	flow_step("run reap -> 0");
	stays(held, "R2", "a reaper");
	flow_end();
}

/* A program that does not know of versions changes an order after a change that left the version behind. */
Test(version, of_an_older_program)
{
	int64_t v;

	flow_begin();
	flow_steps("receipt A +20 -> 201",
	           "reserve R1 A=5 confirm=true -> 201",
	           "claim   settle w -> 201 R1",
	           "give-back 1 -> 200");
	v = version_of("R1");
	trap_sql("UPDATE reservation SET changed = changed + 7 WHERE order_id = 'R1'");
	cr_expect(version_of("R1") == trap_number("SELECT changed FROM reservation") && version_of("R1") > v);
	trap_sql("UPDATE reservation SET changed = changed - 7 WHERE order_id = 'R1'");
	flow_end();
}

Test(version, of_units_that_arrive_and_are_lost)
{
	int64_t v;

	flow_begin();
	flow_steps("receipt A +2 -> 201",
	           "raw PUT /v1/locations/po {'kind':'incoming'} -> 201",
	           "receipt A@po +3 -> 201");
	v = rises(0, "R1", "reserve R1 A=2 A@po=3 confirm=true", 201);
	flow_step("arrival A@po>main=3 -> 201 lines[0].filled=3");
	v = rose(v, "R1", "an arrival");
	flow_step("adjust A -1 short=backorder to=po -> 201 backordered=1");
	rose(v, "R1", "a loss");
	flow_end();
}

/* Where the clock was set back, stamps are made of the last ones: more than LAST_INSERT_ID has room for. */
Test(version, behind_a_clock_that_was_ahead)
{
	int64_t v, ahead;

	flow_begin();
	flow_steps("serve   --lanes 1",
	           "receipt A +20 -> 201",
	           "reserve R1 A=5 -> 201");
	trap_sql("UPDATE log_writer SET stamp = stamp + 300000");
	rises(version_of("R1"), "R1", "confirm R1", 200);
	ahead = trap_number("SELECT MAX(stamp) + 3600000000 FROM log_writer");
	trap_sql("UPDATE log_writer SET stamp = %lld", (long long)ahead);
	v = rises(ahead, "R2", "reserve R2 A=1", 201);
	v = rises(v, "R2", "confirm R2", 200);
	cr_expect(v > ahead && v < ahead + 1000);
	rises(ahead, "R1", "release R1", 200);
	trap_sql("UPDATE event SET stamp = stamp - 3600000000 WHERE stamp >= %lld", (long long)ahead);
	trap_sql("UPDATE reservation SET changed = changed - 3600000000 WHERE changed >= %lld", (long long)ahead);
	trap_sql("UPDATE log_writer SET stamp = %lld - 3600000000 + 1000", (long long)ahead);
	flow_end();
}

/* The answer to COMMIT is lost: the row of the lane has the stamp. */
Test(version, of_an_outcome_that_was_looked_up)
{
	struct proxy *proxy;

	flow_begin();
	proxy = proxy_open(flow_scratch());
	flow_steps("serve   --lanes 1",
	           "receipt A +20 -> 201");
	for (int i = 0; i < 2; i++) {
		if (i == 1)
			trap_sql("UPDATE log_writer SET stamp = stamp + 3600000000");
		proxy_arm_lane(proxy, BREACH_MUTE, "COMMIT");
		if (i == 0)
			rises(0, "R1", "reserve R1 A=5", 201);
		else
			rises(0, "R2", "reserve R2 A=5", 201);
		cr_expect(proxy_struck(proxy), "%d", i);
	}
	flow_end();
	proxy_close(proxy);
}
