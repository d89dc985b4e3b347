/* test_restart.c - the program ends, or loses its database: what was answered stays true. */
#include "engine/base/clock.h"
#include "tests/kit/patience.h"
#include "tests/kit/program.h"
#include "tests/kit/http.h"
#include "tests/kit/drill.h"
#include "tests/kit/server.h"
#include "tests/lang/trap.h"

#include <stdio.h>
#include <sys/stat.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRIES = 8, AT_ONCE_MS = 100, LINGER_MS = 200, AT_ONCE_FULL_MS = PATIENCE_MS / 3 };

Test(restart, keeps_everything)
{
	flow("receipt  M1 A +10 A@paris +2      -> 201",
	     "reserve  R1 A=1                   -> 201",
	     "reserve  R2 A=2                   -> 201",
	     "reserve  R3 A=3 A@paris=2         -> 201",
	     "reserve  R4 A=1 ttl=60            -> 201",
	     "confirm  R2                       -> 200",
	     "release  R3                       -> 200",
	     "mark",
	     "restart",
	     "unchanged",
	     "kill",
	     "unchanged",
	     "sku      A                        -> available=8 reserved=4 @main available=6 @paris available=2",
	     "get      R1                       -> held",
	     "get      R2                       -> confirmed",
	     "get      R3                       -> released",
	     "list                              -> items=R4,R3,R2,R1",
	     "tick     61",
	     "kill",
	     "get      R4                       -> expired",
	     "reserve  R5 A=7                   -> 201",
	     "confirm  R1                       -> confirmed",
	     "release  R2                       -> released",
	     "movements A                       -> items=M1");
}

Test(restart, more_and_fewer_lanes)
{
	flow("serve    --lanes 8",
	     "race 32  receipt A +1             -> 32x 201",
	     "serve    --lanes 1",
	     "reserve  R1 A=32                  -> 201",
	     "release  R1                       -> released",
	     "serve    --lanes 4 --slot 20",
	     "race 64  reserve Q# A=1           -> 32x 201 | 32x 409 short");
}

/* Every order that was answered 201 is there afterwards; every repeat is answered; nothing is there twice. Where the
 * program itself lived on (`all`), every order was answered so. */
static void check_acknowledged(struct race *race, bool all)
{
	int                  count, units = 10000;
	const struct answer *answer = race_finish(race, &count);

	for (int i = 0; i < count; i++)
		if (answer[i].status == 201)
			flow_step("reserve R%d A=1 -> 200 held replayed", i);
		else if (all || (answer[i].status != 0 && answer[i].status != 503))
			flow_fail("R%d was answered %d %s", i, answer[i].status, answer[i].body.data);
	race_free(race);
	flow_step("race 16*60 reserve R# A=1 -> *x 201 held | *x 200 held replayed");
	flow_step("sku A -> available=%d reserved=%d", units - count, count);
	flow_step("race 16*60 release R# -> 960x 200 released");
	flow_step("sku A -> available=%d reserved=0", units);
}

static void kill_under_load(int lanes, unsigned after_us)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes %d", lanes);
	flow_step("receipt A +10000 -> 201");
	race = flow_race("16*60", "reserve R# A=1");
	usleep(after_us);
	flow_step("kill");
	check_acknowledged(race, false);
	flow_end();
}

Test(restart, kill_under_load_early)
{
	kill_under_load(4, 15000);
}

Test(restart, kill_under_load_late)
{
	kill_under_load(2, 60000);
}

Test(restart, terminate_under_load)
{
	struct race *race;

	flow_begin();
	flow_steps("serve --lanes 4",
	           "receipt A +10000 -> 201");
	race = flow_race("16*60", "reserve R# A=1");
	usleep(30000);
	flow_step("restart");
	check_acknowledged(race, false);
	flow_end();
}

/* The lanes' connections die again and again while orders come in: each answer is right, none is missing. */
Test(restart, connections_cut_under_load)
{
	struct race *race;

	flow_begin();
	flow_steps("serve --lanes 4",
	           "receipt A +10000 -> 201");
	race = flow_race("16*60", "reserve R# A=1");
	for (int i = 0; i < 10; i++) {
		usleep(15000);
		flow_step("cut");
	}
	check_acknowledged(race, true);
	flow_end();
}

