/* command.c - see command.h. */
#include "tests/lang/command.h"

#include "engine/base/json.h"
#include "tests/lang/expect.h"
#include "tests/kit/program.h"
#include "tests/kit/patience.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { END_MS = 3 * PATIENCE_MS, SAID_BYTES = 3000 };

/* The text after the n-th word of a step, unchanged. */
static const char *rest_after(const struct step *s, int n)
{
	const char *at = s->rest;

	for (; n >= 0; n--) {
		at += strspn(at, " ");
		at += strcspn(at, " ");
	}
	return at + strspn(at, " ");
}

/* ---- the output of a command and its exit status are compared with words like an answer */

static void said_log(const struct commands *c, const char *name, char *path, size_t size)
{
	snprintf(path, size, "%s.%s", c->log, name);
}

/* Moves the output to the end of the flow's log, where failures are examined. */
static void said_move(const struct commands *c, const char *path, struct text *said)
{
	FILE *to = fopen(c->log, "ae");

	program_log_all(path, said);
	if (to && said->data)
		fwrite(said->data, 1, said->len, to);
	if (to)
		fclose(to);
	unlink(path);
}

/* A line of JSON is read as strictly as the service reads its clients: it has no member twice. */
static void said_read(const struct text *said, struct text *why)
{
	const char *next;

	for (const char *line = said->data; line && *line; line = *next ? next + 1 : NULL) {
		struct json_fault  fault = {0};
		struct json_reader in;
		struct json_doc   *doc;

		next = line + strcspn(line, "\n");
		if (*line != '{')
			continue;
		doc = json_parse(line, (size_t)(next - line), &fault);
		if (doc)
			json_begin(&in, doc, &fault);
		if (!doc || in.failed)
			text_format(why, "what it said is no good JSON: %s %s", fault.field, fault.detail);
		json_free(doc);
	}
}

static void said_judge(const struct step *s, int status, struct text *said, struct text *why)
{
	const char   *expectation = s->expectation && *s->expectation ? s->expectation : "0";
	struct answer a = {.status = status, .body = *said};

	a.json = said->data && said->data[0] == '{' ? cJSON_Parse(said->data) : NULL;
	if (!expect_words(expectation, false, &a, why))
		text_format(why, "; the exit status is %d and it said:\n%.*s", status, SAID_BYTES,
		            said->data ? said->data : "");
	said_read(said, why);
	cJSON_Delete(a.json);
}

static void run_command(struct commands *c, const struct step *s, const char *url, const char *command,
                        struct text *why)
{
	char        path[340];
	struct text said = {0};
	int         status;

	said_log(c, "run", path, sizeof(path));
	status = program_run(path, url, command);
	said_move(c, path, &said);
	said_judge(s, status, &said, why);
	text_fini(&said);
}

/* run COMMAND */
static void step_run(struct commands *c, const struct step *s, struct text *why)
{
	run_command(c, s, c->scratch->url, rest_after(s, 0), why);
}

/* alone COMMAND */
static void step_alone(struct commands *c, const struct step *s, struct text *why)
{
	run_command(c, s, NULL, rest_after(s, 0), why);
}

/* work KIND [OPTIONS] */
static void step_work(struct commands *c, const struct step *s, struct text *why)
{
	struct text command = {0};

	text_format(&command, "%s --once", s->rest);
	run_command(c, s, c->scratch->url, command.data, why);
	text_fini(&command);
}

/* ---- beside the flow */

static struct beside *beside_find(struct commands *c, const char *name)
{
	for (size_t i = 0; i < COMMANDS_BESIDE; i++)
		if (c->beside[i].pid && strcmp(c->beside[i].name, name) == 0)
			return &c->beside[i];
	return NULL;
}

static struct beside *beside_need(struct commands *c, const struct step *s)
{
	struct beside *b = s->words > 1 ? beside_find(c, s->word[1]) : NULL;

	cr_assert(b, "nothing of this name runs: %s", s->rest);
	return b;
}

