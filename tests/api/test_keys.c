/* test_keys.c - which role may make which call: the matrix of every call and every role, as the document, the table and
 * the running service have it; limits of requests; the file read again; what the log says, and what it must not. */
#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "api/keys.h"
#include "tests/lang/attack.h"
#include "tests/lang/expect.h"
#include "tests/lang/flow.h"
#include "tests/lang/keyring.h"
#include "tests/kit/patience.h"
#include "tests/kit/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVERYBODY "keys shop order | packers worker | eyes read | boss admin | both order,worker"

/* ---- the matrix */

struct call_of {
	char     method[8], path[80];
	unsigned roles;
};
enum { CALLS_MAX = 80 };

static const struct call_of table[] = {
#define X(method, path, handler, callers) {#method, path, callers},
#include "api/routes.def"
#undef X
};

static unsigned roles_of(char *words)
{
	unsigned roles = 0, role;
	char    *rest = words, *word;

	while ((word = strsep(&rest, "[], \n")))
		if (*word) {
			cr_assert(roles_read(&role, word), "the document knows no role %s", word);
			roles |= role;
		}
	return roles;
}

/* Every call of the document, by its lines: a path, a method, its x-roles. */
static int document_read(const char *yaml, struct call_of *to)
{
	char path[80] = "", method[8] = "", *text = mem_copy(yaml), *rest = text, *line;
	int  n = 0, c;

	while ((line = strsep(&rest, "\n"))) {
		char open;

		if (strncmp(line, "components:", 11) == 0)
			break;
		if (strncmp(line, "  /", 3) == 0)
			cr_assert_eq(sscanf(line, "  %79[^:]%c", path, &open), 2, "%s", line);
		else if (strncmp(line, "    ", 4) == 0 && line[4] != ' ' && sscanf(line, "    %7[a-z]:", method) == 1)
			for (c = 0; method[c]; c++)
				method[c] = (char)(method[c] - 'a' + 'A');
		else if (strncmp(line, "      x-roles: ", 15) == 0 && n < CALLS_MAX) {
			to[n] = (struct call_of){.roles = roles_of(line + 15)};
			strcpy(to[n].method, method);
			strcpy(to[n++].path, path);
		}
	}
	free(text);
	return n;
}

static const struct call_of *call_find(const struct call_of *calls, int n, const struct call_of *like)
{
	for (int i = 0; i < n; i++)
		if (strcmp(calls[i].method, like->method) == 0 && strcmp(calls[i].path, like->path) == 0)
			return &calls[i];
	return NULL;
}

static void ask(const char *bearer, const char *method, const char *path, struct answer *out)
{
	struct client c;
	struct call   call = {0};
	struct text   why = {0};

	client_open(&c, flow_port(0));
	c.bearer = bearer;
	snprintf(call.method, sizeof(call.method), "%s", method);
	text_add(&call.path, path);
	if (strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0)
		text_add(&call.body, "[]"); /* no call reads this: a key that is let in is told 400 */
	client_call(&c, &call, out);
	if (!expect_form(&call, out, &why))
		flow_fail("%s %s: %s", method, path, why.data);
	client_close(&c);
	call_fini(&call);
	text_fini(&why);
}

static const struct {
	const char *name;
	unsigned    role; /* 0: none, or one that is not known */
} askers[] = {{NULL, 0},
              {"stranger", 0},
              {"shop", ROLE_ORDER},
              {"packers", ROLE_WORKER},
              {"eyes", ROLE_READ},
              {"boss", ROLE_ADMIN},
              {"both", ROLE_ORDER | ROLE_WORKER}};

static int status_wanted(unsigned roles, unsigned role)
{
	if (roles == 0 || (roles & role))
		return 0; /* let in, whatever comes of it */
	return role ? 403 : 401;
}

