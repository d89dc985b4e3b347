/* flow.c - see flow.h. The surroundings of a test, the steps that change them, and the running of a step. */
#include "engine/base/clock.h"
#include "tests/lang/flow.h"

#include "tests/kit/drill.h"
#include "tests/lang/command.h"
#include "tests/lang/expect.h"
#include "tests/lang/keyring.h"
#include "tests/kit/program.h"
#include "tests/kit/shelf.h"
#include "tests/kit/scratch.h"
#include "tests/kit/server.h"
#include "tests/lang/verb.h"
#include "tests/kit/patience.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROGRAMS = 2, ENDED_MS = 3 * PATIENCE_MS, FAILURES_MAX = 25, SHOWN_BYTES = 1500 };
enum { CREATED = 201, ID_TICK_US = 300 };

/* One program and the connection to it. */
struct runner {
	struct program program;
	struct client  client;
	char           options[200];
};

/* The flow that runs; Criterion gives each test a process of its own, so there is one. */
static struct {
	struct scratch  scratch;
	struct runner   runner[PROGRAMS];
	char            log[300]; /* messages of the programs */
	struct text     cursor;   /* of the last list that had one */
	struct text     mark;     /* the checksum taken by `mark` */
	struct commands commands;
	char            keys[300];   /* the file of keys, once `keys` has written it */
	char            bearer[120]; /* the key of requests; empty: none */
	int             failures;
} f;

/* ---- reporting failures */

void flow_fail(const char *format, ...)
{
	char    line[5000];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (++f.failures >= FAILURES_MAX)
		cr_assert_fail("%s\ntoo many failures, the flow ends here", line);
	cr_expect_fail("%s", line);
}

bool flow_failed(void)
{
	return f.failures > 0;
}

static void step_fail(const char *step, const struct text *why, const struct answer *a)
{
	flow_fail("step    %.300s\nbut     %.*s\nanswer  %.700s\n%.*s", step, SHOWN_BYTES, why->data ? why->data : "",
	          a && a->head.data ? a->head.data : "none", SHOWN_BYTES, a && a->body.data ? a->body.data : "");
}

/* Adds the time for which a step was repeated in vain. */
static void waited_write(struct text *why, int64_t from_ms, int wait_ms)
{
	if (wait_ms > 0)
		text_format(why,
		            "; it was asked again for %.1f s, on a machine that is %.1f times slower than a quiet one",
		            (double)(clock_ms() - from_ms) / 1000, patience_factor());
}

/* ---- programs */

static void runner_stop(struct runner *r)
{
	struct text why = {0};

	client_close(&r->client);
	if (r->program.pid && !program_stop(&r->program, &why))
		flow_fail("%s", why.data);
	text_fini(&why);
}

static struct runner *runner_need(int who)
{
	struct runner *r = &f.runner[who];

	if (!r->program.pid) {
		program_start(&r->program, f.log, f.scratch.url, r->options);
		client_open(&r->client, r->program.port);
	}
	return r;
}

static void runner_again(int who, const char *options)
{
	runner_stop(&f.runner[who]);
	snprintf(f.runner[who].options, sizeof(f.runner[who].options), "%s", options);
	runner_need(who);
}

struct scratch *flow_scratch(void)
{
	return &f.scratch;
}

int flow_port(int program)
{
	return runner_need(program)->program.port;
}

void flow_said(struct text *to)
{
	program_log_all(f.log, to);
}

void flow_said_wait(const char *words, struct text *to)
{
	for (int64_t from = clock_ms(); !patience_is_over(from, PATIENCE_MS / 2); usleep(10000)) {
		text_reset(to);
		flow_said(to);
		if (to->len > 0 && strstr(to->data, words))
			return;
	}
	flow_fail("not said: %s", words);
}

int flow_pid(int program)
{
	return runner_need(program)->program.pid;
}

void flow_terminate(void)
{
	program_terminate(&runner_need(0)->program);
}

void flow_signal(int sig)
{
	program_signal(runner_need(0)->program.pid, sig);
}

/* ---- steps that change the surroundings; `words` is what follows the verb */

static void run_serve(int who, const char *words)
{
	runner_again(who, words);
}