/* A lost connection is opened again for the next request, and no client notices. */
Test(restart, connections_cut)
{
	flow("receipt  A +10                    -> 201",
	     "cut",
	     "reserve  R1 A=1                   -> 201",
	     "cut",
	     "confirm  R1                       -> confirmed",
	     "cut",
	     "sku      A                        -> available=9",
	     "cut",
	     "list                              -> items=R1",
	     "cut",
	     "skus                              -> items=A",
	     "cut",
	     "receipt  NEW +1                   -> 201",
	     "wait raw GET /readyz              -> 200");
}

/* Away for less than 10 s: a request waits. Away for longer: 503, and nothing was done. */
Test(restart, database_away)
{
	struct race *race;
	int          count;

	flow_begin();
	flow_steps("receipt A +10 -> 201",
	           "away");
	race = flow_race("4", "reserve R# A=1 || receipt A +1 || get R9 || sku A");
	usleep(500000);
	flow_step("back");
	for (const struct answer *a = race_finish(race, &count); count > 0; count--, a++)
		if (a->status >= 500 || a->status == 0)
			flow_fail("a request did not wait for the database: %d %s", a->status, a->body.data);
	race_free(race);
	flow_steps("get R0                      -> held",
	           "sku A                       -> available=10 reserved=1",
	           "away",
	           "raw GET /livez              -> 200",
	           "wait raw GET /readyz        -> 503 unavailable",
	           "race 4 reserve Q# A=1 || reserve R0 A=1 || confirm R0 || receipt M9 A +1 ->"
	           "       4x 503 unavailable Retry-After:*",
	           "raw GET /metrics            -> holdfast_refusals_total{code=unavailable}=4",
	           "back",
	           "wait raw GET /readyz        -> 200",
	           "sku A                       -> available=10 reserved=1",
	           "get Q0                      -> 404 unknown_order",
	           "get R0                      -> held",
	           "reserve Q0 A=1              -> 201",
	           "receipt M9 A +1             -> 201");
	flow_end();
}

/* Another connection holds locks for too long: the answer is busy, and nothing was done. Everything goes on
 * afterwards. */
Test(restart, rows_locked)
{
	flow("receipt  A +10                    -> 201",
	     "reserve  R1 A=1                   -> 201",
	     "mark",
	     "lock",
	     "race 3   reserve Q# A=1 || confirm R1 || receipt M9 A +1 -> 3x 503 busy Retry-After:*",
	     "unlock",
	     "unchanged",
	     "reserve  Q0 A=1                   -> 201",
	     "receipt  M9 A +1                  -> 201",
	     "confirm  R1                       -> confirmed");
}

/* SIGTERM drains: readyz 503 on the connections there are, no new ones, the order under way is answered, exit 0. */
Test(restart, drain)
{
	struct race  *race;
	struct client late;
	int           port;

	flow_begin();
	flow_steps("receipt A +10 -> 201",
	           "lock");
	port = flow_port(0);
	race = flow_race("1", "reserve R# A=1");
	trap_waiter();
	flow_terminate();
	flow_step("wait raw GET /readyz -> 503 unavailable");
	client_open(&late, port);
	if (client_connect(&late))
		flow_fail("a new connection was taken while draining");
	client_close(&late);
	flow_step("unlock");
	if (race_finish(race, NULL)->status != 201)
		flow_fail("the order under way was not answered");
	race_free(race);
	flow_steps("restart",
	           "get R0 -> held",
	           "sku A  -> available=9 reserved=1");
	flow_end();
}

/* The time of the log's last line of an event, in ms. */
static int64_t said_at(const struct text *said, const char *event)
{
	const char *line = NULL, *next = said->data;
	char        at[32] = "";
	int64_t     us = 0;

	while ((next = strstr(next, event)))
		line = next++;
	cr_assert(line, "%s: %s", event, said->data);
	while (line > said->data && line[-1] != '\n')
		line--;
	cr_assert(sscanf(line, "time=%31s", at) == 1 && time_read(at, &us), "%.60s", line);
	return us / 1000;
}