static void call_ask(const struct call_of *call, const char *method)
{
	char path[100], bearer[80], header[40];

	snprintf(path, sizeof(path), "%s", call->path);
	if (strchr(path, '{')) { /* {order_id}/confirm -> 1/confirm */
		char *brace = strchr(path, '{'), *end = strchr(path, '}');

		*brace = '1';
		memmove(brace + 1, end + 1, strlen(end + 1) + 1);
	}
	for (size_t i = 0; i < LENGTH(askers); i++) {
		struct answer a = {0};
		int           wanted = status_wanted(call->roles, askers[i].role);
		bool          let_in;

		snprintf(bearer, sizeof(bearer), BEARER, askers[i].name ? askers[i].name : "");
		ask(askers[i].name ? bearer : NULL, method, path, &a);
		let_in = a.status != 0 && a.status != 401 && a.status != 403 && a.status != 429;
		if (wanted ? a.status != wanted : !let_in)
			flow_fail("%s %s by %s: %d", method, path, askers[i].name ? askers[i].name : "nobody",
			          a.status);
		if (a.status == 401 &&
		    (!answer_header(&a, "WWW-Authenticate", header, sizeof(header)) || strcmp(header, "Bearer") != 0))
			flow_fail("%s %s: no WWW-Authenticate: Bearer", method, path);
		answer_fini(&a);
	}
}

Test(keys, every_call_and_every_role)
{
	struct call_of document[CALLS_MAX];
	struct answer  yaml = {0};
	char           bearer[80];
	int            n;

	flow_begin();
	flow_steps(EVERYBODY,
	           "serve --lanes 1");
	snprintf(bearer, sizeof(bearer), BEARER, "eyes");
	ask(bearer, "GET", "/openapi.yaml", &yaml);
	n = document_read(yaml.body.data, document);
	cr_expect_eq(n, (int)LENGTH(table), "the document has the roles of %d calls, the table %zu", n, LENGTH(table));
	for (size_t i = 0; i < LENGTH(table); i++) {
		const struct call_of *said = call_find(document, n, &table[i]);

		cr_expect(said, "the document does not give the roles of %s %s", table[i].method, table[i].path);
		cr_expect(!said || said->roles == table[i].roles, "%s %s has other roles in the document",
		          table[i].method, table[i].path);
	}
	for (int i = 0; i < n; i++) {
		call_ask(&document[i], document[i].method);
		if (strcmp(document[i].method, "GET") == 0)
			call_ask(&document[i], "HEAD");
	}
	answer_fini(&yaml);
	flow_end();
}

Test(keys, what_is_not_there_needs_a_key_too)
{
	flow(EVERYBODY,
	     "serve --lanes 1",
	     "raw GET /nowhere -> 401 unauthorized WWW-Authenticate:Bearer",
	     "raw DELETE /v1/skus/A -> 401 unauthorized",
	     "raw GET /livez/x -> 401 unauthorized",
	     "key eyes",
	     "raw GET /nowhere -> 404 not_found",
	     "raw DELETE /v1/skus/A -> 405 method_not_allowed",
	     "raw POST /livez  -> 405 method_not_allowed",
	     "raw GET /v1/skus/a%zz -> 400 invalid_request");
}

/* The key is looked at before anything else is. */
Test(keys, before_the_body)
{
	flow(EVERYBODY,
	     "serve --lanes 1",
	     "raw POST /v1/reservations {{{ -> 401 unauthorized",
	     "raw POST /v1/reservations Content-Type:text/plain x -> 401 unauthorized",
	     "raw GET /v1/skus?x=%zz        -> 401 unauthorized",
	     "raw GET /v1/skus/a%zz         -> 401 unauthorized",
	     "key eyes",
	     "raw POST /v1/reservations {{{ -> 403 forbidden",
	     "raw POST /v1/movements?x=%zz {} -> 403 forbidden",
	     "key shop",
	     "raw POST /v1/reservations {{{ -> 400 invalid_request");
}

#define AS(name) "Authorization: Bearer the-key-of-" name "\r\n"
#define REST     " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
#define LARGE    "Content-Length: 4000000\r\n"
#define HUGE     "Content-Length: 9000000\r\n"

/* The answer to a head without its body, and the end of the connection. */
static void head_is_answered(const char *call, const char *headers, int status)
{
	struct text heard = {0};
	int         fd = attack_open(flow_port(0)), last, answers;
	bool        ended;

	attack_say(fd, call);
	attack_say(fd, REST);
	attack_say(fd, headers);
	attack_say(fd, "\r\n");
	ended = attack_hear(fd, PATIENCE_MS, &heard);
	answers = attack_answers(&heard, &last);
	cr_expect(ended && answers == 1 && last == status && strstr(heard.data, "Connection: close\r\n"),
	          "%s, %s: the connection %s after\n%s", call, headers, ended ? "ends" : "stays", heard.data);
	close(fd);
	text_fini(&heard);
}