static void run_second(int who, const char *words)
{
	(void)who;
	runner_need(0);
	runner_again(1, *words ? words : "--lanes 2 --slot 1");
}

static void run_restart(int who, const char *words)
{
	(void)words;
	runner_stop(&f.runner[who]);
	runner_need(who);
}

static void run_kill(int who, const char *words)
{
	struct runner *r = runner_need(who);

	(void)words;
	client_close(&r->client);
	program_kill(&r->program);
	runner_need(who);
}

static void run_ended(int who, const char *words)
{
	struct runner *r = &f.runner[who];
	int            status = -1;

	if (!program_wait(r->program.pid, ENDED_MS, &status)) {
		flow_fail("the program still runs");
		return;
	}
	if (status != atoi(words))
		flow_fail("the program ended with %d", status);
	client_close(&r->client);
	r->program = (struct program){0};
}

static void run_expire(int who, const char *words)
{
	struct text options = {0};

	(void)words;
	text_format(&options, "%s --jobs=expire", f.runner[who].options);
	runner_again(who, options.data);
	text_fini(&options);
}

static void run_tick(int who, const char *words)
{
	(void)who;
	scratch_tick(&f.scratch, atoi(words));
}

static void run_lock(int who, const char *words)
{
	(void)who, (void)words;
	scratch_lock(&f.scratch);
}

static void run_unlock(int who, const char *words)
{
	(void)who, (void)words;
	scratch_unlock(&f.scratch);
}

static void run_cut(int who, const char *words)
{
	(void)who, (void)words;
	scratch_cut(&f.scratch);
}

static void run_away(int who, const char *words)
{
	(void)who, (void)words;
	scratch_away(&f.scratch);
}

static void run_back(int who, const char *words)
{
	(void)who, (void)words;
	scratch_back(&f.scratch);
}

static void run_mark(int who, const char *words)
{
	(void)who, (void)words;
	scratch_checksum(&f.scratch, &f.mark);
}

static void run_unchanged(int who, const char *words)
{
	struct text now = {0};

	(void)who, (void)words;
	scratch_checksum(&f.scratch, &now);
	if (strcmp(now.data, f.mark.data) != 0)
		flow_fail("something stored has changed; before:\n%safter:\n%s", f.mark.data, now.data);
	text_fini(&now);
}

static void run_keys(int who, const char *words)
{
	(void)who;
	snprintf(f.keys, sizeof(f.keys), "%s/%s.keys", scratch_dir(), f.scratch.name);
	setenv("HOLDFAST_KEYS", f.keys, 1); /* for the programs that start from now on */
	keyring_write(f.keys, words);
}

static void run_key(int who, const char *words)
{
	(void)who;
	snprintf(f.bearer, sizeof(f.bearer), *words ? BEARER : "%s", words);
}

static void run_hangup(int who, const char *words)
{
	(void)words;
	kill(runner_need(who)->program.pid, SIGHUP);
}

static const struct control {
	const char *name;
	void (*run)(int who, const char *words);
} controls[] = {
	{"serve", run_serve},         {"second", run_second}, {"restart", run_restart},
	{"kill", run_kill},           {"expire", run_expire}, {"tick", run_tick},
	{"lock", run_lock},           {"unlock", run_unlock}, {"cut", run_cut},
	{"away", run_away},           {"back", run_back},     {"mark", run_mark},
	{"unchanged", run_unchanged}, {"keys", run_keys},     {"key", run_key},
	{"hangup", run_hangup},       {"ended", run_ended},
};

static bool control_run(int who, const struct step *s)
{
	const char *words = s->rest + strcspn(s->rest, " ");

	for (size_t i = 0; i < LENGTH(controls); i++)
		if (strcmp(s->word[0], controls[i].name) == 0) {
			controls[i].run(who, words + strspn(words, " "));
			return true;
		}
	return false;
}

/* Runs a command of the program, or SQL, again and again until the result is as expected, for `wait_ms` at most. */
static bool command_run(const struct step *s, int wait_ms, const char *text)
{
	struct text why = {0};
	int64_t     from_ms = clock_ms();

	if (!command_knows(s))
		return false;
	for (;;) {
		text_reset(&why);
		command_step(&f.commands, s, &why);
		if (why.len == 0 || patience_is_over(from_ms, wait_ms))
			break;
		patience_pause(from_ms);
	}
	if (why.len) {
		waited_write(&why, from_ms, wait_ms);
		flow_fail("step    %s\nbut     %s", text, why.data);
	}
	text_fini(&why);
	return true;
}