/* Runs a service and ends it; returns the ms from its signal to the last line of its log. */
static int64_t ends_after_ms(const char *options, bool connected)
{
	struct program p = {0};
	struct client  client;
	struct answer  answer = {0};
	struct text    said = {0}, why = {0};
	char           log[300];
	int64_t        ms;

	snprintf(log, sizeof(log), "%s/%s.ends", scratch_dir(), flow_scratch()->name);
	program_start(&p, log, flow_scratch()->url, options);
	client_open(&client, p.port);
	client_ask(&client, "GET", "/livez", "", &answer);
	cr_expect_eq(answer.status, 200);
	if (!connected)
		client_close(&client);
	usleep(60000);
	cr_expect(program_stop(&p, &why), "%s", why.data);
	if (connected)
		client_close(&client);
	program_log_all(log, &said);
	ms = said_at(&said, "event=ended") - said_at(&said, "event=draining");
	answer_fini(&answer);
	text_fini(&said);
	text_fini(&why);
	return ms;
}

/* The best of several tries, by the machine of that moment: ticks alone are at least 200 ms on a quiet one. A client
 * that is there has some time to hear that the service ends. */
Test(restart, an_idle_service_ends_at_once)
{
	static const char *const options[] = {"", "--jobs", "--jobs=expire,reap,deliver,settle"};

	flow_begin();
	flow_step("receipt A +10 -> 201");
	for (size_t i = 0; i < LENGTH(options); i++) {
		int64_t best = INT64_MAX;

		for (int tries = 0; tries < TRIES && best > patience_ms(AT_ONCE_MS); tries++) {
			int64_t ms = ends_after_ms(options[i], false);

			best = ms < best ? ms : best;
		}
		cr_expect(best <= patience_ms(AT_ONCE_MS), "serve %s: %lld of %d ms", options[i], (long long)best,
		          patience_ms(AT_ONCE_MS));
	}
	cr_expect_geq(ends_after_ms("", true), LINGER_MS);
	flow_end();
}

Test(restart, another_process_goes_on)
{
	flow("receipt  A +10                    -> 201",
	     "second",
	     "reserve  R1 A=4                   -> 201",
	     "kill",
	     "@2 confirm R1                     -> confirmed",
	     "@2 reserve R2 A=6                 -> 201",
	     "@2 kill",
	     "release  R2                       -> released",
	     "@2 restart",
	     "@2 reserve R3 A=6                 -> 201",
	     "sku      A                        -> available=0 reserved=10");
}

/* A server that refuses to write has done nothing: the outcome is not unknown, and no look into the database is
 * needed. */
Test(restart, database_is_read_only)
{
	flow("receipt  A +5                 -> 201",
	     "sql CREATE TRIGGER read_only BEFORE UPDATE ON log_writer FOR EACH ROW SIGNAL SQLSTATE 'HY000' SET"
	     " MYSQL_ERRNO = 1290 -> ",
	     "reserve  R1 A=1               -> 503 unavailable Retry-After:*",
	     "wait raw GET /readyz          -> 503 unavailable",
	     "raw GET /metrics              -> holdfast_unknown_outcomes_total=0",
	     "sql DROP TRIGGER read_only    -> ",
	     "wait raw GET /readyz          -> 200",
	     "reserve  R1 A=1               -> 201 held",
	     "sku      A                    -> available=4 reserved=1");
}

/* No space left: the answer comes at once, because waiting would not help. */
Test(restart, database_is_full)
{
	flow("receipt  A +5                 -> 201",
	     "sql CREATE TRIGGER full BEFORE INSERT ON reservation_line FOR EACH ROW SIGNAL SQLSTATE 'HY000'"
	     " SET MYSQL_ERRNO = 1114 -> ",
	     "reserve  R1 A=1               -> 503 storage_full Retry-After:*",
	     "raw GET /metrics              -> holdfast_unknown_outcomes_total=0",
	     "sql DROP TRIGGER full         -> ",
	     "sku      A                    -> available=5 reserved=0",
	     "reserve  R1 A=1               -> 201 held");
}

/* The answer once was `busy`, as if a repeated call could succeed. */
Test(restart, table_is_missing)
{
	flow("receipt  A +5                 -> 201",
	     "reserve  R0 A=1               -> 201",
	     "sql RENAME TABLE reservation_line TO elsewhere -> ",
	     "race 3 reserve R1 A=1 || sku A || list -> 2x 503 unavailable | 1x 200 available=4",
	     "sql RENAME TABLE elsewhere TO reservation_line -> ",
	     "reserve  R1 A=1               -> 201 held");
}

