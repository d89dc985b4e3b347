/* test_key_times.c - keys that expire, are rotated and are revoked under a service that runs; the file that it looks at
 * by itself; when keys were used last. */
#include "engine/base/clock.h"
#include "tests/lang/flow.h"
#include "tests/kit/patience.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An expired key is told so, and nothing else is: not a stranger, and not the key of another name. */
Test(key_times, that_have_expired)
{
	struct text said = {0};

	flow_begin();
	flow_steps("keys late read expires=2020-01-01T00:00:00Z | eyes read expires=2098-01-01T00:00:00Z | boss admin",
	           "serve --lanes 1",
	           "key late",
	           "skus               -> 401 key_expired WWW-Authenticate:Bearer",
	           "raw GET /nowhere   -> 401 key_expired",
	           "receipt A +1       -> 401 key_expired",
	           "raw GET /livez     -> 200",
	           "key stranger",
	           "skus               -> 401 unauthorized",
	           "key eyes",
	           "skus               -> 200",
	           "key boss",
	           "raw GET /metrics   -> 200 holdfast_refusals_total{code=key_expired}=3 "
	           "holdfast_key_expiry_timestamp_seconds{key=late,secret=current}=1577836800 "
	           "holdfast_key_expiry_timestamp_seconds{key=eyes,secret=current}=4039372800 "
	           "'!~expiry_timestamp_seconds{key=boss' '!~last_used_timestamp_seconds{key=late' "
	           "'~last_used_timestamp_seconds{key=eyes,secret=current} '");
	flow_said_wait("event=key_expired", &said);
	cr_expect(strstr(said.data, "level=warn event=key_expired key=late at=2020-01-01T00:00:00.000Z"), "%s",
	          said.data);
	cr_expect_null(strstr(said.data, "key=eyes"), "%s", said.data);
	text_fini(&said);
	flow_end();
}

/* "2026-11-30T09:00:00Z", so many seconds from now. */
static const char *in_seconds(int s)
{
	static struct text at;

	text_reset(&at);
	time_write(&at, clock_wall_ms() + s * INT64_C(1000));
	strcpy(at.data + strlen("2026-11-30T09:00:00"), "Z");
	return at.data;
}

Test(key_times, expire_while_the_service_runs)
{
	struct text said = {0};

	flow_begin();
	flow_step("keys eyes read expires=%s | boss admin expires=2098-01-01T00:00:00Z", in_seconds(6 * 86400));
	flow_steps("serve --lanes 1",
	           "key eyes",
	           "skus           -> 200");
	flow_step("keys eyes read expires=%s | boss admin", in_seconds(2));
	flow_steps("hangup",
	           "wait skus      -> 401 key_expired",
	           "key boss",
	           "skus           -> 200");
	flow_said_wait("event=key_expired", &said);
	cr_expect(strstr(said.data, "level=warn event=key_expires key=eyes at="), "%s", said.data);
	cr_expect(strstr(said.data, "level=warn event=key_expired key=eyes at="), "%s", said.data);
	cr_expect_null(strstr(said.data, "key=boss"), "%s", said.data);
	text_fini(&said);
	flow_end();
}

/* A key that was rotated has one name and one limit, whichever secret a client has. */
Test(key_times, two_secrets_for_a_while)
{
	flow("keys shop order rps=1000 old=before old_until=2098-01-01T00:00:00Z | boss admin",
	     "serve --lanes 1",
	     "key boss",
	     "receipt A +10            -> 201",
	     "key shop",
	     "reserve R1 A=1           -> 201 by=shop",
	     "key before",
	     "reserve R2 A=1           -> 201 by=shop",
	     "key boss",
	     "raw GET /metrics         -> "
	     "holdfast_key_expiry_timestamp_seconds{key=shop,secret=old}=4039372800 "
	     "'~last_used_timestamp_seconds{key=shop,secret=old} ' "
	     "'~last_used_timestamp_seconds{key=shop,secret=current} '",
	     "keys shop order old=before old_until=2020-01-01T00:00:00Z | boss admin",
	     "key before",
	     "wait skus                -> 401 key_expired",
	     "key shop",
	     "skus                     -> 200",
	     "sql SELECT COUNT(DISTINCT key_id) FROM reservation -> 1");
}

/* The commands change the file of a service that runs. No signal is sent. */
Test(key_times, are_rotated_and_revoked_under_a_service)
{
	flow("keys shop order | eyes read | boss admin",
	     "serve --lanes 1",
	     "key shop",
	     "skus                          -> 200",
	     "alone key rotate shop         -> 0 '~the old secret of shop is valid until'",
	     "alone key list                -> 0 '~active, old secret until'",
	     "skus                          -> 200",
	     "alone key revoke shop --old   -> 0",
	     "wait skus                     -> 401 unauthorized",
	     "alone key revoke eyes         -> 0 '~the key of eyes is revoked'",
	     "key eyes",
	     "wait skus                     -> 401 unauthorized",
	     "key boss",
	     "skus                          -> 200",
	     "alone key rotate boss --overlap 0 -> 0",
	     "wait skus                     -> 401 unauthorized",
	     "alone key list                -> 0 ~boss '!~eyes'");
}

/* A wrong file changes nothing and is told once; so is a file that is away. */
Test(key_times, a_wrong_file_is_told_once)
{
	struct text said = {0};
	const char *first;

	flow_begin();
	flow_steps("keys eyes read",
	           "serve --lanes 1",
	           "keys eyes nobody");
	flow_said_wait("event=keys_kept", &said);
	sleep(2); /* a service looks twice a second */
	text_reset(&said);
	flow_said(&said);
	first = strstr(said.data, "event=keys_kept");
	cr_expect(first && !strstr(first + 1, "event=keys_kept"), "%s", said.data);
	flow_steps("key eyes",
	           "skus -> 200",
	           "keys eyes read",
	           "skus -> 200");
	text_fini(&said);
	flow_end();
}

/* The database knows when each key was used last, over all services and restarts; the list asks it. */
Test(key_times, last_use)
{
	flow("keys shop order | eyes read | boss admin",
	     "serve --lanes 1",
	     "run key list                  -> 0 '~shop  order    -     -  never      active'",
	     "key shop",
	     "skus                          -> 200",
	     "wait sql SELECT name FROM api_key_use JOIN api_key USING (key_id) -> shop",
	     "sql SELECT ABS(TIMESTAMPDIFF(SECOND, used_at, UTC_TIMESTAMP(3))) < 60 FROM api_key_use -> 1",
	     "run key list                  -> 0 '~eyes  read     -     -  never  ' '!~shop  order    -     -  never'",
	     "run key list --json           -> 0 ~used_at:null",
	     "alone key list --json         -> 0 '!~used_at'",
	     "restart",
	     "run key list                  -> 0 '!~shop  order    -     -  never'",
	     "key eyes",
	     "skus                          -> 200",
	     "key boss",
	     "skus                          -> 200",
	     "wait sql SELECT COUNT(*) FROM api_key_use -> 3");
}
