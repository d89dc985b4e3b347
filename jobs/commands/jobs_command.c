/* jobs_command.c - see jobs_command.h. */
#include "jobs/commands/jobs_command.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "jobs/commands/database.h"
#include "jobs/options.h"
#include "jobs/pause.h"

#include <stdio.h>
#include <string.h>

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

static void line_print(const struct job_state *j)
{
	struct text since = {0};

	if (j->since != TIME_NONE)
		time_write(&since, j->since);
	printf("%-8s %-7s ready %lld  open %lld%s%s%s%s\n", job_word(j->job), j->paused ? "paused" : "runs",
	       (long long)j->ready, (long long)j->open, since.len ? "  since " : "", since.len ? since.data : "",
	       *j->reason ? "  " : "", j->reason);
	text_fini(&since);
}

/* arg: whether it is to be paused; NULL: only listed. */
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
		line_print(&list[j]);
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
	return database_run(EMBEDDED_FIND, false, jobs_act, verb ? &paused : NULL);
}