/* ---- a disk that is full, of the server's data, redo log or temporary files */

static const char *const small[] = {"--innodb-log-file-size=8M", "--innodb-data-file-path=ibdata1:12M:autoextend",
                                    NULL};

/* A server that was started once with a small redo log. */
static void small_server_make(struct server *server)
{
	server_make(server, NULL);
	server_start(server, small);
	server_stop(server);
}

static void flow_end_on(struct server *server)
{
	flow_end();
	server_stop(server);
	server_remove(server);
}

/* Orders of a hundred lines while there is no space, and again when there is. The service refuses all orders that need
 * space at once, and is not ready until a write that needs space has succeeded. Calls that need none are answered as
 * usual. */
Test(restart, full_data_folder)
{
	struct server server;
	int64_t       from_ms;

	small_server_make(&server);
	server_disk(&server, "var/db", 160);
	server_start(&server, small);
	server_use(&server);
	flow_begin();
	flow_repeat("receipt", " S# +100000", 100, " -> 201");
	flow_step("reserve OLD S1=1            -> 201");
	server_disk_fill(&server, true);
	flow_repeat("race 4*100 reserve R#", " S#=1", 100, " -> *x 201 held | *x 503 storage_full Retry-After:*");
	from_ms = clock_ms();
	flow_repeat("race 4*5 reserve T#", " S#=1", 100, " -> *x 201 held | *x 503 storage_full Retry-After:*");
	cr_expect(!patience_is_over(from_ms, AT_ONCE_FULL_MS), "%lld ms", (long long)(clock_ms() - from_ms));
	flow_steps("raw GET /readyz?verbose     -> 503 storage_full '~the database has no room to write'",
	           "raw GET /livez              -> 200",
	           "raw GET /metrics            -> holdfast_storage_full=1 holdfast_unknown_outcomes_total=0",
	           "reserve OLD S1=1            -> 200 held replayed",
	           "reserve BIG S1=1000000      -> 409 short",
	           "get     OLD                 -> held");
	server_disk_fill(&server, false);
	flow_step("wait raw GET /readyz        -> 200");
	flow_repeat("race 4*100 reserve R#", " S#=1", 100, " -> *x 201 held | *x 200 held replayed");
	flow_steps("raw GET /metrics            -> holdfast_storage_full=0");
	flow_end_on(&server);
}

/* The redo log has its full size from the start: a full disk does not matter to it. */
Test(restart, full_redo_log, DRILL)
{
	struct server     server;
	char              folder[120], command[300];
	const char *const options[] = {folder, small[0], NULL};

	small_server_make(&server);
	snprintf(command, sizeof(command),
	         "cd %s/var && mkdir -m 700 redo && chown --reference=db redo && mv db/ib_logfile0 redo", server.dir);
	cr_assert(system(command) == 0);
	snprintf(folder, sizeof(folder), "--innodb-log-group-home-dir=%s/var/redo", server.dir);
	server_disk(&server, "var/redo", 16);
	server_start(&server, options);
	server_use(&server);
	flow_begin();
	flow_repeat("receipt", " S# +100000", 100, " -> 201");
	server_disk_fill(&server, true);
	flow_repeat("race 4*50 reserve R#", " S#=1", 100, " -> 200x 201 held");
	flow_step("raw GET /readyz             -> 200");
	flow_end_on(&server);
}

/* If the server logs for replicas, a large transaction needs a temporary file. */
Test(restart, full_temporary_files)
{
	struct server     server;
	const char *const options[] = {
		small[0], "--log-bin=bin", "--server-id=1", "--binlog-cache-size=4096", "--binlog-format=ROW", NULL};

	small_server_make(&server);
	server_disk(&server, "var/tmp", 16);
	server_start(&server, options);
	server_use(&server);
	flow_begin();
	flow_repeat("receipt", " S# +100000", 1000, " -> 201");
	server_disk_fill(&server, true);
	flow_repeat("reserve R1", " S#=1", 1000, " -> 503 storage_full Retry-After:*");
	flow_steps("reserve R2 S1=1             -> 201 held",
	           "raw GET /metrics            -> holdfast_refusals_total{code=storage_full}=1");
	server_disk_fill(&server, false);
	flow_repeat("reserve R1", " S#=1", 1000, " -> 201 held");
	flow_step("wait raw GET /readyz        -> 200");
	flow_end_on(&server);
}

