/* jobs_command.c - see jobs_command.h. */
#include "commands/jobs_command.h"
#include "commands/database.h"
#include "commands/options.h"
#include "commands/terminal/terminal.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/utf8.h"
#include "jobs/pause.h"

#include <stdio.h>

static void list_json(const struct job_state *list, const struct job_workers *workers)
{
	struct text        out = {0};
	struct json_writer w = {.to = &out};

	json_open_object(&w, NULL);
	json_open_array(&w, "items");
	for (enum job_name j = JOB_SETTLE; j < JOB_NAMES; j++) {
		json_open_object(&w, NULL);
		job_json(&w, &list[j], workers);
		json_close_object(&w);
	}
	json_close_array(&w);
	json_close_object(&w);
	puts(out.data);
	text_fini(&out);
}

/* Prints a line for the job, and a line for each of its workers. */
static void job_print(const struct job_state *j, const struct job_workers *workers)
{
	struct text line = {0};

	assert(j->job > NO_JOB_NAME && j->job < JOB_NAMES);
	text_format(&line, "%-8s %-7s ready %lld  open %lld", job_word(j->job), j->paused ? "paused" : "runs",
	            (long long)j->ready, (long long)j->open);
	if (j->since != TIME_NONE) {
		text_add(&line, "  since ");
		time_write(&line, j->since);
	}
	if (*j->by)
		text_format(&line, "  by %s", j->by);
	if (*j->reason)
		text_add(&line, "  ");
	terminal_text(&line, j->reason);
	puts(line.data);
	for (const struct job_worker *w = workers->list; w < workers->list + workers->count; w++)
		if (w->job == j->job)
			printf("  %s  tasks %lld\n", w->worker, (long long)w->tasks);
	text_fini(&line);
}

/* *arg: true to pause, false to resume; arg NULL: only list. */
static int jobs_act(struct db *db, void *arg)
{
	struct job_state   list[JOB_NAMES];
	struct job_workers workers = {0};

	if (arg && job_pause(db, job_find(operand(1)), *(bool *)arg, option_text(OPTION_reason), NULL) != DB_OK)
		return EXIT_UNAVAILABLE;
	if (jobs_read(db, list, &workers) != DB_OK)
		return EXIT_UNAVAILABLE;
	if (option_given(OPTION_json))
		list_json(list, &workers);
	for (enum job_name j = JOB_SETTLE; !option_given(OPTION_json) && j < JOB_NAMES; j++)
		job_print(&list[j], &workers);
	return EXIT_DONE;
}

int jobs_run(void)
{
	static const char *const verbs[] = {"pause", "resume"};

	const char *kinds[] = {job_word(JOB_SETTLE), job_word(JOB_EXPIRE), job_word(JOB_DELIVER)};
	const char *verb = operand(0), *reason = option_text(OPTION_reason);
	bool        paused = verb && strcmp(verb, "pause") == 0;

	bool known = paused || (verb && strcmp(verb, "resume") == 0);

	if (verb && (!known || !operand(1)))
		return operand_wrong(known ? NULL : verb, verbs, LENGTH(verbs),
		                     "jobs, jobs pause KIND or jobs resume KIND; try `holdfast jobs --help`");
	if (verb && job_find(operand(1)) == NO_JOB_NAME)
		return operand_wrong(operand(1), kinds, LENGTH(kinds),
		                     "the jobs are settle, expire and deliver; try `holdfast jobs --help`");
	if (reason && strlen(reason) > NOTE_MAX)
		return say_status(EXIT_USAGE, "--reason may have at most 500 bytes");
	if (reason && !utf8_valid(reason))
		return say_status(EXIT_USAGE, "--reason is not UTF-8");
	return database_run(EMBEDDED_FIND, false, jobs_act, verb ? &paused : NULL);
}