/* ---- races */

struct race *flow_race(const char *shape, const char *steps)
{
	int          port[PROGRAMS], ports = 0;
	struct race *r;

	runner_need(0);
	for (int i = 0; i < PROGRAMS; i++)
		if (f.runner[i].program.pid)
			port[ports++] = f.runner[i].program.port;
	r = race_start(port, ports, *f.bearer ? f.bearer : NULL, shape, steps);
	cr_assert(r, "these steps make no race: %s %s", shape, steps);
	return r;
}

/* race SHAPE STEP [|| STEP] -> COUNTx words | COUNTx words */
static bool race_run(const struct step *s, const char *text)
{
	struct text  why = {0};
	struct race *r;
	const char  *steps;

	if (strcmp(s->word[0], "race") != 0 || s->words < 3 || !s->expectation)
		return false;
	steps = s->rest + strlen("race");
	steps += strspn(steps, " ");
	r = flow_race(s->word[1], steps + strlen(s->word[1]));
	race_finish(r, NULL);
	if (!race_meets(r, s->expectation, &why))
		step_fail(text, &why, NULL);
	race_free(r);
	text_fini(&why);
	return true;
}

/* ---- requests */

static void cursor_keep(const struct answer *a)
{
	const cJSON *next = cJSON_GetObjectItemCaseSensitive(a->json, "next_cursor");

	if (!cJSON_IsString(next))
		return;
	text_reset(&f.cursor);
	text_add(&f.cursor, next->valuestring);
}

/* The expectation has a part for each result. */
static bool has_results(const char *verb)
{
	static const char *const verbs[] = {"batch", "confirmations", "releases", "settlements"};

	for (size_t i = 0; i < LENGTH(verbs); i++)
		if (strcmp(verb, verbs[i]) == 0)
			return true;
	return false;
}

/* Sends until the answer is as expected, at least once, for `wait_ms` at most. */
static void request_run(int who, const struct step *s, int wait_ms, const char *text)
{
	const char    *expectation = s->expectation ? s->expectation : "";
	struct runner *r = runner_need(who);
	struct call    call = {0};
	struct answer  answer = {0};
	struct text    why = {0};
	int64_t        from_ms = clock_ms();
	bool           good = verb_write(s, &call), batch = good && has_results(s->word[0]);

	if (!good)
		cr_assert_fail("not a step: %s", text);
	for (;;) {
		r->client.bearer = *f.bearer ? f.bearer : NULL;
		client_call(&r->client, &call, &answer);
		text_reset(&why);
		good = expect_form(&call, &answer, &why) && expect_words(expectation, batch, &answer, &why);
		if (good || patience_is_over(from_ms, wait_ms))
			break;
		patience_pause(from_ms);
	}
	if (!good) {
		waited_write(&why, from_ms, wait_ms);
		step_fail(text, &why, &answer);
	}
	/* Lists are in the order of ids, which two lanes make by quarters of a millisecond (ids.h). The next order must
	 * not be made in the same one. */
	if (answer.status == CREATED)
		usleep(ID_TICK_US);
	cursor_keep(&answer);
	call_fini(&call);
	answer_fini(&answer);
	text_fini(&why);
}

/* Takes the next word of `text` off if it begins with `prefix`. */
static const char *prefix_skip(const char *text, const char *prefix)
{
	if (strncmp(text, prefix, strlen(prefix)) != 0)
		return text;
	text += strcspn(text, " ");
	return text + strspn(text, " ");
}

static void step_run(const char *text)
{
	const char *verb = text + strspn(text, " "), *after;
	struct step s;
	int         wait_ms = 0, who = 0;

	after = prefix_skip(verb, "wait");
	if (after != verb)
		wait_ms = sscanf(verb, "wait:%d", &wait_ms) == 1 ? wait_ms * 1000 : PATIENCE_MS;
	verb = prefix_skip(after, "@2");
	who = verb != after;
	step_read(&s, verb, -1);
	s.cursor = f.cursor.data;
	if (s.words == 0)
		cr_assert_fail("an empty step");
	if (!control_run(who, &s) && !command_run(&s, wait_ms, text) && !race_run(&s, text))
		request_run(who, &s, wait_ms, text);
	step_fini(&s);
}

