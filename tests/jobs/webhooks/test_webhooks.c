/* test_webhooks.c - the calls about webhooks: what is asked, remembered, shown and refused. */
#include "tests/lang/flow.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define W1 "raw POST /v1/webhooks {'webhook_id':'W1','url':'https://shop.example/hook'} -> "

Test(webhooks, made_read_and_deleted)
{
	flow(W1 "201 webhook_id=W1 url=https://shop.example/hook !types from=now parallel=1 state=active !reason"
	        " failures=0 cursor_age_s=0 !last_status ~whsec_ Location:webhooks/W1",
	     W1 "200 replayed webhook_id=W1 !secret",
	     "raw GET /v1/webhooks/W1                -> 200 state=active !secret !secret_before",
	     "raw GET /v1/webhooks                   -> 200 items=1 end",
	     "raw DELETE /v1/webhooks/W1             -> 204",
	     "raw DELETE /v1/webhooks/W1             -> 204",
	     "raw GET /v1/webhooks/W1                -> 404 unknown_webhook",
	     "raw POST /v1/webhooks/W1/enable        -> 404 unknown_webhook",
	     "raw POST /v1/webhooks/W1/rotate        -> 404 unknown_webhook",
	     W1 "201 ~whsec_");
}

Test(webhooks, asked_again)
{
	flow("raw POST /v1/webhooks {'webhook_id':'W','url':'https://a.example/','types':['stock.out',"
	     "'reservation.held'],'from':'oldest','parallel':16} -> 201"
	     " types=2 types[0]=reservation.held from=oldest parallel=16",
	     "raw POST /v1/webhooks {'webhook_id':'W','url':'https://a.example/','types':['reservation.held',"
	     "'stock.out','stock.out'],'from':'oldest','parallel':16} -> 200 replayed",
	     "raw POST /v1/webhooks {'webhook_id':'W','url':'https://a.example/'} -> 422 webhook_id_reused",
	     "raw POST /v1/webhooks {'webhook_id':'W','url':'https://a.example/','types':['reservation.held',"
	     "'stock.out'],'from':'oldest'} -> 422 webhook_id_reused",
	     "raw POST /v1/webhooks {'webhook_id':'W','url':'https://a.example/','types':['reservation.held',"
	     "'stock.out'],'parallel':16} -> 422 webhook_id_reused",
	     "raw POST /v1/webhooks {'webhook_id':'W','url':'https://b.example/','types':['reservation.held',"
	     "'stock.out'],'from':'oldest','parallel':16} -> 422 webhook_id_reused");
}

Test(webhooks, malformed)
{
	flow("raw POST /v1/webhooks {'webhook_id':'W'}                                -> 400 field=url",
	     "raw POST /v1/webhooks {'url':'https://a.example/'}                      -> 400 field=webhook_id",
	     "raw POST /v1/webhooks {'webhook_id':'W','url':'ftp://a.example/'}       -> 400 field=url",
	     "raw POST /v1/webhooks {'webhook_id':'W','url':'a.example'}              -> 400 field=url",
	     "raw POST /v1/webhooks {'webhook_id':'W','url':'https://me@a.example/'}  -> 400 field=url",
	     "raw POST /v1/webhooks {'webhook_id':'W','url':'http://a.example/'}      -> 400 field=url",
	     "raw POST /v1/webhooks {'webhook_id':'W','url':'https://127.0.0.1/'}     -> 400 field=url",
	     "raw POST /v1/webhooks {'webhook_id':'W','url':'https://a.example/','types':[]} -> 400 field=types",
	     "raw POST /v1/webhooks {'webhook_id':'W','url':'https://a.example/','types':['stock.out','stock.gone']}"
	     " -> 400 field=types[1]",
	     "raw POST /v1/webhooks {'webhook_id':'W','url':'https://a.example/','from':'here'} -> 400 field=from",
	     "raw POST /v1/webhooks {'webhook_id':'W','url':'https://a.example/','parallel':0} -> 400 field=parallel",
	     "raw POST /v1/webhooks {'webhook_id':'W','url':'https://a.example/','parallel':65} -> 400 field=parallel",
	     "raw POST /v1/webhooks {'webhook_id':'W','url':'https://a.example/','secret':'mine'} -> 400 field=secret",
	     "raw GET /v1/webhooks                                                    -> items=0",
	     W1 "201",
	     "raw POST /v1/webhooks/W1/enable {'skip':1}                              -> 400 field=skip",
	     "raw POST /v1/webhooks/W1/enable {'from':'now'}                          -> 400 field=from",
	     "raw POST /v1/webhooks/W1/enable {'from':'12:00'}                        -> 400 field=from",
	     "raw POST /v1/webhooks/W1/enable {'from':'2026-11-22T08:00:00Z','skip':true} -> 400 field=skip",
	     "raw POST /v1/webhooks/W1/enable {'from':'2026-11-22T08:00:00Z'}         -> 200 state=active",
	     "raw GET /v1/webhooks?cursor=x                                           -> 400",
	     "raw GET /v1/webhooks?state=off                                          -> 400");
}