/* ---- the disk of a private server */

/* Waits until the log contains the words. */
static bool log_says(const char *log, const char *words)
{
	struct text said = {0};
	bool        is = false;

	for (int64_t from_ms = clock_ms(); !is && !patience_is_over(from_ms, 3 * PATIENCE_MS); usleep(100000)) {
		text_reset(&said);
		program_log_all(log, &said);
		is = said.data && strstr(said.data, words);
	}
	text_fini(&said);
	return is;
}

/* The free bytes that /metrics shows; -1: none. */
static long long free_told(struct client *client)
{
	struct answer out = {0};
	const char   *at;
	long long     told = -1;

	client_ask(client, "GET", "/metrics", "", &out);
	at = out.body.data ? strstr(out.body.data, "\nholdfast_storage_free_bytes ") : NULL;
	if (at)
		told = strtoll(at + strlen("\nholdfast_storage_free_bytes "), NULL, 10);
	answer_fini(&out);
	return told;
}

static int reserved(struct client *client, const char *id, bool *is_storage)
{
	struct answer out = {0};
	char          body[100];
	int           status;

	snprintf(body, sizeof(body), "{\"order_id\":\"%s\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}", id);
	client_ask(client, "POST", "/v1/reservations", body, &out);
	status = out.status;
	*is_storage = out.body.data && strstr(out.body.data, "\"code\":\"storage_full\"");
	answer_fini(&out);
	return status;
}

static void disk_do(const struct server *server, const char *command)
{
	char whole[300];

	snprintf(whole, sizeof(whole), "cd %s && %s", server->disk, command);
	cr_assert(system(whole) == 0, "%s", whole);
}

/* The space gets low, is enough again, and then the file system becomes read-only, as one with errors does: the server
 * ends, and cannot be started again. */
Test(restart, room_of_a_private_server, DRILL)
{
	struct server  server = {.dir = "/tmp/holdfast-room-XXXXXX"};
	struct program p = {0};
	struct client  client;
	char           log[100], options[300];
	long long      told;
	int64_t        from_ms;
	bool           is_storage = false;

	cr_assert(mkdtemp(server.dir) && chmod(server.dir, 0755) == 0);
	snprintf(log, sizeof(log), "%s/log", server.dir);
	snprintf(options, sizeof(options), "%s/disk", server.dir);
	cr_assert(mkdir(options, 0755) == 0);
	server_journaled_disk(&server, "disk", 900);
	snprintf(options, sizeof(options), "--data %s/data", server.disk);
	program_start(&p, log, NULL, options);
	client_open(&client, p.port);
	told = free_told(&client);
	cr_expect(told > 100 << 20 && told < 900 << 20, "%lld", told);
	disk_do(&server, "fallocate -l $(($(stat -f -c '%a*%S' .) - (40 << 20))) filler");
	cr_expect(log_says(log, "event=storage_low free_bytes="));
	told = free_told(&client);
	cr_expect(told > 0 && told < 90 << 20, "%lld", told);
	disk_do(&server, "rm filler");
	cr_expect(log_says(log, "event=storage_enough free_bytes="));
	server_disk_breaks(&server);
	(void)reserved(&client, "R1", &is_storage); /* the server ends at this one, or before */
	cr_expect(log_says(log, "event=storage_full"));
	from_ms = clock_ms();
	cr_expect(reserved(&client, "R2", &is_storage) == 503 && is_storage);
	cr_expect(!patience_is_over(from_ms, AT_ONCE_FULL_MS), "%lld ms", (long long)(clock_ms() - from_ms));
	client_close(&client);
	program_kill(&p);
	disk_do(&server, "kill -9 $(cat data/mariadbd.pid) 2> /dev/null; true");
	snprintf(options, sizeof(options), "umount -l %s; rm -rf %s", server.disk, server.dir);
	cr_expect(system(options) == 0);
}