/* A refusal that the head alone decides is told before the body has come: bodies of strangers take no room. */
Test(keys, before_the_body_has_come)
{
	flow_begin();
	flow_steps(EVERYBODY,
	           "serve --lanes 1");
	head_is_answered("POST /v1/reservations/batch", LARGE, 401);
	head_is_answered("POST /v1/reservations/batch", "Transfer-Encoding: chunked\r\n", 401);
	head_is_answered("POST /v1/reservations/batch", AS("nobody") LARGE, 401);
	head_is_answered("POST /nowhere", LARGE, 401);
	head_is_answered("POST /v1/reservations?x=1", AS("packers") LARGE, 403);
	head_is_answered("POST /nowhere", AS("shop") LARGE, 404);
	head_is_answered("DELETE /v1/skus/A", AS("shop") LARGE, 405);
	head_is_answered("POST /v1/reservations", AS("shop") HUGE, 413);
	/* nor where no key is needed */
	head_is_answered("GET /livez", LARGE, 413);
	head_is_answered("HEAD /console/main.js", LARGE, 413);
	flow_steps("raw GET /livez {} -> 200",
	           "raw GET /metrics  -> 401",
	           "key eyes",
	           "raw GET /metrics  -> 200 holdfast_refusals_total{code=unauthorized}=5 "
	           "holdfast_refusals_total{code=forbidden}=1");
	flow_end();
}