Test(webhooks, list)
{
	flow_begin();
	for (int i = 0; i < 5; i++)
		flow_step("raw POST /v1/webhooks {'webhook_id':'#%d','url':'https://a.example/'} -> 201", i);
	flow_steps("raw GET /v1/webhooks?limit=2  -> items=2 items[0].webhook_id=#0 more",
	           "raw GET /v1/webhooks?limit=5  -> items=5 end",
	           "raw GET /v1/webhooks/%233     -> webhook_id=#3",
	           "raw DELETE /v1/webhooks/%233  -> 204",
	           "raw GET /v1/webhooks?limit=5  -> items=4 items[3].webhook_id=#4");
	flow_end();
}

Test(webhooks, are_for_admins)
{
	flow("keys boss admin | shop order | eye read | hand worker",
	     "key boss",
	     W1 "201",
	     "raw GET /v1/webhooks -> 200",
	     "key shop",
	     W1 "403",
	     "raw GET /v1/webhooks -> 403",
	     "raw GET /v1/webhooks/W1 -> 403",
	     "raw DELETE /v1/webhooks/W1 -> 403",
	     "raw POST /v1/webhooks/W1/rotate -> 403",
	     "key eye",
	     "raw GET /v1/webhooks -> 403",
	     "key hand",
	     "raw GET /v1/webhooks -> 403");
}

/* The secret is told once, and stands in the table in a form that says nothing. */
Test(webhooks, secrets)
{
	char  key[300];
	FILE *file;

	flow_begin();
	snprintf(key, sizeof(key), "%s/%s.vault", scratch_dir(), flow_scratch()->name);
	file = fopen(key, "we");
	cr_assert(file && fputs("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", file) >= 0 && fclose(file) == 0);
	flow_step("serve --lanes 1 --webhooks-key %s", key);
	flow_steps(W1 "201 ~whsec_",
	           "sql SELECT secret LIKE 'sealed:%', secret LIKE '%whsec%' FROM webhook -> 1,0",
	           W1 "200 replayed !secret",
	           "raw POST /v1/webhooks/W1/rotate -> 200 ~whsec_ rotated_at=~0",
	           "sql SELECT secret_before LIKE 'sealed:%', secret <> secret_before FROM webhook -> 1,1",
	           "raw GET /v1/webhooks -> !items[0].secret",
	           "serve --lanes 1",
	           "raw POST /v1/webhooks {'webhook_id':'W2','url':'https://shop.example/'} -> 201",
	           "sql SELECT secret LIKE 'whsec_%' FROM webhook WHERE webhook_id = 'W2' -> 1",
	           "alone serve --db mariadb://a@localhost/b --webhooks-key /nowhere  -> 78 '~cannot read /nowhere'",
	           "alone serve --db mariadb://a@localhost/b --webhooks-key /dev/null -> 78 '~32 bytes in base64'",
	           "alone serve --db mariadb://a@localhost/b --webhooks-allow 10.0.0.0 -> 78 ~10.0.0.0",
	           "alone serve --db mariadb://a@localhost/b --jobs=delivery -> 78 ~deliver");
	unlink(key);
	flow_end();
}

/* Events that were delivered ahead of the place would go out again. */
Test(webhooks, enable_leaves_alone_what_is_well)
{
	flow("raw POST /v1/webhooks {'webhook_id':'W1','url':'https://shop.example/e'} -> 201",
	     "sql UPDATE webhook SET task_id = 7, version = 3 -> ",
	     "raw POST /v1/webhooks/W1/enable                 -> 200 state=active",
	     "raw POST /v1/webhooks/W1/enable {'skip':true}   -> 200 state=active",
	     "sql SELECT task_id, version FROM webhook        -> 7,3",
	     "sql UPDATE webhook SET failures = 1, failed_event = 'E', failing_since = UTC_TIMESTAMP(3) -> ",
	     "raw POST /v1/webhooks/W1/enable                 -> 200 state=active failures=0",
	     "sql SELECT IFNULL(task_id, 0), version FROM webhook -> 0,4");
}

Test(webhooks, each_has_its_age)
{
	flow("raw POST /v1/webhooks {'webhook_id':'W-1','url':'https://shop.example/e'} -> 201",
	     "raw POST /v1/webhooks {'webhook_id':'W2','url':'https://shop.example/e'} -> 201",
	     "sql UPDATE webhook SET behind = 1 -> ",
	     "tick 100",
	     "wait:16 raw GET /metrics"
	     " -> 200 '~holdfast_events_undelivered_age_seconds{webhook=W-1,scope=database} 10'",
	     "raw GET /metrics         -> 200 '~{webhook=W2,scope=database} 10'");
}