/* start NAME COMMAND */
static void step_start(struct commands *c, const struct step *s, struct text *why)
{
	char   path[340];
	size_t i = 0;

	(void)why;
	while (i < COMMANDS_BESIDE && c->beside[i].pid)
		i++;
	cr_assert(i < COMMANDS_BESIDE && s->words > 2 && !beside_find(c, s->word[1]), "cannot start: %s", s->rest);
	snprintf(c->beside[i].name, sizeof(c->beside[i].name), "%s", s->word[1]);
	said_log(c, s->word[1], path, sizeof(path));
	c->beside[i].pid = program_begin(path, c->scratch->url, rest_after(s, 1));
}

/* signal NAME TERM .. */
static void step_signal(struct commands *c, const struct step *s, struct text *why)
{
	static const struct {
		const char *name;
		int         number;
	} signals[] = {{"TERM", SIGTERM}, {"INT", SIGINT},   {"KILL", SIGKILL},
	               {"STOP", SIGSTOP}, {"CONT", SIGCONT}, {"HUP", SIGHUP}};
	struct beside *b = beside_need(c, s);

	for (size_t i = 0; i < LENGTH(signals); i++)
		if (s->words > 2 && strcmp(s->word[2], signals[i].name) == 0) {
			if (kill(b->pid, 0) != 0)
				text_add(why, "it does not run any more");
			program_signal(b->pid, signals[i].number);
			return;
		}
	cr_assert_fail("no such signal: %s", s->rest);
}

/* end NAME */
static void step_end(struct commands *c, const struct step *s, struct text *why)
{
	struct beside *b = beside_need(c, s);
	char           path[340];
	struct text    said = {0};
	int            status = 0;

	if (program_wait(b->pid, END_MS, &status)) {
		said_log(c, b->name, path, sizeof(path));
		said_move(c, path, &said);
		b->pid = 0;
		said_judge(s, status, &said, why);
	} else {
		text_add(why, "it still runs");
	}
	text_fini(&said);
}

void commands_end(struct commands *c)
{
	int status;

	for (size_t i = 0; i < COMMANDS_BESIDE; i++)
		if (c->beside[i].pid) {
			kill(c->beside[i].pid, SIGKILL);
			cr_assert(program_wait(c->beside[i].pid, END_MS, &status));
			c->beside[i].pid = 0;
		}
}

/* ---- exec and sql */

/* exec CMD; without CMD: no program */
static void step_exec(struct commands *c, const struct step *s, struct text *why)
{
	const char *command = rest_after(s, 0);

	(void)c, (void)why;
	if (*command)
		setenv("HOLDFAST_EXEC", command, 1);
	else
		unsetenv("HOLDFAST_EXEC");
}

static void row_add(void *arg, const struct db_row *row)
{
	struct text *to = arg;

	for (unsigned i = 0; i < row->columns; i++)
		text_format(to, "%s%s", i ? "," : to->len ? " " : "", row->col[i] ? row->col[i] : "NULL");
}

/* sql STATEMENT */
static void step_sql(struct commands *c, const struct step *s, struct text *why)
{
	struct text    rows = {0};
	const char    *statement = rest_after(s, 0);
	enum db_result result;

	text_add(&rows, "");
	do
		result = db_text(c->scratch->db, statement, row_add, &rows);
	while (result == DB_RETRY || result == DB_LOCKED);
	if (result != DB_OK)
		text_add(why, db_error(c->scratch->db));
	else if (s->expectation && strcmp(s->expectation, rows.data) != 0)
		text_format(why, "the database says %.*s", SAID_BYTES, rows.data);
	text_fini(&rows);
}

static const struct {
	const char *name;
	void (*run)(struct commands *c, const struct step *s, struct text *why);
} steps[] = {
	{"run", step_run},       {"alone", step_alone}, {"work", step_work}, {"start", step_start},
	{"signal", step_signal}, {"end", step_end},     {"exec", step_exec}, {"sql", step_sql},
};

bool command_knows(const struct step *s)
{
	for (size_t i = 0; i < LENGTH(steps); i++)
		if (strcmp(s->word[0], steps[i].name) == 0)
			return true;
	return false;
}

void command_step(struct commands *c, const struct step *s, struct text *why)
{
	for (size_t i = 0; i < LENGTH(steps); i++)
		if (strcmp(s->word[0], steps[i].name) == 0)
			steps[i].run(c, s, why);
}