/* No key is needed for this call, and the length of its body is not known before. */
Test(keys, chunks_of_strangers)
{
	static char spaces[64 << 10];
	int         fd, status, answers;
	struct text heard = {0};

	flow_begin();
	flow_steps(EVERYBODY,
	           "serve --lanes 1");
	fd = attack_open(flow_port(0));
	attack_say(fd, "GET /readyz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
	attack_say(fd, "10000\r\n");
	memset(spaces, ' ', sizeof(spaces));
	attack_push(fd, spaces, sizeof(spaces) - 1);
	attack_hear(fd, PATIENCE_MS, &heard);
	answers = attack_answers(&heard, &status);
	cr_expect(answers == 1 && status == 413, "%d answers, %d", answers, status);
	close(fd);
	text_fini(&heard);
	flow_end();
}

#define ORDER "{\"order_id\":\"R1\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}"

/* Sends the head, waits until the service wants the body, and does `between` first. */
static void in_two_parts(const char *between, int status)
{
	struct text heard = {0};
	int         fd = attack_open(flow_port(0)), last, answers;

	attack_say(fd, "POST /v1/reservations" REST AS("slow") "Content-Length: 47\r\n\r\n");
	cr_expect(!attack_hear_answers(fd, 1, &heard) && strstr(heard.data, "HTTP/1.1 100 Continue\r\n\r\n"), "%s",
	          heard.data);
	if (between)
		flow_each((const char *const[]){between, "hangup", "key boss", "wait raw GET /nowhere -> 401", NULL});
	attack_say(fd, ORDER);
	attack_hear_answers(fd, 2, &heard);
	answers = attack_answers(&heard, &last);
	cr_expect(answers == 2 && last == status, "%d answers, %d", answers, last);
	close(fd);
	text_fini(&heard);
}

/* A call counts once for its key, and a key that is taken away meanwhile is no key. */
Test(keys, judged_before_and_behind_the_body)
{
	flow_begin();
	flow_steps("keys slow order rps=1 | boss admin",
	           "serve --lanes 1",
	           "key boss",
	           "receipt A +1 -> 201");
	in_two_parts(NULL, 201);
	in_two_parts("keys eyes read", 401);
	flow_end();
}

Test(keys, other_forms_of_authorization)
{
	struct answer a = {0};
	char          bearer[1000];

	flow_begin();
	flow_steps(EVERYBODY,
	           "serve --lanes 1",
	           "raw GET /v1/skus Authorization:             -> 401",
	           "raw GET /v1/skus Authorization:Bearer       -> 401",
	           "raw GET /v1/skus Authorization:the-key-of-eyes -> 401",
	           "raw GET /v1/skus Authorization:Bearerthe-key-of-eyes -> 401",
	           "raw GET /v1/skus Cookie:key=the-key-of-eyes -> 401",
	           "raw GET /v1/skus?key=the-key-of-eyes        -> 401");
	memset(bearer, 'x', sizeof(bearer));
	for (size_t len = 0; len < sizeof(bearer); len += 37) {
		bearer[len] = '\0';
		ask(bearer, "GET", "/v1/skus", &a);
		cr_expect_eq(a.status, 401);
		bearer[len] = 'x';
	}
	ask("  the-key-of-eyes", "GET", "/v1/skus", &a);
	cr_expect_eq(a.status, 200, "more than one space");
	ask("the-key-of-eyes the-key-of-eyes", "GET", "/v1/skus", &a);
	cr_expect_eq(a.status, 401);
	ask("the-key-of-eye", "GET", "/v1/skus", &a);
	cr_expect_eq(a.status, 401);
	answer_fini(&a);
	flow_end();
}

/* ---- the file */

Test(keys, a_wrong_file_is_no_start)
{
	flow("run serve --keys /nowhere/keys -> 78 '~cannot read /nowhere/keys'",
	     "run serve --keys /tmp      -> 78 ~/tmp",
	     "run serve --keys /dev/null -> 78 ~/dev/null",
	     "run serve --keys README.md -> 78 '~line 3:'");
}

Test(keys, others_may_reach_it)
{
	flow("run serve --listen 0.0.0.0:0          -> 78 ~--keys",
	     EVERYBODY,
	     "start S serve --lanes 1 --listen 0.0.0.0:0",
	     "wait sql SELECT COUNT(*) FROM api_key -> 5",
	     "signal S TERM",
	     "end S                                 -> 0 '~event=clear_text address=0.0.0.0:0' ~event=listening");
}

Test(keys, are_read_again)
{
	struct text said = {0};

	flow_begin();
	flow_steps(EVERYBODY,
	           "serve --lanes 1",
	           "key eyes",
	           "skus -> 200",
	           "key late",
	           "skus -> 401 unauthorized",
	           /* one comes, one goes, one may more */
	           "keys late read | eyes order | boss admin",
	           "hangup",
	           "wait skus -> 200",
	           "key eyes",
	           "reserve R1 A=1 -> 422 unknown_sku",
	           "key shop",
	           "skus -> 401",
	           "key boss",
	           "receipt A +1 -> 201",
	           /* a wrong one changes nothing */
	           "keys late nobody | shop order",
	           "hangup");
	flow_said_wait("event=keys_kept", &said);
	cr_expect(strstr(said.data, "level=error event=keys_kept"), "not said: %s", said.data);
	cr_expect(strstr(said.data, "line 1: ROLE must be one of: order, worker, read, admin"));
	flow_steps("key late",
	           "skus -> 200",
	           "key shop",
	           "skus -> 401",
	           "keys shop order",
	           "hangup",
	           "wait skus -> 200",
	           "key late",
	           "skus -> 401",
	           "key boss",
	           "skus -> 401");
	text_fini(&said);
	flow_end();
}

/* A terminal that is closed, or a reload of a service that has nothing to read again. */
Test(keys, a_hangup_without_keys_ends_nothing)
{
	flow("start S serve --lanes 1 --listen 127.0.0.1:0",
	     "wait sql SELECT COUNT(*) FROM log_writer -> 1",
	     "signal S HUP",
	     "signal S HUP",
	     "signal S TERM",
	     "end S        -> 0 ~event=hangup ~event=draining",
	     "receipt A +1 -> 201",
	     "hangup",
	     "wait sku A   -> available=1",
	     "hangup",
	     "receipt A +1 -> 201");
}

#define OTHER "Origin:http://shop.example "

/* A page in a browser reaches a service on the loopback address. It may ask, but change nothing. */
Test(keys, without_keys_no_page_changes_anything)
{
	flow("receipt A +10                      -> 201",
	     "reserve R1 A=1                     -> 201",
	     "mark",
	     "raw POST /v1/reservations/R1/release " OTHER "-> 403 forbidden",
	     "raw POST /v1/reservations/R1/release Origin:null -> 403 forbidden",
	     "raw POST /v1/reservations/R1/release Origin:http://127.0.0.1 -> 403 forbidden",
	     "raw POST /v1/reservations/R1/release Sec-Fetch-Site:cross-site -> 403 forbidden",
	     "raw POST /v1/reservations/R1/release Sec-Fetch-Site:same-site -> 403 forbidden",
	     "raw POST /v1/movements " OTHER "{} -> 403",
	     "raw POST /v1/tasks/1/return " OTHER "-> 403",
	     "unchanged",
	     "raw GET /v1/skus/A " OTHER "-> 200",
	     "raw POST /v1/availability " OTHER "{'skus':['A']} -> 200",
	     "raw GET /livez " OTHER "-> 200",
	     "raw POST /nowhere " OTHER "-> 404",
	     "raw GET /v1/skus/A Sec-Fetch-Site:cross-site -> 403 forbidden",
	     "raw POST /v1/availability Sec-Fetch-Site:cross-site {'skus':['A']} -> 403 forbidden",
	     "raw GET /nowhere Sec-Fetch-Site:cross-site -> 403",
	     "raw GET /v1/skus/A Sec-Fetch-Site:same-site -> 200",
	     "raw GET /readyz Sec-Fetch-Site:cross-site -> 200",
	     "raw POST /v1/reservations/R1/confirm Sec-Fetch-Site:same-origin " OTHER "-> 403",
	     "raw POST /v1/reservations/R1/confirm Sec-Fetch-Site:same-origin -> 200",
	     "raw POST /v1/reservations/R1/release Sec-Fetch-Site:none -> 200",
	     /* a key is not something that a browser sends by itself */
	     EVERYBODY,
	     "restart",
	     "raw POST /v1/reservations/R1/release " OTHER "-> 401",
	     "key shop",
	     "raw POST /v1/reservations/R1/release " OTHER "-> 200 released replayed");
}

#define CONFIRM "raw POST /v1/reservations/R1/confirm "

/* A page with a name that leads to this machine is of the same origin, as far as the browser knows: its Host tells. */
Test(keys, without_keys_the_host_is_known)
{
	flow("receipt A +10                      -> 201",
	     "reserve R1 A=1                     -> 201",
	     "mark",
	     "raw GET /v1/skus/A Host:evil.example -> 403 forbidden",
	     "raw GET /nowhere Host:evil.example -> 403",
	     CONFIRM "Host:evil.example Origin:http://evil.example -> 403 forbidden",
	     CONFIRM "Host:evil.example:8080 Sec-Fetch-Site:same-origin Origin:http://evil.example:8080 -> 403",
	     CONFIRM "Host: -> 403",
	     CONFIRM "Host:localhost.evil.example -> 403",
	     CONFIRM "Host:127.0.0.1.evil.example -> 403",
	     CONFIRM "Host:127.0.0.1:8080.evil.example -> 403",
	     CONFIRM "Host:127.0.0.1@evil.example -> 403",
	     CONFIRM "Host:[::1].evil.example -> 403",
	     CONFIRM "Host:[::1 -> 403",
	     CONFIRM "Host:[127.0.0.1] -> 403",
	     CONFIRM "Host:127.1 -> 403",
	     CONFIRM "Host:localhost Origin:http://localhost:8080 -> 403",
	     CONFIRM "Host:[::1] Origin:null -> 403",
	     CONFIRM "Host:localhost:8080 Origin:x://localhost:8080 -> 403",
	     CONFIRM "Host:localhost:8080 Origin:chrome-extension://localhost:8080 -> 403",
	     "unchanged",
	     "raw GET /livez Host:evil.example   -> 200",
	     "raw GET /readyz Host:evil.example  -> 200",
	     "raw GET /v1/skus/A Host:LOCALHOST:1 -> 200",
	     "raw GET /v1/skus/A Host:[::ffff:10.0.0.1]:8080 -> 200",
	     "raw GET /v1/skus/A Host:10.0.0.1   -> 200",
	     CONFIRM "Host:localhost:8080 Origin:http://LocalHost:8080 -> 200",
	     CONFIRM "Host:[::1]:8080 Origin:http://[::1]:8080 -> 200 replayed",
	     "raw GET /v1/skus/A Host:stock.example -> 403",
	     "kill",
	     "serve --public-host stock.example --public-host Other.example",
	     CONFIRM "Host:stock.example Origin:https://stock.example Sec-Fetch-Site:same-origin -> 200 replayed",
	     CONFIRM "Host:STOCK.example:443         -> 200 replayed",
	     CONFIRM "Host:other.example             -> 200 replayed",
	     CONFIRM "Host:stock.example.com         -> 403",
	     CONFIRM "Host:stock                     -> 403",
	     CONFIRM "Host:stock.example Origin:https://other.example -> 403",
	     "raw GET /v1/skus/A                 -> 200",
	     "run serve --public-host https://stock.example --listen 127.0.0.1:0 -> 78 '~without a scheme'",
	     "run serve --public-host stock.example:443 --listen 127.0.0.1:0     -> 78 '~and a port'",
	     EVERYBODY,
	     "restart",
	     "key shop",
	     "raw GET /v1/skus/A Host:evil.example Sec-Fetch-Site:cross-site -> 200");
}

/* ---- the key that made it */

static void made_as_read(const char *bearer, const char *path, const char *id, const char *body)
{
	struct client c;
	struct answer made = {0}, read = {0};
	struct text   one = {0};

	text_format(&one, "%s/%s", path, id);
	client_open(&c, flow_port(0));
	c.bearer = bearer;
	client_ask(&c, "POST", path, body, &made);
	client_ask(&c, "GET", one.data, "", &read);
	cr_expect_eq(made.status, 201);
	cr_expect_eq(read.status, 200);
	cr_expect_str_eq(made.body.data, read.body.data);
	cr_expect(strstr(made.body.data, "\"by\":\"boss\""), "%s", made.body.data);
	client_close(&c);
	answer_fini(&made);
	answer_fini(&read);
	text_fini(&one);
}

/* The name of the key that made a reservation or a movement; a key that changes it later is not told. */
Test(keys, by_whom_it_was_made)
{
	flow_begin();
	flow_steps("keys shop order | till order | packers worker | boss admin",
	           "serve --lanes 2",
	           "key boss",
	           "receipt M1 A +20           -> 201 by=boss",
	           "receipt M1 A +20           -> 200 replayed by=boss",
	           "count M2 A=19              -> 201 by=boss",
	           "movement M2                -> by=boss",
	           "key shop",
	           "reserve R1 A=1             -> 201 by=shop",
	           "batch R2 A=1 | R3 A=99     -> 201 by=shop | 409 short",
	           "key till",
	           "reserve R1 A=1             -> 200 replayed by=shop",
	           "get R1                     -> by=shop",
	           "confirm R1                 -> 200 by=shop",
	           "confirm R1                 -> 200 replayed by=shop",
	           "extend R2 ttl=60           -> 200 by=shop",
	           "reserve R4 A=1             -> 201 by=till",
	           "list                       -> items=R4,R2,R1 R4 by=till R1 by=shop",
	           "list sku=A                 -> items=R4,R2,R1 R4 by=till R1 by=shop",
	           "movements A                -> items=M2,M1 M2 by=boss M1 by=boss",
	           "key packers",
	           "claim settle w             -> 201 R1",
	           "complete 1                 -> 200 completed=1",
	           "movements A limit=1        -> items[0].kind=settlement items[0].lines[0].qty=-1 !items[0].by",
	           "sql SELECT COUNT(*), COUNT(key_id) FROM movement -> 3,2");
	made_as_read("the-key-of-boss", "/v1/reservations", "R5",
	             "{\"order_id\":\"R5\",\"lines\":[{\"sku\":\"A\",\"qty\":2}]}");
	made_as_read("the-key-of-boss", "/v1/movements", "M5",
	             "{\"movement_id\":\"M5\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"A\",\"qty\":2}]}");
	made_as_read("the-key-of-boss", "/v1/movements", "M6",
	             "{\"movement_id\":\"M6\",\"kind\":\"count\",\"lines\":[{\"sku\":\"A\",\"counted\":9}]}");
	/* the name of a key that is gone is told all the same */
	flow_steps("keys eyes read",
	           "restart",
	           "key eyes",
	           "get R1                     -> settled by=shop",
	           "movement M1                -> by=boss",
	           "list                       -> items=R5,R4,R2,R1 R4 by=till R5 by=boss");
	flow_end();
}

/* ---- limits of requests */

/* Never more than the bucket holds and what came in meanwhile; never less than it holds. */
static void rate_expect(const char *name, int rps, int calls)
{
	char                 shape[20];
	int64_t              began_ms = clock_ms(), most;
	struct race         *race;
	const struct answer *answers;
	int                  count, good = 0, late = 0;

	flow_step("key %s", name);
	snprintf(shape, sizeof(shape), "4*%d", calls / 4);
	race = flow_race(shape, "skus");
	answers = race_finish(race, &count);
	most = rps + (clock_ms() - began_ms) * rps / 1000 + 1;
	for (int i = 0; i < count; i++) {
		char after[10] = "";

		good += answers[i].status == 200;
		late += answers[i].status == 429 && answer_header(&answers[i], "Retry-After", after, sizeof(after)) &&
		        strcmp(after, "1") == 0;
	}
	cr_expect_eq(good + late, calls, "%s: %d and %d of %d", name, good, late, calls);
	cr_expect_geq(good, calls < rps ? calls : rps, "%s: %d let in", name, good);
	cr_expect_leq(good, most, "%s: %d let in, %lld may be", name, good, (long long)most);
	race_free(race);
}

Test(keys, requests_a_second)
{
	flow_begin();
	flow_steps("keys one read rps=1 | few read rps=7 | many read rps=1000000 | any read | other order rps=1",
	           "serve --lanes 1");
	rate_expect("one", 1, 40);
	rate_expect("few", 7, 40);
	rate_expect("many", 1000000, 400);
	rate_expect("any", 1000000, 400);
	flow_steps("key one",
	           "raw GET /livez        -> 200",
	           "wait skus             -> 200",
	           "key other",
	           /* a call that is not allowed costs nothing; a key's limit is its own */
	           "race 4*5 claim settle -> 20x 403 forbidden",
	           "skus                  -> 200");
	flow_end();
}

/* A call that is turned away at the door is counted as it was told. */
Test(keys, refusals_are_counted)
{
	struct race *race;
	int          count, limited = 0;

	flow_begin();
	flow_steps("keys one read rps=1 | boss admin",
	           "serve --lanes 1",
	           "skus -> 401 unauthorized",
	           "key stranger",
	           "skus -> 401 unauthorized",
	           "claim settle -> 401",
	           "key one",
	           "receipt A +1 -> 403 forbidden");
	race = flow_race("4*12", "skus");
	for (const struct answer *a = race_finish(race, &count), *end = a + count; a < end; a++)
		limited += a->status == 429;
	race_free(race);
	cr_expect_gt(limited, 0, "nobody was told rate_limited");
	flow_step("key boss");
	flow_step("raw GET /metrics -> holdfast_refusals_total{code=unauthorized}=3"
	          " holdfast_refusals_total{code=forbidden}=1 holdfast_refusals_total{code=rate_limited}=%d",
	          limited);
	flow_end();
}

/* ---- the log */

Test(keys, what_admins_change_is_said)
{
	struct text said = {0};

	flow_begin();
	flow_steps(EVERYBODY,
	           "serve --lanes 1 --log-level debug",
	           "key boss",
	           "receipt M1 A +10 -> 201",
	           "receipt M1 A +11 -> 422",
	           "kick R1          -> 404",
	           "sku A            -> 200",
	           "key shop",
	           "reserve R1 A=1   -> 201",
	           "receipt A +1     -> 403",
	           "key",
	           "skus             -> 401",
	           "key stranger",
	           "skus             -> 401",
	           "restart");
	flow_said(&said);
	cr_expect(strstr(said.data, "event=admin key=boss route=\"POST /v1/movements\" id=M1 status=201"));
	cr_expect(strstr(said.data, "event=admin key=boss route=\"POST /v1/movements\" id=M1 status=422"));
	cr_expect(strstr(said.data,
	                 "event=admin key=boss route=\"POST /v1/reservations/{order_id}/kick\" id=R1 status=404"));
	cr_expect_null(strstr(said.data, "event=admin key=shop"));
	cr_expect_null(strstr(said.data, "event=admin key=boss route=\"GET"));
	cr_expect_null(strstr(said.data, "the-key-of"), "a key stands in the log");
	text_fini(&said);
	flow_end();
}