/* ---- flows */

static void schema_make(void)
{
	struct text said = {0};

	if (program_run(f.log, f.scratch.url, "migrate") != 0) {
		program_log_tail(f.log, &said);
		cr_assert_fail("migrate failed:\n%s", said.data);
	}
}

void flow_begin(void)
{
	bool has_tables;

	memset(&f, 0, sizeof(f));
	for (int i = 0; i < PROGRAMS; i++)
		client_open(&f.runner[i].client, 0);
	has_tables = shelf_open(&f.scratch);
	snprintf(f.log, sizeof(f.log), "%s/%s.log", scratch_dir(), f.scratch.name);
	snprintf(f.runner[0].options, sizeof(f.runner[0].options), "--lanes 2");
	f.commands = (struct commands){.log = f.log, .scratch = &f.scratch};
	if (!has_tables) {
		schema_make();
		shelf_note(&f.scratch);
	}
	scratch_account(&f.scratch);
}

void flow_end(void)
{
	struct text findings = {0}, said = {0};

	scratch_unlock(&f.scratch);
	commands_end(&f.commands);
	for (int i = PROGRAMS - 1; i >= 0; i--)
		runner_stop(&f.runner[i]);
	/* make test asks for them in all flows but drills, and they cost as much of the database as a flow */
	if (!SANITIZED || is_drill(criterion_current_test))
		scratch_invariants(&f.scratch, &findings);
	if (findings.len)
		flow_fail("%s", findings.data);
	if (f.failures) {
		program_log_tail(f.log, &said);
		cr_expect_fail("the programs said at the end:\n%s", said.data);
	}
	if (*f.keys)
		unlink(f.keys);
	shelf_close(&f.scratch);
	text_fini(&f.cursor);
	text_fini(&f.mark);
	text_fini(&findings);
	text_fini(&said);
}

void flow_each(const char *const *steps)
{
	for (; *steps; steps++)
		step_run(*steps);
}

void flow_run(const char *const *steps)
{
	flow_begin();
	flow_each(steps);
	flow_end();
}

void flow_step(const char *format, ...)
{
	char    text[1024];
	va_list ap;
	int     n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	assert(n > 0 && (size_t)n < sizeof(text));
	step_run(text);
}

void flow_costs(const struct server *server, const char *step, int statements, const char *words, int of)
{
	struct text said = {0};
	int         all, some;

	server_statements(server, NULL, NULL);
	flow_step("%s", step);
	all = server_statements(server, "", &said);
	some = server_statements(server, words, NULL);
	cr_expect(statements == 0 || all == statements, "%s: %d statements:\n%s", step, all, said.data);
	cr_expect_eq(some, of, "%s: %d of them with %s:\n%s", step, some, words, said.data);
	text_fini(&said);
}

void flow_repeat(const char *before, const char *piece, int n, const char *after)
{
	struct text text = {0};

	text_add(&text, before);
	for (int i = 0; i < n; i++)
		for (const char *at = piece; *at; at++) {
			if (*at == '#')
				text_int(&text, i);
			else
				text_char(&text, *at);
		}
	text_add(&text, after);
	step_run(text.data);
	text_fini(&text);
}

void flow_orders(const char *name, int n)
{
	flow_step("receipt A +%d -> 201", n);
	for (int done = 0; done < n; done += 1000) {
		struct text step = {0};

		text_add(&step, "batch");
		for (int i = done; i < n && i < done + 1000; i++)
			text_format(&step, "%s %s%d A=1 confirm=true", i > done ? " |" : "", name, i);
		text_add(&step, " -> 201 | ...");
		step_run(step.data);
		text_fini(&step);
	}
	step_run("sql SET @n = 0");
	flow_step("sql UPDATE reservation SET due_at = UTC_TIMESTAMP(3) - INTERVAL 100 SECOND"
	          " + INTERVAL (@n := @n + 1) * 1000 MICROSECOND"
	          " WHERE state = 2 AND due_at = confirmed_at AND order_id LIKE '%s%%' ORDER BY reservation_id",
	          name);
}
